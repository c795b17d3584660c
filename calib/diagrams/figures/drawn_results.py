"""The figure of each result that has one, for `plot()`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.figures.bin_sweep import ece_curves, points_per_bin
from calib.diagrams.figures.classes import class_reliability, heat
from calib.diagrams.figures.decisions import decision_curve, risk_coverage
from calib.diagrams.figures.decompositions import score_parts
from calib.diagrams.figures.imbalance import bin_plan
from calib.diagrams.figures.noise import floors
from calib.diagrams.figures.reliability_diagram import reliability, zoom
from calib.diagrams.figures.slices import slice_gaps
from calib.diagrams.figures.validity_curves import canonical_validity, validity


def _named(draw: Callable[..., go.Figure]) -> Callable[..., go.Figure]:
    """Return a function that draws one result of several that are told apart by name."""
    return lambda result, name="model", **options: draw({name: result}, **options)


def _with_classes(draw: Callable[..., go.Figure]) -> Callable[..., go.Figure]:
    """Return a function that draws a result with the names of classes, by default their codes."""

    def drawn(result: Any, class_names: Sequence[str] | None = None, **options: Any) -> go.Figure:
        codes = np.arange(int(result.label.max(initial=0)) + 1)
        return draw(result, list(map(str, codes)) if class_names is None else class_names, **options)

    return drawn


#: Proper scores as the axis of a figure names them.
PROPER_SCORES = {"brier": "Brier score", "log_loss": "log loss"}

#: What draws a result, by the name of its type.
FIGURES: dict[str, Callable[..., go.Figure]] = {
    "BinPlan": bin_plan,
    "BinZoom": _with_classes(zoom),
    "CanonicalValidity": _named(canonical_validity),
    "ClassDiagram": class_reliability,
    "ClassHeat": _with_classes(heat),
    "DecisionCurve": _named(decision_curve),
    "Decomposition": lambda parts, name="model": score_parts({name: parts}, PROPER_SCORES[parts.rule]),
    "EceSweep": lambda sweep: ece_curves({"model": {sweep.notion: sweep}}),
    "NoiseFloor": lambda floor, **options: floors(
        {f"{floor.notion} {floor.metric.upper()}": floor}, **options
    ),
    "PointsPerBinChoice": points_per_bin,
    "ReliabilityDiagram": reliability,
    "RiskCoverage": _named(risk_coverage),
    "SliceGaps": slice_gaps,
    "ValidityCurve": _named(validity),
}


def drawn(result: Any, **options: Any) -> go.Figure:
    """Draw a result; options are those of the function that draws its type."""
    return FIGURES[type(result).__name__](result, **options)
