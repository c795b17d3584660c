"""How often tests without bins reject a calibrated model at 5 %, and intervals of slope and intercept miss.

``python -m benchmarks.binless_sizes``: scores and outcomes are drawn anew. Prints Markdown tables: p-values
by redraws of the outcomes and of the limits for many rows; the line in log-odds of weighted rows; the kernel
test of whole vectors, also of models that are not calibrated (its power). ``--draws`` sets the draws for each
row (default 1,000), four times as many for 100 rows, half as many for the kernel test. ``--weighted`` prints
the table of weighted rows alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks.populations import draw_labels
from calib.data.predictions import TopLabelPrediction
from calib.stats.binless import Test, calibration_slope, calibration_test

#: Confidences of one class: even, sure, rare, and of five values.
SCORES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "even": lambda generator, n: generator.random(n),
    "sure": lambda generator, n: 1.0 - generator.beta(0.3, 6.0, n),
    "rare": lambda generator, n: generator.beta(1.0, 60.0, n),
    "five values": lambda generator, n: generator.integers(1, 6, n) / 6.0,
}
#: Weights of rows, given their confidence.
WEIGHTS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "exponential": lambda generator, scores: generator.exponential(size=len(scores)),
    "1, and 10 of every tenth": lambda generator, scores: np.where(
        generator.random(len(scores)) < 0.1, 10, 1
    ),
    "growing with the score": lambda generator, scores: 0.1 + scores,
}
BINARY: tuple[Test, ...] = ("kuiper", "ks", "spiegelhalter")


def binary_rates(name: str, n: int, draws: int, n_resamples: int) -> dict[str, float]:
    """Return the share of p-values of at most 5 % for each test, and of intervals that miss 1 and 0."""
    generator = np.random.default_rng([list(SCORES).index(name), n])
    rates = dict.fromkeys([*BINARY, "slope", "intercept", "both"], 0.0)
    for draw in range(draws):
        scores = SCORES[name](generator, n)
        labels = np.where(generator.random(n) < scores, 0, 1)
        top = TopLabelPrediction(np.zeros(n, dtype=int), scores)
        for test in BINARY:
            found = calibration_test(labels, top, test=test, n_resamples=n_resamples, random_state=draw)
            rates[test] += found.p_value <= 0.05
        line = calibration_slope(labels, top)
        rates["slope"] += not line.slope_lower <= 1.0 <= line.slope_upper
        rates["intercept"] += not line.intercept_lower <= 0.0 <= line.intercept_upper
        rates["both"] += line.p_value <= 0.05
    return {name: rate / draws for name, rate in rates.items()}


def weighted_rates(name: str, weights: str, n: int, draws: int) -> np.ndarray:
    """Return how often intervals of weighted rows miss slope 1, 0, and 0 in the large, and p is up to 5 %."""
    generator, missed = np.random.default_rng([list(SCORES).index(name), n]), np.zeros(4)
    for _ in range(draws):
        scores = SCORES[name](generator, n)
        labels = np.where(generator.random(n) < scores, 0, 1)
        top = TopLabelPrediction(np.zeros(n, dtype=int), scores)
        line = calibration_slope(labels, top, sample_weight=WEIGHTS[weights](generator, scores))
        missed += [
            not line.slope_lower <= 1.0 <= line.slope_upper,
            not line.intercept_lower <= 0.0 <= line.intercept_upper,
            not line.in_the_large_lower <= 0.0 <= line.in_the_large_upper,
            line.p_value <= 0.05,
        ]
    return missed / draws


def print_weighted(draws: int) -> None:
    """Print the table of weighted rows."""
    print(
        "| scores | weights | n | slope | intercept | in the large | both |\n"
        + "| :-- " * 2
        + "| --: " * 5
        + "|"
    )
    for n in (100, 1_000):
        for name in SCORES:
            for weights in WEIGHTS:
                rates = weighted_rates(name, weights, n, draws)
                printed = " | ".join(f"{100 * rate:.1f} %" for rate in rates)
                print(f"| {name} | {weights} | {n:,} | {printed} |", flush=True)


def kernel_rate(n: int, n_classes: int, exponent: float, draws: int, n_resamples: int = 199) -> float:
    """Return the share of p-values up to 5 % where the truth is the scores to a power (1: calibrated)."""
    generator, rejected = np.random.default_rng(0), 0
    for draw in range(draws):
        logits = generator.normal(0.0, 1.5, (n, n_classes))
        proba, truth = (np.exp(power * logits) for power in (1.0, exponent))
        proba, truth = (vectors / vectors.sum(axis=1, keepdims=True) for vectors in (proba, truth))
        found = calibration_test(
            draw_labels(truth, generator), proba, test="skce", n_resamples=n_resamples, random_state=draw
        )
        rejected += found.p_value <= 0.05
    return rejected / draws


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--weighted", action="store_true")
    options = parser.parse_args()
    draws = options.draws
    if options.weighted:
        return print_weighted(draws)
    heads = ("Kuiper", "KS", "Spiegelhalter", "slope", "intercept", "both")
    print("| scores | n | p-values | draws | " + " | ".join(heads) + " |")
    print("| :-- | --: | :-- | --: |" + " --: |" * len(heads))
    for n, times in ((100, 4), (1_000, 1), (5_000, 1)):
        for name in SCORES:
            for n_resamples, of in ((199, "redraws"), (0, "limit")):
                rates = binary_rates(name, n, times * draws, n_resamples)
                printed = " | ".join(f"{100 * rate:.1f} %" for rate in rates.values())
                print(f"| {name} | {n:,} | {of} | {times * draws:,} | {printed} |", flush=True)
    print()
    print_weighted(draws)
    print("\n| n | L | truth | kernel test rejects |\n| --: | --: | :-- | --: |")
    for n, n_classes in ((150, 3), (300, 10), (2_000, 10)):
        for exponent, truth in ((1.0, "the scores"), (0.7, "their power 0.7")):
            rate = kernel_rate(n, n_classes, exponent, max(draws // 2, 1))
            print(f"| {n:,} | {n_classes} | {truth} | {100 * rate:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
