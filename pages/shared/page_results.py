"""Results that pages show, each computed once: in this process if fast, else in a worker.

Results that contain rows are kept per session and end with it; shared ones contain summaries only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

import calib
from calib import Predictions, answers, diagrams, stats
from calib.answers.calibrated import vector_losses
from calib.answers.change import Change, change
from calib.answers.costly_actions import ActionCosts, choose_actions
from calib.answers.cuts import LEAST_ROWS, cross_cuts
from calib.answers.decision_curves import ActionCounts, action_counts
from calib.calibrators.canonical import SimplexScheme
from calib.data.defaults import N_BINS
from calib.data.equal_rows import overlap
from calib.data.kinds import kind_of
from calib.data.notions import Notion, PerClass, Strategy
from calib.data.splits import units_of
from calib.diagrams.monitoring import OverTime, watch_rows
from calib.diagrams.refits import binned_sweeps
from calib.diagrams.row_lists import cell_order
from calib.diagrams.slice_maps import slice_class_heat, slice_heat
from calib.diagrams.three_class_views import rows_of_classes
from calib.evidence import BinStatistics
from calib.evidence.reductions import event_scores, outcomes_of, top_label
from calib.evidence.rows import as_evidence
from calib.scale.summary import Summary
from calib.stats.bands import ConsistencyBand, consistency_band
from calib.stats.binless import compared_rows, kernel_test
from calib.stats.effective import dependence_words
from calib.stats.floors import ProblemFloors, canonical_noise_floors, noise_floors, problem_floors
from calib.stats.intervals import interval_needs_rows, measure_interval
from calib.stats.measures import MEASURES, Measure
from pages.shared.isolation import computing
from pages.shared.kept import kept
from pages.shared.session import BASE, Dataset, Method, class_wise, dataset, methods
from pages.shared.work import compute

#: Redraws for the curve of a perfect model: its shares are averages, which 200 redraws give to within 1 %.
CURVE_REDRAWS = 200
#: Redraws of the canonical noise floors.
SIMPLEX_REDRAWS = 200
#: Distance at which sentences and tables report V(eps) of the simplex.
EPSILON = 0.1
#: Words shown while `advice` is computed.
TRYING = "Trying every calibrator"
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


@kept(rows=True)
def problems(method: Method, notion: Notion) -> calib.BinaryProblems:
    options: dict[str, Any] = {"cluster": method.cluster, "sample_weight": method.weights}
    return calib.reduce_to_binary(method.labels, method.scores, notion, **options)


def evidence(method: Method, notion: Notion | None = None) -> Any:
    """Return the evidence of a method for a notion: its sorted problems, or the sums of a summary."""
    return method.sums or problems(method, notion or method.notions[0])


@kept()
def cells(method: Method, notion: Notion, n_bins: int) -> BinStatistics:
    return as_evidence(None, evidence(method, notion)).cells(notion, n_bins=n_bins)


def metrics(method: Method, n_bins: int) -> answers.Metrics:
    return replace(_metrics(method, n_bins, class_wise()), method=method.name)


@kept()
def _metrics(method: Method, n_bins: int, with_classes: bool) -> answers.Metrics:
    return compute(
        "Computing metrics",
        calib.metrics,
        method.labels,
        method.scores,
        n_bins=n_bins,
        strategy=method.strategy,
        class_wise=with_classes,
        sample_weight=method.weights,
    )


@kept()
def reliability(method: Method, n_bins: int) -> diagrams.ReliabilityDiagram:
    return calib.reliability_diagram(
        method.labels, method.scores, n_bins=n_bins, sample_weight=method.weights
    )


@kept()
def classes(method: Method, n_bins: int) -> diagrams.ClassTable:
    return compute(
        "Assessing every class",
        calib.class_table,
        method.labels,
        evidence(method, "top-label"),
        n_bins=n_bins,
        strategy=method.strategy,
        random_state=0,
    )


@kept()
def class_diagram(method: Method, label: int, notion: Notion, n_bins: int) -> diagrams.ClassDiagram:
    options: dict[str, Any] = {"notion": notion, "n_bins": n_bins, "sample_weight": method.weights}
    return diagrams.class_diagram(method.labels, method.scores, label, **options)


@kept()
def class_floor(method: Method, label: int, n_bins: int) -> stats.NoiseFloor:
    alone = as_evidence(method.labels, method.scores, method.weights).of_class(label, "class-wise")
    return calib.noise_floor(None, alone, notion="confidence", n_bins=n_bins, random_state=0)


@kept()
def band(method: Method, n_bins: int) -> ConsistencyBand:
    return consistency_band(evidence(method, "confidence"), "confidence", n_bins=n_bins, random_state=0)


@kept(rows=True)
def rows_of(
    method: Method, notion: Notion, n_bins: int, label: int | None = None, bin_: int | None = None
) -> np.ndarray | None:
    """Return the evaluation rows in the cells of a class, a bin, or both; None for a summary."""
    if method.sums is not None:
        return None
    return diagrams.rows_behind(
        problems(method, notion), cells(method, notion, n_bins), label=label, bin=bin_
    )


@kept(rows=True)
def rows_of_group(
    method: Method,
    column: CutsAt,
    group: int,
    n_bins: int,
    bin_: int | None = None,
    predicted: int | None = None,
) -> np.ndarray | None:
    """Return the evaluation rows of a group, of one bin or predicted class; None for a summary."""
    if method.sums is not None:
        return None
    inside = cut_of(methods()[BASE].scores, column).code == group
    if predicted is not None:
        inside &= top_label(method.scores)[0] == predicted
    if bin_ is None:
        return np.flatnonzero(inside)
    pooled = rows_of(method, "confidence" if not method.one_event else method.notions[0], n_bins, bin_=bin_)
    return pooled[inside[pooled]]


@kept(rows=True)
def rows_adding_most(method: Method, notion: Notion, n_bins: int) -> np.ndarray:
    """Return a sort key of the evaluation rows: the rows of the cells that add most to an error first."""
    return cell_order(problems(method, notion), n_bins=n_bins, strategy=method.strategy)


@kept(rows=True)
def how_wrong(method: Method) -> np.ndarray:
    """Return the distance between score and outcome of each evaluation row."""
    binary = problems(method, method.notions[0])
    off = np.zeros(binary.n_samples)
    off[binary.rows] = np.abs(binary.scores.astype(np.float64) - binary.outcomes)
    return off


# Noise: by the keys of `MEASURES`.


def floor(method: Method, key: str, n_bins: int) -> stats.NoiseFloor:
    return _floors(method, MEASURES[key].notion, n_bins)[key]


@kept()
def _floors(method: Method, notion: Notion, n_bins: int) -> dict[str, stats.NoiseFloor]:
    """Return the noise floors of all errors of a notion, by key: all are measured on the same redraws."""
    measures = {
        key: {"metric": measure.metric, "aggregate": measure.aggregate, "norm": measure.norm}
        for key, measure in MEASURES.items()
        if measure.is_error and measure.notion == notion and measure.missing(method.known) is None
    }
    options: dict[str, Any] = {"notion": notion, "n_bins": n_bins, "random_state": 0}
    options |= {"strategy": method.strategy}
    arguments: tuple[Any, ...] = None, evidence(method, notion), measures
    return compute("Redrawing outcomes for the noise floor", noise_floors, *arguments, **options)


def floors(method: Method, n_bins: int) -> dict[str, stats.NoiseFloor]:
    keys = [measure.key for measure in judged(method) if measure.is_error]
    return {key: floor(method, key, n_bins) for key in keys}


def judged(method: Method) -> list[Measure]:
    notions = {*method.notions, *((None, "top-label") if method.one_event else ())}
    return [
        measure
        for measure in MEASURES.values()
        if measure.notion in notions and measure.missing(method.known) is None
    ]


@kept()
def class_floors(method: Method, n_bins: int) -> ProblemFloors:
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": method.strategy, "random_state": 0}
    binary = evidence(method, "class-wise")
    return compute("Redrawing outcomes for every class", problem_floors, binary, "class-wise", **options)


def interval(method: Method, key: str, n_bins: int) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a reported number of a method; NaN if sums give none."""
    return _interval(method, key, n_bins if MEASURES[key].is_error else N_BINS)  # others have no bins


@kept()
def _interval(method: Method, key: str, n_bins: int) -> tuple[float, float]:
    measure = MEASURES[key]
    if interval_needs_rows(method.known, measure):
        return np.nan, np.nan
    scores = evidence(method, measure.notion) if measure.is_error else method.scores
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": method.strategy}
    if not measure.is_error:  # problems have their weights and clusters
        options |= {"cluster": method.cluster, "sample_weight": method.weights}
    return compute("Computing intervals", measure_interval, method.labels, scores, key, **options)


@kept()
def conclusion(method: Method, n_bins: int) -> answers.Conclusion:
    return calib.conclude(None, evidence(method), n_bins=n_bins)


def guilty_first(method: Method, n_bins: int, codes: Iterable[int]) -> list[int]:
    """Return class codes; the classes that the verdict names come first, in its order."""
    named = [code for code in conclusion(method, n_bins).headline if code in codes]
    return [*named, *(int(code) for code in codes if code not in named)]


@kept()
def advice(data: Dataset) -> answers.Recommendation:
    fitting, others = data.calibration, data.evaluation
    confirm = (others, others.labels)
    return compute(TRYING, calib.recommend, fitting, fitting.labels, confirm=confirm)


@kept()
def binless(method: Method) -> tuple[list[stats.CalibrationTest], stats.CalibrationSlope]:
    """Return the tests that need no bins, and slope and intercept of the confidence."""
    words = "Testing without bins"
    line = compute("Fitting a line", calib.calibration_slope, None, problems(method, "confidence"))
    top = "confidence" if kind_of(method.scores).name == "confidence" else "top-label"
    tests = compute(words, stats.calibration_tests, None, problems(method, top))
    compared = pairs(method)
    return tests if compared is None else [*tests, compared], line


@kept()
def pairs(method: Method) -> stats.CalibrationTest | None:
    rows = compared_rows(method.labels, method.scores, cluster=method.cluster, sample_weight=method.weights)
    if rows is None:
        return None
    return compute("Comparing pairs of rows", kernel_test, *rows, len(method.labels))


@kept()
def bounds_of(method: Method) -> stats.CalibrationBand:
    return compute("Bounding the true curve", calib.calibration_band, None, problems(method, "confidence"))


def intervals(method: Method, n_bins: int) -> dict[str, tuple[float, float]]:
    numbers = metrics(method, n_bins)
    keys = [key for key in MEASURES if getattr(numbers, key, None) is not None]
    ends = {key: interval(method, key, n_bins) for key in keys}
    return {key: pair for key, pair in ends.items() if not np.isnan(pair).any()}


@kept(rows=True)
def losses(method: Method) -> dict[str, np.ndarray]:
    return compute("Scoring every row", vector_losses, method.labels, method.scores, methods()[BASE].scores)


# Slices: groups of rows, cut from further columns.

#: Where columns are cut, by name, as one hashable value.
CutsAt = tuple[tuple[str, Any], ...]


def further_columns(rows: Any) -> list[str]:
    """Return the names of the columns that groups can be cut from, or that a summary has groups of."""
    if isinstance(rows, Summary):
        return list(rows.by)
    return [] if rows.metadata is None else [str(name) for name in rows.metadata.columns]


@kept(rows=True)
def cuts(rows: Any, at: CutsAt) -> dict[str, answers.Cut | str]:
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


def _cuts(at: CutsAt) -> list[answers.Cut]:
    return [cut for cut in cuts(methods()[BASE].scores, at).values() if isinstance(cut, answers.Cut)]


def cut_of(rows: Any, column: CutsAt) -> answers.Cut:
    """Return the groups of one column, or of two at once."""
    return reduce(cross_cuts, (cut for cut in cuts(rows, column).values() if isinstance(cut, answers.Cut)))


@kept()
def slice_table(method: Method, at: CutsAt, n_bins: int, *, pairs: bool = False) -> answers.SliceTable:
    options: dict[str, Any] = {"notion": slice_notion(method), "n_bins": n_bins, "random_state": 0}
    options["pairs"] = pairs
    summed = method.sums, [name for name, _ in at]
    grouped = summed if method.sums is not None else (tops(method)[0], _cuts(at))
    return compute("Assessing every group", answers.slices, method.labels, *grouped, **options)


@kept()
def watched(method: Method, time: str | None, tolerance: float) -> OverTime:
    base = methods()[BASE].scores
    times = None if time is None else base.metadata[time].astype(str).to_numpy(dtype=object)
    scores = method.scores
    if not method.one_event:
        scores = calib.TopLabelPrediction(*top_label(scores), class_names=base.class_names)
    options: dict[str, Any] = {"notion": slice_notion(method), "tolerance": tolerance}
    return compute("Looking at the rows over time", watch_rows, method.labels, scores, times, **options)


@kept()
def gaps(method: Method, column: CutsAt, only: tuple[str, ...], n_bins: int) -> answers.SliceGaps:
    options: dict[str, Any] = {"notion": slice_notion(method), "n_bins": n_bins, "only": list(only)}
    grouped = _grouped_by(method, column)
    return compute("Comparing groups", answers.slice_gaps, method.labels, *grouped, **options)


def _grouped_by(method: Method, column: CutsAt) -> tuple[Any, Any]:
    """Return the predictions of every row and the groups; or a summary and the name of its column."""
    if method.sums is not None:
        return method.sums, column[0][0]
    return tops(method)[0], cut_of(methods()[BASE].scores, column)


@kept()
def slice_maps(
    method: Method, column: CutsAt, groups: tuple[int, ...], classes: tuple[int, ...], n_bins: int
) -> tuple[diagrams.ClassHeat, diagrams.ClassHeat | None]:
    """Return the maps of groups by bin and, for predicted classes, of groups by class."""
    top, cut = _grouped_by(method, column)
    shown = slice_heat(method.labels, top, cut, groups=groups, n_bins=n_bins)
    if not classes:
        return shown, None
    return shown, slice_class_heat(method.labels, top, cut, groups=groups, classes=classes)


def slice_notion(method: Method) -> Notion:
    """Return the notion of the errors of groups: by predicted class if there is one."""
    return "confidence" if method.one_event or method.sums is not None else "top-label"


def tops(*methods: Method) -> list[Any]:
    """Return the predictions of each method for every row: a class and its confidence, or the score."""
    return [
        method.scores
        if method.one_event
        else calib.TopLabelPrediction(
            *top_label(method.scores), sample_weight=method.weights, cluster=method.cluster
        )
        for method in methods
    ]


@kept()
def error_difference(a: Method, b: Method, key: str, n_bins: int) -> stats.PairedDifference:
    options: dict[str, Any] = {"notion": MEASURES[key].notion, "n_bins": n_bins, "sample_weight": a.weights}
    options |= {"strategy_a": a.strategy, "strategy_b": b.strategy}
    return compute("Comparing on the same rows", calib.paired_difference, a.labels, *tops(a, b), **options)


@kept()
def effect(before: Method, after: Method, n_bins: int) -> Change:
    options: dict[str, Any] = {"notion": before.notions[0], "n_bins": n_bins, "sample_weight": before.weights}
    options |= {"strategy_before": before.strategy, "strategy_after": after.strategy}
    return compute("Comparing with before", change, before.labels, *tops(before, after), **options)


def in_equal_cells(
    before: Method, after: Method, notion: Notion, n_bins: int
) -> tuple[diagrams.ValidityCurve, diagrams.ValidityCurve] | None:
    """Return the gaps before and after in the same cells; None if predicted classes differ.

    The cells are the values of histogram binning if every problem has it, else the bins of `before`.
    """
    by_value = after.strategy in ("discrete", PerClass())
    cells, words = diagrams.ValidityCells(calibrators_own=by_value), "Comparing in the same cells"
    try:
        return (
            _validity(before, after if by_value else None, notion, cells, n_bins, words),
            _validity(after, None if by_value else before, notion, cells, n_bins, words),
        )
    except calib.InputError:
        return None


@kept()
def held_out_accuracy(data: Dataset, key: str, _calibrator: Any) -> stats.PairedInterval:
    rows = data.calibration
    first, second = halves(rows)
    fitting, checking = rows.take(np.flatnonzero(first)), rows.take(np.flatnonzero(second))
    _, scores = compute(
        "Checking what it does to the accuracy", computing.fit, _calibrator, fitting, checking
    )
    options: dict[str, Any] = {"metric": "accuracy", "sample_weight": checking.sample_weight}
    return calib.paired_interval(checking.labels, checking, scores, **options)


@kept()
def ranks(before: Method, after: Method, data: Dataset, n_bins: int) -> Any:
    rows = data.evaluation
    labels, confidence = after.calibrator.predict_top_k(getattr(rows, "proba", rows))
    ranked = calib.TopKPrediction(labels, confidence, class_names=rows.class_names)
    options: dict[str, Any] = {"top_k": labels.shape[1], "sample_weight": before.weights}
    table = []
    for name, scores, strategy in (("before", rows, before.strategy), ("after", ranked, after.strategy)):
        binary = calib.reduce_to_binary(rows.labels, scores, "top-k-confidence", **options)
        found = problem_floors(binary, n_bins=n_bins, strategy=strategy, random_state=0)
        for at, problem in enumerate(found.problem):
            inside = slice(binary.offsets[problem], binary.offsets[problem + 1])
            table.append(
                {
                    "rank": int(problem) + 1,
                    "stage": name,
                    "says": float(binary.scores[inside].mean(dtype=np.float64)),
                    "right": float(binary.outcomes[inside].mean()),
                    "error": found.observed[at],
                    "floor": found.mean[at],
                    "p": found.p_value[at],
                }
            )
    return pd.DataFrame(table)


@kept()
def score_difference(a: Method, b: Method, key: str) -> stats.PairedInterval:
    metric: Any = MEASURES[key].metric
    options: dict[str, Any] = {"metric": metric, "sample_weight": a.weights}
    return compute("Comparing on the same rows", calib.paired_interval, a.labels, *tops(a, b), **options)


@kept(rows=True)
def halves(rows: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the rows that choose thresholds and of the rows that check them.

    Rows that belong together are on one side.
    """
    unit = units_of(rows.cluster, rows.n_samples)
    n_units = int(unit.max()) + 1
    half = np.zeros(n_units, dtype=bool)
    half[np.random.default_rng(0).permutation(n_units)[: n_units // 2]] = True
    return half[unit], ~half[unit]


def _half(method: Method, rows: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return labels and predictions of some evaluation rows: a class, P(Y = 1) or a confidence."""
    base, event = methods()[BASE].scores, event_scores(method.scores)
    cluster = None if method.cluster is None else method.cluster[rows]
    if event is None:
        label, confidence = top_label(method.scores)
        top = calib.TopLabelPrediction(
            label[rows], confidence[rows], class_names=base.class_names, cluster=cluster
        )
        return method.labels[rows], top
    if base.kind == "binary":
        binary = calib.BinaryPrediction(event[rows], class_names=base.class_names, cluster=cluster)
        return method.labels[rows], binary
    right = outcomes_of(method.labels, method.scores)[rows]
    return right, calib.ConfidencePrediction(event[rows], cluster=cluster)


@kept()
def decision(
    method: Method,
    target: str,
    value: float,
    by: Any,
    promise: Any,
    alpha: float,
    choices: int,
    recall: float | None,
) -> tuple[answers.DecisionRule, answers.RuleEffect]:
    """Choose a rule on one half of the evaluation rows; return it and its effect on the other half."""
    base = methods()[BASE].scores
    choosing, checking = halves(base)
    options: dict[str, Any] = {target: value, "by": by, "promise": promise, "alpha": alpha}
    options["recall"] = recall
    if method.calibrator is not None and dataset().calibration is not None:
        options["overlap"] = overlap(base, dataset().calibration)
    rule = calib.decide(*_half(method, choosing), choices=choices, **options)
    return rule, rule.evaluate(*_half(method, checking))


def checking_rows(rows: Predictions) -> np.ndarray:
    """Return the mask of the rows that check rules; all rows if weights do not allow rules."""
    return halves(rows)[1] if rows.sample_weight is None else np.ones(rows.n_samples, dtype=bool)


@kept(rows=True)
def risk_curve(method: Method, label: int | None = None) -> answers.RiskCoverage:
    rows = checking_rows(methods()[BASE].scores)
    weights = None if method.weights is None else method.weights[rows]
    return calib.risk_coverage(*_half(method, rows), label=label, sample_weight=weights)


@kept()
def costs_of(method: Method, costs: tuple[tuple[float, ...], ...], actions: tuple[str, ...]) -> ActionCosts:
    options: dict[str, Any] = {"actions": actions, "cluster": method.cluster, "sample_weight": method.weights}
    return choose_actions(method.labels, method.scores, np.array(costs), **options)


@kept()
def benefit(method: Method) -> answers.DecisionCurve:
    return calib.decision_curve(method.labels, _second(method), sample_weight=method.weights)


@kept()
def actions(method: Method, threshold: float) -> ActionCounts:
    return action_counts(method.labels, _second(method), threshold, sample_weight=method.weights)


def _second(method: Method) -> np.ndarray:
    label, confidence = top_label(method.scores)
    return np.where(label == 1, confidence, 1 - confidence)


@kept()
def estimates(method: Method, notion: Notion) -> dict[str, float]:
    binary = problems(method, notion)
    strategy: Strategy = "quantile" if method.strategy == "uniform" else method.strategy
    if isinstance(strategy, PerClass):
        strategy = replace(strategy, other_strategy="quantile")
    cells = calib.bin_statistics(binary, n_bins=15, strategy=strategy)
    words = "Estimating without bins"
    return {
        "Plug-in l2 error": float(np.sqrt(cells.share @ cells.gap**2)),
        "Debiased l2 error (Kumar et al. 2019)": calib.debiased_l2(None, binary, strategy=strategy),
        "ECE-sweep (Roelofs et al. 2022)": compute(words, stats.monotone_ece, None, binary).value,
        "SmoothECE (B\u0142asiok & Nakkiran 2024)": compute(words, calib.smooth_ece, None, binary).value,
    }


@kept()
def score_terms(method: Method, rule: str, n_bins: int) -> stats.Decomposition:
    options: dict[str, Any] = {"rule": rule, "n_bins": n_bins, "strategy": method.strategy}
    notion = method.notions[0]
    return calib.decomposition(None, evidence(method, notion), notion=notion, **options)


def cells_of(method: Method, notion: Notion, label: int | None) -> diagrams.ValidityCells:
    """Return the cells in which a validity curve compares the base model and a method."""
    if method.sums is not None:
        return diagrams.ValidityCells(calibrators_own=False, labels=None if label is None else (label,))
    return diagrams.validity_cells(
        method.calibrator,
        methods()[BASE].scores,
        method.scores,
        notion=notion,
        strategy=method.strategy,
        label=label,
    )


def validity(
    method: Method, notion: Notion, cells: diagrams.ValidityCells, n_bins: int
) -> dict[str, diagrams.ValidityCurve]:
    base = methods()[BASE]
    curves = {}
    if method.name != BASE:
        curves[BASE] = _validity(base, method if cells.calibrators_own else None, notion, cells, n_bins)
    return {**curves, method.name: _validity(method, None, notion, cells, n_bins)}


@kept()
def _validity(
    method: Method,
    reference: Method | None,
    notion: Notion,
    cells: diagrams.ValidityCells,
    n_bins: int,
    _words: str = "Computing validity",
) -> diagrams.ValidityCurve:
    return compute(
        _words,
        calib.validity_curve,
        None,
        evidence(method, notion),
        notion=notion,
        reference=None if reference is None else problems(reference, notion),
        label=cells.labels,
        n_bins=n_bins,
        strategy="discrete" if cells.calibrators_own else "uniform",
        n_resamples=CURVE_REDRAWS,
        random_state=0,
    )


@kept(rows=True)
def model_comparison(data: Dataset, calibrators: Mapping[str, Any], n_bins: int) -> answers.ModelComparison:
    words = "Comparing the models"
    return compute(words, calib.compare_models, data.models, calibrators, n_bins=n_bins)


@kept(rows=True)
def model_sweeps(data: Dataset, calibrators: Mapping[str, Any]) -> diagrams.ModelSweeps:
    words = "Computing errors for 5 to 25 bins"
    return compute(words, calib.sweep_models, data.models, calibrators, n_resamples=CURVE_REDRAWS)


def sweeps(
    method: Method, data: Dataset, notions: tuple[Notion, ...], metric: str
) -> Mapping[Notion, diagrams.EceSweep]:
    if refits(method, data):
        return refitted(method, data, notions, metric)
    return {notion: _sweep(method, notion, metric) for notion in notions}


def refits(method: Method, data: Dataset) -> bool:
    """Whether a method is fitted again for each number of bins: histogram binning by bins."""
    binary = getattr(method.calibrator, "binary", None)
    by_bins = method.strategy != "uniform" and getattr(binary, "n_bins", None) is not None
    return by_bins and data.kind.name == "vectors" and data.calibration is not None


@kept()
def refitted(
    method: Method, data: Dataset, notions: tuple[Notion, ...], metric: str
) -> Mapping[Notion, diagrams.EceSweep]:
    """Return the errors of a method that `refits`."""
    return compute(
        "Refitting for each number of bins",
        binned_sweeps,
        method.calibrator,
        data.calibration,
        data.evaluation,
        notions=notions,
        metric=metric,
    )


@kept()
def _sweep(method: Method, notion: Notion, metric: str) -> diagrams.EceSweep:
    options: dict[str, Any] = {"strategy": method.strategy, "metric": metric}
    return compute("Computing errors", calib.ece_sweep, None, problems(method, notion), **options)


@kept(rows=True)
def binning(data: Dataset, **options: int) -> diagrams.ClassBinning:
    return compute(
        "Calibrating every class", diagrams.class_binning, data.calibration, data.evaluation, **options
    )


@kept()
def plan(data: Dataset) -> diagrams.BinPlan:
    return compute("Trying k = 20 to 200", diagrams.plan_bins, data.calibration, data.evaluation)


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
    curves: dict[str, diagrams.CanonicalValidity]


@kept(rows=True)
def apply_scheme(view: ThreeClasses, scheme: SimplexScheme) -> SchemeResult:
    rows = view.evaluation
    calibrator = calib.CanonicalBinning(scheme).fit(view.calibration.proba, view.calibration.labels)
    cells = calibrator.assign(rows.proba)
    vectors = {BASE: rows.proba, "Recalibrated": calibrator.value_of(cells)}
    return SchemeResult(
        calibrator,
        calib.recalibration_map(calibrator, rows),
        {name: diagrams.canonical_validity(rows.labels, proba, cells) for name, proba in vectors.items()},
    )


@kept()
def scheme_floors(view: ThreeClasses, scheme: SimplexScheme) -> dict[str, stats.NoiseFloor]:
    """Return the noise floor of the canonical-ECE before and after recalibration."""
    rows, calibrator = view.evaluation, apply_scheme(view, scheme).calibrator
    cells = calibrator.assign(rows.proba)
    options: dict[str, Any] = {"n_resamples": SIMPLEX_REDRAWS, "random_state": 0}
    return {
        name: compute("Redrawing labels", canonical_noise_floors, rows.labels, proba, cells, (1,), **options)[
            1
        ]
        for name, proba in {BASE: rows.proba, "Recalibrated": calibrator.value_of(cells)}.items()
    }


@kept()
def scheme_comparison(view: ThreeClasses, schemes: Mapping[str, SimplexScheme]) -> diagrams.SchemeComparison:
    arguments = (view.calibration, view.evaluation, schemes)
    return compute("Comparing the schemes", diagrams.compare_schemes, *arguments, epsilon=EPSILON)


@kept()
def worth_of(rows: Any) -> str:
    """Say how many independent rows clustered evaluation rows are worth; "" if they count as independent."""
    return dependence_words(rows)
