"""The number of independent rows that rows of clusters, or rows with weights, are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.predictions import Scores, Values
from calib.evidence.clusters import MIN_CLUSTERS
from calib.evidence.rows import Rows, Source, as_evidence


@dataclass(frozen=True, repr=False)
class EffectiveSample(Result):
    """The number of independent rows that clustered rows are worth."""

    #: Rows, and clusters
    n_rows: int
    n_clusters: int
    #: Correlation of the latent numbers of two rows of a cluster, in [0, 1); see `calib.evidence.clusters`
    correlation: float
    #: Design effect: variance of the pooled gap, divided by its variance for independent rows, 1 or more
    design_effect: float

    @property
    def effective(self) -> float:
        """Number of independent rows whose pooled gap has the same variance."""
        return self.n_rows / self.design_effect

    @property
    def words(self) -> str:
        """Say how many independent rows these rows are worth."""
        if self.n_clusters < MIN_CLUSTERS:
            return (
                f"{self.n_rows:,} rows of {self.n_clusters:,} clusters: too few clusters to tell what they "
                f"are worth; about {MIN_CLUSTERS} are needed"
            )
        worth = min(float(f"{self.effective:.2g}"), self.n_rows)
        rows = f"{self.n_rows:,} rows of {self.n_clusters:,} clusters"
        return f"{rows} are worth about {worth:,.0f} independent rows"

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame([{**vars(self), "effective": self.effective}])


def effective_sample(
    y_true: Source,
    scores: Scores | None = None,
    *,
    cluster: Values | None = None,
    sample_weight: Values | None = None,
) -> EffectiveSample:
    """Estimate how many independent rows the rows of clusters are worth.

    Parameters as for `calib.noise_floor`; without clusters it raises `InputError`.

    >>> score = np.full(400, 0.7)
    >>> y = np.repeat(np.arange(40) % 10 < 7, 10)  # the ten rows of a patient come true together
    >>> found = effective_sample(y, score, cluster=np.repeat(np.arange(40), 10))
    >>> found.n_clusters, round(found.effective)
    (40, 40)
    """
    rows = as_evidence(y_true, scores, sample_weight, cluster)
    if isinstance(rows, Rows) and rows.clusters.independent and rows.is_declared:
        return EffectiveSample(rows.n_samples, rows.n_samples, 0.0, 1.0)
    if not isinstance(rows, Rows) or rows.dependence is None:
        raise InputError("effective_sample needs clusters; pass cluster, the id of what each row belongs to")
    problems = rows.problems()
    group = np.zeros(len(problems.scores), dtype=np.int64)
    effect = rows.dependence.design_effects(problems.scores, problems.rows, group, weight=problems.weights)
    n_rows, correlation = problems.n_samples, rows.dependence.correlation
    return EffectiveSample(n_rows, rows.clusters.n_clusters, correlation, float(effect[0][0, 0]))


def rows_with_unseen(rows: Any, seen: Any, by_weight: Any, alpha: Any) -> Any:
    """Return the effective rows of a mean, allowing for rows like those that vary, with weights not seen.

    `rows` follow from the variance, to which rows of the share `seen` of all weight contribute. A few of them
    do not show how unequal the weights of others are. If -log(alpha / 2) further rows of an average row's
    weight are expected, none is seen with a chance of alpha / 2. They count as seen if this lowers the
    effective rows. `by_weight` are the rows that weights alone are worth (Kish 1965).

    >>> [float(rows_with_unseen(rows, 0.01, 100.0, 0.05).round(1)) for rows in (100.0, 400.0)]
    [100.0, 119.0]
    """
    more = -np.log(alpha / 2.0) / by_weight
    divisor = np.maximum(seen * by_weight + more * rows, 1e-300)  # 0 if one cluster tells nothing
    return np.minimum(rows, by_weight * (seen + more) * rows / divisor)


def dependence_words(rows: Any) -> str:
    """Say how many independent rows votes or clustered rows are worth; "" for others."""
    if getattr(rows, "labels", None) is None:
        return ""
    words = []
    if rows.voted is not None:
        size = f"{rows.n_samples:,} votes about {len(pd.unique(rows.voted)):,} rows"
        meant = "errors are against their distribution, accuracy is the share of votes that agree"
        words.append(f"{size}: {meant}")
    found = None if Rows(rows).clusters.independent else effective_sample(rows)
    if found is not None and (rows.voted is None or found.effective < found.n_rows):
        words.append(f"{found.words}{_cluster_words(rows)}")
    return "; ".join(words)


def _cluster_words(rows: Any) -> str:
    """Say which rows form a cluster; "" for votes, and if no column holds the clusters."""
    if rows.voted is not None:
        return ""
    if rows.cluster is None:
        return "; a cluster holds copies of a row"
    column = cluster_column(rows)
    return "" if column is None else f"; a cluster holds rows of equal {str(column.name)[:60]!r}"


def cluster_column(rows: Any) -> pd.Series | None:
    """Return the further column whose values are the clusters of predictions."""
    clusters = pd.factorize(rows.cluster)[0]
    for name, values in ({} if rows.metadata is None else rows.metadata).items():
        if np.array_equal(pd.factorize(values)[0], clusters):
            return pd.Series(values, name=name)
    return None
