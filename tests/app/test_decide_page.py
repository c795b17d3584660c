"""Decide, driven by Streamlit's own test runner: its numbers are those of the library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib import Predictions, decide
from calib.answers import choose_actions
from calib.answers.decision_rules import ACCURACIES
from calib.datasets import load_example
from pages.shared.session import BASE, Dataset
from tests.app.running import open_page, words

PAGE = "pages/views/decide.py"


@pytest.fixture(scope="module")
def rows():
    return load_example("digits").evaluation


def test_numbers_are_those_of_the_library(rows):
    app = open_page(PAGE, example="digits")
    table = app.dataframe[0].value
    choices = len(table) * len(ACCURACIES)
    opened = app.number_input(key="right").value / 100
    tried = {value: decide(rows, accuracy=value, choices=choices) for value in ACCURACIES}
    assert opened >= max(value for value, rule in tried.items() if rule.coverage)
    assert app.selectbox(key="decide-model").value == table["Model"].iloc[1]
    app.number_input(key="right").set_value(80.0).run()
    table, rule = app.dataframe[0].value, tried[0.8]
    assert rule.coverage > 0
    row = table.set_index("Model").loc[BASE]
    assert row["Accepts from"] == f"{rule.thresholds[0]:.4f}"
    assert (row["Accepted"], row["Right"]) == pytest.approx((rule.coverage, rule.effect.accuracy))


@pytest.mark.parametrize(("target", "key", "value"), [("reviews", "reviews", 10.0), ("cost", "cost", 20.0)])
def test_other_targets(rows, target, key, value):
    app = open_page(PAGE, example="digits")
    app.segmented_control(key="target").set_value(target).run()
    app.number_input(key=key).set_value(value).run()
    rule = decide(rows, **{target: value / 100 if target == "reviews" else value})
    row = app.dataframe[0].value.set_index("Model").loc[BASE]
    assert row["Reviews"] == rule.effect.n_reviews


def test_the_promise_of_all_accuracies_at_once_has_one_probability():
    app = open_page(PAGE, example="digits")
    (said,) = [item.value.replace("\\", "") for item in app.success]
    assert "With probability 0.9 at least" in said


def test_a_matrix_of_costs_gives_each_row_the_cheapest_action():
    app = open_page(PAGE, example="digits")
    app.segmented_control(key="target").set_value("costs").run()
    app.text_input(key="actions").set_value("0, wait").run()
    rows = load_example("digits").evaluation
    costs = [[0.0 if label == 0 else 5.0, 1.0] for label in range(10)]
    found = choose_actions(rows.labels, rows, costs, actions=("0", "wait"))
    row = app.dataframe[1].value.set_index("Model").loc["Base model"]
    assert row[["Cost per row", "Lower", "Upper", "Saved per row"]].tolist() == pytest.approx(
        [found.cost, found.lower, found.upper, found.saved]
    )


def test_a_target_out_of_reach_is_said_and_classes_are_listed():
    app = open_page(PAGE, example="digits")
    app.number_input(key="right").set_value(99.99).run()
    assert [warning.value for warning in app.warning if "0 of" in warning.value.replace("\\", "")]
    app.selectbox(key="by").set_value("class").run()
    assert len(app.dataframe[1].value) == 10


def test_values_of_a_column_have_their_own_thresholds():
    random = np.random.default_rng(0)
    proba = random.dirichlet([0.2] * 3, 900)
    y = (proba.cumsum(axis=1) < random.random((900, 1))).sum(axis=1).clip(0, 2)
    site = np.array(["north", "south"])[np.arange(900) % 2]
    rows = Predictions(proba, y, ("a", "b", "c"), metadata=pd.DataFrame({"site": site}))
    app = open_page(PAGE, example="digits")
    app.session_state["dataset"] = Dataset("sites", "", False, None, rows)
    app.session_state["methods"] = {}
    app.run()
    app.number_input(key="right").set_value(80.0).run()
    app.selectbox(key="by").set_value("site").run()
    assert not app.exception
    table = app.dataframe[1].value
    assert table["site"].tolist() == ["north", "south"]
    rule = decide(rows, accuracy=0.8, by=rows.metadata["site"], choices=len(ACCURACIES))
    assert table["Accepts from"].tolist() == pytest.approx(rule.thresholds.tolist())
    assert table[["Rows", "Accepted", "Wrong"]].to_numpy().T.tolist() == rule.counts.tolist()


def test_two_classes_have_targets_of_the_event_and_a_decision_curve():
    random = np.random.default_rng(0)
    p = random.random(400)
    rows = Predictions(np.stack([1 - p, p], axis=1), (random.random(400) < p).astype(int), ("no", "yes"))
    app = open_page(PAGE, example="digits")
    assert len(app.get("plotly_chart")) == 1
    app.session_state["dataset"] = Dataset("two", "", False, None, rows)
    app.session_state["methods"] = {}
    app.run()
    assert not app.exception
    app.segmented_control(key="target").set_value("event").run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    rule = decide(rows, sensitivity=0.9)
    table = app.dataframe[0].value
    assert table["Act from"].tolist() == [rule.threshold]
    assert table["Sensitivity"].tolist() == [rule.counts.share("sensitivity")]
    app.number_input(key="precision").set_value(99.0).run()
    assert len(app.warning) == 1
    assert not app.exception
    assert app.dataframe[0].value["Act from"].tolist() == [None]


def test_weighted_rows_have_curves_and_no_rule():
    random = np.random.default_rng(2)
    p, weights = random.random(600), random.choice([0.0, 1.0, 5.0], 600)
    happened = (random.random(600) < p).astype(int)
    proba = np.stack([1 - p, p], axis=1)
    rows = Predictions(proba, happened, ("no", "yes"), sample_weight=weights)
    app = open_page(PAGE, example="digits")
    app.session_state["dataset"] = Dataset("two", "", False, None, rows)
    app.session_state["methods"] = {}
    app.run()
    assert not app.exception
    assert "A rule of acceptance cannot use weights" in words(app).replace("\\", "")
    assert len(app.get("plotly_chart")) == 2
