"""How many independent rows the rows of clusters are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.evidence.clusters import MIN_CLUSTERS
from calib.evidence.rows import Rows


@dataclass(frozen=True, repr=False)
class EffectiveSample(Result):
    """What rows that belong together are worth.

    Attributes
    ----------
    n_rows, n_clusters : int
        Rows, and clusters.
    correlation : float
        Correlation of the latent numbers of two rows of a cluster, in [0, 1); see `calib.evidence.clusters`.
    design_effect : float
        Variance of the pooled gap with this dependence over the one of independent rows, 1 or more.
    """

    n_rows: int
    n_clusters: int
    correlation: float
    design_effect: float

    @property
    def effective(self) -> float:
        """Independent rows whose pooled gap varies as much."""
        return self.n_rows / self.design_effect

    @property
    def words(self) -> str:
        """Say what the rows are worth."""
        if self.n_clusters < MIN_CLUSTERS:
            return (
                f"{self.n_rows:,} rows of {self.n_clusters:,} clusters: too few clusters to tell what they "
                f"are worth; about {MIN_CLUSTERS} are needed"
            )
        worth = float(f"{self.effective:.2g}")
        rows = f"{self.n_rows:,} rows of {self.n_clusters:,} clusters"
        return f"{rows} are worth about {worth:,.0f} independent rows"

    def frame(self) -> pd.DataFrame:
        """Return one row with every number."""
        return pd.DataFrame([{**vars(self), "effective": self.effective}])


def effective_sample(
    y_true: Any, scores: Any, *, cluster: Any = None, sample_weight: Any = None
) -> EffectiveSample:
    """Estimate how many independent rows the rows of clusters are worth.

    Parameters
    ----------
    y_true, scores, sample_weight
        As for `calib.ece`.
    cluster : (n,) array_like of int, str or time, optional
        Id of what each row belongs to; by default those that predictions came with.

    Raises
    ------
    InputError
        If there are no clusters, or an argument cannot be used.

    Examples
    --------
    >>> score = np.full(400, 0.7)
    >>> y = np.repeat(np.arange(40) % 10 < 7, 10)  # the ten rows of a patient come true together
    >>> found = effective_sample(y, score, cluster=np.repeat(np.arange(40), 10))
    >>> found.n_clusters, round(found.effective)
    (40, 59)
    """
    rows = Rows(y_true, scores, sample_weight=sample_weight, cluster=cluster)
    if rows.dependence is None or rows.n_clusters is None:
        raise InputError("effective_sample needs clusters; pass cluster, the id of what each row belongs to")
    problems = rows.problems()
    group = np.zeros(len(problems.scores), dtype=np.int64)
    effect = rows.dependence.design_effects(problems.scores, problems.rows, group, weight=problems.weights)
    n_rows, correlation = problems.n_samples, rows.dependence.correlation
    return EffectiveSample(n_rows, rows.n_clusters, correlation, float(effect[0][0, 0]))


def dependence_words(rows: Any) -> str:
    """Say what labelled predictions with clusters are worth; "" if their rows count as independent."""
    if getattr(rows, "cluster", None) is None or rows.labels is None:
        return ""
    return effective_sample(rows.labels, rows).words
