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
from tests.browser.steps import go, open_tab


def downloaded(page, button: str) -> bytes:
    """Press a download button and return the file."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button, exact=True).click()
    with open(waiting.value.path(), "rb") as file:
        return file.read()


def test_a_second_model_is_added_and_compared(open_page, tmp_path):
    """Two files of one upload are two models; in Repair their numbers are the library's."""
    example = load_example("digits")
    page = open_page("data")
    parts = {"val": example.calibration, "test": example.evaluation}
    for name, power in (("mine", 1.0), ("other", 0.5)):
        scores = {part: rows.proba**power for part, rows in parts.items()}
        scores = {part: proba / proba.sum(axis=1, keepdims=True) for part, proba in scores.items()}
        arrays = {f"{part}_probs": proba for part, proba in scores.items()}
        arrays |= {f"{part}_labels": rows.truth for part, rows in parts.items()}
        np.savez(tmp_path / f"{name}.npz", **arrays)
    page.locator("input[type=file]").first.set_input_files([tmp_path / "mine.npz", tmp_path / "other.npz"])
    page.get_by_text("is on every page").first.wait_for()
    settled(page)
    go(page, "Repair")
    open_tab(page, "Candidates")
    page.get_by_role("button", name="All numbers (CSV)", exact=True).wait_for(timeout=180_000)
    settled(page)
    table = pd.read_csv(io.BytesIO(downloaded(page, "All numbers (CSV)")))
    found = table.query("model == 'other' and method == 'Base' and measure == 'tl_ece'")["value"].item()
    # the table sorts the scores, and adds them up in another order
    assert found == pytest.approx(ece(example.evaluation.truth, scores["test"]), rel=1e-12)
    keep_picture(page, "compare-two-models")


def test_the_recommended_calibrator_is_one_click_away(open_page):
    """The file that the Overview page offers holds the library's choice."""
    example = load_example("two-patients")
    fitting, rows = example.calibration, example.evaluation
    advice = recommend(fitting, fitting.labels, confirm=(rows, rows.labels))
    assert advice.confirmation.verdict == "better"
    page = open_page("?example=two-patients")
    loaded = loads(downloaded(page, "Calibrator file (JSON)"))
    assert name_of(loaded) == name_of(advice.calibrator)
    theirs, ours = (item.predict_top(rows.proba) for item in (loaded, advice.calibrator))
    np.testing.assert_array_equal(theirs.confidence, ours.confidence)
