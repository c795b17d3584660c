"""A summary dropped on the Data page is on every page, which says what needs the rows."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calib
from calib import scale
from calib.scale.batches import STREAMED
from calib.scale.files import dumps
from calib.stats.measures import MEASURES
from pages.shared.needs import NEEDS
from tests.app.running import PLACES, number, open_page, open_tab, turn_to, words
from tests.app.test_kinds import FILES
from tests.app.test_pages_upload import upload
from tests.populations import population

N, L = 3_000, 4


def put_on_screen(summary):
    """The app with a summary in use."""
    app = open_page("pages/views/data.py", example="two-patients")
    upload(app, "up", "run.calib.json.gz", dumps(summary))
    assert not app.session_state["dataset"].has_rows
    return app


@pytest.fixture(scope="module")
def rows():
    return population(N, L, seed=1)


@pytest.fixture(scope="module")
def summarized(rows, tmp_path_factory):
    proba, labels = rows
    columns = {f"p(*c{code}*)": proba[:, code] for code in range(L)}
    columns |= {"label": [f"*c{code}*" for code in labels], "site": ["north", "south"] * (N // 2)}
    folder = tmp_path_factory.mktemp("rows")
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    summary = scale.summarize(folder, by="site", class_wise=True)
    return put_on_screen(summary), summary


@pytest.mark.parametrize(("room", "tab"), PLACES)
def test_page_shows_sums_or_says_what_needs_rows(summarized, room, tab):
    app, _ = summarized
    turn_to(app, room, tab)
    name = room.capitalize() if room in ("repair", "groups") or not tab else tab
    said = words(app).replace("\\", "")
    assert not app.error
    if name in NEEDS and (instead := NEEDS[name].without_rows):
        assert f"{name} needs the rows, and a summary holds only sums: {instead}." in said


@pytest.mark.parametrize("kind", sorted({*STREAMED} - {"vectors"}))
def test_every_page_shows_a_summary_of_less_than_vectors(kind, tmp_path):
    pq.write_table(
        pa.table({name: np.asarray(values) for name, values in FILES[kind].items()}),
        tmp_path / "rows.parquet",
    )
    summary = scale.summarize(tmp_path)
    assert summary.kind == kind
    app = put_on_screen(summary)
    for room, tab in PLACES:
        words(turn_to(app, room, tab))
        assert not app.error, (room, tab)


def test_numbers_are_those_of_the_rows(rows, summarized):
    proba, labels = rows
    app, _ = summarized
    turn_to(app, "overview")
    assert number(app, "Accuracy").startswith(f"{calib.accuracy(labels, proba):.4f}")
    assert number(app, "TL-ECE").startswith(f"{calib.ece(labels, proba):.4f}")
    assert number(app, "CW-ECE").startswith(f"{calib.ece(labels, proba, notion='class-wise'):.4f}")
    expected = calib.metrics(labels, proba)
    shown = app.dataframe[0].value.set_index("Number")["Measured"]
    for key, measure in MEASURES.items():
        if measure.title in shown and measure.metric != "auc" and getattr(expected, key) is not None:
            assert shown[measure.title] == pytest.approx(getattr(expected, key), abs=1e-9), key
    turn_to(app, "overview")
    said = calib.conclude(labels, proba).words([f"`` *c{code}* ``" for code in range(L)])
    assert said[:40] in "\n".join(header.value for header in app.header)
    app.toggle(key="make-report").set_value(True).run()
    assert any(button.proto.label.startswith("Report (HTML") for button in app.get("download_button"))
    app.switch_page("pages/views/validity.py").run()
    top = calib.validity_curve(labels, proba, n_bins=15)
    assert f"**{100 * top.at(0.05):.0f}** of 100" in words(app)
    turn_to(app, "groups")
    assert "of 2** groups " in words(app)
    turn_to(app, "reliability")
    open_tab(app, "reliability_tab", "All classes")
    found = calib.class_table(labels, proba, random_state=0)
    np.testing.assert_allclose(app.dataframe[0].value["gap"], found.frame()["gap"], atol=1e-12)


def test_weighted_confidences(tmp_path):
    random = np.random.default_rng(2)
    score, weight = random.random(600), random.choice([0.5, 1.0, 4.0], 600)
    columns = {"confidence": score, "correct": random.random(600) < score, "sample_weight": weight}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    app = put_on_screen(scale.summarize(tmp_path))
    for room, tab in (
        ("overview", ""),
        ("reliability", ""),
        ("overview", "How sure is each number?"),
        ("groups", ""),
    ):
        turn_to(app, room, tab)
        assert "weighted" in words(app)
        assert not app.error
    assert "a summary needs" in words(app)


def test_damaged_summary_is_one_sentence(tmp_path):
    app = open_page("pages/views/data.py", example="two-patients")
    upload(app, "up", "run.calib.json.gz", gzip.compress(b'{"format": "calib-summary"}'))
    assert not app.exception
    assert "Not opened" in app.error[0].value
