"""The table of slices: groups of rows with their calibration error, its noise floor, and what is above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.answers.cuts import Cut, cut_column
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.notions import TOP_NOTIONS, Notion
from calib.data.predictions import TopLabelPrediction, weighted_rows, weights_of
from calib.data.validation import as_labels, check_choice, check_share
from calib.evidence.binning import Strategy
from calib.evidence.reductions import event_scores, outcomes_of, reduce_to_binary, top_label
from calib.stats.floors import ABOVE_NOISE, ProblemFloors, discoveries, problem_floors, refined_p_values

#: Columns of `SliceTable.frame` with the head and the meaning that tables print.
SLICE_COLUMNS = {
    "column": ("Column", "Column that the groups are cut from"),
    "group": ("Group", "Value, range or month of the group"),
    "count": ("Rows", "Rows of the group"),
    "share": ("Share", "Share of all rows, or of their weight"),
    "accuracy": ("Right", "How often the outcome happens"),
    "confidence": ("Says", "Mean score"),
    "error": ("Error", "Calibration error of the group alone"),
    "floor": ("Floor", "Mean error of a perfect model of this size"),
    "floor_upper": ("Floor, 95 %", "Error that a perfect model stays below in 95 of 100 cases"),
    "p": ("p", "Chance that a perfect model shows as much"),
    "above_noise": ("Above noise", "At the false discovery rate over all groups"),
}


@dataclass(frozen=True, eq=False, repr=False)
class SliceTable(Result):
    """Groups of rows, those with the clearest evidence of miscalibration first; one entry per group in use.

    Attributes
    ----------
    notion : str
        What the error conditions on, besides the group.
    n_bins : int
        Bins per class (or group).
    fdr : float
        False discovery rate of `above_noise`.
    column, group : (G,) object arrays
        Column the group was cut from, and its name.
    count : (G,) int64 array
        Rows.
    share : (G,) float64 array
        Share of all rows, or of their weight; sums to 1 for each column.
    accuracy, confidence : (G,) float64 arrays
        How often the outcome happens in the group, and its mean score.
    error : (G,) float64 array
        Plug-in calibration error of the group's rows.
    floor, floor_upper : (G,) float64 arrays
        Mean and 95 % quantile of the error of a perfect model with these scores.
    p : (G,) float64 array
        Chance that such a model shows `error` or more.
    above_noise : (G,) bool array
        By the procedure of Benjamini & Hochberg (1995) over all groups of all columns.
    """

    notion: str
    n_bins: int
    fdr: float
    column: np.ndarray
    group: np.ndarray
    count: np.ndarray
    share: np.ndarray
    accuracy: np.ndarray
    confidence: np.ndarray
    error: np.ndarray
    floor: np.ndarray
    floor_upper: np.ndarray
    p: np.ndarray
    above_noise: np.ndarray

    def __len__(self) -> int:
        return len(self.count)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one of the columns of `frame`."""
        return getattr(self, check_choice(name, tuple(SLICE_COLUMNS), "a column of the table"))

    def words(self, strong: str = "{}") -> str:
        """Say how many groups are above noise; `strong` as for `calib.diagrams.cell_words`."""
        found = strong.format(f"{int(self.above_noise.sum()):,} of {len(self):,}")
        return f"{found} groups are {ABOVE_NOISE} (false discovery rate {100 * self.fdr:g} %)"

    def frame(self) -> pd.DataFrame:
        """Return one row per group, the clearest evidence first."""
        return pd.DataFrame({name: getattr(self, name) for name in SLICE_COLUMNS})


def slices(
    y_true: Any,
    scores: Any,
    groups: Any,
    *,
    notion: Notion = "top-label",
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    cuts: Mapping[str, int | Sequence[float] | str] | int | Sequence[float] | str | None = None,
    fdr: float = 0.05,
    sample_weight: Any = None,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = None,
) -> SliceTable:
    """Find out which groups of rows are miscalibrated beyond noise.

    Parameters
    ----------
    y_true : (n,) array_like
        True class codes; for scores of one event, whether it happened.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores in [0, 1].
    groups : (n,) array_like, Series, DataFrame or sequence of Cut
        What the groups are cut from (`cut_column`): one column, of which whole numbers are codes of groups,
        or a table of columns, of which each divides all rows.
    notion : {"top-label", "confidence"}
        Whether cells of a group are told apart by predicted class.
    n_bins, strategy, sample_weight
        As for `calib.ece`.
    cuts : int, sequence of float, str, or mapping of column to one of these, optional
        Where numbers and dates are cut: `at` of `cut_column`.
    fdr : float in (0, 1)
        False discovery rate of `above_noise`.
    n_resamples : int
        Redraws of the outcomes for the floors. Where p-values of 1 / (n_resamples + 1) are too coarse to
        decide on so many groups, the clearest ones get more.
    random_state : int, Generator or None
        Seed of the redraws.

    Raises
    ------
    InputError
        If an argument cannot be used, or the columns have another number of rows than the scores.

    Notes
    -----
    Errors of groups are plug-in errors, which noise raises, the more the fewer rows: they are shown beside
    their floors, and groups are ranked by p-value, not by error. Groups of several columns overlap; so do the
    p-values that the false discovery rate is controlled over (Benjamini & Yekutieli 2001 show that this is
    harmless where they are positively dependent).

    Examples
    --------
    >>> top = TopLabelPrediction(np.zeros(400, int), np.full(400, 0.8))
    >>> y = np.concatenate([np.repeat([0, 1], [160, 40]), np.repeat([0, 1], [100, 100])])
    >>> table = slices(y, top, np.repeat(["north", "south"], 200), random_state=0)
    >>> table.group.tolist(), table.error.round(2).tolist(), table.above_noise.tolist()
    (['south', 'north'], [0.3, 0.0], [True, False])
    """
    check_choice(notion, TOP_NOTIONS, "notion")
    check_share(fdr, "fdr", 0.05)
    sample_weight = weights_of(scores, sample_weight)
    columns = [cut_one(column, None, len(y_true)) for column in _cut_all(groups, cuts)]
    codes = [weighted_rows(column.code, column.code, sample_weight)[0] for column in columns]
    y_true, scores, weights = weighted_rows(y_true, scores, sample_weight)
    label, score, right = claims(y_true, scores)
    if notion == "confidence":
        label = np.zeros_like(label)
    random = np.random.default_rng(random_state)
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    among = sum(len(np.unique(code)) for code in codes)
    tables = []
    for column, code in zip(columns, codes, strict=True):
        width = int(label.max()) + 1
        cells, problem = np.unique(code * width + label, return_inverse=True)
        owner = np.append(cells // width, len(column.groups))
        problems = reduce_to_binary(
            np.where(right, problem, len(cells)),
            TopLabelPrediction(problem, score),
            "top-label",
            sample_weight=weights,
        )
        floors = problem_floors(
            problems, owner=owner, n_resamples=n_resamples, random_state=random, **options
        )
        p = refined_p_values(problems, floors, fdr, n_resamples, random, owner=owner, among=among, **options)
        tables.append(_of_column(column, code, floors, p, score, right, weights))
    return ranked_groups(tables, notion=notion, n_bins=n_bins, fdr=fdr)


def ranked_groups(tables: Sequence[pd.DataFrame], *, notion: Notion, n_bins: int, fdr: float) -> SliceTable:
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
    if not isinstance(groups, pd.Series) and len(groups) and all(isinstance(one, Cut) for one in groups):
        return list(groups)
    name = getattr(groups, "name", None)
    name = "group" if name is None else str(name)
    where = cuts.get(name) if isinstance(cuts, Mapping) else cuts
    return [cut_column(groups, name=name, at=where, codes=True)]


def cut_one(groups: Any, at: Any, n_samples: int) -> Cut:
    """Return one column cut into groups, of as many rows as there are labels."""
    (cut,) = [groups] if isinstance(groups, Cut) else _cut_all(groups, at)
    if len(cut.code) != n_samples:
        raise InputError(
            f"groups must hold one value per row: column {cut.name!r} has {len(cut.code):,} rows, the labels "
            f"{n_samples:,}"
        )
    return cut


def claims(y_true: Any, scores: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return class, score and outcome of the one claim about each row."""
    event = event_scores(scores)
    if event is not None:
        return np.zeros(len(event), dtype=np.int64), event, outcomes_of(y_true, scores)
    label, score = top_label(scores)
    return label, score, as_labels(y_true, len(label), None) == label


def _of_column(
    column: Cut,
    code: np.ndarray,
    floors: ProblemFloors,
    p: np.ndarray,
    score: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray | None,
) -> pd.DataFrame:
    each = np.ones(len(code)) if weights is None else weights
    weight, says, happened = (
        np.bincount(code, weights=each * values, minlength=len(column.groups))[floors.problem]
        for values in (1.0, score.astype(np.float64), right)
    )
    return pd.DataFrame(
        {
            "column": pd.Series([column.name] * len(p), dtype=object),
            "group": pd.Series([column.groups[at] for at in floors.problem], dtype=object),
            "count": floors.count,
            "share": weight / each.sum(),
            "accuracy": happened / weight,
            "confidence": says / weight,
            "error": floors.observed,
            "floor": floors.mean,
            "floor_upper": floors.upper,
            "p": p,
        }
    )
