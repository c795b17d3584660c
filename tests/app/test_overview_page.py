"""The Overview page: the verdict, the one recommendation, and what was clicked."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from benchmarks.populations import draw_labels, overconfident, scores
from calib import ConfidencePrediction, Predictions, conclude
from calib.files.saved.project import Project
from pages.shared.session import BASE
from pages.shared.widgets import escaped
from tests.app.running import open_page, press, turn_to, with_binning, words


def links(app) -> list[tuple[str, str]]:
    """Label and address of every link of the page."""
    return [(item.proto.label, item.proto.query_string) for item in app.get("page_link")]


def test_the_verdict_and_the_class_it_leads_to():
    app = open_page("pages/views/overview.py", example="digits")
    rows = app.session_state["dataset"].evaluation
    said = conclude(rows.labels, rows)
    (headline,) = (header.value for header in app.header)
    plain = re.sub(r":(orange|blue)\[(.*?)\]", r"\2", headline)
    assert plain.lower() == f"{said.class_words(rows.class_names)}.".lower()
    hues = [
        "orange" if gap.direction == "overconfident" else "blue"
        for gap in said.classes
        if gap.label in said.named
    ]
    assert sorted(re.findall(r":(orange|blue)\[", headline)) == sorted(hues)
    assert said.pooled_words() in words(app)
    following = ["Where it is off", "Repair and download"]
    assert [label for label, _ in links(app)][-2:] == following
    assert "TL-ECE **" in words(app)


def test_the_choice_about_suspected_clusters_is_two_buttons(tmp_path, monkeypatch):
    """15 countries of 100 rows, of which three are off: independent rows, until a button is pressed."""
    random, country = np.random.default_rng(1), np.repeat(np.arange(15), 100)
    confidence = random.uniform(0.6, 0.95, 1500)
    right = random.random(1500) < confidence - 0.25 * (country < 3)
    columns = pd.DataFrame({"country": [f"C{code}" for code in country]})
    rows = ConfidencePrediction(confidence, right, metadata=columns)
    Project("countries", rows).save(tmp_path / "project.zip")
    monkeypatch.setenv("CALIB_PROJECT", str(tmp_path / "project.zip"))
    app = open_page("pages/views/overview.py")
    said = conclude(rows)
    assert said.pooled
    (headline,) = (header.value for header in app.header)
    first, *further = said.sentences()
    assert headline == first
    assert " ".join(further) in words(app)
    assert escaped(said.suspected.words()) in words(app)
    press(app, "They belong together")
    assert app.session_state["dataset"].evaluation.n_clusters == 15
    assert escaped(said.suspected.words()) not in words(app)
    press(app, "Undo clusters: each row stands alone")
    assert app.session_state["dataset"].evidence.clusters.independent
    assert escaped(said.suspected.words()) not in words(app)


@pytest.mark.parametrize(
    "data",
    [
        "two-patients",
        3,
        6,
        *(pytest.param(data, marks=pytest.mark.thorough) for data in ("perfect", 0, 1, 2, 4, 5, 7)),
    ],
)
def test_every_page_names_the_same_calibrator(data, tmp_path, monkeypatch):
    """Two examples and eight files of 2 to 5 classes that are too sure by 0 to 1.05 times: one sentence.

    The report of an example says it, too.
    """
    example = {}
    if isinstance(data, str):
        example = {"example": data}
    else:
        proba = scores(data, 400, 2 + data % 4)
        labels = draw_labels(overconfident(proba, 0.15 * data), np.random.default_rng(data))
        calibration, evaluation = Predictions(proba, labels).split(0.5, random_state=0)
        Project("generated", evaluation, calibration).save(tmp_path / "project.zip")
        monkeypatch.setenv("CALIB_PROJECT", str(tmp_path / "project.zip"))
    app = open_page("pages/views/overview.py", **example)
    (said,) = (item.value for item in app.markdown if " left out of the choice " in item.value)
    assert ("Use your own predictions" in [button.label for button in app.button]) == bool(example)
    fitted = [name for name, method in app.session_state["methods"].items() if method.choices > 1]
    assert said.startswith("**" if fitted else "**Leave")
    assert not fitted or f" (`` {fitted[0]} ``) " in said.partition("** ")[0]
    app.switch_page("pages/views/repair.py").run()
    assert said in [item.value for item in app.markdown]
    assert [box.value for box in app.selectbox if box.key == "chosen"] == (fitted or [None])
    turn_to(app, "repair", "Candidates")
    assert said in [item.value for item in app.markdown]
    assert len(app.dataframe[0].value) > 2
    app.switch_page("pages/views/decide.py").run()
    assert app.dataframe[0].value["Model"].tolist() == [BASE, *fitted]
    if " helps.**" in said:
        assert app.selectbox(key="decide-model").value == fitted[0]
    if isinstance(data, str):
        app.switch_page("pages/views/overview.py").run().toggle(key="make-report").set_value(True).run()
        assert not app.exception
        (written,) = (
            result
            for (name, *_), (result, _) in app.session_state["kept"].results.items()
            if name.endswith("panels.report._page")
        )
        plain = re.sub(r"\\(.)", r"\1", re.sub(r"\*\*|`` | ``", "", said))
        assert plain.partition(" On ")[2] in written.decode()
        assert any(button.proto.label.startswith("Report (HTML, ") for button in app.get("download_button"))


def test_the_report_of_an_undivided_file_has_its_repair():
    proba = scores(7, 900, 3)
    labels = draw_labels(overconfident(proba, 1.05), np.random.default_rng(7))
    frame = pd.DataFrame(proba, columns=["p_a", "p_b", "p_c"]).assign(label=np.array(["a", "b", "c"])[labels])
    content = frame.to_csv(index=False).encode()
    app = open_page("pages/views/data.py")
    app.file_uploader(key="up").upload("rows.csv", content, "text/csv").run()
    turn_to(app, "overview")
    (name,) = app.session_state["methods"]
    app.toggle(key="make-report").set_value(True).run()
    assert not app.exception
    (written,) = (
        result.decode()
        for (name, *_), (result, _) in app.session_state["kept"].results.items()
        if name.endswith("panels.report._page")
    )
    assert "900 evaluation rows" in written
    assert "fitted on 450 of these rows" in written
    picture = json.loads(
        re.search(r'getElementById\("living-repair"\), (\{.*?\}), document', written).group(1)
    )
    assert (picture["names"], picture["rows"]) == (["Before", f"After {name}"], 450)
    assert f"<td>{name}</td>" in written or f">{name}<" in written


def test_next_is_what_comes_next():
    app = open_page("pages/views/data.py", example="digits")
    steps = ["The answer", "Where it is off", "Repair and download", "What may pass", "New predictions"]
    rooms = {"data": 0, "overview": 1, "reliability": 2, "groups": 2, "repair": 3, "validity": 3, "decide": 4}
    for room, first in rooms.items():
        shown = [label for label, _ in links(turn_to(app, room)) if label in steps]
        assert shown == steps[first : first + 2], room
    for room in ("judge", "imbalance", "simplex", "learn"):
        assert not [label for label, _ in links(turn_to(app, room)) if label in steps], room


def test_addresses_open_bin_class_and_model():
    app = open_page("pages/views/reliability.py", example="digits", bin="10")
    assert app.session_state["bin"] == 10
    app = open_page("pages/views/reliability.py", example="digits", **{"class": "4"})
    assert app.session_state["class"] == 4
    name = with_binning(app)
    app.selectbox(key="method").set_value(name).run()
    assert app.query_params["method"] == name
    assert app.session_state["class"] == 4
    app.selectbox(key="class").select(2).run()
    assert app.query_params["class"] == "2"
    for unknown in ("999", "x"):
        app = open_page(
            "pages/views/reliability.py",
            example="digits",
            **{"class": unknown, "method": unknown},
        )
        assert not app.exception
        assert app.session_state["class"] in range(10)


def test_own_predictions_are_one_click_away():
    app = open_page("pages/views/overview.py", example="two-patients")
    press(app, "Use your own predictions")
    assert not app.exception
    assert [title.value for title in app.title] == ["Data"]
