"""Multiclass-to-binary reductions: one list of binary problems per M2B notion (Table 1 of the paper)."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from calib.binning import BinaryProblems, Notion, bin_statistics, check_count
from calib.parallel import map_row_blocks, map_threads
from calib.predictions import InputError, TopLabelPrediction, as_labels, as_scores, highest

__all__ = [
    "BinaryProblems",
    "Notion",
    "as_problems",
    "bin_statistics",
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
    matrix = as_scores(getattr(scores, "proba", scores), ndim=2, what="scores")
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


def top_label(scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predicted class c(x) and its score h(x), both (n,); ties go to the lowest index."""
    if hasattr(scores, "confidence"):
        return scores.label, scores.confidence
    return highest(scores)


def ranked_classes(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k highest classes of each row, best first, and their scores, both (n, k).

    Ties go to the lowest index. Raises `InputError` unless 1 <= k <= L.
    """
    if check_count(k, "top_k") > scores.shape[1]:
        raise InputError(f"top_k must be at most the number of classes, {scores.shape[1]}; got {k}")
    ranked = map_row_blocks(lambda block: np.argsort(-block, axis=1, kind="stable")[:, :k], scores)
    return ranked, np.take_along_axis(scores, ranked, axis=1)


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
    """Sort entries by (problem, score): a radix pass over problems, then each problem on its own."""
    if owner is None:
        order, offsets = np.argsort(scores), np.array([0, len(scores)])
    else:
        small = owner.astype(np.uint16 if n_problems <= 2**16 else np.int64)
        grouped = np.argsort(small, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n_problems))))
        ascending = scores[grouped]

        def sort_problem(problem: int) -> None:
            own = slice(offsets[problem], offsets[problem + 1])
            grouped[own] = grouped[own][np.argsort(ascending[own])]

        map_threads(sort_problem, np.flatnonzero(np.diff(offsets) > 1).tolist())
        order = grouped
    rows = order % n_samples if len(scores) > n_samples else order
    return BinaryProblems(
        notion, n_samples, n_classes, n_claims, offsets.astype(np.int64), scores[order], rows, outcomes[order]
    )


def _reduce_class_wise(labels: np.ndarray, matrix: np.ndarray) -> BinaryProblems:
    n_samples, n_classes = matrix.shape
    scores = np.empty(n_samples * n_classes, dtype=matrix.dtype)
    rows = np.empty(n_samples * n_classes, dtype=np.int32)
    outcomes = np.empty(n_samples * n_classes, dtype=bool)

    def sort_class(code: int) -> None:
        column = np.ascontiguousarray(matrix[:, code])
        order = np.argsort(column)
        own = slice(code * n_samples, (code + 1) * n_samples)
        scores[own], rows[own], outcomes[own] = column[order], order, labels[order] == code

    map_threads(sort_class, range(n_classes))
    offsets = np.arange(n_classes + 1, dtype=np.int64) * n_samples
    return BinaryProblems("class-wise", n_samples, n_classes, n_classes, offsets, scores, rows, outcomes)
