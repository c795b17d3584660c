"""Rules that accept a prediction or send it to a person: thresholds for a target, and what they promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from calib.answers.calibrated import used_words
from calib.answers.promises import (
    STARTS,
    ThresholdSearch,
    accepted_and_wrong,
    grid,
    in_sequence,
    promise_words,
    starts_of,
)
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.acceptance import AcceptanceRule, ActionRule, chance_of_event, predicted_classes
from calib.data.equal_rows import Overlap
from calib.data.kinds import check_equal_rows
from calib.data.predictions import BinaryPrediction, Scores, Values
from calib.data.validation import as_groups, check_alpha, check_choice, check_count, check_not_negative
from calib.evidence.binning import BinaryProblems
from calib.evidence.clusters import Clusters, too_few
from calib.evidence.rows import Rows, Source, named_column, scores_and_next, single_rows
from calib.stats.intervals import binomial_limits, share_of_rows, worth_of_rows

#: Thresholds on P(Y = 1) that are tested.
TESTED = grid(lowest=-12.0)

#: What can be promised, and about which rows.
PROMISES = {
    "sensitivity": "at least {:.4g} of the events are acted on",
    "precision": "at least {:.4g} of the rows acted on are events",
    "false_positive_rate": "at most {:.4g} of the rows without the event are acted on",
}

#: Accuracies that are promised at once (times `choices`): any may be chosen after a look at the table.
ACCURACIES = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)


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
    #: (3, K) int64: Rows, accepted rows, and wrong ones among them, by class or group
    counts: np.ndarray = field(repr=False)
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
        guarantee, remark = self.guarantee, "this is the more careful of both answers"
        of_accuracy = self.target == "accuracy"
        if guarantee and of_accuracy and self.events is not None and self.value <= self.events.larger:
            guarantee += f" {self.events.words}"
        otherwise = self._shortfall if of_accuracy else ""
        said = promise_words(guarantee, self.unpromised, self.dependence, remark, otherwise)
        return f"{words} {said}".rstrip()

    @property
    def _shortfall(self) -> str:
        if self.needed is not None:
            takes = f"at least {self.needed:,} rows"
            if self.n_clusters is not None:
                takes = f"more than these {self.n_clusters:,} clusters"
            return (
                f"These rows are too few to promise an accuracy of {self.value:.4g}: it takes {takes}, if "
                "the same share of the most confident rows is wrong there."
            )
        if self.recall is not None:
            return f"No threshold keeps an accuracy of {self.value:.4g} and a recall of {self.recall:.4g}."
        return f"Even among the most confident predictions, the accuracy here is below {self.value:.4g}."

    def evaluate(
        self,
        y_true: Source,
        scores: Scores | None = None,
        groups: Values | None = None,
        *,
        sample_weight: Values | None = None,
        cluster: Values | None = None,
    ) -> RuleEffect:
        """Return the effect of the rule on other labelled rows; parameters as for `decide` and `accept`."""
        scores, groups = scores_and_next(y_true, scores, groups)
        rows = rows_to_accept(y_true, scores, sample_weight, cluster)
        if groups is not None:
            code, names = as_groups(groups, rows.n_given)
            groups = np.array(names, dtype=object)[code][rows.counts]
        cost = self.value if self.target == "cost" else None
        return _effect(rows, self.accept(rows.predictions, groups), cost)

    def frame(self) -> pd.DataFrame:
        """Return thresholds and counts of rows, one row per class or group (one row, -1, for all classes)."""
        table = pd.DataFrame(self.counts.T, columns=["n_samples", "n_accepted", "n_wrong"])
        table.insert(0, "threshold", self.thresholds)
        label = table.index if self.by else -1
        table.insert(0, *("group", self.groups) if self.by == "group" else ("label", label))
        return table


@dataclass(frozen=True, eq=False, repr=False)
class ActionCounts(Result):
    """Counts of labelled rows if rows with P(Y = 1) of at least a threshold are acted on."""

    threshold: float  #: Threshold t
    #: Rows with the event that are acted on, and that are not; rows without it, likewise
    hits: float
    missed: float
    needless: float
    left: float

    def share(self, target: str) -> float:
        """Return the sensitivity, precision or false positive rate; NaN without such rows."""
        part, rest = {
            "sensitivity": (self.hits, self.missed),
            "precision": (self.hits, self.needless),
            "false_positive_rate": (self.needless, self.left),
        }[target]
        return part / (part + rest) if part + rest else float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class EventRule(ActionRule):
    """An `ActionRule` that `calib.decide` chose: its threshold is None if none keeps all targets."""

    targets: dict[str, float]  #: Targets by name, keys of `PROMISES`
    counts: ActionCounts | None  #: Effect on the rows that the threshold was chosen on
    #: Lowest and highest threshold that keeps each target, at the same level; None if none does
    kept: dict[str, tuple[float, float] | None]
    unpromised: str | None = None  #: Why nothing is promised: rows were fitted, or clusters are few
    dependence: str | None = None  #: Which rows may belong together: the targets hold whether they do or not

    @property
    def sentence(self) -> str:
        """The threshold, its effect on the rows it was chosen on, and its promise."""
        done = self.counts
        if done is None:
            each = [
                f"{name.replace('_', ' ')} {value:.4g}: "
                + ("no threshold" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}")
                for (name, value), ends in zip(self.targets.items(), self.kept.values(), strict=True)
            ]
            words = f"These rows can promise no threshold that keeps all targets (alone: {'; '.join(each)})."
        else:
            acted, events = done.hits + done.needless, done.hits + done.missed
            shares = [f"{name.replace('_', ' ')} {done.share(name):.4f}" for name in PROMISES]
            words = (
                f"Act if P(Y = 1) is at least {self.threshold:.6f}: on {acted:,} of "
                f"{events + done.needless + done.left:,} rows, with {done.hits:,} of {events:,} events "
                f"({', '.join(shares)})."
            )
        remark = "this holds whether they do or not"
        return f"{words} {promise_words(self.guarantee, self.unpromised, self.dependence, remark)}".rstrip()

    def frame(self) -> pd.DataFrame:
        """Return a row per target: its value, the value here, and the thresholds that keep it."""
        rows = []
        for name, value in self.targets.items():
            lowest, highest = self.kept[name] or (np.nan, np.nan)
            here = np.nan if self.counts is None else self.counts.share(name)
            rows.append((name, value, here, lowest, highest))
        return pd.DataFrame(rows, columns=["target", "value", "here", "lowest", "highest"])


class _Acceptance(TypedDict, total=False):
    accuracy: float | None
    recall: float | None
    reviews: float | None
    cost: float | None
    by: Literal["class"] | Values | None
    promise: Literal["overall", "each"]
    alpha: float
    choices: int
    sample_weight: Values | None
    cluster: Values | None
    overlap: Overlap | None


class _EventTargets(_Acceptance, total=False):
    sensitivity: float | None
    precision: float | None
    false_positive_rate: float | None


@overload
def decide(y_true: Source, scores: Scores | None = None, **of: Unpack[_Acceptance]) -> DecisionRule: ...
@overload
def decide(y_true: Source, scores: Scores | None = None, **of: Unpack[_EventTargets]) -> EventRule: ...
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
        Cost of an accepted wrong prediction in reviews. Costs by row: `calib.answers.choose_actions`.
    sensitivity, precision, false_positive_rate : float in (0, 1), optional
        For P(Y = 1), one or several: at least this share of the events is acted on, at least this share of
        the rows acted on are events, at most this share of the rows without the event is acted on.
    by : "class", str or (n,) array_like, optional
        One threshold for each predicted class, or for each value of a column, such as a document type; for
        `accuracy` and `cost`. New rows with another value go to a person. A further column, given by its
        name, or a named Series is found again in new rows, also by a calibrator file.
    promise : {"overall", "each"}, default "overall"
        Whether, with `by`, an accuracy is promised for what all classes or groups accept together, or for
        each.
    alpha : float in (0, 1), default 0.1
        The guarantee misses with at most this probability.
    choices : int, default 1
        Models, calibrators or accuracies that are compared on these rows: alpha is divided among them.
    sample_weight, cluster
        As for `calib.noise_floor`; the guarantee counts rows, so weights raise `InputError`.
    overlap : Overlap, optional
        The result of `calib.data.equal_rows.overlap` for the calibrator's record of its fit.

    Returns
    -------
    DecisionRule, or EventRule for targets of an event
        `accept(new)` tells which new rows pass (an `EventRule`: `act(new)`), ``carried_by(calibrator)``
        returns the calibrator with the rule in it, for `calib.save`. The rule promises nothing if rows were
        used to fit (by `overlap`, or if the scores are the means of these rows' own outcomes), or if there
        are fewer than 10 clusters.

    Raises
    ------
    InputError
        If there is not exactly one target, a value is out of range, or the scores lack what `by` needs.

    Notes
    -----
    **Accuracy.** Fixed-sequence testing (Angelopoulos, Bates, Candès, Jordan & Lei, "Learn then test", 2021).
    From each of four starts, with alpha / 4 each, thresholds that were fixed before go down until "more than
    1 - accuracy of the accepted are wrong" is not rejected by the exact binomial tail. The lowest that
    passes is taken. With `recall`, half of alpha is for a second sequence, which starts at all rows.

    With `by`, one half of the rows ranks all rows by the accuracy of their class or group at their
    confidence, and each rank is tested on the other half. With `promise="each"`, each keeps the target on its
    own, at alpha divided by the number of predicted classes or of groups (Bonferroni). With clusters the tail
    has the effective number of accepted rows, fewer if clusters are few (Korn & Graubard 1998).

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
    >>> bool(decide(rows, accuracy=0.99).coverage > 0.5)
    True
    """
    named: dict[Literal["accuracy", "reviews", "cost"], float | None]
    named = {"accuracy": accuracy, "reviews": reviews, "cost": cost}
    rate = false_positive_rate
    of_events = {"sensitivity": sensitivity, "precision": precision, "false_positive_rate": rate}
    given = {name: check_not_negative(value, name) for name, value in named.items() if value is not None}
    targets = {name: value for name, value in of_events.items() if value is not None}
    if len(given) + bool(targets) != 1:
        raise InputError(
            "give one target: accuracy, reviews or cost, or for P(Y = 1) any of sensitivity, precision and "
            f"false_positive_rate; got {', '.join([*given, *targets]) or 'none'}"
        )
    by = by if isinstance(by, str) and by == "class" else named_column(by, y_true, scores)
    alpha = check_alpha(alpha) / check_count(choices, "choices", 1)
    as_given = single_rows(y_true, scores, sample_weight, cluster, "A rule of acceptance")
    check_equal_rows(as_given, "A rule of acceptance")
    if targets:
        if by is not None or recall is not None:
            raise InputError("targets of an event take one threshold; leave out by and recall")
        return _event_rule(as_given, targets, alpha, overlap)
    (target, value), *_ = given.items()
    if recall is not None and (target != "accuracy" or not 0.0 < check_not_negative(recall, "recall") < 1.0):
        raise InputError(f"recall must be a share in (0, 1) beside accuracy; got {recall!r} with {target}")
    rows, is_event = rows_to_accept(as_given, None, None, None), as_given.kind == "binary"
    check_choice(promise, ("overall", "each"), "promise")
    kind: Literal["class", "group"] | None = None if by is None else "class"
    code: np.ndarray | None = None
    groups: tuple[str, ...] = ()
    if not (by is None or isinstance(by, str)):
        code, groups = as_groups(by, rows.n_given)
        held = np.unique(code[rows.counts])  # groups without rows that count have no threshold
        code, kind, groups = np.searchsorted(held, code), "group", tuple(groups[at] for at in held)
    column = getattr(by, "name", None)
    none, overall = np.empty(0), promise == "overall"
    asked = AcceptanceRule(none, kind, target, value, alpha, None, is_event, groups=groups, column=column)
    if target == "cost" or rows.suspected is None:
        return _rule(rows, asked, code, recall, overall, overlap)
    rules = [_rule(reading, asked, code, recall, overall, overlap) for reading in rows.readings[::-1]]
    careful = min(rules, key=lambda rule: (rule.guarantee is not None, rule.coverage))
    return replace(careful, dependence=rows.suspected.rows)


def _rule(
    rows: Rows,
    asked: AcceptanceRule,
    code: np.ndarray | None,
    recall: float | None,
    overall: bool,
    overlap: Overlap | None,
) -> DecisionRule:
    """Choose the thresholds of a rule that has none yet; `code` are the rows' groups."""
    if code is None:
        problems = rows.problems("top-label" if asked.by else "confidence")
    else:  # a problem for each group, and one without rows
        parts = rows.groups("group", (*asked.groups, "another"), code, "confidence")
        problems = parts.evidence.problems("top-label")
    guarantee, needed = None, None
    if asked.target == "accuracy":
        thresholds, guarantee, needed = _for_accuracy(problems, rows, asked, recall, overall)
    elif asked.target == "reviews":
        thresholds, guarantee = _for_reviews(problems, rows.clusters, asked)
    else:
        thresholds = _for_cost(problems, asked.value)
    unpromised = used_words(overlap, problems) or (too_few(rows.n_clusters) if guarantee else None)
    label, score, right = rows.claims()
    place = code[rows.counts] if code is not None else label if asked.by else np.zeros_like(label)
    taken = score >= thresholds[place]
    two = getattr(rows.predictions, "n_classes", 0) == 2 and bool(rows.labels.mean() < 0.5)
    happened, events = rows.labels == 1, None
    if asked.of_event or two:
        missed = happened & taken & (label == 0)
        events = EventsAccepted(rows.n_samples, int(happened.sum()), int(missed.sum()))
    n_named = len(asked.groups) or len(thresholds)
    named = [place[part & (place < n_named)] for part in (np.ones_like(taken), taken, taken & ~right)]
    chosen = {
        **vars(asked),
        "thresholds": thresholds[:n_named],
        "guarantee": None if unpromised else guarantee,
    }
    return DecisionRule(
        **chosen,
        counts=np.array([np.bincount(places, minlength=n_named) for places in named]),
        effect=_effect(rows, taken, asked.value if asked.target == "cost" else None),
        needed=needed,
        n_clusters=rows.n_clusters,
        events=events,
        recall=recall,
        unpromised=unpromised,
    )


def _effect(rows: Rows, taken: np.ndarray, cost: float | None) -> RuleEffect:
    right = rows.claims()[2][taken]
    n, accepted, wrong = rows.n_samples, len(right), int(np.count_nonzero(~right))
    accuracy = 1.0 - wrong / accepted if accepted else float("nan")
    lower, upper = share_of_rows(right, rows.clusters.take(taken), 0.05)
    price = None if cost is None else (cost * wrong + n - accepted) / n
    return RuleEffect(n, accepted, wrong, accepted / n, accuracy, lower, upper, price)


def rows_to_accept(
    y_true: Source, scores: Scores | None, sample_weight: Values | None, cluster: Values | None
) -> Rows:
    """Return evidence of what can be accepted: P(Y = 1) as predicted classes, with its confidence."""
    rows = single_rows(y_true, scores, sample_weight, cluster, "A rule of acceptance")
    if isinstance(rows.predictions, BinaryPrediction):
        return rows.of_scores(predicted_classes(rows.predictions))
    return rows


def _for_accuracy(
    problems: BinaryProblems, rows: Rows, asked: AcceptanceRule, recall: float | None, overall: bool
) -> tuple[np.ndarray, str | None, int | None]:
    """Return thresholds, a guarantee if any accepts rows, and else how many rows would suffice, if known."""
    if not 0.0 < asked.value < 1.0:
        raise InputError(f"accuracy must be a share in (0, 1), such as 0.99; got {asked.value:g}")
    several = problems.n_problems > 1
    search = ThresholdSearch(
        problems, rows.dependence, 1.0 - asked.value, recall or 0.0, asked.alpha / STARTS
    )
    thresholds, found, needed = search.overall() if overall and several else search.each()
    if not found:
        return thresholds, None, needed
    one, all_ = ("group", "groups") if asked.by == "group" else ("predicted class", "classes")
    scope = f", all {all_} together," if overall else f" of each {one}"
    return (
        thresholds,
        f"With probability {1 - asked.alpha:.3g} at least {asked.value:.4g} of the accepted predictions"
        f"{scope if several else ''} are right, "
        + (f"and at least {recall:.4g} of the right predictions are accepted, " if recall else "")
        + "among new rows from the same source.",
        None,
    )


def _for_reviews(
    problems: BinaryProblems, clusters: Clusters, asked: AcceptanceRule
) -> tuple[np.ndarray, str]:
    if asked.by is not None:
        raise InputError("reviews takes one threshold for all classes; leave out by")
    n, reviews = problems.n_samples, asked.value
    most = int(np.floor(reviews * n if reviews < 1.0 else reviews))
    if not reviews >= 0.0 or most >= n:
        raise InputError(f"reviews must be a share in (0, 1) or a number of rows below {n}; got {reviews:g}")
    threshold = problems.problem(0)[0][most]  # rows below it: `most`, or fewer if confidences tie
    worth = 1.0
    if not clusters.independent:
        below = np.zeros(n)
        below[problems.rows[:most]] = 1.0
        worth = clusters.n_clusters / n  # if no row is below: unseen rows come as whole clusters
        if most:
            worth = worth_of_rows(below - below.mean(), clusters, 2.0 * asked.alpha, fitted=1)
    bound = float(betaincinv(most * worth + 1.0, (n - most) * worth, 1.0 - asked.alpha))
    return np.array([float(threshold)]), (
        f"With probability {1 - asked.alpha:.3g} at most {bound:.4g} of new rows from the same source are "
        "left to a person."
    )


def _for_cost(problems: BinaryProblems, cost: float) -> np.ndarray:
    if not (np.isfinite(cost) and cost > 1.0):
        raise InputError(f"cost must be above 1, the cost of a review; got {cost:g}")
    thresholds = np.full(problems.n_problems, np.inf)
    for index in range(problems.n_problems):
        confidence, right = problems.problem(index)
        candidates = np.append(np.unique(confidence), np.inf)
        accepted, wrong = accepted_and_wrong(confidence, right, candidates)
        thresholds[index] = candidates[np.argmin(cost * wrong + (len(confidence) - accepted))]
    return thresholds


def event_rows(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return outcome and score of the rows of one event; of two classes, of the second one."""
    return rows.labels == 1, chance_of_event(rows.predictions)


def _event_rule(rows: Rows, targets: Mapping[str, float], alpha: float, overlap: Overlap | None) -> EventRule:
    """Choose the threshold for `calib.decide` with targets of an event; alpha is divided among targets."""
    for name, value in targets.items():
        if not 0.0 < value < 1.0:
            raise InputError(f"{name} must be a share in (0, 1); got {value!r}")
    happened, event = event_rows(rows)
    if happened.all() or not happened.any():
        raise InputError("these rows need events and rows without the event; all outcomes are equal")
    kept = {
        name: np.logical_and.reduce(
            [_kept(each, name, value, alpha / len(targets)) for each in rows.readings]
        )
        for name, value in targets.items()
    }
    ends = {
        name: (float(TESTED[places].min()), float(TESTED[places].max())) if places.any() else None
        for name, places in kept.items()
    }
    kept_by_all = np.flatnonzero(np.logical_and.reduce(list(kept.values())))
    unpromised = used_words(overlap, rows.problems(None)) or too_few(rows.n_clusters)
    threshold = counts = guarantee = None
    if len(kept_by_all):
        threshold = float(TESTED[kept_by_all[0 if "sensitivity" in targets else -1]])
        acted = event >= threshold
        cells = (happened & acted, happened & ~acted, ~happened & acted, ~happened & ~acted)
        counts = ActionCounts(threshold, *(int(cell.sum()) for cell in cells))
        promised = " and ".join(PROMISES[name].format(value) for name, value in targets.items())
        guarantee = f"With probability {1 - alpha:.3g}, {promised}, among new rows from the same source."
    dependence = None if rows.suspected is None else rows.suspected.rows
    guarantee = None if unpromised else guarantee
    return EventRule(threshold, alpha, guarantee, dict(targets), counts, ends, unpromised, dependence)


def _kept(rows: Rows, target: str, value: float, level: float) -> np.ndarray:
    """Return at which of `TESTED` a target is kept by tests in a fixed sequence.

    Sensitivity and false positive rate fall as the threshold rises: one sequence, from the end where the
    target holds for certain. A precision can do both: sequences from several starts, see `calib.decide`.
    """
    happened, event = event_rows(rows)
    if target == "precision":
        low, _ = _limits(rows, event, np.ones(len(event), dtype=bool), happened, level / STARTS)
        starts = starts_of(_acted(event), 1.0 - value, level / STARTS, 2.0)
        return in_sequence(low >= value, starts)
    if target == "sensitivity":
        low, _ = _limits(rows, event, happened, None, level)
        return in_sequence((low >= value)[::-1], [0])[::-1]
    return in_sequence(_limits(rows, event, ~happened, None, level)[1] <= value, [0])


def _acted(event: np.ndarray) -> np.ndarray:
    return len(event) - np.searchsorted(np.sort(event), TESTED)


def _limits(
    rows: Rows, event: np.ndarray, members: np.ndarray, happened: np.ndarray | None, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return one-sided limits of the share of members acted on, or of events among the members acted on."""
    number = _acted(event[members])
    if rows.clusters.independent:
        hits = number if happened is None else _acted(event[members & happened])
        of = np.full(len(TESTED), members.sum()) if happened is None else number
        low, high = binomial_limits(hits, of, 2.0 * level)
        return np.where(of > 0, low, 0.0), np.where(of > 0, high, 1.0)
    limits = np.zeros((2, len(TESTED)))
    for place in np.flatnonzero(np.diff(number, prepend=-1)):  # others act on the same rows as before
        acted = event >= TESTED[place]
        of = members if happened is None else members & acted
        hits = (acted if happened is None else happened)[of]
        limits[:, place:] = np.array(share_of_rows(hits, rows.clusters.take(of), 2.0 * level))[:, None]
    return limits[0], limits[1]
