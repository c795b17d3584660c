"""One row of numbers per method: what Overview, Compare, the command line and the report print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.interval_words import with_interval
from calib.base.parallel import map_row_blocks
from calib.base.results import Result
from calib.data.defaults import LEVEL, N_BINS
from calib.data.kinds import Kind, kind_of, lacks
from calib.data.notions import PerClass, Strategy
from calib.data.predictions import Announcement, Scores, Values, score_matrix
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Rows, Source, as_evidence
from calib.evidence.sums import SummedRows
from calib.stats.intervals import interval_needs_rows, measure_interval
from calib.stats.measures import MEASURES

#: Ends of the intervals of metrics, by their key in `calib.stats.measures.MEASURES`.
Intervals = Mapping[str, tuple[float, float]]

#: The note under a table with intervals.
HOW_SURE = (
    "In brackets: the 95 % interval. Noise raises a measured calibration error by up to what a perfect model "
    "shows, so its interval can lie below it."
)

#: Name of the uncalibrated model in tables.
BASE = "Base model"


@dataclass(frozen=True, repr=False)
class Metrics(Result):
    """Every number of one method on one set of rows.

    A number of `calib.stats.MEASURES` is an attribute by its key, such as `metrics.tl_ece`: None if these
    predictions, or their sums, do not have it.
    """

    method: str  #: Name shown in tables
    n_samples: int  #: Rows assessed
    n_bins: int  #: Equal-width bins used if `strategy` asks for them
    #: "uniform"; for histogram-binned scores and few stated values "discrete", or `PerClass` by class
    strategy: Strategy
    values: Mapping[str, float | None]  #: mapping of str to float or None: The numbers by key
    #: Number of distinct (predicted class, confidence) pairs; None for a summary
    n_distinct: int | None
    kind: str = "vectors"  #: Kind of the predictions, see `calib.data.kinds`
    #: Whether rows have weights, which every number but `n_samples` and `n_distinct` uses
    weighted: bool = False

    def __getattr__(self, key: str) -> float | None:
        if key in MEASURES:
            return self.values.get(key)
        raise AttributeError(f"{type(self).__name__} has no attribute {key!r}")

    def row(self) -> dict[str, Any]:
        """Return every number and what it is about, by key, without nesting."""
        about = {name: value for name, value in vars(self).items() if name != "values"}
        return about | {key: self.values.get(key) for key, measure in MEASURES.items() if measure.listed}

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame([self.row()])

    @property
    def bins(self) -> str:
        """How the scores were binned, and whether rows are weighted, in words."""
        equal_width, weighted = f"{self.n_bins} equal-width", ", weighted rows" if self.weighted else ""
        if self.strategy == "uniform":
            return equal_width + weighted
        others = len(self.strategy.others) if isinstance(self.strategy, PerClass) else 0
        classes = "class" if others == 1 else "classes"
        return "one per value" + (f", {equal_width} for {others:,} {classes}" if others else "") + weighted


#: Column heads of a table of metrics, in the field's terms.
METRIC_COLUMNS = {
    "method": "Method",
    **{key: measure.title for key, measure in MEASURES.items() if measure.listed},
    "n_distinct": "Distinct scores",
    "strategy": "Bins",
}


def metrics(
    y_true: Source,
    scores: Scores | None = None,
    *,
    method: str = BASE,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    class_wise: bool = True,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Metrics:
    """Compute every metric of one method.

    Parameters
    ----------
    y_true, scores, n_bins, strategy, sample_weight, cluster
        As for `calib.ece`; scores of the base model, or from `calibrated_scores`.
    method : str
        Name for tables.
    class_wise : bool
        Whether to compute CW-ECE, the only metric that bins all n * L scores.
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    strategy = strategy or evidence.strategy
    bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    n_distinct = None if isinstance(evidence, SummedRows) else len(evidence.problems().tie_starts)
    cells: dict[Any, BinStatistics] = {}
    values: dict[str, float | None] = {}
    has = kind_of(evidence).has
    whole = not isinstance(evidence, Rows) or "vector" not in has or _sum_to_one(evidence.predictions)
    for key, measure in MEASURES.items():
        needs_columns = measure.notion == "class-wise" and "event" not in has
        if not measure.listed or measure.missing(evidence) or (needs_columns and not class_wise):
            continue
        if key == "log_loss" and not whole:
            continue
        if measure.is_error and measure.notion not in cells:
            cells[measure.notion] = evidence.cells(measure.notion, effects=False, **bins)
        value = measure.value(evidence, cells=cells.get(measure.notion), **bins)
        if not np.isnan(value):  # an AUC needs both outcomes
            values[key] = value
    return Metrics(
        method=method,
        n_samples=evidence.n_samples,
        n_bins=n_bins,
        strategy=strategy,
        values=values,
        n_distinct=n_distinct,
        kind=evidence.kind,
        weighted=evidence.is_weighted,
    )


def _sum_to_one(rows: Announcement) -> bool:
    """Whether each row sums to about 1; otherwise there is no log loss."""
    matrix = score_matrix(rows)
    sums = map_row_blocks(lambda block: np.einsum("ij->i", block, dtype=np.float64), matrix)
    return bool(np.abs(sums - 1.0).max() <= 1e-3)


def how_assessed(n_bins: int, kind: Kind | str = "vectors") -> str:
    """Say in which bins the methods of a table are assessed; `strategy_for` of each calibrator decides."""
    words = (
        "Histogram-binned scores and few stated values are assessed at each value, other scores in "
        f"{n_bins} equal-width bins (Remark 1 of the paper)"
    )
    if lacks(kind, "notion:top-label") is not None:
        return f"{words}."
    return (
        f"{words}; conf-ECE also uses these bins if each class has values of its own, because a cell of one "
        "value would hold one class."
    )


def heads_of(methods: Sequence[Metrics]) -> dict[str, str]:
    """Return the keys and heads of `METRIC_COLUMNS` that apply to at least one of these kinds."""
    kinds = {each.kind for each in methods}
    return {
        key: head
        for key, head in METRIC_COLUMNS.items()
        if key not in MEASURES or any(MEASURES[key].missing(kind) is None for kind in kinds)
    }


def metric_frame(methods: Sequence[Metrics]) -> pd.DataFrame:
    """Return one row per method with the columns of `heads_of`; bins are described in words."""
    rows = [each.row() | {"strategy": each.bins} for each in methods]
    heads = heads_of(methods)
    return pd.DataFrame(rows)[list(heads)].rename(columns=heads)


def metric_intervals(
    evidence: Rows | SummedRows, values: Metrics, *, level: float = LEVEL
) -> dict[str, tuple[float, float]]:
    """Return the interval of every metric, as `calib.stats.measure_interval` gives it, by key."""
    options: dict[str, Any] = {"n_bins": values.n_bins, "strategy": values.strategy, "level": level}
    keys = [key for key in values.values if not interval_needs_rows(evidence, MEASURES[key])]
    return {key: measure_interval(evidence, key, **options) for key in keys}


def interval_frame(methods: Sequence[Metrics], intervals: Sequence[Intervals]) -> pd.DataFrame:
    """Return `metric_frame` with the ends of each number's interval in columns beside it."""
    table = metric_frame(methods)
    for key, head in heads_of(methods).items():
        ends = [interval.get(key, (np.nan, np.nan)) for interval in intervals]
        if not np.isnan(ends).all():
            position = list(table.columns).index(head) + 1
            table.insert(position, f"{head}, lower", [low for low, _ in ends])
            table.insert(position + 1, f"{head}, upper", [high for _, high in ends])
    return table


def interval_texts(methods: Sequence[Metrics], intervals: Sequence[Intervals]) -> pd.DataFrame:
    """Return a table of texts such as "0.0222 (0.0103 to 0.0208)": a row per number, a column per method."""
    texts = {}
    for values, ends in zip(methods, intervals, strict=True):
        texts[values.method] = {
            head: _with_interval(getattr(values, key), ends.get(key))
            for key, head in heads_of(methods).items()
            if key not in ("method", "strategy")
        } | {METRIC_COLUMNS["strategy"]: values.bins}
    return pd.DataFrame(texts)


def _with_interval(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return "\u2013"
    if ends is not None:
        return with_interval(value, *ends)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
