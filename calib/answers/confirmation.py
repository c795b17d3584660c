"""Whether a calibrator helps: intervals of both proper scores, on rows that it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.answers.calibrated import unseen_losses, vector_losses
from calib.base.interval_words import (
    hidden_words,
    interval_words,
    size_with_interval,
    with_interval,
)
from calib.base.results import Result
from calib.data.defaults import LEVEL
from calib.evidence.rows import Rows
from calib.stats.bootstrap import PairedInterval, paired_intervals_of

Verdict = Literal["better", "no clear change", "worse"]

#: Coverage of the interval of each of the two scores, if both are to hold at once (Bonferroni).
ALONE = 1.0 - (1.0 - LEVEL) / 2.0

#: Name of each score in sentences.
SCORES = {"brier": "Brier score", "log_loss": "log loss"}


@dataclass(frozen=True, eq=False, repr=False)
class Confirmation(Result):
    """Effect of a calibrator on the proper scores of rows that it was not fitted on."""

    n_samples: int  #: Rows
    #: Scores of whole vectors (`calib.answers.calibrated.vector_losses`) before calibration (a) and after (b)
    brier: PairedInterval
    log_loss: PairedInterval
    level: float  #: Coverage of both intervals at once

    @property
    def verdict(self) -> Verdict:
        """Better if a score improves distinguishably, and none becomes distinguishably worse."""
        if self.raised:
            return "worse"
        return "better" if min(self.brier.upper, self.log_loss.upper) < 0.0 else "no clear change"

    @property
    def raised(self) -> tuple[str, ...]:
        """Names of the scores that calibration makes distinguishably worse."""
        return tuple(title for key, title in SCORES.items() if getattr(self, key).lower > 0.0)

    def words(self, subject: str = "it", left_out: str = "the fit") -> str:
        """Describe the change of both scores, with intervals, as the end of a sentence."""
        on = f"on {self.n_samples:,} rows left out of {left_out}"
        changes = {title: getattr(self, key) for key, title in SCORES.items()}
        if self.verdict == "no clear change":
            ends = " and ".join(
                f"{title} ({interval_words(change.lower, change.upper, sign='+')})"
                for title, change in changes.items()
            )
            hidden = hidden_words(self.brier.lower, self.brier.upper, self.brier.level, "a Brier difference")
            return f"{on}, there is no clear change of {ends}; {hidden}"
        does = [f"{_verb(change)} the {title} by {_size(change)}" for title, change in changes.items()]
        return f"{on}, {subject} {' and '.join(does)}"


def _verb(change: PairedInterval) -> str:
    return "lowers" if change.difference < 0.0 else "raises"


def _size(change: PairedInterval) -> str:
    if change.lower <= 0.0 <= change.upper:
        sign = 1.0 if change.difference >= 0.0 else -1.0
        low, high = sorted((sign * change.lower, sign * change.upper))
        return with_interval(abs(change.difference), low, high)
    return size_with_interval(change.difference, change.lower, change.upper)


def confirm_choice(before: Rows, after: Rows) -> Confirmation:
    """Compare labelled rows before and after calibration by both proper scores of whole vectors."""
    losses = [vector_losses(each.predictions, before.predictions) for each in (before, after)]
    unseen = [unseen_losses(each, before, known) for each, known in zip((before, after), losses, strict=True)]
    first, second = (np.array([known[score] for score in SCORES]) for known in losses)
    more = np.array([unseen[1][score] - unseen[0][score] for score in SCORES])
    return confirmed(before, first, second, more)


def confirmed(rows: Rows, before: np.ndarray, after: np.ndarray, unseen: np.ndarray) -> Confirmation:
    """Compare losses (2, n); one more wrong row changes the mean differences by `unseen`, (2,)."""
    brier, log_loss = (
        paired_intervals_of(before[place], after[place][None], score, rows, ALONE, unseen[[place]])[0]
        for place, score in enumerate(SCORES)
    )
    return Confirmation(rows.n_samples, brier, log_loss, LEVEL)


def together(inside: Confirmation, outside: Confirmation) -> Confirmation:
    """Return the effect on the rows of both, or on the second alone if the effects differ distinguishably."""
    pairs = [(getattr(inside, key), getattr(outside, key)) for key in SCORES]
    share = inside.n_samples / (inside.n_samples + outside.n_samples)
    apart = [_combined(*pair, (1.0, -1.0)) for pair in pairs]
    if any(not change.lower <= 0.0 <= change.upper for change in apart):
        return outside
    brier, log_loss = (_combined(*pair, (share, 1.0 - share)) for pair in pairs)
    return Confirmation(inside.n_samples + outside.n_samples, brier, log_loss, LEVEL)


def _combined(a: PairedInterval, b: PairedInterval, weights: tuple[float, float]) -> PairedInterval:
    """Return a weighted sum of independent estimates; squares of the half-widths add (Zou & Donner 2008)."""
    first, second, change, lower, upper = (
        np.multiply(weights, [getattr(a, part), getattr(b, part)])
        for part in ("estimate_a", "estimate_b", "difference", "lower", "upper")
    )
    low, high = np.minimum(lower, upper), np.maximum(lower, upper)
    total = float(change.sum())
    ends = total - float(np.hypot(*(change - low))), total + float(np.hypot(*(high - change)))
    return PairedInterval(a.metric, float(first.sum()), float(second.sum()), total, *ends, a.level)
