"""The figure of smoothed calibration curves: observed frequency against P(Y = 1)."""

from __future__ import annotations

import numpy as np

from calib.diagrams import style
from calib.stats.smoothed import LoessCurve, SmoothedCurve

#: Colours by smoother.
COLOURS = {"loess": style.INK, "isotonic": style.OKABE_ITO["purple"]}

#: Bars of the distribution of the scores, and the height of the highest.
N_BARS, HEIGHT = 50, 0.12


def draw_smoothed(*curves: SmoothedCurve, event: str = "Y = 1") -> style.Figure:
    """Draw smoothed curves of the same rows, the band of a loess curve, and the distribution of the scores.

    `event` names the class whose probability is given.
    """
    data: list[style.Properties] = []
    for curve in curves:
        x, y = curve.steps() if curve.smoother == "isotonic" else (curve.score, curve.frequency)
        colour = COLOURS[curve.smoother]
        if isinstance(curve, LoessCurve):
            band = style.translucent(style.GREY, 0.25)
            name = f"{curve.level:.0%} interval at each score"
            data += style.area(x.tolist(), curve.lower, curve.upper, band, name=name, hoverinfo="skip")
        data += style.scatter(
            x=x,
            y=y,
            line={"color": colour, "width": 2.5, "shape": "hv" if curve.smoother == "isotonic" else "linear"},
            name=f"{curve.smoother}: ICI {curve.ici:.4f}",
            hovertemplate=f"expected %{{x:.3f}}, observed %{{y:.3f}} ({curve.smoother})",
        )
    share, edges = np.histogram(curves[0].score, N_BARS, (0.0, 1.0), weights=curves[0].weight)
    heights = HEIGHT * share / share.max()
    middle = np.repeat((edges[1:] + edges[:-1]) / 2.0, 3)
    bars = np.column_stack([np.zeros(N_BARS), heights, np.full(N_BARS, np.nan)]).ravel()
    data += style.scatter(
        x=middle,
        y=bars,
        line={"color": style.GREY, "width": 3},
        name="distribution of P(Y = 1)",
        hoverinfo="skip",
    )
    return style.figure(
        data, **style.unit_axes(data, f"Expected: score of {event}", f"Observed: frequency of {event}")
    )
