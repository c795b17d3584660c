"""Rows that are about the same thing: models below each other, and both sides of an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.files.readers.columns import FIRST, MOST_MODELS, Columns
from calib.files.readers.conventions import is_called
from calib.files.readers.generators import LEAST_TEXTS, is_free_text
from calib.files.readers.roles import Choice, Roles
from calib.files.readers.tables import some_names


def with_model(columns: Columns, roles: Roles) -> Roles:
    """Add the column of models and the model that is read; ask for it if the file holds several."""
    given = columns.given
    column_given, _, name = (given.model or "").rpartition("=")
    named = column_given or roles.model
    repeated = (named,) if named else _repeats_rows(columns, roles)
    column = repeated[0] if len(repeated) == 1 else None
    if len(repeated) > 1 and not (given.cluster or given.group or given.model):
        only = f"{repeated[0]}={columns.coded(repeated[0])[1][0]}"
        raise InputError(
            f"the rows repeat with equal labels for each {repeated[0]!r} with {repeated[1]!r}: these may be "
            f"models; read some with only={only!r}, or pass cluster={roles.id!r} if they are not"
        )
    if given.model is None and column in (None, given.group):
        return replace(roles, model=None)
    words = columns.coded(column)[1] if column in columns.word else []
    if name in words and given.model is not None:
        return replace(roles, model=column, model_name=name)
    if given.model is not None:
        listed = some_names(words) or "not named"
        raise InputError(f"there is no model {given.model[:60]!r}; the models are {listed}")
    repeat = 2 <= len(words) <= MOST_MODELS and 2 * len(words) <= len(columns[str(column)])
    if not repeat or roles.doubt is not None:
        return roles
    doubt = f"column {column!r} divides the rows into {len(words)} models: {some_names(words)}"
    doubt += f" (if they are no models, name {column!r} as the group)"
    choices = tuple(Choice((f"model={word}",)) for word in words)
    return replace(roles, model=column, doubt=doubt, choices=choices)


def _repeats_rows(columns: Columns, roles: Roles) -> Sequence[str]:
    """Return the column of models, or two, if rows repeat for each of their values with equal labels."""
    truth = columns.truth_of(roles)
    if truth is None or not columns.table.tabular:
        return ()
    labels = columns.coded(truth)[0]
    ids = [name for name in columns.word if is_called(name, "id", "index") or name == roles.id]
    names = [name for name in roles.ignored if name in columns.word and not is_called(name, "aside", "index")]
    names = [name for name in names if len(set(columns[name][:FIRST])) <= MOST_MODELS]
    texts = [name for name in names if columns[name].dtype == object] if roles.id else []
    for each in (*((name,) for name in names), *combinations(texts[:10], 2)):
        codes = np.zeros(len(labels), dtype=np.int64)
        for name in each:
            codes = pd.factorize(codes * len(labels) + columns.coded(name)[0])[0]
        times = int(codes.max(initial=0)) + 1
        if times < 2 or (np.bincount(codes) * times != len(codes)).any():
            continue
        keys = [columns.coded(id)[0] for id in ids if id not in each] or [np.arange(len(codes))]
        for order in (np.lexsort((key, codes)) for key in keys):
            true = labels[order].reshape(times, -1)
            if true.shape[1] >= LEAST_TEXTS and true[0].min() < true[0].max() and (true == true[0]).all():
                return () if _are_rewritten(columns, roles, order.reshape(times, -1)) else each
    return ()


def _are_rewritten(columns: Columns, roles: Roles, rows: np.ndarray) -> bool:
    """Whether no text repeats where the labels do, as in translations of a row; models read equal rows."""
    texts = [name for name in roles.ignored if name in columns.word and is_free_text(columns[name])]
    texts += [roles.cluster] if roles.cluster in columns.word else []
    texts = [columns.coded(name)[0][rows] for name in texts if columns[name].dtype == object]
    return bool(texts) and not any(np.any(text[1:] == text[0]) for text in texts)


def with_pairs(columns: Columns, roles: Roles) -> Roles:
    """Add the column whose rows are both sides of an event: two scores that sum to 1, one of them true."""
    if roles.kind != "binary" or len(roles.label) != 1 or roles.cluster is not None or roles.drop_label:
        return roles
    (score,), label = roles.probabilities, roles.label[0]
    values, truth = np.asarray(columns[score], dtype=np.float64), columns.coded(label)[0]
    for name in [name for name in columns.word if name not in (score, label, *columns.fractions)]:
        codes, words = columns.coded(name)
        if len(codes) < LEAST_TEXTS or 2 * len(words) != len(codes) or (np.bincount(codes) != 2).any():
            continue
        order = np.argsort(codes, kind="stable").reshape(-1, 2)
        sums, differ = values[order].sum(axis=1), truth[order[:, 0]] != truth[order[:, 1]]
        if ((np.abs(sums - 1.0) < 0.02) & differ).mean() > 0.95:
            return replace(roles, cluster=name)
    return roles
