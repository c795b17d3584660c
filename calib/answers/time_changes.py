"""Whether calibration changed over time: rows after a moment against the rows before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.answers.conclusion import UNKNOWN, concluded
from calib.base.exceptions import InputError
from calib.base.interval_words import interval_words
from calib.base.results import Drawn
from calib.data.defaults import FDR, LEVEL
from calib.data.kinds import needs_rows
from calib.data.predictions import Scores, Values
from calib.data.times import are_dates
from calib.data.validation import check_level, plain
from calib.evidence.group_shares import Shares, shares_of_groups
from calib.evidence.rows import Rows, Source, as_evidence, named_column, scores_and_next
from calib.stats.bets import as_times, moment, time_words
from calib.stats.floors import discoveries
from calib.stats.intervals import difference_limits, gap_limits, smallest_alpha

#: Most times at which a change is looked for, fewest rows on each side, most blocks of rows drawn.
MOST_TIMES, MIN_ROWS, MOST_BLOCKS = 50, 20, 30

#: Most predicted classes that a sentence names.
MOST_NAMED = 3

Verdict = Literal["changed", "wrong from the start", "no change"]


@dataclass(frozen=True)
class Split:
    """The gap before and since the time at which the rows differ most clearly from the rows before."""

    label: int  #: The predicted class; -1 for all rows
    time: Any  #: float or Timestamp: Earliest time of the rows since
    #: Rows before, and since
    n_before: int
    n_since: int
    #: How often the outcome happens minus the mean score, before and since
    before: float
    since: float
    #: `since` minus `before`, and its interval, valid for the choice of the time (and of the class)
    difference: float
    lower: float
    upper: float
    p: float  #: Chance of so clear a difference at any of the times, if nothing changed
    changed: bool

    def words(self, gap: str) -> str:
        """State time, gaps and difference; `gap` names a gap."""
        ends = interval_words(self.lower * 100, self.upper * 100, least=1, sign="+")
        return (
            f"since {time_words(self.time)}: {gap} {_points(self.before)} points before, "
            f"{_points(self.since)} since (difference {_points(self.difference)}, {ends})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class OverTime(Drawn):
    """Whether the gap of scores changed, and since when."""

    verdict: Verdict
    direction: str  #: What `calib.conclude` says of all rows
    kind: str  #: Kind of the predictions
    level: float  #: Chance that no change is found if there is none; coverage of the interval
    split: Split  #: All rows, at the time of the clearest difference
    classes: tuple[Split, ...]  #: Each predicted class with enough rows, the clearest difference first
    blocks: pd.DataFrame  #: Blocks of rows by time: first, last, rows, gap, lower, upper (95 % each)

    @property
    def since(self) -> Any:
        """Time of the change of all rows together; None without one."""
        return self.split.time if self.split.changed else None

    def words(self) -> str:
        """Answer in one sentence."""
        if self.split.changed:
            gap = "observed minus expected" if self.kind == "binary" else "accuracy minus confidence"
            return f"Changed {self.split.words(gap)}."
        ends = interval_words(self.split.lower * 100, self.split.upper * 100, least=1, sign="+")
        none = f"No change was found (clearest since {time_words(self.split.time)}: {ends} points)."
        if self.verdict == "wrong from the start":
            return f"Wrong from the start ({self.direction}). {none}"
        if self.direction != UNKNOWN:
            return f"{none} Scores are off ({self.direction}); these rows do not show since when."
        return none

    def class_words(self, class_names: Sequence[str] | None = None) -> str:
        """Name the predicted classes that changed; "" if they are not compared."""
        if not self.classes:
            return ""
        found = [split for split in self.classes if split.changed]
        head = f"{len(found) or 'None'} of {len(self.classes)} predicted classes changed"
        names = class_names or {split.label: split.label for split in found}
        named = [f"{names[split.label]} since {time_words(split.time)}" for split in found[:MOST_NAMED]]
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        return f"{head} (false discovery rate {100 * FDR:g}%){': ' if named else ''}{', '.join(named)}{more}."

    def frame(self) -> pd.DataFrame:
        """Return the blocks of rows."""
        return self.blocks


def over_time(
    y_true: Source,
    scores: Scores | None = None,
    time: Values | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> OverTime:
    """Find out whether calibration changed over time: since when, from the start, or not.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.noise_floor`. Clusters say what rows belong to, such as patients. Blocks of time are no
        clusters: a change makes their rows alike.
    time : str, or (n,) array_like of float, date or str
        When each row was scored, or the name of a further column of the predictions.
    level : float in (0, 1)
        Chance that no change is found if there is none.

    Notes
    -----
    The gap is how often the outcome happens minus the mean score. At each of K <= 50 times, the interval of
    the gap since then minus the gap before combines Clopper-Pearson intervals of the two frequencies, as in
    `calib.slices`, at the level 1 - (1 - level) / K. Calibration changed if any interval excludes 0
    (Bonferroni), and since the time whose difference is largest relative to its interval. Without a change,
    the model is wrong from the start if `calib.conclude` states a direction for all rows, and for the first
    half of them. Each predicted class is searched in the same way, with one false discovery rate over all
    classes (Benjamini & Hochberg 1995).

    A change that leaves the mean gap as it was, such as scores that become too high and too low by the same
    amount, is not found. A slow trend is dated near its middle. A monitor that is looked at every day is
    `calib.Monitor`.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> scores, week = random.uniform(0.6, 1.0, 2000), np.repeat(np.arange(10), 200)
    >>> found = over_time(random.random(2000) < scores - 0.15 * (week >= 6), scores, week)
    >>> found.verdict, found.since
    ('changed', 6.0)
    """
    scores, time = scores_and_next(y_true, scores, time)
    time = named_column(time, y_true, scores)
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if not isinstance(evidence, Rows):
        raise InputError(needs_rows("A change over time"))
    if time is None:
        raise InputError("time is None; pass when each row was scored, as dates or numbers")
    if cluster is not None and are_dates(np.asarray(plain(cluster))):
        raise InputError(
            "cluster holds blocks of time, in which a change makes rows alike; pass what rows belong to, "
            "such as patients, or leave it out"
        )
    alpha = 1.0 - check_level(level)
    clock, times = as_times(time, evidence.n_given, 0)
    times = times[evidence.counts]
    claims = _Claims(evidence, times, clock)
    whole = claims.splits([-1], alpha)
    if not whole:
        raise InputError(
            f"a change is found with {MIN_ROWS} rows before and since a time; got {len(times):,} rows at "
            f"{len(np.unique(times)):,} different times"
        )
    labels = np.unique(claims.label).tolist()
    classes = claims.splits(labels, FDR) if len(labels) > 1 else []
    verdict: Verdict = "changed" if whole[0].changed else "no change"
    direction = concluded(evidence, level=level).direction
    if verdict == "no change" and direction != UNKNOWN:
        first_half = np.flatnonzero(times < np.median(times))
        half = evidence.take(first_half)
        if half.n_samples >= MIN_ROWS and concluded(half, level=level).direction != UNKNOWN:
            verdict = "wrong from the start"
    clearest_first = tuple(sorted(classes, key=lambda split: split.p))
    about, blocks = (verdict, direction, evidence.kind, level), claims.blocks(1.0 - LEVEL)
    return OverTime(*about, whole[0], clearest_first, blocks)


class _Claims:
    def __init__(self, evidence: Rows, times: np.ndarray, clock: str) -> None:
        self.evidence, self.times, self.clock = evidence, times, clock
        self.label, self.score, self.right = evidence.claims()

    def shares(self, rows: np.ndarray, group: np.ndarray, n: int) -> tuple[Shares, Shares, np.ndarray]:
        of = self.evidence
        correlation = 0.0 if of.dependence is None else of.dependence.correlation
        values = of.weights[rows], self.right[rows], self.score[rows]
        return shares_of_groups(group, n, *values, of.clusters.take(rows), correlation)

    def splits(self, labels: Sequence[int], fdr: float) -> list[Split]:
        """Return the clearest split of all rows (-1) or of each predicted class that has times to look at."""
        found = []
        for label in labels:
            rows = np.flatnonzero(self.label == label) if label >= 0 else np.arange(len(self.times))
            looked_at = _starts(self.times[rows], MOST_TIMES, MIN_ROWS)
            if not len(looked_at):
                continue
            sides = [self.shares(rows, (self.times[rows] >= start).astype(int), 2) for start in looked_at]
            before, since = (Shares.joined([both[0].of(np.array([at])) for both in sides]) for at in (0, 1))
            correlation, n_times = np.array([both[2][0] for both in sides]), len(looked_at)
            lower, upper = difference_limits(since, before, correlation, fdr / n_times)
            difference = since.gap - before.gap
            reach = np.where(difference > 0.0, difference - lower, upper - difference)
            at = np.argmax(np.abs(difference) / reach, keepdims=True)
            best = since.of(at), before.of(at), correlation[at]
            p = min(float(smallest_alpha(partial(difference_limits, *best), 1)[0]) * n_times, 1.0)
            found.append((label, looked_at[at[0]], best, n_times, p))
        changed = discoveries([p for *_, p in found], fdr) if found else np.zeros(0, dtype=bool)
        alpha, splits = fdr * max(int(changed.sum()), 1) / max(len(found), 1), []
        for (label, start, best, n_times, p), is_changed in zip(found, changed.tolist(), strict=True):
            (since, before, _), ends = best, difference_limits(*best, alpha / n_times)
            numbers = (before.count, since.count, before.gap, since.gap, since.gap - before.gap, *ends)
            values = [each.item() for each in numbers]
            splits.append(Split(*(label, moment(start, self.clock), *values, p, is_changed)))
        return splits

    def blocks(self, alpha: float) -> pd.DataFrame:
        """Return blocks of rows by time; rows of one time are in one block."""
        starts = _starts(self.times, MOST_BLOCKS - 1, 1)
        block = np.searchsorted(starts, self.times, side="right")
        own = self.shares(np.arange(len(block)), block, len(starts) + 1)[0]
        times = pd.Series(self.times).groupby(block)
        lower, upper = gap_limits(own, alpha)
        first, last = ([moment(end, self.clock) for end in ends] for ends in (times.min(), times.max()))
        found = {"first": first, "last": last, "rows": own.count, "gap": own.gap}
        return pd.DataFrame(found | {"lower": lower, "upper": upper})


def _starts(times: np.ndarray, most: int, least: int) -> np.ndarray:
    """Return at most `most` times, spread evenly over the rows, with `least` rows before and since."""
    distinct, count = np.unique(times, return_counts=True)
    before = np.cumsum(count)[:-1]
    inside = (before >= least) & (len(times) - before >= least)
    starts, before = distinct[1:][inside], before[inside]
    if len(starts) <= most:
        return starts
    wanted = len(times) * np.arange(1, most + 1) / (most + 1.0)
    after = np.clip(np.searchsorted(before, wanted), 1, len(before) - 1)
    nearest = after - (wanted - before[after - 1] < before[after] - wanted)
    return starts[np.unique(nearest)]


def _points(gap: float) -> str:
    return f"{100.0 * gap:+.1f}"
