"""Findings about scores: row numbers, missing, on another scale, rounded, decisions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from calib.base.parallel import map_row_blocks
from calib.data.matrices import ROW_SUM_TOLERANCE, row_sums
from calib.files.findings.codes import Finding, counted, some
from calib.files.readers.columns import are_odds, is_row_number, is_within
from calib.files.readers.raw_predictions import (
    LOG_SUM_TOLERANCE,
    RawPredictions,
    are_log_probabilities,
    are_percentages,
    is_outside,
    probabilities_on,
)
from calib.files.readers.tables import any_numbers

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
#: Least share of one-hot rows in a matrix of decisions.
ONE_HOT_SHARE = 0.99
#: Share of saturated rows above which the note is a warning.
NOTE_SHARE = 0.01
#: Fewest distinct confidences that fill 15 bins; fewer are noted if each has `FEW_ROWS` rows.
FEW_WARNING, FEW_NOTE, FEW_ROWS = 20, 200, 10
#: What scores on a scale are, and what turns them into probabilities.
TURNED = {
    "log_probabilities": ("log-probabilities", "takes exp"),
    "percent": ("percentages", "divides by 100"),
    "logits": ("logits", "applies softmax"),
}
WRITE = "Write probabilities, or say what the scores are: percent, logits or log_probabilities."


def find_index_column(raw: RawPredictions) -> Finding | None:
    """Find a column of row numbers among the scores of a matrix without names."""
    columns = (0, raw.n_classes - 1) if "vector" in raw.has and raw.n_classes > 1 else ()
    for j in columns:
        if is_row_number(raw.proba[:, j]):
            what = f"column {j} ({raw.names[j]!r}) holds the row numbers {raw.proba[0, j]:g}, "
            how = f"{raw.proba[1, j]:g}, ... and not scores of a class; drop it."
            return Finding("index_column", what + how, columns=(raw.names[j],))
    return None


def find_not_finite(raw: RawPredictions) -> Finding | None:
    """Find NaN and infinite values; minus infinity is a proper log-probability."""
    bad = ~has_scores(raw)
    if not bad.any() or ("vector" in raw.has and are_log_probabilities(raw.proba)):
        return None
    cells = ~np.isfinite(raw.proba[bad])
    names = raw.names if raw.n_classes > 1 and "scores" in raw.has else ()
    columns = tuple(name for name, hit in zip(names, cells.any(axis=0), strict=False) if hit)
    rows, repair = np.flatnonzero(bad), None if bad.all() else (lambda data: data.take(has_scores(data)))
    how = "Every row has one; check the columns." if bad.all() else "The fix removes those rows."
    message = (
        f"{counted(int(cells.sum()), 'value', ('is', 'are'))} NaN or infinite, in {len(rows):,} of "
        f"{counted(len(bad), 'row')} ({some(rows)}). {how}"
    )
    return Finding("not_finite", message, rows, columns if len(columns) < raw.n_classes else (), repair)


def has_scores(raw: RawPredictions) -> np.ndarray:
    """Return the mask of rows whose scores are finite, or that need none."""
    return np.isfinite(row_sums(raw.proba)) | raw.abstained


def find_scale(raw: RawPredictions) -> Finding | None:
    """Find the scale of the scores if they are not probabilities; scores of all classes sum to 1."""
    matrix = raw.proba if "vector" in raw.has else raw.proba[~raw.abstained]
    if not len(matrix):
        return None
    run = f"scores run from {matrix.min():.4g} to {matrix.max():.4g}"
    return _scale_of_rows(raw, run) if "vector" in raw.has else _scale_of_events(raw, matrix, run)


def _scale_of_events(raw: RawPredictions, matrix: np.ndarray, run: str) -> Finding | None:
    """Say how scores outside [0, 1] are read: by their name, or as log-odds if they lie around 0."""
    scale = raw.scale_of(matrix)
    rows = np.flatnonzero(((raw.proba < 0.0) | (raw.proba > 1.0 + 1e-6)).any(axis=1))
    if is_within(matrix):
        if not is_outside(matrix):
            return None
        what = f"{counted(len(rows), 'row')} ({some(rows)}) lie outside [0, 1] by rounding"
        return Finding("rounding", f"{run}: {what}, and count as 0 or 1.", rows, severity="note")
    if scale in TURNED and (scale != "log_probabilities" or matrix.max() <= 1e-6):
        return _on_scale(raw, scale, run, named=True)
    regressed = np.abs(matrix - 0.5).max() < 0.6  # on labels of 0 and 1
    if raw.has & {"event", "every label"} and matrix.min() < 0.0 < matrix.max() and not regressed:
        return _on_scale(raw, "logits", run)
    outside = f"and a probability lies in [0, 1]: {len(rows):,} rows are outside ({some(rows)})"
    return Finding("scale_unknown", f"{run}, {outside}. {WRITE}", rows)


def _scale_of_rows(raw: RawPredictions, run: str) -> Finding | None:
    matrix, sums = raw.proba, row_sums(raw.proba)
    if are_log_probabilities(matrix):
        return _on_scale(raw, "log_probabilities", f"{run} and exp of each row sums to 1")
    if are_percentages(matrix):
        return _on_scale(raw, "percent", f"{run} and rows sum to {np.median(sums):.5g}")
    if are_odds(matrix):
        return Finding(
            "odds",
            f"{run}, and their inverses sum to about 1: these are decimal odds. The fix takes the inverses, "
            "divided by their sum.",
            repair=lambda data: _renormalised(replace(data, proba=1.0 / data.proba)),
        )
    if is_outside(matrix):
        return _outside(raw, run, sums)
    off = np.abs(sums - 1.0)
    if off.max() <= SILENT:
        return None
    allowed, how = LOG_SUM_TOLERANCE, "stored in low precision"
    if (printed := printed_decimals(matrix)) is not None:
        allowed = min(max(allowed, 0.5 * raw.n_classes * 10.0**-printed), MOST_ROUNDING)
        how = f"printed with {printed} decimals"
    if off.max() <= allowed * (1 + 1e-9):
        as_they_are = off.max() <= ROW_SUM_TOLERANCE
        what = "They are used as they are." if as_they_are else "The fix divides each row by its sum."
        return Finding(
            "rounding",
            f"row sums differ from 1 by up to {off.max():.3g}, as values {how} do. {what}",
            repair=_renormalised,
            severity="note" if as_they_are else "error",
        )
    wrong = off > allowed
    if wrong.mean() <= MOST_ROWS:
        return _bad_sums(wrong, sums)
    return Finding(
        "sigmoid_scores",
        f"scores lie in [0, 1] and rows sum to {_range(sums)}, not to 1: these are independent sigmoids, one "
        "per class (or a class column is missing). The fix turns them back into logits and applies softmax.",
        repair=_softmax_of_log_odds,
    )


def _outside(raw: RawPredictions, run: str, sums: np.ndarray) -> Finding:
    lows = map_row_blocks(lambda block: block.min(axis=1), raw.proba)
    highs = map_row_blocks(lambda block: block.max(axis=1), raw.proba)
    sum_to_one = np.abs(sums - 1.0) <= LOG_SUM_TOLERANCE
    sane = (lows >= 0.0) & (highs <= 1.0 + 1e-6) & sum_to_one
    if lows.min() < 0.0 and sum_to_one.mean() >= MOST_ROWS:
        return _negative(raw, lows)
    if highs.max() <= 1.0 + NEGATIVE_NOISE and lows.min() >= 0.0 and sum_to_one.all():
        what = f"scores go up to {highs.max():.7g} by rounding. The fix divides each row by its sum."
        return Finding("rounding", what, repair=_renormalised)
    if sane.mean() >= MOST_ROWS:
        return _bad_sums(~sane, sums)
    if lows.min() >= 0.0 and raw.scale != "logits":
        return Finding("scale_unknown", f"{run} and rows sum to {_range(sums)}, not to 1 or 100. {WRITE}")
    return _on_scale(raw, "logits", f"{run} and rows sum to {_range(sums)}, not to 1")


def _on_scale(raw: RawPredictions, scale: str, fact: str, named: bool = False) -> Finding:
    """Return a note about scores whose scale is known, or else the fix that reads them on this scale."""
    what, turns = TURNED[scale]
    if scale == "logits" and "vector" not in raw.has:
        what, turns = "log-odds", "takes 1 / (1 + exp(-score))"
    repair = partial(_turned, scale=scale)
    if named or raw.scale == scale:
        return Finding(scale, f"{fact}: {what}. Reading {turns}.", repair=repair, severity="note")
    return Finding(scale, f"{fact}: these are {what}, not probabilities. The fix {turns}.", repair=repair)


def _turned(data: RawPredictions, scale: str) -> RawPredictions:
    on_scale = partial(probabilities_on, scale=scale, vectors="vector" in data.has)
    return replace(data, proba=map_row_blocks(on_scale, data.proba), scale="probabilities")


def _softmax_of_log_odds(data: RawPredictions) -> RawPredictions:
    @any_numbers
    def odds(block: np.ndarray) -> np.ndarray:
        tiny = np.finfo(block.dtype).eps / 2
        p = block.astype(np.float64).clip(tiny**2, 1.0 - tiny)
        return np.log(p) - np.log1p(-p)

    return _turned(replace(data, proba=map_row_blocks(odds, data.proba)), "logits")


@any_numbers
def _divided(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their sums; rows without a positive sum stay as they are."""
    sums = rows.sum(axis=1, dtype=np.float64, keepdims=True)
    return (rows / np.where(sums > 0, sums, 1.0)).astype(rows.dtype)


def _renormalised(data: RawPredictions) -> RawPredictions:
    return replace(data, proba=map_row_blocks(_divided, data.proba), scale="probabilities")


def printed_decimals(matrix: np.ndarray) -> int | None:
    """Return the fewest decimals that write the values exactly, if these are few; else None."""
    sample, single = matrix[:PRINT_ROWS].astype(np.float64), matrix.dtype == np.float32
    for decimals in range(PRINT_DECIMALS + (not single)):
        noise = max(1e-6 if single else 1e-12, 1e-9 / 10.0**decimals)
        if (np.abs(sample - np.round(sample, decimals)) <= noise).all():
            return decimals
    return None


def _range(sums: np.ndarray) -> str:
    low, high = f"{sums.min():.4g}", f"{sums.max():.4g}"
    return low if low == high else f"between {low} and {high}"


def _bad_sums(wrong: np.ndarray, sums: np.ndarray) -> Finding:
    rows = np.flatnonzero(wrong)
    message = (
        f"{len(rows):,} of {len(wrong):,} rows are not probabilities that sum to 1 ({some(rows)}; row "
        f"{rows[0]} sums to {sums[rows[0]]:.5g}), by more than rounding explains. Correct or remove those "
        "rows."
    )
    return Finding("rounding", message, rows)


def _negative(raw: RawPredictions, lows: np.ndarray) -> Finding:
    rows = np.flatnonzero(lows < 0.0)
    columns = tuple(raw.names[j] for j in np.flatnonzero(raw.proba[rows].min(axis=0) < 0))
    noise = bool(lows.min() >= -NEGATIVE_NOISE)
    how = "The fix sets them to 0 and divides each row by its sum." if noise else "Correct or remove them."
    message = (
        f"{len(rows):,} of {len(lows):,} rows hold negative values down to {lows.min():.4g} "
        f"({some(rows)}); probabilities are 0 or more. {how}"
    )
    repair = (lambda data: _renormalised(replace(data, proba=np.maximum(data.proba, 0)))) if noise else None
    return Finding("negative", message, rows, columns if len(columns) < raw.n_classes else (), repair)


def find_confidence_faults(raw: RawPredictions, codes: np.ndarray | None) -> list[Finding]:
    """Find decisions, scores of exactly 1 and few distinct scores; `raw` holds probabilities."""
    if "every label" in raw.has:
        return []
    top = raw.top[1]
    full, lost, loud, found = np.flatnonzero(top >= 1.0), 0, False, []
    if "vector" in raw.has:
        hard = full[(raw.proba[full] > 0).sum(axis=1) == 1]
        if len(hard) >= ONE_HOT_SHARE * len(top):
            what = f"{len(hard):,} of {len(top):,} rows are one-hot: a 1 among zeros"
            how = "These are decisions without confidence; export predict_proba or the softmax output"
            return [Finding("one_hot", f"{what}. {how}.", hard)]
        if codes is not None:
            lost = int(((codes[full] >= 0) & (raw.proba[full, codes[full].clip(0)] <= 0.0)).sum())
        loud = len(hard) > NOTE_SHARE * len(top) and (lost > 0 or codes is None)
    if n := len(full):
        what = f"{n:,} of {len(top):,} rows ({n / len(top):.1%}) have confidence exactly 1"
        if lost:
            what += f"; in {lost:,} rows the true class has probability 0, so log loss is infinite"
        how = "Scores that were rounded up cannot be distinguished; export logits or more digits."
        found += [Finding("saturated", f"{what}. {how}", full, severity="warning" if loud else "note")]
    distinct, n = len(np.unique(top[~raw.abstained])), raw.n_samples - int(raw.abstained.sum())
    if distinct <= FEW_NOTE and n >= FEW_ROWS * distinct:
        what = f"{n:,} rows have only {distinct} distinct confidences, as from votes of a forest or few"
        how = "printed digits. Bins of equal mass cannot be equal, because ties stay together."
        severity = "warning" if distinct < FEW_WARNING else "note"
        found += [Finding("few_distinct", f"{what} {how}", severity=severity)]
    return found
