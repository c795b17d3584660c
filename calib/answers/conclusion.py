"""The conclusion: in which direction confidence is off, above or below which value, and for which classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.base.interval_words import with_interval
from calib.base.results import Result, parts
from calib.data.defaults import LEVEL, N_BINS
from calib.data.predictions import Scores, Values
from calib.data.validation import check_count, check_level
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Evidence, Rows, Source, as_evidence
from calib.stats.effective import EffectiveSample, effective_sample
from calib.stats.floors import ABOVE_NOISE, WITHIN_NOISE, NoiseFloor
from calib.stats.intervals import few_clusters_factor, mean_limits

#: How every conclusion begins, because labels may be wrong, too.
BY_LABELS = "By the labels in this file"

Direction = Literal["overconfident", "underconfident"]

#: Most predicted classes that a sentence names, and fewest rows of a class to judge it.
MOST_NAMED, MIN_ROWS = 2, 30


@dataclass(frozen=True)
class Gap:
    """A range of scores in which the mean score is off in a known direction."""

    label: int | None  #: The predicted class, or None if all are pooled
    #: Ends of the range of scores, edges of equal-width bins
    lower: float
    upper: float
    bin: int  #: The bin of the range that has most rows
    count: int  #: Rows in the range
    #: Mean score, and how often the outcome happened, weighted if rows are
    says: float
    right: float
    #: Ends of the interval of the mean score minus the mean chance; both have one sign
    least: float
    most: float

    @property
    def direction(self) -> Direction:
        """Whether scores are too high ("overconfident") or too low."""
        return "overconfident" if self.least > 0.0 else "underconfident"

    def range_words(self) -> str:
        """Describe the range of scores, such as "above 0.93"; "" for all scores."""
        if self.lower <= 0.0 and self.upper >= 1.0:
            return ""
        return f"above {self.lower:.2g}" if self.upper >= 1.0 else f"below {self.upper:.2g}"

    def size_words(self) -> str:
        """Say how large the gap is, in percentage points, with its interval."""
        return f"by {self.amount_words()}"

    def amount_words(self) -> str:
        """Return `size_words` without "by"."""
        sign = 1.0 if self.direction == "overconfident" else -1.0
        size = sign * (self.says - self.right) * 100
        near, far = sorted(sign * end * 100 for end in (self.least, self.most))
        return with_interval(size, near, far, least=1, unit=" points")


@dataclass(frozen=True)
class CodedGap:
    label: int  #: The predicted class, -1 if all are pooled
    gap: Gap = field(metadata=parts("direction lower upper count says right least most"))


@dataclass(frozen=True, eq=False, repr=False)
class IfTogether(Result):
    """The conclusion if rows that a test shows to be alike belonged together."""

    #: Which rows; and the column that shows it (with "=" and a block of time), "" for scores
    rows: str
    column: str
    n_blank: int  #: Rows without a value in the column, which were not tested
    worth: EffectiveSample = field(metadata=parts("n_clusters effective"))  #: What the rows are then worth
    conclusion: Conclusion = field(metadata=parts("direction"))  #: The conclusion then

    def words(self, choice: str = "") -> str:
        """Return the conclusion if rows belong together, and what else they may be; `choice` ends it."""
        found = self.conclusion
        blank = f" ({self.n_blank:,} rows without a value were not tested)" if self.n_blank else ""
        then = "nothing stands out"
        if found.pooled:
            subject = "the score" if found.kind == "binary" else "the model"
            then = f"{subject} is {'; '.join(map(found.gap_words, found.pooled))}"
        elif found.classes:
            then = "only single classes stand out"
        other = "If each row stands alone, nothing changes."
        if self.column:
            other = "If the column describes them, scores are off by it: see Slices."
        if "=" in self.column:
            other = "If scores changed with time: see Over time."
        said = f"{self.rows[0].upper()}{self.rows[1:]} are right or wrong together{blank}. If they belong "
        return f"{said}together, {self.worth.words}, and {then}. {other}{choice}"


@dataclass(frozen=True, eq=False, repr=False)
class Conclusion(Result):
    """Ranges and classes whose confidence is too high or too low; all statements hold together."""

    kind: str  #: Kind of the predictions
    #: Number of rows, and number of ranges of scores that were looked at
    n_samples: int
    n_ranges: int
    level: float  #: Chance at which the intervals of all ranges hold together
    #: The clearest range over all predicted classes, and the clearest of the other direction, if any
    pooled: tuple[Gap, ...]
    #: The clearest range of each predicted class of `MIN_ROWS` rows with a known direction, clearest first
    classes: tuple[Gap, ...]
    #: If no pooled range stands out: number of predicted classes beside the first `n_named` of `classes`
    n_others: int | None = None
    n_named: int = 0  #: Number of `classes` that are then named
    #: If a test shows rows to be right or wrong together: what holds if they belong together
    suspected: IfTogether | None = None

    @property
    def headline(self) -> list[int]:
        """Codes of the predicted classes that `words` names, in its order."""
        return [gap.label for gap in (*self.named(), *self.named(other=True)) if gap.label is not None]

    @property
    def direction(self) -> str:
        """The direction of the clearest gap, or "not distinguishable"."""
        found = self.pooled or self.classes
        return found[0].direction if found else "not distinguishable"

    def words(self, class_names: Sequence[str] | None = None, floor: NoiseFloor | None = None) -> str:
        """State the conclusion in one or two sentences.

        `class_names` are the names to show, by default codes; `floor` is the noise floor of the error, for
        models without a known direction.
        """
        what = "score" if self._event else "confidence"
        if self.n_others:
            return f"{BY_LABELS} {self._alone_words(class_names)}."
        if self.pooled:
            subject = "the score" if self._event else "the model"
            text = f"{BY_LABELS} {subject} is {'; '.join(map(self.gap_words, self.pooled))}"
            named, others = self.named(), self.named(other=True)
            if named:
                text += f", clearest where it predicts {_listed(named, class_names)}"
            if others:
                text += f"; {others[0].direction} where it predicts {_listed(others, class_names)}"
            return text + "."
        if self.classes:
            parts = [
                f"{gaps[0].direction} where it predicts {_listed(gaps, class_names, sizes=True)}"
                for gaps in (self.named(), self.named(other=True))
                if gaps
            ]
            return (
                f"Over all predicted classes no direction stands out, but by the labels in this file the "
                f"model is {'; '.join(parts)}."
            )
        nothing = f"No range of the {what} stands out among {self.n_samples:,} rows"
        if floor is None:
            return nothing + "."
        error = "calibration error" if self._event else f"{floor.notion} calibration error"
        if floor.untold is not None:
            return f"{nothing}; for the {error}, {floor.untold}."
        if floor.verdict == ABOVE_NOISE:
            return f"{nothing}, but the {error} is above noise."
        return f"{nothing}, and the {error} is {WITHIN_NOISE} ({floor.hidden})."

    def _alone_words(self, class_names: Sequence[str] | None) -> str:
        """Name the only classes that stand out, with the size and range of each gap."""
        parts = []
        for gap in self.classes[: self.n_named]:
            much = "much" if gap.direction == "overconfident" else "little"
            amount = gap.amount_words().replace(" (", f" too {much} (")
            parts.append(
                " ".join(
                    filter(
                        None, [amount, "where it predicts", _listed([gap], class_names), gap.range_words()]
                    )
                )
            )
        others = (
            f"{self.n_others:,} other predicted classes together"
            if self.n_others != 1
            else "other predicted class"
        )
        return f"the model claims {' and '.join(parts)}; nothing was found in the {others}"

    def gap_words(self, gap: Gap) -> str:
        """Describe a gap: direction, size and range."""
        over = gap.direction == "overconfident"
        what: str = gap.direction
        if self._event:
            what = "too high" if over else "too low"
        return " ".join(filter(None, [what, gap.size_words(), gap.range_words()]))

    def named(self, *, other: bool = False) -> list[Gap]:
        """Return the classes that a sentence names: with the clearest direction, or with the `other`."""
        classes = self.classes[: self.n_named] if self.n_others else self.classes
        return [gap for gap in classes if (gap.direction != self.direction) == other][:MOST_NAMED]

    @property
    def _event(self) -> bool:
        return self.kind == "binary"

    @property
    def gaps(self) -> tuple[CodedGap, ...]:
        """All gaps, pooled ones first."""
        found = (*self.pooled, *self.classes)
        return tuple(CodedGap(-1 if gap.label is None else gap.label, gap) for gap in found)

    def frame(self) -> pd.DataFrame:
        """Return one row per gap; `label` is -1 if classes are pooled."""
        names = ("direction", "lower", "upper", "count", "says", "right", "least", "most")
        rows = [[found.label, *(getattr(found.gap, name) for name in names)] for found in self.gaps]
        return pd.DataFrame(rows, columns=["label", *names])


def conclude(
    y_true: Source,
    scores: Scores | None = None,
    *,
    n_bins: int = N_BINS,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Conclusion:
    """Say whether confidence is too high or too low, in which range, and for which predicted classes.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.noise_floor`.
    n_bins : int
        Ranges begin or end at edges of this number of equal-width bins.
    level : float in (0, 1)
        Chance at which all intervals hold together.

    Notes
    -----
    The ranges are all scores, scores from an edge on, and scores below an edge, for all rows and for each
    predicted class. Each interval of a mean chance misses with probability at most (1 - level) / 2 divided by
    the number of pooled ranges, or of ranges of classes (1 - level for one score per row). The intervals are
    Clopper-Pearson's, which also hold if chances differ from row to row (Hoeffding 1956), with weights
    Hoeffding's (1963). So with probability `level` all statements are right, whichever is picked afterwards.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("two-patients").evaluation
    >>> [(gap.label, gap.direction) for gap in conclude(rows).classes]
    [(1, 'underconfident'), (0, 'overconfident')]
    """
    check_count(n_bins, "n_bins")
    check_level(level)
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    found = _conclusion(evidence, n_bins, level)
    if not isinstance(evidence, Rows) or (suspected := evidence.suspected) is None:
        return found
    then = evidence.readings[1]
    shown = suspected.rows, suspected.column, suspected.n_blank
    together = IfTogether(*shown, effective_sample(then), _conclusion(then, n_bins, level))
    return replace(found, suspected=together)


def _conclusion(evidence: Evidence, n_bins: int, level: float) -> Conclusion:
    cells = evidence.cells(evidence.notion, n_bins=n_bins, strategy="uniform", effects=False)
    cell_class = cells.problem if cells.n_problems > 1 else np.zeros(len(cells.count), dtype=np.int64)
    enough = np.bincount(cell_class, cells.count)[cell_class] >= MIN_ROWS
    by_class = cells.n_problems > 1 and bool(enough.any())
    alpha = (1.0 - level) / (2.0 if by_class else 1.0)
    pooled, n_pooled = _gaps(evidence, cells, np.zeros(len(cells.count), dtype=np.int64), alpha)
    classes: list[Gap] = []
    n_classes = 0
    if by_class:
        classes, n_classes = _gaps(evidence, cells, np.where(enough, cells.label, -1), alpha)
    chosen = pooled[:1]
    if pooled:
        first = pooled[0]
        apart = [
            gap
            for gap in pooled
            if gap.direction != first.direction and (gap.lower >= first.upper or gap.upper <= first.lower)
        ]
        chosen += apart[:1]
    clearest: dict[int | None, Gap] = {}
    for gap in classes:
        clearest.setdefault(gap.label, gap)
    first_classes = [label for label in clearest if label is not None][:MOST_NAMED]
    n_named, n_others = 0, None
    for count in range(1, len(first_classes) + 1):
        others = ~np.isin(cells.label, first_classes[:count])
        found, _ = _gaps(evidence, cells, np.where(others, 0, -1), alpha) if others.any() else ([], 0)
        if not found and others.any():
            n_named, n_others = count, len(np.unique(cells.label[others]))
            break
    return Conclusion(
        kind=evidence.kind,
        n_samples=cells.n_samples,
        n_ranges=n_pooled + n_classes,
        level=level,
        pooled=tuple(replace(gap, label=None) for gap in chosen),
        classes=tuple(clearest.values()),
        n_others=n_others,
        n_named=n_named,
    )


def _gaps(evidence: Evidence, cells: BinStatistics, group: np.ndarray, alpha: float) -> tuple[list[Gap], int]:
    """Return known gaps of groups of cells (except -1), clearest first, and the number of ranges."""
    n_groups, n_bins = int(group.max()) + 1, cells.n_bins
    held = group >= 0
    at = (group * n_bins + cells.bin)[held]

    def table(values: np.ndarray) -> np.ndarray:
        sums = np.bincount(at, weights=values[held], minlength=n_groups * n_bins)
        return sums.reshape(n_groups, n_bins)

    parts = {
        "count": table(cells.count),
        "weight": table(cells.weight),
        "square": table(cells.square if cells.is_weighted else cells.count),
        "score": table(cells.weight * cells.mean_score),
        "outcome": table(cells.weight * cells.mean_outcome),
    }
    filled = parts["count"] > 0
    from_on = {name: part[:, ::-1].cumsum(axis=1)[:, ::-1] for name, part in parts.items()}
    below = {name: part.cumsum(axis=1) for name, part in parts.items()}
    # A range that ends at the last bin with rows is the whole range.
    owner_on, first = np.nonzero(filled)
    whole = below["count"][:, -1:]
    owner_below, last = np.nonzero(filled & (below["count"] < whole))
    owner = np.concatenate([owner_on, owner_below])
    sums = {
        name: np.concatenate([from_on[name][owner_on, first], below[name][owner_below, last]])
        for name in parts
    }
    lowest = filled.argmax(axis=1)
    begins = np.where(first == lowest[owner_on], 0, first)
    lower = np.concatenate([begins, np.zeros(len(last), dtype=np.int64)])
    upper = np.concatenate([np.full(len(first), n_bins), last + 1])
    mean_score, frequency = sums["score"] / sums["weight"], sums["outcome"] / sums["weight"]
    alpha /= len(owner)
    effective = sums["weight"] ** 2 / sums["square"] * few_clusters_factor(evidence.even_clusters, alpha)
    if (effects := _range_effects(evidence, cells, group)) is not None:
        from_on_effect, below_effect = effects
        effective /= np.concatenate([from_on_effect[owner_on, first], below_effect[owner_below, last]])
    low, high = mean_limits(frequency, effective, alpha, weighted=cells.is_weighted)
    least, most = mean_score - high, mean_score - low
    sure = np.maximum(np.maximum(least, -most), 0.0) * sums["weight"]
    found = []
    for i in np.argsort(-sure, kind="stable"):
        if sure[i] <= 0.0:
            break
        inside = parts["count"][owner[i], lower[i] : upper[i]]
        found.append(
            Gap(
                label=int(owner[i]),
                lower=float(lower[i] / n_bins),
                upper=float(upper[i] / n_bins),
                bin=int(lower[i] + inside.argmax()),
                count=int(sums["count"][i]),
                says=float(mean_score[i]),
                right=float(frequency[i]),
                least=float(least[i]),
                most=float(most[i]),
            )
        )
    return found, len(owner)


def _range_effects(
    evidence: Evidence, cells: BinStatistics, group: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the design effects of the ranges of each group; None if rows are independent."""
    if not isinstance(evidence, Rows) or evidence.dependence is None:
        return None
    problems = evidence.problems()
    owner, bin_ = (np.repeat(values, cells.count) for values in (group, cells.bin))
    held = owner >= 0
    options: dict[str, Any] = {"n_bins": cells.n_bins, "weight": problems.weights[held]}
    score, row, owner, bin_ = (values[held] for values in (problems.scores, problems.rows, owner, bin_))
    return evidence.dependence.design_effects(score, row, owner, bin_, **options)


def _listed(gaps: Sequence[Gap], class_names: Sequence[str] | None, *, sizes: bool = False) -> str:
    names = []
    for gap in gaps:
        assert gap.label is not None
        name = str(gap.label) if class_names is None else class_names[gap.label]
        size = gap.size_words().replace(" (", ", ").rstrip(")")
        names.append(f"{name} ({size})" if sizes else name)
    return " and ".join(names)
