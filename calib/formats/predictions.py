"""Files to `Predictions` in one call, and frames to CSV that a spreadsheet cannot run."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.exceptions import InputError
from calib.formats.drafts import Draft, RemedyError, draft_of, from_one_hot, names_that_fit
from calib.formats.reading import read_table
from calib.formats.roles import (
    ID_NAMES,
    INDEX_NAMES,
    LABEL_NAMES,
    Roles,
    guess_roles,
    part_of,
    part_tables,
    plain,
)
from calib.formats.source import Limits, Progress
from calib.formats.tables import Table, table_from_frame
from calib.predictions import Predictions

#: A cell that starts with one of these is run as a formula by spreadsheets (OWASP, "CSV injection").
FORMULA = re.compile(r"\s*[=+\-@\t\r\n]")
PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def read_predictions(
    source: Any,
    *,
    labels: Any = None,
    format: str | None = None,
    split: str | None = None,
    scores: str = "auto",
    roles: Roles | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Predictions:
    r"""Read predicted probabilities, and labels where they are, from a file.

    Parameters
    ----------
    source : str, path, bytes or binary file object
        CSV or TSV, Parquet, Feather, NPY, NPZ or JSON, see `read_table`.
    labels : file, array_like, optional
        True labels when they are not in `source`: another file, or one label per row.
    format : str, optional
        Format of `source`; recognised from the content when not given.
    split : str, optional
        Rows to take when the file holds several parts: "calibration", "evaluation", or a value of its
        split column. Without it a file with both parts gives the evaluation part.
    scores : {"auto", "probabilities", "logits", "log_probabilities"}
        What the scores are; "auto" goes by names such as `test_logits`.
    roles : Roles, optional
        Roles of the columns, instead of the guess of `guess_roles`.
    limits : Limits, optional
        Bounds enforced while reading.
    progress : callable, optional
        Called with the share done and a word.

    Raises
    ------
    InputError
        Whatever is wrong with the file, in one sentence.

    Examples
    --------
    >>> read_predictions(b"cat,dog,label\n0.9,0.1,cat\n0.2,0.8,cat\n")
    <Predictions: 2 rows x 2 classes, with labels>
    """
    draft = read_draft(
        source, labels=labels, format=format, split=split, roles=roles, limits=limits, progress=progress
    )
    return draft.predictions(scores)


def read_pair(
    source: Any,
    *,
    format: str | None = None,
    scores: str = "auto",
    roles: Roles | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> tuple[Predictions | None, Predictions]:
    """Read (calibration, evaluation) predictions from one file that may hold both.

    An NPZ divides by array names (`calibration_logits`, `val_probs`, `test_labels`), a table by its split
    column (values such as val, calibration, test). Rows named train belong to neither. A file that names
    no calibration rows gives (None, everything).

    Raises
    ------
    InputError
        As for `read_predictions`.
    """
    table = read_table(source, format=format, limits=limits, progress=progress)
    drafts = divide(table, roles)
    calibration = drafts.get("calibration")
    if "evaluation" not in drafts:
        raise RemedyError(
            "the file names calibration rows but no evaluation rows (test or evaluation)",
            'Read the calibration rows with read_predictions(..., split="calibration")',
            "add --part calibration to use the calibration rows",
        )
    evaluation = drafts["evaluation"].predictions(scores)
    if calibration is None:
        return None, evaluation
    if calibration.n_classes != evaluation.n_classes:
        raise InputError(
            f"calibration has {calibration.n_classes} classes and evaluation {evaluation.n_classes}; "
            "both need the same columns"
        )
    return calibration.predictions(scores), evaluation


def read_draft(
    source: Any,
    *,
    labels: Any = None,
    format: str | None = None,
    split: str | None = None,
    roles: Roles | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Draft:
    """Read a file until its roles are known, checking nothing; arguments of `read_predictions`."""
    table = read_table(source, format=format, limits=limits, progress=progress)
    drafts = divide(table, roles, split)
    name = "evaluation" if split is None else split
    if name not in drafts:
        listed = ", ".join(repr(part) for part in drafts)
        raise RemedyError(
            f"the file has no part {name!r}; it has {listed}",
            "Pass one of them as split",
            "name one of them with --part",
        )
    draft = drafts[name]
    return draft if labels is None else with_labels(draft, labels, limits=limits)


def divide(table: Table, roles: Roles | None = None, split: str | None = None) -> Mapping[str, Draft]:
    """Return the drafts a table holds: "evaluation", "calibration" where named, or the part `split`.

    Rows of a split column whose values say neither are all "evaluation".
    """
    parts = {} if roles else part_tables(table)
    if parts:
        return {part: draft_of(piece, guess_roles(piece)) for part, piece in parts.items()}
    roles = roles or guess_roles(table)
    draft = draft_of(table, roles)
    if roles.split is None:
        return {"evaluation": draft}
    words = pd.Series(table.columns[roles.split]).astype(str).str.strip()
    if split is not None and (words == split).any():
        return {split: draft.take((words == split).to_numpy())}
    part = words.map({word: part_of(word) for word in words.unique()})
    made = {
        name: draft.take((part == name).to_numpy())
        for name in ("calibration", "evaluation")
        if (part == name).any()
    }
    return made or {"evaluation": draft}


def with_labels(draft: Draft, labels: Any, *, limits: Limits | None = None) -> Draft:
    """Return the draft with labels from a file or an array; files with ids on both sides are matched by id.

    Raises
    ------
    InputError
        If there is not exactly one label for every row.
    """
    ids = None
    if (
        isinstance(labels, (str, bytes, bytearray))
        or hasattr(labels, "read")
        or hasattr(labels, "__fspath__")
    ):
        values, ids = label_column(read_table(labels, limits=limits))
    elif isinstance(labels, pd.DataFrame):
        values, ids = label_column(table_from_frame(labels))
    else:
        values = np.asarray(labels)
        if values.dtype.kind not in "fiub":
            values = np.array([str(value).strip() for value in values.ravel()], dtype=object)
        elif values.ndim == 2:
            values = from_one_hot(values) if values.shape[1] > 1 else values[:, 0]
        elif values.ndim != 1:
            raise InputError(f"labels must be one per row; got shape {values.shape}")
    if len(values) != draft.n_samples:
        raise InputError(
            f"there are {len(values):,} labels for {draft.n_samples:,} rows of scores; give one label per row"
        )
    if ids is not None and draft.ids is not None:
        place = (
            pd.Index(ids.astype(str)).get_indexer(draft.ids.astype(str)) if pd.Index(ids).is_unique else None
        )
        if place is not None and (place >= 0).all():
            values = values[place]
    if draft.roles is not None:
        draft = replace(draft, class_names=names_that_fit(values, draft.roles))
    return replace(draft, labels=values)


def label_column(table: Table) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (labels, ids or None) of a table that holds only labels.

    Raises
    ------
    InputError
        If no column is the label column.
    """
    for values in table.matrices.values():
        return from_one_hot(values), None
    ids = next((values for name, values in table.columns.items() if plain(name) in ID_NAMES), None)
    named = [name for name in table.columns if plain(name) in LABEL_NAMES]
    rest = [name for name in table.columns if plain(name) not in ID_NAMES | INDEX_NAMES]
    chosen = named[:1] or rest
    if len(chosen) > 1 and all(table.columns[name].dtype.kind in "fiu" for name in chosen):
        return from_one_hot(table.matrix(chosen)), ids
    if len(chosen) != 1:
        raise InputError(
            "the label file needs one column of labels, called 'label'; its columns are "
            + ", ".join(repr(name[:40]) for name in list(table.columns)[:6])
        )
    return table.columns[chosen[0]], ids


def write_csv(frame: pd.DataFrame) -> bytes:
    r"""Return a frame as CSV (UTF-8, no index) whose text no spreadsheet runs as a formula.

    Text cells and column names that begin with ``=``, ``+``, ``-``, ``@``, tab or a line break get an
    apostrophe in front, unless they are plain numbers; line breaks inside text become spaces; numbers
    bit for bit.

    Examples
    --------
    >>> write_csv(pd.DataFrame({"class": ["=cmd()", "cat"], "p": [-0.1, 0.2]}))
    b"class,p\n'=cmd(),-0.1\ncat,0.2\n"
    """
    safe = frame.copy()
    safe.columns = [neutral(str(name)) for name in frame.columns]
    for j in range(safe.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype.kind not in "iufbmM":
            known = {value: neutral(value) for value in column.unique() if isinstance(value, str)}
            safe.isetitem(j, [known.get(v, v) if isinstance(v, str) else v for v in column.tolist()])
    buffer = io.BytesIO()
    safe.to_csv(buffer, index=False, lineterminator="\n")
    return buffer.getvalue()


def neutral(text: str) -> str:
    """Return text on one line, with an apostrophe in front where a spreadsheet would see a formula."""
    marked = "'" + text if FORMULA.match(text) and not PLAIN_NUMBER.fullmatch(text.strip()) else text
    return " ".join(marked.splitlines()) if "\n" in marked or "\r" in marked else marked


__all__: Sequence[str] = (
    "Draft",
    "Limits",
    "Roles",
    "Table",
    "divide",
    "draft_of",
    "guess_roles",
    "label_column",
    "neutral",
    "read_draft",
    "read_pair",
    "read_predictions",
    "read_table",
    "table_from_frame",
    "with_labels",
    "write_csv",
)
