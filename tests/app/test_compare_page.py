"""The Compare page: its table begins with what matters."""

from __future__ import annotations

from tests.app.running import open_page


def test_what_matters_is_left_of_what_one_scrolls_to():
    app = open_page("pages/views/repair.py", repair_tab="Compare", example="two-patients")
    order = list(app.dataframe[0].proto.column_order)
    matters = ["Method", "Brier improvement", "Log loss improvement", "TL-ECE", "Noise floor"]
    assert order[:7] == [*matters, "Above noise", "Accuracy"]
    assert len(order) == len(set(order)) > 10
    table = app.dataframe[0].value
    base = table[table["Method"] == "Base model"]
    assert base["Brier improvement"].tolist() == ["\u2013"]
    improvement = r"[+-]\d\.\d{4} \([+-]\d\.\d{4} to [+-]\d\.\d{4}\)"
    assert table.drop(index=base.index)["Brier improvement"].str.fullmatch(improvement).all()
