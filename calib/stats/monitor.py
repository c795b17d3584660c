"""Calibration over time: evidence that is valid at any time, the start of a change, and its classes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.results import Drawn
from calib.data.kinds import check_equal_rows
from calib.data.notions import Notion
from calib.data.predictions import BasePrediction, Scores, Values
from calib.data.validation import check_alpha, check_choice, check_not_negative, plain
from calib.evidence.rows import Source, known_rows, named_column, scores_and_next
from calib.stats.bets import (
    CELLS,
    CLOCKS,
    LARGEST_HASH,
    REMEMBERED,
    STAKE,
    Entries,
    Level,
    as_times,
    begun_by,
    cell_of,
    digest,
    gap_bounds,
    hashes_of,
    log_factors,
    moment,
    time_words,
)

#: Most blocks of rows whose sums are kept; neighbours are then joined.
MOST_BLOCKS = 256
#: Largest logarithm shown as a number, and most classes and groups in a sentence.
MOST_LOG, MOST_NAMED = 690.0, 5

F = TypeVar("F", bound=Callable[..., Any])
#: Where rows begin: a number or date if they have times, else the id of their batch.
Begin = float | pd.Timestamp | str
#: The id of a batch, and a note, have fewer characters than this.
LONGEST_LINE = 10_000
#: Fewest distinct rows without times whose repetition is no coincidence.
LEAST_DISTINCT = 20
#: Held while a monitor changes or is written: threads may share one.
CHANGING = threading.RLock()


def _one_at_a_time(change: F) -> F:
    """Let one thread at a time change a monitor; a change that raises leaves every field as it was."""

    @wraps(change)
    def alone(monitor: Monitor, *args: Any, **options: Any) -> Any:
        with CHANGING:
            before = vars(monitor) | {
                "levels": {level: state.copy() for level, state in monitor.levels.items()},
                "blocks": [*monitor.blocks],
                "seen": [*monitor.seen],
                "start": {**monitor.start},
            }
            try:
                return change(monitor, *args, **options)
            except BaseException:
                vars(monitor).update(before)
                raise

    return cast(F, alone)


@dataclass(frozen=True)
class Block:
    #: Earliest and latest time of the rows, in the unit of `Monitor.clock`
    first: float
    last: float
    n_rows: int
    log_evidence: float  #: Logarithm of the evidence after them
    batch: str  #: Id of the update of its first row

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        first, last, n_rows, worth, batch = zip(*(vars(block).values() for block in blocks), strict=True)
        return cls(min(first), max(last), sum(n_rows), worth[-1], batch[0])


@dataclass(frozen=True)
class Count:
    """Rows that were counted until `Monitor.acknowledge` ended their count."""

    note: str  #: Why it ended and the next one began
    n_rows: int
    evidence: float  #: Largest worth of the bets
    since: str | None  #: After an alarm, the start of the change that explained it best


@dataclass(frozen=True)
class MonitoredGap:
    """The frequency of the outcomes minus the mean score."""

    #: "all", "class" or "group"
    level: str
    name: str
    n_rows: int  #: Rows, or clusters, that it is the mean of
    #: Mean of outcome - score, and its confidence sequence
    gap: float
    lower: float
    upper: float
    since: Begin  #: Time of the first of the rows; without times, their batch


@dataclass(frozen=True)
class Unit:
    """All rows, a class or a group, with the evidence against its calibration."""

    level: str  #: "all", "class" or "group"
    name: str  #: Name of the class or group; empty for all rows
    rows: int  #: Rows, or clusters, so far
    log_evidence: float  #: Logarithm of the worth of the bets on it
    named: bool  #: Whether an alarm names it
    #: Frequency of the outcomes minus the mean score, and its confidence sequence
    gap: float
    lower: float
    upper: float


class Monitor(Drawn):
    """Evidence against calibration in a stream of rows, valid at any time and however often you look.

    Bets with a total stake of 1 claim that outcomes are more or less frequent than the scores say. If the
    model is calibrated, their worth is a supermartingale: the chance that it ever reaches 1 / alpha, which
    raises the alarm, is at most alpha (Ville 1939).

    Parameters
    ----------
    notion : str
        "top-label" (all rows, and each predicted class), "confidence" (all rows) or "class-wise" (each
        class).
    by : str, optional
        Name of the groups that `update` is given, each of which is also assessed alone.
    tolerance : float
        The model counts as calibrated if the probability of the outcome is within this of the score.
    alpha : float
        Largest chance of ever raising a false alarm.

    Attributes
    ----------
    alarm : bool
        Whether the evidence has ever reached `threshold`.
    evidence : float
        The worth of the bets now.
    since : float, Timestamp, str or None
        After an alarm, the start of the change that explains it best; without times, the id of a batch.
    n_rows, n_unlabelled, n_returned : int
        Rows that were bet on, rows without a label, and rows left out because their cluster came before.
    ended : tuple of Count
        Earlier counts, see `acknowledge`.

    Notes
    -----
    Bets move the log-odds of all scores or of a cell, or stretch them, and may begin at any block of rows;
    all are mixed before the first row. All rows, classes and groups are averaged (Vovk & Wang 2021). After an
    alarm classes and groups are named by weighted e-BH (Wang & Ramdas 2022), with a false discovery rate
    below alpha. The order of rows must not depend on later outcomes: if one outcome is known later than the
    other, wait for both.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> monitor = Monitor(notion="confidence")
    >>> for week in range(8):
    ...     scores = random.uniform(0.6, 1.0, 200)
    ...     right = random.random(200) < scores - (0.15 if week >= 4 else 0.0)
    ...     monitor = monitor.update(right, scores, np.full(200, week))
    >>> monitor.alarm, monitor.since
    (True, 4.0)
    """

    def __init__(
        self,
        *,
        notion: Notion = "top-label",
        by: str | None = None,
        tolerance: float = 0.0,
        alpha: float = 0.05,
    ) -> None:
        self.notion, self.by = check_choice(notion, ("top-label", "confidence", "class-wise"), "notion"), by
        self.tolerance = check_not_negative(tolerance, "tolerance")
        self.alpha = check_alpha(alpha)
        if by is not None and notion == "class-wise":
            raise InputError('groups (by) need the notion "top-label" or "confidence"; got "class-wise"')
        self.levels: dict[str, Level] = {}
        self.blocks: list[Block] = []
        self.clock = "row"
        self.largest = 0.0
        self.n_rows = self.n_unlabelled = self.n_returned = 0
        self.seen: list[int] = []
        self.batches: tuple[str, ...] = ()  #: Ids of the batches that were added
        self.ended: tuple[Count, ...] = ()
        self.hashes = np.empty(0, dtype=np.int64)
        self.clusters: np.ndarray | None = None  #: Hashes of the names of all clusters, ascending
        #: Bounds of outcome - score by (level, unit, cell) if rows of a start are compared with.
        self.start: dict[tuple[str, str], np.ndarray] = {}

    @property
    def threshold(self) -> float:
        """Evidence at which the alarm is raised; bounds from `compare_with` take half of alpha."""
        return (2.0 if self.start else 1.0) / self.alpha

    @property
    def log_evidence(self) -> float:
        """Logarithm of the evidence."""
        return self.blocks[-1].log_evidence if self.blocks else 0.0

    @property
    def evidence(self) -> float:
        """The worth of the bets now, at most 1e300."""
        return float(np.exp(min(self.log_evidence, MOST_LOG)))

    @property
    def alarm(self) -> bool:
        """Whether the evidence has ever reached the threshold."""
        return bool(self.largest >= np.log(self.threshold))

    @property
    def since(self) -> Begin | None:
        """Start of the change that explains an alarm best."""
        if not self.alarm:
            return None
        level, unit = max(
            ((level, unit) for level, state in self.levels.items() for unit in range(len(state.names))),
            key=lambda place: self._likeliest(*place)[0],
        )
        return self._begin(self.blocks[self._likeliest(level, unit)[1]])

    @property
    def alpha_spent(self) -> float:
        """Largest chance that any of the ended counts raised a false alarm."""
        return min(self.alpha * sum(count.n_rows > 0 for count in self.ended), 1.0)

    def _begin(self, block: Block) -> Begin:
        return block.batch if self.clock == "row" else moment(block.first, self.clock)

    @_one_at_a_time
    def acknowledge(self, note: str) -> Monitor:
        """End the count, for example after an alarm, and begin a new one; return the monitor.

        The new count has its own alpha, and `alpha_spent` adds up what ended counts had. Rows, batches and
        clusters of ended counts are still refused. Rows of `compare_with` stay; call it again for others.

        Parameters
        ----------
        note : str
            Why, in one line, such as "refitted on 5 May". A note that was given before changes nothing.
        """
        if _check_line(note, "note") in {count.note for count in self.ended}:
            return self
        since = None if self.since is None else time_words(self.since)
        evidence = float(np.exp(min(self.largest, MOST_LOG)))
        self.ended += (Count(note, self.n_rows, evidence, since),)
        self.levels, self.blocks, self.largest = {}, [], 0.0
        self.n_rows = self.n_unlabelled = self.n_returned = 0
        return self

    @_one_at_a_time
    def compare_with(
        self,
        y: Source,
        scores: Scores | None = None,
        *,
        groups: Values | None = None,
        cluster: Values | None = None,
    ) -> Monitor:
        """Test for changes since these rows instead of gaps to the scores; call it before any `update`.

        The gap of each cell of scores may then be anything that these rows allow. Their bounds hold for all
        cells at once except with chance alpha / 2, and an alarm takes evidence of 2 / alpha. Parameters as
        for `update`.
        """
        if self.blocks:
            raise InputError("compare_with comes before the first update; start another monitor")
        self.start = {}
        rows = self._rows(y, scores, None, groups, cluster)
        if rows is None:
            raise InputError("none of these rows has a label; compare with labelled rows")
        for level, (unit, names) in rows.units.items():
            bets = rows.bets(unit * CELLS + cell_of(rows.scores))
            sums = bets.sums(rows.residuals, len(names) * CELLS).reshape(-1, CELLS, 3)
            alpha = self.alpha / 2.0 / len(rows.units) / sums[..., 0].size
            for name, cells in zip(names, sums, strict=True):
                self.start[level, name] = np.array([gap_bounds(cell, alpha) for cell in cells]).T
        return self

    @_one_at_a_time
    def update(
        self,
        y: Source,
        scores: Scores | None = None,
        time: Values | None = None,
        *,
        groups: Values | None = None,
        cluster: Values | None = None,
        batch: str | None = None,
    ) -> Monitor:
        """Add rows, and return the monitor.

        Parameters
        ----------
        y : (n,) array_like, or labelled predictions
            True class codes, or whether the event happened. Rows without a label (NaN or None) are left out;
            send them again when they have one.
        scores : (n, L) or (n,) array_like, or predictions of any kind
            As for `calib.ece`, unweighted.
        time : str, or (n,) array_like of float, date or str, optional
            When each row was scored, or the name of a further column. Rows of one update are sorted by it.
            Default: in the order they come.
        groups : str, or (n,) array_like, optional
            Group of each row, or the name of a further column, if `by` names groups.
        cluster : (n,) array_like, optional
            As for `calib.noise_floor`; a cluster is one bet. Rows of clusters of earlier updates are left out
            and counted, because what was seen of a cluster tells about its other rows.
        batch : str, optional
            Id of these rows, such as their day; default: the number of the update. Rows of an id that was
            added before change nothing: send an update again if nobody knows whether it arrived.

        Raises
        ------
        InputError
            If some rows were added before, or all rows are of clusters that came before.
        """
        if batch is not None and _check_line(batch, "batch") in self.batches:
            return self
        scores, time = scores_and_next(y, scores, time)
        time, groups = (named_column(each, y, scores) for each in (time, groups))
        rows = self._rows(y, scores, time, groups, cluster)
        if rows is None:
            return self
        self._refuse_known(rows.hashes)
        if not self.levels:
            self.levels = {level: Level() for level in rows.units}
        if self.levels.keys() != rows.units.keys():
            raise InputError("earlier rows were predictions of another kind; start another monitor")
        first, taken = len(self.blocks), []
        for level, (unit, names) in rows.units.items():
            state = self.levels[level]
            places = state.places(names, level == "all" or (rows.is_closed and level == "class"))
            bets = rows.bets(rows.block * len(state.names) + places[unit])
            n_keys = len(rows.blocks) * len(state.names)
            shape = (len(rows.blocks), len(state.names), -1)
            lower, upper = self._allowed(level, names, unit, rows.scores)
            paid = np.empty((n_keys, len(STAKE)))
            for bet, each in enumerate(log_factors(rows.scores, rows.outcomes, lower, upper)):
                paid[:, bet] = np.bincount(bets.key, bets.paid(each), n_keys)
            taken.append((state, bets.sums(rows.residuals, n_keys).reshape(shape), paid.reshape(shape)))
        for block, (earliest, latest, n_rows) in enumerate(rows.blocks):
            for state, sums, factors in taken:
                state.bet(first + block, sums[block], factors[block])
            name = f"update {len(self.seen) + 1}" if batch is None else batch
            worth = [np.log(share) + self.levels[level].log_mean() for level, share in self._shares().items()]
            self.blocks.append(Block(earliest, latest, n_rows, float(np.logaddexp.reduce(worth)), name))
            self.largest = max(self.largest, self.log_evidence)
        self.n_rows += sum(n_rows for _, _, n_rows in rows.blocks)
        self.n_returned += rows.n_returned
        self._remember(rows.hashes)
        self.batches += () if batch is None else (batch,)
        if rows.names is not None:
            known = rows.names[:0] if self.clusters is None else self.clusters
            self.clusters = np.unique(np.concatenate([known, rows.names]))
        while len(self.blocks) > MOST_BLOCKS:
            pairs = [self.blocks[at : at + 2] for at in range(0, len(self.blocks), 2)]
            self.blocks = [Block.joined(pair) for pair in pairs]
            for state in self.levels.values():
                state.halve()
        return self

    def named(self) -> list[tuple[str, str]]:
        """Return the classes and groups that an alarm is about: ("class", name) and ("group", name)."""
        found = []
        for level, state in self.levels.items():
            if level == "all" or not self.alarm:
                continue
            worth = state.log_evidence() + np.log(state.weights)
            order = np.argsort(-worth, kind="stable")
            enough = worth[order] >= np.log(self.threshold / np.arange(1, len(worth) + 1))
            last = int(np.flatnonzero(enough).max(initial=-1)) + 1
            found += [(level, state.names[at]) for at in order[:last].tolist()]
        return found

    def gap(self, level: str = "all", name: str = "", *, since_alarm: bool = False) -> MonitoredGap:
        """Return `gap`, the frequency of the outcome minus the mean score, between `lower` and `upper`.

        The ends are a confidence sequence: they hold at any time.

        Parameters
        ----------
        level, name : str
            "all", or "class" or "group" and its name.
        since_alarm : bool
            Only rows since the change that explains the evidence of this unit best; the interval then allows
            for the choice of the beginning.
        """
        state, unit = self._unit(level, name)
        begun = self._likeliest(level, unit)[1] if since_alarm else 0
        sums = state.gap_sums(unit, range(begun, len(self.blocks)))
        before = state.gap_sums(unit, range(begun))[0]
        share = begun_by(before + state.sums[begun, unit][0]) - begun_by(before) if since_alarm else 1.0
        mean, bounds = sums[1] / max(sums[0], 1.0), gap_bounds(sums, self.alpha * float(share))
        return MonitoredGap(level, name, int(sums[0]), mean, *bounds, self._begin(self.blocks[begun]))

    def _unit(self, level: str, name: str) -> tuple[Level, int]:
        state = self.levels.get(level)
        if state is None or name not in state.names:
            held = f"{level} {name!r}; `units` lists what it has" if self.levels else "any kind yet"
            raise InputError(f"this count has no rows of {held}")
        return state, state.names.index(name)

    def units(self) -> list[Unit]:
        """Return all rows, each class and each group: evidence, gap, and whether it is named."""
        named, found = self.named(), []
        for level, state in self.levels.items():
            for name, log_evidence in zip(state.names, state.log_evidence().tolist(), strict=True):
                gap, is_named = self.gap(level, name), (level, name) in named
                ends = gap.gap, gap.lower, gap.upper
                found.append(Unit(level, name, gap.n_rows, log_evidence, is_named, *ends))
        return found

    def frame(self) -> pd.DataFrame:
        """Return `units` as a table."""
        return pd.DataFrame(self.units())

    def over_time(self, level: str = "all", name: str = "") -> pd.DataFrame:
        """Return a row for each block of rows: its times and gap, and the gap and evidence up to there.

        `lower` and `upper` are the confidence sequence of the gap of all rows so far.
        """
        (state, unit), so_far, records = self._unit(level, name), np.zeros(3), []
        for at, block in enumerate(self.blocks):
            here = state.sums.get((at, unit), np.zeros(3))
            so_far = so_far + here
            lower, upper = gap_bounds(so_far, self.alpha)
            records.append(
                {
                    "first": moment(block.first, self.clock),
                    "last": moment(block.last, self.clock),
                    "rows": int(here[0]),
                    "gap": here[1] / here[0] if here[0] else np.nan,
                    "gap_so_far": so_far[1] / max(so_far[0], 1.0),
                    "lower": lower,
                    "upper": upper,
                    "log_evidence": block.log_evidence,
                }
            )
        return pd.DataFrame(records)

    def words(self) -> str:
        """Summarise the rows so far in a few sentences."""
        reached = (
            f"the evidence reached {np.exp(min(self.largest, MOST_LOG)):.3g} within {self.n_rows:,} rows"
        )
        if self.n_returned:
            reached += f", without {self.n_returned:,} rows of clusters that came before"
        earlier = ""
        if self.ended:
            last, spent = self.ended[-1], min(self.alpha_spent + self.alpha, 1.0)
            before = "without an alarm" if last.since is None else f"after the alarm since {last.since}"
            earlier = (
                f"Count {len(self.ended) + 1} began {before}: {last.note}. The chance of a false alarm is at "
                f"most {self.alpha:.3g} in this count, and {spent:.3g} in all counts together. "
            )
        since = self.since
        if since is None:
            return f"{earlier}No alarm: {reached}; {self.threshold:.3g} would raise one."
        named = self.named()
        whole = [("all", "")] if "all" in self.levels else []
        gaps = [self.gap(level, name, since_alarm=True) for level, name in [*whole, *named[:MOST_NAMED]]]
        sizes = [
            f"{f'{gap.level} {gap.name}' if gap.name else 'all rows'} "
            f"{with_interval(gap.gap, gap.lower, gap.upper, sign='+')} since "
            f"{time_words(gap.since)}"
            for gap in gaps
        ]
        more = f"; {len(named) - MOST_NAMED} more are named" if len(named) > MOST_NAMED else ""
        what = "other than at the start" if self.start else "miscalibrated"
        return (
            f"{earlier}Alarm: {what} since {time_words(since)}; {reached}, {self.threshold:.3g} raises "
            f"an alarm. Outcomes minus scores: {'; '.join(sizes)}{more}."
        )

    def __repr__(self) -> str:
        return f"<Monitor: {self.words()}>"

    def _likeliest(self, level: str, unit: int) -> tuple[float, int]:
        """Return the worth of the best bet with the best beginning, and the block in which it begins."""
        state = self.levels[level]
        worth = state.best[unit] + STAKE
        bet = int(worth.argmax())
        shared = np.log(state.weights[unit]) + np.log(self._shares()[level])
        return float(worth[bet] + shared), int(state.begun[unit][bet])

    def _shares(self) -> dict[str, float]:
        others = [level for level in self.levels if level != "all"]
        if len(others) == len(self.levels):
            return dict.fromkeys(others, 1.0 / len(others))
        return {"all": 0.5 if others else 1.0} | {level: 0.5 / len(others) for level in others}

    def _allowed(
        self, level: str, names: Sequence[str], unit: np.ndarray, scores: np.ndarray
    ) -> tuple[Any, Any]:
        """Return the bounds of P(outcome) - score that the null allows each entry."""
        if not self.start:
            return -self.tolerance, self.tolerance
        anything = np.array([np.full(CELLS, -1.0), np.full(CELLS, 1.0)])
        lower, upper = np.stack([self.start.get((level, name), anything) for name in names], axis=1)
        cell = cell_of(scores)
        return lower[unit, cell] - self.tolerance, upper[unit, cell] + self.tolerance

    def _rows(
        self,
        y: Source,
        scores: Scores | None,
        time: Values | None,
        groups: Values | None,
        cluster: Values | None,
    ) -> Entries | None:
        if (groups is None) != (self.by is None):
            raise InputError(
                "groups need by=, the name of their column"
                if self.by is None
                else f"pass groups=, the {self.by} of each row"
            )
        labels = np.empty(0) if scores is None else np.asarray(plain(y))
        if labels.ndim == 1 and (missing := pd.isna(labels)).any():
            self.n_unlabelled += int(missing.sum())
            if missing.all():
                return None
            known, y = ~missing, np.asarray(labels[~missing].tolist())
            scores = (
                scores.take(known) if isinstance(scores, BasePrediction) else np.asarray(plain(scores))[known]
            )
            time, groups, cluster = (
                None if given is None else np.asarray(given)[known] for given in (time, groups, cluster)
            )
        rows = known_rows(y, scores, None, cluster)
        check_equal_rows(rows, "A monitor")
        n_given = rows.n_samples
        if rows.cluster is not None:
            new = self._is_new(rows.cluster)
            time, groups = (None if given is None else np.asarray(given)[new] for given in (time, groups))
            rows = rows.take(new)
        clock, times = as_times(time, rows.n_samples, self._n_counted)
        if self.blocks and clock != self.clock:
            raise InputError(f"earlier rows have {CLOCKS[self.clock]}, these have {CLOCKS[clock]}")
        self.clock = clock
        return Entries(rows, self.notion, clock, times, groups, n_given - rows.n_samples)

    @property
    def _n_counted(self) -> int:
        return self.n_rows + sum(count.n_rows for count in self.ended)

    def _is_new(self, cluster: np.ndarray) -> np.ndarray:
        """Return which rows are of clusters that did not come before, (n,) bool."""
        new = np.ones(len(cluster), dtype=bool)
        if self.clusters is not None:
            new = ~np.isin(hashes_of(cluster), self.clusters)
        if not new.any():
            raise InputError(
                f"all {len(new):,} rows are of clusters that came before, and a cluster is one bet. Add rows "
                "of other clusters; or pass rows without clusters (--independent) if each stands alone"
            )
        return new

    def _refuse_known(self, hashes: np.ndarray) -> None:
        """Refuse an update with rows that were added before, if rows can be told apart."""
        if digest(hashes) in self.seen and (self.clock != "row" or len(np.unique(hashes)) >= LEAST_DISTINCT):
            raise InputError("these rows were added before; pass each row once")
        reach = int(self.hashes[-1]) if len(self.hashes) == REMEMBERED else LARGEST_HASH
        inside = np.unique(hashes[hashes <= reach])
        again = int(np.isin(inside, self.hashes).sum())
        are_distinct = len(self.hashes) * (LARGEST_HASH / reach) >= 0.98 * self._n_counted
        if are_distinct and again >= max(5, 0.1 * len(inside)):
            raise InputError(
                f"about {again / len(inside):.0%} of these rows were added before; pass each row once"
            )

    def _remember(self, hashes: np.ndarray) -> None:
        self.seen.append(digest(hashes))
        self.hashes = np.unique(np.concatenate([self.hashes, hashes]))[:REMEMBERED]


def _check_line(text: str, name: str) -> str:
    if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) < LONGEST_LINE:
        raise InputError(
            f"{name} must be a printable line of 1 to {LONGEST_LINE - 1:,} characters; got {text!r}"
        )
    return text
