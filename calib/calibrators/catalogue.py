"""The catalogue of calibrators: what each is called on the command line, in tables and in menus.

Command line, pages, leaderboard, report, calibrator files and scorers read these tables. A new binary
calibrator is a `BinaryCalibrator` with one line in `BINARY`, and one in `calib.files.saved.types`.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.calibrators.binary import BetaCalibration, BinaryCalibrator, IsotonicCalibration, PlattScaling
from calib.calibrators.calibrator import check_calibrates
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.calibrators.ensemble import EnsembleTemperatureScaling
from calib.calibrators.foreign import ForeignCalibrator
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.label_shift import CorrectedCalibrator, CorrectedScores
from calib.calibrators.multiclass import MulticlassToBinary
from calib.calibrators.scaling import (
    DirichletScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from calib.calibrators.softmax_fit import CROSS_VALIDATED
from calib.calibrators.spline import SplineCalibration
from calib.calibrators.top_versus_all import TopVersusAllScaling
from calib.calibrators.venn_abers import VennAbersCalibration
from calib.data.defaults import N_BINS
from calib.data.kinds import KINDS, Kind, lacks
from calib.data.notions import TOP_NOTIONS, Notion


class CatalogueEntry(NamedTuple):
    """A calibrator or scheme: its names in tables and menus."""

    make: type
    short: str
    title: str

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(signature(self.make).parameters)


class Reduction(NamedTuple):
    """A notion, normalised or not, that binary calibrators are fitted for: its names in tables and menus."""

    notion: Notion
    normalize: bool
    short: str
    title: str


#: Binary calibrators, fitted per problem of a notion.
BINARY = {
    "histogram": CatalogueEntry(HistogramBinning, "HB", "Histogram binning"),
    "isotonic": CatalogueEntry(IsotonicCalibration, "isotonic", "Isotonic regression"),
    "platt": CatalogueEntry(PlattScaling, "Platt", "Platt scaling"),
    "beta": CatalogueEntry(BetaCalibration, "beta", "Beta calibration"),
    "venn-abers": CatalogueEntry(VennAbersCalibration, "VA", "Venn-Abers"),
    "spline": CatalogueEntry(SplineCalibration, "spline", "Spline"),
}

#: Calibrators of the whole vector.
VECTOR = {
    "temperature": CatalogueEntry(TemperatureScaling, "TS", "Temperature scaling"),
    "vector": CatalogueEntry(VectorScaling, "VS", "Vector scaling"),
    "dirichlet": CatalogueEntry(DirichletScaling, "DS", "Dirichlet scaling"),
    "ensemble-temperature": CatalogueEntry(EnsembleTemperatureScaling, "ETS", "Ensemble temperature scaling"),
    "structured-vector": CatalogueEntry(StructuredVectorScaling, "SVS", "Structured vector scaling"),
    "structured-matrix": CatalogueEntry(StructuredMatrixScaling, "SMS", "Structured matrix scaling"),
    "top-versus-all": CatalogueEntry(TopVersusAllScaling, "VS-TvA", "Vector scaling, top-versus-all"),
}

#: Partitions of the simplex, for `CanonicalBinning`.
SCHEMES = {
    "sierpinski": CatalogueEntry(SierpinskiScheme, "Sierpinski", "Sierpinski"),
    "grid": CatalogueEntry(GridScheme, "Grid", "Grid"),
    "projection": CatalogueEntry(ProjectionScheme, "Projection", "Projection"),
}

#: Every method by the name that the command line knows it by.
METHODS = BINARY | VECTOR | SCHEMES

REDUCTIONS = (
    Reduction("top-label", False, "TL", "Top-label"),
    Reduction("confidence", False, "Conf", "Confidence"),
    Reduction("class-wise", False, "CW", "Class-wise"),
    Reduction("class-wise", True, "N", "Class-wise, normalised"),
    Reduction("top-k-label", False, "Top-K-label", "Top-K label"),
    Reduction("top-k-confidence", False, "Top-K-conf", "Top-K confidence"),
)

#: Settings that short names show: name, value and word.
_VARIANTS = (
    ("objective", "conf_ece", "conf-ECE grid"),
    ("objective", "brier", "Brier"),
    ("fixed_slope", True, "intercept only"),
    ("l2", CROSS_VALIDATED, "ridge by CV"),
    ("off_diagonal", CROSS_VALIDATED, "ODIR by CV"),
)

#: The methods of the paper's Tables 2 to 5, in their order.
PAPER = ("TS", "VS", "DS", "N-HB", "TL-HB", "CW-HB")
#: Methods that a report fits and compares: one per reduction, and temperature scaling.
REPORTED = ("TL-HB", "Conf-HB", "CW-HB", "N-HB", "TS")


def make_calibrator(method: str = "histogram", *, random_state: int | None = None, **options: Any) -> Any:
    """Return an unfitted calibrator; options that are missing, None or False have their defaults."""
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    options = {name: value for name, value in options.items() if value is not None and value is not False}
    own = METHODS[method].options
    shared = signature(MulticlassToBinary).parameters if method in BINARY else {}
    wrong = [name for name in options if name not in own and (name not in shared or name == "binary")]
    if wrong:
        raise InputError(f"{wrong[0]} does not belong to method {method!r}; leave it out")
    parameters = {name: options.pop(name) for name in own if name in options}
    if "random_state" in own:
        parameters["random_state"] = random_state
    calibrator = METHODS[method].make(**parameters)
    if method in BINARY:
        return MulticlassToBinary(calibrator, **options)
    return CanonicalBinning(calibrator) if method in SCHEMES else calibrator


def for_kind(calibrator: BaseEstimator, kind: Kind | str) -> Any:
    """Return the unfitted calibrator for a kind: for one score per row, the binary calibrator itself."""
    kind = KINDS[kind] if isinstance(kind, str) else kind
    if isinstance(calibrator, MulticlassToBinary) and kind.scored:
        plain = calibrator.notion in TOP_NOTIONS and not calibrator.normalize and calibrator.complete is None
        missing = None if plain else lacks(kind, f"notion:{calibrator.notion}")
        if missing is not None:
            raise InputError(missing)
        return calibrator.binary_calibrator
    if not isinstance(calibrator, BinaryCalibrator):
        check_calibrates(calibrator, kind)
    return calibrator


def default_calibrator(kind: Kind | str) -> Any:
    if lacks(kind, "notion:top-label") is None or lacks(kind, "notion:class-wise") is not None:
        return for_kind(make_calibrator(), kind)
    return for_kind(make_calibrator(notion="class-wise"), kind)


def methods_of_kind(
    kind: Kind | str, n_bins: int | None = N_BINS, points_per_bin: int = 50
) -> dict[str, Any]:
    """Return every method to compare for a kind of predictions; see `named_methods` for vectors."""
    everything = named_methods(n_bins, points_per_bin)
    if lacks(kind, "calibrator:whole vector") is None:
        return everything
    found: dict[str, Any] = {}
    by_score = lacks(kind, "notion:class-wise") is None
    by_class = lacks(kind, "notion:top-label") is None
    for calibrator in everything.values():
        reduction = calibrator if isinstance(calibrator, MulticlassToBinary) else None
        if reduction is None or reduction.normalize or (reduction.notion == "class-wise") != by_score:
            continue
        if not by_class and reduction.notion == "top-label":
            continue
        fitting = for_kind(reduction, kind)
        found[short_name(fitting)] = fitting
    if "event" in (KINDS[kind] if isinstance(kind, str) else kind).has:
        update = PlattScaling(fixed_slope=True)
        found = {short_name(update): update} | found
    return found


def named_methods(n_bins: int | None = N_BINS, points_per_bin: int = 50) -> dict[str, Any]:
    """Return every unfitted method to compare, by its short name; the methods of the paper come first.

    Histogram binning uses `n_bins` bins per problem, as the paper's tables do, or `points_per_bin` points
    per bin if `n_bins` is None.
    """
    bins = {"n_bins": n_bins, "points_per_bin": points_per_bin}
    calibrators = [make_calibrator(name) for name in VECTOR]
    calibrators += [
        TemperatureScaling(objective="conf_ece"),
        TemperatureScaling(objective="top_versus_all"),
        VectorScaling(l2=CROSS_VALIDATED),
        DirichletScaling(l2=CROSS_VALIDATED),
        DirichletScaling(off_diagonal=CROSS_VALIDATED),
    ]
    calibrators += [
        make_calibrator(
            name,
            notion=reduction.notion,
            normalize=reduction.normalize,
            **{option: bins[option] for option in method.options if option in bins},
        )
        for reduction in REDUCTIONS
        if not reduction.notion.startswith("top-k")
        for name, method in BINARY.items()
    ]
    named = {short_name(calibrator): calibrator for calibrator in calibrators}
    return {name: named[name] for name in (*PAPER, *named)}


def method_of(calibrator: BaseEstimator) -> str | None:
    """Return the name in `METHODS` of a calibrator or scheme by its exact type, None for any other."""
    return next((name for name, method in METHODS.items() if method.make is type(calibrator)), None)


def _reduction_of(calibrator: MulticlassToBinary) -> Reduction:
    settings = (calibrator.notion, bool(calibrator.normalize))
    return next(row for row in REDUCTIONS if (row.notion, row.normalize) == settings)


def short_name(calibrator: BaseEstimator) -> str:
    """Return the name of a calibrator without its settings, such as "TL-HB" or "TS".

    >>> short_name(MulticlassToBinary(IsotonicCalibration(), notion="class-wise"))
    'CW-isotonic'
    """
    if isinstance(calibrator, CanonicalBinning):
        return short_name(calibrator.scheme)
    if isinstance(calibrator, MulticlassToBinary):
        return f"{_reduction_of(calibrator).short}-{short_name(calibrator.binary_calibrator)}"
    if isinstance(calibrator, (CorrectedCalibrator, CorrectedScores)):
        inner = calibrator.calibrator
        if inner is None:
            return "Known shares" if np.ptp(calibrator.weights) else "Scores as they are"
        return f"{short_name(inner)}, other shares"
    method = method_of(calibrator)
    if method is None:
        return calibrator.title if isinstance(calibrator, ForeignCalibrator) else type(calibrator).__name__
    short = METHODS[method].short
    qualifiers = [word for name, value, word in _VARIANTS if getattr(calibrator, name, None) == value]
    short += "-TvA" if getattr(calibrator, "objective", "") == "top_versus_all" else ""
    return f"{short} ({', '.join(qualifiers)})" if qualifiers else short


def full_name(calibrator: BaseEstimator) -> str:
    """Return the name of a calibrator in full, without its settings, for sentences and menus.

    >>> full_name(TemperatureScaling())
    'Temperature scaling'
    """
    if isinstance(calibrator, CanonicalBinning):
        return f"Canonical binning, {full_name(calibrator.scheme)}"
    if isinstance(calibrator, MulticlassToBinary):
        notion, _, normalised = _reduction_of(calibrator).title.partition(", ")
        binary = full_name(calibrator.binary_calibrator)
        binary = binary if binary.startswith(("Platt", "Venn")) else binary[:1].lower() + binary[1:]
        return ", ".join(filter(None, [f"{notion} {binary}", normalised]))
    method = method_of(calibrator)
    return short_name(calibrator) if method is None else METHODS[method].title


def name_of(calibrator: BaseEstimator) -> str:
    """Return the name of a calibrator for tables and drawings, such as "TL-HB, k = 50" or "TS".

    >>> name_of(MulticlassToBinary(HistogramBinning(n_bins=15), notion="class-wise", normalize=True))
    'N-HB, B = 15'
    """
    settings = [short_name(calibrator)]
    strengths = {"l2": 0.0, "off_diagonal": None}
    for name, default in strengths.items():
        strength = getattr(calibrator, name, default)
        if strength not in (default, CROSS_VALIDATED):
            settings.append(f"{name.replace('_', '-')} = {strength:g}")
    if isinstance(calibrator, MulticlassToBinary):
        binary = calibrator.binary_calibrator
        n_bins, points = getattr(binary, "n_bins", None), getattr(binary, "points_per_bin", None)
        if n_bins is not None:
            settings.append(f"B = {n_bins}")
        elif points is not None:
            settings.append(f"k = {points}")
        if calibrator.fallback != "identity":
            settings.append({"pooled": "pooled", "shrink": "shrunk"}[calibrator.fallback])
        if calibrator.complete:
            settings.append("completed")
        if calibrator.has_groups:
            settings.append("by group" if calibrator.by == "group" else "by class and group")
    return ", ".join(settings)
