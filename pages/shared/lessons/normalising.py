"""The normalising lesson: what dividing the rows of class-wise calibrated scores by their sums costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.answers.theorems import guarantee_class_wise
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.data.predictions import Predictions
from calib.data.validation import as_labels
from calib.evidence.binning import Strategy
from calib.stats.errors import accuracy, ece


@dataclass(frozen=True, eq=False)
class NormalisationComparison:
    """Class-wise histogram binning with and without normalised rows, on evaluation rows.

    Attributes
    ----------
    base, class_wise, normalised : (n, L) float64 arrays
        Scores of the base model, of CW-HB and of N-HB.
    labels : (n,) int64 array
        True classes.
    n_bins : int
        Bins per class.
    changed : (c,) int64 array
        Rows in which the largest entry of CW-HB is not the base model's predicted class: rows where the
        base model is right come first, and of these the rows whose CW-HB scores are furthest from summing
        to 1.
    expected_ece : float
        Theorem 2's bound on the expected CW-ECE of CW-HB; N-HB has none.
    """

    base: np.ndarray
    class_wise: np.ndarray
    normalised: np.ndarray
    labels: np.ndarray
    n_bins: int
    changed: np.ndarray
    expected_ece: float

    @property
    def n_moved(self) -> int:
        """Rows whose largest entry normalising moves: division by the sum keeps the order, so none."""
        return int((self.class_wise.argmax(axis=1) != self.normalised.argmax(axis=1)).sum())

    def frame(self) -> pd.DataFrame:
        """Return accuracy of the largest entry, CW-ECE and the range of the row sums of the three."""
        methods: tuple[tuple[str, np.ndarray, Strategy], ...] = (
            ("Base model", self.base, "uniform"),
            ("CW-HB", self.class_wise, "discrete"),
            ("N-HB", self.normalised, "uniform"),
        )
        return pd.DataFrame(
            {
                "method": name,
                "smallest_sum": scores.sum(axis=1).min(),
                "largest_sum": scores.sum(axis=1).max(),
                "cw_ece": ece(
                    self.labels, scores, notion="class-wise", n_bins=self.n_bins, strategy=strategy
                ),
                "accuracy": accuracy(self.labels, scores),
            }
            for name, scores, strategy in methods
        )


def compare_normalisation(
    calibration: Predictions, evaluation: Predictions, n_bins: int = 15
) -> NormalisationComparison:
    """Fit CW-HB (Algorithm 3) and N-HB (Algorithm 4) with `n_bins` bins per class."""
    class_wise, normalised = (
        MulticlassToBinary(HistogramBinning(n_bins=n_bins), notion="class-wise", normalize=normalize)
        .fit(calibration.proba, calibration.labels)
        .predict_proba(evaluation.proba)
        for normalize in (False, True)
    )
    labels = as_labels(evaluation.labels, evaluation.n_samples, evaluation.n_classes)
    changed = np.flatnonzero(class_wise.argmax(axis=1) != evaluation.label)
    base_right = evaluation.label[changed] == labels[changed]
    excess = np.abs(class_wise[changed].sum(axis=1) - 1.0)
    promise = guarantee_class_wise(
        points_per_bin=calibration.n_samples // n_bins,
        n_samples=calibration.n_samples,
        n_classes=calibration.n_classes,
    )
    return NormalisationComparison(
        base=evaluation.proba.astype(np.float64),
        class_wise=class_wise,
        normalised=normalised,
        labels=labels,
        n_bins=n_bins,
        changed=changed[np.lexsort((-excess, ~base_right))],
        expected_ece=promise.expected_ece,
    )
