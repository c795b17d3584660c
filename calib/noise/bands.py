"""Noise floors of single classes, and of the points of a reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.binning import BinaryProblems, BinStatistics, Strategy, bin_statistics
from calib.noise.draws import Progress, independent_sums, resample
from calib.noise.floor import adder, p_values
from calib.validation import check_level


@dataclass(frozen=True, eq=False)
class ProblemFloors:
    """ECE of every binary problem (class) beside what a perfect model of the same size shows.

    Attributes
    ----------
    problem : (Q,) int64 array
        Problems that have entries.
    label : (Q,) int64 array
        Class code of each, -1 where classes are pooled.
    count : (Q,) int64 array
        Entries of each.
    observed, mean, upper : (Q,) float64 arrays
        ECE observed; mean and upper `level` quantile of the ECE of a perfect model.
    p_value : (Q,) float64 array
        (1 + redraws at or above the observed) / (1 + redraws), of each problem on its own.
    level : float
        Level of `upper`.
    """

    problem: np.ndarray
    label: np.ndarray
    count: np.ndarray
    observed: np.ndarray
    mean: np.ndarray
    upper: np.ndarray
    p_value: np.ndarray
    level: float

    def frame(self) -> pd.DataFrame:
        """Return one row per problem, for CSV downloads."""
        return pd.DataFrame(
            {
                "problem": self.problem,
                "label": self.label,
                "count": self.count,
                "ece": self.observed,
                "perfect_mean": self.mean,
                "perfect_upper": self.upper,
                "p_value": self.p_value,
            }
        )


@dataclass(frozen=True, eq=False)
class ConsistencyBand:
    """Where the points of a perfect model would fall in each cell (Broecker & Smith 2007).

    Attributes
    ----------
    cells : BinStatistics
        The cells the band belongs to; C of them.
    lower, upper : (C,) float64 arrays
        Pointwise band of the frequency of the outcome, in [0, 1].
    delta_mean, delta_upper : (n_bins,) float64 arrays
        Mean and upper `level` quantile of the class-averaged gap Delta_b of each bin; NaN in empty bins.
    level : float
        Probability with which a perfect model's point falls inside, cell by cell.
    """

    cells: BinStatistics
    lower: np.ndarray
    upper: np.ndarray
    delta_mean: np.ndarray
    delta_upper: np.ndarray
    level: float

    def frame(self) -> pd.DataFrame:
        """Return the cells with their bands, one row each."""
        return self.cells.frame().assign(perfect_lower=self.lower, perfect_upper=self.upper)


def problem_floors(
    problems: BinaryProblems,
    *,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> ProblemFloors:
    """Compute the noise floor of the ECE of every binary problem, so of every class, at once.

    Parameters are those of `noise_floor_of`; `level` is that of the upper quantile.
    """
    cells = bin_statistics(problems, n_bins=n_bins, strategy=strategy)
    problem, first = np.unique(cells.problem, return_index=True)
    entries = np.add.reduceat(cells.count, first)
    weights = cells.count / np.repeat(entries, np.diff(np.append(first, len(cells.count))))
    per_problem = adder(np.searchsorted(problem, cells.problem), weights)
    expected, counts = (cells.count * cells.mean_score)[:, None], cells.count[:, None]
    draw, width = independent_sums(problems.scores, cells.start, cells.count)

    def block(generator: np.random.Generator, size: int) -> np.ndarray:
        return per_problem @ (np.abs(draw(generator, size) - expected) / counts)

    drawn = resample(block, width, n_resamples=n_resamples, random_state=random_state, progress=progress)
    samples = np.concatenate(drawn, axis=1)
    observed = per_problem @ np.abs(cells.gap)
    return ProblemFloors(
        problem=problem,
        label=problems.shape.labels_of(problem),
        count=entries,
        observed=observed,
        mean=samples.mean(axis=1),
        upper=np.quantile(samples, check_level(level), axis=1),
        p_value=p_values(observed, samples),
        level=level,
    )


def consistency_band(
    problems: BinaryProblems,
    *,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = None,
) -> ConsistencyBand:
    """Find where the points of a perfect model would fall on the reliability diagram.

    Parameters
    ----------
    problems : BinaryProblems
        From `reduce_to_binary`.
    n_bins, strategy
        The cells, as in `bin_statistics`.
    level : float in (0, 1)
        Probability that a perfect model's point is inside, for each cell on its own.
    n_resamples, random_state
        As for `noise_floor`.

    Raises
    ------
    InputError
        If an argument cannot be used.
    """
    cells = bin_statistics(problems, n_bins=n_bins, strategy=strategy)
    tail = (1.0 - check_level(level)) / 2.0
    draw, width = independent_sums(problems.scores, cells.start, cells.count)
    drawn = resample(draw, width, n_resamples=n_resamples, random_state=random_state)
    frequency = np.concatenate([sums / cells.count[:, None] for sums in drawn], axis=1)
    lower, upper = np.quantile(frequency, [tail, 1.0 - tail], axis=1, method="inverted_cdf")
    weights = cells.count / np.bincount(cells.bin, weights=cells.count, minlength=cells.n_bins)[cells.bin]
    deltas = adder(cells.bin, weights, cells.n_bins) @ np.abs(frequency - cells.mean_score[:, None])
    empty = np.bincount(cells.bin, minlength=cells.n_bins) == 0
    deltas[empty] = np.nan
    return ConsistencyBand(
        cells=cells,
        lower=lower,
        upper=upper,
        delta_mean=deltas.mean(axis=1),
        delta_upper=np.quantile(deltas, level, axis=1),
        level=level,
    )
