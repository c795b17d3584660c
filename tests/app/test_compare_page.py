"""The Compare page: the recommendation of the library, and its next step."""

from __future__ import annotations

from calib import recommend
from calib.calibrators.catalogue import name_of
from calib.datasets import load_example
from tests.app.running import open_page, press, words


def test_recommendation_is_that_of_the_library_and_leads_to_its_export():
    rows = load_example("two-patients").calibration
    advice = recommend(rows, rows.labels)
    app = open_page("pages/repair/compare.py", example="two-patients")
    assert "Lowest Brier score" in words(app)
    press(app, "Recommend a calibrator")
    assert not app.exception
    assert [box.value for box in app.success] == [advice.reason]
    press(app, "Fit and export this one")
    assert not app.exception
    assert app.selectbox(key="chosen").value == name_of(advice.calibrator)
    assert "Calibrator file (JSON)" in [button.proto.label for button in app.get("download_button")]


def test_what_matters_is_left_of_what_one_scrolls_to():
    app = open_page("pages/repair/compare.py", example="two-patients")
    order = list(app.dataframe[0].proto.column_order)
    matters = ["Method", "Brier improvement", "Log loss improvement", "TL-ECE", "Noise floor"]
    assert order[:7] == [*matters, "Above noise", "Accuracy"]
    assert len(order) == len(set(order)) > 10
    table = app.dataframe[0].value
    base = table[table["Method"] == "Base model"]
    assert base["Brier improvement"].tolist() == ["\u2013"]
    improvement = r"[+-]\d\.\d{4} \([+-]\d\.\d{4} to [+-]\d\.\d{4}\)"
    assert table.drop(index=base.index)["Brier improvement"].str.fullmatch(improvement).all()
