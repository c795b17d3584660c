"""Figure of recalibration on the simplex: an arrow per cell (Fig. 12 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib.base.exceptions import InputError
from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import OKABE_ITO, TEMPLATE, escape, shorten
from calib.diagrams.simplex import RecalibrationMap, to_log_ratios, to_plane

#: Cells are coloured in turn; their outlines tell two cells of one colour apart.
CELL_COLOURS = tuple(OKABE_ITO.values())
ARROW, ARROW_EDGE = "#14181C", "#FFFFFF"
#: Longest class name written at a corner of the triangle.
CORNER_NAME = 16


def recalibration(
    result: RecalibrationMap,
    proba: np.ndarray,
    *,
    rows: np.ndarray,
    outlines: Mapping[int, np.ndarray],
    min_count: int = 20,
    log_ratios: bool = False,
) -> go.Figure:
    """Draw predictions on the triangle, coloured by cell, and an arrow per cell (Fig. 12, right).

    Parameters
    ----------
    result : RecalibrationMap
        The arrows, of three classes.
    proba : (n, 3) array
        Base predictions of the evaluation rows.
    rows : (k,) int array
        Which of them to draw as points, as from `calib.diagrams.simplex.sample_rows`.
    outlines : dict of int to (c, 3) array
        From `cell_outlines`.
    min_count : int
        Arrows of cells with fewer evaluation or calibration rows than this are left out.
    log_ratios : bool
        Whether to draw log-ratios of the probabilities, which opens the corners of the triangle.
    """
    if len(result.class_names) != 3:
        raise InputError(f"the triangle shows three classes; got {len(result.class_names)}")
    place = to_log_ratios if log_ratios else to_plane
    figure = Drawing()
    closed = [np.vstack([corners, corners[:1]]) for corners in outlines.values()]
    if log_ratios:  # straight edges become curves
        closed = [_subdivided(corners) for corners in closed]
    lines = np.vstack([points for corners in closed for points in (place(corners), [[np.nan, np.nan]])])
    points = place(proba[rows])
    figure.add_scatter(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        marker={
            "size": 4,
            "opacity": 0.55,
            "color": np.take(CELL_COLOURS, result.position[rows] % len(CELL_COLOURS)),
        },
        customdata=[[cell] for cell in result.cell[result.position[rows]].tolist()],
        hovertemplate="A row of bin %{customdata[0]}<extra></extra>",
        name="predictions",
    )
    figure.add_scatter(
        x=lines[:, 0],
        y=lines[:, 1],
        mode="lines",
        line={"color": OKABE_ITO["grey"], "width": 1},
        hoverinfo="skip",
        name="cells",
    )
    shown = np.flatnonzero(np.minimum(result.count, result.fitted_count) >= min_count)
    _add_arrows(figure, result, shown, place(result.tail[shown]), place(result.head[shown]))
    _add_corners(figure, result.class_names)
    figure.update_xaxes(visible=False, range=[-0.06, 1.06], constrain="domain")
    figure.update_yaxes(
        visible=False, range=[-0.36 if log_ratios else -0.1, 0.95], scaleanchor="x", constrain="domain"
    )
    figure.update_layout(
        template=TEMPLATE,
        height=640 if log_ratios else 520,
        margin={"l": 4, "r": 4, "t": 8, "b": 8},
        showlegend=False,
    )
    return figure


def _subdivided(corners: np.ndarray, pieces: int = 24) -> np.ndarray:
    """Divide each edge of a polygon, more finely towards its ends, where log-ratios change fastest."""
    steps = np.linspace(0.0, 1.0, pieces + 1)
    steps = steps**3 * (10 - 15 * steps + 6 * steps**2)
    edges = corners[:-1, None] + steps[:, None] * np.diff(corners, axis=0)[:, None]
    return edges.reshape(-1, corners.shape[1])


def _add_arrows(
    figure: go.Figure, result: RecalibrationMap, shown: np.ndarray, tails: np.ndarray, heads: np.ndarray
) -> None:
    # A light line below the dark one keeps arrows readable over points and on dark pages.
    figure.add_scatter(
        **_segments(tails, heads - 0.012 * _unit(heads - tails)),
        mode="lines+markers",
        line={"color": ARROW_EDGE, "width": 5},
        marker={
            "size": np.tile([8, 0, 0], len(shown)),
            "color": ARROW,
            "opacity": 1,
            "line": {"width": 1.2, "color": ARROW_EDGE},
        },
        hoverinfo="skip",
        name="arrow edges and tails",
    )
    figure.add_scatter(
        **_segments(tails, heads),
        mode="lines+markers",
        line={"color": ARROW, "width": 2.2},
        marker={
            "symbol": "arrow",
            "size": np.tile([0, 14, 0], len(shown)),
            "color": ARROW,
            "opacity": 1,
            "angleref": "previous",
            "line": {"width": 1.2, "color": ARROW_EDGE},
        },
        name="arrows",
        customdata=[_hover(result, at) for at in np.repeat(shown, 3).tolist()],
        hovertemplate=HOVER,
    )


def _segments(tails: np.ndarray, heads: np.ndarray) -> dict[str, np.ndarray]:
    """Coordinates of disjoint lines: tail, head, gap, tail, head, gap, ..."""
    points = np.stack([tails, heads, np.full(tails.shape, np.nan)], axis=1).reshape(-1, 2)
    return {"x": points[:, 0], "y": points[:, 1]}


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


HOVER = (
    "Bin %{customdata[0]}: %{customdata[1]:,} evaluation rows, %{customdata[2]:,} calibration rows<br>"
    + "<br>".join(
        f"%{{customdata[{start}]}}: says %{{customdata[{start + 1}]:.3f}},"
        f" recalibrated %{{customdata[{start + 2}]:.3f}}, true %{{customdata[{start + 3}]}}"
        for start in (3, 7, 11)
    )
    + "<extra></extra>"
)


def _hover(result: RecalibrationMap, at: int) -> list[object]:
    entries: list[object] = [int(result.cell[at]), int(result.count[at]), int(result.fitted_count[at])]
    for column, name in enumerate(result.class_names):
        true = "not known" if result.observed is None else f"{result.observed[at, column]:.3f}"
        entries += [escape(name), float(result.tail[at, column]), float(result.head[at, column]), true]
    return entries


def _add_corners(figure: go.Figure, class_names: tuple[str, ...]) -> None:
    places = ((0.0, -0.03, "left", "top"), (1.0, -0.03, "right", "top"), (0.5, 0.885, "center", "bottom"))
    for name, (x, y, across, along) in zip(class_names, places, strict=True):
        corner = escape(shorten(name, CORNER_NAME))
        figure.add_annotation(
            x=x, y=y, text=corner, xanchor=across, yanchor=along, showarrow=False, font={"size": 16}
        )
