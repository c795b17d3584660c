"""How often promises of `calib.decide` and of guarantee cards are missed, with alpha = 10 %.

rules, highest, recalls, clusters: confidence c is right with probability `right(c)`, so that the risk above
a threshold is an average over a large fixed sample of confidences. A draw misses if the true accuracy of
what its rule accepts, of any predicted class if each has its threshold, is below the target. "highest"
promises the highest of `ACCURACIES` that anything passes at, chosen on the same rows; "recalls" an accuracy
of 0.9 with a recall; in "clusters" rows belong together, and calib is given the clusters, or is not.

overlap: a calibrator is fitted on some of the rows that a rule is chosen on; what is said of it, by all of
their values, by ids, or by their scores in the calibrator's file.

cards, groups: calibration rows are drawn anew from populations whose truth is known. Shown is the share of
draws in which the Clopper-Pearson intervals of the bins, or eps_2, miss the truth of any bin; the share of
new rows farther from it than eps_1; and the mean error over its bound. In "groups" calibrators condition on
predicted class and group: a card misses if an interval misses in any bin of a covered (class, group).

errors, class_wise, hostile: the bounds for conf-ECE (one class), TL-ECE and CW-ECE, and for the share of
classes with few rows. In "errors"
classes have the populations of "cards" in turn, and even shares or shares of a geometric row. "hostile" draws
populations at random: chances 0 and 1 in pieces, spikes and steps near the expected edges, confidences that
crowd at one end. Shown is the worst rate of any population.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.populations import correlated, draw_labels, overconfident, scores
from benchmarks.simulation import Draws, Table, main
from calib import (
    ConfidencePrediction,
    HistogramBinning,
    MulticlassToBinary,
    MultilabelPrediction,
    Predictions,
    TopLabelPrediction,
    calibrated_scores,
    decide,
    guarantee_card,
)
from calib.answers import DecisionRule, GuaranteeCard
from calib.answers.decision_rules import ACCURACIES
from calib.calibrators.multiclass import as_multiclass
from calib.data.equal_rows import ID, overlap
from calib.files.saved.document import dumps, loads

ALPHA, N_CLASSES = 0.1, 5
#: Confidences that the true risk is taken from, and what they tell of it.
MANY, ROUNDING = 50_000, 1e-3

#: The chance to be right, given predicted class and confidence.
RIGHT: dict[str, Callable[[np.ndarray | None, np.ndarray], np.ndarray]] = {
    "calibrated": lambda label, c: c,
    "overconfident": lambda label, c: c - 0.6 * (c - 0.5) * (1 - c) - 0.02,
    "just below": lambda label, c: np.full(len(c), 0.895),
    "one bad class": lambda label, c: np.where(label == 0, 0.85 * c, c),
    # risk does not fall with confidence
    "wrong at the top": lambda label, c: np.where(c > 0.97, 0.88, c),
    "ten distinct values": lambda label, c: c - 0.6 * (c - 0.5) * (1 - c) - 0.02,
}


def right_of(name: str) -> Callable[[np.ndarray | None, np.ndarray], np.ndarray]:
    """Return the chance to be right of the population whose name begins so."""
    return next(right for key, right in RIGHT.items() if name.startswith(key))


def confidences(random: np.random.Generator, n: int) -> np.ndarray:
    return 0.5 + 0.5 * random.beta(4.0, 1.0, n)


RULES = [
    ("calibrated", 2_000, 0.95, "one"),
    ("overconfident", 2_000, 0.95, "one"),
    ("just below the target everywhere", 1_000, 0.9, "one"),
    ("just below the target everywhere", 3_000, 0.9, "per class"),
    ("just below the target everywhere", 3_000, 0.9, "together"),
    ("one bad class", 5_000, 0.95, "per class"),
    ("one bad class", 5_000, 0.9, "together"),
    ("wrong at the top", 3_000, 0.9, "one"),
    ("ten distinct values", 2_000, 0.9, "one"),
]


@Table(("population", "n", "accuracy", "thresholds"), RULES)
def rules(name: str, n: int, accuracy: float, thresholds: str) -> Draws:
    random, by, right = np.random.default_rng(0), None if thresholds == "one" else "class", right_of(name)
    promise = "each" if thresholds == "per class" else "overall"

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        confidence = np.round(confidences(random, n), 1 if name == "ten distinct values" else 15)
        return random.integers(0, N_CLASSES, n), confidence

    label, confidence = drawn(MANY)
    truth = right(label, confidence)
    while True:
        predicted, told = drawn(n)
        hit = random.random(n) < right(predicted, told)
        y = np.where(hit, predicted, (predicted + 1) % N_CLASSES)
        options: Any = {"accuracy": accuracy, "by": by, "promise": promise, "alpha": ALPHA}
        rule = decide(y, TopLabelPrediction(predicted, told), **options)
        accepted = rule.accept(TopLabelPrediction(label, confidence))
        groups = label if promise == "each" else np.zeros_like(label)
        sums = np.bincount(groups[accepted], truth[accepted] - accuracy, minlength=N_CLASSES)
        counts = np.maximum(np.bincount(groups[accepted], minlength=N_CLASSES), 1)
        yield {"missed (up to 10 %)": (sums / counts < -ROUNDING).any()}


def fails(rule: DecisionRule, many: np.ndarray, truth: np.ndarray, accuracy: float = 0.9) -> bool:
    """Return whether the true accuracy of what a rule accepts is below a target."""
    accepted = rule.accept(many)
    return bool(accepted.any() and truth[accepted].mean() < accuracy - ROUNDING)


def rows_of(name: str, n: int) -> tuple[np.ndarray, np.ndarray, Iterator[tuple[np.ndarray, np.ndarray]]]:
    """Return many confidences with their truth, and draws of `n` confidences and their hits."""
    random, right = np.random.default_rng(0), right_of(name)
    many = confidences(random, MANY)
    told = (confidences(random, n) for _ in count())
    return many, right(None, many), ((each, random.random(n) < right(None, each)) for each in told)


NAMES = ("calibrated", "overconfident", "just below 0.9 everywhere", "wrong at the top")


@Table(
    ("population", "n"),
    [(name, n) for n in (500, 3_000) for name in NAMES],
    {"accuracy": ".3f", "accepted": ".3f"},
)
def highest(name: str, n: int) -> Draws:
    many, truth, drawn = rows_of(name, n)
    for told, hit in drawn:
        tried = (
            decide(hit, ConfidencePrediction(told), accuracy=value, choices=len(ACCURACIES))
            for value in ACCURACIES
        )
        rule = next((rule for rule in tried if rule.coverage), None)
        yield {
            "missed (up to 10 %)": rule is not None and fails(rule, many, truth, rule.value),
            "accuracy": float("nan") if rule is None else rule.value,
            "accepted": 0.0 if rule is None else rule.coverage,
        }


@Table(
    ("population", "n", "recall"),
    [(name, 3_000, recall) for recall in (0.5, 0.75) for name in ("calibrated", "overconfident")],
)
def recalls(name: str, n: int, recall: float) -> Draws:
    many, truth, drawn = rows_of(name, n)
    for told, hit in drawn:
        rule = decide(hit, ConfidencePrediction(told), accuracy=0.9, recall=recall)
        accepted = rule.accept(many)
        few = accepted.any() and truth[accepted].sum() / truth.sum() < recall - ROUNDING
        yield {"missed (up to 10 %)": few or fails(rule, many, truth), "a rule is found": rule.coverage > 0}


CLUSTERED = [
    (name, *setting)
    for setting in ((20, 200, 0.1), (20, 200, 0.3), (50, 200, 0.3), (200, 10, 0.5))
    for name in ("overconfident", "just below the target everywhere", "overconfident, one confidence each")
]


@Table(
    ("population", "clusters", "rows each", "correlation"), CLUSTERED, {"accepted": ".3f"}, name="clusters"
)
def clustered(name: str, n_clusters: int, n_rows: int, correlation: float) -> Draws:
    """Yield whether a rule misses 0.9; the latent numbers of the rows of a cluster have one correlation."""
    random, cluster = np.random.default_rng(0), np.repeat(np.arange(n_clusters), n_rows)
    right, many, alike = right_of(name), confidences(random, MANY), name.endswith("one confidence each")
    truth = right(None, many)
    while True:
        told = confidences(random, n_clusters)[cluster] if alike else confidences(random, len(cluster))
        common, own = random.standard_normal(n_clusters)[cluster], random.standard_normal(len(cluster))
        hit = correlated(correlation, common, own) < right(None, told)
        rule, untold = (
            decide(hit, ConfidencePrediction(told), accuracy=0.9, cluster=ids) for ids in (cluster, None)
        )
        yield {
            "missed (up to 10 %)": fails(rule, many, truth),
            "accepted": rule.coverage,
            "missed if clusters are not told": fails(untold, many, truth),
        }


@Table(
    ("seen by", "rows used to fit", "n"),
    [("all values", 1.0, 1_000), *product(("their ids", "their scores"), (1.0, 0.3, 0.02, 0.0), (1_000,))],
    {"rows said": ".1%"},
    name="overlap",
)
def overlapping(by: str, share: float, n: int) -> Draws:
    """Yield whether `decide` is told of the rows of a fit, and promises something that does not hold."""
    many = scores(0, MANY, N_CLASSES)
    truth = overconfident(many, 0.5).max(axis=1)
    for seed in count(1):
        random, proba = np.random.default_rng(seed), scores(seed, 2 * n, N_CLASSES)
        table = pd.DataFrame({"id": np.arange(2 * n)})
        labels = draw_labels(overconfident(proba, 0.5), random)
        both = Predictions(proba, labels, metadata=table, columns={ID: "id"})
        used = round(share * n)
        kept = np.arange(n - used, 2 * n - used)
        fit_rows, rows = both[:n], both[kept if by == "all values" else random.permutation(kept)]
        model = MulticlassToBinary(HistogramBinning(points_per_bin=10)).fit(fit_rows, fit_rows.labels)
        if by == "their scores":
            rows = rows.with_metadata(None)
            found = overlap(rows, loads(dumps(model, fitted_on=fit_rows)))
        else:
            found = overlap(rows, fit_rows)
        rule = decide(rows.labels, calibrated_scores(model, rows), accuracy=0.9, overlap=found)
        promises = rule.guarantee is not None
        yield {
            "rows said": 0.0 if found is None else found.n_used / n,
            "a promise": promises,
            "it is missed (up to 10 %)": promises and fails(rule, calibrated_scores(model, many), truth),
        }


@dataclass(frozen=True, eq=False)
class Truth:
    """Scores on a fine grid (or the only scores there are), their shares and the chance of the event."""

    score: np.ndarray
    share: np.ndarray
    chance: np.ndarray
    continuous: bool = True

    def draw(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return n scores and outcomes."""
        reach = self.share.cumsum()
        at = np.searchsorted(reach, generator.random(n) * reach[-1], side="right")
        half = 0.5 / len(self.score) if self.continuous else 0.0
        scores = self.score[at] + generator.uniform(-half, half, n)
        return scores, generator.random(n) < self.chance[at]

    def in_bins(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of rows and the true probability of each bin."""
        if self.continuous:  # a score of the grid is drawn evenly between its borders
            borders = np.append(self.score - 0.5 / len(self.score), 1.0)
            shares, chances = (
                np.diff(np.interp([0.0, *edges, 1.0], borders, np.append(0.0, np.cumsum(each))))
                for each in (self.share, self.share * self.chance)
            )
            return shares, np.divide(chances, shares, out=np.full(len(shares), np.nan), where=shares > 0)
        place = np.searchsorted(edges, self.score, side="right")
        shares = np.bincount(place, self.share, len(edges) + 1)
        chances = np.bincount(place, self.share * self.chance, len(edges) + 1)
        return shares, np.divide(chances, shares, out=np.full(len(shares), np.nan), where=shares > 0)


def smooth(chance: Callable[[np.ndarray], np.ndarray]) -> Truth:
    grid = (np.arange(20_000) + 0.5) / 20_000
    return Truth(grid, np.full(len(grid), 1.0 / len(grid)), chance(grid))


def tied(generator: np.random.Generator, values: int, chance: Callable[[np.ndarray], np.ndarray]) -> Truth:
    places = np.arange(1, values + 1)
    shares = generator.dirichlet(np.ones(values))
    return Truth(places / (values + 1), shares, chance(places), continuous=False)


TIES = np.random.default_rng(0)
TRUTHS = {
    "calibrated": smooth(lambda s: s),
    "1/2 everywhere": smooth(lambda s: np.full_like(s, 0.5)),
    "0.9 to 1": smooth(lambda s: 0.9 + 0.1 * s),
    "0 or 1, 1,000 times each": smooth(lambda s: np.floor(2000 * s) % 2),
    "0.1, above 1/2 0.9": smooth(lambda s: np.where(s < 0.5, 0.1, 0.9)),
    "20 values, 0.1 and 0.9 in turn": tied(TIES, 20, lambda place: 0.1 + 0.8 * (place % 2)),
    "300 values, 0 and 1 in turn": tied(TIES, 300, lambda place: place % 2 * 1.0),
    "300 values, all 1/2": tied(TIES, 300, lambda place: np.full(len(place), 0.5)),
}


def against(truth: Truth, model: MulticlassToBinary, card: GuaranteeCard, problem: int) -> np.ndarray:
    """Return whether intervals, and eps_2, miss in a problem; rows beyond eps_1, and the mean error."""
    own = card.bins.problem == problem
    shares, chance = truth.in_bins(model.calibrators_[problem].edges_)
    gap, met = np.abs(card.bins.value[own] - chance), shares > 0
    outside = (chance < card.bins.lower[own] - 1e-9) | (chance > card.bins.upper[own] + 1e-9)
    beyond = shares[met][gap[met] > card.marginal[problem]].sum() / shares.sum()
    error = shares[met] @ gap[met] / shares.sum()
    return np.array([outside[met].any(), (gap > card.conditional[problem])[met].any(), beyond, error])


STATEMENTS = (
    "intervals miss (up to 10 %)",
    "eps_2 fails (up to 10 %)",
    "beyond eps_1 (up to 10 %)",
    "error / bound",
)


@Table(
    ("truth", "k", "n"),
    [(name, *size) for name in TRUTHS for size in ((10, 500), (20, 400), (50, 500), (50, 5_000))],
    {"error / bound": ".2f", "reach / eps_2": ".2f"},
)
def cards(name: str, k: int, n: int) -> Draws:
    truth, generator = TRUTHS[name], np.random.default_rng(0)
    while True:
        scores, outcomes = truth.draw(n, generator)
        proba = np.column_stack([1.0 - scores, scores])
        rows = Predictions(proba, cluster=np.arange(n))  # equal scores with equal outcomes are no copies here
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), notion="class-wise")
        card = guarantee_card(model.fit(rows, outcomes.astype(int)), ALPHA)
        *rates, error = against(truth, model, card, 1)
        found = dict(zip(STATEMENTS, [*rates, error / card.expected_ece[1]], strict=True))
        yield found | {"reach / eps_2": card.reach[1] / card.conditional[1]}


SHARES = {
    "even": lambda n: np.full(n, 1.0 / n),
    "1 to 1,000": lambda n: np.geomspace(1.0, 1_000.0, n) / np.geomspace(1.0, 1_000.0, n).sum(),
}
SMOOTH = [name for name, truth in TRUTHS.items() if truth.continuous]

#: Truths, shares of the classes, classes, k, rows.
ERRORS = [
    *((name, "even", 1, k, n) for name in SMOOTH for k, n in ((10, 100), (50, 1_000), (100, 1_000))),
    *((name, "even", 10, 50, 5_000) for name in SMOOTH),
    *(("in turn", "even", 10, k, n) for k, n in ((20, 2_000), (50, 2_000), (100, 5_000))),
    *(("in turn", "1 to 1,000", classes, 50, 5_000) for classes in (10, 30, 100)),
    ("0 or 1, 1,000 times each", "1 to 1,000", 30, 20, 3_000),
    ("in turn", "even", 100, 50, 10_000),
]


def quantile(values: np.ndarray) -> str:
    return f"{np.quantile(values, 0.9):.3f}"


@Table(
    ("truth", "shares", "classes", "k", "n"),
    ERRORS,
    {"TL-ECE, 90 %": quantile, "bound": ".3f", "eps_2": ".3f", "few rows": ".3f", "its bound": ".3f"},
)
def errors(name: str, shares: str, n_classes: int, k: int, n: int) -> Draws:
    names = SMOOTH if name == "in turn" else [name]
    truths = [TRUTHS[names[code % len(names)]] for code in range(n_classes)]
    share, generator = SHARES[shares](n_classes), np.random.default_rng(0)
    classes, notion = max(n_classes, 2), "confidence" if n_classes == 1 else "top-label"
    while True:
        label = generator.choice(n_classes, n, p=share)
        scores, outcomes = np.empty(n), np.empty(n, dtype=bool)
        for code, truth in enumerate(truths):
            rows = np.flatnonzero(label == code)
            scores[rows], outcomes[rows] = truth.draw(len(rows), generator)
        rows = TopLabelPrediction(label, scores, class_names=[str(code) for code in range(classes)])
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), notion=notion)
        card = guarantee_card(model.fit(rows, np.where(outcomes, label, (label + 1) % classes)), ALPHA)
        covered = np.flatnonzero(card.errors.of)
        each = [true_error(truths[code], model.calibrators_[code]) for code in covered.tolist()]
        error, few = float(share[covered] @ each), max(1.0 - share[covered].sum(), 0.0)
        yield {
            "bound is missed (up to 10 %)": error > card.error_bound,
            "share of few is missed (up to 10 %)": few > card.uncovered_bound + 1e-12,
            "TL-ECE, 90 %": error,
            "bound": card.error_bound,
            "eps_2": card.worst_conditional,
            "few rows": few,
            "its bound": card.uncovered_bound,
        }


def true_error(truth: Truth, fitted: HistogramBinning) -> float:
    """Return the mean distance of a binned calibrator's values from the truth."""
    shares, chance = truth.in_bins(fitted.edges_)
    return float(np.nansum(shares * np.abs(fitted.values_ - chance)) / shares.sum())


@Table(
    ("classes", "k", "n"),
    [(classes, *size) for classes in (3, 20) for size in ((20, 1_000), (50, 5_000))],
    {"CW-ECE, 90 %": quantile, "bound": ".3f", "eps_2": ".3f"},
    name="class_wise",
)
def class_wise_errors(n_classes: int, k: int, n: int) -> Draws:
    """Yield whether the mean over classes, or the first class, misses its bound; scores are independent."""
    truths = [TRUTHS[SMOOTH[code % len(SMOOTH)]] for code in range(n_classes)]
    generator = np.random.default_rng(0)
    while True:
        drawn = [truth.draw(n, generator) for truth in truths]
        scores, happened = (np.column_stack(columns) for columns in zip(*drawn, strict=True))
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), notion="class-wise")
        card = guarantee_card(model.fit(MultilabelPrediction(scores), happened), ALPHA)
        error = np.array([true_error(*each) for each in zip(truths, model.calibrators_, strict=True)])
        yield {
            "bound is missed (up to 10 %)": error.mean() > card.error_bound,
            "first class misses its own (up to 10 %)": error[0] > card.errors.each[0],
            "CW-ECE, 90 %": error.mean(),
            "bound": card.error_bound,
            "eps_2": card.worst_conditional,
        }


def hostile_truth(generator: np.random.Generator, n_bins: int) -> Truth:
    """Return chances 0 and 1 in pieces, by confidences that may crowd; steps lie near expected edges."""
    grid = (np.arange(2_000) + 0.5) / 2_000
    kind = generator.integers(4)
    pieces = int(generator.integers(1, 4 * n_bins + 2))
    steps = np.sort(generator.random(pieces))
    if kind == 1:  # at the expected edges, and beside them
        steps = np.arange(1, n_bins + 1) / n_bins + generator.normal(0.0, 0.3 / n_bins, n_bins)
    chance = generator.permutation(np.arange(len(steps) + 1) % 2)[np.searchsorted(np.sort(steps), grid)]
    if kind == 2:  # a spike
        chance = 1.0 * (np.abs(grid - generator.random()) < 0.2 * generator.random())
    if kind == 3:
        chance = generator.random(len(steps) + 1)[np.searchsorted(steps, grid)]
    crowd = generator.choice([0.0, 2.0, 20.0]) * grid
    share = np.exp(crowd) / np.exp(crowd).sum()
    return Truth(grid, share, chance * 1.0)


#: Draws of rows from each hostile population.
FITS = 100


def highest_rate(values: np.ndarray) -> str:
    return f"{100 * values.max():.0f} %"


@Table(
    ("k", "bins"),
    list(product((2, 5, 20), (1, 2, 4, 11))),
    {f"worst of {FITS} fits, {level:.0%} allowed": highest_rate for level in (0.1, 0.5)}
    | {"error / bound, largest": lambda values: f"{values.max():.2f}"},
)
def hostile(k: int, n_bins: int) -> Draws:
    generator = np.random.default_rng(0)
    while True:
        truth, missed, ratio = hostile_truth(generator, n_bins), np.zeros(2), 0.0
        for _ in range(FITS):
            scores, outcomes = truth.draw(k * n_bins + int(generator.integers(k)), generator)
            fitted = HistogramBinning(points_per_bin=k).fit(scores, outcomes)
            rows = ConfidencePrediction(scores, outcomes, cluster=np.arange(len(scores)))
            model = as_multiclass(fitted, rows)
            error = true_error(truth, fitted)
            bounds = [guarantee_card(model, alpha).error_bound for alpha in (0.1, 0.5)]
            missed += [error > bound for bound in bounds]
            ratio = max(ratio, error / bounds[0])
        rates = dict(zip((0.1, 0.5), missed / FITS, strict=True))
        yield {f"worst of {FITS} fits, {level:.0%} allowed": rate for level, rate in rates.items()} | {
            "missed, 10 % allowed": rates[0.1],
            "error / bound, largest": ratio,
        }


#: By name, the share of each class and group, and which truths they have in turn.
CELLS: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
    "2 classes, 3 groups, even": (np.full((2, 3), 1 / 6), (0, 1, 4)),
    "3 classes, 4 groups, 10 to 1": (np.outer([0.5, 0.3, 0.2], [10, 5, 2, 1]) / 18, (0, 3, 1, 2, 4)),
    "2 classes, 2 groups, all 1/2": (np.full((2, 2), 1 / 4), (1,)),
    "2 classes, 2 groups, ties": (np.array([[0.4, 0.3], [0.2, 0.1]]), (5, 6, 7)),
}


@Table(
    ("classes and groups", "k", "n"),
    [(cells, *size) for cells in CELLS for size in ((20, 1_000), (50, 4_000))],
    {"covered": ".0%", "error / bound": ".2f"},
)
def groups(cells: str, k: int, n: int) -> Draws:
    shares, kinds = CELLS[cells]
    n_classes, every = len(shares), [*TRUTHS.values()]
    # As in `NotionShape`: the problem of (group, class) is group * L + class.
    truth_of = [every[kinds[cell % len(kinds)]] for cell in range(shares.size)]
    share_of, generator = shares.T.ravel(), np.random.default_rng(0)
    names = tuple(str(code) for code in range(n_classes))
    while True:
        cell = generator.choice(share_of.size, n, p=share_of)
        scores, outcomes = np.empty(n), np.empty(n, dtype=bool)
        for problem, truth in enumerate(truth_of):
            rows = np.flatnonzero(cell == problem)
            scores[rows], outcomes[rows] = truth.draw(len(rows), generator)
        label = cell % n_classes
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), by=("class", "group"))
        top = TopLabelPrediction(label, scores, class_names=names, cluster=np.arange(n))
        model.fit(top, np.where(outcomes, label, (label + 1) % n_classes), groups=cell // n_classes)
        card = guarantee_card(model, ALPHA)
        covered = np.flatnonzero(np.isfinite(card.marginal))
        weight = share_of[covered]
        missed, eps_2, beyond, error = np.array(
            [against(truth_of[problem], model, card, problem) for problem in covered.tolist()]
        ).T
        bound = weight @ card.expected_ece[covered]
        rates = (missed.any(), eps_2.any(), weight @ beyond / weight.sum(), weight @ error / bound)
        found = {"covered": len(covered) / share_of.size}
        found |= {"bound of the error is missed (up to 10 %)": weight @ error > card.error_bound}
        yield found | dict(zip(STATEMENTS, rates, strict=True))


if __name__ == "__main__":
    main()
