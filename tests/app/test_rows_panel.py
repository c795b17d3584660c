"""The rows behind marks of the rooms, compared with the file."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calib.diagrams.style import figure, scatter
from pages.shared import widgets
from pages.shared.session import ChosenRows, base_of
from tests.app.running import open_page, open_tab, turn_to, with_binning, words

_random = np.random.default_rng(2)
N = 500
CONFIDENCE = _random.uniform(0.4, 1.0, N).round(2)
PREDICTED = _random.choice(["cat", "dog", "=emu()"], N)
RIGHT = _random.random(N) < CONFIDENCE
FRAME = pd.DataFrame(
    {
        "id": np.arange(N) + 1000,
        "predicted": PREDICTED,
        "confidence": CONFIDENCE,
        "label": np.where(RIGHT, PREDICTED, "fox"),
        "split": np.where(np.arange(N) < 100, "calibration", "test"),
        "site": _random.choice(["north", "south"], N),
        "text": [f"text {at}" for at in range(N)],
    }
)
TEST = FRAME[FRAME["split"] == "test"].reset_index(drop=True)


@pytest.fixture(scope="module")
def app():
    app = open_page("pages/views/data.py")
    app.file_uploader(key="up").upload("rows.csv", FRAME.to_csv(index=False).encode(), "text/csv").run()
    assert not app.error
    with_binning(app)
    return app


def opened(app, key: str, room: str, tab: str = ""):
    """Open a room with its rows listed, as after a click."""
    turn_to(app, room, tab)
    if room == "reliability":
        return open_tab(app, "reliability_tab", "Rows")
    return app.toggle(key=f"{key}-open").set_value(True).run()


def choose_in_picture(app, **chosen) -> None:
    """Choose as a click in the picture does."""
    base = base_of(app.session_state["dataset"])
    sent = {"lower": 0.0, "upper": 1.0, "bin": None, "label": None, "start": None, "stop": None, "count": 1}
    app.session_state["picture-choice"] = ChosenRows.of({**sent, **chosen}, base)
    for key in ("overview-rows-open", "reliability-rows-open"):
        app.session_state[key] = True
    app.run()


def listed(app) -> pd.DataFrame:
    """The table of rows: the one with a column "row"."""
    (table,) = [item.value for item in app.dataframe if "row" in item.value]
    return table


def same_rows(app, mask) -> None:
    """The rows of the file are listed with id and text, the most wrong first."""
    expected = TEST[mask]
    assert f"**{len(expected):,}** rows" in words(app)
    shown = listed(app)
    assert len(shown) == len(expected)
    off = (expected["confidence"] - (expected["predicted"] == expected["label"])).abs()
    worst = off.sort_values(ascending=False, kind="stable").index
    assert shown["row"].tolist() == worst.tolist()
    for name, ours in (("text", "text"), ("predicted", "predicted"), ("label", "true"), ("site", "site")):
        assert shown[ours].tolist() == TEST[name][worst].tolist()
    assert shown.columns[4].startswith("after ")


def in_bin(bin_: int, bins: int = 15) -> pd.Series:
    return (TEST["confidence"] >= bin_ / bins) & (TEST["confidence"] < (bin_ + 1) / bins)


@pytest.mark.parametrize(
    ("bin_", "label"), [(7, None), (12, None), (12, "cat"), (10, "=emu()"), (None, "dog")]
)
def test_reliability(app, bin_, label):
    opened(app, "reliability-rows", "reliability")
    names = app.session_state["dataset"].evaluation.class_names
    app.selectbox(key="class").set_value(-1 if label is None else names.index(label)).run()
    app.selectbox(key="bin").set_value(-1 if bin_ is None else bin_).run()
    inside = True if bin_ is None else in_bin(bin_)
    same_rows(app, inside & (True if label is None else TEST["predicted"] == label))
    picture = json.loads(app.get("bidi_component")[0].proto.json)
    assert picture["marked"] == (None if bin_ is None else [bin_ / 15, (bin_ + 1) / 15])


def test_groups(app):
    opened(app, "slice-rows", "groups")
    app.session_state["slice-group"] = "site", "north"
    app.run()
    same_rows(app, TEST["site"] == "north")


def test_a_cell_of_the_overview(app):
    app.switch_page("pages/views/overview.py").run()
    cat = app.session_state["dataset"].evaluation.class_names.index("cat")
    choose_in_picture(app, label=cat, lower=12 / 15, upper=13 / 15, bin=12)
    same_rows(app, (TEST["predicted"] == "cat") & in_bin(12))
    turn_to(app, "groups")
    assert [button.key for button in app.button if button.key == "drop-choice"]
    app.button(key="drop-choice").click().run()
    app.switch_page("pages/views/overview.py").run()
    assert not [table for table in app.dataframe if "row" in table.value]


def test_a_range_of_the_picture(app):
    opened(app, "reliability-rows", "reliability")
    choose_in_picture(app, lower=0.61, upper=0.704)
    same_rows(app, (TEST["confidence"] >= 0.61) & (TEST["confidence"] < 0.704))


def test_a_bar_of_imbalance(app):
    app.switch_page("pages/views/imbalance.py").run()
    dog = app.session_state["dataset"].evaluation.class_names.index("dog")
    app.session_state["imbalance-class"], app.session_state["imbalance-rows-open"] = dog, True
    app.run()
    same_rows(app, TEST["predicted"] == "dog")


@pytest.mark.parametrize(
    ("points", "rows"), [([{"customdata": [7], "x": 0}], [4]), ([{"x": 0}], []), ([], [])]
)
def test_clicked_marks_with_data_and_ticked_rows_are_passed_on(monkeypatch, points, rows):
    def select(*_, on_select, **__):
        on_select()

    told = []
    selection = SimpleNamespace(points=points, rows=rows)
    monkeypatch.setattr("streamlit.session_state", {"it": SimpleNamespace(selection=selection)})
    monkeypatch.setattr("streamlit.popover", lambda *_, **__: SimpleNamespace(open=False))
    monkeypatch.setattr("streamlit.plotly_chart", select)
    monkeypatch.setattr("streamlit.dataframe", select)
    widgets.chart(figure(scatter(x=[0], y=[0])), "it", alt="", on_click=told.append)
    widgets.table_to_tick(pd.DataFrame({"a": range(9)}), "it", told.append)
    assert told == [*(point for point in points if "customdata" in point), *rows]
