"""Debiased squared l2 errors of rows that belong together: pairs of rows of different clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from calib.base.results import Result
from calib.evidence.binning import BinaryProblems, BinStatistics
from calib.evidence.clusters import Clusters

#: Largest skewness that intervals allow for: of a quadratic form that one number dominates.
MAX_SKEWNESS = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class ClusterSquares(Result):
    """The debiased squared l2 error of cells whose rows come from clusters, and how it varies.

    With e and w the sums of outcome - score and of weights of a cluster in a cell, its squared gap is the
    mean of e e' over pairs of different clusters, divided by mean w w'.
    """

    #: The estimate, which can be negative, and the plug-in estimate
    squared: float
    mean_square: float
    #: (G,) float64 array: the contribution of each cluster to the estimate, through the gaps of its cells
    linear: np.ndarray
    #: (G, C) csr_array: scaled residuals of each cluster in each cell
    noise: Any

    @classmethod
    def of(cls, problems: BinaryProblems, cells: BinStatistics, clusters: Clusters) -> ClusterSquares:
        """Sum the rows of each cluster in each cell."""
        cluster, n_cells = clusters.code[problems.rows], len(cells.count)
        weight = problems.weights
        residual = weight * (problems.outcomes - problems.scores.astype(np.float64))
        cell = cells.of_entries
        key, at = np.unique(cluster * n_cells + cell, return_inverse=True)
        group, cell = np.divmod(key, n_cells)
        e, w = np.bincount(at, residual), np.bincount(at, weight)
        total, square = np.bincount(cell, w), np.bincount(cell, w * w)
        pairs = total**2 - square
        has_pairs = pairs > 1e-9 * total**2
        share = np.where(has_pairs, total, 0.0) / max(float(total[has_pairs].sum()), 1e-300)
        pairs = np.where(has_pairs, pairs, 1.0)
        sums = np.bincount(cell, e)
        gap = sums / total
        squared = float(share @ ((sums**2 - np.bincount(cell, e * e)) / pairs))
        apart = e - gap[cell] * w
        n_clusters = clusters.n_clusters
        more = np.sqrt(clusters.few)  # one mean is taken off in each cell
        noise = sparse.csr_array(
            (more * np.sqrt(share / pairs)[cell] * apart, (group, cell)), shape=(n_clusters, n_cells)
        )
        linear = more * np.bincount(group, (2.0 * share * gap / total)[cell] * apart, n_clusters)
        return cls(squared, float(share @ gap**2), linear, noise)

    def covariance(self, other: ClusterSquares) -> float:
        """Covariance of the noise of two estimates on the same rows."""
        a, b = self.noise, other.noise
        if a.shape[0] <= min(a.shape[1], b.shape[1]):
            whole = float(((a @ a.T) * (b @ b.T)).sum())
        else:
            whole = float(((a.T @ b) ** 2).sum())
        own = (a * a).sum(axis=1) @ (b * b).sum(axis=1)
        return 2.0 * max(whole - float(own), 0.0)
