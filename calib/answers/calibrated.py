"""Scores of a fitted calibrator, the binning that assesses them, and a table to save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads, row_blocks
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.calibrator import check_calibrates
from calib.calibrators.multiclass import fit_rows
from calib.data.kinds import kind_of
from calib.data.matrices import completed, normalised
from calib.data.predictions import (
    Announcement,
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    Scores,
    TopKPrediction,
    TopLabelPrediction,
    Values,
    announced,
    score_matrix,
)
from calib.data.validation import as_names
from calib.evidence.reductions import top_label
from calib.evidence.row_scores import error_share, row_values, vector_values, weighted_mean, wrong_rows
from calib.evidence.rows import Rows


def calibrated_scores(
    calibrator: BaseEstimator, predictions: Scores, *, groups: Values | None = None
) -> Announcement:
    """Return predictions with the scores of a fitted calibrator, and all that came with the rows.

    Parameters
    ----------
    calibrator : fitted calibrator
        Of calib, or a `ForeignCalibrator`.
    predictions : predictions of any kind, or (n, L) or (n,) array_like
        Base predictions; arrays count as unlabelled predictions.
    groups : (n,) array_like, optional
        Group of each row, if the calibrator conditions on it; by default the column that holds the groups.

    Returns
    -------
    predictions
        Of the same kind if the calibrator gives a score for each class; else the predicted class and its
        confidence (rank 1 for the top-K notions). Labels, weights, clusters, columns and names stay, and
        `strategy` is the binning that assesses the new scores.
    """
    if not hasattr(calibrator, "predict"):
        raise InputError(f"the first argument must be a fitted calibrator; got a {type(calibrator).__name__}")
    rows = predictions if isinstance(predictions, Announcement) else announced(predictions, what="proba")
    return calibrator.predict(rows) if groups is None else calibrator.predict(rows, groups=groups)


def fit_on(calibrator: BaseEstimator, rows: Announcement, *, groups: Values | None = None) -> Any:
    """Fit a calibrator on labelled predictions of any kind and return it; raises as `check_calibrates`."""
    if isinstance(calibrator, BinaryCalibrator):
        return calibrator.fit(rows)
    check_calibrates(calibrator, kind_of(rows))
    if groups is not None:
        return calibrator.fit(rows, groups=groups)
    return fit_rows(calibrator, rows, rows.truth, rows.sample_weight)


def vector_losses(rows: Announcement, before: Announcement) -> dict[str, np.ndarray]:
    """Return the Brier score and the log loss of the whole vector of each labelled row.

    `before` are the predictions before calibration, whose other classes complete a predicted class.
    """
    if not isinstance(before, Predictions):
        return {metric: row_values(rows, metric) for metric in ("brier", "log_loss")}
    n_samples, n_classes = before.proba.shape
    labels = rows.truth
    losses = {"brier": np.empty(n_samples), "log_loss": np.empty(n_samples)}

    def fill(part: slice) -> None:
        if isinstance(rows, TopLabelPrediction):
            whole = completed(before.proba[part], rows.label[part], rows.confidence[part])
        else:
            whole = normalised(score_matrix(rows)[part].astype(np.float64))
        for metric, values in vector_values(labels[part], whole, losses).items():
            losses[metric][part] = values

    map_threads(fill, row_blocks(n_samples, n_classes))
    return losses


def unseen_losses(rows: Rows, before: Rows, losses: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return how much one more wrong row changes the mean of each of `vector_losses`."""
    if "every label" in before.predictions.has:
        return {"brier": 0.0, "log_loss": 0.0}
    share = error_share(before.predictions, before.weights, before.clusters)
    wrong = losses_if_wrong(rows.predictions, before.predictions)
    return {metric: share * (wrong[metric] - weighted_mean(losses[metric], rows.weights)) for metric in wrong}


def losses_if_wrong(rows: Announcement, before: Announcement) -> dict[str, float]:
    """Return the means of `vector_losses` over some rows, if their predictions before were wrong."""
    some, wrong = wrong_rows(before)
    losses = vector_losses(rows.take(some).with_labels(wrong), before.take(some))
    return {metric: float(values.mean()) for metric, values in losses.items()}


def applied_frame(
    calibrator: BaseEstimator, predictions: Announcement, class_names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return each row before and after calibration, as a table to save and `calib.read` again.

    Columns: `predicted` and `confidence` of the base model, `true` if labels are known, then `calibrated` for
    confidence and top-label calibrators; `label_k` and `calibrated_k` for ranks k = 1..K; or `announced` (the
    class predicted after calibration), `calibrated` and a column `p(class)` per class. For P(Y = 1): `score`,
    `true`, and `p(class)`. For a confidence: `confidence`, `correct`, `calibrated`. For multilabel scores:
    `p(class)` and `true(class)`. Weights and further columns follow, and `accept` if the calibrator has a
    rule, or `level` and `answer` with a rule of `calib.coarsen`.
    """
    scores: Any = calibrated_scores(calibrator, predictions)
    columns: dict[str, Any]
    if isinstance(predictions, MultilabelPrediction):
        columns = _columns_of_labels(predictions, scores)
    elif isinstance(predictions, BinaryPrediction):
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
        columns = _columns_of_classes(calibrator, predictions, scores, class_names)
    table = pd.DataFrame(columns)
    if predictions.sample_weight is not None:
        table = table.assign(sample_weight=predictions.sample_weight)
    if predictions.metadata is not None:
        renamed = {name: f"{name} (before)" for name in table.columns}
        table = pd.concat([table, predictions.metadata.rename(columns=renamed)], axis=1)
    rule = getattr(calibrator, "rule_", None)
    return table if rule is None else table.assign(**rule.columns(scores))


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


def _columns_of_labels(rows: MultilabelPrediction, scores: Any) -> dict[str, np.ndarray]:
    """Return the columns p(class), the calibrated scores, and true(class), whether the class is true."""
    names = rows.class_names or ()
    columns = {f"p({name})": each for name, each in zip(names, score_matrix(scores).T, strict=True)}
    if rows.labels is not None:
        columns |= {
            f"true({name})": each for name, each in zip(names, rows.labels.astype(int).T, strict=True)
        }
    return columns


def _columns_of_classes(
    calibrator: Any, rows: Any, scores: Any, class_names: Sequence[str] | None
) -> dict[str, np.ndarray]:
    names = np.asarray(class_names or rows.class_names or as_names(None, rows.n_classes), dtype=object)
    columns = {"predicted": names[rows.label], "confidence": rows.confidence}
    if rows.labels is not None:
        columns["true"] = names[rows.labels]
    if hasattr(calibrator, "predict_top_k"):
        listed = calibrator.predict_top_k(rows)
        for rank in range(listed.n_ranks):
            columns[f"label_{rank + 1}"] = names[listed.ranked[:, rank]]
            columns[f"calibrated_{rank + 1}"] = listed.scores[:, rank]
        return columns
    if isinstance(scores, (TopLabelPrediction, TopKPrediction)):
        return columns | {"calibrated": scores.confidence}
    label, confidence = top_label(scores)
    each = {f"p({name})": column for name, column in zip(names, score_matrix(scores).T, strict=True)}
    return columns | {"announced": names[label], "calibrated": confidence} | each
