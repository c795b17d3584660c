"""Temperature, vector and Dirichlet scaling against closed forms, peers and literal implementations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

import calib.calibrators.likelihood
import calib.calibrators.scaling
from calib.base.exceptions import InputError, TooManyParametersWarning
from calib.calibrators import scaling
from calib.calibrators.ensemble import EnsembleTemperatureScaling
from calib.calibrators.scaling import (
    DirichletScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from calib.calibrators.softmax_fit import STRENGTHS, folds
from calib.data.predictions import Predictions

ALL = [
    TemperatureScaling(),
    TemperatureScaling(objective="conf_ece"),
    VectorScaling(),
    DirichletScaling(),
    DirichletScaling(l2="cv"),
    EnsembleTemperatureScaling(),
    StructuredVectorScaling(),
    StructuredMatrixScaling(),
]
AFFINE = [VectorScaling, DirichletScaling]
AFFINE_TYPES = tuple(AFFINE)


def simulated(n=1500, n_classes=4, seed=0, sharpen=1.7):
    """Logits, labels drawn from their softmax, and the softmax of the logits sharpened."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 1.5, (n, n_classes))
    true = softmax(logits, axis=1)
    labels = (true.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    return softmax(sharpen * logits, axis=1), labels


def mean_log_loss(proba, labels):
    return -np.log(proba[np.arange(len(labels)), labels]).mean()


def test_temperature_closed_form():
    # Every row says (0.8, 0.2) and is right 6 times in 10: sigmoid(log(4) / T) = 0.6, T = log 4 / log 1.5.
    proba = np.tile([0.8, 0.2], (10, 1))
    fitted = TemperatureScaling().fit(proba, [0] * 6 + [1] * 4)
    assert fitted.temperature_ == pytest.approx(np.log(4) / np.log(1.5), rel=1e-10)
    np.testing.assert_allclose(fitted.predict_proba(proba)[0], [0.6, 0.4], rtol=1e-10)


def test_temperature_recovers_a_known_one():
    proba, labels = simulated(n=200_000)
    assert TemperatureScaling().fit(proba, labels).temperature_ == pytest.approx(1.7, abs=0.02)


def test_temperature_minimises_the_log_loss():
    proba, labels = simulated()
    best = TemperatureScaling().fit(proba, labels).temperature_
    losses = [
        mean_log_loss(softmax(np.log(proba) / t, axis=1), labels) for t in best * np.array([0.99, 1, 1.01])
    ]
    assert losses[1] < min(losses[0], losses[2])


def test_temperature_stays_in_its_range():
    certain = np.array([[0.7, 0.3], [0.4, 0.6]])
    assert TemperatureScaling().fit(certain, [0, 1]).temperature_ == 0.01
    assert TemperatureScaling().fit(certain, [1, 0]).temperature_ == 100.0
    assert TemperatureScaling().fit(np.full((3, 4), 0.25), [0, 1, 1]).temperature_ == 1.0


def test_conf_ece_temperature_is_the_literal_grid():
    proba, labels = simulated(n=400)
    best = (np.inf, 0.0)
    for step in range(1, 101):
        scaled = softmax(np.log(proba) / (step / 10), axis=1)
        confidence, correct = scaled.max(axis=1), scaled.argmax(axis=1) == labels
        total = 0.0
        for b in range(15):
            inside = (confidence >= b / 15) & ((confidence < (b + 1) / 15) | (b == 14))
            if inside.any():
                total += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
        best = min(best, (total, step / 10))
    assert TemperatureScaling(objective="conf_ece").fit(proba, labels).temperature_ == best[1]


@given(
    st.integers(0, 1000),
    st.sampled_from([0.01, 0.3, 1.0, 5.0, 100.0]),
    st.sampled_from([np.float32, float]),
    st.sampled_from([2.0**-126, 2e-4]),
)
def test_temperature_keeps_the_argmax(seed, temperature, dtype, floor):
    proba = np.random.default_rng(seed).dirichlet(np.full(5, 0.3), 50).astype(dtype)
    proba[:5] = np.eye(5)
    fitted = TemperatureScaling()
    fitted.temperature_, fitted.n_classes_, fitted.floor_ = temperature, 5, floor
    top = fitted.predict_top(proba)
    np.testing.assert_array_equal(top.label, proba.argmax(axis=1))
    np.testing.assert_array_equal(fitted.predict(proba), proba.argmax(axis=1))
    np.testing.assert_allclose(top.confidence, fitted.predict_proba(proba).max(axis=1), rtol=1e-12)


def test_vector_scaling_minimises_its_definition():
    proba, labels = simulated(n_classes=3)
    features = np.log(proba[:, :2] / proba[:, 2:])

    def loss(theta):
        logits = np.column_stack([features * theta[:2] + theta[2:], np.zeros(len(proba))])
        return -log_softmax(logits, axis=1)[np.arange(len(labels)), labels].mean()

    fitted = VectorScaling().fit(proba, labels)
    solution = np.concatenate([fitted.weights_, fitted.biases_])
    literal = minimize(loss, [1, 1, 0, 0], method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(solution, literal.x, atol=1e-4)
    assert loss(solution) <= literal.fun + 1e-12
    assert mean_log_loss(fitted.predict_proba(proba), labels) == pytest.approx(loss(solution), rel=1e-12)


def test_dirichlet_scaling_is_multinomial_logistic_regression():
    proba, labels = simulated(n_classes=5)
    fitted = DirichletScaling().fit(proba, labels)
    peer = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(np.log(proba), labels)
    np.testing.assert_allclose(fitted.predict_proba(proba), peer.predict_proba(np.log(proba)), atol=1e-6)


def test_dirichlet_scaling_finds_a_confusion():
    """A model that swaps classes 0 and 1 is repaired, and the argmax follows."""
    proba, labels = simulated(n=4000, n_classes=3, sharpen=1.0)
    swapped = proba[:, [1, 0, 2]]
    fitted = DirichletScaling().fit(swapped, labels)
    assert np.abs(fitted.predict_proba(swapped) - proba).mean() < 0.02
    top = fitted.predict_top(swapped)
    assert (top.label == labels).mean() > (swapped.argmax(axis=1) == labels).mean() + 0.2
    np.testing.assert_array_equal(top.confidence, fitted.predict_proba(swapped).max(axis=1))


@pytest.mark.parametrize("scaling", AFFINE)
def test_strong_l2_leaves_the_model_as_it_is(scaling):
    proba, labels = simulated()
    np.testing.assert_allclose(scaling(l2=1e9).fit(proba, labels).predict_proba(proba), proba, atol=1e-8)
    losses = [
        mean_log_loss(scaling(l2=l2).fit(proba, labels).predict_proba(proba), labels) for l2 in (0, 0.1, 10)
    ]
    assert losses == sorted(losses)


def literal_loss(log_p, labels, weights, biases, penalty):
    """Mean log loss of the softmax of a full map, with a penalty already computed."""
    log_q = log_softmax(log_p @ weights.T + biases, axis=1)
    return -log_q[np.arange(len(labels)), labels].mean() + penalty


def dirichlet_loss(proba, labels, weights, biases, l2):
    """The objective of `DirichletScaling`, as its docstring says it."""
    log_p = np.log(proba)
    mean = log_p.mean(axis=0)
    shift = weights @ mean + biases - mean
    penalty = l2 / 2 * (((weights - np.eye(len(weights))) ** 2).sum() + (shift**2).sum())
    return literal_loss(log_p, labels, weights, biases, penalty)


def odir_loss(proba, labels, weights, biases, l2, off_diagonal):
    """The same with `off_diagonal`: Kull et al.'s lambda and mu, and l2 on the diagonal alone."""
    size = len(weights)
    off = weights[~np.eye(size, dtype=bool)]
    kull_lambda, kull_mu = off_diagonal * size * (size - 1) / 2, off_diagonal * size / 2
    penalty = kull_lambda * (off**2).mean() + kull_mu * (biases**2).mean()
    penalty += l2 / 2 * ((np.diag(weights) - 1) ** 2).sum()
    return literal_loss(np.log(proba), labels, weights, biases, penalty)


def steepest(loss, weights, biases, step=1e-5):
    """Largest numerical derivative of a loss along 40 random directions of length 1."""
    random = np.random.default_rng(0)
    slopes = []
    for _ in range(40):
        direction = random.normal(size=(len(weights), weights.shape[1] + 1))
        direction *= step / np.linalg.norm(direction)
        ahead = loss(weights + direction[:, :-1], biases + direction[:, -1])
        behind = loss(weights - direction[:, :-1], biases - direction[:, -1])
        slopes.append(abs(ahead - behind) / (2 * step))
    return max(slopes)


@pytest.mark.parametrize("n_classes", [4, 20])
@pytest.mark.parametrize("l2", [1e-3, 0.1])
def test_fits_of_any_size_are_optima_of_what_is_documented(n_classes, l2):
    proba, labels = simulated(n=500, n_classes=n_classes)
    plain = DirichletScaling(l2=l2).fit(proba, labels)
    odir = DirichletScaling(l2=l2, off_diagonal=0.05).fit(proba, labels)
    for fitted, loss in (
        (plain, lambda w, b: dirichlet_loss(proba, labels, w, b, l2)),
        (odir, lambda w, b: odir_loss(proba, labels, w, b, l2, 0.05)),
    ):
        assert steepest(loss, np.eye(n_classes), np.zeros(n_classes)) > 1e-3
        assert steepest(loss, fitted.weights_, fitted.biases_) < 1e-8
        assert fitted.gradient_norm_ < 1e-6
        assert 0.0 <= fitted.loss_gap_ <= 1e-14


def test_strong_odir_leaves_a_weight_per_class():
    proba, labels = simulated()
    fitted = DirichletScaling(off_diagonal=1e6).fit(proba, labels)
    np.testing.assert_allclose(fitted.weights_, np.diag(np.diag(fitted.weights_)), atol=1e-6)
    np.testing.assert_allclose(fitted.biases_, 0.0, atol=1e-6)
    assert np.abs(np.diag(fitted.weights_) - 1 / 1.7).max() < 0.15


def test_vector_scaling_of_many_classes_is_at_its_optimum():
    """Several hundred parameters; the same in float32, which large data are fitted in."""
    proba, labels = simulated(n=2000, n_classes=200, sharpen=1.3)
    fitted = VectorScaling(l2=1e-4).fit(proba, labels)
    features = np.log(proba[:, :-1] / proba[:, -1:])
    mean = features.mean(axis=0)

    def loss(weights, biases):
        logits = np.column_stack([features * weights[:, 0] + biases, np.zeros(len(proba))])
        shift = mean * weights[:, 0] + biases - mean
        penalty = 0.5e-4 * (((weights - 1) ** 2).sum() + (shift**2).sum())
        return mean_log_loss(softmax(logits, axis=1), labels) + penalty

    assert steepest(loss, fitted.weights_[:, None], fitted.biases_) < 1e-8


def test_float32_fits_say_nearly_the_same(monkeypatch):
    proba, labels = simulated(n=2000, n_classes=50, sharpen=1.3)
    exact = VectorScaling().fit(proba, labels)
    monkeypatch.setattr(calib.calibrators.scaling, "SINGLE_PRECISION", 0)
    single = VectorScaling().fit(proba, labels)
    assert single.weights_.dtype == np.float64
    assert single.loss_gap_ <= 1e-8
    losses = [mean_log_loss(fitted.predict_proba(proba), labels) for fitted in (exact, single)]
    assert losses[1] == pytest.approx(losses[0], abs=1e-8)
    np.testing.assert_allclose(single.predict_proba(proba), exact.predict_proba(proba), atol=1e-4)


@pytest.mark.parametrize("scaling", AFFINE)
def test_early_stop_is_said(scaling, monkeypatch):
    proba, labels = simulated(n=60, n_classes=3)
    monkeypatch.setattr(calib.calibrators.likelihood, "NEWTON_STEPS", 2)
    said = r"after 2 Newton steps, about [\d.e-]+ nats per row above the optimum \(gradient norm [\d.e-]+\)"
    with pytest.warns(ConvergenceWarning, match=said):
        scaling().fit(proba, labels)


@pytest.mark.parametrize("scaling", [*AFFINE, StructuredMatrixScaling])
def test_loss_gap_tells_how_far_the_optimum_is(scaling, monkeypatch):
    """Of a fit stopped early: about the gap where its last step began, and more than what is left."""
    proba, labels = simulated(n=800, n_classes=25)
    gaps, losses = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for steps in (1, 2, 3, 4, 5, 200):
            monkeypatch.setattr(calib.calibrators.likelihood, "NEWTON_STEPS", steps)
            fitted = scaling() if scaling is StructuredMatrixScaling else scaling(l2=1e-3)
            fitted.fit(proba, labels)
            gaps.append(fitted.loss_gap_)
            losses.append(objective(fitted, proba, labels))
    true = np.array(losses[:-1]) - losses[-1]
    near = [step for step in range(4) if 1e-10 < true[step] < 1e-3]
    assert near
    for step in near:  # near the optimum the loss is a parabola, and half the decrement is the gap
        assert gaps[step + 1] == pytest.approx(true[step], rel=0.1)
    assert (true <= np.array(gaps[:-1]) + 1e-15).all()


def objective(fitted, proba, labels):
    """What a fit minimised, written from its docstring."""
    n, size = proba.shape
    weights, biases = fitted.weights_, fitted.biases_
    if isinstance(fitted, VectorScaling):
        features = np.log(proba[:, :-1] / proba[:, -1:])
        shift = features.mean(axis=0) * (weights - 1) + biases
        penalty = fitted.l2 / 2 * (((weights - 1) ** 2).sum() + (shift**2).sum())
        return mean_log_loss(fitted.predict_proba(proba), labels) + penalty
    if isinstance(fitted, DirichletScaling):
        return dirichlet_loss(proba, labels, weights, biases, fitted.l2)
    off = weights[~np.eye(size, dtype=bool)]
    held = (biases**2).sum() + ((np.diag(weights) - 1) ** 2).sum()
    penalty = size / n * held + size * (size - 1) / n * (off**2).sum()
    return mean_log_loss(fitted.predict_proba(proba), labels) + penalty


# --- a ridge chosen by cross-validation -------------------------------------------------------------

CROSS_VALIDATED = [
    VectorScaling(l2="cv"),
    DirichletScaling(l2="cv"),
    DirichletScaling(off_diagonal="cv"),
    DirichletScaling(l2=0.01, off_diagonal="cv"),
]


@pytest.mark.parametrize("scaling", CROSS_VALIDATED, ids=str)
def test_search_is_the_literal_cross_validation(scaling):
    proba, labels = simulated(n=200, n_classes=3)
    fitted = scaling.fit(proba, labels)
    fold = folds(proba, labels)
    searched = "l2" if scaling.l2 == "cv" else "off_diagonal"
    floor = scaling.floor_
    for strength, mean, error in fitted.search_:
        losses = np.empty(len(labels))
        for number in range(5):
            inside = fold != number
            item = clone(scaling).set_params(**{searched: strength}).fit(proba[inside], labels[inside])
            item.floor_ = floor
            said = item.predict_proba(proba[~inside])
            losses[~inside] = -np.log(said[np.arange(len(said)), labels[~inside]])
        assert mean == pytest.approx(losses.mean(), abs=2e-4)
        assert error == pytest.approx(losses.std(ddof=1) / np.sqrt(200), rel=1e-2)
    assert fitted.ridge_ == fitted.search_[fitted.search_[:, 1].argmin(), 0]
    alone = clone(scaling).set_params(**{searched: fitted.ridge_}).fit(proba, labels)
    np.testing.assert_array_equal(alone.predict_proba(proba), fitted.predict_proba(proba))
    assert alone.ridge_ is None
    assert not hasattr(fitted.set_params(**{searched: 0.1}).fit(proba, labels), "search_")


def test_folds_are_stratified_and_do_not_depend_on_the_order_of_rows():
    proba, labels = simulated(n=503)
    fold = folds(proba, labels)
    for code in range(4):
        counts = np.bincount(fold[labels == code], minlength=5)
        assert counts.max() - counts.min() <= 1
    order = np.random.default_rng(1).permutation(503)
    np.testing.assert_array_equal(folds(proba[order], labels[order]), fold[order])
    # Folds say nothing of the scores: their means differ by chance alone.
    means = [proba[fold == number].max(axis=1).mean() for number in range(5)]
    assert np.ptp(means) < 6 * proba.max(axis=1).std() / np.sqrt(100)


def test_search_ends_inside_the_grid_unless_the_optimum_is_at_an_end():
    few = DirichletScaling(l2="cv").fit(*simulated(n=200, n_classes=6))
    many = DirichletScaling(l2="cv").fit(*simulated(n=4_000, n_classes=3))
    assert STRENGTHS[0] > few.ridge_ > many.ridge_ > STRENGTHS[-1]
    assert few.search_[-1, 1] > few.search_[:, 1].min() + 1e-3
    np.testing.assert_array_equal(few.search_[:, 0], np.sort(few.search_[:, 0])[::-1])


def test_one_row_leaves_nothing_to_hold_out():
    fitted = DirichletScaling(l2="cv").fit([[0.7, 0.2, 0.1]], [1])
    assert fitted.ridge_ == STRENGTHS[0]
    np.testing.assert_allclose(fitted.predict_proba([[0.5, 0.3, 0.2]]), [[0.5, 0.3, 0.2]], atol=1e-3)


def test_cross_validation_cures_dirichlet_scaling_of_few_rows():
    """30 classes, 600 rows: 930 parameters fit the noise, and the default says so before it starts."""
    random = np.random.default_rng(0)

    def drawn(n):
        labels = random.integers(0, 30, n)
        logits = random.normal(size=(n, 30))
        logits[np.arange(n), labels] += 1.2
        return softmax(1.6 * logits + np.linspace(-0.5, 0.5, 30), axis=1), labels

    proba, labels = drawn(600)
    new, truth = drawn(5000)

    def tested(scaling):
        return mean_log_loss(scaling.fit(proba, labels).predict_proba(new), truth)

    base = mean_log_loss(new, truth)
    with pytest.warns(TooManyParametersWarning, match=r'930 parameters for 600 .* ridge: l2="cv"'):
        default = tested(DirichletScaling())
    assert default > base + 0.5
    assert tested(DirichletScaling(l2="cv")) < base + 0.01
    assert tested(DirichletScaling(off_diagonal="cv")) < base
    assert tested(VectorScaling(l2="cv")) < base


@pytest.mark.parametrize("scaling", ALL, ids=str)
@pytest.mark.parametrize("present", [[0], [3], [0, 2], [1, 2, 3]])
def test_absent_classes_keep_their_columns(scaling, present):
    proba, labels = simulated()
    rows = np.isin(labels, present)
    predicted = scaling.fit(proba[rows], labels[rows]).predict_proba(proba)
    assert predicted.shape == proba.shape
    assert np.isfinite(predicted).all()
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0, rtol=1e-12)
    fitted = {name: value for name, value in vars(scaling).items() if name.endswith("_")}
    assert fitted.pop("class_names_") is None
    assert all(np.isfinite(value).all() for value in fitted.values())
    if isinstance(scaling, AFFINE_TYPES) and scaling.ridge_ is None:
        absent = [code for code in range(4) if code not in present]
        assert predicted[:, absent].max() < 1e-3
        np.testing.assert_allclose(
            predicted[rows][:, present].mean(axis=0),
            np.bincount(labels[rows])[present] / rows.sum(),
            atol=1e-6,
        )


@pytest.mark.parametrize("scaling", AFFINE)
def test_separable_rows_stay_finite(scaling):
    proba = np.vstack([np.full((30, 3), 0.1) + 0.7 * np.eye(3)[code] for code in range(3)])
    labels = np.repeat([0, 1, 2], 30)
    predicted = scaling().fit(proba, labels).predict_proba(proba)
    assert np.isfinite(predicted).all()
    np.testing.assert_allclose(predicted[np.arange(90), labels], 1.0, atol=1e-5)


@pytest.mark.parametrize("scaling", ALL, ids=str)
def test_zeros_and_ones_are_scored(scaling):
    proba, labels = simulated()
    proba = np.round(proba, 1)
    proba[np.arange(len(proba)), proba.argmax(axis=1)] += 1 - proba.sum(axis=1)
    proba[:4] = np.eye(4)
    assert (proba == 0).mean() > 0.2
    predicted = scaling.fit(proba, labels).predict_proba(proba)
    assert np.isfinite(predicted).all()
    same = scaling.fit(proba.astype(np.float32), labels).predict_proba(proba.astype(np.float32))
    np.testing.assert_allclose(same, predicted, atol=1e-4)


@pytest.mark.parametrize("scaling", ALL, ids=str)
@pytest.mark.parametrize(
    ("lowest", "floor"),
    [
        (1e-5, 5e-6),  # half the smallest
        (1e-20, 5e-21),
        (1e-3, 2.5e-4),  # at most 1e-3 / L
        (1e-40, 2.0**-126),  # at least the smallest normal float32
    ],
)
def test_zeros_count_as_half_the_smallest_probability(scaling, lowest, floor):
    proba, labels = simulated(n=200)
    proba = np.maximum(proba, 2e-3)
    proba[:50, 1], proba[60, 2] = 0.0, lowest
    assert scaling.fit(proba, labels).floor_ == pytest.approx(floor)
    raised = np.where(proba == 0, scaling.floor_, proba)
    np.testing.assert_array_equal(scaling.predict_proba(proba), scaling.predict_proba(raised))


@pytest.mark.parametrize("scaling", AFFINE)
def test_more_parameters_than_rows_is_said_before_the_fit(scaling, monkeypatch):
    def never(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(calib.calibrators.scaling, "softmax_fit", never)
    proba, labels = simulated(n=5, n_classes=4)
    expected = f"{scaling.n_parameters(4)} parameters for 5 rows of 4 classes"
    with pytest.warns(TooManyParametersWarning, match=expected), pytest.raises(KeyboardInterrupt):
        scaling().fit(proba, labels)


def test_parameter_counts():
    assert TemperatureScaling.n_parameters(1000) == 1
    assert VectorScaling.n_parameters(1000) == 1998
    assert DirichletScaling.n_parameters(1000) == 1_001_000
    assert StructuredVectorScaling.n_parameters(1000) == 2_001
    assert StructuredMatrixScaling.n_parameters(1000) == 1_001_001


@pytest.mark.parametrize("scaling", ALL, ids=str)
def test_predictions_and_arrays_are_the_same_input(scaling):
    proba, labels = simulated(n=300)
    predictions = Predictions(proba, labels)
    item = scaling.fit(predictions, labels).predict_proba(predictions).proba
    np.testing.assert_array_equal(scaling.fit(proba, labels).predict_proba(proba), item)


@pytest.mark.parametrize("scaling", ALL, ids=str)
def test_refusals(scaling):
    proba, labels = simulated(n=50)
    with pytest.raises(NotFittedError):
        type(scaling)().predict_proba(proba)
    with pytest.raises(InputError, match="proba must lie in"):
        scaling.fit(proba * 5, labels)
    with pytest.raises(InputError, match="columns"):
        scaling.fit(proba[:, :1], labels * 0)
    with pytest.raises(InputError, match=r"0\.\.3"):
        scaling.fit(proba, labels + 4)
    with pytest.raises(InputError, match="fitted on 4 classes; got 5 columns"):
        scaling.fit(proba, labels).predict_proba(np.full((2, 5), 0.2))


def test_bad_options():
    proba, labels = simulated(n=50)
    with pytest.raises(
        InputError, match='objective must be "log_loss", "conf_ece" or "top_versus_all"; got .ece.'
    ):
        TemperatureScaling(objective="ece").fit(proba, labels)
    for affine in AFFINE:
        with pytest.raises(InputError, match=r'l2 must be a finite number, 0 or more, or "cv"; got -1'):
            affine(l2=-1).fit(proba, labels)
        with pytest.raises(InputError, match=r'l2 must be a finite number, 0 or more, or "cv"; got .auto.'):
            affine(l2="auto").fit(proba, labels)
    with pytest.raises(
        InputError, match=r'off_diagonal must be a finite number, 0 or more, or "cv"; got inf'
    ):
        DirichletScaling(off_diagonal=np.inf).fit(proba, labels)
    with pytest.raises(InputError, match="only one of l2 and off_diagonal"):
        DirichletScaling(l2="cv", off_diagonal="cv").fit(proba, labels)
    with pytest.raises(InputError, match="lambda_diagonal must be a finite number, 0 or more; got -1"):
        StructuredVectorScaling(lambda_diagonal=-1).fit(proba, labels)
    with pytest.raises(InputError, match='objective must be "log_loss" or "brier"; got .mse.'):
        EnsembleTemperatureScaling(objective="mse").fit(proba, labels)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sharpen", [0.05, 1.0, 5.0, 80.0])
def test_single_precision_only_says_where_to_start(sharpen, weighted):
    proba, codes = simulated(n=30_000, n_classes=5, seed=11, sharpen=sharpen)
    weights = np.random.default_rng(12).uniform(0.5, 2.0, len(proba)) if weighted else np.ones(len(proba))
    alone = scaling.temperature_of_slopes(lambda b: scaling.log_loss_slopes(proba, codes, 1e-30, b, weights))
    assert scaling.log_loss_temperature(proba, codes, 1e-30, weights) == pytest.approx(alone, rel=1e-10)


def test_slopes_are_the_derivatives_of_the_log_loss():
    random = np.random.default_rng(3)
    proba, codes, weights = random.dirichlet(np.ones(4), 60), random.integers(0, 4, 60), random.random(60)

    def loss(b):
        return float((np.log((proba**b).sum(axis=1)) - b * np.log(proba)[range(60), codes]) @ weights)

    step = 1e-3
    at = np.array([loss(1.7 + k * step) for k in (-2, -1, 0, 1, 2)])
    slopes = scaling.log_loss_slopes(proba, codes, 1e-30, 1.7, weights)
    assert slopes[0] == pytest.approx((at[3] - at[1]) / (2 * step), rel=1e-5)
    assert slopes[1] == pytest.approx((at[3] - 2 * at[2] + at[1]) / step**2, rel=1e-5)
    assert slopes[2] == pytest.approx((at[4] - 2 * at[3] + 2 * at[1] - at[0]) / (2 * step**3), rel=1e-4)


def test_slopes_at_the_end_of_the_range_are_finite():
    almost_sure = np.full((3, 2_000), 1e-6)
    almost_sure[:, 0] = 1.0 - 1_999e-6
    for dtype in (np.float32, np.float64):
        slopes = scaling.log_loss_slopes(almost_sure, np.zeros(3, int), 1e-7, 100.0, dtype=dtype)
        assert np.isfinite(slopes).all()
