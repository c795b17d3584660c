"""Numbers of methods, and of the folds of a cross-validation: what the app, commands and reports print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from calib.answers.calibrated import calibrated_scores, fit_on, unseen_losses, vector_losses
from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.parallel import map_row_blocks
from calib.base.results import Result
from calib.calibrators.catalogue import default_calibrator
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import Kind, kind_of, lacks
from calib.data.notions import Notion, PerClass, Strategy
from calib.data.predictions import (
    BasePrediction,
    Scores,
    TopLabelPrediction,
    Values,
    replace_scores,
    rows_that_count,
    score_matrix,
    top_of,
)
from calib.data.splits import FOLD, column_of
from calib.data.validation import check_choice, plain, refuse_unequal
from calib.evidence.binning import BinStatistics
from calib.evidence.row_scores import weighted_mean
from calib.evidence.rows import Evidence, Rows, Source, as_evidence
from calib.evidence.sums import SummedRows
from calib.stats.bootstrap import PairedInterval
from calib.stats.differences import PairedDifference
from calib.stats.floors import NoiseFloor, noise_floors
from calib.stats.intervals import interval_needs_rows, measure_interval
from calib.stats.measures import MEASURES

#: A number of a method minus its base's, for ECEs of the debiased squared l2 errors; and how both compare,
#: all comparisons taken together.
Change: TypeAlias = PairedInterval | PairedDifference
Mark = Literal["better", "worse", ""]

#: The note under a table with intervals.
INTERVALS_NOTE = (
    "In brackets: the 95 % interval. Noise raises a measured calibration error by up to what a perfect model "
    "shows, so its interval can lie below it. The AUC of the top label ranks right and wrong rows: it does "
    "not compare with an AUC of classes or of P(Y = 1)."
)

#: Name of the uncalibrated model in tables.
BASE = "Base model"

#: Name of the fold that pools all rows.
POOLED = "pooled"


@dataclass(frozen=True, repr=False)
class Metrics(Result):
    """Every number of one method on one set of rows.

    A number of `calib.stats.MEASURES` is an attribute by its key, such as `metrics.tl_ece`: None if these
    predictions, or their sums, do not have it.
    """

    method: str  #: Name shown in tables
    n_samples: int  #: Rows assessed
    n_bins: int  #: Equal-width bins used if `strategy` asks for them
    #: "uniform"; for histogram-binned scores and scores with few values "discrete", or `PerClass` by class
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

    def row(self) -> dict[str, object]:
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
METRIC_COLUMNS = {key: measure.title for key, measure in MEASURES.items() if measure.listed}
METRIC_COLUMNS["n_distinct"] = "Distinct scores"


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
    n_distinct = None if isinstance(evidence, SummedRows) else len(evidence.problems().tie_starts)
    cells: dict[Notion | None, BinStatistics] = {}
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
            cells[measure.notion] = evidence.cells(
                measure.notion, n_bins=n_bins, strategy=strategy, effects=False
            )
        value = measure.value(evidence, cells=cells.get(measure.notion), n_bins=n_bins, strategy=strategy)
        if not np.isnan(value):  # an AUC needs both outcomes
            values[key] = value
    about = evidence.kind, evidence.is_weighted
    return Metrics(method, evidence.n_samples, n_bins, strategy, values, n_distinct, *about)


def _sum_to_one(rows: BasePrediction) -> bool:
    """Whether each row sums to about 1; otherwise there is no log loss."""
    matrix = score_matrix(rows)
    sums = map_row_blocks(lambda block: np.einsum("ij->i", block, dtype=np.float64), matrix)
    return bool(np.abs(sums - 1.0).max() <= 1e-3)


def how_assessed(n_bins: int, kind: Kind | str = "vectors") -> str:
    """Say in which bins the methods of a table are assessed; `strategy_for` of each calibrator decides."""
    words = (
        "Histogram-binned scores and scores with few values are assessed at each value, other scores in "
        f"{n_bins} equal-width bins (Remark 1 of the paper)"
    )
    if lacks(kind, "notion:top-label") is not None:
        return f"{words}."
    return (
        f"{words}; conf-ECE also uses these bins if each class has values of its own, because a cell of one "
        "value would hold one class."
    )


def metric_intervals(
    evidence: Evidence, values: Metrics, *, level: float = LEVEL
) -> dict[str, tuple[float, float]]:
    """Return the interval of every metric, as `calib.stats.measure_interval` gives it, by key."""
    bins, strategy = values.n_bins, values.strategy
    return {
        key: measure_interval(evidence, key, n_bins=bins, strategy=strategy, level=level)
        for key in values.values
        if not interval_needs_rows(evidence, MEASURES[key])
    }


def measure_floors(evidence: Evidence, **options: Any) -> dict[str, NoiseFloor]:
    """Return the noise floor of each error in tables, by key; options as for `calib.noise_floor`."""
    errors = [each for each in MEASURES.values() if each.listed and each.is_error]
    errors = [each for each in errors if each.missing(evidence) is None]
    floors: dict[str, NoiseFloor] = {}
    for notion in dict.fromkeys(error.notion for error in errors):
        asked = {error.key: error.of_cells for error in errors if error.notion == notion}
        floors |= noise_floors(evidence, asked, notion=notion, **options)
    return floors


@dataclass(frozen=True, eq=False)
class Assessment:
    """One method on the evaluation rows: a row of every table of methods."""

    method: str  #: Name of the method
    metrics: Metrics | None = None  #: Its metrics; None if it failed
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)  #: Of metrics, by key
    #: (n,) float64 score of each row by key, from `calib.answers.calibrated.vector_losses`
    row_values: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: Change of each mean if one more row is wrong, from `calib.answers.calibrated.unseen_losses`
    unseen: Mapping[str, float] = field(default_factory=dict)
    floors: Mapping[str, NoiseFloor] = field(default_factory=dict)  #: Of errors, by key
    changes: Mapping[str, tuple[Change, Mark]] = field(default_factory=dict)  #: Against the base, by key
    model: str = ""  #: Name of the model; "" if there is only one
    failure: str | None = None  #: Why it could not be fitted; None if it could

    @property
    def name(self) -> str:
        return f"{self.model}, {self.method}" if self.model else self.method

    @property
    def bins(self) -> str | None:
        return None if self.metrics is None else self.metrics.bins

    def mean(self, key: str, rows: Evidence) -> float:
        """Return a number of the method; NaN if it has none."""
        if key in self.row_values and isinstance(rows, Rows):
            return weighted_mean(self.row_values[key], rows.weights)
        value = None if self.metrics is None else self.metrics.values.get(key)
        return np.nan if value is None else value


def assess(
    method: str, evidence: Evidence, before: Evidence, *, n_bins: int = N_BINS, intervals: bool = True
) -> Assessment:
    """Assess a method; `before` is the evidence of the base model."""
    numbers = metrics(evidence, method=method, n_bins=n_bins)
    ends = metric_intervals(evidence, numbers) if intervals else {}
    if not isinstance(evidence, Rows) or not isinstance(before, Rows):
        return Assessment(method, numbers, ends)
    losses = vector_losses(evidence.predictions, before.predictions)
    unseen = unseen_losses(evidence, before, losses)
    return Assessment(method, numbers, ends, losses, unseen)


def methods_of(
    base: Evidence, calibrators: Mapping[str, BaseEstimator], groups: Mapping[str, Values] | None = None
) -> dict[str, Evidence]:
    """Return the evidence of the base model and of fitted calibrators, by name.

    `groups` are the group of each row by calibrator, by default found among the columns of the rows.
    """
    found = {BASE: base}
    for name, calibrator in calibrators.items():
        if not isinstance(base, Rows):
            raise InputError(f"{name} needs the rows, and a summary holds only sums; pass the rows")
        given = (groups or {}).get(name)
        given = None if given is None else np.asarray(given)[base.counts]
        found[name] = base.of_scores(calibrated_scores(calibrator, base.predictions, groups=given))
    return found


def metric_heads(entries: Iterable[Assessment]) -> dict[str, str]:
    """Return the keys and heads of `METRIC_COLUMNS` that apply to at least one of these methods."""
    kinds = {entry.metrics.kind for entry in entries if entry.metrics}
    return {
        key: head
        for key, head in METRIC_COLUMNS.items()
        if key == "n_distinct" or any(MEASURES[key].missing(kind) is None for kind in kinds)
    }


def metric_frame(entries: Sequence[Assessment]) -> pd.DataFrame:
    """Return one row per method; the ends of intervals, if there are any, follow their numbers."""
    table = pd.DataFrame({"Method": [entry.method for entry in entries]})
    for key, head in metric_heads(entries).items():
        table[head] = [getattr(entry.metrics, key, None) for entry in entries]
        ends = [entry.intervals.get(key, (np.nan, np.nan)) for entry in entries]
        if not np.isnan(ends).all():
            table[f"{head}, lower"], table[f"{head}, upper"] = np.transpose(ends)
    table["Bins"] = [entry.bins for entry in entries]
    return table


def metric_texts(entries: Sequence[Assessment]) -> pd.DataFrame:
    """Return a table of texts such as "0.0222 (0.0103 to 0.0208)": a row per number, a column per method."""
    heads, texts = metric_heads(entries), {}
    for entry in entries:
        if entry.metrics is not None:
            cells = {
                head: _with_interval(getattr(entry.metrics, key), entry.intervals.get(key))
                for key, head in heads.items()
            }
            texts[entry.method] = cells | {"Bins": entry.metrics.bins}
    return pd.DataFrame(texts)


def _with_interval(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return "\u2013"
    if ends is not None:
        return with_interval(value, *ends)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


@dataclass(frozen=True)
class FoldNumber:
    """A number of a fold, or of all folds pooled."""

    fold: str  #: Name of the fold, or `POOLED`
    rows: int  #: Its rows
    measure: str  #: Key of the number in `calib.stats.measures.MEASURES`
    title: str  #: Name of the number in tables
    value: float | None
    #: For errors: mean error of a perfect model, and chance that it shows as much; else NaN
    floor: float
    p_value: float


def fold_errors(
    rows: BasePrediction,
    *,
    fold: Values | None = None,
    n_bins: int = N_BINS,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> pd.DataFrame:
    """Compute the numbers of each fold of a cross-validation, and of all rows pooled.

    Parameters
    ----------
    rows : labelled predictions of any kind
        Each row predicted by the model that was fitted without its fold, as by
        `sklearn.model_selection.cross_val_predict`.
    fold : (n,) array_like, optional
        Fold of each row; by default the column of folds that the rows were read with.
    n_bins, n_resamples, random_state
        As for `calib.noise_floor`.

    Returns
    -------
    DataFrame
        One row for each fold and number, with the columns of `FoldNumber`. The last fold is "pooled".
    """
    rows, names, code = _divided(rows, fold)
    options = {"n_bins": n_bins, "n_resamples": n_resamples, "random_state": random_state}
    return _table(Rows(rows), names, code, {}, options)


def fold_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `fold_errors` as texts, a column per fold; errors with their floor in brackets."""
    text = table["value"].map("{:.4f}".format)
    text += table["floor"].map(lambda floor: "" if np.isnan(floor) else f" ({floor:.4f})")
    wide = table.assign(text=text).pivot(index="title", columns="fold", values="text")
    names = dict.fromkeys(zip(table["fold"], table["rows"], strict=True))
    wide = wide.loc[list(dict.fromkeys(table["title"])), [name for name, _ in names]]
    wide.columns = pd.Index([f"{name} (n={rows:,})" for name, rows in names])
    return wide.rename_axis(None)


@dataclass(frozen=True, eq=False, repr=False)
class CrossCalibration(Result):
    """A calibrator for predictions of cross-validation, assessed on rows that it was not fitted on."""

    table: pd.DataFrame  #: Numbers of each fold and pooled, before and after; see `frame`
    scores: BasePrediction  #: Every row calibrated by the calibrator of the other folds, with its labels
    fold: np.ndarray  #: (n,) object: Fold of each row
    #: For new rows: the calibrators of all folds, whose scores are averaged, or a calibrator of all rows
    calibrators: tuple[Any, ...]

    def frame(self) -> pd.DataFrame:
        """Return the table of `fold_errors` with a first column, stage: "before" or "after"."""
        return self.table.copy()

    def predict(self, rows: Scores) -> BasePrediction:
        """Return calibrated scores of new rows, by the calibrator or as the mean over the folds'."""
        found = [calibrated_scores(calibrator, rows) for calibrator in self.calibrators]
        name = found[0].scored_by
        return replace_scores(found[0], np.mean([getattr(part, name) for part in found], axis=0))


def cross_calibrate(
    rows: BasePrediction,
    calibrator: Any = None,
    *,
    fold: Values | None = None,
    combine: str = "refit",
    n_bins: int = N_BINS,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> CrossCalibration:
    """Fit a calibrator on predictions of cross-validation without using a row twice.

    Parameters
    ----------
    rows, fold, n_bins, n_resamples, random_state
        As for `fold_errors`.
    calibrator : unfitted calibrator, optional
        Default: the kind's default calibrator.
    combine : {"refit", "average"}
        For new rows: a calibrator fitted again on all rows, or the mean of the folds' calibrators. Combine
        the classifier in the same way.

    Examples
    --------
    >>> from calib.datasets import three_classes
    >>> rows = three_classes(n_calibration=300, n_evaluation=600).evaluation
    >>> found = cross_calibrate(rows, fold=np.arange(600) % 3, n_resamples=20)
    >>> found.frame()["fold"].unique().tolist()
    ['0', '1', '2', 'pooled']
    """
    check_choice(combine, ("refit", "average"), "combine")
    rows, names, code = _divided(rows, fold)
    unfitted = default_calibrator(kind_of(rows)) if calibrator is None else calibrator
    fitted, parts = [], []
    for number in range(len(names)):
        fold_calibrator = fit_on(clone(unfitted), rows.take(np.flatnonzero(code != number)))
        fitted.append(fold_calibrator)
        parts.append(calibrated_scores(fold_calibrator, rows.take(np.flatnonzero(code == number))))
    scores = _joined(parts, code, rows)
    options = {"n_bins": n_bins, "n_resamples": n_resamples, "random_state": random_state}
    evidence, own = Rows(rows), {name: part.strategy for name, part in zip(names, parts, strict=True)}
    own[POOLED] = parts[0].strategy
    stages = {
        "before": _table(evidence, names, code, {}, options),
        "after": _table(evidence.of_scores(scores), names, code, own, options),
    }
    table = pd.concat(stages, names=["stage"]).reset_index("stage").reset_index(drop=True)
    final = (fit_on(clone(unfitted), rows),) if combine == "refit" else tuple(fitted)
    return CrossCalibration(table, scores, np.array(names, dtype=object)[code], final)


def _divided(rows: BasePrediction, fold: Values | None) -> tuple[BasePrediction, list[str], np.ndarray]:
    if not isinstance(rows, BasePrediction):
        raise InputError(f"folds need labelled predictions; got a {type(rows).__name__}")
    values = column_of(rows, FOLD) if fold is None else fold
    if values is None:
        raise InputError("the rows name no folds; pass fold=, or read them with a column 'fold'")
    values = np.asarray(plain(values))
    if values.shape != (rows.n_samples,):
        raise InputError(f"fold must have shape ({rows.n_samples:,},); got {values.shape}")
    counted = rows_that_count(rows)
    if counted.n_samples != rows.n_samples:
        values = values[np.asarray(rows.sample_weight) > 0.0]
    with refuse_unequal("fold"):
        code, found = pd.factorize(values, sort=True)
    if (code < 0).any():
        raise InputError(f"{int((code < 0).sum()):,} rows have no fold; complete them, or remove the rows")
    if not 2 <= len(found) <= counted.n_samples // 2:
        raise InputError(
            f"2 folds or more are needed, with 2 rows or more on average; got {len(found):,} folds"
        )
    return counted, [str(name) for name in found], code


def _joined(parts: list[BasePrediction], code: np.ndarray, rows: BasePrediction) -> BasePrediction:
    order = np.argsort(np.argsort(code, kind="stable"), kind="stable")
    if parts[0].kind in ("top-k", "multilabel"):
        raise InputError("folds need calibrated vectors, a class with its confidence, or one score for a row")
    joined = np.concatenate([getattr(part, part.scored_by) for part in parts])[order]
    tops = [part for part in parts if isinstance(part, TopLabelPrediction)]
    if tops:
        return top_of(rows, np.concatenate([top.label for top in tops])[order], joined)
    return replace_scores(rows, joined)


def _table(
    evidence: Rows,
    names: list[str],
    code: np.ndarray,
    strategies: Mapping[str, Strategy],
    options: Mapping[str, Any],
) -> pd.DataFrame:
    every = np.arange(evidence.n_samples)
    parts = {name: np.flatnonzero(code == number) for number, name in enumerate(names)} | {POOLED: every}
    found = []
    for fold, chosen in parts.items():
        part, strategy = evidence.take(chosen), strategies.get(fold)
        numbers = metrics(part, n_bins=options["n_bins"], strategy=strategy).values
        floors = measure_floors(part, strategy=strategy, **options) if options["n_resamples"] else {}
        for key, value in numbers.items():
            floor = floors.get(key)
            known = (np.nan, np.nan) if floor is None else (floor.mean, floor.p_value)
            found.append(FoldNumber(fold, len(chosen), key, MEASURES[key].title, value, *known))
    return pd.DataFrame(found)
