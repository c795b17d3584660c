"""Figures of calibration over time: what a change and a monitor say, mark by mark."""

from __future__ import annotations

import numpy as np
import pytest

from calib import Monitor, over_time
from calib.diagrams import draw_over_time, draw_watched, monitor_diagram


@pytest.fixture(scope="module")
def monitor():
    random, watched = np.random.default_rng(0), Monitor()
    for day in range(6):
        proba = random.dirichlet(np.ones(3), 100)
        watched.update(random.integers(3, size=100), proba, np.full(100, f"2026-03-0{day + 1}"))
    return watched


def test_the_figure_of_a_monitor_shows_gaps_and_evidence(monitor):
    result = monitor_diagram(monitor)
    curve = monitor.over_time()
    _, line, evidence = draw_watched(result)["data"]
    assert line["y"] == curve["gap_so_far"].tolist()
    assert evidence["y"][-1] == pytest.approx(np.log10(monitor.evidence))
    assert evidence["x"][0] == "2026-03-01"
    assert result.units["log_evidence"][1:].is_monotonic_decreasing
    assert len(result.frame()) == len(monitor.blocks)
    assert len(result.plot().data) == 3


@pytest.mark.parametrize("off", [0.0, 0.3])
def test_the_figure_over_time_shows_blocks_and_both_sides(off):
    random, day = np.random.default_rng(0), np.repeat(np.arange(50), 20)
    score = random.uniform(0.5, 1.0, 1_000)
    result = over_time(random.random(1_000) < score - off * (day >= 30), score, day)
    marks, *lines = draw_over_time(result)["data"]
    assert marks["y"] == result.blocks["gap"].tolist()
    assert len(lines) == result.split.changed == (off > 0.0)
    for line in lines:
        assert line["x"] == [0.0, result.since, result.since, 49.0]
        assert line["y"][1:3] == [result.split.before, result.split.since]
    assert len(result.plot().data) == 1 + len(lines)
