"""Whether rows are right or wrong together, by more than their scores explain: tests of residuals.

Rows are compared with others of the same predicted class and of about the same score, so that a wrong model
does not look like dependent rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from calib.data.times import BLOCKS, N_BLOCKS, blocks_of, dates_of, is_time

#: Most quantile grades of the score of a predicted class, and fewest rows of a grade.
MAX_GRADES, ROWS_PER_GRADE = 10, 50
#: Fewest clusters that can show how far their rows depend on each other.
MIN_CLUSTERS = 10
#: Chance that calib wrongly takes rows of equal scores as answers to one question, or a column as clusters.
CHANCE, COLUMN_CHANCE = 1e-4, 1e-3
#: Rows whose score is nearer to 0 or 1 are no evidence of copies: they agree anyway.
LEAST_DOUBT = 1e-4


class Claims(NamedTuple):
    """The one claim about each labelled row."""

    score: np.ndarray  #: (n,) float64: Score of an event, or of the predicted class
    outcome: np.ndarray  #: (n,) bool: Whether it happened
    label: np.ndarray  #: (n,) int64: Number of the true label
    predicted: np.ndarray | None = None  #: (n,) int64: Predicted class

    def take(self, rows: np.ndarray) -> Claims:
        predicted = None if self.predicted is None else self.predicted[rows]
        return Claims(self.score[rows], self.outcome[rows], self.label[rows], predicted)

    def doubtful(self) -> np.ndarray:
        """Return the rows whose score is not within `LEAST_DOUBT` of 0 or 1."""
        return np.flatnonzero(np.minimum(self.score, 1.0 - self.score) > LEAST_DOUBT)

    def residuals(self) -> Residuals:
        return Residuals.of(self.score, self.outcome, self.predicted)


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
        from scipy.special import gammaincc, ndtr  # takes a second to import

        z = self.products(cluster, weight) / np.sqrt(spread)
        skew = (6.0 * triples + sum_of_pairs(third, cluster)) / spread**1.5
        if skew < 1e-6:
            return float(ndtr(-z))
        shape = 4.0 / skew**2
        return float(gammaincc(shape, max(shape + z * np.sqrt(shape), 0.0)))

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
        """Return residuals without a step, a slope and changes of range means along ordered values.

        A drift, or an age by which scores are off, would otherwise look like rows that belong together.
        """
        codes = pd.factorize(values, sort=True, use_na_sentinel=False)[0]
        rows, sums = np.bincount(codes), np.bincount(codes, self.value)
        before, after = np.cumsum(rows)[:-1], np.cumsum(rows[::-1])[::-1][1:]
        step = np.cumsum(sums)[:-1] ** 2 * (1.0 / before + 1.0 / after)
        value, place = self.value, codes - codes.mean()
        if len(step):
            value = value - _means(value, side := (codes > step.argmax()).astype(np.int64))[side]
            value = value - place * float(place @ value) / float(place @ place)
        if (n_ranges := min(MAX_GRADES, len(rows) // MIN_CLUSTERS)) > 1:
            among = codes * n_ranges // len(rows)
            value = value - _means(value, among)[among]
        return replace(self, value=value)

    def share_of_stratum(self, cluster: np.ndarray) -> np.ndarray:
        """Return for each row the share of its stratum that is in its cluster, (n,) float64."""
        both = cluster * (int(self.stratum.max()) + 1) + self.stratum
        place, size = np.unique(both, return_inverse=True, return_counts=True)[1:]
        return np.asarray(size[place] / np.bincount(self.stratum)[self.stratum])


@dataclass(frozen=True, eq=False)
class Suspected:
    """Rows that a test shows to be right or wrong together, and nothing says that they belong together."""

    column: str  #: Name of the column; with "=" and a block, blocks of time; "" if the scores show it
    rows: str  #: Which rows, such as "rows of the same 'country'"
    cluster: np.ndarray  #: (n,) int64: Number of the cluster of each row
    effect: float  #: Design effect, about: `Residuals.effect`
    n_blank: int = 0  #: Rows without a value, which were not tested
    others: tuple[Suspected, ...] = ()  #: Further columns that show it, largest effect first


def suspected_columns(claims: Claims, columns: pd.DataFrame) -> list[Suspected]:
    """Find further columns whose rows of equal values are right or wrong together, largest effect first.

    It tests all `groupings`, on the rows that have a value; a trend of numbers and times is removed first.
    `COLUMN_CHANCE` is divided among them.
    """
    classes = [values for values in (claims.label, claims.predicted) if values is not None]
    if not (tried := groupings(columns, classes)):
        return []
    found, whole = [], claims.residuals()
    for name, codes in tried.items():
        known = codes >= 0
        residuals = whole if known.all() else claims.take(known).residuals()
        column, _, block = name.rpartition("=")
        if block and column in columns:
            residuals = residuals.without_trend(codes[known])
        elif columns[name].dtype.kind in "iuf":
            residuals = residuals.without_trend(columns[name].to_numpy()[known])
        if residuals.together(codes[known]) < COLUMN_CHANCE / len(tried):
            which = f"rows of the same {name[:60]!r}"
            if column:
                which = f"rows of the same {block if block in BLOCKS else 'stretch'} of {column[:60]!r}"
            found.append(
                Suspected(name, which, _alone(codes), residuals.effect(codes[known]), int((~known).sum()))
            )
    return sorted(found, key=lambda suspected: -suspected.effect)


def clusters_of_column(columns: pd.DataFrame, name: str) -> np.ndarray | None:
    """Return the clusters that `Suspected.column` names, (n,) int64; None without this column.

    A row without a value stands alone.
    """
    column = name if name in columns else name.rpartition("=")[0]
    codes = dict(_groupings(column, columns[column])).get(name) if column in columns else None
    return None if codes is None else _alone(codes)


def _alone(codes: np.ndarray) -> np.ndarray:
    return np.where(codes < 0, codes.max(initial=-1) + 1 + np.arange(len(codes)), codes)


def groupings(columns: pd.DataFrame, classes: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return each row's value as a number, (n,) int64, by column, or by column and block of time.

    Columns of texts, whole numbers and times count if they have at least `MIN_CLUSTERS` values, some of them
    repeated, and are no function of one of `classes`. Rows without a value have -1.
    """
    return {
        name: codes
        for column, values in columns.items()
        for name, codes in _groupings(str(column), values)
        if MIN_CLUSTERS <= codes.max(initial=-1) + 1 < np.count_nonzero(known := codes >= 0)
        and not any(depends_on(class_[known], codes[known]) for class_ in classes)
    }


def _groupings(name: str, values: pd.Series) -> Iterator[tuple[str, np.ndarray]]:
    """Return groups of equal values of a column, or its blocks of time, numbered in their order."""
    column = values.mask(values == "") if values.dtype.kind not in "biufmM" else values
    codes, distinct = pd.factorize(column)
    whole = values.dtype.kind in "iu"
    if values.dtype.kind == "f":
        whole = bool(np.isfinite(distinct).all() and (np.asarray(distinct) % 1 == 0).all())
    blocks: Sequence[str] = ()
    if values.dtype.kind in "iuf":
        blocks = [str(N_BLOCKS)] if is_time(name) and not column.isna().any() else []
    elif dates_of(column.dropna()) is not None:
        blocks = list(BLOCKS)
    elif values.dtype.kind != "b":
        whole = True
    if whole:
        yield name, codes
    for block in blocks:
        named = pd.Series(blocks_of(values, block))
        yield f"{name}={block}", pd.factorize(named.mask(named == ""), sort=True)[0]


def depends_on(classes: np.ndarray, codes: np.ndarray) -> bool:
    """Whether all rows of a class have the same code, which numbers (n,) from 0 on."""
    pairs = len(pd.unique(classes.astype(np.int64) * (int(codes.max()) + 1) + codes))
    return pairs == len(pd.unique(classes))


def questions_of(keys: np.ndarray, claims: Claims) -> np.ndarray | None:
    """Return the clusters of rows with equal scores (equal `keys`), (n,) int64; None if they are none.

    They are clusters if each score has about the same number of rows, like answers to one question, and the
    rows are right or wrong together, more than their scores explain. The numbers of rows then vary less than
    by chance; for rounded scores, leaves and bins they do not.
    """
    question = pd.factorize(keys)[0]
    size = np.bincount(question)
    if len(size) < MIN_CLUSTERS or size.mean() < 2.0:
        return None
    if claims.predicted is not None and len(size) == len(np.unique(claims.predicted)):
        return None  # a score for each class says nothing about rows
    from scipy.special import chdtr  # takes a second to import; few rows come to this

    apart = float(np.sum((size - size.mean()) ** 2) / size.mean())
    if chdtr(len(size) - 1, apart) >= CHANCE:
        return None
    residuals = claims.residuals()
    trend = claims.score - _means(claims.score, residuals.stratum)[residuals.stratum]
    residuals = replace(residuals, value=residuals.value - trend)
    return question if residuals.together(question) < CHANCE else None


def sum_of_pairs(values: np.ndarray, cluster: np.ndarray) -> float:
    sums = np.bincount(cluster, values)
    return float(sums @ sums - values @ values) / 2.0


def _means(values: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    return np.bincount(stratum, values) / np.maximum(np.bincount(stratum), 1)
