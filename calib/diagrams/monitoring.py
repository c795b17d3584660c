"""Calibration over time: gaps with their confidence sequences, and the evidence with its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.base.results import Drawn
from calib.data.notions import Notion
from calib.data.predictions import Scores, Values
from calib.diagrams.style import (
    OKABE_ITO,
    Figure,
    Properties,
    area,
    at,
    axes,
    escape,
    figure,
    grid,
    level,
    scatter,
    shorten,
    small_multiples,
)
from calib.evidence.rows import Rows, Source
from calib.stats.monitor import Monitor

#: Most marks of a chart, for which blocks of rows are joined, most units side by side, and most with a curve.
MOST_MARKS, ACROSS, MAX_CURVES = 60, 3, 50


@dataclass(frozen=True, eq=False, repr=False)
class OverTime(Drawn):
    """The history of a monitor, to be drawn."""

    words: str  #: Summary in one or two sentences
    alarm: bool
    log_threshold: float  #: Logarithm of the evidence that raises an alarm
    units: pd.DataFrame  #: As `Monitor.frame` gives it, "all" first, then by evidence
    #: `Monitor.over_time` of the first units, at most `MAX_CURVES`
    curves: tuple[pd.DataFrame, ...]

    def frame(self) -> pd.DataFrame:
        """Return a row for each block of rows, by unit with a curve."""
        parts = [
            curve.assign(level=level, name=name)
            for level, name, curve in zip(self.units["level"], self.units["name"], self.curves, strict=False)
        ]
        return pd.concat(parts, ignore_index=True)


def monitor_diagram(monitor: Monitor) -> OverTime:
    """Return the history of a monitor with rows, to be drawn."""
    units = monitor.frame()
    by_evidence = np.lexsort((-units["log_evidence"].to_numpy(), units["level"] != "all"))
    units = units.iloc[by_evidence].reset_index(drop=True)
    first = units.head(MAX_CURVES)
    curves = tuple(
        monitor.over_time(level, name) for level, name in zip(first["level"], first["name"], strict=True)
    )
    return OverTime(monitor.words(), monitor.alarm, float(np.log(monitor.threshold)), units, curves)


def watch_rows(
    y_true: Source,
    scores: Scores | None = None,
    time: Values | None = None,
    *,
    notion: Notion,
    tolerance: float = 0.0,
    alpha: float = 0.05,
    cluster: Values | None = None,
) -> OverTime:
    """Return the history of a monitor of these rows, in the order of their times; see `calib.Monitor`."""
    monitor = Monitor(notion=notion, tolerance=tolerance, alpha=alpha)
    rows = y_true.predictions if isinstance(y_true, Rows) else y_true
    return monitor_diagram(monitor.update(rows, scores, time, cluster=cluster))


def draw_over_time(result: OverTime) -> Figure:
    """Draw the gap of the first unit with its confidence sequence, and below it the evidence."""
    curve = result.curves[0]
    layout = grid(2, 1, shared_xaxes=True, vertical_spacing=0.08, row_heights=(0.62, 0.38))
    data = _gaps(curve, 1)
    data += scatter(
        x=_times(curve),
        y=curve["log_evidence"].to_numpy() / np.log(10.0),
        line={"color": OKABE_ITO["blue"], "width": 2.5, "shape": "hv"},
        hovertemplate="%{x}<br>evidence 10^%{y:.2f}",
        **at(2),
    )
    limit = result.log_threshold / np.log(10.0)
    layout["shapes"] = [level(0, 1), level(limit, 2)]
    top, bottom = axes(layout, "y")
    top["title"], bottom["title"] = "Outcomes minus scores", "log10 evidence"
    return figure(data, **layout, height=460)


def draw_units_over_time(result: OverTime, shown: Sequence[int]) -> Figure:
    """Draw the gaps of some units over time, each on axes of its own."""
    names = [escape(shorten(str(result.units["name"].iloc[unit]), 18)) for unit in shown]
    layout, data = small_multiples(names, ACROSS, 0.05), []
    for axis in axes(layout, "x"):
        axis["nticks"] = 3
    for place, shown_curve in enumerate(shown, start=1):
        data += _gaps(result.curves[shown_curve], place)
        layout["shapes"].append(level(0, place))
    return figure(data, **layout)


def _times(curve: pd.DataFrame) -> list[str] | list[float]:
    last = curve["last"]
    return [str(moment) for moment in last] if last.dtype.kind == "M" else last.tolist()


def _gaps(curve: pd.DataFrame, place: int) -> list[Properties]:
    known = curve[curve["rows"].cumsum() > 0]
    times = _times(known)
    ends = known["lower"].to_numpy(), known["upper"].to_numpy()
    band = area(times, *ends, "rgba(0,114,178,0.18)", **at(place))
    line = scatter(
        x=times,
        y=known["gap_so_far"].to_numpy(),
        line={"color": OKABE_ITO["blue"], "width": 2.5},
        hovertemplate="%{x}<br>all rows so far %{y:+.4f}",
        **at(place),
    )
    together = np.arange(len(known)) * MOST_MARKS // max(len(known), MOST_MARKS)
    sums = pd.DataFrame({"rows": known["rows"], "total": known["rows"] * known["gap"].fillna(0.0)})
    sums = sums.groupby(together).sum()
    last = pd.Series(times).groupby(together).last()
    marks = scatter(
        x=last.tolist(),
        y=(sums["total"] / sums["rows"].where(sums["rows"] > 0)).to_numpy(),
        marker={"size": 7, "color": OKABE_ITO["vermillion"]},
        customdata=(sums["rows"].to_numpy(),),
        hovertemplate="to %{x}<br>%{customdata[0]:,} rows %{y:+.4f}",
        **at(place),
    )
    return band + line + marks
