"""Copies of rows and overlaps: found if they are there, not where scores recur by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.dependence import accused, copied
from benchmarks.simulation import means
from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    TemperatureScaling,
    TopKPrediction,
    recommend,
)
from calib.data.equal_rows import MAX_KEYS, exact_copies, overlap, smallest_keys
from calib.data.splits import ID
from calib.evidence.rows import as_evidence
from calib.files.saved import dumps, loads
from calib.files.saved.document import FittedOn


def drawn(n_samples: int, seed: int = 0, n_classes: int = 4, decimals: int | None = None) -> Predictions:
    """Rows of a calibrated model."""
    generator = np.random.default_rng(seed)
    proba = generator.dirichlet(np.ones(n_classes), n_samples)
    labels = (proba.cumsum(axis=1) < generator.random((n_samples, 1))).sum(axis=1)
    if decimals is not None:
        proba = proba.round(decimals)
        proba[:, -1] = 1.0 - proba[:, :-1].sum(axis=1)
    return Predictions(np.abs(proba), labels)


def of_kind(kind: str, rows: Predictions):
    """The same rows as another kind announces them."""
    proba, labels = rows.proba, rows.labels
    order = np.argsort(-proba, axis=1)[:, :2]
    return {
        "vectors": lambda: rows,
        "top-label": lambda: rows.top,
        "confidence": lambda: ConfidencePrediction(rows.confidence, rows.label == labels),
        "binary": lambda: BinaryPrediction(proba[:, 0], labels == 0),
        "top-k": lambda: TopKPrediction(order, np.take_along_axis(proba, order, axis=1), labels),
        "multilabel": lambda: MultilabelPrediction(proba, labels[:, None] == np.arange(rows.n_classes)),
    }[kind]()


KINDS = ["vectors", "top-label", "confidence", "binary", "top-k", "multilabel"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_are_found_in_every_kind(kind, dtype):
    rows = drawn(300)
    rows = of_kind(kind, Predictions(rows.proba.astype(dtype), rows.labels))
    place = np.random.default_rng(1).permutation(np.repeat(np.arange(300), 3))
    assert exact_copies(rows) is None
    copies = exact_copies(rows[place])
    groups = pd.Series(place).groupby(copies).unique()
    assert len(groups) == 300
    assert all(len(group) == 1 for group in groups)


@pytest.mark.parametrize("n_samples", [300, 20_000])
def test_arrays_with_copies_count_clusters(n_samples):
    rows = drawn(n_samples)
    place = np.random.default_rng(1).permutation(np.repeat(np.arange(n_samples), 3))
    proba, labels = rows.proba[place], rows.labels[place]
    assert as_evidence(labels, proba).n_clusters == n_samples
    assert as_evidence(labels == 0, proba[:, 0]).n_clusters == pytest.approx(n_samples, rel=0.02)
    assert as_evidence(labels, proba, cluster=np.arange(len(labels))).n_clusters is None
    assert as_evidence(rows.labels, rows.proba).n_clusters is None


def test_some_copies_among_other_rows_are_found():
    place = np.r_[np.arange(1_000), np.arange(30)]
    copies = exact_copies(drawn(1_000)[place])
    assert copies[1_000:].tolist() == copies[:30].tolist()
    assert len(set(copies.tolist())) == 1_000


def leaves(seed: int, n_leaves: int) -> Predictions:
    """Rows of a tree with a few leaves: equal vectors of all digits, in rows of different labels."""
    generator = np.random.default_rng(seed)
    proba = generator.dirichlet(np.ones(3), n_leaves)[generator.integers(0, n_leaves, 500)]
    return Predictions(proba, (proba.cumsum(axis=1) < generator.random((500, 1))).sum(axis=1))


def one_score(seed: int, decimals: int) -> BinaryPrediction:
    """Rounded scores of an event, far from calibrated."""
    generator = np.random.default_rng(seed)
    score = generator.random(1_000)
    return BinaryPrediction(score.round(decimals), generator.random(1_000) < score**3)


@pytest.mark.parametrize("seed", range(10))
def test_scores_that_recur_by_chance_are_no_copies(seed):
    assert exact_copies(leaves(seed, 10)) is None
    assert exact_copies(one_score(seed, 2)) is None
    assert exact_copies(one_score(seed, 1)) is None
    always = ConfidencePrediction(np.random.default_rng(seed).random(500).round(2), np.ones(500, dtype=bool))
    assert exact_copies(always) is None
    by_outcome = one_score(seed, 1)
    assert exact_copies(by_outcome[np.argsort(by_outcome.labels)]) is None


def test_rows_without_labels_have_no_copies():
    assert exact_copies(Predictions(drawn(50).proba[np.repeat(np.arange(50), 3)])) is None


def test_splits_and_folds_keep_copies_together():
    rows = drawn(300)[np.tile(np.arange(300), 5)]
    fitted, assessed = rows.split(0.5)
    assert fitted.n_samples == assessed.n_samples == 750
    assert overlap(assessed, fitted) is None
    tried = []

    class Watching(TemperatureScaling):
        def fit(self, proba, y, sample_weight=None):
            tried.append(len({row.tobytes() for row in proba.proba}))
            return super().fit(proba, y, sample_weight)

    recommend(rows, rows.labels, methods={"TS": Watching()})
    assert tried[:5] == [240] * 5  # 1,200 rows, five copies of each


@pytest.mark.parametrize("kind", KINDS)
def test_overlap_is_counted_in_every_kind(kind):
    rows = of_kind(kind, drawn(2_000))
    fitted, other = rows[:1_000], rows[1_000:]
    assert overlap(other, fitted) is None
    assert overlap(fitted, fitted).by == "content"
    found = overlap(rows[700:1_700], fitted)
    assert (found.n_rows, found.by) == (1_000, "scores")
    assert found.n_used == pytest.approx(300, abs=3)  # scores of one column are equal by chance in some rows


def test_overlap_of_a_few_rows_is_found():
    rows = drawn(1_000)
    assert overlap(rows[:20], rows).n_used == 20
    assert overlap(drawn(20, seed=9), rows) is None


def test_a_sample_of_the_keys_tells_an_overlap_of_many_rows():
    rows, others = drawn(20_000), drawn(10_000, seed=1)
    origin = FittedOn(20_000, None, "2026-01-01", "0", keys=tuple(smallest_keys(rows).tolist()))
    assert len(origin.keys) == MAX_KEYS
    assert overlap(others, origin) is None
    both = Predictions(
        np.concatenate([rows.proba[:5_000], others.proba]), np.r_[rows.labels[:5_000], others.labels]
    )
    assert overlap(both, origin).n_used == pytest.approx(5_000, rel=0.1)  # about 770 of 15,000 are compared


def test_overlap_by_scores_survives_a_file_with_six_decimals():
    rows = drawn(2_000)
    printed = Predictions(rows.proba[500:1_500].round(6), rows.labels[500:1_500])
    assert overlap(printed, rows[:1_000]).n_used == pytest.approx(500, abs=5)


def test_overlap_goes_by_ids_if_both_have_them():
    table = pd.DataFrame({"row": [f"r{number}" for number in range(100)]})
    drawn_rows = drawn(100)
    rows = Predictions(drawn_rows.proba, drawn_rows.labels, metadata=table, columns={ID: "row"})
    found = overlap(rows[40:], rows[:60])
    assert (found.n_used, found.by, found.words) == (
        20,
        "id",
        "20 of 60 rows were used to fit (seen by their ids)",
    )
    assert overlap(rows[60:], rows[:60]) is None


def test_chance_is_no_overlap():
    for seed in range(5):
        assert overlap(leaves(seed, 10)[:250], leaves(seed, 10)[250:]) is None
        assert overlap(one_score(seed, 2)[:500], one_score(seed, 2)[500:]) is None
    assert (
        overlap(drawn(500, decimals=1, n_classes=3)[:250], drawn(500, decimals=1, n_classes=3)[250:]) is None
    )


def test_a_calibrator_file_knows_its_rows():
    rows = drawn(2_000)
    calibrator = TemperatureScaling().fit(rows[:1_000].proba, rows.labels[:1_000])
    calibrator = loads(dumps(calibrator, fitted_on=rows[:1_000]))
    assert overlap(rows[:1_000], calibrator).by == "content"
    assert overlap(rows[800:], calibrator).n_used == 200
    assert overlap(rows[1_000:], calibrator) is None
    assert (
        overlap(rows[:1_000], TemperatureScaling().fit(rows.proba, rows.labels)) is None
    )  # nothing is known
    again = loads(dumps(calibrator))
    assert again.fitted_on_ == calibrator.fitted_on_


@pytest.mark.parametrize(
    ("population", "n_samples"),
    [
        ("100 heavy-tailed classes", 3_000),
        ("100 heavy-tailed classes, overconfident", 3_000),
        ("5 classes, nearly all above 0.9999", 100_000),
        ("saturated event, 4 decimals", 3_000),
    ],
)
def test_independent_rows_are_not_accused(population, n_samples):
    """Heavy-tailed classes were near copies in 100 of 100 files, and saturated rows exact copies."""
    assert set(means(accused(population, n_samples), 4).values()) == {0.0}


@pytest.mark.parametrize(("digits", "found"), [(0.0, "taken for copies"), (1e-4, "suspected")])
def test_copies_are_known_in_every_digit_and_suspected_with_other_digits(digits, found):
    said = means(copied("100 heavy-tailed classes", 3, digits), 4)
    assert said == {"taken for copies": 0.0, "suspected": 0.0} | {found: 1.0}


def test_saturated_rows_stand_alone_among_copies():
    """100 of 400 rows have a confidence of 1: their copies are no evidence, and are not counted."""
    rows = drawn(400)
    proba = np.where(np.arange(400)[:, None] < 100, np.eye(4)[rows.label], rows.proba)
    labels = np.where(np.arange(400) < 100, rows.label, rows.labels)
    copies = exact_copies(Predictions(np.tile(proba, (3, 1)), np.tile(labels, 3)))
    assert copies.max() + 1 == 3 * 100 + 300
