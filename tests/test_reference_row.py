"""The complete reference row of the paper, in all printed digits, by the documented command."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter

import calib
from tests import ROOT


def test_command_reproduces_every_number(shared_data):
    started = perf_counter()
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.reference_row", str(shared_data / "cifar10_resnet50.npz")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    elapsed = perf_counter() - started
    heads, *lines, last = run.stdout.splitlines()
    assert heads.split() == ["TL-ECE", "TL-MCE", "CW-ECE", "x", "100", "fit,", "s", "predict,", "s"]
    assert last == "Every number equals the reference in all printed digits."
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    # The reference, written out once more: TL-ECE, TL-MCE, CW-ECE x 100.
    assert {name: cells[:3] for name, cells in rows.items()} == {
        "Base": ["0.022", "0.298", "0.42"],
        "TS": ["0.023", "0.443", "0.42"],
        "VS": ["0.018", "0.368", "0.35"],
        "DS": ["0.019", "0.472", "0.37"],
        "N-HB": ["0.023", "0.325", "0.52"],
        "TL-HB": ["0.019", "0.082", "-"],
        "CW-HB": ["-", "-", "0.35"],
    }
    # Nothing is fitted for the base model; every other method took time, all together less than the command.
    seconds = {name: [float(cell) for cell in cells[3:]] for name, cells in rows.items()}
    assert seconds.pop("Base") == [0.0, 0.0]
    assert all(fit > 0 and predict >= 0 for fit, predict in seconds.values())
    assert sum(predict for _, predict in seconds.values()) > 0
    assert sum(map(sum, seconds.values())) < elapsed


def test_temperatures(shared_data):
    rows = calib.read_predictions(shared_data / "cifar10_resnet50.npz", split="calibration")
    by_grid = calib.TemperatureScaling(objective="conf_ece").fit(rows, rows.labels)
    by_log_loss = calib.TemperatureScaling().fit(rows, rows.labels)
    assert by_grid.temperature_ == 1.1
    assert round(by_log_loss.temperature_, 4) == 1.0626


def test_class_wise_calibration_costs_accuracy_and_normalising_none(shared_data):
    """CW-HB's argmax falls from 0.9502 to 0.8797; dividing by the sum keeps each row's order."""
    calibration, test = (
        calib.read_predictions(shared_data / "cifar10_resnet50.npz", split=split)
        for split in ("calibration", "evaluation")
    )
    assert calib.accuracy(test.labels, test) == 0.9502
    for normalize in (False, True):
        calibrator = calib.MulticlassToBinary(
            calib.HistogramBinning(n_bins=15), notion="class-wise", normalize=normalize
        ).fit(calibration, calibration.labels)
        assert calib.accuracy(test.labels, calibrator.predict(test)) == 0.8797
