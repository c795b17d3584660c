"""Fitting calibrators to files of any size: the results of in-memory fits, from sums over parts.

Histogram binning needs the distinct scores around the cuts of every problem. A first pass counts points in
fixed cells, which shows the cells that can hold a cut; a second pass collects the distinct scores of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from calib.base.exceptions import InputError
from calib.base.parallel import row_blocks
from calib.base.version import __version__
from calib.calibrators.catalogue import full_name
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.likelihood import LEAST_RIDGE, newton, warn_early
from calib.calibrators.multiclass import MulticlassToBinary
from calib.calibrators.scaling import (
    Slopes,
    TemperatureScaling,
    VectorScaling,
    floor_of,
    least_positive,
    log_floored,
    log_loss_slopes,
    temperature_of_slopes,
)
from calib.data.matrices import row_max
from calib.data.notions import NotionShape
from calib.files.readers.roles import given_columns
from calib.files.saved.origin import FittedOn, today
from calib.scale.batches import Batch, BatchReader, in_order
from calib.scale.engines import Engine
from calib.scale.partial import read_batches
from calib.scale.parts import Part, Paths
from calib.scale.scan import NO_ROWS, Progress, Scan

#: Equal-width cells of the first pass: a power of two, so that the cell of a score is exact.
FIRST_CELLS = 2**18

#: A group and a class in one number: group * SHIFT + class.
SHIFT = 2**32

#: Most counts of a part, of cells or of scores around cuts: each takes 32 bytes.
MOST_COUNTED = 40_000_000

#: Scores of a block of vectors. The memory of larger blocks is returned to the system after each.
BLOCK_SCORES = 65_536

#: Fewest rows of a block: with 1,000 classes, adding up the Hessians of blocks takes as long as 100 rows.
LEAST_BLOCK = 512


@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """How often each score occurs in each problem, and with which outcome."""

    key: np.ndarray  #: (d,) int64 array: problem, ascending
    score: np.ndarray  #: (d,) float64 array: score, ascending within a problem
    #: (d,) int64 arrays: points, and the points whose outcome is 1
    count: np.ndarray
    happened: np.ndarray

    @classmethod
    def of(cls, key: np.ndarray, score: np.ndarray, count: np.ndarray, happened: np.ndarray) -> ScoreCounts:
        """Sort points or counts, and add up equal problems and scores."""
        order = np.lexsort((score, key))
        key, score = key[order], score[order]
        new = np.append(True, (key[1:] != key[:-1]) | (score[1:] != score[:-1]))
        starts = np.flatnonzero(new)
        if not len(key):
            return cls(key, score, count, happened)
        sums = (np.add.reduceat(points[order], starts, dtype=np.int64) for points in (count, happened))
        return cls(key[starts], score[starts], *sums)

    @classmethod
    def none(cls) -> ScoreCounts:
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, np.empty(0), empty, empty)

    @classmethod
    def joined(cls, parts: Sequence[ScoreCounts]) -> ScoreCounts:
        columns = zip(*((part.key, part.score, part.count, part.happened) for part in parts), strict=True)
        return cls.of(*(np.concatenate(column) for column in columns))

    def take(self, chosen: Any) -> ScoreCounts:
        return ScoreCounts(self.key[chosen], self.score[chosen], self.count[chosen], self.happened[chosen])

    def of_key(self, key: int) -> ScoreCounts:
        return self.take(slice(*np.searchsorted(self.key, [key, key + 1])))

    def pooled(self, keys: np.ndarray) -> ScoreCounts:
        return ScoreCounts.of(keys[self.key], self.score, self.count, self.happened)


@dataclass(frozen=True, eq=False)
class _Found:
    """Result of a pass over a part: names of classes and groups, counts by (group, class), and rows."""

    classes: tuple[str, ...]
    groups: tuple[str, ...]
    counts: ScoreCounts
    n_rows: int


def fit(
    paths: Paths,
    calibrator: Any = None,
    *,
    groups: str | None = None,
    part: str = "calibration",
    scores: str = "auto",
    class_names: Sequence[str] | None = None,
    workers: int | Engine | None = None,
    progress: Progress | None = None,
    **columns: Any,
) -> Any:
    """Fit a calibrator to Parquet or Feather files of any size, and return it.

    Parameters
    ----------
    paths : path, pattern, folder, or several of these
        As for `calib.scale.summarize`.
    calibrator : unfitted calibrator, optional
        `MulticlassToBinary` of `HistogramBinning` with notion "top-label" (default) or "confidence", by
        class, group or both; `HistogramBinning` for one score; `TemperatureScaling` by log loss, or
        `VectorScaling` with a number as ridge.
    groups : str, optional
        Column of the groups, for a calibrator that conditions on them.
    part : {"calibration", "evaluation"}
        Rows to fit on, if a column says which are which.
    scores, class_names, workers, progress, columns
        As for `calib.scale.summarize`; each pass over the data reports its own progress.

    Returns
    -------
    calibrator
        A fitted copy. Histogram binning is exactly what `fit` gives in memory, for every division into parts;
        scalings agree to 1e-9.

    Examples
    --------
    >>> import tempfile, os
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> file = os.path.join(tempfile.mkdtemp(), "rows.parquet")
    >>> rows = {"predicted": ["a"] * 99 + ["b"], "confidence": [0.6, 0.9] * 50}
    >>> rows["label"] = ["a", "a", "b", "a"] * 25
    >>> pq.write_table(pa.table(rows), file)
    >>> fitted = fit(file, MulticlassToBinary(HistogramBinning(n_bins=2)))
    >>> fitted.calibrators_[0].values_.tolist(), fitted.class_names_
    ([0.5, 1.0], ('a', 'b'))
    """
    chosen = clone(MulticlassToBinary() if calibrator is None else calibrator)
    scan = Scan.of(
        paths,
        workers=workers,
        progress=progress,
        by=groups or (),
        part=part,
        scores=scores,
        class_names=class_names,
        given=given_columns({**columns, "scores": scores}),
    )
    if scan.reader.roles.weight is not None:
        raise InputError("fits at scale count every row once; leave out the column of weights")
    if type(chosen) not in _FITS:
        raise InputError(
            f"{full_name(chosen)} cannot be fitted by sums over parts; choose histogram binning, temperature "
            "scaling or vector scaling, or fit on a sample in memory"
        )
    chosen.class_names_ = scan.reader.class_names
    chosen.fitted_on_ = FittedOn(_FITS[type(chosen)](chosen, scan), None, today(), __version__)
    return chosen


def _total(scan: Scan, function: Callable[..., Sequence[Any]], **options: Any) -> Sequence[Any]:
    """Return the sums, over all blocks of rows, of what a function of scores and true classes gives."""
    return _added(scan.over(_sum_part, function=partial(function, **options)))


def _sum_part(part: Part, reader: BatchReader, function: Callable[..., Sequence[Any]]) -> Sequence[Any]:
    return _added(function(*block) for rows in _rows_of(part, reader) for block in _blocks(rows))


def _blocks(rows: Batch) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the scores of all classes, at most 1, and the true classes of blocks of rows."""
    n_classes = len(rows.columns)
    for block in row_blocks(rows.n_rows, n_classes, max(BLOCK_SCORES, LEAST_BLOCK * n_classes)):
        matrix = np.stack([column[block] for column in rows.columns], axis=1)
        yield np.minimum(matrix, matrix.dtype.type(1.0), out=matrix), rows.label[block].astype(np.int64)


def _added(each: Iterable[Sequence[Any]]) -> Sequence[Any]:
    """Add up values that stand at the same place; nothing where there is none."""
    total: Sequence[Any] = ()
    for found in each:
        total = [a + b for a, b in zip(total, found, strict=True)] if total and found else total or found
    return total


def _rows_of(part: Part, reader: BatchReader) -> Iterable[Batch]:
    batches = read_batches(part.batches(reader.columns), reader, part.name, part.first)
    return (rows for _, _, rows in batches if rows.n_rows)


def _points(rows: Batch) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Return names of classes, and the predicted class, score and outcome of each row."""
    score, outcome = rows.score.astype(np.float64), rows.outcome
    if not rows.names:
        return ("",), np.zeros(len(score), np.int64), score, outcome
    if len(rows.columns):
        return rows.names, rows.predicted.astype(np.int64), score, outcome
    used = np.union1d(rows.predicted, rows.label[rows.label >= 0])
    return tuple(rows.names[at] for at in used), np.searchsorted(used, rows.predicted), score, outcome


def _count_scores(
    part: Part,
    reader: BatchReader,
    most: int,
    names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    masks: np.ndarray | None = None,
) -> _Found | None:
    """Count the rows of a part in each cell by (group, class), or each score in the cells of `masks`.

    `names` are the classes and groups that are known. Returns None above `most` counts.
    """
    classes, groups = ({name: code for code, name in enumerate(known)} for known in names)
    parts = [ScoreCounts.none()]
    n_rows = 0
    for rows in _rows_of(part, reader):
        words, label, score, outcome = _points(rows)
        n_rows += rows.n_rows
        key = np.array([classes.setdefault(word, len(classes)) for word in words], dtype=np.int64)[label]
        for codes, group_names in rows.groups:
            place = [groups.setdefault(name, len(groups)) for name in group_names]
            key += np.array(place, dtype=np.int64)[codes] * SHIFT
        cell = np.floor(score * FIRST_CELLS)
        if masks is None:
            score = cell
        else:
            keep = masks[key // SHIFT * len(classes) + key % SHIFT, cell.astype(np.int64)]
            key, score, outcome = key[keep], score[keep], outcome[keep]
        once = np.ones(len(score), dtype=np.int64)
        parts.append(ScoreCounts.of(key, score, once, outcome.astype(np.int64)))
        if len(parts) >= 16:
            parts = [ScoreCounts.joined(parts)]
            if len(parts[0].key) > most:
                return None
    counts = ScoreCounts.joined(parts)
    return None if len(counts.key) > most else _Found(tuple(classes), tuple(groups) or ("",), counts, n_rows)


def _joined(found: Sequence[_Found], names: tuple[str, ...] | None) -> _Found:
    """Add up the results of parts; classes and groups are in the order of their names."""
    if not sum(part.n_rows for part in found):
        raise InputError(NO_ROWS)
    every = dict.fromkeys(name for part in found for name in part.classes)
    classes = names if names is not None else in_order([name for name in every if name]) or ("",)
    groups = tuple(sorted({name for part in found for name in part.groups}))
    class_of = {name: code for code, name in enumerate(classes)}
    group_of = {name: code for code, name in enumerate(groups)}
    moved = []
    for part in found:
        class_code = np.array([class_of.get(name, 0) for name in part.classes] or [0], dtype=np.int64)
        group_code = np.array([group_of[name] for name in part.groups], dtype=np.int64)
        counts = part.counts
        key = group_code[counts.key // SHIFT] * len(classes) + class_code[counts.key % SHIFT]
        moved.append(ScoreCounts(key, counts.score, counts.count, counts.happened))
    return _Found(classes, groups, ScoreCounts.joined(moved), sum(part.n_rows for part in found))


def _collect(
    scan: Scan,
    names: tuple[str, ...] | None,
    bins_for: Callable[[int], int],
    divisions: Callable[[tuple[str, ...], tuple[str, ...]], list[np.ndarray]],
) -> _Found:
    """Return the distinct scores around cuts by (group, class), and cells of all others.

    `divisions` of classes and groups are the problems to fit, each as the problem of every (group, class).
    """

    def counted(advice: str, **options: Any) -> _Found:
        found: list[Any] = list(scan.over(_count_scores, most=MOST_COUNTED, **options))
        if any(part is None for part in found):
            raise InputError(f"there are more than {MOST_COUNTED:,} counts to keep; {advice}")
        return _joined(found, names)

    coarse = counted("fit fewer classes or groups")
    masks = np.zeros((len(coarse.groups) * len(coarse.classes), FIRST_CELLS + 1), dtype=bool)
    for keys in divisions(coarse.classes, coarse.groups):
        pooled = coarse.counts.pooled(keys)
        for problem in np.unique(pooled.key).tolist():
            counts = pooled.of_key(problem)
            masks[keys == problem] |= _cells_of_cuts(counts, bins_for(int(counts.count.sum())))
    known = coarse.classes, coarse.groups
    fine = counted("ask for fewer bins with n_bins", names=known, masks=masks)
    rest = ~masks[coarse.counts.key, coarse.counts.score.astype(np.int64)]
    left = coarse.counts.take(rest)
    left = replace(left, score=left.score / FIRST_CELLS)
    return _Found(coarse.classes, coarse.groups, ScoreCounts.joined([left, fine.counts]), coarse.n_rows)


def _cells_of_cuts(counts: ScoreCounts, n_bins: int) -> np.ndarray:
    """Return the cells (of `FIRST_CELLS`, and of 1) that can hold a cut of `equal_mass_cuts`."""
    ends = np.cumsum(counts.count)
    total = int(ends[-1])
    share, low, high = max(total // n_bins, 1), 0, 0
    chosen = np.zeros(len(ends) + 1, dtype=bool)

    def position(cut: int, bins_left: int) -> int:
        return cut + max(share, -(-(total - cut) // bins_left))

    for bins_left in range(n_bins, 1, -1):
        low, high = position(low, bins_left), position(high, bins_left)
        if low > total:
            break
        first, last = np.searchsorted(ends, [low, min(high, total)])
        chosen[first : last + 2] = True
        high = int(ends[last])
    mask = np.zeros(FIRST_CELLS + 1, dtype=bool)
    mask[counts.score[chosen[:-1]].astype(np.int64)] = True
    return mask


def _check_binning(binary: Any) -> HistogramBinning:
    if not isinstance(binary, HistogramBinning) or binary.ties != "group":
        raise InputError(
            'fits at scale are histogram binning with ties="group"; fit another calibrator on a sample in '
            "memory"
        )
    return binary


def _fit_one_score(binning: HistogramBinning, scan: Scan) -> int:
    _check_binning(binning)

    def one_problem(classes: tuple[str, ...], groups: tuple[str, ...]) -> list[np.ndarray]:
        return [np.zeros(len(classes) * len(groups), dtype=np.int64)]

    found = _collect(scan, None, binning.bins_for, one_problem)
    pooled = found.counts.pooled(*one_problem(found.classes, found.groups))
    binning.fit_counts(pooled.score, pooled.count, pooled.happened)
    return found.n_rows


def _fit_problems(calibrator: MulticlassToBinary, scan: Scan) -> int:
    binning, reader = _check_binning(calibrator.binary_calibrator), scan.reader
    if reader.kind not in ("vectors", "top-label"):
        raise InputError("these rows have one score each; fit histogram binning of one score")
    if calibrator.notion not in ("confidence", "top-label") or calibrator.fallback == "shrink":
        raise InputError(
            'fits at scale have the notions "confidence" and "top-label", '
            'and the fallbacks "identity" and "pooled"'
        )
    if calibrator.has_groups != bool(reader.by):
        raise InputError("groups, the column of the groups, belongs to a calibrator whose `by` names groups")

    def shape_of(classes: tuple[str, ...], names: tuple[str, ...]) -> NotionShape:
        return calibrator.shape_for(len(classes), len(names))

    def keys_of(classes: tuple[str, ...], names: tuple[str, ...]) -> tuple[np.ndarray, ...]:
        every = np.arange(len(classes) * len(names))
        shape = shape_of(classes, names)
        own = shape.problems_of(every % len(classes), group=every // len(classes))
        return own, every % len(classes), np.zeros_like(every)

    def divisions(classes: tuple[str, ...], names: tuple[str, ...]) -> list[np.ndarray]:
        own, by_class, together = keys_of(classes, names)
        shape = shape_of(classes, names)
        used = [by_class] if shape.n_groups and shape.by_class else []
        return [own, *used, *([together] if calibrator.fallback == "pooled" else [])]

    found = _collect(scan, reader.class_names, binning.bins_for, divisions)
    shape = shape_of(found.classes, found.groups)
    own, by_class, together = (found.counts.pooled(keys) for keys in keys_of(found.classes, found.groups))

    def fit_one(counts: ScoreCounts) -> HistogramBinning:
        return clone(binning).fit_counts(counts.score, counts.count, counts.happened)

    def fit_pooled(claim: int) -> HistogramBinning | None:
        few = found.n_rows < calibrator.least_points
        if calibrator.fallback == "identity" or shape.problems_per_claim == 1 or few:
            return None
        return fit_one(together)

    if calibrator.has_groups:
        calibrator.groups_ = found.groups
    calibrator.fit_problems(
        shape,
        np.bincount(own.key, own.count, shape.n_problems).astype(np.int64),
        lambda index: fit_one(own.of_key(index)),
        fit_pooled,
        lambda label: fit_one(by_class.of_key(label)),
    )
    calibrator.class_names_ = found.classes
    return found.n_rows


def _least_positive(part: Part, reader: BatchReader) -> tuple[int, float]:
    """Return the rows of a part, and its smallest positive probability (1 if there is none)."""
    found = [(rows.n_rows, min(map(least_positive, rows.columns))) for rows in _rows_of(part, reader)]
    return sum(n_rows for n_rows, _ in found), min((least for _, least in found), default=1.0)


def _begin_scaling(calibrator: BaseEstimator, scan: Scan) -> int:
    """Set the number of classes and the floor of the probabilities; return the number of rows."""
    if scan.reader.kind != "vectors":
        raise InputError(f"{full_name(calibrator)} needs a probability for every class")
    n_classes = len(scan.reader.class_names or ())
    each = list(scan.over(_least_positive))
    n_rows = sum(count for count, _ in each)
    if not n_rows:
        raise InputError(NO_ROWS)
    floor = floor_of(min(least for _, least in each), n_classes)
    calibrator.n_classes_, calibrator.floor_ = n_classes, floor
    return n_rows


def _fit_temperature(calibrator: TemperatureScaling, scan: Scan) -> int:
    if calibrator.objective != "log_loss":
        raise InputError(f'temperature at scale has the objective "log_loss"; got {calibrator.objective!r}')
    n_rows = _begin_scaling(calibrator, scan)

    def slopes(b: float) -> Slopes:
        first, second, third = _total(scan, log_loss_slopes, floor=calibrator.floor_, b=b)
        return first, second, third

    calibrator.temperature_ = temperature_of_slopes(slopes)
    return n_rows


def _log_odds(proba: np.ndarray, floor: float) -> np.ndarray:
    log_p = log_floored(proba, floor)
    return log_p[:, :-1] - log_p[:, -1:]


def _sum_log_odds(proba: np.ndarray, _: np.ndarray, floor: float) -> tuple[np.ndarray]:
    return (_log_odds(proba, floor).sum(axis=0),)


def _vector_sums(
    proba: np.ndarray, label: np.ndarray, floor: float, shift: np.ndarray, theta: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return sums over rows: log loss, its gradient (2, L-1) and its Hessian.

    Features are the log-odds minus `shift`; logits are ``theta[0] * x + theta[1]``, and 0 for the last class.
    """
    m, x = len(shift), _log_odds(proba, floor)
    x -= shift
    own, z = np.arange(m), np.zeros(proba.shape)
    np.multiply(x, theta[0], out=z[:, :m])
    z[:, :m] += theta[1]
    z -= row_max(z)[:, None]
    at_true = float(z[np.arange(len(z)), label].sum())
    np.exp(z, out=z)
    norm, ones = z.sum(axis=1), np.ones(len(z))
    p = z[:, :m]
    p /= norm[:, None]
    both = np.concatenate([p * x, p], axis=1)
    expected = (ones @ both).reshape(2, m)
    rows = np.flatnonzero(label < m)
    happened = [np.bincount(label[rows], of, m) for of in (x[rows, label[rows]], ones[rows])]
    hessian = -(both.T @ both).reshape(2, m, 2, m)
    hessian[0, own, 0, own] += np.einsum("ij,ij->j", both[:, :m], x)
    hessian[0, own, 1, own] += expected[0]
    hessian[1, own, 0, own] += expected[0]
    hessian[1, own, 1, own] += expected[1]
    return float(np.log(norm).sum()) - at_true, expected - happened, hessian


def _fit_vector(calibrator: VectorScaling, scan: Scan) -> int:
    if not isinstance(calibrator.l2, (int, float)):
        raise InputError(f"vector scaling at scale needs a number as l2; got {calibrator.l2!r}")
    n_rows = _begin_scaling(calibrator, scan)
    floor, ridge = calibrator.floor_, max(float(calibrator.l2), LEAST_RIDGE)
    mean = _total(scan, _sum_log_odds, floor=floor)[0] / n_rows
    m = len(mean)
    target = np.stack([np.ones(m), mean])  # the unchanged model, for log-odds minus their mean

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        theta = flat.reshape(2, m)
        loss, gradient, hessian = _total(scan, _vector_sums, floor=floor, shift=mean, theta=theta)
        away = theta - target
        curvature = hessian.reshape(2 * m, 2 * m) / n_rows + ridge * np.eye(2 * m)
        value = loss / n_rows + 0.5 * ridge * float((away**2).sum())
        slope = (gradient / n_rows + ridge * away).ravel()
        return value, slope, lambda direction: np.linalg.solve(curvature, direction)

    optimum = newton(objective, target.ravel(), gap=1e-14)
    if not optimum.converged:
        warn_early(optimum)
    weights, biases = optimum.theta.reshape(2, m)
    calibrator.weights_, calibrator.biases_ = weights.copy(), biases - weights * mean
    calibrator.loss_gap_, calibrator.gradient_norm_ = optimum.loss_gap, optimum.gradient_norm
    return n_rows


#: The fit of each calibrator, which returns the number of its rows.
_FITS: dict[type, Callable[[Any, Scan], int]] = {
    TemperatureScaling: _fit_temperature,
    VectorScaling: _fit_vector,
    HistogramBinning: _fit_one_score,
    MulticlassToBinary: _fit_problems,
}
