"""Validity curves: the share of rows whose predicted probability is within epsilon of the true one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib.answers.guarantee_cards import MeanPromise, Promise
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.data.defaults import N_BINS, RANDOM_STATE
from calib.data.notions import POOLED_NOTIONS, Notion, PerClass, Strategy
from calib.data.predictions import BasePrediction, Scores, Values, score_matrix
from calib.diagrams import style
from calib.diagrams.shared_cells import SharedCells
from calib.evidence.binning import BinStatistics
from calib.evidence.reductions import event_scores, top_label
from calib.evidence.rows import Known, Rows, Source, as_evidence, known_rows
from calib.evidence.sampling import Draw, resample
from calib.evidence.sums import SummedRows
from calib.stats.simplex_errors import CellMeans, cell_means

#: How to read the dotted lines of `draw_validity`.
DOTTED = (
    "Dotted: a perfect model in the same cells, whose observed frequencies are noisy, too. Shaded: the "
    "shortfall of a curve; on or above its dotted line it shows no more than noise."
)

#: A gap within this of an epsilon counts as equal: 0.4 - 0.3 is not exactly 0.1.
ROUNDING = 1e-12

#: Values of epsilon at which the curve of a perfect model is computed.
PERFECT_GRID = np.linspace(0.0, 1.0, 501)
NONE_DRAWN = np.empty(0), np.empty(0), np.empty(0)


@dataclass(frozen=True, eq=False, repr=False)
class ValidityCurve(Drawn):
    """V(epsilon) of one predictor (Gupta & Ramdas 2021; Figure 3 and Appendices F and G.4 of the paper)."""

    #: (C,) float64: Gap of every cell, ascending: ``|outcome frequency - mean score|``, or the L1 distance of
    #: label frequencies and mean vector
    gap: np.ndarray
    weight: np.ndarray  #: (C,): Weight of the entries (rows; "class-wise": rows times classes) of each cell
    cells: pd.DataFrame  #: One row per cell, in the order of `gap`
    #: (G,) float64: The mean curve of a perfect model with these cells; empty without redraws
    perfect_epsilon: np.ndarray
    perfect_share: np.ndarray
    perfect_cell_share: np.ndarray
    unit: str = "rows"  #: What `share` counts: "rows", or "cells"

    @classmethod
    def of_cells(
        cls, cells: BinStatistics | CellMeans, perfect: tuple[np.ndarray, np.ndarray, np.ndarray] = NONE_DRAWN
    ) -> ValidityCurve:
        """Order cells by their gap; `perfect` are the fields of its name."""
        if isinstance(cells, CellMeans):
            gap, table = cells.distance(1), pd.DataFrame({"cell": cells.cell, "count": cells.count})
        else:
            gap, names = np.abs(cells.gap), ("label", "count", "mean_score", "mean_outcome")
            table = pd.DataFrame({name: getattr(cells, name) for name in names})
        order = np.argsort(gap, kind="stable")
        return cls(gap[order], cells.weight[order], table.iloc[order].reset_index(drop=True), *perfect)

    def by_cells(self) -> ValidityCurve:
        """Return the conditional curve: shares of cells, not of entries."""
        return replace(
            self, weight=np.ones(len(self.gap)), perfect_share=self.perfect_cell_share, unit="cells"
        )

    @property
    def share(self) -> np.ndarray:
        """V at each `gap`: share of entries in cells with at most this gap; it ends at 1."""
        return np.cumsum(self.weight) / self.weight.sum()

    @property
    def worst(self) -> float:
        """Gap of the worst cell, at which the conditional curve reaches 1."""
        return float(self.gap[-1])

    @property
    def error(self) -> float:
        """Mean gap over the entries: the ECE in these cells."""
        return float(self.weight @ self.gap / self.weight.sum())

    def steps(self, max_points: int = 1000) -> tuple[np.ndarray, np.ndarray]:
        """Return the curve from epsilon = 0 for drawing: epsilon and the share of entries up to it.

        More than `max_points` cells are read off an even grid of epsilon.
        """
        epsilon, share = np.append(0.0, self.gap), np.append(0.0, self.share)
        if len(epsilon) > max_points:
            grid = np.linspace(0.0, self.worst, max_points)
            return grid, share[np.searchsorted(epsilon, grid, side="right") - 1]
        return epsilon, share

    def at(self, epsilon: float) -> float:
        """V(epsilon), the share of entries whose cell is off by at most `epsilon`."""
        within = np.searchsorted(self.gap, epsilon + ROUNDING, side="right")
        return float(self.weight[:within].sum() / self.weight.sum())

    def frame(self) -> pd.DataFrame:
        """Return one row per cell, smallest gap first, with the curve."""
        return self.cells.assign(epsilon=self.gap, validity=self.share, cell_validity=self.by_cells().share)


@dataclass(frozen=True)
class ValidityCells:
    """The cells in which a validity curve compares a base model with its calibrator."""

    #: Whether both are judged in the calibrator's cells (Appendix F of the paper); else in equal-width bins
    calibrators_own: bool
    labels: tuple[int, ...] | None = None  #: Classes whose cells are counted; None for all
    left_out: int = 0  #: Classes that are not counted, because the calibrator has no bins for them

    def words(self, n_bins: int) -> str:
        """Say which cells these are."""
        words = f"Cells: {n_bins} equal-width bins."
        if self.calibrators_own:
            words = (
                "Cells: each distinct score; the base model is judged in the calibrator's (Appendix F of the "
                "paper)."
            )
        if self.left_out:
            words += f" Left out: {self.left_out:,} classes with too few calibration rows for a bin; "
            words += "they have no guarantee."
        return words


def validity_cells(
    base: Scores | Rows,
    scores: Scores | Rows,
    *,
    notion: Notion,
) -> ValidityCells:
    """Choose the cells: the calibrator's, for the classes it binned, if the base model can share them.

    `scores` are the calibrator's for the rows of `base`, or the same; their strategy says which classes are
    binned.
    """
    base, scores = (rows.predictions if isinstance(rows, Rows) else rows for rows in (base, scores))
    strategy: Strategy = scores.strategy if isinstance(scores, BasePrediction) else "uniform"
    shared = notion == "class-wise" or event_scores(base) is not None
    shared = shared or np.array_equal(top_label(base)[0], top_label(scores)[0])
    left_out: tuple[int, ...] = ()
    if isinstance(strategy, PerClass) and notion not in POOLED_NOTIONS:
        left_out, strategy = strategy.others, "discrete"
    own = strategy == "discrete" and shared
    if not own or not left_out:
        return ValidityCells(own)
    codes = np.arange(score_matrix(base).shape[1]) if notion == "class-wise" else top_label(base)[0]
    binned = tuple(np.setdiff1d(codes, left_out).tolist())
    return ValidityCells(True, binned, len(left_out)) if binned else ValidityCells(False)


def validity_words(curves: Mapping[str, ValidityCurve], epsilon: float, *, strong: str = "{}") -> str:
    """Say which share is within epsilon, for each curve by its escaped name; `strong` as for `cell_words`."""
    found = []
    for name, curve in curves.items():
        noise = ""
        if len(curve.perfect_share):
            at = np.searchsorted(curve.perfect_epsilon, epsilon + ROUNDING, side="right") - 1
            noise = f" ({100 * curve.perfect_share[at]:.0f} if it were perfect)"
        share = strong.format(f"{100 * curve.at(epsilon):.0f}")
        found.append(f"{share} of 100 {curve.unit} for {name}{noise}")
    return f"The prediction is within {epsilon:.3f} of the observed frequency in {', '.join(found)}."


def validity_curve(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    reference: Scores | Known | None = None,
    label: int | Sequence[int] | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    n_resamples: int = 0,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
) -> ValidityCurve:
    """Estimate V(epsilon), the share of rows whose cell is off by at most epsilon.

    Parameters
    ----------
    y_true, scores, notion, n_bins, sample_weight, cluster
        As for `calib.noise_floor`.
    reference : same types as `scores`, or evidence, optional
        Scores of a calibrator for the same rows, whose cells are then used (Appendix F).
    label : int or sequence of int, optional
        Only the cells of these classes.
    strategy : {"uniform", "quantile", "discrete"} or PerClass, optional
        Binning that makes the cells; by default the scores' own, or "discrete" with a `reference`.
    n_resamples, random_state
        Redraws for the curve of a perfect model (0 leaves it out), and their seed.
    """
    evidence: Rows | SummedRows = as_evidence(y_true, scores, sample_weight, cluster)
    if reference is not None:
        evidence = SharedCells(evidence, reference, notion)
    cells = evidence.cells(notion, n_bins=n_bins, strategy=strategy, variance=n_resamples > 0, effects=False)
    shown = np.ones(len(cells.count), dtype=bool) if label is None else np.isin(cells.label, label)
    if not shown.any():
        raise InputError(f"no cell is about class {label!r} with notion {cells.notion!r}")
    drawing = evidence.draw_each(cells, None if shown.all() else shown) if n_resamples else None
    cells = cells.of(shown)
    if drawing is None:
        return ValidityCurve.of_cells(cells)
    return ValidityCurve.of_cells(cells, _perfect_curve(cells, drawing, n_resamples, random_state))


def canonical_validity(
    y_true: Source,
    proba: Scores | None = None,
    cells: Values | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> ValidityCurve:
    """Estimate V(eps) = P(||E[Y | cell] - E[g(X) | cell]||_1 <= eps) over rows (App. G.4).

    Base model and calibrated model are both judged on the calibrated model's cells. Parameters as for
    `calib.stats.canonical_ece`.
    """
    rows = known_rows(y_true, proba, sample_weight, cluster)
    return ValidityCurve.of_cells(cell_means(rows, cells))


def _perfect_curve(
    cells: BinStatistics,
    drawing: tuple[Draw, int],
    n_resamples: int,
    random_state: int | np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average the curves of redrawn cells: epsilon, share of entries, share of cells."""
    (draw, width), weight, mean_score = drawing, cells.weight, cells.mean_score

    def block(generator: np.random.Generator, size: int) -> np.ndarray:
        gaps = np.abs(draw(generator, size) / weight[:, None] - mean_score[:, None])
        # First grid point that covers each gap, to within `ROUNDING`.
        at = np.searchsorted(PERFECT_GRID, gaps.ravel() - ROUNDING)
        each = np.repeat(weight, size), None
        return np.stack([np.bincount(at, mass, len(PERFECT_GRID)) for mass in each])

    blocks = resample(block, 2 * width, n_resamples=n_resamples, random_state=random_state)
    curves = np.cumsum(np.sum(blocks, axis=0), axis=1) / n_resamples
    return PERFECT_GRID, curves[0] / weight.sum(), curves[1] / len(weight)


def draw_validity(
    curves: Mapping[str, ValidityCurve],
    *,
    promises: Sequence[Promise] = (),
    mean: MeanPromise | None = None,
) -> style.Figure:
    """Draw V(epsilon) of each method, a perfect model's curve dotted, and the theorem's epsilons.

    The shortfall from the perfect model is shaded; `promises` are vertical lines up to the promised share,
    and `mean` is a curve below which V(epsilon) promises not to be.
    """
    data, notes = [], []
    what = next(iter(curves.values())).unit
    shown = [promise.epsilon for promise in promises] + [
        curve.gap[np.searchsorted(curve.share, 0.99)] for curve in curves.values()
    ]
    farthest = max(1.0, *(curve.worst for curve in curves.values()))
    reach = min(farthest, 1.1 * max(shown) + 0.01)
    for position, (method, curve) in enumerate(curves.items()):
        data += _drawn_curve(curve, method, style.method_line(position, 3), farthest)
        notes += _names_of(curve, method, position, reach)
    for position, promise in enumerate(promises):
        data += style.scatter(
            x=[promise.epsilon, promise.epsilon],
            y=[0, promise.share],
            line={"color": style.OKABE_ITO["purple"], "width": 2, "dash": ("dash", "dot")[position % 2]},
            marker={"symbol": "triangle-up", "size": [0, 11]},
            name=promise.name,
            hovertemplate=f"{promise.name}: at least {promise.share:.0%}",
        )
        text = f" {promise.name}: \u2265 {promise.share:.0%} "
        side = "left" if promise.epsilon < 0.6 * reach else "right"
        notes.append(style.note(promise.epsilon, 0.08 + 0.08 * position, text, size=14, xanchor=side))
    if mean is not None:
        epsilon = np.geomspace(mean.error / mean.share, farthest, 100)
        share = mean.share - mean.error / epsilon
        data += style.scatter(
            x=epsilon,
            y=share,
            line={"color": style.OKABE_ITO["purple"], "width": 2, "dash": "longdash"},
            name=mean.name,
            hovertemplate=f"{mean.name}: at least %{{y:.0%}} of {what} within %{{x:.3f}}",
        )
        notes.append(
            style.note(0.98 * reach, mean.share - mean.error / reach, mean.name, size=14, xanchor="right")
        )
    return style.figure(
        data,
        height=460,
        showlegend=False,
        annotations=notes,
        xaxis={"title": "\u03b5, distance allowed from the truth", "range": [0, reach]},
        yaxis={"title": f"V(\u03b5), share of {what}", "range": [0, 1.09], "tickformat": ".0%"},
    )


def _drawn_curve(
    curve: ValidityCurve, method: str, line: style.Properties, farthest: float
) -> list[style.Properties]:
    epsilon, share = curve.steps()
    within = f"%{{y:.1%}} of {curve.unit} within %{{x:.3f}}"
    data, has_perfect = [], len(curve.perfect_epsilon) > 0
    if has_perfect:
        data += style.scatter(
            x=curve.perfect_epsilon,
            y=curve.perfect_share,
            line={**line, "width": 2, "dash": "dot"},
            name=f"{style.escape(method)}, if it were perfect",
            hovertemplate=f"A perfect model: {within}",
        )
    return data + style.scatter(
        x=np.append(epsilon, farthest),
        y=np.append(share, 1.0),
        line={**line, "shape": "hv"},
        fill="tonexty" if has_perfect else "none",
        fillcolor=style.translucent(style.GREY, 0.2),
        name=style.escape(method),
        hovertemplate=f"{style.escape(method)}<br>{within}",
    )


def _names_of(curve: ValidityCurve, method: str, position: int, reach: float) -> list[style.Properties]:
    """Return the name of a curve beside it, and above the first one what the dotted line is."""
    (epsilon, share), level = curve.steps(), 0.7 - 0.2 * position
    reached = epsilon[np.searchsorted(share, level)]
    at_right = reached > 0.6 * reach  # to the right of it, a narrow figure would cut its name
    name = {"x": reached, "y": level, "text": f"<b>{style.short(method)}</b>", "ay": 24, "standoff": 3}
    name |= {"xanchor": "right", "ax": -60} if at_right else {"xanchor": "left", "ax": 60}
    notes = [name | {"arrowcolor": style.GREY, "arrowwidth": 1.5, "arrowhead": 0}]
    if position == 0 and len(curve.perfect_epsilon):
        near = min(int(np.searchsorted(curve.perfect_share, 0.97)), len(curve.perfect_epsilon) - 1)
        at, said = curve.perfect_epsilon[near], "dotted: if it were perfect"
        dotted = style.note(at, 1.01, said, xanchor="right" if at > 0.5 * reach else "left")
        notes.insert(0, dotted | {"yanchor": "bottom"})
    return notes
