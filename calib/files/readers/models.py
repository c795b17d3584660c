"""Rows that are about the same thing: models below each other, and both sides of an event."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.files.readers.columns import FIRST, MOST_MODELS, Columns
from calib.files.readers.generators import LEAST_TEXTS
from calib.files.readers.roles import Choice, Roles
from calib.files.readers.tables import some_names


def with_model(columns: Columns, roles: Roles) -> Roles:
    """Add the column of models and the model that is read; ask for it if the file holds several."""
    given = columns.given
    column_given, _, name = (given.model or "").rpartition("=")
    column = column_given or roles.model or _repeats_rows(columns, roles)
    if given.model is None and column in (None, given.group):
        _refuse_crossed_rows(columns, roles)
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
    doubt += f" (pass group={column!r} if they are not models)"
    choices = tuple(Choice((f"model={word}",)) for word in words)
    return replace(roles, model=column, doubt=doubt, choices=choices)


def _repeats_rows(columns: Columns, roles: Roles) -> str | None:
    """Return the column of models, if the rows repeat for each of its values with equal ids or labels."""
    truth = roles.label or (roles.correct,)
    if len(truth) != 1 or truth[0] not in columns.word or not columns.table.tabular:
        return None
    labels = columns.coded(truth[0])[0]
    ids = [name for name in columns.word if columns.called(name, "id", "index") or name == roles.id]
    for name in roles.ignored:
        if (
            name not in columns.word
            or columns.is_aside(name)
            or len(set(columns[name][:FIRST])) > MOST_MODELS
        ):
            continue
        codes, words = columns.coded(name)
        if len(words) < 2 or len(codes) % len(words) or (np.bincount(codes) * len(words) != len(codes)).any():
            continue
        keys = [columns.coded(id)[0] for id in ids if id != name] or [np.arange(len(codes))]
        for order in (np.lexsort((each, codes)) for each in keys):
            true = labels[order].reshape(len(words), -1)
            if true.shape[1] >= LEAST_TEXTS and true[0].min() < true[0].max() and (true == true[0]).all():
                return name
    return None


def _refuse_crossed_rows(columns: Columns, roles: Roles) -> None:
    """Refuse rows of which each id has one, with an equal label, for each pair of words in two columns."""
    given, label = columns.given, roles.label
    if roles.id is None or len(label) != 1 or label[0] not in columns.word or given.cluster or given.group:
        return
    ids, labels = columns.coded(roles.id)[0], columns.coded(label[0])[0]
    times = np.bincount(ids)
    one_label = len(pd.unique(ids * (labels.max() + 1) + labels)) == len(times)
    if not one_label or times.min() != times.max() or times[0] < 2:
        return
    texts = [name for name in roles.ignored if name in columns.word and columns[name].dtype == object]
    for first, second in combinations([n for n in texts if 1 < len(columns.words(n)) <= MOST_MODELS], 2):
        each = pd.factorize(columns.coded(first)[0] * len(ids) + columns.coded(second)[0])[0]
        if each.max() + 1 == times[0] and len(pd.unique(ids * times[0] + each)) == len(ids):
            one = f"{first}={columns.coded(first)[1][0]}"
            raise InputError(
                f"each {roles.id!r} has {times[0]} rows with equal labels, one for each {first!r} with "
                f"{second!r}: these may be models; read some with only={one!r}, or pass "
                f"cluster={roles.id!r} if they are not"
            )


def with_pairs(columns: Columns, roles: Roles) -> Roles:
    """Add the column whose rows are both sides of an event: two scores that sum to 1, one of them true."""
    if roles.kind != "binary" or len(roles.label) != 1 or roles.cluster is not None or roles.drop_label:
        return roles
    (score,), label = roles.probabilities, roles.label[0]
    values, truth = np.asarray(columns[score], dtype=np.float64), columns.coded(label)[0]
    for name in [name for name in columns.word if name not in (score, label, *columns.fractions)]:
        few = len(values) < LEAST_TEXTS or len(pd.unique(columns[name][:FIRST])) < len(values[:FIRST]) // 2
        if few or 2 * len(pd.unique(columns[name])) != len(values):
            continue
        codes = columns.coded(name)[0]
        if len(codes) != len(values) or (np.bincount(codes) != 2).any():
            continue
        order = np.argsort(codes, kind="stable").reshape(-1, 2)
        sums, differ = values[order].sum(axis=1), truth[order[:, 0]] != truth[order[:, 1]]
        if ((np.abs(sums - 1.0) < 0.02) & differ).mean() > 0.95:
            return replace(roles, cluster=name)
    return roles
