"""The Noise page: its numbers are the library's, and its figures draw them."""

from __future__ import annotations

import numpy as np
import pytest

from calib import calibration_slope, calibration_test, error_interval, noise_floor, verdict
from calib.datasets import load_example
from calib.diagrams.row_lists import cell_order
from tests.app.running import open_page, open_tab, words

PAGE = "pages/views/overview.py"


@pytest.fixture(scope="module")
def app():
    return open_page(PAGE, overview_tab="Noise", example="resnet")


@pytest.fixture(scope="module")
def rows():
    return load_example("resnet").evaluation


def test_verdicts_are_those_of_the_library(app, rows):
    for name, notion in (("conf-ECE", "confidence"), ("TL-ECE", "top-label"), ("CW-ECE", "class-wise")):
        floor = noise_floor(rows.labels, rows, notion=notion, random_state=0)
        assert f"- {verdict(floor, name)}" in words(app)


def test_table_holds_intervals_and_floors(app, rows):
    table = app.dataframe[0].value.set_index("Number")
    interval = error_interval(rows.labels, rows)
    floor = noise_floor(rows.labels, rows, random_state=0)
    numbers = [interval.observed, interval.lower, interval.upper]
    assert table.loc["TL-ECE", ["Measured", "Lower", "Upper"]].tolist() == pytest.approx(numbers, abs=1e-12)
    assert table.loc["TL-ECE", "Perfect model"] == floor.mean
    assert np.isnan(table.loc["Accuracy", "Perfect model"])
    errors = [name for name in table.index if not name.startswith("AUC")]
    assert errors[:4] == ["Accuracy", "conf-ECE", "TL-ECE", "TL-MCE (cell)"]


def test_tests_without_bins_are_those_of_the_library(app, rows):
    open_tab(app, "about-noise", "Without bins")
    table = app.dataframe[0].value.set_index("Test")
    kuiper = calibration_test(rows.labels, rows)
    assert table.loc["Kuiper", ["Statistic", "p"]].tolist() == [kuiper.statistic, f"{kuiper.p_value:.3f}"]
    assert len(table) == 4
    assert calibration_slope(rows.labels, rows).words in words(app)


def test_other_score():
    app = open_page(PAGE, overview_tab="Noise", example="two-patients")
    open_tab(app, "about-noise", "What recalibration can repair")
    app.segmented_control(key="rule").set_value("log loss").run()
    assert "log loss of **" in words(app)


def test_a_click_on_an_error_lists_its_rows():
    """What a click sets is set here."""
    app = open_page(PAGE, overview_tab="Noise", example="digits")
    rows = app.session_state["methods"]["Base model"].evidence.predictions
    order = cell_order(rows, notion="top-label")
    app.session_state["noise-behind"], app.session_state["noise-rows-open"] = "tl_ece", True
    app.run()
    (listed,) = (table.value for table in app.dataframe if "row" in table.value)
    assert listed["row"].tolist() == np.argsort(-order, kind="stable")[:25].tolist()


@pytest.mark.thorough
def test_intervals_of_large_data_are_computed_when_asked():
    app = open_page(PAGE, overview_tab="Noise", example="covtype-simulated")
    assert not app.dataframe
    app.toggle(key="resample").set_value(True).run()
    assert len(app.dataframe) == 1
    assert {"Lower", "Upper"} <= set(app.dataframe[0].value.columns)
