"""Rows that a judge gave verdicts on, some of which people labelled, in cells of verdict and confidence.

A cell is a verdict and a range of its confidence. Halving the rows of a verdict again and again makes the
ranges, as long as both halves hold `LABELS_PER_CELL` labels. The places of the cuts depend on the rows only,
so that further labels divide cells and never move them. A half with another share of labels than chance
explains is always a cell of its own: rows like it were chosen to be labelled, or left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import bdtr, chdtrc, ndtr

from calib.base.exceptions import InputError
from calib.data.predictions import TopLabelPrediction, Values
from calib.data.validation import as_clusters, as_scores, cell_text, check_shape, plain
from calib.evidence.clusters import Clusters

#: How rows were chosen to be labelled.
ChosenBy = Literal["random", "verdict", "confidence", "weight", "otherwise"]
#: What an argument can say: weights say it themselves.
CHOSEN_BY = ("random", "verdict", "confidence", "otherwise")
#: Labels in each half of a range that is halved, and most halvings of a verdict's rows.
LABELS_PER_CELL, HALVINGS = 30, 3
#: Labels in each half of a range that is halved to weight labels by how many rows they stand for.
LABELS_PER_WEIGHT = 3
#: Most halvings if the halves have different shares of labels, and the p-value below which they differ.
UNEQUAL_HALVINGS, IMPROBABLE = 6, 1e-3
#: Most classes: a column with more holds free text.
MOST_CLASSES = 50
#: Names of annotators that are models.
_MODELS = re.compile(
    r"gpt|claude|gemini|llama|mistral|mixtral|qwen|deepseek|\bllm\b|\bbot\b|\bmodel\b|\bjudge\b|\bai\b", re.I
)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Verdicts on n rows, with labels of people for m of them, among K classes."""

    #: Class names: whole numbers ascending, else verdicts by first appearance, then labels no verdict uses
    names: tuple[str, ...]
    verdict: np.ndarray  #: (n,) int64: Class of each verdict
    confidence: np.ndarray | None  #: (n,) float: Confidence of each verdict, if the judge gives one
    row: np.ndarray  #: (m,) int64: Labelled rows, ascending
    votes: np.ndarray  #: (m, K) float64: Share of the labels of each labelled row that name each class
    weight: np.ndarray  #: (m,) float64: Rows that each labelled row stands for, relative to its cell
    clusters: Clusters  #: Which rows belong together

    @classmethod
    def of(
        cls,
        verdict: Values,
        human: Values,
        confidence: Values | None,
        cluster: Values | None,
        weight: Values | None,
        labelled_by: Values | None,
        cut: float | None,
    ) -> JudgedRows:
        """Check the arguments of `calib.judge`."""
        if not (cut is None or isinstance(cut, Real)):
            raise InputError(f"cut must be a number, such as 4; got {cut!r}")
        verdicts = _texts(verdict, "verdict must hold a class per row (and repeated answer)", cut)
        n, repeats = verdicts.shape
        if repeats > 1 and confidence is not None:
            raise InputError("repeated verdicts give the confidence themselves; leave out confidence")
        given = _texts(human, "human must hold a label per row (and rater), blank without one", cut, n)
        texts = pd.Series(np.concatenate([verdicts.ravel(), given.ravel()]))
        folded = texts.map(str.casefold)  # case does not tell classes apart
        seen = texts[~folded.duplicated() & (folded != "")].tolist()
        if cut is not None and not {"pass", "fail"} & set(seen):
            raise InputError("cut divides numbers, and verdicts and labels are words; leave out cut")
        names = tuple(sorted(seen, key=int) if all(map(str.isdecimal, seen)) else seen)
        codes = pd.Index([name.casefold() for name in names], dtype=object).get_indexer(pd.Index(folded))
        both = codes[: verdicts.size].reshape(n, repeats), codes[verdicts.size :].reshape(given.shape)
        shown = [np.unique(code[code >= 0]).tolist() for code in both]
        if shown[1] and not set(shown[0]) & set(shown[1]):
            judged, labelled = (", ".join(repr(names[code]) for code in used[:5]) for used in shown)
            raise InputError(
                f"human and verdict share no class: verdicts are {judged}, labels are {labelled}. Write both "
                "in the same words"
            )
        if len(names) > MOST_CLASSES:
            raise InputError(
                f"verdict and human hold {len(names):,} classes; at most {MOST_CLASSES} can be judged. "
                "Divide scores at a cut, and grade free text first"
            )
        answers, labels = ((code[:, :, None] == np.arange(len(names))).sum(axis=1) for code in both)
        silent = np.flatnonzero(~answers.any(axis=1)).tolist()
        if silent or not n:
            raise InputError(
                f"every row needs a verdict; {len(silent):,} of {n:,} rows have none"
                + (f", the first is row {silent[0]}. Leave them out" if silent else "")
            )
        if repeats > 1:
            confidence = answers.max(axis=1) / answers.sum(axis=1)
        score = None if confidence is None else as_scores(confidence, ndim=1, what="confidence")
        if score is not None:
            check_shape(score.shape, n, "confidence must hold one number per row")
        row = np.flatnonzero(labels.any(axis=1))
        votes = labels[row] / labels[row].sum(axis=1, keepdims=True)
        if labelled_by is not None:
            _refuse_models(np.asarray(plain(labelled_by), dtype=object), n, row)
        each = np.ones(len(row)) if weight is None else _weights(weight, n, row)
        clusters = Clusters.of(None if cluster is None else as_clusters(cluster, n), n)
        return cls(names, answers.argmax(axis=1), score, row, votes, each, clusters)

    @property
    def n_rows(self) -> int:
        return len(self.verdict)

    @cached_property
    def right(self) -> np.ndarray:
        """Share of the labels of each labelled row that agree with the verdict, (m,) float64."""
        return self.votes[np.arange(len(self.row)), self.verdict[self.row]]

    @cached_property
    def labelled(self) -> np.ndarray:
        return np.bincount(self.row, minlength=self.n_rows).astype(bool)

    def labelled_rows(self) -> TopLabelPrediction:
        """Return the labelled rows as predictions; if people disagree with the judge, their class is true."""
        said, others = self.verdict[self.row], self.votes.copy()
        others[np.arange(len(said)), said] = -1.0
        truth = np.where(self.right > 0.5, said, others.argmax(axis=1))
        score = np.ones(len(said)) if self.confidence is None else self.confidence[self.row]
        return TopLabelPrediction(said, score, truth, self.names)

    @cached_property
    def cell(self) -> np.ndarray:
        """Cell of each row, (n,) int64: by verdict, then by ascending confidence."""
        return self._cells(LABELS_PER_CELL)

    def balanced(self) -> np.ndarray:
        """Return weights that undo a choice of labelled rows by confidence inside cells, (m,) float64.

        A label stands for the rows of a smaller range, divided by its labels.
        """
        part = self._cells(LABELS_PER_WEIGHT)
        own = part[self.row]
        return self.weight * np.bincount(part)[own] / np.bincount(own)[own]

    def _cells(self, least: int) -> np.ndarray:
        score = np.zeros(self.n_rows) if self.confidence is None else self.confidence
        order = np.lexsort((score, self.verdict))
        ends = np.cumsum(np.unique(self.verdict, return_counts=True)[1])
        sizes: list[int] = []
        for rows in np.split(order, ends[:-1]):
            sizes += _sizes(score[rows], self.labelled[rows], least)
        cell = np.empty(self.n_rows, dtype=np.int64)
        cell[order] = np.repeat(np.arange(len(sizes)), sizes)
        return cell

    def chosen_by(self) -> ChosenBy:
        """Return what the choice of labelled rows depends on: "verdict", "confidence", or else "random".

        A test at 0.1 % for each: of equal shares of labelled rows among verdicts, and of equal mean
        confidence of labelled and other rows of a verdict.
        """
        n, m = self.n_rows, len(self.row)
        if m in (0, n):
            return "random"
        worth = self.clusters.n_among(self.row) / m  # labelled clusters whole: each counts once
        _, said, rows = np.unique(self.verdict, return_inverse=True, return_counts=True)
        seen, expected = np.bincount(said[self.row], minlength=len(rows)), m / n * rows
        distance = float(((seen - expected) ** 2 / (expected * (1.0 - m / n))).sum())
        if chdtrc(max(len(rows) - 1, 1), distance * worth) < IMPROBABLE:
            return "verdict"
        if self.confidence is None:
            return "random"
        score = pd.Series(self.confidence, dtype=np.float64)
        by_verdict = score.groupby(said)
        away = float((score - by_verdict.transform("mean"))[self.row].sum())
        variance = float(np.nansum((1.0 - seen / rows) * seen * by_verdict.var()))
        z = abs(away) * np.sqrt(worth / variance) if variance > 0.0 else 0.0
        return "confidence" if 2.0 * ndtr(-z) < IMPROBABLE else "random"


def _sizes(score: np.ndarray, labelled: np.ndarray, least: int, depth: int = 0) -> list[int]:
    """Divide rows, by ascending score, into ranges whose halves hold `least` labels; return their lengths."""
    cut = _middle(score)
    halves = slice(cut), slice(cut, None)
    labels = [int(labelled[half].sum()) for half in halves]
    enough = depth < HALVINGS and min(labels) >= least
    if not enough and cut and depth < UNEQUAL_HALVINGS:
        share = cut / len(score)
        chances = bdtr(labels, sum(labels), [share, 1.0 - share])
        enough = bool(min(chances) < IMPROBABLE)
    if not enough:
        return [len(score)]
    return [size for half in halves for size in _sizes(score[half], labelled[half], least, depth + 1)]


def _middle(values: np.ndarray) -> int:
    """Return the place between two different ascending values that is nearest to the middle; 0 if none is."""
    half = len(values) // 2
    places = [int(np.searchsorted(values, values[half], side)) for side in ("left", "right")]
    places = [place for place in places if 0 < place < len(values)]
    return min(places, key=lambda place: abs(place - len(values) / 2.0), default=0)


def _texts(values: Any, needed: str, cut: float | None, n_rows: int | None = None) -> np.ndarray:
    """Return (n, k) texts of classes; numbers are "pass" from the cut on, and "fail" below it."""
    given = np.asarray(plain(values), dtype=object)
    given = given[:, None] if given.ndim == 1 else given
    if given.ndim != 2 or n_rows not in (None, len(given)):
        check_shape(given.shape, n_rows or given.size, needed)
    texts = np.array([cell_text(value) for value in given.ravel()], dtype=object).reshape(given.shape)
    if cut is None:
        return texts
    numbers = pd.DataFrame(texts).apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    if not (np.isfinite(numbers) | (texts == "")).all():
        return texts  # classes in words, beside scores on the other side
    return np.where(texts == "", "", np.where(numbers >= cut, "pass", "fail")).astype(object)


def _weights(weight: Values, n: int, row: np.ndarray) -> np.ndarray:
    each = np.asarray(plain(weight), dtype=np.float64)
    check_shape(each.shape, n, "weight must hold one number per row")
    each = each[row]
    wrong = np.flatnonzero(~(np.isfinite(each) & (each > 0.0)))
    if len(wrong):
        raise InputError(
            f"weight must be above 0 in every labelled row (1 / its chance to be labelled); got "
            f"{each[wrong[0]]:g} in row {row[wrong[0]]}"
        )
    return each


def _refuse_models(labelled_by: np.ndarray, n: int, row: np.ndarray) -> None:
    check_shape(labelled_by.shape, n, "labelled_by must hold one name per row")
    model = next(filter(_MODELS.search, map(str, labelled_by[row])), None)
    if model is not None:
        raise InputError(
            f"labelled_by names {model!r}, which is a model: its labels say nothing "
            "about people. Blank the labels that no person gave"
        )
