"""How often what is said about gaps is wrong: the conclusion on Overview, and the gaps of groups.

conclusion: a draw is wrong if a calibrated model is called off, if the interval of a range does not hold its
true mean gap, or if a range or class of a tenth of the rows is off by more than `at_most`. Wrongly named
classes are counted as a share of the classes named.

slices: random groups of a calibrated model and of one that is overconfident everywhere, or one group that
is more overconfident by 10 points; rows are independent, or of 40 clusters with a correlation of 0.2.

pointed: columns that `calib metrics` compares unasked, of 12 groups each. All are random, or rows of one
group are more overconfident. Patients are a column of 60 values, with a correlation of 0.3, whose name says
nothing; then each patient has one value of the random columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.populations import correlated
from benchmarks.simulation import Draws, Table, main
from calib import ConfidencePrediction, TopLabelPrediction, conclude
from calib import slices as assess
from calib.answers.slice_tables import further_groups
from calib.evidence.rows import Rows

#: Rounding of a mean of chances that is an end of its interval.
ROUNDING = 1e-12


def true_gap(inside: np.ndarray, away: np.ndarray, weight: np.ndarray) -> float:
    """Return the mean of scores minus chances over a mask of rows."""
    return float(np.average(away[inside], weights=weight[inside]))


#: Models of the conclusion, and by how much the score of each class is above the truth.
OFF: dict[str, Callable[[int], np.ndarray]] = {
    "calibrated": lambda n_classes: np.zeros(n_classes),
    "3 points too sure": lambda n_classes: np.full(n_classes, 0.03),
    "one class 15 points too sure": lambda n_classes: np.where(np.arange(n_classes) == 0, 0.15, 0.0),
    "half too sure, half too modest, 6 points": lambda n_classes: np.where(
        np.arange(n_classes) < n_classes // 2, 0.06, -0.06
    ),
}


@Table(
    ("model", "n", "L", "rows"),
    [
        (model, 5_000 if n_classes == 100 else 2_000, n_classes, rows)
        for n_classes in (2, 10, 100)
        for model in OFF
        for rows in ("independent", "40 clusters", "lognormal weights")[: 3 if n_classes == 10 else 1]
    ],
    {"at most, points": ".1f"},
    times=lambda model, n, n_classes, rows: 0.5 if rows == "40 clusters" else 1.0,
)
def conclusion(model: str, n: int, n_classes: int, rows: str) -> Draws:
    generator = np.random.default_rng(n_classes)
    cluster = np.arange(n) % 40 if rows == "40 clusters" else None
    off, weighted = OFF[model](n_classes), rows == "lognormal weights"
    while True:
        weight = generator.lognormal(size=n) if weighted else np.ones(n)
        score, label = np.round(generator.uniform(0.505, 0.995, n), 2), generator.integers(0, n_classes, n)
        chance = np.clip(score - off[label], 0.0, 1.0)
        drawn = generator.random(n)
        if cluster is not None:
            drawn = correlated(0.1, generator.normal(size=40)[cluster], generator.normal(size=n))
        y = np.where(drawn < chance, label, (label + 1) % n_classes)
        given = TopLabelPrediction(
            label, score, y, cluster=cluster, sample_weight=weight if weighted else None
        )
        said = conclude(given, n_resamples=200, random_state=int(generator.integers(2**31)))
        true = [true_gap(label == code, score - chance, weight) for code in range(n_classes)]
        away, guilty = np.abs(true) > 0.005, list(said.guilty)
        ranges = [
            (gap, true_gap((score >= gap.lower) & (score < gap.upper), score - chance, weight))
            for gap in said.pooled
        ]
        widest = [true_gap(score >= edge, score - chance, weight) for edge in np.arange(14) / 15]
        widest += true if n_classes < 10 else []
        tests = [floor.p_value <= 0.05 for floor in said.tests.floors.values()]
        tests += [each.p_value <= 0.05 for each in said.tests.without_bins]
        tests.append(said.tests.without_bins.slope.p_value <= 0.05)
        yield {
            "off (5 % of calibrated)": said.rejected,
            "a range is stated": bool(said.pooled),
            "a class is stated": bool(guilty),
            "a range misses (up to 5 %)": any(
                not gap.least - ROUNDING <= gap_size <= gap.most + ROUNDING for gap, gap_size in ranges
            ),
            "guilty that are not (FDR 5 %)": float(np.mean(~away[guilty])) if guilty else 0.0,
            "guilty that are found": float(away[guilty].sum() / away.sum()) if away.any() else None,
            "at most is too small (up to 5 %)": 100.0 * max(map(abs, widest)) > said.at_most + ROUNDING,
            "at most, points": said.at_most,
            "a single test rejects, the sentence does not": any(tests) and not said.rejected,
        }


#: Cluster of each row, and group of each row, from the row numbers of a cluster or of the file.
DEPENDENCE = ("independent", "clusters across groups", "clusters inside groups")


@Table(
    ("model", "n", "groups", "off", "rows"),
    [
        (model, 2_000, n_groups, off, rows)
        for model in ("calibrated", "15 points off")
        for n_groups, off in ((4, "none"), (40, "none"), (4, "one"))
        for rows in (DEPENDENCE if n_groups == 4 else DEPENDENCE[:1])
    ],
    {"width": ".3f"},
)
def slices(model: str, n: int, n_groups: int, off: str, rows: str) -> Draws:
    generator = np.random.default_rng(n_groups)
    number, n_clusters = np.arange(n), 40
    cluster = None if rows == "independent" else number % n_clusters
    group = (cluster if rows == "clusters inside groups" else generator.integers(0, n_groups, n)) % n_groups
    while True:
        score, label = generator.uniform(0.5, 1.0, n), generator.integers(0, 4, n)
        chance = (
            score
            - (0.15 if model != "calibrated" else 0.0)
            - np.where((group == 0) & (off == "one"), 0.1, 0.0)
        )
        drawn = generator.random(n)
        if cluster is not None:
            common = generator.normal(size=n_clusters)[cluster]
            drawn = correlated(0.2, common, generator.normal(size=n))
        top = TopLabelPrediction(label, score)
        truth = np.where(drawn < chance, label, (label + 1) % 4)
        table = assess(
            truth, top, group.astype(str), cluster=cluster, n_resamples=200, random_state=generator
        )
        gap = [np.mean((chance - score)[group == code]) for code in range(n_groups)]
        rest = [np.mean((chance - score)[group != code]) for code in range(n_groups)]
        true = np.subtract(gap, rest)[table.group.astype(int)]
        missed = (true < table.lower - ROUNDING) | (true > table.upper + ROUNDING)
        wrong = (np.abs(true) > 0.05) & table.differs
        yield {
            "any differs, of groups alike (5 %)": table.differs.any() if off == "none" else None,
            "share of wrong intervals of those that differ (5 %)": (missed & table.differs).sum()
            / max(table.differs.sum(), 1),
            "found": wrong.any() if off != "none" else None,
            "above noise by itself": table.above_noise.mean(),
            "width": (table.upper - table.lower).mean(),
        }


@Table(
    ("model", "n", "columns", "off", "rows"),
    [
        *(("calibrated", 6_000, n, 0.0, rows) for n in (1, 10) for rows in ("independent", "patients")),
        *(("calibrated", 6_000, *off, "independent") for off in ((1, 0.1), (10, 0.1), (10, 0.15))),
        ("15 points off", 6_000, 1, 0.0, "independent"),
        ("15 points off", 6_000, 1, 0.0, "patients"),
        ("15 points off", 6_000, 10, 0.0, "independent"),
    ],
)
def pointed(model: str, n: int, n_columns: int, off: float, rows: str) -> Draws:
    generator = np.random.default_rng(n_columns)
    while True:
        patient = generator.integers(0, 60, n)
        number = patient if rows == "patients" else np.arange(n)
        groups = {f"column {at}": generator.integers(0, 12, n)[number] for at in range(n_columns)}
        score, drawn = generator.uniform(0.5, 1.0, n), generator.random(n)
        if rows == "patients":
            drawn = correlated(0.3, generator.normal(size=60)[patient], generator.normal(size=n))
        chance = score - (0.0 if model == "calibrated" else 0.15) - off * (groups["column 0"] == 0)
        table = pd.DataFrame({name: [f"G{code}" for code in codes] for name, codes in groups.items()})
        table["code"] = [f"C{code}" for code in patient] if rows == "patients" else np.arange(n)
        found = further_groups(Rows(ConfidencePrediction(score, drawn < chance, metadata=table)))
        assert found is not None
        differs = found.differs & (found.column != "code")
        right = (found.column == "column 0") & (found.group == "G0") & (off > 0.0)
        yield {
            "a random column is named (5 %)": bool(differs.any()) if off == 0.0 else None,
            "the group is found": bool((differs & right).any()) if off > 0.0 else None,
        }


if __name__ == "__main__":
    main()
