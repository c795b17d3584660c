"""Small populations and games for teaching: what the Learn page computes beyond the library's own calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.binning import BinaryProblems
from calib.predictions import InputError, Predictions, TopLabelPrediction
from calib.reductions import ranked_classes, reduce_to_binary

#: Rows of the two-patient population: shares and accuracies in hundredths come out exact.
POPULATION = 10_000

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


@dataclass(frozen=True, eq=False)
class TwoPatients:
    """Example 1 of the paper with free numbers: two kinds of patients, each told one disease.

    Attributes
    ----------
    share : float
        P(X = a); patients b are the others.
    confidence, accuracy : (2,) tuples of float
        Confidence announced to patients a and b, and how often each announcement is right.
    labels : (n,) int64 array
        True classes of a population in these exact proportions: 0 and 1 are the announced diseases, 2 is
        any other.
    top : TopLabelPrediction
        What is announced to each of its rows.
    """

    share: float
    confidence: tuple[float, float]
    accuracy: tuple[float, float]
    labels: np.ndarray
    top: TopLabelPrediction


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
    """
    numbers = np.array([share, *confidence, *accuracy])
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise InputError(f"shares, confidences and accuracies lie in [0, 1]; got {numbers.tolist()}")
    n_a = round(share * POPULATION)
    sizes = (n_a, POPULATION - n_a)
    labels = np.full(POPULATION, 2, dtype=np.int64)
    for disease, (start, size) in enumerate(zip((0, n_a), sizes, strict=True)):
        labels[start : start + round(accuracy[disease] * size)] = disease
    announced = np.repeat([0, 1], sizes)
    top = TopLabelPrediction(announced, np.repeat(np.array(confidence, dtype=np.float64), sizes))
    return TwoPatients(share, confidence, accuracy, labels, top)


def worst_accuracies(share: float, confidence: float) -> tuple[float, float]:
    """Return the accuracies of a and b that maximise TL-ECE while conf-ECE stays 0.

    Both patients hear the same confidence h. conf-ECE = 0 forces the two signed gaps to cancel,
    P(a) (acc_a - h) = -P(b) (acc_b - h), so TL-ECE is twice either side: push one accuracy up until it is 1
    or the other is 0, and take the better of the two directions. With different confidences nothing can
    cancel and TL-ECE is 0 as well.
    """

    def push(up: float, down: float) -> float:
        return min(up * (1.0 - confidence), down * confidence)

    other = 1.0 - share
    a_up, b_up = push(share, other), push(other, share)
    gap, sign = (a_up, 1.0) if a_up > b_up else (b_up, -1.0)
    accuracy_a = confidence + sign * gap / share if share > 0 else confidence
    accuracy_b = confidence - sign * gap / other if other > 0 else confidence
    return float(np.clip(accuracy_a, 0, 1)), float(np.clip(accuracy_b, 0, 1))


def used_cells(proba: np.ndarray, notion: str, top_k: int = 2) -> np.ndarray:
    """Tell which binary problem each entry of the probabilities enters: 1, 2, ...; 0 where it is not used.

    For "canonical" every row is one unit: entries carry the number of their row's distinct vector.
    """
    n_samples, n_classes = proba.shape
    cells = np.zeros((n_samples, n_classes), dtype=np.int64)
    rows = np.arange(n_samples)
    if notion == "class-wise":
        cells[:] = np.arange(1, n_classes + 1)
    elif notion == "canonical":
        cells[:] = np.unique(proba, axis=0, return_inverse=True)[1].reshape(-1, 1) + 1
    else:
        ranks = top_k if notion.startswith("top-k") else 1
        ranked, _ = ranked_classes(proba, ranks)
        for rank in range(ranks):
            by_label = rank * n_classes + ranked[:, rank] + 1
            cells[rows, ranked[:, rank]] = by_label if notion in ("top-label", "top-k-label") else rank + 1
    return cells


def six_point_problems(predictions: Predictions, notion: str, top_k: int = 2) -> BinaryProblems:
    """Return the binary problems of the six points for an M2B notion."""
    ranks = top_k if notion.startswith("top-k") else None
    return reduce_to_binary(predictions.labels, predictions, notion, top_k=ranks)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Riddle:
    """One round of the noise game.

    Attributes
    ----------
    predictions : Predictions
        Rows to look at.
    perfect : bool
        Whether the labels were drawn from the announced probabilities.
    """

    predictions: Predictions
    perfect: bool


def riddle(seed: int, *, n_samples: int = 1_000, n_classes: int = 10, strength: float = 1.7) -> Riddle:
    """Draw a round of the noise game: labels from the announced probabilities, or from softer ones.

    A coin decides. In miscalibrated rounds the labels come from the announced probabilities with their
    logarithms divided by `strength`, so that the model is overconfident.
    """
    random = np.random.default_rng(seed)
    perfect = bool(random.random() < 0.5)
    logits = random.normal(0.0, 1.0, (n_samples, n_classes))
    logits[np.arange(n_samples), random.integers(0, n_classes, n_samples)] += random.gamma(
        3.0, 1.2, n_samples
    )
    announced = Predictions.from_logits(logits)
    truth = announced if perfect else Predictions.from_logits(logits / strength)
    return Riddle(Predictions(announced.proba, draw_labels(truth.proba, random)), perfect)


def draw_labels(proba: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw one class per row with the probabilities of the row, (n,) int64."""
    below = np.cumsum(proba, axis=1, dtype=np.float64)
    return (random.random(len(proba))[:, None] * below[:, -1:] > below[:, :-1]).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Curve:
    """Scores and outcomes of one binary problem whose truth is known.

    Attributes
    ----------
    scores : (n,) float64 array
        Scores in [0, 1].
    outcomes : (n,) bool array
        Drawn with probability `truth`.
    truth : (n,) float64 array
        P(outcome | score).
    """

    scores: np.ndarray
    outcomes: np.ndarray
    truth: np.ndarray


def bent_curve(n_samples: int = 600, seed: int = 0) -> Curve:
    """Draw a binary problem of an overconfident model: the truth runs flatter than the score."""
    random = np.random.default_rng(seed)
    scores = random.beta(1.6, 1.1, n_samples)
    truth = true_curve(scores)
    return Curve(scores, random.random(n_samples) < truth, truth)


def true_curve(scores: np.ndarray) -> np.ndarray:
    """P(outcome | score) of `bent_curve`."""
    return 0.15 + 0.7 * scores**2
