"""The table of slices: which groups of rows are off by more or less than all other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.answers.cuts import Cut, cross_cuts, cut_column
from calib.base.exceptions import InputError
from calib.base.interval_words import (
    PLANNED_GAP,
    interval_words,
    rows_needed,
    smallest_difference,
    would_show,
)
from calib.base.results import Drawn
from calib.data.defaults import FDR, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import needs_rows
from calib.data.likeness import Suspected, depends_on
from calib.data.notions import TOP_NOTIONS, Notion, Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_choice, check_share, random_generator
from calib.evidence.clusters import Clusters
from calib.evidence.group_shares import Groups, Shares
from calib.evidence.rows import Evidence, Rows, Source, as_evidence, named_column, scores_and_next
from calib.evidence.sums import SummedRows
from calib.stats.floors import clearest_first, discoveries, problem_floors
from calib.stats.intervals import difference_limits, smallest_alpha

#: Most further columns, and most groups of a column, that `further_groups` compares.
MOST_COLUMNS, MOST_GROUPS = 20, 50

#: What groups are cut from: a column or its name, a table, or cuts.
Grouping: TypeAlias = str | Values | Mapping[str, Values] | Cut | Sequence[Cut] | Sequence[str]

#: Columns of `SliceTable.frame` with the head and the meaning that tables print.
SLICE_COLUMNS = {
    "column": ("Column", "Column that the groups are cut from"),
    "group": ("Group", "Value, range or month of the group"),
    "count": ("Rows", "Rows of the group"),
    "share": ("Share", "Share of all rows, or of their weight"),
    "gap": ("Gap", "Accuracy (frequency of the event) minus mean score in the group"),
    "gap_of_rest": ("Gap of others", "The same in all other rows"),
    "difference": ("Difference", "Gap of the group minus gap of all other rows"),
    "lower": ("Lower", "Lower end of the interval of the difference"),
    "upper": ("Upper", "Upper end of the interval of the difference"),
    "smallest": ("Would show", "Difference that would be found in 80 of 100 such samples"),
    "rows_needed": (
        "Rows needed",
        "Further rows of the group that would show 5 points, if all groups grow in proportion",
    ),
    "p": ("p", "Chance of such a difference if the group is off as much as all other rows"),
    "differs": ("Differs", "From all other rows, at the false discovery rate over all groups"),
    "accuracy": ("Observed", "How often the predicted class is right, or the event happens"),
    "confidence": ("Expected", "Mean score"),
    "ratio": ("O/E", "Observed divided by expected: 1 if the group is calibrated on average"),
    "error": ("Error", "Calibration error of the group alone"),
    "floor": ("Floor", "Mean error of a perfect model of this size"),
    "floor_upper": ("Floor, 95 %", "Error that a perfect model stays below in 95 of 100 cases"),
    "above_noise": ("Above noise", "Whether the group by itself is above noise, at the same rate"),
}


@dataclass(frozen=True, eq=False, repr=False)
class SliceTable(Drawn):
    """Groups of rows against all other rows, the clearest difference first; one entry per group in use."""

    kind: str  #: Kind of the predictions
    notion: str  #: What `error` conditions on, besides the group
    n_bins: int  #: Bins per class (or group)
    fdr: float  #: False discovery rate of `differs` and of `above_noise`
    level: float  #: Coverage of each interval; those that exclude 0 are the groups that differ
    #: (G,): Column the group was cut from, and its name
    column: NDArray[np.object_]
    group: NDArray[np.object_]
    count: NDArray[np.int64]  #: (G,): Rows
    share: NDArray[np.float64]  #: (G,): Share of all rows, or of their weight; sums to 1 for each column
    #: (G,): How often the outcome happens minus the mean score, in the group and in all other rows (NaN if
    #: there are none): negative is overconfident
    gap: NDArray[np.float64]
    gap_of_rest: NDArray[np.float64]
    #: (G,): `gap` minus `gap_of_rest`, and its interval
    difference: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    #: (G,): Difference whose interval would exclude 0 in 80 of 100 such samples
    smallest: NDArray[np.float64]
    rows_needed: NDArray[np.float64]  #: (G,): Further rows until it is five points, if all groups grow
    p: NDArray[np.float64]  #: (G,): Smallest alpha at which an interval of coverage 1 - alpha excludes 0
    #: (G,): By the procedure of Benjamini & Hochberg (1995) over all groups of all columns
    differs: NDArray[np.bool_]
    #: (G,): How often the outcome happens in the group, and its mean score
    accuracy: NDArray[np.float64]
    confidence: NDArray[np.float64]
    ratio: NDArray[np.float64]  #: (G,): `accuracy` divided by `confidence`: O/E of a risk
    error: NDArray[np.float64]  #: (G,): Plug-in calibration error of the group's rows; NaN without redraws
    #: (G,): Mean and 95 % quantile of the error of a perfect model with these scores
    floor: NDArray[np.float64]
    floor_upper: NDArray[np.float64]
    above_noise: NDArray[np.bool_]  #: (G,): Whether `error` is above noise by itself, as `differs`

    def __len__(self) -> int:
        return len(self.count)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one of the columns of `frame`."""
        return getattr(self, check_choice(name, tuple(SLICE_COLUMNS), "a column of the table"))

    def words(self, strong: str = "{}") -> str:
        """Say how many groups differ; `strong` as for `calib.diagrams.cell_words`."""
        n_found, among = int(self.differs.sum()), len(self)
        counted = strong.format(f"{n_found or 'None'} of {among:,}")
        columns = {str(name) for name in self.column}
        of = f" of {columns.pop()[:60]!r}" if len(columns) == 1 else ""
        rate = f"false discovery rate {100 * self.fdr:g}%"
        if n_found:
            differ = "differs" if n_found == 1 else "differ"
            return f"{counted} groups{of} {differ} from all other rows ({rate})"
        hidden = np.nanmin(self.smallest, initial=np.inf)
        shown = f"; {would_show(100.0 * hidden, decimals=1, unit=' points')}" if np.isfinite(hidden) else ""
        return f"{counted} groups{of} differs from all other rows ({rate}{shown})"

    def clearest_words(self) -> str:
        """Say how many groups differ, and how far the most different group is off; "" if none differs."""
        off = np.abs(np.where(self.differs, self.gap, 0.0)).argmax()
        found = self.column[off], str(self.group[off])
        difference = self.differences().get(found)
        return "" if difference is None else f"{self.words()}: {' '.join(found)} is {difference}"

    def differences(self, strong: str = "{}") -> dict[tuple[str, str], str]:
        """Describe each group that differs, by column and group; `strong` formats the direction."""
        return {
            (self.column[at], str(self.group[at])): self._difference(at, strong)
            for at in np.flatnonzero(self.differs).tolist()
        }

    def _difference(self, at: int, strong: str) -> str:
        gap, rest = self.gap[at], self.gap_of_rest[at]
        ends = interval_words(self.lower[at] * 100, self.upper[at] * 100, least=1, sign="+")
        found = f"{_points(gap)} points, theirs {_points(rest)}, difference {ends}"
        more, further = ("less", rest) if abs(gap) < abs(rest) else ("more", gap)
        if self.kind != "binary":
            direction = strong.format(f"{more} {'overconfident' if further < 0 else 'underconfident'}")
            return f"{direction} than all other rows (gap {found})"
        direction = strong.format(f"predicted too {'high' if further < 0 else 'low'}")
        return (
            f"{direction} by {more} than all other rows (observed {self.accuracy[at]:.1%}, expected "
            f"{self.confidence[at]:.1%}, O/E {self.ratio[at]:.2f}; observed minus expected {found})"
        )

    def first(self, n_groups: int) -> SliceTable:
        """Return the first groups, with the verdicts and intervals they have among all."""
        return replace(self, **{name: getattr(self, name)[:n_groups] for name in SLICE_COLUMNS})

    def texts(self) -> pd.DataFrame:
        """Return `frame` as texts, under the heads of `SLICE_COLUMNS`."""
        digits = {np.dtype(np.float64): "{:.4f}", np.dtype(np.int64): "{:,}"}
        own = {"share": "{:.1%}", "rows_needed": "{:,.0f}", "p": "{:.2g}", "ratio": "{:.3f}"}
        own |= dict.fromkeys(("gap", "gap_of_rest", "difference", "lower", "upper"), "{:+.4f}")
        return pd.DataFrame(
            {
                head: map(own.get(name, digits.get(self[name].dtype, "{}")).format, self[name])
                for name, (head, _) in SLICE_COLUMNS.items()
            }
        )

    def frame(self) -> pd.DataFrame:
        """Return one row per group, the clearest difference first."""
        return pd.DataFrame({name: getattr(self, name) for name in SLICE_COLUMNS})


def slices(
    y_true: Source,
    scores: Scores | Grouping | None = None,
    groups: Grouping | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    cuts: Mapping[str, int | Sequence[float] | str] | int | Sequence[float] | str | None = None,
    pairs: bool = False,
    fdr: float = FDR,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
) -> SliceTable:
    """Find out which groups of rows are off by more, or by less, than all other rows.

    Parameters
    ----------
    y_true, scores, n_bins, strategy, sample_weight, cluster
        As for `calib.noise_floor`.
    groups : str, (n,) array_like, Series, DataFrame or sequence of Cut
        A column or a table that groups are cut from (`cut_column`), or the name of one of the predictions'
        further columns. Whole numbers of a single column are codes. For a summary, names of summed columns,
        or None for all.
    notion : {"top-label", "confidence"}, optional
        Whether each predicted class has its own cells within a group, for the group's own error. Default:
        "top-label"; for a summary "confidence", the only one.
    cuts : int, sequence of float, str, or mapping of column to one of these, optional
        Edges of numbers and dates, as `at` of `cut_column`.
    pairs : bool
        Whether to assess the groups of every two columns at once, too, such as "north, 40 to 60".
    fdr : float in (0, 1)
        False discovery rate of `differs` and of `above_noise`, over all groups.
    n_resamples, random_state
        As for `calib.noise_floor`; the clearest groups get more redraws if p-values are too coarse. Without
        redraws (0) groups are compared with all other rows alone.

    Notes
    -----
    A group is compared with all other rows, because a model that is off everywhere is off in each group, also
    in groups drawn at random. The interval of a difference combines the Clopper-Pearson intervals of the two
    accuracies (with weights and clusters for the effective number of rows, Korn & Graubard 1998) by MOVER
    (Zou & Donner 2008; Zou 2007 if clusters have rows on both sides). Its coverage is 1 - max(R, 1) fdr / G
    if R of G groups differ: then it excludes 0 for these and for no others, and of the intervals of groups
    that differ a share `fdr` misses (Benjamini & Yekutieli 2005). Groups of several columns overlap, which is
    harmless to the false discovery rate if p-values are positively dependent (Benjamini & Yekutieli 2001).

    Examples
    --------
    >>> from calib.data.predictions import TopLabelPrediction
    >>> top = TopLabelPrediction(np.zeros(600, int), np.full(600, 0.8))
    >>> y = np.concatenate([np.repeat([0, 1], [160, 40])] * 2 + [np.repeat([0, 1], [100, 100])])
    >>> table = slices(y, top, np.repeat(["north", "west", "south"], 200), random_state=0)
    >>> table.group.tolist(), table.difference.round(2).tolist(), table.differs.tolist()
    (['south', 'north', 'west'], [-0.3, 0.15, 0.15], [True, True, True])
    """
    check_share(fdr, "fdr", 0.05)
    own, groups = scores_and_next(y_true, scores, groups)
    groups = named_column(groups, y_true, own)
    evidence = as_evidence(y_true, own, sample_weight, cluster)
    notion = notion or ("confidence" if isinstance(evidence, SummedRows) else "top-label")
    check_choice(notion, TOP_NOTIONS, "notion")
    parts = groups_of(evidence, groups, cuts, notion, pairs)
    options = {"strategy": strategy, "n_resamples": n_resamples, "random_state": random_state}
    return _table_of(parts, evidence.kind, notion, fdr, n_bins=n_bins, **options)


def _table_of(
    parts: Sequence[Groups[Evidence]],
    kind: str,
    notion: str,
    fdr: float,
    n_bins: int = N_BINS,
    **options: Any,
) -> SliceTable:
    options["random_state"] = random_generator(options.get("random_state"))
    options |= {"n_bins": n_bins, "fdr": fdr, "among": sum(len(part.present) for part in parts)}
    table = pd.concat([_own_errors(part, options) for part in parts], ignore_index=True)
    table["above_noise"] = discoveries(table["p_noise"], fdr)
    found = [(part.present, *part.shares()) for part in parts]
    own = Shares.joined([side.of(present) for present, side, _, _ in found])
    rest = Shares.joined([side.of(present) for present, _, side, _ in found])
    correlations = np.concatenate([correlation[present] for present, _, _, correlation in found])
    table = table.assign(count=own.count, gap=own.gap, gap_of_rest=rest.gap, difference=own.gap - rest.gap)
    ratio = np.divide(own.happened, own.score, out=np.full(len(own.score), np.nan), where=own.score > 1e-300)
    table = table.assign(accuracy=own.happened, confidence=own.score, ratio=ratio)
    table["share"] = own.weight / (own.weight + rest.weight)
    level = _compare(table, own, rest, correlations, fdr)
    table = table.iloc[clearest_first(table["p"], table["difference"].abs())]
    fields = {name: table[name].to_numpy() for name in SLICE_COLUMNS}
    return SliceTable(kind, notion=notion, n_bins=n_bins, fdr=fdr, level=level, **fields)


def further_groups(evidence: Evidence, fdr: float = FDR) -> SliceTable | None:
    """Compare the groups of all further columns, or of the columns that a summary holds; None without any.

    A column counts if it has 2 to `MOST_GROUPS` groups, does not follow from label and prediction, and does
    not hold the known clusters. Rows that are suspected to belong together do so, see `slices_if_clustered`.
    """
    if isinstance(evidence, SummedRows):
        return slices(evidence, notion="confidence", fdr=fdr, n_resamples=0) if evidence.by else None
    rows, known = evidence.predictions, evidence.clusters
    if rows.metadata is None or "every label" in rows.has:
        return None
    predicted = evidence.claims()[0]
    pair = predicted * (int(evidence.labels.max()) + 1) + evidence.labels
    given = np.zeros(evidence.n_given, dtype=np.int64)
    cuts: list[Cut] = []
    for name, values in rows.metadata.items():
        if len(cuts) == MOST_COLUMNS:
            break
        try:
            cut = cut_column(values, name=str(name))
        except InputError:  # ids, or texts that do not repeat
            continue
        declared = not known.independent and known.given(cut.code).independent
        if 1 < len(cut.groups) <= MOST_GROUPS and not (declared or depends_on(pair, cut.code)):
            given[evidence.counts] = cut.code
            cuts.append(replace(cut, code=given.copy()))
    return slices_if_clustered(evidence, cuts, fdr) if cuts else None


def slices_if_clustered(evidence: Rows, cuts: Sequence[Cut], fdr: float = FDR) -> SliceTable:
    """Compare groups as if rows that are suspected to belong together did; see `suspected_within`."""
    parts = []
    for cut in cuts:
        found, own = suspected_within(evidence, cut), evidence
        if found is not None:
            own = evidence.with_clusters(Clusters.of(found.cluster, evidence.n_samples))
        parts.append(own.groups(cut.name, cut.groups, cut.code, "confidence"))
    return _table_of(parts, evidence.kind, "confidence", fdr, n_resamples=0)


def suspected_within(evidence: Rows, cut: Cut) -> Suspected | None:
    """Return which rows may belong together in groups: by the clearest column finer than these, else by any.

    A property of patients is then not taken for the cause of differences between patients.
    """
    if evidence.suspected is None:
        return None
    suspects, code = [evidence.suspected, *evidence.suspected.others], cut.code[evidence.counts]
    for each in suspects:
        if depends_on(each.cluster, code) and not depends_on(code, each.cluster):
            return each
    return suspects[0]


def _own_errors(part: Groups[Evidence], options: dict[str, Any]) -> pd.DataFrame:
    """Return the error of each group by itself, with its noise floor; NaN and p = 1 without redraws."""
    names = np.array(part.names, dtype=object)
    if not options["n_resamples"]:
        table = pd.DataFrame({"group": names[part.present], "error": np.nan})
        return table.assign(column=part.column, floor=np.nan, floor_upper=np.nan, p_noise=1.0)
    floors = problem_floors(part.evidence, owner=part.owner, **options)
    table = pd.DataFrame({"group": names[floors.problem], "error": floors.observed, "floor": floors.mean})
    return table.assign(column=part.column, floor_upper=floors.upper, p_noise=floors.p_value)


def _compare(table: pd.DataFrame, own: Shares, rest: Shares, correlation: np.ndarray, fdr: float) -> float:
    """Write p, `differs` and the intervals of the differences into the table; return the level of these."""
    compared = rest.count > 0
    own, rest, correlation = own.of(compared), rest.of(compared), correlation[compared]
    n_compared = max(int(compared.sum()), 1)
    p_value, differs = np.ones(len(compared)), np.zeros(len(compared), dtype=bool)
    lower, upper = np.full((2, len(compared)), np.nan)
    if compared.any():
        limits = partial(difference_limits, own, rest, correlation)
        p_value[compared] = smallest_alpha(limits, int(compared.sum()))
        differs[compared] = discoveries(p_value[compared], fdr)
    alpha = fdr * max(int(differs.sum()), 1) / n_compared
    lower[compared], upper[compared] = difference_limits(own, rest, correlation, alpha)
    smallest = smallest_difference(lower, upper, 1.0 - alpha)
    for name, values in {"p": p_value, "differs": differs, "lower": lower, "upper": upper}.items():
        table[name] = values
    table["smallest"], table["rows_needed"] = smallest, rows_needed(table["count"], smallest, PLANNED_GAP)
    return 1.0 - alpha


def _points(gap: float) -> str:
    return f"{round(100.0 * gap, 1) + 0.0:+.1f}"


def _cut_all(groups: Any, cuts: Any) -> list[Cut]:
    if isinstance(groups, (pd.DataFrame, Mapping)):
        if not len(names := list(groups)):
            raise InputError("groups has no column to cut; pass at least one")
        unknown = set(cuts or ()) - set(names) if isinstance(cuts, Mapping) else set()
        if unknown:
            raise InputError(f"cuts names column {min(map(str, unknown))!r}, which groups does not have")
        at = cuts if isinstance(cuts, Mapping) else dict.fromkeys(names, cuts)
        return [cut_column(groups[name], name=str(name), at=at.get(name)) for name in names]
    if isinstance(groups, (list, tuple)) and groups and all(isinstance(cut, Cut) for cut in groups):
        return list(groups)
    name = getattr(groups, "name", None)
    name = "group" if name is None else str(name)
    where = cuts.get(name) if isinstance(cuts, Mapping) else cuts
    return [cut_column(groups, name=name, at=where, codes=True)]


def groups_of(
    evidence: Evidence, groups: Grouping | None, cuts: Any, notion: Notion, pairs: bool = False
) -> Sequence[Groups[Evidence]]:
    """Return the evidence of the groups of every column; for a summary, of the columns that it holds."""
    if isinstance(evidence, SummedRows):
        if pairs:
            raise InputError(needs_rows("Pairs of columns"))
        given: Any = evidence.by if groups is None else groups
        columns = [given] if isinstance(given, str) else list(given)
        return [evidence.groups(column, notion) for column in columns or ["site"]]
    if groups is None:
        raise InputError("groups is None, but rows need it: pass one value per row, a table or cuts")
    found, alone = [], [groups] if isinstance(groups, Cut) else _cut_all(groups, cuts)
    if pairs and len({len(cut.code) for cut in alone}) == 1:
        alone += [cross_cuts(*both) for both in combinations(alone, 2)]
    for cut in alone:
        if len(cut.code) != evidence.n_given:
            raise InputError(
                f"groups must hold one value per row: column {cut.name!r} has {len(cut.code):,} rows, the "
                f"predictions {evidence.n_given:,}"
            )
        found.append(evidence.groups(cut.name, cut.groups, cut.code, notion))
    return found
