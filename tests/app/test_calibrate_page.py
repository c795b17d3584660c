"""Text of the Calibrate page: conclusions from numbers that allow them."""

from __future__ import annotations

import re

import pytest

from tests.app.running import open_page, open_tab, press, turn_to, words


@pytest.mark.thorough
def test_a_proposed_k_is_compared_by_debiased_errors_and_guaranteed_as_a_choice():
    app = open_page("pages/views/repair.py", example="digits")
    press(app, "Fit")
    text = words(app)
    assert "TL-ECE before 0." in text
    assert text.count("a perfect model of this size shows") == 2
    assert len(re.findall(r"(?:helps|may not help|does not help)\.\*\*", text)) == 1
    assert "squared l2" not in text
    tried = re.search("divides \u03b1 among these (\\d+) numbers of points", text).group(1)
    assert int(tried) > 1
    promise = f"chosen by the same labels among {tried} calibrators"
    open_tab(app, "about-calibrator", "Guarantee")
    assert promise in words(app)
    assert promise in words(turn_to(app, "repair", "Apply"))


def test_a_class_wise_fit_that_costs_accuracy_warns_first():
    app = open_page("pages/views/repair.py")
    reduction = next(box for box in app.selectbox if box.label.startswith("Reduction"))
    reduction.set_value("Class-wise").run()
    app.segmented_control(key="bins-by").set_value("Number of bins B").run()
    press(app, "Fit")
    assert re.search(r"changes the accuracy on the other half from 0\.\d+ to 0\.\d+", words(app))
    assert not any(name.startswith("CW-HB") for name in app.session_state["methods"])
    press(app, "Fit it all the same")
    assert any(name.startswith("CW-HB") for name in app.session_state["methods"])
    assert re.search(r"The predicted class changes in \*\*[\d,]+\*\* of 10,000 rows", words(app))


def test_top_k_calibration_shows_every_rank():
    app = open_page("pages/views/repair.py", example="digits")
    reduction = next(box for box in app.selectbox if box.label.startswith("Reduction"))
    reduction.set_value("Top-K label").run()
    app.slider(key="top-k").set_value(3).run()
    press(app, "Fit")
    ranks = next(table.value for table in app.dataframe if "Score, before" in table.value.columns)
    assert ranks["Rank"].tolist() == [1, 2, 3]
    rows = app.session_state["dataset"].evaluation
    assert ranks["Right"].tolist()[0] == (rows.label == rows.labels).mean()
