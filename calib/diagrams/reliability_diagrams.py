"""Reliability diagrams: confidence and top-label reliability in bins, a bin in detail, the worst cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.interval_words import hidden_words
from calib.base.results import Drawn
from calib.calibrators.histogram import shrunken
from calib.data.defaults import N_BINS
from calib.data.kinds import KINDS
from calib.data.notions import Notion
from calib.data.predictions import Scores, Values
from calib.diagrams import style
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Source, as_evidence, scores_and_next
from calib.stats.bands import CalibrationBand
from calib.stats.frequencies import binomial_deviation, chance_of_gap
from calib.stats.intervals import beyond_noise, frequency_interval, outcome_limits

Panel = Literal["pooled", "classes"]
PANELS: dict[Panel, str] = {"pooled": "All classes together", "classes": "Each predicted class on its own"}
#: Dots of classes that are not named.
PALE = "rgba(138,144,153,0.4)"
#: Most pale dots, for classes without a name; the cells with the most rows have one.
MAX_DOTS = 400


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityDiagram(Drawn):
    """Confidence and top-label reliability over the same equal-width bins (Figure 1a of the paper).

    Arrays have one entry per non-empty bin, ascending. For scores of one event, such as P(Y = 1), bins and
    cells are the same, and `top_label` repeats the frequency of the event.
    """

    pooled: BinStatistics  #: Bins with rows: their mean outcome is the accuracy, the star of Figure 1a
    cells: BinStatistics  #: The (predicted class, bin) cells
    #: float64: 95 % Wilson interval of the accuracy, of the effective rows
    accuracy_lower: np.ndarray
    accuracy_upper: np.ndarray
    #: float64: Delta_b, the share-weighted mean over predicted classes of ``|accuracy - confidence|``
    delta: np.ndarray

    @property
    def one_event(self) -> bool:
        """Whether the scores are about one event, without predicted classes."""
        return self.cells.n_classes == 1

    @property
    def top_label(self) -> np.ndarray:
        """conf_b + Delta_b if acc_b > conf_b, else conf_b - Delta_b: the red plus of Figure 1a."""
        return self.pooled.mean_score + np.where(self.pooled.gap > 0, self.delta, -self.delta)

    @property
    def perfect_gaps(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean gap of a perfect model of this size in each bin: pooled, and averaged over classes."""
        pooled, cells = self.pooled, self.cells
        each = cells.weight * binomial_deviation(cells.effective, cells.mean_score)
        gaps = np.bincount(cells.bin, weights=each, minlength=pooled.n_bins)[pooled.bin]
        return binomial_deviation(pooled.effective, pooled.mean_score), gaps / pooled.weight

    @property
    def clearest(self) -> np.ndarray:
        """Codes of the classes with a cell that is off beyond noise, the clearest evidence first.

        All cells of `FEW_ROWS` rows or more are tested together (`beyond_noise`).
        """
        off = self.cells.of(beyond_noise(self.cells, style.FEW_ROWS))
        return np.array(list(dict.fromkeys(off.label[np.argsort(_chances(off))].tolist())), np.int64)

    @property
    def clearest_bin(self) -> int:
        """The bin of the cell whose gap a perfect model shows least often."""
        cells = self.cells
        return int(cells.bin[np.lexsort((-cells.weight * np.abs(cells.gap), _chances(cells)))[0]])

    @property
    def adds_most(self) -> int:
        """Index of the bin with the largest share of TL-ECE, among bins of `FEW_ROWS` rows if any."""
        enough = self.pooled.count >= min(style.FEW_ROWS, self.pooled.count.max())
        return int(np.argmax(np.where(enough, self.delta * self.pooled.weight, -1.0)))

    def words(self, event: str | None = None) -> str:
        """Say which bin adds most to TL-ECE, and how far off it is; `event` names a binary score's event."""
        at, pooled = self.adds_most, self.pooled
        where = f"{pooled.lower[at]:.2f} to {pooled.upper[at]:.2f}"
        confidence, accuracy, count = pooled.mean_score[at], pooled.mean_outcome[at], pooled.count[at]
        if self.one_event:
            words = cell_words(confidence, accuracy, count, event=event)
            return f"The bin that adds most to the error is {where}: {words}."
        return (
            f"The bin that adds most to TL-ECE is {where}: confidence {confidence:.3f}, accuracy "
            f"{accuracy:.3f}; class by class it is off by {self.delta[at]:.3f} on average (n = {count:,})."
        )

    def zoom(self, bin_: int | None) -> BinZoom:
        """Return the predicted classes inside one bin; see `bin_zoom`."""
        pooled = self.pooled
        if not isinstance(bin_, (int, np.integer)) or bin_ not in pooled.bin:
            raise InputError(f"bin {bin_!r:.60} holds no rows; the bins with rows are {pooled.bin.tolist()}")
        own = self.cells.of(np.flatnonzero(self.cells.bin == bin_))
        own = own.of(np.lexsort((-own.count, _chances(own))))
        star = pooled.of(pooled.bin == bin_)
        prior = np.full(len(own.count), star.mean_outcome)
        shrunk, _ = shrunken(own.mean_outcome * own.effective, own.effective, prior)
        return BinZoom(star, own, *frequency_interval(own), shrunk, beyond_noise(own))

    def frame(self) -> pd.DataFrame:
        """Return one row per non-empty bin."""
        pooled = self.pooled
        return pd.DataFrame(
            {
                **{name: getattr(pooled, name) for name in ("bin", "lower", "upper", "count", "share")},
                "mean_confidence": pooled.mean_score,
                "accuracy": pooled.mean_outcome,
                "accuracy_lower": self.accuracy_lower,
                "accuracy_upper": self.accuracy_upper,
                "delta": self.delta,
                "top_label": self.top_label,
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class BinZoom(Drawn):
    """The predicted classes inside one bin of a reliability diagram (Figure 1b), clearest evidence first.

    Evidence is the chance that a calibrated class is as far off or farther: 4 rows that are all right are
    less evidence than a small gap of 400 rows.
    """

    pooled: BinStatistics  #: The bin, all classes pooled
    cells: BinStatistics  #: The C predicted classes that occur in it
    #: (C,) float64: 95 % Wilson interval of each accuracy
    accuracy_lower: np.ndarray
    accuracy_upper: np.ndarray
    #: (C,) float64: Each accuracy, shrunk towards all classes' (`calib.calibrators.histogram`)
    accuracy_shrunken: np.ndarray
    #: (C,) bool: Whether the interval of the accuracy excludes the confidence, all at once at 5 %
    beyond_noise: np.ndarray

    @property
    def star(self) -> tuple[float, float, int]:
        """Mean confidence, accuracy and rows of the bin."""
        return self.pooled.mean_score.item(), self.pooled.mean_outcome.item(), self.pooled.count.item()

    def words(self, class_names: Sequence[str], strong: str = "{}") -> str:
        """Describe the class with the clearest evidence, if any is beyond noise, and the bin.

        `class_names` must already be escaped; `strong` as for `cell_words`.
        """
        cells, where = self.cells, f"{self.pooled.lower.item():.3g} to {self.pooled.upper.item():.3g}"
        at = int(np.argmax(self.beyond_noise))
        if self.beyond_noise[at]:
            cell = cells.mean_score[at], cells.mean_outcome[at], cells.count[at]
            clearest = f"Predicted {class_names[cells.label[at]]} at {where}: {cell_words(*cell, strong)}"
            if cells.count[at] < style.FEW_ROWS:
                clearest += f"; shrunk towards all classes, about {self.accuracy_shrunken[at]:.3f}"
        else:
            ends = dict.fromkeys(f"{count:,}" for count in (cells.count.min(), cells.count.max()))
            clearest = (
                f"None of the {len(cells.label):,} predicted classes at {where} is distinguishable from "
                f"noise by itself ({' to '.join(ends)} rows each)"
            )
        return f"{clearest}. All classes together: {cell_words(*self.star)}."

    def frame(self, class_names: tuple[str, ...] | None = None) -> pd.DataFrame:
        """Return one row per predicted class, with its name if there are `class_names`."""
        table = pd.DataFrame(
            {
                "label": self.cells.label,
                "count": self.cells.count,
                "mean_confidence": self.cells.mean_score,
                "accuracy": self.cells.mean_outcome,
                "accuracy_lower": self.accuracy_lower,
                "accuracy_upper": self.accuracy_upper,
                "accuracy_shrunken": self.accuracy_shrunken,
                "beyond_noise": self.beyond_noise,
            }
        )
        return with_class_names(table, class_names)


def with_class_names(table: pd.DataFrame, class_names: Sequence[str] | None) -> pd.DataFrame:
    """Insert a column "class" with the names of the codes in "label", if there are names."""
    if class_names is not None:
        table.insert(1, "class", [class_names[code] for code in table["label"]])
    return table


def reliability_diagram(
    y_true: Source,
    scores: Scores | None = None,
    *,
    n_bins: int = N_BINS,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> ReliabilityDiagram:
    """Confidence (stars) and top-label (red plus) reliability over equal-width bins (section 2.1).

    Parameters as for `calib.noise_floor`.

    Examples
    --------
    >>> diagram = reliability_diagram([0, 1, 1], [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], n_bins=2)
    >>> diagram.pooled.mean_score.round(3).tolist(), diagram.pooled.mean_outcome.round(3).tolist()
    ([0.733], [0.667])
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    by_class: Notion = "confidence" if KINDS[evidence.kind].scored else "top-label"
    pooled, cells = (
        evidence.cells(notion, n_bins=n_bins, strategy="uniform") for notion in ("confidence", by_class)
    )
    delta = cells.bin_deltas()[pooled.bin]
    return ReliabilityDiagram(pooled, cells, *frequency_interval(pooled), delta)


def bin_zoom(
    y_true: Source,
    scores: Scores | None = None,
    bin: int | None = None,
    *,
    n_bins: int = N_BINS,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> BinZoom:
    """Accuracy and confidence of every predicted class inside one equal-width bin (Figure 1b).

    Parameters as for `reliability_diagram`; `bin` is the index 0..n_bins-1 of a bin with rows.
    """
    own, bin = scores_and_next(y_true, scores, bin)
    evidence = as_evidence(y_true, own, sample_weight, cluster)
    return reliability_diagram(evidence, n_bins=n_bins).zoom(bin)


def cell_words(
    confidence: float, accuracy: float, count: int, strong: str = "{}", event: str | None = None
) -> str:
    """Describe a cell by its mean score, frequency of the outcome, and rows; `event` if scores are P(event).

    `strong` is the format of the two numbers: "**{}**" for Markdown, "<b>{}</b>" for HTML.

    >>> cell_words(0.55, 0.2, 31)
    'confidence 0.550, accuracy 0.200, n = 31'
    >>> cell_words(0.55, 0.2, 31, event="rain")
    'P(rain) 0.550, frequency 0.200, n = 31'
    """
    stated, observed = (strong.format(f"{value:.3f}") for value in (confidence, accuracy))
    if event is not None:
        return f"P({event}) {stated}, frequency {observed}, n = {count:,}"
    return f"confidence {stated}, accuracy {observed}, n = {count:,}"


def worst_cells_words(
    cells: BinStatistics, class_names: Sequence[str], n_cells: int = 3, *, strong: str = "{}"
) -> list[str]:
    """Describe each of `worst_cells`; `class_names` must already be escaped.

    The direction is given if the interval of the outcome excludes the mean score, at 5 % for all cells that
    could have been chosen (`outcome_limits`); else the gap is within noise.
    """
    alpha = 0.05 / max(int(np.sum(cells.count >= style.FEW_ROWS)), 1)
    worst = worst_cells(cells, n_cells).index.to_numpy()
    found = []
    for cell, low, high in zip(worst.tolist(), *outcome_limits(cells, alpha, worst), strict=True):
        score = cells.mean_score[cell]
        direction = "overconfident" if score > high else "underconfident"
        if low <= score <= high:
            direction = f"within noise; {hidden_words(low, high, 1.0 - alpha, 'a gap')}"
        words = cell_words(score, cells.mean_outcome[cell], cells.count[cell], strong)
        found.append(
            f"Predicted {class_names[cells.label[cell]]} at {cells.lower[cell]:.2f} to "
            f"{cells.upper[cell]:.2f}: {words} ({direction})"
        )
    return found


def worst_cells(cells: BinStatistics, n_cells: int = 3, min_count: int = style.FEW_ROWS) -> pd.DataFrame:
    """Return the (class, bin) cells that add most to the error, largest first.

    Cells with fewer than `min_count` rows are left out: their gaps are mostly noise.
    """
    table = cells.frame()
    table["contribution"] = cells.share * np.abs(cells.gap)
    table = table[table["count"] >= min_count]
    return table.sort_values("contribution", ascending=False, kind="stable").head(n_cells)


def _chances(cells: BinStatistics) -> np.ndarray:
    return chance_of_gap(cells.mean_outcome, cells.effective, cells.mean_score)


def draw_reliability(
    diagram: ReliabilityDiagram,
    class_names: Sequence[str] | None = None,
    *,
    named: Iterable[int] | None = None,
    panels: Sequence[Panel] | None = None,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    curve: tuple[np.ndarray, np.ndarray] | None = None,
    bounds: CalibrationBand | None = None,
    event: str | None = None,
) -> style.Figure:
    """Draw all classes pooled beside each predicted class on its own; below, their signed gaps in each bin.

    Orange-red: right less often than it says; blue: more often. Grey bars reach as far as a perfect model's
    gaps of this size on average.

    Parameters
    ----------
    diagram : ReliabilityDiagram
    class_names : sequence of str, optional
    named : sequence of int, optional
        At most 4 codes of classes that are coloured and named; by default `diagram.clearest`.
    panels : sequence of {"pooled", "classes"}, optional
        What to draw, from left to right; by default both, or the first alone for scores of one event.
    band : (lower, upper) arrays, optional
        Range of a perfect model in each bin.
    curve : (scores, frequencies) arrays, optional
        Reliability without bins: the CORP curve of all classes pooled.
    bounds : CalibrationBand, optional
        Band that holds the true curve, everywhere at once.
    event : str, optional
        Name of the class whose probability a binary score is; None for a confidence.
    """
    name = "" if event is None else style.short(event)
    shown = panels or (("pooled",) if diagram.one_event else ("pooled", "classes"))
    names = [style.short(name, 12) for name in class_names or style.codes_of(diagram.cells.label)]
    coloured = _class_colours(diagram, diagram.clearest if named is None else named)
    lowest = 0.0 if event is not None else np.floor(10 * diagram.pooled.lower.min()) / 10
    room = 0.22 * (1.0 - lowest) if coloured else 0.03
    data, notes, marked = [], [], []
    for place, panel in enumerate(shown, start=1):
        strip = place + len(shown)
        if panel == "pooled":
            on = style.at(place)
            data += [] if band is None else _band_of_perfect(diagram, band, on)
            data += [] if bounds is None else _band_of_truth(bounds, on)
            data += [] if curve is None else _without_bins(curve, on)
            data += _pooled_dots(diagram, event, on)
        else:
            data += _class_dots(diagram, coloured, names, style.at(place))
            notes += _class_labels(diagram, coloured, names, place)
        data += _gap_bars(diagram, panel, style.at(strip))
        marked.append(style.diagonal(place))
    titles = [] if diagram.one_event else [PANELS[panel] for panel in shown]
    options: dict[str, Any] = {"shared_xaxes": "all", "shared_yaxes": "rows", "row_heights": (0.77, 0.23)}
    options |= {"vertical_spacing": 0.07, "horizontal_spacing": 0.06}
    layout = style.grid(2, len(shown), (*titles, *[""] * len(titles)), **options)
    x_axes, y_axes = style.axes(layout, "x"), style.axes(layout, "y")
    for axis in x_axes:
        axis.update(range=[lowest - room, 1.04], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1], tickformat=".0%")
        axis["showgrid"] = False
    y_axes[0]["title"] = "Accuracy" if event is None else f"How often it is {name}"
    y_axes[len(shown)]["title"] = "Gap"
    gaps = (np.abs(diagram.pooled.gap), diagram.delta, *diagram.perfect_gaps)
    most = 1.1 * float(np.concatenate(gaps).max()) + 1e-3
    for axis in y_axes[: len(shown)]:
        axis.update(range=[-0.03, 1.07], dtick=0.25, tickformat=".0%")
    for across, axis in zip(x_axes[len(shown) :], y_axes[len(shown) :], strict=True):
        across["title"] = "Confidence" if event is None else f"P({name})"
        axis.update(range=[-most, most], nticks=5, zeroline=True, tickformat="+.0%")
    above = style.names_above(data, 460)
    above["margin"]["t"] += 24  # for titles, and the menu of files in the corner
    if titles:
        above["legend"]["y"] = 1.1
    layout["annotations"] = [*layout.get("annotations", ()), *notes]
    return style.figure(data, **layout, **above, shapes=marked, barmode="overlay", bargap=0)


def _class_colours(diagram: ReliabilityDiagram, named: Iterable[int]) -> dict[int, str]:
    """Colour of each named class by its code: of its direction."""
    cells, found = diagram.cells, {}
    for code in [] if diagram.one_event else list(map(int, named))[:4]:
        own = cells.label == code
        found[code] = style.of_direction(float(cells.weight[own] @ cells.gap[own]))
    return found


def _pooled_dots(
    diagram: ReliabilityDiagram, event: str | None, on: style.Properties
) -> list[style.Properties]:
    what = f"P({style.short(event)})" if event is not None else "Confidence"
    bins = diagram.pooled
    return style.scatter(
        x=bins.mean_score,
        y=bins.mean_outcome,
        line={"color": style.POOLED, "width": 1.5},
        marker=style.sized(style.faint(style.POOLED, bins.count), bins.count, bins.count.max()),
        error_y=style.interval(bins.mean_outcome, diagram.accuracy_lower, diagram.accuracy_upper),
        customdata=(bins.bin, bins.lower, bins.upper, bins.count, 100 * bins.share),
        hovertemplate=what
        + " %{customdata[1]:.3g} to %{customdata[2]:.3g}<br>mean %{x:.3f}, frequency %{y:.3f}"
        "<br>%{customdata[3]:,} rows, %{customdata[4]:.1f} % of all",
        **on,
    )


def _class_dots(
    diagram: ReliabilityDiagram, colours: dict[int, str], names: Sequence[str], on: style.Properties
) -> list[style.Properties]:
    cells = diagram.cells
    lower, upper = frequency_interval(cells)
    other = np.flatnonzero(~np.isin(cells.label, list(colours)))
    other = other[np.argsort(-cells.count[other], kind="stable")[:MAX_DOTS]]
    own = {code: np.flatnonzero(cells.label == code) for code in reversed(colours)}
    data, shades = [], [np.full(len(other), PALE)]
    for code, inside in own.items():
        joined = inside[cells.count[inside] >= style.FEW_ROWS]
        x, y = cells.mean_score[joined], cells.mean_outcome[joined]
        data += style.scatter(x=x, y=y, line={"color": colours[code], "width": 1.5}, **on)
        shades.append(style.faint(colours[code], cells.count[inside]))
    shown = np.concatenate([other, *own.values()])
    label, count = cells.label[shown], cells.count[shown]
    return data + style.scatter(
        x=cells.mean_score[shown],
        y=cells.mean_outcome[shown],
        marker=style.sized(np.concatenate(shades), count, cells.count.max()),
        customdata=(cells.bin[shown], label, [names[c] for c in label], lower[shown], upper[shown], count),
        hovertemplate="Predicted %{customdata[2]}<br>confidence %{x:.3f}, accuracy %{y:.3f}<br>"
        "95 % interval %{customdata[3]:.4g} to %{customdata[4]:.4g}<br>"
        "%{customdata[5]:,} rows",
        **on,
    )


def _class_labels(
    diagram: ReliabilityDiagram, colours: dict[int, str], names: Sequence[str], place: int
) -> list[style.Properties]:
    """Return the name of each coloured class, left of its first dot of many rows; overlaps move up."""
    cells, notes, height = diagram.cells, [], -1.0
    first = {}
    for code in colours:
        own = np.flatnonzero(cells.label == code)
        many = min(style.FEW_ROWS, int(cells.count[own].max()))
        first[code] = int(own[(cells.count[own] >= many).argmax()])
    for code, cell in sorted(first.items(), key=lambda pair: float(cells.mean_outcome[pair[1]])):
        height = max(float(cells.mean_outcome[cell]), height + 0.06)
        left = -4 - 12 * float(style.sizes(cells.count[cell], cells.count.max()))
        text, font = f"<b>{names[code]}</b>", {"color": colours[code], "size": 13}
        name = style.note(cells.mean_score[cell], height, text, xanchor="right", xshift=left)
        notes.append(name | style.refs(place) | {"font": font})
    return notes


def _gap_bars(diagram: ReliabilityDiagram, panel: Panel, on: style.Properties) -> list[style.Properties]:
    """Draw the gaps of each bin (of classes, the sum of each sign) over a perfect model's in grey."""
    bins, cells = diagram.pooled, diagram.cells
    perfect = diagram.perfect_gaps[0 if panel == "pooled" else 1]
    if panel == "pooled":
        below, above, reach = np.minimum(bins.gap, 0.0), np.maximum(bins.gap, 0.0), perfect
    else:
        signed = cells.weight * np.minimum(cells.gap, 0.0), cells.weight * np.maximum(cells.gap, 0.0)
        below, above = (
            np.bincount(cells.bin, weights=each, minlength=bins.n_bins)[bins.bin] / bins.weight
            for each in signed
        )
        reach = perfect / 2.0
    told = "a perfect model of this size: %{customdata[1]:.3f}"
    data = []
    for values, base, colour, share in (
        (2.0 * reach, -reach, style.BARS, 0.94),
        (below, 0.0, style.LESS, 0.5),
        (above, 0.0, style.MORE, 0.5),
    ):
        data += style.bar(
            **style.columns_of(bins, share),
            y=values,
            base=base,
            marker={"color": colour, "line": {"width": 0}},
            customdata=(bins.bin, reach),
            hovertemplate=told if colour == style.BARS else f"gap %{{y:+.3f}}<br>{told}",
            **on,
        )
    return data


def _band_of_perfect(
    diagram: ReliabilityDiagram, band: tuple[np.ndarray, np.ndarray], on: style.Properties
) -> list[style.Properties]:
    return style.bar(
        **style.columns_of(diagram.pooled),
        y=band[1] - band[0],
        base=band[0],
        marker={"color": "rgba(86,180,233,0.28)", "line": {"width": 0}},
        name="range of a perfect model (95 %)",
        **on,
    )


def _band_of_truth(bounds: CalibrationBand, on: style.Properties) -> list[style.Properties]:
    data = []
    outline = (bounds.steps(bounds.lower, "hv"), bounds.steps(bounds.upper, "vh"))
    for side, (score, value) in enumerate(outline):
        data += style.scatter(
            x=score,
            y=value,
            line={"color": style.OKABE_ITO["green"], "width": 1, "shape": "hv" if side == 0 else "vh"},
            fill="tonexty" if side else None,
            fillcolor="rgba(0,158,115,0.12)",
            name=f"{bounds.level:.0%} band of the true curve",
            legendgroup="bounds",
            showlegend=bool(side),
            hovertemplate=f"at %{{x:.3f}} at {'most' if side else 'least'} %{{y:.3f}}",
            **on,
        )
    return data


def _without_bins(curve: tuple[np.ndarray, np.ndarray], on: style.Properties) -> list[style.Properties]:
    return style.scatter(
        x=curve[0],
        y=curve[1],
        line={"color": style.OKABE_ITO["purple"], "width": 2.5, "shape": "hv"},
        name="no bins: isotonic (CORP)",
        hovertemplate="score %{x:.3f}, frequency %{y:.3f} (isotonic)",
        **on,
    )


def draw_stars(diagram: ReliabilityDiagram) -> style.Figure:
    """Draw Figure 1a of the paper: stars for all classes pooled, red pluses, and bars for shares of rows."""
    bins = diagram.pooled
    custom = bins.bin, bins.lower, bins.upper, bins.count, 100 * bins.share, diagram.delta
    where = "Confidence %{customdata[1]:.3g} to %{customdata[2]:.3g}<br>"
    rows = "%{customdata[3]:,} rows, %{customdata[4]:.1f} % of all"
    data = style.share_bars(bins, custom, where + rows)
    red, blue = style.LESS, style.MORE
    if not diagram.one_event:
        data += style.scatter(
            x=bins.mean_score,
            y=diagram.top_label,
            marker=style.marks(red, 13, "cross-thin", width=3, color=style.faint(red, bins.count)),
            name="top-label: each class on its own",
            customdata=custom,
            hovertemplate=f"{where}mean gap of the classes %{{customdata[5]:.3f}}<br>{rows}",
        )
    data += style.scatter(
        x=bins.mean_score,
        y=bins.mean_outcome,
        marker=style.marks(style.faint(blue, bins.count), 15, "star"),
        error_y=style.interval(bins.mean_outcome, diagram.accuracy_lower, diagram.accuracy_upper),
        name="rows of each bin" if diagram.one_event else "confidence: all classes pooled",
        customdata=custom,
        hovertemplate=f"{where}confidence %{{x:.3f}}, accuracy %{{y:.3f}}<br>{rows}",
    )
    layout = style.unit_axes(data, "Confidence in the predicted class", "How often it is right", 520)
    if not diagram.one_event and len(diagram.top_label):
        # confidence less its gap can lie below 0, and above 1
        low, high = float(diagram.top_label.min()), float(diagram.top_label.max())
        layout["yaxis"]["range"] = [min(low, 0.0) - 0.02, max(high, 1.0) + 0.04]
    return style.figure(data, barmode="overlay", **layout)


def draw_zoom(
    diagram: BinZoom,
    class_names: Sequence[str] | None = None,
    *,
    most: int = style.MAX_NAMED,
) -> style.Figure:
    """Draw accuracy minus confidence of each predicted class of one bin, with 95 % intervals (Figure 1b).

    At most `most` classes, those with the clearest evidence, sorted by their gap; classes beyond noise have
    colours. Marks carry the class code last in their customdata.
    """
    named = class_names or style.codes_of(diagram.cells.label)
    shown = np.arange(len(diagram.cells.label))[:most]
    shown = shown[np.argsort(diagram.cells.gap[shown], kind="stable")]
    cells, low, high = diagram.cells.of(shown), diagram.accuracy_lower[shown], diagram.accuracy_upper[shown]
    label, count, confidence, gap = cells.label, cells.count, cells.mean_score, cells.gap
    # Shortened names may be equal: lines are placed by position.
    lines = np.arange(1, len(label) + 1)
    names = [style.shorten(named[code], 18) for code in label]
    colours = [style.GREY, style.LESS, style.MORE]
    side = np.where(diagram.beyond_noise[shown], np.where(gap < 0, 1, 2), 0)
    custom = [*map(style.escape, names)], confidence, cells.mean_outcome, low, high, count, label
    hover = (
        "Predicted %{customdata[0]}<br>confidence %{customdata[1]:.3f}, accuracy %{customdata[2]:.3f}<br>"
        "95 % interval %{customdata[3]:.4g} to %{customdata[4]:.4g}<br>%{customdata[5]:,} rows"
    )
    data = style.scatter(
        x=diagram.pooled.gap,
        y=[0],
        marker=style.marks(style.POOLED, 14),
        hovertemplate="All classes: confidence {:.3f}, accuracy {:.3f}<br>{:,} rows".format(*diagram.star),
    )
    data += style.scatter(
        x=gap,
        y=lines,
        marker=style.sized(np.take(colours, side), count, count.max(), 16),
        error_x=style.interval(gap, low - confidence, high - confidence),
        customdata=custom,
        hovertemplate=hover,
    )
    written = ["all classes", *(f"{name} ({rows:,})" for name, rows in zip(names, count, strict=True))]
    return style.figure(
        data,
        height=100 + 24 * (len(label) + 1),
        shapes=[style.upright(0, dash="solid")],
        xaxis={"title": "Accuracy minus confidence", "tickformat": "+.0%", "nticks": 6},
        **style.named_rows(written, range=[len(label) + 0.6, -0.6], ticks=""),
    )
