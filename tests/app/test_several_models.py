"""Several models in one session: from files to the better one, a menu on every page, and a project."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib
from tests.app.running import open_page, press, turn_to, words
from tests.app.test_pages_upload import upload
from tests.app.test_project_page import saved

N, NAMES = 300, np.array(["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def files() -> list[tuple[str, bytes, str]]:
    """Three models on the same rows: "sure" has classes in another order, "noisy" rows in another order."""
    random = np.random.default_rng(3)
    chance = random.dirichlet(np.full(3, 0.7), N)
    labels = np.array([random.choice(3, p=row) for row in chance])
    blurred = chance**0.2 * random.gamma(1.0, size=chance.shape)
    made = []
    for name, scores, order in (
        ("sure", chance**4.0, [2, 0, 1]),
        ("good", chance, [0, 1, 2]),
        ("noisy", blurred, [0, 1, 2]),
    ):
        scores = scores / scores.sum(axis=1, keepdims=True)
        frame = pd.DataFrame(scores[:, order], columns=NAMES[order]).assign(label=NAMES[labels], id=range(N))
        frame = frame.sample(frac=1.0, random_state=0) if name == "noisy" else frame
        made.append((f"{name}.csv", frame.to_csv(index=False).encode(), "text/csv"))
    return made


@pytest.fixture(scope="module")
def app(files):
    """The files in use: one choice of files and one press of a button."""
    app = open_page("pages/views/data.py", example="two-patients")
    app.file_uploader(key="up").set_value(files).run()
    assert not app.error
    return app


def test_three_files_to_the_better_model_with_its_interval(app, files):
    """Upload, use, open Compare: the sentence is the library's, for the rows that calib split."""
    turn_to(app, "repair", "Candidates")
    read = {name.removesuffix(".csv"): calib.read(content) for name, content, _ in files}
    table = calib.compare_models(read, ["TS", "TL-HB"])
    assert "good, " in table.before.words()
    assert table.before.best["Brier improvement"].sum() == 1
    assert "Before calibration: Lowest Brier score: `` good ``" in words(app)
    assert table.words() in words(app).replace("`` ", "").replace(" ``", "")
    shown = next(item.value for item in app.dataframe if "Model" in item.value)
    pd.testing.assert_frame_equal(shown, table.texts())
    labels = [button.proto.label for button in app.get("download_button")]
    assert {"Table (CSV)", "All numbers (CSV)", "Markdown", "LaTeX"} <= set(labels)


def test_one_menu_puts_a_model_on_every_page(app):
    app.switch_page("pages/views/reliability.py").run()
    menu = app.selectbox(key="model")
    assert list(menu.options) == ["sure", "good", "noisy"]
    menu.set_value("good").run()
    models = app.session_state["dataset"].models
    assert app.session_state["dataset"].evaluation is models["good"][1]
    for page in ("overview", "groups", "decide"):
        app.switch_page(f"pages/views/{page}.py").run()
        assert not app.exception
        assert app.selectbox(key="model").value == "good"
    assert {"sure", "noisy"} <= set(app.selectbox(key="decide-model").options)


def test_project_keeps_the_models(app, monkeypatch):
    app.switch_page("pages/views/reliability.py").run()
    app.selectbox(key="model").set_value("good").run()
    content = saved(app, monkeypatch)
    again = open_page("pages/views/data.py", example="two-patients")
    upload(again, "up", "models.calib", content)
    press(again, "Open this project")
    before, after = (item.session_state["dataset"] for item in (app, again))
    assert after.model == before.model
    assert set(after.models) == set(before.models)
    for name, pair in before.models.items():
        np.testing.assert_array_equal(after.models[name][1].proba, pair[1].proba)
    kept = again.session_state["elsewhere"]
    assert list(kept["sure"]) == list(app.session_state["elsewhere"]["sure"])


def test_a_file_of_several_models():
    rows = pd.DataFrame({"y_true": [1, 0, 1, 1, 0, 0] * 20, "lr_proba": np.tile([0.9, 0.2, 0.7], 40)})
    rows = rows.assign(rf_proba=np.tile([0.8, 0.3, 0.4], 40))
    app = open_page("pages/views/data.py", example="two-patients")
    upload(app, "up", "both.csv", rows.to_csv(index=False).encode())
    press(app, "Read all 2 as models")
    assert not app.error
    models = app.session_state["dataset"].models
    assert list(models) == ["lr_proba", "rf_proba"]
    assert sorted(set(models["rf_proba"][1].score.tolist())) == [0.3, 0.4, 0.8]


def test_models_on_other_rows_are_refused(files):
    app = open_page("pages/views/data.py", example="two-patients")
    name, content, kind = files[0]
    short = content[: content[:-1].rindex(b"\n") + 1]
    app.file_uploader(key="up").set_value([files[1], (name, short, kind)]).run()
    assert "need the same rows" in app.error[0].value
    app.file_uploader(key="up").set_value([files[1], (name, content[:-20], kind)]).run()
    assert "cannot be read" in app.error[0].value
    assert app.session_state["dataset"].example == "two-patients"


def test_models_stay_if_another_file_is_refused(files):
    app = open_page("pages/views/data.py", example="two-patients")
    app.file_uploader(key="up").set_value(files[:2]).run()
    data = app.session_state["dataset"]
    assert len(data.models) == 2
    app.switch_page("pages/views/data.py").run()
    upload(app, "up", "bad.csv", b"a,b\nx,hello\n")
    assert app.error
    app.switch_page("pages/views/overview.py").run()
    app.switch_page("pages/views/data.py").run()
    assert app.session_state["dataset"] is data
    assert "Further model: `` good ``" in words(app)
