"""Whether rows that assess scores were also used to fit them: such rows can promise nothing."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from calib.data.equal_rows import Overlap
from calib.evidence.binning import BinaryProblems
from calib.evidence.reductions import problems_of
from calib.evidence.rows import Rows

#: Chance that calib wrongly says that scores were fitted to these rows.
CHANCE = 1e-3
#: Exponents that are tried for Chernoff's bound.
EXPONENTS = np.linspace(0.0, 25.0, 51)
#: Largest difference of an outcome sum from score times rows, relative to the rows, that counts as equal.
EXACT = 1e-9


def used_words(overlap: Overlap | None, problems: BinaryProblems | None) -> str | None:
    """Say why these rows were used to fit the scores, or return None if nothing shows that."""
    if overlap is not None:
        return overlap.words
    if problems is not None and equals_its_outcomes(problems):
        return (
            "the scores equal the shares of right rows among these rows, so these rows were used to fit: the "
            "error is 0 in every bin of the fit"
        )
    return None


def used_rows(rows: Rows, overlap: Overlap | None) -> str | None:
    """Return `used_words` of rows; weighted or multilabel scores alone show nothing."""
    silent = rows.is_weighted or "every label" in rows.predictions.has
    return used_words(overlap, None if silent else problems_of(rows.predictions, "confidence"))


def equals_its_outcomes(problems: BinaryProblems) -> bool:
    """Whether scores equal the mean outcomes of their rows, as after a binned or isotonic fit to them.

    Rows of equal scores strictly between 0 and 1 are a cell. By chance n rows with score s have exactly n s
    right rows with a binomial probability, and (n - 1) s of all but one row, which histogram binning leaves
    out at an edge, with another. Scores were fitted to these rows if at least half of the rows in cells
    agree, and chance makes this number agree with probability below `CHANCE` (Chernoff's bound for a sum of
    independent events).
    """
    cells = [_cells(*problems.problem(index)) for index in range(problems.n_problems)]
    score, rows, right = (np.concatenate(column) for column in zip(*cells, strict=True))
    agreeing, chance = np.zeros(len(score), dtype=bool), np.zeros(len(score))
    for left_out in (0, 1):
        used = rows - left_out
        whole = np.rint(used * score)
        possible = np.abs(used * score - whole) <= EXACT * rows
        for count in (whole, whole + 1.0)[: 1 + left_out]:
            agreeing |= possible & (right == count)
            log = log_binomial(rows, count) + count * np.log(score) + (rows - count) * np.log1p(-score)
            chance += np.where(possible, np.exp(log), 0.0)
    if not agreeing.any() or 2 * rows[agreeing].sum() < rows.sum():
        return False
    chance = np.minimum(chance[chance > 0.0], 1.0)
    bounds = [np.log1p(chance * np.expm1(power)).sum() - power * agreeing.sum() for power in EXPONENTS]
    return bool(min(bounds) < np.log(CHANCE))


def _cells(scores: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts = np.flatnonzero(np.diff(scores, prepend=-1.0))
    score, rows = scores[starts].astype(np.float64), np.diff(starts, append=len(scores))
    right = np.add.reduceat(outcomes, starts, dtype=np.int64) if len(starts) else rows
    kept = (rows > 1) & (score > 0.0) & (score < 1.0)
    return score[kept], rows[kept], right[kept]


def log_binomial(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
