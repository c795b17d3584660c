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
from calib.stats.bootstrap import Metric, PairedInterval, paired_intervals_of

Verdict = Literal["better", "no clear change", "worse"]

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
        if max(self.brier.lower, self.log_loss.lower) > 0.0:
            return "worse"
        return "better" if min(self.brier.upper, self.log_loss.upper) < 0.0 else "no clear change"

    def words(self) -> str:
        """Describe the change of both scores, with intervals, as the end of a sentence."""
        on = f"on {self.n_samples:,} evaluation rows"
        changes = {title: getattr(self, key) for key, title in SCORES.items()}
        if self.verdict == "no clear change":
            ends = " and ".join(
                f"{title} ({interval_words(change.lower, change.upper, sign='+')})"
                for title, change in changes.items()
            )
            hidden = hidden_words(self.brier.lower, self.brier.upper, self.brier.level, "a Brier difference")
            return f"{on} there is no clear change of {ends}; {hidden}"
        does = [f"{_verb(change)} the {title} by {_size(change)}" for title, change in changes.items()]
        return f"{on} it {' and '.join(does)}"


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
    level = 1.0 - (1.0 - LEVEL) / len(SCORES)  # Bonferroni

    def change(score: Metric) -> PairedInterval:
        more = np.array([unseen[1][score] - unseen[0][score]])
        (found,) = paired_intervals_of(losses[0][score], losses[1][score][None], score, before, level, more)
        return found

    return Confirmation(before.n_samples, change("brier"), change("log_loss"), LEVEL)
