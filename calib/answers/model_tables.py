"""Methods x measures: numbers ranked by proper scores, floors, intervals against the base (Tables 2 to 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from calib.answers.calibrated import calibrated_scores, fit_on
from calib.answers.metric_tables import (
    METRIC_COLUMNS,
    Assessment,
    Change,
    Mark,
    assess,
    measure_floors,
    metric_texts,
)
from calib.base.exceptions import InputError
from calib.base.interval_words import decimals_of, interval_words, with_interval
from calib.base.results import Drawn
from calib.calibrators.catalogue import METHODS, PAPER, for_kind, make_calibrator, methods_of_kind, name_of
from calib.calibrators.foreign import ForeignCalibrator, is_foreign
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import Kind, kind_of
from calib.data.notions import POOLED_NOTIONS, PerClass
from calib.data.predictions import BasePrediction, rows_that_count
from calib.data.several_models import pairs_of_models, rows_to_fit
from calib.data.validation import check_level
from calib.evidence.row_scores import TINY, row_values
from calib.evidence.rows import Evidence, Rows
from calib.stats.bootstrap import Estimated, best_of, paired_intervals_of
from calib.stats.differences import paired_difference
from calib.stats.measures import MEASURES, Measure

#: The scores that rank, and the heads of the improvements over the base model.
RANKING = {"brier": "Brier improvement", "log_loss": "Log loss improvement"}

#: Why scores rank, and what is marked.
HOW_RANKED = (
    "Methods are ranked by the Brier score, a proper score, and not by calibration "
    "error: one constant per class can be calibrated, and is useless (CalArena, arXiv 2605.30188). An "
    "improvement is the base model's score minus the method's, with a paired 95 % interval. Highlighted: "
    "methods that no other method clearly beats, all comparisons taken together."
)

#: Rows of the paper's Tables 2 to 5, in their order; all others follow.
TABLES = ("tl_ece", "tl_mce_bin", "cw_ece")

#: The column of every model before calibration.
BASE = "Base"

#: Scores of the event that the predicted class is right.
EVENT_SCORES = ("accuracy", "top_brier", "top_log_loss")

#: How to read a table of models.
HOW_MARKED = (
    "In parentheses: the noise floor, the mean error of a perfect model of the same size. A method is marked "
    "better or worse than its base model only if the interval of their paired difference excludes 0, and "
    "never for the lowest number. For ECEs it is the difference of the debiased squared l2 errors; MCEs have "
    "no such interval and are not marked. Against a base in other bins, only a lower error is marked."
)

#: Which marks are tested together.
HOW_MANY = (
    "For each number there are {n} comparisons of a method with the base of its model. With {level:g} % "
    "confidence all their marks are right at once (Bonferroni, intervals of {alone:.3g} % each). In the "
    "table of all numbers, each interval holds on its own."
)

#: Why numbers of different bins are not compared (Remark 1 of the paper).
DIFFERENT_BINS = (
    "{methods}: assessed at each of their values, all others in {n_bins} equal-width bins, which "
    "understate an error: the two cannot be compared (Remark 1 of the paper)."
)


@dataclass(frozen=True)
class ModelNumber:
    """A number of a model with a method; NaN if the method could not be fitted or there is none."""

    model: str
    method: str
    measure: str  #: Key of the number in `calib.stats.measures.MEASURES`
    title: str  #: Name of the number in tables
    bins: str | None  #: How scores are binned; None if the method could not be fitted
    failure: str | None  #: Why the method could not be fitted; None if it could
    value: float = np.nan
    #: Mean and 95 % quantile of the error of a perfect model, and chance that it shows as much
    floor: float = np.nan
    floor_upper: float = np.nan
    p_value: float = np.nan
    #: Method minus its base, with its interval; for ECEs, of the debiased squared l2 errors
    difference: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    mark: Mark = ""  #: Whether the difference is distinguishable from 0


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Drawn):
    """Methods of one or several models on the same rows: their numbers, ranking and possibly best."""

    #: The base of the first model, reference of all improvements; then the others, model by model
    entries: tuple[Assessment, ...]
    rows: Evidence  #: Evidence of the base, with weights and clusters
    level: float = LEVEL  #: Coverage of each interval
    n_calibration: int = 0  #: Rows on which methods were fitted

    @property
    def n_evaluation(self) -> int:
        """Rows on which methods were assessed."""
        return self.rows.n_samples

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models; empty if there is only one, without a name."""
        return tuple(dict.fromkeys(entry.model for entry in self.entries if entry.model))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, the base first."""
        return tuple(dict.fromkeys(entry.method for entry in self.entries))

    @property
    def measures(self) -> tuple[str, ...]:
        """Keys of the numbers in `calib.stats.measures.MEASURES`, the paper's first."""
        order = dict.fromkeys((*TABLES, *MEASURES))
        return tuple(key for key in order if MEASURES[key].listed and not MEASURES[key].missing(self.rows))

    @cached_property
    def numbers(self) -> tuple[ModelNumber, ...]:
        """The number of each model and method, for each measure."""
        return tuple(self._number(entry, key) for key in self.measures for entry in self.entries)

    def _number(self, entry: Assessment, key: str) -> ModelNumber:
        about = entry.model, entry.method, key, MEASURES[key].title
        known: dict[str, Any] = {"value": entry.mean(key, self.rows)}
        if floor := entry.floors.get(key):
            upper = float(floor.quantile(0.95))
            known |= {"floor": floor.mean, "floor_upper": upper, "p_value": floor.p_value}
        if key in entry.changes:
            change, mark = entry.changes[key]
            known |= {
                "difference": change.difference,
                "lower": change.lower,
                "upper": change.upper,
                "mark": mark,
            }
        return ModelNumber(*about, entry.bins, entry.failure, **known)

    def frame(self) -> pd.DataFrame:
        """Return one row for each model, method and number, with the columns of `ModelNumber`."""
        return pd.DataFrame(self.numbers)

    def wide(self) -> pd.DataFrame:
        """Return the paper's tables as numbers: a row per number and model, columns by method.

        Each method has its value, its floor and its mark against the base.
        """
        rows = []
        for cells in self._lines:
            row: dict[str, Any] = {"Metric": cells[0].title, "Model": cells[0].model}
            for cell in cells:
                row |= {cell.method: cell.value, f"{cell.method}, floor": cell.floor}
                row |= {f"{cell.method}, against {BASE}": cell.mark} if cell.method != BASE else {}
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def _lines(self) -> list[list[ModelNumber]]:
        return [list(line) for _, line in groupby(self.numbers, attrgetter("measure", "model"))]

    @cached_property
    def ranked(self) -> tuple[Assessment, ...]:
        """The entries by ascending Brier score; entries that failed come last."""
        means = [entry.mean("brier", self.rows) if entry.row_values else np.inf for entry in self.entries]
        return tuple(self.entries[position] for position in np.argsort(means, kind="stable"))

    @cached_property
    def improvements(self) -> dict[str, dict[str, Estimated]]:
        """Base model minus method, with its interval (`calib.paired_interval`), by name and score."""
        scored = [entry for entry in self.ranked if entry.row_values]
        by_score = {score: self._improvements(self.entries[0], scored, score) for score in RANKING}
        return {
            entry.name: {score: by_score[score][position] for score in RANKING}
            for position, entry in enumerate(scored)
        }

    def _improvements(self, base: Assessment, entries: Sequence[Assessment], score: str) -> list[Estimated]:
        if not isinstance(self.rows, Rows) or not entries:
            return []
        losses = np.array([entry.row_values[score] for entry in entries])
        unseen = np.array([entry.unseen[score] - base.unseen[score] for entry in entries])
        changes = paired_intervals_of(base.row_values[score], losses, score, self.rows, unseen=unseen)
        # 0 -, so that the base model has 0, not -0
        return [
            Estimated(0.0 - change.difference, 0.0 - change.upper, 0.0 - change.lower) for change in changes
        ]

    def ranking(self) -> pd.DataFrame:
        """Return one row per method, ranked: improvements, diagnostics, and why a method failed."""
        rows = []
        for entry in self.ranked:
            row: dict[str, Any] = {"Method": entry.name}
            for score, head in RANKING.items():
                change = self.improvements.get(entry.name, {}).get(score)
                ends = (change.value, change.lower, change.upper) if change else (np.nan,) * 3
                row |= dict(zip((head, f"{head}, lower", f"{head}, upper"), ends, strict=True))
            row |= {MEASURES[key].title: entry.mean(key, self.rows) for key in self.measures}
            row[METRIC_COLUMNS["n_distinct"]] = getattr(entry.metrics, "n_distinct", np.nan)
            rows.append(row | {"Bins": entry.bins, "Failure": entry.failure})
        return pd.DataFrame(rows)

    @cached_property
    def best(self) -> pd.DataFrame:
        """Which methods may be the best, by each score: a boolean frame, ranked methods x scores.

        See `calib.stats.best_set`, at 95 %. None is marked if no method is distinguishably worse.
        """
        n_scored = sum(bool(entry.row_values) for entry in self.ranked)
        marks = {}
        for score, head in RANKING.items():
            marked = np.zeros(len(self.ranked), dtype=bool)
            finite = [position for position, entry in enumerate(self.ranked) if _is_finite(entry, score)]
            if finite and isinstance(self.rows, Rows):
                losses = np.array([self.ranked[position].row_values[score] for position in finite])
                unseen = np.array([self.ranked[position].unseen[score] for position in finite])
                marked[finite] = best_of(losses, self.rows, unseen)
            marks[head] = marked & (marked.sum() < n_scored)
        return pd.DataFrame(marks)

    def _improvement_text(self, entry: Assessment, score: str, decimals: int = 4) -> str:
        change = self.improvements.get(entry.name, {}).get(score)
        if change is None or entry is self.entries[0]:
            return "\u2013"
        return with_interval(change.value, change.lower, change.upper, least=decimals, sign="+")

    def metric_texts(self) -> pd.DataFrame:
        """Return the improvements, if there are several methods, and every number: a column per method.

        An improvement is a text such as "+0.0006 (+0.0004 to +0.0008)".
        """
        texts = metric_texts(self.ranked)
        if len(texts.columns) <= 1:
            return texts
        gains = {
            entry.name: {head: self._improvement_text(entry, score) for score, head in RANKING.items()}
            for entry in self.ranked
        }
        return pd.concat([pd.DataFrame(gains)[texts.columns], texts])

    @cached_property
    def before(self) -> ModelComparison:
        """The models before calibration; improvements are over the first."""
        bases = [entry for entry in self.entries if entry.method == self.entries[0].method]
        return replace(self, entries=tuple(replace(base, method=base.model, model="") for base in bases))

    def words(self, name: Callable[[str], str] = str) -> str:
        """Say which methods have the lowest Brier score; `name` formats names.

        It adds the difference from the base, for several models from the next in the ranking, with its
        interval, and says first which models are best before calibration.
        """
        if not self.models:
            return self._words(name, self.entries[0])
        after = self._words(name, self._second)
        if len(self.models) == 1:
            return after
        return (
            f"Before calibration: {self.before._words(name, self.before._second)} With calibrators: {after}"
        )

    @property
    def _second(self) -> Assessment:
        return next((entry for entry in self.ranked[1:2] if entry.row_values), self.entries[0])

    def _words(self, name: Callable[[str], str], base: Assessment) -> str:
        first, marked = self.ranked[0], self.best[RANKING["brier"]]
        best = [name(entry.name) for entry, is_best in zip(self.ranked, marked, strict=True) if is_best]
        if not best:
            return "No method has a distinguishably lower Brier score than another."
        sentence = f"Lowest Brier score: {name(first.name)}"
        if first is not base:
            (gain,) = self._improvements(base, [first], "brier")
            size = f"{gain.value:.{decimals_of(gain.lower, gain.upper)}f} below {name(base.name)}"
            ends = interval_words(gain.lower, gain.upper, sign="+")
            sentence += f", {size} (95 % interval of this comparison alone {ends})"
        if len(best) > 1:
            listed = f"{', '.join(best[:-1])} or {best[-1]}"
            sentence += f". All comparisons taken together, no method is distinguishably better than {listed}"
        return sentence + "."

    def notes(self) -> tuple[str, ...]:
        """Return the notes of the table: what is marked, which numbers cannot be compared, and why."""
        found = [HOW_MARKED if self.models else HOW_RANKED]
        if n := len(self.models) * (len(self.methods) - 1):
            alone = 100 - 100 * (1 - self.level) / n
            found.append(HOW_MANY.format(n=n, level=100 * self.level, alone=alone))
        binned = {
            entry.method: entry.metrics.n_bins
            for entry in self.entries
            if entry.metrics and entry.metrics.strategy != "uniform"
        }
        if binned:
            n_bins = next(iter(binned.values()))
            found.append(DIFFERENT_BINS.format(methods=", ".join(binned), n_bins=n_bins))
        failed = (entry for entry in self.entries if entry.failure)
        return (*found, *(f"{entry.name} could not be fitted: {entry.failure}" for entry in failed))

    def texts(self, decimals: int = 3) -> pd.DataFrame:
        """Return the paper's tables as plain texts; "*" is better than the base, "!" worse."""
        head, body = self._printed(decimals, {"better": "{}*", "worse": "{}!", "": "{}"}, str)
        return pd.DataFrame(body, columns=head)

    def markdown(self, decimals: int = 3) -> str:
        """Return the paper's tables as Markdown, with notes: better is bold, worse in italics.

        CW-ECE is shown times 100, as in the paper.
        """
        marks: dict[Mark, str] = {"better": "**{}**", "worse": "*{}*", "": "{}"}
        head, body = self._printed(decimals, marks, escape_markdown)
        bold = ["Bold: better than the base model. Italics: worse."] if self.models else []
        listed = "".join(f"- {escape_markdown(note)}\n" for note in [*bold, *self.notes()])
        return f"{markdown_table(head, body, n_names=1 + len(bold))}\n{listed}"

    def latex(self, decimals: int = 3) -> str:
        r"""Return the paper's Tables 2 to 5 as a tabular: better than the base in bold, worse in italics.

        It needs the LaTeX package multirow. The notes follow as comments.
        """
        marks: dict[Mark, str] = {"better": r"\textbf{{{}}}", "worse": r"\textit{{{}}}", "": "{}"}
        head, body = self._printed(decimals, marks, _escape_latex)
        lines = [_latex_row(rf"\textbf{{{name}}}" for name in head) + r" \hline"]
        height = max(len(self.models), 1)
        for position, (metric, *cells) in enumerate(body):
            is_first, is_last = position % height == 0, position % height == height - 1
            if height > 1:
                metric = rf"\multirow{{{height}}}{{*}}{{{metric}}}" if is_first else ""
            rule = r" \hline" if is_last else rf" \cline{{2-{len(head)}}}"
            lines.append(_latex_row([metric, *cells]) + rule)
        comments = "".join(f"% {' '.join(note.split())}\n" for note in self.notes())
        columns = "|".join("c" * len(head))
        tabular = [rf"\begin{{tabular}}{{{columns}}}", *lines, r"\end{tabular}"]
        return "\n".join([*tabular, comments])

    def _printed(
        self, decimals: int, marks: Mapping[Mark, str], escape: Callable[[str], str]
    ) -> tuple[list[str], list[list[str]]]:
        """Return the heads and the cells; improvements come first if the one model has no name."""
        body = []
        for score, head in () if self.models else RANKING.items():
            best = {entry.name: self.best[head][position] for position, entry in enumerate(self.ranked)}
            cells = [escape(head)]
            for entry in self.entries:
                text = self._improvement_text(entry, score, decimals).replace("\u2013", "--")
                cells.append(marks["better" if best[entry.name] else ""].format(text))
            body.append(cells)
        for numbers in self._lines:
            first = numbers[0]
            times, digits = (100.0, max(decimals - 1, 0)) if first.measure == "cw_ece" else (1.0, decimals)
            digits = _needed_digits(numbers, times, digits)
            names = [first.title + " x 100" * (times == 100.0), *([first.model] if first.model else [])]
            body.append([*map(escape, names), *(_cell(number, times, digits, marks) for number in numbers)])
        heads = ("Metric", *(["Model"] if self.models else []), *self.methods)
        return [escape(head) for head in heads], body


def markdown_table(head: Sequence[str], body: Iterable[Sequence[str]], n_names: int = 1) -> str:
    """Return a Markdown table whose first columns are names, aligned left, and the others numbers."""
    lines = ["| " + " | ".join(row) + " |" for row in [head, *body]]
    lines.insert(1, "|" + "|".join([":--"] * n_names + ["--:"] * (len(head) - n_names)) + "|")
    return "\n".join(lines) + "\n"


def escape_markdown(text: str) -> str:
    return "".join("\\" + sign if sign in "\\`*_{}[]<>()#+!|~$" else sign for sign in text.replace("\n", " "))


def _escape_latex(text: str) -> str:
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    signs |= {sign: "\\" + sign for sign in "&%$#_{}"}
    return "".join(signs.get(sign, sign) for sign in text.replace("\n", " "))


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _needed_digits(numbers: Sequence[ModelNumber], times: float, digits: int) -> int:
    """Return the decimals, at most 6, in which marked numbers differ from the first, the base's."""
    base = times * numbers[0].value
    marked = [times * number.value for number in numbers if number.mark]
    while digits < 6 and f"{base:.{digits}f}" in [f"{value:.{digits}f}" for value in marked]:
        digits += 1
    return digits


def _cell(number: ModelNumber, times: float, digits: int, marks: Mapping[Mark, str]) -> str:
    if np.isnan(number.value):
        return "failed" if number.failure else "--"
    floor = "" if np.isnan(number.floor) else f" ({times * number.floor:.{digits}f})"
    return marks[number.mark].format(f"{times * number.value:.{digits}f}") + floor


def _is_finite(entry: Assessment, score: str) -> bool:
    """Whether the method has this score and gave every outcome a probability above 0."""
    values = entry.row_values.get(score)
    return values is not None and (score == "brier" or bool(values.max() < -np.log(TINY)))


def compare_methods(methods: Mapping[str, Evidence], *, n_bins: int = N_BINS) -> ModelComparison:
    """Compare methods by the evidence of each on the same rows; the first is the base model."""
    base = next(iter(methods.values()))
    entries = tuple(assess(name, evidence, base, n_bins=n_bins) for name, evidence in methods.items())
    return ModelComparison(entries, base)


def scored_by(name: str, calibrator: BaseEstimator, calibration: BasePrediction, rows: Rows) -> Rows:
    """Fit a method on calibration rows and return the evidence of its scores of other rows."""
    if is_foreign(calibrator):
        calibrator = ForeignCalibrator(calibrator, name=name)
    return rows.of_scores(calibrated_scores(fit_on(calibrator, calibration), rows.predictions))


def compare_models(
    models: Mapping[str, BasePrediction | tuple[BasePrediction | None, BasePrediction]],
    methods: Iterable[str] | Mapping[str, BaseEstimator] = PAPER,
    *,
    n_bins: int = N_BINS,
    calibration: float = 0.5,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
    progress: Callable[[float, str], object] | None = None,
) -> ModelComparison:
    """Compare models on the same rows, each before and after calibration (the paper's Tables 2 to 5).

    Parameters
    ----------
    models : mapping of str to predictions, or to pairs of them
        Labelled predictions of any kind, which are split once, in the same way for all models; or a pair
        (calibration, evaluation), with None for calibration if no method is to be fitted. Classes are matched
        by name, rows by id if they have ids, else by order.
    methods : iterable of str, or mapping of str to unfitted calibrator
        Names of `calib.calibrators.catalogue.named_methods`, such as "TL-HB", or of
        `calib.calibrators.catalogue.METHODS`, such as "spline". Each model's scores as they are come first.
    n_bins : int
        Bins of histogram binning, and equal-width bins of the errors.
    calibration : float in (0, 1)
        Share of calibration rows of models that are no pairs.
    level : float in (0, 1)
        Coverage of each interval.
    n_resamples, random_state
        Redraws of the noise floors, 1 or more, and the seed of the split and the redraws.
    progress : callable, optional
        Called with the share done and what is being fitted.

    Notes
    -----
    If a method cannot be fitted, its cells say so. A number is marked by its paired interval:
    `calib.paired_difference` for ECEs, `calib.paired_interval` for scores and accuracy. All marks of one
    number hold together: each takes an interval of coverage ``1 - (1 - level) / m`` for m comparisons with a
    base (Bonferroni); the intervals in `frame` hold one by one. The paper's temperature scaling is "TS
    (conf-ECE grid)".

    Examples
    --------
    >>> from calib.datasets import three_classes
    >>> rows = three_classes().evaluation
    >>> table = compare_models({"A": rows, "B": rows}, ["TS"], n_resamples=50)
    >>> table.models, table.methods
    (('A', 'B'), ('Base', 'TS'))
    """
    check_level(level)
    pairs = pairs_of_models(models, calibration, random_state)
    chosen = methods_to_compare(methods, kind_of(next(iter(pairs.values()))[1]), n_bins)
    levels = level, 1.0 - (1.0 - level) / max(len(pairs) * len(chosen), 1)
    redraws = {"n_resamples": n_resamples, "random_state": random_state}
    entries: list[Assessment] = []
    compared = []
    for position, (name, (fitting, unseen)) in enumerate(pairs.items()):
        model = _Model(name, fitting, Rows(rows_that_count(unseen)), n_bins, levels, redraws)
        compared.append(model)
        entries.append(model.base)
        for number, (method, calibrator) in enumerate(chosen.items()):
            if progress:
                progress((position + number / len(chosen)) / len(pairs), f"{name}: {method}")
            try:
                entries.append(model.fitted(method, calibrator))
            except InputError as error:
                entries.append(Assessment(method, model=name, failure=str(error)))
    n_calibration = max(0 if fitting is None else len(fitting) for fitting, _ in pairs.values())
    return ModelComparison(tuple(entries), compared[0].rows, level, n_calibration)


def methods_to_compare(
    methods: Iterable[str] | Mapping[str, BaseEstimator], kind: Kind, n_bins: int
) -> dict[str, BaseEstimator]:
    """Return the unfitted calibrators of the argument `methods` by name, without the base."""
    if isinstance(methods, Mapping):
        return dict(methods)
    known = methods_of_kind(kind, n_bins)
    if methods is PAPER:
        return {name: known[name] for name in PAPER if name in known} or known
    named = [methods] if isinstance(methods, str) else methods
    return dict(_method_named(name, known, kind) for name in named if name != BASE)


def _method_named(name: str, known: Mapping[str, BaseEstimator], kind: Kind) -> tuple[str, BaseEstimator]:
    if name in known:
        return name, known[name]
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}; methods are {', '.join((*known, *METHODS))}")
    calibrator = for_kind(make_calibrator(name), kind)
    return name_of(calibrator), calibrator


@dataclass(frozen=True, eq=False)
class _Model:
    """A model, and how its methods are compared with it."""

    name: str
    calibration: BasePrediction | None
    rows: Rows  #: Evidence of the uncalibrated model
    n_bins: int
    levels: tuple[float, float]  #: Coverage of one interval, and of one of all that hold together
    redraws: dict[str, Any]  #: Redraws of the noise floors, and their seed

    @cached_property
    def base(self) -> Assessment:
        return self._assessed(BASE, self.rows)

    def fitted(self, method: str, calibrator: BaseEstimator) -> Assessment:
        """Fit a method and assess it, with its changes against the base."""
        calibration = rows_to_fit(self.name, self.calibration)
        evidence = scored_by(method, calibrator, calibration, self.rows)
        found = self._assessed(method, evidence)
        listed = (each for each in MEASURES.values() if each.listed and not each.missing(self.rows))
        changes = {measure.key: self._change(measure, evidence, found) for measure in listed}
        return replace(found, changes={key: change for key, change in changes.items() if change})

    def _assessed(self, method: str, evidence: Rows) -> Assessment:
        found = assess(method, evidence, self.rows, n_bins=self.n_bins, intervals=False)
        values, unseen = dict(found.row_values), dict(found.unseen)
        known = [each for each in (MEASURES[key] for key in EVENT_SCORES) if each.missing(evidence) is None]
        scored, before = (evidence.tops(), self.rows.tops()) if known else (evidence, self.rows)
        for measure in known:
            values[measure.key] = row_values(scored.predictions, measure.metric)
            unseen[measure.key] = scored.unseen_error(measure.metric, before)
        floors = measure_floors(evidence, n_bins=self.n_bins, **self.redraws)
        return replace(found, model=self.name, row_values=values, unseen=unseen, floors=floors)

    def _change(self, measure: Measure, evidence: Rows, found: Assessment) -> tuple[Change, Mark] | None:
        """Return the change against the base; None if it has no paired interval."""
        alone, joint = self.levels
        change = self._interval(measure, evidence, found, alone)
        if change is None:
            return None
        mark: Mark = ""
        if _excludes_0(change) and _excludes_0(self._interval(measure, evidence, found, joint)):
            mark = "better" if (change.upper < 0.0) != measure.higher_is_better else "worse"
        strategy = evidence.strategy
        if isinstance(strategy, PerClass) and measure.notion in POOLED_NOTIONS:
            strategy = strategy.of_class(-1)
        if measure.is_error and mark == "worse" and strategy not in ("uniform", self.rows.strategy):
            mark = ""  # equal-width bins understate the error of the base
        return change, mark

    def _interval(self, measure: Measure, evidence: Rows, found: Assessment, level: float) -> Change | None:
        key, notion = measure.key, measure.notion or "top-label"
        if measure.metric == "ece" and measure.missing(evidence) is None:
            return paired_difference(evidence, self.rows, notion=notion, n_bins=self.n_bins, level=level)
        if key not in found.row_values:
            return None
        more = np.array([found.unseen[key] - self.base.unseen[key]])
        before, after = self.base.row_values[key], found.row_values[key][None]
        return paired_intervals_of(before, after, measure.metric, self.rows, level, more)[0]


def _excludes_0(change: Change | None) -> bool:
    return change is not None and (change.lower > 0.0 or change.upper < 0.0)
