"""Whether rows are right or wrong together, by more than their scores explain: tests of residuals.

Rows are compared with others of the same predicted class and of about the same score, so that a wrong model
does not look like dependent rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib.data.times import BLOCKS, N_BLOCKS, blocks_of, dates_of, is_time

#: Most quantile grades of the score of a predicted class, and fewest rows of a grade.
MAX_GRADES, ROWS_PER_GRADE = 10, 50

#: Fewest clusters that can show how far their rows depend on each other.
MIN_CLUSTERS = 10

#: Chance that calib wrongly takes rows of equal scores as answers to one question, or a column as clusters.
CHANCE, COLUMN_CHANCE = 1e-4, 1e-3


@dataclass(frozen=True, eq=False)
class Residuals:
    """Outcomes minus their mean among rows of the same predicted class and about the same score."""

    value: np.ndarray  #: (n,) float64 array: residuals
    chance: np.ndarray  #: (n,) float64 array: mean outcome of the stratum
    stratum: np.ndarray  #: (n,) int64 array: class and grade of each row

    @classmethod
    def of(cls, score: np.ndarray, outcome: np.ndarray, predicted: np.ndarray | None = None) -> Residuals:
        n = len(score)
        label = np.zeros(n, dtype=np.int64) if predicted is None else predicted - predicted.min() + 1
        rows = np.bincount(label)
        label = np.where(rows[label] < ROWS_PER_GRADE, 0, label)
        order = np.lexsort((score, label))
        rows = np.bincount(label)
        place = np.arange(n) - np.repeat(np.cumsum(rows) - rows, rows)
        size = rows[label[order]]
        grade = place * np.clip(size // ROWS_PER_GRADE, 1, MAX_GRADES) // size
        stratum = np.empty(n, dtype=np.int64)
        stratum[order] = np.unique(label[order] * MAX_GRADES + grade, return_inverse=True)[1]
        happened = outcome.astype(np.float64)
        chance = _means(happened, stratum)[stratum]
        return cls(happened - chance, chance, stratum)

    def together(self, cluster: np.ndarray) -> float:
        """Return the p-value of "rows of a cluster are no more alike than other rows".

        The statistic is the sum of products of residuals over pairs of rows of a cluster, over its size, so
        that no large cluster decides alone. If clusters mean nothing, its first three moments follow from the
        residuals of each stratum; a gamma distribution with these moments gives the p-value.
        """
        weight = (1.0 / np.sqrt(np.maximum(np.bincount(cluster), 1)))[cluster]
        variance, third = (
            weight**power * _means(self.value**power, self.stratum)[self.stratum] for power in (2, 3)
        )
        spread = sum_of_pairs(variance, cluster)
        if spread <= 0.0:
            return 1.0
        p1, p2, p3 = (np.bincount(cluster, variance**power) for power in (1, 2, 3))
        triples = float((p1**3 - 3.0 * p1 * p2 + 2.0 * p3).sum()) / 6.0
        return _upper_tail(
            self.products(cluster, weight), spread, 6.0 * triples + sum_of_pairs(third, cluster)
        )

    def products(self, cluster: np.ndarray, weight: np.ndarray | float = 1.0) -> float:
        """Return the sum of products of residuals over pairs of rows of a cluster, minus its mean by chance.

        `weight` multiplies each residual, (n,), equal in a cluster. Two of m residuals of a stratum, which
        sum to 0, have the product -variance / (m - 1) on average.
        """
        n_strata = int(self.stratum.max()) + 1
        place, both = pd.factorize(cluster * n_strata + self.stratum)  # in the order of their first rows
        size, first = np.bincount(place), np.flatnonzero(np.diff(np.maximum.accumulate(place), prepend=-1))
        by_chance = _means(self.value**2, self.stratum) / np.maximum(np.bincount(self.stratum) - 1, 1)
        pairs = size * (size - 1) / 2.0 * np.broadcast_to(weight, place.shape)[first] ** 2
        return sum_of_pairs(weight * self.value, cluster) + float(pairs @ by_chance[both % n_strata])

    def effect(self, cluster: np.ndarray) -> float:
        """Return the variance of the sum of the residuals, divided by its variance for independent rows."""
        return 1.0 + 2.0 * self.products(cluster) / max(float(self.value @ self.value), 1e-300)

    def without_trend(self, values: np.ndarray) -> Residuals:
        """Return residuals minus their means in ranges of a number such as an age."""
        codes = pd.factorize(values, sort=True, use_na_sentinel=False)[0]
        n_ranges = min(MAX_GRADES, (int(codes.max()) + 1) // MIN_CLUSTERS)
        among = codes * n_ranges // (int(codes.max()) + 1)
        return replace(self, value=self.value - _means(self.value, among)[among])

    def share_of_stratum(self, cluster: np.ndarray) -> np.ndarray:
        """Return for each row the share of its stratum that is in its cluster, (n,) float64."""
        both = cluster * (int(self.stratum.max()) + 1) + self.stratum
        place, size = np.unique(both, return_inverse=True, return_counts=True)[1:]
        return np.asarray(size[place] / np.bincount(self.stratum)[self.stratum])


@dataclass(frozen=True, eq=False)
class Alike:
    """A column whose rows of equal values are right or wrong together."""

    column: str  #: Name of the column; with "=" and a block, blocks of time
    cluster: np.ndarray  #: (n,) int64: Number of the value of each row
    effect: float  #: Design effect, about: `Residuals.effect`

    @property
    def words(self) -> str:
        """Say which rows belong together."""
        name, _, block = self.column.rpartition("=")
        if not name:
            return f"rows of equal {self.column[:60]!r}"
        return f"rows of the same {block if block in BLOCKS else 'stretch'} of {name[:60]!r}"


def find_alike(
    score: np.ndarray,
    outcome: np.ndarray,
    predicted: np.ndarray | None,
    classes: Sequence[np.ndarray],
    columns: pd.DataFrame,
) -> list[Alike]:
    """Find further columns whose equal values say which rows belong together, the largest effect first.

    It tests all `groupings`; the trend of whole numbers is removed first. `COLUMN_CHANCE` is divided among
    them.
    """
    found: list[Alike] = []
    if not (tried := groupings(columns, classes)):
        return found
    residuals = Residuals.of(score, outcome, predicted)
    for name, codes in tried.items():
        about = residuals
        if name in columns and columns[name].dtype.kind in "iuf":
            about = residuals.without_trend(columns[name].to_numpy())
        if about.together(codes) < COLUMN_CHANCE / len(tried):
            found.append(Alike(name, codes, about.effect(codes)))
    return sorted(found, key=lambda alike: -alike.effect)


def groupings(columns: pd.DataFrame, classes: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return each row's value as a number, (n,) int64, by column, or by column and block of time.

    Columns of texts, whole numbers and times count if they have at least `MIN_CLUSTERS` values, some of them
    repeated, and are no function of one of `classes`.
    """
    return {
        name: codes
        for column, values in columns.items()
        for name, codes in _groupings(str(column), values)
        if MIN_CLUSTERS <= codes.max() + 1 < len(codes)
        and not any(_depends_on(class_, codes) for class_ in classes)
    }


def _groupings(name: str, values: pd.Series) -> Iterator[tuple[str, np.ndarray]]:
    """Return groups of equal values of a column, and blocks of time; each missing value is a group."""
    column = values.mask(values == "") if values.dtype.kind == "O" else values
    codes, distinct = pd.factorize(column)
    whole = values.dtype.kind in "iu"
    if values.dtype.kind == "f":
        whole = bool(np.isfinite(distinct).all() and (np.asarray(distinct) % 1 == 0).all())
    if values.dtype.kind not in "biuf" or (whole and values.dtype.kind != "b"):
        yield name, np.where(codes < 0, len(distinct) + np.arange(len(codes)), codes)
    blocks: Sequence[str] = ()
    if values.dtype.kind in "iuf":
        blocks = [str(N_BLOCKS)] if is_time(name) and not column.isna().any() else []
    elif dates_of(column.dropna()) is not None:
        blocks = list(BLOCKS)
    for block in blocks:
        yield f"{name}={block}", pd.factorize(blocks_of(values, block))[0]


def _depends_on(classes: np.ndarray, codes: np.ndarray) -> bool:
    pairs = len(pd.unique(classes.astype(np.int64) * (int(codes.max()) + 1) + codes))
    return pairs == len(pd.unique(classes))


def questions_of(
    keys: np.ndarray, score: np.ndarray, outcome: np.ndarray, predicted: np.ndarray | None
) -> np.ndarray | None:
    """Return the clusters of rows with equal scores (equal `keys`), (n,) int64; None if they are none.

    They are clusters if each score has about the same number of rows, like answers to one question, and the
    rows are right or wrong together, more than their scores explain. The numbers of rows then vary less than
    by chance; for rounded scores, leaves and bins they do not.
    """
    question = pd.factorize(keys)[0]
    size = np.bincount(question)
    if len(size) < MIN_CLUSTERS or size.mean() < 2.0:
        return None
    if predicted is not None and len(size) == len(np.unique(predicted)):
        return None  # a score for each class says nothing about rows
    from scipy.special import chdtr  # takes a second to import; few rows come to this

    apart = float(np.sum((size - size.mean()) ** 2) / size.mean())
    if chdtr(len(size) - 1, apart) >= CHANCE:
        return None
    residuals = Residuals.of(score, outcome, predicted)
    trend = score - _means(score, residuals.stratum)[residuals.stratum]
    residuals = replace(residuals, value=residuals.value - trend)
    return question if residuals.together(question) < CHANCE else None


def sum_of_pairs(values: np.ndarray, cluster: np.ndarray) -> float:
    sums = np.bincount(cluster, values)
    return float(sums @ sums - values @ values) / 2.0


def _means(values: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    return np.bincount(stratum, values) / np.maximum(np.bincount(stratum), 1)


def _upper_tail(statistic: float, variance: float, third: float) -> float:
    """Return the chance that a gamma distribution with mean 0 and these moments exceeds the statistic."""
    from scipy.special import gammaincc, ndtr  # takes a second to import

    z, skew = statistic / np.sqrt(variance), third / variance**1.5
    if skew < 1e-6:
        return float(ndtr(-z))
    shape = 4.0 / skew**2
    return float(gammaincc(shape, max(shape + z * np.sqrt(shape), 0.0)))
