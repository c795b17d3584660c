"""Intervals in words, with as many digits as their ends need."""

from __future__ import annotations

import math


def decimals_of(lower: float, upper: float, least: int = 4) -> int:
    """Return the decimals, `least` or more, that show the width of an interval in two digits.

    >>> decimals_of(0.0103, 0.0208), decimals_of(0.00001, 0.00005)
    (4, 6)
    """
    width = upper - lower
    return max(least, 1 - math.floor(math.log10(width))) if 0.0 < width < math.inf else least


def interval_words(lower: float, upper: float, *, least: int = 4, sign: str = "") -> str:
    """Write the ends of an interval; different ends look different, and none but 0 looks like 0.

    Parameters
    ----------
    lower, upper : float
        The ends.
    least : int
        Decimals, if the interval needs no more.
    sign : {"", "+"}
        "+" writes the sign of positive ends, too.

    >>> interval_words(0.0103, 0.0208)
    '0.0103 to 0.0208'
    >>> interval_words(0.0, 0.00005)
    '0.000000 to 0.000050'
    >>> interval_words(0.00000001, 0.5, sign="+")
    '+1e-08 to +0.5000'
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
    """Write the size of a change whose direction is known, without signs.

    >>> size_with_interval(-0.002, -0.003, -0.001)
    '0.0020 (0.0010 to 0.0030)'
    """
    near, far = sorted((abs(lower), abs(upper)))
    return with_interval(abs(value), near, far, what)


def _written(value: float, decimals: int, sign: str) -> str:
    shown = round(value, decimals) + 0.0  # no minus before 0
    return f"{value:{sign}.1g}" if shown == 0.0 != value else f"{shown:{sign}.{decimals}f}"
