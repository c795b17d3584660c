import numpy as np
import pytest

from calib import InputError, datasets, ece
from calib.data.matrices import completed


def in_bin(predictions, low, high):
    return (predictions.confidence >= low) & (predictions.confidence < high)


def test_two_patients_are_example_1_in_exact_proportions():
    example = datasets.two_patients()
    for rows in (example.calibration, example.evaluation):
        assert set(rows.confidence.tolist()) == {0.6}
        hit = rows.label == rows.labels
        assert hit.mean() == 0.6
        assert [hit[rows.label == code].mean() for code in (0, 1)] == [0.2, 1.0]
        assert [(rows.label == code).mean() for code in range(3)] == [0.5, 0.5, 0.0]
    # Patient a: 0.2, and 0.8 shared by two classes of equal score; patient b: certain.
    full = completed(rows.proba, rows.label, example.truth)
    assert full[:2].tolist() == [[0.2, 0.4, 0.4], [0.0, 1.0, 0.0]]


def test_digits_are_out_of_fold_and_overconfident():
    example = datasets.digits()
    assert not example.simulated
    assert example.truth is None
    both = (example.calibration, example.evaluation)
    assert sum(rows.n_samples for rows in both) == 1797
    assert all(rows.class_names == tuple("0123456789") for rows in both)
    for rows in both:
        assert rows.confidence.mean() - (rows.label == rows.labels).mean() > 0.07


def test_resnet_shaped_hides_classes_in_one_bin():
    example = datasets.resnet_shaped()
    rows = example.evaluation
    assert (example.calibration.n_samples, rows.n_samples, rows.n_classes) == (5_000, 10_000, 10)
    hit = rows.label == rows.labels
    assert hit.mean() == pytest.approx(0.95, abs=0.01)
    assert (rows.confidence > 0.9).mean() == pytest.approx(0.92, abs=0.01)
    middle = in_bin(rows, 0.5, 0.6)
    assert hit[middle].mean() == pytest.approx(rows.confidence[middle].mean(), abs=0.03)
    airplane, horse = (
        middle & (rows.label == rows.class_names.index(name)) for name in ("airplane", "horse")
    )
    assert example.truth[airplane].mean() == pytest.approx(0.2, abs=0.03)
    assert example.truth[horse].mean() == pytest.approx(0.9, abs=0.03)
    assert hit[airplane].mean() == pytest.approx(0.2, abs=0.1)
    assert hit[horse].mean() == pytest.approx(0.9, abs=0.1)


@pytest.mark.parametrize("n_classes", [2, 5, 300])
def test_perfect_population_has_its_scores_for_truth(n_classes):
    example = datasets.perfect(20_000, n_classes, random_state=7)
    rows = example.evaluation
    assert rows.n_classes == n_classes
    np.testing.assert_array_equal(example.truth, rows.confidence)
    np.testing.assert_allclose(completed(rows.proba, rows.label, example.truth), rows.proba, atol=1e-12)
    # Accuracy misses the mean confidence by less than four standard errors.
    assert abs((rows.label == rows.labels).mean() - rows.confidence.mean()) < 4 * 0.5 / np.sqrt(20_000)


def test_many_classes_are_float32_and_uneven():
    example = datasets.many_classes(5_000, 200)
    rows = example.evaluation
    assert rows.proba.dtype == np.float32
    assert example.calibration.n_samples == 2_500
    predicted = np.bincount(rows.label, minlength=200)
    assert predicted[:5].min() > 10 * predicted[-100:].mean()
    # Families of ten hold most of the errors: 9 of the 199 other classes by chance.
    wrong = rows.label != rows.labels
    assert (rows.label[wrong] // 10 == rows.labels[wrong] // 10).mean() > 0.5


@pytest.mark.parametrize("name", [name for name in datasets.EXAMPLE_TITLES if name != "many-classes"])
def test_every_example_by_name(name):
    example = datasets.load_example(name)
    assert example.name == name
    assert example.title == datasets.EXAMPLE_TITLES[name]
    assert "\n" not in example.description
    assert example.description.endswith(".")
    assert example.calibration.class_names == example.evaluation.class_names
    assert example.evaluation.labels is not None
    # The predicted class is the only maximum of its row.
    assert (np.sort(example.evaluation.proba, axis=1)[:, -2] < example.evaluation.confidence).all()


@pytest.mark.parametrize(
    "build",
    [
        lambda seed: datasets.resnet_shaped(n_evaluation=6_000, random_state=seed),
        lambda seed: datasets.perfect(2_000, 4, random_state=seed),
        lambda seed: datasets.many_classes(6_000, 40, random_state=seed),
        lambda seed: datasets.digits(random_state=seed),
    ],
)
def test_seed_fixes_the_rows(build):
    first, again, other = build(0), build(0), build(1)
    assert first.evaluation.fingerprint == again.evaluation.fingerprint != other.evaluation.fingerprint
    assert first.calibration.fingerprint == again.calibration.fingerprint != first.evaluation.fingerprint


@pytest.mark.parametrize(
    "example", [datasets.resnet_shaped(n_evaluation=20_000), datasets.many_classes(20_000, 30)]
)
def test_outcomes_follow_the_known_truth(example):
    rows, truth = example.evaluation, example.truth
    hit = rows.label == rows.labels
    sd = np.sqrt((truth * (1 - truth)).sum())
    assert abs(hit.sum() - truth.sum()) < 4 * sd
    full = completed(rows.proba, rows.label, truth)
    np.testing.assert_allclose(full.sum(axis=1), 1.0, atol=1e-6)
    # Class counts: a sum of independent indicators per class, within 4.5 standard deviations.
    counts = np.bincount(rows.labels, minlength=rows.n_classes)
    assert (abs(counts - full.sum(axis=0)) < 4.5 * np.sqrt((full * (1 - full)).sum(axis=0))).all()


def test_example_is_read_only_and_checked():
    example = datasets.two_patients()
    with pytest.raises(ValueError, match="read-only"):
        example.truth[0] = 0.5
    with pytest.raises(InputError, match="no example 'cats'; the examples are resnet, digits"):
        datasets.load_example("cats")


@pytest.mark.parametrize("focal", [False, True])
def test_four_networks_have_their_character_on_the_same_rows(focal):
    example = datasets.four_networks(n_calibration=500, n_evaluation=4_000, focal=focal)
    models = {name: unseen for name, (_, unseen) in example.models.items()}
    gap = {name: rows.confidence.mean() - (rows.label == rows.labels).mean() for name, rows in models.items()}
    assert all((rows.labels == models["good"].labels).all() for rows in models.values())
    assert gap["under-confident"] < gap["good"] < gap["over-confident"]
    assert (gap["good"] < -0.03) == focal  # the focal loss leaves networks under-confident
    bad, good = models["one bad class"], models["good"]
    assert (bad.label == 3).sum() > 1.2 * (good.label == 3).sum()
    error = {name: ece(rows.labels, rows, notion="class-wise") for name, rows in models.items()}
    assert focal or min(error, key=error.get) == "good"
