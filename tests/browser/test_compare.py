"""Models and calibrators in a real browser: another model, and the recommended calibrator."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from calib import ece, recommend
from calib.calibrators.catalogue import name_of
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


def test_a_second_model_is_added_and_compared(open_page, tmp_path):
    """On Data, then in Repair: its numbers are the library's, on the rows that are there."""
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
