"""Binning by hand: the guarantee tightens with points per bin, and the calibrated values get fewer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from calib.answers.theorems import Guarantee, guarantee
from calib.calibrators.histogram import HistogramBinning
from calib.diagrams.style import BARS, INK, OKABE_ITO, Figure, figure, scatter, unit_axes
from pages.shared.kept import kept
from pages.shared.lessons import interaction as step
from pages.shared.widgets import chart

#: Fresh rows on which binned curves are assessed.
FRESH = 20_000
#: Points per bin that are tried for the smallest error.
POINTS_GRID = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_000)


@dataclass(frozen=True, eq=False)
class Curve:
    """Scores and outcomes of one binary problem whose truth is known."""

    scores: np.ndarray  #: (n,) float64 array: scores in [0, 1]
    outcomes: np.ndarray  #: (n,) bool array: drawn with probability `truth`
    truth: np.ndarray  #: (n,) float64 array: P(outcome | score)


@dataclass(frozen=True, eq=False)
class BinnedCurve:
    """Histogram binning fitted to a curve, assessed on fresh rows."""

    edges: np.ndarray  #: (b + 1,) float64 array: edges of the bins, from 0 to 1
    #: (b,) float64 array: calibrated score of each bin: the frequency among its calibration rows
    value: np.ndarray
    #: (b,) float64 array: mean truth of each bin's fresh rows (the curve is known); NaN if none fell in
    true_mean: np.ndarray
    count: np.ndarray  #: (b,) int64 array: calibration rows per bin
    promise: Guarantee  #: Guarantee of Theorem 1 for the smallest bin
    error: float  #: ECE of the calibrated scores against the known truth, over fresh rows

    def frame(self) -> pd.DataFrame:
        columns = {name: getattr(self, name) for name in ("count", "value", "true_mean")}
        return pd.DataFrame({"lower": self.edges[:-1], "upper": self.edges[1:], **columns})


def true_curve(scores: np.ndarray) -> np.ndarray:
    """P(outcome | score) of `bent_curve`."""
    return 0.05 + 0.85 / (1.0 + np.exp(-12.0 * (np.asarray(scores) - 0.6)))


def bent_curve(n_samples: int, seed: int = 0) -> Curve:
    """Draw a binary problem of a miscalibrated model: the truth is an S-shaped curve of the score."""
    random = np.random.default_rng(seed)
    scores = random.beta(1.6, 1.1, n_samples)
    truth = true_curve(scores)
    return Curve(scores, random.random(n_samples) < truth, truth)


def bin_curve(curve: Curve, points_per_bin: int) -> BinnedCurve:
    """Fit histogram binning with `points_per_bin` points (2 or more) and assess it on `FRESH` new rows."""
    binning = HistogramBinning(points_per_bin=points_per_bin).fit(curve.scores, curve.outcomes)
    fresh = bent_curve(FRESH, seed=1)
    position = np.searchsorted(binning.edges_, fresh.scores, side="right")
    n_bins = len(binning.values_)
    rows = np.bincount(position, minlength=n_bins)
    sums = np.bincount(position, weights=fresh.truth, minlength=n_bins)
    true_mean = np.divide(sums, rows, out=np.full(n_bins, np.nan), where=rows > 0)
    smallest = max(int(binning.counts_.min()), 2)
    return BinnedCurve(
        edges=np.concatenate(([0.0], binning.edges_, [1.0])),
        value=binning.values_,
        true_mean=true_mean,
        count=binning.counts_,
        promise=guarantee(points_per_bin=smallest, n_samples=len(curve.scores)),
        error=float(np.nansum(rows * np.abs(true_mean - binning.values_)) / FRESH),
    )


def best_points(curve: Curve) -> tuple[int, BinnedCurve]:
    """Return the number of points per bin of `POINTS_GRID` with the smallest error, and its bins."""
    tried = {k: bin_curve(curve, k) for k in POINTS_GRID if k <= len(curve.scores)}
    return min(tried.items(), key=lambda each: each[1].error)


def binned_curve(curve: Curve, binned: BinnedCurve) -> Figure:
    """Draw the steps of histogram binning with their guarantee, and the known curve."""
    data = []
    x, y = np.repeat(binned.edges, 2)[1:-1], np.repeat(binned.value, 2)
    low, high = (np.clip(y + side * binned.promise.marginal, 0, 1) for side in (-1, 1))
    data += scatter(x=x, y=low, line={"width": 0})
    data += scatter(
        x=x,
        y=high,
        line={"width": 0},
        fill="tonexty",
        fillcolor="rgba(86,180,233,0.30)",
        name="guarantee, \u00b1 \u03b5\u2081",
    )
    data += scatter(
        x=curve.scores[:MAX_TICKS],
        y=np.where(curve.outcomes[:MAX_TICKS], 1.03, -0.03),
        marker={"symbol": "line-ns", "size": 9, "line": {"width": 1, "color": BARS}},
        name="calibration rows: wrong 0, right 1",
    )
    places = np.linspace(0, 1, 201)
    data += scatter(
        x=places,
        y=true_curve(places),
        line={"color": OKABE_ITO["green"], "width": 3, "dash": "dash"},
        name="truth (known: simulated)",
        hovertemplate="score %{x:.2f}: truly right %{y:.3f}",
    )
    data += scatter(
        x=x,
        y=y,
        line={"color": INK, "width": 3.5},
        name="histogram binning",
        customdata=np.repeat(binned.count, 2)[:, None].tolist(),
        hovertemplate="calibrated %{y:.3f}, from %{customdata[0]:,} rows",
    )
    layout = unit_axes(data, "Score of the model", "Right", step.LESSON_HEIGHT + 60)
    layout["yaxis"]["range"] = [-0.07, 1.07]
    layout["legend"] = {"x": 0.01, "y": 0.93, "yanchor": "top", "bgcolor": "rgba(0,0,0,0)"}
    layout["legend"]["orientation"] = "v"
    layout["margin"] = {"t": 12}
    return figure(data, **layout, font={"size": step.TEXT})


ROWS = (200, 500, 1_000, 2_000, 5_000)
MAX_TICKS = 400


def show() -> None:
    guessed = step.guess(
        "guess_binning",
        "Each row gets the frequency with which its bin was right. **How many points per bin give the "
        "smallest ECE?**",
        ("few", "some dozens", "as many as possible"),
    )
    if guessed is None:
        return
    drawn, side = st.columns([3, 1], gap="medium")
    with side:
        n_rows = st.select_slider("Calibration rows n", ROWS, 1_000, key="rows", bind="query-params")
        k = min(st.slider("Points per bin k", 5, 500, 50, 5, key="points", bind="query-params"), n_rows)
    curve = bent_curve(n_rows)
    binned = bin_curve(curve, k)
    with drawn:
        chart(
            binned_curve(curve, binned),
            "binning-fit",
            table=binned.frame,
            alt="Steps of histogram binning, with the guarantee as a band, over the known curve",
        )
    points, best = _best(n_rows)
    values = f"{len(best.value)} value{'s' if len(best.value) > 1 else ''}"
    st.markdown(
        f"**{points}** of {n_rows:,}: ECE {best.error:.3f}, but all rows share {values}. With {k}, ECE is "
        f"**{binned.error:.3f}**; without knowing the truth, Theorem 1 promises at most "
        f"**{binned.promise.marginal:.3f}** per bin with probability 90 %."
    )
    step.own_data("pages/views/repair.py", "Repair")


@kept()
def _best(n_rows: int) -> tuple[int, BinnedCurve]:
    return best_points(bent_curve(n_rows))
