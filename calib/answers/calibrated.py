"""Scores of a fitted calibrator, whether rows were used to fit it, and a table to save."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads, row_blocks
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.calibrator import check_calibrates
from calib.calibrators.multiclass import fit_rows
from calib.data.equal_rows import Overlap
from calib.data.kinds import kind_of
from calib.data.matrices import completed, normalised
from calib.data.predictions import (
    BasePrediction,
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    Scores,
    TopKPrediction,
    TopLabelPrediction,
    Values,
    as_predictions,
    score_matrix,
)
from calib.data.validation import as_names
from calib.evidence.binning import BinaryProblems
from calib.evidence.reductions import problems_of, top_label
from calib.evidence.row_scores import error_share, row_values, vector_values, weighted_mean, wrong_rows
from calib.evidence.rows import Rows

#: Chance that calib wrongly says that scores were fitted to these rows.
CHANCE = 1e-3
#: Exponents that are tried for Chernoff's bound.
EXPONENTS = np.linspace(0.0, 25.0, 51)
#: Largest difference of an outcome sum from score times rows, relative to the rows, that counts as equal.
EXACT = 1e-9


def calibrated_scores(
    calibrator: BaseEstimator | None, predictions: Scores, *, groups: Values | None = None
) -> BasePrediction:
    """Return predictions with the scores of a fitted calibrator, and all that came with the rows.

    Parameters
    ----------
    calibrator : fitted calibrator or None
        Of calib, or a `ForeignCalibrator`. None, as in a `Recommendation` of none, leaves the scores as they
        are.
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
    if calibrator is not None and not hasattr(calibrator, "predict"):
        raise InputError(f"the first argument must be a fitted calibrator; got a {type(calibrator).__name__}")
    rows = (
        predictions if isinstance(predictions, BasePrediction) else as_predictions(predictions, what="proba")
    )
    if calibrator is None:
        return rows
    return calibrator.predict(rows) if groups is None else calibrator.predict(rows, groups=groups)


def fit_on(calibrator: BaseEstimator, rows: BasePrediction, *, groups: Values | None = None) -> Any:
    """Fit a calibrator on labelled predictions of any kind and return it; raises as `check_calibrates`."""
    if isinstance(calibrator, BinaryCalibrator):
        return calibrator.fit(rows)
    check_calibrates(calibrator, kind_of(rows))
    if groups is not None:
        return calibrator.fit(rows, groups=groups)
    return fit_rows(calibrator, rows, rows.truth, rows.sample_weight)


def vector_losses(rows: BasePrediction, before: BasePrediction) -> dict[str, np.ndarray]:
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


def losses_if_wrong(rows: BasePrediction, before: BasePrediction) -> dict[str, float]:
    """Return the mean `vector_losses` of some rows, with outcomes drawn so that `before` is wrong."""
    some, wrong = wrong_rows(before)
    losses = vector_losses(rows.take(some).with_labels(wrong), before.take(some))
    return {metric: float(values.mean()) for metric, values in losses.items()}


def used_words(overlap: Overlap | None, problems: BinaryProblems | None) -> str | None:
    """Say why these rows were used to fit the scores, or return None if nothing shows that."""
    if overlap is not None:
        return overlap.words
    if problems is not None and equals_its_outcomes(problems):
        return (
            "the scores equal the shares of right rows among these rows, so these rows were used to fit: the "
            "error is 0 in every bin of the fit"
        )
    return None


def used_rows(rows: Rows, overlap: Overlap | None) -> str | None:
    """Return `used_words` of rows; weighted or multilabel scores alone show nothing."""
    silent = rows.is_weighted or "every label" in rows.predictions.has
    return used_words(overlap, None if silent else problems_of(rows.predictions, "confidence"))


def equals_its_outcomes(problems: BinaryProblems) -> bool:
    """Whether scores equal the mean outcomes of their rows, as after a binned or isotonic fit to them.

    Rows of equal scores strictly between 0 and 1 are a cell. By chance n rows with score s have exactly n s
    right rows with a binomial probability, and (n - 1) s of all but one row, which histogram binning leaves
    out at an edge, with another. Scores were fitted to these rows if at least half of the rows in cells
    agree, and chance makes this number agree with probability below `CHANCE` (Chernoff's bound for a sum of
    independent events).
    """
    cells = [_cells(*problems.problem(index)) for index in range(problems.n_problems)]
    score, rows, right = (np.concatenate(column) for column in zip(*cells, strict=True))
    agreeing, chance = np.zeros(len(score), dtype=bool), np.zeros(len(score))
    for left_out in (0, 1):
        used = rows - left_out
        whole = np.rint(used * score)
        possible = np.abs(used * score - whole) <= EXACT * rows
        for count in (whole, whole + 1.0)[: 1 + left_out]:
            agreeing |= possible & (right == count)
            ways = gammaln(rows + 1.0) - gammaln(count + 1.0) - gammaln(rows - count + 1.0)
            log = ways + count * np.log(score) + (rows - count) * np.log1p(-score)
            chance += np.where(possible, np.exp(log), 0.0)
    if not agreeing.any() or 2 * rows[agreeing].sum() < rows.sum():
        return False
    chance = np.minimum(chance[chance > 0.0], 1.0)
    bounds = [np.log1p(chance * np.expm1(power)).sum() - power * agreeing.sum() for power in EXPONENTS]
    return bool(min(bounds) < np.log(CHANCE))


def _cells(scores: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts = np.flatnonzero(np.diff(scores, prepend=-1.0))
    score, rows = scores[starts].astype(np.float64), np.diff(starts, append=len(scores))
    right = np.add.reduceat(outcomes, starts, dtype=np.int64) if len(starts) else rows
    kept = (rows > 1) & (score > 0.0) & (score < 1.0)
    return score[kept], rows[kept], right[kept]


def applied_frame(
    calibrator: BaseEstimator, predictions: BasePrediction, class_names: Sequence[str] | None = None
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
    table = pd.DataFrame(_columns(calibrator, predictions, scores, class_names))
    if predictions.sample_weight is not None:
        table = table.assign(sample_weight=predictions.sample_weight)
    if predictions.metadata is not None:
        renamed = {name: f"{name} (before)" for name in table.columns}
        table = pd.concat([table, predictions.metadata.rename(columns=renamed)], axis=1)
    rule = getattr(calibrator, "rule_", None)
    return table if rule is None else table.assign(**rule.columns(scores))


def with_input(columns: Mapping[str, np.ndarray], applied: pd.DataFrame, kept: np.ndarray) -> pd.DataFrame:
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


def _columns(
    calibrator: Any, rows: Any, scores: Any, class_names: Sequence[str] | None
) -> dict[str, np.ndarray]:
    if isinstance(rows, ConfidencePrediction):
        right = {} if rows.correct is None else {"correct": rows.correct}
        return {"confidence": rows.confidence, **right, "calibrated": scores.confidence}
    if isinstance(rows, MultilabelPrediction):
        true = {} if rows.labels is None else _by_class("true", rows.class_names, rows.labels.astype(int))
        return _by_class("p", rows.class_names, score_matrix(scores)) | true
    of_event = isinstance(rows, BinaryPrediction)
    given = None if of_event else class_names
    names = np.asarray(given or rows.class_names or as_names(None, rows.n_classes), dtype=object)
    true = {} if rows.labels is None else {"true": names[rows.labels]}
    if of_event:
        return {"score": rows.score, **true, f"p({rows.positive})": scores.score}
    columns = {"predicted": names[rows.label], "confidence": rows.confidence, **true}
    if hasattr(calibrator, "predict_top_k"):
        listed = calibrator.predict_top_k(rows)
        for rank in range(listed.n_ranks):
            columns[f"label_{rank + 1}"] = names[listed.ranked[:, rank]]
            columns[f"calibrated_{rank + 1}"] = listed.scores[:, rank]
        return columns
    if isinstance(scores, (TopLabelPrediction, TopKPrediction)):
        return columns | {"calibrated": scores.confidence}
    label, confidence = top_label(scores)
    columns |= {"announced": names[label], "calibrated": confidence}
    return columns | _by_class("p", names, score_matrix(scores))


def _by_class(what: str, names: Iterable[Any], matrix: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{what}({name})": column for name, column in zip(names, matrix.T, strict=True)}
