"""Figures of calibration over time: what a monitor says, mark by mark."""

from __future__ import annotations

import numpy as np
import pytest

from calib import Monitor
from calib.diagrams import draw_over_time, draw_units_over_time, monitor_diagram


@pytest.fixture(scope="module")
def monitor():
    random, watched = np.random.default_rng(0), Monitor()
    for day in range(6):
        proba = random.dirichlet(np.ones(3), 100)
        watched.update(random.integers(3, size=100), proba, np.full(100, f"2026-03-0{day + 1}"))
    return watched


def test_the_figure_shows_gaps_and_evidence(monitor):
    result = monitor_diagram(monitor)
    curve = monitor.over_time()
    _, line, marks, evidence = draw_over_time(result)["data"]
    assert line["y"] == curve["gap_so_far"].tolist()
    assert marks["y"] == pytest.approx(curve["gap"].tolist())
    assert evidence["y"][-1] == pytest.approx(np.log10(monitor.evidence))
    assert evidence["x"][0] == "2026-03-01 00:00:00"
    assert len(result.plot().data) == 4


def test_each_unit_has_axes_of_its_own(monitor):
    result = monitor_diagram(monitor)
    data = draw_units_over_time(result, [1, 3])["data"]
    assert {trace["xaxis"] for trace in data} == {"x", "x2"}
    level, name = result.units[["level", "name"]].iloc[1]
    assert data[1]["y"] == monitor.over_time(level, name)["gap_so_far"].tolist()
    assert result.units["log_evidence"][1:].is_monotonic_decreasing
    assert len(result.frame()) == 4 * len(monitor.blocks)
