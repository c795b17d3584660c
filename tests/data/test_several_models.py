"""Rows of several models: classes by name, rows by id or by order, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calib import InputError, Predictions
from calib.data.several_models import on_common_rows, rows_shared_by_id

PROBA = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5], [0.4, 0.35, 0.25]])
LABELS = np.array([0, 1, 2, 1])
NAMES = ("ant", "bee", "cat")


def rows(order: Any = range(4), ids: Any = None) -> Predictions:
    """Return the rows in an order, with their ids if there are any."""
    order = np.array(order)
    further: dict[str, Any] = {}
    if ids is not None:
        further = {"metadata": pd.DataFrame({"id": np.array(list(ids))[order]}), "columns": {"id": "id"}}
    return Predictions(PROBA[order], LABELS[order], NAMES, **further)


def test_rows_are_taken_in_their_order_unless_both_have_ids():
    found = on_common_rows({"first": rows(ids="abcd"), "second": rows(), "third": rows(ids="abcd")})
    for item in found.values():
        np.testing.assert_array_equal(item.proba, PROBA)
    np.testing.assert_array_equal(on_common_rows({"first": rows(), "other": rows()})["other"].proba, PROBA)


def test_rows_in_another_order_are_matched_by_id():
    found = on_common_rows({"first": rows(ids="abcd"), "second": rows([2, 0, 3, 1], ids="abcd")})
    np.testing.assert_array_equal(found["second"].proba, PROBA)
    np.testing.assert_array_equal(found["second"].labels, LABELS)


def test_ids_that_occur_twice_are_enough_in_the_same_order():
    found = on_common_rows({"first": rows(ids="aabc"), "second": rows(ids="aabc")})
    np.testing.assert_array_equal(found["second"].proba, PROBA)
    with pytest.raises(InputError, match="twice"):
        on_common_rows({"first": rows(ids="aabc"), "second": rows([3, 0, 1, 2], ids="aabc")})


def test_columns_are_matched_by_the_names_of_the_classes():
    columns = [2, 0, 1]
    other = Predictions(PROBA[:, columns], np.array([1, 2, 0, 2]), tuple(NAMES[code] for code in columns))
    found = on_common_rows({"first": rows(), "second": other})["second"]
    np.testing.assert_array_equal(found.proba, PROBA)
    assert (found.labels.tolist(), found.class_names) == (LABELS.tolist(), NAMES)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (rows([0, 1, 2]), "4 and 3"),
        (rows([0, 2, 1, 3]), "labels of 2 rows"),
        (rows(ids="abce"), "1 ids are only in the first and 1 only"),
        (rows([0, 1, 2], ids="abcd"), "1 ids are only in the first and 0 only"),
    ],
)
def test_other_rows_are_refused(other, said):
    with pytest.raises(InputError, match=said):
        on_common_rows({"first": rows(ids="abcd"), "second": other})


@pytest.mark.parametrize(("first", "n_shared"), [(0, 4), (1, 3), (2, 2), (3, 0)])
def test_rows_are_paired_if_half_of_the_smaller_set_is_in_the_other(first, n_shared):
    """The smaller set has the ids a to d in another order; the other one begins with one of them."""
    before = rows([2, 0, 3, 1], ids="abcd")
    proba, labels = (np.concatenate([array, array])[first:] for array in (PROBA, LABELS))
    ids = pd.DataFrame({"id": list("abcdefgh")[first:]})
    now = Predictions(proba, labels, NAMES, metadata=ids, columns={"id": "id"})
    found = rows_shared_by_id(now, before)
    if n_shared == 0:
        assert found is None
        return
    for part in found:
        np.testing.assert_array_equal(part.proba, PROBA[first:])
    assert rows_shared_by_id(now, rows()) is None
