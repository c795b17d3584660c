"""A reliability diagram on matplotlib's axes, after scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.kinds import KINDS
from calib.data.notions import Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_choice
from calib.diagrams.matplotlib_axes import matplotlib_pyplot
from calib.diagrams.reliability_diagrams import reliability_diagram
from calib.evidence.rows import Rows, Source, as_evidence
from calib.stats.frequencies import binomial_deviation
from calib.stats.intervals import frequency_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

IDEAL = "Perfectly calibrated"


class ReliabilityDisplay:
    """Reliability diagram with 95 % intervals and the noise floor, drawn by matplotlib.

    Made by `from_estimator` or `from_predictions`, or from the numbers of a curve as
    `sklearn.calibration.CalibrationDisplay` is. It then has no intervals and no floor.

    Parameters
    ----------
    prob_true, prob_pred : (B,) array_like of float
        Frequency and mean score of each bin with rows.
    y_prob : (n,) array_like of float
        The scores.
    estimator_name : str, optional
        Name in the legend.
    pos_label : label, optional
        The event, which the titles of the axes name.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D of the points
    band_, bars_ : matplotlib artists of the noise floor and of the intervals, or None

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("resnet").evaluation
    >>> display = ReliabilityDisplay.from_predictions(rows)  # doctest: +SKIP
    >>> display.figure_.savefig("reliability.pdf")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D
    band_: Any = None
    bars_: Any = None
    #: (2, B) ends of the intervals, and (B,) mean gap of a perfect model of this size
    _ends: NDArray[np.float64] | None = None
    _floor: NDArray[np.float64] | None = None
    _titles = "Mean predicted probability", "Fraction of positives"

    def __init__(
        self,
        prob_true: ArrayLike,
        prob_pred: ArrayLike,
        y_prob: ArrayLike,
        *,
        estimator_name: str | None = None,
        pos_label: Any = None,
    ) -> None:
        self.prob_true, self.prob_pred, self.y_prob = map(np.asarray, (prob_true, prob_pred, y_prob))
        self.estimator_name, self.pos_label = estimator_name, pos_label

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Values,
        *,
        sample_weight: Values | None = None,
        cluster: Values | None = None,
        pos_label: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram of a fitted classifier: P(Y = 1) for two classes, else the confidence.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba` and `classes_`.
        X : array_like (n, p)
        y : (n,) array_like
            True classes, as in `classes_`.
        pos_label : label, optional
            The class of two whose probability is shown; by default the last.
        sample_weight, cluster, name, **kwargs
            As for `from_predictions`.
        """
        place = {label: code for code, label in enumerate(np.asarray(estimator.classes_).tolist())}
        labels = np.asarray(y).tolist()
        asked = [] if pos_label is None else [pos_label]
        if strange := [label for label in (*labels, *asked) if label not in place]:
            listed = ", ".join(map(str, list(place)[:20]))
            raise InputError(f"label '{strange[0]}' is none of the classes of the estimator: {listed}")
        codes = np.array([place[label] for label in labels])
        scores = np.asarray(estimator.predict_proba(X))
        if len(place) == 2:
            pos_label = list(place)[1] if pos_label is None else pos_label
            codes, scores = codes == place[pos_label], scores[:, place[pos_label]]
        elif pos_label is not None:
            raise InputError(f"pos_label is for two classes; the estimator has {len(place):,}")
        name = type(estimator).__name__ if name is None else name
        rows = as_evidence(codes, scores, sample_weight, cluster)
        return cls.from_predictions(rows, name=name, pos_label=pos_label, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Source,
        scores: Scores | None = None,
        *,
        notion: Literal["confidence", "top-label"] = "confidence",
        n_bins: int = N_BINS,
        strategy: Strategy = "uniform",
        sample_weight: Values | None = None,
        cluster: Values | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram of predictions.

        Parameters
        ----------
        y_true, scores, n_bins, sample_weight, cluster
            As for `calib.reliability_diagram`.
        notion : "confidence" or "top-label"
            Accuracy of all classes together (of one event: its frequency), or the red plus of Figure 1a: the
            confidence plus or minus the mean gap of the predicted classes, in bins of equal width.
        strategy : "uniform", "quantile" or "discrete"
            Bins of equal width, of equal numbers of rows, or one for each value.
        pos_label, name
            The event and the name of the model, for axes and legend.
        ax : matplotlib Axes, optional
            Where to draw; two displays on two axes of one figure, or on the same axes.
        ref_line : bool
            Whether to draw the diagonal, once on each axes.
        **kwargs
            Properties of the line, as for `matplotlib.axes.Axes.plot`.
        """
        evidence = as_evidence(y_true, scores, sample_weight, cluster)
        averaged = check_choice(notion, ("confidence", "top-label"), "notion") == "top-label"
        if averaged and strategy != "uniform":
            raise InputError(
                f'notion="top-label" averages classes over bins of equal width, not strategy="{strategy}"; '
                "`calib.class_diagram` draws each class in bins of its own"
            )
        stated = evidence.claims()[1] if isinstance(evidence, Rows) else ()  # a summary has no scores
        y_prob = np.asarray(stated, dtype=np.float64)
        if averaged:
            diagram = reliability_diagram(evidence, n_bins=n_bins)
            display = cls(diagram.top_label, diagram.pooled.mean_score, y_prob, estimator_name=name)
            display._floor = diagram.perfect_gaps[1]
            display._titles = "Confidence", "Top-label reliability"
        else:
            cells = evidence.cells("confidence", n_bins=n_bins, strategy=strategy)
            display = cls(cells.mean_outcome, cells.mean_score, y_prob, estimator_name=name)
            display._ends = np.stack(frequency_interval(cells))
            display._floor = binomial_deviation(cells.effective, cells.mean_score)
            if "event" not in KINDS[evidence.kind].has:
                display._titles = "Confidence", "Accuracy"
        display.pos_label = pos_label
        return display.plot(ax=ax, ref_line=ref_line, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram; parameters as for `from_predictions`."""
        name = self.estimator_name if name is None else name
        with matplotlib_pyplot() as plt:
            from matplotlib.cbook import normalize_kwargs
            from matplotlib.lines import Line2D

            ax = plt.subplots()[1] if ax is None else ax
            if ref_line and IDEAL not in ax.get_legend_handles_labels()[1]:
                ax.plot([0, 1], [0, 1], "k:", label=IDEAL)
            given = normalize_kwargs(kwargs, Line2D)
            style = {"marker": "s", "linestyle": "-"} | ({} if name is None else {"label": name}) | given
            (self.line_,) = ax.plot(self.prob_pred, self.prob_true, **style)
            if self._floor is not None:
                low, high = self.prob_pred - self._floor, self.prob_pred + self._floor
                self.band_ = ax.fill_between(
                    self.prob_pred, low, high, color="grey", alpha=0.25, linewidth=0, label="_"
                )
            if self._ends is not None:
                self.bars_ = ax.vlines(self.prob_pred, *self._ends, color=self.line_.get_color(), label="_")
            event = "" if self.pos_label is None else f" (Positive class: {self.pos_label})"
            ax.set(xlabel=self._titles[0] + event, ylabel=self._titles[1] + event)
            if ax.get_legend_handles_labels()[1]:
                ax.legend(loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure.figure
        return self
