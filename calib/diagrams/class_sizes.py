"""Points per bin against bins per class: top-label binning of rare classes (Appendices B.2 and F)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from calib.answers.calibrated import calibrated_scores
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.data.defaults import N_BINS, RANDOM_STATE
from calib.data.kinds import check_equal_rows, kind_of, lacks
from calib.data.predictions import Predictions, TopLabelPrediction
from calib.diagrams import style
from calib.diagrams.shared_cells import SharedCells
from calib.evidence.rows import Rows
from calib.files.findings.codes import counted
from calib.stats.floors import problem_floors

#: Predictions with a predicted class for each row.
WithClasses: TypeAlias = Predictions | TopLabelPrediction

_BASE, _HB = style.GREY, style.INK


@dataclass(frozen=True, eq=False, repr=False)
class ClassBinning(Result):
    """Top-label histogram binning, assessed class by class on the evaluation rows (Appendix F of the paper).

    Base model and calibrator are assessed on the same cells: rows of a class with the same calibrated value,
    or 15 equal-width bins of the base confidence if the class could not be calibrated.
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
    if (missing := lacks(kind_of(calibration), "notion:top-label")) is not None:
        raise InputError(missing)
    fitted = MulticlassToBinary(binary).fit(calibration, calibration.truth)
    bins = [0 if binned is None else len(binned.values_) for binned in fitted.calibrators_]
    rows = Rows(evaluation)
    after = rows.of_scores(calibrated_scores(fitted, evaluation))
    cut: dict[str, Any] = {"notion": "top-label", "n_bins": N_BINS, "strategy": after.strategy}
    cut |= {"n_resamples": n_resamples, "random_state": random_state}
    of_base, found = (problem_floors(side, **cut) for side in (SharedCells(rows, after, "top-label"), after))

    def by_class(values: np.ndarray) -> np.ndarray:
        result = np.full(evaluation.n_classes, np.nan)
        result[found.label] = values
        return result

    return ClassBinning(
        name=name,
        n_calibration=fitted.n_points_,
        n_bins=np.array(bins, dtype=np.int64),
        n_evaluation=np.bincount(evaluation.label, minlength=evaluation.n_classes),
        base_ece=by_class(of_base.observed),
        ece=by_class(found.observed),
        base_floor=by_class(of_base.mean),
        floor=by_class(found.mean),
    )


def draw_class_errors(
    side: ClassBinning, codes: Sequence[int], shares: np.ndarray, class_names: Sequence[str], limit: float
) -> style.Figure:
    """Draw the TL-ECE of classes before and after, with shares, bins and noise floors (Figure 4, right).

    `codes` are the classes to show, top to bottom; `shares`, (L,), the true classes' shares of evaluation
    rows; `limit` is the end of the error axis: give both sides the same.
    """
    chosen = np.asarray(codes, dtype=np.int64)
    y = np.arange(len(chosen))
    escaped = [style.escape(class_names[code]) for code in chosen]
    custom = escaped, 100 * shares[chosen], side.n_bins[chosen], side.n_calibration[chosen], chosen
    about = (
        "%{customdata[0]}: TL-ECE %{x:.4f}<br>%{customdata[1]:.2f} % of rows<br>"
        "%{customdata[2]} bins from %{customdata[3]:,} calibration rows"
    )
    data = []
    series = (("base model", _BASE, side.base_ece, side.base_floor), ("HB", _HB, side.ece, side.floor))
    for name, colour, errors, _ in series:
        data += style.bar(
            x=errors[chosen],
            y=y,
            orientation="h",
            name=name,
            offsetgroup=name,
            marker={"color": colour},
            customdata=custom,
            hovertemplate=f"{about}<extra>{name}</extra>",
        )
    purple = {"width": 3, "color": style.OKABE_ITO["purple"]}
    for shift, (name, _, _, floors) in zip((-0.2, 0.2), series, strict=True):
        data += style.scatter(
            x=floors[chosen],
            y=y + shift,
            marker={"symbol": "line-ns", "size": 12, "line": purple},
            name="noise floor: mean of a perfect model",
            legendgroup="floor",
            showlegend=name == "HB",
            hovertemplate=f"A perfect model would show %{{x:.4f}}<extra>{name}</extra>",
        )
    names = [style.shorten(class_names[code]) for code in chosen]
    notes = [_class_note(side, int(code), shares) for code in chosen]
    written = [
        f'{style.escape(name)}<br><span style="font-size:11px">{note}</span>'
        for name, note in zip(names, notes, strict=True)
    ]
    bare = {"showgrid": False, "ticks": ""}
    return style.figure(
        data,
        barmode="group",
        height=110 + 54 * max(len(chosen), 2),
        margin={"l": max(style.width_of(names), style.width_of(notes, 11))},
        bargap=0.28,
        bargroupgap=0.08,
        xaxis={"title": "TL-ECE of the class", "range": [0, limit * 1.05]},
        yaxis={"tickvals": y, "ticktext": written, "range": [len(chosen) - 0.5, -0.5], **bare},
    )


def _class_note(side: ClassBinning, code: int, shares: np.ndarray) -> str:
    bins = int(side.n_bins[code])
    points = 0 if not bins else round(side.points_per_bin[code])
    each = f"{counted(bins, 'bin')} of {counted(points, 'row')}" if bins else "no bins"
    return f"{100 * shares[code]:.2g} %, {each}"
