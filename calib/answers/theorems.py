"""Distribution-free guarantees of binning: Theorems 1 and 2 of the paper, and a bound for whole vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.validation import check_alpha, check_count, check_not_negative, check_share


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


@dataclass(frozen=True, eq=False, repr=False)
class ClassWiseGuarantee(Result):
    """The guarantee of class-wise histogram binning without normalisation (Theorem 2)."""

    points_per_bin: np.ndarray  #: (L,) int64: k_l of each class
    n_samples: int  #: Calibration rows n; every class uses all of them
    alpha: np.ndarray  #: (L,) float64: alpha_l of each class
    delta: float  #: Tie-breaking noise
    #: (L,) float64: eps_l of Theorem 2, as in `Guarantee`, for each class alone
    marginal: np.ndarray
    conditional: np.ndarray
    #: CW-ECE is at most `ece_bound` with probability 1 - `ece_failure` (the sum of the alpha_l)
    ece_bound: float
    ece_failure: float
    expected_ece: float  #: Bound on the expected CW-ECE


def guarantee(*, points_per_bin: int, n_samples: int, alpha: float = 0.1, delta: float = 1e-10) -> Guarantee:
    """Compute what top-label histogram binning promises (Theorem 1).

    eps_1 = sqrt(log(2 / alpha) / (2 (k - 1))) + delta,
    eps_2 = sqrt(log(2 n / (k alpha)) / (2 (k - 1))) + delta,
    E[TL-ECE] <= sqrt(1 / (2 k)) + delta, the bound of Theorem 2 for one class.

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

    Examples
    --------
    >>> promise = guarantee(points_per_bin=50, n_samples=5000)
    >>> round(promise.marginal, 3), round(promise.conditional, 3), round(promise.expected_ece, 3)
    (0.175, 0.278, 0.1)
    """
    guarantee = guarantee_class_wise(
        points_per_bin=points_per_bin, n_samples=n_samples, n_classes=1, alpha=alpha, delta=delta
    )
    return Guarantee(
        points_per_bin=int(guarantee.points_per_bin[0]),
        n_samples=guarantee.n_samples,
        alpha=float(alpha),
        delta=guarantee.delta,
        marginal=float(guarantee.marginal[0]),
        conditional=guarantee.ece_bound,
        expected_ece=guarantee.expected_ece,
    )


def guarantee_class_wise(
    *, points_per_bin: Any, n_samples: int, n_classes: int, alpha: Any = 0.1, delta: float = 1e-10
) -> ClassWiseGuarantee:
    """Compute what class-wise histogram binning promises (Theorem 2).

    Parameters
    ----------
    points_per_bin : int or (L,) array_like of int
        k_l, at least 2 each.
    n_samples, delta, n_classes
        As for `guarantee`; n_classes is L.
    alpha : float or (L,) array_like of float
        alpha_l, in (0, 1) each; alpha / L for all classes at once.
    """
    n_classes, n = check_count(n_classes, "n_classes"), check_count(n_samples, "n_samples")
    each = np.broadcast_to(points_per_bin, n_classes).tolist()
    points = np.array([check_count(k, "points_per_bin", 2) for k in each])
    if n < points.max():
        raise InputError(
            f"n_samples must be at least points_per_bin; got {n} rows for bins of {points.max()}"
        )
    alphas = np.array([check_alpha(a) for a in np.broadcast_to(alpha, n_classes).tolist()])
    check_not_negative(delta, "delta")
    conditional = deviation(2.0 * n / (points * alphas), points) + delta
    return ClassWiseGuarantee(
        points_per_bin=points,
        n_samples=n,
        alpha=alphas,
        delta=float(delta),
        marginal=deviation(2.0 / alphas, points) + delta,
        conditional=conditional,
        ece_bound=float(conditional.max()),
        ece_failure=float(alphas.sum()),
        expected_ece=float(np.sqrt(1.0 / (2.0 * points.min())) + delta),
    )


def multinomial_bound(counts: Any, n_classes: int, *, alpha: float = 0.1, n_bins: int = 1) -> np.ndarray:
    """L1 radius around label frequencies that contains the truth with probability 1 - alpha; at most 2.

    The Bretagnolle-Huber-Carol inequality, P(||freq - p||_1 >= eps) <= 2^L exp(-n eps^2 / 2), solved for eps:
    sqrt(2 (L log 2 + log(B / alpha)) / n).

    Parameters
    ----------
    counts : (m,) array_like of int
        Rows of each vector of frequencies; 0 gives 2.
    n_classes : int
        L.
    alpha : float in (0, 1)
        Probability that the bound fails.
    n_bins : int
        B: 1 for each bin alone, the number of bins for all at once (Bonferroni, as in Podkopaev & Ramdas
        2021, Theorem 3).
    """
    check_alpha(alpha)
    rows = np.asarray(counts, dtype=np.float64)
    log_terms = n_classes * np.log(2.0) + np.log(n_bins / alpha)
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


def points_sentence(
    expected_ece: float, *, n_bins: int = 10, name: str = "TL-ECE", pooled: bool = False
) -> str:
    """Say in words how many rows a bound on the expected error takes, per class or (`pooled`) in all.

    Examples
    --------
    >>> points_sentence(0.05)
    'For expected TL-ECE of at most 0.05, k = 200 points per bin suffice: 2,000 rows per class for 10 bins.'
    """
    k, n_bins = points_needed(expected_ece), check_count(n_bins, "n_bins")
    bins = "1 bin" if n_bins == 1 else f"{n_bins:,} bins"
    return (
        f"For expected {name} of at most {expected_ece:g}, k = {k:,} points per bin suffice: "
        f"{k * n_bins:,} rows{'' if pooled else ' per class'} for {bins}."
    )


def deviation(argument: Any, points: Any) -> np.ndarray:
    """Hoeffding deviation sqrt(log(argument) / (2 (k - 1)))."""
    return np.sqrt(np.log(argument) / (2.0 * (np.asarray(points) - 1)))
