"""The user's whole path: upload, look, click a bin, fit, download the calibrator, apply it elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page

from calib import (
    MulticlassToBinary,
    Predictions,
    ece,
    load,
    read_pair,
    reliability_diagram,
)
from calib.calibrators.histogram import HistogramBinning
from calib.datasets import load_example
from tests.browser.screen import keep_picture, settled
from tests.browser.steps import go, open_tab, upload_file

IN_BIN = r"All classes together: confidence ([\d.]+), accuracy ([\d.]+), n = ([\d,]+)"


@pytest.fixture(params=["npz", pytest.param("csv", marks=pytest.mark.thorough)])
def upload(request, tmp_path) -> Path:
    """A real file: logits of a ResNet-50 on CIFAR-10, or a table of out-of-fold digit probabilities."""
    if request.param == "npz":
        return request.getfixturevalue("shared_data") / "cifar10_resnet50.npz"
    example = load_example("digits")
    rows = np.vstack([example.calibration.proba, example.evaluation.proba])
    table = pd.DataFrame(rows, columns=[f"p_{name}" for name in example.evaluation.class_names])
    table["label"] = np.concatenate([example.calibration.labels, example.evaluation.labels])
    path = tmp_path / "digits.csv"
    table.to_csv(path, index=False)
    return path


def parts_of(upload: Path) -> tuple[Predictions, Predictions, Predictions]:
    """All rows, those that fit and those that check: half and half unless the file says."""
    calibration, rows = read_pair(upload)
    return rows, *(rows.split(0.5, random_state=0) if calibration is None else (calibration, rows))


def prose(page: Page) -> str:
    """All text of the page."""
    return page.get_by_test_id("stMain").inner_text()


def numbers_after(page: Page, pattern: str) -> tuple[float, ...]:
    """The numbers in the first place of the page's prose that matches."""
    match = re.search(pattern, prose(page))
    assert match, f"{pattern!r} is not in: {prose(page)}"
    return tuple(float(number.replace(",", "")) for number in match.groups())


def take(page: Page, button: str, folder: Path) -> Path:
    """Press a download button and return the saved file."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_main_job(open_page, upload, tmp_path):
    rows, calibration, evaluation = parts_of(upload)

    page = open_page("data")
    upload_file(page, "Predictions (with labels", upload)
    page.get_by_text(upload.name).last.wait_for()
    settled(page)
    assert f"{rows.n_samples:,}" in prose(page)
    keep_picture(page, f"main-job-{upload.suffix[1:]}-data")

    go(page, "Reliability")
    slider = page.get_by_role("slider", name="Number of bins B")
    before = int(slider.input_value())
    slider.focus()
    for _ in range(2):
        slider.press("ArrowRight")
    n_bins = before + 2
    page.wait_for_url(f"**bins={n_bins}*")
    settled(page)
    diagram = reliability_diagram(rows.labels, rows, n_bins=n_bins)
    shown = numbers_after(page, r"conf-ECE ([\d.]+), [^;]+; each predicted class: TL-ECE ([\d.]+),")
    assert shown == pytest.approx((diagram.pooled.ece(), diagram.cells.ece()), abs=5.1e-5)

    opened = diagram.clearest_bin
    bin_ = next(int(b) for b in diagram.pooled.bin[diagram.pooled.count >= 20][::-1] if b != opened)
    picture = page.get_by_role("slider", name=re.compile("^Reliability diagram"))
    picture.focus()
    for _ in range(diagram.pooled.bin.tolist().index(bin_) + 1):  # from the first bin with rows
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    settled(page)
    open_tab(page, "Class or bin")
    zoom = diagram.zoom(bin_)
    shown = numbers_after(page, IN_BIN)
    assert shown == pytest.approx(zoom.star, abs=5.1e-3)
    keep_picture(page, f"main-job-{upload.suffix[1:]}-reliability")
    steps = page.evaluate("history.length")

    go(page, "Repair")
    settled(page)
    assert page.evaluate("history.length") == steps + 1  # one step back is one page back
    page.go_back()
    page.get_by_role("heading", level=1, name="Reliability").wait_for()
    settled(page)
    assert page.get_by_role("slider", name="Number of bins B").input_value() == str(n_bins)
    assert numbers_after(page, IN_BIN) == shown
    page.go_forward()
    page.get_by_role("heading", level=1, name="Repair").wait_for()
    settled(page)
    page.get_by_test_id("stSelectbox").filter(has_text="Calibrator").locator("input").click()
    page.get_by_role("option", name="Top-label histogram binning (TL-HB, k = 50)", exact=True).click()
    settled(page)
    mine = MulticlassToBinary(HistogramBinning(points_per_bin=50), notion="top-label")
    mine.fit(calibration.proba, calibration.labels)
    keep_picture(page, f"main-job-{upload.suffix[1:]}-repair")
    open_tab(page, "Numbers")
    numbers = pd.read_csv(take(page, "Before and after (CSV)", tmp_path)).set_index("Method")["TL-ECE"]
    strategy = "uniform" if mine.fallbacks_ else "discrete"
    top = mine.predict_top(evaluation.proba)
    before = ece(evaluation.labels, evaluation, n_bins=n_bins)  # the slider moved on the other page counts
    after = ece(evaluation.labels, top, strategy=strategy, n_bins=n_bins)
    shown = numbers["Base model"], numbers["TL-HB, k = 50"]
    assert shown == pytest.approx((before, after), rel=1e-9)
    if rows is not evaluation:  # what is handed out is fitted on all rows
        mine.fit(rows.proba, rows.labels)
    file = take(page, "Calibrator file", tmp_path)
    theirs, ours = load(file).predict_top(evaluation.proba), mine.predict_top(evaluation.proba)
    np.testing.assert_array_equal(theirs.label, ours.label)
    np.testing.assert_array_equal(theirs.confidence, ours.confidence)

    fresh = tmp_path / "fresh.npy"
    np.save(fresh, evaluation.proba[:500])
    open_tab(page, "Apply")
    upload_file(page, "Another calibrator", file)
    upload_file(page, "New predictions", fresh)
    applied = pd.read_csv(take(page, "Calibrated predictions (CSV)", tmp_path))
    assert len(applied) == 500
    np.testing.assert_allclose(applied["calibrated"], ours.confidence[:500], rtol=1e-6)
    assert applied["predicted"].astype(str).tolist() == [
        evaluation.class_names[code] for code in evaluation.label[:500]
    ]
    keep_picture(page, f"main-job-{upload.suffix[1:]}-apply")
    page.reload()  # the server still has the session
    settled(page)
    assert "no longer on the server" not in prose(page)
    assert upload.name in prose(page)
