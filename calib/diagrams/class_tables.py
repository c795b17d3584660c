"""Predicted classes: a ranked table with noise floors, and each class in detail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.answers.conclusion import ClassGaps, Conclusion, concluded
from calib.base.exceptions import InputError
from calib.base.interval_words import PLANNED_GAP, interval_words, rows_needed, smallest_difference
from calib.base.results import Drawn, Result
from calib.data.defaults import FDR, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.notions import Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_share
from calib.diagrams import style
from calib.diagrams.reliability_diagrams import with_class_names
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import ReducedRows, Rows, Source, as_evidence, scores_and_next, single_rows
from calib.evidence.sums import SummedRows
from calib.stats.floors import (
    ABOVE_NOISE,
    WITHIN_NOISE,
    discoveries,
    error_would_show,
    perfect_words,
    problem_floors,
)
from calib.stats.intervals import frequency_interval

#: Columns of `ClassTable.frame` with the head and the meaning that tables print.
CLASS_COLUMNS = {
    "class": ("Class", "Name of the class"),
    "predicted": ("Predicted", "Rows predicted as the class"),
    "true": ("True", "Rows whose true class it is"),
    "accuracy": ("Accuracy", "Share of its predictions that are right"),
    "confidence": ("Confidence", "Mean confidence of rows predicted as the class"),
    "gap": ("Gap", "Accuracy minus confidence"),
    "lower": ("Lower", "Lower end of the interval of the gap"),
    "upper": ("Upper", "Upper end of the interval of the gap"),
    "rows_needed": (
        "Rows needed",
        "Further rows of the class that would show a gap of 5 points, in 80 of 100",
    ),
    "p_value": ("p", "Chance of such a gap if the class is right as often as it says"),
    "flagged": ("Off", "Whether the gap is no noise, at the false discovery rate over all classes"),
    "class_ece": ("TL-ECE", "TL-ECE of this class alone"),
    "floor": ("Floor", "Mean TL-ECE of a perfect model of this size"),
    "floor_upper": ("Floor, 95 %", "TL-ECE that a perfect model stays below in 95 of 100 cases"),
    "smallest": ("Would show", "True TL-ECE that would exceed the floor (95 %) in 80 of 100 such samples"),
    "above_noise": ("Above noise", "Whether the TL-ECE is above noise, at the same false discovery rate"),
    "share": ("Share", "Share of the TL-ECE of all classes"),
}


@dataclass(frozen=True, eq=False, repr=False)
class ClassTable(Result):
    """Gaps, errors and noise floors of the predicted classes, each array by class code."""

    n_bins: int  #: Bins per class
    strategy: Strategy  #: How each class was binned
    fdr: float  #: False discovery rate of `flagged` and of `above_noise`
    level: float  #: Coverage of each interval of a gap
    tl_ece: float  #: TL-ECE over all classes
    order: np.ndarray  #: (L,) int64: Class codes: flagged classes first, smallest p, then largest gap
    #: (L,) int64: Rows of each predicted class, and rows of each true class
    predicted: np.ndarray
    true: np.ndarray
    #: (L,) float64: Accuracy and mean confidence of each predicted class; NaN if it is never predicted
    accuracy: np.ndarray
    confidence: np.ndarray
    #: (L,) float64: Accuracy minus mean confidence, negative if overconfident, and the ends of its interval
    gap: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    #: (L,) float64: Further rows of the class with which a gap of five points would show in 80 of 100 samples
    rows_needed: np.ndarray
    p_value: np.ndarray  #: (L,) float64: Chance of such a gap if the class is right as often as it says
    flagged: np.ndarray  #: (L,) bool: The guilty classes of `calib.conclude`
    #: (L,) float64: TL-ECE of the class, E[``|P(Y = l | c = l, h) - h|`` | c = l]; NaN if never predicted
    class_ece: np.ndarray
    #: (L,) float64: Mean and 95 % quantile of `class_ece` for a perfectly calibrated model with these scores
    floor: np.ndarray
    floor_upper: np.ndarray
    smallest: np.ndarray  #: (L,) float64: True error that would pass `floor_upper` in 80 of 100 such samples
    #: (L,) bool: `class_ece` is above noise at the false discovery rate `fdr` (Benjamini & Hochberg 1995)
    above_noise: np.ndarray
    #: (L,) float64: Share of the class in `tl_ece`; sums to 1 (zeros if `tl_ece` is 0)
    share: np.ndarray

    def words(self, strong: str = "{}") -> str:
        """Say how many predicted classes are off; `strong` as for `cell_words`."""
        n_found, among = int(self.flagged.sum()), int((self.predicted > 0).sum())
        counted = strong.format(f"{n_found:,} of {among:,}" if n_found else f"None of {among:,}")
        verb = "is known to be off" if not n_found else "is off" if n_found == 1 else "are off"
        return f"{counted} predicted classes {verb} (false discovery rate {100 * self.fdr:g}%)"

    def class_words(self, label: int, name: str, strong: str = "{}") -> str:
        """Describe one predicted class; `strong` as for `cell_words`."""
        confidence, accuracy = (
            strong.format(f"{value[label]:.3f}") for value in (self.confidence, self.accuracy)
        )
        ends = interval_words(100 * self.lower[label], 100 * self.upper[label], least=1, sign="+")
        off = "" if self.flagged[label] else ", not known to be off"
        verdict = ABOVE_NOISE if self.above_noise[label] else WITHIN_NOISE
        hidden = "" if self.above_noise[label] else f"; {error_would_show(self.smallest[label])}"
        return (
            f"{name} is predicted for {self.predicted[label]:,} rows: confidence {confidence}, accuracy "
            f"{accuracy} ({ends} points{off}). Its TL-ECE is {self.class_ece[label]:.4f}, {verdict} "
            f"({perfect_words(self.floor[label], self.floor_upper[label])}{hidden})."
        )

    def frame(self, class_names: tuple[str, ...] | None = None) -> pd.DataFrame:
        """Return one row per class, in `order`."""
        columns = {name: getattr(self, name)[self.order] for name in CLASS_COLUMNS if name != "class"}
        table = pd.DataFrame({"label": self.order} | columns)
        return with_class_names(table, class_names)


def class_table(
    y_true: Source,
    scores: Scores | None = None,
    *,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    fdr: float = FDR,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
    conclusion: Conclusion | None = None,
) -> ClassTable:
    """Assess each predicted class separately, with noise floors and false discovery control.

    `calib.conclude` decides which classes are off, and their order.

    Parameters
    ----------
    y_true, scores, n_bins, strategy, sample_weight, cluster
        As for `calib.noise_floor`.
    fdr : float in (0, 1)
        False discovery rate of `flagged` and of `above_noise`.
    n_resamples, random_state
        As for `calib.noise_floor`; the clearest classes get L / fdr redraws if that is more.
    conclusion : Conclusion, optional
        What `calib.conclude` says with the same options, if it is known: it is not computed again.
    """
    check_share(fdr, "fdr", 0.05)
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if isinstance(evidence, ReducedRows):
        raise InputError(
            "class_table counts true classes, which BinaryProblems do not hold; pass labels and scores"
        )
    if (missing := evidence.lacks("notion:top-label")) is not None:
        raise InputError(missing)
    strategy = evidence.strategy if strategy is None else strategy
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "fdr": fdr}
    options |= {"n_resamples": n_resamples, "random_state": random_state}
    conclusion = concluded(evidence, **options) if conclusion is None else conclusion
    gaps = conclusion.by_class
    assert gaps is not None, "predicted classes have gaps"
    floors = problem_floors(evidence, notion="top-label", **options)
    cells = evidence.cells("top-label", n_bins=n_bins, strategy=strategy, effects=False)

    def by_class(values: np.ndarray, absent: float = np.nan, label: np.ndarray = floors.label) -> np.ndarray:
        result = np.full(cells.n_classes, absent)
        result[label] = values
        return result

    contribution = by_class(floors.observed * floors.weight / cells.n_samples, 0.0)
    tl_ece = float(contribution.sum())
    every = np.arange(cells.n_classes)
    numbers = {"accuracy": gaps.happened, "confidence": gaps.score, "gap": gaps.gap, "p_value": gaps.p}
    numbers |= {"lower": gaps.lower, "upper": gaps.upper}
    hidden = smallest_difference(gaps.lower, gaps.upper, gaps.level)
    numbers |= {"rows_needed": rows_needed(gaps.count, hidden, PLANNED_GAP)}
    return ClassTable(
        n_bins=n_bins,
        strategy=strategy,
        fdr=fdr,
        level=gaps.level,
        tl_ece=tl_ece,
        order=np.append(gaps.label, every[~np.isin(every, gaps.label)]),
        predicted=by_class(floors.count, 0.0).astype(np.int64),
        true=evidence.true,
        **{name: by_class(values, label=gaps.label) for name, values in numbers.items()},
        flagged=np.isin(every, conclusion.guilty),
        class_ece=by_class(floors.observed),
        floor=by_class(floors.mean),
        floor_upper=by_class(floors.upper),
        smallest=by_class(floors.smallest),
        above_noise=by_class(discoveries(floors.p_value, fdr), 0.0).astype(bool),
        share=contribution / tl_ece if tl_ece > 0 else contribution,
    )


@dataclass(frozen=True, eq=False, repr=False)
class ClassDiagram(Drawn):
    """Reliability diagram of one class: one entry per non-empty bin."""

    label: int  #: The class
    notion: str  #: "top-label": rows predicted as the class, with h(x); "class-wise": all rows, h_l(x)
    cells: BinStatistics  #: Its bins with rows
    #: float64: 95 % Wilson interval of how often the class is the true one, of the effective rows
    frequency_lower: np.ndarray
    frequency_upper: np.ndarray

    def frame(self) -> pd.DataFrame:
        """Return one row per bin."""
        table = self.cells.frame()[["lower", "upper", "count", "mean_score", "mean_outcome"]]
        table.insert(0, "notion", self.notion)
        ends = {"frequency_lower": self.frequency_lower, "frequency_upper": self.frequency_upper}
        return table.rename(columns={"mean_outcome": "frequency"}).assign(**ends)


@dataclass(frozen=True, eq=False, repr=False)
class Confusions(Result):
    """Classes with which one class is confused, most rows first."""

    label: int  #: The class
    #: Rows predicted as the class, and rows whose true class it is
    predicted: int
    true: int
    #: int64: True classes of rows wrongly predicted as the class, and their rows
    truth_when_predicted: np.ndarray
    count_when_predicted: np.ndarray
    #: int64: Classes predicted for rows that miss the class, and their rows
    predicted_when_true: np.ndarray
    count_when_true: np.ndarray

    def frame(self, class_names: tuple[str, ...] | None = None) -> pd.DataFrame:
        """Return one row per confused pair: class predicted ("announced"), true class, rows."""

        def named(code: int) -> int | str:
            return code if class_names is None else class_names[code]

        name = named(self.label)
        wrong = zip(self.truth_when_predicted, self.count_when_predicted, strict=True)
        missed = zip(self.predicted_when_true, self.count_when_true, strict=True)
        pairs = [(name, named(other), rows) for other, rows in wrong]
        pairs += [(named(other), name, rows) for other, rows in missed]
        return pd.DataFrame(pairs, columns=["announced", "true", "rows"])


def class_diagram(
    y_true: Source,
    scores: Scores | None = None,
    label: int | None = None,
    *,
    notion: str = "top-label",
    n_bins: int = N_BINS,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> ClassDiagram:
    """Reliability diagram of one class over equal-width bins.

    Parameters
    ----------
    y_true, scores, n_bins, sample_weight, cluster
        As for `calib.noise_floor`.
    label : int
        Class code, which must be predicted for "top-label".
    notion : {"top-label", "class-wise"}
        Rows with this predicted class and their h(x), or all rows and their h_l(x).
    """
    own, label = scores_and_next(y_true, scores, label)
    evidence = as_evidence(y_true, own, sample_weight, cluster)
    code = _class_code(evidence, label)
    cells = evidence.of_class(code, notion).cells(n_bins=n_bins, strategy="uniform")
    return ClassDiagram(code, notion, cells, *frequency_interval(cells))


def confusions(
    y_true: Source,
    scores: Scores | None = None,
    label: int | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Confusions:
    """Count the rows in which one class, the code `label`, is confused with another, in both directions.

    Other parameters as for `calib.ece`; counts are of rows, without weights.
    """
    own, label = scores_and_next(y_true, scores, label)
    evidence = single_rows(y_true, own, sample_weight, cluster, "What a class is confused with")
    if (missing := evidence.lacks("notion:top-label")) is not None:
        raise InputError(missing)
    code, truth, predicted_codes = _class_code(evidence, label), evidence.labels, evidence.claims()[0]

    def ranked(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = np.bincount(codes[codes != code])
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        return order, counts[order]

    predicted, true = predicted_codes == code, truth == code
    return Confusions(
        code, int(predicted.sum()), int(true.sum()), *ranked(truth[predicted]), *ranked(predicted_codes[true])
    )


def _class_code(evidence: Rows | SummedRows, label: int | None) -> int:
    names = evidence.class_names
    if not isinstance(label, (int, np.integer)) or label < 0 or (names is not None and label >= len(names)):
        most = "" if names is None else f" to {len(names) - 1:,}"
        raise InputError(f"label must be the code of a class, 0{most}; got {label!r:.60}")
    return int(label)


def draw_class(
    diagram: ClassDiagram, *, chosen: int | None = None, n_bins: int = N_BINS, height: int = 400
) -> style.Figure:
    """Draw the reliability diagram of one class, with 95 % Wilson intervals and shares of rows.

    Marks carry the ends of their bin first in their customdata; `chosen` of `n_bins` bins is marked.
    """
    top = diagram.notion == "top-label"
    cells, low, high = diagram.cells, diagram.frequency_lower, diagram.frequency_upper
    custom = cells.lower, cells.upper, cells.count, low, high
    hover = "%{customdata[0]:.3g} to %{customdata[1]:.3g}: %{customdata[2]:,} rows"
    bars = style.share_bars(cells, custom, hover)
    pairs = zip(cells.mean_outcome - cells.mean_score, cells.count, strict=True)
    hues = np.array([str(style.faint(style.of_direction(gap), count)) for gap, count in pairs])
    dots = style.scatter(
        x=cells.mean_score,
        y=cells.mean_outcome,
        marker=style.marks(hues, 11, None if top else "square", width=0),
        error_y=style.interval(cells.mean_outcome, low, high),
        name="rows predicted as the class" if top else "all rows",
        customdata=custom,
        hovertemplate=(
            "score %{x:.3f}, frequency %{y:.3f}<br>"
            "95 % interval %{customdata[3]:.4g} to %{customdata[4]:.4g}<br>"
            "%{customdata[2]:,} rows"
        ),
    )
    marked = [] if chosen is None else [style.bin_span(chosen, n_bins)]
    x_title = "Confidence" if top else "Score of the class"
    axes = style.unit_axes(bars + dots, x_title, "Accuracy" if top else "Frequency", height, marked=marked)
    return style.figure(bars + dots, barmode="overlay", **axes)


def draw_class_changes(
    before: ClassGaps, after: ClassGaps, class_names: Sequence[str], *, most: int = style.MAX_NAMED
) -> style.Figure:
    """Draw an arrow for each predicted class, from its gap before a calibrator to its gap after.

    The classes are the first `most` of `before`; bars are the intervals after. Vermillion: right less
    often than it says, blue: more often, grey: not known to be off.
    """
    names = [class_names[code] for code in before.label[:most].tolist()]
    order = np.argsort(-before.gap[: len(names)], kind="stable")
    known = {label: at for at, label in enumerate(after.label.tolist())}
    end = np.array([known.get(label, -1) for label in before.label[order].tolist()])
    there, place = end >= 0, np.arange(len(order))
    start, stop = 100 * before.gap[order], np.where(there, 100 * after.gap[end], np.nan)
    low, high = (np.where(there, 100 * limit[end], np.nan) for limit in (after.lower, after.upper))
    begins = style.hues(start, before.differs[order]).tolist()
    ends = style.hues(stop, there & after.differs[end]).tolist()
    told = (before.count[order], start, stop, low, high, [style.escape(names[at]) for at in order])
    hover = (
        "%{customdata[5]}: %{customdata[1]:+.1f} points before, %{customdata[2]:+.1f} after<br>"
        "interval after %{customdata[3]:+.1f} to %{customdata[4]:+.1f}<br>%{customdata[0]:,} rows"
    )
    about: dict[str, Any] = {"customdata": told, "hovertemplate": hover}
    pale = [style.translucent(each, 0.2) for each in ends]
    bars = {"x": high - low, "base": low, "y": place, "orientation": "h", "width": 0.3}
    data = style.bar(**bars, marker={"color": pale})
    data += style.scatter(x=start, y=place, marker=style.marks(begins, 11, "circle-open", width=2.5), **about)
    data += style.scatter(x=stop, y=place, marker=style.marks(ends, 12), **about)
    reach = np.nanmax(np.abs(np.concatenate([start, low, high])), initial=1.0)
    long = np.flatnonzero(np.abs(stop - start) > 0.04 * reach)
    look = {"text": "", "arrowwidth": 2.5, "arrowhead": 2, "standoff": 6, "startstandoff": 6}
    look |= {"xref": "x", "axref": "x", "yref": "y", "ayref": "y"}
    arrows = [
        {"x": stop[at], "ax": start[at], "y": at, "ay": at, "arrowcolor": begins[at], **look}
        for at in long.tolist()
    ]
    return style.figure(
        data,
        height=80 + 25 * max(len(names), 2),
        annotations=arrows,
        shapes=[style.upright(0, color=style.LINES, width=1)],
        xaxis={"title": "right less often \u2190 points \u2192 more"},
        **style.named_rows([style.shorten(names[at]) for at in order]),
    )
