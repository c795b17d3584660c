"""How far vectors of probabilities are from canonical calibration: error, validity curve, bound, noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.calibrators.canonical import CanonicalBinning, SimplexScheme
from calib.exceptions import InputError
from calib.metrics.errors import accuracy, brier_score, log_loss
from calib.noise.floor import NoiseFloor
from calib.parallel import map_threads
from calib.predictions import Predictions
from calib.validation import as_labels, as_scores, check_count

#: Resamples drawn from one random stream; the streams run on several threads.
RESAMPLES_PER_STREAM = 16


@dataclass(frozen=True, eq=False)
class CellMeans:
    """Mean prediction and label frequencies of each occupied cell.

    Attributes
    ----------
    cell : (m,) int64 array
        Cell numbers, ascending.
    count : (m,) int64 array
        Rows in each.
    predicted : (m, L) float64 array
        Mean predicted vector.
    observed : (m, L) float64 array or None
        Label frequencies; None without labels.
    position : (n,) int64 array
        Index of every row's cell in these arrays.
    """

    cell: np.ndarray
    count: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray | None
    position: np.ndarray

    def distance(self, norm: int = 1) -> np.ndarray:
        """Return the L1 or L2 distance between label frequencies and mean prediction, (m,)."""
        if self.observed is None:
            raise InputError("the distance to the label frequencies needs the true labels")
        return _length(self.observed - self.predicted, norm)


@dataclass(frozen=True, eq=False)
class CanonicalValidity:
    """Validity curve V(eps) with the L1 distance between vectors (Fig. 12, left).

    Attributes
    ----------
    epsilon : (s,) float64 array
        Distances at which the curve steps up, ascending, in [0, 2].
    share : (s,) float64 array
        Share of the rows in cells at most that far off; the last is 1.
    """

    epsilon: np.ndarray
    share: np.ndarray

    def at(self, epsilon: Any) -> np.ndarray:
        """Return V at the given distances."""
        steps = np.searchsorted(self.epsilon, epsilon, side="right")
        return np.concatenate(([0.0], self.share))[steps]

    def frame(self) -> pd.DataFrame:
        """Return the steps as a table, for CSV downloads."""
        return pd.DataFrame({"epsilon": self.epsilon, "share": self.share})


def cell_means(y_true: Any, proba: Any, cells: Any) -> CellMeans:
    """Average predictions and labels over the rows of each cell.

    Parameters
    ----------
    y_true : (n,) array_like of int or None
        True class codes.
    proba : (n, L) array_like
        Predicted vectors.
    cells : (n,) array_like of int
        Cell number of each row, as from `CanonicalBinning.assign`.

    Raises
    ------
    InputError
        If shapes disagree or values are out of range.
    """
    matrix = as_scores(proba, ndim=2, what="proba")
    numbers = as_labels(cells, len(matrix), None)
    cell, position, count = np.unique(numbers, return_inverse=True, return_counts=True)
    sums = np.column_stack([np.bincount(position, column, len(cell)) for column in matrix.T])
    observed = None
    if y_true is not None:
        labels = as_labels(y_true, *matrix.shape)
        observed = _table(position, labels, sums.shape) / count[:, None]
    return CellMeans(cell, count, sums / count[:, None], observed, position)


def canonical_ece(y_true: Any, proba: Any, cells: Any, *, norm: int = 1) -> float:
    """Estimate the canonical calibration error E ||E[Y | cell] - E[g(X) | cell]|| over cells.

    Parameters
    ----------
    y_true, proba, cells
        As for `cell_means`. Use the same cells for base and recalibrated predictions.
    norm : {1, 2}
        L1 distance (at most 2; twice the total variation) or Euclidean distance (at most sqrt 2) between the
        vectors (Widmann et al. 2019). The distances are averaged over rows, not squared.

    Examples
    --------
    >>> canonical_ece([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], [0, 0])
    0.5
    """
    means = cell_means(_needed(y_true), proba, cells)
    return float(means.distance(norm) @ means.count / means.count.sum())


def canonical_noise_floor(
    y_true: Any,
    proba: Any,
    cells: Any,
    *,
    norm: int = 1,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = None,
) -> NoiseFloor:
    """Compare `canonical_ece` with that of a canonically calibrated model of the same size.

    Labels are redrawn from the predicted vectors and the error is computed again on the same cells
    (consistency resampling: Vaicenavicius et al. 2019, Widmann et al. 2019).

    Parameters
    ----------
    y_true, proba, cells, norm
        As for `canonical_ece`.
    n_resamples : int
        Redraws; the smallest p-value is 1 / (n_resamples + 1).
    random_state : int, Generator or None
        Seed; equal seeds give equal numbers on every machine.
    """
    matrix = as_scores(proba, ndim=2, what="proba")
    means = cell_means(_needed(y_true), matrix, cells)
    shares = means.count / means.count.sum()
    cumulative = [np.ascontiguousarray(c) for c in np.cumsum(matrix, axis=1, dtype=np.float64).T[:-1]]

    def draw(job: tuple[np.random.Generator, int]) -> list[float]:
        rng, times = job
        errors = []
        for _ in range(times):
            uniform = rng.random(len(matrix))
            labels = np.zeros(len(matrix), dtype=np.int64)
            for edge in cumulative:
                labels += uniform >= edge
            frequencies = _table(means.position, labels, means.predicted.shape) / means.count[:, None]
            errors.append(float(_length(frequencies - means.predicted, norm) @ shares))
        return errors

    n_resamples = check_count(n_resamples, "n_resamples")
    starts = range(0, n_resamples, RESAMPLES_PER_STREAM)
    sizes = [min(RESAMPLES_PER_STREAM, n_resamples - start) for start in starts]
    streams = np.random.default_rng(random_state).spawn(len(sizes))
    samples = [error for errors in map_threads(draw, zip(streams, sizes, strict=True)) for error in errors]
    return NoiseFloor(
        metric="ece",
        notion=f"canonical, L{norm}",
        strategy="cells of the simplex",
        n_bins=len(means.cell),
        n_samples=len(matrix),
        observed=float(means.distance(norm) @ shares),
        samples=np.sort(samples),
    )


def canonical_validity(y_true: Any, proba: Any, cells: Any) -> CanonicalValidity:
    """Estimate V(eps) = P(||E[Y | cell] - E[g(X) | cell]||_1 <= eps) over rows (App. G.4).

    The base model and the recalibrated one are both judged on the cells of the recalibrated one.
    """
    means = cell_means(_needed(y_true), proba, cells)
    distance = means.distance(1)
    order = np.argsort(distance)
    return CanonicalValidity(distance[order], np.cumsum(means.count[order]) / means.count.sum())


def multinomial_bound(counts: Any, n_classes: int, *, alpha: float = 0.1, n_bins: int = 1) -> np.ndarray:
    """L1 radius around label frequencies that holds with probability 1 - alpha.

    The Bretagnolle-Huber-Carol inequality, P(||freq - p||_1 >= eps) <= 2^L exp(-n eps^2 / 2), solved for eps:
    sqrt(2 (L log 2 + log(B / alpha)) / n). Capped at 2, the largest L1 distance there is.

    Parameters
    ----------
    counts : (m,) array_like of int
        Rows behind each vector of frequencies; 0 gives 2.
    n_classes : int
        L.
    alpha : float in (0, 1)
        Probability that the bound fails.
    n_bins : int
        B: 1 for each bin alone, the number of bins for all of them at once (Bonferroni, as in Podkopaev &
        Ramdas 2021, Theorem 3).

    Raises
    ------
    InputError
        If `alpha` is not inside (0, 1).
    """
    if not 0.0 < alpha < 1.0:
        raise InputError(f"alpha must be inside (0, 1); got {alpha!r}")
    rows = np.asarray(counts, dtype=np.float64)
    log_terms = n_classes * np.log(2.0) + np.log(n_bins / alpha)
    radius = np.full(rows.shape, 2.0)
    np.divide(2.0 * log_terms, rows, out=radius, where=rows > 0)
    return np.minimum(np.sqrt(radius, out=radius, where=rows > 0), 2.0)


@dataclass(frozen=True, eq=False)
class SchemeComparison:
    """Several schemes fitted and judged on the same rows.

    Attributes
    ----------
    names : tuple of str
        Names of the schemes that could be fitted.
    calibrators : tuple of CanonicalBinning
        Fitted, in the order of `names`.
    epsilon : float
        Distance at which V is reported.
    table : DataFrame
        One row per scheme of `names`; see `frame`.
    left_out : dict of str to str
        Schemes that refused the calibration rows, for example because these are too few, and why.
    """

    names: tuple[str, ...]
    calibrators: tuple[CanonicalBinning, ...]
    epsilon: float
    table: pd.DataFrame
    left_out: dict[str, str]

    def frame(self) -> pd.DataFrame:
        """Return one row per scheme: bins, smallest bin, and errors and scores before and after.

        Schemes that were left out come last, with the reason in a column of its own and no numbers.
        """
        if not self.left_out:
            return self.table
        reasons = pd.DataFrame({"scheme": list(self.left_out), "left out": list(self.left_out.values())})
        return pd.concat([self.table.convert_dtypes(), reasons], ignore_index=True)


def compare_schemes(
    calibration: Predictions,
    evaluation: Predictions,
    schemes: Mapping[str, SimplexScheme],
    *,
    epsilon: float = 0.1,
) -> SchemeComparison:
    """Fit every scheme on the calibration rows and judge it on the evaluation rows.

    The base model's V(eps) and canonical-ECE depend on the scheme, whose cells they are computed on.
    "zero probability" counts evaluation rows whose true class was given probability 0; each costs 36 nats of
    log loss, where `log_loss` clips. A scheme that refuses these calibration rows is left out, with why.

    Raises
    ------
    InputError
        If labels are missing.
    """
    calibrators: dict[str, CanonicalBinning] = {}
    left_out: dict[str, str] = {}
    rows = []
    labels = _needed(evaluation.labels)
    learnt = _needed(calibration.labels)
    for name, scheme in schemes.items():
        try:
            calibrator = CanonicalBinning(scheme).fit(calibration.proba, learnt)
        except InputError as error:
            left_out[name] = str(error)
            continue
        cells = calibrator.assign(evaluation.proba)
        after = calibrator.value_of(cells)
        row: dict[str, Any] = {
            "scheme": name,
            "bins": calibrator.n_bins_,
            "bins with calibration rows": len(calibrator.cells_),
            "smallest of these": int(min(calibrator.counts_, default=0)),
            "evaluation rows in empty bins": int((calibrator.count_of(cells) == 0).sum()),
            "zero probability": int((np.take_along_axis(after, labels[:, None], axis=1) == 0).sum()),
        }
        for when, proba in (("before", evaluation.proba), ("after", after)):
            row[f"V({epsilon:g}) {when}"] = float(canonical_validity(labels, proba, cells).at(epsilon))
            row[f"canonical-ECE {when}"] = canonical_ece(labels, proba, cells)
            row[f"log loss {when}"] = log_loss(labels, proba)
            row[f"Brier {when}"] = brier_score(labels, proba)
            row[f"accuracy {when}"] = accuracy(labels, proba)
        calibrators[name] = calibrator
        rows.append(row)
    return SchemeComparison(
        tuple(calibrators), tuple(calibrators.values()), epsilon, pd.DataFrame(rows), left_out
    )


def _length(vectors: np.ndarray, norm: int) -> np.ndarray:
    if norm not in (1, 2):
        raise InputError(f"norm must be 1 (L1) or 2 (Euclidean); got {norm!r}")
    return np.linalg.norm(vectors, ord=norm, axis=1)


def _table(position: np.ndarray, labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.bincount(position * shape[1] + labels, minlength=shape[0] * shape[1]).reshape(shape)


def _needed(y_true: Any) -> Any:
    if y_true is None:
        raise InputError("the calibration error needs the true labels; got None")
    return y_true
