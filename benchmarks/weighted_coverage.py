"""How often intervals, differences and tests hold where rows have weights.

``python -m benchmarks.weighted_coverage``: scores and weights stay fixed, labels are drawn anew from the
known truth. Prints a Markdown table; ``--draws`` sets the draws of labels for each row (default 400).

Weights are known before the labels: those of a sample of unequal chances ("lognormal"), of a class that
counts nine times ("one class"), of the score ("by score"), or few large ones among small ones ("1 in 50").
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.populations import Population, at_error, draw_labels, one_class, overconfident, scores
from calib.stats.binless import calibration_test
from calib.stats.differences import paired_difference
from calib.stats.floors import noise_floor
from calib.stats.intervals import error_interval, measure_interval


def kinds_of_weights(proba: np.ndarray) -> dict[str, np.ndarray]:
    """Return weights of the rows by the name of their kind."""
    generator, n_samples = np.random.default_rng(7), len(proba)
    return {
        "lognormal": np.exp(generator.normal(size=n_samples)),
        "one class": np.where(proba.argmax(axis=1) == 0, 9.0, 1.0),
        "by score": 0.05 + (1.0 - proba.max(axis=1)) ** 2,
        "1 in 50": np.where(generator.random(n_samples) < 0.02, 30.0, 1.0),
    }


def shares(population: Population, draws: int) -> dict[str, float]:
    """Return how often each statement holds, over draws of the labels."""
    generator, weights = np.random.default_rng(0), population.weights
    held: dict[str, list[bool]] = {}
    proba, truth = population.proba, population.truth
    flat = overconfident(proba, 0.2)
    other = Population("", flat, truth, population.notion, "uniform", 15, weights)
    apart = population.error(2) ** 2 - other.error(2) ** 2
    chance = truth[np.arange(len(truth)), proba.argmax(axis=1)]
    accuracy = float(chance @ weights / weights.sum())
    gaps = _gaps(population)
    for _ in range(draws):
        labels = draw_labels(truth, generator)
        options = {"notion": population.notion, "sample_weight": weights}
        for norm in (1, 2):
            ends = error_interval(labels, proba, norm=norm, **options)
            held.setdefault(f"l{norm}", []).append(ends.lower <= population.error(norm) <= ends.upper)
        both = paired_difference(labels, proba, flat, **options)
        held.setdefault("difference", []).append(both.lower <= apart <= both.upper)
        low, high = measure_interval(labels, proba, "accuracy", sample_weight=weights)
        held.setdefault("accuracy", []).append(low <= accuracy <= high)
        if population.notion == "top-label":
            low, high = measure_interval(labels, proba, "tl_mce_cell", sample_weight=weights)
            held.setdefault("MCE", []).append(low <= gaps.max() <= high)
        floor = noise_floor(labels, proba, n_resamples=99, random_state=generator, **options)
        held.setdefault("floor", []).append(floor.p_value > 0.05)
        if population.notion != "class-wise":
            test = calibration_test(labels, proba, n_resamples=99, random_state=generator, **options)
            held.setdefault("Kuiper", []).append(test.p_value > 0.05)
    return {name: float(np.mean(values)) for name, values in held.items()}


def _gaps(population: Population) -> np.ndarray:
    problems, cells = population.problems, population.cells
    event = population.proba.argmax(axis=1)[problems.rows]
    chance = population.truth[problems.rows, event] * problems.weights
    return np.abs(np.add.reduceat(chance, cells.start) / cells.weight - cells.mean_score)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    heads = ("l1", "l2", "difference", "accuracy", "MCE", "floor", "Kuiper")
    print("| weights | truth | n | notion | truth / floor | " + " | ".join(heads) + " |")
    print("| :-- | :-- | --: | :-- | --: |" + " --: |" * len(heads))
    for n_samples in (1_000, 5_000):
        proba = scores(1, n_samples, 10)
        for name, weights in kinds_of_weights(proba).items():
            cases = [
                ("calibrated", overconfident, 0.0, "top-label"),
                ("all", overconfident, 1.0, "top-label"),
            ]
            cases += [("one class", one_class, 1.0, "top-label"), ("all", overconfident, 1.0, "confidence")]
            cases += [("all", overconfident, 1.0, "class-wise")] if n_samples < 5_000 else []
            for truth, pattern, floors, notion in cases:
                population = at_error(truth, proba, pattern, floors, notion, weights=weights)
                found = shares(population, draws)
                cells = (f"{100 * found[head]:.1f} %" if head in found else "" for head in heads)
                start = f"| {name} | {truth} | {n_samples:,} | {notion} | {floors:g} | "
                print(start + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
