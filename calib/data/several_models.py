"""Several models' predictions of the same rows: classes matched by name, rows by id or order, split once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.defaults import RANDOM_STATE
from calib.data.kinds import kind_of
from calib.data.predictions import BasePrediction, in_common_classes
from calib.data.splits import ID, column_of


def on_common_rows(models: Mapping[str, Any]) -> dict[str, Any]:
    """Return every model's predictions in the classes and rows of the first model, by id, else by order."""
    names = list(models)
    first = models[names[0]]
    for name in names:
        if not isinstance(models[name], BasePrediction):
            raise InputError(
                f"model {name!r} needs labelled predictions; got a {type(models[name]).__name__}"
            )
        if models[name].labels is None:
            raise InputError(f"comparing models needs true labels; model {name!r} has none")
        if models[name].kind != first.kind:
            kinds = f"{kind_of(first).title} and {kind_of(models[name]).title}"
            raise InputError(f"models {names[0]!r} and {name!r} have different kinds of predictions: {kinds}")
        try:
            first, _ = in_common_classes(first, models[name])
        except InputError as error:
            raise InputError(f"models {names[0]!r} and {name!r} have different classes: {error}") from None
    found = {names[0]: first}
    for name in names[1:]:
        rows = models[name].in_order_of(first.class_names)
        pair = f"models {names[0]!r} and {name!r}"
        order = _order_by_id(first, rows, pair)
        rows = rows if order is None else rows.take(order)
        _check_same(first, rows, pair)
        found[name] = rows
    return found


def pairs_of_models(
    models: Mapping[str, Any], calibration: float = 0.5, random_state: int | None = RANDOM_STATE
) -> dict[str, tuple[Any, Any]]:
    """Return (calibration, evaluation) of each model: as given (calibration may be None), or split once."""
    if not isinstance(models, Mapping) or not models:
        raise InputError(f"models must be labelled predictions by name, at least one; got {models!r:.60}")
    given = {name: isinstance(rows, (tuple, list)) for name, rows in models.items()}
    if not any(given.values()):
        models = on_common_rows(models)
        first, others = next(iter(models.values())).split_rows(calibration, random_state)
        return {name: (rows.take(first), rows.take(others)) for name, rows in models.items()}
    if not all(given.values()) or any(len(rows) != 2 for rows in models.values()):
        raise InputError(
            "every model must be a pair (calibration, evaluation), or every model labelled predictions; got "
            + ", ".join(f"{name!r}: {'pair' if given[name] else 'predictions'}" for name in list(models)[:5])
        )
    unseen = on_common_rows({name: rows[1] for name, rows in models.items()})
    to_fit = {name: rows[0] for name, rows in models.items() if rows[0] is not None}
    fitting = on_common_rows(to_fit) if to_fit else {}
    first = next(iter((fitting or unseen).values()))
    unseen = on_common_rows({name: rows.in_order_of(first.class_names) for name, rows in unseen.items()})
    return {name: (fitting.get(name), unseen[name]) for name in models}


def rows_to_fit(model: str, calibration: Any) -> Any:
    if calibration is None:
        raise InputError(f"model {model!r} has no calibration rows; give them to fit calibrators for it")
    return calibration


def rows_shared_by_id(now: Any, before: Any) -> tuple[Any, Any] | None:
    """Rows with unique ids in both sets, in one order; None if less than half of the smaller set is."""
    ids_now, ids_before = _ids(now), _ids(before)
    if ids_now is None or ids_before is None or not (ids_now.is_unique and ids_before.is_unique):
        return None
    shared = np.flatnonzero(ids_now.isin(ids_before))
    if not 2 * len(shared) >= min(len(ids_now), len(ids_before)) > 0:
        return None
    found = {"now": now.take(shared), "baseline": before.take(ids_before.get_indexer(ids_now[shared]))}
    return tuple(on_common_rows(found).values())


def _ids(rows: Any) -> pd.Index | None:
    ids = column_of(rows, ID)
    return None if ids is None else pd.Index(ids)


def _order_by_id(first: Any, rows: Any, pair: str) -> np.ndarray | None:
    """Return the positions of the first model's rows in another model's; None if one has no ids."""
    wanted, held = _ids(first), _ids(rows)
    if wanted is None or held is None or wanted.equals(held):
        return None
    if not (wanted.is_unique and held.is_unique):
        raise InputError(f"{pair} list rows in different orders, and an id occurs twice; make ids unique")
    missing, more = wanted.difference(held, sort=False), held.difference(wanted, sort=False)
    if len(missing) or len(more):
        strange = missing[0] if len(missing) else more[0]
        raise InputError(
            f"{pair} need the same rows; {len(missing):,} ids are only in the first and {len(more):,} only "
            f"in the second, such as {strange!r}"
        )
    return held.get_indexer(wanted)


def _check_same(first: Any, rows: Any, pair: str) -> None:
    if rows.n_samples != first.n_samples:
        raise InputError(f"{pair} need the same rows; got {first.n_samples:,} and {rows.n_samples:,} rows")
    if np.shape(rows.labels) != np.shape(first.labels):
        raise InputError(f"{pair} have labels of shapes {np.shape(first.labels)} and {np.shape(rows.labels)}")
    if "classes" in first.has:  # its labels say whether the model was right
        other = np.asarray(rows.labels != first.labels).reshape(first.n_samples, -1).any(axis=1)
        if other.any():
            raise InputError(
                f"{pair} need the same rows in the same order; the true labels of {int(other.sum()):,} rows "
                f"differ, the first is row {int(other.argmax()):,}. Sort both, or give both a column of ids"
            )
    if not np.array_equal(_weights(first), _weights(rows)):
        raise InputError(f"{pair} have different weights of the same rows")


def _weights(rows: Any) -> np.ndarray:
    return np.ones(rows.n_samples) if rows.sample_weight is None else rows.sample_weight
