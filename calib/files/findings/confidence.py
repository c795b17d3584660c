"""Findings about confidences: decisions, rounded to 1 or to a few values."""

from __future__ import annotations

import numpy as np

from calib.files.findings.codes import Finding
from calib.files.readers.raw_predictions import RawPredictions

#: Least share of one-hot rows in a matrix of decisions.
ONE_HOT_SHARE = 0.99
#: Share of saturated rows above which the note is a warning.
NOTE_SHARE = 0.01
#: Fewest distinct confidences that fill 15 bins; fewer are noted if each has `FEW_ROWS` rows.
FEW_WARNING, FEW_NOTE, FEW_ROWS = 20, 200, 10


def find_confidence_faults(raw: RawPredictions, codes: np.ndarray | None) -> list[Finding]:
    """Find one-hot rows, exact 1.0, few distinct confidences."""
    top = raw.highest[1]
    full = np.flatnonzero(top >= 1.0)
    hard = full[(raw.proba[full] > 0).sum(axis=1) == 1]
    if len(hard) >= ONE_HOT_SHARE * len(top):
        return [_one_hot(raw, hard)]
    lost = 0
    if codes is not None:
        lost = int(((codes[full] >= 0) & (raw.proba[full, codes[full].clip(0)] <= 0.0)).sum())
    loud = len(hard) > NOTE_SHARE * len(top) and (lost > 0 or codes is None)
    return [*find_saturated(full, len(top), lost, loud), *find_few_distinct(top)]


def _one_hot(raw: RawPredictions, hard: np.ndarray) -> Finding:
    return Finding(
        "one_hot",
        "warning",
        f"{len(hard):,} of {raw.n_samples:,} rows are one-hot: a 1 among zeros. These are decisions, not "
        "probabilities, so there is no confidence to calibrate; export predict_proba or the softmax output.",
        hard,
    )


def find_saturated(full: np.ndarray, n: int, lost: int = 0, loud: bool = False) -> list[Finding]:
    """Note the rows with a score of 1; warn if the other scores of those rows are lost and 1 can be wrong."""
    if not len(full):
        return []
    infinite = f"; in {lost:,} rows the true class has probability 0, so log loss is infinite" if lost else ""
    return [
        Finding(
            "saturated",
            "warning" if loud else "note",
            f"{len(full):,} of {n:,} rows ({len(full) / n:.1%}) have confidence exactly 1{infinite}. Scores "
            "that were rounded up cannot be distinguished; export logits or more digits.",
            full,
        )
    ]


def find_few_distinct(top: np.ndarray) -> list[Finding]:
    distinct = len(np.unique(top))
    if distinct > FEW_NOTE or len(top) < FEW_ROWS * distinct:
        return []
    return [
        Finding(
            "few_distinct",
            "warning" if distinct < FEW_WARNING else "note",
            f"{len(top):,} rows have only {distinct} distinct confidences, as from votes of a forest or few "
            "printed digits. Bins of equal mass cannot be equal, because ties stay together.",
        )
    ]
