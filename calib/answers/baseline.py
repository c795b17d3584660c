"""Whether predictions are worse than a baseline: on the same rows by id, else on different rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.data.kinds import kind_of
from calib.data.notions import Strategy
from calib.data.several_models import rows_shared_by_id
from calib.evidence.row_scores import row_values
from calib.evidence.rows import Known, Rows, as_evidence, as_pair
from calib.evidence.sums import SummedRows
from calib.stats.bootstrap import paired_intervals_of
from calib.stats.differences import paired_difference
from calib.stats.intervals import (
    combined_difference,
    error_interval,
    interval_needs_rows,
    measure_interval,
)
from calib.stats.measures import MEASURES, Measure, ece_of


@dataclass(frozen=True)
class MeasureChange:
    measure: Measure  #: The number
    #: The number now and in the baseline
    value: float
    before: float
    #: The change, now minus before, and the ends of its interval; debiased for an ECE
    difference: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Compared:
    """Changes from a baseline, and the rows they were measured on."""

    changes: tuple[
        MeasureChange, ...
    ]  #: Accuracy, Brier score and calibration error, as far as both have them
    strategy: Strategy  #: How the baseline is binned
    n_paired: int | None  #: Rows that both share by their ids; None if they are taken as different rows

    @property
    def words(self) -> str:
        if self.n_paired is None:
            return "compared with the baseline as different rows, because no ids match"
        return f"compared with the baseline on {self.n_paired:,} rows paired by id"


def compare_with_baseline(
    evidence: Rows | SummedRows,
    baseline: Known,
    *,
    level: float,
    n_bins: int,
    strategy: Strategy | None = None,
) -> Compared:
    """Compare accuracy, Brier score and calibration error with a baseline's.

    On the same rows, scores use `paired_interval` and the ECE `paired_difference`. On different rows, scores
    use `combined_difference`. The ECE then uses the farthest ends of two intervals that each miss half as
    often (Bonferroni), also if rows have clusters.
    """
    now, before = evidence, as_evidence(baseline)
    pair = None
    if isinstance(now, Rows) and isinstance(before, Rows):
        shared = rows_shared_by_id(now.predictions, before.predictions)
        pair = None if shared is None else as_pair(*shared)
    if pair is not None:
        now, before = pair
    if now.kind != before.kind:
        kinds = f"{kind_of(now).title} and {kind_of(before).title}"
        raise InputError(f"predictions and their baseline are of different kinds: {kinds}")
    measures = [
        measure
        for measure in _compared(now)
        if not any(interval_needs_rows(rows, measure) for rows in (now, before))
    ]
    each = 1.0 - (1.0 - level) / len(measures)
    strategies = strategy or evidence.strategy, before.strategy
    bins: dict[str, Any] = {"n_bins": n_bins}
    changes = []
    for measure in measures:
        value = measure.value(now, strategy=strategies[0], **bins)
        old = measure.value(before, strategy=strategies[1], **bins)
        if pair is None or (measure.is_error and now.n_clusters is not None):
            ends = _unpaired_change(measure, now, before, each, bins, strategies)
        else:
            ends = _paired_change(measure, pair[0], pair[1], each, bins, strategies)
        changes.append(MeasureChange(measure, value, old, *ends))
    return Compared(tuple(changes), strategies[1], None if pair is None else now.n_samples)


def _compared(evidence: Rows | SummedRows) -> list[Measure]:
    """Return the numbers that are compared: accuracy, a proper score and the calibration error."""
    errors = [error for error in ece_of(evidence.kind).values() if error.notion == evidence.notion]
    scores = [MEASURES[key] for key in ("brier", "top_brier") if MEASURES[key].missing(evidence) is None]
    accuracy = [MEASURES["accuracy"]] if MEASURES["accuracy"].missing(evidence) is None else []
    return [*accuracy, *scores[:1], *errors[:1]]


def _paired_change(
    measure: Measure,
    now: Rows,
    before: Rows,
    level: float,
    bins: dict[str, Any],
    strategies: tuple[Strategy, Strategy],
) -> tuple[float, float, float]:
    if not measure.is_error:
        old, new = (_values(measure, rows) for rows in (before, now))
        (change,) = paired_intervals_of(old, new[None], measure.metric, now, level)
        return change.difference, change.lower, change.upper
    notion = measure.notion or now.notion
    asked: dict[str, Any] = {
        "notion": notion,
        "strategy_a": strategies[0],
        "strategy_b": strategies[1],
        "level": level,
        **bins,
    }
    difference = paired_difference(now, before, **asked)
    return difference.difference, difference.lower, difference.upper


def _values(measure: Measure, rows: Rows) -> np.ndarray:
    scored = rows.tops() if measure.key == "top_brier" else rows
    return row_values(scored.predictions, measure.metric)


def _unpaired_change(
    measure: Measure,
    now: Rows | SummedRows,
    before: Rows | SummedRows,
    level: float,
    bins: dict[str, Any],
    strategies: tuple[Strategy, Strategy],
) -> tuple[float, float, float]:
    (a, low_a, high_a), (b, low_b, high_b) = (
        _interval(measure, evidence, level, {**bins, "strategy": binned})
        for evidence, binned in ((now, strategies[0]), (before, strategies[1]))
    )
    if measure.is_error:  # unseen errors, which the ends allow for, do not average out
        return a - b, low_a - high_b, high_a - low_b
    return combined_difference((a, low_a, high_a), (b, low_b, high_b))


def _interval(
    measure: Measure, evidence: Rows | SummedRows, level: float, bins: dict[str, Any]
) -> tuple[float, float, float]:
    if measure.is_error:
        notion, each = measure.notion or evidence.notion, (1.0 + level) / 2.0
        error = error_interval(evidence, notion=notion, level=each, **bins)
        return error.estimate, error.lower, error.upper
    return measure.value(evidence), *measure_interval(evidence, measure.key, level=level)
