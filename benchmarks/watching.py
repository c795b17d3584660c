"""How often a monitor raises a false alarm, and how long it takes after a change.

``python -m benchmarks.watching``: scores of five classes; labels are drawn from the scores, or after a change
from a flatter truth. A look is a block of 50 rows, or a week of 200. Beside it stands a test for a fixed
sample, of whether the mean of right minus confidence is 0, at the same level.
"""

from __future__ import annotations

import numpy as np

from benchmarks.populations import draw_labels, one_class, overconfident, scores
from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import Monitor
from calib.stats.arrivals import BLOCK, MOST_OF_UPDATE

#: Rows of a week, weeks before a change and in all, and the two-sided limit of the fixed-sample test.
WEEK, BEFORE, WEEKS, LIMIT = 200, 13, 26, 1.96

#: What becomes of the truth.
CHANGES = {"all classes": overconfident, "one class": one_class}


def false_alarms(looks: int, rows: int, notion: str) -> Draws:
    """Yield whether a stream without a change ever raises an alarm, and the fixed test ever rejects."""
    generator, proba = np.random.default_rng(0), scores(1, 20_000, 5)
    # An update of many rows looks after each of its blocks.
    of_update = BLOCK * MOST_OF_UPDATE if rows == BLOCK else rows
    while True:
        monitor, right, says = Monitor(notion=notion), [], []
        for _ in range(looks * rows // of_update):
            chosen = proba[generator.integers(len(proba), size=of_update)]
            labels = draw_labels(chosen, generator)
            monitor.update(labels, chosen)
            right.append(chosen.argmax(axis=1) == labels)
            says.append(chosen.max(axis=1))
        confidence = np.concatenate(says)
        variance = np.cumsum(confidence * (1.0 - confidence))[rows - 1 :: rows]
        gap = np.cumsum(np.concatenate(right) - confidence)[rows - 1 :: rows]
        yield {"alarm": monitor.alarm, "fixed": bool((np.abs(gap) > LIMIT * np.sqrt(variance)).any())}


def delays(change: str, size: float) -> Draws:
    """Yield the weeks of changed rows until the alarm, and what the fixed test takes if it knows the week."""
    generator, proba = np.random.default_rng(0), scores(1, 20_000, 5)
    truth = CHANGES[change](proba, size)
    top = proba.argmax(axis=1)
    off = (truth - proba)[np.arange(len(top)), top].mean()
    while True:
        monitor, weeks, gap, variance, fixed = Monitor(), WEEKS - BEFORE, 0.0, 0.0, WEEKS - BEFORE
        for week in range(WEEKS):
            chosen = generator.integers(len(proba), size=WEEK)
            labels = draw_labels((proba if week < BEFORE else truth)[chosen], generator)
            monitor.update(labels, proba[chosen], np.full(WEEK, week))
            if week >= BEFORE:
                says = proba[chosen].max(axis=1)
                gap += ((top[chosen] == labels) - says).sum()
                variance += (says * (1.0 - says)).sum()
                if abs(gap) > LIMIT * np.sqrt(variance):
                    fixed = min(fixed, week - BEFORE + 1)
            if monitor.alarm:
                weeks = week - BEFORE + 1
                break
        yield {
            "gap": off,
            "early": weeks < 1,
            "weeks": max(weeks, 0),
            "within": weeks <= 2,
            "fixed": fixed,
            "away": abs((monitor.since if monitor.alarm else WEEKS) - BEFORE) <= 1,
        }


TABLES = [
    Table(
        ("looks", "rows a look", "notion"),
        [(26, WEEK, "top-label"), (26, WEEK, "confidence"), (10_000, BLOCK, "confidence")],
        false_alarms,
        {"ever an alarm (5 %)": ("alarm", rate), "a fixed-sample test at every look": ("fixed", rate)},
        times=lambda looks, rows, notion: 1.0 if looks < 1_000 else 0.2,
    ),
    Table(
        ("changed", "size"),
        [
            ("all classes", 0.25),
            ("all classes", 0.5),
            ("all classes", 1.0),
            ("one class", 0.3),
            ("one class", 0.6),
        ],
        delays,
        {
            "right minus confidence": ("gap", mean("+.3f")),
            "alarm before the change (5 %)": ("early", rate),
            "weeks until the alarm": ("weeks", mean(".1f")),
            "within two weeks": ("within", rate),
            "weeks of a fixed-sample test that knows the change": ("fixed", mean(".1f")),
            "dated within a week": ("away", rate),
        },
        times=lambda change, size: 0.5,
    ),
]


if __name__ == "__main__":
    main(200)
