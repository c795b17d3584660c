"""Cached work of the simplex page: three-class views, one scheme on them, all schemes side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from calib import (
    CanonicalBinning,
    GridScheme,
    InputError,
    Predictions,
    ProjectionScheme,
    SierpinskiScheme,
    canonical_noise_floor,
    canonical_validity,
    compare_schemes,
    merge_classes,
    recalibration_map,
    renormalise_classes,
)
from calib.calibrators.canonical import SimplexScheme
from calib.diagrams.canonical_error import CanonicalValidity, SchemeComparison
from calib.diagrams.simplex import RecalibrationMap
from calib.noise import NoiseFloor

MERGE, RENORMALISE = "Two classes, all others merged", "Three classes, renormalised"
#: Label, smallest, largest and usual size of each scheme; the usual one is the paper's.
KNOBS = {
    "Sierpinski": ("Depth q", 1, 6, 2),
    "Grid": ("Cells per edge K", 1, 20, 5),
    "Projection, rotating": ("Bins B", 2, 100, 27),
    "Projection, random": ("Bins B", 2, 100, 27),
}
SCHEMES = tuple(KNOBS)
N_RESAMPLES = 200
#: Distance at which V(eps) is put into words and tables.
EPSILON = 0.1


@dataclass(frozen=True, eq=False)
class View:
    """Calibration and evaluation rows with three classes, and a key that names both."""

    calibration: Predictions
    evaluation: Predictions

    @property
    def key(self) -> str:
        """Digest of all rows, for caches."""
        return f"{self.calibration.fingerprint}/{self.evaluation.fingerprint}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """One fitted scheme and what it does to the evaluation rows."""

    calibrator: CanonicalBinning
    arrows: RecalibrationMap
    curves: dict[str, CanonicalValidity]
    floors: dict[tuple[str, int], NoiseFloor]


def make_scheme(name: str, size: int, seed: int = 0) -> SimplexScheme:
    """Return the unfitted scheme of a menu entry; `size` is its depth, cells per edge or bins."""
    if name == "Sierpinski":
        return SierpinskiScheme(size)
    if name == "Grid":
        return GridScheme(size)
    if name == "Projection, rotating":
        return ProjectionScheme(size)
    return ProjectionScheme(size, "random", random_state=seed)


def three_class_view(calibration: Predictions, rows: Predictions, how: str, classes: list[int]) -> View:
    """Return the rows with three classes; raises `InputError` where that cannot be done."""
    if rows.n_classes == 3:
        return View(calibration, rows)
    return _view(f"{calibration.fingerprint}/{rows.fingerprint}", how, tuple(classes), calibration, rows)


@st.cache_resource(max_entries=12, show_spinner=False)
def _view(
    key: str, how: str, classes: tuple[int, ...], _calibration: Predictions, _rows: Predictions
) -> View:
    if how == RENORMALISE:
        return View(renormalise_classes(_calibration, classes), renormalise_classes(_rows, classes))
    if len(classes) != 2:
        raise InputError(f"choose 2 classes; {len(classes)} chosen")
    return View(merge_classes(_calibration, *classes), merge_classes(_rows, *classes))


def work_out(view: View, scheme: SimplexScheme) -> Outcome:
    """Fit a scheme and compute arrows, validity curves and noise floors."""
    return _work_out(f"{view.key}/{scheme!r}", view, scheme)


@st.cache_resource(max_entries=32, show_spinner="Binning the simplex ...")
def _work_out(key: str, _view: View, _scheme: SimplexScheme) -> Outcome:
    rows = _view.evaluation
    calibrator = CanonicalBinning(_scheme).fit(_view.calibration.proba, _view.calibration.labels)
    cells = calibrator.assign(rows.proba)
    said = {"Base model": rows.proba, "Recalibrated": calibrator.value_of(cells)}
    return Outcome(
        calibrator,
        recalibration_map(calibrator, rows),
        {name: canonical_validity(rows.labels, proba, cells) for name, proba in said.items()},
        {
            (name, norm): canonical_noise_floor(
                rows.labels, proba, cells, norm=norm, n_resamples=N_RESAMPLES, random_state=0
            )
            for name, proba in said.items()
            for norm in (1, 2)
        },
    )


def compare(
    view: View, schemes: Mapping[str, SimplexScheme]
) -> tuple[SchemeComparison, dict[str, CanonicalValidity]]:
    """Return the comparison of all schemes, and V(eps) of each one's recalibrated vectors."""
    return _compare(f"{view.key}/{dict(schemes)!r}", view, schemes)


@st.cache_resource(max_entries=16, show_spinner="Comparing the schemes ...")
def _compare(
    key: str, _view: View, _schemes: Mapping[str, SimplexScheme]
) -> tuple[SchemeComparison, dict[str, CanonicalValidity]]:
    rows = _view.evaluation
    found = compare_schemes(_view.calibration, rows, _schemes, epsilon=EPSILON)
    curves = {}
    for name, calibrator in zip(found.names, found.calibrators, strict=True):
        cells = calibrator.assign(rows.proba)
        curves[name] = canonical_validity(rows.labels, calibrator.value_of(cells), cells)
    return found, curves
