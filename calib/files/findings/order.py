"""Findings about the order of labels, columns and rows, from the predicted class alone, on any scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from calib.files.findings.codes import Finding
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.tables import words_in

#: Least gain in accuracy (beside 4 standard errors) of another reading of the labels, on held-out rows.
ACCURACY_GAIN = 0.1
STANDARD_ERRORS = 4.0
#: A model is at chance within this number of standard errors of unrelated labels' accuracy.
CHANCE_ERRORS = 3.0
#: Least excess of mean confidence over accuracy at which a model at chance counts as sure.
CONFIDENCE_GAP = 0.2
#: Fewest labelled rows that say anything about order.
MIN_ROWS = 30
#: Most classes with a table of L * L counts.
MAX_MATCHED = 2_000


def find_order_fault(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Return why labels disagree with the scores, if a fault explains it better than a poor model."""
    return _shifted_by_one(raw, codes) or _column_order(raw, codes) or _shuffled(raw, codes)


def whole_numbers(labels: np.ndarray) -> np.ndarray | None:
    """Labels as float64 if all labels, except missing ones, are numbers; else None."""
    if labels.dtype != object:
        return labels.astype(np.float64)
    codes, words = words_in(labels)
    numbers = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
    strange = any(word and np.isnan(number) for word, number in zip(words, numbers, strict=True))
    return None if strange else numbers[codes]


def minus_one(data: RawPredictions) -> RawPredictions:
    assert data.labels is not None
    numbers = whole_numbers(data.labels)
    assert numbers is not None
    lower = numbers - 1.0
    return replace(data, labels=lower if np.isnan(lower).any() else lower.astype(np.int64))


def _better(after: np.ndarray, before: np.ndarray) -> bool:
    """Whether another reading has more hits than this reading, by more than bias or chance."""
    gain = after.mean() - before.mean()
    spread = np.sqrt(max(before.mean() * (1 - before.mean()), 0.25 / len(before)) / len(before))
    return bool(gain >= ACCURACY_GAIN and gain >= STANDARD_ERRORS * spread)


def _shifted_by_one(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find labels that count from 1 although no label is L, so that none is out of range."""
    true = codes[codes >= 0]
    if raw.labels is None or raw.labels_are_names or len(true) < MIN_ROWS or true.min() < 1:
        return None
    predicted = raw.highest[0][codes >= 0]
    lower, same = predicted == true - 1, predicted == true
    if whole_numbers(raw.labels) is None or not _better(lower, same):
        return None
    return Finding(
        "labels_one_based",
        f"no label is 0, and accuracy rises from {same.mean():.3f} to {lower.mean():.3f} when 1 is "
        "subtracted: labels count from 1. The fix subtracts 1.",
        repair=minus_one,
        severity="warning",
    )


def _column_order(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find a permutation of columns, on half of the rows, that makes the other half more accurate."""
    size = raw.n_classes
    predicted, true = raw.highest[0][codes >= 0], codes[codes >= 0]
    if len(true) < MIN_ROWS or not 2 <= size <= MAX_MATCHED:
        return None
    from scipy.optimize import linear_sum_assignment  # slow to import, seldom needed

    # Columns without evidence stay where they are.
    pairs = np.bincount(predicted[::2] * size + true[::2], minlength=size**2).reshape(size, size)
    order = linear_sum_assignment(pairs + 1e-3 * np.eye(size), maximize=True)[1]
    moved = np.flatnonzero(order != np.arange(size))
    tops, labels = predicted[1::2], true[1::2]
    if not len(moved) or not _better(order[tops] == labels, tops == labels):
        return None
    first = moved[0]
    return Finding(
        "column_order",
        f"columns are not in the order of the labels: rows labelled {raw.names[order[first]]!r} are "
        f"predicted as {raw.names[first]!r}, and accuracy rises from {np.mean(predicted == true):.3f} to "
        f"{np.mean(order[predicted] == true):.3f} with {len(moved)} columns reordered. The fix does so.",
        columns=tuple(raw.names[j] for j in moved),
        repair=lambda data: replace(data, proba=np.ascontiguousarray(data.proba[:, np.argsort(order)])),
    )


def _shuffled(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find accuracy at chance although the model is sure: labels belong to other rows."""
    n = len(codes)
    if n < MIN_ROWS or (codes < 0).any():
        return None
    predicted = raw.highest[0]
    tops, true = (np.bincount(classes, minlength=raw.n_classes) for classes in (predicted, codes))
    message = shuffled_words(tops, true, int(np.sum(predicted == codes)), _mean_confidence(raw))
    how = "Export scores and labels again from the same loop."
    return None if message is None else Finding("labels_shuffled", f"{message} {how}")


def shuffled_words(predicted: np.ndarray, true: np.ndarray, n_right: int, confidence: float) -> str | None:
    """Say that labels look shuffled against the rows, if accuracy is at chance although the model is sure."""
    n = int(true.sum())
    chance, accuracy = float((predicted / n) @ (true / n)), n_right / n
    spread = np.sqrt(max(chance * (1 - chance), 1e-4) / n)
    if (
        n < MIN_ROWS
        or np.count_nonzero(true) < 2  # one class says nothing about order
        or chance > 0.95
        or accuracy > chance + CHANCE_ERRORS * spread
        or confidence < accuracy + CONFIDENCE_GAP
    ):
        return None
    return (
        f"accuracy is {accuracy:.3f}, as for labels unrelated to the rows ({chance:.3f}), while the mean "
        f"confidence is {confidence:.3f}: labels look shuffled against the rows."
    )


def _mean_confidence(raw: RawPredictions) -> float:
    """Mean confidence; 0 if the scores are not on the scale of probabilities."""
    top = raw.proba.max(axis=1)
    return float(top.mean()) if raw.proba.min() >= 0.0 and top.max() <= 1.0 + 1e-6 else 0.0
