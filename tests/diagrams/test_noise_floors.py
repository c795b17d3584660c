"""Figures of noise: floors beside observed errors, and the parts of a score."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib import decomposition, diagrams, noise_floor
from calib.datasets import load_example
from tests.figures import accepted


@pytest.fixture(scope="module")
def rows():
    return load_example("resnet").evaluation


def test_floors_draw_observed_over_mean(rows):
    floors = {
        "conf-ECE": noise_floor(rows.labels, rows, notion="confidence", random_state=0, n_resamples=99),
        "TL-MCE": noise_floor(rows.labels, rows, metric="mce", random_state=0, n_resamples=99),
    }
    figure = accepted(diagrams.draw_floors(floors))
    band, above, quiet = figure.data
    ratio = {name: floor.observed / floor.mean for name, floor in floors.items()}
    assert above.x.tolist() == [ratio["conf-ECE"]]
    assert quiet.x.tolist() == [ratio["TL-MCE"]]
    assert band.base[0] + band.x[0] == pytest.approx(
        floors["conf-ECE"].quantile(0.95) / floors["conf-ECE"].mean
    )


def test_too_few_clusters_are_neither_above_noise_nor_within_it(rows):
    few = rows.take(np.arange(600)).with_cluster(np.arange(600) // 200)
    floor = noise_floor(few, notion="confidence", n_resamples=20)
    _, above, within, untold = accepted(diagrams.draw_floors({"conf-ECE": floor})).data
    assert len(above.x) == len(within.x) == 0
    assert untold.x.tolist() == [floor.observed / floor.mean]
    assert untold.name == f"observed, {floor.untold}"


def test_parts_are_stacked(rows):
    parts = {"<b>Base</b>": decomposition(rows.labels, rows)}
    figure = accepted(diagrams.draw_decompositions(parts))
    assert [bar.x[0] for bar in figure.data] == [
        parts["<b>Base</b>"].refinement,
        parts["<b>Base</b>"].calibration,
    ]
    assert "<b>" not in json.dumps(figure.layout.yaxis.ticktext)
