"""Findings about the sample: too few rows of a class, rows of both parts of a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calib.data.defaults import N_BINS
from calib.data.equal_rows import DECIMALS, most_by_chance
from calib.files.findings.codes import Finding, counted, some
from calib.files.findings.together import copies_in, raw_keys
from calib.files.readers.answers import ANOTHER
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.tables import as_keys, some_names

#: Mean rows of a cell (class, bin) for its accuracy to mean something (+-0.4 at 5 rows).
ROWS_PER_CELL = 5
#: Fewest rows for any top-label number.
FEWEST_ROWS = 30
#: A class that is never true is suspicious from this number of expected rows on (probability e**-30).
EXPECTED_ROWS = 30.0
#: Calibration rows that a bin of histogram binning should have.
POINTS_PER_BIN = 50
#: Share of equal rows that a few identical examples give.
NOTE_OVERLAP = 0.01


def find_overlap(raw: RawPredictions, calibration: RawPredictions | None) -> Finding | None:
    """Find calibration rows that reappear in the evaluation rows, by id or by equal scores."""
    if calibration is None or calibration.n_classes != raw.n_classes or calibration.kind != raw.kind:
        return None
    by_id = raw.ids is not None and calibration.ids is not None
    again = _recurring(raw, calibration)
    share = float(again.mean())
    if not again.any() or (not by_id and again.sum() <= _most_by_chance(raw, calibration)):
        return None
    rows = np.flatnonzero(again)
    return Finding(
        "calibration_overlap",
        f"{len(rows):,} of {len(again):,} evaluation rows ({share:.1%}; {some(rows)}) have the same "
        f"{'ids' if by_id else f'scores, to {DECIMALS} decimals,'} as calibration rows. A calibrator must be "
        "assessed on rows it has not seen. "
        + ("The fix removes them from the evaluation rows." if not again.all() else "Use other rows."),
        rows,
        repair=None if again.all() else (lambda data: data.take(~_recurring(data, calibration))),
        severity="warning" if by_id or share > NOTE_OVERLAP else "note",
    )


def _most_by_chance(raw: RawPredictions, calibration: RawPredictions) -> float:
    copied = any(copies_in(each) is not None for each in (raw, calibration))
    return most_by_chance(raw_keys(raw), raw_keys(calibration), copied=copied)


def _recurring(raw: RawPredictions, calibration: RawPredictions) -> np.ndarray:
    """Mask of rows that are also calibration rows: with the same id or, without ids, with equal scores."""
    if raw.ids is not None and calibration.ids is not None:
        ids = pd.Series(as_keys(raw.ids), dtype=object)
        return (ids.isin(as_keys(calibration.ids)) & ~ids.isin(["", "nan"])).to_numpy()
    return np.isin(raw_keys(raw), raw_keys(calibration))


def find_class_faults(raw: RawPredictions, codes: np.ndarray | None) -> list[Finding]:
    """Find classes never true, never predicted or rare, and too few rows for the cells."""
    size, n = len(raw.names), raw.n_samples - int(raw.abstained.sum())
    true = expected = None
    if codes is not None and (codes >= 0).any():
        true = np.bincount(codes[codes >= 0], minlength=size)
    if "every label" in raw.has and raw.labels is not None:
        times = np.nan_to_num(raw.labels.astype(np.float64)).sum(axis=0)
        return class_faults(raw.names, n, None, true=times)
    if "vector" in raw.has:
        predicted = raw.highest[0]
        if codes is not None and true is not None:
            expected = np.zeros(size)
            absent = np.flatnonzero(true == 0)
            expected[absent] = raw.proba[codes >= 0][:, absent].sum(axis=0, dtype=np.float64)
    elif "announced class" in raw.has and (announced := raw.predicted_codes()) is not None:
        predicted = announced
        if ANOTHER in raw.names:
            size, true = size - 1, None
    else:
        return find_few_rows(n)
    times = np.bincount(predicted[predicted >= 0], minlength=size)[:size]
    return class_faults(raw.names[:size], n, times, true=true, expected=expected)


def class_faults(
    class_names: Sequence[str],
    n: int,
    predicted: np.ndarray | None,
    *,
    true: np.ndarray | None,
    expected: np.ndarray | None = None,
) -> list[Finding]:
    """As `find_class_faults`, from the rows of each predicted, true and (if known) expected class."""
    size = len(class_names)
    findings: list[Finding] = []
    names = np.array(class_names, dtype=object)

    def add(code: str, classes: np.ndarray, what: str, advice: str, severity: str = "note") -> None:
        if len(classes):
            be = "is" if len(classes) == 1 else "are"
            told = f"{len(classes):,} of {size:,} classes {be} {what}: {some_names(names[classes])}.{advice}"
            findings.append(Finding(code, told, columns=tuple(names[classes]), severity=severity))

    absent = np.flatnonzero(true == 0) if true is not None else np.empty(0, dtype=np.int64)
    advice = ""
    if expected is not None and len(absent) and expected[absent].max() > EXPECTED_ROWS:
        most = absent[expected[absent].argmax()]
        advice = (
            f" The scores expect {expected[most]:,.0f} rows of {names[most][:40]!r}: are labels missing, or "
            "columns misnamed?"
        )
    add("class_never_true", absent, "never the true label", advice, "warning" if advice else "note")
    if predicted is not None:
        advice = " Such a class has no top-label diagram and no calibration by predicted class."
        add("class_never_predicted", np.flatnonzero(predicted == 0), "never predicted", advice)
        rare = np.flatnonzero((predicted > 0) & (predicted < POINTS_PER_BIN))
        advice = (
            f" That does not fill one bin of {POINTS_PER_BIN} points; histogram binning leaves their scores "
            "as they are."
        )
        add("class_rare", rare, f"predicted fewer than {POINTS_PER_BIN} times", advice)
    return [*findings, *find_few_rows(n, size if predicted is not None else 1)]


def find_few_rows(n: int, n_classes: int = 1) -> list[Finding]:
    cells = N_BINS * n_classes
    if n >= ROWS_PER_CELL * cells:
        return []
    what = f"{N_BINS} bins x {n_classes} classes = {cells:,} cells" if n_classes > 1 else f"{N_BINS} bins"
    message = (
        f"{counted(n, 'row')} for {what} are {n / cells:.2g} rows a {'cell' if n_classes > 1 else 'bin'}; "
        f"with fewer than {ROWS_PER_CELL}, most of an error is sampling noise. Use fewer bins or more rows, "
        "and read the noise floor first."
    )
    severity = "warning" if n < max(FEWEST_ROWS, n_classes) else "note"
    return [Finding("too_few_rows", message, severity=severity)]
