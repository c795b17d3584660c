"""Rows that belong together (a patient, a question, an image), modelled by one latent correlation.

The event of a row happens if a standard normal number is below z = Phi^-1(score). In a perfect model, the
numbers of two rows of a cluster have correlation r, and rows of different clusters are independent: every row
keeps its exact chance. r is estimated from the residuals e = outcome - chance by the first terms of the
Hermite expansion of the bivariate normal distribution (Mehler 1866),

    sum e e' = sum over k of r^k sum h_k h_k'

over the pairs of rows of a cluster, with h_k = phi(z) He_k-1(z) / sqrt(k!) and Hermite polynomials He.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import chdtri, ndtr, ndtri, owens_t

from calib.data.likeness import MIN_CLUSTERS, Residuals, sum_of_pairs

#: Least distance of scores from 0 and 1, and largest correlation.
CLIP, MAX_CORRELATION = 1e-6, 0.999
#: Terms of the expansion: eight give 98 % of the covariance of two rows at 0.97 with r = 0.8.
N_TERMS = 8


def too_few(n_clusters: int | None) -> str | None:
    """Say that clusters are too few; None if they are enough, or rows are independent."""
    if n_clusters is None or n_clusters >= MIN_CLUSTERS:
        return None
    return f"too few clusters to tell ({n_clusters}; about {MIN_CLUSTERS} are needed)"


def even_clusters(size: np.ndarray, correlation: float) -> float:
    """Return the number of equal-sized clusters with as precise a variance (Satterthwaite 1946)."""
    variance = size * (1.0 + np.maximum(size - 1.0, 0.0) * correlation)
    return float(variance.sum() ** 2 / (variance @ variance))


def even_clusters_of(sums: np.ndarray, away: np.ndarray, cluster: np.ndarray) -> float:
    """Return `even_clusters` for the sums over clusters of (n,) values with mean 0."""
    size, alone = np.bincount(cluster), float(away @ away)
    pairs = float(size @ (size - 1)) / len(away) * alone
    shared = max(float(sums @ sums) - alone, 0.0)
    return even_clusters(size, min(shared / pairs, 1.0) if pairs else 0.0)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows belong together: each row is a cluster of its own if all are independent."""

    code: np.ndarray  #: (n,) int64 array: number of the cluster of each row, 0..G-1, by first appearance
    n_clusters: int  #: Clusters G

    @classmethod
    def of(cls, ids: np.ndarray | None, n_samples: int) -> Clusters:
        """Return the clusters that (n,) ids give, numbered by first appearance; None for independent rows."""
        if ids is None:
            return cls(np.arange(n_samples), n_samples)
        code, values = pd.factorize(ids)
        return cls(code, len(values))

    @property
    def independent(self) -> bool:
        return self.n_clusters == len(self.code)

    @property
    def variance_factor(self) -> float:
        """Factor G / (G - 1) of a variance between clusters; 1 for independent rows."""
        return 1.0 if self.independent else self.n_clusters / max(self.n_clusters - 1, 1)

    def sums(self, values: np.ndarray) -> np.ndarray:
        return values if self.independent else np.bincount(self.code, values, self.n_clusters)

    def spread(self, values: np.ndarray) -> float:
        """Return the variance of the sum of (n,) values with mean 0; infinite if all rows are one cluster."""
        if self.n_clusters == 1 < len(self.code):
            return np.inf
        sums = self.sums(values)
        return self.variance_factor * float(sums @ sums)

    def n_among(self, rows: np.ndarray) -> int:
        return len(np.unique(self.code[rows]))

    def within(self, other: Clusters) -> Clusters:
        """Return the rows that belong together in both; in one, if all are independent in the other."""
        if self.independent or other.independent or self is other:
            return other if self.independent else self
        return Clusters.of(self.code * other.n_clusters + other.code, len(self.code))

    def given(self, group: np.ndarray) -> Clusters:
        """Return the clusters for statements about groups of rows: none if each group is in one cluster.

        What all rows of a group share is then what the statement is about.
        """
        pairs = len(np.unique(group.astype(np.int64) * self.n_clusters + self.code))
        return Clusters.of(None, len(self.code)) if pairs == len(np.unique(group)) else self

    def take(self, rows: np.ndarray | slice) -> Clusters:
        chosen = self.code[rows]
        return Clusters.of(None if self.independent else chosen, len(chosen))


@dataclass(frozen=True, eq=False)
class Dependence:
    cluster: np.ndarray  #: (n,) int64 array: number of the cluster of each row, 0..G-1
    correlation: float  #: Correlation r of the latent numbers of two rows of a cluster, in [0, 1)

    @cached_property
    def n_clusters(self) -> int:
        return int(self.cluster.max()) + 1

    def even_clusters(self, rows: np.ndarray | slice = slice(None)) -> float:
        return even_clusters(np.bincount(self.cluster[rows]), self.correlation)

    @cached_property
    def _spread(self) -> tuple[float, float]:
        """Largest design effect minus 1, and the degrees of freedom of a variance over clusters."""
        size = np.bincount(self.cluster)
        return float(size @ (size - 1)) / len(self.cluster), max(self.even_clusters() - 1.0, 1.0)

    def drawn_correlation(self, generator: np.random.Generator) -> float:
        """Draw a correlation that agrees with these clusters."""
        return self._agreeing(generator.chisquare(self._spread[1]))

    def highest_correlation(self, level: float) -> float:
        return self._agreeing(float(chdtri(self._spread[1], level)))

    def _agreeing(self, chi_squared: float) -> float:
        """Return the correlation whose design effect is the estimate over a chi-squared mean square.

        Near 1 the ratio of the mean squares between and within clusters is more precise (Donner & Wells
        1986).
        """
        most, free = self._spread
        apart = 1.0 - self.correlation
        effect = (1.0 + self.correlation * most) * free / chi_squared
        drawn = max((effect - 1.0) / max(most, 1e-300), (effect - apart) / (effect + most * apart))
        return min(max(drawn, 0.0), MAX_CORRELATION)

    def latent(self, generator: np.random.Generator, correlation: float | None = None) -> np.ndarray:
        r = self.correlation if correlation is None else correlation
        common = np.sqrt(r) * generator.standard_normal(self.n_clusters)
        own = generator.standard_normal(len(self.cluster))
        own *= np.sqrt(1.0 - r)
        own += common[self.cluster]
        return own

    def uniform(self, generator: np.random.Generator) -> np.ndarray:
        return np.asarray(ndtr(self.latent(generator)))

    def latent_as_known(self, generator: np.random.Generator) -> np.ndarray:
        return self.latent(generator, self.drawn_correlation(generator))

    def uniform_as_known(self, generator: np.random.Generator) -> np.ndarray:
        return np.asarray(ndtr(self.latent_as_known(generator)))

    def effects_of_first(self, row: np.ndarray, chance: float) -> np.ndarray:
        """Return the design effects of the share of hits among the first k rows, (m + 1,) float64."""
        correlation = outcome_correlation(chance, self.correlation)
        cluster = self.cluster[row]
        order = np.argsort(cluster, kind="stable")
        starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
        before = np.empty(len(row), dtype=np.int64)  # rows of the same cluster before each
        before[order] = np.arange(len(row)) - np.repeat(starts, np.diff(starts, append=len(row)))
        pairs = np.append(0, 2 * np.cumsum(before))
        return np.asarray(1.0 + correlation * pairs / np.maximum(np.arange(len(row) + 1), 1))

    def design_effects(
        self,
        score: np.ndarray,
        row: np.ndarray,
        group: np.ndarray,
        bin_: np.ndarray | None = None,
        n_bins: int = 1,
        weight: np.ndarray | float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance of outcome sums under r, divided by their variance without dependence."""
        chance = np.clip(score.astype(np.float64), CLIP, 1.0 - CLIP)
        n_groups, places = int(group.max()) + 1, np.zeros(len(row), np.int64) if bin_ is None else bin_
        pair, at = np.unique(group * self.n_clusters + self.cluster[row], return_inverse=True)
        owner = pair // self.n_clusters

        def table(index: np.ndarray, n_rows: int, values: np.ndarray) -> np.ndarray:
            return np.bincount(index * n_bins + places, values, n_rows * n_bins).reshape(n_rows, n_bins)

        def effects(side: slice) -> np.ndarray:
            def cumulated(index: np.ndarray, n_rows: int, values: np.ndarray) -> np.ndarray:
                return np.cumsum(table(index, n_rows, values)[:, side], axis=1)[:, side]

            def products(values: np.ndarray) -> np.ndarray:
                whole = np.zeros((n_groups, n_bins))
                np.add.at(whole, owner, cumulated(at, len(pair), values) ** 2)
                return whole - cumulated(group, n_groups, values**2)

            terms = (
                (r**k * products(weight * h) for k, h in expansion(chance)) if (r := self.correlation) else ()
            )
            excess = np.maximum(sum(terms, np.zeros(1)), 0.0)
            alone = cumulated(group, n_groups, weight**2 * chance * (1.0 - chance))
            return 1.0 + np.divide(excess, alone, out=np.zeros_like(alone), where=alone > 0)

        return effects(slice(None, None, -1)), effects(slice(None))

    def covariance(
        self, score: np.ndarray, row: np.ndarray, design: np.ndarray, residual: np.ndarray
    ) -> np.ndarray:
        """Covariance of ``residual @ design`` under the scores, (k, k) float64.

        The mean of two estimates: by the correlation, and by the sums of each cluster, which also contain
        effects of the design.
        """
        chance = np.clip(score.astype(np.float64), CLIP, 1.0 - CLIP)
        size = np.bincount(self.cluster[row])

        def sums_of(values: np.ndarray) -> np.ndarray:
            return np.stack([np.bincount(self.cluster[row], column) for column in values.T], axis=1)

        def products(values: np.ndarray) -> np.ndarray:
            added = values[:, None] * design
            sums = sums_of(added)
            return np.asarray(sums.T @ sums - added.T @ added)

        own = design.T @ (design * (chance * (1.0 - chance))[:, None])
        sums = sums_of(residual[:, None] * design)
        sums -= size[:, None] / size.sum() * sums.sum(axis=0)
        even = max(self.even_clusters(row), 2.0)
        summed = sums.T @ sums * even / (even - 1.0)
        return (sum((self.correlation**k * products(h) for k, h in expansion(chance)), own) + summed) / 2.0


def outcome_correlation(chance: float, r: float) -> float:
    """Return the correlation of two outcomes of this chance whose latent numbers have the correlation r.

    Both happen with the chance Phi_2(z, z; r), by Owen's function T (Owen 1956).
    """
    both = chance - 2.0 * float(owens_t(ndtri(chance), np.sqrt((1.0 - r) / (1.0 + r))))
    return max(both - chance**2, 0.0) / (chance * (1.0 - chance))


def expansion(chance: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield k and h_k, (m,) float64: two outcomes have the covariance sum of r^k h_k h_k'."""
    z = ndtri(np.clip(chance, CLIP, 1.0 - CLIP))
    before, h = np.zeros_like(z), np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)
    rest = chance * (1.0 - chance)
    for k in range(1, N_TERMS + 1):
        yield k, h
        rest = rest - h * h
        # He_k(z) = z He_k-1(z) - (k - 1) He_k-2(z), each over the square root of its factorial.
        before, h = h, (z * h - (k - 1) / np.sqrt(k) * before) / np.sqrt(k + 1)
    yield N_TERMS + 1, np.sqrt(np.maximum(rest, 0.0))


def latent_correlation(
    score: np.ndarray, outcome: np.ndarray, cluster: np.ndarray, predicted: np.ndarray | None = None
) -> float:
    """Estimate r of `Dependence`, in [0, `MAX_CORRELATION`].

    Chances are the shares of `Residuals`, so that miscalibration does not count as correlation. Residuals
    lose what a cluster adds to these shares: h_k shrinks by the root of 1 minus the cluster's share of its
    stratum.
    """
    residuals = Residuals.of(score, outcome, predicted)
    left = np.sqrt(1.0 - residuals.share_of_stratum(cluster))
    seen = residuals.products(cluster)
    sums = [sum_of_pairs(left * h, cluster) for _, h in expansion(residuals.chance)]
    if seen <= 0.0 or sums[0] <= 0.0:
        return 0.0
    roots = np.roots([*sums[::-1], -seen])
    real = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0)]
    return float(min(real.min(initial=MAX_CORRELATION), MAX_CORRELATION))
