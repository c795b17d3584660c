"""The effect of a calibrator: better, worse or not distinguishable, in cells that hold the same rows."""

from __future__ import annotations

from dataclasses import dataclass

from calib.base.interval_words import hidden_words, interval_words
from calib.base.results import Result
from calib.data.defaults import LEVEL, N_BINS
from calib.data.notions import Notion
from calib.data.validation import check_level
from calib.evidence.rows import Rows
from calib.stats.bootstrap import PairedInterval, paired_interval
from calib.stats.differences import PairedDifference, paired_difference

#: Values of `Change.verdict`, with the beginnings of sentences.
VERDICTS = {
    "better": "Better",
    "worse": "Worse",
    "mixed": "Better in one respect and worse in another",
    "not distinguishable": "Not distinguishable from before",
}


@dataclass(frozen=True, eq=False)
class Change(Result):
    """The change of a calibration error and of a proper score between two methods on the same rows."""

    error: PairedDifference  #: Debiased squared l2 error after minus before
    score: PairedInterval  #: Brier score after minus before
    level: float  #: Probability with which both intervals hold together

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`: "mixed" if the two intervals contradict each other."""
        lower = self.error.upper < 0.0, self.score.upper < 0.0
        higher = self.error.lower > 0.0, self.score.lower > 0.0
        if any(lower) and any(higher):
            return "mixed"
        return "better" if any(lower) else "worse" if any(higher) else "not distinguishable"

    def words(self, error: str, score: str, strong: str = "{}") -> str:
        """State the verdict and both intervals, with the names of error and score; `strong` is a format."""
        ends = ((self.error.lower, self.error.upper), (self.score.lower, self.score.upper))
        named, each = [], 1.0 - (1.0 - self.level) / 2.0
        for name, (low, high) in zip((f"squared l2 {error}", score), ends, strict=True):
            word = "is lower" if high < 0.0 else "is higher" if low > 0.0 else "may be as before"
            hidden = f"; {hidden_words(low, high, each)}" * (low <= 0.0 <= high)
            named.append(f"the {name} {word} (change {interval_words(low, high, sign='+')}{hidden})")
        return (
            f"{strong.format(VERDICTS[self.verdict])}: {' and '.join(named)}. Both intervals hold together "
            f"with {100 * self.level:g} %."
        )


def change(
    before: Rows,
    after: Rows,
    *,
    notion: Notion = "top-label",
    n_bins: int = N_BINS,
    level: float = LEVEL,
) -> Change:
    """Say whether a calibrator makes predictions distinguishably better or worse."""
    each = 1.0 - (1.0 - check_level(level)) / 2.0
    error = paired_difference(after, before, notion=notion, n_bins=n_bins, level=each)
    score = paired_interval(before, after, metric="brier", level=each)
    return Change(error, score, level)
