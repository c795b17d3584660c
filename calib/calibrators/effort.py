"""How long fits take: a table for warnings and recommendations.

Seconds of a 2.5 GHz processor, measured by ``benchmarks/speed.py``, good to a factor of two or three.
"""

from __future__ import annotations

from typing import NamedTuple

from sklearn.base import BaseEstimator

from calib.calibrators.softmax_fit import CROSS_VALIDATED, N_FOLDS, STRENGTHS
from calib.data.notions import NotionShape


class Effort(NamedTuple):
    """Seconds of a fit for each score and each binary problem, and a faster alternative."""

    seconds: float
    advice: str
    matrix: bool = False
    problem: float = 0.0


_FEWER = 'fit the predicted class alone (notion "top-label"), or fewer rows'
_VECTOR = "StructuredVectorScaling has two numbers for each class"
_NUMBER = "TemperatureScaling has one number, and fewer rows may do"

#: By type, seconds per score (rows x classes, and x classes once more if `matrix`).
EFFORTS: dict[str, Effort] = {
    "DirichletScaling": Effort(1.5e-7, _VECTOR, matrix=True),
    "StructuredMatrixScaling": Effort(6e-8, _VECTOR, matrix=True),
    "VectorScaling": Effort(2e-7, _NUMBER),
    "StructuredVectorScaling": Effort(2.5e-7, _NUMBER),
    "TopVersusAllScaling": Effort(2.5e-6, "VectorScaling takes a tenth of that, and fewer rows may do"),
    "VennAbersCalibration": Effort(2e-6, f"IsotonicCalibration takes a twentieth of that; or {_FEWER}"),
    "SplineCalibration": Effort(
        7e-7, f"IsotonicCalibration takes a quarter of that; or {_FEWER}", problem=1.6e-2
    ),
    "BetaCalibration": Effort(0.0, f"PlattScaling takes half of that; or {_FEWER}", problem=2e-3),
}

#: Seconds above which a warning comes before a fit.
LONG = 60.0


def fit_seconds(calibrator: BaseEstimator, n_samples: int, n_classes: int) -> float:
    """Estimate the processor time of a fit; 0.0 if it is always short.

    >>> from calib import DirichletScaling
    >>> round(fit_seconds(DirichletScaling(), 1_000, 10), 3)
    0.015
    """
    binary = getattr(calibrator, "binary_calibrator", None)
    options = calibrator.get_params(deep=False)
    effort = EFFORTS.get(type(calibrator if binary is None else binary).__name__)
    if options.get("objective") == "top_versus_all":
        effort = EFFORTS["TopVersusAllScaling"]
    if effort is None:
        return 0.0
    claims, problems = n_classes, 0 if binary is None else n_classes
    if binary is not None and calibrator.notion != "class-wise":
        claims = NotionShape.of(calibrator.notion, n_classes, calibrator.top_k).n_claims
        problems = 1 if calibrator.notion == "confidence" else n_classes
    seconds = effort.seconds * n_samples * claims * (n_classes if effort.matrix else 1)
    seconds += effort.problem * problems
    searched = CROSS_VALIDATED in options.values()
    return seconds * (N_FOLDS * len(STRENGTHS) if searched else 1)


def effort_words(calibrator: BaseEstimator, n_samples: int, n_classes: int) -> str:
    seconds = fit_seconds(calibrator, n_samples, n_classes)
    if seconds <= LONG:
        return ""
    fitted = getattr(calibrator, "binary_calibrator", calibrator)
    name = type(fitted).__name__
    minutes = seconds / 60.0
    time = f"{minutes:.0f} minutes" if minutes < 90.0 else f"{minutes / 60.0:,.0f} hours"
    return (
        f"{name} takes about {time} of processor time for {n_samples:,} rows of {n_classes:,} classes: "
        f"{EFFORTS[name].advice}."
    )
