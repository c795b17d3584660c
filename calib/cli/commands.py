"""The commands: each takes parsed options and returns text, data and an exit code."""

from __future__ import annotations

import csv
import shlex
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.answers.advice import Candidate, Recommendation
from calib.answers.advice import recommend as recommend_calibrator
from calib.answers.calibrated import applied_frame, assessment_strategy, calibrated_scores, fit_on
from calib.answers.conclusion import Conclusion, conclude
from calib.answers.costly_actions import ActionCosts, choose_actions
from calib.answers.cuts import MOST_CODES, Cut, cut_column, parse_cuts
from calib.answers.decision_rules import DecisionRule, RuleEffect
from calib.answers.decision_rules import decide as choose_rule
from calib.answers.folds import FoldNumber, fold_errors, fold_texts
from calib.answers.gaps import SliceGaps, slice_gaps
from calib.answers.gate import GateResult
from calib.answers.gate import gate as compare_with_limits
from calib.answers.leaderboard import Entry, Leaderboard, row_losses
from calib.answers.metric_tables import BASE, HOW_SURE, Metrics, interval_texts, metric_intervals
from calib.answers.metric_tables import metrics as compute_metrics
from calib.answers.model_tables import ModelComparison, ModelNumber, compare_models
from calib.answers.noise_tests import BinlessTests, FloorNumbers, noise_tests
from calib.answers.slice_tables import SliceTable
from calib.answers.slice_tables import slices as assess_slices
from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.results import parts
from calib.calibrators.catalogue import (
    BINARY,
    PAPER,
    REPORTED,
    for_kind,
    make_calibrator,
    methods_of_kind,
    name_of,
)
from calib.calibrators.label_shift import (
    LabelShift,
    LabelShiftCorrection,
    as_shares,
    known_shift,
    with_weights,
)
from calib.calibrators.multiclass import fallback_records, fallback_words
from calib.calibrators.softmax_fit import fit_words
from calib.cli.input import (
    FileRows,
    FitData,
    Output,
    calibrator_for,
    calibrator_options,
    changed,
    chosen,
    evidence_to_assess,
    further_column,
    numbers_by_name,
    read_rows,
    rows_to_assess,
    size_words,
    summary_of,
)
from calib.cli.json_data import rows_of
from calib.cli.light import serve
from calib.cli.streams import deliver, is_piped, progress_line
from calib.data.equal_rows import overlap
from calib.data.kinds import check_equal_rows, kind_of, lacks
from calib.data.notions import TOP_NOTIONS, Strategy
from calib.data.predictions import Announcement, in_common_classes, weight_words
from calib.data.splits import FOLD, column_of
from calib.diagrams.model_sweeps import ModelSweeps, SweptNumber, draw_model_sweeps, sweep_models
from calib.diagrams.style import figure_html, plotly_script
from calib.evidence.reductions import cluster_codes, top_label
from calib.evidence.rows import as_evidence
from calib.evidence.sums import SummedRows
from calib.files.readers.roles import ChoiceError, models_in
from calib.files.readers.writing import write_csv
from calib.files.saved.document import aligned, dumps, load_calibrator, loads
from calib.files.saved.project import Project
from calib.report.html import page
from calib.report.sections import ReportInput, report_html
from calib.stats.effective import dependence_words
from calib.stats.measures import MEASURES

#: Options of what is computed in bins and compared with redraws.
BINS_AND_REDRAWS = "n_bins n_resamples random_state"
#: Numbers of each method, and what each is about.
REPORTED_NUMBERS = {key: measure.about for key, measure in MEASURES.items() if measure.listed}


@dataclass(frozen=True)
class ImprovementData:
    value: float  #: Base model's score minus the method's
    #: Its paired 95 % interval
    lower: float
    upper: float


@dataclass(frozen=True)
class MethodData:
    metrics: Metrics = field(metadata=parts("method n_samples n_bins n_distinct kind weighted"))
    strategy: str  #: How scores are binned
    values: Mapping[str, float | None] = field(metadata={"parts": REPORTED_NUMBERS})
    intervals: Mapping[str, tuple[float, float]]  #: 95 % intervals of the numbers
    improvement: Mapping[str, ImprovementData]  #: Against the base model, by score


@dataclass(frozen=True)
class TestedMethodData(MethodData):
    noise: Mapping[str, FloorNumbers]  #: By notion, or "binary"
    without_bins: BinlessTests  #: Empty for --resamples 0 and for rows that do not allow it


@dataclass(frozen=True)
class ConclusionData:
    words: str
    conclusion: Conclusion = field(metadata=parts("direction level gaps"))


@dataclass(frozen=True)
class MetricsData:
    file: str
    rows: SummedRows | Announcement = field(metadata=parts("kind n_samples coverage fingerprint"))
    n_classes: int | None
    methods: Sequence[TestedMethodData]  #: The base model, and the calibrator if there is one
    folds: Sequence[FoldNumber]
    conclusion: ConclusionData


def metrics(options: Namespace) -> Output[MetricsData]:
    """Assess the evaluation rows of a file, or a summary, before and after a calibrator, if there is one."""
    fixed: list[str] = []
    rows = evidence_to_assess(options, fixed)
    notes = [size_words(rows), *fixed]
    sources: dict[str, Any] = {BASE: rows}
    if options.calibrator:
        calibrator, rows, _ = calibrator_for(options.calibrator, rows, notes)
        sources = {BASE: rows, name_of(calibrator): calibrator}
    methods = [_Assessed(name, rows, source, options.n_bins) for name, source in sources.items()]
    tested = [
        noise_tests(rows, method.scores, strategy=method.strategy, **chosen(options, BINS_AND_REDRAWS))
        for method in methods
    ]
    assessed = [
        TestedMethodData(**vars(numbers), noise=tests.numbers(), without_bins=tests.without_bins)
        for numbers, tests in zip(_data(methods), tested, strict=True)
    ]
    named = [(method.name, tests) for method, tests in zip(methods, tested, strict=True)]
    verdicts = [f"{name}: {line}" for name, tests in named for line in tests.verdicts]
    verdicts += [f"{name}: {line}" for name, tests in named for line in tests.sentences]
    folds = _folds(rows, options)
    conclusion = conclude(rows.labels, rows, n_bins=options.n_bins, sample_weight=rows.sample_weight)
    floors = tested[0].floors
    floor = floors.get(kind_of(rows).notion) or next(iter(floors.values()), None)
    words = conclusion.words(rows.class_names, floor)
    data = MetricsData(
        str(options.file),
        rows,
        getattr(rows, "n_classes", None),
        assessed,
        rows_of(FoldNumber, folds),
        ConclusionData(words, conclusion),
    )
    if len(folds):
        head = "by fold, on rows that the model of the fold was not fitted on; errors with their noise floor:"
        verdicts += ["", head, *fold_texts(folds).to_string().splitlines()]
    return Output("\n".join([*notes, words, "", *_table(methods), "", *verdicts]), data)


def _folds(rows: Any, options: Namespace) -> pd.DataFrame:
    if isinstance(rows, SummedRows) or column_of(rows, FOLD) is None:
        return pd.DataFrame()
    return fold_errors(rows, **chosen(options, BINS_AND_REDRAWS))


@dataclass(frozen=True)
class EvaluatedFitData(FitData):
    weighted: bool  #: Whether calibration rows have weights
    n_evaluation: int  #: Other rows; the methods are compared on them
    methods: Sequence[MethodData]  #: The base model and the calibrator; empty if other rows have no labels


def fit(options: Namespace) -> Output[EvaluatedFitData]:
    """Fit a calibrator on the calibration rows, write its file, and compare on the evaluation rows."""
    if options.n_bins is not None and options.points_per_bin is not None:
        raise InputError("--n-bins and --points-per-bin exclude each other; give one of the two")
    file_rows = read_rows(options)
    if options.evaluate:
        calibration, source = file_rows.calibration or file_rows.evaluation, "rows of the file"
        second_file = changed(options, file=options.evaluate, labels=None)
        calibration, unseen = in_common_classes(calibration, read_rows(second_file).evaluation)
    else:
        calibration, unseen, source = file_rows.divided(options)
    if calibration.labels is None:
        raise InputError("fit needs true labels; give them in the file or with --labels")
    parameters, column = calibrator_options(options)
    groups = None if column is None else _groups_in(column, calibration)
    kind = kind_of(calibration)
    if kind.name == "multilabel" and options.method in BINARY and parameters["notion"] is None:
        parameters["notion"] = kind.notion
    calibrator = make_calibrator(options.method, **parameters)
    calibrator = fit_on(for_kind(calibrator, kind), calibration, groups=groups)
    content = dumps(calibrator, fitted_on=calibration, log=file_rows.log)
    about_fit = fit_words(calibrator)
    calibrator = loads(content)
    notes = [f"{name_of(calibrator)} fitted on {calibration.n_samples:,} rows: {source}", *about_fit]
    notes += filter(None, [dependence_words(calibration)])
    if calibration.sample_weight is not None:
        notes.append(f"rows are {weight_words(calibration.sample_weight)}; no guarantee holds with weights")
    fallbacks = fallback_records(calibrator, calibration.class_names)
    notes += fallback_words(fallbacks)
    methods: list[_Assessed] = []
    if unseen is not None and unseen.labels is not None:
        unseen = aligned(unseen, calibrator)
        if (again := overlap(unseen, calibrator)) is not None:
            notes.append(f"warning: {again.words}; assess the calibrator on other rows")
        methods = [
            _Assessed("before", unseen, unseen, options.bins),
            _Assessed(name_of(calibrator), unseen, calibrator, options.bins),
        ]
        notes += ["", f"on {unseen.n_samples:,} other rows:", *_table(methods), ""]
    deliver(options.output, content)
    notes.append(f"wrote {options.output}")
    weighted, n_evaluation = calibration.sample_weight is not None, 0 if unseen is None else unseen.n_samples
    fitted = str(options.output), name_of(calibrator), calibration.n_samples, fallbacks
    data = EvaluatedFitData(*fitted, weighted, n_evaluation, _data(methods))
    return Output("\n".join(notes), data)


def _groups_in(column: str, rows: Announcement) -> pd.Series:
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
    calibrator, rows, _ = calibrator_for(options.calibrator, rows, notes)
    shares = None
    if any((options.label_shift, options.calibration, options.target_shares, options.training_shares)):
        calibrator, shift = _corrected(calibrator, rows, options)
        notes.append(shift.words(rows.class_names))
        shares = [
            {str(head): cell for head, cell in row.items()}
            for row in shift.frame(rows.class_names).to_dict("records")
        ]
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
    notes.append(f"wrote {len(frame):,} rows to {target}; the predicted class changes in {changed:,}")
    return Output("\n".join(notes), ApplyData(str(target), len(frame), changed, list(frame.columns), shares))


def _corrected(calibrator: Any, rows: Any, options: Namespace) -> tuple[Any, LabelShift]:
    if bool(options.label_shift) == bool(options.target_shares):
        raise InputError("pass --label-shift em or bbse to estimate class shares, or --target-shares")
    if bool(options.calibration) == bool(options.training_shares):
        raise InputError("give the class shares before: --calibration FILE with labels, or --training-shares")
    whole = hasattr(calibrator, "predict_proba") and rows.kind == "vectors"
    if not whole and not (rows.kind == "binary" and options.training_shares and options.target_shares):
        raise InputError(
            "--label-shift and --target-shares need a calibrator that gives a probability for every class: a "
            "scaling, or class-wise calibration with --normalize; P(Y = 1) takes known shares alone"
        )
    known = {
        name: as_shares(shares, len(rows.class_names), rows.class_names, f"--{name}-shares")
        for name, texts in (("target", options.target_shares), ("training", options.training_shares))
        for shares in [numbers_by_name(texts or (), "a class and its share, such as fraud=0.01")]
        if texts
    }
    if len(known) == 2:
        shift = known_shift(known["training"], known["target"], rows.n_samples)
        return with_weights(calibrator, shift), shift
    correction = LabelShiftCorrection(
        method=options.label_shift or "em",
        target_shares=known.get("target"),
        training_shares=known.get("training"),
    )
    proba, labels = calibrator.predict_proba(rows.proba), None
    fitted_on = proba
    if options.calibration:
        others = {"labels": None, "fix": "", "part": None, "format": None}
        earlier = read_rows(changed(options, file=options.calibration, **others))
        labelled = aligned(earlier.calibration or earlier.evaluation, calibrator)
        check_equal_rows(labelled, "The correction for label shift")
        fitted_on, labels = calibrator.predict_proba(labelled.proba), labelled.labels
    shift = correction.fit(fitted_on, labels).adapt(proba)
    return with_weights(calibrator, shift), shift


@dataclass(frozen=True)
class RecommendData:
    file: str
    advice: Recommendation = field(metadata=parts("name reason left_out"))
    n_calibration: int  #: Calibration rows
    weighted: bool  #: Whether they have weights
    candidates: Sequence[Candidate]  #: Lowest loss first


def recommend(options: Namespace) -> Output[RecommendData]:
    """Recommend one calibrator, or none, by cross-validation on the calibration rows."""
    file_rows = read_rows(options)
    rows, _, source = file_rows.divided(options)
    asked: dict[str, Any] = {"score": options.loss, "random_state": options.random_state}
    with progress_line() as progress:
        advice = recommend_calibrator(rows, rows.labels, **asked, progress=progress)
    weighted = rows.sample_weight is not None
    lines = [f"{rows.n_samples:,} rows: {source}", advice.reason, ""]
    if weighted:
        lines.insert(1, f"rows are {weight_words(rows.sample_weight)}")
    if worth := dependence_words(rows):
        lines.insert(1, worth)
    line = "{:<20}{:>10}{:>10}{:>34}{:>16}".format
    lines.append(line("", "Brier", "log loss", "improvement (interval)", "fitted numbers"))
    for name, brier, log_loss, *change, numbers in advice.table.itertuples(index=False):
        improvement = with_interval(*change, sign="+")
        lines.append(line(name, f"{brier:.4f}", f"{log_loss:.4f}", improvement, f"{numbers:,}"))
    lines += [f"left out: {name}, because {why}" for name, why in advice.left_out.items()]
    candidates = rows_of(Candidate, advice.table)
    data = RecommendData(str(options.file), advice, rows.n_samples, weighted, candidates)
    if options.output and advice.calibrator is not None:
        among = len(advice.tried)
        content = dumps(advice.calibrator, fitted_on=rows, log=file_rows.log, choices=among)
        deliver(options.output, content)
        lines.append(f"wrote {options.output}")
    return Output("\n".join(lines), data)


@dataclass(frozen=True)
class GateData:
    file: str
    n_samples: int
    weighted: bool  #: Whether rows have weights
    result: GateResult = field(metadata=parts("passed answer sentence checks"))


def gate(options: Namespace) -> Output[GateData]:
    """Compare the evaluation rows with limits; exit code 1 if one is broken or, with --strict, undecided."""
    rows = evidence_to_assess(options)
    scores: Any = rows
    calibrator = rule = used = None
    if options.calibrator:
        calibrator, rows, used = calibrator_for(options.calibrator, rows, [])
        rule = getattr(calibrator, "rule_", None)
        scores = calibrated_scores(calibrator, rows)
    strategy = assessment_strategy(rows, calibrator)
    groups = _groups_of(rows, scores, options) if options.by else None
    limits = "a limit as metric=number, such as tl_ece=0.03"
    most, least = (numbers_by_name(texts, limits) for texts in (options.max, options.min))
    baseline = None
    if options.baseline is not None:  # read as the file, with its own columns
        baseline = evidence_to_assess(changed(options, file=options.baseline, labels=None, calibrator=None))
    result = compare_with_limits(
        rows.labels,
        scores,
        groups=groups,
        most=most,
        least=least,
        baseline=baseline,
        strategy=strategy,
        sample_weight=rows.sample_weight,
        cluster=rows.cluster,
        rule=rule,
        overlap=used,
        **chosen(options, f"strict level {BINS_AND_REDRAWS}"),
    )
    weighted = rows.is_weighted if isinstance(rows, SummedRows) else rows.sample_weight is not None
    data = GateData(str(options.file), rows.n_samples, weighted, result)
    note = f" (rows are {weight_words(rows.sample_weight)})" if rows.sample_weight is not None else ""
    if not isinstance(rows, SummedRows) and (worth := dependence_words(rows)):
        note += f" ({worth})"
    for output, write in ((options.junit, result.junit), (options.markdown, result.markdown)):
        if output:
            deliver(output, write().encode())
    return Output(result.sentence + note, data, 0 if result.passed else 1)


def _groups_of(rows: Any, scores: Any, options: Namespace) -> dict[str, np.ndarray]:
    """Return the group of each row, as text, by predicted class and by the columns that options name."""
    if isinstance(rows, SummedRows):
        return dict.fromkeys(_summed_columns(rows, options), np.zeros(0))
    groups = {}
    columns = [name for name in options.by if name != "class"]
    if len(columns) < len(options.by):
        if (missing := lacks(kind_of(scores), "notion:top-label")) is not None:
            raise InputError(missing)
        names = np.array(rows.class_names, dtype=object)
        groups["class"] = names[top_label(scores)[0]]
    for cut in _cut_columns(rows, columns, options.cut):
        groups[cut.name] = np.array(cut.groups, dtype=object)[cut.code]
    return groups


def _summed_columns(summary: SummedRows, options: Namespace) -> list[str]:
    if options.cut:
        raise InputError("--cut needs the rows, and a summary holds sums of groups; pass the rows")
    for name in options.by:
        if name == "class" and name not in summary.by:
            raise InputError("--by class needs the rows, and a summary has groups of columns; pass the rows")
        summary.groups(name)
    return list(options.by)


def _cut_columns(rows: Any, names: Sequence[str], cuts: Sequence[str]) -> list[Cut]:
    at = parse_cuts(cuts, names)
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
    lines = [
        f"{what:<{width}}  {line}"
        for what, holds in frame.itertuples(index=False)
        for line in str(holds).splitlines()
    ]
    return Output("\n".join(lines), OpenData(str(options.file), rows_of(HeldData, frame)))


@dataclass(frozen=True)
class DecideData:
    file: str
    target: Mapping[str, float]  #: "accuracy", "reviews" or "cost", and its value
    rule: DecisionRule = field(metadata=parts("by alpha sentence guarantee"))
    rows_needed: int | None  #: About how many rows would support the accuracy, if more would
    thresholds: Mapping[str, float]  #: By class, or for "all classes"; null: nothing is accepted
    effect: RuleEffect = field(metadata=parts("n_samples n_accepted n_wrong accuracy lower upper cost"))


@dataclass(frozen=True)
class CostsData:
    file: str
    best: ActionCosts = field(metadata=parts("sentence cost lower upper level saved saved_lower saved_upper"))
    alone: str  #: The action that costs least if all rows get the same
    rows: Mapping[str, Mapping[str, int]]  #: Rows by true class and action


def decide(options: Namespace) -> Output[DecideData | CostsData]:
    """Choose thresholds on the evaluation rows: which predictions may pass without a person."""
    fixed: list[str] = []
    rows = rows_to_assess(options, fixed)
    check_equal_rows(rows, "A rule of acceptance")
    scores: Any = rows
    if options.output and not options.calibrator:
        raise InputError("--output writes a calibrator file with the rule in it; add --calibrator CAL.JSON")
    used = None
    if options.calibrator:
        calibrator, rows, used = calibrator_for(options.calibrator, rows, fixed if options.costs else [])
        scores = calibrated_scores(calibrator, rows)
    if options.costs:
        return _costs(options, rows, scores, fixed)
    asked = chosen(options, "accuracy recall reviews cost by promise alpha")
    rule = choose_rule(rows.labels, scores, **asked, cluster=rows.cluster, overlap=used)
    table = rule.frame()
    names = ["all classes"] if rule.by is None else [rows.class_names[code] for code in table["label"]]
    width = max(map(len, names))
    lines = [*fixed, rule.sentence, ""]
    lines += [
        f"{name:<{width}}  {'nothing accepted' if np.isinf(threshold) else f'{threshold:.6f}'}"
        for name, threshold in zip(names, table["threshold"], strict=True)
    ]
    if options.output:
        deliver(options.output, dumps(rule.carried_by(calibrator)))
        lines.append(f"wrote {options.output}")
    thresholds = dict(zip(names, rule.thresholds.tolist(), strict=True))
    target: dict[str, float] = {rule.target: rule.value}
    data = DecideData(str(options.file), target, rule, rule.needed, thresholds, rule.effect)
    return Output("\n".join(lines), data)


def _costs(options: Namespace, rows: Any, scores: Any, fixed: list[str]) -> Output[CostsData]:
    with Path(options.costs).open(newline="", encoding="utf-8-sig") as file:
        head, *lines = [line for line in csv.reader(file) if line] or [[]]
    given = {name: costs for name, *costs in lines}
    if missing := [name for name in rows.class_names if name not in given]:
        raise InputError(f"{options.costs} must have a line for each class; none begins with {missing[0]!r}")
    found = choose_actions(
        rows.labels,
        scores,
        [given[name] for name in rows.class_names],
        actions=head[1:],
        cluster=rows.cluster,
    )
    table = found.frame(rows.class_names)
    counts: Any = table.T.to_dict()
    data = CostsData(str(options.file), found, found.actions[found.alone], counts)
    return Output("\n".join([*fixed, found.sentence, "", table.rename_axis("class").to_string()]), data)


@dataclass(frozen=True)
class SlicesData:
    file: str
    n_samples: int
    weighted: bool  #: Whether rows have weights
    about: SliceTable = field(metadata=parts("notion fdr"))
    groups: SliceTable  #: The clearest evidence of miscalibration first
    gaps: Mapping[str, SliceGaps]  #: Each group against all other rows, by column


def slices(options: Namespace) -> Output[SlicesData]:
    """Assess the groups of further columns of the evaluation rows, and compare the groups of each column."""
    rows = evidence_to_assess(options)
    is_summed = isinstance(rows, SummedRows)
    columns: Any = (
        _summed_columns(rows, options) if is_summed else _cut_columns(rows, options.by, options.cut)
    )
    scores: Any = rows
    notes: list[str] = []
    if options.calibrator:
        calibrator, rows, _ = calibrator_for(options.calibrator, rows, notes)
        scores = calibrated_scores(calibrator, rows)
    notion = kind_of(rows).notion
    about: dict[str, Any] = {
        "notion": notion if notion in TOP_NOTIONS and not is_summed else "confidence",
        "n_bins": options.n_bins,
        "sample_weight": rows.sample_weight,
        "cluster": None if is_summed else rows.cluster,
    }
    redraws = chosen(options, "fdr pairs n_resamples random_state")
    table = assess_slices(rows.labels, scores, columns, **about, **redraws)
    if is_summed:
        several = {name: name for name in columns if len(rows.groups(name).present) > 1}
    else:
        several = {cut.name: cut for cut in columns if len(np.unique(cut.code)) > 1}
    gaps = {name: slice_gaps(rows.labels, scores, column, **about) for name, column in several.items()}
    texts = table.texts().head(options.rows)
    lines = [size_words(rows), *notes, f"{table.words()}.", "", *texts.to_string(index=False).splitlines()]
    lines += [f"{len(table) - len(texts):,} more groups: --rows"] if len(table) > len(texts) else []
    for name, rest in gaps.items():
        apart = [f"{name} {group}: {words}" for group, words in rest.words().items()]
        none = f"{name}: no group has a gap that is distinguishable from all other rows'; {rest.hidden}"
        lines += ["", *(apart[: options.rows] or [none])]
    weighted = rows.is_weighted if is_summed else rows.sample_weight is not None
    data = SlicesData(str(options.file), rows.n_samples, weighted, table, table, gaps)
    return Output("\n".join(lines), data)


@dataclass(frozen=True)
class ReportData:
    output: str  #: Page written
    bytes: int  #: Its size
    calibrators: Sequence[str]


def report(options: Namespace) -> Output[ReportData]:
    """Write one self-contained HTML page about the evaluation rows and calibrators."""
    summary = summary_of(options)
    file_rows = FileRows(None, summary, {}) if summary is not None else read_rows(options, examined=True)
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
        calibrators[f"{name_of(calibrator)} ({Path(file).name})"] = calibrator
    if calibration is not None:
        rows, calibration = in_common_classes(rows, calibration)
        methods = methods_of_kind(kind_of(rows), None, options.points_per_bin)
        for name in [name for name in REPORTED if name in methods] or list(methods)[:3]:
            calibrators[name] = fit_on(methods[name], calibration)
    command = f"calib report {shlex.join(options.arguments)}"
    html = report_html(
        ReportInput(
            rows,
            calibrators,
            calibration,
            title=Path(getattr(options.file, "name", options.file)).name,
            examinations=examinations,
            settings={"Command": command, "Calibration": source},
            **chosen(options, BINS_AND_REDRAWS),
        )
    )
    content = html.encode(errors="backslashreplace")  # names of files need not be UTF-8
    deliver(options.output, content)
    wrote = f"wrote {options.output} ({len(content) / 1e6:.1f} MB), {rows.n_samples:,} rows"
    return Output(wrote, ReportData(options.output, len(content), list(calibrators)))


@dataclass(frozen=True)
class TablesData:
    table: ModelComparison = field(metadata=parts("models methods n_calibration n_evaluation"))
    words: str  #: Which models have the lowest Brier score
    notes: Sequence[str]  #: What is marked, and which numbers cannot be compared
    numbers: Sequence[ModelNumber]


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
    methods = PAPER if options.methods is None else [name for name in options.methods.split(",") if name]
    if options.sweep:
        return _swept(models, methods, options)
    with progress_line() as progress:
        asked = chosen(options, BINS_AND_REDRAWS)
        table = compare_models(models, methods, calibration=options.split, progress=progress, **asked)
    lines = [
        f"{table.n_calibration:,} rows to fit on, {table.n_evaluation:,} to assess",
        table.words(),
        "",
        *table.texts().to_string(index=False).splitlines(),
        "*: better than the base; !: worse",
        *table.notes(),
    ]
    if target is not None:
        csv = write_csv(table.wide()) if target == ".csv" else b""
        deliver(options.output, csv or (table.markdown() if target == ".md" else table.latex()).encode())
        lines.append(f"wrote {options.output}")
    data = TablesData(table, table.words(), table.notes(), rows_of(ModelNumber, table.frame()))
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
        *ends.round(4).reset_index().to_string(index=False).splitlines(),
    ]
    if options.output is not None:
        alt = "Errors of every model and method against the number of bins"
        figure = figure_html(draw_model_sweeps(swept), "sweep", alt)
        is_page = options.output.lower().endswith(".html")
        whole = page(alt, figure, plotly_script()).encode() if is_page else b""
        deliver(options.output, whole or write_csv(swept.frame()))
        lines.append(f"wrote {options.output}")
    return Output("\n".join(lines), SweepData(swept, rows_of(SweptNumber, swept.frame())))


class _Assessed:
    """The base model or a fitted calibrator on labelled rows: numbers, intervals and losses of the rows."""

    def __init__(self, name: str, rows: Any, source: Any, n_bins: int) -> None:
        is_base = source is rows
        self.name = name
        self.scores = source if is_base else calibrated_scores(source, rows)
        self.strategy: Strategy = assessment_strategy(rows, None if is_base else source)
        self.weights = rows.sample_weight
        is_summed = isinstance(rows, SummedRows)
        self.cluster = None if is_summed else cluster_codes(rows, rows.sample_weight, None)
        options: dict[str, Any] = {"method": name, "n_bins": n_bins, "strategy": self.strategy}
        evidence = as_evidence(rows.labels, self.scores, self.weights, rows.cluster)
        self.metrics = compute_metrics(None, evidence, **options)
        self.intervals = metric_intervals(None, evidence, self.metrics)
        self.entry = Entry(name, self.metrics, **row_losses(self.scores, rows, self.cluster))


def _leaderboard(methods: Sequence[_Assessed]) -> Leaderboard:
    first = methods[0] if methods else None
    weighting = (None, None) if first is None else (first.weights, first.cluster)
    return Leaderboard(tuple(method.entry for method in methods), *weighting)


def _data(methods: Sequence[_Assessed]) -> list[MethodData]:
    improved, found = _leaderboard(methods).improvements, []
    for position, method in enumerate(methods):
        changes = improved[method.name] if position else {}
        improvement = {metric: ImprovementData(*numbers) for metric, numbers in changes.items()}
        about = method.metrics, str(method.strategy), method.metrics.values, method.intervals
        found.append(MethodData(*about, improvement))
    return found


def _table(methods: Sequence[_Assessed]) -> list[str]:
    board = _leaderboard(methods)
    texts = interval_texts([method.metrics for method in methods], [method.intervals for method in methods])
    if len(methods) > 1:
        texts = pd.concat([board.improvement_texts()[texts.columns], texts])
    rows = [["", *texts.columns], *texts.itertuples()]
    wide = [max(30, *(len(cell) + 2 for cell in cells)) for cells in list(zip(*rows, strict=True))[1:]]
    lines = [
        f"{head:<22}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, wide, strict=True))
        for head, *cells in rows
    ]
    return [*lines, HOW_SURE]
