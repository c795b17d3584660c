"""Floors of few distinct, tied, saturated, tiny and constant scores, drawn as they are for any user."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from calib import bin_statistics, ece, noise_floor, reduce_to_binary
from calib.evidence.sampling import semidefinite_factor
from calib.stats import canonical_noise_floor, consistency_band, problem_floors
from calib.stats.floors import TOO_LOW
from tests.populations import drawn, population

NOTIONS = ["confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"]


def score_rows(kind, n_distinct, n_classes, random):
    """Distinct rows of scores, (n_distinct, n_classes), each of sum 1."""
    if kind == "constant":
        return np.full((1, n_classes), 1.0 / n_classes)
    if kind == "spread":
        return random.dirichlet(np.full(n_classes, 0.7), n_distinct)
    if kind == "tied":
        votes = random.multinomial(4, np.full(n_classes, 1.0 / n_classes), n_distinct)
        return votes / 4.0
    rest = {"saturated": 0.0, "tiny": 1e-9, "subnormal": 1e-310}[kind]
    scores = np.full((n_distinct, n_classes), rest)
    sure = random.integers(0, n_classes, n_distinct)
    scores[np.arange(n_distinct), sure] = 1.0 - rest * (n_classes - 1)
    return scores


KINDS = ["constant", "spread", "tied", "saturated", "tiny", "subnormal"]

FILES = st.tuples(
    st.sampled_from(KINDS),
    st.sampled_from([2, 3, 10, 100]),  # classes
    st.sampled_from([1, 40, 3_000]),  # rows
    st.sampled_from([3, 5, 40]),  # distinct rows
    st.integers(0, 10**6),
)


def exact_errors(distinct, counts, problems, cells, random, size):
    """Errors of labels drawn for every row; equal rows share a multinomial."""
    chances = distinct / distinct.sum(axis=1, keepdims=True)
    hits = random.multinomial(counts, chances, size=(size, len(counts))).transpose(2, 1, 0)
    pattern = np.repeat(np.arange(len(counts)), counts)[problems.rows]
    problem = np.repeat(np.arange(problems.n_problems), np.diff(problems.offsets))
    label, claim = problems.shape.labels_of(problem), problems.shape.claims_of(problem)
    ranked = np.argsort(-distinct, axis=1, kind="stable")
    label = np.where(label >= 0, label, ranked[pattern, claim])
    cell = np.repeat(np.arange(len(cells.count)), cells.count)
    shape = (len(cells.count), *hits.shape[:2])
    cell, label, pattern = np.unravel_index(
        np.unique(np.ravel_multi_index((cell, label, pattern), shape)), shape
    )
    sums = np.zeros((len(cells.count), size))
    np.add.at(sums, cell, hits[label, pattern])
    gaps = np.abs(sums - (cells.count * cells.mean_score)[:, None])
    return gaps.sum(axis=0) / (cells.n_samples * cells.n_claims)


@pytest.mark.parametrize("notion", NOTIONS)
@given(FILES)
@example(("spread", 2, 3_000, 5, 0))
@example(("spread", 100, 10_000, 40, 0))
def test_floor_is_that_of_rows_drawn_exactly(notion, file):
    """Two samples of 300 errors differ by no more than Kolmogorov and Smirnov's test allows at 1e-6."""
    kind, n_classes, n_samples, n_distinct, seed = file
    random = np.random.default_rng(seed)
    distinct = score_rows(kind, n_distinct, n_classes, random)
    counts = random.multinomial(n_samples, np.full(len(distinct), 1.0 / len(distinct)))
    proba = np.repeat(distinct, counts, axis=0)
    labels = drawn(proba, random)
    top_k = 2 if notion.startswith("top-k") else None
    floor = noise_floor(labels, proba, notion=notion, top_k=top_k, n_resamples=300, random_state=seed)
    problems = reduce_to_binary(labels, proba, notion, top_k=top_k)
    cells = bin_statistics(problems)
    exact = exact_errors(distinct, counts, problems, cells, random, 300)
    assert stats.ks_2samp(floor.samples.round(9), exact.round(9), method="asymp").pvalue > 1e-6
    assert floor.observed == pytest.approx(cells.ece(), abs=1e-12)


@given(FILES, st.sampled_from(NOTIONS), st.sampled_from(["uniform", "quantile", "discrete"]), st.booleans())
def test_every_floor_is_an_error(file, notion, strategy, weighted):
    """Also if scores of a row sum to more than 1, as scores of class-wise calibrators do."""
    kind, n_classes, n_samples, n_distinct, seed = file
    random = np.random.default_rng(seed)
    distinct = score_rows(kind, n_distinct, n_classes, random)
    proba = distinct[random.integers(0, len(distinct), n_samples)]
    labels = drawn(proba, random)
    weights = random.integers(1, 4, n_samples) if weighted else None
    options = {"n_resamples": 20, "random_state": seed}
    floors = [
        noise_floor(
            labels, proba, notion=notion, strategy=strategy, metric=metric, sample_weight=weights, **options
        )
        for metric in ("ece", "mce")
    ]
    more = np.minimum(1.4 * proba, 1.0)
    floors.append(noise_floor(labels, more, notion="class-wise", sample_weight=weights, **options))
    cells = np.minimum(labels, 2)
    floors.append(canonical_noise_floor(labels, proba, cells, sample_weight=weights, **options))
    for floor in floors:
        assert ((floor.samples >= 0.0) & (floor.samples <= 2.0)).all()
        assert 0.0 < floor.p_value <= 1.0
    problems = reduce_to_binary(labels, proba, notion, sample_weight=weights)
    of_problems = problem_floors(problems, strategy=strategy, **options)
    assert ((of_problems.upper >= 0.0) & (of_problems.upper <= 1.0)).all()
    if notion == "confidence":
        band = consistency_band(problems, n_bins=15, **options)
        assert (band.lower <= band.upper)[np.isfinite(band.lower)].all()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6))
def test_factor_of_correlations_of_any_rank(n_cells, rank, seed):
    """Correlations of vectors in `rank` dimensions, of which the last is the first turned round."""
    vectors = np.random.default_rng(seed).standard_normal((n_cells, rank))
    vectors = np.vstack([vectors, -vectors[:1]])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    correlation = vectors @ vectors.T
    factor = semidefinite_factor(correlation)
    assert factor.shape[1] <= min(n_cells, rank)
    assert factor @ factor.T == pytest.approx(correlation, abs=1e-7)


@pytest.mark.parametrize(
    ("proba", "least"),
    [
        (population(150, 3, seed=0)[0], 0.001),
        (np.column_stack([np.arange(1, 10), np.arange(9, 0, -1)]).repeat(20, axis=0) / 10, 0.0),
        (np.tile([0.4, 0.6], (40, 1)), 0.0),
    ],
    ids=["distinct", "tenths", "constant"],
)
def test_calibrated_files_are_called_too_low_as_rarely_as_they_say(proba, least):
    """1,000 draws on each set: 0.5 % has a standard error of 0.22 %. Ties only make it rarer."""
    random = np.random.default_rng(0)
    floor = noise_floor(
        drawn(proba, random), proba, notion="confidence", n_resamples=10_000, random_state=random
    )
    low = [
        replace(floor, observed=ece(drawn(proba, random), proba, notion="confidence")).is_too_low
        for _ in range(1_000)
    ]
    assert least <= np.mean(low) <= TOO_LOW + 4 * 0.0022
