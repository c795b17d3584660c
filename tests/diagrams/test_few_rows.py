"""Many classes with few rows each: evidence decides what is named, and estimates are shrunken."""

import numpy as np

from calib import TopLabelPrediction, class_table, reliability_diagram

NAMES = [f"class {code}" for code in range(1_000)]


def few(seed: int) -> tuple[TopLabelPrediction, np.ndarray]:
    """1,000 classes, 2 to 4 rows of each, calibrated; labels."""
    random = np.random.default_rng(seed)
    label = np.repeat(np.arange(1_000), random.integers(2, 5, 1_000))
    confidence = random.uniform(0.2, 0.26, len(label))
    return TopLabelPrediction(label, confidence), np.where(
        random.random(len(label)) < confidence, label, (label + 1) % 1_000
    )


def test_no_class_of_four_rows_makes_the_headline():
    """Of 20 calibrated populations the raw gap is 0.75 and more in all; at 5 % about one may name a class."""
    named = 0
    for seed in range(20):
        top, y = few(seed)
        zoom = reliability_diagram(y, top, n_bins=15).zoom(3)
        assert np.abs(zoom.cells.gap).max() > 0.7
        named += "None of the" not in zoom.words(NAMES)
    assert named <= 2


def test_a_class_with_evidence_comes_before_one_that_is_farther_off():
    label = np.repeat([0, 1], [4, 400])
    top = TopLabelPrediction(label, np.full(404, 0.22))
    y = np.where(np.arange(404) < 4, 0, np.where(np.arange(404) < 164, 1, 0))  # 4 of 4; 160 of 400
    zoom = reliability_diagram(y, top, n_bins=15).zoom(3)
    assert zoom.cells.label.tolist() == [1, 0]
    assert zoom.words(["rare", "frequent"]).startswith(
        "Predicted frequent at 0.2 to 0.267: confidence 0.220, accuracy 0.4"
    )
    # The four rows that are all right: 0.22^4 = 0.0023, 0.0047 two-sided, is below 0.05 / 2.
    assert zoom.beyond_noise.tolist() == [True, True]
    assert zoom.star[1] < zoom.accuracy_shrunken[1] <= 1.0
    assert zoom.frame(["rare", "frequent"])["beyond_noise"].tolist() == [True, True]


def test_shrunken_estimates_are_nearer_to_the_truth():
    random = np.random.default_rng(1)
    label = np.repeat(np.arange(300), 4)
    chance = random.beta(6, 4, 300)
    top = TopLabelPrediction(label, np.full(1_200, 0.62))
    y = np.where(random.random(1_200) < chance[label], label, (label + 1) % 300)
    zoom = reliability_diagram(y, top, n_bins=15).zoom(9)
    truth = chance[zoom.cells.label]
    raw, shrunken = (
        np.mean((item - truth) ** 2) for item in (zoom.cells.mean_outcome, zoom.accuracy_shrunken)
    )
    assert shrunken < 0.5 * raw


def test_classes_that_differ_no_more_than_chance_get_the_accuracy_of_the_bin():
    label = np.repeat(np.arange(3), 20)
    y = np.where(np.arange(60) % 20 < 12, label, (label + 1) % 3)  # 12 of 20 in each
    zoom = reliability_diagram(y, TopLabelPrediction(label, np.full(60, 0.62)), n_bins=15).zoom(9)
    np.testing.assert_allclose(zoom.accuracy_shrunken, 0.6, atol=1e-4)


def test_classes_are_named_by_evidence():
    top, y = few(0)
    label = np.concatenate([top.label, np.full(500, 7)])
    both = TopLabelPrediction(label, np.concatenate([top.confidence, np.full(500, 0.9)]))
    table = class_table(np.concatenate([y, np.repeat([7, 8], [300, 200])]), both, random_state=0)
    assert table.order[0] == 7
    assert table.flagged[7]
    assert not class_table(y, top, random_state=0).flagged.any()
