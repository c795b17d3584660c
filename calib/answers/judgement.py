"""Whether a judge is right: the true rate of its verdicts, how often people agree, and what to label next.

Each class k has the rate sum_c W_c p_ck: cell c holds a share W_c of all rows, and a share p_ck of its labels
names k (post-stratification). The interval combines the Jeffreys limits of the cells by squares (MOVER, Zou &
Donner 2008), and the sampling variance of the shares W_c. A cell without labels can have any p_ck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from calib.answers.decision_rules import DecisionRule, decide
from calib.answers.promises import smallest
from calib.base.results import Drawn, Result, parts
from calib.data.defaults import RANDOM_STATE
from calib.data.predictions import Values
from calib.data.validation import check_alpha, check_choice, check_count, check_share, random_generator
from calib.evidence.judged_rows import CHOSEN_BY, ChosenBy, JudgedRows
from calib.stats.bootstrap import Estimated
from calib.stats.intervals import jeffreys_limits, worth_of_rows

#: Names of the class whose rate is the pass rate.
POSITIVE = frozenset({"pass", "passed", "yes", "true", "1", "good", "correct", "right", "positive", "ok"})
#: Draws of the cells for the intervals of kappa and AC1.
DRAWS = 4_000
#: Verdicts that a sentence names, and what joins the ends of a range of confidence.
MOST_NAMED, DASH = 3, "\u2013"
#: How labelled rows were chosen, in words.
CHOICE_WORDS = {
    "random": ", at random as far as {} show.",
    "verdict": ", more of some verdicts. This holds if rows of each verdict were labelled at random.",
    "confidence": ", chosen by confidence. This holds if rows of equal confidence were labelled at random.",
    "weight": " with known chances.",
}


#: Value and ends of what no label tells.
UNKNOWN = float("nan"), 0.0, 1.0


@dataclass(frozen=True, eq=False, repr=False)
class ClassRates(Result):
    """The K classes: how often each is true, and how often people agree with the verdict."""

    verdict: NDArray[np.object_]  #: (K,): Class name
    rate: NDArray[np.float64]  #: (K,): Estimated true share of the class
    lower: NDArray[np.float64]  #: (K,): Lower end of its interval
    upper: NDArray[np.float64]  #: (K,): Upper end of its interval
    judge_rate: NDArray[np.float64]  #: (K,): Share of verdicts
    labelled_rate: NDArray[np.float64]  #: (K,): Share of the labels, not corrected
    n_labels: NDArray[np.int64]  #: (K,): Labelled rows with this verdict
    agreement: NDArray[np.float64]  #: (K,): Share of these verdicts that people agree with
    agreement_lower: NDArray[np.float64]  #: (K,): Lower end of its interval
    agreement_upper: NDArray[np.float64]  #: (K,): Upper end of its interval


@dataclass(frozen=True, eq=False, repr=False)
class JudgeCells(Result):
    """C cells of one verdict and a range of its confidence, and how often people agree there."""

    verdict: NDArray[np.object_]  #: (C,): Class name
    low: NDArray[np.float64]  #: (C,): Smallest confidence; NaN without confidence
    high: NDArray[np.float64]  #: (C,): Largest confidence
    confidence: NDArray[np.float64]  #: (C,): Mean confidence of all rows
    n_rows: NDArray[np.int64]  #: (C,): Rows
    share: NDArray[np.float64]  #: (C,): Share of all rows
    n_labels: NDArray[np.int64]  #: (C,): Labelled rows
    agreement: NDArray[np.float64]  #: (C,): Share of labels that agree with the verdict; NaN without labels
    lower: NDArray[np.float64]  #: (C,): Lower end of its interval
    upper: NDArray[np.float64]  #: (C,): Upper end of its interval

    @property
    def names(self) -> list[str]:
        """Verdict and range of confidence of each cell."""
        return [
            str(name) if np.isnan(low) else f"{name}, {_percents(low, high, DASH)}"
            for name, low, high in zip(self.verdict, self.low, self.high, strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class LabelPlan(Result):
    """How many rows of each cell to label next, and which."""

    cell: np.ndarray  #: (C,) object: Verdict and range of confidence
    n_unlabelled: np.ndarray  #: (C,) int64: Rows that could be labelled
    n_labels: np.ndarray  #: (C,) int64: Labelled rows now
    n_next: np.ndarray  #: (C,) int64: Rows to label next
    rows: np.ndarray = field(repr=False)  #: (k,) int64: These rows, drawn at random in each cell, in order
    width: float  #: Width of the interval of the main class now
    width_after: float  #: Expected width with the further labels

    @property
    def sentence(self) -> str:
        """The effect of the further labels."""
        return (
            f"{len(self.rows):,} more labels are expected to narrow the interval from {100 * self.width:.1f} "
            f"to {100 * self.width_after:.1f} points."
        )

    def frame(self) -> pd.DataFrame:
        """Return the cells as a table, without the rows."""
        names = ("cell", "n_unlabelled", "n_labels", "n_next")
        return pd.DataFrame({name: getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False, repr=False)
class Passing(Result):
    """Which verdicts may pass without a person."""

    accuracy: float  #: Promised share of right verdicts among those that pass
    share: float  #: Share of all rows that pass
    rule: DecisionRule | None = field(repr=False)  #: The rule of `calib.decide`; None if nothing is promised
    accepted: np.ndarray = field(repr=False)  #: (n,) bool: Whether each row passes
    thresholds: dict[str, float]  #: Least confidence that passes, by verdict
    words: str  #: What passes and what is promised


@dataclass(frozen=True, eq=False, repr=False)
class Judgement(Drawn):
    """What people's labels of some rows say about a judge of all rows."""

    n_rows: int  #: Rows with a verdict
    n_labelled: int  #: Rows that people labelled
    #: How rows were chosen to be labelled, as given or as verdict and confidence of labelled rows show
    chosen_by: ChosenBy
    main: str  #: Class that the plan is about: the class for pass, else the most frequent verdict
    rates: ClassRates = field(repr=False)  #: True rates and agreement by class
    cells: JudgeCells = field(repr=False)  #: Agreement by verdict and range of confidence
    agreement: Estimated  #: Share of all verdicts that people agree with
    #: Cohen's kappa: agreement beyond chance, near 0 if one class is rare however often people agree; NaN if
    #: there is only one class
    kappa: Estimated
    ac1: Estimated  #: Gwet's AC1: agreement beyond chance that skewed rates affect less
    alpha: float  #: Intervals miss with this probability
    rows: JudgedRows = field(repr=False, metadata=parts("n_rows"))

    def frame(self) -> pd.DataFrame:
        """Return a row for each class: true rate, the judge's own rate and agreement."""
        return self.rates.frame()

    @property
    def sentence(self) -> str:
        """The true rate, agreement by verdict, and how rows were chosen."""
        rates = self.rates
        names = [f"'{name}'" if name[:1].isdigit() else name for name in rates.verdict]
        common = np.argsort(-rates.judge_rate, kind="stable")[:MOST_NAMED]
        shown = np.flatnonzero(rates.verdict == self.main) if len(names) == 2 else common
        said = [
            f"The judge says {', '.join(f'{100 * rates.judge_rate[k]:.3g} % {names[k]}' for k in shown)}."
        ]
        if not self.n_labelled:
            return f"{said[0]} No row is labelled by a person: label some to learn the truth."
        if self.chosen_by == "otherwise":
            return (
                f"{said[0]} The true rate cannot be told: labelled rows were chosen by something that "
                f"neither verdict nor confidence shows. Of the {self.n_labelled:,} labelled rows, people "
                f"agree with {np.mean(self.rows.right):.1%}. Blank these labels and label rows at random."
            )
        truly = [_percents(rates.lower[k], rates.upper[k]) + f" {names[k]}" * (len(shown) > 1) for k in shown]
        right = [
            f"{names[k]} is right in {_percents(rates.agreement_lower[k], rates.agreement_upper[k])}"
            for k in common
            if rates.judge_rate[k] > 0.0
        ]
        seen = "the verdicts" if self.rows.confidence is None else "verdict and confidence"
        labelled = f"{self.n_labelled:,} of {self.n_rows:,} rows are labelled"
        labelled += CHOICE_WORDS[self.chosen_by].format(seen)
        if self.n_labelled == self.n_rows:
            labelled = f"All {self.n_rows:,} rows are labelled."
        said += [f"Truly {', '.join(truly)}.", f"{'; '.join(right)}.", labelled]
        if unseen := float(self.cells.share[self.cells.n_labels == 0].sum()):
            said.append(
                f"No row is labelled in cells with {unseen:.1%} of the rows; the intervals allow any rate "
                "there."
            )
        return " ".join(said)

    def passing(self, accuracy: float = 0.9, *, alpha: float = 0.1) -> Passing:
        """Return which verdicts may pass without a person, by `calib.decide` for each verdict.

        Parameters
        ----------
        accuracy : float in (0, 1)
            At least this share of the verdicts that pass is to be right, for each verdict.
        alpha : float in (0, 1)
            The promise misses with at most this probability.

        Notes
        -----
        Labelled rows must be a sample of the rows of their verdict. A promise needs at least log(alpha) /
        log(accuracy) labelled rows of a verdict, so that verdicts with fewer go to a person. A row with
        several labels is right if most of them agree.
        """
        check_share(accuracy, "accuracy", 0.9)
        least = int(np.ceil(np.log(check_alpha(alpha)) / np.log(accuracy)))
        rows, rule, why = self.rows, None, ""
        said = rows.verdict[rows.row]
        tried = np.bincount(said, minlength=len(rows.names)) >= least
        if self.chosen_by not in ("random", "verdict"):
            why = "labelled rows were not chosen at random among the rows of a verdict"
        elif not tried.any():
            why = f"no verdict has the {least:,} labelled rows that a promise needs at least"
        else:
            # Clusters are given or none: rows that share a rounded confidence are no copies.
            labelled = rows.labelled_rows().with_cluster(rows.clusters.code[rows.row]).take(tried[said])
            rule = decide(labelled, accuracy=accuracy, by="class", promise="each", alpha=alpha)
        if rule is None or rule.guarantee is None:
            words = f"No verdict has an accuracy of {accuracy:.4g} that these labels can promise."
            if rule is not None and rule.n_clusters is None and 0 < (rule.needed or 0) <= self.n_rows:
                words += f" It takes at least {rule.needed:,} labels, if the same share of verdicts is right."
            words = f"Nothing is promised: {why}." if why else words
            return Passing(accuracy, 0.0, None, np.zeros(self.n_rows, dtype=bool), {}, words)
        score = np.ones(self.n_rows) if rows.confidence is None else rows.confidence
        accepted = score >= rule.thresholds[rows.verdict]
        named = zip(rows.names, rule.thresholds.tolist(), strict=True)
        found = {name: threshold for name, threshold in named if np.isfinite(threshold)}
        limits = "{}" if rows.confidence is None else "{} from {:.3g} %"
        passing = ", ".join(limits.format(name, 100 * threshold) for name, threshold in found.items())
        words = f"{accepted.mean():.1%} of all rows may pass ({passing}). {rule.guarantee}"
        return Passing(accuracy, float(accepted.mean()), rule, accepted, found, words)

    def next_rows(self, k: int, *, random_state: int = RANDOM_STATE) -> LabelPlan:
        """Return which k rows to label next.

        Parameters
        ----------
        k : int
            Rows to label; all unlabelled rows if there are fewer.
        random_state : int
            Seed of the draw of rows inside cells.

        Notes
        -----
        The first third of all labels is drawn in proportion to the cells. Further labels go where they narrow
        the interval of the main class most: W_c sqrt(p_c (1 - p_c)) labels for cell c (Neyman 1934).
        """
        check_count(k, "k", 1)
        extra = self._allocated(k)
        order = random_generator(random_state).permutation(np.flatnonzero(~self.rows.labelled))
        cell = self.rows.cell[order]
        chosen = np.concatenate([order[cell == c][:n] for c, n in enumerate(extra.tolist())])
        left = self.cells.n_rows - self.cells.n_labels
        names = np.array(self.cells.names, dtype=object)
        now, then = self._width(0 * extra), self._width(extra)
        return LabelPlan(names, left, self.cells.n_labels, extra, np.sort(chosen), now, min(now, then))

    def rows_needed(self, width: float) -> int | None:
        """Return how many more labels make the interval of the main class this narrow; None if none do.

        `width` is a share: 0.05 for five points. Labels are chosen as by `next_rows`.
        """
        check_share(width, "width", 0.05)
        most = self.n_rows - self.n_labelled

        def enough(k: int) -> bool:
            return self._width(self._allocated(k)) <= width

        if enough(0):
            return 0
        return smallest(enough, 0, most) if enough(most) else None

    @cached_property
    def _known(self) -> tuple[_Strata, np.ndarray, float]:
        """Cells, the main class's share of each, shrunk by Jeffreys' prior, and the worth of its labels."""
        strata, count = _Strata(self.rows, self.alpha, self.chosen_by), self._counted
        votes = self.rows.votes[:, self.rows.names.index(self.main)]
        mean = np.nan_to_num(strata.means(votes), nan=0.5)
        return strata, (mean * count + 0.5) / (count + 1.0), strata.worth(votes, strata.share)

    @property
    def _counted(self) -> np.ndarray:
        """Labels of each cell that rates count, (C,) int64: none if rows were chosen otherwise."""
        return self.cells.n_labels * (self.chosen_by != "otherwise")

    def _allocated(self, k: int) -> np.ndarray:
        now, left = self._counted, self.cells.n_rows - self.cells.n_labels
        k = min(k, int(left.sum()))
        at_random = min(max(-(-(now.sum() + k) // 3) - now.sum(), 0), k)
        first = _filled(0 * now, left, left, at_random)
        share = self._known[1]
        spread = self.cells.share * np.sqrt(share * (1.0 - share))
        return first + _filled(now + first, left - first, spread, k - at_random)

    def _width(self, extra: np.ndarray) -> float:
        strata, share, worth = self._known
        n = self._counted + extra
        _, lower, upper = strata.combined(np.where(n > 0, share, np.nan), n * worth, strata.share)
        return upper - lower


def judge(
    verdict: Values,
    human: Values,
    confidence: Values | None = None,
    *,
    cluster: Values | None = None,
    weight: Values | None = None,
    alpha: float = 0.05,
    chosen_by: ChosenBy | None = None,
    labelled_by: Values | None = None,
    cut: float | None = None,
) -> Judgement:
    """Compare a judge's verdicts on all rows with people's labels of some rows.

    A judge is whatever decides cheaply: a language model, a screening test, a crowd.

    Parameters
    ----------
    verdict : (n,) or (n, k) array_like
        Class that the judge gives each row, in words or numbers: pass and fail, 1 to 5, or A, B and tie. Of
        k repeated answers the most frequent one is the verdict, and its share of them is the confidence.
    human : (n,) or (n, raters) array_like
        Class that a person gives the row, blank (None, NaN, "") if nobody labelled it. Several labels of a
        row are votes: the row counts for each class with the share of its labels.
    confidence : (n,) array_like, optional
        The judge's confidence in its verdict, in [0, 1].
    cluster : (n,) array_like, optional
        Ids of rows that belong together, such as answers to one question.
    weight : (n,) array_like, optional
        1 / chance that the row was labelled, if chances were unequal and known; read in labelled rows only.
    alpha : float in (0, 1), default 0.05
        Intervals miss with this probability.
    chosen_by : {"random", "verdict", "confidence", "otherwise"}, optional
        How rows were chosen to be labelled. By default verdict and confidence of the labelled rows are
        tested, which also overrules "random". If rows were chosen by anything else, such as a suspicion,
        nothing shows it: pass "otherwise", and no rate is corrected.
    labelled_by : (n,) array_like, optional
        Who labelled each row; names of models raise `InputError`.
    cut : float, optional
        If verdicts or labels are scores: "pass" from here on, "fail" below.

    Returns
    -------
    Judgement
        `rates`, `agreement`, `kappa`, `ac1`; `next_rows(k)` to label, `passing(accuracy)` without a person.

    Notes
    -----
    Rates are about the source of the rows, not only about these rows. Rows of a cell are assumed to be
    labelled by chance; see `calib.evidence.judged_rows` for how cells are made. With clusters, labels are
    divided by the design effect of the estimate, and few clusters widen intervals (Korn & Graubard 1998).
    The intervals of kappa and AC1 are quantiles of Dirichlet draws of each verdict's labels but one. For 8
    verdicts with 5 labels each, 93 % of these intervals hold the truth, and 88 % of those of the agreement.

    Kappa depends on how common each class is: it can be near 0 although people agree with 95 % of the
    verdicts (Feinstein & Cicchetti 1990). AC1 (Gwet 2008) depends on it less.

    Examples
    --------
    >>> verdict = ["pass"] * 800 + ["fail"] * 200
    >>> human = [None] * 1000
    >>> human[:40] = ["pass"] * 38 + ["fail"] * 2
    >>> human[800:810] = ["fail"] * 6 + ["pass"] * 4
    >>> found = judge(verdict, human)
    >>> print(found.sentence.split(". pass")[0])
    The judge says 80 % pass. Truly 74 to 91 %
    """
    check_alpha(alpha)
    if chosen_by is not None:
        check_choice(chosen_by, CHOSEN_BY, "chosen_by")
    rows = JudgedRows.of(verdict, human, confidence, cluster, weight, labelled_by, cut)
    chosen = chosen_by or ("random" if weight is None else "weight")
    if chosen == "random":
        chosen = rows.chosen_by()
    strata, n_labelled = _Strata(rows, alpha, chosen), len(rows.row)
    known = n_labelled > 0 and chosen != "otherwise" and len(rows.names) > 1
    corrected = _chance_corrected(strata).tolist() if known else (UNKNOWN, UNKNOWN)
    agreement, kappa, ac1 = (Estimated(*numbers) for numbers in (strata.mean(rows.right), *corrected))
    main = passing_class(rows.names) or rows.names[int(np.bincount(rows.verdict).argmax())]
    about = rows.n_rows, n_labelled, chosen, main, _rates(strata), _cells(strata)
    return Judgement(*about, agreement, kappa, ac1, alpha, rows)


class _Strata:
    """Cells of judged rows, and estimates from them: a value and the ends of its interval."""

    def __init__(self, rows: JudgedRows, alpha: float, chosen_by: ChosenBy) -> None:
        self.rows, self.alpha, self.chosen_by = rows, alpha, chosen_by
        self.count = np.bincount(rows.cell)
        self.share = self.count / rows.n_rows
        self.cell = rows.cell[rows.row]
        self.verdict = rows.verdict[np.unique(rows.cell, return_index=True)[1]]  # of each cell
        self.each = rows.balanced() if chosen_by == "confidence" else rows.weight
        self.weight = self.sums(self.each)
        #: Labels of equal weight that the labels of each cell are worth
        self.effective = np.nan_to_num(self.weight / self.means(self.each))

    def sums(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.cell, values, len(self.count))

    def means(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of (m,) values in each cell, NaN without labels."""
        with np.errstate(invalid="ignore"):
            return self.sums(self.each * values) / self.weight

    def worth(self, values: np.ndarray, share: np.ndarray) -> float:
        """Return how many independent labels a label of clusters is worth, for the mean of values."""
        clusters = self.rows.clusters.take(self.rows.row)
        if clusters.independent or not len(values):
            return 1.0
        scale = (share / np.maximum(self.weight, 1e-300))[self.cell] * self.each
        away = scale * (values - self.means(values)[self.cell])
        fitted = int(np.count_nonzero(self.weight[share > 0.0]))  # residuals of cells sum to 0
        return worth_of_rows(away, clusters, self.alpha, fitted)

    def mean(self, values: np.ndarray, inside: np.ndarray | bool = True) -> tuple[float, float, float]:
        """Estimate the mean of (m,) values in [0, 1] over the rows of the cells inside."""
        share = np.where(inside, self.share, 0.0)
        if self.chosen_by == "otherwise":
            return UNKNOWN
        return self.combined(self.means(values), self.effective * self.worth(values, share), share)

    def combined(self, mean: np.ndarray, rows: np.ndarray, share: np.ndarray) -> tuple[float, float, float]:
        """Combine the means of cells, each of effective rows; NaN is any number in [0, 1].

        The cells' shares of the rows vary, as a sample of all rows.
        """
        inside, known = share > 0.0, ~np.isnan(mean)
        if not (inside & known).any():
            return UNKNOWN
        share = share / share.sum()
        seen, part = float(share[known] @ mean[known]), float(share[known].sum())
        filled = np.where(known, mean, seen / part)
        value = float(share @ filled)
        away = np.where(inside, filled - value, 0.0)[self.rows.cell]
        z = float(ndtri(self.alpha / 2.0)) / float(self.count[inside].sum())
        sampling = z**2 * self.rows.clusters.spread(away)
        below, above = (
            np.sqrt(float(np.sum(np.where(known, share * (filled - end), 0.0) ** 2)) + sampling)
            for end in jeffreys_limits(filled * rows, rows, self.alpha)
        )
        return value, max(seen - below, 0.0), min(seen + 1.0 - part + above, 1.0)


def passing_class(names: Sequence[str]) -> str | None:
    """Return the class that means pass; None if none does, or several."""
    folded = {name.casefold(): name for name in names}
    words = POSITIVE if len(names) == 2 else POSITIVE - {"1"}  # of ratings, 1 is the worst or the best
    if "i" in folded:
        words = words | {"c"}  # correct beside incorrect, as Inspect writes them
    found = [name for word, name in folded.items() if word in words]
    return found[0] if len(found) == 1 else None


def _rates(strata: _Strata) -> ClassRates:
    rows, n_classes = strata.rows, len(strata.rows.names)
    rate, low, high = np.array([strata.mean(votes) for votes in rows.votes.T]).T
    inside = strata.verdict == np.arange(n_classes)[:, None]
    right, least, most = np.array([strata.mean(rows.right, cells) for cells in inside]).T
    judge_rate = np.bincount(rows.verdict, minlength=n_classes) / rows.n_rows
    labelled_rate = rows.votes.mean(axis=0) if len(rows.row) else np.full(n_classes, np.nan)
    n_labels = np.bincount(rows.verdict[rows.row], minlength=n_classes)
    names = np.array(rows.names, dtype=object)
    return ClassRates(names, rate, low, high, judge_rate, labelled_rate, n_labels, right, least, most)


def _cells(strata: _Strata) -> JudgeCells:
    rows, agreement = strata.rows, strata.means(strata.rows.right)
    effective = strata.effective * strata.worth(rows.right, strata.share)
    effective *= strata.chosen_by != "otherwise"
    lower, upper = jeffreys_limits(np.nan_to_num(agreement) * effective, effective, strata.alpha)
    confidence = np.full(rows.n_rows, np.nan) if rows.confidence is None else rows.confidence
    grouped = pd.Series(confidence, dtype=np.float64).groupby(rows.cell)
    least, most, mean = np.stack([grouped.min(), grouped.max(), grouped.mean()])
    said = np.array(rows.names, dtype=object)[strata.verdict]
    sizes = strata.count, strata.share, np.bincount(strata.cell, minlength=len(said))
    return JudgeCells(said, least, most, mean, *sizes, agreement, lower, upper)


def _chance_corrected(strata: _Strata) -> np.ndarray:
    """Return Cohen's kappa and Gwet's AC1, (2, 3), with quantiles of draws of the verdicts' labels.

    Labelled cells of a verdict are pooled, as labels of the same variance: the prior of each would add up.
    """
    rows, n_classes = strata.rows, len(strata.rows.names)
    known = strata.weight > 0.0
    pool = np.where(known, strata.verdict, n_classes + np.arange(len(known)))
    _, first, pool = np.unique(pool, return_index=True, return_inverse=True)
    judged = np.eye(n_classes)[strata.verdict[first]]

    def pooled(values: np.ndarray) -> np.ndarray:
        return np.bincount(pool, values)

    share, count, seen = pooled(strata.share), pooled(strata.count), pooled(known) > 0.0
    means = [pooled(strata.share * np.nan_to_num(strata.means(each))) / share for each in rows.votes.T]
    mean = np.stack(means, axis=1)
    mean[~seen] = share[seen] @ mean[seen] / share[seen].sum()
    variance = pooled(known * strata.share**2 / np.maximum(strata.effective, 1e-300))
    effective = seen * share**2 / np.maximum(variance, 1e-300) * strata.worth(rows.right, strata.share)
    prior = np.where(judged > 0.0, 0.5, 0.5 / max(n_classes - 1, 1))
    prior[seen] *= min(2.0 / seen.sum(), 1.0)
    shape = mean * np.maximum(effective - 1.0, effective / 2.0)[:, None] + prior
    generator, found = np.random.default_rng(RANDOM_STATE), []
    for _ in range(DRAWS // 100):  # in blocks, for many cells of many classes
        drawn = generator.standard_gamma(shape, (100, *shape.shape))
        drawn /= np.maximum(drawn.sum(axis=2, keepdims=True), 1e-300)
        shares = generator.standard_gamma(count, (100, len(mean)))
        shares /= shares.sum(axis=1, keepdims=True)
        found.append(_both(drawn, shares, judged))
    ends = np.quantile(np.concatenate(found, axis=1), (strata.alpha / 2.0, 1.0 - strata.alpha / 2.0), axis=1)
    return np.concatenate([_both(mean[None], share[None], judged), ends.T], axis=1)


def _both(mean: np.ndarray, share: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """Return kappa and AC1, (2, draws), of (draws, C, K) shares of labels, (draws, C) shares of rows."""
    agreement = np.einsum("dc,dck,ck->d", share, mean, judged)
    people, verdicts = np.einsum("dc,dck->dk", share, mean), share @ judged
    either = (people + verdicts) / 2.0
    of_ac1 = (either * (1.0 - either)).sum(axis=1) / max(judged.shape[1] - 1, 1)
    chance = np.stack([(people * verdicts).sum(axis=1), of_ac1])
    return np.divide(agreement - chance, 1.0 - chance, out=np.ones_like(chance), where=1.0 - chance > 1e-12)


def _filled(now: np.ndarray, left: np.ndarray, wanted: np.ndarray, k: int) -> np.ndarray:
    """Distribute k further labels, at most `left` each, so that all are about in proportion to `wanted`."""

    def further(level: float) -> np.ndarray:
        return np.clip(level * wanted - now, 0.0, left)

    low, high = 0.0, 1.0
    while further(high).sum() < k:
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if further(middle).sum() < k else (low, middle)
    exact = further(high)
    extra = np.floor(exact).astype(np.int64)
    extra[np.argsort(extra - exact, kind="stable")[: k - int(extra.sum())]] += 1
    return extra


def _percents(lower: float, upper: float, between: str = " to ") -> str:
    """Write two shares as whole percents, or with the decimals that tell them apart."""
    decimals = 0 if upper - lower >= 0.03 else 1
    ends = [f"{100 * end:.{decimals}f}".removesuffix(".0") for end in (lower, upper)]
    return f"{between.join(dict.fromkeys(ends))} %"
