"""How often accepted predictions are right less often than `calib.decide` promised.

    python -m benchmarks.decision_guarantee --draws 1000

Populations are simulated and their truth is known: confidence c is right with probability `right(c)`, so that
the risk above a threshold is an average over a large fixed sample of confidences. A draw misses if the true
accuracy of what its rule accepts, of any predicted class where each has its threshold, is below the target.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib import TopLabelPrediction, decide


@dataclass(frozen=True)
class Setting:
    """A population, a number of rows and a target; `right` gives the chance of a confidence of each class."""

    n: int
    accuracy: float
    by: Literal["class"] | None
    right: Callable[[np.ndarray, np.ndarray], np.ndarray]
    n_classes: int = 5
    digits: int = 15


def _calibrated(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    return confidence


def _overconfident(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    return confidence - 0.6 * (confidence - 0.5) * (1 - confidence) - 0.02


def _constant(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return an accuracy a little below the target everywhere: whatever is accepted is a miss."""
    return np.full(len(confidence), 0.895)


def _one_bad_class(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    return np.where(label == 0, 0.85 * confidence, confidence)


def _bumpy(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Right too rarely near the top: risk does not fall with confidence."""
    return np.where(confidence > 0.97, 0.88, confidence)


SETTINGS = {
    "calibrated": Setting(2_000, 0.95, None, _calibrated),
    "overconfident": Setting(2_000, 0.95, None, _overconfident),
    "just below the target everywhere": Setting(1_000, 0.9, None, _constant),
    "just below the target, per class": Setting(3_000, 0.9, "class", _constant),
    "one bad class": Setting(5_000, 0.95, "class", _one_bad_class),
    "wrong at the top": Setting(3_000, 0.9, None, _bumpy),
    "ten distinct values": Setting(2_000, 0.9, None, _overconfident, digits=1),
}


def _confidences(setting: Setting, n: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    confidence = np.round(0.5 + 0.5 * random.beta(4.0, 1.0, n), setting.digits)
    return random.integers(0, setting.n_classes, n), confidence


def misses(setting: Setting, draws: int, alpha: float = 0.1) -> int:
    """Return the number of draws whose rule accepts what is right less often than it promises."""
    random = np.random.default_rng(0)
    label, confidence = _confidences(setting, 50_000, random)
    truth = setting.right(label, confidence)
    missed = 0
    for _ in range(draws):
        predicted, told = _confidences(setting, setting.n, random)
        right = random.random(setting.n) < setting.right(predicted, told)
        y = np.where(right, predicted, (predicted + 1) % setting.n_classes)
        rule = decide(
            y, TopLabelPrediction(predicted, told), accuracy=setting.accuracy, by=setting.by, alpha=alpha
        )
        accepted = rule.accept(TopLabelPrediction(label, confidence))
        groups = label if setting.by else np.zeros_like(label)
        sums = np.bincount(groups[accepted], truth[accepted] - setting.accuracy, minlength=setting.n_classes)
        counts = np.maximum(np.bincount(groups[accepted], minlength=setting.n_classes), 1)
        missed += bool((sums / counts < -1e-3).any())  # what 50,000 rows tell of the truth
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=300)
    draws = parser.parse_args().draws
    print(f"Misses of {draws} draws, alpha 10 %\n")
    print("| population | n | accuracy | thresholds | missed |\n| --- | --- | --- | --- | --- |")
    for name, setting in SETTINGS.items():
        share = misses(setting, draws) / draws
        scope = "per class" if setting.by else "one"
        print(f"| {name} | {setting.n:,} | {setting.accuracy} | {scope} | {share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
