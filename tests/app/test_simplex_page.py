"""Text of the Simplex page, also when there is no triangle to draw."""

from __future__ import annotations

import numpy as np
import pytest

from calib import CanonicalBinning, GridScheme, Predictions, ProjectionScheme, SierpinskiScheme
from calib.files.saved import dumps, loads
from pages.shared.session import Dataset
from tests.app.running import open_page, open_tab, press, words

PAGE = "pages/views/simplex.py"


def test_two_classes_are_not_shown_with_the_reason():
    score = np.linspace(0.01, 0.99, 40)
    rows = Predictions(np.column_stack([1 - score, score]), np.arange(40) % 2)
    app = open_page("pages/views/overview.py", example="two-patients")
    app.session_state["dataset"] = Dataset("binary", "", False, rows, rows)
    app.switch_page(PAGE).run()
    assert not app.exception
    assert "not `` binary ``: Simplex needs at least three classes" in words(app).replace("\\", "")
    assert "Show the loaded predictions" not in [button.label for button in app.button]


def test_a_scheme_that_needs_more_rows_is_named():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    rows = Predictions(proba, np.arange(40) % 3)
    app = open_page("pages/views/overview.py", example="two-patients")
    app.session_state["dataset"] = Dataset("tiny", "", False, rows.take(np.arange(8)), rows)
    app.switch_page(PAGE).run()
    assert not app.exception
    assert "Arrows" not in words(app)  # no bin has 20 calibration rows
    needed = "n_bins=27 needs at least 26 calibration rows; got 8"
    open_tab(app, "about-simplex", "Bins and their guarantee")
    heads = ["Bin", "Evaluation rows", "Calibration rows", "Arrow length (L1)", "Bound (L1, \u03b1 = 0.1)"]
    assert app.dataframe[0].value.columns[:6].tolist() == [*heads, "Share of canonical-ECE (%)"]

    app.selectbox(key="scheme").set_value("Projection").run()
    assert needed in app.error[0].value.replace("\\", "")


def test_the_bin_that_is_named_has_the_largest_share_of_the_error():
    app = open_page(PAGE)
    open_tab(app, "about-simplex", "Bins and their guarantee")
    bins = app.dataframe[0].value
    drawn = bins[bins[["Evaluation rows", "Calibration rows"]].min(axis=1) >= 20]
    most = drawn.loc[drawn["Share of canonical-ECE (%)"].idxmax()]
    (sentence,) = [text.value for text in app.markdown if "adds most" in text.value]
    assert f"Bin {most['Bin']:.0f} ({most['Evaluation rows']:,.0f} rows) adds most" in sentence
    assert f"{most['Share of canonical-ECE (%)']:.0f}%:" in sentence


@pytest.mark.parametrize("how", ["Two classes, all others merged", "Three classes, renormalised"])
def test_too_few_chosen_classes_are_asked_for(how):
    app = open_page(PAGE, example="digits")
    app.radio(key="how").set_value(how).run()
    app.multiselect[0].set_value(app.multiselect[0].value[:1]).run()
    assert not app.exception
    assert "different class" in app.info[0].value or "choose 2 classes" in app.info[0].value


def test_every_scheme_survives_its_file():
    rng = np.random.default_rng(0)
    rows = Predictions(rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500))
    for scheme in (SierpinskiScheme(3), GridScheme(4), ProjectionScheme(9), ProjectionScheme(9, "random", 1)):
        fitted = CanonicalBinning(scheme).fit(rows.proba, rows.labels)
        again = loads(dumps(fitted))
        np.testing.assert_array_equal(again.predict_proba(rows.proba), fitted.predict_proba(rows.proba))
        np.testing.assert_array_equal(again.assign(rows.proba), fitted.assign(rows.proba))


@pytest.mark.parametrize("how", [None, "Two classes, all others merged", "Three classes, renormalised"])
def test_the_rows_of_a_bin_are_those_of_the_predictions(how):
    app = open_page(PAGE, example="digits")
    if how is None:
        press(app, "Show three forest types")
    else:
        app.radio(key="how").set_value(how).run()
    open_tab(app, "about-simplex", "Bins and their guarantee")
    counts = app.dataframe[0].value.set_index("Bin")["Evaluation rows"]
    behind, count = int(counts.idxmax()), counts.max()
    app.session_state["simplex-bin"] = behind  # as a click on its arrow does
    app.run()
    app.toggle(key="simplex-rows-open").set_value(True).run()
    listed = app.dataframe[0].value
    assert f"Bin {behind} of the triangle: **{count:,}** rows" in words(app)
    assert len(listed) == min(count, 1_000)
    if how is None:
        assert not any(column.startswith("after") for column in listed)
        return
    data = app.session_state["dataset"].evaluation
    names = np.array(data.class_names)
    assert listed["true"].tolist() == names[data.labels[listed["row"]]].tolist()
    if how == "Three classes, renormalised":
        chosen = names[app.multiselect[0].value]
        assert set(listed["true"]) <= set(chosen)


def test_rows_that_belong_together_have_no_column_of_empty_bounds():
    rng = np.random.default_rng(0)
    sites = np.repeat(np.arange(40), 5)
    rows = Predictions(rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200), cluster=sites)
    app = open_page("pages/views/overview.py", example="two-patients")
    app.session_state["dataset"] = Dataset("sites", "", False, rows, rows)
    app.switch_page(PAGE).run()
    open_tab(app, "about-simplex", "Bins and their guarantee")
    assert "these rows belong together" in words(app)
    assert not [name for name in app.dataframe[0].value if name.startswith("Bound")]
