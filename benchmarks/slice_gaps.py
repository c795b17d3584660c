"""How often the gaps between groups hold the truth, all at once: ``python -m benchmarks.slice_gaps``.

Scores, groups and weights stay fixed, labels are drawn anew from the known truth. Groups are of uneven sizes,
the largest ten times the smallest; one of them, or every second, is overconfident.
Prints a Markdown table; ``--draws`` sets the draws of each row (default 400).
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.populations import Population, draw_labels, overconfident, scores
from calib.answers.gaps import slice_gaps


def population(
    n_samples: int, n_groups: int, off: str, size: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, truth and the group of each row."""
    generator = np.random.default_rng(n_groups)
    proba, shares = scores(2, n_samples, 5), np.geomspace(10.0, 1.0, n_groups)
    group = generator.choice(n_groups, n_samples, p=shares / shares.sum())
    wrong = {"none": group < 0, "one": group == n_groups // 2, "every second": group % 2 == 1}[off]
    truth = np.where(wrong[:, None], overconfident(proba, size), proba)
    return proba, truth, group


def true_gaps(
    proba: np.ndarray, truth: np.ndarray, group: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Return the true differences of bias and of error of each group from all other rows, (G, 2)."""
    top = proba.argmax(axis=1)
    rows = np.arange(len(top))
    residual = truth[rows, top] - proba[rows, top]
    found = []
    for one in np.unique(group):
        sides = []
        for mask in (group == one, group != one):
            of_rows = None if weights is None else weights[mask]
            cells = Population("", proba[mask], truth[mask], "top-label", "uniform", 15, of_rows)
            sides.append((np.average(residual[mask], weights=of_rows), cells.error(1)))
        found.append(np.subtract(*sides))
    return np.array(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    heads = ("all biases held", "all errors held", "wrong direction", "bias found", "error found", "width")
    print("| n | groups | off | weights | " + " | ".join(heads) + " |")
    print("| --: | --: | :-- | :-- |" + " --: |" * len(heads))
    for n_samples in (600, 5_000):
        for n_groups in (3, 20):
            for off, size in (("none", 0.0), ("one", 1.0), ("every second", 0.5)):
                for weighted in (False, True) if n_groups == 3 else (False,):
                    _row(n_samples, n_groups, off, size, weighted, draws)


def _row(n_samples: int, n_groups: int, off: str, size: float, weighted: bool, draws: int) -> None:
    proba, truth, group = population(n_samples, n_groups, off, size)
    generator, weights = np.random.default_rng(0), None
    if weighted:
        weights = np.exp(np.random.default_rng(7).normal(size=n_samples))
    true = true_gaps(proba, truth, group, weights)
    held, wrong, found, widths = [], [], [], []
    for _ in range(draws):
        gaps = slice_gaps(draw_labels(truth, generator), proba, group, sample_weight=weights)
        low = np.column_stack([gaps.bias_lower, gaps.error_lower])
        high = np.column_stack([gaps.bias_upper, gaps.error_upper])
        held.append(((low <= true) & (true <= high)).all(axis=0))
        wrong.append((((low > 0) & (true <= 0)) | ((high < 0) & (true >= 0))).any())
        found.append(((low > 0) | (high < 0)).mean(axis=0))
        widths.append((high - low)[:, 0].mean())
    shares = [*np.mean(held, axis=0), np.mean(wrong), *np.mean(found, axis=0)]
    start = f"| {n_samples:,} | {n_groups} | {off} | {'lognormal' if weighted else 'none'} | "
    print(
        start + " | ".join(f"{100 * share:.1f} %" for share in shares) + f" | {np.mean(widths):.3f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
