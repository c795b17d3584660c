"""Leaderboard: methods side by side, ranked by proper scores; calibration errors are diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from calib.answers.calibrated import (
    calibrated_scores,
    fit_on,
    unseen_losses,
    vector_losses,
)
from calib.answers.metric_tables import METRIC_COLUMNS, Metrics, metrics
from calib.answers.printed import escape_latex, escape_markdown, latex_row, latex_tabular, markdown_table
from calib.base.exceptions import InputError
from calib.base.interval_words import decimals_of, interval_words, with_interval
from calib.base.results import Result
from calib.calibrators.foreign import ForeignCalibrator, is_foreign
from calib.data.defaults import N_BINS
from calib.data.predictions import Announcement
from calib.evidence.row_scores import TINY, weighted_mean
from calib.evidence.rows import Rows
from calib.evidence.sums import SummedRows
from calib.stats.bootstrap import paired_intervals_of
from calib.stats.many import best_set
from calib.stats.measures import MEASURES

#: The scores that rank, and the heads of the improvements over the base model.
RANKING = {"brier": "Brier improvement", "log_loss": "Log loss improvement"}

#: Diagnostics, the most informative first. They do not rank methods, so no best one is marked.
METRICS = (
    "brier",
    "log_loss",
    "tl_ece",
    "tl_mce_cell",
    "n_distinct",
    "accuracy",
    "auc",
    "cw_auc",
    "top_auc",
    "conf_ece",
    "cw_ece",
    "tl_mce_bin",
    "top_brier",
    "top_log_loss",
    "ece",
    "mce",
)

#: Why scores rank, and what is marked.
HOW_RANKED = (
    "Methods are ranked by the Brier score, a proper score, and not by calibration "
    "error: one constant per class can be calibrated, and is useless (CalArena, arXiv 2605.30188). An "
    "improvement is the base model's score minus the method's, with a paired 95 % interval. Highlighted: "
    "methods that no other method clearly beats, all comparisons taken together."
)


@dataclass(frozen=True, eq=False, repr=False)
class Entry(Result):
    method: str  #: Name of the method
    metrics: Metrics | None = None  #: Its metrics; None if it failed
    seconds: float | None = None  #: Time the fit took; None for a base model
    failure: str | None = None  #: Why it could not be fitted; None if it could
    #: (n,) float64 loss of each row by score, from `calib.answers.calibrated.vector_losses`
    losses: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: Change of each mean if one more row is wrong, from `calib.answers.calibrated.unseen_losses`
    unseen: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Result):
    """Methods assessed on the same rows, ranked by their Brier score."""

    entries: tuple[Entry, ...]  #: The base model, reference of all improvements, and the methods in any order
    rows: Rows | None  #: The evaluation rows, with their weights and clusters; None for a summary

    @cached_property
    def ranked(self) -> tuple[Entry, ...]:
        """The entries by ascending Brier score; entries that failed come last."""
        mean = [self._mean(entry.losses["brier"]) if entry.losses else np.inf for entry in self.entries]
        return tuple(self.entries[position] for position in np.argsort(mean, kind="stable"))

    @cached_property
    def improvements(self) -> dict[str, dict[str, tuple[float, float, float]]]:
        """Base model minus method, with its interval (`calib.paired_interval`), by score and method."""
        scored = [entry for entry in self.ranked if entry.losses]
        ends_of: dict[str, dict[str, tuple[float, float, float]]] = {entry.method: {} for entry in scored}
        for metric in RANKING if scored else ():
            losses = np.array([entry.losses[metric] for entry in scored])
            base = self.entries[0].losses[metric]
            unseen = self._unseen(scored, metric) - self._unseen(self.entries[:1], metric)
            assert self.rows is not None, "losses are of rows"
            changes = paired_intervals_of(base, losses, metric, self.rows, unseen=unseen)
            for entry, change in zip(scored, changes, strict=True):
                # 0 -, so that the base model has 0, not -0
                ends = (0.0 - change.difference, 0.0 - change.upper, 0.0 - change.lower)
                ends_of[entry.method][metric] = ends
        return ends_of

    def _mean(self, losses: np.ndarray) -> float:
        assert self.rows is not None, "losses are of rows"
        return weighted_mean(losses, self.rows.weights)

    def _unseen(self, entries: Iterable[Entry], metric: str) -> np.ndarray:
        return np.array([entry.unseen.get(metric, 0.0) for entry in entries])

    @property
    def shown(self) -> list[str]:
        """Keys of the diagnostics that apply to the kind of the predictions."""
        kind = next((entry.metrics.kind for entry in self.entries if entry.metrics), "vectors")
        return [key for key in METRICS if key not in MEASURES or MEASURES[key].missing(kind) is None]

    def frame(self) -> pd.DataFrame:
        """Return one row per method, ranked: improvements, diagnostics, and why a method failed."""
        return self._table.copy()

    @cached_property
    def _table(self) -> pd.DataFrame:
        rows = []
        for entry in self.ranked:
            values: dict[str, Any] = {"Method": entry.method}
            for metric, head in RANKING.items():
                ends = self.improvements.get(entry.method, {}).get(metric, (None,) * 3)
                values |= dict(zip((head, f"{head}, lower", f"{head}, upper"), ends, strict=True))
            row = entry.metrics.row() if entry.metrics else {}
            row |= {metric: self._mean(losses) for metric, losses in entry.losses.items()}
            values |= {METRIC_COLUMNS[name]: row.get(name) for name in self.shown}
            values |= {METRIC_COLUMNS["strategy"]: entry.metrics.bins if entry.metrics else None}
            rows.append(values | {"Seconds": entry.seconds, "Failure": entry.failure})
        table = pd.DataFrame(rows)
        numbers = [head for head in table.columns if head not in ("Method", "Bins", "Failure")]
        table[numbers] = table[numbers].astype(float)
        return table

    def best(self) -> pd.DataFrame:
        """Return which methods may be the best, by each score: a boolean frame, ranked methods x scores.

        See `calib.stats.best_set`, at 95 %. None is marked if no method is distinguishably worse.
        """
        return self._marks.copy()

    @cached_property
    def _marks(self) -> pd.DataFrame:
        marks = {}
        for metric, head in RANKING.items():
            finite = np.array([_is_finite(entry, metric) for entry in self.ranked], dtype=bool)
            marked = np.zeros(len(self.ranked), dtype=bool)
            if finite.any():
                scored = [entry for entry in self.ranked if _is_finite(entry, metric)]
                marked[finite] = best_set(
                    [entry.losses[metric] for entry in scored],
                    sample_weight=self.rows.weights if self.rows else None,
                    cluster=self.rows.clusters.code if self.rows else None,
                    unseen=self._unseen(scored, metric),
                )
            n_scored = sum(bool(entry.losses) for entry in self.ranked)
            marks[head] = marked & (marked.sum() < n_scored)
        return pd.DataFrame(marks)

    def improvement_texts(self) -> pd.DataFrame:
        """Return texts such as "+0.0006 (+0.0004 to +0.0008)": a row per score, a column per entry."""
        texts: dict[str, dict[str, str]] = {entry.method: {} for entry in self.ranked}
        for entry in self.ranked:
            for metric, head in RANKING.items():
                shown = entry.losses and entry is not self.entries[0]
                change = self.improvements[entry.method][metric] if shown else ()
                texts[entry.method][head] = with_interval(*change, sign="+") if change else "\u2013"
        return pd.DataFrame(texts)

    def words(self, name: Callable[[str], str] = str) -> str:
        marked, base = self.best()[RANKING["brier"]], self.entries[0]
        best = [entry.method for entry, is_best in zip(self.ranked, marked, strict=True) if is_best]
        if not best:
            return "No method has a distinguishably lower Brier score than another."
        gain, lower, upper = self.improvements[self.ranked[0].method]["brier"]
        sentence = f"Lowest Brier score: {name(self.ranked[0].method)}"
        if self.ranked[0] is not base:
            sentence += (
                f", {gain:.{decimals_of(lower, upper)}f} below {name(base.method)} (95 % interval of "
                f"this comparison alone {interval_words(lower, upper, sign='+')})"
            )
        if len(best) > 1:
            listed = f"{', '.join(map(name, best[:-1]))} or {name(best[-1])}"
            sentence += f". All comparisons taken together, no method is distinguishably better than {listed}"
        return sentence + "."

    def markdown(self, decimals: int = 4) -> str:
        head, body = self._printed(decimals, bold="**{}**", escape=escape_markdown)
        return markdown_table(head, body)

    def latex(self, decimals: int = 4) -> str:
        head, body = self._printed(decimals, bold=r"\textbf{{{}}}", escape=escape_latex)
        lines = [r"\hline", latex_row(head) + r" \hline", *map(latex_row, body), r"\hline"]
        return latex_tabular("l" + "r" * (len(head) - 1), lines)

    def _printed(
        self, decimals: int, *, bold: str, escape: Callable[[str], str]
    ) -> tuple[list[str], list[list[str]]]:
        table, best = self.frame(), self.best()
        heads = [METRIC_COLUMNS[name] for name in self.shown]
        body = []
        for position, entry in enumerate(self.ranked):
            row, line = [escape(entry.method)], table.iloc[position]
            for head in RANKING.values():
                if np.isnan(line[head]):
                    row.append("failed" if head == RANKING["brier"] else "--")
                    continue
                ends = (line[name] for name in (head, f"{head}, lower", f"{head}, upper"))
                text = with_interval(*ends, least=decimals, sign="+")
                row.append(bold.format(text) if best[head].iloc[position] else text)
            for name, head in zip(self.shown, heads, strict=True):
                digits = 0 if name == "n_distinct" else decimals
                row.append("--" if np.isnan(line[head]) else f"{line[head]:.{digits}f}")
            body.append(row)
        return [escape(head) for head in ("Method", *RANKING.values(), *heads)], body


def _is_finite(entry: Entry, metric: str) -> bool:
    """Whether the method has this score and gave every outcome a probability above 0."""
    return bool(entry.losses) and (metric == "brier" or bool(entry.losses[metric].max() < -np.log(TINY)))


def compare(
    calibration: Announcement | None,
    evaluation: Announcement,
    methods: Mapping[str, Any],
    *,
    n_bins: int = N_BINS,
    base: Entry | None = None,
    assess: Callable[[str, Any], Entry] | None = None,
    progress: Callable[[float, str], object] | None = None,
) -> Leaderboard:
    """Fit every method on calibration rows and assess it on evaluation rows; entries record failures."""
    rows = Rows(evaluation)

    def fitted(name: str, calibrator: BaseEstimator) -> Entry:
        calibrator, seconds = timed_fit(name, calibrator, calibration)
        scored = rows.of_scores(calibrated_scores(calibrator, rows.predictions))
        return entry_of(name, scored, rows, seconds=seconds, n_bins=n_bins)

    entries = [entry_of("Base", rows, rows, n_bins=n_bins) if base is None else base]
    for position, (name, calibrator) in enumerate(methods.items()):
        if progress:
            progress(position / len(methods), name)
        try:
            entries.append((assess or fitted)(name, calibrator))
        except InputError as error:
            entries.append(Entry(name, failure=str(error)))
    return Leaderboard(tuple(entries), rows)


def timed_fit(name: str, calibrator: BaseEstimator, calibration: Announcement | None) -> tuple[Any, float]:
    """Fit a method of a leaderboard on calibration rows; return it and the seconds of the fit."""
    if calibration is None:
        raise InputError("there are no calibration rows to fit on; pass some")
    if is_foreign(calibrator):
        calibrator = ForeignCalibrator(calibrator, name=name)
    started = perf_counter()
    calibrator = fit_on(calibrator, calibration)
    return calibrator, perf_counter() - started


def row_losses(evidence: Rows | SummedRows, before: Rows | SummedRows) -> dict[str, Any]:
    """Return `losses` and `unseen` of an `Entry`; nothing for a summary."""
    if not isinstance(evidence, Rows) or not isinstance(before, Rows):
        return {}
    losses = vector_losses(evidence.predictions, before.predictions)
    return {"losses": losses, "unseen": unseen_losses(evidence, before, losses)}


def entry_of(
    name: str,
    evidence: Rows | SummedRows,
    before: Rows | SummedRows,
    *,
    seconds: float | None = None,
    n_bins: int = N_BINS,
) -> Entry:
    """Return the entry of a method; `before` is the evidence of the base model."""
    return Entry(name, metrics(evidence, method=name, n_bins=n_bins), seconds, **row_losses(evidence, before))
