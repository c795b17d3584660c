"""Findings about the sample: too few rows of a class, rows of both parts of a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calib.data.defaults import N_BINS
from calib.data.equal_rows import DECIMALS, most_by_chance
from calib.files.findings.codes import Finding, counted, some
from calib.files.findings.together import copies_in, raw_keys
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.tables import as_keys, some_names

#: Mean rows of a cell (class, bin) for its accuracy to mean something (+-0.4 at 5 rows).
ROWS_PER_CELL = 5
#: Fewest rows for any top-label number.
FEWEST_ROWS = 30
#: A class that is never true is suspicious from this number of expected rows on (probability e**-30).
EXPECTED_ROWS = 30.0
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
        "warning" if by_id or share > NOTE_OVERLAP else "note",
        f"{len(rows):,} of {len(again):,} evaluation rows ({share:.1%}; {some(rows)}) have the same "
        f"{'ids' if by_id else f'scores, to {DECIMALS} decimals,'} as calibration rows. A calibrator must be "
        "assessed on rows it has not seen. "
        + ("The fix removes them from the evaluation rows." if not again.all() else "Use other rows."),
        rows,
        repair=None if again.all() else (lambda data: data.take(~_recurring(data, calibration))),
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


def find_class_faults(
    raw: RawPredictions, codes: np.ndarray | None, *, n_bins: int, points_per_bin: int
) -> list[Finding]:
    """Find classes never true, never predicted or rare, and too few rows for the cells."""
    n, size = raw.proba.shape
    predicted = np.bincount(raw.highest[0], minlength=size)
    true = expected = None
    if codes is not None and (codes >= 0).any():
        true = np.bincount(codes[codes >= 0], minlength=size)
        absent = np.flatnonzero(true == 0)
        expected = np.zeros(size)
        expected[absent] = raw.proba[:, absent].sum(axis=0, dtype=np.float64)
    counts = {"true": true, "expected": expected}
    return class_faults(raw.names, n, predicted, **counts, n_bins=n_bins, points_per_bin=points_per_bin)


def class_faults(
    class_names: Sequence[str],
    n: int,
    predicted: np.ndarray | None,
    *,
    true: np.ndarray | None,
    expected: np.ndarray | None = None,
    n_bins: int = N_BINS,
    points_per_bin: int = 50,
) -> list[Finding]:
    """As `find_class_faults`, from the rows of each predicted, true and (if known) expected class."""
    size = len(class_names)
    findings: list[Finding] = []
    names = np.array(class_names, dtype=object)

    def add(code: str, severity: str, classes: np.ndarray, what: str, advice: str = "") -> None:
        if len(classes):
            be = "is" if len(classes) == 1 else "are"
            told = f"{len(classes):,} of {size:,} classes {be} {what}: {some_names(names[classes])}.{advice}"
            findings.append(Finding(code, severity, told, columns=tuple(names[classes])))

    absent = np.flatnonzero(true == 0) if true is not None else np.empty(0, dtype=np.int64)
    advice = ""
    if expected is not None and len(absent) and expected[absent].max() > EXPECTED_ROWS:
        most = absent[expected[absent].argmax()]
        advice = (
            f" The scores expect {expected[most]:,.0f} rows of {names[most][:40]!r}: are labels missing, or "
            "columns misnamed?"
        )
    add("class_never_true", "warning" if advice else "note", absent, "never the true label", advice)
    if predicted is not None:
        advice = " Such a class has no top-label diagram and no calibration by predicted class."
        add("class_never_predicted", "note", np.flatnonzero(predicted == 0), "never predicted", advice)
        rare = np.flatnonzero((predicted > 0) & (predicted < points_per_bin))
        advice = (
            f" That does not fill one bin of {points_per_bin} points; histogram binning leaves their scores "
            "as they are."
        )
        add("class_rare", "note", rare, f"predicted fewer than {points_per_bin} times", advice)
    return [*findings, *find_few_rows(n, n_bins, size if predicted is not None else 1)]


def find_few_rows(n: int, n_bins: int, n_classes: int = 1) -> list[Finding]:
    cells = n_bins * n_classes
    if n >= ROWS_PER_CELL * cells:
        return []
    what = f"{n_bins} bins x {n_classes} classes = {cells:,} cells" if n_classes > 1 else f"{n_bins} bins"
    severity = "warning" if n < max(FEWEST_ROWS, n_classes) else "note"
    message = (
        f"{counted(n, 'row')} for {what} are {n / cells:.2g} rows a {'cell' if n_classes > 1 else 'bin'}; "
        f"with fewer than {ROWS_PER_CELL}, most of an error is sampling noise. Use fewer bins or more rows, "
        "and read the noise floor first."
    )
    return [Finding("too_few_rows", severity, message)]
