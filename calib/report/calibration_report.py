"""The report of labelled predictions: its numbers in a notebook, and a page to read, keep and reproduce.

Each section of the page is a list of blocks of HTML: one sentence, a figure, the numbers behind it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

import calib.diagrams as diagrams
from calib.answers.calibrated import used_rows
from calib.answers.conclusion import Conclusion, NoiseTests, conclude, with_whole_vectors
from calib.answers.decision_curves import decision_curve
from calib.answers.guarantee_cards import GuaranteeCard, guarantee_card
from calib.answers.metric_tables import BASE, INTERVALS_NOTE, how_assessed, methods_of, metric_frame
from calib.answers.model_tables import HOW_RANKED, ModelComparison, compare_methods, compare_models
from calib.answers.risks import EVENT_INTERVALS, MIN_CENTRES, calibration_by_centre, risk
from calib.answers.slice_tables import further_groups
from calib.base.exceptions import InputError
from calib.base.outputs import check_output, write_whole
from calib.base.results import Result
from calib.base.version import __version__
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.catalogue import name_of
from calib.calibrators.multiclass import MulticlassToBinary, as_multiclass
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.equal_rows import overlap
from calib.data.kinds import Kind, kind_of, lacks, needs_rows, notions_of
from calib.data.notions import TOP_NOTIONS, Notion
from calib.data.predictions import BasePrediction, Scores, Values, effective_words
from calib.diagrams.bin_sweep import ece_sweep, sweep_words
from calib.diagrams.class_tables import CLASS_COLUMNS, class_table
from calib.diagrams.living_picture import NUMBERS_OF_BINS, living_picture, picture_html
from calib.diagrams.reliability_diagrams import reliability_diagram, worst_cells_words
from calib.diagrams.slice_maps import class_heat
from calib.diagrams.style import Figure, figure_html, plotly_script
from calib.diagrams.validity_plots import validity_cells, validity_curve, validity_words
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Evidence, ReducedRows, Rows, Source, as_evidence
from calib.evidence.sums import SummedRows
from calib.files.findings.examination import Examination
from calib.report.html import bullets, folded, page, paragraph, section, table, text
from calib.scale.summary import Summary
from calib.stats.bands import consistency_band
from calib.stats.binless import calibration_frame, recalibration_words
from calib.stats.effective import cluster_column, dependence_words
from calib.stats.errors import accuracy
from calib.stats.floors import noise_floor, verdict
from calib.stats.measures import ECES

if TYPE_CHECKING:
    from calib.base.results import MatplotlibFigure, PlotlyFigure


#: Most classes in a table; the most important come first.
MOST_CLASSES = 1_000

#: Most classes in a figure.
MOST_DRAWN = 30

#: Most scores (rows x classes) for which the noise floor of CW-ECE is drawn, because it sorts all scores.
MOST_SCORES = 20_000_000

#: Thresholds of the table of net benefit.
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.5)

#: Most clusters that a table shows as centres.
MOST_CENTRES = 50

#: Most curves in a figure, and most methods with a reliability diagram.
MOST_CURVES, MOST_DIAGRAMS = 6, 4

#: Libraries whose versions a report states.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "plotly")


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Content of a report."""

    #: Labelled rows on which everything is assessed; or their sums, without the parts that need rows
    evaluation: BasePrediction | SummedRows
    #: Calibrators by the name to show; none may have been fitted on the evaluation rows
    calibrators: Mapping[str, BaseEstimator] = field(default_factory=dict)
    #: Rows the calibrators were fitted on; None if they are not available
    calibration: BasePrediction | None = None
    title: str = "Predictions"  #: Heading, for example the file's name
    simulated: bool = False  #: Whether the data are simulated; if so, the report says so at the top
    #: Findings about calibration and evaluation rows, by the name of the rows
    examinations: Mapping[str, Examination] = field(default_factory=dict)
    log: Sequence[str] = ()  #: Fixes that were applied before `examinations`, one line each
    #: How to reproduce the report: command, split, seed
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Equal-width bins B, redraws of the noise floors, and their seed
    n_bins: int = N_BINS
    n_resamples: int = N_RESAMPLES
    random_state: int = RANDOM_STATE
    #: By calibrator, the number of candidates among which the calibration rows chose it
    choices: Mapping[str, int] = field(default_factory=dict)
    #: Group of each evaluation row, (n,), by calibrator; default: found among the further columns
    groups: Mapping[str, Values] = field(default_factory=dict)
    #: All models on these rows, to compare; empty if there is only one
    models: Mapping[str, tuple[BasePrediction | None, BasePrediction]] = field(default_factory=dict)
    recommendation: str = ""  #: The recommendation in one sentence; "" if nothing was asked
    #: If a part of these rows fitted the calibrators: the calibrators on the other part
    repair: ReportInput | None = None

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence of the evaluation rows about the base model."""
        return as_evidence(self.evaluation)

    @cached_property
    def methods(self) -> dict[str, Evidence]:
        """Evidence of the base model and of each calibrator, by name."""
        return methods_of(self.evidence, self.calibrators, self.groups)

    @cached_property
    def board(self) -> ModelComparison:
        """Numbers of all methods."""
        return compare_methods(self.methods, n_bins=self.n_bins)

    @cached_property
    def conclusion(self) -> Conclusion:
        """The conclusion about the base model."""
        return conclude(self.evidence, **self.draws)

    @property
    def verdict(self) -> list[str]:
        """Return the conclusion in sentences, what holds if rows belong together, and which groups differ."""
        said, groups = [self.conclusion.words(self.evidence.class_names)], further_groups(self.evidence)
        differ = "" if groups is None else groups.clearest_words()
        if (suspected := self.conclusion.suspected) is not None:
            said.append(suspected.words(see="see below" if differ else "compare its groups"))
        return [*said, *([f"{differ}."] if differ else [])]

    @cached_property
    def tests(self) -> NoiseTests:
        """The single tests of the base model, with the test of whole vectors."""
        tests = self.conclusion.tests
        return with_whole_vectors(tests, self.evidence, self.random_state) if self.n_resamples else tests

    @cached_property
    def used_to_fit(self) -> list[str]:
        """A sentence for each method that was fitted on evaluation rows."""
        sentences = []
        for name, evidence in self.methods.items():
            if not isinstance(evidence, Rows):
                continue
            origins = () if name == BASE else (self.calibrators[name], self.calibration)
            seen = (overlap(self.evaluation, origin) for origin in origins)
            words = used_rows(evidence, next(filter(None, seen), None))
            if words is not None:
                sentences.append(f"{name}: {words}. Its numbers here promise nothing for new rows.")
        return sentences

    @property
    def kind(self) -> Kind:
        """Kind of the predictions; sections that need more are left out."""
        return kind_of(self.evaluation)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the classes; their codes if they have none."""
        return self.evidence.class_names or tuple(map(str, range(len(self.evidence.true))))

    @property
    def has_classes(self) -> bool:
        """Whether rows have a predicted class."""
        return lacks(self.kind, "notion:top-label") is None

    @property
    def event(self) -> str | None:
        """Name of the event whose probability the scores are; None for other kinds."""
        return self.names[1] if "event" in self.kind.has else None

    @property
    def draws(self) -> dict[str, Any]:
        """Options of all functions that redraw."""
        return {name: getattr(self, name) for name in ("n_bins", "n_resamples", "random_state")}

    @cached_property
    def cells(self) -> BinStatistics:
        """Equal-width (predicted class, bin) cells of the base model; bins if there are no classes."""
        return self.evidence.cells(n_bins=self.n_bins, strategy="uniform")


def data_section(about: ReportInput) -> list[str]:
    evidence, calibration, size = about.evidence, about.calibration, len(about.names)
    of = f"{size:,} classes" if about.has_classes else about.kind.title
    sizes = f"{evidence.n_samples:,} evaluation rows of {of}"
    if calibration is not None:
        sizes += f", {calibration.n_samples:,} calibration rows"
    note = coverage_words(about)
    if not about.has_classes:
        return [paragraph(f"{sizes}{_event_words(about)}{note}")]
    true = evidence.true
    order = np.argsort(-true, kind="stable")[:MOST_CLASSES]
    counts = {
        "True rows": true,
        "Predicted rows": np.bincount(about.cells.problem, about.cells.count, size).astype(np.int64),
    }
    if calibration is not None and calibration.labels is not None:
        counts["Calibration rows"] = np.bincount(calibration.labels, minlength=size)
    shown = {name: count[order] for name, count in counts.items()}
    if absent := int((true == 0).sum()):
        note = f" {absent:,} classes never occur as the true label.{note}"
    right = accuracy(evidence)
    return [
        paragraph(f"{sizes}; the predicted class is right in {right:.2%} of the evaluation rows.{note}"),
        table(
            pd.DataFrame({"Class": [about.names[code] for code in order], **shown}),
            dict.fromkeys(counts, ",d"),
        ),
    ]


def _event_words(about: ReportInput) -> str:
    evidence = about.evidence
    if isinstance(evidence, Rows) and "every label" in about.kind.has:
        each = evidence.labels.sum(axis=1)
        return (
            f", {evidence.labels.shape[1]:,} classes; a row has {each.mean():.3g} true classes on "
            f"average, and at most {each.max():,}."
        )
    share = float(evidence.cells(n_bins=1, strategy="uniform").mean_outcome[0])
    event = "the model is right"
    if about.event is not None:
        negative, positive = map(text, about.names)
        event = f"the class is {positive} (Y = 1; the other is {negative})"
    words = f"; {event} in {share:.2%} of the evaluation rows."
    if not about.examinations:
        return words
    fixes = (fix for found in about.examinations.values() for fix in found.fixes)
    without = sum(fix.rows[0] - fix.rows[1] for fix in fixes if fix.code == "labels_missing")
    return f"{words} Outcomes missing: {without:,} rows, left out."


def risk_section(about: ReportInput) -> list[str]:
    """Tables of P(Y = 1) in the order of TRIPOD+AI: performance, heterogeneity over centres, net benefit."""
    rows = {name: evidence for name, evidence in about.methods.items() if isinstance(evidence, Rows)}
    if about.kind.name != "binary" or not rows:
        return []
    found = {name: risk(evidence) for name, evidence in rows.items()}
    numbers = pd.DataFrame({name: each.texts() for name, each in found.items()})
    numbers["If calibrated"] = [number.calibrated for number in found[BASE].numbers]
    base, event = rows[BASE], about.names[1]
    drawn = diagrams.draw_smoothed(found[BASE].loess, found[BASE].isotonic, event=event)
    sentence = (
        f"Observed frequency of {event} against its score, smoothed, and the distribution of the scores."
    )
    benefit = "Net benefit of acting if P(Y = 1) is at least a threshold (Vickers & Elkin 2006)."
    curves = {name: decision_curve(evidence) for name, evidence in rows.items()}
    return [
        paragraph(f"In the order of TRIPOD+AI (Collins et al. 2024). {EVENT_INTERVALS}"),
        "<h3>Calibration, discrimination and overall performance</h3>",
        table(numbers.reset_index(names=""), words=("",)),
        figure_html(drawn, "smoothed", sentence),
        *_centres_of(base),
        "<h3>Net benefit</h3>",
        *_captioned(benefit, diagrams.draw_decision_curves(curves), "benefit"),
        table(decision_curve(base, thresholds=THRESHOLDS).frame().round(4)),
    ]


def _captioned(sentence: str, drawn: Figure, key: str) -> list[str]:
    return [paragraph(text(sentence)), figure_html(drawn, key, sentence)]


def _centres_of(base: Rows) -> list[str]:
    column = cluster_column(base.predictions) if base.is_declared else None
    if column is None or not MIN_CENTRES <= base.clusters.n_clusters <= MOST_CENTRES:
        return []
    found = calibration_by_centre(base.predictions, centre=column)
    lines, each = bullets(map(text, found.lines)), table(found.texts(), words=("Centre",))
    return [f"<h3>Over {text(column.name)}</h3>", lines, each]


def coverage_words(about: ReportInput) -> str:
    """Say whether rows are weighted or depend on each other, and the share with an answer if below 1."""
    evidence, words = about.evidence, ""
    if isinstance(evidence, SummedRows):
        words = f" This report is made from a summary. {needs_rows('The AUC')}"
    if evidence.is_weighted and getattr(about.evaluation, "voted", None) is None:
        words += f" Rows are {effective_words(evidence.effective_samples, evidence.n_samples)}."
    if worth := dependence_words(about.evaluation):
        words += f" {worth[0].upper()}{worth[1:]}."
    if (share := about.evaluation.coverage) == 1.0:
        return words
    return f"{words} The model answers {share:.1%} of the rows of the file; abstentions are left out."


def checks_section(about: ReportInput) -> list[str]:
    none, blocks = paragraph("No problems were found."), list[str]()
    if isinstance(about.evaluation, Summary):
        found = (*about.evaluation.findings, *about.evaluation.remarks)
        blocks.append(bullets(map(text, found)) if found else none)
    blocks += _fixes(about.log)
    for name, examination in about.examinations.items():
        blocks += [f"<h3>{text(name.capitalize())} rows</h3>", *_fixes(examination.log)]
        frame = examination.frame()[["severity", "code", "message"]]
        blocks.append(table(frame.rename(columns=str.capitalize)) if examination.findings else none)
    return blocks


def _fixes(log: Sequence[str]) -> list[str]:
    return [paragraph("Fixes that were applied:"), bullets(map(text, log))] if log else []


def verdict_section(about: ReportInput) -> list[str]:
    """Return the conclusion and, folded, the single tests and the cells that add most to the error."""
    evidence, tests = about.evidence, about.tests
    blocks = [paragraph(text(words)) for words in about.verdict]
    if about.recommendation:
        blocks.append(paragraph(text(about.recommendation)))
    sentences = [f"{about.conclusion.combined.words}.", *tests.verdicts]
    n_scores = evidence.predictions.n_scores if isinstance(evidence, Rows) else 0
    by_class, small = ECES["class-wise"], n_scores <= MOST_SCORES
    if about.n_resamples and "top-label" in tests.floors and small and by_class.missing(evidence) is None:
        drawn = noise_floor(evidence, **by_class.options, **about.draws)
        sentences.append(verdict(drawn, by_class.title))
    single = [bullets(map(text, sentences)), *_tests_without_bins(about)]
    if about.has_classes:
        cells = worst_cells_words(about.cells, list(map(text, about.names)), 5)
        single.append(paragraph("The (class, bin) cells of 20 rows or more that add most to TL-ECE:"))
        single.append(bullets(cells or ["none: no cell holds 20 rows"]))
    bins = f"{about.n_bins} equal-width bins" if evidence.strategy == "uniform" else "one bin per value"
    return [*blocks, folded(f"Single tests of the base model, in {bins}", *single)]


def _tests_without_bins(about: ReportInput) -> list[str]:
    found = about.tests.without_bins
    blocks = [paragraph(text(f"{missing[0].upper()}{missing[1:]}")) for missing in about.tests.missing]
    if found.slope is None:
        return blocks
    tested = calibration_frame(list(found), about.kind.scored)
    return [
        paragraph("Tests that need no bins; outcomes are redrawn from the scores:"),
        table(tested.drop(columns="Redraws"), {"Statistic": ".4g", "p": ".3f"}),
        paragraph(text(recalibration_words(found.slope, about.kind.scored))),
        *blocks,
    ]


def reliability_section(about: ReportInput) -> list[str]:
    """Reliability diagram of every method, and the classes inside the base model's worst bin."""
    bins = f"Every diagram has {about.n_bins} equal-width bins, even if a method is assessed at each value."
    others = about.calibrators or about.evidence.strategy != "uniform"
    blocks = [paragraph(bins)] if others else []
    several, shown, band = "every label" in about.kind.has, about.methods, None
    if several:
        shown = _classes_of_largest_error(about)
        blocks.append(paragraph(f"The {len(shown)} classes that add most to CW-ECE."))
    else:
        perfect = consistency_band(about.evidence, notion="confidence", strategy="uniform", **about.draws)
        band = perfect.lower, perfect.upper
    for position, (name, evidence) in enumerate(list(shown.items())[:MOST_DIAGRAMS]):
        event = name if several else about.event
        diagram = reliability_diagram(evidence, n_bins=about.n_bins)
        words = diagram.words(event)
        named, around = (about.conclusion.named if name == BASE else None), None if position else band
        drawn = diagrams.draw_reliability(diagram, about.names, named=named, event=event, band=around)
        figure = figure_html(drawn, f"reliability-{position}", words)
        if position == 0 and not several and about.n_bins in NUMBERS_OF_BINS:
            figure = picture_html(_living(about), "living", figure)
        blocks += [f"<h3>{text(name)}</h3>", paragraph(text(words)), figure]
        if name == BASE and not diagram.one_event:
            zoomed = diagram.zoom(int(diagram.pooled.bin[diagram.adds_most]))
            drawn = diagrams.draw_zoom(zoomed, about.names)
            blocks += [
                paragraph(f"Inside that bin: {zoomed.words(list(map(text, about.names)))}"),
                figure_html(drawn, "zoom", "The classes predicted in that bin."),
            ]
    return blocks


def _living(about: ReportInput) -> dict[str, Any]:
    """Return the living picture of the base model, before and after the first calibrator."""
    name, after = [*about.methods.items(), ("", None)][1]
    how: dict[str, Any] = {"n_bins": about.n_bins, "event": about.event, "after_name": name}
    return living_picture(about.evidence, after, named=about.conclusion.named, class_names=about.names, **how)


def _classes_of_largest_error(about: ReportInput) -> dict[str, Evidence]:
    """Return the evidence of the classes that add most to CW-ECE, if several classes can be true."""
    cells, size = about.cells, len(about.names)
    gaps = np.bincount(cells.problem, weights=cells.weight * np.abs(cells.gap), minlength=size)
    most = np.argsort(-gaps, kind="stable")[:MOST_DIAGRAMS].tolist()
    return {about.names[code]: about.evidence.of_class(code, "class-wise") for code in most}


def classes_section(about: ReportInput) -> list[str]:
    if not about.has_classes:
        return []
    classes = class_table(about.evidence, **about.draws, conclusion=about.conclusion)
    heads = {name: head for name, (head, _) in CLASS_COLUMNS.items()}
    shown = classes.frame(about.names).head(MOST_CLASSES)[list(heads)].rename(columns=heads)
    own = {"Predicted": ",d", "True": ",d", "Share": ".1%", "Rows needed": ",.0f", "p": ".2g"}
    formats = dict.fromkeys(heads.values(), ".3f") | own
    sentence = f"{classes.words()}."
    top = classes.order[:MOST_DRAWN]
    top = top[classes.predicted[top] > 0]
    drawn = diagrams.draw_heat(class_heat(about.cells, top), about.names)
    alt = f"Accuracy minus confidence by class and bin, the {len(top)} classes with the clearest gaps."
    return [paragraph(sentence), figure_html(drawn, "heat", alt), table(shown, formats)]


def before_and_after(about: ReportInput) -> list[str]:
    """Show the first calibrator before and after, if a part of the rows checks it."""
    if (repair := about.repair) is None or repair.calibration is None:
        return []
    words = (
        f"Calibrators are fitted on {repair.calibration.n_samples:,} of these rows, drawn at random. This "
        f"section compares them on the other {repair.evaluation.n_samples:,}."
    )
    blocks = [paragraph(words)]
    if about.n_bins in NUMBERS_OF_BINS and "every label" not in about.kind.has:
        name, evidence = list(repair.methods.items())[1]
        diagram = reliability_diagram(evidence, n_bins=about.n_bins)
        drawn = diagrams.draw_reliability(diagram, about.names, event=about.event)
        figure = figure_html(drawn, "after", f"{name}: {diagram.words(about.event)}")
        blocks.append(picture_html(_living(repair), "living-repair", figure))
    return blocks


def methods_section(about: ReportInput) -> list[str]:
    """Leaderboard of the base model and the calibrators, and their errors against the number of bins."""
    blocks = before_and_after(about)
    about = about.repair or about
    board = about.board
    if not about.calibrators:
        reason = "No calibrator was given, so only the base model is listed and nothing is guaranteed."
        if isinstance(about.evidence, SummedRows):
            reason += " To compare calibrators, pass the rows: a summary holds only sums."
        elif about.calibration is None:
            reason += (
                " To compare calibrators, pass <code>--split 0.5</code> or a file with calibration rows."
            )
        blocks.append(paragraph(reason))
    if len(board.entries) > 1:
        blocks += [paragraph(text(words)) for words in (board.words(), HOW_RANKED)]
    numbers = board.metric_texts().reset_index(names="")
    assessed = f" {how_assessed(about.n_bins, about.kind)}" if about.calibrators else ""
    blocks += [paragraph(INTERVALS_NOTE + assessed), table(numbers, words=("",))]
    in_equal_bins = {
        entry.method: about.methods[entry.method]
        for entry in board.ranked
        if entry.method == BASE or about.methods[entry.method].strategy == "uniform"
    }
    notions: dict[str, Notion] = {each: each for each in TOP_NOTIONS if each in notions_of(about.kind)}
    sweep = partial(ece_sweep, n_bins=range(2, 51), strategy="uniform")
    sweeps = {
        name: {
            key: sweep(evidence, notion=notion)
            for key, notion in (notions or {"binary": about.kind.notion}).items()
        }
        for name, evidence in list(in_equal_bins.items())[:MOST_CURVES]
    }
    sentence = (
        "ECE against the number of equal-width bins, for the base model and methods assessed in such bins. "
        + sweep_words(sweeps)
    )
    return [*blocks, *_captioned(sentence, diagrams.draw_ece_sweeps(sweeps), "sweep")]


def models_section(about: ReportInput) -> list[str]:
    if not about.models:
        return []
    rows = {name: (evaluation, evaluation) for name, (_, evaluation) in about.models.items()}
    found = compare_models(rows, [], **about.draws)
    return [
        paragraph(text(found.before.words())),
        table(found.texts(), words=("Metric", "Model")),
        paragraph(text(" ".join(found.notes()))),
    ]


def guarantee_section(about: ReportInput) -> list[str]:
    about, blocks, drawn = about.repair or about, list[str](), list[str]()
    assumptions: dict[str, None] = {}
    for name, calibrator in about.calibrators.items():
        if isinstance(calibrator, BinaryCalibrator):
            calibrator = as_multiclass(calibrator, about.calibration)
        if not isinstance(calibrator, MulticlassToBinary):
            continue
        card = guarantee_card(calibrator, choices=about.choices.get(name))
        blocks.append(paragraph(f"<b>{text(name)}</b>. {text(card.words())}"))
        if not card.applies:
            continue
        assumptions |= dict.fromkeys(card.assumptions)
        if not drawn and card.notion in TOP_NOTIONS and about.event is None:
            drawn = _validity(about, name, card)
    if assumptions:
        blocks += [paragraph("These guarantees assume:"), bullets(map(text, assumptions))]
    return blocks + drawn


def _validity(about: ReportInput, name: str, card: GuaranteeCard) -> list[str]:
    """Share of rows whose confidence is within epsilon of the truth, before and after, with the guarantee."""
    base, evidence = about.evidence, about.methods[name]
    assert isinstance(base, Rows)
    assert isinstance(evidence, Rows)
    notion: Notion = card.notion  # type: ignore[assignment]
    cells = validity_cells(base, evidence, notion=notion)
    reference, strategy = (evidence, "discrete") if cells.calibrators_own else (None, "uniform")
    options = about.draws | {"n_resamples": min(about.n_resamples, 200)}
    options |= {"notion": notion, "label": cells.labels, "strategy": strategy}
    curves = {
        BASE: validity_curve(base, reference=reference, **options),
        name: validity_curve(evidence, **options),
    }
    promises = card.promises()
    epsilon = promises[0].epsilon if promises else 0.05
    sentence = f"{validity_words(curves, epsilon)} {diagrams.DOTTED} {cells.words(about.n_bins)}"
    drawn = diagrams.draw_validity(curves, promises=promises, mean=card.mean_promise())
    return _captioned(sentence, drawn, "validity")


def repeat_section(about: ReportInput) -> list[str]:
    rows = about.evaluation
    stated: list[tuple[str, object]] = [
        *about.settings.items(),
        ("Evaluation rows", f"{rows.n_samples:,}, fingerprint {rows.fingerprint}"),
        *([("Summary of", rows.source)] if isinstance(rows, Summary) and rows.source else []),
    ]
    if about.calibration is not None:
        rows = about.calibration
        stated.append(("Calibration rows", f"{rows.n_samples:,}, fingerprint {rows.fingerprint}"))
    calibrators = (about.repair or about).calibrators
    stated += [(name, " ".join(repr(calibrator).split())) for name, calibrator in calibrators.items()]
    stated += [
        ("Equal-width bins", about.n_bins),
        ("Noise floors", f"{about.n_resamples:,} redraws, seed {about.random_state}"),
        ("Written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("calib", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in LIBRARIES),
    ]
    return [
        bullets(f"<b>{text(name)}</b>: {text(value)}" for name, value in stated),
        paragraph(
            "A fingerprint is the BLAKE2b digest of all probabilities, labels and names."
            if isinstance(about.evidence, Rows)
            else "The fingerprint of a summary is the BLAKE2b digest of its sums.",
            "faint",
        ),
    ]


#: Key and title of each section, and the function that returns its blocks, or none if it does not apply.
SECTIONS: tuple[tuple[str, str, Callable[[ReportInput], list[str]]], ...] = (
    ("verdicts", "Verdict", verdict_section),
    ("data", "Data", data_section),
    ("risk", "Performance of the risk", risk_section),
    ("input", "Input checks", checks_section),
    ("reliability", "Reliability", reliability_section),
    ("classes", "Classes", classes_section),
    ("methods", "Methods", methods_section),
    ("models", "Models", models_section),
    ("guarantee", "Guarantee", guarantee_section),
    ("repeat", "Reproduce it", repeat_section),
)


def report_html(about: ReportInput) -> str:
    """Return a report as one HTML page of about 5 MB: interactive figures, no network, no server.

    It holds tables of at most `calib.report.calibration_report.MOST_CLASSES` classes, and no rows.
    """
    found = [(key, title, blocks) for key, title, blocks_of in SECTIONS if (blocks := blocks_of(about))]
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in found)
    body = [f"<h1>{text(about.title)}</h1>"]
    if about.simulated:
        body.append(paragraph('<span class="simulated">Simulated data</span>'))
    body += [paragraph(text(words)) for words in about.used_to_fit]
    body.append(paragraph("Calibration report, after Gupta &amp; Ramdas (ICLR 2022)", "faint"))
    body += [f"<nav>{links}</nav>", *(section(key, title, *blocks) for key, title, blocks in found)]
    return page(f"Calibration of {about.title}", "\n".join(body), plotly_script())


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationReport(Result):
    """The result of `calib.report`; in a notebook it shows the conclusion and the table of numbers."""

    about: ReportInput  #: What the report is about

    @cached_property
    def sentence(self) -> str:
        """How the confidence is off, in which range and classes, and which calibrators saw these rows."""
        return " ".join([*self.about.verdict, *self.about.used_to_fit])

    def frame(self) -> pd.DataFrame:
        """Return the numbers of every method, one row each."""
        return metric_frame([replace(entry, intervals={}) for entry in self.about.board.entries])

    def plot(self, **options: Any) -> PlotlyFigure | MatplotlibFigure:
        """Return the reliability diagram of the base model; options: `calib.diagrams.draw_reliability`."""
        return reliability_diagram(self.about.evidence, n_bins=self.about.n_bins).plot(**options)

    @cached_property
    def html(self) -> str:
        """The whole report: one page of about 5 MB that needs no network."""
        return report_html(self.about)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page; a reader of the file sees the old page or the new page, never a part."""
        check_output(file, ())
        write_whole(file, self.html.encode())

    def __repr__(self) -> str:
        names = ", ".join(self.about.methods)
        return f"<CalibrationReport of {names}: {self.sentence}>"

    def _repr_html_(self) -> str:
        return paragraph(text(self.sentence)) + super()._repr_html_()


def report(
    y_true: Source,
    scores: Scores | None = None,
    *,
    calibrators: BaseEstimator | Mapping[str, BaseEstimator] | None = None,
    calibration: BasePrediction | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    title: str = "Predictions",
    simulated: bool = False,
    n_bins: int = N_BINS,
    n_resamples: int = N_RESAMPLES,
    random_state: int = RANDOM_STATE,
) -> CalibrationReport:
    """Report how far predictions can be trusted, before and after calibrators.

    Parameters
    ----------
    y_true : (n,) array_like, or labelled predictions of any kind, or a summary
        Labels as for `calib.ece`; predictions and summaries hold them, and `scores` is left out.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        As for `calib.ece`.
    calibrators : fitted calibrator, or mapping of str to fitted calibrator, optional
        What to compare with the base model. The report says which were fitted on these rows.
    calibration : predictions of the same kind, optional
        Rows that the calibrators were fitted on.
    sample_weight, cluster
        As for `calib.ece`.
    title, simulated : str, bool
        Heading of the page, and whether it says at the top that the data are simulated.
    n_bins, n_resamples, random_state
        Equal-width bins B, redraws of the noise floors, and their seed.

    Returns
    -------
    CalibrationReport
        ``.frame()``, ``.plot()``, ``.save("report.html")``; in a notebook the conclusion and the numbers.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> example = load_example("digits")
    >>> made = report(example.evaluation, calibration=example.calibration)
    >>> made.frame()[["Method", "TL-ECE"]].round(3).to_dict("records")
    [{'Method': 'Base model', 'TL-ECE': 0.112}]
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if isinstance(evidence, ReducedRows):
        raise InputError("a report needs labelled predictions; BinaryProblems hold only scores and outcomes")
    rows = evidence.predictions if isinstance(evidence, Rows) else evidence
    if calibrators is None:
        calibrators = {}
    elif not isinstance(calibrators, Mapping):
        calibrators = {name_of(calibrators): calibrators}
    draws: Any = {"n_bins": n_bins, "n_resamples": n_resamples, "random_state": random_state}
    return CalibrationReport(ReportInput(rows, calibrators, calibration, title, simulated, **draws))
