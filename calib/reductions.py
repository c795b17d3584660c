"""Multiclass-to-binary reductions: one list of binary problems per M2B notion (Table 1 of the paper)."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from calib.binning import BinaryProblems, BinStatistics, Notion, Strategy, bin_statistics, stack_problems
from calib.exceptions import InputError
from calib.parallel import map_row_blocks, map_threads, row_slices
from calib.predictions import TopLabelPrediction, highest, score_matrix
from calib.validation import as_labels, check_count

__all__ = [
    "BinaryProblems",
    "Notion",
    "as_problems",
    "bin_statistics",
    "cell_statistics",
    "ranked_classes",
    "reduce_to_binary",
    "top_label",
]

#: The notions of Table 1.
NOTIONS: tuple[str, ...] = get_args(Notion)


def reduce_to_binary(y_true: Any, scores: Any, notion: Notion, *, top_k: int | None = None) -> BinaryProblems:
    """Reduce multiclass predictions to the binary problems of an M2B notion.

    ==================  ==========================  ========  ==============
    notion              problems                    score     outcome
    ==================  ==========================  ========  ==============
    "confidence"        1                           h(x)      Y = c(x)
    "top-label"         L, rows with c(x) = l       h(x)      Y = l
    "class-wise"        L, all rows                 h_l(x)    Y = l
    "top-k-confidence"  K, all rows                 h^(k)(x)  Y = c^(k)(x)
    "top-k-label"       K * L, rows c^(k)(x) = l    h^(k)(x)  Y = l
    ==================  ==========================  ========  ==============

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) array_like, Predictions or TopLabelPrediction
        Scores in [0, 1]; rows need not sum to 1 (class-wise calibrators do not normalise).
        A `TopLabelPrediction` serves "confidence" and "top-label" only.
    notion : str
        One of the table above.
    top_k : int, optional
        K for the top-K notions (default min(L, 5)); not allowed for the others.

    Raises
    ------
    InputError
        If the notion is unknown, shapes disagree, or the scores cannot serve the notion.

    Notes
    -----
    Algorithm 7 of the paper (top-K-confidence) prints the outcome as 1{Y = l}; what is meant, and built
    here, is 1{Y = c^(k)(X)}.
    """
    if notion not in NOTIONS:
        raise InputError(f"notion must be one of {', '.join(NOTIONS)}; got {notion!r}")
    if top_k is not None and not notion.startswith("top-k"):
        raise InputError(f'top_k belongs to the top-K notions; got top_k={top_k!r} with notion "{notion}"')
    if isinstance(scores, TopLabelPrediction):
        return _reduce_top(y_true, scores, notion)
    matrix = score_matrix(scores)
    n_samples, n_classes = matrix.shape
    labels = as_labels(y_true, n_samples, n_classes)
    if notion == "class-wise":
        return _reduce_class_wise(labels, matrix)
    if notion in ("confidence", "top-label"):
        predicted, confidence = top_label(scores if hasattr(scores, "proba") else matrix)
        outcome = predicted == labels
        owner = predicted if notion == "top-label" else None
        return _sorted_problems(notion, n_classes, 1, n_classes, owner, confidence, outcome, n_samples)
    ranked, confidences = ranked_classes(matrix, min(n_classes, 5) if top_k is None else top_k)
    k = ranked.shape[1]
    rank = np.repeat(np.arange(k), n_samples)
    owner = rank if notion == "top-k-confidence" else rank * n_classes + ranked.T.ravel()
    n_problems = k if notion == "top-k-confidence" else k * n_classes
    outcome = (ranked == labels[:, None]).T.ravel()
    return _sorted_problems(
        notion, n_classes, k, n_problems, owner, confidences.T.ravel(), outcome, n_samples
    )


def as_problems(y_true: Any, scores: Any, notion: Notion, top_k: int | None = None) -> BinaryProblems:
    """Return `scores` where they are `BinaryProblems` already, else reduce them."""
    if isinstance(scores, BinaryProblems):
        return scores
    return reduce_to_binary(y_true, scores, notion, top_k=top_k)


def cell_statistics(
    y_true: Any,
    scores: Any,
    notion: Notion,
    *,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    top_k: int | None = None,
) -> BinStatistics:
    """Reduce and bin in one go: `bin_statistics` of `reduce_to_binary`.

    Class-wise problems are sorted and binned one class at a time and let go of, so that 1,000 classes of
    50,000 rows need no more memory than one.
    """
    if notion != "class-wise" or top_k is not None or isinstance(scores, TopLabelPrediction):
        problems = reduce_to_binary(y_true, scores, notion, top_k=top_k)
        return bin_statistics(problems, n_bins=n_bins, strategy=strategy)
    matrix = score_matrix(scores)
    n_samples, n_classes = matrix.shape
    labels = as_labels(y_true, n_samples, n_classes)
    whole = np.array([0, n_samples])

    def bin_class(code: int) -> BinStatistics:
        entries = _sorted_class(labels, matrix, code)
        problem = BinaryProblems(notion, n_samples, n_classes, 1, whole, *entries)
        return bin_statistics(problem, n_bins=n_bins, strategy=strategy)

    return stack_problems(map_threads(bin_class, range(n_classes)))


def top_label(scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predicted class c(x) and its score h(x), both (n,); ties go to the lowest index."""
    if hasattr(scores, "confidence"):
        return scores.label, scores.confidence
    return highest(np.asarray(scores))


def ranked_classes(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k highest classes of each row, best first, and their scores, both (n, k).

    Ties go to the lowest index. Raises `InputError` unless 1 <= k <= L.
    """
    if check_count(k, "top_k") > scores.shape[1]:
        raise InputError(f"top_k must be at most the number of classes, {scores.shape[1]}; got {k}")
    few = 8 * k <= scores.shape[1]
    ranked = map_row_blocks(
        lambda block: _best_by_rounds(block, k) if few else np.argsort(-block, axis=1, kind="stable")[:, :k],
        scores,
    )
    return ranked, np.take_along_axis(scores, ranked, axis=1)


def _best_by_rounds(block: np.ndarray, k: int) -> np.ndarray:
    """Take the highest of what is left, k times: for few of many classes faster than a full sort."""
    left, rows = block.copy(), np.arange(len(block))
    ranked = np.empty((len(block), k), dtype=np.int64)
    for rank in range(k):
        ranked[:, rank] = left.argmax(axis=1)
        left[rows, ranked[:, rank]] = -1.0
    return ranked


def _reduce_top(y_true: Any, top: TopLabelPrediction, notion: Notion) -> BinaryProblems:
    if notion not in ("confidence", "top-label"):
        raise InputError(
            f'notion "{notion}" needs an (n, L) score matrix; a TopLabelPrediction serves only '
            '"confidence" and "top-label"'
        )
    labels = as_labels(y_true, len(top), None)
    n_classes = int(max(top.label.max(), labels.max())) + 1
    owner = top.label if notion == "top-label" else None
    outcome = top.label == labels
    return _sorted_problems(notion, n_classes, 1, n_classes, owner, top.confidence, outcome, len(labels))


def _sorted_problems(
    notion: Notion,
    n_classes: int,
    n_claims: int,
    n_problems: int,
    owner: np.ndarray | None,
    scores: np.ndarray,
    outcomes: np.ndarray,
    n_samples: int,
) -> BinaryProblems:
    """Sort entries and cut them into problems; entries beyond the first n are rows of the next claims."""
    if owner is None:
        offsets = np.array([0, len(scores)], dtype=np.int64)
    else:
        counts = np.bincount(owner, minlength=n_problems)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    ordered, entries, happened = _sorted_entries(scores, outcomes, owner, offsets)
    rows = entries % n_samples if len(scores) > n_samples else entries
    return BinaryProblems(notion, n_samples, n_classes, n_claims, offsets, ordered, rows, happened)


def _sorted_entries(
    scores: np.ndarray, outcomes: np.ndarray, owner: np.ndarray | None, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort entries by (owner, score): scores, entry numbers and outcomes in that order.

    Owner, score, entry and outcome are packed into one uint64 and sorted as numbers, several times
    faster than an argsort: floats that are not negative order like their bits, and float32 up to 1.0
    takes 30 of them. What float64 scores differ by beyond float32 is put right by a sort of the almost
    sorted scores.
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

    def pack(part: slice) -> None:
        bits = np.abs(scores[part], dtype=np.float32, casting="same_kind").view(np.uint32)  # abs(-0.0) = 0.0
        key = bits.astype(np.uint64)
        if owner is not None:
            key |= owner[part].astype(np.uint64) << 30
        key <<= low_bits
        key |= np.arange(part.start, part.stop, dtype=np.uint64) << 1
        packed[part] = key | outcomes[part]

    def unpack(part: slice) -> None:
        low = packed[part] & low_mask
        happened[part] = low & 1
        entries[part] = low >> 1
        if scores.dtype == np.float32:
            ordered[part] = (packed[part] >> low_bits & (2**30 - 1)).astype(np.uint32).view(np.float32)
        else:
            ordered[part] = scores[entries[part]]

    def refine(problem: int) -> None:
        own = slice(offsets[problem], offsets[problem + 1])
        order = np.argsort(ordered[own], kind="stable")
        for array in (ordered, entries, happened):
            array[own] = array[own][order]

    parts = row_slices(len(scores))
    map_threads(pack, parts)
    packed.sort()
    map_threads(unpack, parts)
    if scores.dtype != np.float32:
        map_threads(refine, np.flatnonzero(np.diff(offsets) > 1).tolist())
    return ordered, entries, happened


def _reduce_class_wise(labels: np.ndarray, matrix: np.ndarray) -> BinaryProblems:
    n_samples, n_classes = matrix.shape
    scores = np.empty(n_samples * n_classes, dtype=matrix.dtype)
    rows = np.empty(n_samples * n_classes, dtype=np.int32)
    outcomes = np.empty(n_samples * n_classes, dtype=bool)

    def sort_class(code: int) -> None:
        own = slice(code * n_samples, (code + 1) * n_samples)
        scores[own], rows[own], outcomes[own] = _sorted_class(labels, matrix, code)

    map_threads(sort_class, range(n_classes))
    offsets = np.arange(n_classes + 1, dtype=np.int64) * n_samples
    return BinaryProblems("class-wise", n_samples, n_classes, n_classes, offsets, scores, rows, outcomes)


def _sorted_class(
    labels: np.ndarray, matrix: np.ndarray, code: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorted scores, rows and outcomes of one class-wise problem."""
    column = np.ascontiguousarray(matrix[:, code])
    return _sorted_entries(column, labels == code, None, np.array([0, len(column)]))
