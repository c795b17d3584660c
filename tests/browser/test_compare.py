"""The Compare page in a real browser: the leaderboard's numbers, another model, and a figure per method."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from calib import compare_models, ece, recommend
from calib.calibrators.catalogue import PAPER, name_of, named_methods
from calib.datasets import load_example
from calib.files.saved import loads
from tests.browser.screen import keep_picture, settled
from tests.browser.steps import open_tab, upload_file


def downloaded(page, button: str) -> bytes:
    """Press a download button and return the file."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button, exact=True).click()
    with open(waiting.value.path(), "rb") as file:
        return file.read()


def test_compare(open_page, tmp_path):
    example = load_example("resnet")
    page = open_page("compare")
    page.get_by_role("button", name="LaTeX", exact=True).wait_for()
    settled(page)
    table = pd.read_csv(io.BytesIO(downloaded(page, "Table (CSV)"))).set_index("Method")
    advice = recommend(example.calibration, example.calibration.labels)
    wanted = {name: named_methods()[name] for name in (*PAPER, name_of(advice.calibrator))}
    pair = example.calibration, example.evaluation
    mine = compare_models({"a": pair}, wanted, n_resamples=1).ranking().set_index("Method")
    table.index = "a, " + table.index.str.replace("Base model", "Base")
    assert list(table.index) == list(mine.index)
    for head in ("Brier improvement", "Log loss improvement, lower", "Accuracy", "TL-ECE", "TL-MCE (bin)"):
        np.testing.assert_allclose(table[head], mine[head], rtol=1e-9, atol=1e-12)
    assert b"\\textbf{" in downloaded(page, "LaTeX")
    assert b"**" in downloaded(page, "Markdown")


def test_a_second_model_is_added_and_compared(open_page, tmp_path):
    """On Data, then on Compare: its numbers are the library's, on the rows that are there."""
    example = load_example("digits")
    page = open_page("data?example=digits")
    softened = example.evaluation.proba**0.5
    softened /= softened.sum(axis=1, keepdims=True)
    other = tmp_path / "other.npz"
    np.savez(other, proba=softened, labels=example.evaluation.labels)
    open_tab(page, "Add a model")
    upload_file(page, "Predictions of another model", other)
    page.get_by_role("button", name="Add this model", exact=True).click()
    settled(page)
    page.get_by_role("link", name="Compare the models").click()
    page.get_by_role("button", name="All numbers (CSV)", exact=True).wait_for(timeout=180_000)
    settled(page)
    table = pd.read_csv(io.BytesIO(downloaded(page, "All numbers (CSV)")))
    found = table.query("model == 'other' and method == 'Base' and measure == 'tl_ece'")["value"].item()
    # the table sorts the scores, and adds them up in another order
    assert found == pytest.approx(ece(example.evaluation.labels, softened), rel=1e-12)
    keep_picture(page, "compare-two-models")


def test_the_recommended_calibrator_is_one_click_away(open_page):
    """The file that the Overview page offers holds the library's choice."""
    example = load_example("two-patients")
    fitting, rows = example.calibration, example.evaluation
    advice = recommend(fitting, fitting.labels, confirm=(rows, rows.labels))
    assert advice.confirmed == "better"
    page = open_page("?example=two-patients")
    loaded = loads(downloaded(page, "Calibrator file (JSON)"))
    assert name_of(loaded) == name_of(advice.calibrator)
    theirs, ours = (item.predict_top(rows.proba) for item in (loaded, advice.calibrator))
    np.testing.assert_array_equal(theirs.confidence, ours.confidence)
