"""Rules that accept a prediction by its confidence, as calibrators carry them into files and exports."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.label_shift import CorrectedScores
from calib.data.kinds import lacks
from calib.data.predictions import (
    BasePrediction,
    BinaryPrediction,
    Predictions,
    Scores,
    Values,
    as_predictions,
    further_column,
    score_matrix,
    top_of,
)
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
    #: Names of the groups of `by="group"`, and of the column that holds them, if it has one
    groups: tuple[str, ...] = field(default=(), kw_only=True)
    column: str | None = field(default=None, kw_only=True)

    def accept(self, scores: Scores, groups: Values | None = None) -> np.ndarray:
        """Return whether each prediction passes without a person, (n,) bool.

        Parameters
        ----------
        scores : (n, L) or (n,) array_like, or predictions of any kind
            From the model and calibrator that the rule was made for.
        groups : (n,) array_like, optional
            Value of each row in the column that a rule by group was made with; by default this column of the
            predictions. A row with another value is not accepted.
        """
        if self.by != "group" and groups is not None:
            raise InputError("this rule has no thresholds by group; leave out groups")
        if self.by == "group" and groups is None:
            if self.column is None or not isinstance(scores, BasePrediction):
                raise InputError(
                    "this rule has a threshold for each group; pass groups, a value for each row"
                )
            groups = further_column(scores, self.column)
        if isinstance(scores, BasePrediction):
            scores = predicted_classes(scores)
        confidence = event_scores(scores)
        if self.by == "class" or confidence is None:
            label, confidence = top_label(scores)
        elif self.of_event:
            confidence = np.maximum(confidence, 1.0 - confidence)
        if groups is not None:
            places = codes_among(as_groups(groups, len(confidence)), self.groups)
            return np.asarray(confidence >= np.append(self.thresholds, np.inf)[places])
        if self.by is None:
            return np.asarray(confidence >= self.thresholds[0])
        if len(label) and label.max() >= len(self.thresholds):
            raise InputError(
                f"this rule has thresholds for {len(self.thresholds)} classes; got predicted class "
                f"{label.max()}"
            )
        return np.asarray(confidence >= self.thresholds[label])

    def carried_by(self, calibrator: BaseEstimator) -> Any:
        """Return a copy of a fitted calibrator for the same classes, with this rule as `rule_`."""
        if self.by == "group" and self.column is None:
            raise InputError(
                "a calibrator carries a rule by group with the name of its column; pass by as a named Series"
            )
        n_classes = len(self.thresholds) if self.by == "class" else None
        return _carrying(calibrator, self, n_classes, 2 if self.of_event else 1)

    def columns(self, scores: BasePrediction) -> dict[str, np.ndarray]:
        """Return what a table of calibrated rows says by this rule."""
        return {"accept": self.accept(scores)}


@dataclass(frozen=True, eq=False, repr=False)
class LevelAnswers(Result):
    """The finest level that a `LevelRule` answers in each row, and the answer."""

    level: np.ndarray  #: (n,) int64: Place of the level, 0 for the finest; -1: a person answers
    answer: np.ndarray  #: (n,) object: Name of the answer; None: a person answers
    confidence: np.ndarray  #: (n,) float64: Summed probability of the answer, or of the coarsest level's


@dataclass(frozen=True, eq=False, repr=False)
class LevelRule(Result):
    """Answer the finest level of a hierarchy of classes at which the summed probability is high enough."""

    levels: tuple[str, ...]  #: H names of levels, the finest first
    tree: tuple[tuple[str, ...], ...] = field(repr=False)  #: H times L names: each class at each level
    thresholds: np.ndarray  #: (H,) float64: Least summed probability; infinity answers nothing
    accuracy: float  #: Promised share of right answers at each level
    alpha: float  #: The guarantee misses with at most this probability
    guarantee: str | None  #: Promise about new rows from the same source, if there is any

    def claims(self, proba: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield by level the group of each class, (L,), and the most probable group and its score, (n,)."""
        for place in range(len(self.levels)):
            paths = list(zip(*self.tree[place:], strict=True))  # equal names below other names are others
            code = pd.factorize(pd.Series(paths, dtype=object))[0]
            order = np.argsort(code, kind="stable")
            starts = np.searchsorted(code[order], np.arange(code.max() + 1))
            sums = np.add.reduceat(proba[:, order].astype(np.float64), starts, axis=1)
            top = sums.argmax(axis=1)
            yield code, top, np.minimum(sums[np.arange(len(top)), top], 1.0)

    def accept(self, scores: Scores) -> LevelAnswers:
        """Return the answered level of each row, and its answer.

        Parameters
        ----------
        scores : (n, L) array_like or `Predictions`
            Probabilities from the model and calibrator that the rule was made for.
        """
        if isinstance(scores, BasePrediction) and (missing := lacks(scores.kind, "notion:class-wise")):
            raise InputError(missing)
        proba = score_matrix(scores, "proba")
        if proba.shape[1] != len(self.tree[0]):
            raise InputError(f"the rule is for {len(self.tree[0])} classes; got {proba.shape[1]}")
        level, chosen = np.full(len(proba), -1), np.zeros(len(proba))
        answer = np.full(len(proba), None, dtype=object)
        for place, (code, top, confidence) in enumerate(self.claims(proba)):
            names = np.array(self.tree[place], dtype=object)[np.unique(code, return_index=True)[1]]
            left = level < 0
            chosen = np.where(left, confidence, chosen)
            mine = left & (confidence >= self.thresholds[place])
            level[mine], answer[mine] = place, names[top[mine]]
        return LevelAnswers(level, answer, chosen)

    def carried_by(self, calibrator: BaseEstimator) -> Any:
        """Return a copy of a fitted calibrator of the same classes, with this rule as `rule_`."""
        return _carrying(calibrator, self, len(self.tree[0]), 1)

    def columns(self, scores: BasePrediction) -> dict[str, np.ndarray]:
        """Return what a table of calibrated rows says by this rule."""
        found = self.accept(scores)
        names = np.array([*self.levels, None], dtype=object)
        return {"level": names[found.level], "answer": found.answer, "answer_confidence": found.confidence}


@dataclass(frozen=True, eq=False, repr=False)
class ActionRule(Result):
    """Act on a row if P(Y = 1) is at least a threshold."""

    threshold: float | None  #: The threshold; None acts on no row
    alpha: float  #: The guarantee misses with at most this probability, already divided among any choices
    guarantee: str | None  #: Promise about new rows from the same source, if there is any

    def act(self, scores: Scores) -> np.ndarray:
        """Return which rows are acted on, (n,) bool; scores as for `calib.decide`."""
        event = chance_of_event(scores)
        return np.asarray(event >= (np.inf if self.threshold is None else self.threshold))

    def carried_by(self, calibrator: BaseEstimator | None) -> Any:
        """Return a copy of a fitted calibrator of P(Y = 1), or of the scores as they are, with this rule."""
        return _carrying(CorrectedScores(None, np.ones(2)) if calibrator is None else calibrator, self, 2, 2)

    def columns(self, scores: BasePrediction) -> dict[str, np.ndarray]:
        """Return what a table of calibrated rows says by this rule."""
        return {"act": self.act(scores)}


def chance_of_event(scores: Scores) -> np.ndarray:
    """Return P(Y = 1), (n,); of two classes, the second one's."""
    rows = scores if isinstance(scores, BasePrediction) else as_predictions(scores, what="scores")
    event = rows.proba[:, 1] if isinstance(rows, Predictions) and rows.n_classes == 2 else event_scores(rows)
    if event is None:
        raise InputError("this needs one score per row, P(Y = 1); these rows have several classes")
    return event


def _carrying(calibrator: BaseEstimator, rule: Result, n_classes: int | None, of_scores: int) -> Any:
    """Return a copy with a rule for n_classes (None: any); a calibrator of one score counts `of_scores`."""
    found = getattr(calibrator, "n_classes_", of_scores)
    if n_classes not in (None, found):
        raise InputError(f"the rule is for {n_classes} classes, the calibrator has {found}")
    carrier = copy.copy(calibrator)
    carrier.rule_ = rule
    return carrier


def predicted_classes(rows: BasePrediction) -> BasePrediction:
    """Return binary predictions as predicted classes: P(Y = 1) = 0.02 is a confident class 0."""
    return top_of(rows, *top_label(rows)) if isinstance(rows, BinaryPrediction) else rows
