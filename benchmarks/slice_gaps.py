"""How often the gaps between groups hold the truth, all at once.

``python -m benchmarks.slice_gaps``: scores, groups and weights stay fixed, labels are drawn anew from the
known truth. Groups are of uneven sizes, the largest ten times the smallest; one of them, or every second,
is overconfident.
"""

from __future__ import annotations

import numpy as np

from benchmarks.populations import Population, draw_labels, overconfident, scores
from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import slice_gaps

#: By how much the groups that are off are overconfident.
SIZES = {"none": 0.0, "one": 1.0, "every second": 0.5}


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


def held(n: int, n_groups: int, off: str, kind: str) -> Draws:
    """Yield whether all intervals hold, a wrong direction is said, what is found, and the mean width."""
    proba, truth, group = population(n, n_groups, off, SIZES[off])
    weights = np.exp(np.random.default_rng(7).normal(size=n)) if kind == "lognormal" else None
    true, generator = true_gaps(proba, truth, group, weights), np.random.default_rng(0)
    while True:
        gaps = slice_gaps(draw_labels(truth, generator), proba, group, sample_weight=weights)
        low = np.column_stack([gaps.bias_lower, gaps.error_lower])
        high = np.column_stack([gaps.bias_upper, gaps.error_upper])
        biases, errors = ((low <= true) & (true <= high)).all(axis=0)
        bias, error = ((low > 0) | (high < 0)).mean(axis=0)
        yield {
            "biases": biases,
            "errors": errors,
            "wrong": (((low > 0) & (true <= 0)) | ((high < 0) & (true >= 0))).any(),
            "bias": bias,
            "error": error,
            "width": (high - low)[:, 0].mean(),
        }


TABLES = [
    Table(
        ("n", "groups", "off", "weights"),
        [
            (n, n_groups, off, kind)
            for n in (600, 5_000)
            for n_groups in (3, 20)
            for off in SIZES
            for kind in (("none", "lognormal") if n_groups == 3 else ("none",))
        ],
        held,
        {
            "all biases held (95 %)": ("biases", rate),
            "all errors held (95 %)": ("errors", rate),
            "wrong direction (up to 5 %)": ("wrong", rate),
            "bias found": ("bias", rate),
            "error found": ("error", rate),
            "width": ("width", mean(".3f")),
        },
    )
]

if __name__ == "__main__":
    main(400)
