"""A reliability diagram on matplotlib's axes, after scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.predictions import Scores, Values
from calib.diagrams.matplotlib_axes import matplotlib_pyplot
from calib.diagrams.reliability_diagrams import ReliabilityDiagram, reliability_diagram
from calib.evidence.rows import Source, as_evidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReliabilityDisplay:
    """Reliability diagram with 95 % intervals and the noise floor, drawn by matplotlib.

    Made by `from_estimator` or `from_predictions`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, band_ : matplotlib artists of the points, and of the noise floor

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("resnet").evaluation
    >>> display = ReliabilityDisplay.from_predictions(rows)  # doctest: +SKIP
    >>> display.figure_.savefig("reliability.pdf")  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    line_: Any
    band_: Any

    def __init__(self, diagram: ReliabilityDiagram, *, estimator_name: str | None = None) -> None:
        self.diagram, self.estimator_name = diagram, estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Values,
        *,
        n_bins: int = N_BINS,
        sample_weight: Values | None = None,
        cluster: Values | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
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
        n_bins, sample_weight, cluster, name, ax, **kwargs
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
            positive = 1 if pos_label is None else place[pos_label]
            codes, scores = codes == positive, scores[:, positive]
        elif pos_label is not None:
            raise InputError(f"pos_label is for two classes; the estimator has {len(place):,}")
        name = type(estimator).__name__ if name is None else name
        rows = as_evidence(codes, scores, sample_weight, cluster)
        return cls.from_predictions(rows, n_bins=n_bins, name=name, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Source,
        scores: Scores | None = None,
        *,
        n_bins: int = N_BINS,
        sample_weight: Values | None = None,
        cluster: Values | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram of predictions.

        Arguments as for `calib.reliability_diagram`; `name` is the name in the legend, `kwargs` are
        `matplotlib.axes.Axes.errorbar`'s.
        """
        evidence = as_evidence(y_true, scores, sample_weight, cluster)
        diagram = reliability_diagram(evidence, n_bins=n_bins)
        return cls(diagram, estimator_name=name).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> ReliabilityDisplay:
        """Draw the diagram; parameters as for `from_predictions`."""
        diagram, name = self.diagram, self.estimator_name if name is None else name
        score, accuracy = diagram.pooled.mean_score, diagram.pooled.mean_outcome
        with matplotlib_pyplot() as plt:
            ax = plt.subplots()[1] if ax is None else ax
            floor, _ = diagram.perfect_gaps
            ax.plot([0, 1], [0, 1], linestyle=":", color="k", label="_")
            self.band_ = ax.fill_between(
                score, score - floor, score + floor, color="grey", alpha=0.25, linewidth=0, label="_"
            )
            error = f"{'ECE' if diagram.one_event else 'conf-ECE'} {diagram.pooled.ece():.3g}"
            style = {"marker": "s", "label": error if name is None else f"{name} ({error})", **kwargs}
            ends = np.abs(np.stack([diagram.accuracy_lower, diagram.accuracy_upper]) - accuracy)
            self.line_ = ax.errorbar(score, accuracy, yerr=ends, **style)
            what = ("Mean score", "Share of events") if diagram.one_event else ("Confidence", "Accuracy")
            ax.set(xlabel=what[0], ylabel=what[1], xlim=(0, 1), ylim=(0, 1))
            ax.legend(loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self
