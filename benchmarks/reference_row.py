"""The paper's ResNet-50, CIFAR-10, focal-loss row of Tables 4 and 5, every method, and what each took.

    python -m benchmarks.reference_row [cifar10_resnet50.npz]

The file holds calibration_logits, calibration_labels, test_logits and test_labels; by default it is looked
for in $CALIB_SHARED/data, or in ../shared/data. B = 15 throughout. Temperature scaling picks T as the paper
did, by confidence ECE on a grid. TL-HB and CW-HB are assessed with one bin per distinct score, all others
with equal-width bins. The command fails if a number differs from the reference in a printed digit.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import calib
from calib.answers import Metrics
from calib.answers.calibrated import assessment_strategy, calibrated_scores
from calib.answers.metric_tables import metrics

N_BINS = 15

#: TL-ECE, TL-MCE with classes averaged inside bins, and 100 * CW-ECE, as printed; None where the paper
#: prints none. The paper's TL-HB draws noise: its TL-MCE is 0.082 or 0.083, by the seed.
REFERENCE: dict[str, tuple[str | None, ...]] = {
    "Base": ("0.022", "0.298", "0.42"),
    "TS": ("0.023", "0.443", "0.42"),
    "VS": ("0.018", "0.368", "0.35"),
    "DS": ("0.019", "0.472", "0.37"),
    "N-HB": ("0.023", "0.325", "0.52"),
    "TL-HB": ("0.019", "0.082", None),
    "CW-HB": (None, None, "0.35"),
}


def methods() -> dict[str, Any]:
    """Unfitted calibrators of the row, in its order."""
    binned = calib.HistogramBinning(n_bins=N_BINS)
    return {
        "TS": calib.TemperatureScaling(objective="conf_ece"),
        "VS": calib.VectorScaling(),
        "DS": calib.DirichletScaling(),
        "N-HB": calib.MulticlassToBinary(binned, notion="class-wise", normalize=True),
        "TL-HB": calib.MulticlassToBinary(binned, notion="top-label"),
        "CW-HB": calib.MulticlassToBinary(binned, notion="class-wise"),
    }


def reference_row(path: str | os.PathLike[str]) -> pd.DataFrame:
    """One row per method: the three errors, and the seconds that fitting and predicting took."""
    with np.load(path, allow_pickle=False) as data:
        calibration, test = (
            calib.Predictions.from_logits(data[f"{split}_logits"], data[f"{split}_labels"])
            for split in ("calibration", "test")
        )
    rows = [_row("Base", metrics(test.labels, test, n_bins=N_BINS), 0.0, 0.0)]
    for name, calibrator in methods().items():
        start = perf_counter()
        calibrator.fit(calibration, calibration.labels)
        fitted = perf_counter()
        scores = calibrated_scores(calibrator, test)
        predicted = perf_counter()
        numbers = metrics(test.labels, scores, n_bins=N_BINS, strategy=assessment_strategy(calibrator))
        rows.append(_row(name, numbers, fitted - start, predicted - fitted))
    return pd.DataFrame(rows).set_index("method")


def printed(row: pd.Series) -> tuple[str | None, ...]:
    """Return the errors of a row with the paper's digits, None where it prints none."""
    values = (f"{row.tl_ece:.3f}", f"{row.tl_mce_bin:.3f}", f"{100 * row.cw_ece:.2f}")
    wanted = REFERENCE[str(row.name)]
    return tuple(value if expected else None for value, expected in zip(values, wanted, strict=True))


def _row(name: str, numbers: Metrics, fit_seconds: float, predict_seconds: float) -> dict[str, Any]:
    return {
        "method": name,
        "tl_ece": numbers.tl_ece,
        "tl_mce_bin": numbers.tl_mce_bin,
        "cw_ece": np.nan if numbers.cw_ece is None else numbers.cw_ece,
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = Path(os.environ.get("CALIB_SHARED", Path(__file__).parents[2] / "shared"))
    parser.add_argument("npz", nargs="?", default=shared / "data" / "cifar10_resnet50.npz")
    table = reference_row(parser.parse_args().npz)
    print(f"{'':8}{'TL-ECE':>8}{'TL-MCE':>8}{'CW-ECE x 100':>14}{'fit, s':>9}{'predict, s':>12}")
    differing = []
    for name, row in table.iterrows():
        errors, wanted = printed(row), REFERENCE[str(name)]
        cells = [value or "-" for value in errors]
        print(
            f"{name:8}{cells[0]:>8}{cells[1]:>8}{cells[2]:>14}"
            f"{row.fit_seconds:9.3f}{row.predict_seconds:12.3f}"
        )
        if errors != wanted:
            differing.append(f"{name}: {errors}, reference {wanted}")
    print("\n".join(differing) or "Every number equals the reference in all printed digits.")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
