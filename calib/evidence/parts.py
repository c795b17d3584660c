"""Parts of evidence: means over rows with their variance, and rows divided into groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from calib.evidence.group_shares import Shares

Part_co = TypeVar("Part_co", covariant=True)


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
class Groups(Generic[Part_co]):
    """Evidence of rows that a column divides into groups."""

    column: str  #: Name of the column
    names: tuple[str, ...]  #: Names of the groups
    evidence: Part_co  #: Evidence with a binary problem for each group, or for each group and class
    owner: np.ndarray  #: (P,) int64 array: group of each of these problems
    present: np.ndarray  #: (G,) int64 array: groups that have rows, ascending
    #: Gives the shares of each of the names, of all other rows, and the correlation of both
    shares: Callable[[], tuple[Shares, Shares, np.ndarray]]
