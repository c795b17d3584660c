"""The project file in the app: saved on Data, opened by dropping it there, and served by the command line."""

from __future__ import annotations

import io
from dataclasses import replace

from calib import Project
from calib.datasets import load_example
from pages.shared.session import as_project
from tests.app.running import open_page, open_tab, press, turn_to, words
from tests.app.test_pages_upload import PROBA, csv, metric, shown_text, upload


def saved(app, monkeypatch) -> bytes:
    """The file that the app offers."""
    file = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr("streamlit.session_state", app.session_state)
        patch.setattr("streamlit.query_params", dict(app.query_params))
        as_project().save(file)
    return file.getvalue()


def test_project_restores_the_session_in_another_one(monkeypatch):
    app = open_page("pages/views/reliability.py", example="two-patients", bins="20")
    app.switch_page("pages/views/data.py").run()
    upload(app, "up", "one.csv", csv(100 * PROBA))
    press(app, "Apply fix")
    open_tab(app, "data_tab", "Project")
    app.text_area(key="notes").set_value("The *cats* are off.").run()
    app.switch_page("pages/views/repair.py").run().selectbox(key="chosen").select("TS").run()
    app.switch_page("pages/views/data.py").run()
    before = dict(app.session_state["methods"])
    fingerprint = app.session_state["dataset"].evaluation.fingerprint
    content = saved(app, monkeypatch)
    project = Project.load(content)
    assert project.notes == "The *cats* are off."
    assert project.split == 0.5
    assert project.roles.label == ("label",)
    assert project.settings["Reliability"]["bins"] == "20"

    app = open_page("pages/views/data.py", example="two-patients")
    upload(app, "up", "one-csv.calib", content)
    assert "This is a project" in shown_text(app)
    assert "Use these files" not in [button.label for button in app.button]
    assert app.session_state["dataset"].example == "two-patients"  # nothing is replaced yet
    press(app, "Open this project")
    assert not app.exception
    assert metric(app, "Evaluation rows") == "240"
    assert "percent" in shown_text(app)
    assert "true label: label" in shown_text(app)
    open_tab(app, "data_tab", "Project")
    assert app.text_area(key="notes").value == "The *cats* are off."
    assert app.session_state["bins"] == 20
    after = app.session_state["methods"]
    assert list(after) == list(before)
    for name, method in before.items():
        assert method.evidence.predictions.fingerprint == after[name].evidence.predictions.fingerprint
        assert method.evidence.strategy == after[name].evidence.strategy
    back = next(button.label for button in app.button if button.label.startswith("Back to"))
    press(app, back)
    assert app.session_state["dataset"].example == "two-patients"
    press(app, next(button.label for button in app.button if button.label.startswith("Back to")))
    press(app, "Change columns or fixes")
    assert app.selectbox(key="role-label").value == "label"
    assert not app.error
    press(app, "Undo all fixes")
    assert "cannot be used yet" in app.error[0].value
    assert "Apply the fix below" in app.error[0].value  # its button stands under the answer
    press(app, "Apply fix")
    assert not app.error
    assert app.session_state["dataset"].evaluation.fingerprint == fingerprint


def test_what_no_control_offers_is_not_taken_from_a_project(monkeypatch):
    app = open_page("pages/views/reliability.py", example="two-patients", bins="20")
    project = Project.load(saved(app, monkeypatch))
    opened = []
    for bins in ("999999999", "9" * 5_000, "-3", "\u0661\u0662"):
        file = io.BytesIO()
        replace(project, settings={"Reliability": {"bins": bins}}).save(file)
        fresh = open_page("pages/views/data.py", example="two-patients")
        upload(fresh, "up", "forged.calib", file.getvalue())
        if "This is a project" not in shown_text(fresh) or fresh.error:
            continue
        opened.append(bins)
        press(fresh, "Open this project")
        assert not fresh.exception
        assert "bins" not in fresh.session_state or fresh.session_state["bins"] in range(2, 51)
        assert not fresh.switch_page("pages/views/overview.py").run().exception
    assert {"999999999", "-3"} <= set(opened)


def test_damaged_project_changes_nothing(monkeypatch):
    app = open_page("pages/views/data.py", example="two-patients")
    content = bytearray(saved(app, monkeypatch))
    content[40:80] = bytes(40)
    upload(app, "up", "broken.calib", bytes(content))
    assert "Not opened" in app.error[0].value
    assert app.session_state["dataset"].example == "two-patients"


def test_server_of_a_project_opens_it(tmp_path, monkeypatch):
    example = load_example("two-patients")
    Project("mine", example.evaluation, notes="seen").save(tmp_path / "mine.calib")
    monkeypatch.setenv("CALIB_PROJECT", str(tmp_path / "mine.calib"))
    app = open_page("pages/views/data.py")
    assert "mine" in words(app)
    assert app.session_state["notes"] == "seen"


def test_other_data_can_be_taken_back_on_every_page():
    app = open_page("pages/views/data.py", example="two-patients")
    upload(app, "up", "one.csv", csv(PROBA))
    turn_to(app, "learn", "Glossary")
    press(app, next(button.label for button in app.button if button.label.startswith("Back to")))
    assert not app.exception
    assert app.session_state["dataset"].example == "two-patients"
