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
    choose_points_per_bin,
    ece,
    load,
    read_pair,
    reliability_diagram,
)
from calib.calibrators.histogram import HistogramBinning
from calib.datasets import load_example
from tests.browser.screen import keep_picture, settled
from tests.browser.steps import go, upload_file

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


def pair_of(upload: Path) -> tuple[Predictions, Predictions]:
    """Calibration and evaluation rows as the Data page makes them: half and half unless the file says."""
    calibration, evaluation = read_pair(upload)
    if calibration is None:
        return evaluation.split(0.5, random_state=0)
    return calibration, evaluation


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
    calibration, evaluation = pair_of(upload)

    page = open_page("data")
    upload_file(page, "Predictions (with labels", upload)
    page.get_by_text(upload.name).last.wait_for()
    settled(page)
    assert f"{evaluation.n_samples:,}" in prose(page)
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
    diagram = reliability_diagram(evaluation.labels, evaluation, n_bins=n_bins)
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
    zoom = diagram.zoom(bin_)
    shown = numbers_after(page, IN_BIN)
    assert shown == pytest.approx(zoom.star, abs=5.1e-3)
    keep_picture(page, f"main-job-{upload.suffix[1:]}-reliability")
    page.get_by_role("button", name="Options").click()
    page.get_by_text("Without bins (CORP)").click()
    page.wait_for_url("**corp=true*")
    settled(page)
    steps = page.evaluate("history.length")

    go(page, "Repair")
    settled(page)
    assert page.evaluate("history.length") == steps + 1  # one step back is one page back
    page.go_back()
    page.get_by_role("heading", level=1, name="Reliability").wait_for()
    settled(page)
    assert page.get_by_role("slider", name="Equal-width bins B").input_value() == str(n_bins)
    assert numbers_after(page, IN_BIN) == shown
    page.get_by_role("button", name="Options").click()
    assert page.get_by_label("Without bins (CORP)").is_checked()
    page.keyboard.press("Escape")
    page.go_forward()
    page.get_by_role("heading", level=1, name="Repair").wait_for()
    settled(page)
    page.get_by_role("button", name="Fit another").click()
    page.get_by_role("button", name="Fit", exact=True).click()
    settled(page)
    page.keyboard.press("Escape")
    k = choose_points_per_bin(calibration, calibration.labels).chosen
    mine = MulticlassToBinary(HistogramBinning(points_per_bin=k), notion="top-label")
    mine.fit(calibration.proba, calibration.labels)
    shown = numbers_after(page, r"TL-ECE before ([\d.]+), [\s\S]*?TL-ECE after ([\d.]+), ")
    strategy = "uniform" if mine.fallbacks_ else "discrete"
    top = mine.predict_top(evaluation.proba)
    before = ece(evaluation.labels, evaluation, n_bins=n_bins)  # the slider moved on the other page counts
    after = ece(evaluation.labels, top, strategy=strategy, n_bins=n_bins)
    assert shown == pytest.approx((before, after), abs=5.1e-4)
    file = take(page, "Calibrator file", tmp_path)
    loaded = load(file)
    theirs, ours = loaded.predict_top(evaluation.proba), mine.predict_top(evaluation.proba)
    np.testing.assert_array_equal(theirs.label, ours.label)
    np.testing.assert_array_equal(theirs.confidence, ours.confidence)
    keep_picture(page, f"main-job-{upload.suffix[1:]}-calibrate")

    fresh = tmp_path / "fresh.npy"
    np.save(fresh, evaluation.proba[:500])
    page.get_by_role("link", name="Calibrate new predictions").click()
    settled(page)
    assert "fitted in this session" in prose(page)  # the one just fitted is the one to begin with
    page.get_by_text("From a file", exact=True).click()
    settled(page)
    upload_file(page, "Calibrator file", file)
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
