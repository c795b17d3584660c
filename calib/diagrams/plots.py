"""The figures of results by type, as `result.plot()` returns them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from calib.answers.advice import PointsPerBinChoice
from calib.answers.coarsening import Coarsening
from calib.answers.decision_curves import DecisionCurve, RiskCoverage
from calib.answers.judgement import Judgement
from calib.answers.model_tables import ModelComparison
from calib.answers.risks import CentreTable, Risk
from calib.answers.slice_tables import SliceTable
from calib.answers.time_changes import OverTime
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.data.validation import check_choice
from calib.diagrams import style
from calib.diagrams.bin_sweep import (
    EceSweep,
    ModelSweeps,
    draw_ece_sweeps,
    draw_model_sweeps,
    draw_points_per_bin,
)
from calib.diagrams.class_tables import ClassDiagram, draw_class
from calib.diagrams.decisions import draw_decision_curves, draw_judgement, draw_levels, draw_risk_coverage
from calib.diagrams.matplotlib_axes import on_matplotlib
from calib.diagrams.monitoring import Watched, draw_over_time, draw_watched, monitor_diagram
from calib.diagrams.noise_floors import draw_decompositions, draw_floors, draw_model_comparison
from calib.diagrams.reliability_diagrams import BinZoom, ReliabilityDiagram, draw_reliability, draw_zoom
from calib.diagrams.slice_maps import ClassHeat, draw_centres, draw_heat, draw_slice_gaps
from calib.diagrams.smoothed_curves import draw_smoothed
from calib.diagrams.validity_plots import ValidityCurve, draw_validity
from calib.stats.decompositions import CorpCurve, Decomposition
from calib.stats.floors import NoiseFloor
from calib.stats.monitor import Monitor
from calib.stats.smoothed import LoessCurve

if TYPE_CHECKING:
    from calib.base.results import MatplotlibFigure, PlotlyFigure


#: Libraries that can draw.
BACKENDS = ("plotly", "matplotlib")
#: Functions that draw a result.
ALONE: dict[type, Callable[..., style.Figure]] = {
    BinZoom: draw_zoom,
    ClassDiagram: draw_class,
    ClassHeat: draw_heat,
    CentreTable: draw_centres,
    Coarsening: draw_levels,
    CorpCurve: draw_smoothed,
    Judgement: draw_judgement,
    LoessCurve: draw_smoothed,
    NoiseFloor: lambda floor: draw_floors({f"{floor.notion} {floor.metric.upper()}": floor}),
    ModelComparison: draw_model_comparison,
    Monitor: lambda monitor: draw_watched(monitor_diagram(monitor)),
    ModelSweeps: draw_model_sweeps,
    EceSweep: lambda sweep: draw_ece_sweeps({"model": {sweep.notion: sweep}}),
    OverTime: draw_over_time,
    PointsPerBinChoice: draw_points_per_bin,
    ReliabilityDiagram: draw_reliability,
    Risk: lambda risk, event="Y = 1": draw_smoothed(risk.loess, risk.isotonic, event=event),
    SliceTable: draw_slice_gaps,
    Watched: draw_watched,
}
#: Functions that draw results by the name of their method.
OF_METHODS: dict[type, Callable[..., style.Figure]] = {
    DecisionCurve: draw_decision_curves,
    Decomposition: draw_decompositions,
    NoiseFloor: draw_floors,
    RiskCoverage: draw_risk_coverage,
    ValidityCurve: draw_validity,
}


@overload
def plot(
    result: Drawn | Mapping[str, Drawn], *, name: str = ..., backend: Literal["plotly"] = ..., **options: Any
) -> PlotlyFigure: ...
@overload
def plot(
    result: Drawn | Mapping[str, Drawn], *, name: str = ..., backend: Literal["matplotlib"], **options: Any
) -> MatplotlibFigure: ...
def plot(
    result: Drawn | Mapping[str, Drawn],
    *,
    name: str = "model",
    backend: Literal["plotly", "matplotlib"] = "plotly",
    **options: Any,
) -> PlotlyFigure | MatplotlibFigure:
    """Draw a result, or results of several methods in one figure.

    Parameters
    ----------
    result : a result with a figure, or mapping of method to results of one type
        Types of results by method: `DecisionCurve`, `Decomposition`, `NoiseFloor`, `RiskCoverage`,
        `ValidityCurve`.
    name : str
        Name of the method of a single such result.
    backend : {"plotly", "matplotlib"}
        Matplotlib needs the extra "paper".
    **options
        Options of the function of `calib.diagrams` that draws the type.
    """
    check_choice(backend, BACKENDS, "backend")
    given: Any = result
    if type(result) not in ALONE:
        given = result if isinstance(result, Mapping) else {name: result}
    draw = ALONE.get(type(result)) or OF_METHODS[type(next(iter(given.values())))]
    known = [*inspect.signature(draw).parameters][1:]
    if unknown := sorted(options.keys() - known):
        listed = ", ".join(["backend", *known])
        raise InputError(
            f"no option {unknown[0]!r}, only {listed}; `ReliabilityDisplay.plot` takes axes (ax)"
        )
    drawn = draw(given, **options)
    return style.plotted(drawn) if backend == "plotly" else on_matplotlib(drawn)
