"""Files to checked predictions; the errors are the findings of an examination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from calib.base.exceptions import InputError
from calib.data.predictions import BasePrediction, Predictions
from calib.files.findings import examine
from calib.files.readers.raw_predictions import RawPredictions, RemedyError, divide, read_raw
from calib.files.readers.reading import read_table, table_from
from calib.files.readers.roles import ChoiceError, Given, Roles, given_columns, models_in
from calib.files.readers.source import Limits, Progress

__all__ = ["read", "read_models", "read_pair", "read_predictions"]


def usable(raw: RawPredictions, scores: str = "auto") -> BasePrediction:
    """Return checked predictions of their kind; if unusable, the error is the finding of an examination."""
    try:
        return raw.rows(scores)
    except (ChoiceError, RemedyError):
        raise
    except InputError:
        examine(raw).check_usable()
        raise


def read_predictions(source: Any, *, scores: str = "auto", **options: Any) -> Predictions:
    r"""Read predicted probabilities, and true labels if there are any, from a file.

    Parameters
    ----------
    source, scores, **options
        As for `read`: labels, format, split, roles, limits and progress.

    Examples
    --------
    >>> read_predictions(b"cat,dog,label\n0.9,0.1,cat\n0.2,0.8,cat\n")
    <Predictions: 2 rows x 2 classes, with labels>
    """
    raw = read_raw(source, **options)
    rows = usable(raw, scores) if "vector" in raw.has else raw.predictions(scores)
    assert isinstance(rows, Predictions)
    return rows


def read(
    source: Any,
    *,
    labels: Any = None,
    format: str | None = None,
    split: str | None = None,
    scores: str = "auto",
    roles: Roles | None = None,
    abstentions: Sequence[str] | None = None,
    label: str | None = None,
    votes: str | Sequence[str] = (),
    score: str | Sequence[str] = (),
    predicted: str | None = None,
    correct: str | None = None,
    weight: str | None = None,
    id: str | None = None,
    cluster: str | None = None,
    group: str | None = None,
    fold: str | None = None,
    model: str | None = None,
    positive: str | None = None,
    words: Mapping[str, float] | None = None,
    drop_label: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> BasePrediction:
    r"""Read predictions of any kind: vectors, a class with its confidence, a confidence, or P(Y = 1).

    Parameters
    ----------
    source : str, path, bytes, binary file object, frame or mapping of arrays
        CSV or TSV, Parquet, Feather, NPY, NPZ or JSON, see `read_table`; a frame of pandas or polars, a
        LazyFrame, a table of Arrow, or a relation of DuckDB.
    labels : file, Table or array_like, optional
        True labels if they are not in `source`: another file, or one label per row.
    format : str, optional
        Format of `source`; by default recognised from the content.
    split : str, optional
        Rows to take: "calibration", "evaluation" or a value of the split column. By default the evaluation
        rows, or all rows if the file names none.
    scores : {"auto", "probabilities", "logits", "log_probabilities"}
        What the scores are; "auto" decides by names such as `test_logits`. Logits of a binary score are
        log-odds.
    roles : Roles, optional
        Roles of the columns, instead of the guess of `guess_roles`.
    limits, progress
        As for `read_table`.
    abstentions : sequence of str, optional
        Predictions that are no answer. By default an empty cell, "IDK" and the like, if they are never the
        true class.
    label, predicted, correct, weight, id, cluster, group, fold : str, optional
        Columns, if calib should not look for them. A cluster may be a block of time: "day" of the column of
        dates, or "date=day"; see `calib.data.times.BLOCKS`.
    score : str or sequence of str, optional
        The column of scores, or the columns of all classes in their order; * stands for any text.
    votes : str or sequence of str, optional
        In place of `label`: columns of annotators, or of counts or shares of votes for each class, such as
        votes_cat and votes_dog. Rows are then read as by `with_votes`.
    model : str, optional
        The model to read from a file that holds several.
    positive : str, optional
        The class that a binary score is the probability of. By default the class in the name of its column,
        such as p(yes); else the class that a column of decisions gives to high scores; else true, yes and the
        like, or the last label. For multilabel scores, the only class to read.
    words : mapping of str to float, optional
        Probabilities that the words of a confidence stand for, such as {"high": 0.9, "low": 0.3}.
    drop_label : str or sequence of str, optional
        Labels whose rows are left out, such as "CANCEL" of a question that was never resolved.
    only : str or sequence of str, optional
        "COLUMN=VALUE": the rows to read. Values of one column are alternatives; columns must all agree.

    Returns
    -------
    predictions of one of the kinds, such as Predictions, TopLabelPrediction or BinaryPrediction
        With `kind`, `labels`, `class_names`, `metadata` (a DataFrame of every further column, or None),
        `sample_weight` (or None) and `coverage`, the share of rows that are no abstentions.

    Raises
    ------
    InputError
        If the file cannot be read or used, or its columns can be read in several ways; the message says what
        to pass.

    Examples
    --------
    >>> rows = read(b"id,predicted,confidence,label\n7,cat,0.9,cat\n8,IDK,,dog\n9,emu,0.4,dog\n")
    >>> rows.kind, rows.n_samples, rows.class_names, round(rows.coverage, 3)
    ('top-label', 2, ('cat', 'dog', 'emu'), 0.667)
    """
    arguments = locals()
    given = given_columns({each.name: arguments[each.name] for each in fields(Given)})
    options: dict[str, Any] = {"format": format, "limits": limits, "progress": progress}
    raw = read_raw(source, labels=labels, split=split, roles=roles, given=given, **options)
    return usable(raw, scores)


def read_models(source: Any, *, limits: Limits | None = None, **options: Any) -> dict[str, BasePrediction]:
    r"""Read every model of a file that holds several, side by side or below each other, or of several files.

    Parameters
    ----------
    source : file, or list of paths
        As for `read`; in a list, each file holds one model, named like the file.
    limits, **options
        As for `read`.

    Returns
    -------
    dict of str to predictions
        By the value of the column of models, by the column of scores, or by the file; "model" for a single
        model.

    Examples
    --------
    >>> both = read_models(b"y_true,y_prob,y_prob_calibrated\n1,0.9,0.8\n0,0.3,0.2\n1,0.6,0.7\n0,0.5,0.4\n")
    >>> {name: round(float(rows.score.mean()), 3) for name, rows in both.items()}
    {'y_prob': 0.575, 'y_prob_calibrated': 0.525}
    """
    if isinstance(source, (list, tuple)):
        return {Path(file).stem: read(file, limits=limits, **options) for file in source}
    table = table_from(source, limits) or read_table(source, limits=limits)
    try:
        return {"model": read(table, limits=limits, **options)}
    except ChoiceError as error:
        models = models_in(error.choices)
        if not models:
            raise
    return {name: read(table, limits=limits, **{**options, option: name}) for name, option in models.items()}


def read_pair(
    source: Any,
    *,
    format: str | None = None,
    scores: str = "auto",
    roles: Roles | None = None,
    abstentions: Sequence[str] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    **columns: Any,
) -> tuple[BasePrediction | None, BasePrediction]:
    """Read (calibration, evaluation) predictions of any kind from one file that may hold both.

    An NPZ file is divided by its array names (`calibration_logits`, `val_probs`, `test_labels`), a table by
    its split column (values such as val, calibration, test), without rows named train. A file that names no
    calibration rows gives (None, all rows). Arguments as for `read`.
    """
    given = given_columns({**columns, "scores": scores, "abstentions": abstentions})
    table = read_table(source, format=format, limits=limits, progress=progress)
    return usable_pair(divide(table, roles, given=given), scores)


def usable_pair(
    raw: Mapping[str, RawPredictions], scores: str = "auto"
) -> tuple[BasePrediction | None, BasePrediction]:
    """Return the checked (calibration, evaluation) predictions of the parts of a file."""
    if "evaluation" not in raw:
        raise RemedyError(
            "the file names calibration rows but no evaluation rows (test or evaluation)",
            'Read the calibration rows with calib.read(..., split="calibration")',
            "split",
            "calibration",
        )
    read = {name: usable(part, scores) for name, part in raw.items()}
    if len({part.n_classes for part in raw.values() if "scores" in part.has}) > 1:
        sizes = " and ".join(f"{name} has {part.n_classes} classes" for name, part in raw.items())
        raise InputError(f"{sizes}; both need the same columns")
    return read.get("calibration"), read["evaluation"]
