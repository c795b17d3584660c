"""How many independent rows the rows of clusters are worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.equal_rows import design_effect, exact_copies, row_keys
from calib.data.likeness import Residuals
from calib.data.predictions import Announcement, ConfidencePrediction, vote_words
from calib.data.times import BLOCKS, N_BLOCKS, blocks_of, dates_of, is_time
from calib.evidence.clusters import MIN_CLUSTERS, too_few
from calib.evidence.rows import Rows

#: What is said in place of a verdict about rows that look like clusters and count as independent.
UNCOUNTED = "no verdict while dependent rows count as independent"

#: Chance that uninformative columns are taken for clusters.
CHANCE = 1e-3


@dataclass(frozen=True, repr=False)
class EffectiveSample(Result):
    """What rows that belong together are worth."""

    #: Rows, and clusters
    n_rows: int
    n_clusters: int
    #: Correlation of the latent numbers of two rows of a cluster, in [0, 1); see `calib.evidence.clusters`
    correlation: float
    #: Variance of the pooled gap with this dependence over the one of independent rows, 1 or more
    design_effect: float

    @property
    def effective(self) -> float:
        """Independent rows whose pooled gap varies as much."""
        return self.n_rows / self.design_effect

    @property
    def words(self) -> str:
        """Say how many independent rows these rows are worth."""
        if self.n_clusters < MIN_CLUSTERS:
            return (
                f"{self.n_rows:,} rows of {self.n_clusters:,} clusters: too few clusters to tell what they "
                f"are worth; about {MIN_CLUSTERS} are needed"
            )
        worth = float(f"{self.effective:.2g}")
        rows = f"{self.n_rows:,} rows of {self.n_clusters:,} clusters"
        return f"{rows} are worth about {worth:,.0f} independent rows"

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame([{**vars(self), "effective": self.effective}])


def effective_sample(
    y_true: Any, scores: Any, *, cluster: Any = None, sample_weight: Any = None
) -> EffectiveSample:
    """Estimate how many independent rows the rows of clusters are worth.

    Parameters as for `calib.noise_floor`; without clusters it raises `InputError`.

    >>> score = np.full(400, 0.7)
    >>> y = np.repeat(np.arange(40) % 10 < 7, 10)  # the ten rows of a patient come true together
    >>> found = effective_sample(y, score, cluster=np.repeat(np.arange(40), 10))
    >>> found.n_clusters, round(found.effective)
    (40, 40)
    """
    rows = Rows(y_true, scores, sample_weight=sample_weight, cluster=cluster)
    if rows.dependence is None or rows.n_clusters is None:
        raise InputError("effective_sample needs clusters; pass cluster, the id of what each row belongs to")
    problems = rows.problems()
    group = np.zeros(len(problems.scores), dtype=np.int64)
    effect = rows.dependence.design_effects(problems.scores, problems.rows, group, weight=problems.weights)
    n_rows, correlation = problems.n_samples, rows.dependence.correlation
    return EffectiveSample(n_rows, rows.n_clusters, correlation, float(effect[0][0, 0]))


@dataclass(frozen=True, repr=False)
class Alike(Result):
    """Rows of equal values of a column, against rows of about the same score."""

    column: str  #: Name of the column; with "=" and a block, blocks of time
    p_value: float  #: Of "equal values say nothing about whether a row is right"; see `Residuals.together`
    level: float  #: The p-value below which this is not left to chance
    greatest_effect: float  #: Design effect if rows of equal values were copies
    sample: EffectiveSample  #: What the rows are worth if equal values belong together

    @property
    def is_sure(self) -> bool:
        return self.p_value < self.level

    @property
    def words(self) -> str:
        name, _, block = self.column.rpartition("=")
        rows = f"rows of equal {self.column[:60]!r}"
        if name:
            rows = f"rows of the same {block if block in BLOCKS else 'stretch'} of {name[:60]!r}"
        worth = self.sample.words
        return f"{rows} are right or wrong together, more than their scores explain: as clusters, {worth}"


def find_alike(rows: Any) -> list[Alike]:
    """Look for further columns whose equal values say which rows belong together.

    Tested are texts, whole numbers and blocks of time with at least `MIN_CLUSTERS` values, some repeated,
    that are no function of the true or predicted class. `CHANCE` is divided among them.
    """
    if rows.labels is None or rows.kind == "multilabel":
        return []
    classes = [values for values in (rows.labels, getattr(rows, "label", None)) if values is not None]
    tried = {
        name: codes
        for column, values in ({} if rows.metadata is None else rows.metadata).items()
        for name, codes in _groupings(str(column), values)
        if MIN_CLUSTERS <= codes.max() + 1 < len(codes)
        and not any(_says(class_, codes) for class_ in classes)
    }
    if not tried:
        return []
    score, outcome, predicted = Rows(rows.labels, rows.unweighted().with_cluster(None)).first_claims()
    residuals = Residuals.of(score, outcome, predicted)
    found = []
    for name, codes in tried.items():
        p_value = residuals.together(codes)
        worth = effective_sample(outcome, ConfidencePrediction(score), cluster=codes)
        found.append(Alike(name, p_value, CHANCE / len(tried), design_effect(codes), worth))
    return sorted(found, key=lambda alike: (not alike.is_sure, alike.sample.effective))


def _groupings(name: str, values: pd.Series) -> Iterator[tuple[str, np.ndarray]]:
    """Return groups of equal values of a column, and blocks of time; each missing value is a group."""
    column = values.mask(values == "") if values.dtype.kind == "O" else values
    codes, distinct = pd.factorize(column)
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and (np.asarray(distinct) % 1 == 0).all())
    if values.dtype.kind not in "biuf" or (whole and values.dtype.kind != "b"):
        yield name, np.where(codes < 0, len(distinct) + np.arange(len(codes)), codes)
    blocks: Sequence[str] = ()
    if values.dtype.kind in "iuf":
        blocks = [str(N_BLOCKS)] if is_time(name) and not column.isna().any() else []
    elif dates_of(column.dropna()) is not None:
        blocks = list(BLOCKS)
    for block in blocks:
        yield f"{name}={block}", pd.factorize(blocks_of(values, block))[0]


def _says(classes: np.ndarray, codes: np.ndarray) -> bool:
    """Whether a column is a function of the class of a row."""
    pairs = len(np.unique(classes.astype(np.int64) * (int(codes.max()) + 1) + codes))
    return pairs == len(np.unique(classes))


def untold(n_clusters: int | None, scores: Any) -> str | None:
    """Say why rows allow no verdict: too few clusters, or clusters that do not count; None if they do."""
    doubted = n_clusters is None and doubt_words(scores)
    return too_few(n_clusters) or (UNCOUNTED if doubted else None)


def dependence_words(rows: Any) -> str:
    """Say what votes, and rows of clusters, are worth, or that rows look like clusters; "" for others."""
    if getattr(rows, "labels", None) is None:
        return ""
    worth = doubt_words(rows)
    if rows.cluster is not None:
        worth = f"{effective_sample(rows.labels, rows).words}{_cluster_words(rows)}"
    return "; ".join(filter(None, (vote_words(rows), worth)))


def _cluster_words(rows: Any) -> str:
    """Say which rows a cluster holds; "" for votes, and if neither a column nor the scores show it."""
    if rows.voted is not None:
        return ""
    columns = {} if rows.metadata is None else rows.metadata
    shared = {f"of equal {str(name)[:60]!r}": values for name, values in columns.items()}
    clusters = pd.factorize(rows.cluster)[0]
    for which, values in {**shared, "of equal scores": row_keys(rows)}.items():
        if np.array_equal(pd.factorize(values)[0], clusters):
            return f"; a cluster holds rows {which}"
    same = exact_copies(rows)
    copied = same is not None and np.array_equal(pd.factorize(same)[0], clusters)
    return "; a cluster holds copies of a row" * copied


#: What `doubt_words` says of rows, which many conclusions about them ask for.
_doubts: WeakKeyDictionary[Announcement, str] = WeakKeyDictionary()


def doubt_words(rows: Any) -> str:
    """Say that rows which count as independent look like clusters; "" for others, and what has no rows."""
    if not isinstance(rows, Announcement) or rows.cluster is not None:
        return ""
    if rows not in _doubts:
        sure = [found for found in find_alike(rows) if found.is_sure]
        _doubts[rows] = f"they count as independent, but {sure[0].words}" if sure else ""
    return _doubts[rows]
