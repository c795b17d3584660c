"""Thresholds on P(Y = 1): what acting above them does, and what they promise about events and other rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from calib.answers.calibrated import used_words
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.acceptance import ActionRule, chance_of_event
from calib.data.equal_rows import Overlap
from calib.evidence.clusters import Clusters, even_clusters_of, too_few
from calib.evidence.rows import Rows
from calib.evidence.sums import SummedRows
from calib.stats.intervals import binomial_limits, few_clusters_factor

#: Sequences of tests of a precision, from few to many rows that are acted on.
STARTS = 4

#: Thresholds that are tested, descending, the same for all data: equal steps of the log-odds, and 0.
TESTED = np.append(expit(np.arange(12.0, -12.025, -0.05)), 0.0)

#: What can be promised, and about which rows.
PROMISES = {
    "sensitivity": "at least {:.4g} of the events are acted on",
    "precision": "at least {:.4g} of the rows acted on are events",
    "false_positive_rate": "at most {:.4g} of the rows without the event are acted on",
}


def event_rows(evidence: Rows | SummedRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return outcome, score and weight of the rows of one event; of two classes, of the second one."""
    if not isinstance(evidence, Rows):
        raise InputError("acting on an event needs the rows, and a summary holds only sums")
    event = chance_of_event(evidence.predictions)
    weight = evidence.weights if evidence.is_weighted else np.ones(len(event), dtype=np.int64)
    return evidence.labels == 1, event, weight


def cost_thresholds(costs: np.ndarray) -> np.ndarray:
    """Return P(Y = 1) at which two actions cost the same, for (2, 2) or (n, 2, 2) costs.

    Rows of costs are Y = 0 and Y = 1, columns are actions. Outside [0, 1], one action always costs less.

    >>> float(cost_thresholds(np.array([[0.0, 1.0], [9.0, 1.0]])).round(3))
    0.111
    """
    needless, missed = costs[..., 0, 1] - costs[..., 0, 0], costs[..., 1, 0] - costs[..., 1, 1]
    both = needless + missed
    return np.asarray(np.where(both != 0.0, needless / np.where(both != 0.0, both, 1.0), np.nan))


@dataclass(frozen=True, eq=False, repr=False)
class ActionCounts(Result):
    """Counts of labelled rows if rows with P(Y = 1) of at least a threshold are acted on."""

    threshold: float  #: Threshold t
    #: Rows with the event that are acted on, and that are not; rows without it, likewise
    hits: float
    missed: float
    needless: float
    left: float

    def cost(self, missed_cost: float) -> float:
        """Mean cost per row, if a needless action costs 1 and a missed event `missed_cost`."""
        rows = self.hits + self.missed + self.needless + self.left
        return (missed_cost * self.missed + self.needless) / rows

    def share(self, target: str) -> float:
        """Return the sensitivity, precision or false positive rate; NaN without such rows."""
        part, rest = {
            "sensitivity": (self.hits, self.missed),
            "precision": (self.hits, self.needless),
            "false_positive_rate": (self.needless, self.left),
        }[target]
        return part / (part + rest) if part + rest else float("nan")

    def frame(self) -> pd.DataFrame:
        """Return the confusion matrix: a row for each action, a column for each outcome."""
        table = {"Y = 1": [self.hits, self.missed], "Y = 0": [self.needless, self.left]}
        return pd.DataFrame(table, index=["acted on", "left alone"])


def action_counts(evidence: Rows | SummedRows, threshold: float) -> ActionCounts:
    """Count hits, missed, needless and left rows if scores of at least a threshold are acted on.

    >>> from calib.evidence.rows import as_evidence
    >>> rows = as_evidence([1, 0, 1, 0], [0.9, 0.6, 0.4, 0.1])
    >>> counts = action_counts(rows, 0.5)
    >>> counts.hits, counts.missed, counts.needless, counts.left, counts.cost(9.0)
    (1, 1, 1, 1, 2.5)
    """
    if not 0.0 <= threshold <= 1.0:
        raise InputError(f"threshold must be in [0, 1]; got {threshold!r}")
    happened, event, weight = event_rows(evidence)
    acted = event >= threshold
    cells = (happened & acted, happened & ~acted, ~happened & acted, ~happened & ~acted)
    return ActionCounts(float(threshold), *(weight[cell].sum().item() for cell in cells))


@dataclass(frozen=True, eq=False, repr=False)
class EventRule(ActionRule):
    """An `ActionRule` that `calib.decide` chose: its threshold is None if none keeps all targets."""

    targets: dict[str, float]  #: Targets by name, keys of `PROMISES`
    counts: ActionCounts | None  #: Effect on the rows that the threshold was chosen on
    #: Lowest and highest threshold that keeps each target, at the same level; None if none does
    kept: dict[str, tuple[float, float] | None]
    unpromised: str | None = None  #: Why nothing is promised: rows were fitted, or clusters are few
    dependence: str | None = None  #: Which rows may belong together: the targets hold whether they do or not

    @property
    def sentence(self) -> str:
        """The threshold, its effect on the rows it was chosen on, and its promise."""
        if self.counts is None:
            each = [
                f"{name.replace('_', ' ')} {value:.4g}: "
                + ("no threshold" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}")
                for (name, value), ends in zip(self.targets.items(), self.kept.values(), strict=True)
            ]
            words = f"These rows can promise no threshold that keeps all targets (alone: {'; '.join(each)})."
        else:
            done = self.counts
            acted, events = done.hits + done.needless, done.hits + done.missed
            shares = [f"{name.replace('_', ' ')} {done.share(name):.4f}" for name in PROMISES]
            words = (
                f"Act if P(Y = 1) is at least {self.threshold:.6f}: on {acted:,} of "
                f"{events + done.needless + done.left:,} rows, with {done.hits:,} of {events:,} events "
                f"({', '.join(shares)})."
            )
        if self.unpromised is not None:
            words += f" Nothing is promised for new rows: {self.unpromised}."
        elif self.guarantee is not None:
            words += f" {self.guarantee}"
        if self.dependence is not None:
            words += f" {self.dependence[0].upper()}{self.dependence[1:]} may belong together: this holds "
            words += "whether they do or not."
        return words

    def frame(self) -> pd.DataFrame:
        """Return a row per target: its value, the value here, and the thresholds that keep it."""
        rows = []
        for name, value in self.targets.items():
            lowest, highest = self.kept[name] or (np.nan, np.nan)
            here = np.nan if self.counts is None else self.counts.share(name)
            rows.append((name, value, here, lowest, highest))
        return pd.DataFrame(rows, columns=["target", "value", "here", "lowest", "highest"])


def event_rule(
    rows: Rows, targets: Mapping[str, float], alpha: float, overlap: Overlap | None = None
) -> EventRule:
    """Choose the threshold for `calib.decide` with targets of an event; alpha is divided among targets."""
    for name, value in targets.items():
        if not 0.0 < value < 1.0:
            raise InputError(f"{name} must be a share in (0, 1); got {value!r}")
    happened, event, _ = event_rows(rows)
    if happened.all() or not happened.any():
        raise InputError("these rows need events and rows without the event; all outcomes are equal")
    rows.problems(None).check_unweighted("decide", "its binomial guarantee counts rows")
    level = alpha / len(targets)
    kept = {
        name: np.logical_and.reduce([_kept(each, name, value, level) for each in rows.readings])
        for name, value in targets.items()
    }
    together = np.flatnonzero(np.logical_and.reduce(list(kept.values())))
    ends = {
        name: (float(TESTED[places].min()), float(TESTED[places].max())) if places.any() else None
        for name, places in kept.items()
    }
    unpromised = used_words(overlap, rows.problems(None)) or too_few(rows.n_clusters)
    threshold = counts = guarantee = None
    if len(together):
        threshold = float(TESTED[together[0 if "sensitivity" in targets else -1]])
        counts = action_counts(rows, threshold)
        promised = " and ".join(PROMISES[name].format(value) for name, value in targets.items())
        guarantee = f"With probability {1 - alpha:.3g}, {promised}, among new rows from the same source."
    dependence = None if rows.suspected is None else rows.suspected.rows
    guarantee = None if unpromised else guarantee
    return EventRule(threshold, alpha, guarantee, dict(targets), counts, ends, unpromised, dependence)


def _kept(rows: Rows, target: str, value: float, level: float) -> np.ndarray:
    """Return at which of `TESTED` a target is kept by tests in a fixed sequence.

    Sensitivity and false positive rate fall as the threshold rises: one sequence, from the end where the
    target holds for certain. A precision can do both: sequences from several starts, see `calib.decide`.
    """
    happened, event, _ = event_rows(rows)
    if target == "precision":
        low, _ = _limits(rows, event, np.ones(len(event), dtype=bool), happened, level / STARTS)
        number = _acted(event, TESTED)
        least = min(np.log(level / STARTS) / np.log(value), number[-1])
        goals = number[-1] * (least / number[-1]) ** (np.arange(STARTS)[::-1] / (STARTS - 1))
        kept = np.zeros(len(TESTED), dtype=bool)
        for start in np.searchsorted(number, np.maximum(np.floor(goals), 1.0)):
            kept[start:] |= np.logical_and.accumulate(low[start:] >= value)
        return kept
    members = happened if target == "sensitivity" else ~happened
    low, high = _limits(rows, event, members, None, level)
    if target == "sensitivity":
        return np.logical_and.accumulate((low >= value)[::-1])[::-1]
    return np.logical_and.accumulate(high <= value)


def _acted(event: np.ndarray, tested: np.ndarray) -> np.ndarray:
    """Return the number of rows with scores of at least each threshold."""
    return len(event) - np.searchsorted(np.sort(event), tested)


def _limits(
    rows: Rows, event: np.ndarray, members: np.ndarray, happened: np.ndarray | None, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return one-sided limits of the share of members acted on, or of events among the members acted on."""
    number = _acted(event[members], TESTED)
    if rows.clusters.independent:
        hits = number if happened is None else _acted(event[members & happened], TESTED)
        of = np.full(len(TESTED), members.sum()) if happened is None else number
        low, high = binomial_limits(hits, of, 2.0 * level)
        return np.where(of > 0, low, 0.0), np.where(of > 0, high, 1.0)
    limits = np.zeros((2, len(TESTED)))
    for place, threshold in enumerate(TESTED):
        if place and number[place] == number[place - 1]:
            limits[:, place] = limits[:, place - 1]
            continue
        acted = event >= threshold
        of = members if happened is None else members & acted
        hits = (acted if happened is None else happened)[of]
        limits[:, place] = _limits_of_share(hits, rows.clusters.take(of), 2.0 * level)
    return limits[0], limits[1]


def _limits_of_share(hits: np.ndarray, clusters: Clusters, alpha: float) -> tuple[float, float]:
    """Return limits of a share of rows in clusters: of the effective rows (Korn & Graubard 1998)."""
    if not len(hits):
        return 0.0, 1.0
    share, number, even = float(hits.mean()), float(clusters.n_clusters), float(clusters.n_clusters)
    if 0.0 < share < 1.0:
        away = hits - share
        sums = clusters.sums(away)
        number = min(share * (1.0 - share) * len(hits) ** 2 / max(float(sums @ sums), 1e-300), len(hits))
        even = even_clusters_of(sums, away, clusters.code)
    number *= few_clusters_factor(even, alpha)
    low, high = binomial_limits(np.array([share * number]), np.array([number]), alpha)
    return float(low[0]), float(high[0])
