"""Rules that accept a prediction or send it to a person: thresholds for a target, and what they promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import betainc, betaincinv, expit, logit

from calib.answers.fitted_rows import used_words
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.acceptance import AcceptanceRule, predicted_classes
from calib.data.equal_rows import Overlap
from calib.data.predictions import BinaryPrediction
from calib.data.validation import check_alpha, check_count
from calib.evidence.binning import BinaryProblems
from calib.evidence.clusters import Dependence, too_few
from calib.evidence.rows import Rows
from calib.stats.intervals import of_few_clusters, share_of_rows

#: Of each start, how far above the target's own log-odds its thresholds begin. A calibrated model passes from
#: 0; an overconfident one only from higher up, where fewer rows are.
STARTS = (0.0, 1.0, 2.0, 4.0)
#: Thresholds go down from a start in steps of this much log-odds.
STEP = 0.05
#: Lowest log-odds of a threshold; below it everything is accepted.
LOWEST = -7.0


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Result):
    """What a rule does to labelled rows.

    Attributes
    ----------
    n_samples, n_accepted, n_wrong : int
        Rows, accepted rows, and accepted rows whose prediction is wrong.
    coverage : float
        Share of rows accepted.
    accuracy : float
        Share of accepted rows that are right; NaN if none is accepted.
    lower, upper : float
        95 % Clopper-Pearson interval of the accuracy, of as many rows as those of clusters are worth. It
        holds for rows the rule was not chosen on.
    cost : float or None
        Cost per row in reviews, where the rule has a cost.
    """

    n_samples: int
    n_accepted: int
    n_wrong: int
    coverage: float
    accuracy: float
    lower: float
    upper: float
    cost: float | None

    @property
    def n_reviews(self) -> int:
        """Rows left to a person."""
        return self.n_samples - self.n_accepted


@dataclass(frozen=True, eq=False, repr=False)
class DecisionRule(AcceptanceRule):
    """A rule as `decide` chose it, see `AcceptanceRule`, with what it does to the rows it was chosen on.

    Attributes
    ----------
    outcome : Outcome
        What the rule does to the rows it was chosen on.
    needed : int or None
        Where an accuracy cannot be supported: about how many rows would do at least, if the share of wrong
        ones stayed as it is here; None where the target is supported, or that share is too large.
    reached : bool
        Whether some score is as large as the accuracy asked for, from where the search for a threshold goes
        down; True for other targets.
    unpromised : str or None
        Why nothing is promised although the rows would support it: they were used to fit the scores, or come
        from too few clusters.
    """

    outcome: Outcome
    needed: int | None
    reached: bool
    unpromised: str | None = None

    @property
    def coverage(self) -> float:
        """Share of the rows the rule was chosen on that it accepts."""
        return self.outcome.coverage

    @property
    def sentence(self) -> str:
        """What the rule does to the rows it was chosen on, and what it promises."""
        done = self.outcome
        words = f"{done.n_accepted:,} of {done.n_samples:,} predictions pass ({done.coverage:.1%})"
        if done.n_accepted:
            words += f", {done.n_wrong:,} of them wrong (accuracy {done.accuracy:.4f})"
        words += f"; {done.n_reviews:,} are left to a person."
        if done.cost is not None:
            words += (
                f" The mean cost is {done.cost:.4f} reviews per row on these rows, which the thresholds were "
                "chosen on; on new rows it is larger on average. Leaving all to a person costs 1."
            )
        if self.unpromised is not None:
            words += f" Nothing is promised of new rows: {self.unpromised}. Choose the rule on other rows."
        elif self.guarantee is not None:
            words += f" {self.guarantee}"
        elif not self.reached:
            words += (
                f" No score here reaches {self.value:.4g}, from where the search for a threshold goes down: "
                "calibrate the scores first, or ask for less."
            )
        elif self.target == "accuracy" and self.needed is not None:
            words += (
                f" These rows are too few to promise an accuracy of {self.value:.4g}: about {self.needed:,} "
                "rows would do, if the share of wrong ones among the most confident stayed as it is here."
            )
        elif self.target == "accuracy":
            words += f" Even of the most confident predictions a share below {self.value:.4g} is right here."
        return words

    def evaluate(self, y_true: Any, scores: Any, *, cluster: Any = None) -> Outcome:
        """Return what the rule does to other labelled rows; parameters are those of `decide`."""
        problems = _problems(_rows(y_true, scores, cluster), self.by)
        return _outcome(problems, self.thresholds, self.value if self.target == "cost" else None)

    def frame(self) -> pd.DataFrame:
        """Return the thresholds as a table, one row per class (a single one, -1, for all)."""
        label = np.arange(len(self.thresholds)) if self.by else np.array([-1])
        return pd.DataFrame({"label": label, "threshold": self.thresholds})


def decide(
    y_true: Any,
    scores: Any,
    *,
    accuracy: float | None = None,
    reviews: float | None = None,
    cost: float | None = None,
    by: Literal["class"] | None = None,
    alpha: float = 0.1,
    choices: int = 1,
    cluster: Any = None,
    overlap: Overlap | None = None,
) -> DecisionRule:
    """Choose which predictions may pass without a person.

    Parameters
    ----------
    y_true : (n,) array_like
        True class codes; for 1-D scores whether the prediction is right, 0 or 1.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        1-D scores are confidences. A `BinaryPrediction` predicts its class 1 above 0.5 and else 0, with
        confidence p or 1 - p. Take rows that neither the model nor its calibrator was fitted on: the
        guarantee needs that.
    accuracy : float in (0, 1), optional
        At least this share of what is accepted is to be right.
    reviews : float or int, optional
        At most this many rows may be left to a person: a share in (0, 1), or a number of rows out of as many
        as there are here.
    cost : float above 1, optional
        An accepted wrong prediction costs as much as this many reviews; the mean cost is made smallest.
    by : {"class"}, optional
        One threshold for each predicted class, for `accuracy` and `cost`.
    alpha : float in (0, 1), default 0.1
        The guarantee misses with at most this probability.
    choices : int, default 1
        Models or calibrators among which these rows are to choose: alpha is divided among them, so that the
        guarantees of all hold at once.
    cluster : (n,) array_like of int, str or time, optional
        Id of what each row belongs to; by default those that predictions came with.
    overlap : Overlap, optional
        What `calib.data.equal_rows.overlap` found of the rows that the calibrator was fitted on.

    Returns
    -------
    DecisionRule
        It promises nothing if rows were used to fit: if `overlap` says so, or if the scores are the means of
        these rows' own outcomes; and nothing if there are fewer than 10 clusters.

    Raises
    ------
    InputError
        If there is not exactly one target, a value is out of range, or the scores do not have what `by`
        needs.

    Notes
    -----
    **Accuracy.** Fixed-sequence testing (Angelopoulos, Bates, Candès, Jordan & Lei, "Learn then test", 2021).
    Thresholds are fixed before a label is seen. From each of `STARTS` they go down in steps; at each, the
    hypothesis "more than 1 - accuracy of what is accepted is wrong" is tested with the exact binomial tail of
    the wrong rows among the accepted ones, until it is not rejected. A start gets alpha / 4, and with
    `by="class"` a class alpha / L of it (Bonferroni). All thresholds that pass keep the target at once with
    probability 1 - alpha; the lowest is taken, but none below the lowest confidence of these rows: nothing is
    known of rows below it. With `by="class"` each class keeps it.

    If rows belong together, the wrong rows vary as those of a model whose accepted rows are all wrong with
    the same chance and have the file's one correlation (`calib.evidence.clusters`): the tail is that of as
    many rows as have this variance, fewer if clusters are few (Korn & Graubard 1998).
    ``benchmarks/decision_guarantee.py`` prints how often the target is missed.

    **Reviews.** The share of new rows below the k-th smallest of n confidences has a Beta(k, n - k + 1)
    distribution, or is smaller where confidences tie; its 1 - alpha quantile is promised. If rows belong
    together, n and k are those of as many independent rows.

    **Cost.** The smallest mean cost on these rows is not promised for others: see `DecisionRule.evaluate`.
    If confidence is calibrated, the best threshold is 1 - 1 / cost. A class that is never predicted here is
    left to a person.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("resnet").evaluation
    >>> rule = decide(rows.labels, rows, accuracy=0.99)
    >>> bool(rule.coverage > 0.5)
    True
    """
    given = {
        name: float(value)
        for name, value in (("accuracy", accuracy), ("reviews", reviews), ("cost", cost))
        if value is not None
    }
    if len(given) != 1:
        raise InputError(f"give one target: accuracy, reviews or cost; got {', '.join(given) or 'none'}")
    if by not in (None, "class"):
        raise InputError(f'by must be None or "class"; got {by!r}')
    alpha = check_alpha(alpha) / check_count(choices, "choices", 1)
    (target, value), *_ = given.items()
    rows = _rows(y_true, scores, cluster)
    problems = _problems(rows, by)
    problems.check_unweighted("decide", "its binomial guarantee counts rows")
    if target == "accuracy":
        thresholds, guarantee, needed = _for_accuracy(problems, rows.dependence, value, alpha, by)
    else:
        choose = {"reviews": _for_reviews, "cost": _for_cost}[target]
        thresholds, guarantee, needed = choose(problems, value, alpha, by)
    outcome = _outcome(problems, thresholds, value if target == "cost" else None)
    unpromised = used_words(overlap, problems)
    if unpromised is None and guarantee is not None:
        unpromised = too_few(rows.n_clusters)
    guarantee = guarantee if unpromised is None else None
    of_event = isinstance(scores, BinaryPrediction)
    chosen: dict[str, Any] = {"thresholds": thresholds, "by": by, "target": target, "value": value}
    chosen |= {"alpha": alpha, "guarantee": guarantee, "of_event": of_event}
    reached = True
    if target == "accuracy":
        grid, starts = grid_of(value)
        reached = bool(problems.scores.max() >= grid[max(starts)])
    return DecisionRule(**chosen, outcome=outcome, needed=needed, reached=reached, unpromised=unpromised)


def _rows(y_true: Any, scores: Any, cluster: Any) -> Rows:
    return Rows(y_true, predicted_classes(scores), cluster=cluster)


def _problems(rows: Rows, by: str | None) -> BinaryProblems:
    """Return (confidence, right) of each predicted class, or of all."""
    return rows.problems("top-label" if by else "confidence")


def grid_of(accuracy: float) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the thresholds for a target, descending to 0, and the position of each start among them."""
    steps = np.arange(round(max(STARTS) / STEP), int((LOWEST - logit(accuracy)) / STEP) - 1, -1)
    thresholds = np.append(expit(logit(accuracy) + steps * STEP), 0.0)
    return thresholds, tuple(round((max(STARTS) - start) / STEP) for start in STARTS)


def passed(
    accepted: np.ndarray,
    wrong: np.ndarray,
    risk: float,
    starts: tuple[int, ...],
    level: float,
    worth: np.ndarray | float = 1.0,
) -> int:
    """Return the position of the last threshold that passes from any start, -1 if none does.

    Parameters
    ----------
    accepted, wrong : (m,) int arrays
        Accepted rows, and wrong ones among them, at each threshold, descending.
    risk : float
        Largest share of wrong rows.
    starts : tuple of int
        Where each sequence of tests starts.
    level : float
        Level of each sequence.
    worth : (m,) float64 array or float
        Independent rows that an accepted row is worth.
    """
    tail = _tail(accepted * worth, wrong * worth, risk)
    last = -1
    for start in starts:
        fails = np.flatnonzero(tail[start:] > level)
        end = start + (fails[0] if len(fails) else len(tail) - start)
        if end > start:
            last = max(last, end - 1)
    return last


def _tail(rows: Any, wrong: Any, risk: float) -> Any:
    """Return the chance of at most that many wrong rows: the binomial tail, also of parts of rows."""
    right = np.maximum(rows - wrong, 0.0)
    return np.where(right > 0.0, betainc(np.maximum(right, 1e-9), wrong + 1.0, 1.0 - risk), 1.0)


def _counts(
    confidence: np.ndarray, right: np.ndarray, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return accepted rows and wrong ones among them at each threshold, from ascending confidences."""
    first = np.searchsorted(confidence, thresholds)
    wrong = np.append(np.cumsum(~right[::-1])[::-1], 0)
    return len(confidence) - first, wrong[first]


def _for_accuracy(
    problems: BinaryProblems, dependence: Dependence | None, accuracy: float, alpha: float, by: str | None
) -> tuple[np.ndarray, str | None, int | None]:
    if not 0.0 < accuracy < 1.0:
        raise InputError(f"accuracy must be a share in (0, 1), such as 0.99; got {accuracy:g}")
    grid, starts = grid_of(accuracy)
    level = alpha / len(starts) / problems.n_problems
    thresholds = np.full(problems.n_problems, np.inf)
    needed = []
    risk = 1.0 - accuracy
    for index in range(problems.n_problems):
        accepted, wrong = _counts(*problems.problem(index), grid)
        worth = np.ones(len(grid))
        if dependence is not None:
            row = problems.rows[problems.offsets[index] : problems.offsets[index + 1]][::-1]
            few = of_few_clusters(len(np.unique(dependence.cluster[row])), 2.0 * level)
            worth = few / dependence.effects_of_first(row, risk)[accepted]
        last = passed(accepted, wrong, risk, starts, level, worth)
        if last >= 0:
            thresholds[index] = max(grid[last], float(problems.problem(index)[0][0]))
        else:
            needed.append(_rows_needed(accepted, wrong, risk, starts, level, problems.n_samples, worth))
    if np.isinf(thresholds).all():
        known = [rows for rows in needed if rows is not None]
        return thresholds, None, min(known) if known else None
    scope = "of each predicted class" if by else ""
    guarantee = (
        f"With probability {1 - alpha:.3g} at least {accuracy:.4g} of what is accepted {scope}".rstrip()
        + " is right, among new rows from the same source."
    )
    return thresholds, guarantee, None


def _rows_needed(
    accepted: np.ndarray,
    wrong: np.ndarray,
    risk: float,
    starts: tuple[int, ...],
    level: float,
    n_samples: int,
    worth: np.ndarray,
) -> int | None:
    """Return how many rows the first test of some start would need, if as few were wrong as here."""
    needed = []
    for start in starts:
        if not accepted[start]:
            continue
        share = wrong[start] / accepted[start]
        if share >= risk:
            continue

        def passes(rows: int, share: float = share, each: float = float(worth[start])) -> bool:
            return bool(_tail(rows * each, np.ceil(rows * share) * each, risk) <= level)

        needed.append(_smallest(passes, int(accepted[start])) * n_samples / accepted[start])
    return int(np.ceil(min(needed))) if needed else None


def _smallest(passes: Callable[[int], bool], low: int) -> int:
    """Return a number of rows above `low` that passes, found by doubling and halving."""
    high = max(2 * low, 2)
    while not passes(high) and high < 2**40:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _for_reviews(
    problems: BinaryProblems, reviews: float, alpha: float, by: str | None
) -> tuple[np.ndarray, str | None, int | None]:
    if by is not None:
        raise InputError('reviews takes one threshold for all classes; leave out by="class"')
    n = problems.n_samples
    most = int(np.floor(reviews * n if reviews < 1.0 else reviews))
    if not reviews >= 0.0 or most >= n:
        raise InputError(f"reviews must be a share in (0, 1) or a number of rows below {n}; got {reviews:g}")
    confidence = problems.problem(0)[0]
    threshold = float(confidence[most])  # rows below it: `most`, or fewer where confidences tie
    worth = 1.0
    if problems.row_cluster is not None:
        below = np.zeros(n)
        below[problems.rows[:most]] = 1.0
        sums = np.bincount(problems.row_cluster, below - below.mean())
        alone = n * below.mean() * (1.0 - below.mean()) * (1.0 - 1.0 / len(sums))
        worth = of_few_clusters(len(sums), 2.0 * alpha) * min(alone / max(float(sums @ sums), 1e-300), 1.0)
        if not most:  # none is below: what is unseen comes by whole clusters
            worth = len(sums) / n
    bound = float(betaincinv(most * worth + 1.0, (n - most) * worth, 1.0 - alpha))
    guarantee = (
        f"With probability {1 - alpha:.3g} at most {bound:.4g} of new rows from the same source are left to "
        "a person."
    )
    return np.array([threshold]), guarantee, None


def _for_cost(
    problems: BinaryProblems, cost: float, alpha: float, by: str | None
) -> tuple[np.ndarray, str | None, int | None]:
    if not (np.isfinite(cost) and cost > 1.0):
        raise InputError(f"cost must be above 1, the cost of a review; got {cost:g}")
    thresholds = np.full(problems.n_problems, np.inf)
    for index in range(problems.n_problems):
        confidence, right = problems.problem(index)
        if not len(confidence):
            continue
        candidates = np.append(np.unique(confidence), np.inf)
        accepted, wrong = _counts(confidence, right, candidates)
        best = int(np.argmin(cost * wrong + (len(confidence) - accepted)))
        thresholds[index] = candidates[best]
    return thresholds, None, None


def _outcome(problems: BinaryProblems, thresholds: np.ndarray, cost: float | None) -> Outcome:
    of_problem = np.repeat(thresholds, np.diff(problems.offsets)) if len(thresholds) > 1 else thresholds
    taken = problems.scores >= of_problem
    n, accepted = problems.n_samples, int(taken.sum())
    wrong = accepted - int(problems.outcomes[taken].sum())
    accuracy = 1.0 - wrong / accepted if accepted else float("nan")
    cluster = None if problems.row_cluster is None else problems.row_cluster[problems.rows[taken]]
    lower, upper = share_of_rows(problems.outcomes[taken], cluster, 0.05)
    price = None if cost is None else (cost * wrong + n - accepted) / n
    return Outcome(n, accepted, wrong, accepted / n, accuracy, lower, upper, price)
