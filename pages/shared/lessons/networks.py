"""Simulated networks before and after calibration, for exercises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from calib.answers.calibrated import assessment_strategy, calibrated_scores, fit_on
from calib.calibrators.catalogue import named_methods
from calib.data.notions import Notion
from calib.datasets import four_networks
from calib.evidence.binning import Strategy
from calib.stats.differences import PairedDifference, paired_difference
from calib.stats.errors import ece


@dataclass(frozen=True, eq=False)
class Study:
    """A simulated network on its evaluation rows."""

    labels: np.ndarray  #: (n,) int64 array: true classes
    scores: Mapping[str, tuple[Any, Strategy]]  #: By method, "Base" first: scores, and how they are assessed
    fewest_rows: int  #: Calibration rows of the class that is predicted least

    def error(self, method: str, notion: Notion = "top-label") -> float:
        """Return the ECE of a method, as the paper assesses it."""
        scores, strategy = self.scores[method]
        return ece(self.labels, scores, notion=notion, strategy=strategy)

    def between(self, first: str, second: str, notion: Notion = "top-label") -> PairedDifference:
        """Compare two methods by their debiased squared errors."""
        (a, strategy_a), (b, strategy_b) = self.scores[first], self.scores[second]
        options: dict[str, Any] = {"strategy_a": strategy_a, "strategy_b": strategy_b}
        return paired_difference(self.labels, a, b, notion=notion, **options)

    def against_base(self, method: str) -> PairedDifference:
        """Compare a method with the scores as they are."""
        return self.between(method, "Base")


@cache
def study(network: str, n_classes: int, n_calibration: int, methods: tuple[str, ...]) -> Study:
    """Fit methods on a network of `calib.datasets.four_networks`."""
    fitting, unseen = four_networks(n_classes, n_calibration=n_calibration).models[network]
    scores: dict[str, tuple[Any, Strategy]] = {"Base": (unseen, "uniform")}
    for name in methods:
        fitted = fit_on(named_methods()[name], fitting)
        scores[name] = calibrated_scores(fitted, unseen), assessment_strategy(unseen, fitted)
    fewest = int(np.bincount(fitting.label, minlength=n_classes).min())
    return Study(unseen.labels, scores, fewest)
