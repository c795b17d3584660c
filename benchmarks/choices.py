"""How good choices among calibrators are: `calib.recommend`, the methods marked as best, and fallbacks.

Calibration rows are drawn anew from populations whose truth is known, and the choice is assessed on 20,000
fresh rows by its expected Brier score and log loss.

orders: rows whose largest probability changes by more than 0.01 if classes come in the reverse order, in the
fit or in the prediction, where they are put in order by name, or have no names.
few: labels follow scores that are mostly sure; how often the interval of a score lies below or above its
expectation, and how often a limit 5 % below it is called kept. copies: a calibrator is recommended for rows
of which each is there some times. fallbacks: classes differ by a normal shift of their chance of being
right, and have no bin of their own; root mean squared distance of the calibrated confidence from the chance
on fresh rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone

from benchmarks.populations import biased, draw_labels, one_class, overconfident, scores
from benchmarks.simulation import Draws, Table, main
from calib import (
    HistogramBinning,
    MulticlassToBinary,
    Predictions,
    TopLabelPrediction,
    best_set,
    calibrated_scores,
    recommend,
)
from calib.answers.calibrated import fit_on
from calib.calibrators.catalogue import named_methods
from calib.calibrators.completed_rows import completed, normalised
from calib.files.saved.document import aligned
from calib.stats.intervals import measure_interval

#: Rows on which a choice is assessed.
FRESH_ROWS = 20_000

#: True probabilities behind the scores, by the name of the population.
TRUTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda proba: proba,
    "overconfident": lambda proba: overconfident(proba, 0.4),
    "every second class too low": lambda proba: biased(proba, 0.3),
    "class 0 is wrong": lambda proba: one_class(proba, 0.4),
}
#: Largest scores of populations of confident rows, whose scores are the truth.
SURE: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "above 0.99": lambda random, n: 1.0 - 0.01 * random.random(n),
    "half at 0.6, half above 0.998": lambda random, n: np.where(
        random.random(n) < 0.5, 0.6, 1.0 - 0.002 * random.random(n)
    ),
}
N_CLASSES = 3
#: End of the names of populations whose scores differ from the fourth decimal on.
CHANGED = ", other digits"


def expected_losses(vectors: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return the expected Brier score and log loss of announced vectors, given the true probabilities."""
    brier = (vectors**2).sum(axis=1) - 2.0 * (truth * vectors).sum(axis=1) + 1.0
    log_loss = -(truth * np.log(np.maximum(vectors, np.finfo(float).eps))).sum(axis=1)
    return float(brier.mean()), float(log_loss.mean())


def vectors_of(calibrator: object, proba: np.ndarray) -> np.ndarray:
    """Return what a calibrator announces, as whole vectors."""
    if calibrator is None:
        return proba
    announced = calibrated_scores(calibrator, proba)
    if isinstance(announced, TopLabelPrediction):
        return completed(proba, announced.label, announced.confidence)
    return normalised(announced)


def sure(random: np.random.Generator, name: str, n: int) -> np.ndarray:
    """Return probabilities (n, 3) of a population of confident rows."""
    confidence = SURE[name](random, n)
    rest = (1.0 - confidence)[:, None] * random.dirichlet(np.ones(N_CLASSES - 1), n)
    proba = np.column_stack([confidence, rest])
    shift = (np.arange(N_CLASSES) - random.integers(0, N_CLASSES, n)[:, None]) % N_CLASSES
    return np.take_along_axis(proba, shift, axis=1)


def advised(name: str, n_classes: int, n: int, copies: int = 0) -> Draws:
    """Yield the name of the recommended calibrator, and by how much it changes the expected losses.

    With `copies`, rows are there this often, in random order.
    """

    def drawn(seed: int, n: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if name in SURE:
            proba = sure(random, name, n)
            return proba, proba
        proba = scores(seed, n, n_classes)
        return proba, TRUTHS[name.removesuffix(CHANGED)](proba)

    fresh, truth = drawn(99, FRESH_ROWS, np.random.default_rng(99))
    base = np.array(expected_losses(fresh, truth))
    for seed in count():
        random = np.random.default_rng(seed)
        proba, chances = drawn(1_000 + seed, n, random)
        labels = draw_labels(chances, random)
        if copies:
            order = random.permutation(n * copies)
            proba, labels = np.repeat(proba, copies, axis=0)[order], np.repeat(labels, copies)[order]
        if name.endswith(CHANGED):
            proba = normalised(np.abs(proba + random.uniform(-2e-4, 2e-4, proba.shape)))
        advice = recommend(proba, labels)
        brier, log_loss = np.array(expected_losses(vectors_of(advice.calibrator, fresh), truth)) - base
        yield {"name": advice.name, "brier": brier, "log_loss": log_loss}


def recommendations(name: str, n_classes: int, n: int) -> Draws:
    for found in advised(name, n_classes, n):
        yield {
            "none": found["name"] == "none",
            "most often": found["name"],
            "worse than base, Brier": found["brier"] > 1e-9,
            "worse than base, log loss": found["log_loss"] > 1e-9,
            "mean change in Brier": found["brier"],
            "in log loss": found["log_loss"],
        }


def copies(name: str, times: int, n: int) -> Draws:
    for found in advised(name, N_CLASSES, n, times):
        yield {
            "a calibrator": found["name"] != "none",
            "it hurts": max(found["brier"], found["log_loss"]) > 1e-9,
            "mean change in Brier": found["brier"],
            "in log loss": found["log_loss"],
        }


def orders(method: str, n: int) -> Draws:
    """Yield which share of fresh rows changes if the columns of classes are in the reverse order."""
    names = tuple("abcde")
    for seed in count():
        proba = scores(seed, n + FRESH_ROWS // 2, len(names))
        labels = draw_labels(biased(proba, 0.3)[:n], np.random.default_rng(seed))
        fitted, turned = (
            fit_on(clone(named_methods(None)[method]), rows)
            for rows in (
                Predictions(proba[:n], labels, names),
                Predictions(proba[:n, ::-1], len(names) - 1 - labels, names[::-1]),
            )
        )
        fresh = proba[n:]
        said = vectors_of(fitted, fresh)
        named = aligned(Predictions(fresh[:, ::-1], class_names=names[::-1]), fitted)
        found = {
            "in the fit": vectors_of(turned, fresh[:, ::-1])[:, ::-1],
            "in the prediction, with names": vectors_of(fitted, named.proba),
            "without names": vectors_of(fitted, fresh[:, ::-1])[:, ::-1],
        }
        yield {
            head: float(np.mean(np.abs(vectors - said).max(axis=1) > 0.01)) for head, vectors in found.items()
        }


def best_sets(n: int, methods: int, score: str) -> Draws:
    """Yield whether the method with the lowest expected score is in the best set, and its size."""
    generator, proba = np.random.default_rng(0), scores(5, FRESH_ROWS, 5)
    # The first is the truth.
    announced = [normalised(proba ** (1.0 + 0.05 * step)) for step in range(methods)]
    expected = [expected_losses(vectors, proba)[score == "log loss"] for vectors in announced]
    while True:
        rows = generator.integers(FRESH_ROWS, size=n)
        labels = draw_labels(proba[rows], generator)
        at_label = np.array([vectors[rows, labels] for vectors in announced])
        losses = -np.log(at_label)
        if score == "Brier score":
            squares = np.array([(vectors[rows] ** 2).sum(axis=1) for vectors in announced])
            losses = squares - 2.0 * at_label + 1.0
        in_set = best_set(losses)
        inside = in_set[int(np.argmin(expected))]
        yield {"best one in the set (95 %)": inside, "mean size of the set": in_set.sum()}


def few(name: str, n: int) -> Draws:
    fresh = sure(np.random.default_rng(99), name, 100 * FRESH_ROWS)
    expected = [*expected_losses(fresh, fresh), fresh.max(axis=1).mean()]
    for seed in count():
        random = np.random.default_rng(seed)
        proba = sure(random, name, n)
        labels = draw_labels(proba, random)
        rows, missed = Predictions(proba, labels), []
        for key, truth in zip(("brier", "log_loss", "accuracy"), expected, strict=True):
            low, high = measure_interval(labels, rows, key)
            missed.append((high < truth, low > truth, high < 0.95 * truth))
        brier, log_loss, accuracy = missed
        yield {
            "no wrong row": bool((proba.argmax(axis=1) == labels).all()),
            "Brier interval too low (2.5 %)": brier[0],
            "too high (2.5 %)": brier[1],
            "log loss too low (2.5 %)": log_loss[0],
            "log loss too high (2.5 %)": log_loss[1],
            "accuracy too high (2.5 %)": accuracy[1],
            "a broken limit of log loss is kept (2.5 %)": log_loss[2],
        }


FALLBACKS = ("identity", "pooled", "shrink")


def fallbacks(n_classes: int, per_class: int, spread: float) -> Draws:
    """Yield the mean squared distance from the truth of each fallback; classes are of uneven sizes."""
    names = tuple(f"class {code}" for code in range(n_classes))
    for seed in count():
        generator = np.random.default_rng(seed)
        shift = generator.normal(size=n_classes)

        def drawn(
            per_class: int, generator: np.random.Generator = generator, shift: np.ndarray = shift
        ) -> tuple[TopLabelPrediction, np.ndarray, np.ndarray]:
            shares = generator.dirichlet(np.full(n_classes, 3.0))
            label = generator.choice(n_classes, n_classes * per_class, p=shares)
            score = generator.beta(4.0, 2.0, len(label))
            chance = expit(0.8 * logit(score) - 0.3 + spread * shift[label])
            right = generator.random(len(label)) < chance
            labels = np.where(right, label, (label + 1) % n_classes)
            return TopLabelPrediction(label, score, class_names=names), labels, chance

        rows, labels, _ = drawn(per_class)
        fresh, _, chance = drawn(20)
        found = {}
        for fallback in FALLBACKS:
            model = MulticlassToBinary(HistogramBinning(points_per_bin=50), fallback=fallback)
            found[fallback] = np.mean((model.fit(rows, labels).predict_top(fresh).confidence - chance) ** 2)
        yield found


CHANGES = {"mean change in Brier": "+.5f", "in log loss": "+.5f"}
TABLES = {
    "sets": Table(
        ("rows", "methods", "score"),
        [
            (n, methods, score)
            for n in (200, 2_000)
            for methods in (5, 20)
            for score in ("Brier score", "log loss")
        ],
        best_sets,
        {"mean size of the set": ".1f"},
        times=lambda *setting: 10,
    ),
    "recommendations": Table(
        ("population", "L", "n"),
        [(name, *size) for name in TRUTHS for size in ((3, 300), (5, 1_000))],
        recommendations,
        {"most often": lambda names: Counter(names.tolist()).most_common(1)[0][0], **CHANGES},
    ),
    "orders": Table(
        ("calibrator", "n"),
        [(name, 1_000) for name in ("TS", "VS", "SVS", "SMS", "DS", "N-Platt", "N-HB")],
        orders,
        dict.fromkeys(("in the fit", "in the prediction, with names", "without names"), ".1%"),
    ),
    "few": Table(("confidences", "n"), [(name, n) for name in SURE for n in (200, 1_000)], few),
    "copies": Table(
        ("population", "times each", "n"),
        [("above 0.99", 1, 200), ("above 0.99", 1, 1_000), ("calibrated", 5, 300), ("overconfident", 5, 300)]
        + [(f"calibrated{CHANGED}", 5, 300)],
        copies,
        CHANGES,
        times=lambda *setting: 0.2,
    ),
    "fallbacks": Table(
        ("classes", "rows of a class", "spread of the log-odds"),
        [(n, rows, spread) for n in (20, 200, 1_000) for rows in (3, 10, 30) for spread in (0.0, 0.3, 1.0)],
        fallbacks,
        {name: lambda squares: f"{np.sqrt(squares.mean()):.4f}" for name in FALLBACKS},
    ),
}

if __name__ == "__main__":
    main()
