"""Values of rows that are no plain numbers: the same result as the plain ones, or one sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calib
from calib import InputError

N = 40
RANDOM = np.random.default_rng(0)
EVENT = RANDOM.random(N)
HAPPENED = (RANDOM.random(N) < EVENT).astype(int)
PAIR = np.arange(N) // 2


class Wrapped:
    """An array of another library: it has no length and cannot be iterated over."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.values


@pytest.fixture(autouse=True)
def _without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_an_array_of_another_library_gives_clusters_and_groups():
    wrapped = Wrapped(PAIR)
    found, known = (calib.calibration_slope(HAPPENED, EVENT, cluster=c) for c in (wrapped, PAIR))
    assert (found.slope_lower, found.slope_upper) == (known.slope_lower, known.slope_upper)
    tables = [calib.slices(HAPPENED, EVENT, groups=g % 2, n_resamples=0).gap for g in (PAIR,)]
    tables.append(calib.slices(HAPPENED, EVENT, groups=Wrapped(PAIR % 2), n_resamples=0).gap)
    np.testing.assert_array_equal(*tables)


def test_whole_numbers_beyond_64_bits_are_names_of_clusters():
    large = calib.error_interval(HAPPENED, EVENT, cluster=[10**30 + int(pair) for pair in PAIR])
    assert large.lower == calib.error_interval(HAPPENED, EVENT, cluster=PAIR.astype(str)).lower


@pytest.mark.parametrize(
    "cluster",
    [
        ["\ud800"] * N,
        [b"\xc8"] * N,
        PAIR * 1e300,
        np.where(PAIR, PAIR, np.inf),
        np.array([(pair,) for pair in PAIR], dtype=[("pair", int)]),
    ],
    ids=["half a character", "bytes", "beyond 64 bits", "infinite", "records"],
)
def test_values_that_cannot_be_compared_are_no_clusters(cluster):
    with pytest.raises(InputError, match="cluster must be"):
        calib.ece(HAPPENED, EVENT, cluster=cluster)


@pytest.mark.parametrize("groups", [["\ud800"] * N, [{}] * N, np.array([b"a", b"b"])[PAIR % 2]])
def test_values_that_cannot_be_compared_are_no_groups(groups):
    with pytest.raises(InputError):
        calib.slices(HAPPENED, EVENT, groups=groups, n_resamples=0)
    with pytest.raises(InputError):
        calib.over_time(HAPPENED, EVENT, time=groups)


def test_values_that_cannot_be_compared_have_no_rule():
    for groups in (["\ud800"] * N, [{}] * N):
        with pytest.raises(InputError):
            calib.decide(HAPPENED, EVENT, accuracy=0.6, by=groups)


def test_dates_without_a_time_are_blocks_of_time():
    days = np.datetime64("2026-01-01") + PAIR
    with pytest.raises(InputError, match="blocks of time"):
        calib.over_time(HAPPENED, EVENT, time=np.arange(N), cluster=days)


@pytest.mark.parametrize("weight", [10.0 ** RANDOM.integers(-300, 300, N), [10**400] * N])
def test_weights_beyond_floats_are_refused(weight):
    for function in (calib.ece, calib.metrics, calib.corp_curve, calib.risk):
        with pytest.raises(InputError, match="sample_weight"):
            function(HAPPENED, EVENT, sample_weight=weight)


def test_labels_beyond_64_bits_match_no_class():
    with pytest.raises(InputError, match="match no class"):
        calib.Predictions(np.full((2, 2), 0.5), [0, 10**30])


def test_distances_beyond_floats_have_no_weight():
    scores, weight = (EVENT > 0.5).astype(float), np.where(PAIR == 0, 1.0, 1e-90)
    assert np.isfinite(calib.loess_curve(HAPPENED, scores, sample_weight=weight).lower).all()


def test_a_line_that_is_not_determined_has_infinite_limits_in_clusters():
    line = calib.calibration_slope(HAPPENED, np.full(N, 0.5), cluster=PAIR)
    assert not line.determined
    assert (line.slope_lower, line.slope_upper) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    "call",
    [
        lambda value: calib.ece(HAPPENED, EVENT, norm=value),
        lambda value: calib.ece_sweep(HAPPENED, EVENT, n_bins=value),
        lambda value: calib.choose_points_per_bin(EVENT, HAPPENED, candidates=value),
        lambda value: calib.conclude(HAPPENED, EVENT, tolerance=value, n_resamples=5),
        lambda value: calib.corp_curve(HAPPENED, EVENT, problem=value),
        lambda value: calib.decide(HAPPENED, EVENT, accuracy=value),
        lambda value: calib.decide(HAPPENED, EVENT, accuracy=0.9, recall=value),
        lambda value: calib.decision_curve(HAPPENED, EVENT, thresholds=value),
        lambda value: calib.fold_errors(value),
        lambda value: calib.gate(HAPPENED, EVENT, most={"ece": 0.1}, level=value, n_resamples=0),
        lambda value: calib.gate(HAPPENED, EVENT, tolerance=value, n_resamples=5),
        lambda value: calib.guarantee(points_per_bin=9, n_samples=99, accuracy=value),
        lambda value: calib.risk_coverage(HAPPENED, EVENT, label=value),
        lambda value: calib.slices(HAPPENED, EVENT, groups=PAIR % 2, fdr=value, n_resamples=5),
    ],
)
@pytest.mark.parametrize("value", ["x", "", [], -1, {"a": 1}])
def test_options_that_are_no_numbers_are_refused(call, value):
    with pytest.raises(InputError):
        call(value)


def test_folds_are_of_predictions_and_refuse_what_cannot_be_compared():
    rows = calib.Predictions(np.column_stack([1 - EVENT, EVENT]), HAPPENED)
    with pytest.raises(InputError, match="got a ndarray"):
        calib.fold_errors(EVENT, fold=PAIR)
    with pytest.raises(InputError, match="fold must be"):
        calib.fold_errors(rows, fold=[{}] * N)
