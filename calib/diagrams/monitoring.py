"""Calibration over time: gaps of blocks of rows before and since a change, and a monitor's evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.answers.time_changes import OverTime
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.diagrams import style
from calib.stats.bets import time_words
from calib.stats.monitor import Monitor

LINE = {"color": style.INK, "width": 2.5}


@dataclass(frozen=True, eq=False, repr=False)
class Watched(Drawn):
    """The state of a monitor, to be drawn."""

    words: str  #: Summary in one or two sentences
    alarm: bool
    log_threshold: float  #: Logarithm of the evidence that raises an alarm
    units: pd.DataFrame  #: As `Monitor.frame` gives it, "all" first, then by evidence
    curve: pd.DataFrame  #: `Monitor.over_time` of the first unit

    def frame(self) -> pd.DataFrame:
        """Return a row for each block of rows."""
        return self.curve


def monitor_diagram(monitor: Monitor) -> Watched:
    """Return the state of a monitor with rows, to be drawn."""
    units = monitor.frame()
    if units.empty:
        raise InputError("a monitor draws the rows of its count, which has none yet; `update` it first")
    units = units.iloc[np.lexsort((-units["log_evidence"].to_numpy(), units["level"] != "all"))]
    curve = monitor.over_time(units["level"].iloc[0], units["name"].iloc[0])
    threshold = float(np.log(monitor.threshold))
    return Watched(monitor.words(), monitor.alarm, threshold, units.reset_index(drop=True), curve)


def draw_watched(result: Watched) -> style.Figure:
    """Draw the gap of all rows so far with its confidence sequence, and below it the evidence."""
    curve, blue = result.curve, "rgba(0,114,178,0.18)"
    layout = style.grid(2, 1, shared_xaxes=True, vertical_spacing=0.08, row_heights=(0.62, 0.38))
    known = curve[curve["rows"].cumsum() > 0]
    data = style.area(
        _times(known["last"]), known["lower"].to_numpy(), known["upper"].to_numpy(), blue, **style.at(1)
    )
    data += style.scatter(
        x=_times(known["last"]),
        y=known["gap_so_far"].to_numpy(),
        line=LINE,
        hovertemplate="%{x}<br>all rows so far %{y:+.4f}",
        **style.at(1),
    )
    data += style.scatter(
        x=_times(curve["last"]),
        y=curve["log_evidence"].to_numpy() / np.log(10.0),
        line=LINE | {"shape": "hv"},
        hovertemplate="%{x}<br>evidence 10^%{y:.2f}",
        **style.at(2),
    )
    layout["shapes"] = [style.level(0, 1), style.level(result.log_threshold / np.log(10.0), 2)]
    top, bottom = style.axes(layout, "y")
    top["title"], bottom["title"] = "Outcomes minus scores", "log10 evidence"
    return style.figure(data, **layout, height=460)


def draw_over_time(result: OverTime) -> style.Figure:
    """Draw the gap of each block of rows, and the gap before and since the time of a change."""
    blocks, split = result.blocks, result.split
    first, last = blocks["first"], blocks["last"]
    lower, gap, upper = (blocks[name].to_numpy() for name in ("lower", "gap", "upper"))
    data = style.scatter(
        x=_times(first + (last - first) / 2),
        y=gap,
        error_y=style.interval(gap, lower, upper),
        marker={"size": 7, "color": style.hues(gap, (lower > 0.0) | (upper < 0.0))},
        customdata=(np.array(_times(first)), np.array(_times(last)), blocks["rows"].to_numpy(), lower, upper),
        hovertemplate="%{customdata[0]} to %{customdata[1]}<br>%{customdata[2]:,} rows, gap %{y:+.1%} "
        "(%{customdata[3]:+.1%} to %{customdata[4]:+.1%})",
    )
    if split.changed:
        ends = pd.Series([first.iloc[0], split.time, split.time, last.iloc[-1]])
        steps = [split.before, split.before, split.since, split.since]
        data += style.scatter(x=_times(ends), y=steps, line=LINE, hovertemplate="gap %{y:+.1%}")
    layout = style.grid(1, 1)
    layout["shapes"] = [style.level(0, 1)]
    (across,), (vertical,) = style.axes(layout, "x"), style.axes(layout, "y")
    across["nticks"] = 4  # dates stand apart on a phone
    what = "Frequency minus score" if result.kind == "binary" else "Accuracy minus confidence"
    vertical |= {"title": what, "tickformat": "+.0%"}
    return style.figure(data, **layout, height=380)


def _times(times: pd.Series) -> list[str] | list[float]:
    return [time_words(time) for time in times] if times.dtype.kind == "M" else times.tolist()
