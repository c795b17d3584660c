"""The classes of Reliability, Imbalance and the plan of bins, driven by Streamlit's own test runner."""

from __future__ import annotations

import json

import numpy as np

import calib
from calib import Predictions
from pages.shared.session import Dataset
from tests.app.running import open_page, open_tab, with_binning, words


def test_classes_are_ranked_searched_and_opened():
    app = open_page("pages/views/reliability.py")
    assert "of 10** predicted classes are off" in words(app)
    assert "`` horse `` is predicted for" in words(app)
    open_tab(app, "reliability_tab", "All classes")
    table = app.dataframe[0].value
    rows = app.session_state["dataset"].evaluation
    guilty = [rows.class_names[code] for code in calib.conclude(rows).guilty]
    assert table["class"].tolist()[: len(guilty)] == guilty  # as the verdict names them
    assert table["flagged"].tolist() == [True] * len(guilty) + [False] * (10 - len(guilty))
    assert guilty[0] == "horse"
    assert table["predicted"].sum() == rows.n_samples

    app.selectbox(key="class").set_value(4).run()
    open_tab(app, "reliability_tab", "Class or bin")
    assert "`` deer `` is predicted for" in words(app)


def test_a_sentence_says_how_a_class_is_confused():
    app = open_page("pages/views/reliability.py")
    evaluation, code = app.session_state["dataset"].evaluation, app.session_state["class"]
    wrong = (evaluation.label == code) & (evaluation.labels != code)
    missed = (evaluation.label != code) & (evaluation.labels == code)
    assert 0 < wrong.sum() != missed.sum() > 0
    name = f"`` {evaluation.class_names[code]} ``"
    most = int(np.bincount(evaluation.labels[wrong]).argmax())
    other, rows = f"`` {evaluation.class_names[most]} ``", np.sum(evaluation.labels[wrong] == most)
    assert f"**{wrong.sum():,}** rows predicted {name} are wrong: {other} {rows:,}" in words(app)
    assert f"**{missed.sum():,}** rows of {name} are missed: " in words(app)


def test_a_method_with_few_scores_is_assessed_at_each():
    app = open_page("pages/views/reliability.py")
    name = with_binning(app)
    app.selectbox(key="method").set_value(name).run()
    assert "assessed at each distinct score" in words(app)


def test_imbalance_says_what_happened_to_the_rarest_classes():
    app = open_page("pages/views/imbalance.py", example="covtype-simulated")
    text = words(app)
    assert "4 Cottonwood/Willow" in text
    assert text.count("a perfect model would show") == 2
    assert "with 100 points per bin: **" in text
    assert len(app.get("plotly_chart")) == 1
    app.slider(key="k").set_value(200).run()
    assert "1 of 7 predicted classes have fewer than 200 calibration rows" in words(app)


def test_imbalance_says_when_nothing_is_calibrated():
    rows = Predictions(np.random.default_rng(0).dirichlet(np.ones(3), 40), np.arange(40) % 3)
    app = open_page("pages/views/overview.py", example="two-patients")
    app.session_state["dataset"] = Dataset("small", "", False, rows, rows)
    text = words(app.switch_page("pages/views/imbalance.py").run())
    assert "Nothing is calibrated**: no predicted class has 50 calibration rows" in text
    assert "rarest calibrated" not in text
    height = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["height"]
    assert height >= 110 + 54 * 3  # else the two lines of each class lie on the next class
