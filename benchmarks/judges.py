"""How often `calib.judge` and `calib.coarsen` hold what they say.

rates: true rates, agreement, kappa, AC1 and promises of `judge`.

A row's truth is "pass" at a given rate. The judge states a confidence c and is right with the chance `RIGHT`:
"honest" judges with c, others lie about it. Rows, truths, verdicts and the choice of labelled rows are drawn
anew in each draw. In "by verdict" each "fail" is five times as likely to be labelled, in "by confidence" each
row below 0.8 is, and `judge` is told; "two stages" labels half of the rows at random and the others by
`next_rows`. In clusters of ten rows, truths and the judge's mistakes are correlated; single rows are
labelled, or whole clusters. "labels saved" compares the interval with the Jeffreys interval of the labels
alone: 1 minus the squared ratio of their widths, the median of all draws.

kappas: agreement, kappa and AC1 of several equally common classes. A person who disagrees with the verdict
names any other class.

levels: promises of `coarsen` for 12 species in 4 genera and 2 families. A draw misses if the true accuracy
of the answers at any level is below the target. Scores are the true probabilities, sharpened
("overconfident"), or wrong between two species of a genus, or between two genera. Clusters are ten rows with
the same probabilities and outcomes that are correlated.

peers: the true rate of "pass" by calib and by other libraries that are installed, on the same files, labelled
at random. They are given the verdicts; calib also has the confidence. Of judgy's bootstrap 2,000 draws are
taken, to save time. Shown are files that a library refuses, and its intervals for all others.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import ndtr, softmax

from benchmarks.simulation import Draws, Table, main
from calib import coarsen, judge
from calib.stats.intervals import jeffreys_limits

N_ROWS, CLUSTER, PROMISED = 3_000, 10, 0.85
#: Rows that the truth is taken from.
MANY = 400_000
#: Chance to be right, by confidence and whether the truth is "pass".
RIGHT: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "honest": lambda c, passes: c,
    "always 80 % right": lambda c, passes: np.full(len(c), 0.8),
    "surest when wrong": lambda c, passes: 1.45 - 0.75 * c,
    "lenient": lambda c, passes: np.where(passes, 0.98, 0.4),
    "nearly perfect": lambda c, passes: np.full(len(c), 0.98),
}
SETTINGS = [
    *(("honest", rate, m, "at random") for rate in (0.5, 0.8, 0.95, 0.99) for m in (30, 100, 500)),
    *(("always 80 % right", 0.9, m, "at random") for m in (30, 100)),
    *(("surest when wrong", rate, 100, "at random") for rate in (0.5, 0.9)),
    *(("lenient", rate, m, "at random") for rate in (0.7, 0.95) for m in (30, 100, 300)),
    *(("nearly perfect", 0.95, m, "at random") for m in (30, 100)),
    *(("honest", 0.9, m, "by verdict") for m in (50, 300)),
    *(("honest", 0.9, m, "by confidence") for m in (50, 300)),
    *(("surest when wrong", 0.8, m, "by confidence") for m in (50, 300)),
    *(("lenient", 0.9, m, "two stages") for m in (60, 300)),
    *(("honest", 0.8, m, "single rows of clusters") for m in (50, 300)),
    *(("lenient", 0.9, m, "whole clusters") for m in (100, 500)),
]


def drawn(
    random: np.random.Generator, judge_is: str, rate: float, n: int, clustered: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw truths, verdicts (1 for "pass") and confidences."""

    def uniform() -> np.ndarray:
        if not clustered:
            return random.random(n)
        common = np.repeat(random.standard_normal(n // CLUSTER), CLUSTER)
        return ndtr(np.sqrt(0.4) * common + np.sqrt(0.6) * random.standard_normal(n))

    passes = uniform() < rate
    confidence = np.round(0.5 + 0.5 * random.beta(3.0, 1.0, n), 2)
    right = uniform() < RIGHT[judge_is](confidence, passes)
    return passes, passes == right, confidence


def labelled(
    random: np.random.Generator, how: str, m: int, verdict: np.ndarray, confidence: np.ndarray
) -> np.ndarray:
    """Draw m rows to be labelled."""
    n = len(verdict)
    if how == "whole clusters":
        first = CLUSTER * random.choice(n // CLUSTER, m // CLUSTER, replace=False)
        return np.ravel(first[:, None] + np.arange(CLUSTER))
    chance = np.ones(n)
    if how == "by verdict":
        chance[~verdict] = 5.0
    elif how == "by confidence":
        chance[confidence < 0.8] = 5.0
    return random.choice(n, m, replace=False, p=chance / chance.sum())


def _truth(passes: np.ndarray, verdict: np.ndarray) -> dict[str, float]:
    agreement = np.mean(passes == verdict)
    p, q = np.mean(passes), np.mean(verdict)
    kappa = p * q + (1 - p) * (1 - q)
    ac1 = (p + q) * (1 - (p + q) / 2)
    return {
        "agreement": float(agreement),
        "kappa": float((agreement - kappa) / (1 - kappa)),
        "ac1": float((agreement - ac1) / (1 - ac1)),
    }


@Table(
    ("judge", "rate", "labels", "labelled"),
    SETTINGS,
    {"width": ".3f", "labels saved": lambda values: f"{100 * (1 - 1 / np.median(values)):.0f} %"},
    doubtful=("rate held (95 %)", 0.95),
)
def rates(judge_is: str, rate: float, m: int, how: str) -> Draws:
    random = np.random.default_rng(_seed(judge_is, rate, m, how))
    all_passes, all_verdicts, all_confidences = drawn(random, judge_is, rate, MANY, False)
    true = _truth(all_passes, all_verdicts)
    clustered = how in ("single rows of clusters", "whole clusters")
    cluster = np.arange(N_ROWS) // CLUSTER if clustered else None
    while True:
        passes, verdict, confidence = drawn(random, judge_is, rate, N_ROWS, clustered)
        words, truth = np.where(verdict, "pass", "fail"), np.where(passes, "pass", "fail").astype(object)
        first = m // 2 if how == "two stages" else m
        human = np.full(N_ROWS, None, dtype=object)
        at = labelled(random, how, first, verdict, confidence)
        human[at] = truth[at]
        chosen: Any = how.removeprefix("by ") if how.startswith("by ") else None
        found = judge(words, human, confidence, cluster=cluster, chosen_by=chosen)
        if how == "two stages":
            at = found.next_rows(m - first, random_state=int(random.integers(2**31))).rows
            human[at] = truth[at]
            found = judge(words, human, confidence, cluster=cluster)
        table = found.frame().set_index("verdict")
        low, high = table.lower["pass"], table.upper["pass"]
        shown: dict[str, Any] = {
            "rate held (95 %)": low <= rate <= high,
            "too high": low > rate,
            "too low": high < rate,
            "width": high - low,
        }
        alone = human[human != None]  # noqa: E711
        ends = jeffreys_limits(np.array([(alone == "pass").sum()]), np.array([len(alone)]), 0.05)
        shown["labels saved"] = ((ends[1] - ends[0])[0] / (high - low)) ** 2 if how == "at random" else None
        for name in ("agreement", "kappa", "ac1"):
            number = getattr(found, name)
            shown[f"{name} held (95 %)"] = number.lower <= true[name] <= number.upper
        shown["promise missed (10 %)"] = False
        for name, least in found.passing(PROMISED).thresholds.items():
            accepted = (all_verdicts == (name == "pass")) & (all_confidences >= least)
            shown["promise missed (10 %)"] |= (all_passes == all_verdicts)[accepted].mean() < PROMISED
        yield shown


@Table(
    ("classes", "labels", "true agreement"),
    [(*size, agreement) for size in ((3, 30), (5, 30), (8, 40), (8, 100)) for agreement in (0.8, 0.95)],
    {"width of kappa": ".3f"},
    times=lambda *setting: 2,
)
def kappas(n_classes: int, m: int, agreement: float) -> Draws:
    random = np.random.default_rng(_seed("kappas", n_classes, m, agreement))
    by_chance = 1.0 / n_classes  # of kappa and of AC1
    kappa = (agreement - by_chance) / (1.0 - by_chance)
    while True:
        verdict = random.integers(0, n_classes, 1_000)
        other = (verdict + random.integers(1, n_classes, 1_000)) % n_classes
        human = np.where(random.random(1_000) < agreement, verdict, other)
        found = judge(verdict, np.where(np.arange(1_000) < m, human.astype(float), np.nan))
        true = {"agreement": agreement, "kappa": kappa, "ac1": kappa}
        numbers = {name: getattr(found, name) for name in true}
        held = {name: number.lower <= true[name] <= number.upper for name, number in numbers.items()}
        shown = {f"{name} held (95 %)": is_held for name, is_held in held.items()}
        yield shown | {"width of kappa": found.kappa.upper - found.kappa.lower}


SPECIES = np.arange(12)
TREE = {"species": SPECIES.astype(str), "genus": SPECIES // 3, "family": SPECIES // 6}


def _species(random: np.random.Generator, n: int) -> np.ndarray:
    """Draw true probabilities that are unsure within a genus, and less so within a family."""
    truth = random.integers(0, 12, n)[:, None]
    logits = random.standard_normal((n, 12)) + 1.5 * (truth == SPECIES) * random.exponential(2.0, (n, 1))
    logits += random.exponential(3.0, (n, 1)) * (truth // 3 == SPECIES // 3)
    logits += random.exponential(4.0, (n, 1)) * (truth // 6 == SPECIES // 6)
    return softmax(logits, axis=1)


def _captioned(proba: np.ndarray, scores: str) -> np.ndarray:
    """Return what the model says of true probabilities."""
    if scores == "overconfident":
        proba = proba**2
    elif scores == "wrong in a genus":
        proba = proba.copy()
        proba[:, :2] = proba[:, 1::-1]
    elif scores == "wrong between genera":
        proba = proba[:, np.r_[3:6, :3, 6:12]]
    return proba / proba.sum(axis=1, keepdims=True)


LEVELS = [
    (scores, n, accuracy, clusters)
    for scores in ("true", "overconfident", "wrong in a genus", "wrong between genera")
    for n, accuracy, clusters in (
        *((400, 0.9, "none"), (2_000, 0.9, "none"), (2_000, 0.95, "none"), (2_000, 0.9, "of 10 rows")),
    )
]


@Table(("scores", "n", "accuracy", "clusters"), LEVELS, {"at species": ".3f", "at all": ".3f"})
def levels(scores: str, n: int, accuracy: float, clusters: str) -> Draws:
    random = np.random.default_rng(_seed(scores, n, accuracy, clusters))
    many = _species(random, 40_000)
    said, place = _captioned(many, scores), np.arange(len(many))
    cluster = np.arange(n) // CLUSTER if clusters != "none" else None
    while True:
        proba = _species(random, n)
        uniform = random.random(n)
        if cluster is not None:
            proba = np.repeat(proba[::CLUSTER], CLUSTER, axis=0)
            common = np.repeat(random.standard_normal(n // CLUSTER), CLUSTER)
            uniform = ndtr(np.sqrt(0.4) * common + np.sqrt(0.6) * random.standard_normal(n))
        y = np.minimum((proba.cumsum(axis=1) < uniform[:, None]).sum(axis=1), 11)
        rule = coarsen(y, _captioned(proba, scores), TREE, accuracy=accuracy, cluster=cluster)
        answered = rule.accept(said).level
        shown: dict[str, Any] = {"promise missed (10 %)": False}
        for level, (code, top, _) in enumerate(rule.claims(said)):
            truth = np.stack([many[:, code == k].sum(axis=1) for k in range(code.max() + 1)], axis=1)
            mine = answered == level
            missed = mine.any() and truth[place, top][mine].mean() < accuracy
            shown["promise missed (10 %)"] |= missed
        yield shown | {"at species": (answered == 0).mean(), "at all": (answered >= 0).mean()}


def _calib(said: np.ndarray, human: np.ndarray, confidence: np.ndarray) -> tuple[float, float]:
    words = np.where(said == 1.0, "pass", "fail")
    people = np.where(np.isnan(human), None, np.where(human == 1.0, "pass", "fail"))
    table = judge(words, people, confidence).frame().set_index("verdict")
    return table.lower["pass"], table.upper["pass"]


def _judgy(said: np.ndarray, human: np.ndarray, confidence: np.ndarray) -> tuple[float, float]:
    from judgy import estimate_success_rate

    known = ~np.isnan(human)
    return estimate_success_rate(human[known], said[known], said[~known], bootstrap_iterations=2_000)[1:]


def _glide(said: np.ndarray, human: np.ndarray, confidence: np.ndarray) -> tuple[float, float]:
    from glide.estimators import PPIMeanEstimator

    interval = PPIMeanEstimator().estimate(human, said).confidence_interval
    return interval.lower_bound, interval.upper_bound


def _truescore(name: str) -> Callable[..., tuple[float, float]]:
    def estimate(said: np.ndarray, human: np.ndarray, confidence: np.ndarray) -> tuple[float, float]:
        from truescore import correct

        at = np.flatnonzero(~np.isnan(human))
        found = getattr(correct, name)(said, human[at], at)
        return found.low, found.high

    return estimate


#: Library, and the interval of the true rate that it gives.
PEERS: dict[str, tuple[str, Callable[..., tuple[float, float]]]] = {
    "calib `judge`": ("calib", _calib),
    "GLIDE `PPIMeanEstimator`": ("glide", _glide),
    "truescore `ppi_estimate`": ("truescore", _truescore("ppi_estimate")),
    "truescore `rogan_gladen_estimate`": ("truescore", _truescore("rogan_gladen_estimate")),
    "judgy `estimate_success_rate`": ("judgy", _judgy),
}


def _share(values: np.ndarray) -> str:
    return f"{100 * np.nanmean(values.astype(np.float64)):.1f} %"


@Table(
    ("judge", "rate", "labels", "library"),
    [
        (judge_is, rate, m, name)
        for judge_is, rate, m in (
            *(("honest", 0.8, 100), ("honest", 0.95, 100), ("lenient", 0.7, 30)),
            *(("lenient", 0.95, 100), ("lenient", 0.7, 300)),
        )
        for name, (module, _) in PEERS.items()
        if find_spec(module) is not None
    ],
    {"rate held (95 %)": _share, "width": lambda values: f"{np.nanmean(values.astype(np.float64)):.3f}"},
)
def peers(judge_is: str, rate: float, m: int, library: str) -> Draws:
    random = np.random.default_rng(_seed("peers", judge_is, rate, m))  # the same files for all libraries
    while True:
        passes, verdict, confidence = drawn(random, judge_is, rate, N_ROWS, False)
        human = np.full(N_ROWS, np.nan)
        at = labelled(random, "at random", m, verdict, confidence)
        human[at] = passes[at]
        try:
            low, high = PEERS[library][1](verdict.astype(np.float64), human, confidence)
        except (ValueError, RuntimeError):
            yield {"rate held (95 %)": np.nan, "refused": True, "width": np.nan}
            continue
        yield {"rate held (95 %)": low <= rate <= high, "refused": False, "width": high - low}


def _seed(*setting: Any) -> int:
    return crc32(repr(setting).encode())


if __name__ == "__main__":
    main()
