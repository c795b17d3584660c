"""Decide, driven by Streamlit's own test runner: its numbers are those of the library."""

from __future__ import annotations

import numpy as np
import pytest

from calib import Predictions, TopLabelPrediction, decide, risk_coverage
from calib.answers import choose_actions
from calib.answers.decision_rules import ACCURACIES
from calib.datasets import load_example
from calib.evidence.rows import Rows
from pages.shared.session import BASE, Dataset, Method
from tests.app.running import open_page, turn_to, words

PAGE = "pages/views/decide.py"


@pytest.fixture(scope="module")
def base():
    """Labels and predictions of the half of the digits that chooses, and of the half that checks."""
    rows = load_example("digits").evaluation
    chosen = np.zeros(rows.n_samples, dtype=bool)
    chosen[np.random.default_rng(0).permutation(rows.n_samples)[: rows.n_samples // 2]] = True
    halves = []
    for half in (chosen, ~chosen):
        top = TopLabelPrediction(rows.label[half], rows.confidence[half], class_names=rows.class_names)
        halves.append((rows.labels[half], top))
    return halves


def test_numbers_are_those_of_the_library(base):
    app = open_page(PAGE, example="digits")
    table = app.dataframe[0].value
    choose, check = base
    choices = len(table) * len(ACCURACIES)
    opened = app.number_input(key="right").value / 100
    tried = {value: decide(*choose, accuracy=value, choices=choices) for value in ACCURACIES}
    assert opened >= max(value for value, rule in tried.items() if rule.coverage)
    assert app.selectbox(key="decide-model").value == table["model"].iloc[1]
    app.number_input(key="right").set_value(80.0).run()
    table, rule = app.dataframe[0].value, tried[0.8]
    outcome = rule.evaluate(*check)
    assert rule.coverage > 0
    row = table.set_index("model").loc["Base model"]
    assert row["accepts from"] == f"{rule.thresholds[0]:.4f}"
    assert (row["accepted"], row["right"]) == pytest.approx((outcome.coverage, outcome.accuracy))
    assert (row["right, lower"], row["right, upper"]) == pytest.approx((outcome.lower, outcome.upper))


@pytest.mark.parametrize(("target", "key", "value"), [("reviews", "reviews", 10.0), ("cost", "cost", 20.0)])
def test_other_targets(base, target, key, value):
    app = open_page(PAGE, example="digits")
    app.segmented_control(key="target").set_value(target).run()
    app.number_input(key=key).set_value(value).run()
    choose, check = base
    rule = decide(*choose, **{target: value / 100 if target == "reviews" else value})
    row = app.dataframe[0].value.set_index("model").loc["Base model"]
    assert row["reviews"] == rule.evaluate(*check).n_reviews


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
    app.toggle(key="by-class").set_value(True).run()
    assert len(app.dataframe[1].value) == 10


def test_two_classes_have_a_decision_curve():
    random = np.random.default_rng(0)
    p = random.random(400)
    rows = Predictions(np.stack([1 - p, p], axis=1), (random.random(400) < p).astype(int), ("no", "yes"))
    app = open_page(PAGE, example="digits")
    assert len(app.get("plotly_chart")) == 1
    app.session_state["dataset"] = Dataset("two", "", False, None, rows)
    app.session_state["methods"] = {BASE: Method(BASE, Rows(rows), rows.fingerprint)}
    app.run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 2
    app.slider(key="missed").set_value(4).run()
    acted = p >= 0.2
    matrix = next(table.value for table in app.dataframe if "yes" in table.value.columns)
    happened = rows.labels == 1
    assert matrix["yes"].tolist() == [(happened & acted).sum(), (happened & ~acted).sum()]
    assert matrix["no"].tolist() == [(~happened & acted).sum(), (~happened & ~acted).sum()]
    assert "at least **0.200**" in words(app)


def test_it_opens_on_the_model_that_accepts_most_right_ones():
    random = np.random.default_rng(1)
    confidence = random.uniform(0.5, 1.0, 4_000)
    labels = np.where(random.random(4_000) < confidence, 0, 1)
    rows = Predictions(np.stack([confidence, 1 - confidence], axis=1), labels)
    useless = Predictions(np.full((4_000, 2), 0.5), labels)
    app = open_page(PAGE, example="digits")
    app.session_state["dataset"] = Dataset("two", "", False, None, rows)
    app.session_state["methods"] = {
        BASE: Method(BASE, Rows(rows), rows.fingerprint),
        "useless": Method("useless", Rows(useless), useless.fingerprint),
    }
    app.number_input(key="right").set_value(90.0).run()
    assert not app.exception
    assert app.dataframe[0].value["accepted"].tolist()[1] == 0.0
    assert app.selectbox(key="decide-model").value == BASE


def test_weighted_rows_have_curves_and_no_rule():
    random = np.random.default_rng(2)
    p, weights = random.random(600), random.choice([0.0, 1.0, 5.0], 600)
    happened = (random.random(600) < p).astype(int)
    proba = np.stack([1 - p, p], axis=1)
    rows = Predictions(proba, happened, ("no", "yes"), sample_weight=weights)
    app = open_page(PAGE, example="digits")
    app.session_state["dataset"] = Dataset("two", "", False, None, rows)
    app.session_state["methods"] = {BASE: Method(BASE, Rows(rows), rows.fingerprint)}
    app.run()
    assert not app.exception
    assert "A rule of acceptance cannot use weights" in words(app).replace("\\", "")
    assert len(app.get("plotly_chart")) == 2
    curve = risk_coverage(rows.labels, rows)
    assert f": {curve.aurc:.5f}" in words(app)
    assert curve.aurc != risk_coverage(rows.labels, rows.unweighted()).aurc
    app.slider(key="missed").set_value(4).run()
    matrix = next(table.value for table in app.dataframe if "yes" in table.value.columns)
    acted, share = p >= 0.2, weights / weights[weights > 0].mean()
    assert matrix["yes"].tolist() == pytest.approx(
        [share[acted & (rows.labels == 1)].sum(), share[~acted & (rows.labels == 1)].sum()]
    )


def test_what_compare_fits_divides_no_promise_until_it_is_chosen():
    app = open_page("pages/views/repair.py", repair_tab="Compare", example="digits")
    fitted = list(app.session_state["methods"])
    recommended = app.selectbox(key="pair-second").value
    app.switch_page(PAGE).run()
    assert app.dataframe[0].value["model"].tolist() == [BASE, recommended]
    other = next(name for name in fitted if name not in (BASE, recommended))
    turn_to(app, "repair").selectbox(key="chosen").select(other).run()
    app.switch_page(PAGE).run()
    assert {*app.dataframe[0].value["model"]} == {BASE, recommended, other}
