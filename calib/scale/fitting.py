"""Fitting calibrators to files of any size: the results of in-memory fits, from sums over parts.

Histogram binning needs the distinct scores around the cuts of every problem. A first pass counts points in
fixed cells, which shows the cells that can hold a cut; a second pass collects the distinct scores of these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
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
from calib.calibrators.softmax_fit import DiagonalMap
from calib.data.matrices import row_max
from calib.files.saved.document import FittedOn, today
from calib.scale.batches import Batch, BatchReader, in_order, read_batches
from calib.scale.engines import Engine
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


NO_COUNTS = pd.DataFrame({"key": [0], "score": [0.0], "points": [0], "happened": [0]})[:0]


def added_counts(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add up `points`, and those that `happened`, of each `key` (a problem) and `score`, both ascending.

    Sorting takes a tenth of the time of grouping by two columns.
    """
    counts = pd.concat(parts, ignore_index=True)
    key, score = counts["key"].to_numpy(), counts["score"].to_numpy()
    order = np.argsort(score)
    short = key.astype(np.min_scalar_type(key.max(initial=0)))  # radix sort of at most 16 bits
    order = order[np.argsort(short[order], kind="stable")]
    key, score = key[order], score[order]
    is_first = np.append(True, (key[1:] != key[:-1]) | (score[1:] != score[:-1]))
    first = np.flatnonzero(is_first[: len(key)])
    sums = {name: np.add.reduceat(counts[name].to_numpy()[order], first) for name in ("points", "happened")}
    return pd.DataFrame({"key": key[first], "score": score[first], **sums})


@dataclass(frozen=True, eq=False)
class _Found:
    """Result of a pass over a part: names of classes and groups, counts by (group, class), and rows."""

    classes: tuple[str, ...]
    groups: tuple[str, ...]
    counts: pd.DataFrame  #: See `added_counts`
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
        **columns,
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
    n_rows, parts = 0, [NO_COUNTS]
    for rows in _rows_of(part, reader):
        words, label, score, outcome = _points(rows)
        n_rows += rows.n_rows
        key = np.array([classes.setdefault(word, len(classes)) for word in words], dtype=np.int64)[label]
        for codes, group_names in rows.groups:
            place = [groups.setdefault(name, len(groups)) for name in group_names]
            key += np.array(place, dtype=np.int64)[codes] * SHIFT
        cell = np.floor(score * FIRST_CELLS)
        counts = pd.DataFrame({"key": key, "score": cell, "points": 1, "happened": outcome.astype(np.int64)})
        if masks is not None:
            inside = masks[key // SHIFT * len(classes) + key % SHIFT, cell.astype(np.int64)]
            counts = counts.assign(score=score)[inside]
        parts.append(added_counts([counts]))
        if len(parts) >= 16:
            parts = [added_counts(parts)]
            if len(parts[0]) > most:
                return None
    counts = added_counts(parts)
    return None if len(counts) > most else _Found(tuple(classes), tuple(groups) or ("",), counts, n_rows)


def _joined(found: Sequence[_Found], names: tuple[str, ...] | None) -> _Found:
    """Add up the results of parts; classes and groups are in the order of their names."""
    if not sum(part.n_rows for part in found):
        raise InputError(NO_ROWS)
    every = dict.fromkeys(name for part in found for name in part.classes)
    classes = names if names is not None else in_order([name for name in every if name]) or ("",)
    groups = tuple(sorted({name for part in found for name in part.groups}))
    moved = []
    for part in found:
        class_code = np.maximum(pd.Index(classes).get_indexer(pd.Index(part.classes)), 0)
        group_code, key = pd.Index(groups).get_indexer(pd.Index(part.groups)), part.counts["key"].to_numpy()
        key = group_code[key // SHIFT] * len(classes) + class_code[key % SHIFT]
        moved.append(part.counts.assign(key=key))
    return _Found(classes, groups, added_counts(moved), sum(part.n_rows for part in found))


def _collect(
    scan: Scan,
    names: tuple[str, ...] | None,
    bins_for: Callable[[int], int],
    divisions: Callable[[tuple[str, ...], tuple[str, ...]], dict[str, np.ndarray]],
) -> tuple[_Found, dict[str, dict[int, pd.DataFrame]]]:
    """Return classes, groups and rows, and the counts of each problem: scores around cuts, and other cells.

    `divisions` of classes and groups are the problems to fit, each as the problem of every (group, class).
    """

    def counted(advice: str, **options: Any) -> _Found:
        found: list[Any] = list(scan.over(_count_scores, most=MOST_COUNTED, **options))
        if any(part is None for part in found):
            raise InputError(f"there are more than {MOST_COUNTED:,} counts to keep; {advice}")
        return _joined(found, names)

    coarse = counted("fit fewer classes or groups")
    masks = np.zeros((len(coarse.groups) * len(coarse.classes), FIRST_CELLS + 1), dtype=bool)
    known = coarse.classes, coarse.groups
    for keys in divisions(*known).values():
        for problem, counts in _by_problem([coarse.counts], keys).items():
            masks[keys == problem] |= cells_of_cuts(counts, bins_for(int(counts["points"].sum())))
    fine = counted("ask for fewer bins with n_bins", names=known, masks=masks)
    left = coarse.counts[~masks[coarse.counts["key"], coarse.counts["score"].astype(np.int64)]]
    every = [left.assign(score=left["score"] / FIRST_CELLS), fine.counts]
    return coarse, {name: _by_problem(every, keys) for name, keys in divisions(*known).items()}


def _by_problem(parts: Sequence[pd.DataFrame], keys: np.ndarray) -> dict[Any, pd.DataFrame]:
    moved = [counts.assign(key=keys[counts["key"]]) for counts in parts]
    return dict(list(added_counts(moved).groupby("key")))


def cells_of_cuts(counts: pd.DataFrame, n_bins: int) -> np.ndarray:
    """Return the cells (of `FIRST_CELLS`, and of 1) that can hold a cut of `equal_mass_cuts`."""
    ends = np.cumsum(counts["points"].to_numpy())
    total, ascending = int(ends[-1]), ends.data  # its items are numbers of Python
    share, low, high = max(total // n_bins, 1), 0, 0
    chosen = np.zeros(len(ends) + 1, dtype=bool)

    def position(cut: int, bins_left: int) -> int:
        return cut + max(share, -(-(total - cut) // bins_left))

    for bins_left in range(n_bins, 1, -1):
        low, high = position(low, bins_left), position(high, bins_left)
        if low > total:
            break
        last = bisect_left(ascending, min(high, total))
        chosen[bisect_left(ascending, low) : last + 2] = True
        high = ascending[last]
    mask = np.zeros(FIRST_CELLS + 1, dtype=bool)
    mask[counts["score"].to_numpy()[chosen[:-1]].astype(np.int64)] = True
    return mask


def _check_binning(binary: Any) -> HistogramBinning:
    if not isinstance(binary, HistogramBinning) or binary.ties != "group":
        raise InputError(
            'fits at scale are histogram binning with ties="group"; fit another calibrator on a sample in '
            "memory"
        )
    return binary


def fit_counts(binning: HistogramBinning, counts: pd.DataFrame) -> HistogramBinning:
    return binning.fit_counts(*(counts[name].to_numpy() for name in ("score", "points", "happened")))


def _fit_one_score(binning: HistogramBinning, scan: Scan) -> int:
    _check_binning(binning)

    def pooled(classes: tuple[str, ...], groups: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {"all": np.zeros(len(classes) * len(groups), dtype=np.int64)}

    found, counts = _collect(scan, None, binning.bins_for, pooled)
    fit_counts(binning, counts["all"][0])
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

    def divisions(classes: tuple[str, ...], groups: tuple[str, ...]) -> dict[str, np.ndarray]:
        shape, every = calibrator.shape_for(len(classes), len(groups)), np.arange(len(classes) * len(groups))
        label, group = every % len(classes), every // len(classes)
        keys = {"own": shape.problems_of(label, group=group)}
        keys |= {"class": label} if calibrator.has_groups and shape.by_class else {}
        return keys | ({"all": np.zeros_like(every)} if calibrator.fallback == "pooled" else {})

    found, counts = _collect(scan, reader.class_names, binning.bins_for, divisions)
    shape = calibrator.shape_for(len(found.classes), len(found.groups))
    sizes = np.zeros(shape.n_problems, dtype=np.int64)
    for index, own in counts["own"].items():
        sizes[index] = own["points"].sum()

    def fit_pooled(claim: int) -> HistogramBinning | None:
        few = found.n_rows < calibrator.least_points
        if "all" not in counts or shape.problems_per_claim == 1 or few:
            return None
        return fit_counts(clone(binning), counts["all"][0])

    if calibrator.has_groups:
        calibrator.groups_ = found.groups
    calibrator.fit_problems(
        shape,
        sizes,
        lambda index: fit_counts(clone(binning), counts["own"][index]),
        fit_pooled,
        lambda label: fit_counts(clone(binning), counts["class"][label]),
    )
    calibrator.class_names_ = found.classes
    return found.n_rows


def _least_positive(part: Part, reader: BatchReader) -> tuple[int, float]:
    """Return the rows of a part, and its smallest positive probability (1 if there is none)."""
    found = [(rows.n_rows, min(map(least_positive, rows.columns))) for rows in _rows_of(part, reader)]
    return sum(n_rows for n_rows, _ in found), min((least for _, least in found), default=1.0)


def _begin_scaling(calibrator: BaseEstimator, scan: Scan) -> int:
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
    proba: np.ndarray,
    label: np.ndarray,
    kind: DiagonalMap,
    floor: float,
    mean: np.ndarray,
    theta: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return sums over rows: log loss, its gradient and its Hessian; features are log-odds minus `mean`."""
    (m, width), own = kind.shape, np.arange(len(mean))
    x = kind.design(_log_odds(proba, floor), mean)
    z, scratch = kind.logits(theta, x, np.empty_like(x)), np.empty_like(x)
    z -= row_max(z)[:, None]
    at_true = float(z[np.arange(len(z)), label].sum())
    p = np.exp(z, out=z)
    norm = p.sum(axis=1)
    p /= norm[:, None]
    gradient = kind.expected(p, x, scratch) - kind.observed(label, x, np.ones(len(x)))
    both = np.stack([p * x, p], axis=2)[:, :m].reshape(len(x), -1)
    hessian = -(both.T @ both).reshape(m, width, m, width)
    hessian[own, :, own] += kind.blocks(p, x, scratch)
    return float(np.log(norm).sum()) - at_true, gradient, hessian


def _fit_vector(calibrator: VectorScaling, scan: Scan) -> int:
    if not isinstance(calibrator.l2, (int, float)):
        raise InputError(f"vector scaling at scale needs a number as l2; got {calibrator.l2!r}")
    n_rows = _begin_scaling(calibrator, scan)
    floor, ridge = calibrator.floor_, max(float(calibrator.l2), LEAST_RIDGE)
    mean = _total(scan, _sum_log_odds, floor=floor)[0] / n_rows
    kind = DiagonalMap(len(mean), calibrator.n_classes_)
    target = kind.moved(kind.identity, mean)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        theta = flat.reshape(kind.shape)
        loss, gradient, hessian = _total(scan, _vector_sums, kind=kind, floor=floor, mean=mean, theta=theta)
        away = theta - target
        curvature = hessian.reshape(flat.size, flat.size) / n_rows + ridge * np.eye(flat.size)
        value = loss / n_rows + 0.5 * ridge * float((away**2).sum())
        slope = (gradient / n_rows + ridge * away).ravel()
        return value, slope, lambda direction: np.linalg.solve(curvature, direction)

    optimum = newton(objective, target.ravel(), gap=1e-14)
    if not optimum.converged:
        warn_early(optimum)
    calibrator.weights_, calibrator.biases_ = kind.moved(optimum.theta.reshape(kind.shape), -mean).T.copy()
    calibrator.loss_gap_, calibrator.gradient_norm_ = optimum.loss_gap, optimum.gradient_norm
    return n_rows


#: The fit of each calibrator, which returns the number of its rows.
_FITS: dict[type, Callable[[Any, Scan], int]] = {
    TemperatureScaling: _fit_temperature,
    VectorScaling: _fit_vector,
    HistogramBinning: _fit_one_score,
    MulticlassToBinary: _fit_problems,
}
