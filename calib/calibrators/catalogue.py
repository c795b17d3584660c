"""Calibrators by short names: how a command or a page makes one, and what it calls one it was given."""

from __future__ import annotations

from typing import Any

from calib.binning import Notion
from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.calibrators.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from calib.exceptions import InputError

#: Binary calibrators by name, with the abbreviation that tables use.
BINARY: dict[str, tuple[type, str]] = {
    "histogram": (HistogramBinning, "HB"),
    "isotonic": (IsotonicCalibration, "isotonic"),
    "platt": (PlattScaling, "Platt"),
    "beta": (BetaCalibration, "beta"),
}

#: Calibrators of the whole vector by name, with the abbreviation that tables use.
VECTOR: dict[str, tuple[type, str]] = {
    "temperature": (TemperatureScaling, "TS"),
    "vector": (VectorScaling, "VS"),
    "dirichlet": (DirichletScaling, "DS"),
}

#: Partitions of the simplex by name.
SCHEMES: dict[str, tuple[type, str]] = {
    "sierpinski": (SierpinskiScheme, "Sierpinski"),
    "grid": (GridScheme, "Grid"),
    "projection": (ProjectionScheme, "Projection"),
}

#: Every name `make_calibrator` knows.
METHODS = (*BINARY, *VECTOR, *SCHEMES)

_NOTIONS = {
    "confidence": "Conf",
    "top-label": "TL",
    "class-wise": "CW",
    "top-k-confidence": "Top-K-conf",
    "top-k-label": "Top-K-label",
}


def make_calibrator(
    method: str = "histogram",
    *,
    notion: Notion | None = None,
    points_per_bin: int | None = None,
    n_bins: int | None = None,
    ties: str | None = None,
    random_state: int | None = None,
    **multiclass: Any,
) -> Any:
    """Return an unfitted calibrator; options left None take the calibrator's default.

    Parameters
    ----------
    method : str
        One of `METHODS`: a binary calibrator, fitted per problem of `notion`, or one of the whole vector.
    notion : str, optional
        For binary calibrators, default "top-label".
    points_per_bin, n_bins, ties, random_state
        Of histogram binning; `n_bins` also of the projection scheme.
    **multiclass
        top_k, normalize, fallback, min_points, complete of `MulticlassToBinary`.

    Raises
    ------
    InputError
        If the method is unknown or an option does not belong to it.
    """
    bins = {"points_per_bin": points_per_bin, "n_bins": n_bins, "ties": ties}
    given = [name for name, value in {**bins, "notion": notion, **multiclass}.items() if value]
    if method == "histogram":
        allowed: set[str] = {*bins, "notion", *multiclass}
    elif method in BINARY:
        allowed = {"notion", *multiclass}
    elif method in VECTOR or method in SCHEMES:
        allowed = {"n_bins"} if method == "projection" else set()
    else:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    wrong = [name for name in given if name not in allowed]
    if wrong:
        raise InputError(f"{wrong[0]} does not belong to method {method!r}; leave it out")
    if method in VECTOR:
        return VECTOR[method][0]()
    if method in SCHEMES:
        options: dict[str, Any] = {"n_bins": n_bins} if n_bins else {}
        if method == "projection":
            options["random_state"] = random_state
        return CanonicalBinning(SCHEMES[method][0](**options))
    kept: dict[str, Any] = {name: value for name, value in bins.items() if value is not None}
    if method == "histogram":
        kept["random_state"] = random_state
    chosen = {name: value for name, value in multiclass.items() if value is not None}
    return MulticlassToBinary(BINARY[method][0](**kept), notion=notion or "top-label", **chosen)


def name_of(calibrator: Any) -> str:
    """Return a short name for tables and drawings, such as "TL-HB, k = 50" or "TS".

    >>> name_of(MulticlassToBinary(HistogramBinning(n_bins=15), notion="class-wise", normalize=True))
    'N-HB, B = 15'
    """
    if isinstance(calibrator, CanonicalBinning):
        return next(short for make, short in SCHEMES.values() if isinstance(calibrator.scheme, make))
    if not isinstance(calibrator, MulticlassToBinary):
        known = {make.__name__: short for make, short in (*VECTOR.values(), *BINARY.values())}
        return known.get(type(calibrator).__name__, type(calibrator).__name__)
    binary = HistogramBinning() if calibrator.binary is None else calibrator.binary
    short = name_of(binary)
    notion = "N" if calibrator.normalize else _NOTIONS[calibrator.notion]
    parts = [f"{notion}-{short}"]
    if isinstance(binary, HistogramBinning):
        parts.append(f"k = {binary.points_per_bin}" if binary.n_bins is None else f"B = {binary.n_bins}")
    if calibrator.fallback == "pooled":
        parts.append("pooled")
    if calibrator.complete:
        parts.append("completed")
    return ", ".join(parts)
