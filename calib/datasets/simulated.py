"""Simulated populations, most with known truth: equal seeds give equal rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from scipy.special import expit, logit, softmax

from calib.base.parallel import map_threads
from calib.data.defaults import RANDOM_STATE
from calib.data.predictions import Predictions
from calib.data.validation import random_generator
from calib.datasets.example import COVER_TYPES, EXAMPLE_TITLES, Example

#: Rows that one random stream draws: a seed gives the same rows on every machine.
BLOCK = 5_000

#: Drawn rows: predicted label (n,), confidence (n,), truth (n,) and the weights of all classes (n, L).
SimulatedRows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
DrawRows = Callable[[int, np.random.Generator], SimulatedRows]

FOREST_TYPES = ("spruce/fir", "lodgepole pine", "other")
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def _example(
    name: str,
    calibration: Predictions,
    evaluation: Predictions,
    description: str,
    truth: np.ndarray | None = None,
    models: Mapping[str, tuple[Predictions, Predictions]] = MappingProxyType({}),
) -> Example:
    return Example(name, EXAMPLE_TITLES[name], description, True, calibration, evaluation, truth, models)


def two_patients() -> Example:
    """Build Example 1 of Gupta & Ramdas (2022), in exact proportions: conf-ECE 0, TL-ECE 0.4.

    Patient a is predicted disease 1 with confidence 0.6 and has it with probability 0.2; patient b is
    predicted disease 2 with confidence 0.6 and certainly has it. Calibration and evaluation rows are the
    same: 500 of each.
    """
    # Of every ten rows, five are patient a: one has disease 1 (0.2), two have each of the others.
    proba = np.tile([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]], (500, 1))
    labels = np.tile([0, 1, 1, 1, 1, 1, 2, 1, 2, 1], 100)
    rows = Predictions(proba, labels, ("disease 1", "disease 2", "other disease"))
    return _example(
        "two-patients",
        rows,
        rows,
        "Example 1 of the paper in exact proportions: confidence 0.6 is right 60 % of the time overall, "
        "yet 20 % of the time for one predicted disease and always for the other.",
        truth=np.tile([0.2, 1.0], 500),
    )


def resnet_shaped(
    *, n_calibration: int = 5_000, n_evaluation: int = 10_000, random_state: int = RANDOM_STATE
) -> Example:
    """Simulate CIFAR-10 with a ResNet: confidence nearly calibrated, single classes far from it.

    About 95 % of the rows are right and 92 % have a confidence above 0.9. At any confidence the classes'
    miscalibrations cancel: near 0.55 a predicted *airplane* is right about one time in five, a predicted
    *horse* nine times in ten (compare Figures 1 and 2 of the paper).
    """
    affinity = np.full((10, 10), 0.15)
    for first, second in ((0, 2), (0, 8), (1, 9), (3, 5), (2, 4), (4, 7), (2, 6)):
        affinity[first, second] = affinity[second, first] = 1.0
    np.fill_diagonal(affinity, 0.0)
    # Sums to zero under the class shares below, so that confidence calibration does not show it.
    tilt = np.array([-0.35, 0.07, -0.05, -0.10, 0.05, -0.06, 0.09, 0.35, 0.04, -0.04])
    other_shares = np.array([3, 1, 1, 1, 1, 1, 1, 3, 1, 1]) / 14

    def draw(n: int, rng: np.random.Generator) -> SimulatedRows:
        high = rng.random(n) < 0.92
        confidence = np.where(high, 1.0 - 0.1 * rng.beta(0.35, 2.2, n), 0.4 + 0.5 * rng.beta(1.4, 1.4, n))
        label = np.where(high, rng.integers(10, size=n), rng.choice(10, size=n, p=other_shares))
        truth = confidence + tilt[label] * 4.0 * confidence * (1.0 - confidence)
        truth -= np.where(high, np.where(label == 3, 0.035, 0.003), 0.0)
        weights = affinity[label] * rng.gamma(0.5, size=(n, 10))
        return label, confidence, np.clip(truth, 0.02, 0.999), weights

    calibration, _ = _population(draw, n_calibration, CIFAR10, (random_state, 0))
    evaluation, truth = _population(draw, n_evaluation, CIFAR10, (random_state, 1))
    return _example(
        "resnet",
        calibration,
        evaluation,
        "Simulated in the shape of CIFAR-10 with a ResNet: confidence is nearly calibrated overall, but "
        "at 0.5-0.6 a predicted airplane is right about 20 % of the time and a predicted horse 90 %.",
        truth=truth,
    )


def perfect(
    n_samples: int = 10_000,
    n_classes: int = 10,
    *,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
) -> Example:
    """Draw a population that is calibrated in every sense: labels follow their rows' own probabilities.

    Half as many rows again are drawn for calibration.

    Parameters
    ----------
    n_samples, n_classes, random_state
        Evaluation rows, classes and the seed.
    """
    rng = random_generator(random_state)

    def draw(n: int) -> Predictions:
        proba = softmax(4.0 * rng.standard_normal((n, n_classes)), axis=1)
        return Predictions(proba, draw_labels(proba, rng))

    evaluation = draw(n_samples)
    return _example(
        "perfect",
        draw(max(n_samples // 2, 1)),
        evaluation,
        f"Simulated: {n_samples:,} rows and {n_classes:,} classes whose labels are drawn from the "
        "predicted probabilities themselves, so every deviation that shows is sampling noise.",
        truth=evaluation.confidence,
    )


def many_classes(
    n_samples: int = 50_000, n_classes: int = 1_000, *, random_state: int = RANDOM_STATE
) -> Example:
    """Simulate a network of ImageNet's size in float32: classes differ in frequency and miscalibration.

    The i-th class is predicted in proportion to (i + 4) ** -0.9. Families of ten classes are mostly confused
    among themselves. Half as many rows again are drawn for calibration.
    """
    population = random_generator(random_state, 2)
    tilt = population.normal(0.0, 0.15, n_classes)
    frequency = (np.arange(n_classes) + 4.0) ** -0.9
    frequency /= frequency.sum()
    family = np.arange(n_classes) // 10

    def draw(n: int, rng: np.random.Generator) -> SimulatedRows:
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
    return _example(
        "many-classes",
        calibration,
        evaluation,
        f"Simulated: {n_classes:,} classes in families of ten, of very different frequency and each with "
        "its own miscalibration; most classes are predicted too rarely to tell it from noise.",
        truth=truth,
    )


def three_classes(
    *, n_calibration: int = 40_671, n_evaluation: int = 174_304, random_state: int = RANDOM_STATE
) -> Example:
    """Simulate a logistic regression on three forest types by altitude, in the sizes of App. G.4.

    The true logits are less extreme than the model's, favour pine, and curve: no linear model can represent
    them. `truth` is None.
    """
    sets = []
    for stream, n_rows in enumerate((n_calibration, n_evaluation)):
        rng = random_generator(random_state, stream)
        altitude, soil, rain = rng.standard_normal((3, n_rows))
        logits = np.column_stack(
            [1.4 * altitude + 0.9 * soil - 0.3, 0.3 * rain, 1.3 * rain - 1.9 * altitude - 1.4]
        )
        true_logits = 0.8 * logits
        true_logits[:, 1] += 0.25
        true_logits[:, 2] += 0.9 * np.square(np.maximum(altitude - 0.4, 0.0))
        edges = softmax(true_logits, axis=1).cumsum(axis=1)[:, :2]
        labels = (rng.random(n_rows)[:, None] >= edges).sum(axis=1)
        sets.append(Predictions(softmax(logits, axis=1), labels, FOREST_TYPES))
    return _example(
        "three-classes",
        sets[0],
        sets[1],
        "Simulated in the shape of a logistic regression on three forest types: it is too extreme, "
        "predicts too little pine, and misses the other types where it is surest of spruce/fir.",
    )


#: Networks of `four_networks`: the factor of their logits.
NETWORKS = {"good": 1.0, "over-confident": 1.7, "under-confident": 0.6, "one bad class": 1.0}
#: Added to the logits of the bad class of "one bad class".
BAD_CLASS, BAD_SHIFT = 3, 1.5
#: The factor of all logits with `focal`: training with the focal loss leaves networks under-confident.
FOCAL = 0.6


def four_networks(
    n_classes: int = 10,
    *,
    n_calibration: int = 5_000,
    n_evaluation: int = 10_000,
    focal: bool = False,
    random_state: int = RANDOM_STATE,
) -> Example:
    """Simulate four networks on the same rows: good, over-confident, under-confident, with one bad class.

    Labels are drawn from the softmax of normal logits z. A network's logits are a factor times z with noise,
    and a small shift for each class; "one bad class" adds much to one class. `focal` shrinks all logits, as
    training with the focal loss does. `n_classes` is above 3; the paper's data sets have 10 and 100.
    """
    shifts = random_generator(random_state, 2).normal(0.0, 0.15, (len(NETWORKS), n_classes))
    spread = 7.0 if n_classes <= 10 else 5.5
    pairs: dict[str, list[Predictions]] = {name: [] for name in NETWORKS}
    for stream, n_rows in enumerate((n_calibration, n_evaluation)):
        rng = random_generator(random_state, stream)
        true = spread * rng.standard_normal((n_rows, n_classes))
        labels = draw_labels(softmax(true, axis=1), rng)
        for (name, factor), shift in zip(NETWORKS.items(), shifts, strict=True):
            noisy = true + 0.5 * rng.standard_normal(true.shape)
            logits = (FOCAL if focal else 1.0) * factor * noisy + shift
            if name == "one bad class":
                logits[:, BAD_CLASS] += BAD_SHIFT
            pairs[name].append(Predictions(softmax(logits, axis=1), labels))
    models = {name: (fitting, unseen) for name, (fitting, unseen) in pairs.items()}
    calibration, evaluation = models["good"]
    return _example(
        "networks",
        calibration,
        evaluation,
        "Simulated: four networks on the same rows, of which one is well calibrated, one over-confident, "
        "one under-confident, and one bad for a single class.",
        models=models,
    )


#: Shares of the true classes 1..7 in COVTYPE.
SHARES = np.array([0.3646, 0.4876, 0.0615, 0.0047, 0.0163, 0.0299, 0.0353])

_TREES = 100
_VOTES = np.arange(30, _TREES + 1)  # possible votes for the predicted class

# True classes when the forest is wrong: row l holds their shares if l is predicted.
_ERRORS = np.array(
    [
        [0.00, 0.84, 0.01, 0.00, 0.01, 0.00, 0.14],
        [0.74, 0.00, 0.04, 0.00, 0.13, 0.07, 0.02],
        [0.00, 0.25, 0.00, 0.16, 0.02, 0.57, 0.00],
        [0.00, 0.00, 0.60, 0.00, 0.00, 0.40, 0.00],
        [0.10, 0.75, 0.10, 0.00, 0.00, 0.05, 0.00],
        [0.00, 0.31, 0.62, 0.06, 0.01, 0.00, 0.00],
        [0.93, 0.07, 0.00, 0.00, 0.00, 0.00, 0.00],
    ]
)
# The predicted class's votes are beta distributed on 30..100; rare classes get fewer.
_MEAN_VOTES = np.array([0.86, 0.87, 0.85, 0.74, 0.71, 0.78, 0.86])
_CONCENTRATION = 4.0
# P(Y = l | x) = expit(slope logit h + shift): steeper than the diagonal and above it, so underconfident.
_SLOPE = 1.9
_SHIFT = np.array([0.25, 0.25, 0.15, 0.45, 0.75, 0.30, 0.55])


def covtype_simulated(
    *, n_calibration: int = 40_671, n_evaluation: int = 174_304, random_state: int = RANDOM_STATE
) -> Example:
    """Simulate a random forest on COVTYPE-7: real class shares, underconfident, scores in steps of 0.01.

    The predicted class c and its votes of 100 trees are drawn first; then P(Y = c | x) = expit(1.9 logit h +
    s_c) with a shift s_c > 0 per class. The other classes share the other votes and the remaining probability
    alike, and the true classes have COVTYPE's shares.
    """
    # P(votes | predicted class), (7, 71): beta densities on the grid of `_VOTES`, normalised.
    u = (np.arange(len(_VOTES)) + 0.5) / len(_VOTES)
    mean = ((_MEAN_VOTES * _TREES - _VOTES[0]) / (_TREES - _VOTES[0]))[:, None]
    log_density = (mean * _CONCENTRATION - 1) * np.log(u) + ((1 - mean) * _CONCENTRATION - 1) * np.log1p(-u)
    chances = np.exp(log_density)
    chances /= chances.sum(axis=1, keepdims=True)
    truth_by_votes = expit(_SLOPE * logit(_VOTES / _TREES) + _SHIFT[:, None])
    right = (chances * truth_by_votes).sum(axis=1)
    label_given_prediction = np.diag(right) + (1.0 - right)[:, None] * _ERRORS
    predicted_shares = np.linalg.solve(label_given_prediction.T, SHARES)
    predicted_shares /= predicted_shares.sum()

    def draw(n: int, rng: np.random.Generator) -> tuple[Predictions, np.ndarray]:
        label = rng.choice(len(SHARES), size=n, p=predicted_shares)
        cumulative = chances.cumsum(axis=1)[label]
        index = (cumulative <= rng.random((n, 1)) * cumulative[:, -1:]).sum(axis=1)
        truth = truth_by_votes[label, index]
        votes = _other_votes(label, _VOTES[index], rng)
        hit = rng.random(n) < truth
        share = votes.cumsum(axis=1)
        other = (share > np.floor(rng.random(n) * share[:, -1])[:, None]).argmax(axis=1)
        np.put_along_axis(votes, label[:, None], _VOTES[index][:, None], axis=1)
        return Predictions(votes / _TREES, np.where(hit, label, other), COVER_TYPES), truth

    calibration, _ = draw(n_calibration, random_generator(random_state, 0))
    evaluation, truth = draw(n_evaluation, random_generator(random_state, 1))
    return _example(
        "covtype-simulated",
        calibration,
        evaluation,
        "Simulated in the shape of COVTYPE with a random forest: 7 classes, one 100 times as frequent as "
        "another, and confidences in steps of 0.01 that are too low for every predicted class.",
        truth=truth,
    )


def _other_votes(label: np.ndarray, top: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the other classes' votes, (n, 7) int with zeros at `label`, each below the `top` votes."""
    weights = rng.gamma(1.5 * _ERRORS[label]) + 1e-9 * _ERRORS[label]
    votes = rng.multinomial(_TREES - top, weights / weights.sum(axis=1, keepdims=True))
    room = np.maximum(top - 1, 0)[:, None]
    excess = np.maximum(votes - room, 0)
    votes -= excess
    unassigned = excess.sum(axis=1)
    for code in range(votes.shape[1]):
        add = np.where(label == code, 0, np.minimum(unassigned, room[:, 0] - votes[:, code]))
        votes[:, code] += add
        unassigned = unassigned - add
    return votes


def _population(
    draw: DrawRows, n: int, names: tuple[str, ...], entropy: tuple[int, ...], dtype: type = np.float64
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
    """Return rows (n, L) with the given top class and confidence, and labels (n,) drawn from the truth."""
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
    other = draw_labels(weights, rng)
    labels = np.where(rng.random(n) < truth, label, other)
    weights *= (1.0 - confidence)[:, None].astype(weights.dtype)
    np.put_along_axis(weights, label[:, None], confidence[:, None].astype(weights.dtype), axis=1)
    return weights, labels


def draw_labels(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one class per row of the (n, L) weights, in proportion to them."""
    cumulative = weights.cumsum(axis=1, dtype=np.float64)
    return (cumulative > rng.random((len(weights), 1)) * cumulative[:, -1:]).argmax(axis=1)


def judged_answers(
    n_rows: int = 3_000, *, n_labels: int = 150, random_state: int = RANDOM_STATE
) -> pd.DataFrame:
    """Simulate a language model that judges answers, some of which people labelled, drawn at random.

    Columns: id, verdict ("pass" or "fail"), confidence in five steps, human (blank without a label). 84 % of
    the answers are good. The judge passes 97 % of the good answers and 30 % of the bad ones, with higher
    confidence if it is right about a good answer.
    """
    random = random_generator(random_state)
    good = random.random(n_rows) < 0.84
    passes = random.random(n_rows) < np.where(good, 0.97, 0.3)
    steps = np.array([0.7, 0.8, 0.9, 0.95, 1.0])
    higher = random.choice(steps, n_rows, p=[0.05, 0.1, 0.25, 0.3, 0.3])
    less = random.choice(steps, n_rows, p=[0.25, 0.3, 0.25, 0.1, 0.1])
    human = np.where(good, "pass", "fail").astype(object)
    human[random.permutation(n_rows)[n_labels:]] = None
    return pd.DataFrame(
        {
            "id": np.arange(n_rows),
            "verdict": np.where(passes, "pass", "fail"),
            "confidence": np.where(good & passes, higher, less),
            "human": human,
        }
    )
