"""Results of an examination: findings in words, and the effect of accepting a fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import shortened
from calib.data.matrices import row_sums
from calib.files.readers.answers import missing_cells
from calib.files.readers.columns import is_within
from calib.files.readers.raw_predictions import RawPredictions

#: Every code a finding can have, with its usual severity, in the order in which fixes are applied.
CODES = {
    "columns_ambiguous": "error",
    "index_column": "error",
    "clusters_kept": "note",
    "abstentions": "note",
    "predicted_missing": "error",
    "columns_disagree": "warning",
    "not_finite": "error",
    "log_probabilities": "error",
    "percent": "error",
    "odds": "error",
    "scale_unknown": "error",
    "negative": "error",
    "logits": "error",
    "sigmoid_scores": "error",
    "rounding": "error",
    "one_hot": "warning",
    "saturated": "note",
    "few_distinct": "note",
    "labels_missing": "error",
    "label_names_unmatched": "error",
    "class_names_assumed": "warning",
    "labels_one_based": "error",
    "label_out_of_range": "error",
    "column_order": "warning",
    "labels_shuffled": "warning",
    "rows_copied": "warning",
    "rows_together": "warning",
    "calibration_overlap": "warning",
    "class_never_true": "note",
    "class_never_predicted": "note",
    "class_rare": "note",
    "too_few_rows": "note",
}
#: Findings that are about the true labels alone.
LABEL_CODES = ("labels_missing", "label_names_unmatched", "labels_one_based", "label_out_of_range")
SEVERITIES = ("error", "warning", "note")
#: A function that looks for the fault in the data it gets and returns them repaired.
Repair = Callable[[RawPredictions], RawPredictions]


@dataclass(frozen=True, eq=False)
class Finding:
    """One fault of the data, or a fact worth knowing."""

    code: str  #: One of `CODES`
    message: str  #: One or two sentences with numbers: what is wrong, and what to do
    #: (k,) int64 array: rows concerned, from 0; empty for all rows or none in particular
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Names of the classes or columns concerned; empty for all
    columns: tuple[str, ...] = ()
    repair: Repair | None = None
    #: "error": the data cannot be used as they are; "warning": probably not what was meant; "note": worth
    #: knowing; by default the usual one of the code
    severity: str = ""
    raw: RawPredictions | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shortened(self.message))
        object.__setattr__(self, "severity", self.severity or CODES[self.code])

    @property
    def fix(self) -> Callable[[], RawPredictions] | None:
        """None, or a function that returns corrected `RawPredictions` and leaves the input alone."""
        if self.repair is None or self.raw is None:
            return None
        return partial(self.repair, self.raw)


@dataclass(frozen=True)
class Effect:
    """Effect of a fix, for the user to see before accepting it; pairs are (before, after)."""

    code: str  #: Code of the finding
    rows: tuple[int, int]  #: Number of rows
    #: Share of rows whose top column is the label, nan without usable labels
    accuracy: tuple[float, float]
    row_sums: tuple[tuple[float, float], tuple[float, float]]  #: Smallest and largest sum of a row of scores
    lowest: tuple[float, float]  #: Lowest confidence, nan if scores are no probabilities
    clusters: tuple[int, int]  #: Clusters of rows that belong together, 0 if rows are independent

    def __str__(self) -> str:
        rows = [f"{n:,}" for n in self.rows]
        accuracy = ["unknown" if np.isnan(share) else f"{share:.4f}" for share in self.accuracy]
        sums = [" to ".join(dict.fromkeys(f"{end:.6g}" for end in pair)) for pair in self.row_sums]
        clusters = [f"{n:,}" if n else "none" for n in self.clusters]
        pairs = {"rows": rows, "accuracy": accuracy, "row sums": sums, "clusters": clusters}
        if not np.isnan(self.lowest).any():
            pairs["lowest confidence"] = [f"{value:.4f}" for value in self.lowest]
        changes = [f"{what} {a} -> {b}" for what, (a, b) in pairs.items() if a != b]
        return ", ".join(changes) or "neither rows, accuracy nor row sums"


def effect_of(code: str, before: RawPredictions, after: RawPredictions) -> Effect:
    return Effect(code, *zip(_measured(before), _measured(after), strict=True))


def _measured(raw: RawPredictions) -> tuple[Any, ...]:
    sums, scores = row_sums(raw.proba), confidences(raw)
    sums, usable = sums[np.isfinite(sums)], np.isfinite(scores)
    probable = usable.any() and is_within(raw.proba[usable])
    return (
        raw.n_samples,
        accuracy_of(raw),
        (float(sums.min()), float(sums.max())) if len(sums) else (np.nan, np.nan),
        float(scores[usable].min()) if probable else np.nan,
        0 if raw.cluster is None else len(pd.unique(raw.cluster)),
    )


def accuracy_of(raw: RawPredictions) -> float:
    """Return the share of rows whose top column is their label; nan when no label is usable."""
    codes = raw.codes if raw.n_classes > 1 or "vector" not in raw.has else None
    if codes is None or raw.labels is None or not (codes >= 0).any():
        return float("nan")
    predicted, counts = raw.top[0], ~raw.abstained & ~missing_cells(raw.labels)
    if predicted is None:
        predicted, counts = (raw.proba[:, 0] > 0.5) | ("event" not in raw.has), codes >= 0
    return float((predicted == codes)[counts].mean()) if counts.any() else float("nan")


def confidences(raw: RawPredictions) -> np.ndarray:
    if "scores" in raw.has:
        return raw.proba.max(axis=1)
    score: np.ndarray = raw.proba[:, 0]
    return np.maximum(score, 1.0 - score) if "event" in raw.has else score


def counted(n: int, noun: str, verb: tuple[str, str] | None = None) -> str:
    """Return a number and its noun, with "s" unless there is one, and the (singular, plural) verb.

    >>> counted(1, "value", ("is", "are")), counted(2000, "row")
    ('1 value is', '2,000 rows')
    """
    phrase = f"{n:,} {noun}{'s' * (n != 1)}"
    return phrase if verb is None else f"{phrase} {verb[n != 1]}"


def some(rows: np.ndarray) -> str:
    """Name the first rows for a message."""
    shown = ", ".join(f"{row}" for row in rows[:3])
    return f"row {shown}" if len(rows) == 1 else f"rows {shown}{', ...' if len(rows) > 3 else ''}"
