"""Files to download are kept for the session that asked: none is made by a function at the download."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pages.shared import widgets
from pages.shared.widgets import MADE_AT_ONCE
from tests.app.running import PLACES, open_page, press, turn_to, words


@pytest.fixture(scope="module")
def visit():
    """One session, so that the example is made and fitted once."""
    return open_page("pages/views/overview.py", example="two-patients")


@pytest.mark.parametrize(("room", "tab"), PLACES)
def test_every_offered_file_is_there_already(visit, room, tab):
    """Also those in the menus of figures, once these are open."""
    app = turn_to(visit, room, tab)
    assert not app.exception
    found = [menu.proto.popover.id for menu in app.get("popover")]
    menus = [name.split("-", 2)[2] for name in found if name.endswith("-files")]
    assert len(menus) == len(app.get("plotly_chart"))
    for name in menus:
        app.session_state[name] = True
    app.run()
    assert not app.exception
    buttons = [button.proto for button in app.get("download_button")]
    assert [button.label for button in buttons if not button.url or button.deferred_file_id] == []
    # the style sheet lifts what has a key with -save into the corner of the picture above it
    assert [button.label for button in buttons if "-save" in button.id] == []


def test_a_figure_is_made_when_asked_for_and_offered_until_the_page_runs_again():
    app = open_page("pages/views/reliability.py", example="two-patients")
    app.session_state["reliability-save"] = True
    press(app.run(), "Picture (HTML)")
    (save,) = [b.proto for b in app.get("download_button") if b.proto.label.startswith("Save ")]
    assert save.label.startswith("Save reliability.html (")
    assert save.url
    app.run()
    assert not [b for b in app.get("download_button") if b.proto.label.startswith("Save ")]


def test_a_large_table_is_made_when_asked_for():
    app = open_page("pages/views/repair.py", repair_tab="Apply", example="two-patients")
    random = np.random.default_rng(0)
    names = list(app.session_state["dataset"].evaluation.class_names)
    rows = random.dirichlet(np.ones(len(names)), MADE_AT_ONCE // 2)
    content = pd.DataFrame(rows, columns=names).to_csv(index=False).encode()
    app.file_uploader(key="apply-file").upload("new.csv", content, "text/csv").run()
    assert not app.exception
    assert "rows; on average" in words(app), [e.value for e in [*app.error, *app.info]]
    for label in ("Calibrated predictions (CSV)", "Calibrated predictions (Parquet)"):
        press(app, label)
        assert not app.exception
        (save,) = [b.proto for b in app.get("download_button") if b.proto.label.startswith("Save ")]
        assert save.url


@pytest.fixture
def tables(monkeypatch):
    """The tables that a page offers, by file."""
    found = {}
    monkeypatch.setattr(widgets, "download", lambda table, file, **_: found.update({file: table}))
    return found


def test_ids_of_rows_to_label_are_written_as_they_were_read(tables):
    open_page("pages/views/judge.py", judge_tab="Label these next")
    assert str(tables["label-these-next"]["id"].dtype) == "Int64"


@pytest.mark.parametrize("columns", [{"frequency", "lower", "upper"}, {"frequency", "count"}])
def test_the_data_of_the_curve_without_bins_are_its_scores(tables, columns):
    app = open_page("pages/views/reliability.py", example="two-patients")
    if "count" in columns:  # no band for rows that belong together
        data = app.session_state["dataset"]
        at = np.arange(data.evaluation.n_samples) // 4
        app.session_state["dataset"] = data.changed(lambda rows: rows.with_cluster(at[: rows.n_samples]))
    turn_to(app, "reliability", "Without bins")
    app.session_state["reliability-curve-files"] = True
    app.run()
    assert not app.exception
    assert columns <= set(tables["reliability-curve"])
    assert len(tables["reliability-curve"]) == len(set(tables["reliability-curve"]["score"]))
