"""Results that pages show, each computed once: in this process if fast, else in a worker.

A result is a function of the whole evidence of a method: its outcomes, weights and clusters come with it.
Results that contain rows are kept per session and end with it; shared ones contain summaries only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

import calib
from calib import Predictions, answers, diagrams, stats
from calib.answers.advice import confirm_choice
from calib.answers.conclusion import Conclusion
from calib.answers.cuts import LEAST_ROWS
from calib.answers.decision_curves import choose_actions
from calib.calibrators.canonical import SimplexScheme
from calib.data.defaults import N_BINS
from calib.data.equal_rows import Overlap, overlap
from calib.data.kinds import KINDS
from calib.data.notions import TOP_NOTIONS, Notion
from calib.data.predictions import BasePrediction, further_column
from calib.data.times import are_dates, is_time
from calib.diagrams.living_picture import living_picture
from calib.diagrams.simplex_maps import rows_of_classes
from calib.evidence import BinStatistics
from calib.evidence.clusters import Clusters
from calib.evidence.judged_rows import ChosenBy
from calib.evidence.reductions import top_label
from calib.evidence.rows import Rows
from calib.files.readers.judged import JudgedColumns
from calib.scale.summary import Summary
from calib.stats.binless import compared_rows, kernel_test
from calib.stats.decompositions import corp_curve
from calib.stats.floors import noise_floors
from calib.stats.intervals import interval_needs_rows, measure_interval
from calib.stats.measures import MEASURES
from pages.shared.isolation import computing
from pages.shared.kept import kept
from pages.shared.session import BASE, Dataset, Method, class_wise, dataset, methods, notions
from pages.shared.work import compute

Result = TypeVar("Result")

#: Redraws for the curve of a perfect model: its shares are averages, which 200 redraws give to within 1 %.
CURVE_REDRAWS = 200
#: Distance at which sentences and tables report V(eps) of the simplex.
EPSILON = 0.1
#: Words shown while `advice` is computed.
TRYING = "Trying every calibrator"
#: Functions without a notion that need the scores of all classes; the others need the predicted class.
OF_ALL_CLASSES = frozenset({calib.metrics, choose_actions, confirm_choice})
#: Functions whose results hold rows.
HOLDING_ROWS = frozenset(
    {corp_curve, calib.calibration_band, calib.compare_models, calib.risk, calib.risk_coverage}
    | {diagrams.class_binning, living_picture}
)
#: Views of many classes as three.
MERGE, RENORMALISE = "Two classes, all others merged", "Three classes, renormalised"


@dataclass(frozen=True, eq=False)
class ThreeClasses:
    """Calibration and evaluation rows with three classes, and the positions of the evaluation rows."""

    calibration: Predictions
    evaluation: Predictions
    all_rows: Predictions
    at: np.ndarray

    @property
    def digest(self) -> str:
        return f"{self.calibration.fingerprint}/{self.evaluation.fingerprint}"


def about(method: Method, notion: Notion | None = None) -> Rows | Summary:
    """Return the evidence of a method; for a notion of the predicted class, without the other classes.

    It holds what was sorted for earlier results. Further columns are left out.
    """
    return _about(method, notion in TOP_NOTIONS)


@kept(rows=True)
def _about(method: Method, top: bool) -> Rows | Summary:
    if isinstance(method.evidence, Summary):
        return method.evidence
    suspected = method.evidence.suspected  # perhaps by a column that is left out
    rows = method.evidence.tops() if top else method.evidence
    found = None if rows.clusters.independent else rows.clusters.code
    alone = rows.of_scores(rows.predictions.with_metadata(None).with_cluster(found))
    alone.suspected = suspected
    return alone


def ask(function: Callable[..., Result], *of: Any, **options: Any) -> Result:
    """Return the kept result of a function of calib, with methods in place of their evidence.

    Weights and clusters are part of the evidence. The notion, or the measure, decides whether the evidence
    has the scores of all classes. A function of `computing.FUNCTIONS` is called in a worker if it takes long.
    """
    answer = _own if function in HOLDING_ROWS else _shared
    return cast(Result, answer(function, of, options))


def _asked(function: Callable[..., Any], of: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    if "notion" in options:
        top = options["notion"] in TOP_NOTIONS
    elif "key" in options:
        top = MEASURES[options["key"]].notion in TOP_NOTIONS
    else:
        top = function not in OF_ALL_CLASSES

    def known(value: Any) -> Any:
        return _about(value, top) if isinstance(value, Method) else value

    given = [known(value) for value in of]
    named = {name: known(value) for name, value in options.items()}
    if function.__name__ not in computing.FUNCTIONS:
        return function(*given, **named)
    return compute(function.__name__.replace("_", " ").capitalize(), function, *given, **named)


_shared, _own = kept()(_asked), kept(rows=True)(_asked)


def conclusion(method: Method) -> Conclusion:
    """Return what every page says of a method, whatever number of bins its figures have."""
    return ask(calib.conclude, method)


@kept()
def cells(method: Method, notion: Notion, n_bins: int) -> BinStatistics:
    return about(method, notion).cells(notion, n_bins=n_bins, strategy="uniform")


def metrics(method: Method, n_bins: int) -> answers.Metrics:
    return ask(calib.metrics, method, method=method.name, n_bins=n_bins, class_wise=class_wise())


@kept(rows=True)
def rows_of(
    method: Method, notion: Notion, n_bins: int, label: int | None = None, bin_: int | None = None
) -> np.ndarray | None:
    """Return the evaluation rows in the cells of a class, a bin, or both; None for a summary."""
    evidence = about(method, notion)
    if isinstance(evidence, Summary):
        return None
    return diagrams.rows_behind(evidence, cells=cells(method, notion, n_bins), label=label, bin=bin_)


@kept(rows=True)
def rows_of_group(method: Method, column: CutsAt, group: int) -> np.ndarray | None:
    """Return the evaluation rows of a group; None for a summary."""
    if isinstance(method.evidence, Summary):
        return None
    return np.flatnonzero(cut_of(dataset().evaluation, column).code[method.evidence.counts] == group)


@kept(rows=True)
def judgement(
    asked: tuple[str, str, float | None, ChosenBy | None], _columns: JudgedColumns
) -> answers.Judgement:
    """Return what people's labels say about a judge.

    `asked` are the source of the columns, their roles in words, the cut of scores, and how rows were chosen
    to be labelled.
    """
    *_, cut, chosen_by = asked
    return calib.judge(**_columns.arguments, chosen_by=chosen_by, cut=cut)


# Noise: by the keys of `MEASURES`.


def floor(method: Method, key: str, n_bins: int) -> stats.NoiseFloor:
    """Return the noise floor of an error; all errors of its notion are measured on the same redraws."""
    notion = MEASURES[key].notion
    measures = {
        other: measure.of_cells
        for other, measure in MEASURES.items()
        if measure.is_error and measure.notion == notion and measure.missing(method.evidence) is None
    }
    return ask(noise_floors, method, measures, notion=notion, n_bins=n_bins)[key]


def floors(method: Method, n_bins: int) -> dict[str, stats.NoiseFloor]:
    scored = KINDS[method.evidence.kind].scored
    judged = {*notions(method), *((None, "top-label") if scored else ())}
    errors = (measure for measure in MEASURES.values() if measure.is_error and measure.notion in judged)
    known = (measure.key for measure in errors if measure.missing(method.evidence) is None)
    return {key: floor(method, key, n_bins) for key in known}


def interval(method: Method, key: str, n_bins: int) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a reported number of a method; NaN if sums give none."""
    measure = MEASURES[key]
    if interval_needs_rows(about(method, measure.notion), measure):
        return np.nan, np.nan
    return ask(measure_interval, method, key=key, n_bins=n_bins if measure.is_error else N_BINS)


def intervals(method: Method, n_bins: int) -> dict[str, tuple[float, float]]:
    numbers = metrics(method, n_bins)
    keys = [key for key in MEASURES if getattr(numbers, key, None) is not None]
    ends = {key: interval(method, key, n_bins) for key in keys}
    return {key: pair for key, pair in ends.items() if not np.isnan(pair).any()}


@kept()
def advice(data: Dataset) -> answers.Recommendation:
    """Choose on the calibration rows, and confirm on the others."""
    return compute(TRYING, calib.recommend, data.calibration, confirm=data.evaluation)


@kept()
def pairs(method: Method) -> stats.CalibrationTest | None:
    rows = compared_rows(method.evidence)
    if rows is None:
        return None
    return compute("Comparing pairs of rows", kernel_test, *rows, method.evidence.n_samples)


# Groups of rows, cut from further columns.

#: A column of the metadata, and where it is cut (`at` of `calib.answers.cut_column`).
By = tuple[str, int | Sequence[float] | str | None]
#: Where columns are cut, by name, as one hashable value.
CutsAt = tuple[By, ...]


def further_columns(rows: BasePrediction | Summary) -> list[str]:
    """Return the names of the columns that groups can be cut from, or that a summary has groups of."""
    if isinstance(rows, Summary):
        return list(rows.by)
    return [] if rows.metadata is None else [str(name) for name in rows.metadata.columns]


@kept(rows=True)
def cuts(rows: BasePrediction | Summary, at: CutsAt) -> dict[str, answers.Cut | str]:
    """Return the groups of every named column, or why it has none; for a summary, its groups.

    Columns of ids have no groups, even if some rows share an id: groups would be too small.
    """
    if isinstance(rows, Summary):
        by = rows.by
        return {name: answers.Cut(name, "values", by[name][1].key, by[name][0]) for name, _ in at}
    found: dict[str, answers.Cut | str] = {}
    roles = dataset().roles
    for name, where in at:
        try:
            cut = answers.cut_column(rows.metadata[name], name=name, at=where)
            few = cut.how == "numbers" or len(cut.groups) * LEAST_ROWS > len(cut.code)
            is_id = roles is not None and name in (roles.id, roles.cluster)
            found[name] = f"column {name!r} holds ids" if is_id and few else cut
        except calib.InputError as error:
            found[name] = str(error)
    return found


def cut_of(rows: BasePrediction | Summary, column: CutsAt) -> answers.Cut:
    (cut,) = cuts(rows, column).values()
    assert isinstance(cut, answers.Cut), "pages offer columns that have groups"
    return cut


def grouping(method: Method, n_bins: int) -> dict[str, Any]:
    """Return how groups are assessed: by predicted class if there is one, and in equal-width bins."""
    by_class = isinstance(method.evidence, Rows) and not KINDS[method.evidence.kind].scored
    return {"notion": "top-label" if by_class else "confidence", "n_bins": n_bins, "strategy": "uniform"}


def grouped_by(method: Method, column: CutsAt) -> answers.Cut | str:
    """Return the groups of a column; for a summary, its name."""
    return cut_of(dataset().evaluation, column) if isinstance(method.evidence, Rows) else column[0][0]


@kept(rows=True)
def time_columns(rows: BasePrediction | Summary) -> tuple[list[str], list[str]]:
    """Return the columns that hold times: by their values or name, and all that a user can choose."""
    columns = pd.DataFrame() if isinstance(rows, Summary) or rows.metadata is None else rows.metadata
    dates = [str(name) for name in columns if are_dates(columns[name].to_numpy())]
    numbers = [str(name) for name in columns if columns[name].dtype.kind in "iuf"]
    return [*dates, *filter(is_time, numbers)], [*dates, *numbers]


@kept()
def over_time(method: Method, time: str) -> answers.OverTime:
    columns, found, roles = dataset().evaluation.metadata, about(method, "top-label"), dataset().roles
    cluster = "" if roles is None else roles.cluster or ""
    if "=" in cluster or cluster in time_columns(dataset().evaluation)[0]:
        found = found.of_scores(found.predictions.with_cluster(None))  # a change makes blocks of time alike
        found.clusters = Clusters.of(None, found.n_samples)
    times = columns[time]
    times = times.to_numpy() if times.dtype.kind in "iuf" else times.astype(str).to_numpy(dtype=object)
    return compute("Looking at the rows over time", calib.over_time, found, time=times)


# Decisions.


@kept()
def decision(method: Method, **options: Any) -> answers.DecisionRule:
    """Choose a rule of acceptance on all rows of a method that was not fitted on them.

    `by` may be the name of a further column.
    """
    if options.get("by") not in (None, "class"):
        options["by"] = further_column(dataset().evaluation, options["by"])
    rule = calib.decide(about(method, "top-label"), overlap=_overlap_of(method), **options)
    assert isinstance(rule, answers.DecisionRule), "another function is about targets of an event"
    return rule


@kept()
def event_decision(method: Method, **targets: Any) -> answers.EventRule:
    """Choose a threshold on P(Y = 1), of two classes of the second one."""
    rule = calib.decide(second(method), overlap=_overlap_of(method), **targets)
    assert isinstance(rule, answers.EventRule), "another function is about what is accepted"
    return rule


def _overlap_of(method: Method) -> Overlap | None:
    """Return which rows a method's calibrator was fitted on, if it was on any."""
    data = dataset()
    fitted = method.calibrator is not None and data.calibration is not None
    return overlap(data.evaluation, data.calibration) if fitted else None


def second(method: Method) -> Rows:
    """Return the evidence of the probability of the second of two classes."""
    rows = method.rows.predictions
    label, confidence = top_label(rows)
    second = np.where(label == 1, confidence, 1 - confidence)
    binary = calib.BinaryPrediction(second, rows.labels, rows.class_names, **rows.carried)
    return method.rows.of_scores(binary)


def validity(
    method: Method, notion: Notion
) -> tuple[diagrams.ValidityCells, dict[str, diagrams.ValidityCurve]]:
    """Return the cells in which the base model and a method are compared, and the curves of both."""
    base = methods()[BASE]
    if isinstance(method.evidence, Summary):
        cells = diagrams.ValidityCells(calibrators_own=False)
    else:
        cells = diagrams.validity_cells(base.rows, method.evidence, notion=notion)
    options: dict[str, Any] = {"notion": notion, "label": cells.labels, "n_bins": N_BINS}
    options |= {"strategy": "discrete" if cells.calibrators_own else "uniform", "n_resamples": CURVE_REDRAWS}
    curves = {method.name: ask(calib.validity_curve, method, **options)}
    if method.name == BASE:
        return cells, curves
    reference = method if cells.calibrators_own else None
    return cells, {BASE: ask(calib.validity_curve, base, reference=reference, **options), **curves}


@kept(rows=True)
def three_class_view(
    calibration: Predictions, rows: Predictions, how: str, chosen: list[int]
) -> ThreeClasses:
    """Return the rows with three classes; raise `InputError` if the chosen classes do not allow it."""
    every = np.arange(rows.n_samples)
    if rows.n_classes == 3:
        return ThreeClasses(calibration, rows, rows, every)
    if how == RENORMALISE:
        return ThreeClasses(
            diagrams.renormalise_classes(calibration, chosen),
            diagrams.renormalise_classes(rows, chosen),
            rows,
            rows_of_classes(rows, chosen),
        )
    if len(chosen) != 2:
        raise calib.InputError(f"choose 2 classes; {len(chosen)} chosen")
    merged = diagrams.merge_classes(rows, *chosen)
    return ThreeClasses(diagrams.merge_classes(calibration, *chosen), merged, rows, every)


@dataclass(frozen=True, eq=False)
class SchemeResult:
    """A fitted scheme and its effect on the evaluation rows."""

    calibrator: calib.CanonicalBinning
    arrows: diagrams.RecalibrationMap
    evidence: dict[str, Rows]  #: Before and after recalibration
    cells: np.ndarray  #: (n,) array: the bin of each row

    @property
    def curves(self) -> dict[str, diagrams.ValidityCurve]:
        return {
            name: diagrams.canonical_validity(rows, cells=self.cells) for name, rows in self.evidence.items()
        }


@kept(rows=True)
def apply_scheme(view: ThreeClasses, scheme: SimplexScheme) -> SchemeResult:
    rows = view.evaluation
    calibrator = calib.CanonicalBinning(scheme).fit(view.calibration.proba, view.calibration.labels)
    before = Rows(rows)
    after = before.of_scores(rows.with_scores(calibrator.predict_proba(rows.proba)))
    arrows = calib.recalibration_map(calibrator, rows)
    return SchemeResult(
        calibrator, arrows, {BASE: before, "Recalibrated": after}, calibrator.assign(rows.proba)
    )
