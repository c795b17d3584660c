"""Simulated populations with known conditional probabilities, deterministic by seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import softmax

from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.parallel import map_threads
from calib.predictions import Predictions

#: Rows drawn from one random stream; fixed, so that a seed gives the same rows on every machine.
BLOCK = 5_000

#: Drawn rows: predicted label (n,), confidence (n,), truth (n,) and the weights of all classes (n, L).
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Draw = Callable[[int, np.random.Generator], Drawn]

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def resnet_shaped(
    *, n_calibration: int = 5_000, n_evaluation: int = 10_000, random_state: int = 0
) -> Example:
    """Simulate CIFAR-10 with a ResNet: confidence nearly calibrated, single classes far from it.

    About 95 % of the rows are right and 92 % have a confidence above 0.9. Whatever the confidence, the
    classes' miscalibrations cancel: near 0.55 a predicted *airplane* is right about one time in five, a
    predicted *horse* about nine times in ten, all rows together 0.55 (compare Figures 1 and 2 of the paper).

    Parameters
    ----------
    n_calibration, n_evaluation : int
        Rows of the two parts.
    random_state : int
        Seed.
    """
    affinity = np.full((10, 10), 0.15)
    for one, other in ((0, 2), (0, 8), (1, 9), (3, 5), (2, 4), (4, 7), (2, 6)):
        affinity[one, other] = affinity[other, one] = 1.0
    np.fill_diagonal(affinity, 0.0)
    # Sums to zero under the class shares below, so confidence calibration sees none of it.
    tilt = np.array([-0.35, 0.07, -0.05, -0.10, 0.05, -0.06, 0.09, 0.35, 0.04, -0.04])
    share_when_unsure = np.array([3, 1, 1, 1, 1, 1, 1, 3, 1, 1]) / 14

    def draw(n: int, rng: np.random.Generator) -> Drawn:
        sure = rng.random(n) < 0.92
        confidence = np.where(sure, 1.0 - 0.1 * rng.beta(0.35, 2.2, n), 0.4 + 0.5 * rng.beta(1.4, 1.4, n))
        label = np.where(sure, rng.integers(10, size=n), rng.choice(10, size=n, p=share_when_unsure))
        truth = confidence + tilt[label] * 4.0 * confidence * (1.0 - confidence)
        truth -= np.where(sure, np.where(label == 3, 0.035, 0.003), 0.0)
        weights = affinity[label] * rng.gamma(0.5, size=(n, 10))
        return label, confidence, np.clip(truth, 0.02, 0.999), weights

    calibration, _ = _population(draw, n_calibration, CIFAR10, (random_state, 0))
    evaluation, truth = _population(draw, n_evaluation, CIFAR10, (random_state, 1))
    return Example(
        name="resnet",
        title=EXAMPLE_TITLES["resnet"],
        description=(
            "Simulated in the shape of CIFAR-10 with a ResNet: confidence is nearly calibrated overall, but "
            "at 0.5-0.6 a predicted airplane is right about 20 % of the time and a predicted horse 90 %."
        ),
        simulated=True,
        calibration=calibration,
        evaluation=evaluation,
        truth=truth,
    )


def perfect(
    n_samples: int = 10_000,
    n_classes: int = 10,
    *,
    spread: float = 4.0,
    random_state: int | np.random.Generator | None = 0,
) -> Example:
    """Draw a perfectly calibrated population: every label follows its row's own probabilities.

    It is calibrated in every sense of the paper, canonical included, so whatever an estimate shows on it is
    sampling noise, and no calibrator can help. Half as many rows again are drawn for calibration.

    Parameters
    ----------
    n_samples, n_classes : int
        Evaluation rows n and classes L.
    spread : float
        Standard deviation of the normal logits: larger is more confident.
    random_state : int, Generator or None
        Seed.
    """
    rng = np.random.default_rng(random_state)

    def draw(n: int) -> Predictions:
        proba = softmax(spread * rng.standard_normal((n, n_classes)), axis=1)
        return Predictions(proba, _draw_labels(proba, rng))

    evaluation = draw(n_samples)
    return Example(
        name="perfect",
        title=EXAMPLE_TITLES["perfect"],
        description=(
            f"Simulated: {n_samples:,} rows and {n_classes:,} classes whose labels are drawn from the "
            "predicted probabilities themselves, so every deviation that shows is sampling noise."
        ),
        simulated=True,
        calibration=draw(max(n_samples // 2, 1)),
        evaluation=evaluation,
        truth=evaluation.confidence,
    )


def many_classes(n_samples: int = 50_000, n_classes: int = 1_000, *, random_state: int = 0) -> Example:
    """Simulate a network of ImageNet's size in float32: classes differ in frequency and miscalibration.

    The i-th class is predicted in proportion to (i + 4) ** -0.9, which leaves most classes with few rows.
    Classes come in families of ten that are mostly confused among themselves. Half as many rows again are
    drawn for calibration.

    Parameters
    ----------
    n_samples, n_classes : int
        Evaluation rows n and classes L.
    random_state : int
        Seed.
    """
    population = np.random.default_rng((random_state, 2))
    tilt = population.normal(0.0, 0.15, n_classes)
    frequency = (np.arange(n_classes) + 4.0) ** -0.9
    frequency /= frequency.sum()
    family = np.arange(n_classes) // 10

    def draw(n: int, rng: np.random.Generator) -> Drawn:
        confidence = 0.1 + 0.9 * rng.beta(1.5, 0.6, n)
        label = rng.choice(n_classes, size=n, p=frequency)
        truth = confidence + (tilt[label] - 0.05) * 4.0 * confidence * (1.0 - confidence)
        weights = rng.standard_exponential((n, n_classes), dtype=np.float32)
        np.power(weights, 3, out=weights)
        weights *= np.where(
            family[label][:, None] == family, np.float32(1.0 + n_classes / 4), np.float32(1.0)
        )
        return label, confidence, np.clip(truth, 0.01, 0.999), weights

    names = tuple(f"class {code:0{len(str(n_classes - 1))}d}" for code in range(n_classes))
    calibration, _ = _population(draw, n_samples // 2, names, (random_state, 0), np.float32)
    evaluation, truth = _population(draw, n_samples, names, (random_state, 1), np.float32)
    return Example(
        name="many-classes",
        title=EXAMPLE_TITLES["many-classes"],
        description=(
            f"Simulated: {n_classes:,} classes in families of ten, of very different frequency and each with "
            "its own miscalibration; most classes are predicted too seldom to tell it from noise."
        ),
        simulated=True,
        calibration=calibration,
        evaluation=evaluation,
        truth=truth,
    )


def _population(
    draw: Draw, n: int, names: tuple[str, ...], entropy: tuple[int, ...], dtype: type = np.float64
) -> tuple[Predictions, np.ndarray]:
    """Draw n rows block by block, each block from its own stream; return them and their (n,) truth."""
    proba: np.ndarray = np.empty((n, len(names)), dtype)
    labels = np.empty(n, np.int64)
    truth = np.empty(n)
    starts = range(0, n, BLOCK)

    def fill(start: int, seed: np.random.SeedSequence) -> None:
        rng = np.random.default_rng(seed)
        rows = slice(start, min(start + BLOCK, n))
        label, confidence, truth[rows], weights = draw(rows.stop - start, rng)
        proba[rows], labels[rows] = _complete(label, confidence, truth[rows], weights, rng)

    seeds = np.random.SeedSequence(entropy).spawn(len(starts))
    map_threads(lambda job: fill(*job), zip(starts, seeds, strict=True))
    return Predictions(proba, labels, names), truth


def _complete(
    label: np.ndarray,
    confidence: np.ndarray,
    truth: np.ndarray,
    weights: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return whole rows (n, L) with the given top class and confidence, and labels (n,) drawn from the truth.

    The other classes share 1 - confidence of the score, and 1 - truth of the probability, in proportion to
    `weights`, evened out as far as needed for `label` to stay the only maximum.
    """
    n, n_classes = weights.shape
    np.put_along_axis(weights, label[:, None], 0.0, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    highest = weights.max(axis=1)
    cap = 0.95 * confidence / (1.0 - confidence + 1e-12)
    even = 1.0 / (n_classes - 1)
    mix = np.where(highest > cap, (highest - cap) / np.maximum(highest - even, 1e-12), 0.0)
    weights *= (1.0 - mix)[:, None].astype(weights.dtype)
    weights += (mix * even)[:, None].astype(weights.dtype)
    np.put_along_axis(weights, label[:, None], 0.0, axis=1)
    other = _draw_labels(weights, rng)
    labels = np.where(rng.random(n) < truth, label, other)
    weights *= (1.0 - confidence)[:, None].astype(weights.dtype)
    np.put_along_axis(weights, label[:, None], confidence[:, None].astype(weights.dtype), axis=1)
    return weights, labels


def _draw_labels(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one class per row of the (n, L) weights, in proportion to them."""
    upto = weights.cumsum(axis=1, dtype=np.float64)
    return (upto > rng.random((len(weights), 1)) * upto[:, -1:]).argmax(axis=1)
