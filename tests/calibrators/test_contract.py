"""What every calibrator owes its user, whatever it does inside: one contract, all calibrators."""

from __future__ import annotations

import io
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

import calib
from calib.calibrators import catalogue
from calib.data.notions import NOTIONS, Notion

L = 4
BINARY = {method.short: method.make() for method in catalogue.BINARY.values()}
BINARY |= {"HB": calib.HistogramBinning(points_per_bin=20)}
REDUCED = {
    f"{notion}-{name}": calib.MulticlassToBinary(binary, notion=notion)
    for notion in NOTIONS
    for name, binary in BINARY.items()
}
REDUCED |= {
    f"normalised-{name}": calib.MulticlassToBinary(binary, notion="class-wise", normalize=True)
    for name, binary in BINARY.items()
}
REDUCED |= {
    "randomized-HB": calib.MulticlassToBinary(
        calib.HistogramBinning(n_bins=5, ties="randomize", random_state=0), min_points=5
    ),
    "pooled-HB": calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=100), fallback="pooled"),
    "completed-HB": calib.MulticlassToBinary(BINARY["HB"], complete="rescale"),
    "top-2-HB": calib.MulticlassToBinary(BINARY["HB"], notion="top-k-label", top_k=2),
}
SCALINGS = {method.short: method.make() for method in catalogue.VECTOR.values()}
SCALINGS |= {
    "TS-grid": calib.TemperatureScaling(objective="conf_ece"),
    "TS-TvA": calib.TemperatureScaling(objective="top_versus_all"),
    "VS-l2": calib.VectorScaling(l2=0.01),
    "DS-l2": calib.DirichletScaling(l2=0.01),
    "VS-cv": calib.VectorScaling(l2="cv"),
    "DS-odir": calib.DirichletScaling(off_diagonal="cv"),
    "ETS-brier": calib.EnsembleTemperatureScaling(objective="brier"),
}
CANONICAL = {name: catalogue.make_calibrator(name) for name in catalogue.SCHEMES}
CANONICAL |= {
    "grid": calib.CanonicalBinning(calib.GridScheme(cells=4)),
    "projection": calib.CanonicalBinning(calib.ProjectionScheme(n_bins=6)),
    "random-projection": calib.CanonicalBinning(
        calib.ProjectionScheme(n_bins=6, directions="random", random_state=0)
    ),
}
MULTICLASS = REDUCED | SCALINGS | CANONICAL
ESTIMATOR_CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
]
EVERY = pytest.mark.parametrize("name", MULTICLASS)
EVERY_BINARY = pytest.mark.parametrize("name", BINARY)


def rows(seed, n=400):
    """Probabilities of an overconfident model of L classes, and labels."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 1.5, (n, L))
    true = softmax(logits, axis=1)
    labels = (true.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(max=L - 1)
    return softmax(1.7 * logits, axis=1), labels


def fitted(name, proba, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", calib.TooManyParametersWarning)
        return clone(MULTICLASS[name]).fit(proba, labels)


@cache
def usual(name):
    """Fitted on the usual rows, once, for tests that only ask it."""
    return fitted(name, *rows(1))


def answers_of(calibrator, proba):
    """Everything a calibrator can say about rows, one array per answer."""
    answers = {}
    for method in ("predict", "predict_proba", "predict_top", "predict_top_k", "assign"):
        if hasattr(calibrator, method):
            codes = method == "predict"  # of predictions, `predict` gives predictions
            answer = getattr(calibrator, method)(getattr(proba, "proba", proba) if codes else proba)
            if isinstance(answer, calib.Predictions):
                answer = answer.proba
            elif isinstance(answer, calib.TopKPrediction):
                answer = (answer.ranked, answer.scores)
            elif isinstance(answer, calib.TopLabelPrediction):
                answer = (answer.label, answer.confidence)
            arrays = answer if isinstance(answer, tuple) else (answer,)
            answers |= {f"{method} {index}": array for index, array in enumerate(arrays)}
    assert answers
    return answers


def assert_same(item, other, rtol=0.0, atol=0.0):
    assert item.keys() == other.keys()
    for answer, values in item.items():
        assert values.dtype == other[answer].dtype
        np.testing.assert_allclose(values, other[answer], rtol=rtol, atol=atol, err_msg=answer)


def assert_sound(answers, n):
    """Every answer is one entry per row: codes of classes (or cells), or probabilities in float64."""
    for answer, values in answers.items():
        assert len(values) == n, answer
        if values.dtype.kind == "i":
            assert values.min() >= 0
            assert values.max() < L or answer.startswith("assign")
        else:
            assert values.dtype == np.float64
            assert np.isfinite(values).all()
            assert values.min() >= 0.0
            assert values.max() <= 1.0
        if answer == "predict_proba 0":
            assert values.shape == (n, L)


@EVERY
def test_clone_and_params(name):
    calibrator = MULTICLASS[name]
    copy = clone(calibrator)
    assert repr(copy) == repr(calibrator)
    assert copy.get_params(deep=False).keys() == calibrator.get_params(deep=False).keys()
    assert (
        type(calibrator)(**calibrator.get_params(deep=False)).get_params().keys() == copy.get_params().keys()
    )
    assert not [key for key in vars(copy) if key.endswith("_")]
    assert copy.set_params(**copy.get_params()) is copy


@EVERY
def test_fit_only_adds_fitted_attributes(name):
    proba, labels = rows(1)
    calibrator = clone(MULTICLASS[name])
    before = repr(calibrator)
    assert calibrator.fit(proba, labels) is calibrator
    assert repr(calibrator) == before
    params = calibrator.get_params(deep=False).keys()
    assert not [key for key in vars(calibrator) if not key.endswith("_") and key not in params]
    assert calibrator.n_classes_ == L
    assert_sound(answers_of(calibrator, rows(2)[0]), 400)


@EVERY
def test_refit_starts_afresh(name):
    other, new = rows(2, n=300), rows(3)[0]
    refitted = fitted(name, *other).fit(*rows(1))
    assert_same(answers_of(refitted, new), answers_of(usual(name), new))


@EVERY
def test_not_fitted(name):
    calibrator = clone(MULTICLASS[name])
    proba, _ = rows(1)
    for method in ("predict", "predict_proba", "predict_top", "predict_top_k", "assign"):
        if hasattr(calibrator, method):
            with pytest.raises(NotFittedError):
                getattr(calibrator, method)(proba)


@EVERY
def test_input_is_neither_modified_nor_kept(name):
    (proba, labels), new = rows(1), rows(2)[0]
    calibrator = fitted(name, proba, labels)
    answers_of(calibrator, proba)
    np.testing.assert_array_equal(proba, rows(1)[0])
    np.testing.assert_array_equal(labels, rows(1)[1])
    assert proba.flags.writeable
    proba[:], labels[:] = 1 / L, 0
    assert_same(answers_of(calibrator, new), answers_of(usual(name), new))


@EVERY
def test_predicting_twice_gives_the_same(name):
    assert_same(answers_of(usual(name), rows(2)[0]), answers_of(usual(name), rows(2)[0]))


@EVERY
def test_predictions_object_and_read_only_arrays_are_the_same_as_arrays(name):
    proba, labels = rows(1)
    expected = answers_of(usual(name), proba)
    predictions = calib.Predictions(proba, labels)
    labels.flags.writeable = False
    calibrator = fitted(name, predictions, labels)
    assert_same(answers_of(calibrator, predictions), expected)
    assert not predictions.proba.flags.writeable
    assert_same(answers_of(calibrator, predictions.proba), expected)


@EVERY
def test_rows_may_be_permuted(name):
    proba, labels = rows(1)
    new = rows(2)[0]
    order = np.random.default_rng(0).permutation(len(labels))
    answers = answers_of(usual(name), new)
    assert_same(
        {answer: values[order] for answer, values in answers.items()},
        answers_of(usual(name), new[order]),
        rtol=1e-12,
    )
    if name not in ("randomized-HB", *CANONICAL):  # noise and boundary rows go by row order, as in the paper
        assert_same(
            answers_of(fitted(name, proba[order], labels[order]), new), answers, rtol=1e-8, atol=1e-12
        )


@EVERY
def test_float32(name):
    """Both precisions are accepted, say float64, and agree on the same numbers."""
    proba, labels = rows(1)
    small = proba.astype(np.float32)
    new = rows(2)[0].astype(np.float32)
    item = answers_of(fitted(name, small, labels), new)
    assert_sound(item, 400)
    other = answers_of(fitted(name, small.astype(np.float64), labels), new.astype(np.float64))
    assert_same(item, other, rtol=1e-6, atol=1e-7)


@EVERY
@pytest.mark.parametrize(
    ("absent", "where"),
    [
        ([2, L - 1], "labels"),
        ([0], "both"),
        pytest.param([0], "labels", marks=pytest.mark.thorough),
        pytest.param([0], "predictions", marks=pytest.mark.thorough),
        pytest.param([2, L - 1], "predictions", marks=pytest.mark.thorough),
        pytest.param([2, L - 1], "both", marks=pytest.mark.thorough),
    ],
)
def test_absent_classes_keep_their_columns(name, absent, where):
    proba, labels = rows(1)
    gone = np.isin(labels, absent), np.isin(proba.argmax(axis=1), absent)
    remaining = ~{"labels": gone[0], "predictions": gone[1], "both": gone[0] | gone[1]}[where]
    assert remaining.sum() > 20
    calibrator = fitted(name, proba[remaining], labels[remaining])
    assert calibrator.n_classes_ == L
    new = rows(2)[0]
    answers = answers_of(calibrator, new)
    assert_sound(answers, len(new))
    if name in REDUCED and REDUCED[name].notion != "class-wise":
        np.testing.assert_array_equal(answers["predict 0"], new.argmax(axis=1))


@EVERY
def test_no_row_for_a_class_at_all(name):
    """Its column is 0 in every row: a class of another model's list."""
    proba, labels = rows(1)
    proba = np.insert(proba[:, : L - 1] / proba[:, : L - 1].sum(axis=1, keepdims=True), 1, 0.0, axis=1)
    labels = np.array([0, 2, 3, 3])[labels]
    assert_sound(answers_of(fitted(name, proba, labels), proba), len(proba))


@EVERY
@pytest.mark.parametrize("right", [True, False])
def test_one_class(name, right):
    """One class is predicted throughout, and it is always right or always wrong."""
    proba, _ = rows(1)
    proba = np.sort(proba, axis=1)[:, ::-1].copy()
    calibrator = fitted(name, proba, np.full(len(proba), 0 if right else 1))
    assert_sound(answers_of(calibrator, proba), len(proba))
    assert_sound(answers_of(calibrator, rows(2)[0]), 400)


@pytest.mark.parametrize("name", REDUCED | SCALINGS)
def test_one_row(name):
    proba, labels = rows(1)
    assert_sound(answers_of(fitted(name, proba[:1], labels[:1]), proba), len(proba))


@EVERY
def test_certain_and_uniform_rows(name):
    proba, labels = rows(1)
    edge = np.concatenate([np.eye(L), np.full((2, L), 1 / L)])
    calibrator = fitted(name, np.concatenate([edge, proba]), np.concatenate([np.arange(6) % L, labels]))
    assert_sound(answers_of(calibrator, edge), len(edge))


@EVERY
def test_wrong_input_is_refused(name):
    proba, labels = rows(1)
    for bad, reason in (
        (np.full((3, L + 1), 1 / (L + 1)), "classes|columns"),
        (proba[0], "columns"),
        (np.full((3, L), np.nan), "NaN"),
        (proba * 3, r"\[0, 1\]"),
        (np.empty((0, L)), "empty"),
    ):
        with pytest.raises(calib.InputError, match=reason):
            answers_of(usual(name), bad)
    with pytest.raises(calib.InputError, match="class codes"):
        fitted(name, proba, labels + 1)
    with pytest.raises(calib.InputError, match="one class code per row"):
        fitted(name, proba, labels[:-1])


@pytest.mark.parametrize("notion", [notion for notion in NOTIONS if notion != "class-wise"])
@EVERY_BINARY
def test_predicted_class_never_changes(notion: Notion, name):
    proba, labels = rows(1)
    new = rows(2)[0]
    calibrator = calib.MulticlassToBinary(BINARY[name], notion=notion).fit(proba, labels)
    np.testing.assert_array_equal(calibrator.predict(new), new.argmax(axis=1))


@EVERY_BINARY
def test_binary_contract(name):
    calibrator = BINARY[name]
    random = np.random.default_rng(0)
    scores = random.random(200)
    outcomes = (random.random(200) < scores**2).astype(int)
    copies = scores.copy(), outcomes.copy()
    with pytest.raises(NotFittedError):
        clone(calibrator).predict(scores)
    item = clone(calibrator).fit(scores, outcomes)
    assert repr(item) == repr(calibrator)
    grid = np.linspace(0, 1, 101)
    predicted = item.predict(grid)
    assert predicted.dtype == np.float64
    assert ((predicted >= 0) & (predicted <= 1)).all()
    order = random.permutation(200)
    refitted = item.fit(scores[:50], outcomes[:50]).fit(scores[order], outcomes[order].astype(bool))
    np.testing.assert_allclose(refitted.predict(grid), predicted, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal((scores, outcomes), copies)
    file = io.BytesIO()
    calib.save(refitted, file)
    file.seek(0)
    np.testing.assert_array_equal(calib.load(file).predict(grid), refitted.predict(grid))


@pytest.mark.parametrize("check", ESTIMATOR_CHECKS)
@pytest.mark.parametrize("name", [*BINARY, "top-label-HB", *SCALINGS, *CANONICAL])
def test_scikit_learns_checks_of_parameters_pass(name, check):
    """Those of constructors, parameters and clones; the others feed features, not probabilities."""
    estimator = (BINARY | MULTICLASS)[name]
    getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))
