"""Assertions about predictions, for tests of models."""

from __future__ import annotations

from typing import Any

from calib.answers.gate import gate
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.predictions import Scores, Values
from calib.evidence.rows import Known, Rows, Source, as_evidence
from calib.stats.floors import ABOVE_NOISE, noise_floor
from calib.stats.measures import MEASURES

#: Metrics whose limit is the least allowed.
_LEAST = {key for key, measure in MEASURES.items() if measure.higher_is_better}


def assert_calibrated(
    y_true: Source,
    scores: Scores | None = None,
    *,
    baseline: Known | None = None,
    strict: bool = False,
    n_bins: int = N_BINS,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
    **limits: float,
) -> None:
    """Raise `AssertionError` if predictions break a limit, in a sentence with numbers.

    Parameters
    ----------
    y_true, scores, n_bins, sample_weight, cluster
        As for `calib.ece`.
    baseline, strict, level, n_resamples, random_state
        As for `calib.answers.gate.gate`.
    **limits : float
        Limits by metric, such as ``tl_ece=0.03, accuracy=0.9``: a lower limit for accuracy and AUC, an upper
        limit for all others. Without limits and baseline, the calibration error must not be above noise; a
        calibrated model fails this in 5 of 100 tests.

    Raises
    ------
    AssertionError
        If a limit is broken or, if `strict`, undecided.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("two-patients").evaluation
    >>> assert_calibrated(rows, conf_ece=0.05)
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    asked: dict[str, Any] = {"n_bins": n_bins, "n_resamples": n_resamples, "random_state": random_state}
    if limits or baseline is not None:
        least = {name: limits.pop(name) for name in _LEAST & limits.keys()}
        asked |= {"baseline": baseline, "strict": strict, "level": level}
        result = gate(evidence, most=limits, least=least, **asked)
        if not result.passed:
            raise AssertionError(result.sentence)
        return
    readings = evidence.readings if isinstance(evidence, Rows) else (evidence,)
    floors = [noise_floor(rows, notion=evidence.notion, **asked) for rows in readings]
    floor = floors[-1]  # if rows belong together, which a test suspects
    if all(each.verdict == ABOVE_NOISE for each in floors):
        raise AssertionError(
            f"calibration error (notion {floor.notion}) {floor.observed:.4g} of {floor.n_samples:,} rows is "
            f"{floor.words}"
        )
