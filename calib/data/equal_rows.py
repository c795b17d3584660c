"""Rows that belong together, by their scores or a further column, and rows that were used to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from calib.base.parallel import WORKERS, map_threads, row_blocks
from calib.data.likeness import Alike, Residuals, find_alike, questions_of
from calib.data.splits import ID, column_of

#: Decimals to which scores are compared: float32 and most printed files keep them.
DECIMALS = 6
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
#: Smallest design effect for which copies count as clusters: intervals become 2.5 % wider.
LEAST_EFFECT = 1.05
#: Most rows that are searched for copies first.
N_SAMPLED = 5_000
#: Largest score that is compared: its digits fit in 64 bits.
MOST_SCORE = 1e12
#: Neighbour of a row that is no copy of it.
FAR = 20
#: Bins of confidence in which the share of right rows is taken.
N_GRADES = 10


@dataclass(frozen=True)
class Overlap:
    """Rows that a calibrator or model was fitted on, among the rows that assess it."""

    #: Rows that assess it, and how many of these were used to fit
    n_rows: int
    n_used: int
    #: {"content", "id", "scores", "sample"}: the evidence for it
    by: str

    @property
    def words(self) -> str:
        if self.by == "content":
            return f"all {self.n_rows:,} rows were used to fit"
        seen = "their ids" if self.by == "id" else f"their scores, equal to {DECIMALS} decimals"
        about = "about " * (self.by == "sample")
        return f"{about}{self.n_used:,} of {self.n_rows:,} rows were used to fit (seen by {seen})"


def row_keys(rows: Any) -> np.ndarray:
    """Return a 64-bit hash of the rounded scores of each row, (n,) uint64."""
    beside: Sequence[np.ndarray] = ()
    if "class" in rows.has:
        beside = (rows.label, rows.confidence)
    if rows.kind == "top-k":
        beside = [rows.ranked[:, place] for place in _some(rows.ranked.shape[1])]
    return keys_of(getattr(rows, rows.scored_by), beside)


def keys_of(scores: np.ndarray, beside: Sequence[np.ndarray] = ()) -> np.ndarray:
    """Return `row_keys` of (n,) or (n, L) scores together with further columns."""
    matrix = scores if scores.ndim == 2 else scores[:, None]
    keys = np.zeros(len(matrix), dtype=np.uint64)
    for column in (*(matrix[:, place] for place in _some(matrix.shape[1])), *beside):
        digits = column
        if column.dtype.kind != "i":
            digits = np.rint(np.clip(column.astype(np.float64), -MOST_SCORE, MOST_SCORE) * 10.0**DECIMALS)
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
    """Return the smallest of the `row_keys`, ascending, at most `MAX_KEYS`."""
    return np.sort(row_keys(rows))[:MAX_KEYS]


def exact_copies(rows: Any) -> np.ndarray | None:
    """Return the same number, (n,) int64, for rows that are copies of each other; None without copies.

    Equal scores alone are no proof, because rounded scores and the scores of a tree recur. Outcomes of two
    such rows then differ with probability 2 q (1 - q), with q the share of right rows. Rows are copies if
    almost no pair differs, which chance explains with probability below `CHANCE`.
    """
    values = _comparable(rows)
    return None if values is None else copies_of(row_keys(rows), *values)


def _comparable(rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return each row's score, outcome and label code; None without labels."""
    labels = rows.labels
    if labels is None:
        return None
    codes = labels if labels.ndim == 1 else row_codes(labels)
    return *_outcomes(rows), codes


def copies_of(
    keys: np.ndarray, score: np.ndarray, happened: np.ndarray, labels: np.ndarray
) -> np.ndarray | None:
    """Return `exact_copies` of rows, given their keys, scores of an event, outcomes and label codes."""
    mixed = np.random.default_rng(0).permutation(len(keys))  # rows may be sorted by their outcome
    alike = pd.factorize(keys)[0]
    order = mixed[np.argsort(alike[mixed], kind="stable")]
    follows = np.flatnonzero(np.diff(alike[order]) == 0)
    if not len(follows):
        return None
    first, second = order[follows], order[follows + 1]
    grade = np.searchsorted(np.quantile(score, np.arange(1, N_GRADES) / N_GRADES), score)
    right = np.bincount(grade, happened, N_GRADES) / np.maximum(np.bincount(grade, minlength=N_GRADES), 1)
    chance = 2.0 * right * (1.0 - right)
    expected = float(chance[grade[first]].sum())
    differ = int((happened[first] != happened[second]).sum())
    from scipy.special import bdtr  # takes a second to import; few rows come to this

    if differ > MAX_DISAGREEING * expected or bdtr(differ, len(first), expected / len(first)) > CHANCE:
        return None
    return pd.factorize(next_mixed(keys ^ next_mixed(labels.astype(np.int64).view(np.uint64))))[0]


def changed_copies(rows: Any) -> np.ndarray | None:
    """Return `near_copies` of labelled predictions; multilabel rows have none."""
    if "every label" in rows.has or (values := _comparable(rows)) is None:
        return None
    scores = getattr(rows, rows.scored_by)
    return near_copies(scores.reshape(len(scores), -1), *values, getattr(rows, "label", None))


def near_copies(
    matrix: np.ndarray,
    score: np.ndarray,
    happened: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return a number for each row, equal for copies with slightly different scores; None without copies.

    Nearest neighbours that are copies are right or wrong together, as for `copies_of`. Other nearest
    neighbours agree no more often than rows of one class and score, or than `FAR`-th neighbours.
    """
    from scipy.sparse import coo_array  # takes a second to import, as its neighbours do
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree
    from scipy.special import bdtr

    if (n := len(matrix)) < FAR:
        return None
    points = np.asarray(matrix[:, _some(matrix.shape[1])], dtype=np.float64)
    if predicted is not None:
        points = np.column_stack([points, predicted])
    unsure = np.abs(score - 0.5)
    some = np.argpartition(unsure, N_SAMPLED)[:N_SAMPLED] if n > N_SAMPLED else np.arange(n)
    tree, right = KDTree(points[some]), happened[some]
    label = None if predicted is None else predicted[some]
    chance = Residuals.of(score[some], right, label).chance

    def neighbours(rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of a neighbour of each row, and whether its outcome differs."""
        distance, row = tree.query(points[some], k=[rank], workers=WORKERS)
        return distance[:, 0], right != right[row[:, 0]]

    distance, near = neighbours(2)
    order = np.argsort(distance, kind="stable")
    near, differing = near[order], np.cumsum(near[order])
    pairs = np.arange(1, len(some) + 1)

    def agree(expected: np.ndarray) -> np.ndarray:
        """Return for each k whether the k nearest pairs differ far less often than by chance."""
        by_chance = bdtr(differing // 2, (pairs + 1) // 2, expected / pairs)
        return (differing <= MAX_DISAGREEING * expected) & (by_chance <= CHANCE / len(some))

    expected = np.cumsum((2.0 * chance * (1.0 - chance))[order])
    if not agree(expected).any():
        return None
    far = neighbours(FAR)[1][order]  # takes longest to find
    near_only, far_only = (np.cumsum(only) // 2 for only in (near & ~far, far & ~near))  # most occur twice
    by_chance = bdtr(near_only, near_only + far_only, 0.5)  # the exact test of McNemar (1947)
    copied = np.flatnonzero(agree(np.minimum(expected, np.cumsum(far))) & (by_chance <= CHANCE / len(some)))
    if not len(copied):
        return None
    reach = distance[order[copied[-1]]]
    at = KDTree(points).query(points, k=min(MAX_COLUMNS, n), distance_upper_bound=np.nextafter(reach, 1.0))[1]
    row, place = np.nonzero(at < n)
    joined = coo_array((np.ones(len(row), dtype=bool), (row, at[row, place])), shape=(n, n))
    group = connected_components(joined, directed=False)[1].astype(np.int64)
    return pd.factorize(group * (int(labels.max()) + 1) + labels)[0]


def together_by_scores(rows: Any) -> np.ndarray | None:
    """Return the clusters that equal scores show: `exact_copies`, else `questions_of` the rows."""
    values = _comparable(rows)
    if values is None or "every label" in rows.has:
        return None if values is None else copies_of(row_keys(rows), *values)
    return copies_or_questions(row_keys(rows), *values, getattr(rows, "label", None))


def copies_or_questions(
    keys: np.ndarray,
    score: np.ndarray,
    happened: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return `copies_of` rows, else `questions_of` them."""
    if pd.Index(keys).is_unique:
        return None
    copies = copies_of(keys, score, happened, labels)
    return questions_of(keys, score, happened, predicted) if copies is None else copies


#: Results of `alike_in`, by rows: many functions ask for them.
_alike: WeakKeyDictionary[Any, list[Alike]] = WeakKeyDictionary()


def alike_in(rows: Any) -> list[Alike]:
    """Return `find_alike` in the further columns of labelled predictions."""
    if rows.labels is None or rows.metadata is None or "every label" in rows.has:
        return []
    if rows not in _alike:
        predicted = getattr(rows, "label", None)
        classes = [values for values in (rows.labels, predicted) if values is not None]
        known = *_outcomes(rows), predicted, classes
        _alike[rows] = find_alike(*known, rows.metadata)
    return _alike[rows]


def together_by_column(rows: Any) -> np.ndarray | None:
    """Return the clusters that a further column shows, (n,) int64; None if none does."""
    return noticeable(alike_in(rows)[0].cluster) if alike_in(rows) else None


def clusters_in(rows: Any) -> np.ndarray | None:
    """Return the clusters of rows; else those that a column or the scores show, the larger of the two."""
    if rows.cluster is not None:
        return np.asarray(rows.cluster)
    by_scores = together_by_scores(rows)
    found = [together_by_column(rows), changed_copies(rows) if by_scores is None else by_scores]
    return min((each for each in found if each is not None), key=np.max, default=None)


def counted_together(rows: Any) -> Any:
    """Add `clusters_in` rows as their clusters, if they have none and it changes intervals."""
    if rows.cluster is not None or (found := noticeable(clusters_in(rows))) is None:
        return rows
    return rows.with_cluster(found)


def noticeable(clusters: np.ndarray | None) -> np.ndarray | None:
    """Return clusters if they change intervals noticeably, else None."""
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


def row_codes(labels: np.ndarray) -> np.ndarray:
    """Return a number for each row of an (n, L) bool array, equal for equal rows."""
    return np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)


def _outcomes(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of an event of each row, and whether it happened."""
    if "one score" in rows.has:
        return getattr(rows, rows.scored_by), rows.labels == 1
    if "every label" in rows.has:
        return rows.scores[:, 0], rows.labels[:, 0]
    return rows.confidence, rows.label == rows.labels


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
