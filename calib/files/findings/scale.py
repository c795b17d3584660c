"""Findings about the scale of scores: probabilities that sum to 1, logits, percentages and the like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.base.parallel import map_row_blocks
from calib.data.matrices import ROW_SUM_TOLERANCE, row_sums
from calib.data.predictions import Predictions
from calib.files.findings.codes import Finding, Repair, some
from calib.files.readers.columns import are_odds
from calib.files.readers.raw_predictions import (
    LOG_SUM_TOLERANCE,
    RawPredictions,
    are_log_probabilities,
    are_percentages,
    vectors_on,
)

#: Largest unreported distance of a row's sum from 1: float32 over 1,000 classes gives 1e-5.
SILENT = 1e-5
#: Largest distance of a row's sum from 1 that is renormalised.
MOST_ROUNDING = 0.25
#: Largest share of rows with a fault; with more, the scores have another scale.
MOST_ROWS = 0.5
#: Largest negative value that counts as rounding and may be set to 0.
NEGATIVE_NOISE = 1e-3
#: Rows looked at to find printed decimals, and most decimals.
PRINT_ROWS, PRINT_DECIMALS = 2_000, 6


def find_scale(raw: RawPredictions) -> Finding | None:
    """Find the scale of the scores if they are not probabilities whose rows sum to 1."""
    matrix = raw.proba
    low, high = float(matrix.min()), float(matrix.max())
    if are_log_probabilities(matrix):
        return _scale_finding(
            raw,
            "log_probabilities",
            f"no score is above 0 ({low:.4g} to {high:.4g}) and exp of each row sums to 1: these are "
            "log-probabilities. The fix takes exp.",
            _exponentials,
        )
    sums = row_sums(matrix)
    if are_percentages(matrix):
        return _scale_finding(
            raw,
            "percent",
            f"scores run from {low:.4g} to {high:.4g} and rows sum to {np.median(sums):.5g}: these are "
            "percentages. The fix divides by 100.",
            hundredths,
        )
    if are_odds(matrix):
        return Finding(
            "odds",
            "error",
            f"scores run from {low:.4g} to {high:.4g}, and their inverses sum to about 1: these are decimal "
            "odds. The fix takes the inverses, divided by their sum.",
            repair=lambda data: _renormalised(replace(data, proba=1.0 / data.proba)),
        )
    if low < 0.0 or high > 1.0 + 1e-6:
        lows = map_row_blocks(lambda block: block.min(axis=1), matrix)
        highs = map_row_blocks(lambda block: block.max(axis=1), matrix)
        sum_to_one = np.abs(sums - 1.0) <= LOG_SUM_TOLERANCE
        sane = (lows >= 0.0) & (highs <= 1.0 + 1e-6) & sum_to_one
        if low < 0.0 and sum_to_one.mean() >= MOST_ROWS:
            return _negative(raw, lows)
        if high <= 1.0 + NEGATIVE_NOISE and low >= 0.0 and sum_to_one.all():
            what = f"scores go up to {high:.7g} by rounding. The fix divides each row by its sum."
            return Finding("rounding", "error", what, repair=_renormalised)
        if sane.mean() < MOST_ROWS and low >= 0.0 and raw.scale != "logits":
            what = f"scores run from {low:.4g} to {high:.4g} and rows sum to {_range(sums)}, not to 1 or 100"
            advice = "Write probabilities, or say what the scores are: percent, logits or log_probabilities."
            return Finding("scale_unknown", "error", f"{what}. {advice}")
        if sane.mean() < MOST_ROWS:
            return _scale_finding(
                raw,
                "logits",
                f"scores run from {low:.4g} to {high:.4g} and rows sum to {_range(sums)}, not to 1: these "
                "are logits, not probabilities. The fix applies softmax.",
                _softmax_of,
            )
        return _bad_sums(raw, ~sane, sums)
    off = np.abs(sums - 1.0)
    if off.max() <= SILENT:
        return None
    printed = printed_decimals(matrix)
    allowed = LOG_SUM_TOLERANCE
    if printed is not None:
        allowed = min(max(allowed, 0.5 * raw.n_classes * 10.0**-printed), MOST_ROUNDING)
    if off.max() <= allowed * (1 + 1e-9):
        how = f"printed with {printed} decimals" if printed is not None else "stored in low precision"
        as_they_are = off.max() <= ROW_SUM_TOLERANCE
        what = "They are used as they are." if as_they_are else "The fix divides each row by its sum."
        return Finding(
            "rounding",
            "note" if as_they_are else "error",
            f"row sums differ from 1 by up to {off.max():.3g}, as values {how} do. {what}",
            columns=(),
            repair=_renormalised,
        )
    wrong = off > allowed
    if wrong.mean() <= MOST_ROWS:
        return _bad_sums(raw, wrong, sums)
    return Finding(
        "sigmoid_scores",
        "error",
        f"scores lie in [0, 1] and rows sum to {_range(sums)}, not to 1: these are independent sigmoids, one "
        "per class (or a class column is missing). The fix turns them back into logits and applies softmax.",
        repair=_softmax_of_log_odds,
    )


def _scale_finding(raw: RawPredictions, code: str, message: str, repair: Repair) -> Finding:
    named = raw.scale == code
    if named:
        low, high = float(raw.proba.min()), float(raw.proba.max())
        message = (
            f"the file names its scores {code.replace('log_', 'log-')} (they run from {low:.4g} to "
            f"{high:.4g}); they are turned into probabilities."
        )
    return Finding(code, "note" if named else "error", message, repair=repair)


def _range(sums: np.ndarray) -> str:
    low, high = f"{sums.min():.4g}", f"{sums.max():.4g}"
    return low if low == high else f"between {low} and {high}"


def _exponentials(data: RawPredictions) -> RawPredictions:
    return replace(data, proba=vectors_on(data.proba, "log_probabilities"), scale="probabilities")


def hundredths(data: RawPredictions) -> RawPredictions:
    return replace(data, proba=data.proba / data.proba.dtype.type(100), scale="probabilities")


def _softmax_of(data: RawPredictions) -> RawPredictions:
    return replace(data, proba=Predictions.from_logits(data.proba).proba, scale="probabilities")


def _softmax_of_log_odds(data: RawPredictions) -> RawPredictions:
    def odds(block: np.ndarray) -> np.ndarray:
        tiny = np.finfo(block.dtype).eps / 2
        p = block.astype(np.float64).clip(tiny**2, 1.0 - tiny)
        with np.errstate(invalid="ignore"):  # a missing score stays missing
            return np.log(p) - np.log1p(-p)

    return _softmax_of(replace(data, proba=map_row_blocks(odds, data.proba)))


def _divided(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their sums; rows without a positive sum stay as they are."""
    sums = rows.sum(axis=1, dtype=np.float64, keepdims=True)
    return (rows / np.where(sums > 0, sums, 1.0)).astype(rows.dtype)


def _renormalised(data: RawPredictions) -> RawPredictions:
    return replace(data, proba=map_row_blocks(_divided, data.proba), scale="probabilities")


def printed_decimals(matrix: np.ndarray) -> int | None:
    """Return the fewest decimals that write the values exactly, if these are few; else None."""
    sample = matrix[:PRINT_ROWS].astype(np.float64)
    for decimals in range(PRINT_DECIMALS + 1):
        scaled = sample * 10.0**decimals
        noise = 10.0**decimals * (1e-6 if matrix.dtype == np.float32 else 1e-12)
        if noise > 0.1:
            return None
        if (np.abs(scaled - np.round(scaled)) <= max(noise, 1e-9)).all():
            return decimals
    return None


def _bad_sums(raw: RawPredictions, wrong: np.ndarray, sums: np.ndarray) -> Finding:
    rows = np.flatnonzero(wrong)
    return Finding(
        "rounding",
        "error",
        f"{len(rows):,} of {len(wrong):,} rows are not probabilities that sum to 1 ({some(rows)}; row "
        f"{rows[0]} sums to {sums[rows[0]]:.5g}), by more than rounding explains. Correct or remove those "
        "rows.",
        rows,
    )


def _without_negatives(data: RawPredictions) -> RawPredictions:
    return _renormalised(replace(data, proba=np.maximum(data.proba, 0)))


def _negative(raw: RawPredictions, lows: np.ndarray) -> Finding:
    rows = np.flatnonzero(lows < 0.0)
    columns = tuple(raw.names[j] for j in np.flatnonzero(raw.proba[rows].min(axis=0) < 0))
    noise = bool(lows.min() >= -NEGATIVE_NOISE)
    how = "The fix sets them to 0 and divides each row by its sum." if noise else "Correct or remove them."
    return Finding(
        "negative",
        "error",
        f"{len(rows):,} of {len(lows):,} rows hold negative values down to {lows.min():.4g} "
        f"({some(rows)}); probabilities are 0 or more. {how}",
        rows,
        columns if len(columns) < raw.n_classes else (),
        _without_negatives if noise else None,
    )
