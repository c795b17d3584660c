"""One class in detail: its reliability diagrams and what it is confused with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.binning import bin_statistics
from calib.diagrams.reliability import wilson_interval
from calib.exceptions import InputError
from calib.predictions import TopLabelPrediction
from calib.reductions import reduce_to_binary, top_label
from calib.validation import as_labels


@dataclass(frozen=True, eq=False)
class ClassDiagram:
    """Reliability diagram of one class: one entry per non-empty bin.

    Attributes
    ----------
    label : int
        The class.
    notion : str
        "top-label": rows where it is announced, score h(x). "class-wise": all rows, score h_l(x).
    ece : float
        The class's own calibration error over these bins.
    lower, upper : float64 arrays
        Edges of the bins.
    count : int64 array
        Rows in each.
    mean_score, frequency : float64 arrays
        Mean score, and how often the class is the true one.
    frequency_lower, frequency_upper : float64 arrays
        95 % Wilson interval of the frequency.
    """

    label: int
    notion: str
    ece: float
    lower: np.ndarray
    upper: np.ndarray
    count: np.ndarray
    mean_score: np.ndarray
    frequency: np.ndarray
    frequency_lower: np.ndarray
    frequency_upper: np.ndarray

    def frame(self) -> pd.DataFrame:
        """Return one row per bin."""
        names = ("lower", "upper", "count", "mean_score", "frequency", "frequency_lower", "frequency_upper")
        return pd.DataFrame({"notion": self.notion} | {name: getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False)
class Confusions:
    """What one class is confused with, most rows first.

    Attributes
    ----------
    label : int
        The class.
    predicted, true : int
        Rows where it is announced, and rows where it is the true class.
    truth_when_predicted, count_when_predicted : int64 arrays
        True classes of the rows where the class is announced wrongly, and how many.
    announced_when_true, count_when_true : int64 arrays
        Classes announced for the rows where this one is missed, and how many.
    """

    label: int
    predicted: int
    true: int
    truth_when_predicted: np.ndarray
    count_when_predicted: np.ndarray
    announced_when_true: np.ndarray
    count_when_true: np.ndarray

    def frame(self, class_names: tuple[str, ...]) -> pd.DataFrame:
        """Return one row per confused pair: (announced, true, rows)."""
        own = class_names[self.label]
        wrong = [
            (own, class_names[other], rows)
            for other, rows in zip(self.truth_when_predicted, self.count_when_predicted, strict=True)
        ]
        missed = [
            (class_names[other], own, rows)
            for other, rows in zip(self.announced_when_true, self.count_when_true, strict=True)
        ]
        return pd.DataFrame(wrong + missed, columns=["announced", "true", "rows"])


def class_diagram(
    y_true: Any, scores: Any, label: int, *, notion: str = "top-label", n_bins: int = 10
) -> ClassDiagram:
    """Reliability diagram of one class over equal-width bins.

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) array_like, Predictions or TopLabelPrediction
        Scores in [0, 1]; "class-wise" needs one per class.
    label : int
        Class code.
    notion : {"top-label", "class-wise"}
        Condition on the class being announced with h(x), or on its score h_l(x) whatever is announced.
    n_bins : int
        Equal-width bins.

    Raises
    ------
    InputError
        If an argument cannot be used, or the class is never announced ("top-label").
    """
    if notion == "top-label":
        announced, score = top_label(scores)
        own = announced == label
        if not own.any():
            raise InputError(f"class {label} is never announced, so it has no top-label diagram")
        happened, score = np.asarray(y_true)[own] == label, score[own]
    elif notion == "class-wise" and not isinstance(scores, TopLabelPrediction):
        score = np.ascontiguousarray(getattr(scores, "proba", scores)[:, label])
        happened = np.asarray(y_true) == label
    else:
        raise InputError(
            f'a class\'s diagram is "top-label", or "class-wise" with full scores; got {notion!r}'
        )
    one = TopLabelPrediction(np.zeros(len(score), np.int64), score)
    cells = bin_statistics(reduce_to_binary(np.where(happened, 0, 1), one, "confidence"), n_bins=n_bins)
    lower, upper = wilson_interval(cells.mean_outcome, cells.count)
    return ClassDiagram(
        label=int(label),
        notion=notion,
        ece=cells.ece(),
        lower=cells.lower,
        upper=cells.upper,
        count=cells.count,
        mean_score=cells.mean_score,
        frequency=cells.mean_outcome,
        frequency_lower=lower,
        frequency_upper=upper,
    )


def confusions(y_true: Any, announced: Any, label: int, *, n_classes: int) -> Confusions:
    """Count what one class is confused with, in both directions.

    Parameters
    ----------
    y_true, announced : (n,) int arrays
        True and announced class codes.
    label : int
        Class code.
    n_classes : int
        L.
    """
    truth = as_labels(y_true, len(announced), n_classes)
    announced = np.asarray(announced)

    def ranked(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = np.bincount(codes, minlength=n_classes)
        counts[label] = 0
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        return order, counts[order]

    predicted, true = announced == label, truth == label
    return Confusions(
        label, int(predicted.sum()), int(true.sum()), *ranked(truth[predicted]), *ranked(announced[true])
    )
