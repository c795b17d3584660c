"""Gaps between groups: how much more a group is off than all other rows, with intervals that hold at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.answers.slice_tables import Grouping, groups_of
from calib.base.exceptions import InputError
from calib.base.interval_words import POWER, interval_words, smallest_difference
from calib.base.results import Drawn
from calib.data.defaults import LEVEL, N_BINS
from calib.data.notions import TOP_NOTIONS, Notion, Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_choice, check_level
from calib.evidence.evidence import Groups
from calib.evidence.rows import Source, as_evidence
from calib.stats.intervals import error_interval, independent_difference, share_limits

#: Direction or verdict of groups whose interval holds 0.
NOT_DISTINGUISHABLE = "not distinguishable"

#: The bias and the error of some rows, each with the ends of its interval.
Side = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, eq=False, repr=False)
class SliceGaps(Drawn):
    """Groups against all other rows; one entry per requested group."""

    column: str  #: Column the groups are cut from
    level: float  #: Coverage of all intervals of one kind, of all groups of the column at once
    group: NDArray[np.object_]  #: (G,): Names of the groups
    #: (G,): Rows of the group, and all others
    count: NDArray[np.int64]
    rest: NDArray[np.int64]
    #: (G,): How often the outcome happens minus the mean score: negative is overconfident
    bias: NDArray[np.float64]
    bias_of_rest: NDArray[np.float64]
    #: (G,): Interval of bias minus bias_of_rest
    bias_lower: NDArray[np.float64]
    bias_upper: NDArray[np.float64]
    #: (G,): Calibration errors without the noise, `estimate` of `calib.error_interval`
    error: NDArray[np.float64]
    error_of_rest: NDArray[np.float64]
    #: (G,): Interval of the difference of the two true errors
    error_lower: NDArray[np.float64]
    error_upper: NDArray[np.float64]
    #: (G,): Difference of biases that would show in 80 of 100 samples of these sizes
    smallest: NDArray[np.float64]
    #: (G,): "more" or "less", "overconfident" or "underconfident"; or "not distinguishable". In a "less
    #: underconfident" group accuracy is above confidence, but by less than in other rows.
    direction: NDArray[np.object_]
    #: (G,): Whether the error is "higher", "lower" or "not distinguishable"
    verdict: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.group)

    @property
    def hidden(self) -> str:
        """Say which differences in bias could be hidden if groups are not distinguishable."""
        ends = dict.fromkeys(f"{end:.3f}" for end in (self.smallest.min(), self.smallest.max()))
        return f"differences of {' to '.join(ends)} would show in {100 * POWER:.0f} of 100 such samples"

    def words(self, strong: str = "{}") -> dict[str, str]:
        """Say how each group differs whose bias is distinguishable; `strong` formats the direction."""
        rows: list[Any] = list(self.frame().itertuples(index=False))
        return {
            row.group: f"{strong.format(row.direction)} than all other rows (accuracy minus confidence "
            f"{row.bias:+.4f} against {row.bias_of_rest:+.4f}, difference "
            f"{interval_words(row.bias_lower, row.bias_upper, sign='+')})"
            for row in rows
            if row.direction != NOT_DISTINGUISHABLE
        }

    def frame(self) -> pd.DataFrame:
        """Return one row per group."""
        names = [name for name in self.__dataclass_fields__ if name not in ("column", "level")]
        return pd.DataFrame({name: getattr(self, name) for name in names})


def slice_gaps(
    y_true: Source,
    scores: Scores | None = None,
    groups: Grouping | None = None,
    *,
    only: Sequence[str] | None = None,
    notion: Notion = "top-label",
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    cuts: int | Sequence[float] | str | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> SliceGaps:
    """Compare each group with all other rows.

    Parameters
    ----------
    y_true, scores, notion, n_bins, strategy, sample_weight, cluster
        As for `calib.slices`.
    groups : (n,) array_like, Series or Cut
        One column, as for `calib.slices`; for a summary, its name.
    only : sequence of str, optional
        Names of the groups to compare; by default all. The intervals are as wide as for all of them.
    cuts : optional
        Edges, as `at` of `cut_column`.
    level : float in (0, 1)
        Coverage of all intervals of one kind at once.

    Notes
    -----
    1 - level is divided among the G groups. Errors: `calib.error_interval` of each side at 1 - (1 - level) /
    (2 G), one end minus the other (union bound). Biases: the Clopper-Pearson intervals of the two accuracies
    at 1 - (1 - level) / G, combined as independent estimates (Zou & Donner 2008, after Newcombe 1998).

    Examples
    --------
    >>> from calib.data.predictions import TopLabelPrediction
    >>> top = TopLabelPrediction(np.zeros(800, int), np.full(800, 0.8))
    >>> y = np.concatenate([np.repeat([0, 1], [320, 80]), np.repeat([0, 1], [200, 200])])
    >>> gaps = slice_gaps(y, top, np.repeat(["north", "south"], 400), only=["south"])
    >>> [*gaps.direction, *gaps.verdict], gaps.bias.round(2), np.abs(gaps.bias_of_rest).round(2)
    (['more overconfident', 'higher'], array([-0.3]), array([0.]))
    """
    check_choice(notion, TOP_NOTIONS, "notion")
    columns = groups_of(as_evidence(y_true, scores, sample_weight, cluster), groups, cuts, notion)
    if len(columns) != 1:
        raise InputError(f"slice_gaps compares the groups of one column; got {len(columns)} columns")
    (part,) = columns
    if len(part.present) < 2:
        raise InputError(f"column {part.column!r} has one group only; gaps need at least two")
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    alpha = (1.0 - check_level(level)) / len(part.present)
    lines = []
    for group in _chosen(part, only):
        own, others = (part.side(group, other) for other in (False, True))
        differences = _differences(*(_side(side, alpha, options) for side in (own, others)))
        smallest = smallest_difference(differences[2], differences[3], 1.0 - alpha)
        words = _direction(differences[0], *differences[2:4]), _verdict(*differences[6:8])
        lines.append([part.names[group], own.n_samples, others.n_samples, *differences, smallest, *words])
    table = pd.DataFrame(lines, columns=list(SliceGaps.__dataclass_fields__)[2:])
    return SliceGaps(part.column, level, *(table[name].to_numpy() for name in table.columns))


def _chosen(part: Groups, only: Sequence[str] | None) -> list[int]:
    if only is None:
        return part.present.tolist()
    names = {part.names[group]: int(group) for group in part.present}
    unknown = [name for name in only if name not in names]
    if unknown:
        raise InputError(f"column {part.column!r} has no group {unknown[0]!r} with rows")
    return [names[name] for name in only]


def _side(side: Any, alpha: float, options: dict[str, Any]) -> Side:
    cells = side.cells(**options)
    mean_score, happened = float(cells.share @ cells.mean_score), side.mean("accuracy").value
    low, high = share_limits(side, alpha)
    error = error_interval(side, notion=side.notion, level=1.0 - alpha / 2, **options)
    return (
        happened - mean_score,
        low - mean_score,
        high - mean_score,
        error.estimate,
        error.lower,
        error.upper,
    )


def _differences(group: Side, rest: Side) -> list[float]:
    bias, low, high, error, least, most = group
    bias_rest, low_rest, high_rest, error_rest, least_rest, most_rest = rest
    between = independent_difference((bias, low, high), (bias_rest, low_rest, high_rest))
    return [
        *(bias, bias_rest, *between[1:]),
        *(error, error_rest, least - most_rest, most - least_rest),
    ]


def _direction(own: float, low: float, high: float) -> str:
    if high < 0:
        return "more overconfident" if own < 0 else "less underconfident"
    if low > 0:
        return "more underconfident" if own > 0 else "less overconfident"
    return NOT_DISTINGUISHABLE


def _verdict(low: float, high: float) -> str:
    return "higher" if low > 0 else "lower" if high < 0 else NOT_DISTINGUISHABLE
