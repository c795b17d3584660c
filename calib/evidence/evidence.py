"""Evidence, the source of every number: rows, or sums over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from calib.data.defaults import N_BINS
from calib.data.notions import Notion, Strategy
from calib.evidence.binning import BinaryProblems, BinStatistics
from calib.evidence.group_shares import Shares
from calib.evidence.ranking import Area
from calib.evidence.sampling import Draw, Sampler


class Mean:
    """Mean of a score over rows, and the variance of this mean, computed when it is first asked for."""

    def __init__(self, value: float, variance: Callable[[], float]) -> None:
        self.value = value
        self._variance = variance

    @cached_property
    def variance(self) -> float:
        """Variance of `value`; NaN if it is unknown from sums."""
        return self._variance()


@dataclass(frozen=True, eq=False)
class Groups:
    """Evidence of rows that a column divides into groups."""

    column: str  #: Name of the column
    names: tuple[str, ...]  #: Names of the groups
    evidence: Evidence  #: Evidence with a binary problem for each group, or for each group and class
    owner: np.ndarray  #: (P,) int64 array: group of each of these problems
    present: np.ndarray  #: (G,) int64 array: groups that have rows, ascending
    #: Gives the shares of each of the names, of all other rows, and the correlation of both
    shares: Callable[[], tuple[Shares, Shares, np.ndarray]]


class Evidence(Protocol):
    """Rows (`calib.evidence.rows.Rows`) or merged sums of rows (`calib.evidence.sums.SummedRows`)."""

    @property
    def kind(self) -> str:
        """Kind of the predictions, see `calib.data.kinds`."""

    @property
    def notion(self) -> Notion:
        """The default notion."""

    @property
    def strategy(self) -> Strategy:
        """Bins that assess the scores."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes; None if they have none."""

    @property
    def n_samples(self) -> int:
        """Number of rows with weight above 0."""

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights that differ."""

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of rows that belong together; None if rows are independent, or for sums."""

    @property
    def even_clusters(self) -> float | None:
        """Equal-sized clusters with as precise a variance (Satterthwaite 1946); None without clusters."""

    @property
    def effective_samples(self) -> float:
        """Rows of equal weight that means over all rows would need (Kish 1965)."""

    @property
    def true(self) -> np.ndarray:
        """Rows of each true class, (L,) int64."""

    def lacks(self, what: str) -> str | None:
        """Say in one sentence what something in `calib.data.kinds.NEEDS` lacks; None if nothing."""

    def problems(self, notion: Notion | None = None, top_k: int | None = None) -> BinaryProblems:
        """Return the sorted binary problems of a notion; sums raise `InputError`."""

    def cells(
        self,
        notion: Notion | None = None,
        *,
        n_bins: int = N_BINS,
        strategy: Strategy | None = None,
        top_k: int | None = None,
        variance: bool = False,
        effects: bool = True,
    ) -> BinStatistics:
        """Return the cells (problem, bin) of a notion; `effects`: whether `square` allows for clusters."""

    def draw(self, cells: BinStatistics, sampler: Sampler | None = None) -> tuple[Draw, int]:
        """Return a function that draws the outcome sums of cells for a perfect model."""

    def draw_each(self, cells: BinStatistics, chosen: np.ndarray | None = None) -> tuple[Draw, int]:
        """Return `draw` of cells (all or a mask) whose problems are judged separately."""

    def between_cells(self, cells: BinStatistics, slope: np.ndarray) -> float:
        """Estimated covariances between cells, which enter the variance of ``slope @ outcome sums``."""

    def mean(self, name: str) -> Mean:
        """Return the mean over rows of "accuracy", "brier" or "log_loss" of the whole prediction."""

    def event_mean(self, rule: str, notion: Notion | None = None, top_k: int | None = None) -> float:
        """Return the mean "brier" score or "log_loss" of all binary events of a notion."""

    def area(self, notion: Notion) -> Area:
        """Return the mean area under the ROC curve of the binary events of a notion."""

    def of_class(self, label: int, notion: str = "top-label") -> Any:
        """Return the evidence of one class alone, as a confidence that is right or wrong."""
