"""Repair: every labelled row counts, one calibrator is chosen, and new predictions are the last step."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from calib import HistogramBinning, MulticlassToBinary, guarantee_card, load
from calib.answers.advice import confirm_choice
from calib.answers.calibrated import calibrated_scores, fit_on
from calib.evidence.rows import Rows
from pages.shared.isolation.process import JobEnded
from pages.shared.session import on_all_rows
from tests.app.running import open_page, open_tab, press, turn_to, with_binning, words
from tests.app.test_pages_upload import LABELS, PROBA, csv, shown_text, upload

PAGE = "pages/views/repair.py"
BINNED = "TL-HB, k = 50"


@pytest.fixture(scope="module")
def divided():
    """240 uploaded rows that name no calibration rows, with a calibrator fitted in Repair."""
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "rows.csv", csv(PROBA))
    app.switch_page(PAGE).run()
    app.selectbox(key="chosen").select(BINNED).run()
    assert not app.error
    return app


def test_every_row_is_diagnosed_and_half_of_them_checks(divided):
    data = divided.session_state["dataset"]
    assert data.calibration is None
    assert data.evaluation.n_samples == 240
    assert (data.checked.calibration.n_samples, data.checked.evaluation.n_samples) == (120, 120)
    fitted = divided.session_state["methods"][BINNED]
    assert fitted.calibrator.n_points_.sum() == 120
    assert fitted.rows.n_samples == 120
    base = Rows(data.checked.evaluation)
    said = confirm_choice(base, fitted.rows).words().removeprefix("on ")
    assert said in words(divided).replace("\\", "")
    for room, count in (("overview", 240), ("groups", 240), ("repair", 120), ("validity", 120)):
        divided.switch_page(f"pages/views/{room}.py").run()
        assert f"{count} evaluation rows" in words(divided)
    divided.switch_page(PAGE).run()


def test_what_is_handed_out_is_fitted_on_every_row(divided, monkeypatch):
    monkeypatch.setattr("streamlit.session_state", divided.session_state)
    calibrator, rows = on_all_rows(divided.session_state["methods"][BINNED])
    assert rows.n_samples == 240
    wanted = fit_on(MulticlassToBinary(HistogramBinning(points_per_bin=50)), rows)
    np.testing.assert_array_equal(
        calibrated_scores(calibrator, rows).confidence, calibrated_scores(wanted, rows).confidence
    )
    written = [
        result
        for (name, *_), (result, _) in divided.session_state["kept"].results.items()
        if name.endswith("take_away._file")
    ]
    assert load(io.BytesIO(written[-1])).fitted_on_.n_samples == 240


def test_new_predictions_of_the_same_room_have_no_labels(divided):
    open_tab(divided, "repair_tab", "Apply")
    upload(divided, "apply-file", "new.csv", csv(PROBA, None))
    assert "240 rows; on average" in shown_text(divided)
    assert not divided.error
    assert not [badge for badge in divided.markdown if "badge[Error" in badge.value]


def test_a_model_alone_decides_on_every_row():
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "few.csv", csv(PROBA[:80], LABELS[:80]))  # too few to recommend a calibrator
    app.switch_page("pages/views/decide.py").run()
    assert "of 80 predictions pass" in "".join(item.value for item in [*app.success, *app.warning]).replace(
        "\\", ""
    )
    assert ("Diamonds" in words(app)) == bool(app.success)  # what accepts nothing has none
    assert "Chosen on" not in words(app.switch_page(PAGE).run())
    bare = words(app.switch_page("pages/views/simplex.py").run())
    assert "Bins of fewer than 20 rows have no arrow" in bare


def test_a_click_on_a_candidate_shows_its_effect():
    app = open_page(PAGE, repair_tab="Candidates", example="two-patients")
    names = app.dataframe[0].value["Calibrator"].tolist()
    assert "Scores as they are" in names
    assert "Temperature scaling (TS)" in names
    app.selectbox(key="chosen").select("TS").run()
    assert re.search(r"`` TS `` (?:helps|may not help|does not help)", words(app))
    open_tab(app, "repair_tab", "Numbers")
    assert {"Base model", "TS"} <= set(app.dataframe[0].value.columns)
    press(app, "Remove this calibrator")
    assert "TS" not in app.session_state["methods"]


def test_a_class_wise_fit_says_which_predictions_it_changes():
    app = open_page(PAGE, repair_tab="Numbers")
    app.selectbox(key="chosen").select("CW-HB, k = 50").run()
    assert re.search(r"The predicted class changes in \*\*[\d,]+\*\* of 10,000 rows", words(app))


def test_the_promise_is_the_librarys():
    app = open_page(PAGE, repair_tab="Numbers", example="digits")
    name = with_binning(app)
    app.selectbox(key="chosen").select(name).run()
    card = guarantee_card(app.session_state["methods"][name].calibrator, 0.1, choices=1)
    app.switch_page("pages/views/validity.py").run()
    app.selectbox(key="validity-model").set_value(name).run()
    assert card.words("**{}**") in words(app)


def test_a_killed_recommendation_is_one_sentence_and_can_be_tried_again(monkeypatch):
    from pages.shared import kept
    from pages.shared.isolation import computing

    monkeypatch.setattr(kept, "_shared_results", kept.Kept())
    monkeypatch.setitem(computing.FUNCTIONS, "recommend", (computing.FUNCTIONS["recommend"][0], 1e9))
    ask = computing.long_pool.ask

    def die(*job):
        raise JobEnded(computing.Computer.ended.format("the system ended the process"))

    monkeypatch.setattr(computing.long_pool, "ask", die)
    app = open_page(PAGE, example="two-patients")
    (said,) = [item.value for item in app.warning]
    assert said.startswith("The computation was not finished: the system ended the process.")
    turn_to(app, "repair", "Candidates")
    assert [item.value for item in app.warning] == [said]
    monkeypatch.setattr(computing.long_pool, "ask", ask)
    press(app, "Try again")
    assert not app.warning
    assert " is chosen among " in words(app)
