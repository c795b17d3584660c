"""The numbers of problems of each notion, and what each problem is about."""

from __future__ import annotations

import numpy as np
import pytest

from calib import InputError
from calib.data.notions import NOTIONS, TOP_K_NOTIONS, NotionShape

#: For L = 3 classes and K = 2: claims, then (claim, class) of each problem, by hand from Table 1.
BY_HAND = {
    "confidence": (1, [(0, -1)]),
    "top-label": (1, [(0, 0), (0, 1), (0, 2)]),
    "class-wise": (3, [(0, 0), (1, 1), (2, 2)]),
    "top-k-confidence": (2, [(0, -1), (1, -1)]),
    "top-k-label": (2, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]),
}


@pytest.mark.parametrize("notion", NOTIONS)
def test_claims_and_classes_of_every_problem(notion):
    shape = NotionShape.of(notion, 3, 2 if notion in TOP_K_NOTIONS else None)
    n_claims, about = BY_HAND[notion]
    problem = np.arange(shape.n_problems)
    assert shape.n_claims == n_claims
    assert list(zip(shape.claims_of(problem), shape.labels_of(problem), strict=True)) == about


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_score_belongs_to_the_problem_about_its_claim_and_class(notion):
    shape = NotionShape.of(notion, 3, 2 if notion in TOP_K_NOTIONS else None)
    for rank in range(shape.n_ranks):
        for label in range(3):
            problem = shape.problems_of(label, rank)
            claim = label if notion == "class-wise" else rank
            assert (shape.claims_of(problem), shape.labels_of(problem)) in [(claim, label), (claim, -1)]


def test_k_is_at_most_five_by_default():
    assert [NotionShape.of("top-k-label", n_classes).n_ranks for n_classes in (2, 5, 9)] == [2, 5, 5]


@pytest.mark.parametrize(
    ("notion", "top_k", "message"),
    [
        ("toplabel", None, "notion must be one of confidence, .*; got 'toplabel'"),
        ("confidence", 2, "top_k belongs to the top-K notions; got top_k=2"),
        ("top-k-label", 4, "top_k must be at most the number of classes, 3; got 4"),
        ("top-k-label", 0, "top_k must be a whole number of at least 1; got 0"),
    ],
)
def test_what_is_no_notion_is_refused(notion, top_k, message):
    with pytest.raises(InputError, match=message):
        NotionShape.of(notion, 3, top_k)
