"""How good choices among calibrators are: `calib.recommend`, and the methods marked as best.

``python -m benchmarks.choosing``: calibration rows are drawn anew from populations whose truth is known, and
the choice is assessed on 20,000 fresh rows by its expected Brier score and log loss. Prints two Markdown
tables. ``--draws`` sets the draws of calibration rows for each row of the table (default 40).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.populations import biased, draw_labels, one_class, overconfident, scores
from calib.answers.advice import recommend
from calib.answers.calibrated import calibrated_scores
from calib.calibrators.completed_rows import completed, normalised
from calib.data.predictions import TopLabelPrediction
from calib.stats.many import best_set

Truth = Callable[[np.ndarray], np.ndarray]

#: Rows on which a choice is assessed.
FRESH_ROWS = 20_000

#: Populations: name, and true probabilities behind the scores.
TRUTHS: dict[str, Truth] = {
    "calibrated": lambda proba: proba,
    "overconfident": lambda proba: overconfident(proba, 0.4),
    "every second class too low": lambda proba: biased(proba, 0.3),
    "class 0 is wrong": lambda proba: one_class(proba, 0.4),
}


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


def recommendations(draws: int) -> Iterator[str]:
    """Yield a Markdown table: how often "none", and how often and by how much worse than the base."""
    yield (
        "| population | L | n | none | most often | worse than base, Brier | worse than base, log loss | "
        "mean change in Brier | in log loss |"
    )
    yield "| :-- | --: | --: | --: | :-- | --: | --: | --: | --: |"
    for name, truth_of in TRUTHS.items():
        for n_classes, n_samples in ((3, 300), (5, 1_000)):
            fresh = scores(99, FRESH_ROWS, n_classes)
            truth = truth_of(fresh)
            base = np.array(expected_losses(fresh, truth))
            names, changes = Counter(), np.empty((draws, 2))
            for draw in range(draws):
                proba = scores(1_000 + draw, n_samples, n_classes)
                labels = draw_labels(truth_of(proba), np.random.default_rng(draw))
                advice = recommend(proba, labels)
                names[advice.name] += 1
                changes[draw] = expected_losses(vectors_of(advice.calibrator, fresh), truth) - base
            worse = (changes > 1e-9).mean(axis=0)
            (most, _), mean = names.most_common(1)[0], changes.mean(axis=0)
            yield (
                f"| {name} | {n_classes} | {n_samples:,} | {100 * names['none'] / draws:.0f} % | {most} | "
                f"{100 * worse[0]:.0f} % | {100 * worse[1]:.0f} % | {mean[0]:+.5f} | {mean[1]:+.5f} |"
            )


def best_sets(draws: int) -> Iterator[str]:
    """Yield a Markdown table: how often the method with the lowest expected score is in the best set."""
    yield "| rows | methods | score | draws | best one in the set | mean size of the set |"
    yield "| --: | --: | :-- | --: | --: | --: |"
    generator = np.random.default_rng(0)
    for n_samples in (200, 2_000):
        for count in (5, 20):
            proba = scores(5, FRESH_ROWS, 5)
            powers = 1.0 + 0.05 * np.arange(count)
            announced = [normalised(proba**power) for power in powers]  # the first is the truth
            for column, score in enumerate(("Brier score", "log loss")):
                expected = [expected_losses(one, proba)[column] for one in announced]
                inside, sizes = 0, 0
                for _ in range(10 * draws):
                    rows = generator.integers(FRESH_ROWS, size=n_samples)
                    labels = draw_labels(proba[rows], generator)
                    at_label = np.array([one[rows, labels] for one in announced])
                    losses = -np.log(at_label)
                    if column == 0:
                        squares = np.array([(one[rows] ** 2).sum(axis=1) for one in announced])
                        losses = squares - 2.0 * at_label + 1.0
                    in_set = best_set(losses)
                    inside += in_set[int(np.argmin(expected))]
                    sizes += in_set.sum()
                share, size = f"{10 * inside / draws:.1f} %", f"{sizes / (10 * draws):.1f}"
                yield f"| {n_samples:,} | {count} | {score} | {10 * draws} | {share} | {size} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=40)
    draws = parser.parse_args().draws
    for table in (best_sets, recommendations):
        for line in table(draws):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
