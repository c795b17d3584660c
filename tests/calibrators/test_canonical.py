"""Simplex binning against literal recursive definitions in exact fractions, and hand computation."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calib import InputError
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme


def compositions(total: int, count: int):
    """All tuples of `count` whole numbers >= 0 with the given sum."""
    if count == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, count - 1):
            yield (first, *rest)


def lattice(n_classes: int, side: int, most: int = 1500) -> list[tuple[Fraction, ...]]:
    points = list(compositions(side, n_classes))
    step = max(1, len(points) // most)
    return [tuple(Fraction(v, side) for v in point) for point in points[::step]]


def literal_sierpinski(s: tuple[Fraction, ...], depth: int) -> int:
    """Equation (general-L) and its recursion; numbering: corners in order, middle last."""
    n_classes = len(s)
    if depth == 0:
        return 0
    inner = sum(n_classes**power for power in range(depth))
    for label in range(n_classes):
        if s[label] > Fraction(1, 2):
            t = tuple(2 * v - 1 if u == label else 2 * v for u, v in enumerate(s))
            return label * inner + literal_sierpinski(t, depth - 1)
    return n_classes * inner


def literal_grid_cells(n_classes: int, side: int) -> list[tuple[int, ...]]:
    """The set I of eq. (k-tuple), in lexicographic order."""
    return [
        k
        for k in product(range(1, side + 1), repeat=n_classes)
        if max(n_classes, side + 1) <= sum(k) <= side + n_classes - 1
    ]


def literal_grid(s: tuple[Fraction, ...], cells: list[tuple[int, ...]], side: int) -> int:
    return next(
        number
        for number, k in enumerate(cells)
        if all(kl - 1 <= sl * side <= kl for sl, kl in zip(s, k, strict=True))
    )


def literal_projection(rows, labels, directions):
    """Algorithm 10 line by line: thresholds, and per bin the labels that enter its mean."""
    n_bins, left = len(directions), [list(r) for r in rows]

    def dot(v, q):
        total = 0.0
        for a, b in zip(v, q, strict=True):
            total += a * b
        return total

    share = (len(rows) + 1) // n_bins
    thresholds = []
    for b in range(n_bins - 1):
        thresholds.append(sorted(dot(v, directions[b]) for v in left)[share - 1])
        left = [v for v in left if dot(v, directions[b]) > thresholds[b]]
    thresholds.append(1.01)
    bins = [next(b for b in range(n_bins) if dot(v, directions[b]) < thresholds[b]) for v in rows]
    inside = [all(dot(v, q) != t for q, t in zip(directions, thresholds, strict=True)) for v in rows]
    members = [
        [y for y, at, keep in zip(labels, bins, inside, strict=True) if keep and at == b]
        for b in range(n_bins)
    ]
    return thresholds, bins, members


def simulated(n: int, n_classes: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.7), size=n)
    labels = (proba.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    return proba, labels


@pytest.mark.parametrize("n_classes", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_sierpinski_equals_the_recursive_definition_on_faces_and_corners(n_classes, depth):
    points = lattice(n_classes, 16, 400) + lattice(n_classes, 12, 400)
    proba = np.array(points, dtype=float)
    scheme = SierpinskiScheme(depth).fit(proba)
    assert scheme.n_bins_ == (n_classes ** (depth + 1) - 1) // (n_classes - 1)
    expected = [literal_sierpinski(s, depth) for s in points]
    np.testing.assert_array_equal(scheme.assign(proba), expected)
    np.testing.assert_array_equal(scheme.assign(proba.astype(np.float32)), expected)


def test_sierpinski_of_three_classes_has_thirteen_cells_at_depth_two():
    points = np.array(lattice(3, 24), dtype=float)
    cells = SierpinskiScheme(2).fit(points).assign(points)
    assert set(cells.tolist()) == set(range(13))  # the paper's text prints 14


@pytest.mark.parametrize(
    ("n_classes", "side"), [(3, 1), (3, 4), (3, 5), (3, 10), (4, 3), (4, 5), (5, 4), (6, 3), (7, 3)]
)
def test_grid_equals_the_smallest_tuple_on_faces_and_corners(n_classes, side):
    cells = literal_grid_cells(n_classes, side)
    points = lattice(n_classes, side, 300) + lattice(n_classes, 2 * side, 300) + lattice(n_classes, 7, 200)
    proba = np.array(points, dtype=float)
    scheme = GridScheme(side).fit(proba)
    assert scheme.n_bins_ == len(cells)
    expected = [literal_grid(s, cells, side) for s in points]
    np.testing.assert_array_equal(scheme.assign(proba), expected)
    np.testing.assert_array_equal(scheme.assign(proba.astype(np.float32)), expected)
    np.testing.assert_array_equal(scheme.rank(np.array(cells)), np.arange(len(cells)))


def test_grid_counts():
    assert [GridScheme(k).fit(np.eye(3)).n_bins_ for k in (1, 2, 5, 10)] == [1, 4, 25, 100]
    # L = 4, K = 5: sums of k - 1 are 2, 3 or 4, so C(5,3) + C(6,3) + C(7,3)
    assert GridScheme(5).fit(np.eye(4)).n_bins_ == comb(5, 3) + comb(6, 3) + comb(7, 3)


def test_grid_faces_survive_rounding():
    noisy = [[0.1 + 0.2, 0.3, 0.4], [1 - 0.7, 0.3, 0.4], [0.3, 0.3, 0.4]]
    assert len(set(GridScheme(10).fit(np.eye(3)).assign(noisy).tolist())) == 1


@pytest.mark.parametrize("n_classes", [3, 4, 6])
@pytest.mark.parametrize("directions", ["rotating", "random", "own"])
def test_projection_equals_algorithm_10(n_classes, directions):
    proba, labels = simulated(230, n_classes)
    own = [[-3.0, 1.0, *[0.0] * (n_classes - 2)], [0.0] * (n_classes - 1) + [-1.0]]
    chosen = own if directions == "own" else directions
    calibrator = CanonicalBinning(ProjectionScheme(9, chosen, random_state=4)).fit(proba, labels)
    scheme = calibrator.scheme_
    if directions == "own":  # in turn, at unit length
        np.testing.assert_allclose(scheme.directions_[::2] * np.sqrt(10.0), [own[0]] * 5)
        np.testing.assert_array_equal(scheme.directions_[1::2], [own[1]] * 4)
    np.testing.assert_allclose(np.linalg.norm(scheme.directions_, axis=1), 1.0)
    if directions == "rotating":
        np.testing.assert_array_equal(scheme.directions_[n_classes], -np.eye(n_classes)[0])
    thresholds, bins, members = literal_projection(
        proba.tolist(), labels.tolist(), scheme.directions_.tolist()
    )
    np.testing.assert_array_equal(scheme.thresholds_, thresholds)
    np.testing.assert_array_equal(calibrator.assign(proba), bins)
    share = (230 + 1) // 9
    assert all(len(inside) >= share - 1 for inside in members)
    assert [len(inside) for inside in members[:-1]] == [share - 1] * 8
    means = [np.bincount(inside, minlength=n_classes) / len(inside) for inside in members]
    np.testing.assert_allclose(calibrator.value_of(np.arange(9)), means)
    np.testing.assert_array_equal(calibrator.count_of(np.arange(9)), [len(inside) for inside in members])
    assert calibrator.n_boundary_ == 230 - sum(map(len, members))


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(3, 120),
    n_bins=st.integers(1, 12),
    n_classes=st.integers(3, 6),
    directions=st.sampled_from(["rotating", "random"]),
    seed=st.integers(0, 1000),
)
def test_every_projection_bin_keeps_its_share_of_rows_inside(n, n_bins, n_classes, directions, seed):
    if n < n_bins - 1:
        return
    proba, labels = simulated(n, n_classes, seed)
    calibrator = CanonicalBinning(ProjectionScheme(n_bins, directions, seed)).fit(proba, labels)
    assert calibrator.n_bins_ == n_bins
    assert (calibrator.count_of(np.arange(n_bins)) >= (n + 1) // n_bins - 1).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(3, 7), n=st.integers(1, 80))
def test_predictions_are_probabilities_and_rows_are_independent(seed, n_classes, n):
    proba, labels = simulated(n, n_classes, seed)
    order = np.random.default_rng(seed).permutation(n)
    for scheme in (SierpinskiScheme(2), GridScheme(3), ProjectionScheme(min(4, n), "random", seed)):
        calibrator = CanonicalBinning(scheme).fit(proba, labels)
        predicted = calibrator.predict_proba(proba)
        np.testing.assert_allclose(predicted.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        cells = calibrator.assign(proba)
        assert cells.min() >= 0
        assert cells.max() < calibrator.n_bins_
        np.testing.assert_array_equal(calibrator.assign(proba[order]), cells[order])
        np.testing.assert_array_equal(calibrator.predict_proba(proba[:1]), predicted[:1])
        refitted = CanonicalBinning(scheme).fit(proba[order], labels[order])
        np.testing.assert_allclose(refitted.predict_proba(proba), predicted, atol=1e-12)


def test_predictions_by_hand():
    # Depth 1: rows 0-2 are in the corner of class 0 (labels 0, 0, 2), row 3 in the middle (label 1).
    proba = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.6, 0.2, 0.2], [0.4, 0.3, 0.3]]
    calibrator = CanonicalBinning(SierpinskiScheme(depth=1)).fit(proba, [0, 0, 2, 1])
    assert calibrator.cells_.tolist() == [0, 3]
    assert calibrator.counts_.tolist() == [3, 1]
    rows = [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.1, 0.8, 0.1]]
    np.testing.assert_allclose(
        calibrator.predict_proba(rows), [[2 / 3, 0, 1 / 3], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]]
    )
    assert calibrator.predict(rows).tolist() == [0, 1, 0]  # a tie goes to the lowest index
    np.testing.assert_allclose(calibrator.predict_top(rows).confidence, [2 / 3, 1, 1 / 3])


def test_cells_far_too_many_to_list_are_numbered_or_refused():
    proba, labels = simulated(50, 40)
    calibrator = CanonicalBinning(GridScheme(8)).fit(proba, labels)
    assert calibrator.n_bins_ == comb(47, 40)  # sums of k - 1 from 0 to 7
    assert len(calibrator.cells_) <= 50
    with pytest.raises(InputError, match="merge classes"):
        SierpinskiScheme(depth=60).fit(np.eye(40))
    with pytest.raises(InputError, match="too many to"):
        GridScheme(cells=500).fit(np.eye(40))


@pytest.mark.parametrize(
    ("directions", "problem"),
    [
        ([[1.0, 0.0]], "got 1 rows of 2"),
        ([[0.0, 0.0, 0.0]], "not all 0"),
        ([1.0, 0.0, 0.0], r"directions must be an \(n, L\) matrix"),
        ([[np.nan, 0.0, 0.0]], "directions"),
        ("turning", "rotating"),
    ],
)
def test_directions_that_cannot_be_used_are_refused(directions, problem):
    proba, labels = simulated(50, 3)
    with pytest.raises(InputError, match=problem):
        CanonicalBinning(ProjectionScheme(4, directions)).fit(proba, labels)


def test_tied_rows_give_fewer_projection_bins():
    proba = np.repeat([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]], [50, 3], axis=0)
    calibrator = CanonicalBinning(ProjectionScheme(10)).fit(proba, np.zeros(53, dtype=int))
    assert calibrator.n_bins_ == 1
    np.testing.assert_allclose(calibrator.predict_proba(proba), np.tile([1.0, 0, 0], (53, 1)))


def test_absent_classes_keep_their_columns():
    calibrator = CanonicalBinning(SierpinskiScheme(1)).fit(np.eye(4), [3, 3, 3, 3])
    np.testing.assert_array_equal(calibrator.predict_proba(np.eye(4)), np.eye(4)[[3] * 4])


def test_refit_starts_fresh_and_estimators_clone():
    proba, labels = simulated(300, 3)
    calibrator = CanonicalBinning(ProjectionScheme(5)).fit(proba, labels)
    calibrator.set_params(scheme=GridScheme(2)).fit(np.eye(4), [0, 1, 2, 3])
    assert (calibrator.n_classes_, calibrator.n_bins_) == (4, 5)
    assert clone(calibrator).scheme.cells == 2
    assert not hasattr(calibrator.scheme, "n_bins_")


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (SierpinskiScheme(0), "depth must be a whole number"),
        (GridScheme(2.5), "cells must be a whole number"),
        (ProjectionScheme(True), "n_bins must be a whole number"),
        (ProjectionScheme(9), "n_bins=9 needs at least 8 calibration rows; got 3"),
        (ProjectionScheme(2, "up"), "rotating.*random.*got 'up'"),
        ("grid", "scheme must be .* got str"),
    ],
)
def test_options_out_of_range_are_refused(scheme, message):
    with pytest.raises(InputError, match=message):
        CanonicalBinning(scheme).fit(np.eye(3), [0, 1, 2])


def test_wrong_input_is_refused():
    calibrator = CanonicalBinning(GridScheme(3))
    with pytest.raises(NotFittedError):
        calibrator.predict_proba(np.eye(3))
    with pytest.raises(InputError, match="at least 3 classes; got 2"):
        calibrator.fit(np.eye(2), [0, 1])
    with pytest.raises(InputError, match="true labels are needed"):
        calibrator.fit(np.eye(3), None)
    calibrator.fit(np.eye(3), [0, 1, 2])
    with pytest.raises(InputError, match="fitted on 3 classes; got 4 columns"):
        calibrator.predict_proba(np.eye(4))
