"""How sure is each number: the tab of Overview shows the library's numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from calib import calibration_slope, calibration_test, error_interval, noise_floor
from calib.datasets import load_example
from tests.app.running import ROOM_TABS, open_page, words

NUMBERS = ROOM_TABS["overview"][1]


@pytest.fixture(scope="module")
def app():
    return open_page("pages/views/overview.py", overview_tab=NUMBERS, example="resnet")


@pytest.fixture(scope="module")
def rows():
    return load_example("resnet").evaluation


def test_table_holds_intervals_and_floors(app, rows):
    table = app.dataframe[0].value.set_index("Number")
    interval = error_interval(rows.labels, rows)
    floor = noise_floor(rows.labels, rows, random_state=0)
    assert table.loc["TL-ECE", "Measured"] == pytest.approx(interval.observed, abs=1e-12)
    assert table.loc["TL-ECE", "95 % interval"] == f"{interval.lower:.4g} to {interval.upper:.4g}"
    most = floor.quantile(0.95)
    assert table.loc["TL-ECE", "Perfect model"] == f"{floor.mean:.4g}, at most {most:.4g}"
    assert table.loc["TL-ECE", "p"] == f"{floor.p_value:.3f}"
    assert pd.isna(table.loc["Accuracy", "Perfect model"])
    errors = [name for name in table.index if not name.startswith("AUC")]
    assert errors[:4] == ["Accuracy", "conf-ECE", "TL-ECE", "TL-MCE (cell)"]


def test_tests_without_bins_are_those_of_the_library(app, rows):
    app.session_state["without-bins"] = True
    app.run()
    table = app.dataframe[1].value.set_index("Test")
    kuiper = calibration_test(rows.labels, rows)
    assert table.loc["Kuiper", ["Statistic", "p"]].tolist() == [kuiper.statistic, f"{kuiper.p_value:.3f}"]
    assert len(table) == 4
    assert calibration_slope(rows.labels, rows).words in words(app)


@pytest.mark.thorough
def test_intervals_of_large_data_are_computed_when_asked():
    app = open_page("pages/views/overview.py", overview_tab=NUMBERS, example="covtype-simulated")
    assert app.dataframe[0].value["95 % interval"].isna().all()
    app.toggle(key="resample").set_value(True).run()
    assert app.dataframe[0].value["95 % interval"].notna().any()
