"""Reliability diagrams: confidence and top-label reliability in bins, a bin in detail, the worst cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betainc, ndtri

from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.calibrators.shrinkage import MOST_STRENGTH, shrunken
from calib.data.notions import TOP_NOTIONS
from calib.data.validation import check_order
from calib.diagrams.style import (
    FEW_ROWS,
    MAX_NAMED,
    OKABE_ITO,
    Figure,
    Properties,
    at,
    axes,
    bar,
    count_bars,
    escape,
    faint,
    figure,
    grid,
    interval,
    names_above,
    scatter,
    share_bars,
    shorten,
    span,
    unit_axes,
    width_of,
)
from calib.evidence.binning import BinStatistics, assign_bins, bin_statistics, uniform_edges
from calib.evidence.reductions import event_scores, reduce_to_binary
from calib.stats.bands import CalibrationBand
from calib.stats.intervals import outcome_limits


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityDiagram(Drawn):
    """Confidence and top-label reliability over the same equal-width bins (Figure 1a of the paper).

    Of the scores of one event, such as P(Y = 1), `mean_confidence` is the mean score and `accuracy` how often
    the event happened; `top_label` and `tl_ece` say the same as these.

    Every array has one entry per non-empty bin, in ascending order.

    Attributes
    ----------
    n_samples, n_bins : int
        Rows, and bins asked for.
    bin : int64 array
        Index of the bin, 0..n_bins-1.
    lower, upper : float64 arrays
        Edges of the bin.
    count : int64 array
        Rows in the bin.
    weight : array
        Sum of their weights, which have mean 1 over all rows; `count` where rows count alike.
    mean_confidence, accuracy : float64 arrays
        conf_b and acc_b: the star of Figure 1a; weighted where rows are.
    accuracy_lower, accuracy_upper : float64 arrays
        95 % Wilson interval of the accuracy; with weights, of the effective number of rows.
    delta : float64 array
        Delta_b, the share-weighted mean over predicted classes of ``|accuracy - confidence|``.
    top_label : float64 array
        conf_b + Delta_b where acc_b > conf_b, else conf_b - Delta_b: the red plus of Figure 1a.
    conf_ece, tl_ece : float
        The two errors over these bins.
    cells : BinStatistics
        The (predicted class, bin) cells behind `delta`.
    """

    n_samples: int
    n_bins: int
    bin: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    count: np.ndarray
    weight: np.ndarray
    mean_confidence: np.ndarray
    accuracy: np.ndarray
    accuracy_lower: np.ndarray
    accuracy_upper: np.ndarray
    delta: np.ndarray
    top_label: np.ndarray
    conf_ece: float
    tl_ece: float
    cells: BinStatistics

    @property
    def one_event(self) -> bool:
        """Whether the scores are of one event, so that there are no predicted classes to look at."""
        return self.cells.n_classes == 1

    @property
    def share(self) -> np.ndarray:
        """Share of all rows, or of their weight, in each bin."""
        return self.weight / self.n_samples

    @property
    def adds_most(self) -> int:
        """Index of the bin with the largest share of TL-ECE, of those with `FEW_ROWS` if there are any."""
        enough = self.count >= min(FEW_ROWS, self.count.max())
        return int(np.argmax(np.where(enough, self.delta * self.weight, -1.0)))

    def words(self) -> str:
        """Say which bin adds most to TL-ECE, and how far off it is."""
        at = self.adds_most
        if self.one_event:
            return (
                f"The bin that adds most to the error is {self.lower[at]:.2f} to {self.upper[at]:.2f}: "
                f"{cell_words(self.mean_confidence[at], self.accuracy[at], self.count[at])}."
            )
        return (
            f"The bin that adds most to TL-ECE is {self.lower[at]:.2f} to {self.upper[at]:.2f}: it says "
            f"{self.mean_confidence[at]:.3f} and is right {self.accuracy[at]:.3f}; class by class it is off "
            f"by {self.delta[at]:.3f} on average (n = {self.count[at]:,})."
        )

    def means(self, confidence: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Average a value of the rows over each bin, (bins,); `confidence` is that of the rows.

        Raises
        ------
        InputError
            If rows have weights, which the diagram does not keep.
        """
        if self.cells.is_weighted:
            raise InputError("means over bins cannot use sample_weight; average with numpy in each bin")
        bins = assign_bins(confidence, uniform_edges(self.n_bins))
        return np.bincount(bins, weights=values, minlength=self.n_bins)[self.bin] / self.count

    def zoom(self, bin_: int) -> BinZoom:
        """Return the predicted classes inside one bin; see `bin_zoom`."""
        at = np.flatnonzero(self.bin == bin_)
        if not len(at):
            raise InputError(f"bin {bin_} holds no rows; the bins with rows are {self.bin.tolist()}")
        first = int(at[0])
        inside = np.flatnonzero(self.cells.bin == bin_)
        of_bin = (self.cells.mean_outcome, self.cells.effective, self.cells.mean_score)
        rates, counts, scores = (values[inside] for values in of_bin)
        p_value = chance_of_gap(rates, counts, scores)
        order = np.lexsort((-self.cells.count[inside], p_value))
        inside, p_value = inside[order], p_value[order]
        count, rate, says = (
            a[inside] for a in (self.cells.count, self.cells.mean_outcome, self.cells.mean_score)
        )
        effective = self.cells.effective[inside]
        lower, upper = wilson_interval(rate, effective)
        low, high = outcome_limits(self.cells, 0.05 / len(inside), inside)
        shrunk, strength = shrunken(rate * effective, effective, np.full(len(inside), self.accuracy[first]))
        return BinZoom(
            bin=bin_,
            lower=float(self.lower[first]),
            upper=float(self.upper[first]),
            count=int(self.count[first]),
            mean_confidence=float(self.mean_confidence[first]),
            accuracy=float(self.accuracy[first]),
            label=self.cells.label[inside],
            class_count=count,
            class_confidence=says,
            class_accuracy=rate,
            class_lower=lower,
            class_upper=upper,
            class_shrunken=shrunk,
            strength=strength,
            beyond_noise=(says < low) | (says > high),
        )

    def frame(self) -> pd.DataFrame:
        """Return one row per non-empty bin."""
        names = ("bin", "lower", "upper", "count", "share", "mean_confidence", "accuracy")
        more = ("accuracy_lower", "accuracy_upper", "delta", "top_label")
        return pd.DataFrame({name: getattr(self, name) for name in names + more})


@dataclass(frozen=True, eq=False, repr=False)
class BinZoom(Drawn):
    """The predicted classes inside one bin of a reliability diagram (Figure 1b), clearest evidence first.

    Evidence is the chance that a class whose rows are right as often as they say is as far off or farther:
    a class of 4 rows that are all right comes after one of 400 that is off by little.

    Attributes
    ----------
    bin : int
        Index of the bin.
    lower, upper, mean_confidence, accuracy : float
        Edges, conf_b and acc_b of the bin.
    count : int
        Rows in the bin.
    label : (C,) int64 array
        Predicted classes that occur in the bin.
    class_count : (C,) int64 array
        Rows of each.
    class_confidence, class_accuracy : (C,) float64 arrays
        Mean confidence and accuracy of each.
    class_lower, class_upper : (C,) float64 arrays
        95 % Wilson interval of each accuracy.
    class_shrunken : (C,) float64 array
        Empirical Bayes estimate of each accuracy: shrunk towards that of all classes in the bin, the more
        the fewer rows there are (`calib.calibrators.shrinkage`).
    strength : float
        Rows that the accuracy of all classes is worth in these.
    beyond_noise : (C,) bool array
        Whether the interval of the accuracy excludes the confidence, all classes of the bin together at 5 %.
    """

    bin: int
    lower: float
    upper: float
    count: int
    mean_confidence: float
    accuracy: float
    label: np.ndarray
    class_count: np.ndarray
    class_confidence: np.ndarray
    class_accuracy: np.ndarray
    class_lower: np.ndarray
    class_upper: np.ndarray
    class_shrunken: np.ndarray
    strength: float
    beyond_noise: np.ndarray

    @property
    def alike(self) -> bool:
        """Whether classes differ no more than chance lets them: then all get the accuracy of the bin."""
        return self.strength > MOST_STRENGTH / 2

    def words(self, class_names: Sequence[str], strong: str = "{}") -> str:
        """Describe the class with the clearest evidence, if any is beyond noise, and the bin.

        `class_names` must already be escaped for where the words are shown; `strong` as for `cell_words`.
        """
        where = f"{self.lower:.3g} to {self.upper:.3g}"
        at = int(np.argmax(self.beyond_noise))
        if self.beyond_noise[at]:
            cell = self.class_confidence[at], self.class_accuracy[at], self.class_count[at]
            one = f"Predicted {class_names[self.label[at]]} at {where}: {cell_words(*cell, strong)}"
            if self.class_count[at] < FEW_ROWS:
                one += f"; shrunk towards all classes, about {self.class_shrunken[at]:.3f}"
        else:
            least, most = int(self.class_count.min()), int(self.class_count.max())
            rows = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            one = (
                f"None of the {len(self.label):,} predicted classes at {where} is distinguishable from noise "
                f"by itself ({rows} rows each)"
            )
        together = cell_words(self.mean_confidence, self.accuracy, self.count)
        return f"{one}. All classes together: {together}."

    def frame(self, class_names: tuple[str, ...] | None = None) -> pd.DataFrame:
        """Return one row per predicted class, with its name if there are `class_names`."""
        table = pd.DataFrame(
            {
                "label": self.label,
                "count": self.class_count,
                "mean_confidence": self.class_confidence,
                "accuracy": self.class_accuracy,
                "accuracy_lower": self.class_lower,
                "accuracy_upper": self.class_upper,
                "accuracy_shrunken": self.class_shrunken,
                "beyond_noise": self.beyond_noise,
            }
        )
        return with_class_names(table, class_names)


def with_class_names(table: pd.DataFrame, class_names: Sequence[str] | None) -> pd.DataFrame:
    """Insert a column "class" with the names behind the codes in "label", if there are names."""
    if class_names is not None:
        table.insert(1, "class", [class_names[code] for code in table["label"]])
    return table


def reliability_diagram(
    y_true: Any, scores: Any, *, n_bins: int = 10, sample_weight: Any = None
) -> ReliabilityDiagram:
    """Confidence (stars) and top-label (red plus) reliability over equal-width bins (section 2.1).

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores in [0, 1].
    n_bins : int
        Equal-width bins B.
    sample_weight : (n,) array_like of float, optional
        As for `calib.ece`.

    Raises
    ------
    InputError
        If an argument cannot be used.
    """
    check_order(y_true, scores)
    notions = ("confidence", "confidence") if event_scores(scores) is not None else TOP_NOTIONS
    pooled, cells = (
        bin_statistics(reduce_to_binary(y_true, scores, notion, sample_weight=sample_weight), n_bins=n_bins)
        for notion in notions
    )
    return diagram_of_cells(pooled, cells)


def diagram_of_cells(pooled: BinStatistics, cells: BinStatistics) -> ReliabilityDiagram:
    """Return the diagram of the cells of "confidence" and "top-label", or twice those of one event."""
    delta = cells.bin_deltas()[0][pooled.bin]
    direction = np.where(pooled.gap > 0, 1.0, -1.0)
    lower, upper = wilson_interval(pooled.mean_outcome, pooled.effective)
    return ReliabilityDiagram(
        n_samples=pooled.n_samples,
        n_bins=pooled.n_bins,
        bin=pooled.bin,
        lower=pooled.lower,
        upper=pooled.upper,
        count=pooled.count,
        weight=pooled.weight,
        mean_confidence=pooled.mean_score,
        accuracy=pooled.mean_outcome,
        accuracy_lower=lower,
        accuracy_upper=upper,
        delta=delta,
        top_label=pooled.mean_score + direction * delta,
        conf_ece=pooled.ece(),
        tl_ece=cells.ece(),
        cells=cells,
    )


def bin_zoom(y_true: Any, scores: Any, bin: int, *, n_bins: int = 10, sample_weight: Any = None) -> BinZoom:
    """Accuracy and confidence of every predicted class inside one equal-width bin (Figure 1b).

    Parameters are those of `reliability_diagram`, and `bin`, the index 0..n_bins-1 of the bin.

    Raises
    ------
    InputError
        If the bin holds no rows, or as for `reliability_diagram`.
    """
    return reliability_diagram(y_true, scores, n_bins=n_bins, sample_weight=sample_weight).zoom(bin)


def cell_words(says: float, right: float, count: int, strong: str = "{}") -> str:
    """Describe a cell: its mean score, how often that is right, and its rows.

    Parameters
    ----------
    says, right : float
        Mean score and frequency of the outcome.
    count : int
        Rows.
    strong : str
        Format of the two numbers: "**{}**" for Markdown, "<b>{}</b>" for HTML.

    Examples
    --------
    >>> cell_words(0.55, 0.2, 31)
    'says 0.550, right 0.200, n = 31'
    """
    return f"says {strong.format(f'{says:.3f}')}, right {strong.format(f'{right:.3f}')}, n = {count:,}"


def worst_cells_words(
    cells: BinStatistics, class_names: Sequence[str], n_cells: int = 3, *, strong: str = "{}"
) -> list[str]:
    """Describe each of `worst_cells`; `class_names` must already be escaped for where the words are shown.

    A direction is said where the interval of the outcome excludes the mean score, all cells that could have
    been chosen taken together at 5 % (`outcome_limits`); else the gap is within noise.
    """
    worst = worst_cells(cells, n_cells)
    choosable = max(int(np.sum(cells.count >= FEW_ROWS)), 1)
    low, high = outcome_limits(cells, 0.05 / choosable, worst.index.to_numpy())
    rows: list[dict[Any, Any]] = worst.assign(low=low, high=high).to_dict("records")

    def direction(cell: dict[Any, Any]) -> str:
        if cell["low"] <= cell["mean_score"] <= cell["high"]:
            return "within noise"
        return "overconfident" if cell["mean_score"] > cell["high"] else "underconfident"

    return [
        f"Predicted {class_names[cell['label']]} at {cell['lower']:.2f} to {cell['upper']:.2f}: "
        + cell_words(cell["mean_score"], cell["mean_outcome"], cell["count"], strong)
        + f" ({direction(cell)})"
        for cell in rows
    ]


def worst_cells(cells: BinStatistics, n_cells: int = 3, min_count: int = FEW_ROWS) -> pd.DataFrame:
    """Return the (class, bin) cells that add most to the error (size of the gap times rows), largest first.

    Cells with fewer than `min_count` rows are left out: their gaps are mostly noise.
    """
    table = cells.frame()
    table["contribution"] = cells.share * np.abs(cells.gap)
    table = table[table["count"] >= min_count]
    return table.sort_values("contribution", ascending=False, kind="stable").head(n_cells)


def chance_of_gap(rate: np.ndarray, count: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Two-sided binomial p-value of each frequency where the chance is the score; counts need not be whole.

    >>> chance_of_gap(np.array([1.0]), np.array([4.0]), np.array([0.5])).round(4).tolist()
    [0.125]
    """
    right, wrong = rate * count, (1.0 - rate) * count
    chance = np.clip(score, 1e-12, 1.0 - 1e-12)
    more = np.where(right > 1e-9, betainc(np.maximum(right, 1e-9), wrong + 1.0, chance), 1.0)
    less = np.where(wrong > 1e-9, betainc(np.maximum(wrong, 1e-9), right + 1.0, 1.0 - chance), 1.0)
    return np.minimum(2.0 * np.minimum(more, less), 1.0)


def wilson_interval(
    rate: np.ndarray, count: np.ndarray, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson score interval of a frequency (Wilson 1927), element by element.

    Parameters
    ----------
    rate : array of float
        Observed frequencies.
    count : array of float
        Trials behind each, or as many as are effective.
    level : float
        Confidence level.
    """
    z = ndtri(0.5 + level / 2.0)
    scale = 1.0 + z**2 / count
    centre = (rate + z**2 / (2.0 * count)) / scale
    half = z / scale * np.sqrt(rate * (1.0 - rate) / count + z**2 / (4.0 * count**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def draw_reliability(
    diagram: ReliabilityDiagram,
    *,
    truth: np.ndarray | None = None,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    curve: tuple[np.ndarray, np.ndarray] | None = None,
    bounds: CalibrationBand | None = None,
    event: str | None = None,
    chosen: int | None = None,
    other: tuple[str, ReliabilityDiagram] | None = None,
) -> Figure:
    """Draw Figure 1a: stars, red plus, grey bars and the diagonal; of one event the stars alone.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        What to draw, one mark per non-empty bin.
    truth : array, optional
        Known accuracy of each bin of `diagram` (simulated examples).
    band : (lower, upper) arrays, optional
        Where a perfect model's stars would fall, per bin of `diagram`.
    curve : (scores, frequencies) arrays, optional
        Reliability without bins: the CORP curve of all classes pooled.
    bounds : CalibrationBand, optional
        Where that curve runs in truth, everywhere at once.
    event : str, optional
        Name of the class whose probability a binary score is; None where it is a confidence.
    chosen : int, optional
        Index of a bin to be marked.
    other : (name, ReliabilityDiagram), optional
        Another model of the same rows, drawn with open marks.
    """
    x = diagram.mean_confidence
    hover = np.column_stack(
        [diagram.bin, diagram.lower, diagram.upper, diagram.count, 100 * diagram.share, diagram.accuracy]
        + [diagram.accuracy_lower, diagram.accuracy_upper, diagram.delta, x]
    ).tolist()
    words = ("Confidence", "Confidence in the predicted class", "How often it is right")
    if event is not None:
        name = escape(shorten(event))
        words = (f"P({name})", f"P({name}), the predicted probability", f"How often it is {name}")
    where = f"{words[0]} " + "%{customdata[1]:.3g} to %{customdata[2]:.3g}<br>"
    rows = "%{customdata[3]:,} rows, %{customdata[4]:.1f} % of all"
    data = share_bars(diagram.lower, diagram.upper, diagram.share, hover, where + rows)
    if band is not None:
        middle = (diagram.lower + diagram.upper) / 2
        data += bar(
            x=middle,
            y=band[1] - band[0],
            base=band[0],
            width=(diagram.upper - diagram.lower) * 0.94,
            marker={"color": "rgba(86,180,233,0.28)", "line": {"width": 0}},
            name="where a perfect model's stars fall (95 %)",
            hoverinfo="skip",
        )
    if bounds is not None:
        level = f"{bounds.level:.0%}"
        outline = (bounds.steps(bounds.lower, "hv"), bounds.steps(bounds.upper, "vh"))
        for side, (at, value) in enumerate(outline):
            data += scatter(
                x=at,
                y=value,
                mode="lines",
                line={"color": OKABE_ITO["green"], "width": 1, "shape": "hv" if side == 0 else "vh"},
                fill="tonexty" if side else None,
                fillcolor="rgba(0,158,115,0.12)",
                name=f"true curve, {level} everywhere",
                legendgroup="bounds",
                showlegend=bool(side),
                hovertemplate=f"at %{{x:.3f}} at {'most' if side else 'least'} %{{y:.3f}}<extra></extra>",
            )
    if curve is not None:
        data += scatter(
            x=curve[0],
            y=curve[1],
            mode="lines",
            line={"color": OKABE_ITO["purple"], "width": 2.5, "shape": "hv"},
            name="no bins: isotonic (CORP)",
            hovertemplate="says %{x:.3f}, right %{y:.3f} (isotonic)<extra></extra>",
        )
    if truth is not None:
        data += scatter(
            x=x,
            y=truth,
            mode="markers",
            marker={
                "symbol": "diamond-open",
                "size": 13,
                "color": OKABE_ITO["green"],
                "line": {"width": 2},
            },
            name="true accuracy (simulated)",
            hovertemplate="True accuracy %{y:.3f} (known: simulated)<extra></extra>",
        )
    if other is not None:
        data += _marks_of_other(*other)
    if not diagram.one_event:
        data += scatter(
            x=x,
            y=diagram.top_label,
            mode="markers",
            marker={
                "symbol": "cross-thin",
                "size": 13,
                "line": {"width": 3, "color": faint(OKABE_ITO["vermillion"], diagram.count)},
            },
            name="top-label: each class on its own",
            customdata=hover,
            hovertemplate=where
            + "class-averaged miscalibration %{customdata[8]:.3f}<br>says %{customdata[9]:.3f}"
            + f"<br>{rows}"
            + "<extra></extra>",
        )
    data += scatter(
        x=x,
        y=diagram.accuracy,
        mode="markers",
        marker={"symbol": "star", "size": 15, "color": faint(OKABE_ITO["blue"], diagram.count)},
        error_y=interval(
            diagram.accuracy, diagram.accuracy_lower, diagram.accuracy_upper, "rgba(0,114,178,0.55)"
        ),
        name="rows of each bin" if diagram.one_event else "confidence: all classes pooled",
        customdata=hover,
        hovertemplate=where
        + "says %{customdata[9]:.3f}, right %{customdata[5]:.3f}<br>"
        + "95 % interval %{customdata[6]:.3f} to %{customdata[7]:.3f}"
        + f"<br>{rows}"
        + "<extra></extra>",
    )
    marked = [] if chosen is None else [span(chosen / diagram.n_bins, (chosen + 1) / diagram.n_bins)]
    layout = unit_axes(data, words[1], words[2], 520, marked=marked)
    drawn = [diagram] if other is None else [diagram, other[1]]
    pluses = [one.top_label for one in drawn if not one.one_event and len(one.top_label)]
    if pluses:  # a mark at the confidence less its gap can lie below 0, and above 1
        low, high = float(np.min(np.concatenate(pluses))), float(np.max(np.concatenate(pluses)))
        layout["yaxis"]["range"] = [min(low, 0.0) - 0.02, max(high, 1.0) + 0.04]
    return figure(data, barmode="overlay", **layout)


def _marks_of_other(name: str, diagram: ReliabilityDiagram) -> list[Properties]:
    data = []
    marks = (
        ("star-open", 14, "sky", diagram.accuracy, "pooled"),
        ("cross-open", 10, "orange", diagram.top_label, "top-label"),
    )
    for symbol, size, colour, y, what in marks:
        if what == "top-label" and diagram.one_event:
            continue
        data += scatter(
            x=diagram.mean_confidence,
            y=y,
            mode="markers",
            marker={
                "symbol": symbol,
                "size": size,
                "color": faint(OKABE_ITO[colour], diagram.count),
                "line": {"width": 2},
            },
            name=f"{escape(shorten(name))}, {what}",
            customdata=np.column_stack([diagram.bin, diagram.count]).tolist(),
            hovertemplate=f"{escape(name)}: says %{{x:.3f}}, {what} %{{y:.3f}}<br>"
            "%{customdata[1]:,} rows<extra></extra>",
        )
    return data


def draw_zoom(diagram: BinZoom, class_names: Sequence[str], *, chosen: int | None = None) -> Figure:
    """Draw Figure 1b: what the model says and how often it is right, per predicted class of one bin.

    One line per class, the clearest evidence on top, at most 30; the bars at the right count the rows.
    Diamonds are shrunken accuracies. Marks carry the class code last in their customdata; `chosen` is the
    code of a class to be marked.
    """
    shown = slice(0, MAX_NAMED)
    label, count = diagram.label[shown], diagram.class_count[shown]
    says, right = diagram.class_confidence[shown], diagram.class_accuracy[shown]
    low, high = diagram.class_lower[shown], diagram.class_upper[shown]
    # Two of a user's class names may look alike once shortened: lines are placed by position.
    lines = np.arange(1, len(label) + 1)
    names = [escape(shorten(class_names[code], 24)) for code in label]
    values_of = zip(names, says, right, low, high, count, label.tolist(), strict=True)
    custom = [list(values) for values in values_of]
    hover = (
        "Predicted %{customdata[0]}<br>says %{customdata[1]:.3f}, right %{customdata[2]:.3f}<br>"
        "95 % interval %{customdata[3]:.3f} to %{customdata[4]:.3f}<br>%{customdata[5]:,} rows<extra></extra>"
    )
    data = scatter(
        x=np.column_stack([says, right, np.full(len(says), np.nan)]).ravel(),
        y=np.repeat(lines, 3),
        mode="lines",
        line={"color": "rgba(213,94,0,0.35)", "width": 6},
        hoverinfo="skip",
        showlegend=False,
    )
    data += scatter(
        x=[diagram.mean_confidence],
        y=[0],
        mode="markers",
        marker={"symbol": "line-ns", "size": 18, "line": {"width": 3, "color": OKABE_ITO["blue"]}},
        name="says",
        hovertemplate="All classes: says %{x:.3f}<extra></extra>",
    )
    data += scatter(
        x=[diagram.accuracy],
        y=[0],
        mode="markers",
        marker={"symbol": "star", "size": 17, "color": OKABE_ITO["blue"]},
        name="is right, all classes",
        hovertemplate=f"All classes: right %{{x:.3f}}<br>{diagram.count:,} rows<extra></extra>",
    )
    data += scatter(
        x=says,
        y=lines,
        mode="markers",
        marker={
            "symbol": "line-ns",
            "size": 15,
            "line": {"width": 2, "color": faint(OKABE_ITO["blue"], count)},
        },
        showlegend=False,
        customdata=custom,
        hovertemplate=hover,
    )
    if len(label) > 1:
        data += scatter(
            x=diagram.class_shrunken[shown],
            y=lines,
            mode="markers",
            marker={
                "symbol": "diamond-open",
                "size": 11,
                "color": OKABE_ITO["purple"],
                "line": {"width": 2},
            },
            customdata=custom,
            name="shrunk towards all classes (empirical Bayes)",
            hovertemplate="Predicted %{customdata[0]}<br>about %{x:.3f}, from its %{customdata[5]:,} "
            "rows and those of all classes<extra></extra>",
        )
    data += scatter(
        x=right,
        y=lines,
        mode="markers",
        marker={"size": 12, "color": faint(OKABE_ITO["vermillion"], count)},
        error_x=interval(right, low, high, OKABE_ITO["vermillion"], width=3),
        customdata=custom,
        name="is right, predicted class alone (95 % interval)",
        hovertemplate=hover,
    )
    colour = np.where(count < FEW_ROWS, "rgba(138,144,153,0.4)", OKABE_ITO["grey"])
    data += count_bars(count, colour, custom, hover, y=lines, **at(2))
    layout = grid(1, 2, shared_yaxes=True, column_widths=(0.72, 0.28), horizontal_spacing=0.05)
    named = ["all classes", *names]
    for axis in axes(layout, "y"):
        axis.update(tickvals=[0, *lines], ticktext=named, range=[len(label) + 0.6, -0.6], showgrid=False)
    minor = {"dtick": 0.1, "showgrid": True}
    layout["xaxis"].update(range=[-0.02, 1.02], dtick=0.5, tickangle=0, minor=minor)
    layout["xaxis"]["title"] = {"text": "Says, is right"}
    layout["xaxis2"].update(title={"text": "Rows"}, rangemode="tozero", nticks=3)
    marked = [span(line - 0.5, line + 0.5, across=True) for line in lines[label == chosen].tolist()]
    above = names_above(data, 190 + 30 * (len(label) + 1), l=width_of(named), r=48)
    return figure(data, **layout, **above, bargap=0.35, shapes=marked)
