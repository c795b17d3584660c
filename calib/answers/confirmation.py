"""Choose, then confirm: one calibrator, chosen on other rows, tested once on rows it has never seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calib.answers.calibrated import calibrated_scores, losses_if_wrong, vector_losses
from calib.base.interval_words import (
    hidden_words,
    interval_words,
    size_with_interval,
)
from calib.base.results import Result
from calib.data.defaults import LEVEL
from calib.data.equal_rows import clusters_in
from calib.evidence.row_scores import error_share, weighted_mean
from calib.stats.bootstrap import paired_intervals_of

Verdict = Literal["better", "no clear change", "worse"]

#: Name of each score in sentences.
SCORES = {"brier": "Brier score", "log_loss": "log loss"}


@dataclass(frozen=True, eq=False, repr=False)
class Confirmation(Result):
    """Effect of a calibrator on a proper score of rows that were not used to choose it."""

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


def confirm_choice(
    calibrator: Any, rows: Any, labels: np.ndarray, weights: np.ndarray | None = None, *, score: str = "brier"
) -> Confirmation:
    """Test a fitted calibrator once on rows that were not used to choose it."""
    cluster = clusters_in(rows)
    codes = None if cluster is None else np.unique(cluster, return_inverse=True)[1]
    both = rows, calibrated_scores(calibrator, rows)
    before, after = (vector_losses(labels, scores, rows)[score] for scores in both)
    unseen = None
    if rows.kind != "multilabel":  # what one more wrong row would change
        wrong_before, wrong_after = (losses_if_wrong(scores, rows)[score] for scores in both)
        seen = weighted_mean(after, weights) - weighted_mean(before, weights)
        unseen = error_share(labels, rows, weights, codes) * np.array([wrong_after - wrong_before - seen])
    (change,) = paired_intervals_of(before, after[None], score, LEVEL, weights, codes, unseen)
    ends = change.lower, change.upper
    return Confirmation(score, len(before), change.estimate_a, change.estimate_b, *ends, LEVEL)
