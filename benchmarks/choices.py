"""How good choices among calibrators are: `calib.recommend`, the methods marked as best, and fallbacks.

Calibration rows are drawn anew from populations whose truth is known, and the choice is assessed on 20,000
fresh rows by its expected Brier score and log loss. halves: scores are overconfident, and the choice is
confirmed on the rows it was chosen on, left out in turn, or also on as many others.

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
from collections.abc import Callable, Iterator
from itertools import count, product
from time import process_time
from unittest.mock import patch

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone

import calib
from benchmarks.populations import biased, draw_labels, one_class, overconfident, scores
from benchmarks.simulation import Draws, Table, main
from calib.answers import advice
from calib.answers.calibrated import fit_on
from calib.calibrators.catalogue import named_methods
from calib.data.matrices import completed, normalised
from calib.data.predictions import score_matrix
from calib.evidence.rows import Rows
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


def expected_losses(vectors: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return expected Brier scores and log losses of announced vectors (2, n), given the true chances."""
    brier = (vectors**2).sum(axis=1) - 2.0 * (truth * vectors).sum(axis=1) + 1.0
    log_loss = -(truth * np.log(np.maximum(vectors, np.finfo(float).eps))).sum(axis=1)
    return np.stack([brier, log_loss])


def vectors_of(calibrator: object, proba: np.ndarray) -> np.ndarray:
    """Return what a calibrator announces, as whole vectors."""
    if calibrator is None:
        return proba
    announced = calib.calibrated_scores(calibrator, proba)
    if isinstance(announced, calib.TopLabelPrediction):
        return completed(proba, announced.label, announced.confidence)
    return normalised(score_matrix(announced))


def sure(random: np.random.Generator, name: str, n: int) -> np.ndarray:
    """Return probabilities (n, 3) of a population of confident rows."""
    confidence = SURE[name](random, n)
    rest = (1.0 - confidence)[:, None] * random.dirichlet(np.ones(N_CLASSES - 1), n)
    proba = np.column_stack([confidence, rest])
    shift = (np.arange(N_CLASSES) - random.integers(0, N_CLASSES, n)[:, None]) % N_CLASSES
    return np.take_along_axis(proba, shift, axis=1)


def advised(name: str, n_classes: int, n: int, copies: int = 0) -> Iterator[tuple[str, dict[str, float]]]:
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
    base = expected_losses(fresh, truth).mean(axis=1)
    for seed in count():
        random = np.random.default_rng(seed)
        proba, chances = drawn(1_000 + seed, n, random)
        labels = draw_labels(chances, random)
        if copies:
            order = random.permutation(n * copies)
            proba, labels = np.repeat(proba, copies, axis=0)[order], np.repeat(labels, copies)[order]
        if name.endswith(CHANGED):
            proba = normalised(np.abs(proba + random.uniform(-2e-4, 2e-4, proba.shape)))
        found = calib.recommend(proba, labels)
        losses = expected_losses(vectors_of(found.calibrator, fresh), truth).mean(axis=1)
        yield found.name, dict(zip(CHANGES, losses - base, strict=True))


@Table(
    ("population", "L", "n"),
    [(name, *size) for name in TRUTHS for size in ((3, 300), (5, 1_000), (10, 2_000))],
    {"share of the processor time": ".2f"},
)
def first_fold(name: str, n_classes: int, n: int) -> Draws:
    """Yield whether candidates that the first fold rules out change the choice, and the time they save."""
    for seed in count():
        proba = scores(seed, n, n_classes)
        labels = draw_labels(TRUTHS[name](proba), np.random.default_rng(seed))
        chosen, seconds = [], []
        for margin in (advice.RULED_OUT, np.inf):
            with patch.object(advice, "RULED_OUT", margin):
                begun = process_time()
                chosen.append(calib.recommend(proba, labels).name)
                seconds.append(process_time() - begun)
        yield {"same choice": chosen[0] == chosen[1], "share of the processor time": seconds[0] / seconds[1]}


#: Sizes of overconfidence by the gap of its accuracy in points, about.
GAPS = {0: 0.0, 6: 0.4, 10: 0.65}


@Table(
    ("gap in points", "L", "rows"),
    [(gap, 3, 900) for gap in GAPS],
    times=lambda *setting: 4,
)
def halves(gap: int, n_classes: int, n: int) -> Draws:
    """Yield whether a calibrator chosen on half of the rows is recommended for overconfident scores."""
    for seed in count():
        proba = scores(seed, n, n_classes)
        labels = draw_labels(overconfident(proba, GAPS[gap]), np.random.default_rng(seed))
        rows, others = slice(None, n // 2), slice(n // 2, None)
        found = calib.recommend(proba[rows], labels[rows], confirm=(proba[others], labels[others]))
        alone = calib.recommend(proba[rows], labels[rows])
        yield {"by this half": alone.name != "none", "by both halves": found.name != "none"}


CHANGES = {"mean change in Brier": "+.5f", "in log loss": "+.5f"}


@Table(
    ("population", "L", "n"),
    [(name, *size) for name in TRUTHS for size in ((3, 300), (5, 1_000))],
    {"most often": lambda names: Counter(names.tolist()).most_common(1)[0][0], **CHANGES},
)
def recommendations(name: str, n_classes: int, n: int) -> Draws:
    for method, changes in advised(name, n_classes, n):
        brier, log_loss = changes.values()
        found = {"none": method == "none", "most often": method}
        worse = {"worse than base, Brier": brier > 1e-9, "worse than base, log loss": log_loss > 1e-9}
        yield found | worse | changes


@Table(
    ("population", "times each", "n"),
    [
        ("above 0.99", 1, 200),
        ("above 0.99", 1, 1_000),
        ("calibrated", 5, 300),
        ("overconfident", 5, 300),
        (f"calibrated{CHANGED}", 5, 300),
    ],
    CHANGES,
    times=lambda *setting: 0.2,
)
def copies(name: str, times: int, n: int) -> Draws:
    for method, changes in advised(name, N_CLASSES, n, times):
        yield {"a calibrator": method != "none", "it hurts": max(changes.values()) > 1e-9} | changes


@Table(
    ("calibrator", "n"),
    [(name, 1_000) for name in ("TS", "VS", "SVS", "SMS", "DS", "N-Platt", "N-HB")],
    dict.fromkeys(("in the fit", "in the prediction, with names", "without names"), ".1%"),
)
def orders(method: str, n: int) -> Draws:
    """Yield which share of fresh rows changes if the columns of classes are in the reverse order."""
    names = tuple("abcde")
    for seed in count():
        proba = scores(seed, n + FRESH_ROWS // 2, len(names))
        labels = draw_labels(biased(proba, 0.3)[:n], np.random.default_rng(seed))
        fitted, turned = (
            fit_on(clone(named_methods(None)[method]), rows)
            for rows in (
                calib.Predictions(proba[:n], labels, names),
                calib.Predictions(proba[:n, ::-1], len(names) - 1 - labels, names[::-1]),
            )
        )
        fresh = proba[n:]
        said = vectors_of(fitted, fresh)
        named = aligned(calib.Predictions(fresh[:, ::-1], class_names=names[::-1]), fitted)
        found = {
            "in the fit": vectors_of(turned, fresh[:, ::-1])[:, ::-1],
            "in the prediction, with names": vectors_of(fitted, named.proba),
            "without names": vectors_of(fitted, fresh[:, ::-1])[:, ::-1],
        }
        yield {
            head: float(np.mean(np.abs(vectors - said).max(axis=1) > 0.01)) for head, vectors in found.items()
        }


@Table(
    ("rows", "methods", "score"),
    [*product((200, 2_000), (5, 20), ("Brier score", "log loss"))],
    {"mean size of the set": ".1f"},
    times=lambda *setting: 10,
)
def sets(n: int, methods: int, score: str) -> Draws:
    """Yield whether the method with the lowest expected score is in the best set, and its size."""
    generator, proba = np.random.default_rng(0), scores(5, FRESH_ROWS, 5)
    # The first is the truth.
    announced = [normalised(proba ** (1.0 + 0.05 * step)) for step in range(methods)]
    number = ("Brier score", "log loss").index(score)
    expected = [expected_losses(vectors, proba)[number].mean() for vectors in announced]
    while True:
        rows = generator.integers(FRESH_ROWS, size=n)
        outcomes = np.eye(5)[draw_labels(proba[rows], generator)]
        losses = np.array([expected_losses(vectors[rows], outcomes)[number] for vectors in announced])
        in_set = calib.best_set(losses)
        inside = in_set[int(np.argmin(expected))]
        yield {"best one in the set (95 %)": inside, "mean size of the set": in_set.sum()}


@Table(("confidences", "n"), [*product(SURE, (200, 1_000))])
def few(name: str, n: int) -> Draws:
    fresh = sure(np.random.default_rng(99), name, 100 * FRESH_ROWS)
    expected = [*expected_losses(fresh, fresh).mean(axis=1), fresh.max(axis=1).mean()]
    for seed in count():
        random = np.random.default_rng(seed)
        proba = sure(random, name, n)
        labels = draw_labels(proba, random)
        rows, missed = calib.Predictions(proba, labels), []
        for key, truth in zip(("brier", "log_loss", "accuracy"), expected, strict=True):
            low, high = measure_interval(Rows(rows), key)
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


def of_uneven_classes(
    generator: np.random.Generator, shift: np.ndarray, per_class: int
) -> tuple[calib.TopLabelPrediction, np.ndarray, np.ndarray]:
    """Return rows, labels and chances to be right; the log-odds of each class are shifted."""
    names = tuple(f"class {code}" for code in range(len(shift)))
    shares = generator.dirichlet(np.full(len(shift), 3.0))
    label = generator.choice(len(shift), len(shift) * per_class, p=shares)
    score = generator.beta(4.0, 2.0, len(label))
    chance = expit(0.8 * logit(score) - 0.3 + shift[label])
    labels = np.where(generator.random(len(label)) < chance, label, (label + 1) % len(shift))
    return calib.TopLabelPrediction(label, score, class_names=names), labels, chance


@Table(
    ("classes", "rows of a class", "spread of the log-odds"),
    [*product((20, 200, 1_000), (3, 10, 30), (0.0, 0.3, 1.0))],
    dict.fromkeys(FALLBACKS, lambda squares: f"{np.sqrt(squares.mean()):.4f}"),
)
def fallbacks(n_classes: int, per_class: int, spread: float) -> Draws:
    """Yield the mean squared distance from the truth of each fallback."""
    for seed in count():
        generator = np.random.default_rng(seed)
        shift = spread * generator.normal(size=n_classes)
        rows, labels, _ = of_uneven_classes(generator, shift, per_class)
        fresh, _, chance = of_uneven_classes(generator, shift, 20)
        found = {}
        for fallback in FALLBACKS:
            model = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=50), fallback=fallback)
            found[fallback] = np.mean((model.fit(rows, labels).predict_top(fresh).confidence - chance) ** 2)
        yield found


if __name__ == "__main__":
    main()
