"""The Overview page: the conclusion with links, what would help, and the numbers."""

from __future__ import annotations

from calib import conclude, noise_floor
from calib.answers import advice
from pages.shared import kept
from tests.app.running import open_page, press, words


def links(app) -> list[tuple[str, str]]:
    """Label and address of every link of the page."""
    return [(one.proto.label, one.proto.query_string) for one in app.get("page_link")]


def test_conclusion_help_and_links():
    app = open_page("pages/start/overview.py", example="digits")
    rows = app.session_state["dataset"].evaluation
    said = conclude(rows.labels, rows)
    names = [f"`` {name} ``" for name in rows.class_names]
    assert said.words(names) in [header.value for header in app.header]
    assert "Temperature scaling or top\\-label Platt scaling would help" in words(app)
    targets = dict(links(app))
    assert targets[f"Look at the confidence {said.pooled[0].range_words()}"] == f"bin={said.pooled[0].bin}"
    for gap in said.named():
        assert targets[f"Predicted {names[gap.label]}"] == f"class={gap.label}"
    floor = noise_floor(rows.labels, rows, notion="top-label", random_state=0)
    assert f"TL-ECE {floor.mean:.4f}" in next(
        one.value for one in app.caption if "Noise floor, " in one.value
    )
    assert not [slider for slider in app.slider if slider.key == "bins"]
    press(app, "Fit and take away TS")
    assert not app.exception
    assert app.session_state["chosen"] == "TS"


def test_what_was_clicked_is_described_and_linked():
    app = open_page("pages/start/overview.py", example="two-patients")
    app.session_state["looked-at"] = (0, 9)
    app.run()
    assert "Predicted `` disease" in words(app)
    assert ("Open this bin", "bin=9") in links(app)
    assert ("Open predicted `` disease 1 ``", "class=0") in links(app)


def test_addresses_open_bin_class_and_model():
    app = open_page("pages/diagnose/reliability.py", example="digits", bin="10")
    assert app.session_state["bin"] == 10
    app = open_page(
        "pages/diagnose/classes.py", example="digits", **{"class": "4", "method": "TL-HB, k = 50"}
    )
    assert app.session_state["class"] == 4
    assert app.session_state["method"] == "TL-HB, k = 50"
    app.selectbox(key="class").select(2).run()
    assert app.query_params["class"] == "2"
    for unknown in ("999", "x"):
        app = open_page(
            "pages/diagnose/classes.py", example="digits", **{"class": unknown, "method": unknown}
        )
        assert not app.exception
        assert app.session_state["class"] in range(10)


def test_own_predictions_are_one_click_away():
    app = open_page("pages/start/overview.py", example="two-patients")
    press(app, "Use your own predictions")
    assert not app.exception
    assert [title.value for title in app.title] == ["Data"]
    assert "own-data" in app.session_state


def test_a_first_answer_on_a_sample_says_so(monkeypatch):
    monkeypatch.setattr(kept, "_of_all_sessions", kept.Kept())
    monkeypatch.setattr(advice, "QUICK_ROWS", 100)
    app = open_page("pages/start/overview.py", example="digits")
    (tried,) = (text.help for text in app.markdown if text.help and text.help.startswith("Tried in five"))
    n_samples = app.session_state["dataset"].calibration.n_samples
    assert f" of the {n_samples:,} calibration rows, drawn at random" in tried
    assert "With all rows" in tried
