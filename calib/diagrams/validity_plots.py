"""Validity curves: the share of rows whose predicted probability is within epsilon of the true one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.answers.guarantee_cards import Promise, guarantee_card
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.data.defaults import N_BINS, RANDOM_STATE
from calib.data.notions import POOLED_NOTIONS, Notion, PerClass, Strategy
from calib.diagrams.style import (
    OKABE_ITO,
    Figure,
    Properties,
    escape,
    figure,
    method_colour,
    scatter,
    shorten,
    translucent,
)
from calib.evidence.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.evidence.reductions import event_scores, top_label
from calib.evidence.rows import as_evidence, as_problems
from calib.evidence.sampling import draw_sums_of, resample
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


@dataclass(frozen=True, eq=False, repr=False)
class ValidityCurve(Drawn):
    """V(epsilon) of one predictor (Gupta & Ramdas 2021; Figure 3 and Appendix F of the paper)."""

    notion: str  #: Notion of the cells
    gap: np.ndarray  #: (C,) float64: ``|outcome frequency - mean score|`` of every cell, ascending
    label: np.ndarray  #: (C,) int64: Class code of each cell, -1 if classes are pooled
    count: np.ndarray  #: (C,) int64: Entries (rows; for "class-wise", rows times classes) of each cell
    weight: np.ndarray  #: (C,): Sum of their weights; `count` if rows are unweighted
    #: (C,) float64: Mean score and outcome frequency of the cell
    mean_score: np.ndarray
    mean_outcome: np.ndarray
    #: (G,) float64: The mean curve of a perfect model with these cells; empty without redraws
    perfect_epsilon: np.ndarray
    perfect_share: np.ndarray
    perfect_cell_share: np.ndarray

    @classmethod
    def of_cells(
        cls,
        notion: str,
        label: np.ndarray,
        count: np.ndarray,
        weight: np.ndarray,
        mean_score: np.ndarray,
        mean_outcome: np.ndarray,
        perfect: Sequence[np.ndarray] = (np.empty(0),) * 3,
    ) -> ValidityCurve:
        """Order cells by their gap; `perfect` is the last three fields."""
        gap = np.abs(mean_outcome - mean_score)
        order = np.argsort(gap, kind="stable")
        arrays = (array[order] for array in (gap, label, count, weight, mean_score, mean_outcome))
        return cls(notion, *arrays, *perfect)

    @property
    def share(self) -> np.ndarray:
        """V at each `gap`: share of entries in cells with at most this gap; it ends at 1."""
        return np.cumsum(self.weight) / self.weight.sum()

    @property
    def cell_share(self) -> np.ndarray:
        """Conditional version: share of cells, not of entries, with at most this gap."""
        return np.arange(1, len(self.gap) + 1) / len(self.gap)

    @property
    def worst(self) -> float:
        """Gap of the worst cell, at which the conditional curve reaches 1."""
        return float(self.gap[-1])

    @property
    def error(self) -> float:
        """Mean gap over the entries: the ECE in these cells."""
        return float(self.weight @ self.gap / self.weight.sum())

    @property
    def perfect_error(self) -> float:
        """The `error` that a perfect model with these cells shows on average; NaN without redraws."""
        if not len(self.perfect_epsilon):
            return float("nan")
        return float(np.trapezoid(1.0 - self.perfect_share, self.perfect_epsilon))

    def steps(self, *, conditional: bool = False, max_points: int = 1000) -> tuple[np.ndarray, np.ndarray]:
        """Return the curve from epsilon = 0 for drawing: epsilon and the share of entries up to it.

        `conditional` counts cells, not entries. More than `max_points` cells are read off an even grid of
        epsilon.
        """
        share = np.concatenate(([0.0], self.cell_share if conditional else self.share))
        epsilon = np.concatenate(([0.0], self.gap))
        if len(epsilon) > max_points:
            grid = np.linspace(0.0, self.worst, max_points)
            return grid, share[np.searchsorted(epsilon, grid, side="right") - 1]
        return epsilon, share

    def at(self, epsilon: float) -> float:
        """V(epsilon), the share of entries whose cell is off by at most `epsilon`."""
        within = np.searchsorted(self.gap, epsilon + ROUNDING, side="right")
        return float(self.weight[:within].sum() / self.weight.sum())

    def cells_at(self, epsilon: float) -> float:
        """Share of cells that are off by at most `epsilon`."""
        return float(np.searchsorted(self.gap, epsilon + ROUNDING, side="right") / len(self.gap))

    def frame(self) -> pd.DataFrame:
        """Return one row per cell, smallest gap first, with the curve."""
        names = ("label", "count", "mean_score", "mean_outcome", "gap", "share", "cell_share")
        return pd.DataFrame({name: getattr(self, name) for name in names}).rename(
            columns={"gap": "epsilon", "share": "validity", "cell_share": "cell_validity"}
        )


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
    calibrator: Any, base: Any, scores: Any, *, notion: Notion, strategy: Strategy, label: int | None = None
) -> ValidityCells:
    """Choose the cells: the calibrator's, for the classes it binned, if the base model can share them.

    `calibrator` is None for a base model; `scores` are the calibrator's for the rows of `base`. `strategy`
    says how they are assessed. Only the class `label` is counted, if given.
    """
    counted = None if label is None else (label,)
    shared = notion == "class-wise" or event_scores(base) is not None
    shared = shared or np.array_equal(top_label(base)[0], top_label(scores)[0])
    by_value = strategy == "discrete" or (strategy == PerClass() and notion not in POOLED_NOTIONS)
    if by_value and shared:
        return ValidityCells(calibrators_own=True, labels=counted)
    fell_back = getattr(calibrator, "fallbacks_", ())
    if (
        not fell_back
        or calibrator.has_groups
        or notion not in ("top-label", "class-wise")
        or calibrator.notion != notion
    ):
        return ValidityCells(calibrators_own=False, labels=counted)
    card = guarantee_card(calibrator)
    binned = tuple(card.label[card.n_bins > 0].tolist())
    if not binned or (label is not None and label not in binned):
        return ValidityCells(calibrators_own=False, labels=counted)
    left_out = 0 if counted else len(card.label) - len(binned)
    return ValidityCells(calibrators_own=True, labels=counted or binned, left_out=left_out)


def validity_words(
    curves: Mapping[str, ValidityCurve], epsilon: float, *, conditional: bool = False, strong: str = "{}"
) -> str:
    """Say which share of rows (cells if `conditional`) is within epsilon, for each curve by its escaped name.

    `strong` as for `cell_words`.
    """
    what = "cells" if conditional else "rows"
    found = []
    for name, curve in curves.items():
        share = curve.cells_at(epsilon) if conditional else curve.at(epsilon)
        perfect, noise = curve.perfect_cell_share if conditional else curve.perfect_share, ""
        if len(perfect):
            at = np.searchsorted(curve.perfect_epsilon, epsilon + ROUNDING, side="right") - 1
            noise = f" ({100 * perfect[at]:.0f} if it were perfect)"
        found.append(f"{strong.format(f'{100 * share:.0f}')} of 100 {what} for {name}{noise}")
    return f"The prediction is within {epsilon:.3f} of the observed frequency in {', '.join(found)}."


@dataclass(frozen=True, eq=False, repr=False)
class CanonicalValidity(Drawn):
    """Validity curve V(eps) with the L1 distance between vectors (Fig. 12, left)."""

    epsilon: np.ndarray  #: (s,) float64: Distances at which the curve steps up, ascending, in [0, 2]
    share: np.ndarray  #: (s,) float64: Share of the rows in cells at most that far off; the last is 1

    @classmethod
    def of_cells(cls, means: CellMeans) -> CanonicalValidity:
        """Return the curve of cells whose mean predictions and label frequencies are known."""
        distance = means.distance(1)
        order = np.argsort(distance)
        return cls(distance[order], np.cumsum(means.weight[order]) / means.weight.sum())

    def at(self, epsilon: Any) -> np.ndarray:
        """Return V at the given distances."""
        steps = np.searchsorted(self.epsilon, epsilon, side="right")
        return np.concatenate(([0.0], self.share))[steps]

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame({"epsilon": self.epsilon, "share": self.share})


def validity_curve(
    y_true: Any,
    scores: Any,
    *,
    notion: Notion = "top-label",
    reference: Any = None,
    label: int | Sequence[int] | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    top_k: int | None = None,
    sample_weight: Any = None,
    n_resamples: int = 0,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
) -> ValidityCurve:
    """Estimate V(epsilon), the share of rows whose cell is off by at most epsilon.

    Parameters
    ----------
    y_true, scores, notion, n_bins, sample_weight, top_k
        As for `calib.ece`; or `BinaryProblems` as `scores`.
    reference : same types as `scores`, optional
        Scores of a calibrator for the same rows, whose cells are then used (Appendix F).
    label : int or sequence of int, optional
        Only the cells of these classes.
    strategy : {"uniform", "quantile", "discrete"} or PerClass, optional
        Binning that makes the cells; "discrete" by default with a `reference`, else "uniform".
    n_resamples, random_state
        Redraws for the curve of a perfect model (0 leaves it out), and their seed.
    """
    evidence = as_evidence(y_true, scores, sample_weight)
    if reference is None:
        cutting: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy or "uniform", "top_k": top_k}
        cells = evidence.cells(notion, variance=n_resamples > 0, **cutting)
    else:
        problems = evidence.problems(notion, top_k)
        cut = as_problems(y_true, reference, problems.notion, top_k, sample_weight)
        cells = bin_statistics(cut, n_bins=n_bins, strategy=strategy or "discrete")
        score, weights = _in_order_of(cut, problems).astype(np.float64), cut.weights
        each, square = (1.0, 1.0) if weights is None else (weights, weights**2)
        mean_score = np.add.reduceat(each * score, cells.start) / cells.weight
        variance = np.add.reduceat(square * score * (1.0 - score), cells.start)
        cells = replace(cells, mean_score=mean_score, variance=variance)
    if label is not None:
        cells = cells.of(np.isin(cells.label, label))
    if not len(cells.count):
        raise InputError(f"no cell is about class {label!r} with notion {cells.notion!r}")
    perfect: Sequence[np.ndarray] = (np.empty(0),) * 3
    if n_resamples:
        perfect = _perfect_curve(cells, n_resamples, random_state)
    arrays = cells.label, cells.count, cells.weight, cells.mean_score, cells.mean_outcome
    return ValidityCurve.of_cells(cells.notion, *arrays, perfect)


def canonical_validity(
    y_true: Any, proba: Any, cells: Any, *, sample_weight: Any = None
) -> CanonicalValidity:
    """Estimate V(eps) = P(||E[Y | cell] - E[g(X) | cell]||_1 <= eps) over rows (App. G.4).

    Base model and calibrated model are both judged on the calibrated model's cells.
    """
    return CanonicalValidity.of_cells(cell_means(y_true, proba, cells, sample_weight))


def _in_order_of(cut: BinaryProblems, problems: BinaryProblems) -> np.ndarray:
    """Scores of `problems` in the order of the entries of `cut`; both are matched by claim and row."""
    if (cut.n_samples, cut.n_claims) != (problems.n_samples, problems.n_claims):
        raise InputError(
            f"reference must be about the same rows as scores: got {cut.n_samples:,} rows and "
            f"{problems.n_samples:,} rows, {cut.n_claims} and {problems.n_claims} claims each"
        )
    (cut_keys, cut_labels), (keys, labels) = _keys(cut), _keys(problems)
    position = np.empty(len(keys), dtype=np.int64)
    position[keys] = np.arange(len(keys))
    position = position[cut_keys]
    other = (labels[position] != cut_labels) | (problems.outcomes[position] != cut.outcomes)
    if other.any():
        row = int(cut.rows[other.argmax()])
        raise InputError(
            f"reference predicts another class than scores in {int(other.sum()):,} rows, the first of them "
            f"row {row}; a validity curve compares them class by class"
        )
    return problems.scores[position]


def _keys(problems: BinaryProblems) -> tuple[np.ndarray, np.ndarray]:
    """(claim, row) of each entry as one number, and the class its problem is about."""
    owner = np.repeat(np.arange(problems.n_problems), np.diff(problems.offsets))
    keys = problems.shape.claims_of(owner) * problems.n_samples + problems.rows
    return keys, problems.shape.labels_of(owner)


def _perfect_curve(
    cells: BinStatistics, n_resamples: int, random_state: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average the curves of redrawn cells: epsilon, share of entries, share of cells."""
    (draw, width), weight, mean_score = draw_sums_of(cells), cells.weight, cells.mean_score

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
    curves: Mapping[str, ValidityCurve], *, conditional: bool = False, promises: Sequence[Promise] = ()
) -> Figure:
    """Draw V(epsilon) of each method, a perfect model's curve dotted, and the theorem's epsilons.

    The shortfall from the perfect model is shaded. `conditional` draws shares of cells; `promises` are
    vertical lines up to the promised share.
    """
    data, notes = [], []
    what = "cells" if conditional else "rows"
    shown = [promise.epsilon for promise in promises] + [
        curve.gap[np.searchsorted(curve.share, 0.99)] for curve in curves.values()
    ]
    reach = min(1.0, 1.1 * max(shown) + 0.01)
    for position, (method, curve) in enumerate(curves.items()):
        colour = method_colour(position)
        data += _perfect(curve, method, colour, conditional)
        epsilon, share = curve.steps(conditional=conditional)
        data += scatter(
            x=np.append(epsilon, 1.0),
            y=np.append(share, 1.0),
            line={"color": colour, "width": 3, "shape": "hv"},
            fill="tonexty" if len(curve.perfect_epsilon) else "none",
            fillcolor=translucent(colour, 0.2),
            name=escape(method),
            hovertemplate=f"{escape(method)}<br>%{{y:.1%}} of {what} within %{{x:.3f}}",
        )
        if not position and len(curve.perfect_epsilon):
            near = min(int(np.searchsorted(curve.perfect_share, 0.97)), len(curve.perfect_epsilon) - 1)
            notes.append(
                {
                    "x": curve.perfect_epsilon[near],
                    "y": 1.01,
                    "yanchor": "bottom",
                    "text": "dotted: if it were perfect",
                    "showarrow": False,
                    "font": {"size": 12},
                    "xanchor": "left",
                }
            )
        level = 0.7 - 0.2 * position
        reached = float(epsilon[np.searchsorted(share, level)])
        # Right of it, a narrow figure would cut the name.
        notes.append(_method_name(method, colour, reached, level, on_left=reached > 0.6 * reach))
    for position, (colour, promise) in enumerate(zip(("blue", "purple"), promises, strict=False)):
        data += _promised(promise, OKABE_ITO[colour])
        notes.append(
            {
                "x": promise.epsilon,
                "y": 0.08 + 0.08 * position,
                "xanchor": "left" if promise.epsilon < 0.6 * reach else "right",
                "text": f" {promise.name}: \u2265 {promise.share:.0%} ",
                "showarrow": False,
            }
        )
    return figure(
        data,
        height=460,
        showlegend=False,
        annotations=notes,
        xaxis={"title": "\u03b5, distance allowed from the truth", "range": [0, reach]},
        yaxis={"title": f"V(\u03b5), share of {what}", "range": [0, 1.09], "tickformat": ".0%"},
    )


def _perfect(curve: ValidityCurve, method: str, colour: str, conditional: bool) -> list[Properties]:
    """Draw the dotted curve of a perfect model, if it was computed."""
    if not len(curve.perfect_epsilon):
        return []
    what = "cells" if conditional else "rows"
    return scatter(
        x=curve.perfect_epsilon,
        y=curve.perfect_cell_share if conditional else curve.perfect_share,
        line={"color": colour, "width": 2, "dash": "dot"},
        name=f"{escape(method)}, if it were perfect",
        hovertemplate=f"A perfect model: %{{y:.1%}} of {what} within %{{x:.3f}}",
    )


def _method_name(method: str, colour: str, x: float, y: float, *, on_left: bool) -> Properties:
    return {
        "x": x,
        "y": y,
        "ax": -60 if on_left else 60,
        "ay": 24,
        "xanchor": "right" if on_left else "left",
        "text": f"<b>{escape(shorten(method))}</b>",
        "arrowcolor": colour,
        "arrowwidth": 1.5,
        "arrowhead": 0,
        "standoff": 3,
    }


def _promised(promise: Promise, colour: str) -> list[Properties]:
    """Draw a line up to the promised share."""
    return scatter(
        x=[promise.epsilon, promise.epsilon],
        y=[0, promise.share],
        line={"color": colour, "width": 2, "dash": "dash"},
        marker={"symbol": "triangle-up", "size": [0, 11]},
        name=promise.name,
        hovertemplate=f"{promise.name}: at least {promise.share:.0%}",
    )


def draw_canonical_validity(curves: Mapping[str, CanonicalValidity]) -> Figure:
    """Draw V(eps) of several predictors as steps (Fig. 12, left)."""
    data = []
    reach = max(float(np.interp(0.995, curve.share, curve.epsilon)) for curve in curves.values())
    for position, (name, curve) in enumerate(curves.items()):
        data += scatter(
            x=np.concatenate(([0.0], curve.epsilon, [2.0])),
            y=np.concatenate(([0.0], curve.share, [1.0])),
            line={"shape": "hv", "width": 2.5, "color": method_colour(position)},
            name=escape(name),
            hovertemplate=f"{escape(name)}<br>%{{y:.1%}} of rows within %{{x:.3f}}",
        )
    return figure(
        data,
        height=440,
        xaxis={"title": "Distance \u03b5 (L1)", "range": [0, reach * 1.08]},
        yaxis={"title": "Share of rows within \u03b5", "range": [-0.01, 1.03], "tickformat": ".0%"},
    )
