import urllib.error

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from calib import HistogramBinning, InputError, MulticlassToBinary, datasets
from calib.data.matrices import completed


@pytest.fixture(scope="module")
def sample(shared_data):
    table = pd.read_csv(shared_data / "covtype_sample.csv.gz").to_numpy()
    return table[:, :-1].astype(np.float32), table[:, -1] - 1


@pytest.fixture(scope="module")
def forest(sample):
    return datasets.covtype(sample)


@pytest.fixture(scope="module")
def simulated():
    return datasets.covtype_simulated()


def small_table(n=300, seed=0):
    """Features, the first of which tells the cover type, and cover types 0..6."""
    rng = np.random.default_rng(seed)
    types = rng.integers(1, 8, n)
    features = rng.integers(0, 5, (n, 54))
    features[:, 0] = 10 * types + rng.integers(0, 6, n)
    return features.astype(np.float32), types - 1


def class_tl_ece(predictions, confidence):
    """TL-ECE of each predicted class with one bin per distinct score, row by row."""
    result = []
    for code in range(predictions.n_classes):
        own = predictions.label == code
        hit, score = predictions.labels[own] == code, confidence[own]
        cells = [(score == value) for value in np.unique(score)]
        result.append(sum(abs(hit[c].sum() - score[c].sum()) for c in cells) / max(own.sum(), 1))
    return np.array(result)


def binned(example, **options):
    hb = HistogramBinning(**options)
    fitted = MulticlassToBinary(hb).fit(example.calibration, example.calibration.labels)
    return fitted, fitted.predict_top(example.evaluation).confidence


def test_forest_is_that_of_one_fit_with_the_papers_split(sample, forest):
    features, labels = sample
    train, test = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=0)
    train, held_out = train_test_split(train, test_size=0.1, random_state=0)
    assert (len(train), len(held_out), len(test)) == (9450, 1050, 4500)
    model = RandomForestClassifier(n_jobs=2, random_state=0).fit(features[train], labels[train])
    np.testing.assert_allclose(forest.evaluation.proba, model.predict_proba(features[test]), atol=1e-12)
    np.testing.assert_allclose(forest.calibration.proba, model.predict_proba(features[held_out]), atol=1e-12)
    np.testing.assert_array_equal(forest.evaluation.labels, labels[test])
    np.testing.assert_array_equal(forest.calibration.labels, labels[held_out])
    assert not forest.simulated
    assert forest.truth is None


def test_split_sizes_of_the_whole_data_are_the_papers():
    train, test = train_test_split(np.arange(581_012), test_size=0.3, random_state=0)
    train, held_out = train_test_split(train, test_size=0.1, random_state=0)
    assert (len(held_out), len(test)) == (40_671, 174_304)


def test_logistic_regression_on_three_classes(sample):
    example = datasets.covtype(sample, model="logistic")
    assert example.name == "covtype-3"
    assert example.evaluation.class_names == ("1 Spruce/Fir", "2 Lodgepole Pine", "other")
    shares = np.bincount(example.evaluation.labels) / example.evaluation.n_samples
    np.testing.assert_allclose(shares, [0.36, 0.49, 0.15], atol=0.02)
    assert (example.evaluation.label == example.evaluation.labels).mean() > 0.7


def test_class_absent_from_training_keeps_its_column():
    features, types = small_table()
    example = datasets.covtype((features[types != 3], types[types != 3]))
    assert example.evaluation.n_classes == 7
    assert (example.evaluation.proba[:, 3] == 0).all()
    np.testing.assert_allclose(example.evaluation.proba.sum(axis=1), 1.0, atol=1e-9)


def test_a_file_is_read_as_its_arrays(shared_data, sample, tmp_path):
    found = datasets.covtype(shared_data / "covtype_sample.csv.gz", model="logistic").evaluation
    expected = datasets.covtype(sample, model="logistic").evaluation
    np.testing.assert_array_equal(found.proba, expected.proba)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="2 columns"):
        datasets.covtype(tmp_path / "other.csv")


def test_few_rows_are_refused():
    with pytest.raises(InputError, match="at least 100 rows"):
        datasets.covtype(small_table(50))


def test_without_network_one_sentence_says_what_to_do(monkeypatch, tmp_path):
    def fail(**_):
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_covtype", fail)
    with pytest.raises(InputError, match="could not be downloaded.*pass its file") as caught:
        datasets.covtype(data_home=tmp_path)
    assert "Name or service not known" in str(caught.value)
    with pytest.raises(InputError, match='model must be "forest" or "logistic"; got \'svm\''):
        datasets.covtype(model="svm")


def test_predictions_of_what_was_downloaded_are_kept(tmp_path, monkeypatch):
    features, types = small_table()
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", lambda **_: (features, types + 1))
    first = datasets.covtype(data_home=tmp_path)
    other = datasets.covtype(data_home=tmp_path, random_state=1)
    assert other.evaluation.fingerprint != first.evaluation.fingerprint
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.ensemble.RandomForestClassifier.fit", None)  # nothing is fitted again
        again = datasets.covtype(data_home=tmp_path)
    assert again.evaluation.fingerprint == first.evaluation.fingerprint
    assert datasets.covtype((features, types)).evaluation.fingerprint == first.evaluation.fingerprint


def test_simulated_sizes_shares_and_scores(simulated):
    rows = simulated.evaluation
    assert (simulated.calibration.n_samples, rows.n_samples) == (40_671, 174_304)
    shares = np.array([36.46, 48.76, 6.15, 0.47, 1.63, 2.99, 3.53]) / 100
    # Four standard errors of a share; the largest correction of the runners-up is below 0.1 %.
    tolerance = 4 * np.sqrt(shares * (1 - shares) / rows.n_samples) + 0.001 * shares
    assert (abs(np.bincount(rows.labels) / rows.n_samples - shares) < tolerance).all()
    np.testing.assert_array_equal(rows.proba, np.round(rows.proba * 100) / 100)
    np.testing.assert_allclose(rows.proba.sum(axis=1), 1.0, atol=1e-12)
    assert (rows.label == rows.labels).mean() == pytest.approx(0.95, abs=0.01)
    hit = rows.label == rows.labels
    sd = np.sqrt((simulated.truth * (1 - simulated.truth)).sum())
    assert abs(hit.sum() - simulated.truth.sum()) < 4 * sd
    full = completed(rows.proba, rows.label, simulated.truth)
    np.testing.assert_allclose(full.sum(axis=1), 1.0, atol=1e-9)
    counts = np.bincount(rows.labels)
    assert (abs(counts - full.sum(axis=0)) < 4.5 * np.sqrt((full * (1 - full)).sum(axis=0))).all()


def test_simulated_shape_is_that_of_the_real_sample(simulated, forest):
    fake, real = simulated.evaluation, forest.evaluation
    for rows in (fake, real):
        hit = rows.label == rows.labels
        gaps = [
            hit[rows.label == code].mean() - rows.confidence[rows.label == code].mean() for code in range(7)
        ]
        assert min(gaps) > 0  # underconfident whatever is predicted
        assert min(gaps[3:7]) > max(gaps[0], gaps[1])  # and most for rare classes
    shares = [np.bincount(rows.labels, minlength=7) / rows.n_samples for rows in (fake, real)]
    error = np.sqrt(shares[0] * (1 - shares[0]) / real.n_samples)
    assert (abs(shares[0] - shares[1]) < 4 * error).all()
    distinct = [len(np.unique(np.round(rows.confidence, 9))) for rows in (fake, real)]
    assert abs(distinct[0] - distinct[1]) <= 5
    # What a wrong prediction of each class most often is: the same for every class seen wrong ten times.
    for code in range(7):
        wrong = [rows.labels[(rows.label == code) & (rows.labels != code)] for rows in (fake, real)]
        if len(wrong[1]) >= 10:
            assert np.bincount(wrong[0]).argmax() == np.bincount(wrong[1]).argmax()


def test_fixed_points_per_bin_serves_rare_classes_better_than_fixed_bins(simulated):
    rare = [3, 4, 5]  # classes 4, 5 and 6 of the paper
    base = class_tl_ece(simulated.evaluation, simulated.evaluation.confidence)
    fixed_points, confidence = binned(simulated, points_per_bin=100)
    by_points = class_tl_ece(simulated.evaluation, confidence)
    by_bins = class_tl_ece(simulated.evaluation, binned(simulated, n_bins=50)[1])
    assert (by_points[rare] < by_bins[rare]).all()
    assert by_points[3] < 0.6 * by_bins[3]
    assert (by_points < base).all()
    assert not fixed_points.fallbacks_


@pytest.mark.parametrize("points_per_bin", [20, 100])
def test_tied_forest_scores_keep_at_least_k_points_per_bin(simulated, forest, points_per_bin):
    for example in (simulated, forest):
        fitted, _ = binned(example, points_per_bin=points_per_bin)
        counts = [c.counts_ for c in fitted.calibrators_ if c is not None]
        assert counts
        assert min(map(np.min, counts)) >= points_per_bin
