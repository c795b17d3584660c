"""Whether a calibrator helps: one interval of a proper score, on rows that it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.answers.calibrated import unseen_losses, vector_losses
from calib.base.interval_words import (
    hidden_words,
    interval_words,
    size_with_interval,
)
from calib.base.results import Result
from calib.data.defaults import LEVEL
from calib.evidence.rows import Rows
from calib.stats.bootstrap import paired_intervals_of

Verdict = Literal["better", "no clear change", "worse"]

#: Name of each score in sentences.
SCORES = {"brier": "Brier score", "log_loss": "log loss"}


@dataclass(frozen=True, eq=False, repr=False)
class Confirmation(Result):
    """Effect of a calibrator on a proper score of rows that it was not fitted on."""

    score: str  #: "brier" or "log_loss", of whole vectors, see `calib.answers.calibrated.vector_losses`
    n_samples: int  #: Rows
    #: The score of the base model and of the calibrated predictions
    before: float
    after: float
    #: Ends of the interval of the true change, after minus before; negative is an improvement
    lower: float
    upper: float
    level: float  #: Coverage of the interval

    @property
    def verdict(self) -> Verdict:
        return "better" if self.upper < 0.0 else "worse" if self.lower > 0.0 else "no clear change"

    def words(self) -> str:
        """Describe the change of the score, with its interval, as the end of a sentence."""
        on, title = f"on {self.n_samples:,} evaluation rows", SCORES[self.score]
        if self.verdict == "no clear change":
            ends = interval_words(self.lower, self.upper, sign="+")
            hidden = hidden_words(self.lower, self.upper, self.level)
            return f"{on} the {title} shows no clear change ({ends}); {hidden}"
        does = "lowers" if self.verdict == "better" else "raises"
        size = size_with_interval(self.after - self.before, self.lower, self.upper)
        return f"{on} it {does} the {title} by {size}"


def confirm_choice(before: Rows, after: Rows, *, score: str = "brier") -> Confirmation:
    """Compare labelled rows before and after calibration by a score of whole vectors."""
    losses = [vector_losses(each.predictions, before.predictions) for each in (before, after)]
    unseen = [unseen_losses(each, before, known) for each, known in zip((before, after), losses, strict=True)]
    more = np.array([unseen[1][score] - unseen[0][score]])
    (change,) = paired_intervals_of(losses[0][score], losses[1][score][None], score, before, LEVEL, more)
    ends = change.lower, change.upper
    return Confirmation(score, before.n_samples, change.estimate_a, change.estimate_b, *ends, LEVEL)
