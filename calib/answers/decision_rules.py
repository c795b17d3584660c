"""Rules that accept a prediction or send it to a person: thresholds for a target, and what they promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression
from scipy.special import betainc, betaincinv, expit

from calib.answers.calibrated import used_words
from calib.answers.event_rules import EventRule, event_rule
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.acceptance import AcceptanceRule, predicted_classes
from calib.data.equal_rows import Overlap
from calib.data.predictions import BinaryPrediction, Scores, Values
from calib.data.validation import (
    as_groups,
    check_alpha,
    check_choice,
    check_count,
    codes_among,
)
from calib.evidence.binning import BinaryProblems
from calib.evidence.clusters import Clusters, Dependence, even_clusters_of, too_few
from calib.evidence.rows import Rows, Source, as_evidence
from calib.stats.intervals import few_clusters_factor, share_of_rows

#: Accuracies that are promised at once (times `choices`): any may be chosen after a look at the table.
ACCURACIES = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)
#: Sequences of tests that `decide` starts, from few to many confident rows.
STARTS = 4
#: Fewest rows from whose share of wrong rows calib predicts how many rows would suffice.
MIN_SHOWN = 10
#: Log-odds of the highest threshold.
HIGHEST = 12.0
#: Distance of thresholds in log-odds.
STEP = 0.05
#: Log-odds of the lowest threshold above 0.
LOWEST = -7.0


@dataclass(frozen=True, eq=False, repr=False)
class RuleEffect(Result):
    """Effect of a rule on labelled rows."""

    #: Rows, accepted rows, and accepted rows whose prediction is wrong
    n_samples: int
    n_accepted: int
    n_wrong: int
    coverage: float  #: Share of rows accepted
    accuracy: float  #: Share of accepted rows that are right; NaN if none is accepted
    #: 95 % Clopper-Pearson interval of the accuracy, for rows the rule was not chosen on
    lower: float
    upper: float
    cost: float | None  #: Cost per row in reviews, if the rule has a cost

    @property
    def n_reviews(self) -> int:
        """Rows left to a person."""
        return self.n_samples - self.n_accepted


@dataclass(frozen=True)
class EventsAccepted:
    """What a rule does with the events, the rows with Y = 1, or of the second and rarer of two classes."""

    n_samples: int  #: Rows
    n_events: int  #: Rows with Y = 1
    n_missed: int  #: Of these, rows that pass as Y = 0

    @property
    def larger(self) -> float:
        """Share of the larger class: its constant prediction is right as often."""
        return max(self.n_events, self.n_samples - self.n_events) / self.n_samples

    @property
    def words(self) -> str:
        """Say that an accuracy means little here, and how many events are missed."""
        return (
            f"Predicting the larger class for all rows is right in {self.larger:.2%} and keeps this promise, "
            f"too: {self.n_missed:,} of {self.n_events:,} events pass as Y = 0. A sensitivity promises the "
            "share of events that is found."
        )


@dataclass(frozen=True, eq=False, repr=False)
class DecisionRule(AcceptanceRule):
    """A rule that `decide` chose (see `AcceptanceRule`), with its effect on the rows it was chosen on."""

    effect: RuleEffect  #: Effect of the rule on the rows it was chosen on
    #: About how many rows would support the accuracy if the share of wrong rows stays; None if none would
    needed: int | None
    n_clusters: int | None = None  #: Clusters of the rows; None if rows are independent
    events: EventsAccepted | None = None  #: For an event, what happens to the rows with Y = 1
    #: Share of the right predictions that is promised to be accepted, beside the accuracy
    recall: float | None = None
    #: Why nothing is promised although enough rows are right: rows were fitted, clusters are few, or depend
    unpromised: str | None = None
    dependence: str | None = None  #: Which rows may belong together: the rule is the more careful one

    @property
    def coverage(self) -> float:
        """Share of accepted rows among the rows that the rule was chosen on."""
        return self.effect.coverage

    @property
    def sentence(self) -> str:
        """The effect of the rule on the rows it was chosen on, and its promise."""
        done = self.effect
        words = f"{done.n_accepted:,} of {done.n_samples:,} predictions pass ({done.coverage:.1%})"
        if done.n_accepted and self.by is None:
            words += f" with a confidence of at least {self.thresholds[0]:.6f}"
        if done.n_accepted:
            words += f", {done.n_wrong:,} of them wrong (accuracy {done.accuracy:.4f})"
        words += f"; {done.n_reviews:,} are left to a person."
        if done.cost is not None:
            words += (
                f" The mean cost is {done.cost:.4f} reviews per row on these rows, which the thresholds were "
                "chosen on; on new rows it is larger on average. Leaving all to a person costs 1."
            )
        if self.unpromised is not None:
            words += f" Nothing is promised for new rows: {self.unpromised}."
        elif self.guarantee is not None:
            words += f" {self.guarantee}"
            if self.events is not None and self.target == "accuracy" and self.value <= self.events.larger:
                words += f" {self.events.words}"
        elif self.target == "accuracy" and self.needed is not None:
            takes = f"at least {self.needed:,} rows"
            if self.n_clusters is not None:
                takes = f"more than these {self.n_clusters:,} clusters"
            words += (
                f" These rows are too few to promise an accuracy of {self.value:.4g}: it takes {takes}, if "
                "the same share of the most confident rows is wrong there."
            )
        elif self.recall is not None:
            words += f" No threshold keeps an accuracy of {self.value:.4g} and a recall of {self.recall:.4g}."
        elif self.target == "accuracy":
            words += (
                f" Even among the most confident predictions, the accuracy here is below {self.value:.4g}."
            )
        if self.dependence is not None:
            words += f" {self.dependence[0].upper()}{self.dependence[1:]} may belong together: this is the "
            words += "more careful of both answers."
        return words

    def evaluate(
        self,
        y_true: Source,
        scores: Scores | None = None,
        *,
        groups: Values | None = None,
        sample_weight: Values | None = None,
        cluster: Values | None = None,
    ) -> RuleEffect:
        """Return the effect of the rule on other labelled rows; parameters as for `decide` and `accept`."""
        rows = rows_to_accept(y_true, scores, sample_weight, cluster)
        cost = self.value if self.target == "cost" else None
        if self.by != "group":
            return _effect(_problems(rows, self.by), rows.clusters, self.thresholds, cost)
        code = codes_among(as_groups(self.groups_of(rows.predictions, groups), rows.n_given), self.groups)
        code = np.where(code < 0, len(self.groups), code)
        problems, owner = _problems_of_groups(rows, code, self.groups)
        return _effect(problems, rows.clusters, np.append(self.thresholds, (np.inf, np.inf))[owner], cost)

    def frame(self) -> pd.DataFrame:
        """Return the thresholds as a table, one row per class or group (one row, -1, for all classes)."""
        label = np.arange(len(self.thresholds)) if self.by else np.array([-1])
        if self.by == "group":
            return pd.DataFrame({"group": self.groups, "threshold": self.thresholds})
        return pd.DataFrame({"label": label, "threshold": self.thresholds})


@overload
def decide(
    y_true: Source,
    scores: Scores | None = None,
    *,
    accuracy: float | None = None,
    recall: float | None = None,
    reviews: float | None = None,
    cost: float | None = None,
    by: Literal["class"] | Values | None = None,
    promise: Literal["overall", "each"] = "overall",
    alpha: float = 0.1,
    choices: int = 1,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    overlap: Overlap | None = None,
) -> DecisionRule: ...
@overload
def decide(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sensitivity: float | None = None,
    precision: float | None = None,
    false_positive_rate: float | None = None,
    alpha: float = 0.1,
    choices: int = 1,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    overlap: Overlap | None = None,
) -> EventRule: ...
def decide(
    y_true: Source,
    scores: Scores | None = None,
    *,
    accuracy: float | None = None,
    recall: float | None = None,
    reviews: float | None = None,
    cost: float | None = None,
    sensitivity: float | None = None,
    precision: float | None = None,
    false_positive_rate: float | None = None,
    by: Literal["class"] | Values | None = None,
    promise: Literal["overall", "each"] = "overall",
    alpha: float = 0.1,
    choices: int = 1,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    overlap: Overlap | None = None,
) -> DecisionRule | EventRule:
    """Choose which predictions may pass without a person, or from which P(Y = 1) on to act.

    Parameters
    ----------
    y_true : (n,) array_like
        As for `calib.ece`.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores of rows that neither the model nor its calibrator was fitted on. 1-D scores are P(Y = 1): class
        1 is predicted above 0.5, with confidence p or 1 - p. Confidences are a `ConfidencePrediction`.
    accuracy : float in (0, 1), optional
        At least this share of the accepted predictions is to be right.
    recall : float in (0, 1), optional
        With `accuracy`: at least this share of the right predictions is to be accepted, too.
    reviews : float or int, optional
        At most this many rows may be left to a person: a share in (0, 1), or a number of rows.
    cost : float above 1, optional
        Cost of an accepted wrong prediction in reviews; the mean cost is made smallest.
    sensitivity, precision : float in (0, 1), optional
        For P(Y = 1), one or several: at least this share of the events is to be acted on, and at least this
        share of the rows acted on are to be events.
    false_positive_rate : float in (0, 1), optional
        At most this share of the rows without the event is to be acted on.
    by : "class" or (n,) array_like, optional
        One threshold for each predicted class, or for each value of a column, such as a document type; for
        `accuracy` and `cost`. New rows with another value go to a person. A named Series is found again by
        its name, also by a calibrator file.
    promise : {"overall", "each"}, default "overall"
        Whether, with `by`, an accuracy is promised for what all classes or groups accept together, or for
        each.
    alpha : float in (0, 1), default 0.1
        The guarantee misses with at most this probability.
    choices : int, default 1
        Models, calibrators or accuracies among which these rows are to choose: alpha is divided among them.
    sample_weight, cluster
        As for `calib.noise_floor`; the guarantee counts rows, so weights raise `InputError`.
    overlap : Overlap, optional
        The result of `calib.data.equal_rows.overlap` for the calibrator's record of its fit.

    Returns
    -------
    DecisionRule, or EventRule for targets of an event
        It promises nothing if rows were used to fit (by `overlap`, or if the scores are the means of these
        rows' own outcomes), or if there are fewer than 10 clusters.

    Raises
    ------
    InputError
        If there is not exactly one target, a value is out of range, or the scores do not have what `by`
        needs.

    Notes
    -----
    **Accuracy.** Fixed-sequence testing (Angelopoulos, Bates, Candès, Jordan & Lei, "Learn then test", 2021).
    From each of four starts, with alpha / 4 each, thresholds that were fixed before go down until "more than
    1 - accuracy of the accepted are wrong" is not rejected by the exact binomial tail. The lowest that
    passes is taken. With `recall`, half of alpha is for a second sequence, which starts at all rows and goes
    up.

    With `by`, one half of the rows ranks all rows by the accuracy of their class or group at their
    confidence, and each rank is tested on the other half. With `promise="each"`, each must keep the target on
    its own, at alpha divided by the number of predicted classes or of groups (Bonferroni).

    With clusters the tail has the effective number of accepted rows (`calib.evidence.clusters`), fewer if
    clusters are few (Korn & Graubard 1998).

    **Reviews.** The share of new rows below the k-th smallest of n confidences has a Beta(k, n - k + 1)
    distribution; its 1 - alpha quantile is promised. With clusters n and k are effective.

    **Cost.** The smallest mean cost on these rows is not promised for others: see `DecisionRule.evaluate`. If
    confidence is calibrated, the best threshold is 1 - 1 / cost. A class that is never predicted here is left
    to a person.

    **Events.** Thresholds of a fixed grid are tested with alpha divided by the number of targets: sensitivity
    from 0 upwards, false positive rate downwards, precision as an accuracy. Of those that keep all targets
    the highest is taken if a sensitivity is promised, else the lowest.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("resnet").evaluation
    >>> rule = decide(rows, accuracy=0.99)
    >>> bool(rule.coverage > 0.5)
    True
    """
    named = {"accuracy": accuracy, "reviews": reviews, "cost": cost}
    given = {name: float(value) for name, value in named.items() if value is not None}
    rate = false_positive_rate
    of_events = {"sensitivity": sensitivity, "precision": precision, "false_positive_rate": rate}
    targets = {name: value for name, value in of_events.items() if value is not None}
    if len(given) + bool(targets) != 1:
        raise InputError(
            "give one target: accuracy, reviews or cost, or for P(Y = 1) any of sensitivity, precision and "
            f"false_positive_rate; got {', '.join([*given, *targets]) or 'none'}"
        )
    if isinstance(by, str) and by != "class":
        raise InputError(f'by must be None, "class" or the values of a column, one per row; got {by!r}')
    alpha = check_alpha(alpha) / check_count(choices, "choices", 1)
    as_given = _given_rows(y_true, scores, sample_weight, cluster)
    if targets:
        if by is not None or recall is not None:
            raise InputError("targets of an event take one threshold; leave out by and recall")
        return event_rule(as_given, targets, alpha, overlap)
    (target, value), *_ = given.items()
    if recall is not None and (target != "accuracy" or not 0.0 < recall < 1.0):
        raise InputError(f"recall must be a share in (0, 1) beside accuracy; got {recall!r} with {target}")
    rows, is_event = _predicted(as_given), isinstance(as_given.predictions, BinaryPrediction)
    check_choice(promise, ("overall", "each"), "promise")
    grouped = None if by is None or isinstance(by, str) else as_groups(by, rows.n_given)
    _problems(rows, None).check_unweighted("decide", "its binomial guarantee counts rows")
    kind = "group" if grouped else by
    asked: dict[str, Any] = {"target": target, "value": value, "recall": recall, "by": kind, "alpha": alpha}
    asked |= {"grouped": grouped, "column": getattr(by, "name", None)}
    asked |= {"overall": promise == "overall", "overlap": overlap, "of_event": is_event}
    if target == "cost" or rows.suspected is None:
        return _rule(rows, **asked)
    rules = [_rule(reading, **asked) for reading in rows.readings[::-1]]
    careful = min(rules, key=lambda rule: (rule.guarantee is not None, rule.coverage))
    return replace(careful, dependence=rows.suspected.rows)


def _rule(
    rows: Rows,
    *,
    target: Literal["accuracy", "reviews", "cost"],
    value: float,
    recall: float | None,
    by: Literal["class", "group"] | None,
    alpha: float,
    overall: bool,
    grouped: tuple[np.ndarray, tuple[str, ...]] | None,
    column: str | None,
    overlap: Overlap | None,
    of_event: bool,
) -> DecisionRule:
    problems = _problems(rows, by) if grouped is None else _problems_of_groups(rows, *grouped)[0]
    names = grouped[1] if grouped else ()
    if target == "accuracy":
        thresholds, guarantee, needed = _for_accuracy(
            problems, rows.dependence, value, recall, alpha, overall, by
        )
    else:
        choose = {"reviews": _for_reviews, "cost": _for_cost}[target]
        thresholds, guarantee, needed = choose(problems, rows.clusters, value, alpha, by)
    effect = _effect(problems, rows.clusters, thresholds, value if target == "cost" else None)
    unpromised = used_words(overlap, problems)
    if unpromised is None and guarantee is not None:
        unpromised = too_few(rows.n_clusters)
    guarantee = guarantee if unpromised is None else None
    thresholds = thresholds[: len(names)] if by == "group" else thresholds
    chosen: dict[str, Any] = {"thresholds": thresholds, "by": by, "target": target, "value": value}
    chosen |= {"groups": names, "column": column}
    chosen |= {"alpha": alpha, "guarantee": guarantee, "of_event": of_event}
    two = getattr(rows.predictions, "n_classes", 0) == 2 and bool(rows.labels.mean() < 0.5)
    chosen |= {
        "n_clusters": rows.n_clusters,
        "events": _events(rows, problems, thresholds) if of_event or two else None,
    }
    return DecisionRule(**chosen, effect=effect, needed=needed, recall=recall, unpromised=unpromised)


def _events(rows: Rows, problems: BinaryProblems, thresholds: np.ndarray) -> EventsAccepted:
    accepted = np.zeros(rows.n_samples, dtype=bool)
    accepted[problems.rows[_taken(problems, thresholds)]] = True
    event = rows.labels == 1
    missed = event & accepted & (rows.claims()[0] == 0)
    return EventsAccepted(rows.n_samples, int(event.sum()), int(missed.sum()))


def rows_to_accept(
    y_true: Source, scores: Scores | None, sample_weight: Values | None, cluster: Values | None
) -> Rows:
    """Return evidence of what can be accepted: P(Y = 1) as predicted classes, with its confidence."""
    return _predicted(_given_rows(y_true, scores, sample_weight, cluster))


def _given_rows(
    y_true: Source, scores: Scores | None, sample_weight: Values | None, cluster: Values | None
) -> Rows:
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if not isinstance(evidence, Rows):
        raise InputError("what can be accepted is decided row by row; a summary holds only sums")
    return evidence


def _predicted(rows: Rows) -> Rows:
    if type(rows) is Rows and isinstance(rows.predictions, BinaryPrediction):
        return rows.of_scores(predicted_classes(rows.predictions))
    return rows


def _problems(rows: Rows, by: str | None) -> BinaryProblems:
    return rows.problems("top-label" if by else "confidence")


def _problems_of_groups(
    rows: Rows, code: np.ndarray, names: tuple[str, ...]
) -> tuple[BinaryProblems, np.ndarray]:
    """Return a problem for each group that has rows, and one without rows, with the group of each."""
    part = rows.groups("group", (*names, "another"), code, "confidence")
    return part.evidence.problems("top-label"), part.owner


def grid() -> np.ndarray:
    """Return the thresholds that `decide` tests, descending to 0, the same for all data."""
    return np.append(expit(np.arange(HIGHEST, LOWEST - STEP / 2, -STEP)), 0.0)


def starts_of(accepted: np.ndarray, risk: float, level: float, worth: float = 1.0) -> list[int]:
    """Return the positions at which tests start; their coverages have equal ratios, up to all rows."""
    total = float(accepted[-1])
    least = min(2.0 * np.log(level) / np.log1p(-risk) / worth, total)
    counts = total * (least / total) ** (np.arange(STARTS)[::-1] / (STARTS - 1))
    return np.searchsorted(accepted, np.maximum(np.floor(counts), 1.0)).tolist()


def passed(
    accepted: np.ndarray,
    wrong: np.ndarray,
    risk: float,
    starts: Sequence[int],
    level: float,
    worth: np.ndarray | float = 1.0,
) -> int:
    """Return the position of the last threshold that passes from any start, -1 if none does."""
    tail = _tail(accepted * worth, wrong * worth, risk)
    last = -1
    for start in starts:
        fails = np.flatnonzero(tail[start:] > level)
        end = start + (fails[0] if len(fails) else len(tail) - start)
        if end > start:
            last = max(last, end - 1)
    return last


def _tail(rows: Any, wrong: Any, risk: float) -> Any:
    """Return the chance of at most `wrong` wrong rows: the binomial tail, also for fractions of rows."""
    right = np.maximum(rows - wrong, 0.0)
    return np.where(right > 0.0, betainc(np.maximum(right, 1e-9), wrong + 1.0, 1.0 - risk), 1.0)


def _counts(
    confidence: np.ndarray, right: np.ndarray, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of accepted and of wrong accepted rows at each threshold."""
    first = np.searchsorted(confidence, thresholds)
    wrong = np.append(np.cumsum(~right[::-1])[::-1], 0)
    return len(confidence) - first, wrong[first]


#: Thresholds, a phrase for what the promise is about (None without a promise), and rows that suffice, if
#: known.
Found = tuple[np.ndarray, str | None, int | None]


def _for_accuracy(
    problems: BinaryProblems,
    dependence: Dependence | None,
    accuracy: float,
    recall: float | None,
    alpha: float,
    overall: bool,
    by: Literal["class", "group"] | None,
) -> Found:
    if not 0.0 < accuracy < 1.0:
        raise InputError(f"accuracy must be a share in (0, 1), such as 0.99; got {accuracy:g}")
    search = _overall if overall and problems.n_problems > 1 else _each
    limits = 1.0 - accuracy, recall or 0.0
    thresholds, scope, needed = search(problems, dependence, limits, alpha / STARTS)
    if scope is None:
        return thresholds, None, needed
    if by == "group":
        scope = scope.replace("predicted class", "group").replace("classes", "groups")
    guarantee = (
        f"With probability {1 - alpha:.3g} at least {accuracy:.4g} of the "
        f"accepted predictions{scope} are right, "
        + (f"and at least {recall:.4g} of the right predictions are accepted, " if recall else "")
        + "among new rows from the same source."
    )
    return thresholds, guarantee, None


def _each(
    problems: BinaryProblems, dependence: Dependence | None, limits: tuple[float, float], level: float
) -> Found:
    level, tested = level / np.count_nonzero(np.diff(problems.offsets)), grid()
    thresholds = np.full(problems.n_problems, np.inf)
    needed = []
    for index in range(problems.n_problems):
        confidence, right = problems.problem(index)
        rows = problems.rows[problems.offsets[index] : problems.offsets[index + 1]]
        last, rows_needed = _search(
            confidence, right, rows, tested, dependence, limits, level, problems.n_samples
        )
        if last >= 0:
            thresholds[index] = max(tested[last], float(confidence[0]))
        elif rows_needed is not None:
            needed.append(rows_needed)
    if np.isinf(thresholds).all():
        return thresholds, None, min(needed, default=None)
    return thresholds, " of each predicted class" if problems.n_problems > 1 else "", None


def _overall(
    problems: BinaryProblems, dependence: Dependence | None, limits: tuple[float, float], level: float
) -> Found:
    """Search a threshold for each class: half of the rows ranks the rows, the other half tests the ranks."""
    if dependence is None:
        first = np.zeros(problems.n_samples, dtype=bool)
        first[problems.rows[::2]] = True
    else:
        first = dependence.cluster % 2 == 0
    rank = np.zeros(problems.n_samples)
    right = np.zeros(problems.n_samples, dtype=bool)
    curves, lowest = [], []
    for index in range(problems.n_problems):
        confidence, outcome = problems.problem(index)
        rows = problems.rows[problems.offsets[index] : problems.offsets[index + 1]]
        mine = first[rows]
        score, count, happened = _distinct(confidence[mine], outcome[mine])
        curve = isotonic_regression(happened / np.maximum(count, 1), weights=count).x
        rank[rows] = np.append(0.0, curve)[np.searchsorted(score, confidence, side="right")]
        right[rows] = outcome
        curves.append((score, curve))
        lowest.append(float(confidence[~mine].min(initial=np.inf)))
    rows = np.flatnonzero(~first)
    rows = rows[np.argsort(rank[rows], kind="stable")]
    tested = np.unique(np.concatenate([curve for _, curve in curves]))[::-1]
    last, needed = _search(
        rank[rows], right[rows], rows, tested, dependence, limits, level, problems.n_samples
    )
    if last < 0:
        return np.full(problems.n_problems, np.inf), None, needed
    thresholds = np.full(problems.n_problems, np.inf)
    for index, (score, curve) in enumerate(curves):
        accepted = score[np.searchsorted(curve, tested[last]) :]
        if len(accepted):
            scores = problems.problem(index)[0]
            below = scores[np.searchsorted(scores, accepted[0]) - 1 :][0]
            # Between two scores: equality would depend on the last digit.
            between = (below + accepted[0]) / 2.0 if below < accepted[0] else accepted[0]
            thresholds[index] = max(between, lowest[index])
    return thresholds, ", all classes together,", None


def _distinct(confidence: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct confidences, ascending, with their numbers of rows and of right rows."""
    score, where = np.unique(confidence, return_inverse=True)
    return score, np.bincount(where, minlength=len(score)), np.bincount(where, right, len(score))


def _search(
    confidence: np.ndarray,
    right: np.ndarray,
    rows: np.ndarray,
    tested: np.ndarray,
    dependence: Dependence | None,
    limits: tuple[float, float],
    level: float,
    n_samples: int,
) -> tuple[int, int | None]:
    """Return the position of the last threshold that passes (-1: none), and the number of rows needed.

    `limits` are the largest share of wrong rows and the smallest share of the right rows that is accepted.
    Thresholds are compared with the ascending `confidence`.
    """
    if not len(confidence):
        return -1, None
    risk, recall = limits
    accepted, wrong = _counts(confidence, right, tested)
    worth = np.ones(len(tested))
    if dependence is not None:
        few = few_clusters_factor(dependence.even_clusters(rows), 2.0 * level)
        worth = few / dependence.effects_of_first(rows[::-1], risk)[accepted]
    each = level / 2.0 if recall else level
    starts = starts_of(accepted, risk, each, float(worth[-1]))
    last = passed(accepted, wrong, risk, starts, each, worth)
    if last >= 0 and recall:
        n_right = np.count_nonzero(right)
        left = n_right - (accepted - wrong)[last:]
        tail = _tail(n_right * worth[last:], left * worth[last:], 1.0 - recall)
        last = last if (tail <= STARTS * each).all() else -1
    if last >= 0 or recall:
        return last, None
    return -1, _rows_needed(accepted, wrong, risk, level, n_samples, worth)


def _rows_needed(
    accepted: np.ndarray, wrong: np.ndarray, risk: float, level: float, n_samples: int, worth: np.ndarray
) -> int | None:
    """Return how many rows the most confident half, quarter, ... would need, if the same share were wrong."""
    needed = []
    parts = accepted[-1] / 2.0 ** np.arange(np.log2(max(accepted[-1] / MIN_SHOWN, 1.0)))
    for at in np.searchsorted(accepted, parts).tolist():
        share = wrong[at] / accepted[at]
        if share >= risk:
            continue

        def passes(rows: int, share: float = share, each: float = float(worth[at])) -> bool:
            return bool(_tail(rows * each, np.ceil(rows * share) * each, risk) <= level)

        needed.append(_smallest(passes, int(accepted[at])) * n_samples / accepted[at])
    return int(np.ceil(min(needed))) if needed else None


def _smallest(passes: Callable[[int], bool], low: int) -> int:
    """Return the smallest number of rows above `low` that passes, by doubling and bisection."""
    high = max(2 * low, 2)
    while not passes(high) and high < 2**40:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _for_reviews(
    problems: BinaryProblems, clusters: Clusters, reviews: float, alpha: float, by: str | None
) -> tuple[np.ndarray, str | None, int | None]:
    if by is not None:
        raise InputError("reviews takes one threshold for all classes; leave out by")
    n = problems.n_samples
    most = int(np.floor(reviews * n if reviews < 1.0 else reviews))
    if not reviews >= 0.0 or most >= n:
        raise InputError(f"reviews must be a share in (0, 1) or a number of rows below {n}; got {reviews:g}")
    confidence = problems.problem(0)[0]
    threshold = float(confidence[most])  # rows below it: `most`, or fewer if confidences tie
    worth = 1.0
    if not clusters.independent:
        below = np.zeros(n)
        below[problems.rows[:most]] = 1.0
        away = below - below.mean()
        sums = clusters.sums(away)
        few = few_clusters_factor(even_clusters_of(sums, away, clusters.code), 2.0 * alpha)
        alone = n * below.mean() * (1.0 - below.mean()) * (1.0 - 1.0 / len(sums))
        worth = few * min(alone / max(float(sums @ sums), 1e-300), 1.0)
        if not most:  # no row is below: unseen rows come as whole clusters
            worth = len(sums) / n
    bound = float(betaincinv(most * worth + 1.0, (n - most) * worth, 1.0 - alpha))
    guarantee = (
        f"With probability {1 - alpha:.3g} at most {bound:.4g} of new rows from the same source are left to "
        "a person."
    )
    return np.array([threshold]), guarantee, None


def _for_cost(
    problems: BinaryProblems, clusters: Clusters, cost: float, alpha: float, by: str | None
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


def _taken(problems: BinaryProblems, thresholds: np.ndarray) -> np.ndarray:
    """Return which entries are accepted."""
    threshold = np.repeat(thresholds, np.diff(problems.offsets)) if len(thresholds) > 1 else thresholds
    return np.asarray(problems.scores >= threshold)


def _effect(
    problems: BinaryProblems, clusters: Clusters, thresholds: np.ndarray, cost: float | None
) -> RuleEffect:
    taken = _taken(problems, thresholds)
    n, accepted = problems.n_samples, int(taken.sum())
    wrong = accepted - int(problems.outcomes[taken].sum())
    accuracy = 1.0 - wrong / accepted if accepted else float("nan")
    lower, upper = share_of_rows(problems.outcomes[taken], clusters.take(problems.rows[taken]), 0.05)
    price = None if cost is None else (cost * wrong + n - accepted) / n
    return RuleEffect(n, accepted, wrong, accepted / n, accuracy, lower, upper, price)
