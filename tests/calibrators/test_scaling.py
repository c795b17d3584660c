"""Temperature, vector and Dirichlet scaling against closed forms, peers and literal implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

import calib.calibrators.likelihood
import calib.calibrators.scaling
from calib.calibrators.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from calib.exceptions import InputError, TooManyParametersWarning
from calib.predictions import Predictions

ALL = [TemperatureScaling(), TemperatureScaling(objective="conf_ece"), VectorScaling(), DirichletScaling()]
AFFINE = [VectorScaling, DirichletScaling]


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


@pytest.mark.parametrize("scaling", AFFINE)
def test_lbfgs_and_newton_agree(scaling, monkeypatch):
    proba, labels = simulated()
    newton = scaling(l2=1e-3).fit(proba, labels).predict_proba(proba)
    monkeypatch.setattr(calib.calibrators.likelihood, "NEWTON_LIMIT", 0)
    np.testing.assert_allclose(scaling(l2=1e-3).fit(proba, labels).predict_proba(proba), newton, atol=1e-5)


def test_early_stop_is_said(monkeypatch):
    proba, labels = simulated(n=60, n_classes=3)
    monkeypatch.setattr(calib.calibrators.likelihood, "NEWTON_LIMIT", 0)
    monkeypatch.setattr(calib.calibrators.likelihood, "LBFGS_ITERATIONS", 2)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        DirichletScaling().fit(proba, labels)


@pytest.mark.parametrize("scaling", ALL, ids=str)
@pytest.mark.parametrize("present", [[0], [3], [0, 2], [1, 2, 3]])
def test_absent_classes_keep_their_columns(scaling, present):
    proba, labels = simulated()
    rows = np.isin(labels, present)
    predicted = scaling.fit(proba[rows], labels[rows]).predict_proba(proba)
    assert predicted.shape == proba.shape
    assert np.isfinite(predicted).all()
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0, rtol=1e-12)
    assert all(np.isfinite(value).all() for name, value in vars(scaling).items() if name.endswith("_"))
    if not isinstance(scaling, TemperatureScaling):
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
    def never(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(calib.calibrators.scaling, "full_softmax_fit", never)
    monkeypatch.setattr(calib.calibrators.scaling, "diagonal_softmax_fit", never)
    proba, labels = simulated(n=5, n_classes=4)
    expected = f"{scaling.n_parameters(4)} parameters for 5 rows of 4 classes"
    with pytest.warns(TooManyParametersWarning, match=expected), pytest.raises(KeyboardInterrupt):
        scaling().fit(proba, labels)


def test_parameter_counts():
    assert TemperatureScaling.n_parameters(1000) == 1
    assert VectorScaling.n_parameters(1000) == 1998
    assert DirichletScaling.n_parameters(1000) == 1_001_000


@pytest.mark.parametrize("scaling", ALL, ids=str)
def test_predictions_and_arrays_are_the_same_input(scaling):
    proba, labels = simulated(n=300)
    predictions = Predictions(proba, labels)
    one = scaling.fit(predictions, labels).predict_proba(predictions)
    np.testing.assert_array_equal(scaling.fit(proba, labels).predict_proba(proba), one)


@pytest.mark.parametrize("scaling", ALL, ids=str)
def test_refusals(scaling):
    proba, labels = simulated(n=50)
    with pytest.raises(NotFittedError):
        type(scaling)().predict_proba(proba)
    with pytest.raises(InputError, match="proba must lie in"):
        scaling.fit(proba * 5, labels)
    with pytest.raises(InputError, match="at least 2 columns"):
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
    for scaling in AFFINE:
        with pytest.raises(InputError, match=r"l2 must be a finite number, 0 or more; got -1"):
            scaling(l2=-1).fit(proba, labels)
