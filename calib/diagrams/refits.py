"""Histogram binning refitted with every number of bins (Figure 2 and Appendix E of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from calib.answers.calibrated import calibrated_scores, fit_on
from calib.base.parallel import map_threads
from calib.calibrators.multiclass import MulticlassToBinary
from calib.data.notions import TOP_NOTIONS, Notion, NotionShape, Strategy
from calib.data.predictions import Predictions
from calib.diagrams.bin_sweep import EceSweep, ece_sweep
from calib.evidence.binning import BinaryProblems
from calib.evidence.reductions import separate_problems
from calib.evidence.rows import Rows, reduce_to_binary

#: Fits with a number of bins; returns what knows the calibrated scores of a notion, and bins to assess them.
Refit = Callable[[int], tuple[Callable[[Notion], Rows | BinaryProblems], Strategy]]


def binned_sweeps(
    calibrator: BaseEstimator,
    calibration: Predictions,
    evaluation: Predictions,
    n_bins: Iterable[int] = range(5, 26),
    *,
    notions: Sequence[Notion] = ("top-label", "confidence"),
    metric: str = "ece",
) -> dict[Notion, EceSweep]:
    """Return errors of histogram binning, fitted again for each number of bins, by notion (Appendix E)."""
    counts = np.array(list(n_bins), dtype=np.int64)
    by_scores = keeps_classes(calibrator, calibration, evaluation, notions)
    refit = (_refit_sorted_scores if by_scores else _refit_rows)(calibrator, calibration, evaluation)

    def errors_of(count: int) -> list[float]:
        reduced, strategy = refit(count)
        options: dict[str, Any] = {"n_bins": [count], "strategy": strategy, "metric": metric}
        return [float(ece_sweep(reduced(notion), notion=notion, **options).ece[0]) for notion in notions]

    swept = np.array(map_threads(errors_of, counts.tolist())).reshape(len(counts), len(notions))
    return {
        notion: EceSweep(notion, "discrete", counts, by_notion, metric)
        for notion, by_notion in zip(notions, swept.T, strict=True)
    }


def keeps_classes(
    calibrator: BaseEstimator,
    calibration: Predictions,
    evaluation: Predictions,
    notions: Sequence[Notion] = TOP_NOTIONS,
) -> bool:
    """Whether cells are enough for refits: unweighted bins of highest scores, whose rows keep their class."""
    return (
        set(notions) <= set(TOP_NOTIONS)
        and isinstance(calibrator, MulticlassToBinary)
        and calibrator.bins_top_alone
        and calibrator.complete is None
        and all(
            isinstance(rows, Predictions) and rows.sample_weight is None for rows in (calibration, evaluation)
        )
        and calibration.n_classes == evaluation.n_classes
    )


def _refit_rows(calibrator: BaseEstimator, calibration: Predictions, evaluation: Predictions) -> Refit:
    def refit(count: int) -> tuple[Callable[[Notion], Rows | BinaryProblems], Strategy]:
        refitted = fit_on(clone(calibrator).set_params(binary__n_bins=count), calibration)
        rows = Rows(calibrated_scores(refitted, evaluation))
        return lambda notion: rows, rows.strategy

    return refit


def _refit_sorted_scores(
    calibrator: MulticlassToBinary, calibration: Predictions, evaluation: Predictions
) -> Refit:
    """Refit if `keeps_classes`: all rows are sorted once, then only cells are used."""
    shape = calibrator.shape_for(calibration.n_classes)
    sizes, problem = separate_problems(calibration, shape)
    fitted_on = map_threads(problem, range(shape.n_problems))
    before = reduce_to_binary(evaluation)

    def refit(count: int) -> tuple[Callable[[Notion], Rows | BinaryProblems], Strategy]:
        refitted = clone(calibrator).set_params(binary__n_bins=count)
        refitted.fit_sorted(shape, sizes, fitted_on.__getitem__)
        return partial(_calibrated, refitted, before), refitted.strategy_for(evaluation)

    return refit


def _calibrated(calibrator: MulticlassToBinary, before: BinaryProblems, notion: Notion) -> BinaryProblems:
    """Return the calibrated problems; rows of one score and outcome are one weighted entry."""
    starts, values = [], []
    used = calibrator.shape_.problems_of(np.arange(before.n_problems)).tolist()
    for start, stop, index in zip(before.offsets[:-1], before.offsets[1:], used, strict=True):
        binary, scores = calibrator.calibrators_[index], before.scores[start:stop].astype(np.float64)
        if binary is None:  # its scores stay as they are
            starts.append(np.arange(start, stop))
            values.append(scores)
        else:
            starts += [np.array([start]), start + np.searchsorted(scores, binary.edges_)]
            values.append(binary.values_)
    start = np.concatenate(starts)
    stop = np.append(start[1:], len(before.scores))
    count, happened = stop - start, before.outcome_sums[stop] - before.outcome_sums[start]
    owner = np.searchsorted(before.offsets, start, side="right") - 1
    weights = np.stack([count - happened, happened], axis=1).ravel()  # two entries a cell: not, and happened
    value, owner = np.repeat(np.concatenate(values), 2), np.repeat(owner, 2)
    shape = NotionShape.of(notion, before.n_classes)
    problem = shape.problems_of(owner)
    order = np.lexsort((value, problem))
    order = order[weights[order] > 0]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(problem[order], minlength=shape.n_problems))))
    return BinaryProblems(
        shape=shape,
        n_samples=before.n_samples,
        offsets=offsets,
        scores=value[order],
        rows=np.arange(len(order)),
        outcomes=order % 2 == 1,
        row_weights=weights[order].astype(np.float64),
    )
