"""What is said when data change: label-shift correction, and a monitor.

shift: a model of three classes is calibrated on 5,000 rows and predicts 2,000 rows whose classes have other
shares. Means of CW-ECE (15 bins, 20,000 rows: a calibrated model shows about 0.008), log loss, and the
error of the estimated shares (total variation), without and with each correction.

shares: the 95 % intervals of the shares of all classes at once, if each class is normal around a point, and
how often a correction is made, and worsens the log loss of 1,000 further rows.

alarms, delays: scores of five classes; labels are drawn from the scores, or after a change from a flatter
truth. A look is a block of 50 rows, or a week of 200. Beside it stands a test for a fixed sample, of
whether the mean of right minus confidence is 0, at the same level.

steps: `calib.over_time` on rows of three classes over 120 days.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, product
from typing import Any

import numpy as np
from scipy.special import ndtr, softmax

import calib
from benchmarks.populations import draw_labels, one_class, overconfident, scores
from benchmarks.simulation import Draws, Table, main
from calib.stats.bets import BLOCK, MOST_OF_UPDATE

#: Shares of the classes among the calibration rows, and where the rows of each class are in the plane.
SOURCE = np.array([0.7, 0.2, 0.1])
CENTRES = np.array([[0.0, 0.0], [1.8, 0.0], [0.9, 1.6]])

Rows = tuple[np.ndarray, np.ndarray]


def drawn(random: np.random.Generator, n: int, shares: np.ndarray, centres: np.ndarray = CENTRES) -> Rows:
    """Return places (n, 2) and classes (n,): normal rows around the centre of each class."""
    y = random.choice(len(shares), n, p=shares)
    return centres[y] + random.normal(size=(n, 2)), y


def posterior(x: np.ndarray, power: float = 1.0) -> np.ndarray:
    """Return P(Y | x) among the calibration rows, (n, 3), raised to a power: above 1 is overconfident."""
    return softmax(power * (np.log(SOURCE) - ((x[:, None, :] - CENTRES) ** 2).sum(axis=2) / 2), axis=1)


def covariate_shift(random: np.random.Generator, n: int) -> Rows:
    """Move the rows and keep P(Y | x): no correction is needed, and the assumption fails."""
    x = np.array([1.4, 0.8]) + random.normal(size=(n, 2))
    return x, (posterior(x).cumsum(axis=1) < random.random((n, 1))).sum(axis=1)


#: "label shift" turns the shares around, so that the assumption holds; the last one also moves a class.
SCENARIOS: dict[str, Callable[[np.random.Generator, int], Rows]] = {
    "same mix": lambda random, n: drawn(random, n, SOURCE),
    "label shift": lambda random, n: drawn(random, n, SOURCE[::-1]),
    "covariate shift": covariate_shift,
    "label shift, and a class moved": lambda random, n: drawn(
        random, n, SOURCE[::-1], CENTRES + np.array([[0, 0], [0, 0], [0.6, -1.0]])
    ),
}
CALIBRATORS: dict[str, Callable[[], Any]] = {
    "none, overconfident": lambda: None,
    "TS": calib.TemperatureScaling,
    "DS": calib.DirichletScaling,
    "N-HB": lambda: calib.MulticlassToBinary(calib.HistogramBinning(), notion="class-wise", normalize=True),
}
CORRECTIONS: tuple[Any, ...] = ("none", "em", "bbse")
FORMATS = {"CW-ECE": ".4f", "log loss": ".4f", "shares off by": ".3f"}


@Table(
    ("new rows", "calibrator"),
    [*product(SCENARIOS, CALIBRATORS)],
    {f"{what}, {name}": form for what, form in FORMATS.items() for name in CORRECTIONS},
)
def shift(scenario: str, calibrator: str) -> Draws:
    for seed in count():
        random = np.random.default_rng(seed)
        x, y = drawn(random, 5_000, SOURCE)
        new, _ = SCENARIOS[scenario](random, 2_000)
        x_test, y_test = SCENARIOS[scenario](random, 20_000)
        calibration, new, test = (posterior(at, 1.5) for at in (x, new, x_test))
        if (made := CALIBRATORS[calibrator]()) is not None:
            fitted = made.fit(calibration, y)
            calibration, new, test = (fitted.predict_proba(base) for base in (calibration, new, test))
        shares = np.bincount(y_test, minlength=3) / len(y_test)
        found: dict[str, list[float]] = {name: [] for name in FORMATS}
        for name in CORRECTIONS:
            corrected, estimate = test, SOURCE
            if name != "none":
                adapted = calib.LabelShiftCorrection(method=name).fit(calibration, y).adapt(new)
                corrected, estimate = adapted.correct(test), adapted.target
            found["CW-ECE"].append(calib.ece(y_test, corrected, notion="class-wise"))
            found["log loss"].append(calib.log_loss(y_test, corrected))
            found["shares off by"].append(0.5 * float(np.abs(estimate - shares).sum()))
        yield {
            f"{what}, {name}": value
            for what, values in found.items()
            for name, value in zip(CORRECTIONS, values, strict=True)
        }


#: Shares of classes that are half as common each as the one before.
FEWER = 0.5 ** np.arange(1.0, 11.0) / (1.0 - 0.5**10)


@Table(
    ("method", "calibration shares", "new shares", "labelled rows", "new rows"),
    [
        (method, *setting)
        for method in ("em", "bbse")
        for setting in (
            ("0.5, 0.5", "same", 1_000, 30),
            ("0.5, 0.5", "0.8, 0.2", 1_000, 100),
            ("0.95, 0.05", "same", 1_000, 30),
            ("ten of 0.1", "same", 1_000, 100),
            ("ten of 0.1", "each half of the one before", 1_000, 100),
        )
    ],
    {"mean width": ".3f"},
    times=lambda *setting: 4,
)
def shares(method: Any, before: str, now: str, n: int, m: int) -> Draws:
    known = {"ten of 0.1": np.full(10, 0.1), "each half of the one before": FEWER}
    source, target = (
        known[name] if name in known else np.array([float(share) for share in name.split(",")])
        for name in (before, before if now == "same" else now)
    )
    centres, random = 2.0 * np.eye(len(source)), np.random.default_rng(0)

    def rows(of: np.ndarray, count: int) -> Rows:
        y = random.choice(len(of), count, p=of)
        x = centres[y] + random.normal(size=(count, len(of)))
        return softmax(x @ centres.T + np.log(source), axis=1), y

    while True:
        try:
            fitted = calib.LabelShiftCorrection(method=method).fit(*rows(source, n))
            found = fitted.adapt(rows(target, m)[0])
        except calib.InputError:  # no row is predicted as a rare class
            continue
        test, labels = rows(target, 1_000)
        worse = calib.log_loss(labels, found.correct(test)) > calib.log_loss(labels, test) + 1e-12
        yield {
            "all shares held (95 %)": bool(((found.lower <= target) & (target <= found.upper)).all()),
            "mean width": (found.upper - found.lower).mean(),
            "corrected": found.is_shift,
            "made worse": worse,
        }


#: Rows of a week, weeks before a change and in all, and the two-sided limit of the fixed-sample test.
WEEK, BEFORE, WEEKS, LIMIT = 200, 13, 26, 1.96
CHANGES = {"all classes": overconfident, "one class": one_class}


@Table(
    ("looks", "rows a look", "notion"),
    [(26, WEEK, "top-label"), (26, WEEK, "confidence"), (10_000, BLOCK, "confidence")],
    times=lambda looks, rows, notion: 1.0 if looks < 1_000 else 0.2,
)
def alarms(looks: int, rows: int, notion: str) -> Draws:
    """Yield whether a stream without a change ever raises an alarm, and the fixed test ever rejects."""
    generator, proba = np.random.default_rng(0), scores(1, 20_000, 5)
    # An update of many rows looks after each of its blocks.
    update = BLOCK * MOST_OF_UPDATE if rows == BLOCK else rows
    while True:
        monitor, right, said = calib.Monitor(notion=notion), [], []
        for _ in range(looks * rows // update):
            chosen = proba[generator.integers(len(proba), size=update)]
            labels = draw_labels(chosen, generator)
            monitor.update(labels, chosen)
            right.append(chosen.argmax(axis=1) == labels)
            said.append(chosen.max(axis=1))
        confidence = np.concatenate(said)
        variance = np.cumsum(confidence * (1.0 - confidence))[rows - 1 :: rows]
        gap = np.cumsum(np.concatenate(right) - confidence)[rows - 1 :: rows]
        rejects = bool((np.abs(gap) > LIMIT * np.sqrt(variance)).any())
        yield {"ever an alarm (5 %)": monitor.alarm, "a fixed-sample test at every look": rejects}


@Table(
    ("changed", "size"),
    [
        ("all classes", 0.25),
        ("all classes", 0.5),
        ("all classes", 1.0),
        ("one class", 0.3),
        ("one class", 0.6),
    ],
    {
        "right minus confidence": "+.3f",
        "weeks until the alarm": ".1f",
        "weeks of a fixed-sample test that knows the change": ".1f",
    },
    times=lambda *setting: 0.5,
)
def delays(change: str, size: float) -> Draws:
    """Yield the weeks of changed rows until the alarm, and what the fixed test takes if it knows the week."""
    generator, proba = np.random.default_rng(0), scores(1, 20_000, 5)
    truth, top = CHANGES[change](proba, size), proba.argmax(axis=1)
    off = (truth - proba)[np.arange(len(top)), top].mean()
    while True:
        monitor, weeks, gap, variance, fixed = calib.Monitor(), WEEKS - BEFORE, 0.0, 0.0, WEEKS - BEFORE
        for week in range(WEEKS):
            chosen = generator.integers(len(proba), size=WEEK)
            labels = draw_labels((proba if week < BEFORE else truth)[chosen], generator)
            monitor.update(labels, proba[chosen], np.full(WEEK, week))
            if week >= BEFORE:
                confidence = proba[chosen].max(axis=1)
                gap += ((top[chosen] == labels) - confidence).sum()
                variance += (confidence * (1.0 - confidence)).sum()
                if abs(gap) > LIMIT * np.sqrt(variance):
                    fixed = min(fixed, week - BEFORE + 1)
            if monitor.alarm:
                weeks = week - BEFORE + 1
                break
        yield {
            "right minus confidence": off,
            "alarm before the change (5 %)": weeks < 1,
            "weeks until the alarm": max(weeks, 0),
            "within two weeks": weeks <= 2,
            "weeks of a fixed-sample test that knows the change": fixed,
            "dated within a week": abs((monitor.since if monitor.alarm else WEEKS) - BEFORE) <= 1,
        }


@Table(
    ("before", "later", "rows"),
    [
        ("calibrated", "the same", 2_000),
        ("0.1 too high", "the same", 2_000),
        ("scores without meaning", "the same", 2_000),
        ("40 patients, one day each", "the same", 2_000),
        ("200 patients, days at random", "the same", 2_000),
        ("calibrated", "0.05 too high from day 72 on", 2_000),
        ("calibrated", "0.05 too high from day 72 on", 10_000),
        ("calibrated", "0.1 too high from day 72 on", 2_000),
        ("calibrated", "0.14 too high from day 72 on", 2_000),
        ("0.1 too high", "0.2 too high from day 72 on", 2_000),
        ("calibrated", "a trend to 0.14 too high", 2_000),
        ("200 patients, days at random", "0.14 too high from day 72 on", 2_000),
    ],
)
def steps(before: str, later: str, rows: int) -> Draws:
    """Yield the verdict over time, and how often the interval misses the change between both sides."""
    off = 0.1 if before.startswith("0.1") else 0.0
    for seed in count():
        random = np.random.default_rng(seed)
        day, cluster, latent = random.integers(0, 120, rows), None, random.standard_normal(rows)
        if "patients" in before:
            n_patients = int(before.split()[0])
            cluster = random.permutation(np.arange(rows) % n_patients)
            day = 3 * cluster if "one day" in before else day
            latent = np.sqrt(0.3) * random.standard_normal(n_patients)[cluster] + np.sqrt(0.7) * latent
        score, label = random.uniform(0.4, 1.0, rows), random.integers(0, 3, rows)
        chance = np.full(rows, 0.5) if "without" in before else score - off
        if later != "the same":
            size = float(later.removeprefix("a trend to ").split()[0]) - off
            chance = chance - size * (day / 120 if later.startswith("a trend") else day >= 72)
        right = ndtr(latent) < chance
        given = calib.TopLabelPrediction(label, score, np.where(right, label, (label + 1) % 3))
        found = calib.over_time(given, time=day, cluster=cluster)
        since = day >= found.split.time
        true = (chance - score)[since].mean() - (chance - score)[~since].mean()
        yield {
            "changed (5 %)": found.verdict == "changed",
            "wrong from the start": found.verdict == "wrong from the start",
            "no change": found.verdict == "no change",
            "dated within 6 days": found.since is not None and abs(found.since - 72) <= 6,
            "a class changed (5 %)": any(split.changed for split in found.classes),
            "interval misses (5 %)": not found.split.lower <= true <= found.split.upper,
        }


if __name__ == "__main__":
    main()
