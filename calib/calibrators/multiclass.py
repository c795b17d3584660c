"""Multiclass-to-binary calibration: Algorithm 5 of the paper, for every notion and binary calibrator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from calib.base.exceptions import InputError, LongFitWarning
from calib.base.parallel import map_threads, row_blocks
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.calibrator import Calibrator, check_calibrates
from calib.calibrators.curves import Curve, CurveSet
from calib.calibrators.effort import effort_words
from calib.calibrators.histogram import HistogramBinning, moved_to, shrunken
from calib.data.kinds import kind_of
from calib.data.matrices import completed, highest, normalised
from calib.data.notions import (
    POOLED_NOTIONS,
    TOP_K_NOTIONS,
    TOP_NOTIONS,
    Notion,
    NotionShape,
    PerClass,
    Strategy,
)
from calib.data.predictions import (
    BasePrediction,
    MultilabelPrediction,
    Predictions,
    Scores,
    TopKPrediction,
    TopLabelPrediction,
    Values,
    check_same_classes,
    labelled,
    names_given,
    score_matrix,
)
from calib.data.validation import as_groups, check_choice, check_count, codes_among
from calib.evidence.binning import BinaryProblems, assign_bins
from calib.evidence.reductions import (
    fit_classes,
    grouped_problems,
    has_columns,
    ranked_classes,
    separate_problems,
    top_label,
)
from calib.evidence.rows import Rows


@dataclass(frozen=True)
class Fallback:
    """A binary problem with too few calibration rows, and what it uses instead."""

    problem: int  #: Index of the problem
    label: int  #: Class code, -1 if the problem pools all classes
    rank: int  #: k - 1 for the top-K notions
    #: Calibration rows, and the fewest needed
    n_points: int
    needed: int
    used: str  #: "identity" (unchanged), "pooled" (of all classes), "class" (of a group's class) or "shrunk"
    group: int = -1  #: Code of the group, -1 if there are no groups


class ProblemCalibrators(tuple[Any, ...]):
    """The binary calibrator of each problem in order, None if its scores stay as they are."""

    @cached_property
    def distinct(self) -> tuple[list[Any], np.ndarray]:
        """The distinct calibrators, and the index of each problem's calibrator, -1 for None."""
        each = {id(calibrator): calibrator for calibrator in self if calibrator is not None}
        index = {key: number for number, key in enumerate(each)} | {id(None): -1}
        return list(each.values()), np.array([index[id(calibrator)] for calibrator in self])

    @cached_property
    def curves(self) -> CurveSet | None:
        """The curves of all problems; None if they differ in kind or a calibrator overrides `predict`."""
        calibrators, index = self.distinct
        kinds = {type(calibrator) for calibrator in calibrators}
        if any(getattr(kind, "predict", None) is not BinaryCalibrator.predict for kind in kinds):
            return None
        curves = [calibrator.curve_ for calibrator in calibrators]
        alike = len({type(curve) for curve in curves}) == 1 and isinstance(curves[0], Curve)
        return CurveSet(curves, index) if alike else None

    def predict(self, scores: np.ndarray, problem: np.ndarray) -> np.ndarray:
        """Calibrate (n,) or (n, m) scores, each by the calibrator of its own, or its column's, problem."""
        (calibrators, _), curves = self.distinct, self.curves
        if curves is None:
            result = np.array(scores, dtype=np.float64, order="C")
            if calibrators:
                self._predict_one_by_one(scores, problem, result)
            return result
        result = np.empty(scores.shape)

        def follow(rows: slice) -> None:
            chosen = problem[rows] if problem.ndim == scores.ndim else problem
            result[rows] = curves(np.asarray(scores[rows], dtype=np.float64), chosen)

        map_threads(follow, row_blocks(len(result), result[0].size))
        return result

    def _predict_one_by_one(self, scores: np.ndarray, problem: np.ndarray, result: np.ndarray) -> None:
        flat, calibrated = scores.reshape(-1), result.reshape(-1)
        if problem.ndim < scores.ndim:
            entries: Any = [slice(index, None, scores.shape[1]) for index in range(scores.shape[1])]
        else:
            ends = np.cumsum(np.bincount(problem.ravel(), minlength=len(self)))
            entries = np.split(np.argsort(problem, axis=None, kind="stable"), ends[:-1])

        def calibrate(index: int) -> None:
            chosen = entries[index]
            calibrated[chosen] = self[index].predict(np.ascontiguousarray(flat[chosen]))

        fitted = [index for index, calibrator in enumerate(self) if calibrator is not None]
        map_threads(calibrate, [index for index in fitted if len(flat[entries[index]])])


#: How problems that fell back are calibrated, by `Fallback.used`.
FALLBACK_WORDS = {
    "identity": "left uncalibrated",
    "pooled": "calibrated by the calibrator of all classes",
    "class": "calibrated by the calibrator of the class",
    "shrunk": "calibrated by their few rows, shrunk towards all classes",
}


def fallback_records(calibrator: BaseEstimator, class_names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "class": class_names[fallback.label] if fallback.label >= 0 else "all classes",
            **({"group": calibrator.groups_[fallback.group]} if fallback.group >= 0 else {}),
            "rank": fallback.rank + 1,
            "n_points": fallback.n_points,
            "needed": fallback.needed,
            "used": fallback.used,
        }
        for fallback in getattr(calibrator, "fallbacks_", ())
    ]


def fallback_words(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the first classes of `fallback_records` that have too few rows, a line for each outcome."""
    lines = []
    for used, outcome in FALLBACK_WORDS.items():
        if short := [record for record in records if record["used"] == used]:
            classes = ", ".join(f"{record['class']} ({record['n_points']} rows)" for record in short[:10])
            more = f" and {len(short) - 10:,} more" if len(short) > 10 else ""
            lines.append(f"{outcome}: fewer than {short[0]['needed']} calibration rows for {classes}{more}")
    return lines


def fit_rows(calibrator: BaseEstimator, inputs: Any, outcomes: Values, sample_weight: Values | None) -> Any:
    if sample_weight is None:
        return calibrator.fit(inputs, outcomes)
    if not has_fit_parameter(calibrator, "sample_weight"):
        raise InputError(
            f"{type(calibrator).__name__} cannot use sample_weight: its fit has no such argument; choose "
            "another calibrator"
        )
    return calibrator.fit(inputs, outcomes, sample_weight=sample_weight)


def with_shrunken(
    calibrators: Sequence[Any], pooled: HistogramBinning, shrunk: Sequence[np.ndarray | None]
) -> ProblemCalibrators:
    def with_values(values: np.ndarray) -> HistogramBinning:
        other = clone(pooled)
        other.edges_, other.values_, other.counts_ = pooled.edges_, values, pooled.counts_
        other.left_out_ = other.misplaced_ = other.effective_ = None
        return other

    return ProblemCalibrators(
        own if values is None else with_values(values)
        for own, values in zip(calibrators, shrunk, strict=True)
    )


def _gives_top(calibrator: MulticlassToBinary) -> bool:
    return calibrator.notion in TOP_NOTIONS


def _gives_proba(calibrator: MulticlassToBinary) -> bool:
    return calibrator.notion == "class-wise" or (_gives_top(calibrator) and calibrator.complete is not None)


class MulticlassToBinary(Calibrator):
    """Calibrate a multiclass model through the binary problems of an M2B notion (Algorithm 5).

    Each problem of `reduce_to_binary` gets a binary calibrator. Only class-wise calibration can change the
    predicted class.

    Parameters
    ----------
    binary : object with fit(scores, outcomes) and predict(scores), optional
        Cloned for every problem. Default `HistogramBinning()`.
    notion : str, default "top-label"
        "confidence" (Algorithm 1), "top-label" (2), "class-wise" (3), "top-k-label" (6) or "top-k-confidence"
        (7).
    top_k : int, optional
        K of the top-K notions, default min(L, 5).
    normalize : bool, default False
        Class-wise only: divide each row by its sum (Algorithm 4, "N-HB" with histogram binning); rows of
        zeros become 1/L. It voids the guarantee.
    fallback : {"identity", "pooled", "shrink"}, default "identity"
        What a problem with too few calibration rows uses: unchanged scores, or the calibrator of all classes
        together. "shrink" (top-label histogram binning) moves the bins of all classes so that their mean over
        the class's rows is its shrunken frequency (`calib.calibrators.histogram`); it carries no guarantee.
    min_points : int, optional
        Fewest rows of a problem. Default: one full bin for histogram binning, else 1.
    complete : {None, "rescale"}, default None
        With "rescale", "confidence" and "top-label" calibrators also give `predict_proba`: the predicted
        class gets its calibrated confidence h, the others share 1 - h in proportion to the base model.
    by : {"class", "group", ("class", "group")}, default "class"
        What "top-label" conditions on besides the confidence. A (class, group) with too few rows uses the
        calibrator of its class, else `fallback`; so does a group that `fit` did not see. Theorem 1 holds with
        (class, group) in place of the class.

    Attributes
    ----------
    calibrators_ : ProblemCalibrators
        Tuple of a fitted binary calibrator per problem; None if scores stay as they are.
    pooled_ : tuple
        With ``fallback="pooled"`` or "shrink": a calibrator of all classes per claim, or None.
    shrunk_ : list
        With ``fallback="shrink"``: values of the pooled bins for each problem that fell back, else None.
    n_points_ : (P,) int64 array
        Calibration rows of each problem.
    groups_, by_class_ : tuple of str, tuple
        Names of the groups, ascending; with ``by=("class", "group")`` a calibrator per class, or None.
    n_classes_ : int
    class_names_ : tuple of str or None
    n_clusters_ : int or None
        Clusters of the rows, counting exact copies; None if rows are independent.

    Examples
    --------
    >>> proba = np.array([[0.6, 0.4], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6]])
    >>> m2b = MulticlassToBinary(HistogramBinning(n_bins=1)).fit(proba, [0, 1, 1, 1])
    >>> top = m2b.predict_top(proba)
    >>> top.label.tolist(), top.confidence.tolist()
    ([0, 0, 1, 1], [0.5, 0.5, 1.0, 1.0])
    """

    calibrators_: ProblemCalibrators
    pooled_: tuple[Any, ...]

    def __init__(
        self,
        binary: Any = None,
        *,
        notion: Notion = "top-label",
        top_k: int | None = None,
        normalize: bool = False,
        fallback: str = "identity",
        min_points: int | None = None,
        complete: str | None = None,
        by: str | Sequence[str] = "class",
    ) -> None:
        self.binary = binary
        self.notion = notion
        self.top_k = top_k
        self.normalize = normalize
        self.fallback = fallback
        self.min_points = min_points
        self.complete = complete
        self.by = by

    def fit(
        self,
        proba: Scores,
        y: Values | None = None,
        sample_weight: Values | None = None,
        *,
        groups: Values | None = None,
    ) -> MulticlassToBinary:
        """Fit one binary calibrator per problem on calibration rows the model was not trained on.

        Parameters
        ----------
        proba : (n, L) array_like, or predictions of several classes
            Base probabilities, or as much of them as the notion needs.
        y : (n,) array_like of int, optional
            True class codes 0..L-1; for multilabel scores, (n, L), whether each class is true. By default the
            labels of the predictions, with their weights.
        sample_weight : (n,) array_like of float, optional
            Weights for the binary calibrators. Only their ratios matter; rows of weight 0 are left out.
        groups : (n,) array_like, optional
            Group of each row, compared by its text, if `by` names groups.

        Warns
        -----
        LongFitWarning
            Before a fit of more than a minute, with an estimate and advice.
        """
        rows = Rows(labelled(y, proba, sample_weight, what="proba"))
        scores = rows.predictions
        if not isinstance(proba, BasePrediction):
            score_matrix(scores, "proba")
        shape, top_k = self._shape_of_rows(scores)
        for name in ("groups_", "by_class_", "everyone_", "shrunk_"):
            self.__dict__.pop(name, None)
        self.class_names_, self.n_clusters_ = names_given(proba), rows.n_clusters
        code, group_names = self._grouped(groups, rows.n_given)
        binary = self.binary_calibrator
        is_grouped = type(binary) is HistogramBinning and binary.ties == "group"
        by_counts = is_grouped and not rows.is_weighted
        unfitted = clone(self.binary_calibrator)  # once: scikit-learn reads the signature for every clone

        def fit_sorted(scores: np.ndarray, outcomes: np.ndarray) -> Any:
            return copy(unfitted).fit_sorted(scores, outcomes)

        if by_counts and self.notion == "class-wise" and has_columns(scores):
            fitted = fit_classes(fit_sorted, scores)
            return self.fit_problems(shape, np.full(shape.n_classes, len(scores)), fitted.__getitem__)
        alone = _gives_top(self) and self.fallback == "identity" and not self.has_groups
        if by_counts and alone and isinstance(scores, Predictions):
            sizes, problem = separate_problems(scores, shape)
            return self.fit_problems(shape, sizes, lambda index: fit_sorted(*problem(index)))
        if self.has_groups:
            self.groups_ = group_names
            shape = self.shape_for(shape.n_classes, len(group_names))
            problems = rows.weighted(grouped_problems(scores, shape, code[rows.counts]))
        else:
            problems = rows.problems(self.notion, top_k)
        long = effort_words(self, problems.n_samples, shape.n_classes)
        if long:
            warnings.warn(long, LongFitWarning, stacklevel=3)

        def fit_entries(source: BinaryProblems, index: int) -> Any:
            if by_counts:
                return fit_sorted(*source.problem(index))
            weights = source.weights_of(index) if source.is_weighted else None
            fitted = fit_rows(clone(self.binary_calibrator), *source.problem(index), weights)
            if source.is_weighted and isinstance(fitted, HistogramBinning) and fitted.effective_ is None:
                fitted.effective_ = fitted.inside_.astype(np.float64)  # weights differ between problems
            return fitted

        classes = rows.problems("top-label") if shape.n_groups and shape.by_class else problems
        self.fit_problems(
            shape,
            np.diff(problems.offsets),
            lambda index: fit_entries(problems, index),
            lambda claim: self._fit_pooled(problems, claim),
            lambda label: fit_entries(classes, label),
        )
        if self.fallback == "shrink" and self.pooled_[0] is not None:
            self._shrink(problems)
        return self

    def _shape_of_rows(self, scores: Any) -> tuple[NotionShape, int | None]:
        """Return the problems of rows to fit on, and the number of ranks, or raise `InputError`."""
        if "one score" in scores.has:
            raise InputError(f"proba must be scores of several classes; got a {type(scores).__name__}")
        shape, top_k = self.shape_for(scores.n_classes), self.top_k
        if isinstance(scores, MultilabelPrediction) and self.normalize:
            raise InputError(
                "normalize=True makes rows sum to 1, which multilabel scores need not; leave it out"
            )
        if isinstance(scores, TopKPrediction) and self.notion in TOP_K_NOTIONS and top_k is None:
            if scores.n_ranks != shape.n_ranks:
                raise InputError(
                    f"these predictions hold {scores.n_ranks} ranks, and {shape.n_ranks} is the default; "
                    f"pass top_k={scores.n_ranks}"
                )
            top_k = shape.n_ranks
        return shape, top_k

    def fit_problems(
        self,
        shape: NotionShape,
        sizes: np.ndarray,
        fit_problem: Callable[[int], Any],
        fit_pooled: Callable[[int], Any] = lambda claim: None,
        fit_class: Callable[[int], Any] = lambda label: None,
    ) -> MulticlassToBinary:
        """Fit all problems by functions that fit one problem each, called on threads.

        `sizes`, (P,), are calibration rows. The functions return the fitted binary calibrator of a problem,
        of a claim (or None), and, with groups and classes, of a class.
        """
        needed = self.least_points
        self.n_points_, self.n_classes_ = sizes, shape.n_classes
        self.pooled_ = tuple(fit_pooled(claim) for claim in range(shape.n_claims))
        by_class: list[Any] = []
        if shape.n_groups and shape.by_class:
            class_sizes = sizes.reshape(-1, shape.n_classes).sum(axis=0)
            by_class = map_threads(
                lambda label: fit_class(label) if class_sizes[label] >= needed else None,
                range(shape.n_classes),
            )
            self.by_class_ = tuple(by_class)

        def fit_or_fall_back(index: int) -> Any:
            if sizes[index] >= needed:
                return fit_problem(index)
            if by_class and by_class[index % shape.n_classes] is not None:
                return by_class[index % shape.n_classes]
            return self.pooled_[index // shape.problems_per_claim]

        self.calibrators_ = ProblemCalibrators(map_threads(fit_or_fall_back, range(shape.n_problems)))
        return self

    @property
    def fallbacks_(self) -> tuple[Fallback, ...]:
        """The problems that fell back, and what each uses."""
        shape, needed, by_class = self.shape_, self.least_points, getattr(self, "by_class_", ())
        short = np.flatnonzero(self.n_points_ < needed)
        shared = {id(calibrator) for calibrator in by_class if calibrator is not None}

        def used(index: int) -> str:
            if self.calibrators_[index] is None:
                return "identity"
            if id(self.calibrators_[index]) in shared:
                return "class"
            return "shrunk" if hasattr(self, "shrunk_") else "pooled"

        columns = (short, shape.labels_of(short), shape.claims_of(short), self.n_points_[short])
        return tuple(
            Fallback(index, label, rank, points, needed, used(index), group)
            for index, label, rank, points, group in zip(
                *(column.tolist() for column in (*columns, shape.groups_of(short))), strict=True
            )
        )

    @property
    def binary_calibrator(self) -> Any:
        """The unfitted binary calibrator: `binary`, or `HistogramBinning()`."""
        return HistogramBinning() if self.binary is None else self.binary

    @property
    def least_points(self) -> int:
        """Fewest calibration rows with which a problem gets its own calibrator."""
        least = self.min_points
        if least is None:
            least = getattr(self.binary_calibrator, "min_points", 1)
        return check_count(least, "min_points")

    @property
    def has_groups(self) -> bool:
        """Whether it conditions on the group of each row."""
        return self.by != "class" and tuple(self.by) != ("class",)

    def shape_for(self, n_classes: int, n_groups: int = 1) -> NotionShape:
        """Return the binary problems of the notion for L classes; refuse parameters of other notions."""
        shape = NotionShape.of(self.notion, n_classes, self.top_k)
        if self.normalize and self.notion != "class-wise":
            raise InputError(f'normalize=True needs notion "class-wise"; got "{self.notion}"')
        check_choice(self.fallback, ("identity", "pooled", "shrink"), "fallback")
        if self.fallback == "shrink" and (
            self.notion != "top-label"
            or self.has_groups
            or not isinstance(self.binary_calibrator, HistogramBinning)
        ):
            raise InputError(
                'fallback="shrink" belongs to HistogramBinning with notion "top-label" and by="class"; '
                'use fallback="pooled"'
            )
        check_choice(self.complete, (None, "rescale"), "complete")
        if self.complete and not _gives_top(self):
            raise InputError(f'complete belongs to "confidence" and "top-label"; got notion "{self.notion}"')
        if not self.has_groups:
            return shape
        named = (self.by,) if isinstance(self.by, str) else tuple(self.by)
        if named not in (("group",), ("class", "group")):
            raise InputError(f'by must be "class", "group" or ("class", "group"); got {self.by!r}')
        if self.notion != "top-label":
            raise InputError(f'groups belong to notion "top-label"; got notion "{self.notion}"')
        return replace(shape, n_groups=n_groups, by_class="class" in named)

    @property
    def shape_(self) -> NotionShape:
        """The binary problems it was fitted for."""
        return self.shape_for(self.n_classes_, len(getattr(self, "groups_", ())))

    @cached_property
    def everyone_(self) -> ProblemCalibrators:
        """The calibrators of all problems, followed by the calibrators for rows of unknown groups."""
        if not self.has_groups:
            return self.calibrators_
        by_class = getattr(self, "by_class_", (None,))
        others = [self.pooled_[0] if own is None else own for own in by_class]
        return ProblemCalibrators([*self.calibrators_, *others])

    def group_codes(self, groups: Values | None, n_samples: int) -> np.ndarray:
        """Return codes of groups, (n,) int64: places in `groups_`, -1 for groups that `fit` did not see."""
        return codes_among(self._grouped(groups, n_samples), self.groups_)

    def _strategy(self, whole: bool) -> Strategy:
        if self.normalize or (whole and self.complete is not None):
            return "uniform"
        binned: list[bool] = [getattr(binary, "is_binned", False) for binary in self.everyone_]
        if self.has_groups:  # a class is binned if it is in every group
            shape = self.shape_
            if not shape.by_class:
                return PerClass() if all(binned) else "uniform"
            binned = [all(binned[label :: shape.n_classes]) for label in range(shape.n_classes)]
        if self.notion in POOLED_NOTIONS:
            return "discrete" if binned[0] else "uniform"
        others = tuple(label for label in range(self.n_classes_) if not binned[label])
        return PerClass(others) if len(others) < self.n_classes_ else "uniform"

    @overload
    def predict(self, proba: BasePrediction, *, groups: Values | None = None) -> BasePrediction: ...
    @overload
    def predict(self, proba: Values, *, groups: Values | None = None) -> np.ndarray: ...
    def predict(self, proba: Scores, *, groups: Values | None = None) -> np.ndarray | BasePrediction:
        """Predicted class codes, (n,) int64; only class-wise calibration can change them.

        Predictions give the same rows with the scores that the calibrator has for them: of every class, of
        the predicted class (for top-K notions, of rank 1), or of the K classes that each row lists.
        """
        if not isinstance(proba, BasePrediction):
            matrix = self._checked(proba)
            return highest(self._class_wise(matrix) if self.notion == "class-wise" else matrix)[0]
        check_calibrates(self, kind_of(proba))
        if _gives_proba(self):
            return self.predict_proba(proba, groups=groups)
        if _gives_top(self):
            return self.predict_top(proba, groups=groups)
        ranked = self.predict_top_k(proba)
        return ranked if isinstance(proba, TopKPrediction) else ranked.top

    @available_if(_gives_top)
    def predict_top(self, proba: Scores, *, groups: Values | None = None) -> TopLabelPrediction:
        """Predicted class and calibrated confidence (confidence, top-label); `groups` as for `fit`.

        For predictions, `groups` are by default the further column that holds the groups of the fit.
        """
        label, confidence = self._top(proba, groups)
        return self._given_back(proba, confidence, label)

    def _top(self, proba: Scores, groups: Values | None) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(proba, (TopKPrediction, TopLabelPrediction)):
            check_is_fitted(self)
            check_same_classes(self, proba)
            label, confidence = self._known(proba.label), proba.confidence
        else:
            matrix = self._checked(proba)
            label, confidence = top_label(proba) if isinstance(proba, Predictions) else highest(matrix)
        if groups is None and isinstance(proba, BasePrediction):
            groups = groups_in(self, proba.metadata)
        return label, self.everyone_.predict(confidence, self._problems(label, groups))

    def _problems(self, label: np.ndarray, groups: Values | None) -> np.ndarray:
        """Position in `everyone_` of the calibrator of each row."""
        shape = self.shape_
        if not self.has_groups:
            self._grouped(groups, len(label))
            return shape.problems_of(label)
        code = self.group_codes(groups, len(label))
        other = shape.n_problems + (label if shape.by_class else 0)
        return np.where(code < 0, other, shape.problems_of(label, group=code))

    def _grouped(self, groups: Values | None, n_samples: int) -> tuple[np.ndarray, tuple[str, ...]]:
        if groups is None and self.has_groups:
            raise InputError(f"by={self.by!r} needs the group of each row; pass groups=")
        if groups is not None and not self.has_groups:
            raise InputError('groups need by="group" or by=("class", "group"); got by="class"')
        return as_groups(groups, n_samples) if groups is not None else (np.empty(0, np.int64), ())

    @available_if(lambda calibrator: calibrator.notion in TOP_K_NOTIONS)
    def predict_top_k(self, proba: Scores) -> tuple[np.ndarray, np.ndarray] | TopKPrediction:
        """Return the K highest classes of each row and their calibrated scores, both (n, K)."""
        check_is_fitted(self)
        shape = self.shape_
        if isinstance(proba, TopKPrediction):
            labels, scores = self._listed(proba, shape.n_ranks)
        else:
            labels, scores = ranked_classes(self._checked(proba), shape.n_ranks)
        problem = shape.problems_of(labels, np.arange(shape.n_ranks))
        return self._given_back(proba, self.calibrators_.predict(scores, problem), labels)

    def _listed(self, rows: TopKPrediction, n_ranks: int) -> tuple[np.ndarray, np.ndarray]:
        check_same_classes(self, rows)
        if rows.n_ranks < n_ranks:
            raise InputError(
                f"this calibrator was fitted on {n_ranks} ranks; got {rows.n_ranks}. Pass {n_ranks} for "
                "each row"
            )
        return self._known(rows.ranked)[:, :n_ranks], rows.scores[:, :n_ranks]

    def _known(self, codes: np.ndarray) -> np.ndarray:
        if codes.max() >= self.n_classes_:
            raise InputError(
                f"this calibrator was fitted on {self.n_classes_} classes; got the class {codes.max()}"
            )
        return codes

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "predict_proba" and "notion" in vars(self):
                instead = "predict_top, or complete='rescale'" if _gives_top(self) else "predict_top_k"
                raise AttributeError(f"the notion {self.notion!r} gives no predict_proba: use {instead}")
            return super().__getattribute__(name)  # raises its error again

    @available_if(_gives_proba)
    def predict_proba(self, proba: Scores, *, groups: Values | None = None) -> np.ndarray | BasePrediction:
        """Calibrated scores of every class, (n, L) float64.

        Rows sum to 1 with ``normalize=True`` (class-wise) or ``complete="rescale"`` (others).
        """
        matrix = self._checked(proba)
        if self.notion == "class-wise":
            return self._given_back(proba, self._class_wise(matrix))
        return self._given_back(proba, completed(matrix, *self._top(proba, groups)))

    def _fit_pooled(self, problems: BinaryProblems, claim: int) -> Any:
        per_claim = problems.shape.problems_per_claim
        if self.fallback == "identity" or per_claim == 1:
            return None
        entries = slice(*problems.offsets[[claim * per_claim, (claim + 1) * per_claim]])
        scores, outcomes = problems.scores[entries], problems.outcomes[entries]
        if len(scores) < self.least_points:
            return None
        weights = problems.weights[entries] if problems.is_weighted else None
        return fit_rows(clone(self.binary_calibrator), scores, outcomes, weights)

    def _shrink(self, problems: BinaryProblems) -> None:
        """Move the pooled bins of each problem with too few rows, unless it has none."""
        if problems.is_weighted:
            raise InputError('fallback="shrink" cannot use sample_weight; use fallback="pooled"')
        (pooled,), count = self.pooled_, self.n_points_
        problem = np.repeat(np.arange(problems.n_problems), count)
        value = pooled.values_[assign_bins(problems.scores, pooled.edges_)]
        happened, prior = (
            np.bincount(problem, weights=each, minlength=problems.n_problems)
            for each in (problems.outcomes, value)
        )
        short = count < self.least_points
        chosen = np.flatnonzero(short & (count > 0))
        means = prior[chosen] / count[chosen]
        estimate = shrunken(happened[chosen], count[chosen], means)[0]
        self.shrunk_ = [pooled.values_ if few else None for few in short]
        for index, share, mean in zip(chosen.tolist(), estimate.tolist(), means.tolist(), strict=True):
            self.shrunk_[index] = moved_to(share, mean, pooled.values_)
        self.calibrators_ = with_shrunken(self.calibrators_, pooled, self.shrunk_)

    def _class_wise(self, matrix: np.ndarray) -> np.ndarray:
        result = self.calibrators_.predict(matrix, np.arange(self.n_classes_))
        return normalised(result) if self.normalize else result


def groups_in(calibrator: Any, table: pd.DataFrame | None) -> pd.Series | None:
    """Return the column of a table that mostly holds a calibrator's groups; None if it has none."""
    if not getattr(calibrator, "has_groups", False) or table is None:
        return None
    shares = {}
    for name in table.columns:
        code, texts = as_groups(table[name], len(table))
        shares[name] = float(np.isin(texts, calibrator.groups_)[code].mean())
    best = max(shares, key=lambda name: shares[name], default=None)
    if best is None or shares[best] < 0.5:
        listed = ", ".join(map(repr, calibrator.groups_[:3])) + ", ..." * (len(calibrator.groups_) > 3)
        raise InputError(
            f"the calibrator conditions on the groups {listed}, and no further column of rows has them; "
            "add the column of the fit, or pass groups="
        )
    return table[best]


def as_multiclass(calibrator: BinaryCalibrator, rows: Any) -> MulticlassToBinary | None:
    """Return a fitted calibrator of one score as a `MulticlassToBinary` with one pooled problem."""
    if rows is None:
        return None
    reduction = MulticlassToBinary(calibrator, notion="confidence", min_points=1)
    reduction.calibrators_ = ProblemCalibrators([calibrator])
    reduction.pooled_ = (None,)
    reduction.n_points_ = np.array([rows.n_samples])
    reduction.n_classes_ = 2
    reduction.n_clusters_ = clusters_of_fit(rows)
    return reduction


def clusters_of_fit(source: Any) -> int | None:
    """Return the clusters, also suspected ones, of a calibrator, an origin or rows; None without clusters."""
    origin = getattr(source, "fitted_on_", source)
    if isinstance(origin, BasePrediction) and origin.labels is not None:
        return Rows(origin).readings[-1].n_clusters
    clusters: int | None = getattr(source, "n_clusters_", None) or getattr(origin, "n_clusters", None)
    return clusters
