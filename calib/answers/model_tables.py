"""Models x methods: every number beside its noise floor and its interval against the base (Tables 2 to 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from calib.answers.calibrated import calibrated_scores
from calib.answers.leaderboard import Entry, Leaderboard, compare, entry_of, timed_fit
from calib.answers.printed import escape_latex, escape_markdown, latex_row, latex_tabular, markdown_table
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.calibrators.catalogue import METHODS, PAPER, for_kind, make_calibrator, methods_of_kind, name_of
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import Kind, kind_of
from calib.data.notions import POOLED_NOTIONS, PerClass
from calib.data.predictions import Announcement, rows_that_count
from calib.data.several_models import pairs_of_models, rows_to_fit
from calib.data.validation import check_level
from calib.evidence.row_scores import row_values, weighted_mean
from calib.evidence.rows import Rows
from calib.stats.bootstrap import paired_intervals_of
from calib.stats.differences import paired_difference
from calib.stats.floors import noise_floors
from calib.stats.measures import MEASURES, Measure

#: Rows of the paper's Tables 2 to 5, in their order; all others follow.
TABLES = ("tl_ece", "tl_mce_bin", "cw_ece")

#: The column of every model before calibration.
BASE = "Base"

#: How a number compares with the base.
Mark = Literal["better", "worse", ""]

#: How to read a table of models.
HOW_MARKED = (
    "In parentheses: the noise floor, the mean error of a perfect model of the same size. A method is marked "
    "better or worse than its base model only if the interval of their paired difference excludes 0, and "
    "never for the lowest number. For ECEs it is the difference of the debiased squared l2 errors; MCEs have "
    "no such interval and are not marked."
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
    "understate an error: the two cannot be compared (Remark 1 of the paper). Across the two, "
    "only a lower error is marked."
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
    """Several models on the same rows, each before and after calibration."""

    #: mapping of str to Leaderboard: The methods of each model, the uncalibrated model first
    boards: Mapping[str, Leaderboard]
    table: pd.DataFrame  #: One row for each model, method and number; see `frame`
    n_bins: int  #: Equal-width bins of methods that are not assessed at each of their values
    level: float  #: Coverage of each interval
    #: Rows on which methods were fitted and assessed
    n_calibration: int
    n_evaluation: int

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.boards)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, the base first."""
        return tuple(entry.method for entry in next(iter(self.boards.values())).entries)

    @property
    def measures(self) -> tuple[str, ...]:
        """Keys of the numbers in `calib.stats.measures.MEASURES`, the paper's first."""
        return tuple(dict.fromkeys(self.table["measure"]))

    def frame(self) -> pd.DataFrame:
        """Return one row for each model, method and number, with the columns of `ModelNumber`."""
        return self.table.copy()

    def wide(self) -> pd.DataFrame:
        """Return the paper's tables as numbers: a row per number and model, columns by method.

        Each method has its value, its floor and its mark against the base.
        """
        columns: dict[str, list[Any]] = {"Metric": [], "Model": []}
        for measure in self.measures:
            for model in self.models:
                columns["Metric"].append(MEASURES[measure].title)
                columns["Model"].append(model)
                for method in self.methods:
                    cell = self._cells[measure, model, method]
                    columns.setdefault(method, []).append(cell.value)
                    columns.setdefault(f"{method}, floor", []).append(cell.floor)
                    if method != BASE:
                        columns.setdefault(f"{method}, against {BASE}", []).append(cell.mark)
        return pd.DataFrame(columns)

    @cached_property
    def _cells(self) -> dict[tuple[str, str, str], Any]:
        rows: list[Any] = list(self.table.itertuples(index=False))
        return {(row.measure, row.model, row.method): row for row in rows}

    @cached_property
    def ranking(self) -> Leaderboard:
        """Every model with every method on one leaderboard, ranked by the Brier score.

        Improvements are over the first model's base. Names are "model, method".
        """
        return self._board(
            replace(entry, method=f"{model}, {entry.method}")
            for model, board in self.boards.items()
            for entry in board.entries
        )

    @cached_property
    def before(self) -> Leaderboard:
        """The models before calibration on one leaderboard; improvements are over the first."""
        return self._board(replace(board.entries[0], method=model) for model, board in self.boards.items())

    def _board(self, entries: Iterable[Entry]) -> Leaderboard:
        first = next(iter(self.boards.values()))
        return Leaderboard(tuple(entries), first.rows)

    def words(self, name: Callable[[str], str] = str) -> str:
        """Say which models have the lowest Brier score, before calibration and with the best method.

        It adds the difference from the next model in the ranking, with its interval. `name` formats names.
        """
        after = _against_the_next(self.ranking).words(name)
        if len(self.models) == 1:
            return after
        return f"Before calibration: {_against_the_next(self.before).words(name)} With calibrators: {after}"

    def notes(self) -> tuple[str, ...]:
        """Return the notes of the table: what is marked, which numbers cannot be compared, and why."""
        found = [HOW_MARKED]
        if n := len(self.models) * (len(self.methods) - 1):
            alone = 100 - 100 * (1 - self.level) / n
            found.append(HOW_MANY.format(n=n, level=100 * self.level, alone=alone))
        binned = dict.fromkeys(
            entry.method
            for board in self.boards.values()
            for entry in board.entries
            if entry.metrics and entry.metrics.strategy != "uniform"
        )
        if binned:
            found.append(DIFFERENT_BINS.format(methods=", ".join(binned), n_bins=self.n_bins))
        found += [
            f"{model}, {entry.method} could not be fitted: {entry.failure}"
            for model, board in self.boards.items()
            for entry in board.entries
            if entry.failure
        ]
        return tuple(found)

    def texts(self, decimals: int = 3) -> pd.DataFrame:
        """Return the paper's tables as plain texts; "*" is better than the base, "!" worse."""
        head, body = self._printed(decimals, {"better": "{}*", "worse": "{}!", "": "{}"}, str)
        return pd.DataFrame(body, columns=head)

    def markdown(self, decimals: int = 3) -> str:
        """Return the paper's tables as Markdown, with notes: better is bold, worse in italics.

        CW-ECE is shown times 100, as in the paper.
        """
        marks = {"better": "**{}**", "worse": "*{}*", "": "{}"}
        head, body = self._printed(decimals, marks, escape_markdown)
        notes = ["Bold: better than the base. Italics: worse.", *self.notes()]
        listed = "".join(f"- {escape_markdown(note)}\n" for note in notes)
        return f"{markdown_table(head, body, n_names=2)}\n{listed}"

    def latex(self, decimals: int = 3) -> str:
        r"""Return the paper's Tables 2 to 5 as a tabular: better than the base in bold, worse in italics.

        It needs the LaTeX package multirow. The notes follow as comments.
        """
        marks = {"better": r"\textbf{{{}}}", "worse": r"\textit{{{}}}", "": "{}"}
        head, body = self._printed(decimals, marks, escape_latex)
        lines = [latex_row(rf"\textbf{{{name}}}" for name in head) + r" \hline"]
        height = len(self.models)
        for position, (metric, *cells) in enumerate(body):
            is_first, is_last = position % height == 0, position % height == height - 1
            metric = rf"\multirow{{{height}}}{{*}}{{{metric}}}" if is_first else ""
            rule = r" \hline" if is_last else rf" \cline{{2-{len(head)}}}"
            lines.append(latex_row([metric, *cells]) + rule)
        comments = "".join(f"% {' '.join(note.split())}\n" for note in self.notes())
        return latex_tabular("|".join("c" * len(head)), lines) + comments

    def _printed(
        self, decimals: int, marks: Mapping[str, str], escape: Callable[[str], str]
    ) -> tuple[list[str], list[list[str]]]:
        body = []
        for key in self.measures:
            times, digits = (100.0, max(decimals - 1, 0)) if key == "cw_ece" else (1.0, decimals)
            title = MEASURES[key].title + " x 100" * (times == 100.0)
            for model in self.models:
                line = [escape(title), escape(model)]
                for method in self.methods:
                    cell = self._cells[key, model, method]
                    if np.isnan(cell.value):
                        line.append("failed" if cell.failure else "--")
                        continue
                    text = marks[cell.mark].format(f"{times * cell.value:.{digits}f}")
                    floor = "" if np.isnan(cell.floor) else f" ({times * cell.floor:.{digits}f})"
                    line.append(text + floor)
                body.append(line)
        return [escape(head) for head in ("Metric", "Model", *self.methods)], body


def _against_the_next(board: Leaderboard) -> Leaderboard:
    """Return a leaderboard whose improvements are over the second in the ranking."""
    first, *others = board.ranked
    if not others or not others[0].losses:
        return board
    return replace(board, entries=(others[0], first, *others[1:]))


def compare_models(
    models: Mapping[str, Any],
    methods: Iterable[str] | Mapping[str, Any] = PAPER,
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
    kind = kind_of(next(iter(pairs.values()))[1])
    chosen = methods_to_compare(methods, kind, n_bins)
    boards: dict[str, Leaderboard] = {}
    rows: list[ModelNumber] = []
    mark_level = 1.0 - (1.0 - level) / max(len(pairs) * len(chosen), 1)
    options = (n_bins, level, mark_level, n_resamples, random_state)
    for position, (name, (fitting, unseen)) in enumerate(pairs.items()):
        model = _Model(name, fitting, rows_that_count(unseen), *options)

        def report(share: float, method: str, position: int = position, name: str = name) -> None:
            if progress:
                progress((position + share) / len(pairs), f"{name}: {method}")

        boards[name] = model.board(chosen, report)
        rows += model.rows(boards[name])
    order = (*TABLES, *MEASURES)
    rows.sort(key=lambda row: order.index(row.measure))
    n_fitting, n_unseen = (
        max(0 if pair[part] is None else len(pair[part]) for pair in pairs.values()) for part in (0, 1)
    )
    return ModelComparison(boards, pd.DataFrame(rows), n_bins, level, n_fitting, n_unseen)


def methods_to_compare(methods: Iterable[str] | Mapping[str, Any], kind: Kind, n_bins: int) -> dict[str, Any]:
    """Return the unfitted calibrators of the argument `methods` by name, without the base."""
    if isinstance(methods, Mapping):
        return dict(methods)
    known = methods_of_kind(kind, n_bins)
    if methods is PAPER:
        return {name: known[name] for name in PAPER if name in known} or known
    chosen = {}
    for name in [methods] if isinstance(methods, str) else methods:
        if name in known:
            chosen[name] = known[name]
        elif name in METHODS:
            calibrator = for_kind(make_calibrator(name), kind)
            chosen[name_of(calibrator)] = calibrator
        elif name != BASE:
            raise InputError(f"there is no method {name!r}; methods are {', '.join((*known, *METHODS))}")
    return chosen


class _Model:
    def __init__(
        self,
        name: str,
        calibration: Announcement | None,
        evaluation: Announcement,
        n_bins: int,
        level: float,
        mark_level: float,
        n_resamples: int,
        random_state: int | None,
    ) -> None:
        self.name, self.calibration = name, calibration
        self.base = Rows(evaluation)
        self.n_bins, self.level, self.mark_level = n_bins, level, mark_level
        self.redraws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
        self.measures = [
            measure for measure in MEASURES.values() if measure.listed and measure.missing(self.base) is None
        ]
        self.base_values: dict[str, np.ndarray] = {}
        self.base_unseen: dict[str, float] = {}
        self.numbers: dict[str, dict[str, dict[str, Any]]] = {}

    def board(self, methods: Mapping[str, Any], progress: Callable[[float, str], object]) -> Leaderboard:
        base = self._entry(BASE, self.base, None)
        options: dict[str, Any] = {"n_bins": self.n_bins, "base": base, "assess": self._fitted}
        return compare(self.calibration, self.base.predictions, methods, progress=progress, **options)

    def rows(self, board: Leaderboard) -> list[ModelNumber]:
        return [
            ModelNumber(
                self.name,
                entry.method,
                measure.key,
                measure.title,
                entry.metrics.bins if entry.metrics else None,
                entry.failure,
                **self.numbers.get(entry.method, {}).get(measure.key, {}),
            )
            for measure in self.measures
            for entry in board.entries
        ]

    def _fitted(self, name: str, calibrator: BaseEstimator) -> Entry:
        calibrator, seconds = timed_fit(name, calibrator, rows_to_fit(self.name, self.calibration))
        scored = self.base.of_scores(calibrated_scores(calibrator, self.base.predictions))
        return self._entry(name, scored, seconds)

    def _entry(self, name: str, evidence: Rows, seconds: float | None) -> Entry:
        entry = entry_of(name, evidence, self.base, seconds=seconds, n_bins=self.n_bins)
        values = _values_of_rows(evidence, entry)
        unseen = self._unseen(evidence, entry, values)
        if name == BASE:
            self.base_values, self.base_unseen = values, unseen
        numbers: dict[str, dict[str, Any]] = {}
        applicable = [
            reported
            for reported in self.measures
            if reported.key in entry.losses or reported.missing(evidence) is None
        ]
        for measure in applicable:
            value = entry.metrics.values.get(measure.key) if entry.metrics else None
            if measure.key in entry.losses:
                value = weighted_mean(entry.losses[measure.key], evidence.weights)
            numbers[measure.key] = {"value": np.nan if value is None else value}
            if name != BASE:
                numbers[measure.key] |= self._difference(measure, evidence, values, unseen)
        for notion in dict.fromkeys(reported.notion for reported in applicable if reported.is_error):
            errors = {
                reported.key: reported
                for reported in applicable
                if reported.is_error and reported.notion == notion
            }
            options = {
                key: {part: error.options[part] for part in ("metric", "norm", "aggregate")}
                for key, error in errors.items()
            }
            bins: dict[str, Any] = {"notion": notion or evidence.notion, "n_bins": self.n_bins}
            floors = noise_floors(evidence, options, **bins, **self.redraws)
            for key, floor in floors.items():
                upper = float(floor.quantile(0.95))
                numbers[key] |= {"floor": floor.mean, "floor_upper": upper, "p_value": floor.p_value}
        self.numbers[name] = numbers
        return entry

    def _difference(
        self,
        measure: Measure,
        evidence: Rows,
        values: Mapping[str, np.ndarray],
        unseen: Mapping[str, float],
    ) -> dict[str, Any]:
        """Return difference, ends and mark against the base; nothing if there is no paired interval."""
        if measure.metric == "ece":
            change_at: Callable[[float], Any] = partial(self._error_change, measure, evidence)
        elif measure.key in values:
            more = np.array([unseen[measure.key] - self.base_unseen[measure.key]])
            change_at = partial(self._score_change, measure, values[measure.key], more)
        else:
            return {}
        change = change_at(self.level)
        mark: Mark = ""
        if change.lower > 0.0 or change.upper < 0.0:
            together = change_at(self.mark_level)
            if together.lower > 0.0 or together.upper < 0.0:
                mark = "better" if (change.upper < 0.0) != measure.higher_is_better else "worse"
        strategy = evidence.strategy
        if isinstance(strategy, PerClass) and measure.notion in POOLED_NOTIONS:
            strategy = strategy.of_class(-1)
        if measure.is_error and mark == "worse" and strategy not in ("uniform", self.base.strategy):
            mark = ""
        return {"difference": change.difference, "lower": change.lower, "upper": change.upper, "mark": mark}

    def _error_change(self, measure: Measure, evidence: Rows, level: float) -> Any:
        notion = measure.notion or "top-label"
        return paired_difference(evidence, self.base, notion=notion, n_bins=self.n_bins, level=level)

    def _score_change(self, measure: Measure, values: np.ndarray, unseen: np.ndarray, level: float) -> Any:
        base = self.base_values[measure.key]
        return paired_intervals_of(base, values[None], measure.metric or "", self.base, level, unseen)[0]

    def _unseen(self, evidence: Rows, entry: Entry, values: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return by how much one more wrong row changes the mean of each of `_values_of_rows`."""
        unseen = dict(entry.unseen)
        for key in values.keys() - unseen.keys():
            scored, before = (
                (evidence, self.base) if key == "accuracy" else (evidence.tops(), self.base.tops())
            )
            unseen[key] = scored.unseen_error(MEASURES[key].metric, before)
        return unseen


def _values_of_rows(evidence: Rows, entry: Entry) -> dict[str, np.ndarray]:
    """Return the score of each row and whether it is right, by key."""
    values = dict(entry.losses)
    if MEASURES["accuracy"].missing(evidence) is None:
        values["accuracy"] = row_values(evidence.predictions, "accuracy")
    if MEASURES["top_brier"].missing(evidence) is None:
        tops = evidence.tops().predictions
        values["top_brier"], values["top_log_loss"] = row_values(tops, "brier"), row_values(tops, "log_loss")
    return values
