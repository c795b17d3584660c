"""How often outcomes happen in each group of rows and in all other rows, and how precise these shares are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from calib.evidence.clusters import Clusters

Part_co = TypeVar("Part_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of outcomes that happen, and mean scores, of G sets of rows."""

    count: np.ndarray  #: (G,) int64: Rows
    weight: np.ndarray  #: (G,) float64: Sum of their weights
    happened: np.ndarray  #: (G,) float64: Weighted share of outcomes that happen
    score: np.ndarray  #: (G,) float64: Weighted mean score
    rows: np.ndarray  #: (G,) float64: Independent rows whose share has the same variance
    by_weight: np.ndarray  #: (G,) float64: Rows that their weights alone are worth (Kish 1965)
    #: (G,) float64: Equal-sized clusters with as precise a variance; infinite if independent
    even: np.ndarray
    variance: np.ndarray  #: (G,) float64: Variance of `happened`
    #: (G,) float64: Variance of `gap` beyond the variance of `happened`, of scores that say little; else 0
    excess: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        return self.happened - self.score

    def of(self, chosen: np.ndarray) -> Shares:
        return Shares(*(values[chosen] for values in vars(self).values()))

    @classmethod
    def joined(cls, parts: Sequence[Shares]) -> Shares:
        return cls(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


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


@dataclass(frozen=True, eq=False)
class ShareSums:
    """Sums over the rows of G sets, of which `Shares` are made; `square` are sums over units of rows.

    A unit is a row, or the rows of one cluster in the set; a, b and c are its sums of weights times outcomes,
    of weights, and of weights times outcomes minus scores. The last sum is over rows.
    """

    count: np.ndarray
    weight: np.ndarray
    happened: np.ndarray
    score: np.ndarray
    square: np.ndarray  #: (6, G): Sums of a^2, a b, b^2, c b and c^2, and of the rows' squared weights

    def shares(self, units: np.ndarray | None = None, even: np.ndarray | None = None) -> Shares:
        """Return the shares; `units` and `even` are the clusters of each set, None for independent rows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            happened, score = self.happened / self.weight, self.score / self.weight
            *products, square = self.square / self.weight**2
            factor = 1.0 if units is None else units / np.maximum(units - 1.0, 1.0)
            a2, ab, b2, cb, c2 = (each * factor for each in products)
            variance = a2 - 2.0 * happened * ab + happened**2 * b2
            gap = happened - score
            excess = np.maximum(c2 - 2.0 * gap * cb + gap**2 * b2 - variance, 0.0)
            rows = happened * (1.0 - happened) / variance
            known = variance > 1e-12 * happened * (1.0 - happened)
            if units is None:
                rows = np.where(known, rows, 1.0 / square)
            else:
                rows = np.where(known, np.minimum(rows, self.count), units)
            by_weight = 1.0 / square
        even = np.full(len(rows), np.inf) if even is None else even
        count = self.count.astype(np.int64)
        return Shares(count, self.weight, happened, score, rows, by_weight, even, variance, excess)

    def minus(self, own: ShareSums) -> ShareSums:
        """Return the sums of all rows, which are the only set here, without each set's own."""
        names = ("count", "weight", "happened", "score", "square")
        return ShareSums(*(getattr(self, name) - getattr(own, name) for name in names))


def shares_of_groups(
    group: np.ndarray,
    n_groups: int,
    weight: np.ndarray,
    happened: np.ndarray,
    score: np.ndarray,
    clusters: Clusters,
    correlation: float = 0.0,
) -> tuple[Shares, Shares, np.ndarray]:
    """Return the shares of each group, of all rows outside it, and the correlation of both, (G,) float64.

    It is 0 unless clusters have rows in several groups. `group` numbers the groups of rows, and `correlation`
    is the correlation inside clusters, for the degrees of freedom.
    """

    def per_group(values: np.ndarray) -> np.ndarray:
        return np.bincount(group, values, n_groups)

    weighed = weight * happened
    names = ("count", "weight", "happened", "score")
    values = (np.ones(len(group)), weight, weighed, weight * score)
    sums = {name: per_group(each) for name, each in zip(names, values, strict=True)}
    totals = {name: np.array([each.sum()]) for name, each in sums.items()}
    if clusters.independent:
        away, squares = happened - score, weight**2
        outcome = per_group(weight * weighed)
        further = [per_group(each) for each in (squares, squares * away, squares * away**2)]
        square = np.stack([outcome, outcome, *further, further[0]])
        own = ShareSums(**sums, square=square)
        whole = ShareSums(**totals, square=square.sum(axis=1, keepdims=True))
        return own.shares(), whole.minus(own).shares(), np.zeros(n_groups)
    pair, at = np.unique(clusters.code * n_groups + group, return_inverse=True)
    cluster, place = np.divmod(pair, n_groups)
    each_row = (weighed, weight, weighed - weight * score, weight**2, np.ones(len(group)))
    of_pairs = [np.bincount(at, values) for values in each_row]
    a, b = of_pairs[:2]

    def per_pair(values: np.ndarray) -> np.ndarray:
        return np.bincount(place, values, n_groups)

    def sides(
        values: list[np.ndarray], outside: list[np.ndarray], whole: list[np.ndarray]
    ) -> list[np.ndarray]:
        """Return sums over the clusters of each group, and over the clusters of all rows outside it."""
        own = [per_pair(value) for value in values]
        rest = [
            total.sum() + per_pair(value - total[cluster])
            for value, total in zip(outside, whole, strict=True)
        ]
        return [np.stack(own), np.stack(rest)]

    def terms(
        a: np.ndarray, b: np.ndarray, c: np.ndarray, square: np.ndarray, size: np.ndarray
    ) -> list[np.ndarray]:
        spread = size * (1.0 + np.maximum(size - 1.0, 0.0) * correlation)
        counted = (size > 0).astype(np.float64)
        return [a * a, a * b, b * b, c * b, c * c, square, counted, spread, spread**2]

    wholes = [np.bincount(cluster, values) for values in of_pairs]
    apart = [whole[cluster] - value for whole, value in zip(wholes, of_pairs, strict=True)]
    inside, outside = sides(terms(*of_pairs), terms(*apart), terms(*wholes))
    own = ShareSums(**sums, square=inside[:6])
    rest = ShareSums(**{name: totals[name] - sums[name] for name in names}, square=outside[:6])
    with np.errstate(invalid="ignore", divide="ignore"):
        first = own.shares(inside[6], inside[7] ** 2 / inside[8])
        second = rest.shares(outside[6], outside[7] ** 2 / outside[8])
        away = (a - first.happened[place] * b) * (apart[0] - second.happened[place] * apart[1])
        together = per_pair(away) / (first.weight * second.weight)
        correlation = together / np.sqrt(first.variance * second.variance)
    return first, second, np.nan_to_num(np.clip(correlation, -1.0, 1.0), posinf=0.0, neginf=0.0)
