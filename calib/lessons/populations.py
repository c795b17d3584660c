"""Small populations for teaching: two patients, and six points in the spirit of Figure 3 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.exceptions import InputError
from calib.metrics.errors import ece
from calib.notions import TOP_K_NOTIONS, NotionShape
from calib.predictions import Predictions, TopLabelPrediction
from calib.reductions import ranked_classes, reduce_to_binary

#: Rows of the two-patient population: shares and accuracies in hundredths come out exact.
POPULATION = 10_000

POINTS = ("a", "b", "c", "d", "e", "f")

#: Six points a..f over four classes in the spirit of Figure 3 of the paper, which prints its numbers only
#: as a picture: the labels of a, b and f are the paper's, the probabilities are ours.
SIX_POINTS = Predictions(
    [
        [0.15, 0.10, 0.70, 0.05],
        [0.10, 0.20, 0.10, 0.60],
        [0.80, 0.10, 0.05, 0.05],
        [0.25, 0.60, 0.10, 0.05],
        [0.10, 0.15, 0.70, 0.05],
        [0.60, 0.10, 0.20, 0.10],
    ],
    [2, 3, 0, 0, 1, 0],
    ["1", "2", "3", "4"],
)

#: A row whose sum is within this of 1 is taken as rounded.
ROUNDING = 0.005


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
        problems = reduce_to_binary(self.labels, self.top, notion)  # type: ignore[arg-type]
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


def used_cells(proba: np.ndarray, notion: str, top_k: int = 2) -> np.ndarray:
    """Tell which binary problem each probability enters: its index + 1, or 0 where it is not used.

    For "canonical", which is not an M2B notion, every row is one unit: its entries carry the number of their
    row's distinct vector, counted from the first row.

    Parameters
    ----------
    proba : (n, L) array
        Probabilities.
    notion : str
        A notion of `reduce_to_binary`, or "canonical".
    top_k : int
        K of the top-K notions.

    Returns
    -------
    (n, L) int64 array
    """
    n_classes = proba.shape[1]
    cells = np.zeros(proba.shape, dtype=np.int64)
    if notion == "canonical":
        _, first, inverse = np.unique(proba, axis=0, return_index=True, return_inverse=True)
        cells[:] = (np.argsort(np.argsort(first)) + 1)[inverse.reshape(-1, 1)]
    elif notion == "class-wise":
        cells[:] = np.arange(1, n_classes + 1)
    else:
        shape = NotionShape.of(notion, n_classes, top_k if notion in TOP_K_NOTIONS else None)
        ranked, _ = ranked_classes(proba, shape.n_ranks)
        np.put_along_axis(cells, ranked, shape.problems_of(ranked, np.arange(shape.n_ranks)) + 1, axis=1)
    return cells


def binary_tables(
    predictions: Predictions, notion: str, *, points: Sequence[str] = POINTS, top_k: int = 2
) -> dict[int, pd.DataFrame]:
    """Return the binary problems of a notion as small tables, by index, as in Figure 3 (b) to (d).

    Each table has a column per point that enters the problem, in the order of `points`, and two rows:
    "score" and "outcome" (0 or 1). Problems without points are left out.
    """
    ranks = top_k if notion in TOP_K_NOTIONS else None
    problems: BinaryProblems = reduce_to_binary(
        predictions.labels,
        predictions,
        notion,  # type: ignore[arg-type]
        top_k=ranks,
    )
    tables = {}
    for index in range(problems.n_problems):
        entries = slice(problems.offsets[index], problems.offsets[index + 1])
        if entries.start == entries.stop:
            continue
        rows = problems.rows[entries]
        order = np.argsort(rows)
        tables[index] = pd.DataFrame(
            [problems.scores[entries][order], problems.outcomes[entries][order].astype(float)],
            index=["score", "outcome"],
            columns=[points[row] for row in rows[order]],
        )
    return tables


def rows_off(table: np.ndarray) -> np.ndarray:
    """Return the indices of the rows of an (n, L) table that are not probability vectors, up to rounding."""
    values = np.asarray(table, dtype=np.float64)
    inside = ((values >= 0) & (values <= 1)).all(axis=1)
    return np.flatnonzero(~(inside & (np.abs(values.sum(axis=1) - 1.0) <= ROUNDING)))
