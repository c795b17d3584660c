"""Recalibration on the simplex: an arrow per cell, outlines of cells, and many classes as three (App. G)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.answers.theorems import multinomial_bound
from calib.base.exceptions import InputError
from calib.base.parallel import map_row_blocks
from calib.base.results import Result
from calib.calibrators import canonical
from calib.data.defaults import RANDOM_STATE
from calib.data.kinds import check_equal_rows
from calib.data.predictions import Predictions
from calib.data.validation import random_generator
from calib.diagrams import style
from calib.evidence.rows import Rows
from calib.stats.simplex_errors import CellMeans, cell_means

#: Colours of cells, in turn. Yellow is pale on white.
CELL_COLOURS = tuple(colour for name, colour in style.OKABE_ITO.items() if name != "yellow")
#: Widths of arrows in pixels, by thirds of the number of rows.
WIDTHS = (1.6, 3.0, 5.0)
#: Values on the edges of the triangle, and on log-ratios' edges.
EDGE_VALUES, LOG_EDGE_VALUES = (0.2, 0.4, 0.6, 0.8), (0.01, 0.1, 0.5, 0.9, 0.99)
#: Squared radius of a 95 % region of two normal numbers (quantile of chi-squared, 2 degrees of freedom).
REGION = -2.0 * np.log(0.05)
ARROW, ARROW_EDGE = "#14181C", "#FFFFFF"
#: Longest class name written at a corner of the triangle.
CORNER_NAME = 16
HOVER = (
    "Bin %{customdata[0]}: %{customdata[1]:,} evaluation rows, %{customdata[2]:,} calibration rows<br>"
    + "<br>".join(
        f"%{{customdata[{start}]}}: score %{{customdata[{start + 1}]:.3f}},"
        f" recalibrated %{{customdata[{start + 2}]:.3f}}, true %{{customdata[{start + 3}]}}"
        for start in (3, 7, 11)
    )
)


@dataclass(frozen=True, eq=False, repr=False)
class RecalibrationMap(Result):
    """Mean base prediction and recalibrated vector of each occupied cell."""

    class_names: tuple[str, ...]  #: L names in column order
    n_bins: int  #: Cells of the scheme, occupied or not
    alpha: float  #: Miscoverage of `bound`
    means: CellMeans  #: Of the base predictions in the m cells that hold evaluation rows
    #: (m,) int64: Calibration rows behind its recalibrated vector; 0 means the vector is 1/L
    fitted_count: np.ndarray
    head: np.ndarray  #: (m, L) float64: Recalibrated vector
    #: (m,) float64: L1 distance from the truth that `head` stays within, see `multinomial_bound`; NaN if rows
    #: belong together, because it is for independent rows
    bound: np.ndarray

    @property
    def length(self) -> np.ndarray:
        """L1 length of every arrow, (m,), in [0, 2]."""
        return np.abs(self.head - self.means.predicted).sum(axis=1)

    @property
    def error_share(self) -> np.ndarray | None:
        """Share of every cell in the canonical-ECE (L1) of the base model, (m,); None without labels."""
        if self.means.observed is None:
            return None
        error = self.means.distance() * self.means.count
        return np.divide(error, error.sum(), out=np.zeros_like(error), where=error.sum() > 0.0)

    def frame(self) -> pd.DataFrame:
        """Return one row per occupied cell."""
        columns: dict[str, np.ndarray] = {
            "bin": self.means.cell,
            "evaluation_rows": self.means.count,
            "calibration_rows": self.fitted_count,
            "arrow_length_l1": self.length,
            f"bound_l1_alpha_{self.alpha:g}": self.bound,
        }
        if self.error_share is not None:
            columns["share_of_canonical_ece"] = self.error_share
        by_kind = ("base_mean", self.means.predicted), ("recalibrated", self.head)
        for kind, vectors in (*by_kind, ("observed", self.means.observed)):
            if vectors is not None:
                names = [f"{kind}: {name}" for name in self.class_names]
                columns |= dict(zip(names, vectors.T, strict=True))
        return pd.DataFrame(columns)


def recalibration_map(
    calibrator: canonical.CanonicalBinning, evaluation: Predictions, *, alpha: float = 0.1
) -> RecalibrationMap:
    """Compute the arrows of the recalibration diagram (Fig. 12, right).

    Parameters
    ----------
    calibrator : CanonicalBinning
        Fitted.
    evaluation : Predictions
        Unweighted base predictions to show; labels are optional.
    alpha : float in (0, 1)
        Miscoverage of the per-cell bound.
    """
    if not isinstance(calibrator, canonical.CanonicalBinning) or not isinstance(evaluation, Predictions):
        given = f"{type(calibrator).__name__} and {type(evaluation).__name__}"
        raise InputError(f"the map shows a fitted CanonicalBinning on Predictions; got {given}")
    check_equal_rows(evaluation, "Canonical binning")
    means = cell_means(evaluation, calibrator.assign(evaluation))
    fitted_count = calibrator.count_of(means.cell)
    bound = multinomial_bound(fitted_count, evaluation.n_classes, alpha=alpha)
    n_clusters = evaluation.n_clusters if evaluation.labels is None else Rows(evaluation).n_clusters
    return RecalibrationMap(
        class_names=evaluation.class_names,
        n_bins=calibrator.n_bins_,
        alpha=alpha,
        means=means,
        fitted_count=fitted_count,
        head=calibrator.value_of(means.cell),
        bound=bound if n_clusters is None else np.full(len(bound), np.nan),
    )


def most_mistaken(predictions: Predictions, n_classes: int = 3) -> list[int]:
    """Return the codes of the classes that are most often mistaken for each other.

    The pair with the most rows of one class predicted as the other comes first, then the class with the most
    such rows with the pair. Ties go to more frequent classes.
    """
    size = predictions.n_classes
    if predictions.labels is None or not 2 <= n_classes <= size:
        raise InputError(
            f"expected labels and 2 to {size} of {size} classes; got {n_classes} classes and "
            f"{'no ' if predictions.labels is None else ''}labels"
        )
    true, predicted = predictions.labels, predictions.label
    frequent = np.bincount(true, minlength=size) / (len(true) + 1)  # below 1: decides among equals only
    wrong = true != predicted
    pairs, count = np.unique(
        np.sort(np.column_stack([true[wrong], predicted[wrong]]), axis=1), axis=0, return_counts=True
    )
    chosen: list[int] = []
    if len(pairs):
        chosen = pairs[int(np.argmax(count + frequent[pairs].sum(axis=1) / 2))].tolist()
        chosen.sort(key=lambda code: -frequent[code])
    while len(chosen) < n_classes:
        with_them = frequent.copy()
        for column in (0, 1):
            is_paired = np.isin(pairs[:, 1 - column], chosen)
            np.add.at(with_them, pairs[is_paired, column], count[is_paired])
        with_them[chosen] = -1.0
        chosen.append(int(np.argmax(with_them)))
    return chosen


def merge_classes(predictions: Predictions, first: int, second: int) -> Predictions:
    """Keep two classes and merge all others into a third, as the paper does with COVTYPE (App. G.4).

    `first` and `second` of L >= 3 classes become classes 0 and 1; the third is called "other" (with L = 3 it
    keeps its name).
    """
    chosen = _chosen(predictions, (first, second), 2)
    rest = np.setdiff1d(np.arange(predictions.n_classes), chosen)

    def sum_others(block: np.ndarray) -> np.ndarray:
        exact = block.astype(np.float64)
        exact[:, chosen] = 0.0
        return exact.sum(axis=1)

    other = map_row_blocks(sum_others, predictions.proba)
    merged = np.column_stack([predictions.proba[:, chosen], np.minimum(other, 1.0)])
    codes = np.full(predictions.n_classes, 2)
    codes[chosen] = (0, 1)
    names = [predictions.class_names[code] for code in chosen]
    name = predictions.class_names[rest[0]] if len(rest) == 1 else "other"
    while name in names:
        name += " classes"
    labels = None if predictions.labels is None else codes[predictions.labels]
    return Predictions(merged.astype(predictions.proba.dtype), labels, (*names, name), **predictions.carried)


def renormalise_classes(predictions: Predictions, classes: Sequence[int]) -> Predictions:
    """Keep three of L >= 3 classes and divide by their sum: probabilities conditional on one of the three.

    Rows of other true classes, or whose three probabilities are all 0, are left out.
    """
    chosen = _chosen(predictions, classes, 3)
    rows = rows_of_classes(predictions, classes)
    if not len(rows):
        raise InputError("no row is left: none has one of these three classes as its true class")
    kept = predictions.take(rows)
    proba = kept.proba[:, chosen] / kept.proba[:, chosen].sum(axis=1, dtype=np.float64, keepdims=True)
    codes = np.full(predictions.n_classes, -1)
    codes[chosen] = (0, 1, 2)
    labels = None if kept.labels is None else codes[kept.labels]
    names = tuple(predictions.class_names[code] for code in chosen)
    return Predictions(proba.astype(kept.proba.dtype), labels, names, **kept.carried)


def rows_of_classes(predictions: Predictions, classes: Sequence[int]) -> np.ndarray:
    """Return the rows that `renormalise_classes` keeps, (m,) int64, ascending."""
    chosen = _chosen(predictions, classes, 3)
    kept = predictions.proba[:, chosen].sum(axis=1, dtype=np.float64) > 0.0
    if predictions.labels is not None:
        kept &= np.isin(predictions.labels, chosen)
    return np.flatnonzero(kept)


def _chosen(predictions: Predictions, classes: Sequence[int], wanted: int) -> list[int]:
    codes = [int(code) for code in classes]
    n_classes = predictions.n_classes
    if n_classes < 3:
        raise InputError(f"a simplex view needs at least 3 classes; these predictions have {n_classes}")
    if len(set(codes)) != wanted or len(codes) != wanted or not all(0 <= c < n_classes for c in codes):
        raise InputError(f"choose {wanted} different class codes in 0..{n_classes - 1}; got {codes}")
    return codes


def to_plane(vectors: np.ndarray) -> np.ndarray:
    """Map (k, 3) probabilities to (k, 2) places in a triangle of side 1: bottom left, bottom right, top."""
    return np.asarray(vectors, dtype=np.float64) @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def to_log_ratios(vectors: np.ndarray, smallest: float = 1e-4) -> np.ndarray:
    """Map (k, 3) probability vectors to (k, 2) float64 coordinates of their log-ratios.

    The isometric log-ratio transform (Egozcue et al. 2003), scaled so that corners and middle are as in
    `to_plane`: crowded vectors in the corners are separated. Smaller probabilities count as `smallest`.
    """
    logs = np.log(np.maximum(np.asarray(vectors, dtype=np.float64), smallest))
    contrasts = np.array([[-1.0, 1.0, 0.0], [-1.0, -1.0, 2.0]]) / np.sqrt([[2.0], [6.0]])
    return logs @ contrasts.T / (-np.sqrt(2.0) * np.log(smallest)) + np.array([0.5, np.sqrt(1.0 / 12.0)])


def sample_rows(n_samples: int, most: int = 1000, random_state: int = RANDOM_STATE) -> np.ndarray:
    """Rows to draw as points: all of them, or `most` chosen at random, ascending."""
    if n_samples <= most:
        return np.arange(n_samples)
    return np.sort(random_generator(random_state).choice(n_samples, most, replace=False))


def cell_outlines(scheme: canonical.SimplexScheme) -> dict[int, np.ndarray]:
    """Corners of every cell of a fitted three-class scheme, in order around it.

    Returns
    -------
    dict of int to (k, 3) float64 array
        Probability vectors by cell number. Sides of the projection scheme's cells are its cuts.
    """
    if scheme.n_classes_ != 3:
        raise InputError(f"outlines exist for three classes; this scheme has {scheme.n_classes_}")
    if isinstance(scheme, canonical.SierpinskiScheme):
        return dict(enumerate(_sierpinski(np.eye(3), scheme.depth)))
    if isinstance(scheme, canonical.GridScheme):
        return _grid(scheme)
    if isinstance(scheme, canonical.ProjectionScheme):
        return _projection(scheme)
    raise InputError(
        f"a {type(scheme).__name__} has no outlines; use a Sierpinski, grid or projection scheme"
    )


def _sierpinski(corners: np.ndarray, depth: int) -> list[np.ndarray]:
    if depth == 0:
        return [corners]
    cells = []
    for corner in corners:
        cells += _sierpinski((corners + corner) / 2, depth - 1)
    return [*cells, (corners.sum(axis=0) - corners) / 2]


def _grid(scheme: canonical.GridScheme) -> dict[int, np.ndarray]:
    side = scheme.cells
    low = np.array(
        [(a, b, s - a - b) for s in (side - 1, side - 2) for a in range(s + 1) for b in range(s + 1 - a)]
    )
    upward = low.sum(axis=1, keepdims=True) == side - 1
    # Triangles that point up have the corners low + e_l, the others low + 1 - e_l.
    corners = (
        np.where(upward[:, :, None], low[:, None, :] + np.eye(3), low[:, None, :] + 1 - np.eye(3)) / side
    )
    return dict(zip(scheme.rank(low + 1).tolist(), corners, strict=True))


def _projection(scheme: canonical.ProjectionScheme) -> dict[int, np.ndarray]:
    rest, cells = np.eye(3), {}
    for number, (direction, threshold) in enumerate(zip(scheme.directions_, scheme.thresholds_, strict=True)):
        height = rest @ direction - threshold
        cells[number] = _clip(rest, height)
        rest = _clip(rest, -height)
    return {number: corners for number, corners in cells.items() if len(corners) >= 3}


def _clip(corners: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Clip a convex polygon to the part where a linear function, given at its corners, is at most 0."""
    clipped = []
    for index in range(len(corners)):
        here, there = height[index - 1], height[index]
        if min(here, there) < 0.0 < max(here, there):
            clipped.append(corners[index - 1] + here / (here - there) * (corners[index] - corners[index - 1]))
        if there <= 0.0:
            clipped.append(corners[index])
    return np.array(clipped).reshape(-1, 3)


def draw_recalibration(
    result: RecalibrationMap,
    proba: np.ndarray,
    *,
    rows: np.ndarray,
    outlines: Mapping[int, np.ndarray],
    min_count: int = 20,
    log_ratios: bool = False,
) -> style.Figure:
    """Draw predictions on the triangle, coloured by cell, and an arrow per cell (Fig. 12, right).

    Arrows of more rows are wider. Around a tip, if rows are independent: the 95 % region of the true
    frequencies of the cell's labels.

    Parameters
    ----------
    result : RecalibrationMap of three classes
    proba, rows : (n, 3) and (k,) int arrays
        Base predictions of the evaluation rows, and which to draw, as from `sample_rows`.
    outlines : dict of int to (c, 3) array, from `cell_outlines`
    min_count : int
        Fewest evaluation and calibration rows of a cell with an arrow.
    log_ratios : bool
        Whether to draw log-ratios of the probabilities, which opens the corners of the triangle.
    """
    if len(result.class_names) != 3:
        raise InputError(f"the triangle shows three classes; got {len(result.class_names)}")
    place = to_log_ratios if log_ratios else to_plane
    data = []
    closed = [np.vstack([corners, corners[:1]]) for corners in outlines.values()]
    if log_ratios:  # straight edges become curves
        closed = [_subdivided(corners) for corners in closed]
    points, position = place(proba[rows]), result.means.position[rows]
    data += style.scatter(
        x=points[:, 0],
        y=points[:, 1],
        marker=style.marks(np.take(CELL_COLOURS, position % len(CELL_COLOURS)), 4) | {"opacity": 0.55},
        customdata=(result.means.cell[position],),
        hovertemplate="A row of bin %{customdata[0]}",
        name="predictions",
    )
    data += style.scatter(
        **_lines([place(corners) for corners in closed]),
        line={"color": style.OKABE_ITO["grey"], "width": 1},
        name="cells",
    )
    shown = np.flatnonzero(np.minimum(result.means.count, result.fitted_count) >= min_count)
    known = shown[np.isfinite(result.bound[shown])]
    regions = [place(region) for region in _regions(result.head[known], result.fitted_count[known])]
    data += style.scatter(
        **_lines(regions),
        fill="toself",
        fillcolor="rgba(20,24,28,0.16)",
        line={"color": style.LINES, "width": 1},
        name="95 % regions of tips",
    )
    data += _arrows(result, shown, place(result.means.predicted[shown]), place(result.head[shown]))
    hidden = {"visible": False, "constrain": "domain"}
    notes = _corners(result.class_names) + _edge_values(LOG_EDGE_VALUES if log_ratios else EDGE_VALUES, place)
    if log_ratios:
        key = "Log scale: equal steps are equal ratios of probabilities. Below 0.01 % counts as 0.01 %."
        notes.append(style.note(0.5, -0.35, key))
    return style.figure(
        data,
        annotations=notes,
        height=640 if log_ratios else 520,
        margin={"l": 4, "r": 4, "t": 8, "b": 8},
        showlegend=False,
        xaxis={**hidden, "range": [-0.06, 1.06]},
        yaxis={**hidden, "range": [-0.36 if log_ratios else -0.1, 0.95], "scaleanchor": "x"},
    )


def _subdivided(corners: np.ndarray, pieces: int = 24) -> np.ndarray:
    """Divide each edge of a polygon, more finely at its ends: log-ratios change fastest there."""
    steps = np.linspace(0.0, 1.0, pieces + 1)
    steps = steps**3 * (10 - 15 * steps + 6 * steps**2)
    edges = corners[:-1, None] + steps[:, None] * np.diff(corners, axis=0)[:, None]
    return edges.reshape(-1, corners.shape[1])


def _regions(vectors: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return outlines of the 95 % regions of label distributions estimated from some rows, (m, 49, 3)."""
    share = (vectors * count[:, None] + 1.0) / (count[:, None] + 3.0)
    covariance = (share[:, :, None] * np.eye(3) - share[:, :, None] * share[:, None, :]) / (
        count[:, None, None] + 3.0
    )
    size, axes = np.linalg.eigh(covariance)
    turn = np.linspace(0.0, 2.0 * np.pi, 49)
    reach = axes[:, :, 1:] * np.sqrt(REGION * np.maximum(size[:, None, 1:], 0.0))
    around = vectors[:, None] + np.stack([np.cos(turn), np.sin(turn)], axis=1) @ np.swapaxes(reach, 1, 2)
    inside = np.maximum(around, 0.0)
    return inside / inside.sum(axis=2, keepdims=True)


def _arrows(
    result: RecalibrationMap, shown: np.ndarray, tails: np.ndarray, heads: np.ndarray
) -> list[style.Properties]:
    # A light line below the dark one keeps arrows readable over points and on dark pages.
    data, rows = [], result.means.count[shown]
    thirds = np.searchsorted(np.quantile(rows, [1 / 3, 2 / 3]) if len(rows) else [], rows)
    for third, width in enumerate(WIDTHS):
        drawn = thirds == third
        ends = heads[drawn] - 0.012 * _unit(heads[drawn] - tails[drawn])
        for colour, pixels, name in ((ARROW_EDGE, width + 3.0, "arrow edges"), (ARROW, width, "shafts")):
            line = {"color": colour, "width": pixels}
            data += style.scatter(**_lines(np.stack([tails[drawn], ends], axis=1)), line=line, name=name)
    size = np.outer(9.0 + 1.6 * np.take(WIDTHS, thirds), [0, 1, 0]).ravel()
    data += style.scatter(
        **_lines(np.stack([tails, heads], axis=1)),
        line={"color": ARROW, "width": 1},
        marker=style.marks(ARROW, size, "arrow", width=1.2, color=ARROW_EDGE) | {"angleref": "previous"},
        name="arrows",
        customdata=[_hover(result, at) for at in np.repeat(shown, 3).tolist()],
        hovertemplate=HOVER,
    )
    return data + style.scatter(  # above the heads, which would hide the tails of short arrows
        x=tails[:, 0], y=tails[:, 1], marker=style.marks(ARROW_EDGE, 7, width=1.8, color=ARROW), name="tails"
    )


def _lines(outlines: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    points = np.vstack(
        [part for outline in outlines for part in (outline, [[np.nan, np.nan]])] or [np.empty((0, 2))]
    )
    return {"x": points[:, 0], "y": points[:, 1]}


def _edge_values(
    values: Sequence[float], place: Callable[[np.ndarray], np.ndarray]
) -> list[style.Properties]:
    notes = []
    for start, end, x, y in ((0, 1, 0, -12), (1, 2, 18, 6), (2, 0, -18, 6)):
        for value in values:
            vector = np.zeros((1, 3))
            vector[0, [start, end]] = 1.0 - value, value
            (at,) = place(vector).tolist()
            notes.append(style.note(at[0], at[1], f"{value:.0%}", size=11, xshift=x, yshift=y))
    return notes


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def _hover(result: RecalibrationMap, at: int) -> list[object]:
    means = result.means
    entries: list[object] = [int(means.cell[at]), int(means.count[at]), int(result.fitted_count[at])]
    for column, name in enumerate(result.class_names):
        true = "not known" if means.observed is None else f"{means.observed[at, column]:.3f}"
        entries += [
            style.escape(name),
            float(means.predicted[at, column]),
            float(result.head[at, column]),
            true,
        ]
    return entries


def _corners(class_names: tuple[str, ...]) -> list[style.Properties]:
    places = ((0.0, -0.03, "left", "top"), (1.0, -0.03, "right", "top"), (0.5, 0.885, "center", "bottom"))
    return [
        style.note(x, y, style.short(name, CORNER_NAME), size=16, xanchor=across, yanchor=along)
        for name, (x, y, across, along) in zip(class_names, places, strict=True)
    ]
