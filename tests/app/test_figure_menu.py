"""The menu of a figure, another model in the diagram, and other names of the classes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from calib.datasets import load_example
from pages.shared.panels.class_names import renamed
from pages.shared.session import ON_SCREEN, dataset, use_renamed
from tests.app.running import open_page, turn_to, with_binning, words


def layout(app, at: int = 0) -> dict:
    return json.loads(app.get("plotly_chart")[at].proto.spec)["layout"]


def test_a_theme_is_chosen_for_a_figure():
    app = open_page("pages/views/reliability.py", example="digits")
    paper = layout(app)["paper_bgcolor"]
    app.session_state["class-bins-picture-theme"] = "dark"
    app.run()
    assert not app.exception
    assert layout(app)["paper_bgcolor"] != paper


def test_classes_are_renamed_and_keep_their_rows():
    rows = open_page("pages/views/overview.py", example="digits").session_state["dataset"].evaluation
    names = [f"digit {name}" for name in rows.class_names]
    again = renamed(rows, names).in_order_of(names[::-1])
    assert again.class_names == tuple(names[::-1])
    assert [again.class_names[code] for code in again.labels[:50]] == [
        names[code] for code in rows.labels[:50]
    ]
    assert (again.proba[:, ::-1] == rows.proba).all()


@pytest.mark.parametrize("moved", [False, True])
def test_what_is_fitted_stays_with_other_names_of_the_classes(monkeypatch, moved):
    app = open_page("pages/views/data.py", example="digits")
    with_binning(app)
    before = dict(app.session_state["methods"])
    with monkeypatch.context() as patch:
        state = {name: app.session_state[name] for name in (*ON_SCREEN, "fits")}
        patch.setattr("streamlit.session_state", state)
        patch.setattr("streamlit.query_params", dict(app.query_params))
        data = dataset()
        names = [f"digit {name}" for name in data.evaluation.class_names]

        def changed(rows):
            return renamed(rows, names).in_order_of(names[::-1] if moved else names)

        shown = replace(data, evaluation=changed(data.evaluation), calibration=changed(data.calibration))
        use_renamed(shown, changed, moved=moved)
    for name in ("dataset", "methods"):
        app.session_state[name] = state[name]
    after = app.session_state["methods"]
    assert list(after) == list(before)
    for name, method in after.items():
        rows, rows_before = (found[name].evidence.predictions for found in (after, before))
        code = 9 - rows.label if moved else rows.label
        assert (code == rows_before.label).all()
        assert rows.confidence == pytest.approx(rows_before.confidence, abs=1e-12)
        if not moved and method.calibrator is not None:
            assert method.calibrator.calibrators_ is before[name].calibrator.calibrators_
    assert "`` digit " in words(turn_to(app, "reliability"))


def test_scores_that_do_not_sum_to_1_get_other_names():
    rows = load_example("digits").evaluation.take(slice(0, 20))
    halved = rows.with_scores(rows.proba / 2.0)
    names = [f"digit {name}" for name in rows.class_names]
    again = renamed(halved, names).in_order_of(names[::-1])
    assert again.class_names == tuple(names[::-1])
    assert (again.proba[:, ::-1] == halved.proba).all()
