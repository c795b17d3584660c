"""Classes, Imbalance and the plan of bins, driven by Streamlit's own test runner."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calib
from calib import Predictions
from pages.shared.session import Dataset
from tests.app.running import open_page, with_binning, words


def test_classes_are_ranked_searched_and_opened():
    app = open_page("pages/views/reliability.py", reliability_tab="Classes")
    table = app.dataframe[0].value
    rows = app.session_state["dataset"].evaluation
    guilty = [rows.class_names[code] for code in calib.conclude(rows).guilty]
    assert table["class"].tolist()[: len(guilty)] == guilty  # as the verdict names them
    assert table["flagged"].tolist() == [True] * len(guilty) + [False] * (10 - len(guilty))
    assert table["share"].sum() == pytest.approx(1.0)
    order = list(app.dataframe[0].proto.column_order)
    assert order[:3] == ["class", "flagged", "gap"]  # what fits beside the class
    assert sorted(order) == sorted(table.columns)
    assert "of 10** predicted classes are off" in words(app)
    assert f"`` {guilty[0]} `` is predicted for" in words(app)

    app.text_input(key="class-search").set_value("RS").run()
    assert app.dataframe[0].value["class"].tolist() == ["horse"]
    app.text_input(key="class-search").set_value("no such class").run()
    assert "No predicted class matches" in words(app)
    app.text_input(key="class-search").set_value("").run()
    app.toggle(key="only-flagged").set_value(True).run()
    assert 2 <= len(app.dataframe[0].value) < 10
    app.selectbox(key="class").set_value(4).run()
    assert "`` deer `` is predicted for" in words(app)


def test_one_chart_shows_how_a_class_is_confused():
    app = open_page("pages/views/reliability.py", reliability_tab="Classes")
    evaluation, code = app.session_state["dataset"].evaluation, app.session_state["class"]
    wrong = (evaluation.label == code) & (evaluation.labels != code)
    missed = (evaluation.label != code) & (evaluation.labels == code)
    assert 0 < wrong.sum() != missed.sum() > 0
    choice = app.segmented_control(key="confused-by")
    assert choice.options == [f"Wrongly predicted ({wrong.sum():,})", f"Missed ({missed.sum():,})"]
    name = f"`` {evaluation.class_names[code]} ``"
    assert f"Predicted {name}, true class ..." not in words(app)
    choice.set_value("class-wrong").run()
    assert f"Predicted {name}, true class ..." in words(app)
    choice.set_value("class-missed").run()
    assert f"True class {name}, predicted ..." in words(app)
    assert f"Predicted {name}, true class ..." not in words(app)


def test_the_class_wise_error_of_a_class_stands_beside_its_floor():
    app = open_page("pages/views/reliability.py", reliability_tab="Classes")
    data, code = app.session_state["dataset"].evaluation, app.session_state["class"]
    score, n_bins = np.asarray(data.proba[:, code], dtype=np.float64), app.session_state["bins"]
    cell = np.searchsorted(np.arange(1, n_bins) / n_bins, score, side="right")

    def error(happened):
        sums = np.bincount(cell, weights=happened - score, minlength=n_bins)
        return np.abs(sums).sum() / len(score)

    random = np.random.default_rng(1)
    redrawn = [error(random.random(len(score)) < score) for _ in range(400)]
    found = re.search(r"Class-wise\*\*, ECE (\S+) \(a perfect model: (\S+)\)", words(app))
    observed, mean = map(float, found.groups())
    assert observed == pytest.approx(error(data.labels == code), abs=5e-5)
    assert mean == pytest.approx(np.mean(redrawn), rel=0.06)


def test_class_without_a_score_of_its_own_is_explained():
    app = open_page("pages/views/reliability.py", reliability_tab="Classes")
    name = with_binning(app)
    app.selectbox(key="method").set_value(name).run()
    assert "scores only the predicted class" in words(app)
    assert "one bin per distinct score" in words(app)


def test_imbalance_says_what_happened_to_the_rarest_classes():
    app = open_page("pages/views/imbalance.py", example="covtype-simulated")
    text = words(app)
    assert "4 Cottonwood/Willow" in text
    assert text.count("a perfect model would show") == 2
    assert "with 100 points per bin: **" in text
    assert len(app.get("plotly_chart")) == 1
    app.slider(key="k").set_value(200).run()
    assert "k = 200 points per bin: 1 of 7 predicted classes" in words(app)


def test_imbalance_says_when_nothing_is_calibrated():
    rows = Predictions(np.random.default_rng(0).dirichlet(np.ones(3), 40), np.arange(40) % 3)
    app = open_page("pages/views/overview.py", example="two-patients")
    app.session_state["dataset"] = Dataset("small", "", False, rows, rows)
    text = words(app.switch_page("pages/views/imbalance.py").run())
    assert "Nothing is calibrated**: no predicted class has 50 calibration rows" in text
    assert "rarest calibrated" not in text
