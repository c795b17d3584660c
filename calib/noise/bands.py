"""Consistency bands: where the points of a perfect model fall on a reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.binning import BinaryProblems, BinStatistics, Strategy, bin_statistics
from calib.noise.draws import adder, independent_sums, resample
from calib.validation import check_level


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
        Probability that a perfect model's point is inside, for each cell separately.
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
    deltas[np.bincount(cells.bin, minlength=cells.n_bins) == 0] = np.nan
    return ConsistencyBand(
        cells=cells,
        lower=lower,
        upper=upper,
        delta_mean=deltas.mean(axis=1),
        delta_upper=np.quantile(deltas, level, axis=1),
        level=level,
    )
