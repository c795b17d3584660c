"""Every page on every built-in example, run by Streamlit's own test runner."""

from __future__ import annotations

import io
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.datasets import EXAMPLE_TITLES, simulated
from pages.shared import kept, session
from tests.app.running import PAGES, PLACES, ROOT, marks_outside, open_page, turn_to, words


def test_navigation_lists_every_page_file():
    listing = (ROOT / "app.py").read_text(encoding="utf-8")
    assert [page for page in PAGES if f'"{Path(page).stem}":' not in listing] == []


#: Examples that differ from others by their numbers or size alone; `make thorough` opens all pages on them.
ALIKE = ("perfect", "digits", "resnet", "covtype-simulated", "three-classes", "networks")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.thorough) if name in ALIKE else name for name in EXAMPLE_TITLES
    ],
)
def visit(request):
    """One session on a built-in example: its data are made, and its calibrator fitted, once for all pages."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many-classes":  # all its classes, few of its rows
            patch.setattr(simulated, "many_classes", partial(simulated.many_classes, 1_000))
            patch.setattr(kept, "_shared_results", kept.Kept())
            session._example.clear()
        app = open_page("pages/views/overview.py", example=request.param)
        assert app.session_state["dataset"].example == request.param
        yield app
    session._example.clear()


@pytest.mark.parametrize(("room", "tab"), PLACES)
def test_page_runs_on_example(visit, room, tab):
    app = turn_to(visit, room, tab)
    assert not app.exception
    assert not app.error
    name = {"More": "a perfect model", "Glossary": "glossary"}.get(tab, room)
    titles = [name in title.value.lower() for title in app.title]
    assert titles == ([] if tab == "Lesson" else [True])  # the browser writes the lesson's titles
    for chart in app.get("plotly_chart"):
        assert marks_outside(chart.proto.spec) == [], chart.proto.id


def file_bytes(save, *arrays, **named) -> bytes:
    """Bytes of a NumPy file."""
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def csv_table(*rows: str) -> bytes:
    return "\n".join(["p_a,p_b,p_c,label", *rows]).encode()


NPZ = file_bytes(np.savez, proba=np.full((40, 3), 1 / 3), labels=np.arange(40) % 3)
BAD_FILES = {
    "prose.csv": b"To be, or not to be\nthat is the question\n",
    "empty.csv": b"",
    "truncated.npz": NPZ[: len(NPZ) // 2],
    "pickle.npy": file_bytes(lambda file, array: np.save(file, array, allow_pickle=True), np.array([{}, {}])),
    "pickle.npz": pickle.dumps({"proba": [0.5, 0.5]}),
    "vector.npy": file_bytes(np.save, np.full(30, 0.5)),
    "cube.npy": file_bytes(np.save, np.full((3, 3, 3), 1 / 3)),
    "lengths.npz": file_bytes(np.savez, proba=np.full((40, 3), 1 / 3), labels=np.arange(39) % 3),
    "label.csv": csv_table("0.2,0.3,0.5,2", "0.2,0.3,0.5,7", "0.2,0.3,0.5,1", "0.2,0.3,0.5,0"),
    "nan.csv": csv_table("0.2,0.3,0.5,2", "nan,0.3,0.5,1", "0.2,0.3,0.5,1", "0.2,0.3,0.5,0"),
    "negative.csv": csv_table("0.2,0.3,0.5,2", "-0.3,0.8,0.5,1", "0.2,0.3,0.5,1", "0.2,0.3,0.5,0"),
    "noise.parquet": bytes(range(256)) * 8,
    "features.csv": b"age,height,weight\n" + b"33.5,181.2,80.1\n51.2,170.3,66.4\n" * 20,
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_gives_one_sentence_and_loses_nothing(name):
    app = open_page("pages/views/data.py", example="digits")
    before = words(app)
    app.file_uploader(key="up").upload(name, BAD_FILES[name], "application/octet-stream").run()
    assert not app.exception
    assert len(app.error) == 1
    message = app.error[0].value
    assert "Traceback" not in message
    assert "Error(" not in message
    assert "score=" not in message  # the words of Python
    assert 20 < len(message) < 500
    app = app.switch_page("pages/views/overview.py").run()
    assert "Handwritten digits" in words(app)
    assert "Handwritten digits" in before


def test_file_without_a_calibrator_is_refused_in_one_sentence():
    app = open_page("pages/views/repair.py", repair_tab="Apply", example="digits")
    app.file_uploader(key="calibrator-file").upload("cal.json", b'{"format": "x"}', "application/json").run()
    assert not app.exception
    assert len(app.error) == 1


def test_calibration_columns_follow_the_names_of_the_evaluation_columns():
    random = np.random.default_rng(0)
    proba = random.dirichlet([3.0, 2.0, 1.0], 400)
    labels = np.array([random.choice(3, p=row) for row in proba])
    names = np.array(["a", "b", "c"])
    rows = pd.DataFrame(proba, columns=names).assign(label=names[labels])
    app = open_page("pages/views/data.py", example="digits")
    app.file_uploader(key="up").upload("rows.csv", rows.to_csv(index=False).encode(), "text/csv").run()
    reordered = rows[["c", "a", "b", "label"]].to_csv(index=False).encode()
    app.file_uploader(key="up-calibration").upload("calibration.csv", reordered, "text/csv").run()
    assert not app.exception
    loaded = app.session_state["dataset"]
    assert loaded.calibration.class_names == loaded.evaluation.class_names == ("a", "b", "c")
    np.testing.assert_allclose(loaded.calibration.proba, loaded.evaluation.proba)
    np.testing.assert_array_equal(loaded.calibration.labels, labels)


def test_words_of_a_bad_file_are_shown_as_they_are():
    hostile = b"![x](http://example.com/x.png),![x](http://example.com/x.png),label\n0.5,0.5,0\n0.4,0.6,1\n"
    app = open_page("pages/views/data.py", example="digits")
    app.file_uploader(key="up").upload("bad.csv", hostile, "text/csv").run()
    assert len(app.error) == 1
    code = "`` '![x](http://example.com/x.png)' ``"  # in which nothing is a link or a picture
    assert code in app.error[0].value
    assert "://" not in app.error[0].value.replace(code, "")
