"""Kinds of predictions: what each holds, and that every number of theirs is that of a loop over rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    MultilabelPrediction,
    Predictions,
    TopKPrediction,
    TopLabelPrediction,
    accuracy,
    brier_score,
    ece,
    error_interval,
    log_loss,
    mce,
    metrics,
    noise_floor,
    paired_difference,
    reduce_to_binary,
    reliability_diagram,
)
from calib.data.kinds import INGREDIENTS, KINDS, NEEDS, kind_of, lacks, notions_of
from calib.data.predictions import as_vectors
from tests import ROOT
from tests.oracles import uniform_bin


@pytest.fixture(scope="module")
def event():
    """Scores of one event and whether it happened."""
    generator = np.random.default_rng(0)
    p = generator.random(500).round(3)
    return p, (generator.random(500) < p**1.5).astype(int)


def literal_errors(p, y, n_bins=15):
    """ECE and MCE of one event, a loop over rows."""
    cells = {}
    for score, outcome in zip(p.tolist(), y.tolist(), strict=True):
        cells.setdefault(uniform_bin(score, n_bins), []).append((score, outcome))
    gaps = [(len(c), abs(sum(o for _, o in c) - sum(s for s, _ in c)) / len(c)) for c in cells.values()]
    return sum(n * gap for n, gap in gaps) / len(p), max(gap for _, gap in gaps)


def test_one_event_is_one_binary_problem_however_it_is_given(event):
    p, y = event
    expected_ece, expected_mce = literal_errors(p, y)
    for labels in (y, y.astype(bool), y.astype(float), np.where(y, "yes", "no"), np.where(y, 1, -1)):
        assert ece(labels, p) == pytest.approx(expected_ece, abs=1e-12)
    for rows in (BinaryPrediction(p, y), p.tolist(), pd.Series(p)):
        for notion in ("top-label", "confidence", "class-wise"):
            assert ece(y, rows, notion=notion) == pytest.approx(expected_ece, abs=1e-12)
            assert mce(y, rows, notion=notion) == pytest.approx(expected_mce, abs=1e-12)
    rows = ConfidencePrediction(p, y)
    assert ece(rows.labels, rows, notion="confidence") == pytest.approx(expected_ece, abs=1e-12)
    assert brier_score(y, rows) == pytest.approx(np.mean((p - y) ** 2))
    assert log_loss(y, p) == pytest.approx(
        np.mean([-np.log(max(s if o else 1 - s, 2.2e-16)) for s, o in zip(p, y, strict=True)])
    )
    assert accuracy(y, p) == pytest.approx(np.mean((p > 0.5) == y))
    assert accuracy(y, rows) == pytest.approx(y.mean())


def test_everything_about_an_error_takes_one_event(event):
    p, y = event
    rows = BinaryPrediction(p, y)
    expected, largest = literal_errors(p, y)
    floor = noise_floor(y, rows, n_resamples=20, random_state=0)
    interval = error_interval(y, rows)
    assert floor.observed == interval.observed == pytest.approx(expected, abs=1e-12)
    summary = metrics(y, rows)
    assert (summary.ece, summary.mce) == (pytest.approx(expected), pytest.approx(largest))
    assert summary.tl_ece is None
    assert summary.conf_ece is None
    diagram = reliability_diagram(y, rows, n_bins=15)
    assert diagram.one_event
    assert diagram.pooled.ece() == pytest.approx(expected)
    better = np.clip(p**1.5, 0, 1)
    assert paired_difference(y, better, p, notion="confidence").verdict == "lower"
    assert metrics(y, ConfidencePrediction(p, y)).conf_ece == pytest.approx(expected)


def test_scores_of_one_event_differ_from_the_folded_confidence(event):
    p, y = event
    rows = BinaryPrediction(p, y, ("no", "yes"))
    folded = as_vectors(rows)
    assert folded.class_names == ("no", "yes")
    assert ece(y, folded, notion="confidence") != pytest.approx(ece(y, rows), abs=1e-6)
    # The class-wise errors of two classes are those of p and of 1 - p: the same but for scores at an edge.
    off = BinaryPrediction(p + 1e-4 * (p < 0.5), y)
    assert ece(y, as_vectors(off), notion="class-wise") == pytest.approx(ece(y, off), abs=2e-3)


def test_a_scorer_of_scikit_learn_works_with_one_event():
    X, y = make_classification(400, random_state=0)
    names = np.array(["bad", "good"])[y]
    for labels in (y, names):
        model = LogisticRegression().fit(X, labels)
        scorer = make_scorer(ece, response_method="predict_proba", greater_is_better=False)
        expected, _ = literal_errors(model.predict_proba(X)[:, 1], y)
        assert scorer(model, X, labels) == pytest.approx(-expected)


def test_triples_carry_classes_that_are_never_true():
    rows = TopLabelPrediction(["B", "C", "A"], [0.9, 0.8, 0.7], ["B", "A", "A"], ("A", "B", "C"))
    assert rows.n_classes == 3
    assert rows.correct.tolist() == [True, False, True]
    problems = reduce_to_binary(rows.labels, rows, "top-label")
    assert problems.n_problems == 3
    # By hand: |0.7 - 1| + |0.9 - 1| + |0.8 - 0|, each a third of the rows.
    assert ece(rows.labels, rows, notion="top-label") == pytest.approx((0.3 + 0.1 + 0.8) / 3)
    assert ece(rows.labels, rows, notion="confidence", n_bins=1) == pytest.approx(abs(2 / 3 - 0.8))


def test_rows_are_chosen_with_weights_and_metadata():
    table = pd.DataFrame({"id": ["a", "b", "c", "d"]})
    options = {"metadata": table, "sample_weight": [1, 2, 3, 4]}
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]])
    for rows in (
        TopLabelPrediction([0, 1, 1, 0], [0.9, 0.8, 0.6, 0.7], [0, 1, 0, 0], **options),
        ConfidencePrediction([0.9, 0.8, 0.6, 0.7], [1, 1, 0, 1], **options),
        BinaryPrediction([0.1, 0.8, 0.6, 0.3], [0, 1, 0, 0], **options),
        Predictions(proba, [0, 1, 0, 0], **options),
    ):
        assert len(rows) == rows.n_samples == 4
        for part in (rows.take([1, 3]), rows[1::2]):
            assert part.metadata["id"].tolist() == ["b", "d"]
            assert part.sample_weight.tolist() == [2.0, 4.0]
            assert part.kind == rows.kind
            assert part.fingerprint != rows.fingerprint
        calibration, evaluation = rows.split(0.5, 0)
        both = [*calibration.metadata["id"], *evaluation.metadata["id"]]
        assert sorted(both) == ["a", "b", "c", "d"]
        with pytest.raises(ValueError, match="read-only"):
            rows.sample_weight[0] = 0.0


def test_positive_class_is_switched():
    rows = BinaryPrediction([0.9, 0.2], ["yes", "no"], ("no", "yes"))
    other = rows.switched()
    assert (rows.positive, other.positive) == ("yes", "no")
    assert other.score.tolist() == pytest.approx([0.1, 0.8])
    assert other.labels.tolist() == [0, 1]
    assert other.switched().labels.tolist() == rows.labels.tolist()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ConfidencePrediction([0.5, 80.0], [0, 1]), r"confidence must lie in \[0, 1\]; got 80"),
        (lambda: ConfidencePrediction([0.5], [2]), "correct must be 0 or 1"),
        (lambda: BinaryPrediction([0.5], ["maybe"], ("no", "yes")), "'maybe'"),
        (lambda: TopLabelPrediction([0, 3], [0.5, 0.5], class_names=("a", "b")), "0..1; got 3 in row 1"),
        (lambda: BinaryPrediction([0.5], sample_weight=[-1.0]), "sample_weight must be 0 or more"),
        (lambda: BinaryPrediction([0.5], metadata=pd.DataFrame({"a": [1, 2]})), "one row for each of 1"),
        (lambda: ece([0, 1, 2], [0.1, 0.2, 0.3]), "1-D scores are of one event.*got 3 values: 0, 1, 2"),
        (lambda: ece([0, 1], [0.1, 0.2], notion="top-k-label"), "top-k-label calibration needs the highest"),
        (
            lambda: ece([0, 1], ConfidencePrediction([0.1, 0.2]), notion="top-label"),
            "top-label calibration needs the predicted class",
        ),
        (lambda: ece([0, 1], TopLabelPrediction([0, 1], [0.1, 0.2]), notion="class-wise"), "one column per"),
    ],
)
def test_errors_say_what_is_missing(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_every_kind_says_what_it_would_need():
    assert {name: kind.name for name, kind in KINDS.items()} == {name: name for name in KINDS}
    for kind in KINDS:
        for what in NEEDS:
            sentence = lacks(kind, what)
            assert sentence is None or (" needs " in sentence and sentence.endswith(".")), (kind, what)
    assert [what for what in NEEDS if lacks("vectors", what) and "event" not in NEEDS[what]] == []
    assert notions_of("top-label") == ["confidence", "top-label"]
    assert notions_of("confidence") == ["confidence"]
    assert kind_of(np.zeros(3)).name == "binary"
    assert kind_of(np.zeros((3, 2))).name == "vectors"


def test_every_question_to_a_kind_is_about_an_ingredient():
    assert set().union(*(kind.has for kind in KINDS.values())) == set(INGREDIENTS)
    asked = set()
    for package in ("calib", "pages"):
        for path in (ROOT / package).rglob("*.py"):
            code = path.read_text(encoding="utf-8")
            asked |= set(re.findall(r'"([a-z ]+)" (?:not )?in [\w.()\[\]]+\.has\b', code))
            for several in re.findall(r"\.has & \{([^}]*)\}", code):
                asked |= set(re.findall(r'"([^"]+)"', several))
    assert {"vector", "every label", "event"} <= asked <= set(INGREDIENTS)


def test_one_calibrator_for_one_score(event):
    p, y = event
    rows = BinaryPrediction(p, y)
    fitted = HistogramBinning(n_bins=10).fit(rows.score, rows.labels)
    assert ece(y, fitted.predict(p), strategy="discrete") == pytest.approx(0.0, abs=1e-9)


class Tensor:
    """What NumPy cannot read by itself: a tensor with a gradient, or of bfloat16."""

    def __init__(self, values, dtype="torch.float32", grad=True):
        self.values, self.dtype, self.grad = values, dtype, grad
        self.ndim, self.shape = values.ndim, values.shape

    def __len__(self):
        return len(self.values)

    def detach(self):
        return Tensor(self.values, self.dtype, False)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values, "torch.float32", self.grad)

    def numpy(self):
        if self.grad or "bfloat16" in self.dtype:
            raise TypeError("call detach() and float() first")
        return self.values

    __array__ = numpy


@pytest.fixture(scope="module")
def three():
    """Probabilities of cat, dog and emu, and true classes."""
    generator = np.random.default_rng(5)
    proba = generator.dirichlet(np.ones(3), 200)
    return proba, np.array([generator.choice(3, p=p) for p in proba])


ANIMALS = np.array(["cat", "dog", "emu"])
#: Forms of scores whose columns are emu, cat, dog, or cat, dog, emu where they have no names.
FORMS = {
    "frame": lambda p: pd.DataFrame(p[:, [2, 0, 1]], columns=ANIMALS[[2, 0, 1]]),
    "prefixed": lambda p: pd.DataFrame(p[:, [2, 0, 1]], columns=["p(emu)", "p(cat)", "p(dog)"]),
    "arrow": lambda p: pa.Table.from_pandas(pd.DataFrame(p[:, [2, 0, 1]], columns=ANIMALS[[2, 0, 1]])),
    "predictions": lambda p: Predictions(pd.DataFrame(p[:, [2, 0, 1]], columns=ANIMALS[[2, 0, 1]])),
    "array": lambda p: p,
    "top": lambda p: TopLabelPrediction(ANIMALS[p.argmax(axis=1)], p.max(axis=1)),
}


@pytest.mark.parametrize("form", FORMS)
def test_names_of_classes_are_understood_everywhere(three, form):
    proba, y = three
    scores, names = FORMS[form](proba), ANIMALS[y]
    assert ece(names, scores) == pytest.approx(ece(y, proba))
    assert mce(names.tolist(), scores) == pytest.approx(mce(y, proba))
    assert accuracy(names, scores) == pytest.approx(accuracy(y, proba))
    assert accuracy(names, ANIMALS[proba.argmax(axis=1)]) == pytest.approx(accuracy(y, proba))
    assert noise_floor(names, scores, n_resamples=5).observed == pytest.approx(ece(y, proba))
    assert metrics(names, scores).tl_ece == pytest.approx(ece(y, proba))
    if form != "top":
        assert log_loss(names, scores) == pytest.approx(log_loss(y, proba))
        fitted = MulticlassToBinary(HistogramBinning(n_bins=3)).fit(scores, names)
        assert fitted.predict_top(scores).confidence == pytest.approx(
            MulticlassToBinary(HistogramBinning(n_bins=3)).fit(proba, y).predict_top(proba).confidence
        )


def test_labels_and_scores_of_other_shapes_and_libraries(three):
    proba, y = three
    expected = ece(y, proba)
    for labels in (y[:, None], np.eye(3)[y], y.astype(float), Tensor(y, "torch.int64", False), pa.array(y)):
        assert ece(labels, proba) == pytest.approx(expected)
    for scores in (Tensor(proba), Tensor(proba, "torch.bfloat16"), sparse.csr_array(proba)):
        assert ece(y, scores) == pytest.approx(expected)
    with pytest.raises(InputError, match="row 0 is not one 1 among zeros"):
        ece(np.ones((200, 3)), proba)
    with pytest.raises(InputError, match="2 texts, and there are 3 classes"):
        ece(np.where(y == 0, "cat", "dog"), proba)


def test_kinds_of_lists_hold_what_they_are_given(three):
    proba, y = three
    order = np.argsort(-proba, axis=1, kind="stable")[:, :2]
    rows = TopKPrediction(order, np.take_along_axis(proba, order, axis=1), y)
    for notion in ("confidence", "top-label"):
        assert ece(y, rows, notion=notion) == pytest.approx(ece(y, proba, notion=notion))
    for notion in ("top-k-confidence", "top-k-label"):
        assert ece(y, rows, notion=notion) == pytest.approx(ece(y, proba, notion=notion, top_k=2))
    fitted = MulticlassToBinary(HistogramBinning(n_bins=3), notion="top-k-label", top_k=2).fit(rows, y)
    other = MulticlassToBinary(HistogramBinning(n_bins=3), notion="top-k-label", top_k=2).fit(proba, y)
    np.testing.assert_array_equal(fitted.predict_top_k(rows).scores, other.predict_top_k(proba)[1])
    with pytest.raises(InputError, match="holds a class twice in row 0"):
        TopKPrediction([[0, 0]], [[0.5, 0.2]])
    with pytest.raises(InputError, match="needs a score for every class"):
        ece(y, rows, notion="class-wise")


def test_the_floor_of_several_true_classes_allows_for_dependence():
    """Classes that always come together: 5 % of calibrated models are called above noise, at most."""
    generator = np.random.default_rng(0)
    below = 0
    for seed in range(100):
        scores = np.repeat(generator.beta(0.6, 2.0, (200, 1)), 5, axis=1)
        rows = MultilabelPrediction(scores, generator.random((200, 1)) < scores)
        below += (
            noise_floor(rows.labels, rows, notion="class-wise", n_resamples=39, random_state=seed).p_value
            <= 0.05
        )
    assert below <= 12  # P(Bin(100, 0.05) > 12) = 0.0015
