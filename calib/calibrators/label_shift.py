"""Label shift: probabilities for rows whose class shares differ from the calibration rows'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.calibrator import VectorCalibrator, checked_matrix
from calib.data.matrices import ROW_SUM_TOLERANCE, check_sums, highest
from calib.data.predictions import Scores, Values, score_matrix
from calib.data.validation import (
    as_finite,
    as_labels,
    as_names,
    as_scores,
    check_choice,
    check_columns,
    n_axes,
)
from calib.data.weights import RowWeights

#: EM ends when no share changes by more than `CLOSE`, or after `ROUNDS` rounds.
CLOSE, ROUNDS = 1e-10, 2_000
#: Probability that any interval of the shares misses.
ALPHA = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class LabelShift(Result):
    """Shares of the classes among new rows, and the correction that follows from them."""

    method: str  #: "em", "bbse", or "known" if the new shares were given
    #: (L,) float64: Shares of the classes among the calibration (or training) rows, and among the new rows
    source: np.ndarray
    target: np.ndarray
    #: (L,) float64: New share by source; 1 if there is no shift, or no calibration row of the class
    weights: np.ndarray
    n_target: int  #: New rows that the estimate is from
    #: (L,) float64: Ends of 95 % intervals that hold for all classes at once (Wilson 1927, Bonferroni)
    lower: np.ndarray
    upper: np.ndarray

    @property
    def is_shift(self) -> bool:
        """Whether a class's interval leaves out its calibration share; if none does, nothing is corrected."""
        return bool(((self.source < self.lower) | (self.source > self.upper)).any())

    @property
    def sentence(self) -> str:
        """Say what the intervals show."""
        if self.method == "known":
            return "Shares are given, not estimated."
        if not self.is_shift:
            return (
                f"The {self.n_target:,} rows do not show that shares differ from the calibration rows': "
                "nothing is corrected."
            )
        off = np.flatnonzero((self.source < self.lower) | (self.source > self.upper))
        count = f"{len(off):,} of {len(self.source):,} classes have"
        return f"{count} other shares than in the calibration rows (95 % intervals of all classes at once)."

    def words(self, class_names: Any = None) -> str:
        """Name the share of each class before and now, and what the correction assumes."""
        each = zip(as_names(class_names, len(self.source)), self.source, self.target, strict=True)
        shares = ", ".join(f"{name} {before:.1%} and {now:.1%}" for name, before, now in each)
        how = "as given" if self.method == "known" else "as estimated"
        return (
            f"class shares, before and {how}: {shares}. {self.sentence} This assumes that only the shares "
            "differ and rows of each class look as before."
        )

    def correct(self, proba: Scores) -> np.ndarray:
        """Return the probabilities times the weights, each row divided by its sum, (n, L) float64.

        For two classes, (n,) probabilities of class 1 are corrected, too. A row is unchanged if the intervals
        show no shift, or if all its probability is on classes with weight 0.
        """
        return _reweighted(proba, self.weights)

    def frame(self, class_names: Any = None) -> pd.DataFrame:
        """Return one row per class: its name, both shares, the interval and the weight."""
        shares = {"share in calibration": self.source, "estimated share": self.target}
        shares |= {"lower": self.lower, "upper": self.upper}
        return pd.DataFrame(
            {"class": as_names(class_names, len(self.weights)), **shares, "weight": self.weights}
        )


class CorrectedCalibrator(VectorCalibrator):
    """A fitted calibrator of whole vectors, or none, whose probabilities are corrected for a label shift.

    Parameters
    ----------
    calibrator : fitted calibrator or None
        With `predict_proba`, whose rows sum to 1; None corrects the model's own probabilities.
    weights : (L,) array_like of float
        As `LabelShift.weights`.
    """

    def __init__(self, calibrator: BaseEstimator, weights: Any) -> None:
        self.calibrator, self.weights = calibrator, weights

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(
        self, proba: Scores, y: Values | None = None, sample_weight: Values | None = None
    ) -> CorrectedCalibrator:
        """Fit the calibrator, if any, to labelled rows; the weights do not change."""
        if self.calibrator is not None:
            self.calibrator.fit(proba, y, sample_weight)
        return self

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.weights)

    def _checked(self, proba: Scores) -> np.ndarray:
        return checked_matrix(self if self.calibrator is None else self.calibrator, proba)

    def _proba(self, matrix: np.ndarray) -> np.ndarray:
        return _reweighted(
            matrix if self.calibrator is None else self.calibrator.predict_proba(matrix), self.weights
        )


class CorrectedScores(BinaryCalibrator):
    """The `CorrectedCalibrator` for P(Y = 1), with (2,) weights of Y = 0 and Y = 1."""

    def __init__(self, calibrator: BinaryCalibrator | None, weights: Any) -> None:
        self.calibrator, self.weights = calibrator, weights

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        if self.calibrator is not None:
            self.calibrator.fit(scores, outcomes, weights.each)

    @property
    def curve_(self) -> Any:
        """Corrected P(Y = 1), (n,) float64, of (n,) scores."""
        return lambda scores: _reweighted(
            scores if self.calibrator is None else self.calibrator.predict(scores), self.weights
        )


class LabelShiftCorrection(VectorCalibrator):
    """Correct probabilities for other shares of the classes, known or estimated from rows without labels.

    **Assumption.** The classes have other shares, but the rows of each class are as before: p(x | y) is
    unchanged. If instead p(y | x) is unchanged (covariate shift), or a class looks different, the correction
    can do harm, and the new rows alone cannot show it. Probabilities must be calibrated as whole vectors:
    calibrate them first, then correct them.

    **Known shares.** After undersampling, or training with class weights, probabilities are multiplied by
    target share / training share and divided by their sum (Elkan 2001); no labels are needed.

    Parameters
    ----------
    method : {"em", "bbse"}, default "em"
        How shares are estimated if `target_shares` is None. "em" maximises their likelihood (Saerens, Latinne
        & Decaestecker, 2002) and needs calibrated probabilities (Alexandari, Kundaje & Shrikumar, ICML 2020).
        "bbse" does not: it solves ``C w = q``, w >= 0, with C the joint frequencies of predicted and true
        class among calibration rows and q the shares of predicted classes among new rows (Lipton, Wang &
        Smola, ICML 2018).
    target_shares : (L,) array_like or mapping of class name to share, optional
        Known shares among the new rows, with sum 1. A mapping may leave out one class, which has the rest.
        For two classes, a single number is the share of class 1.
    training_shares : as `target_shares`, optional
        Shares that the probabilities refer to, if other than in the rows of `fit`.

    Attributes
    ----------
    n_classes_ : int
    shares_ : (L,) float64 array
        Shares of the classes among the labels.
    mean_proba_ : (L,) float64 array
        Mean probability of each class, which EM uses as the calibration shares.
    confusion_ : (L, L) float64 array
        Share of the rows with predicted class i and true class j.

    Examples
    --------
    Half of the calibration rows are of class 0, but four in five of the new rows look like it:

    >>> calibration = np.array([[0.8, 0.2], [0.2, 0.8]]).repeat(500, axis=0)
    >>> labels = np.repeat([0, 1, 0, 1], [400, 100, 100, 400])
    >>> new = np.array([[0.8, 0.2], [0.2, 0.8]]).repeat([680, 320], axis=0)
    >>> shift = LabelShiftCorrection().fit(calibration, labels).adapt(new)
    >>> shift.target.round(3).tolist(), shift.correct([[0.5, 0.5]]).round(3).tolist()
    ([0.8, 0.2], [[0.8, 0.2]])
    """

    def __init__(self, *, method: str = "em", target_shares: Any = None, training_shares: Any = None) -> None:
        self.method, self.target_shares, self.training_shares = method, target_shares, training_shares

    def fit(self, proba: Scores, y: Any = None) -> LabelShiftCorrection:
        """Estimate class shares, mean probabilities and confusions from labelled rows.

        Parameters
        ----------
        proba : (n, L) array_like
            Calibrated probabilities; rows sum to 1.
        y : (n,) array_like of int
            True class codes 0..L-1. Only method "bbse" needs them if there are `training_shares`.
        """
        check_choice(self.method, ("em", "bbse"), "method")
        matrix = _distributions(proba)
        n_samples, n_classes = matrix.shape
        self.n_classes_, self.n_samples_ = n_classes, n_samples
        names = getattr(proba, "class_names", None)
        if self.target_shares is not None:
            self.target_ = as_shares(self.target_shares, n_classes, names, "target_shares")
        if self.training_shares is not None:
            self.shares_ = self.mean_proba_ = as_shares(
                self.training_shares, n_classes, names, "training_shares"
            )
        if y is None and self.training_shares is not None:
            return self
        codes = as_labels(y, *matrix.shape)
        pairs = np.bincount(highest(matrix)[0] * n_classes + codes, minlength=n_classes**2)
        self.confusion_ = pairs.reshape(n_classes, n_classes) / n_samples
        if self.training_shares is not None:
            return self
        self.shares_ = np.bincount(codes, minlength=n_classes) / n_samples
        self.mean_proba_ = matrix.mean(axis=0)
        self.usual_ = self._seen(matrix)
        return self

    def _proba(self, matrix: np.ndarray) -> np.ndarray:
        return self.adapt(matrix).correct(matrix)

    def adapt(self, proba: Scores) -> LabelShift:
        """Estimate the class shares of new rows, unless they are known.

        Parameters
        ----------
        proba : (m, L) array_like
            Probabilities of the new rows, from the same model and calibrator.

        Raises
        ------
        InputError
            If BBSE cannot distinguish the classes.
        """
        check_is_fitted(self)
        matrix = check_columns(_distributions(proba), self.n_classes_)
        if self.target_shares is not None:
            return known_shift(self.shares_, self.target_, len(matrix))
        if self.method == "em":
            source, weights = self.mean_proba_, _em_weights(matrix, self.mean_proba_)
            variance = _em_variance(matrix, source, weights)
        else:
            source, weights = self.shares_, self._bbse_weights(matrix)
            predicted, inverse = self._seen(matrix)[0], np.linalg.pinv(self.confusion_)
            inverse *= self.shares_[:, None]
            # For one row, from the predicted classes.
            variance = np.maximum(np.square(inverse) @ predicted - (inverse @ predicted) ** 2, 0.0)
        target = weights * source / (weights @ source)
        # Calibration rows are a sample, too.
        scale = 1.0 / len(matrix) + 1.0 / self.n_samples_
        z = float(norm.isf(ALPHA / 2.0 / len(source)))
        deviation = z * np.sqrt(variance * scale)
        middle = np.clip([target - deviation, target + deviation], 0.0, 1.0).mean(axis=0)
        centre, reach = target + z**2 * scale * (0.5 - target), np.hypot(deviation, z**2 * scale / 2.0)
        ends = np.clip([centre - reach, centre + reach], 0.0, 1.0)
        if self.training_shares is None:
            (mean, seen), bound = self.usual_, float(np.log(2.0 * self.n_classes_ / ALPHA))
            by_chance = np.sqrt(2.0 * bound * seen * scale) + bound * scale / 3.0
            if (np.abs(self._seen(matrix)[0] - mean) <= by_chance).all():
                ends = np.array([np.minimum(ends[0], source), np.maximum(ends[1], source)])
        shift = LabelShift(self.method, source, target, np.ones(len(source)), len(matrix), *ends)
        if not shift.is_shift:
            return shift
        weights = np.divide(middle / middle.sum(), source, out=np.ones(len(source)), where=source > 0.0)
        return replace(shift, weights=weights)

    def _seen(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.method == "em":
            return matrix.mean(axis=0), matrix.var(axis=0)
        share = np.bincount(highest(matrix)[0], minlength=self.n_classes_) / len(matrix)
        return share, share * (1.0 - share)

    def _bbse_weights(self, matrix: np.ndarray) -> np.ndarray:
        seen = self.shares_ > 0.0
        joint = self.confusion_[:, seen]
        rank = np.linalg.matrix_rank(joint)
        if rank < joint.shape[1]:
            raise InputError(
                f"predicted classes separate only {rank} of {joint.shape[1]} classes in the calibration "
                'rows, so BBSE has no unique answer; use method="em" or merge classes'
            )
        predicted = self._seen(matrix)[0]
        weights = np.ones(self.n_classes_)
        weights[seen] = nnls(joint, predicted)[0]
        total = float(weights @ self.shares_)
        if total <= 0.0:
            raise InputError(
                "the new rows have predicted classes that no calibration row has, so "
                'BBSE has no answer; use method="em"'
            )
        weights[seen] /= total
        return weights


def with_weights(calibrator: BaseEstimator, shift: LabelShift) -> CorrectedCalibrator | CorrectedScores:
    corrected = CorrectedScores if isinstance(calibrator, BinaryCalibrator) else CorrectedCalibrator
    return corrected(calibrator, shift.weights)


def known_shift(source: np.ndarray, target: np.ndarray, n_target: int = 0) -> LabelShift:
    """Return the shift between known shares, (L,) each; refuse a class that only the new rows have."""
    if (new := np.flatnonzero((source == 0.0) & (target > 0.0))).size:
        raise InputError(
            f"class {new[0]} has a target share of {target[new[0]]:g} and none before; give a share above 0"
        )
    weights = np.divide(target, source, out=np.ones(len(source)), where=source > 0.0)
    return LabelShift("known", source, target, weights, n_target, target, target)


def as_shares(given: Any, n_classes: int, names: Any, what: str) -> np.ndarray:
    """Return shares, given as for `LabelShiftCorrection`, as (L,) float64 with sum 1."""
    if isinstance(given, Mapping):
        known = as_names(names, n_classes)
        if other := [name for name in map(str, given) if name not in known]:
            raise InputError(f"{what} names {other[0][:60]!r}, which is none of the classes")
        left = [name for name in known if name not in given]
        if len(left) > 1:
            raise InputError(
                f"{what} leaves out {left[0][:60]!r} and {left[1][:60]!r}; only one class can have the rest"
            )
        found = {str(name): float(share) for name, share in given.items()}
        found |= dict.fromkeys(left, 1.0 - sum(found.values()))
        shares = np.array([found[name] for name in known])
    else:
        shares = as_finite(np.atleast_1d(given), ndim=1, what=what)
        if len(shares) == 1 and n_classes == 2:
            shares = np.array([1.0 - shares[0], shares[0]])
    if len(shares) != n_classes:
        raise InputError(f"{what} needs a share for each of {n_classes} classes; got {len(shares)}")
    if (shares < 0.0).any() or abs(shares.sum() - 1.0) > ROW_SUM_TOLERANCE:
        raise InputError(
            f"{what} must be shares between 0 and 1 that sum to 1; got a sum of {shares.sum():g} and a least "
            f"share of {shares.min():g}"
        )
    return shares / shares.sum()


def _reweighted(proba: Scores, weights: Any) -> np.ndarray:
    weights = np.asarray(weights, dtype=np.float64)
    if len(weights) == 2 and n_axes(proba) == 1:
        scores = as_scores(proba, ndim=1, what="scores").astype(np.float64)
        return _reweighted(np.stack([1.0 - scores, scores], axis=1), weights)[:, 1]
    matrix = check_columns(_distributions(proba), len(weights))
    weighted = matrix * weights
    sums = weighted.sum(axis=1, keepdims=True)
    return np.divide(weighted, sums, out=matrix, where=sums > 0.0)


def _em_weights(proba: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Weights that maximise mean log(proba @ weights) with ``source @ weights = 1``.

    Saerens' steps, each three extrapolated as in SQUAREM (Varadhan & Roland, 2008).
    """
    present = source > 0.0
    divisor = np.where(present, source, 1.0)

    def step(weights: np.ndarray) -> tuple[np.ndarray, float]:
        sums = proba @ weights
        shares = (1.0 / sums) @ proba * weights / len(proba)
        return np.where(present, shares / divisor, 1.0), float(np.log(sums).mean())

    weights = np.ones(len(source))
    for _ in range(ROUNDS):
        first, likelihood = step(weights)
        second, _ = step(first)
        change = first - weights
        bend = second - first - change
        if np.abs(change * source).max() <= CLOSE:
            return second
        length = -np.sqrt((change @ change) / max(float(bend @ bend), 1e-300))
        far = weights - 2.0 * length * change + length**2 * bend
        far = np.maximum(far, 0.1 * second)
        jumped, there = step(far / (far @ source))
        weights = jumped if there >= likelihood else second
    return weights


def _em_variance(proba: np.ndarray, source: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Variance of the shares for one row: the inverse Fisher information, for shares that sum to 1."""
    present = source > 0.0
    ratios = proba[:, present] / source[present] / (proba @ weights)[:, None]
    inverse = np.linalg.pinv(ratios.T @ ratios / len(proba), hermitian=True)
    along = inverse.sum(axis=1)
    variance = np.zeros(len(source))
    variance[present] = np.maximum(np.diag(inverse) - along**2 / max(float(along.sum()), 1e-300), 0.0)
    return variance


def _distributions(proba: Scores) -> np.ndarray:
    matrix = score_matrix(proba, "proba").astype(np.float64)
    advice = "A label-shift correction needs a calibrator of the whole vector, or normalize=True."
    return matrix / check_sums(matrix, "proba", advice)[:, None]
