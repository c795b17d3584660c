"""What a perfect model shows by chance, by rows and classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import ndtr

from calib.data.predictions import Predictions
from calib.datasets.simulated import draw_labels
from calib.diagrams.style import GREY, INK, Figure, figure, scatter
from calib.stats.floors import noise_floor, perfect_words
from pages.shared.kept import kept
from pages.shared.lessons import interaction as step
from pages.shared.widgets import chart

#: Rows and classes for which the floor of a perfect model is drawn.
ROW_COUNTS = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
CLASS_COUNTS = (3, 10, 30, 100)
N_BINS = 10


def perfect_rows(n_samples: int, n_classes: int) -> Predictions:
    """Return probabilities with labels drawn from them: a perfectly calibrated model.

    The probabilities are the first `n_samples` rows of one population for each `n_classes`.
    """
    random = np.random.default_rng(n_classes)
    draws = random.normal(0.0, 1.0, (n_samples, n_classes + 2))
    favoured = np.minimum((ndtr(draws[:, -1]) * n_classes).astype(np.int64), n_classes - 1)
    logits = draws[:, :n_classes]
    logits[np.arange(n_samples), favoured] += 3.5 + 2.0 * draws[:, -2] + 0.3 * np.log(n_classes)
    proba = Predictions.from_logits(logits).proba
    return Predictions(proba, draw_labels(proba, np.random.default_rng((n_classes, 0))))


def perfect_curve(n_classes: int, *, n_resamples: int = 100) -> pd.DataFrame:
    """Return mean and 95 % quantile of a perfect model's TL-ECE for `ROW_COUNTS`."""
    rows = perfect_rows(max(ROW_COUNTS), n_classes)
    floors = [noise_floor(rows.take(slice(0, n)), n_bins=N_BINS, n_resamples=n_resamples) for n in ROW_COUNTS]
    return pd.DataFrame(
        {
            "n_classes": n_classes,
            "n_samples": ROW_COUNTS,
            "tl_ece_mean": [floor.mean for floor in floors],
            "tl_ece_q95": [floor.quantile(0.95) for floor in floors],
        }
    )


def perfect_curves(curves: Sequence[pd.DataFrame], chosen: int, n_samples: int) -> Figure:
    """Draw TL-ECE of a perfect model against its rows, a line per number of classes."""
    data = []
    styles = ((GREY, "dot"), (GREY, "dash"), (INK, "dash"), (INK, "solid"))
    for curve, (colour, dash) in zip(curves, styles, strict=True):
        classes = int(curve["n_classes"].iloc[0])
        data += scatter(
            x=curve["n_samples"].to_numpy(),
            y=curve["tl_ece_mean"].to_numpy(),
            line={"color": colour, "dash": dash, "width": 5 if classes == chosen else 2.5},
            name=f"L = {classes}",
            hovertemplate=f"{classes} classes, %{{x:,}} rows<br>mean TL-ECE of a perfect model %{{y:.3f}}",
        )
    line = {"color": GREY, "width": 4}
    upright = {"type": "line", "x0": n_samples, "x1": n_samples, "y0": 0, "y1": 1, "yref": "y domain"}
    ends = [float(np.log10(ROW_COUNTS[0] / 1.2)), float(np.log10(ROW_COUNTS[-1] * 1.2))]
    return figure(
        data,
        height=step.LESSON_HEIGHT,
        font={"size": step.TEXT},
        shapes=[{**upright, "line": line}],
        xaxis={"title": "Rows n", "type": "log", "tickvals": list(ROW_COUNTS), "range": ends},
        yaxis={"title": "TL-ECE of a perfect model", "rangemode": "tozero"},
    )


def show() -> None:
    guessed = step.guess(
        "guess_noise",
        "Labels are drawn from this model's own probabilities: its true TL-ECE is 0. "
        "**What will 1,000 rows of 10 classes show?**",
        ("0", "about 0.02", "0.05 or more"),
    )
    if guessed is None:
        return
    drawn, side = st.columns([3, 1], gap="medium")
    with side:
        classes = st.segmented_control(
            "Classes L", CLASS_COUNTS, default=10, required=True, key="L", bind="query-params"
        )
        n_rows = st.select_slider("Rows n", ROW_COUNTS, 1_000, key="n", bind="query-params")
    curves = [_curve(n_classes) for n_classes in CLASS_COUNTS]
    with drawn:
        chart(
            perfect_curves(curves, classes, n_rows),
            "noise-curves",
            table=lambda: pd.concat(curves),
            alt="TL-ECE of a perfect model against the number of rows, a line per number of classes",
        )
    shown = curves[CLASS_COUNTS.index(classes)].set_index("n_samples").loc[n_rows]
    perfect = perfect_words(shown["tl_ece_mean"], shown["tl_ece_q95"], 3)
    st.markdown(
        f"With {classes} classes and {n_rows:,} rows {perfect}. Read an estimate beside this noise floor."
    )
    step.own_data("pages/views/overview.py", "Overview", overview_tab="How sure is each number?")


@kept()
def _curve(n_classes: int) -> pd.DataFrame:
    with st.spinner("Redrawing labels ..."):
        return perfect_curve(n_classes)
