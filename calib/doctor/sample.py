"""Findings about rows: enough of every class, once each, from one population."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from calib.doctor.findings import Finding, some, some_names
from calib.doctor.scale import printed_decimals
from calib.formats.raw_predictions import RawPredictions
from calib.predictions import highest

#: Rows a cell (class, bin) should have on average for its accuracy to mean something (+-0.4 at 5 rows).
ROWS_PER_CELL = 5
#: Below this many rows, or below one row a class, no top-label number means anything.
FEWEST_ROWS = 30
#: A class that is never true is suspicious when the scores expect this many rows of it: chance leaves
#: out so many with probability e**-30, and a model twice too flat rarely does.
EXPECTED_ROWS = 30.0
#: Rows that coincide by chance are estimated inside the evaluation rows; more than 3 times that is reported.
COINCIDENCE = 3.0
LEAST_OVERLAP, LEAST_OVERLAP_ROWS = 1e-3, 3
#: Up to this share of equal rows is what a few identical examples in a data set give.
NOTE_OVERLAP = 0.01
#: Class mix: p-value of the chi-square test, and the least total variation distance worth a word.
MIX_P_VALUE, MIX_DISTANCE = 1e-5, 0.05


def find_duplicate_ids(raw: RawPredictions) -> Finding | None:
    """Ids that occur more than once."""
    if raw.ids is None:
        return None
    ids = pd.Series(raw.ids)
    again = (ids.duplicated() & ids.notna() & (ids.astype(str) != "")).to_numpy()
    if not again.any():
        return None
    rows = np.flatnonzero(again)

    def first_only(data: RawPredictions) -> RawPredictions:
        return data if data.ids is None else data.take(~pd.Series(data.ids).duplicated().to_numpy())

    return Finding(
        "duplicate_ids",
        "warning",
        f"{len(rows):,} of {len(ids):,} rows repeat an id ({some(rows)}; for example "
        f"{str(ids[rows[0]])[:60]!r}), so these examples count more than once. The fix keeps the first row "
        "of each id.",
        rows,
        repair=first_only,
    )


def find_overlap(raw: RawPredictions, calibration: RawPredictions | None) -> Finding | None:
    """Calibration rows that reappear in the evaluation rows, by id or by equal scores."""
    if calibration is None:
        return None
    if raw.ids is not None and calibration.ids is not None:
        known = set(map(str, calibration.ids.tolist())) - {"", "nan"}
        again = np.array([str(name) in known for name in raw.ids.tolist()])
        by, expected = "ids", 0.0
    else:
        if calibration.n_classes != raw.n_classes:
            return None
        mine, theirs = _row_keys(raw.proba), _row_keys(calibration.proba.astype(raw.proba.dtype))
        again = np.isin(mine, theirs)
        by, expected = "scores, to the last digit,", _coincidences(raw.proba, mine, len(theirs))
    share = float(again.mean())
    least = max(LEAST_OVERLAP, LEAST_OVERLAP_ROWS / len(again)) if by != "ids" else 0.0
    if share <= COINCIDENCE * expected or share < least or not again.any():
        return None
    rows = np.flatnonzero(again)
    return Finding(
        "calibration_overlap",
        "warning" if by == "ids" or share > NOTE_OVERLAP else "note",
        f"{len(rows):,} of {len(again):,} evaluation rows ({share:.1%}; {some(rows)}) have the same {by} "
        "as calibration rows. A calibrator must be assessed on rows it has not seen. "
        + ("The fix removes them from the evaluation rows." if not again.all() else "Use other rows."),
        rows,
        repair=None if again.all() else (lambda data: data.take(~_overlapping(data, calibration))),
    )


def _coincidences(matrix: np.ndarray, keys: np.ndarray, n_others: int) -> float:
    """Share of rows that would recur among `n_others` unrelated rows, from repeats between the halves.

    Scores with all their digits and mostly distinct confidences do not recur by chance; repeats among
    them are repeated examples.
    """
    top = matrix.max(axis=1)
    if printed_decimals(matrix) is None and len(np.unique(top)) > len(top) // 2:
        return 0.0
    half = len(keys) // 2
    within = float(np.isin(keys[:half], keys[half:]).mean()) if half else 0.0
    return min(within * n_others / max(len(keys) - half, 1), 1.0)


def _overlapping(raw: RawPredictions, calibration: RawPredictions) -> np.ndarray:
    if raw.ids is not None and calibration.ids is not None:
        return np.isin(raw.ids.astype(str), calibration.ids.astype(str))
    return np.isin(_row_keys(raw.proba), _row_keys(calibration.proba.astype(raw.proba.dtype)))


def _row_keys(matrix: np.ndarray) -> np.ndarray:
    """Return one uint64 per row, equal for equal rows; others collide with probability 2**-64 or so."""
    bits = np.ascontiguousarray(matrix + 0.0).view(np.uint32 if matrix.dtype == np.float32 else np.uint64)
    weights = np.random.default_rng(0).integers(1, 2**63, size=(bits.shape[1],), dtype=np.uint64)
    weights |= np.uint64(1)
    keys = np.zeros(len(bits), dtype=np.uint64)
    for j in range(bits.shape[1]):
        weight, word = weights[j], bits[:, j].astype(np.uint64)
        word ^= word >> np.uint64(29)
        keys += (word * weight) ^ ((word * weight) >> np.uint64(32))
    return keys


def find_mix_shift(
    raw: RawPredictions, codes: np.ndarray | None, calibration: RawPredictions | None
) -> Finding | None:
    """Shares of classes that differ between calibration and evaluation rows by more than chance."""
    if calibration is None or codes is None or calibration.n_classes != raw.n_classes:
        return None
    other = calibration.codes()
    if other is None:
        return None
    counts = np.stack([np.bincount(c[c >= 0], minlength=raw.n_classes) for c in (other, codes)])
    counts = counts[:, counts.sum(axis=0) > 0]
    if (counts.sum(axis=1) < FEWEST_ROWS).any() or counts.shape[1] < 2:
        return None
    shares = counts / counts.sum(axis=1, keepdims=True)
    distance = 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    p_value = float(stats.chi2_contingency(counts).pvalue)
    # With classes of a few rows the chi-square law is rough; chance alone moves this much.
    chance = 0.5 * float(np.sqrt(shares.mean(axis=0) * (1 / counts.sum(axis=1)).sum()).sum())
    if p_value > MIX_P_VALUE or distance < max(MIX_DISTANCE, 1.5 * chance):
        return None
    present = np.flatnonzero(
        np.bincount(np.r_[other[other >= 0], codes[codes >= 0]], minlength=raw.n_classes)
    )
    j = int(np.abs(shares[0] - shares[1]).argmax())
    name = raw.names[present[j]]
    return Finding(
        "class_mix_shift",
        "warning",
        "classes have other shares among the calibration rows than among the evaluation rows (distance "
        f"{distance:.2f}); {name!r} has {shares[0, j]:.1%} against {shares[1, j]:.1%}. Class-wise "
        "guarantees hold, others assume the same mix; split one pool of rows at random if you can.",
        columns=(name,),
    )


def find_class_faults(
    raw: RawPredictions, codes: np.ndarray | None, *, n_bins: int, points_per_bin: int
) -> list[Finding]:
    """Classes never true, never predicted or rare, and too few rows for the cells."""
    n, size = raw.proba.shape
    predicted = np.bincount(highest(raw.proba)[0], minlength=size)
    found: list[Finding] = []
    names = np.array(raw.names, dtype=object)
    if codes is not None and (codes >= 0).any():
        true = np.bincount(codes[codes >= 0], minlength=size)
        absent = np.flatnonzero(true == 0)
        if len(absent):
            expected = raw.proba[:, absent].sum(axis=0, dtype=np.float64)
            odd = expected > EXPECTED_ROWS
            most = names[absent[expected.argmax()]][:40]
            found.append(
                Finding(
                    "class_never_true",
                    "warning" if odd.any() else "note",
                    f"{len(absent)} of {size} classes {be(absent)} never the true label: "
                    f"{some_names(names[absent])}."
                    + (
                        f" The scores expect {expected.max():,.0f} rows of "
                        f"{most!r}: are labels missing, or columns "
                        "misnamed?"
                        if odd.any()
                        else ""
                    ),
                    columns=tuple(names[absent]),
                )
            )
    never = np.flatnonzero(predicted == 0)
    if len(never):
        found.append(
            Finding(
                "class_never_predicted",
                "note",
                f"{len(never)} of {size} classes {be(never)} never predicted: {some_names(names[never])}. "
                "What is never predicted has no top-label diagram and no calibration by predicted class.",
                columns=tuple(names[never]),
            )
        )
    rare = np.flatnonzero((predicted > 0) & (predicted < points_per_bin))
    if len(rare):
        fewest = rare[predicted[rare].argmin()]
        found.append(
            Finding(
                "class_rare",
                "note",
                f"{len(rare)} of {size} classes {be(rare)} predicted fewer than {points_per_bin} times "
                f"({names[fewest][:40]!r} {predicted[fewest]} times): {some_names(names[rare])}. That does "
                f"not fill one bin of {points_per_bin} points; histogram binning leaves their scores as "
                "they are.",
                columns=tuple(names[rare]),
            )
        )
    cells = n_bins * size
    if n < ROWS_PER_CELL * cells:
        found.append(
            Finding(
                "too_few_rows",
                "warning" if n < max(FEWEST_ROWS, size) else "note",
                f"{n:,} rows for {n_bins} bins x {size} classes = {cells:,} cells are {n / cells:.2g} rows "
                f"a cell; with fewer than {ROWS_PER_CELL} most of a top-label error is sampling noise. Use "
                "fewer bins or more rows, and read the noise floor first.",
            )
        )
    return found


def be(some: np.ndarray) -> str:
    """Return the verb for so many classes."""
    return "is" if len(some) == 1 else "are"
