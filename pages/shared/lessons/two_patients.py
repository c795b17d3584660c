"""Two patients: Example 1 of the paper with free numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.base.exceptions import InputError
from calib.data.predictions import TopLabelPrediction
from calib.evidence.binning import BinStatistics, bin_statistics
from calib.evidence.reductions import reduce_to_binary
from calib.stats.errors import ece

#: Rows of the two-patient population: shares and accuracies in hundredths come out exact.
POPULATION = 10_000


@dataclass(frozen=True, eq=False)
class TwoPatients:
    """Example 1 of the paper with free numbers: two kinds of patients, each told one disease.

    Attributes
    ----------
    share : float
        P(X = a); patients b are the others.
    confidence, accuracy : (2,) tuples of float
        Confidence that patients a and b are told, and how often each is right.
    labels : (n,) int64 array
        True classes of a population in these proportions: 0 and 1 are the diseases patients are
        told, 2 is any other.
    top : TopLabelPrediction
        Disease and confidence that each of its rows is told.
    """

    share: float
    confidence: tuple[float, float]
    accuracy: tuple[float, float]
    labels: np.ndarray
    top: TopLabelPrediction

    @property
    def conf_ece(self) -> float:
        """conf-ECE with one bin per distinct confidence."""
        return ece(self.labels, self.top, notion="confidence", strategy="discrete")

    @property
    def tl_ece(self) -> float:
        """TL-ECE with one cell per distinct (disease, confidence) pair."""
        return ece(self.labels, self.top, notion="top-label", strategy="discrete")

    def groups(self, notion: str) -> BinStatistics:
        """Return the groups of patients that a notion compares, "confidence" or "top-label"."""
        problems = reduce_to_binary(self.labels, self.top, notion)
        return bin_statistics(problems, strategy="discrete")


def two_patients_population(
    share: float = 0.5,
    confidence: tuple[float, float] = (0.6, 0.6),
    accuracy: tuple[float, float] = (0.2, 1.0),
) -> TwoPatients:
    """Build the population of Example 1; the defaults are the paper's numbers.

    Shares and accuracies are met to the nearest row of `POPULATION`.

    Raises
    ------
    InputError
        If a number is not a probability.

    Examples
    --------
    >>> patients = two_patients_population()
    >>> round(patients.conf_ece, 12), round(patients.tl_ece, 12)
    (0.0, 0.4)
    """
    numbers = np.array([share, *confidence, *accuracy])
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise InputError(f"shares, confidences and accuracies lie in [0, 1]; got {numbers.tolist()}")
    n_a = round(share * POPULATION)
    sizes = (n_a, POPULATION - n_a)
    labels = np.full(POPULATION, 2, dtype=np.int64)
    for disease, (start, size) in enumerate(zip((0, n_a), sizes, strict=True)):
        labels[start : start + round(accuracy[disease] * size)] = disease
    diseases = np.repeat([0, 1], sizes)
    top = TopLabelPrediction(diseases, np.repeat(np.array(confidence, dtype=np.float64), sizes))
    return TwoPatients(share, confidence, accuracy, labels, top)


def worst_accuracies(share: float, confidence: tuple[float, float]) -> tuple[float, float]:
    """Return the accuracies of a and b that maximise TL-ECE while conf-ECE stays 0.

    With one confidence h for both, conf-ECE = 0 forces the signed gaps to cancel,
    P(a) (acc_a - h) = -P(b) (acc_b - h), so TL-ECE is twice either side: one accuracy rises until it is 1
    or the other is 0, in the better of the two directions. The maximum is
    2 max(min(P(a) (1 - h), P(b) h), min(P(b) (1 - h), P(a) h)); over all P(a) it is 2 h (1 - h), and over
    all h 1/2. With two different confidences nothing can cancel: each accuracy equals its confidence and
    TL-ECE is 0.

    Parameters
    ----------
    share : float
        P(X = a) in [0, 1].
    confidence : (2,) tuple of float
        Confidences that a and b are told.

    Examples
    --------
    >>> [round(accuracy, 12) for accuracy in worst_accuracies(0.5, (0.6, 0.6))]
    [0.2, 1.0]
    """
    if confidence[0] != confidence[1]:
        return confidence
    level, other = confidence[0], 1.0 - share

    def push(up: float, down: float) -> float:
        return min(up * (1.0 - level), down * level)

    a_up, b_up = push(share, other), push(other, share)
    mass, sign = (a_up, 1.0) if a_up > b_up else (b_up, -1.0)
    accuracy_a = level + sign * mass / share if share > 0 else level
    accuracy_b = level - sign * mass / other if other > 0 else level
    return float(np.clip(accuracy_a, 0, 1)), float(np.clip(accuracy_b, 0, 1))
