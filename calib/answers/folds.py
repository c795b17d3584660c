"""Predictions of cross-validation: errors of each fold and pooled, calibrators fitted on the other folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from calib.answers.calibrated import calibrated_scores, fit_on
from calib.answers.metric_tables import metrics
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.catalogue import default_calibrator
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import kind_of
from calib.data.notions import Strategy
from calib.data.predictions import (
    Announcement,
    Scores,
    TopLabelPrediction,
    Values,
    replace_scores,
    rows_that_count,
    top_of,
)
from calib.data.splits import FOLD, column_of
from calib.data.validation import check_choice, plain
from calib.evidence.rows import Rows
from calib.stats.floors import noise_floors
from calib.stats.measures import MEASURES

#: Name of the fold that pools all rows.
POOLED = "pooled"


@dataclass(frozen=True)
class FoldNumber:
    """A number of a fold, or of all folds pooled."""

    fold: str  #: Name of the fold, or `POOLED`
    rows: int  #: Its rows
    measure: str  #: Key of the number in `calib.stats.measures.MEASURES`
    title: str  #: Name of the number in tables
    value: float | None
    #: For errors: mean error of a perfect model, and chance that it shows as much; else NaN
    floor: float
    p_value: float


def fold_errors(
    rows: Announcement,
    *,
    fold: Values | None = None,
    n_bins: int = N_BINS,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> pd.DataFrame:
    """Compute the numbers of each fold of a cross-validation, and of all rows pooled.

    Parameters
    ----------
    rows : labelled predictions of any kind
        Each row predicted by the model that was fitted without its fold, as by
        `sklearn.model_selection.cross_val_predict`.
    fold : (n,) array_like, optional
        Fold of each row; by default the column of folds that the rows were read with.
    n_bins, n_resamples, random_state
        As for `calib.noise_floor`.

    Returns
    -------
    DataFrame
        One row for each fold and number, with the columns of `FoldNumber`. The last fold is "pooled".
    """
    rows, names, code = _divided(rows, fold)
    redraws = {"n_resamples": n_resamples, "random_state": random_state}
    return _table(Rows(rows), [rows.strategy] * (len(names) + 1), names, code, n_bins, redraws)


def fold_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `fold_errors` as texts, a column per fold; errors with their floor in brackets."""
    text = table["value"].map("{:.4f}".format)
    text += table["floor"].map(lambda floor: "" if np.isnan(floor) else f" ({floor:.4f})")
    wide = table.assign(text=text).pivot(index="title", columns="fold", values="text")
    names = dict.fromkeys(zip(table["fold"], table["rows"], strict=True))
    wide = wide.loc[list(dict.fromkeys(table["title"])), [name for name, _ in names]]
    wide.columns = pd.Index([f"{name} (n={rows:,})" for name, rows in names])
    return wide.rename_axis(None)


@dataclass(frozen=True, eq=False, repr=False)
class CrossCalibration(Result):
    """A calibrator for predictions of cross-validation, assessed on rows that it was not fitted on."""

    table: pd.DataFrame  #: Numbers of each fold and pooled, before and after; see `frame`
    scores: Announcement  #: Every row calibrated by the calibrator of the other folds, with its labels
    fold: np.ndarray  #: (n,) object: Fold of each row
    #: For new rows: the calibrators of all folds, whose scores are averaged, or a calibrator of all rows
    calibrators: tuple[Any, ...]

    def frame(self) -> pd.DataFrame:
        """Return the table of `fold_errors` with a first column, stage: "before" or "after"."""
        return self.table.copy()

    def predict(self, rows: Scores) -> Announcement:
        """Return calibrated scores of new rows, by the calibrator or as the mean over the folds'."""
        found = [calibrated_scores(calibrator, rows) for calibrator in self.calibrators]
        name = found[0].scored_by
        return replace_scores(found[0], np.mean([getattr(part, name) for part in found], axis=0))


def cross_calibrate(
    rows: Announcement,
    calibrator: Any = None,
    *,
    fold: Values | None = None,
    combine: str = "refit",
    n_bins: int = N_BINS,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> CrossCalibration:
    """Fit a calibrator on predictions of cross-validation without using a row twice.

    Parameters
    ----------
    rows, fold, n_bins, n_resamples, random_state
        As for `fold_errors`.
    calibrator : unfitted calibrator, optional
        Default: the kind's default calibrator.
    combine : {"refit", "average"}
        For new rows: a calibrator fitted again on all rows, or the mean of the folds' calibrators. Combine
        the classifier in the same way.

    Examples
    --------
    >>> from calib.datasets import three_classes
    >>> rows = three_classes(n_calibration=300, n_evaluation=600).evaluation
    >>> found = cross_calibrate(rows, fold=np.arange(600) % 3, n_resamples=20)
    >>> found.frame()["fold"].unique().tolist()
    ['0', '1', '2', 'pooled']
    """
    check_choice(combine, ("refit", "average"), "combine")
    rows, names, code = _divided(rows, fold)
    unfitted = default_calibrator(kind_of(rows)) if calibrator is None else calibrator
    fitted, parts = [], []
    for number in range(len(names)):
        fold_calibrator = fit_on(clone(unfitted), rows.take(np.flatnonzero(code != number)))
        fitted.append(fold_calibrator)
        parts.append(calibrated_scores(fold_calibrator, rows.take(np.flatnonzero(code == number))))
    scores = _joined(parts, code, rows)
    redraws = {"n_resamples": n_resamples, "random_state": random_state}
    strategies = [part.strategy for part in parts]
    evidence = Rows(rows)
    before = _table(evidence, [rows.strategy] * (len(names) + 1), names, code, n_bins, redraws)
    after = _table(evidence.of_scores(scores), [*strategies, strategies[0]], names, code, n_bins, redraws)
    stages = {"before": before, "after": after}
    table = pd.concat([part.assign(stage=stage) for stage, part in stages.items()], ignore_index=True)
    table = table[["stage", *before.columns]]
    final = (fit_on(clone(unfitted), rows),) if combine == "refit" else tuple(fitted)
    return CrossCalibration(table, scores, np.array(names, dtype=object)[code], final)


def _divided(rows: Announcement, fold: Values | None) -> tuple[Announcement, list[str], np.ndarray]:
    values = column_of(rows, FOLD) if fold is None else fold
    if values is None:
        raise InputError("the rows name no folds; pass fold=, or read them with a column 'fold'")
    values = np.asarray(plain(values))
    if values.shape != (rows.n_samples,):
        raise InputError(f"fold must have shape ({rows.n_samples:,},); got {values.shape}")
    counted = rows_that_count(rows)
    if counted.n_samples != rows.n_samples:
        values = values[np.asarray(rows.sample_weight) > 0.0]
    code, found = pd.factorize(values, sort=True)
    if (code < 0).any():
        raise InputError(f"{int((code < 0).sum()):,} rows have no fold; complete them, or remove the rows")
    if not 2 <= len(found) <= counted.n_samples // 2:
        raise InputError(
            f"2 folds or more are needed, with 2 rows or more on average; got {len(found):,} folds"
        )
    return counted, [str(name) for name in found], code


def _joined(parts: list[Announcement], code: np.ndarray, rows: Announcement) -> Announcement:
    order = np.argsort(np.argsort(code, kind="stable"), kind="stable")
    if parts[0].kind in ("top-k", "multilabel"):
        raise InputError("folds need calibrated vectors, a class with its confidence, or one score for a row")
    joined = np.concatenate([getattr(part, part.scored_by) for part in parts])[order]
    tops = [part for part in parts if isinstance(part, TopLabelPrediction)]
    if tops:
        return top_of(rows, np.concatenate([top.label for top in tops])[order], joined)
    return replace_scores(rows, joined)


def _table(
    evidence: Rows,
    strategies: list[Strategy],
    names: list[str],
    code: np.ndarray,
    n_bins: int,
    redraws: dict[str, Any],
) -> pd.DataFrame:
    every = np.arange(evidence.n_samples)
    parts = {name: np.flatnonzero(code == number) for number, name in enumerate(names)} | {POOLED: every}
    found = []
    for (fold, chosen), strategy in zip(parts.items(), strategies, strict=True):
        part = evidence.take(chosen)
        bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
        for key, value in metrics(part, **bins).values.items():
            measure = MEASURES[key]
            floor_of = (np.nan, np.nan)
            if measure.is_error and redraws["n_resamples"]:
                notion = measure.notion or part.notion
                floor = noise_floors(part, {key: measure.of_cells}, notion=notion, **bins, **redraws)[key]
                floor_of = (floor.mean, floor.p_value)
            found.append(FoldNumber(fold, len(chosen), key, measure.title, value, *floor_of))
    return pd.DataFrame(found)
