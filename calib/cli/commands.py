"""The commands: each takes parsed options and returns text, data and an exit code."""

from __future__ import annotations

import csv
import shlex
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from calib.answers import decision_curves, model_tables, risks, slice_tables
from calib.answers.advice import Candidate, Recommendation, Verdict, confirm_choice
from calib.answers.advice import recommend as recommend_calibrator
from calib.answers.calibrated import applied_frame, calibrated_scores, fit_on
from calib.answers.conclusion import (
    MOST_NAMED,
    BinlessTests,
    Conclusion,
    FloorNumbers,
    IfClustered,
    NoiseTests,
    conclude,
    with_whole_vectors,
)
from calib.answers.cuts import MOST_CODES, Cut, cut_column, parse_cuts
from calib.answers.decision_rules import ActionCounts, DecisionRule, EventRule, RuleEffect
from calib.answers.decision_rules import decide as choose_rule
from calib.answers.gate import GateResult, gate_of_judge, predicted_names
from calib.answers.gate import gate as compare_with_limits
from calib.answers.guarantee_cards import promise_of
from calib.answers.metric_tables import BASE, INTERVALS_NOTE, FoldNumber, Metrics, fold_errors, fold_texts
from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.results import parts
from calib.calibrators import catalogue, label_shift, multiclass
from calib.calibrators.acceptance import AcceptanceRule, ActionRule
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.softmax_fit import fit_words
from calib.cli.assessed import (
    Assessed,
    assessed,
    calibrator_for,
    cluster_option,
    dependence_choice,
    row_notes,
    slices_call,
    summary_of,
)
from calib.cli.input import (
    FileRows,
    FitData,
    Output,
    calibrator_options,
    changed,
    chosen,
    numbers_by_name,
    read_rows,
)
from calib.cli.json_data import rows_of
from calib.cli.judging import read_judgement
from calib.cli.light import serve
from calib.cli.streams import deliver, is_piped, progress_line, table_lines
from calib.data.equal_rows import overlap
from calib.data.kinds import check_equal_rows, kind_of
from calib.data.predictions import (
    BasePrediction,
    BinaryPrediction,
    as_vectors,
    further_column,
    in_common_classes,
    score_matrix,
)
from calib.data.splits import FOLD, column_of
from calib.data.times import column_of_block
from calib.diagrams.bin_sweep import ModelSweeps, SweptNumber, draw_model_sweeps, sweep_models
from calib.diagrams.style import figure_html, plotly_script
from calib.evidence.clusters import too_few
from calib.evidence.rows import Evidence, Rows
from calib.evidence.sums import SummedRows
from calib.files.readers.roles import ChoiceError, models_in
from calib.files.saved.document import aligned, dumps, load_calibrator, loads
from calib.files.saved.project import Project
from calib.files.writing import write_csv
from calib.report.calibration_report import ReportInput, report_html
from calib.report.html import page
from calib.stats.binless import CombinedTest
from calib.stats.bootstrap import Estimated
from calib.stats.effective import cluster_column
from calib.stats.measures import ECES, MEASURES, ece_of

#: Options of what is computed in bins and compared with redraws.
BINS_AND_REDRAWS = "n_bins n_resamples random_state"
#: Numbers of each method, and what each is about.
REPORTED_NUMBERS = {key: measure.about for key, measure in MEASURES.items() if measure.listed}


@dataclass(frozen=True)
class MethodData:
    metrics: Metrics = field(metadata=parts("method n_samples n_bins n_distinct kind weighted"))
    strategy: str  #: How scores are binned
    values: Mapping[str, float | None] = field(metadata={"parts": REPORTED_NUMBERS})
    intervals: Mapping[str, tuple[float, float]]  #: 95 % intervals of the numbers
    improvement: Mapping[str, Estimated]  #: Base model's score minus the method's, by score


@dataclass(frozen=True)
class TestedMethodData(MethodData):
    noise: Mapping[str, FloorNumbers]  #: By notion, or "binary"
    without_bins: BinlessTests  #: Empty for --resamples 0 and for rows that do not allow it
    together: CombinedTest  #: All tests together, which decide the conclusion
    #: O/E, in the large, slope, ICI, AUC, Brier score, skill and its parts of P(Y = 1); skill and parts of at
    #: most 10 classes
    forecast: Sequence[risks.ForecastNumber]


@dataclass(frozen=True)
class ConclusionData:
    words: str
    conclusion: Conclusion = field(
        metadata=parts("direction level rejected guilty at_least at_most verdict gaps")
    )
    suspected: IfClustered | None = None  #: If rows may belong together: the conclusion then


@dataclass(frozen=True)
class MetricsData:
    file: str
    rows: SummedRows | BasePrediction = field(metadata=parts("kind n_samples coverage fingerprint"))
    n_classes: int | None
    methods: Sequence[TestedMethodData]  #: The base model, and the calibrator if there is one
    folds: Sequence[FoldNumber]
    conclusion: ConclusionData
    #: Groups of further columns against all other rows, the clearest difference first
    groups: slice_tables.SliceTable | None = None


def metrics(options: Namespace) -> Output[MetricsData]:
    """Assess the evaluation rows of a file, or a summary, before and after a calibrator, if there is one."""
    found = assessed(options)
    base = found.base
    asked = chosen(options, BINS_AND_REDRAWS)
    numbers, texts = _compared(found.methods, options.n_bins)
    options_of_tests = {**asked, "tolerance": options.tolerance}
    concluded = {name: conclude(evidence, **options_of_tests) for name, evidence in found.methods.items()}
    tested = {name: conclusion.tests for name, conclusion in concluded.items()}
    if options.n_resamples:
        tested = {
            name: with_whole_vectors(tests, found.methods[name], options.random_state)
            for name, tests in tested.items()
        }
    forecasts = {name: risks.forecast_numbers(evidence) for name, evidence in found.methods.items()}
    methods = [
        TestedMethodData(
            **vars(each),
            noise=tested[name].numbers(),
            without_bins=tested[name].without_bins,
            together=concluded[name].combined,
            forecast=forecasts[name],
        )
        for name, each in zip(found.methods, numbers, strict=True)
    ]
    said = {name: conclusion.words(base.class_names) for name, conclusion in concluded.items()}
    words = said.pop(BASE)
    suspected, groups = concluded[BASE].suspected, slice_tables.further_groups(base)
    lines = [words, *_about_groups(suspected, groups, options)]
    lines += [*(f"{name}: {sentence}" for name, sentence in said.items()), ""]
    shown = pd.DataFrame(
        {name: {each.title: each.text for each in forecast} for name, forecast in forecasts.items()}
    )
    is_event = isinstance(base, Rows) and base.kind == "binary"
    if isinstance(base, Rows) and is_event:
        ideal = [each.calibrated for each in forecasts[BASE]]
        lines += [
            *table_lines(shown.assign(**{"if calibrated": ideal}), index=True),
            f"{risks.EVENT_INTERVALS} Net benefit: calib benefit. Accuracy and errors in bins: --all.",
        ]
        column = cluster_column(base.predictions) if too_few(base.n_clusters) else None
        if column is not None:
            lines += [f"If these clusters are centres: calib centres {options.file} --by {column.name}"]
    if not is_event or options.all:
        lines += [""] * is_event
        lines += [*table_lines(_with_floors(texts, tested, base.kind), index=True), INTERVALS_NOTE]
    if options.all:
        lines += [] if is_event or shown.empty else ["", *table_lines(shown, index=True)]
        for name, tests in tested.items():
            lines += ["", f"{name}: {concluded[name].combined.words}", *tests.sentences]
    folds = pd.DataFrame()
    rows = base.predictions if isinstance(base, Rows) else base
    if isinstance(rows, BasePrediction) and column_of(rows, FOLD) is not None:
        folds = fold_errors(rows, **asked)
        head = "by fold, on rows that the model of the fold was not fitted on; errors with their noise floor:"
        lines += ["", head, *table_lines(fold_texts(folds), index=True)]
    conclusion = ConclusionData(words, concluded[BASE], suspected)
    about = str(options.file), rows, getattr(rows, "n_classes", None), methods
    data = MetricsData(*about, rows_of(FoldNumber, folds), conclusion, groups)
    return Output("\n".join([*found.notes, *lines]), data)


def _with_floors(texts: pd.DataFrame, tested: Mapping[str, NoiseTests], kind: str) -> pd.DataFrame:
    """Add a row below each error that has a noise floor, with the error of a perfect model."""
    first = next(iter(ece_of(kind).values()))
    for notion in tested[BASE].floors:
        at = list(texts.index).index(ECES.get(notion, first).title) + 1
        cells = {name: f"{tests.floors[notion].mean:.4f}" for name, tests in tested.items()}
        floor = pd.DataFrame(cells, index=["of a perfect model"])
        texts = pd.concat([texts.iloc[:at], floor[texts.columns], texts.iloc[at:]])
    return texts


def _about_groups(
    suspected: IfClustered | None, groups: slice_tables.SliceTable | None, options: Namespace
) -> Iterable[str]:
    """Say in a line each what holds if rows belong together, and which groups of a column differ."""
    columns = [] if groups is None else list(dict.fromkeys(groups.column[groups.differs].tolist()))
    if suspected is not None:
        column = column_of_block(suspected.column, ())
        yield dependence_choice(suspected, "see below" if column in columns else slices_call(options, column))
    if groups is not None and columns:
        yield f"{groups.clearest_words()}. All groups: {slices_call(options, *columns)}"


@dataclass(frozen=True)
class EvaluatedFitData(FitData):
    weighted: bool  #: Whether calibration rows have weights
    n_evaluation: int  #: Other rows; the methods are compared on them
    methods: Sequence[MethodData]  #: The base model and the calibrator; empty if other rows have no labels
    #: Whether the calibrator improves Brier score or log loss on them; None if other rows have no labels
    effect: Verdict | None


def fit(options: Namespace) -> Output[EvaluatedFitData]:
    """Fit a calibrator on the calibration rows, write its file, and compare on the evaluation rows."""
    if options.n_bins is not None and options.points_per_bin is not None:
        raise InputError("--n-bins and --points-per-bin exclude each other; give one of the two")
    file_rows = read_rows(options)
    unseen: BasePrediction | None
    if options.evaluate:
        first, source = file_rows.calibration or file_rows.evaluation, "rows of the file"
        second_file = changed(options, file=options.evaluate, labels=None)
        calibration, unseen = in_common_classes(first, read_rows(second_file).evaluation)
    else:
        calibration, unseen, source = file_rows.divided(options)
    if calibration.labels is None:
        raise InputError("fit needs true labels; give them in the file or with --labels")
    parameters, column = calibrator_options(options)
    groups = None if column is None else _groups_in(column, calibration)
    kind = kind_of(calibration)
    if "every label" in kind.has and options.method in catalogue.BINARY and parameters["notion"] is None:
        parameters["notion"] = kind.notion
    calibrator = catalogue.make_calibrator(options.method, **parameters)
    calibrator = fit_on(catalogue.for_kind(calibrator, kind), calibration, groups=groups)
    content = dumps(calibrator, fitted_on=calibration, log=file_rows.log)
    about_fit = fit_words(calibrator)
    calibrator = loads(content)
    name = catalogue.name_of(calibrator)
    notes = [f"{name} fitted on {calibration.n_samples:,} rows: {source}", *about_fit]
    fitted_on = Rows(calibration)
    notes += row_notes(fitted_on) + ["no guarantee holds with weights"] * fitted_on.is_weighted
    fallbacks = multiclass.fallback_records(calibrator, calibration.class_names or ())
    notes += multiclass.fallback_words(fallbacks)
    binning = isinstance(calibrator, HistogramBinning)
    promise, bounds = promise_of(multiclass.as_multiclass(calibrator, calibration) if binning else calibrator)
    notes += promise
    methods: list[MethodData] = []
    effect: Verdict | None = None
    if unseen is not None and unseen.labels is not None:
        unseen = aligned(unseen, calibrator)
        if (again := overlap(unseen, calibrator)) is not None:
            notes.append(f"warning: {again.words}; assess the calibrator on other rows")
        before = Rows(unseen)
        after = Assessed(before, calibrator)
        methods, table = _compared(after.methods, options.bins)
        notes += ["", f"on {unseen.n_samples:,} other rows:", *table_lines(table, index=True), ""]
        change = confirm_choice(before, after.rows)
        effect = change.verdict
        if effect == "worse":
            notes += [f"worse than the scores as they are by the {' and the '.join(change.raised)}", ""]
    notes.append(deliver(options.output, content))
    n_evaluation = 0 if unseen is None else unseen.n_samples
    fitted = str(options.output), name, fitted_on.n_samples, fallbacks
    data = EvaluatedFitData(*fitted, *bounds, fitted_on.is_weighted, n_evaluation, methods, effect)
    return Output("\n".join(notes), data)


def _groups_in(column: str, rows: BasePrediction) -> pd.Series:
    groups = further_column(rows, column)
    if groups.nunique() > MOST_CODES and pd.api.types.is_numeric_dtype(groups):
        raise InputError(
            f"column {column!r} holds {groups.nunique():,} numbers, each of which would be a group of its "
            "own; add a column that names ranges of it"
        )
    return groups


@dataclass(frozen=True)
class ApplyData:
    output: str  #: File written
    n_samples: int  #: Its rows
    n_class_changed: int  #: Rows whose predicted class changes
    columns: Sequence[str]  #: Columns of the file
    #: Shares of the classes before and now, if they are corrected
    class_shares: Sequence[Mapping[str, str | float]] | None = None


def apply(options: Namespace) -> Output[ApplyData]:
    """Calibrate new predictions with a calibrator file and write them as a table."""
    rows = read_rows(options, labelled=False).evaluation
    notes: list[str] = []
    calibrator, shares, order = None, None, rows.class_names
    if options.calibrator:
        calibrator, rows, _ = calibrator_for(options.calibrator, rows, notes)
    elif not (options.target_shares and options.training_shares):
        raise InputError(
            "without a calibrator file, scores are corrected for known class shares: add --training-shares "
            "and --target-shares, or put CAL.JSON first"
        )
    if any((options.label_shift, options.calibration, options.target_shares, options.training_shares)):
        calibrator, shift = _corrected(calibrator, rows, order, options, notes)
        notes.append(shift.words(rows.class_names))
        shares = rows_of(dict, shift.frame(rows.class_names))
    if options.save:
        deliver(options.save, dumps(calibrator, class_names=rows.class_names))
        notes.append(f"wrote the calibrator with its correction to {options.save}")
    frame = applied_frame(calibrator, rows)
    target = options.output
    wanted = options.output_format or ("csv" if is_piped(target) else Path(target).suffix.lower()[1:])
    if wanted not in ("csv", "parquet"):
        name = Path(target).name
        raise InputError(f"--output must end in .csv or .parquet, or use --output-format; got {name!r}")
    deliver(target, write_csv(frame) if wanted == "csv" else frame.to_parquet(index=False))
    if rows.coverage < 1.0:
        notes.append(f"{1 - rows.coverage:.1%} of the rows of the file hold no answer; they are left out")
    changed = int((frame["announced"] != frame["predicted"]).sum()) if "announced" in frame else 0
    if isinstance(rows, BinaryPrediction):  # the other class is predicted below 1/2
        changed = int(((frame["score"] > 0.5) != (frame[f"p({rows.positive})"] > 0.5)).sum())
    notes.append(f"wrote {len(frame):,} rows to {target}; the predicted class changes in {changed:,}")
    if isinstance(getattr(calibrator, "rule_", None), ActionRule):
        notes.append(f"act: {int(frame['act'].sum()):,} rows")
    return Output("\n".join(notes), ApplyData(str(target), len(frame), changed, list(frame.columns), shares))


def _corrected(
    calibrator: BaseEstimator | None,
    rows: Any,
    order: Sequence[str] | None,
    options: Namespace,
    notes: list[str],
) -> tuple[Any, label_shift.LabelShift]:
    if bool(options.label_shift) == bool(options.target_shares):
        raise InputError("pass --label-shift em or bbse to estimate class shares, or --target-shares")
    if bool(options.calibration) == bool(options.training_shares):
        raise InputError("give the class shares before: --calibration FILE with labels, or --training-shares")
    whole = (calibrator is None or hasattr(calibrator, "predict_proba")) and "vector" in rows.has
    if not whole and not ("event" in rows.has and options.training_shares and options.target_shares):
        raise InputError(
            "--label-shift and --target-shares need a calibrator that gives a probability for every class: a "
            "scaling, or class-wise calibration with --normalize; P(Y = 1) takes known shares alone"
        )
    known = {
        name: _shares(texts, rows, order, f"--{name}-shares")
        for name, texts in (("target", options.target_shares), ("training", options.training_shares))
        if texts
    }
    if len(known) == 2:
        shift = label_shift.known_shift(known["training"], known["target"], rows.n_samples)
        one_score = calibrator is None and "event" in rows.has
        corrected = (
            label_shift.CorrectedScores(None, shift.weights)
            if one_score
            else label_shift.with_weights(calibrator, shift)
        )
        before = calibrated_scores(calibrator, rows)
        if (warning := _check_shares(before, calibrated_scores(corrected, rows), shift)) is not None:
            notes.append(warning)
        return corrected, shift
    correction = label_shift.LabelShiftCorrection(
        method=options.label_shift or "em",
        target_shares=known.get("target"),
        training_shares=known.get("training"),
    )
    assert calibrator is not None  # without one both shares are known
    proba, labels = calibrator.predict_proba(rows.proba), None
    fitted_on = proba
    if options.calibration:
        others = {"labels": None, "fix": "", "part": None, "format": None}
        earlier = read_rows(changed(options, file=options.calibration, **others))
        labelled = aligned(earlier.calibration or earlier.evaluation, calibrator)
        check_equal_rows(labelled, "The correction for label shift")
        fitted_on, labels = calibrator.predict_proba(labelled.proba), labelled.labels
    shift = correction.fit(fitted_on, labels).adapt(proba)
    return label_shift.with_weights(calibrator, shift), shift


def _shares(texts: Sequence[str], rows: Any, order: Sequence[str] | None, option: str) -> np.ndarray:
    """Read shares by name, or one per class in the order of the file, or P(Y = 1) alone.

    Without names the file and the calibrator must have one order, and no share is 0 or 1: "0,1" can be 0.1.
    """
    n_classes = len(rows.class_names)
    try:
        shares: Any = [float(number) for number in ",".join(texts).split(",")]
    except ValueError:
        shares = []
    complete = len(shares) in ((1, 2) if isinstance(rows, BinaryPrediction) else (n_classes,))
    if not complete or order != rows.class_names or not all(0.0 < share < 1.0 for share in shares):
        by_name = "a class and its share, such as fraud=0.01; without names the share of every class"
        shares = numbers_by_name(texts, f"{by_name}, in the order of the file and the calibrator: 0.99,0.01")
    return label_shift.as_shares(shares, n_classes, rows.class_names, option)


#: Fewest rows whose mean scores can contradict shares, and the factor between odds that always does.
LEAST_OF_SHARES, CONTRADICTION = 100, 3.0


def _check_shares(before: BasePrediction, after: BasePrediction, shift: label_shift.LabelShift) -> str | None:
    """Refuse shares that the scores contradict, and say if their mean is not about the target share.

    If the scores refer to the training shares, the correction brings their mean to the target share. Shares
    are refused if it takes the mean away from there, or leaves the odds off by a factor of `CONTRADICTION`.
    """
    first, proba = (
        score_matrix(as_vectors(rows) if isinstance(rows, BinaryPrediction) else rows)
        for rows in (before, after)
    )
    if len(proba) < LEAST_OF_SHARES:
        return None

    def off(matrix: np.ndarray) -> np.ndarray:
        shares = np.clip([matrix.mean(axis=0), shift.target], 1e-12, 1.0 - 1e-12)
        return np.abs(np.diff(np.log(shares / (1.0 - shares)), axis=0)[0])

    mean, error = proba.mean(axis=0), proba.std(axis=0) / np.sqrt(len(proba))
    apart = np.abs(mean - shift.target) > 5.0 * error
    refused = apart & (off(proba) > np.minimum(off(first), np.log(CONTRADICTION)))
    if not apart.any():
        return None
    code = 1 if proba.shape[1] == 2 else int(np.where(apart, off(proba), -1.0).argmax())
    name = (before.class_names or [*map(str, range(proba.shape[1]))])[code]
    words = (
        f"corrected from {shift.source[code]:.4g} to a share of {shift.target[code]:.4g}, the mean score of "
        f"{name!r} goes from {first[:, code].mean():.4g} to {mean[code]:.4g}"
    )
    if refused.any():
        raise InputError(
            f"the shares contradict the scores: {words}. Give --training-shares that the scores refer to: "
            "after a calibrator, the shares among the rows that it was fitted on"
        )
    return f"warning: {words}; the scores are not calibrated, or do not refer to these training shares"


@dataclass(frozen=True)
class RecommendData:
    file: str
    advice: Recommendation = field(metadata=parts("name reason confirmation left_out ruled_out"))
    n_calibration: int  #: Calibration rows
    weighted: bool  #: Whether they have weights
    candidates: Sequence[Candidate]  #: Lowest Brier score first


def recommend(options: Namespace) -> Output[RecommendData]:
    """Recommend one calibrator, or none: chosen on the calibration rows, confirmed on all labelled rows."""
    file_rows = read_rows(options)
    rows, others, source = file_rows.divided(options)
    confirm = None if others is None or others.labels is None else others
    with progress_line() as progress:
        advice = recommend_calibrator(
            rows, confirm=confirm, random_state=options.random_state, progress=progress
        )
    evidence, candidates = Rows(rows), rows_of(Candidate, advice.table)
    lines = [f"{rows.n_samples:,} rows: {source}", *row_notes(evidence), advice.reason, ""]
    shown = {}
    for each in candidates:
        brier = each.brier_improvement, each.brier_lower, each.brier_upper
        log_loss = each.log_loss_improvement, each.log_loss_lower, each.log_loss_upper
        shown[each.method] = {
            "Brier": f"{each.brier:.4f}",
            "Brier improvement": with_interval(*brier, sign="+"),
            "log loss": f"{each.log_loss:.4f}",
            "log loss improvement": with_interval(*log_loss, sign="+"),
            "fitted numbers": f"{each.numbers:,}",
        }
    lines += table_lines(pd.DataFrame(shown).T, index=True)
    lines += [f"ruled out: {name}, because {why}" for name, why in advice.ruled_out.items()]
    lines += [f"left out: {name}, because {why}" for name, why in advice.left_out.items()]
    counts = evidence.n_samples, evidence.is_weighted
    data = RecommendData(str(options.file), advice, *counts, candidates)
    if options.output and advice.calibrator is not None:
        among, calibrator = len(advice.tried), advice.calibrator
        if file_rows.calibration is None and others is not None:  # the file's own division stays
            rows = file_rows.evaluation
            calibrator = fit_on(clone(calibrator), rows)
        content = dumps(calibrator, fitted_on=rows, log=file_rows.log, choices=among)
        lines.append(f"{deliver(options.output, content)}, fitted on {rows.n_samples:,} rows")
    return Output("\n".join(lines), data)


@dataclass(frozen=True)
class GateData:
    file: str
    n_samples: int
    weighted: bool  #: Whether rows have weights
    result: GateResult = field(metadata=parts("passed answer sentence checks dependence"))


def gate(options: Namespace) -> Output[GateData]:
    """Compare the evaluation rows with limits; exit code 1 if one is broken or, with --strict, undecided."""
    limits = "a limit as metric=number, such as tl_ece=0.03"
    keys = {measure.title.lower(): key for key, measure in MEASURES.items()}
    most, least = (
        {keys.get(name.lower(), name): number for name, number in numbers_by_name(texts, limits).items()}
        for texts in (options.max, options.min)
    )
    if options.human:
        asked = dict.fromkeys(("confidence", "chosen_by", "labelled_by", "sample", "cut"))
        asked["alpha"] = 1.0 - options.level
        judged, _ = read_judgement(changed(options, **asked))
        result = gate_of_judge(judged, most=most, least=least, strict=options.strict)
        return _gate_output(result, GateData(str(options.file), judged.n_rows, False, result), "", options)
    found = assessed(options)
    evidence = found.evidence
    baseline = None
    if options.baseline is not None:  # read as the file, with its own columns
        baseline = assessed(changed(options, file=options.baseline, labels=None, calibrator=None)).base
    rule = getattr(found.calibrator, "rule_", None)
    result = compare_with_limits(
        evidence,
        groups=_groups_of(evidence, options) if options.by else None,
        most=most,
        least=least,
        tolerance=options.tolerance,
        baseline=baseline,
        rule=rule if isinstance(rule, AcceptanceRule) else None,
        overlap=found.used,
        **chosen(options, f"strict level {BINS_AND_REDRAWS}"),
    )
    data = GateData(str(options.file), evidence.n_samples, evidence.is_weighted, result)
    return _gate_output(result, data, "".join(f" ({note})" for note in row_notes(evidence)), options)


def _gate_output(result: GateResult, data: GateData, notes: str, options: Namespace) -> Output[GateData]:
    for output, write in ((options.junit, result.junit), (options.markdown, result.markdown)):
        if output:
            deliver(output, write().encode())
    return Output(result.sentence + notes, data, 0 if result.passed else 1)


def _groups_of(evidence: Rows | SummedRows, options: Namespace) -> dict[str, np.ndarray]:
    """Return the group of each row, as text, by predicted class and by the columns that options name."""
    if isinstance(evidence, SummedRows):
        return dict.fromkeys(_summed_columns(evidence, options), np.zeros(0))
    columns = [name for name in options.by if name != "class"]
    groups = {"class": predicted_names(evidence)} if len(columns) < len(options.by) else {}
    cuts = _cut_columns(evidence, columns, options.cut)
    return groups | {cut.name: np.array(cut.groups, dtype=object)[cut.code] for cut in cuts}


def _summed_columns(summary: SummedRows, options: Namespace) -> list[str]:
    if options.cut:
        raise InputError("--cut needs the rows, and a summary holds sums of groups; pass the rows")
    for name in options.by:
        if name == "class" and name not in summary.by:
            raise InputError("--by class needs the rows, and a summary has groups of columns; pass the rows")
        summary.groups(name)
    return list(options.by)


def _cut_columns(evidence: Rows, names: Sequence[str], cuts: Sequence[str]) -> list[Cut]:
    at, rows = parse_cuts(cuts, names), evidence.predictions
    return [cut_column(further_column(rows, name), name=name, at=at.get(name)) for name in names]


@dataclass(frozen=True)
class HeldData:
    what: str  #: Part of the project
    holds: str  #: Its content in words


@dataclass(frozen=True)
class OpenData:
    file: str
    holds: Sequence[HeldData]


def open(options: Namespace) -> Output[OpenData]:
    """Describe the content of a project file, or serve the app with it."""
    project = Project.load(options.file)
    if options.serve:
        serve(CALIB_PROJECT=str(Path(options.file).resolve()))
    frame = project.frame()
    width = max(map(len, frame["what"]))
    held = [(what, line) for what, holds in frame.to_numpy() for line in str(holds).splitlines()]
    lines = [f"{what:<{width}}  {line}" for what, line in held]
    return Output("\n".join(lines), OpenData(str(options.file), rows_of(HeldData, frame)))


@dataclass(frozen=True)
class DecideData:
    file: str
    target: Mapping[str, float]  #: "accuracy", "reviews" or "cost", and its value
    rule: DecisionRule = field(metadata=parts("by alpha sentence guarantee"))
    rows_needed: int | None  #: About how many independent rows would support the accuracy, if more would
    thresholds: Mapping[str, float]  #: By class, or for "all classes"; null: nothing is accepted
    effect: RuleEffect = field(metadata=parts("n_samples n_accepted n_wrong accuracy lower upper cost"))


@dataclass(frozen=True)
class EventData:
    file: str
    rule: EventRule = field(metadata=parts("targets alpha threshold sentence guarantee kept"))
    counts: ActionCounts | None  #: Rows acted on or not, with the event or without it


@dataclass(frozen=True)
class CostsData:
    file: str
    best: decision_curves.ActionCosts = field(
        metadata=parts("sentence cost lower upper level saved saved_lower saved_upper")
    )
    alone: str  #: The action that costs least if all rows get the same
    #: For one event and two actions: P(Y = 1) at which they cost the same, lowest, median and highest
    thresholds: Sequence[float]
    rows: Mapping[str, Mapping[str, int]]  #: Rows by true class and action


def decide(options: Namespace) -> Output[DecideData | EventData | CostsData]:
    """Choose thresholds on the evaluation rows: which predictions may pass without a person."""
    found = assessed(options, rows_only=True)
    evidence = found.rows
    class_names = evidence.class_names or ()
    if options.costs or options.cost_column:
        return _costs(options, evidence, class_names, found.notes)
    asked = chosen(options, "accuracy recall reviews cost promise alpha")
    asked |= chosen(options, "sensitivity precision false_positive_rate")
    rule = choose_rule(evidence, **asked, by=options.by, overlap=found.used)
    table = rule.frame()
    if isinstance(rule, EventRule):
        lines = [*found.notes, rule.sentence, "", *table_lines(table, na_rep="-")]
        if options.output:
            content = dumps(rule.carried_by(found.calibrator), class_names=class_names)
            lines.append(deliver(options.output, content))
        return Output("\n".join(lines), EventData(str(options.file), rule, rule.counts))
    names = {"class": class_names, "group": rule.groups}.get(rule.by or "", ["all classes"])
    table = table.iloc[:, 1:].replace(np.inf, np.nan)
    table.insert(0, options.by or "", names)
    lines = [*found.notes, rule.sentence, "", *table_lines(table, na_rep="nothing accepted")]
    if options.output:
        if found.calibrator is None:
            raise InputError(
                "--output writes a calibrator file with the rule in it; add --calibrator CAL.JSON"
            )
        lines.append(deliver(options.output, dumps(rule.carried_by(found.calibrator))))
    thresholds = dict(zip(names, rule.thresholds.tolist(), strict=True))
    target: dict[str, float] = {rule.target: rule.value}
    needed = rule.needed if rule.n_clusters is None else None
    data = DecideData(str(options.file), target, rule, needed, thresholds, rule.effect)
    return Output("\n".join(lines), data)


def _costs(
    options: Namespace, evidence: Rows, class_names: Sequence[str], notes: Sequence[str]
) -> Output[CostsData]:
    if options.cost_column:
        amount = further_column(evidence.predictions, options.cost_column).to_numpy()
        costs = _costs_of_amounts(evidence, amount, options)
        actions = ["leave", "act"]
    else:
        with Path(options.costs).open(newline="", encoding="utf-8-sig") as file:
            head, *lines = [line for line in csv.reader(file) if line] or [[]]
        given = {name: costs for name, *costs in lines}
        if missing := [name for name in class_names if name not in given]:
            raise InputError(
                f"{options.costs} must have a line for each class; none begins with {missing[0]!r}"
            )
        costs, actions = np.array([given[name] for name in class_names]), head[1:]
    found = decision_curves.choose_actions(evidence, costs=costs, actions=actions)
    table = found.frame(class_names)
    counts: Any = table.T.to_dict()
    thresholds: list[float] = []
    if costs.shape[-2:] == (2, 2):
        each = decision_curves.cost_thresholds(costs.astype(np.float64))
        thresholds = [float(each.min()), float(np.median(each)), float(each.max())]
    said = [*notes, found.sentence]
    if thresholds:
        event, middle = f"P({class_names[1]})", f"{thresholds[1]:.6f}"
        rule = f"Act if {event} is at least {options.action_cost:g} / {options.cost_column}: {middle} in the"
        same = f"The actions cost the same at {event} = {middle}."
        said.append(f"{rule} median row." if options.cost_column else same)
    data = CostsData(str(options.file), found, found.actions[found.alone], thresholds, counts)
    said += ["", *table_lines(table.rename_axis("class"), index=True)]
    return Output("\n".join(said), data)


def _costs_of_amounts(evidence: Rows, amount: np.ndarray, options: Namespace) -> np.ndarray:
    """Return the costs (n, 2, 2) of leaving a row, which loses its amount if Y = 1, and of acting on it."""
    if evidence.kind != "binary":
        raise InputError("--cost-column is about P(Y = 1); for several classes give --costs COSTS.CSV")
    if amount.dtype.kind not in "fiu" or not (amount >= 0.0).all():
        raise InputError(f"column {options.cost_column!r} must hold the cost of a missed event, 0 or more")
    costs = np.full((len(amount), 2, 2), options.action_cost)
    costs[:, 0, 0], costs[:, 1, 0] = 0.0, amount
    return costs


@dataclass(frozen=True, eq=False, repr=False)
class ComparedCurve(decision_curves.DecisionCurve):
    #: Net benefit minus the other scores', with its interval
    difference: NDArray[np.float64] | None = None
    difference_lower: NDArray[np.float64] | None = None
    difference_upper: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class BenefitData:
    file: str
    n_samples: int
    share: float  #: Share of rows with the event
    level: float  #: Coverage of each interval
    minus: str | None  #: What the difference is from: a file, or "base" with --calibrator
    thresholds: ComparedCurve


def benefit(options: Namespace) -> Output[BenefitData]:
    """Print the net benefit of acting on P(Y = 1) between two thresholds."""
    found = assessed(options, rows_only=True)
    evidence, other = found.rows, None
    if options.against:
        other, minus = assessed(changed(options, file=options.against, calibrator=None)).base, options.against
    elif options.calibrator:
        other, minus = found.base, "base"
    if not options.begin <= options.to < 1.0:
        raise InputError(f"--from must be at most --to, below 1; got {options.begin:g} and {options.to:g}")
    steps = np.arange(round((options.to - options.begin) / options.step) + 1)
    grid = np.round(options.begin + options.step * steps, 10)
    curve = decision_curves.decision_curve(evidence, thresholds=grid)
    compared: dict[str, Any] = {}
    if other is not None:
        change = decision_curves.benefit_difference(other, evidence, thresholds=grid)
        ends = {"difference_lower": change.lower, "difference_upper": change.upper}
        compared = {"difference": change.difference, **ends}
    table = curve.frame().assign(**compared)
    text = table_lines(table, float_format="{:.6f}".format)
    head = (
        f"net benefit per row, {100 * curve.level:g} % intervals; {curve.share:.1%} of rows have the event; "
        "everyone: of acting on every row (on none: 0); avoided: fewer actions per row than on every row"
    )
    numbers, named = ComparedCurve(**vars(curve), **compared), None if other is None else str(minus)
    data = BenefitData(str(options.file), evidence.n_samples, curve.share, curve.level, named, numbers)
    return Output("\n".join([*found.notes, head, "", *text]), data)


#: Columns of the table of groups: of all, and of one event.
_SLICES = "column", "group", "count"
_SLICES_SHOWN = *_SLICES, "gap", "gap_of_rest", "difference", "differs", "above_noise", "rows_needed"
_SLICES_OF_EVENT = *_SLICES, "accuracy", "confidence", "ratio", "difference", "differs", "rows_needed"


def _if_clustered(
    evidence: Rows | SummedRows, cuts: Sequence[Cut], table: slice_tables.SliceTable
) -> Iterable[str]:
    """Say which groups differ if suspected rows belong together, unless they are the same groups."""
    if isinstance(evidence, SummedRows) or evidence.suspected is None:
        return
    then = slice_tables.slices_if_clustered(evidence, cuts, table.fdr)
    if then.differences().keys() != table.differences().keys():
        found = slice_tables.suspected_within(evidence, cuts[0]) or evidence.suspected
        words, rows = then.words(), found.rows
        yield (
            f"{rows[0].upper()}{rows[1:]} are right or wrong together. If they belong together, "
            f"{words[0].lower()}{words[1:]}: {cluster_option(found.column)} or --independent decides."
        )


@dataclass(frozen=True)
class SlicesData:
    file: str
    n_samples: int
    weighted: bool  #: Whether rows have weights
    about: slice_tables.SliceTable = field(metadata=parts("notion fdr level"))
    groups: slice_tables.SliceTable  #: The clearest difference from all other rows first


def slices(options: Namespace) -> Output[SlicesData]:
    """Assess the groups of further columns of the evaluation rows, and compare the groups of each column."""
    found = assessed(options)
    evidence = found.evidence
    columns: list[Any] = (
        _summed_columns(evidence, options)
        if isinstance(evidence, SummedRows)
        else _cut_columns(evidence, options.by, options.cut)
    )
    by_class = isinstance(evidence, Rows) and evidence.notion == "top-label"
    about: dict[str, Any] = {"notion": "top-label" if by_class else "confidence", "n_bins": options.n_bins}
    redraws = chosen(options, "fdr pairs n_resamples random_state")
    table = slice_tables.slices(evidence, groups=columns, **about, **redraws)
    texts = table.texts()
    texts["Difference"] = texts["Lower"] + " to " + texts["Upper"]
    shown = _SLICES_OF_EVENT if evidence.kind == "binary" else _SLICES_SHOWN
    texts = texts[[slice_tables.SLICE_COLUMNS[name][0] for name in shown]]
    lines = [
        *found.notes,
        f"{table.words()}.",
        *_if_clustered(evidence, columns, table),
        "",
        *table_lines(texts.head(options.rows)),
    ]
    lines += [f"{len(table) - options.rows:,} more groups: --rows"] if len(table) > options.rows else []
    apart = [f"{column} {group}: {words}" for (column, group), words in table.differences().items()]
    lines += ["", *apart[:MOST_NAMED]] if apart else []
    data = SlicesData(str(options.file), evidence.n_samples, evidence.is_weighted, table, table)
    return Output("\n".join(lines), data)


@dataclass(frozen=True)
class CentresData:
    file: str
    n_samples: int
    across: Sequence[risks.AcrossCentres]  #: O/E, in the large and slope; empty for fewer than 5 centres
    centres: risks.CentreTable


def centres(options: Namespace) -> Output[CentresData]:
    """Assess P(Y = 1) of the evaluation rows in each centre of a further column, and over the centres."""
    found = assessed(options, rows_only=True)
    rows = found.rows
    table = risks.calibration_by_centre(rows, centre=options.by)
    lines = [*found.notes, *table.lines, "", *table_lines(table.texts())]
    data = CentresData(str(options.file), rows.n_samples, table.across, table)
    return Output("\n".join(lines), data)


@dataclass(frozen=True)
class ReportData:
    output: str  #: Page written
    bytes: int  #: Its size
    calibrators: Sequence[str]


def report(options: Namespace) -> Output[ReportData]:
    """Write one self-contained HTML page about the evaluation rows and calibrators."""
    summary = summary_of(options)
    about = _reported(options) if summary is None else ReportInput(summary, settings={"Calibration": "none"})
    about = replace(
        about,
        title=Path(getattr(options.file, "name", options.file)).name,
        settings={"Command": f"calib report {shlex.join(options.arguments)}", **about.settings},
        **chosen(options, BINS_AND_REDRAWS),
    )
    content = report_html(about).encode(errors="backslashreplace")  # names of files need not be UTF-8
    size = f"({len(content) / 1e6:.1f} MB), {about.evaluation.n_samples:,} rows"
    data = ReportData(options.output, len(content), list(about.calibrators))
    return Output(f"{deliver(options.output, content)} {size}", data)


def _reported(options: Namespace) -> ReportInput:
    """Return the rows of the file, and the calibrators, which come from files or are fitted on other rows."""
    file_rows = read_rows(options, examined=True)
    calibration, rows = file_rows.calibration, file_rows.evaluation
    source = "calibration rows named by the file" if calibration is not None else "none"
    examinations = file_rows.examinations
    if calibration is None and options.split:
        calibration, rows = rows.split(options.split, options.random_state)
        source = f"a stratified {options.split:.0%} of the file's rows, seed {options.random_state}"
        examinations = dict(zip(("all",), examinations.values(), strict=False))
    calibrators: dict[str, Any] = {}
    for file in options.calibrator:
        calibrator = load_calibrator(file)
        order, rows = rows.class_names, aligned(rows, calibrator)
        if calibrators and rows.class_names != order:
            raise InputError(f"{Path(file).name} has another order of classes than the calibrator before it")
        calibrators[f"{catalogue.name_of(calibrator)} ({Path(file).name})"] = calibrator
    if calibration is not None:
        rows, calibration = in_common_classes(rows, calibration)
        methods = catalogue.methods_of_kind(kind_of(rows), None, options.points_per_bin)
        for name in [name for name in catalogue.REPORTED if name in methods] or list(methods)[:3]:
            calibrators[name] = fit_on(methods[name], calibration)
    settings = {"Calibration": source}
    return ReportInput(rows, calibrators, calibration, examinations=examinations, settings=settings)


@dataclass(frozen=True)
class TablesData:
    table: model_tables.ModelComparison = field(metadata=parts("models methods n_calibration n_evaluation"))
    words: str  #: Which models have the lowest Brier score
    notes: Sequence[str]  #: What is marked, and which numbers cannot be compared
    numbers: Sequence[model_tables.ModelNumber]


@dataclass(frozen=True)
class SweepData:
    swept: ModelSweeps = field(metadata=parts("models methods"))
    numbers: Sequence[SweptNumber]


def tables(options: Namespace) -> Output[TablesData | SweepData]:
    """Compare the models of one or several files, each before and after every method."""
    target = None if options.output is None else Path(options.output).suffix.lower()
    endings = (".csv", ".html") if options.sweep else (".csv", ".md", ".tex")
    if target not in (None, *endings):
        expected = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise InputError(f"--output must end in {expected}; got {Path(options.output).name!r}")
    models: dict[str, Any] = {}
    for file in options.files:
        for name, rows in _models_of(file, options).items():
            if name in models:
                raise InputError(f"two models are named {name!r}; rename a file, or the model inside it")
            has_parts = rows.calibration is not None
            models[name] = (rows.calibration, rows.evaluation) if has_parts else rows.evaluation
    methods = (
        catalogue.PAPER if options.methods is None else [name for name in options.methods.split(",") if name]
    )
    if options.sweep:
        return _swept(models, methods, options)
    with progress_line() as progress:
        asked = chosen(options, BINS_AND_REDRAWS)
        table = model_tables.compare_models(
            models, methods, calibration=options.split, progress=progress, **asked
        )
    lines = [
        f"{table.n_calibration:,} rows to fit on, {table.n_evaluation:,} to assess",
        table.words(),
        "",
        *table_lines(table.texts()),
        "*: better than the base model; !: worse",
        *table.notes(),
    ]
    if target is not None:
        csv = write_csv(table.wide()) if target == ".csv" else b""
        content = csv or (table.markdown() if target == ".md" else table.latex()).encode()
        lines.append(deliver(options.output, content))
    data = TablesData(table, table.words(), table.notes(), table.numbers)
    return Output("\n".join(lines), data)


def _models_of(file: Any, options: Namespace) -> dict[str, FileRows]:
    options = changed(options, file=file)
    try:
        return {Path(file).stem: read_rows(options)}
    except ChoiceError as error:
        models = models_in(error.choices)
        if not models:
            raise
    return {name: read_rows(changed(options, **{option: name})) for name, option in models.items()}


def _swept(models: Mapping[str, Any], methods: Iterable[str], options: Namespace) -> Output[SweepData]:
    redraws = chosen(options, "n_resamples random_state")
    with progress_line() as progress:
        swept = sweep_models(models, methods, calibration=options.split, progress=progress, **redraws)
    ends = swept.frame().groupby(["title", "model", "method"], sort=False)["value"].agg(["min", "max"])
    lines = [
        "smallest and largest error for 5 to 25 bins; noise adds more to an error with more bins",
        *table_lines(ends.round(4).reset_index()),
    ]
    if options.output is not None:
        alt = "Errors of every model and method against the number of bins"
        figure = figure_html(draw_model_sweeps(swept), "sweep", alt)
        is_page = options.output.lower().endswith(".html")
        whole = page(alt, figure, plotly_script()).encode() if is_page else b""
        lines.append(deliver(options.output, whole or write_csv(swept.frame())))
    return Output("\n".join(lines), SweepData(swept, rows_of(SweptNumber, swept.frame())))


def _compared(methods: Mapping[str, Evidence], n_bins: int) -> tuple[list[MethodData], pd.DataFrame]:
    """Return the numbers of every method, the base model first, and their table."""
    board = model_tables.compare_methods(methods, n_bins=n_bins)
    found = []
    for position, entry in enumerate(board.entries):
        assert entry.metrics is not None, "no method was fitted here"
        improvement = board.improvements.get(entry.name, {}) if position else {}
        about = str(entry.metrics.strategy), entry.metrics.values, entry.intervals
        found.append(MethodData(entry.metrics, *about, improvement))
    return found, board.metric_texts()[list(methods)]
