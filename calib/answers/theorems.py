"""Distribution-free guarantees of binning: Theorems 1 and 2 of the paper, the mean error, whole vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betaincinv, gammaln, logsumexp, xlog1py, xlogy
from sklearn.isotonic import isotonic_regression

from calib.base.exceptions import InputError
from calib.base.parallel import row_blocks
from calib.base.results import Result
from calib.data.validation import check_alpha, check_count, check_not_negative, check_share

#: Shares of alpha with which the bound for the mean error may fail: by the deviation of the means, by the
#: accuracy, by the masses of cells, by the masses of classes with few rows.
DEVIATION, ACCURACY, MASSES, FEW = 0.91, 0.03, 0.03, 0.03

#: Ratio of the exponents that are tried; between two the bound changes by less than 0.1 %.
_RATIO = 1.1

#: Most and fewest steps of the grid of probabilities, and most steps times outcomes.
_MOST_STEPS, _LEAST_STEPS, _GRID = 2**11, 2**8, 2**21

#: Steps of the grid on which the best exponent is looked for.
_FEW_STEPS = 2**6

#: Added for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Guarantee(Result):
    """The guarantee of histogram binning, for any distribution of the data (Theorem 1)."""

    points_per_bin: int  #: k, the fewest calibration points in any bin
    n_samples: int  #: Calibration rows n
    alpha: float  #: Probability with which `marginal` and `conditional` may each fail
    delta: float  #: Tie-breaking noise
    #: eps_1: the prediction of a new row is this near the true probability, with probability 1 - alpha
    marginal: float
    #: eps_2: the same for all predicted classes and values at once; TL-ECE and TL-MCE are then at most eps_2
    conditional: float
    #: Bound on the expected TL-ECE, and on the expected l_p error for p <= 2 (App. H)
    expected_ece: float
    accuracy: float  #: Accuracy of the model, of which `error_bound` makes use

    @property
    def error_bound(self) -> float:
        """Bound on the TL-ECE with probability 1 - alpha, for any number of classes with k rows or more."""
        k, n = self.points_per_bin, self.n_samples
        mass = mass_bound(2 * k - 1, n, MASSES * self.alpha / (n * (k + 1)))
        return min(error_bound([self.accuracy], k - 1, mass, DEVIATION * self.alpha) + self.delta, 1.0)

    @property
    def uncovered_bound(self) -> float:
        """Bound on the share of rows whose predicted class has fewer than k rows: 0, as no class is such.

        `calib.guarantee_card` has the bound of calibration rows in which some classes are.
        """
        return 0.0


def guarantee(
    *,
    points_per_bin: int,
    n_samples: int,
    alpha: float = 0.1,
    delta: float = 1e-10,
    accuracy: float = 0.5,
) -> Guarantee:
    """Compute what top-label histogram binning promises (Theorem 1, and a bound for the TL-ECE).

    eps_1 = sqrt(log(2 / alpha) / (2 (k - 1))) + delta,
    eps_2 = sqrt(log(2 n / (k alpha)) / (2 (k - 1))) + delta,
    E[TL-ECE] <= sqrt(1 / (2 k)) + delta.

    Class-wise (Theorem 2) these hold for each class: with alpha / L, eps_2 bounds the CW-ECE of L classes
    with probability 1 - alpha. `guarantee_card` has the k of each class.

    Parameters
    ----------
    points_per_bin : int
        k, at least 2; every predicted class needs k calibration rows.
    n_samples : int
        Calibration rows n, at least k.
    alpha : float in (0, 1)
        Failure probability.
    delta : float
        Tie-breaking noise, 0 or more.
    accuracy : float in [0, 1]
        Accuracy of the model, for `error_bound` alone; 0.5 is the worst. `guarantee_card` estimates it.

    Examples
    --------
    >>> promise = guarantee(points_per_bin=50, n_samples=5000, accuracy=0.9)
    >>> round(promise.marginal, 3), round(promise.conditional, 3), round(promise.expected_ece, 3)
    (0.175, 0.278, 0.1)
    >>> round(promise.error_bound, 3)
    0.046
    """
    k, n = check_count(points_per_bin, "points_per_bin", 2), check_count(n_samples, "n_samples")
    if n < k:
        raise InputError(f"n_samples must be at least points_per_bin; got {n} rows for bins of {k}")
    alpha, delta = check_alpha(alpha), check_not_negative(delta, "delta")
    if check_not_negative(accuracy, "accuracy") > 1.0:
        raise InputError(f"accuracy must lie in [0, 1]; got {accuracy!r}")
    marginal = float(deviation(2.0 / alpha, k)) + delta
    conditional = float(deviation(2.0 * n / (k * alpha), k)) + delta
    expected_ece = math.sqrt(1.0 / (2.0 * k)) + delta
    return Guarantee(k, n, alpha, delta, marginal, conditional, expected_ece, float(accuracy))


def error_bound(rates: Any, inside: int, mass: float, alpha: float) -> float:
    """Bound the mean error of bins whose edges are rows left out of all means, or its mean over problems.

    inf over s > 0 of (U / s) (log(1 / alpha) + log mean_l exp(Lam_m(s, a_l) / U)), where Lam_m(s, a) is
    `largest_exponent`. The proof is in docs/why/error_bound.md. If `rates` and `mass` hold, the
    result fails with chance alpha or less.

    Parameters
    ----------
    rates : (L,) array_like of float
        a_l: the probability of the event in each problem, or a number between it and 1/2.
    inside : int
        m, at least 1: the fewest rows in the mean of a bin.
    mass : float
        U: no bin has a larger probability.
    alpha : float in (0, 1)
        Failure probability.
    """
    rate = np.asarray(rates, dtype=np.float64)
    chance = np.log(1.0 / alpha)

    def at(power: int, n_steps: int | None = _FEW_STEPS) -> float:
        s = _RATIO**power
        exponents = largest_exponent(s, rate, inside, n_steps) / mass
        highest = exponents.max()
        return float(mass / s * (chance + highest + np.log(np.exp(exponents - highest).mean())))

    spread = max(float((rate * (1.0 - rate)).max()), 1.0 / inside)
    power = round(math.log(2.0 * mass * chance * inside / spread) / 2.0 / math.log(_RATIO))
    best = at(power)
    for step in (1, -1):  # the function has one minimum
        while (following := at(power + step)) < best:
            best, power = following, power + step
    return at(power, None) + _ROUNDING


def largest_exponent(s: float, rates: Any, inside: int, n_steps: int | None = None) -> np.ndarray:
    """Bound the least concave function of p above log E exp(s |K / m - p|), K binomial(m, p), at `rates`.

    The function is computed on a grid of step d. The bound adds d C / 2, with C = s + m e^(s/m) (e^(s/m) - 1)
    the largest slope of the logarithm: between two points it is at most this far above their line. With
    `n_steps` the grid is coarser, and d is the same.
    """
    rate = np.asarray(rates, dtype=np.float64)
    enough = min(max(_GRID // (inside + 1), _LEAST_STEPS), _MOST_STEPS)
    above = np.interp(np.minimum(rate, 1.0 - rate), *_exponents(float(s), inside, n_steps or enough))
    ratio = math.exp(s / inside)
    return above + (s + inside * ratio * (ratio - 1.0)) * 0.5 / enough / 2.0


@lru_cache(maxsize=256)
def _exponents(s: float, inside: int, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a grid of [0, 1/2] and the least concave function, which is symmetric, above its values."""
    points = np.linspace(0.0, 0.5, n_steps + 1)
    outcomes = np.arange(inside + 1.0)
    ways = gammaln(inside + 1.0) - gammaln(outcomes + 1.0) - gammaln(inside - outcomes + 1.0)
    values = np.empty(len(points))
    for rows in row_blocks(len(points), inside + 1):
        p = points[rows, None]
        log_chance = ways + xlogy(outcomes, p) + xlog1py(inside - outcomes, -p)
        values[rows] = logsumexp(log_chance + s * np.abs(outcomes / inside - p), axis=1)
    values[-1] = values.max()  # as high as the least concave function is at 1/2
    slopes = isotonic_regression(np.diff(values), increasing=False)
    return points, values[0] + np.concatenate(([0.0], np.cumsum(slopes)))


def mass_bound(inside: int, n_samples: int, alpha: float) -> float:
    """Limit of the mass of a cell with `inside` of n rows between two others; its chance to fail is alpha.

    The 1 - alpha quantile of the sum of m + 1 of n + 1 uniform spacings, beta(m + 1, n - m), which rises with
    m; 1 if m >= n.
    """
    if inside >= n_samples:
        return 1.0
    return 1.0 - float(betaincinv(n_samples - inside, inside + 1, alpha))


def multinomial_bound(counts: Any, n_classes: int, *, alpha: float = 0.1) -> np.ndarray:
    """L1 radius around label frequencies that contains the truth with probability 1 - alpha; at most 2.

    The Bretagnolle-Huber-Carol inequality, P(||freq - p||_1 >= eps) <= 2^L exp(-n eps^2 / 2), solved for eps:
    sqrt(2 (L log 2 + log(1 / alpha)) / n).

    Parameters
    ----------
    counts : (m,) array_like of int
        Rows of each vector of frequencies. Without rows the radius is 2.
    n_classes : int
        L.
    alpha : float in (0, 1)
        Probability that the bound fails.
    """
    check_alpha(alpha)
    rows = np.asarray(counts, dtype=np.float64)
    log_terms = n_classes * np.log(2.0) + np.log(1.0 / alpha)
    radius = np.full(rows.shape, 2.0)
    np.divide(2.0 * log_terms, rows, out=radius, where=rows > 0)
    return np.minimum(np.sqrt(radius, out=radius, where=rows > 0), 2.0)


def points_needed(expected_ece: float) -> int:
    """Find how many points per bin suffice for an expected TL-ECE (or CW-ECE) of at most `expected_ece`.

    The smallest k with sqrt(1 / (2 k)) <= `expected_ece` in (0, 1), for any distribution; delta is left out.

    Examples
    --------
    >>> points_needed(0.05)
    200
    """
    check_share(expected_ece, "expected_ece", 0.05)
    return max(math.ceil(1.0 / (2.0 * expected_ece**2) * (1.0 - 1e-12)), 2)


def deviation(argument: Any, points: Any) -> np.ndarray:
    """Hoeffding deviation sqrt(log(argument) / (2 (k - 1)))."""
    return np.sqrt(np.log(argument) / (2.0 * (np.asarray(points) - 1)))
