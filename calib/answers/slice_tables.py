"""The table of slices: groups of rows with their calibration error, its noise floor, and what is above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.answers.cuts import Cut, cross_cuts, cut_column
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.defaults import FDR, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import needs_rows
from calib.data.notions import TOP_NOTIONS, Notion, Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_choice, check_share
from calib.evidence.evidence import Groups
from calib.evidence.rows import Rows, Source, as_evidence
from calib.evidence.sums import SummedRows
from calib.stats.floors import ProblemFloors, above_noise_words, discoveries, problem_floors

#: What groups are cut from: a column or its name, a table, or cuts.
Grouping: TypeAlias = str | Values | Cut | Sequence[Cut] | Sequence[str]

#: Columns of `SliceTable.frame` with the head and the meaning that tables print.
SLICE_COLUMNS = {
    "column": ("Column", "Column that the groups are cut from"),
    "group": ("Group", "Value, range or month of the group"),
    "count": ("Rows", "Rows of the group"),
    "share": ("Share", "Share of all rows, or of their weight"),
    "accuracy": ("Accuracy", "How often the outcome happens"),
    "confidence": ("Confidence", "Mean score"),
    "error": ("Error", "Calibration error of the group alone"),
    "floor": ("Floor", "Mean error of a perfect model of this size"),
    "floor_upper": ("Floor, 95 %", "Error that a perfect model stays below in 95 of 100 cases"),
    "smallest": ("Would show", "True error that would exceed the floor (95 %) in 80 of 100 such samples"),
    "p": ("p", "Chance that a perfect model shows as much"),
    "above_noise": ("Above noise", "At the false discovery rate over all groups"),
}


@dataclass(frozen=True, eq=False, repr=False)
class SliceTable(Result):
    """Groups of rows, the clearest evidence of miscalibration first; one entry per group in use."""

    notion: str  #: What the error conditions on, besides the group
    n_bins: int  #: Bins per class (or group)
    fdr: float  #: False discovery rate of `above_noise`
    #: (G,): Column the group was cut from, and its name
    column: NDArray[np.object_]
    group: NDArray[np.object_]
    count: NDArray[np.int64]  #: (G,): Rows
    share: NDArray[np.float64]  #: (G,): Share of all rows, or of their weight; sums to 1 for each column
    #: (G,): How often the outcome happens in the group, and its mean score
    accuracy: NDArray[np.float64]
    confidence: NDArray[np.float64]
    error: NDArray[np.float64]  #: (G,): Plug-in calibration error of the group's rows
    #: (G,): Mean and 95 % quantile of the error of a perfect model with these scores
    floor: NDArray[np.float64]
    floor_upper: NDArray[np.float64]
    smallest: NDArray[np.float64]  #: (G,): True error that would pass `floor_upper` in 80 of 100 such samples
    p: NDArray[np.float64]  #: (G,): Chance that such a model shows `error` or more
    #: (G,): By the procedure of Benjamini & Hochberg (1995) over all groups of all columns
    above_noise: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.count)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one of the columns of `frame`."""
        return getattr(self, check_choice(name, tuple(SLICE_COLUMNS), "a column of the table"))

    def words(self, strong: str = "{}") -> str:
        """Say how many groups are above noise; `strong` as for `calib.diagrams.cell_words`."""
        return above_noise_words(self.above_noise, len(self), "groups", self.fdr, strong)

    def texts(self) -> pd.DataFrame:
        """Return `frame` as texts, under the heads of `SLICE_COLUMNS`."""
        digits = {np.dtype(np.float64): "{:.4f}", np.dtype(np.int64): "{:,}"}
        own = {"share": "{:.1%}", "p": "{:.2g}"}
        return pd.DataFrame(
            {
                head: map(own.get(name, digits.get(self[name].dtype, "{}")).format, self[name])
                for name, (head, _) in SLICE_COLUMNS.items()
            }
        )

    def frame(self) -> pd.DataFrame:
        """Return one row per group, the clearest evidence first."""
        return pd.DataFrame({name: getattr(self, name) for name in SLICE_COLUMNS})


def slices(
    y_true: Source,
    scores: Scores | None = None,
    groups: Grouping | None = None,
    *,
    notion: Notion = "top-label",
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
    """Find out which groups of rows are miscalibrated beyond noise.

    Parameters
    ----------
    y_true, scores, n_bins, strategy, sample_weight, cluster
        As for `calib.noise_floor`.
    groups : str, (n,) array_like, Series, DataFrame or sequence of Cut
        A column or a table that groups are cut from (`cut_column`), or the name of one of the predictions'
        further columns. Whole numbers of a single column are codes. For a summary, names of summed columns,
        or None for all.
    notion : {"top-label", "confidence"}
        Whether each predicted class has its own cells within a group.
    cuts : int, sequence of float, str, or mapping of column to one of these, optional
        Edges of numbers and dates, as `at` of `cut_column`.
    pairs : bool
        Whether to assess the groups of every two columns at once, too, such as "north, 40 to 60".
    fdr : float in (0, 1)
        False discovery rate of `above_noise`, over all groups.
    n_resamples, random_state
        As for `calib.noise_floor`; the clearest groups get more redraws if p-values are too coarse.

    Notes
    -----
    Noise raises plug-in errors of small groups: groups are ranked by p-value, not by error. Groups of several
    columns overlap, which is harmless to the false discovery rate if p-values are positively dependent
    (Benjamini & Yekutieli 2001).

    Examples
    --------
    >>> from calib.data.predictions import TopLabelPrediction
    >>> top = TopLabelPrediction(np.zeros(400, int), np.full(400, 0.8))
    >>> y = np.concatenate([np.repeat([0, 1], [160, 40]), np.repeat([0, 1], [100, 100])])
    >>> table = slices(y, top, np.repeat(["north", "south"], 200), random_state=0)
    >>> table.group.tolist(), table.error.round(2).tolist(), table.above_noise.tolist()
    (['south', 'north'], [0.3, 0.0], [True, False])
    """
    check_choice(notion, TOP_NOTIONS, "notion")
    check_share(fdr, "fdr", 0.05)
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    parts = groups_of(evidence, groups, cuts, notion, pairs)
    random = np.random.default_rng(random_state)
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "fdr": fdr, "n_resamples": n_resamples}
    options["among"] = sum(len(part.present) for part in parts)
    tables = [
        _lines_of_column(
            part, problem_floors(part.evidence, owner=part.owner, random_state=random, **options)
        )
        for part in parts
    ]
    return _ranked_groups(tables, notion=notion, n_bins=n_bins, fdr=fdr)


def _ranked_groups(tables: Sequence[pd.DataFrame], *, notion: Notion, n_bins: int, fdr: float) -> SliceTable:
    """Return the table of the groups of all columns, given one table without `above_noise` of each."""
    table = pd.concat(tables, ignore_index=True)
    table["above_noise"] = discoveries(table["p"], fdr)
    spread = np.maximum(table["floor_upper"] - table["floor"], 1e-12)
    table["excess"] = (table["error"] - table["floor"]) / spread
    table = table.sort_values(["p", "excess"], ascending=[True, False], kind="stable")
    fields = {name: table[name].to_numpy() for name in SLICE_COLUMNS}
    return SliceTable(notion=notion, n_bins=n_bins, fdr=fdr, **fields)


def _cut_all(groups: Any, cuts: Any) -> list[Cut]:
    if isinstance(groups, pd.DataFrame):
        if not len(groups.columns):
            raise InputError("groups has no column to cut; pass at least one")
        unknown = set(cuts or ()) - set(groups.columns) if isinstance(cuts, Mapping) else set()
        if unknown:
            raise InputError(f"cuts names column {min(map(str, unknown))!r}, which groups does not have")
        at = cuts if isinstance(cuts, Mapping) else dict.fromkeys(groups.columns, cuts)
        return [cut_column(groups[name], name=str(name), at=at.get(name)) for name in groups.columns]
    if not isinstance(groups, pd.Series) and len(groups) and all(isinstance(cut, Cut) for cut in groups):
        return list(groups)
    name = getattr(groups, "name", None)
    name = "group" if name is None else str(name)
    where = cuts.get(name) if isinstance(cuts, Mapping) else cuts
    return [cut_column(groups, name=name, at=where, codes=True)]


def groups_of(
    evidence: Rows | SummedRows,
    groups: Grouping | None,
    cuts: Any,
    notion: Notion,
    pairs: bool = False,
) -> list[Groups]:
    """Return the evidence of the groups of every column; for a summary, of the columns that it holds."""
    if isinstance(evidence, SummedRows):
        if pairs:
            raise InputError(needs_rows("Pairs of columns"))
        given: Any = evidence.by if groups is None else groups
        columns = [given] if isinstance(given, str) else list(given)
        return [evidence.groups(column, notion) for column in columns or ["site"]]
    if groups is None:
        raise InputError("groups is None, but rows need it: pass one value per row, a table or cuts")
    if isinstance(groups, str):
        groups = _further_column(evidence, groups)
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


def _further_column(evidence: Rows, name: str) -> pd.Series:
    table = evidence.predictions.metadata
    if evidence.n_given != evidence.n_samples:
        raise InputError(f"some rows have weight 0: pass the column {name!r} itself as groups")
    if table is None or name not in table:
        held = "none" if table is None else ", ".join(map(repr, table.columns[:5]))
        raise InputError(f"the predictions have no further column {name!r}; they have {held}")
    return table[name]


def _lines_of_column(part: Groups, floors: ProblemFloors) -> pd.DataFrame:
    cells = part.evidence.cells()
    owner = part.owner[cells.problem]
    weight, scores, outcomes = (
        np.bincount(owner, weights=cells.weight * values, minlength=len(part.names) + 1)[floors.problem]
        for values in (1.0, cells.mean_score, cells.mean_outcome)
    )
    names = np.array(part.names, dtype=object)[floors.problem]
    return pd.DataFrame(
        {
            "column": np.full(len(names), part.column, dtype=object),
            "group": names,
            "count": floors.count,
            "share": weight / cells.weight.sum(),
            "accuracy": outcomes / weight,
            "confidence": scores / weight,
            "error": floors.observed,
            "floor": floors.mean,
            "floor_upper": floors.upper,
            "smallest": floors.smallest,
            "p": floors.p_value,
        }
    )
