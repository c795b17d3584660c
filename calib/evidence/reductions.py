"""Multiclass-to-binary reductions: one list of binary problems per M2B notion (Table 1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard, TypeVar

import numpy as np

from calib.base.exceptions import InputError
from calib.base.parallel import LINE, WORKERS, map_row_blocks, map_threads, row_blocks
from calib.data.kinds import lacks
from calib.data.matrices import highest
from calib.data.notions import TOP_K_NOTIONS, Notion, NotionShape
from calib.data.predictions import (
    BasePrediction,
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    Scores,
    TopKPrediction,
    TopLabelPrediction,
    score_matrix,
)
from calib.data.validation import as_scores, n_axes
from calib.evidence.binning import BinaryProblems

Fitted = TypeVar("Fitted")


def problems_of(rows: BasePrediction, notion: Notion, top_k: int | None = None) -> BinaryProblems:
    check_serves(rows, notion)
    if (event := event_scores(rows)) is not None:
        shape = NotionShape.of(notion, 1, top_k)
        if notion in TOP_K_NOTIONS:
            raise InputError(str(lacks("binary", f"notion:{notion}")))
        return _sorted_problems(shape, len(event), None, event, outcomes_of(rows))
    labels = rows.truth
    if isinstance(rows, TopKPrediction) and notion in TOP_K_NOTIONS:
        if top_k is not None and top_k > rows.n_ranks:
            raise InputError(f"top_k must be at most {rows.n_ranks}, the number of ranks; got {top_k}")
        shape = NotionShape.of(notion, n_classes_of(rows), rows.n_ranks if top_k is None else top_k)
        ranks = slice(shape.n_ranks)
        return _problems_of_ranks(shape, labels, rows.ranked[:, ranks], rows.scores[:, ranks])
    if isinstance(rows, (TopLabelPrediction, TopKPrediction)):
        shape = NotionShape.of(notion, n_classes_of(rows), top_k)
        return _top_problems(shape, labels, rows.label, rows.confidence)
    matrix = score_matrix(rows)
    shape = NotionShape.of(notion, matrix.shape[1], top_k)
    if notion == "class-wise":
        return _class_wise_problems(shape, labels, matrix)
    if notion not in TOP_K_NOTIONS:
        return _top_problems(shape, labels, *top_label(rows))
    return _problems_of_ranks(shape, labels, *ranked_classes(matrix, shape.n_ranks))


def n_classes_of(rows: TopLabelPrediction | TopKPrediction) -> int:
    """Return the number of classes of labelled predictions, true or predicted."""
    return max(rows.n_classes, int(np.max(rows.truth)) + 1)


def _problems_of_ranks(
    shape: NotionShape, labels: np.ndarray, ranked: np.ndarray, confidences: np.ndarray
) -> BinaryProblems:
    owner = shape.problems_of(ranked, np.arange(shape.n_ranks))
    outcome = ranked == labels[:, None]
    flat_owner, flat_score, flat_outcome = (array.T.ravel() for array in (owner, confidences, outcome))
    return _sorted_problems(shape, len(labels), flat_owner, flat_score, flat_outcome)


def grouped_problems(rows: BasePrediction, shape: NotionShape, group: np.ndarray) -> BinaryProblems:
    """Reduce to the top-label problems of a shape with groups; `group` is the code of each row's group."""
    label, confidence = top_label(rows)
    owner = shape.problems_of(label, group=group)
    return _sorted_problems(shape, len(label), owner, confidence, label == rows.truth)


def check_serves(rows: BasePrediction, notion: str) -> None:
    """Refuse a notion that these predictions cannot serve; a binary score serves notions of one claim."""
    NotionShape.of(notion, 2)
    missing = None if isinstance(rows, BinaryPrediction) else lacks(rows.kind, f"notion:{notion}")
    if missing is not None:
        raise InputError(missing)


def event_scores(scores: Scores) -> np.ndarray | None:
    """Return the scores of predictions of one event, (n,) in [0, 1]; None for other predictions."""
    if isinstance(scores, BinaryPrediction):
        return scores.score
    if isinstance(scores, ConfidencePrediction):
        return scores.confidence
    if isinstance(scores, BasePrediction) or n_axes(scores) != 1:
        return None
    return as_scores(scores, ndim=1, what="scores")


def outcomes_of(rows: BasePrediction) -> np.ndarray:
    return rows.truth == 1


def fit_classes(
    fit_sorted: Callable[[np.ndarray, np.ndarray], Fitted], rows: Predictions | MultilabelPrediction
) -> list[Fitted]:
    """Apply `fit_sorted` to each class's sorted, unweighted problem, a few at a time."""
    check_serves(rows, "class-wise")

    def fit(code: int, column: np.ndarray, happened: np.ndarray) -> Fitted:
        return fit_sorted(*_sorted_scores(column, happened))

    return _each_class(fit, rows.truth, score_matrix(rows))


def separate_problems(
    rows: BasePrediction, shape: NotionShape
) -> tuple[np.ndarray, Callable[[int], tuple[np.ndarray, np.ndarray]]]:
    """Return the rows of each unweighted problem, and a function that gives one problem's sorted scores."""
    label, confidence = top_label(rows)
    happened = label == rows.truth
    if shape.n_problems == 1:
        return np.array([len(label)]), lambda problem: _sorted_scores(confidence, happened)
    ends = np.cumsum(np.bincount(label, minlength=shape.n_classes))
    by_class = np.argsort(label.astype(np.min_scalar_type(shape.n_classes)), kind="stable")
    rows_of = np.split(by_class, ends[:-1])
    return np.diff(ends, prepend=0), lambda problem: _sorted_scores(
        confidence[rows_of[problem]], happened[rows_of[problem]]
    )


def has_columns(rows: BasePrediction) -> TypeGuard[Predictions | MultilabelPrediction]:
    return isinstance(rows, (Predictions, MultilabelPrediction))


def top_label(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Predicted class c(x) and its score h(x), both (n,); for P(Y = 1) the larger of p and 1 - p."""
    if isinstance(scores, (ConfidencePrediction, MultilabelPrediction)):
        raise InputError(str(lacks(scores.kind, "notion:top-label")))
    if (event := event_scores(scores)) is not None:
        return (event > 0.5).astype(np.int64), np.maximum(event, 1 - event)
    if isinstance(scores, (Predictions, TopLabelPrediction, TopKPrediction)):
        return scores.label, scores.confidence
    return highest(score_matrix(scores))


def ranked_classes(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    few = 8 * k <= scores.shape[1]
    ranked = map_row_blocks(
        lambda block: _best_by_rounds(block, k) if few else np.argsort(-block, axis=1, kind="stable")[:, :k],
        scores,
    )
    return ranked, np.take_along_axis(scores, ranked, axis=1)


def _best_by_rounds(block: np.ndarray, k: int) -> np.ndarray:
    """Take the highest remaining class k times, which is faster than a full sort for few of many classes."""
    left, rows = block.copy(), np.arange(len(block))
    ranked = np.empty((len(block), k), dtype=np.int64)
    for rank in range(k):
        ranked[:, rank] = left.argmax(axis=1)
        left[rows, ranked[:, rank]] = -1.0
    return ranked


def _top_problems(
    shape: NotionShape, labels: np.ndarray, predicted: np.ndarray, confidence: np.ndarray
) -> BinaryProblems:
    owner = shape.problems_of(predicted) if shape.n_problems > 1 else None
    return _sorted_problems(shape, len(labels), owner, confidence, predicted == labels)


def _sorted_problems(
    shape: NotionShape, n_samples: int, owner: np.ndarray | None, scores: np.ndarray, outcomes: np.ndarray
) -> BinaryProblems:
    """Sort entries and cut them into problems; each n entries are one claim about the n rows."""
    if owner is None:
        offsets = np.array([0, len(scores)], dtype=np.int64)
    else:
        counts = np.bincount(owner, minlength=shape.n_problems)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    ordered, entries, happened = _sorted_entries(scores, outcomes, owner, offsets)
    rows = entries % n_samples if len(scores) > n_samples else entries
    return BinaryProblems(shape, n_samples, offsets, ordered, rows, happened)


def _sorted_entries(
    scores: np.ndarray, outcomes: np.ndarray, owner: np.ndarray | None, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort entries by (owner, score): scores, entry numbers and outcomes in that order.

    Packed into one uint64, they sort several times faster than by argsort: floats of at least 0 order like
    their bits. A stable sort per problem finishes float64 scores.
    """
    low_bits = len(scores).bit_length() + 1
    low_mask = 2**low_bits - 1
    if (len(offsets) - 2).bit_length() + 30 + low_bits > 64:
        order = np.argsort(scores) if owner is None else np.lexsort((scores, owner))
        return scores[order], order, outcomes[order]
    packed = np.empty(len(scores), dtype=np.uint64)
    ordered = np.empty_like(scores)
    entries = np.empty(len(scores), dtype=np.int64)
    happened = np.empty(len(scores), dtype=bool)

    def pack(block: slice) -> None:
        bits = np.abs(scores[block], dtype=np.float32, casting="same_kind").view(np.uint32)  # abs(-0.0) = 0.0
        key = bits.astype(np.uint64)
        if owner is not None:
            key |= owner[block].astype(np.uint64) << 30
        key <<= low_bits
        key |= np.arange(block.start, block.stop, dtype=np.uint64) << 1
        packed[block] = key | outcomes[block]

    def unpack(block: slice) -> None:
        low = packed[block] & low_mask
        happened[block] = low & 1
        entries[block] = low >> 1
        if scores.dtype == np.float32:
            ordered[block] = (packed[block] >> low_bits & (2**30 - 1)).astype(np.uint32).view(np.float32)
        else:
            ordered[block] = scores[entries[block]]

    def refine(problem: int) -> None:
        span = slice(offsets[problem], offsets[problem + 1])
        order = np.argsort(ordered[span], kind="stable")
        for array in (ordered, entries, happened):
            array[span] = array[span][order]

    blocks = row_blocks(len(scores))
    map_threads(pack, blocks)
    packed.sort()
    map_threads(unpack, blocks)
    if scores.dtype != np.float32:
        map_threads(refine, np.flatnonzero(np.diff(offsets) > 1).tolist())
    return ordered, entries, happened


def _class_wise_problems(shape: NotionShape, labels: np.ndarray, matrix: np.ndarray) -> BinaryProblems:
    n_samples, n_classes = matrix.shape
    scores = np.empty(n_samples * n_classes, dtype=matrix.dtype)
    rows = np.empty(n_samples * n_classes, dtype=np.int32)
    outcomes = np.empty(n_samples * n_classes, dtype=bool)

    whole = np.array([0, n_samples])

    def sort_class(code: int, column: np.ndarray, happened: np.ndarray) -> None:
        span = slice(code * n_samples, (code + 1) * n_samples)
        scores[span], rows[span], outcomes[span] = _sorted_entries(column, happened, None, whole)

    _each_class(sort_class, labels, matrix)
    offsets = np.arange(n_classes + 1, dtype=np.int64) * n_samples
    return BinaryProblems(shape, n_samples, offsets, scores, rows, outcomes)


def _each_class(
    function: Callable[[int, np.ndarray, np.ndarray], Fitted], labels: np.ndarray, matrix: np.ndarray
) -> list[Fitted]:
    n_samples, n_classes = matrix.shape

    def call(codes: range) -> list[Fitted]:
        columns = np.empty((len(codes), n_samples), matrix.dtype)

        def transpose(rows: slice) -> None:
            columns[:, rows] = matrix[rows, codes.start : codes.stop].T

        def call_one(code: int) -> Fitted:
            true = labels == code if labels.ndim == 1 else np.ascontiguousarray(labels[:, code])
            return function(code, columns[code - codes.start], true)

        map_threads(transpose, row_blocks(n_samples, len(codes)))
        return map_threads(call_one, codes)

    step = max(LINE // matrix.itemsize, WORKERS)  # scores of a row that share a line of the cache
    starts = range(0, n_classes, step)
    return [each for first in starts for each in call(range(first, min(first + step, n_classes)))]


def bin_each_class(
    function: Callable[[int, BinaryProblems], Fitted], labels: np.ndarray, matrix: np.ndarray
) -> list[Fitted]:
    """Apply a function to the class-wise problem of each class, sorted class by class."""
    n_samples, n_classes = matrix.shape
    whole, single = np.array([0, n_samples]), NotionShape("confidence", n_classes)

    def bin_class(code: int, column: np.ndarray, happened: np.ndarray) -> Fitted:
        entries = _sorted_entries(column, happened, None, whole)
        return function(code, BinaryProblems(single, n_samples, whole, *entries))

    return _each_class(bin_class, labels, matrix)


def _sorted_scores(scores: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if scores.dtype != np.float32:
        ordered, _, happened = _sorted_entries(scores, outcomes, None, np.array([0, len(scores)]))
        return ordered, happened
    packed = np.abs(scores).view(np.uint32)
    packed <<= 1
    packed |= outcomes
    packed.sort()
    happened = (packed & 1).astype(bool)
    packed >>= 1
    return packed.view(np.float32), happened
