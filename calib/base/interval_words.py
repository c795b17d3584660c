"""Intervals in words, with the digits that their ends need."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

#: Power: share of samples in which the smallest detectable difference is detected.
POWER = 0.8
#: Gap that tables plan for: five points.
PLANNED_GAP = 0.05
#: Numbers and widths up to this are 0 but for rounding.
ROUNDING = 1e-12


def decimals_of(lower: float, upper: float, least: int = 4) -> int:
    """Return the number of decimals, at least `least`, that show two digits of an interval's width."""
    width = upper - lower
    return max(least, 1 - math.floor(math.log10(width))) if ROUNDING < width < math.inf else least


def interval_words(lower: float, upper: float, *, least: int = 4, sign: str = "") -> str:
    """Write the ends of an interval with `least` decimals or more; different ends look different.

    `sign` "+" writes the sign of positive ends, too.

    >>> interval_words(0.0103, 0.0208)
    '0.0103 to 0.0208'
    >>> interval_words(0.0, 0.00005)
    '0.000000 to 0.000050'
    """
    return " to ".join(_written(end, decimals_of(lower, upper, least), sign) for end in (lower, upper))


def with_interval(
    value: float,
    lower: float,
    upper: float,
    what: str = "",
    *,
    least: int = 4,
    sign: str = "",
    unit: str = "",
) -> str:
    """Write a number and its interval in the same decimals; `what` names the interval.

    >>> with_interval(0.0222, 0.0103, 0.0208, "95 % interval")
    '0.0222 (95 % interval 0.0103 to 0.0208)'
    """
    shown = _written(value, decimals_of(lower, upper, least), sign)
    ends = interval_words(lower, upper, least=least, sign=sign)
    return f"{shown}{unit} ({f'{what} {ends}'.lstrip()})"


def size_with_interval(value: float, lower: float, upper: float, what: str = "") -> str:
    """Write the size of a change whose direction is known, without signs."""
    near, far = sorted((abs(lower), abs(upper)))
    return with_interval(abs(value), near, far, what)


def smallest_difference(lower: Any, upper: Any, level: float) -> Any:
    """Return the smallest true difference whose interval excludes 0 in a share `POWER` of samples.

    The interval has coverage `level`, normal quantile z and half-width h, z standard errors. The difference
    is h (1 + z_POWER / z); ends may be arrays.
    """
    normal = NormalDist()
    return (upper - lower) / 2.0 * (1.0 + normal.inv_cdf(POWER) / normal.inv_cdf((1.0 + level) / 2.0))


def rows_needed(n_rows: Any, now: Any, wanted: float) -> Any:
    """Return how many further rows like these narrow an interval from `now` to `wanted`, as float or array.

    Widths fall with the root of the rows.

    >>> round(float(rows_needed(100, 0.10, 0.05)))
    300
    """
    return np.ceil(n_rows * np.maximum((now / wanted) ** 2 - 1.0, 0.0)) + 0.0


def would_show(least: float, what: str = "a difference", decimals: int = 4, unit: str = "") -> str:
    """Say that a difference of at least this size is detectable with the power `POWER`.

    >>> would_show(0.0123456, "an error", 3)
    'an error of 0.013 would show in 80 of 100 such samples'
    """
    digits = decimals_of(0.0, least, decimals)
    text = _written(math.ceil(least * 10**digits) / 10**digits, digits, "")
    return f"{what} of {text}{unit} would show in {100 * POWER:.0f} of 100 such samples"


def hidden_words(lower: float, upper: float, level: float, what: str = "a difference") -> str:
    """Say which difference these rows could detect, if none is distinguishable from 0."""
    return would_show(smallest_difference(lower, upper, level), what)


def _written(value: float, decimals: int, sign: str) -> str:
    value = value if abs(value) > ROUNDING else 0.0
    shown = round(value, decimals) + 0.0  # no minus before 0
    return f"{value:{sign}.1g}" if shown == 0.0 != value else f"{shown:{sign}.{decimals}f}"
