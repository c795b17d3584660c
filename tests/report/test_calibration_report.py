"""`calib.report(...)`: the same numbers as the page, in a notebook and in a file."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import calib
from calib.datasets import perfect
from calib.report import CalibrationReport, ReportInput, report_html

ROWS = perfect(400, 3).evaluation
Y, PROBA = ROWS.labels, ROWS.proba


def test_calib_report_is_called_and_imported_from():
    made = calib.report(Y, PROBA, n_resamples=20)
    assert isinstance(made, CalibrationReport)
    assert made.frame().loc[0, "TL-ECE"] == pytest.approx(calib.ece(Y, PROBA), rel=1e-12)
    assert made.sentence == calib.conclude(Y, PROBA).words(("0", "1", "2"))
    assert len(made.plot().data) > 0
    assert calib.diagrams.draw_reliability is not None
    assert {"diagrams", "report", "export"} <= set(dir(calib))


def test_saved_page_is_that_of_report_html(tmp_path):
    calibrator = calib.TemperatureScaling().fit(PROBA, Y)
    made = calib.report(ROWS, calibrators=calibrator, title="<b>mine</b>", n_resamples=20)
    made.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    about = ReportInput(ROWS, {"TS": calibrator}, title="<b>mine</b>", n_resamples=20)
    drop_date = [line for line in page.splitlines() if "UTC" not in line]
    assert drop_date == [line for line in report_html(about).splitlines() if "UTC" not in line]
    assert "<b>mine" not in page
    with pytest.raises(calib.InputError, match="no folder"):
        made.save(tmp_path / "missing" / "report.html")


def test_it_prints_on_one_screen_and_escapes_names():
    named = calib.Predictions(PROBA, Y, ("<b>x</b>", "y", "z"))
    made = calib.report(named, calibrators={"TS": calib.TemperatureScaling().fit(PROBA, Y)})
    assert len(repr(made)) < 500
    assert "Base model, TS" in repr(made)
    shown = made._repr_html_()
    assert "<b>x" not in shown
    assert len(shown) < 10_000


@pytest.mark.parametrize(
    ("y", "scores"),
    [
        (Y == 0, PROBA[:, 0]),
        (ROWS.label == Y, calib.ConfidencePrediction(ROWS.confidence)),
        (Y, calib.TopLabelPrediction(ROWS.label, ROWS.confidence, class_names=("a", "b", "c"))),
        ((Y[:, None] == np.arange(3)).astype(int), calib.MultilabelPrediction(PROBA)),
    ],
    ids=["binary", "confidence", "top-label", "multilabel"],
)
def test_every_kind_of_scores(y, scores):
    made = calib.report(y, scores)
    assert len(made.frame()) == 1
    assert made.sentence


def test_weights_count():
    weights = np.where(Y == 0, 3.0, 1.0)
    weighted = calib.report(Y, PROBA, sample_weight=weights).frame().loc[0, "TL-ECE"]
    assert weighted == calib.ece(Y, PROBA, sample_weight=weights) != calib.ece(Y, PROBA)


def test_what_lacks_labels_is_refused():
    with pytest.raises(calib.InputError, match="pass labels and scores"):
        calib.report(PROBA)
    with pytest.raises(calib.InputError, match="labels"):
        calib.report(calib.Predictions(PROBA))


def test_results_that_print_numbers_print_them_shortly():
    for item in (
        calib.error_interval(Y, PROBA),
        calib.paired_difference(Y, PROBA, PROBA**2 / (PROBA**2).sum(1, keepdims=True)),
        calib.calibration_slope(Y, PROBA),
        calib.decomposition(Y, PROBA),
        calib.guarantee(points_per_bin=50, n_samples=5000),
        calib.guarantee_card(calib.MulticlassToBinary().fit(PROBA, Y)),
        calib.metrics(Y, PROBA),
    ):
        assert dataclasses.is_dataclass(item)
        digits = [number.replace(".", "").lstrip("0") for number in re.findall(r"\d\.\d+", repr(item))]
        assert max(map(len, digits)) <= 6, repr(item)
        assert len(repr(item)) < 1500
