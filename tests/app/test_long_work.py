"""Long computations of a page: elsewhere with the same result, and cancelled until asked for."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from streamlit.delta_generator import DeltaGenerator

from calib import InputError, TemperatureScaling, recommend
from calib.evidence.rows import Rows
from calib.stats import calibration_tests
from calib.stats.binless import calibration_frame, compared_rows, kernel_test
from pages.shared import kept, page_results, work
from pages.shared.isolation import computing
from pages.shared.session import BASE, base_of
from tests.app.running import ROOM_TABS, open_page, press, turn_to, wait_for_results, words

NUMBERS = ROOM_TABS["overview"][1]


@pytest.fixture
def long(monkeypatch):
    """Let some functions be taken for long ones, and nothing be kept from before."""
    monkeypatch.setattr(kept, "_shared_results", kept.Kept())

    def take(*functions):
        for function in functions:
            monkeypatch.setitem(computing.FUNCTIONS, function.__name__, (function, 1e9))

    return take


@pytest.fixture
def recommending(long, monkeypatch):
    """Let a recommendation, of one calibrator, say how far it is and wait until it is released."""
    told = SimpleNamespace(error=None, **{name: threading.Event() for name in ("said", "released", "ended")})

    def do_elsewhere(job, say):
        assert job.function is recommend
        try:
            while not told.released.wait(0.01):
                say(0.5, "half of them")
                told.said.set()
            if told.error:
                raise InputError(told.error)
            scaling = {"TS": TemperatureScaling()}
            return recommend(*job.arguments, **job.options, methods=scaling)
        finally:
            told.ended.set()

    monkeypatch.setattr(computing.Job, "do_elsewhere", do_elsewhere)
    yield told
    told.released.set()


def open_fold(app):
    """Open the tests without bins, which take long."""
    app.session_state["without-bins"] = True
    app.run()


def bars(app):
    return [bar.proto.text for bar in app.get("progress")]


def test_a_page_goes_on_without_what_it_awaits(recommending):
    """It shows how far the recommendation is, until that is cancelled, asked for again, and there."""
    app = open_page("pages/views/overview.py", patient=False, example="digits")
    assert "TL-ECE **" in words(app)
    assert len(bars(app)) == 1
    assert recommending.said.wait(20.0)
    app.toggle(key="make-report").set_value(True).run()
    assert bars(app) == ["Trying every calibrator: half of them"]
    assert not app.get("download_button")
    press(app, "Cancel")
    assert recommending.ended.wait(20.0)
    assert "Cancelled: Trying every calibrator." in words(app)
    assert bars(app) == []
    recommending.ended.clear()
    press(app, "Compute it")
    assert len(bars(app)) == 1
    app.toggle(key="make-report").set_value(False).run()
    recommending.released.set()
    assert " left out of the choice " in words(wait_for_results(app))
    assert recommending.ended.is_set()


def test_what_cannot_be_computed_is_said_once_and_not_tried_again(recommending):
    recommending.error = "too *few*"
    recommending.released.set()
    app = open_page("pages/views/repair.py", example="digits")
    assert "No calibrator is recommended: too \\*few\\*." in words(app)
    assert recommending.ended.is_set()
    recommending.ended.clear()
    turn_to(app, "repair", "Candidates")
    assert "No calibrator is recommended: too \\*few\\*." in words(app)
    assert not recommending.ended.is_set()


def test_controls_open_again_when_the_recommendation_is_there(recommending):
    app = open_page("pages/views/decide.py", patient=False, example="digits")
    assert app.dataframe[0].value["Model"].tolist() == [BASE]
    assert app.selectbox(key="decide-model").value == BASE
    recommending.released.set()
    _, found = wait_for_results(app).dataframe[0].value["Model"]
    assert app.selectbox(key="decide-model").value == found


def test_a_cancelled_job_is_offered_again_and_done_elsewhere(long):
    long(kernel_test)
    app = open_page("pages/views/overview.py", example="two-patients")
    rows = app.session_state["dataset"].evaluation
    compared = compared_rows(Rows(rows))
    job = computing.Job(kernel_test, (*compared, rows.n_samples), {})
    app.session_state["cancelled"] = work._number(job)
    open_fold(turn_to(app, "overview", NUMBERS))
    assert "Cancelled: Comparing pairs of rows." in words(app)
    assert "Recalibration of the confidence by a line" not in words(app)
    press(app, "Compute it")
    assert "Recalibration of the confidence by a line" in words(app)
    assert "Cancel" not in [button.label for button in app.button]
    shown = next(table.value for table in app.dataframe if "Statistic" in table.value.columns)
    wanted = calibration_frame(calibration_tests(rows.labels, rows))
    assert shown["Statistic"].tolist() == wanted["Statistic"].tolist()


@pytest.mark.parametrize("fails", [False, True])
def test_a_page_waits_for_what_another_session_computes(long, monkeypatch, fails):
    """It shows how far that is, and computes it itself if the other session's computation fails."""
    monkeypatch.setattr(kept._thread, "mine", kept.Kept())  # of this thread, which is another session
    long(kernel_test)
    begun, shown = threading.Event(), threading.Event()
    elsewhere, progress = computing.Job.do_elsewhere, DeltaGenerator.progress

    def slow(job, say=None):
        if job.function is kernel_test and not begun.is_set():
            begun.set()
            assert kept.in_background()
            say(0.5, "half of it")
            assert shown.wait(20.0)
            if fails:
                raise InputError("ended")
        return elsewhere(job, say)

    def watched(place, share, text=None):
        if text == "Comparing pairs of rows: half of it":
            shown.set()
        return progress(place, share, text)

    monkeypatch.setattr(computing.Job, "do_elsewhere", slow)
    monkeypatch.setattr(DeltaGenerator, "progress", watched)
    app = open_page("pages/views/overview.py", overview_tab=NUMBERS, example="two-patients")
    kept.begun(page_results.pairs, base_of(app.session_state["dataset"]))
    assert begun.wait(20.0)
    open_fold(app)
    assert shown.is_set()
    assert not app.exception
    assert not app.error
    table = next(table.value for table in app.dataframe if "Statistic" in table.value.columns)
    rows = app.session_state["dataset"].evaluation
    wanted = calibration_frame(calibration_tests(rows.labels, rows))
    assert table["Statistic"].tolist() == wanted["Statistic"].tolist()


def test_a_death_is_one_sentence_of_one_session(long, monkeypatch):
    """What ends the worker is said on the page; what was on screen before stays, and the rest works."""
    long(calibration_tests)

    def ask_and_die(*job):
        raise InputError(computing.Computer.ended.format("it *died*"))

    monkeypatch.setattr(computing.long_pool, "ask", ask_and_die)
    app = open_page("pages/views/overview.py", overview_tab=NUMBERS, example="two-patients")
    open_fold(app)
    (error,) = app.error
    assert "the computation was not finished\\: it \\*died\\*" in error.value
    assert {*app.dataframe[0].value["Number"]} > {"conf-ECE", "TL-ECE"}
    assert not app.exception
    app.switch_page("pages/views/reliability.py").run()
    assert not app.error
