"""Schemes of the simplex compared: fitted on the calibration rows, assessed on the evaluation rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.canonical import CanonicalBinning, SimplexScheme
from calib.data.kinds import check_equal_rows
from calib.data.predictions import Announcement, Predictions
from calib.diagrams.validity_plots import ValidityCurve
from calib.evidence.rows import Rows
from calib.stats.simplex_errors import cell_means


@dataclass(frozen=True, eq=False, repr=False)
class SchemeComparison(Result):
    """Several schemes fitted and assessed on the same rows."""

    names: tuple[str, ...]  #: Names of the schemes that could be fitted
    calibrators: tuple[CanonicalBinning, ...]  #: Fitted, in the order of `names`
    epsilon: float  #: Distance at which V is reported
    table: pd.DataFrame  #: One row per scheme of `names`; see `frame`
    curves: dict[str, ValidityCurve]  #: V(eps) of the recalibrated vectors, by scheme
    #: Schemes that could not be fitted, for example on too few rows, with the reason
    left_out: dict[str, str]

    def frame(self) -> pd.DataFrame:
        """Return one row per scheme: bins, smallest bin, and errors and scores before and after.

        Schemes that were left out come last, with the reason in an extra column.
        """
        if not self.left_out:
            return self.table
        reasons = pd.DataFrame({"scheme": list(self.left_out), "left out": list(self.left_out.values())})
        return pd.concat([self.table.convert_dtypes(), reasons], ignore_index=True)


def compare_schemes(
    calibration: Predictions,
    evaluation: Predictions,
    schemes: Mapping[str, SimplexScheme],
    *,
    epsilon: float = 0.1,
) -> SchemeComparison:
    """Fit every scheme on the calibration rows and assess it on the labelled evaluation rows.

    V(eps) and canonical-ECE of the base model are computed on the cells of each scheme. "zero probability"
    counts evaluation rows whose true class has probability 0, which cost 36 nats of log loss each. A scheme
    that cannot be fitted is left out, with the reason.
    """
    calibrators: dict[str, CanonicalBinning] = {}
    curves: dict[str, ValidityCurve] = {}
    left_out: dict[str, str] = {}
    rows = []
    for given in (calibration, evaluation):
        check_equal_rows(given, "Canonical binning")
    scores_before = _scores(evaluation)
    for name, scheme in schemes.items():
        try:
            calibrator = CanonicalBinning(scheme).fit(calibration, calibration.truth)
        except InputError as error:
            left_out[name] = str(error)
            continue
        cells = calibrator.assign(evaluation)
        after = evaluation.with_scores(calibrator.value_of(cells))
        row: dict[str, Any] = {
            "scheme": name,
            "bins": calibrator.n_bins_,
            "bins with calibration rows": len(calibrator.cells_),
            "smallest of these": int(min(calibrator.counts_, default=0)),
            "evaluation rows in empty bins": int((calibrator.count_of(cells) == 0).sum()),
            "zero probability": int((after.proba[np.arange(len(after)), after.truth] == 0).sum()),
        }
        sides = ("before", evaluation, scores_before), ("after", after, _scores(after))
        for when, predictions, scores in sides:
            means = cell_means(predictions, cells)
            curves[name] = ValidityCurve.of_cells(means)  # the last is after
            row[f"V({epsilon:g}) {when}"] = curves[name].at(epsilon)
            row[f"canonical-ECE {when}"] = means.error()
            row |= {f"{name} {when}": value for name, value in scores.items()}
        calibrators[name] = calibrator
        rows.append(row)
    return SchemeComparison(
        tuple(calibrators), tuple(calibrators.values()), epsilon, pd.DataFrame(rows), curves, left_out
    )


def _scores(predictions: Announcement) -> dict[str, float]:
    names = {"log loss": "log_loss", "Brier": "brier", "accuracy": "accuracy"}
    rows = Rows(predictions)
    return {title: rows.mean(name).value for title, name in names.items()}
