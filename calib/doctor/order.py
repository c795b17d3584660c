"""Findings about the order of labels, columns and rows, from the top column alone: any scale will do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from calib.doctor.findings import Finding
from calib.formats.raw_predictions import RawPredictions
from calib.predictions import highest

#: Another reading of the labels must raise accuracy by this much (and by 4 standard errors) on rows
#: that were not used to find it; biased models gain less when their columns are renamed.
ACCURACY_GAIN = 0.1
STANDARD_ERRORS = 4.0
#: Accuracy this close to what unrelated labels give, in standard errors, is no better than chance.
CHANCE_ERRORS = 3.0
#: A model at chance whose mean confidence is higher by this much claims to know what it does not.
CONFIDENCE_GAP = 0.2
#: Fewer labelled rows than this say nothing about order.
MIN_ROWS = 30
#: Shifts of the labels against the rows that are tried; a header read as a row gives 1.
MAX_SHIFT = 3
#: The table of counts has L * L cells; above this many classes only the order of text is tried.
MAX_MATCHED = 2_000


def find_order_fault(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Return one explanation why labels disagree with the scores, if there is a better one than the model."""
    other = _shifted_by_one(raw, codes) or _column_order(raw, codes) or _shuffled(raw, codes)
    return other or _text_order(raw)


def whole_numbers(labels: np.ndarray) -> np.ndarray | None:
    """Labels as float64 when all that are not missing are numbers, else None."""
    if labels.dtype != object:
        return labels.astype(np.float64)
    numbers = pd.to_numeric(pd.Series(labels[labels != ""]), errors="coerce")
    if numbers.isna().any():
        return None
    return pd.to_numeric(pd.Series(labels), errors="coerce").to_numpy(dtype=np.float64)


def minus_one(data: RawPredictions) -> RawPredictions:
    """Return the data with 1 subtracted from every label."""
    assert data.labels is not None
    numbers = whole_numbers(data.labels)
    assert numbers is not None
    lower = numbers - 1.0
    return replace(data, labels=lower if np.isnan(lower).any() else lower.astype(np.int64))


def count_pairs(predicted: np.ndarray, true: np.ndarray, n_classes: int) -> np.ndarray:
    """Return an (L, L) table: rows are predicted columns, columns are labels."""
    return np.bincount(predicted * n_classes + true, minlength=n_classes**2).reshape(n_classes, n_classes)


def _better(after: np.ndarray, before: np.ndarray) -> bool:
    """Whether hits under another reading exceed hits under this one by more than bias or chance."""
    gain = after.mean() - before.mean()
    spread = np.sqrt(max(before.mean() * (1 - before.mean()), 0.25 / len(before)) / len(before))
    return bool(gain >= ACCURACY_GAIN and gain >= STANDARD_ERRORS * spread)


def _shifted_by_one(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find labels 1..L of which L is absent, so that none is out of range."""
    known = codes >= 0
    if raw.labels is None or raw.labels_are_names or known.sum() < MIN_ROWS or codes[known].min() < 1:
        return None
    if whole_numbers(raw.labels) is None:
        return None
    predicted = highest(raw.proba)[0][known]
    if not _better(predicted == codes[known] - 1, predicted == codes[known]):
        return None
    return Finding(
        "labels_one_based",
        "warning",
        f"no label is 0, and accuracy is {np.mean(predicted == codes[known]):.3f} as they are but "
        f"{np.mean(predicted == codes[known] - 1):.3f} less 1: labels count from 1. The fix subtracts 1.",
        repair=minus_one,
    )


def _column_order(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find a permutation of columns, on half of the rows, that makes the other half more accurate."""
    known = np.flatnonzero(codes >= 0)
    size = raw.n_classes
    if len(known) < MIN_ROWS or size < 2:
        return None
    predicted, true = highest(raw.proba)[0][known], codes[known]
    candidates: list[tuple[str, np.ndarray]] = []
    text = np.array(sorted(range(size), key=str))
    if size > 10:
        candidates.append((f"the order of text (0, 1, 10, ..., {text[-1]})", text))
        one_based = np.array(sorted(range(size), key=lambda code: str(code + 1)))
        candidates.append(("the order of text (1, 10, ..., 2)", one_based))
    if size <= MAX_MATCHED:
        counts = count_pairs(predicted[::2], true[::2], size)
        # Columns without evidence stay where they are.
        candidates.append(
            ("another order", linear_sum_assignment(counts + 1e-3 * np.eye(size), maximize=True)[1])
        )
    held = slice(1, None, 2)
    before = predicted[held] == true[held]
    for words, order in candidates:
        if (order == np.arange(size)).all() or not _better(order[predicted[held]] == true[held], before):
            continue
        moved = np.flatnonzero(order != np.arange(size))

        def reorder(data: RawPredictions, order: np.ndarray = order) -> RawPredictions:
            return replace(data, proba=np.ascontiguousarray(data.proba[:, np.argsort(order)]))

        first = moved[0]
        return Finding(
            "column_order",
            "warning",
            f"columns are in {words} against the labels: rows labelled {raw.names[order[first]]!r} are "
            f"predicted as {raw.names[first]!r}, and accuracy is {np.mean(predicted == true):.3f} as "
            f"they are but {np.mean(order[predicted] == true):.3f} with {len(moved)} columns reordered. "
            "The fix reorders them.",
            columns=tuple(raw.names[j] for j in moved),
            repair=reorder,
        )
    return None


def _text_order(raw: RawPredictions) -> Finding | None:
    """Find columns named by numbers in the order of text: matched by name, which is worth knowing."""
    names = raw.class_names or ()
    if not raw.labels_are_names or len(names) < 3:
        return None
    numbers = [int(name) for name in names]
    if numbers == sorted(numbers):
        return None
    order = np.argsort(numbers, kind="stable")

    def reorder(data: RawPredictions) -> RawPredictions:
        return replace(
            data,
            proba=np.ascontiguousarray(data.proba[:, order]),
            class_names=tuple(np.array(data.names, dtype=object)[order]),
        )

    by_text = list(names) == sorted(names)
    return Finding(
        "column_order",
        "note" if not by_text else "warning",
        f"columns are in the order {', '.join(names[:4])}, ...{' (order of text)' * by_text}, not in that "
        "of numbers. Labels are matched to columns by name here; tools that match by position get them "
        "wrong. The fix sorts the columns by number.",
        columns=tuple(names[j] for j in np.flatnonzero(order != np.arange(len(names)))),
        repair=reorder,
    )


def _shuffled(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find accuracy at chance while the model is sure: labels and rows do not belong together."""
    known = codes >= 0
    n = int(known.sum())
    if n < MIN_ROWS or not known.all():
        return None
    predicted = highest(raw.proba)[0]
    shares = [np.bincount(classes, minlength=raw.n_classes) / n for classes in (predicted, codes)]
    chance = float(shares[0] @ shares[1])
    accuracy = float((predicted == codes).mean())
    spread = np.sqrt(max(chance * (1 - chance), 1e-4) / n)
    confidence = _mean_confidence(raw)
    if chance > 0.95 or accuracy > chance + CHANCE_ERRORS * spread or confidence < accuracy + CONFIDENCE_GAP:
        return None
    message = (
        f"accuracy is {accuracy:.3f}, what labels unrelated to the rows would give ({chance:.3f}), while "
        f"the mean confidence is {confidence:.3f}: labels look shuffled against the rows. "
    )
    hits = predicted == codes
    for shift in (s for size in range(1, MAX_SHIFT + 1) for s in (size, -size)):
        if _better(predicted == np.roll(codes, shift), hits):
            return Finding(
                "labels_shuffled",
                "warning",
                message + f"Moved by {shift} row(s) they agree; the fix moves them, the end to the start.",
                repair=partial(_rolled, by=shift),
            )
    if _better(predicted == codes[::-1], hits):
        return Finding(
            "labels_shuffled",
            "warning",
            message + "In reverse order they agree; the fix reverses them.",
            repair=_reversed,
        )
    return Finding(
        "labels_shuffled", "warning", message + "Export scores and labels again from the same loop."
    )


def _rolled(data: RawPredictions, by: int) -> RawPredictions:
    assert data.labels is not None
    return replace(data, labels=np.roll(data.labels, by))


def _reversed(data: RawPredictions) -> RawPredictions:
    assert data.labels is not None
    return replace(data, labels=data.labels[::-1].copy())


def _mean_confidence(raw: RawPredictions) -> float:
    """Mean of the largest score; only scores on the scale of probabilities say how sure a model is."""
    top = raw.proba.max(axis=1)
    return float(top.mean()) if raw.proba.min() >= 0.0 and top.max() <= 1.0 + 1e-6 else 0.0
