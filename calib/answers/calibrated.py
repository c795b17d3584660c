"""Scores of a fitted calibrator, the binning that assesses them, and a table to save."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads, row_blocks
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.catalogue import check_calibrates
from calib.calibrators.completed_rows import completed, normalised
from calib.calibrators.multiclass import fit_rows
from calib.data.kinds import kind_of
from calib.data.notions import POOLED_NOTIONS, PerClass, Strategy
from calib.data.predictions import (
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    TopKPrediction,
    TopLabelPrediction,
    check_same_classes,
    names_given,
    weights_of,
)
from calib.data.validation import as_groups, as_labels, as_names
from calib.evidence.reductions import event_scores, outcomes_of, top_label
from calib.evidence.row_scores import error_share, row_values, vector_values, weighted_mean, wrong_rows

#: Most distinct values of a stated confidence: steps of 5 % from 0 to 100.
MAX_STATED = 21


def calibrated_scores(calibrator: Any, proba: Any, *, groups: Any = None) -> Any:
    """Return the scores of a fitted calibrator for base predictions.

    (n, L) base probabilities give (n, L) scores, or the predicted class and its confidence if the calibrator
    gives no more (rank 1 for the top-K notions). Other predictions give the same kind if possible, and 1-D
    scores give 1-D scores. `groups` holds the group of each row if the calibrator needs it; by default
    `groups_in` finds it.
    """
    check_same_classes(calibrator, proba)
    if isinstance(calibrator, BinaryCalibrator):
        if isinstance(proba, TopKPrediction):
            proba = proba.top
        if isinstance(proba, BinaryPrediction):
            return replace(proba, score=calibrator.predict(proba.score))
        if isinstance(proba, (ConfidencePrediction, TopLabelPrediction)):
            return replace(proba, confidence=calibrator.predict(proba.confidence))
        return calibrator.predict(proba)
    check_calibrates(calibrator, kind_of(proba))
    matrix = getattr(proba, "proba", proba)
    groups = groups_in(calibrator, proba) if groups is None else groups
    given = {} if groups is None else {"groups": groups}
    if isinstance(proba, TopKPrediction) and hasattr(calibrator, "predict_top_k"):
        ranked, scores = calibrator.predict_top_k(proba)
        return replace(proba, ranked=ranked, scores=scores)
    if isinstance(proba, (TopLabelPrediction, TopKPrediction)):
        return calibrator.predict_top(proba, **given)
    if isinstance(proba, MultilabelPrediction):
        return replace(proba, scores=calibrator.predict_proba(proba.scores))
    if hasattr(calibrator, "predict_proba"):
        return calibrator.predict_proba(matrix, **given)
    if hasattr(calibrator, "predict_top"):
        return calibrator.predict_top(matrix, **given)
    labels, confidences = calibrator.predict_top_k(matrix)
    return TopLabelPrediction(labels[:, 0], confidences[:, 0])


def groups_in(calibrator: Any, rows: Any) -> Any:
    """Return the column of predictions that mostly holds a calibrator's groups; None if there is none."""
    table = getattr(rows, "metadata", None)
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


def fit_on(calibrator: Any, rows: Any, *, sample_weight: Any = None, groups: Any = None) -> Any:
    """Fit a calibrator on labelled predictions of any kind and return it; raises as `check_calibrates`."""
    sample_weight = weights_of(rows, sample_weight)
    if isinstance(calibrator, BinaryCalibrator):
        score = event_scores(rows)
        inputs = rows.confidence if score is None else score
        fitted = fit_rows(calibrator, inputs, outcomes_of(rows.labels, rows), sample_weight)
        fitted.class_names_ = names_given(rows) if rows.kind == "binary" else None
        return fitted
    check_calibrates(calibrator, kind_of(rows))
    listed = isinstance(rows, (TopLabelPrediction, TopKPrediction, MultilabelPrediction))
    inputs = rows if listed else rows.proba
    if groups is not None:
        fitted = calibrator.fit(inputs, rows.labels, sample_weight, groups=groups)
    else:
        fitted = fit_rows(calibrator, inputs, rows.labels, sample_weight)
    fitted.class_names_ = names_given(rows)
    return fitted


def vector_losses(y_true: Any, scores: Any, proba: Any) -> dict[str, np.ndarray]:
    """Return the Brier score and the log loss of the whole vector of each row."""
    if kind_of(proba).name != "vectors":
        return {metric: row_values(y_true, scores, metric) for metric in ("brier", "log_loss")}
    matrix = getattr(proba, "proba", proba)
    vectors = getattr(scores, "proba", scores)
    n_samples, n_classes = np.shape(matrix)
    labels = as_labels(y_true, n_samples, n_classes)
    losses = {"brier": np.empty(n_samples), "log_loss": np.empty(n_samples)}

    def fill(rows: slice) -> None:
        if isinstance(scores, TopLabelPrediction):
            whole = completed(matrix[rows], scores.label[rows], scores.confidence[rows])
        else:
            whole = normalised(np.asarray(vectors[rows], dtype=np.float64))
        for metric, values in vector_values(labels[rows], whole, losses).items():
            losses[metric][rows] = values

    map_threads(fill, row_blocks(n_samples, n_classes))
    return losses


def unseen_losses(
    y_true: Any, scores: Any, proba: Any, losses: Mapping[str, np.ndarray], cluster: Any = None
) -> dict[str, float]:
    """Return how much one more wrong row changes the mean of each of `vector_losses`."""
    if kind_of(proba).name == "multilabel":
        return {"brier": 0.0, "log_loss": 0.0}
    weights = weights_of(proba)
    share = error_share(y_true, proba, weights, cluster)
    wrong = losses_if_wrong(scores, proba)
    return {metric: share * (wrong[metric] - weighted_mean(losses[metric], weights)) for metric in wrong}


def losses_if_wrong(scores: Any, proba: Any) -> dict[str, float]:
    """Return the means of `vector_losses` over some rows of `proba`, if their predictions were wrong."""
    some, wrong = wrong_rows(proba)
    losses = vector_losses(wrong, scores[some], proba[some])
    return {metric: float(values.mean()) for metric, values in losses.items()}


def assessment_strategy(rows: Any, calibrator: Any = None) -> Strategy:
    """Choose the bins in which base predictions are assessed, or a fitted calibrator's scores of them.

    "discrete" for calibrators that predict one value per bin along one curve for all classes; `PerClass` if
    each class has its own, with equal-width bins for classes that are not binned and for pooled classes
    (conf-ECE). "uniform" for all others, and for normalised and completed scores, as the paper does for N-HB.
    """
    strategy: Strategy = "uniform" if calibrator is None else _strategy_after(calibrator)
    if strategy != "uniform" or not _are_stated(rows):
        return strategy
    return "discrete" if getattr(calibrator, "notion", "confidence") in POOLED_NOTIONS else PerClass()


def _are_stated(rows: Any) -> bool:
    """Whether each row has one score, and the scores have few distinct values, each in many rows."""
    if not isinstance(rows, (ConfidencePrediction, TopLabelPrediction, BinaryPrediction)):
        return False
    scores = getattr(rows, rows.scored_by)
    most = min(MAX_STATED, math.isqrt(len(scores)))
    return all(len(pd.unique(some)) <= most for some in (scores[:1000], scores))


def _strategy_after(calibrator: Any) -> Strategy:
    if isinstance(calibrator, BinaryCalibrator):
        return "discrete" if calibrator.is_binned else "uniform"
    if not hasattr(calibrator, "notion"):
        return PerClass() if hasattr(calibrator, "scheme") else "uniform"
    if calibrator.normalize or calibrator.complete is not None:
        return "uniform"
    binned: list[bool] = [getattr(binary, "is_binned", False) for binary in calibrator.everyone_]
    if calibrator.has_groups:  # a class is binned if it is in every group
        shape = calibrator.shape_
        if not shape.by_class:
            return PerClass() if all(binned) else "uniform"
        binned = [all(binned[label :: shape.n_classes]) for label in range(shape.n_classes)]
    if calibrator.notion in POOLED_NOTIONS:
        return "discrete" if binned[0] else "uniform"
    others = tuple(label for label in range(calibrator.n_classes_) if not binned[label])
    return PerClass(others) if len(others) < calibrator.n_classes_ else "uniform"


def applied_frame(
    calibrator: Any, predictions: Any, class_names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return each row before and after calibration, as a table to save and `calib.read` again.

    Columns: `predicted` and `confidence` of the base model, `true` if labels are known, then `calibrated` for
    confidence and top-label calibrators; `label_k` and `calibrated_k` for ranks k = 1..K; or `announced` (the
    class predicted after calibration), `calibrated` and a column `p(class)` per class. For P(Y = 1): `score`,
    `true`, and `p(class)`. For a confidence: `confidence`, `correct`, `calibrated`. For multilabel scores:
    `p(class)` and `true(class)`. Weights and further columns follow, and `accept` if the calibrator has a
    rule.
    """
    columns: dict[str, Any]
    if isinstance(predictions, MultilabelPrediction):
        return _with_further(_applied_to_classes(calibrator, predictions), predictions)
    scores = calibrated_scores(calibrator, predictions)
    if isinstance(predictions, BinaryPrediction):
        columns = {"score": predictions.score}
        if predictions.labels is not None:
            columns["true"] = np.asarray(predictions.class_names, dtype=object)[predictions.labels]
        columns[f"p({predictions.positive})"] = scores.score
    elif isinstance(predictions, ConfidencePrediction):
        columns = {"confidence": predictions.confidence}
        if predictions.correct is not None:
            columns["correct"] = predictions.correct
        columns["calibrated"] = scores.confidence
    else:
        given = class_names or predictions.class_names or as_names(None, predictions.n_classes)
        names = np.asarray(given, dtype=object)
        columns = {"predicted": names[predictions.label], "confidence": predictions.confidence}
        if predictions.labels is not None:
            columns["true"] = names[predictions.labels]
        if hasattr(calibrator, "predict_top_k"):
            labels, ranked = calibrator.predict_top_k(getattr(predictions, "proba", predictions))
            for rank in range(labels.shape[1]):
                columns[f"label_{rank + 1}"] = names[labels[:, rank]]
                columns[f"calibrated_{rank + 1}"] = ranked[:, rank]
        elif hasattr(scores, "confidence"):
            columns["calibrated"] = scores.confidence
        else:
            label, confidence = top_label(scores)
            columns |= {"announced": names[label], "calibrated": confidence}
            columns |= {f"p({name})": column for name, column in zip(names, scores.T, strict=True)}
    table = _with_further(pd.DataFrame(columns), predictions)
    rule = getattr(calibrator, "rule_", None)
    return table if rule is None else table.assign(accept=rule.accept(scores))


def beside_input(columns: Mapping[str, np.ndarray], applied: pd.DataFrame, kept: np.ndarray) -> pd.DataFrame:
    """Return every column of a file, in its order, followed by what `applied_frame` adds to it."""
    table = pd.DataFrame(dict(columns))
    rows = np.flatnonzero(kept)
    for name in applied.columns:
        if name in table and not name.startswith("p("):
            continue  # read from this file
        if name == "true":
            continue
        placed = applied[name].set_axis(rows).reindex(np.arange(len(table)))
        table[name if name not in columns else f"{name}, calibrated"] = placed.to_numpy()
    return table


def _applied_to_classes(calibrator: Any, rows: MultilabelPrediction) -> pd.DataFrame:
    """Return the columns p(class), the calibrated scores, and true(class), whether the class is true."""
    names = rows.class_names or ()
    scores = calibrated_scores(calibrator, rows).scores
    tables = [pd.DataFrame(scores, columns=[f"p({name})" for name in names])]
    if rows.labels is not None:
        tables.append(pd.DataFrame(rows.labels.astype(int), columns=[f"true({name})" for name in names]))
    return pd.concat(tables, axis=1)


def _with_further(table: pd.DataFrame, rows: Any) -> pd.DataFrame:
    if rows.sample_weight is not None:
        table = table.assign(sample_weight=rows.sample_weight)
    if rows.metadata is None:
        return table
    further = rows.metadata.rename(columns={name: f"{name} (before)" for name in table.columns})
    return pd.concat([table, further], axis=1)
