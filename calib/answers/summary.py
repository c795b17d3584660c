"""One row of numbers per method: what Overview, Compare, the command line and the report print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from calib.base.parallel import map_row_blocks
from calib.base.results import Result
from calib.data.kinds import Kind, kind_of, lacks
from calib.data.predictions import TopLabelPrediction, score_matrix, weighted_rows
from calib.data.validation import as_labels
from calib.evidence.binning import BinaryProblems, PerClass, Strategy, bin_statistics
from calib.evidence.reductions import cell_statistics, event_scores, reduce_to_binary, top_label
from calib.stats.errors import accuracy, brier_score, ece, log_loss, vector_values, weighted_mean
from calib.stats.intervals import measure_interval
from calib.stats.measures import MEASURES

#: Ends of the intervals of a summary's numbers, by their key in `calib.stats.measures.MEASURES`.
Intervals = Mapping[str, tuple[float, float]]

#: What a table with intervals says of them.
HOW_SURE = (
    "In brackets: the 95 % interval. Noise raises a measured calibration error by up to what a perfect model "
    "shows, so its interval can lie below it."
)

#: What tables call the model whose scores no calibrator has changed.
BASE = "Base model"


@dataclass(frozen=True, repr=False)
class Summary(Result):
    """Metrics of one method on one set of rows.

    Attributes
    ----------
    method : str
        Name shown in tables.
    n_samples : int
        Rows assessed.
    n_bins : int
        Equal-width bins used where `strategy` asks for them.
    strategy : str or PerClass
        "uniform"; for histogram-binned scores "discrete", or `PerClass` where each class has its own values
        (Remark 1 of the paper).
    accuracy : float or None
        See `calib.accuracy`; None where several classes can be true.
    conf_ece, tl_ece, tl_mce_cell, tl_mce_bin : float or None
        See `calib.ece` and `calib.mce`; None where predictions of this kind do not have it.
    cw_ece : float or None
        Class-wise ECE; None if the method gives no score per class, or if it was not requested.
    top_brier, top_log_loss : float or None
        Brier score and log loss (nats) of the event "the predicted class is right", for every method.
    brier, log_loss : float or None
        Brier score and log loss of the whole vector, or of P(Y = 1), or their mean over the classes of which
        several can be true; None if the method gives no vector of
        probabilities (rows that do not sum to 1 have no log loss).
    n_distinct : int or None
        Number of distinct (predicted class, confidence) pairs; None where the rows are not at hand.
    ece, mce : float or None
        Errors of P(Y = 1), for binary predictions.
    kind : str
        Kind of the predictions, see `calib.data.kinds`.
    weighted : bool
        Whether rows have weights, which every number but `n_samples` and `n_distinct` uses.
    """

    method: str
    n_samples: int
    n_bins: int
    strategy: Strategy
    accuracy: float | None
    conf_ece: float | None
    tl_ece: float | None
    tl_mce_cell: float | None
    tl_mce_bin: float | None
    cw_ece: float | None
    top_brier: float | None
    top_log_loss: float | None
    brier: float | None
    log_loss: float | None
    n_distinct: int | None
    ece: float | None = None
    mce: float | None = None
    kind: str = "vectors"
    weighted: bool = False

    @property
    def bins(self) -> str:
        """How the scores were binned, and whether rows are weighted, in words."""
        equal_width, weighted = f"{self.n_bins} equal-width", ", weighted rows" if self.weighted else ""
        if self.strategy == "uniform":
            return equal_width + weighted
        others = len(self.strategy.others) if isinstance(self.strategy, PerClass) else 0
        classes = "class" if others == 1 else "classes"
        return "one per value" + (f", {equal_width} for {others:,} {classes}" if others else "") + weighted


#: Column heads of a summary table, in the field's terms.
SUMMARY_COLUMNS = {
    "method": "Method",
    **{field.name: MEASURES[field.name].title for field in fields(Summary) if field.name in MEASURES},
    "n_distinct": "Distinct scores",
    "strategy": "Bins",
}


def summarize(
    y_true: Any,
    scores: Any,
    *,
    method: str = BASE,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    class_wise: bool = True,
    sample_weight: Any = None,
    problems: BinaryProblems | None = None,
) -> Summary:
    """Compute every metric of one method.

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores of the base model, or from `calibrated_scores`.
    method : str
        Name for tables.
    n_bins : int
        Equal-width bins B.
    strategy : {"uniform", "discrete"} or PerClass
        As `calib.answers.calibrated.assessment_strategy` chooses it for a calibrator.
    class_wise : bool
        Whether to compute CW-ECE, the only metric for which all n * L scores are binned.
    sample_weight : (n,) array_like of float, optional
        As for `calib.ece`, for every metric.
    problems : BinaryProblems, optional
        What `reduce_to_binary` gives for these arguments and the notion of the kind of `scores`, where it is
        there already.

    Raises
    ------
    InputError
        If the labels or scores cannot be used.
    """
    kind = kind_of(scores)
    y_true, scores, weights = weighted_rows(y_true, scores, sample_weight)
    of_rows: dict[str, Any] = {"sample_weight": weights}

    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    if problems is None:
        problems = reduce_to_binary(y_true, scores, kind.notion, **of_rows)
    cells = bin_statistics(problems, **options)
    event = cells if kind.name == "binary" else None
    by_class = cells if kind.notion == "top-label" else None
    pooled = cells if kind.notion == "confidence" else None
    several = kind.name == "multilabel"
    top: Any = None
    if not several:
        top = scores if event_scores(scores) is not None else TopLabelPrediction(*top_label(scores))
    if by_class is not None:
        pooled = cell_statistics(y_true, top, "confidence", **options, **of_rows)
    matrix = score_matrix(scores) if kind.name in ("vectors", "multilabel") else None
    brier = log = None
    if kind.name == "vectors" and matrix is not None:
        losses = vector_values(as_labels(y_true, *matrix.shape), matrix, ("brier", "log_loss"))
        brier = weighted_mean(losses["brier"], weights)
        log = weighted_mean(losses["log_loss"], weights) if _sum_to_one(matrix) else None
    elif several or event is not None:
        brier, log = brier_score(y_true, scores, **of_rows), log_loss(y_true, scores, **of_rows)
    return Summary(
        method=method,
        n_samples=problems.n_samples,
        n_bins=n_bins,
        strategy=strategy,
        accuracy=None if top is None else accuracy(y_true, top, **of_rows),
        conf_ece=None if pooled is None else pooled.ece(),
        tl_ece=None if by_class is None else by_class.ece(),
        tl_mce_cell=None if by_class is None else by_class.mce("cell"),
        tl_mce_bin=None if by_class is None else by_class.mce("bin"),
        cw_ece=None
        if matrix is None or not class_wise
        else ece(y_true, scores if several else matrix, notion="class-wise", **options, **of_rows),
        top_brier=None if pooled is None else brier_score(y_true, top, **of_rows),
        top_log_loss=None if pooled is None else log_loss(y_true, top, **of_rows),
        brier=brier,
        log_loss=log,
        n_distinct=len(problems.tie_starts),
        ece=None if event is None else event.ece(),
        mce=None if event is None else event.mce(),
        kind=kind.name,
        weighted=weights is not None,
    )


def _sum_to_one(matrix: np.ndarray) -> bool:
    """Whether the scores of each row sum to 1, about."""
    sums = map_row_blocks(lambda block: np.einsum("ij->i", block, dtype=np.float64), matrix)
    return bool(np.abs(sums - 1.0).max() <= 1e-3)


def how_assessed(n_bins: int, kind: Kind | str = "vectors") -> str:
    """Say in which bins the methods of a table are assessed; `assessment_strategy` decides for each."""
    words = (
        f"Histogram-binned scores are assessed at each of their values, all others in {n_bins} equal-width "
        "bins (Remark 1 of the paper)"
    )
    if lacks(kind, "notion:top-label") is not None:
        return f"{words}."
    return (
        f"{words}; so is conf-ECE where each class has values of its own, as a cell of each value would hold "
        "one class."
    )


def heads_of(summaries: Sequence[Summary]) -> dict[str, str]:
    """Return the keys and heads of `SUMMARY_COLUMNS` that apply to the kind of one of the summaries."""
    kinds = {summary.kind for summary in summaries}
    return {
        key: head
        for key, head in SUMMARY_COLUMNS.items()
        if any(lacks(kind, f"measure:{key}") is None for kind in kinds)
    }


def summary_frame(summaries: Sequence[Summary]) -> pd.DataFrame:
    """Return one row per method with the columns of `heads_of`; bins are described in words."""
    rows = [asdict(summary) | {"strategy": summary.bins} for summary in summaries]
    heads = heads_of(summaries)
    return pd.DataFrame(rows)[list(heads)].rename(columns=heads)


def summary_intervals(
    y_true: Any, scores: Any, summary: Summary, *, sample_weight: Any = None, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """Return the interval of every number of a summary, as `calib.stats.measure_interval` gives it, by key.

    Parameters
    ----------
    y_true, scores, sample_weight
        As for `summarize`.
    summary : Summary
        What `summarize` gave for them.
    level : float in (0, 1)
        Coverage of each interval.
    """
    options: dict[str, Any] = {"n_bins": summary.n_bins, "strategy": summary.strategy, "level": level}
    options["sample_weight"] = sample_weight
    keys = [key for key in MEASURES if getattr(summary, key, None) is not None]
    return {key: measure_interval(y_true, scores, key, **options) for key in keys}


def interval_frame(summaries: Sequence[Summary], intervals: Sequence[Intervals]) -> pd.DataFrame:
    """Return `summary_frame` with the ends of each number's interval in columns beside it."""
    table = summary_frame(summaries)
    for key, head in heads_of(summaries).items():
        ends = [one.get(key, (np.nan, np.nan)) for one in intervals]
        if not np.isnan(ends).all():
            position = list(table.columns).index(head) + 1
            table.insert(position, f"{head}, lower", [low for low, _ in ends])
            table.insert(position + 1, f"{head}, upper", [high for _, high in ends])
    return table


def interval_texts(summaries: Sequence[Summary], intervals: Sequence[Intervals]) -> pd.DataFrame:
    """Return a table of texts such as "0.0222 (0.0103 to 0.0208)": a row per number, a column per method."""
    texts = {}
    for summary, ends in zip(summaries, intervals, strict=True):
        texts[summary.method] = {
            head: _with_interval(getattr(summary, key), ends.get(key))
            for key, head in heads_of(summaries).items()
            if key not in ("method", "strategy")
        } | {SUMMARY_COLUMNS["strategy"]: summary.bins}
    return pd.DataFrame(texts)


def _with_interval(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return "\u2013"
    text = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
    return text if ends is None else f"{text} ({ends[0]:.4f} to {ends[1]:.4f})"
