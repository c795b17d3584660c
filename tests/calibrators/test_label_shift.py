"""Label shift: exact populations, literal EM and BBSE, what it assumes, and what happens when that fails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.exceptions import NotFittedError

from benchmarks import changes
from benchmarks.simulation import means
from calib import HistogramBinning, InputError, LabelShiftCorrection, MulticlassToBinary, Predictions
from calib.calibrators.catalogue import make_calibrator
from calib.calibrators.label_shift import known_shift, with_weights
from calib.export import scorer, verify_scorer
from calib.files.saved import dumps, loads

#: P(cell | class) of four cells and three classes, and shares of the classes: all multiples of 1/1000.
GIVEN_CLASS = np.array([[0.7, 0.1, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.6], [0.1, 0.1, 0.1]])
SOURCE, TARGET = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])


def population(shares):
    """Rows in exactly the proportions of the population: source posteriors, classes, posteriors of shares."""
    joint = GIVEN_CLASS * shares
    counts = np.round(joint * 1_000).astype(int)
    cell, label = (axis.ravel() for axis in np.indices(counts.shape))
    rows = np.repeat(np.arange(counts.size), counts.ravel())
    calibrated = GIVEN_CLASS * SOURCE / (GIVEN_CLASS * SOURCE).sum(axis=1, keepdims=True)
    true = joint / joint.sum(axis=1, keepdims=True)
    return calibrated[cell[rows]], label[rows], true[cell[rows]]


@pytest.mark.parametrize("method", ["em", "bbse"])
def test_exact_label_shift_is_found_and_corrected(method):
    """Where the assumption holds exactly, shares and corrected probabilities are those of the population."""
    shift = LabelShiftCorrection(method=method).fit(*population(SOURCE)[:2]).adapt(population(TARGET)[0])
    np.testing.assert_allclose(shift.source, SOURCE, atol=1e-12)
    np.testing.assert_allclose(shift.target, TARGET, atol=1e-5)
    np.testing.assert_allclose(shift.weights, TARGET / SOURCE, atol=1e-4)
    new, _, true = population(TARGET)
    np.testing.assert_allclose(shift.correct(new), true, atol=1e-4)
    assert shift.n_target == 1_000
    frame = shift.frame(["a", "b", "c"])
    assert frame["class"].tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(frame["estimated share"], shift.target)


NAMED = {"a": 0.1, "c": 0.7}  # "b" has the rest


@pytest.mark.parametrize("target", [TARGET, NAMED])
@pytest.mark.parametrize("training", [None, SOURCE, {"b": 0.3, "a": 0.5}])
def test_known_shares_are_corrected_by_bayes(target, training):
    """P(y | x) is proportional to p(x | y) times the share of y; shares before are the labels' or given."""
    proba, y, _ = population(SOURCE)
    new, _, true = population(TARGET)
    labelled = Predictions(proba, y, ["a", "b", "c"])
    known = LabelShiftCorrection(target_shares=target, training_shares=training)
    known.fit(labelled, y if training is None else None)
    np.testing.assert_allclose(known.predict_proba(new), true, atol=1e-12)
    shift = known.adapt(new)
    assert shift.method == "known"
    assert all(
        f"{name} {share:.1%}" in shift.words("abc") for name, share in zip("abc", shift.source, strict=True)
    )


@pytest.mark.parametrize("calibrator", [None, "temperature", "dirichlet", "N-HB", "platt", "histogram"])
def test_corrected_calibrators_are_saved_and_exported(calibrator):
    """0.5 of a model of equal shares is 0.01 where 1 % are true: 0.5 * 0.02 / (0.5 * 0.02 + 0.5 * 1.98)."""
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(2), 400)
    y = (random.random(400) < proba[:, 1]).astype(int)
    shift = LabelShiftCorrection(target_shares=0.01, training_shares=0.5).fit(proba).adapt(proba)
    assert shift.correct([0.5]) == pytest.approx([0.01])
    if calibrator in ("platt", "histogram"):
        made, given = make_calibrator(calibrator).binary_calibrator.fit(proba[:, 1], y), proba[:, 1]
        expected = shift.correct(np.stack([1.0 - made.predict(given), made.predict(given)], axis=1))[:, 1]
    else:
        made, given, expected = None, proba, shift.correct(proba)
        if calibrator is not None:
            normalised = MulticlassToBinary(HistogramBinning(), notion="class-wise", normalize=True)
            made = normalised if calibrator == "N-HB" else make_calibrator(calibrator)
            expected = shift.correct(made.fit(proba, y).predict_proba(proba))
    corrected = with_weights(made, shift)
    loaded = loads(dumps(corrected))
    predict = loaded.predict if given.ndim == 1 else loaded.predict_proba
    np.testing.assert_allclose(predict(given), expected, rtol=1e-12)
    assert verify_scorer(scorer(loaded), corrected, given) < 1e-12


def test_shares_that_cannot_be_are_refused():
    proba, y, _ = population(SOURCE)
    labelled = Predictions(proba, y, ["a", "b", "c"])
    for target, words in (
        ([0.5, 0.5], "a share for each of 3 classes; got 2"),
        ([0.5, 0.6, 0.2], "sum of 1.3"),
        ([-0.5, 0.5, 1.0], "least share of -0.5"),
        ({"a": 0.5}, "leaves out 'b' and 'c'"),
        ({"d": 0.5}, "'d', which is none of the classes"),
    ):
        with pytest.raises(InputError, match=words):
            LabelShiftCorrection(target_shares=target).fit(labelled, y)
    with pytest.raises(InputError, match="none before"):
        known_shift(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    with pytest.raises(InputError):
        LabelShiftCorrection(target_shares=TARGET).fit(proba)


@pytest.mark.parametrize("method", ["em", "bbse"])
def test_the_calibration_rows_themselves_show_no_shift(method):
    """EM on any probabilities: their mean is its source. BBSE: C 1 = q for the rows of C."""
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(4), 300)
    y = random.integers(0, 4, 300)
    shift = LabelShiftCorrection(method=method).fit(proba, y).adapt(proba)
    np.testing.assert_allclose(shift.weights, 1.0, atol=1e-6)
    np.testing.assert_allclose(shift.correct(proba), proba, atol=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(5, 60))
def test_em_is_the_literal_fixed_point(seed, n_classes, n):
    """Saerens et al. (2002), Eq. 2.9, one row and one class at a time, from the calibration shares."""
    random = np.random.default_rng(seed)
    calibration, y = random.dirichlet(np.ones(n_classes), 50), random.integers(0, n_classes, 50)
    new = random.dirichlet(random.uniform(0.3, 3.0, n_classes), n)
    shift = LabelShiftCorrection().fit(calibration, y).adapt(new)
    source = calibration.mean(axis=0)
    shares = source.copy()
    for _ in range(20_000):
        before = shares
        weighted = new * shares / source
        shares = (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(shares - before).max() < 1e-12:
            break

    def likelihood(pi):
        return np.log(new @ (pi / source)).mean()

    assert likelihood(shift.target) >= likelihood(shares) - 1e-8
    assert shift.target.sum() == pytest.approx(1.0)


def test_bbse_is_the_literal_solution():
    random = np.random.default_rng(1)
    y = random.integers(0, 3, 2_000)
    proba = random.dirichlet(np.ones(3), 2_000) + 0.7 * np.eye(3)[y]
    proba /= proba.sum(axis=1, keepdims=True)
    kept = random.random(2_000) < np.array([0.2, 0.9, 0.5])[y]
    new, predicted = proba[kept], proba.argmax(axis=1)
    joint = np.array([[np.mean((predicted == i) & (y == j)) for j in range(3)] for i in range(3)])
    weights = np.linalg.solve(joint, [np.mean(predicted[kept] == i) for i in range(3)])
    shift = LabelShiftCorrection(method="bbse").fit(proba, y).adapt(new)
    np.testing.assert_allclose(shift.weights, weights, atol=1e-10)
    np.testing.assert_allclose(shift.target, weights * np.bincount(y) / 2_000, atol=1e-10)
    np.testing.assert_allclose(shift.target, np.bincount(y[kept]) / kept.sum(), atol=0.05)


def test_correction_by_hand():
    # Weights 1/2 and 2: (0.8, 0.2) becomes (0.4, 0.4), that is one half each.
    calibration = np.array([[0.8, 0.2]] * 500 + [[0.2, 0.8]] * 500)
    fitted = LabelShiftCorrection().fit(calibration, np.repeat([0, 1, 0, 1], [400, 100, 100, 400]))
    shift = fitted.adapt(np.array([[0.8, 0.2]] * 320 + [[0.2, 0.8]] * 680))
    # EM: 0.32 = 0.8 pi + 0.2 (1 - pi) gives pi = 0.2: weights 0.4 and 1.6.
    np.testing.assert_allclose(shift.weights, [0.4, 1.6], atol=1e-6)
    np.testing.assert_allclose(shift.correct([[0.8, 0.2], [1.0, 0.0]]), [[0.5, 0.5], [1.0, 0.0]], atol=1e-6)


@pytest.mark.parametrize("method", ["em", "bbse"])
def test_a_class_without_calibration_rows_keeps_its_probability(method):
    """No label of class 2, and for EM no probability either: nothing can be learned about its share."""
    proba = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]).repeat([30, 20], axis=0)
    y = np.array([0] * 28 + [1] * 18 + [0] * 4)
    shift = LabelShiftCorrection(method=method).fit(proba, y).adapt(proba[15:])
    assert shift.weights[2] == 1.0
    assert np.isfinite(shift.correct(np.full((1, 3), 1 / 3))).all()


def test_a_rare_class_that_no_new_row_shows_may_have_a_larger_share():
    """30 rows without a class of 5 %, predicted for 3 % of the rows: 30 such rows have a chance of 40 %."""
    proba = np.array([[0.9, 0.1], [0.1, 0.9]]).repeat([970, 30], axis=0)
    fitted = LabelShiftCorrection(method="bbse").fit(proba, np.repeat([0, 1, 0, 1], [945, 25, 5, 25]))
    assert fitted.adapt(proba[:30]).upper[1] > 0.1


def test_one_hot_rows_and_impossible_rows():
    """A row whose classes all have weight 0 stays as it is."""
    proba = np.array([[1.0, 0.0], [0.0, 1.0]]).repeat(100, axis=0)
    shift = LabelShiftCorrection(method="bbse").fit(proba, [0] * 100 + [1] * 100).adapt(proba[:100])
    assert shift.weights.tolist() == [2.0, 0.0]
    np.testing.assert_allclose(shift.correct([[0.0, 1.0], [0.5, 0.5]]), [[0.0, 1.0], [1.0, 0.0]])
    em = LabelShiftCorrection().fit(proba, [0] * 100 + [1] * 100).adapt(proba[:100])
    np.testing.assert_allclose(em.target, [1.0, 0.0], atol=1e-6)


def test_refusals():
    proba, y = population(SOURCE)[:2]
    with pytest.raises(NotFittedError):
        LabelShiftCorrection().adapt(proba)
    with pytest.raises(InputError, match='method must be "em" or "bbse"; got'):
        LabelShiftCorrection(method="x").fit(proba, y)
    with pytest.raises(InputError, match=r"do not sum to 1; row \d+ sums to 0\.5"):
        LabelShiftCorrection().fit(proba / 2, y)
    with pytest.raises(InputError, match="3 classes; got 2 columns"):
        LabelShiftCorrection().fit(proba, y).adapt(np.full((2, 2), 0.5))
    with pytest.raises(InputError, match="only 1 of 3 classes"):
        LabelShiftCorrection(method="bbse").fit(np.tile([0.6, 0.3, 0.1], (len(y), 1)), y).adapt(proba)


def test_simulation_under_label_shift_and_when_the_assumption_fails():
    """CW-ECE of a calibrated model: 0.28 under a reversed mix, about 0.01 corrected; worse if x moved."""
    helped, harmed = (means(changes.shift(f"{kind} shift", "DS"), 1) for kind in ("label", "covariate"))
    assert helped["CW-ECE, none"] > 0.2
    assert helped["CW-ECE, em"] < 0.04
    assert helped["CW-ECE, bbse"] < 0.04
    assert max(helped["shares off by, em"], helped["shares off by, bbse"]) < 0.06
    assert harmed["CW-ECE, none"] < 0.03
    assert min(harmed["CW-ECE, em"], harmed["CW-ECE, bbse"]) > 0.1


def drawn(generator, n_samples, shares, prior=(0.5, 0.3, 0.2)):
    """Three Gaussian classes with other shares, and what a calibrated model of the prior says of them."""
    labels = generator.choice(3, p=shares, size=n_samples)
    place = 1.2 * np.eye(3)[labels] + generator.normal(size=(n_samples, 3))
    return softmax(1.2 * place + np.log(prior), axis=1), labels


@pytest.mark.parametrize("method", ["em", "bbse"])
def test_few_rows_without_a_shift_change_nothing(method):
    """30 rows without a shift say one in at most 5 % of cases, by Bernstein's bound; many rows show one."""
    prior, moved = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    said, held = [], []
    for seed in range(100):
        generator = np.random.default_rng(seed)
        fitted = LabelShiftCorrection(method=method).fit(*drawn(generator, 2_000, prior))
        same = fitted.adapt(drawn(generator, 30, prior)[0])
        said.append(same.is_shift)
        held.append(((same.lower <= prior) & (prior <= same.upper)).all())
        new = drawn(generator, 5, prior)[0]
        assert same.is_shift or np.allclose(same.correct(new), new, atol=1e-12)
    assert np.mean(said) <= 0.05
    assert np.mean(held) >= 0.95
    many = fitted.adapt(drawn(generator, 1_000, moved)[0])
    assert many.is_shift
    assert np.abs(many.target - moved).max() < 0.1


def test_a_class_that_no_row_shows_keeps_a_share():
    generator = np.random.default_rng(0)
    fitted = LabelShiftCorrection().fit(*drawn(generator, 2_000, [0.5, 0.3, 0.2]))
    shift = fitted.adapt(drawn(generator, 60, [1.0, 0.0, 0.0])[0])
    assert shift.is_shift
    assert (shift.weights > 0.0).all()
    assert (shift.upper > 0.0).all()
