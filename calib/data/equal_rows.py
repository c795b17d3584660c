"""Rows that belong together, by their scores or a further column, and rows that were used to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.base.parallel import WORKERS, map_threads, row_blocks
from calib.data.likeness import (
    ROWS_PER_GRADE,
    Claims,
    Residuals,
    Suspected,
    clusters_of_column,
    questions_of,
    suspected_columns,
)
from calib.data.splits import ID, column_of

#: Decimals to which scores of different files are compared: float32 and most printed files keep them.
DECIMALS = 6
#: Decimals in which copies agree: all that a float32 has; the last bits of a float64 follow from its place.
ALL_DECIMALS = 10
#: Most columns of scores that are compared, beside the predicted class and its confidence.
MAX_COLUMNS = 8
#: Most keys of fitted rows in a file: the smallest hashes, which are a random sample.
MAX_KEYS = 1024
#: Rows of equal scores are copies if their outcomes would agree by chance with at most this probability.
CHANCE = 1e-4
#: Copies may disagree at most this often, relative to what chance would give.
MAX_DISAGREEING = 0.1
#: Smallest overlap that is reported, as a multiple of how many different rows have equal scores.
COINCIDENCE = 3.0
#: Smallest design effect for which clusters count: intervals become 2.5 % wider.
LEAST_EFFECT = 1.05
#: Most rows that are searched for copies first.
N_SAMPLED = 5_000
#: Largest number of 64 bits that digits are cut to.
MOST_DIGITS = 9e18
#: Rank of the neighbour of a row that counts as no copy.
FAR = 20


@dataclass(frozen=True)
class Overlap:
    """Rows that a calibrator or model was fitted on, among the rows that assess it."""

    #: Rows that assess it, and how many of these were used to fit
    n_rows: int
    n_used: int
    by: str  #: {"content", "id", "scores", "sample"}: the evidence for it

    @property
    def words(self) -> str:
        if self.by == "content":
            return f"all {self.n_rows:,} rows were used to fit"
        seen = "their ids" if self.by == "id" else f"their scores, equal to {DECIMALS} decimals"
        about = "about " * (self.by == "sample")
        return f"{about}{self.n_used:,} of {self.n_rows:,} rows were used to fit (seen by {seen})"


def row_keys(rows: Any, decimals: int = DECIMALS) -> np.ndarray:
    """Return a 64-bit hash of the rounded scores of each row, (n,) uint64."""
    further: Sequence[np.ndarray] = (rows.label, rows.confidence) if "class" in rows.has else ()
    if rows.kind == "top-k":
        further = [rows.ranked[:, place] for place in _some(rows.ranked.shape[1])]
    return keys_of(getattr(rows, rows.scored_by), further, decimals)


def keys_of(scores: np.ndarray, further: Sequence[np.ndarray] = (), decimals: int = DECIMALS) -> np.ndarray:
    """Return `row_keys` of (n,) or (n, L) scores together with further columns."""
    matrix = scores if scores.ndim == 2 else scores[:, None]
    keys = np.zeros(len(matrix), dtype=np.uint64)
    for column in (*(matrix[:, place] for place in _some(matrix.shape[1])), *further):
        digits = column
        if column.dtype.kind != "i":
            digits = np.clip(np.rint(column.astype(np.float64) * 10.0**decimals), -MOST_DIGITS, MOST_DIGITS)
        keys = next_mixed(keys ^ digits.astype(np.int64).view(np.uint64))
    return keys


def _some(n_columns: int) -> np.ndarray:
    return np.unique(np.linspace(0, n_columns - 1, min(n_columns, MAX_COLUMNS)).astype(np.intp))


def next_mixed(keys: np.ndarray) -> np.ndarray:
    """Return the `mixed` next state of SplitMix64 for each 64-bit number."""
    return mixed(keys + np.uint64(0x9E3779B97F4A7C15))


def mixed(bits: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit numbers (the finalizer of SplitMix64, Steele, Lea & Flood 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def smallest_keys(rows: Any) -> np.ndarray:
    return np.sort(row_keys(rows))[:MAX_KEYS]


def claims_of(rows: Any) -> Claims | None:
    labels = rows.labels
    if labels is None:
        return None
    if "one score" in rows.has:
        return Claims(getattr(rows, rows.scored_by), labels == 1, labels)
    if "every label" in rows.has:
        row_code = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
        return Claims(rows.scores[:, 0], labels[:, 0], row_code)
    return Claims(rows.confidence, rows.label == labels, labels, rows.label)


def known_clusters(rows: Any) -> np.ndarray | None:
    """Return the clusters that rows came with, else `exact_copies` if they change intervals noticeably.

    A sample of the rows is searched first.
    """
    if rows.cluster is not None or rows.labels is None:
        return None if rows.cluster is None else np.asarray(rows.cluster)
    matrix = getattr(rows, rows.scored_by)
    some = sample_by_content(matrix)
    if not repeats(matrix, some):
        return None
    found = noticeable(exact_copies(rows.take(some) if len(some) else rows))
    return found if found is None or len(some) == len(matrix) else noticeable(exact_copies(rows))


def exact_copies(rows: Any) -> np.ndarray | None:
    """Return the same number, (n,) int64, for rows that are copies of each other; None without copies.

    Equal scores alone are no proof, because rounded scores and the scores of a tree recur. Outcomes of two
    such rows then differ with probability 2 q (1 - q), with q the share of right rows among rows of about the
    same score. Rows are copies if almost no pair differs, which chance explains with probability below
    `CHANCE`. Rows that are not `Claims.doubtful` have no copies.
    """
    claims = claims_of(rows)
    return None if claims is None else copies_of(row_keys(rows, ALL_DECIMALS), claims)


def copies_of(keys: np.ndarray, claims: Claims) -> np.ndarray | None:
    mixed = np.random.default_rng(0).permutation(claims.doubtful())  # rows may be sorted by their outcome
    order = mixed[np.argsort(keys[mixed], kind="stable")]
    follows = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    if not len(follows):
        return None
    first, second = order[follows], order[follows + 1]
    by_score = np.argsort(claims.score[first], kind="stable")
    first, second = first[by_score], second[by_score]
    score, first, second = claims.score[first], claims.outcome[first], claims.outcome[second]
    chance, differ = _local_chance(score, first, second), int((first != second).sum())
    from scipy.special import bdtr  # takes a second to import; few rows come to this

    if differ > MAX_DISAGREEING * chance.sum() or bdtr(differ, len(first), chance.mean()) > CHANCE:
        return None
    cluster = next_mixed(keys ^ next_mixed(claims.label.astype(np.int64).view(np.uint64)))
    return _alone_but(mixed, cluster[mixed], len(keys))


def _local_chance(score: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return for each pair, in the order of scores, how often outcomes of two such rows differ by chance.

    Pairs count as similar up to a difference of 0.1: few rounded scores may tell right from wrong rows.
    """
    place = np.arange(len(first)) // max(ROWS_PER_GRADE // 2, 1)
    grade = place * 11 + (score * 10.0).astype(np.int64)
    place = np.cumsum(np.diff(grade, prepend=grade[:1]) != 0)
    right = (np.bincount(place, first) + np.bincount(place, second)) / (2.0 * np.bincount(place))
    return (2.0 * right * (1.0 - right))[place]


def _alone_but(rows: np.ndarray, cluster: np.ndarray, n_samples: int) -> np.ndarray:
    """Return numbers 0, 1, ... of the clusters of some rows; each other row is a cluster of its own."""
    every = n_samples + np.arange(n_samples)
    every[rows] = pd.factorize(cluster)[0]
    return pd.factorize(every)[0]


def near_copies(matrix: np.ndarray, claims: Claims) -> np.ndarray | None:
    """Return a number for each row, equal for copies with slightly different scores; None without copies.

    Nearest neighbours that are copies are right or wrong together, as for `copies_of`. Other nearest
    neighbours agree no more often than rows of one class and score, or than `FAR`-th neighbours.
    """
    from scipy.sparse import coo_array  # takes a second to import, as its neighbours do
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree
    from scipy.special import bdtr

    tested = claims.doubtful()
    if (n := len(tested)) < FAR:
        return None

    def points_of(rows: np.ndarray) -> np.ndarray:
        further = [values[rows] for values in (claims.score, claims.predicted) if values is not None]
        return np.column_stack([matrix[np.ix_(rows, _some(matrix.shape[1]))], *further]).astype(np.float64)

    some = tested
    if n > N_SAMPLED:
        some = tested[np.argpartition(np.abs(claims.score[tested] - 0.5), N_SAMPLED)[:N_SAMPLED]]
    score, right, _, label = claims.take(some)
    points = points_of(some)
    tree, chance = KDTree(points), Residuals.of(score, right, label).chance
    by_class, by_score = 2.0 * chance * (1.0 - chance), np.empty(len(some))
    ascending = np.argsort(score, kind="stable")
    by_score[ascending] = _local_chance(score[ascending], right[ascending], right[ascending])

    def neighbours(rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of a neighbour of each row, and whether its outcome differs."""
        distance, row = tree.query(points, k=[rank], workers=WORKERS)
        return distance[:, 0], right != right[row[:, 0]]

    distance, near = neighbours(2)
    order = np.argsort(distance, kind="stable")
    near, differing = near[order], np.cumsum(near[order])
    pairs = np.arange(1, len(some) + 1)

    def agree(expected: np.ndarray) -> np.ndarray:
        """Return for each k whether the k nearest pairs differ far less often than by chance."""
        by_chance = bdtr(differing // 2, (pairs + 1) // 2, expected / pairs)
        return (differing <= MAX_DISAGREEING * expected) & (by_chance <= CHANCE / len(some))

    expected = np.cumsum(np.minimum(by_class, by_score)[order])
    if not agree(expected).any():
        return None
    far = neighbours(FAR)[1][order]  # takes longest to find
    near_only, far_only = (np.cumsum(only) // 2 for only in (near & ~far, far & ~near))  # most occur twice
    by_chance = bdtr(near_only, near_only + far_only, 0.5)  # the exact test of McNemar (1947)
    copied = np.flatnonzero(agree(np.minimum(expected, np.cumsum(far))) & (by_chance <= CHANCE / len(some)))
    if not len(copied):
        return None
    reach, points = distance[order[copied[-1]]], points_of(tested)
    at = KDTree(points).query(points, k=min(MAX_COLUMNS, n), distance_upper_bound=np.nextafter(reach, 1.0))[1]
    row, place = np.nonzero(at < n)
    joined = coo_array((np.ones(len(row), dtype=bool), (row, at[row, place])), shape=(n, n))
    group = connected_components(joined, directed=False)[1].astype(np.int64)
    label = claims.label[tested]
    return _alone_but(tested, group * (int(label.max()) + 1) + label, len(matrix))


def suspected_in(rows: Any) -> Suspected | None:
    """Return which rows a test shows to be right or wrong together; None if none, or if clusters are known.

    Multilabel rows are not tested.
    """
    claims = claims_of(rows)
    if claims is None or "every label" in rows.has:
        return None
    scores = getattr(rows, rows.scored_by)
    return suspected_of(claims, row_keys(rows), scores.reshape(len(scores), -1), rows.metadata)


def suspected_of(
    claims: Claims, keys: np.ndarray, matrix: np.ndarray, columns: pd.DataFrame | None
) -> Suspected | None:
    """Return what `suspected_in` finds in a further column, else in equal scores, else in similar scores."""
    if columns is not None:
        found = suspected_columns(claims, columns)
        if found and noticeable(found[0].cluster) is not None:
            return replace(found[0], others=tuple(found[1:]))
    which, clusters = "rows of equal scores", None
    if not pd.Index(keys).is_unique:
        clusters = questions_of(keys, claims)
    if clusters is None:
        which, clusters = "rows of the same label and nearly equal scores", near_copies(matrix, claims)
    if clusters is None or noticeable(clusters) is None:
        return None
    return Suspected("", which, clusters, claims.residuals().effect(clusters))


def with_clusters_of(rows: Any, column: str) -> Any:
    """Return rows with the clusters that `Suspected.column` names, or that their scores show if it is "".

    Rows without this column stay as they are.
    """
    if column:
        held = pd.DataFrame() if rows.metadata is None else rows.metadata
        cluster = clusters_of_column(held, column)
        return rows if cluster is None else rows.with_cluster(cluster)
    found = suspected_in(rows)
    return rows if found is None or found.column else rows.with_cluster(found.cluster)


def noticeable(clusters: np.ndarray | None) -> np.ndarray | None:
    return None if clusters is None or design_effect(clusters) < LEAST_EFFECT else clusters


def sample_by_content(matrix: np.ndarray) -> np.ndarray:
    """Sample about `N_SAMPLED` rows of (n,) or (n, L) scores, ascending: all copies of a row or none."""
    columns = matrix[:, None] if matrix.ndim == 1 else matrix[:, :2]
    if len(matrix) <= N_SAMPLED:
        return np.arange(len(matrix))
    most = np.uint64(N_SAMPLED / len(matrix) * 2.0**64)

    def sample(rows: slice) -> np.ndarray:
        keys = np.zeros(len(columns[rows]), dtype=np.uint64)
        for column in columns[rows].T:
            keys ^= column.astype(np.float64).view(np.uint64)
            keys *= np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing (Knuth, vol. 3, section 6.4)
        return np.flatnonzero(keys < most) + rows.start

    return np.concatenate(map_threads(sample, row_blocks(len(matrix), columns.shape[1])))


def repeats(matrix: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether some of these rows of unchecked (n,) or (n, L) scores may be equal."""
    some = matrix[rows] if matrix.ndim == 1 else matrix[np.ix_(rows, _some(matrix.shape[1]))]
    with np.errstate(invalid="ignore"):
        return not pd.Index(keys_of(some)).is_unique


def design_effect(copies: np.ndarray) -> float:
    """Return the variance inflation of a mean because of copies: rows divided by effective rows."""
    sizes = np.bincount(copies).astype(np.float64)
    return float(sizes @ sizes / len(copies))


def overlap(rows: Any, fitted_on: Any) -> Overlap | None:
    """Return how many rows were used to fit, if more are equal than by chance; None otherwise."""
    origin = getattr(fitted_on, "fitted_on_", fitted_on)
    if origin is None:
        return None
    if getattr(origin, "fingerprint", None) == rows.fingerprint:
        return Overlap(rows.n_samples, rows.n_samples, "content")
    if (ids := _ids(rows)) is not None and (others := _ids(origin)) is not None:
        used = int((ids.isin(others) & ids.notna()).sum())
        return Overlap(rows.n_samples, used, "id") if used else None
    if hasattr(origin, "scored_by"):
        if origin.kind != rows.kind:
            return None
        known, share = np.sort(row_keys(origin)), 1.0
    else:
        known = np.asarray(getattr(origin, "keys", None) or (), dtype=np.uint64)
        if not len(known):
            return None
        share = min(MAX_KEYS / origin.n_samples, 1.0)
    keys = row_keys(rows)
    compared = keys if share == 1.0 else keys[keys <= known[-1]]
    hits = int(np.isin(compared, known).sum())
    sets = (rows, origin) if isinstance(origin, type(rows)) else (rows,)
    copied = any(exact_copies(each) is not None for each in sets)
    if hits <= most_by_chance(keys, known, share, copied=copied) * len(compared) / len(keys):
        return None
    by = "scores" if share == 1.0 else "sample"
    return Overlap(rows.n_samples, round(hits / len(compared) * rows.n_samples), by)


def most_by_chance(keys: np.ndarray, known: np.ndarray, share: float = 1.0, *, copied: bool = False) -> float:
    """Return how many of `keys` may by chance equal `known` keys of other rows.

    Pairs inside each set show how often different rows have equal scores. Copies do not count, and 3 more
    pairs are allowed for.
    """
    pairs = 0.0 if copied else COINCIDENCE * (_n_pairs(keys) + _n_pairs(known))
    chance = 2.0 * (pairs + 3.0) / (float(len(keys)) ** 2 + share * (len(known) / share) ** 2)
    return chance * len(keys) * len(known) / share


def _n_pairs(keys: np.ndarray) -> float:
    sizes = np.unique(keys, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1.0)).sum()) / 2.0


def _ids(rows: Any) -> pd.Series | None:
    ids = column_of(rows, ID)
    return None if ids is None else ids.map(str, na_action="ignore")
