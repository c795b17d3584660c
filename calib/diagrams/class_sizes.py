"""Points per bin against bins per class: top-label binning of rare classes (Appendices B.2 and F)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from calib.answers.calibrated import calibrated_scores
from calib.base.exceptions import InputError
from calib.base.results import Drawn, Result
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.data.defaults import N_BINS, RANDOM_STATE
from calib.data.kinds import check_equal_rows, kind_of, lacks
from calib.data.predictions import Predictions, TopLabelPrediction
from calib.diagrams.shared_cells import SharedCells
from calib.diagrams.style import (
    OKABE_ITO,
    Figure,
    at,
    axes,
    bar,
    diagonal,
    escape,
    faint,
    figure,
    grid,
    marks,
    scatter,
    shorten,
    width_of,
)
from calib.diagrams.validity_plots import ValidityCurve
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Rows
from calib.stats.errors import ece
from calib.stats.floors import noise_floor, problem_floors

#: Predictions with a predicted class for each row.
WithClasses: TypeAlias = Predictions | TopLabelPrediction

_BASE, _HB = OKABE_ITO["orange"], OKABE_ITO["green"]


@dataclass(frozen=True, eq=False, repr=False)
class ClassBinning(Result):
    """Top-label histogram binning, assessed class by class on the evaluation rows (Appendix F of the paper).

    Base model and calibrator are assessed on the same cells: rows of a class with the same calibrated value,
    or 15 equal-width bins of the base confidence if the class could not be calibrated. Cells are ordered by
    class and calibrated confidence.
    """

    name: str  #: "k = 100 points per bin" or "B = 50 bins per class"
    n_calibration: np.ndarray  #: (L,) int64: Calibration rows of each predicted class
    n_bins: np.ndarray  #: (L,) int64: Bins of each class; 0 if it could not be calibrated
    n_evaluation: np.ndarray  #: (L,) int64: Evaluation rows of each predicted class
    #: (L,) float64: TL-ECE of each class, base model and calibrated; NaN if it is never predicted
    base_ece: np.ndarray
    ece: np.ndarray
    #: (L,) float64: Mean TL-ECE that a perfect model with the same scores would show on the same cells
    base_floor: np.ndarray
    floor: np.ndarray
    cells: BinStatistics  #: Cells of the calibrated confidence
    base_cells: BinStatistics  #: The same cells with the base model's confidence

    @property
    def points_per_bin(self) -> np.ndarray:
        """Mean calibration rows per bin of each class, (L,) float64; NaN without bins."""
        empty = np.full(len(self.n_bins), np.nan)
        return np.divide(self.n_calibration, self.n_bins, out=empty, where=self.n_bins > 0)

    def frame(self, class_names: tuple[str, ...] | None = None) -> pd.DataFrame:
        """Return one row per class, with its name if there are `class_names`."""
        return pd.DataFrame(
            {
                "class": np.arange(len(self.n_bins)) if class_names is None else class_names,
                "calibration rows": self.n_calibration,
                "bins": self.n_bins,
                "points per bin": self.points_per_bin,
                "evaluation rows": self.n_evaluation,
                "TL-ECE base": self.base_ece,
                "TL-ECE base, perfect model": self.base_floor,
                "TL-ECE HB": self.ece,
                "TL-ECE HB, perfect model": self.floor,
            }
        )

    def cells_frame(self, class_names: tuple[str, ...]) -> pd.DataFrame:
        """Return one row per cell."""
        return pd.DataFrame(
            {
                "class": [class_names[code] for code in self.cells.label],
                "rows": self.cells.count,
                "base confidence": self.base_cells.mean_score,
                "HB confidence": self.cells.mean_score,
                "accuracy": self.cells.mean_outcome,
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class BinPlan(Drawn):
    """Numbers of bins of the classes for each k, and the TL-ECE on the evaluation rows."""

    points_per_bin: np.ndarray  #: (K,) int64: The k tried
    #: (K, L) int64: Bins of each class for each k; 0 if the class keeps its base scores
    n_bins: np.ndarray
    n_calibration: np.ndarray  #: (L,) int64: Calibration rows of each predicted class
    covered: np.ndarray  #: (K,) float64: Share of the evaluation rows whose predicted class is calibrated
    #: (K,) float64: TL-ECE on the evaluation rows over 15 equal-width bins, the same bins for every k
    tl_ece: np.ndarray
    base_tl_ece: float  #: TL-ECE of the base model
    floor: float  #: Mean TL-ECE of a perfectly calibrated model with the base model's scores

    def class_counts(self) -> pd.DataFrame:
        """Count the classes without a bin, with 1, 2 to 4, and 5 or more bins, one row per k."""
        groups = {"none": (0, 0), "1": (1, 1), "2 to 4": (2, 4), "5 or more": (5, np.inf)}
        counts = {
            name: ((self.n_bins >= low) & (self.n_bins <= high)).sum(axis=1)
            for name, (low, high) in groups.items()
        }
        return pd.DataFrame(counts, index=pd.Index(self.points_per_bin, name="points per bin"))

    def frame(self) -> pd.DataFrame:
        """Return one row per k."""
        table = self.class_counts().add_prefix("classes with bins: ").reset_index()
        return table.assign(
            **{
                "bins in all": self.n_bins.sum(axis=1),
                "rows covered": self.covered,
                "TL-ECE": self.tl_ece,
                "TL-ECE base": self.base_tl_ece,
                "TL-ECE base, perfect model": self.floor,
            }
        )


def class_binning(
    calibration: WithClasses,
    evaluation: WithClasses,
    *,
    points_per_bin: int | None = None,
    n_bins: int | None = None,
    n_resamples: int = 200,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
) -> ClassBinning:
    """Fit top-label histogram binning and assess every class of the evaluation rows.

    Parameters
    ----------
    calibration, evaluation : Predictions or TopLabelPrediction
        Labelled, unweighted rows to fit on and to assess on.
    points_per_bin, n_bins : int
        Exactly one of the two: k points per bin (Algorithm 8), or B bins for every class.
    n_resamples, random_state
        As for `calib.noise_floor`.
    """
    if (points_per_bin is None) == (n_bins is None):
        raise InputError(f"give either points_per_bin or n_bins; got {points_per_bin!r} and {n_bins!r}")
    if points_per_bin is None:
        name, binary = f"B = {n_bins} bins per class", HistogramBinning(n_bins=n_bins)
    else:
        name, binary = f"k = {points_per_bin} points per bin", HistogramBinning(points_per_bin=points_per_bin)
    for given in (calibration, evaluation):
        check_equal_rows(given, "A comparison of bins by class")
    fitted, bins = _fit(calibration, binary)
    rows = Rows(evaluation)
    after = rows.of_scores(calibrated_scores(fitted, evaluation))
    sides = SharedCells(rows, after, "top-label"), after
    cut: dict[str, Any] = {"notion": "top-label", "n_bins": N_BINS, "strategy": after.strategy}
    before, cells = (side.cells(**cut) for side in sides)
    cut |= {"n_resamples": n_resamples, "random_state": random_state}
    of_base, found = (problem_floors(side, **cut) for side in sides)

    def by_class(values: np.ndarray) -> np.ndarray:
        result = np.full(evaluation.n_classes, np.nan)
        result[found.label] = values
        return result

    return ClassBinning(
        name=name,
        n_calibration=fitted.n_points_,
        n_bins=bins,
        n_evaluation=np.bincount(evaluation.label, minlength=evaluation.n_classes),
        base_ece=by_class(of_base.observed),
        ece=by_class(found.observed),
        base_floor=by_class(of_base.mean),
        floor=by_class(found.mean),
        cells=cells,
        base_cells=before,
    )


def plan_bins(
    calibration: WithClasses, evaluation: WithClasses, *, points_per_bin: Iterable[int] = range(20, 201, 20)
) -> BinPlan:
    """Try several k for top-label histogram binning.

    Parameters as for `class_binning`; `points_per_bin` are the k to try.
    """
    tried = np.array(list(points_per_bin), dtype=np.int64)
    for rows in (calibration, evaluation):
        check_equal_rows(rows, "The plan of bins")
    bins, covered, errors = [], [], []
    for k in tried:
        fitted, n_bins = _fit(calibration, HistogramBinning(points_per_bin=int(k)))
        bins.append(n_bins)
        covered.append(np.mean(n_bins[evaluation.label] > 0))
        errors.append(ece(calibrated_scores(fitted, evaluation), strategy="uniform"))
    base = noise_floor(evaluation, strategy="uniform", n_resamples=200)
    return BinPlan(
        points_per_bin=tried,
        n_bins=np.array(bins),
        n_calibration=np.bincount(calibration.label, minlength=calibration.n_classes),
        covered=np.array(covered),
        tl_ece=np.array(errors),
        base_tl_ece=base.observed,
        floor=base.mean,
    )


def _fit(calibration: WithClasses, binary: HistogramBinning) -> tuple[MulticlassToBinary, np.ndarray]:
    if (missing := lacks(kind_of(calibration), "notion:top-label")) is not None:
        raise InputError(missing)
    fitted = MulticlassToBinary(binary).fit(calibration, calibration.truth)
    bins = [0 if binned is None else len(binned.values_) for binned in fitted.calibrators_]
    return fitted, np.array(bins, dtype=np.int64)


def draw_class_errors(
    side: ClassBinning, codes: Sequence[int], shares: np.ndarray, class_names: Sequence[str], limit: float
) -> Figure:
    """Draw the TL-ECE of classes before and after, with shares, bins and noise floors (Figure 4, right).

    `codes` are the classes to show, top to bottom; `shares`, (L,), the true classes' shares of evaluation
    rows; `limit` is the end of the error axis: give both sides the same.
    """
    chosen = np.asarray(codes, dtype=np.int64)
    y = np.arange(len(chosen))
    escaped = [escape(class_names[code]) for code in chosen]
    custom = escaped, 100 * shares[chosen], side.n_bins[chosen], side.n_calibration[chosen], chosen
    about = (
        "%{customdata[0]}: TL-ECE %{x:.4f}<br>%{customdata[1]:.2f} % of rows<br>"
        "%{customdata[2]} bins from %{customdata[3]:,} calibration rows"
    )
    data = []
    series = (("base model", _BASE, side.base_ece, side.base_floor), ("HB", _HB, side.ece, side.floor))
    for name, colour, errors, _ in series:
        data += bar(
            x=errors[chosen],
            y=y,
            orientation="h",
            name=name,
            offsetgroup=name,
            marker={"color": colour},
            customdata=custom,
            hovertemplate=f"{about}<extra>{name}</extra>",
        )
    for shift, (name, _, _, floors) in zip((-0.2, 0.2), series, strict=True):
        data += scatter(
            x=floors[chosen],
            y=y + shift,
            marker={"symbol": "line-ns", "size": 12, "line": {"width": 3, "color": OKABE_ITO["purple"]}},
            name="noise floor: mean of a perfect model",
            legendgroup="floor",
            showlegend=name == "HB",
            hovertemplate=f"A perfect model would show %{{x:.4f}}<extra>{name}</extra>",
        )
    names = [shorten(class_names[code]) for code in chosen]
    notes = [_class_note(side, int(code), shares) for code in chosen]
    return figure(
        data,
        barmode="group",
        height=110 + 54 * max(len(chosen), 2),
        margin={"l": max(width_of(names), width_of(notes, 11))},
        bargap=0.28,
        bargroupgap=0.08,
        xaxis={"title": "TL-ECE of the class", "range": [0, limit * 1.05]},
        yaxis={
            "tickvals": y,
            "ticktext": [
                f'{escape(name)}<br><span style="font-size:11px">{note}</span>'
                for name, note in zip(names, notes, strict=True)
            ],
            "range": [len(chosen) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "",
        },
    )


def draw_class_panels(
    side: ClassBinning, codes: Sequence[int], class_names: Sequence[str], eps: float
) -> Figure:
    """Draw reliability diagram and validity plot of each class, one row per class (Figures 4 and 9).

    As `draw_class_errors`; `eps` is the end of the validity plots' axis.
    """
    codes = [int(code) for code in codes]
    titles = tuple(
        text for code in codes for text in (f"Predicted {escape(shorten(class_names[code], 18))}", "Validity")
    )
    data = []
    layout = grid(
        len(codes),
        2,
        titles,
        title_size=13,
        shared_xaxes="columns",
        vertical_spacing=0.22 / len(codes),
        horizontal_spacing=0.18,
    )
    x_axes, y_axes = axes(layout, "x"), axes(layout, "y")
    layout["shapes"] = [diagonal(2 * row + 1) for row in range(len(codes))]
    for row, code in enumerate(codes):
        own = side.cells.label == code
        for name, colour, symbol, every in (
            ("base model", _BASE, "circle", side.base_cells),
            ("HB", _HB, "diamond", side.cells),
        ):
            cells = every.of(own)
            data += scatter(
                x=cells.mean_score,
                y=cells.mean_outcome,
                marker=marks(faint(colour, cells.count), 7, symbol),
                name=name,
                legendgroup=name,
                showlegend=row == 0,
                customdata=(cells.count,),
                hovertemplate="confidence %{x:.3f}, accuracy %{y:.3f}<br>%{customdata[0]:,} rows"
                f"<extra>{name}</extra>",
                **at(2 * row + 1),
            )
            steps, share = ValidityCurve.of_cells(cells).steps()
            data += scatter(
                x=np.append(steps, max(1.0, steps[-1])),
                y=np.append(share, share[-1]),
                line={"color": colour, "width": 2.5, "shape": "hv"},
                legendgroup=name,
                hovertemplate="%{y:.1%} of rows within %{x:.3f}" + f"<extra>{name}</extra>",
                **at(2 * row + 2),
            )
    for axis in (*x_axes[::2], *y_axes):
        axis.update(range=[-0.03, 1.05], dtick=0.5, tickformat=".0%")
    for epsilon_axis, accuracy_axis in zip(x_axes[1::2], y_axes[::2], strict=True):
        epsilon_axis.update(range=[0, eps], nticks=4)
        accuracy_axis["title"] = "accuracy"
    x_axes[-2]["title"], x_axes[-1]["title"] = "confidence", "\u03b5"
    legend = {"y": 1 + 34 / (210 * len(codes))}
    return figure(data, **layout, height=130 + 210 * len(codes), legend=legend, margin={"t": 80})


def draw_bin_plan(plan: BinPlan) -> Figure:
    """Draw, for each k, how many classes get how many bins, and the TL-ECE on the evaluation rows."""
    data = []
    counts = plan.class_counts()
    colours = ("rgba(138,144,153,0.55)", OKABE_ITO["sky"], OKABE_ITO["blue"], "#00456B")
    for group, colour in zip(counts.columns, colours, strict=True):
        words = (
            "no bin (scores unchanged)" if group == "none" else f"{group} bin{'' if group == '1' else 's'}"
        )
        data += bar(
            x=plan.points_per_bin,
            y=counts[group].to_numpy(),
            name=words,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"k = %{{x}}: %{{y:,}} classes with {words}",
            **at(1),
        )
    lines = (
        ("after calibration", plan.tl_ece, "solid", _HB),
        ("base model", np.full(len(plan.tl_ece), plan.base_tl_ece), "dash", _BASE),
        ("noise floor of the base model", np.full(len(plan.tl_ece), plan.floor), "dot", OKABE_ITO["grey"]),
    )
    for name, values, dash, colour in lines:
        data += scatter(
            x=plan.points_per_bin,
            y=values,
            mode="lines+markers" if dash == "solid" else "lines",
            line={"color": colour, "dash": dash, "width": 2.5},
            name=name,
            hovertemplate=f"k = %{{x}}: TL-ECE %{{y:.4f}}<extra>{name}</extra>",
            **at(2),
        )
    layout = grid(2, 1, shared_xaxes=True, vertical_spacing=0.08, row_heights=(0.5, 0.5))
    layout["yaxis"]["title"] = "Classes"
    layout["yaxis2"].update(title="TL-ECE", rangemode="tozero")
    layout["xaxis2"]["title"] = "Points per bin k"
    legend = {"traceorder": "normal"}
    return figure(data, **layout, barmode="stack", height=520, bargap=0.25, legend=legend)


def _class_note(side: ClassBinning, code: int, shares: np.ndarray) -> str:
    bins = int(side.n_bins[code])
    points = 0 if not bins else round(side.points_per_bin[code])
    each = f"{_several(bins, 'bin')} of {_several(points, 'row')}" if bins else "no bins"
    return f"{100 * shares[code]:.2g} %, {each}"


def _several(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
