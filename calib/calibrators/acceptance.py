"""Rules that accept a prediction by its confidence, as calibrators carry them into files and exports."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.predictions import Announcement, BinaryPrediction, Scores, Values, top_of
from calib.data.validation import as_groups, codes_among
from calib.evidence.reductions import event_scores, top_label

#: Written in place of an infinite threshold: no confidence reaches it.
NEVER = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class AcceptanceRule(Result):
    """Accept a prediction without a person if its confidence is at least a threshold."""

    #: (L,), (G,) or (1,) float64 array: threshold of each predicted class, of each group, or of all; infinity
    #: accepts nothing
    thresholds: np.ndarray
    by: Literal["class", "group"] | None  #: {"class", "group"}: what has its own threshold
    #: {"accuracy", "reviews", "cost"}: what the thresholds were chosen for
    target: Literal["accuracy", "reviews", "cost"]
    value: float  #: The target's value
    alpha: float  #: The guarantee misses with at most this probability, already divided among any choices
    guarantee: str | None  #: Promise about new rows from the same source, if there is any
    #: Whether 1-D scores are P(Y = 1), whose confidence is p or 1 - p; else they are confidences
    of_event: bool
    #: Names of the groups of `by="group"`
    groups: tuple[str, ...] = field(default=(), kw_only=True)

    def accept(self, scores: Scores, groups: Values | None = None) -> np.ndarray:
        """Return whether each prediction passes without a person, (n,) bool.

        Parameters
        ----------
        scores : (n, L) or (n,) array_like, or predictions of any kind
            From the model and calibrator that the rule was made for.
        groups : (n,) array_like, optional
            Value of each row in the column that a rule by group was made with. A row with another value is
            not accepted.
        """
        if (groups is None) == (self.by == "group"):
            raise InputError(
                "this rule has a threshold for each group; pass groups, a value for each row"
                if groups is None
                else "this rule has no thresholds by group; leave out groups"
            )
        if isinstance(scores, Announcement):
            scores = predicted_classes(scores)
        if self.by != "class":
            event = event_scores(scores)
            confidence = top_label(scores)[1] if event is None else event
            if event is not None and self.of_event:
                confidence = np.maximum(confidence, 1.0 - confidence)
            if groups is None:
                return np.asarray(confidence >= self.thresholds[0])
            limits = np.append(self.thresholds, np.inf)
            given = as_groups(groups, len(confidence))
            return np.asarray(confidence >= limits[codes_among(given, self.groups)])
        label, confidence = top_label(scores)
        if len(label) and label.max() >= len(self.thresholds):
            raise InputError(
                f"this rule has thresholds for {len(self.thresholds)} classes; got predicted class "
                f"{label.max()}"
            )
        return np.asarray(confidence >= self.thresholds[label])

    def carried_by(self, calibrator: BaseEstimator) -> Any:
        """Return a copy of a fitted calibrator for the same classes, with this rule as `rule_`."""
        if self.by == "group":
            raise InputError("a calibrator carries no rule by group; keep the rule, and call its accept")
        n_classes = getattr(calibrator, "n_classes_", 2 if self.of_event else 1)
        if self.by is not None and n_classes != len(self.thresholds):
            raise InputError(
                f"the rule has thresholds for {len(self.thresholds)} classes, the calibrator has {n_classes}"
            )
        carrier = copy.copy(calibrator)
        carrier.rule_ = self
        return carrier


def predicted_classes(rows: Announcement) -> Announcement:
    """Return binary predictions as predicted classes: P(Y = 1) = 0.02 is a confident class 0."""
    return top_of(rows, *top_label(rows)) if isinstance(rows, BinaryPrediction) else rows
