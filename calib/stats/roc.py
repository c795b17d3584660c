"""The area under the ROC curve (AUC), as a number or with its interval."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from calib.base.exceptions import InputError
from calib.data.defaults import LEVEL
from calib.data.notions import Notion
from calib.data.predictions import Scores, Values
from calib.data.validation import check_choice
from calib.evidence.rows import Source, as_evidence
from calib.stats.bootstrap import Interval
from calib.stats.intervals import measure_interval
from calib.stats.measures import MEASURES


@overload
def auc(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    interval: Literal[False] = False,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float: ...


@overload
def auc(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    interval: Literal[True],
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Interval: ...


def auc(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    interval: bool = False,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float | Interval:
    """Area under the ROC curve: the chance that a row with the event has a higher score than a row without.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.noise_floor`.
    notion : {"class-wise", "confidence"}, optional
        "class-wise" (default if every class has a score): of P(Y = 1), or the mean over classes of each class
        against the rest, without classes that are never true. "confidence": of the confidence for being
        right.
    interval, level : bool, float
        Whether to return an `Interval`, and its coverage.

    Notes
    -----
    The variance is DeLong, DeLong & Clarke-Pearson's (1988), for clusters Obuchowski's (1997); the interval
    is `calib.stats.intervals.area_limits`.

    Examples
    --------
    Of the four pairs of a 1 and a 0, one is in order and one is a tie.

    >>> auc([0, 0, 1, 1], [0.2, 0.6, 0.6, 0.1])
    0.375
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    missing = {key: MEASURES[key].missing(evidence) for key in ("auc", "cw_auc", "top_auc")}
    available = {MEASURES[key].notion: key for key in missing if missing[key] is None}
    if not available:
        raise InputError(str(missing["top_auc"]))
    notion = check_choice(next(iter(available)) if notion is None else notion, list(available), "notion")
    measure = MEASURES[available[notion]]
    value = measure.value(evidence)
    if np.isnan(value):
        raise InputError(f"{measure.title} needs rows of both outcomes; all of these have the same outcome")
    if not interval:
        return value
    ends = measure_interval(evidence, measure.key, level=level)
    return Interval("auc", value, *ends, level)
