"""Gaps between groups and maps of groups, against literal loops; cuts by dates."""

import numpy as np
import pytest

import calib
from calib import InputError, TopLabelPrediction, slice_gaps
from calib.answers import cut_column
from calib.answers.cuts import parse_cuts
from calib.diagrams.slice_maps import slice_class_heat, slice_heat
from calib.stats.intervals import error_interval

N = 900
RANDOM = np.random.default_rng(1)
TOP = TopLabelPrediction(RANDOM.integers(0, 3, N), RANDOM.uniform(0.4, 1.0, N))
GROUP = RANDOM.choice(["north", "south", "west"], N, p=[0.5, 0.4, 0.1])
RIGHT = RANDOM.random(N) < np.where(GROUP == "south", 0.6 * TOP.confidence, TOP.confidence)
Y = np.where(RIGHT, TOP.label, (TOP.label + 1) % 3)
WEIGHT = RANDOM.choice([1.0, 4.0], N)


@pytest.mark.parametrize("weights", [None, WEIGHT])
def test_gaps_are_those_of_a_group_and_all_other_rows(weights):
    gaps = slice_gaps(Y, TOP, GROUP, sample_weight=weights)
    each = np.ones(N) if weights is None else weights
    assert gaps.group.tolist() == ["north", "south", "west"]
    for at, name in enumerate(gaps.group):
        for mask, bias in ((name == GROUP, gaps.bias[at]), (name != GROUP, gaps.bias_of_rest[at])):
            expected = (each[mask] * (RIGHT[mask] - TOP.confidence[mask])).sum() / each[mask].sum()
            assert bias == pytest.approx(expected)
        inside, outside = name == GROUP, name != GROUP
        ends = [
            error_interval(
                Y[mask], TOP[mask], level=1 - 0.05 / 6, sample_weight=None if weights is None else each[mask]
            )
            for mask in (inside, outside)
        ]
        assert gaps.error_lower[at] == pytest.approx(ends[0].lower - ends[1].upper)
        assert gaps.error_upper[at] == pytest.approx(ends[0].upper - ends[1].lower)
        difference = gaps.bias[at] - gaps.bias_of_rest[at]
        assert gaps.bias_lower[at] < difference < gaps.bias_upper[at]
    assert gaps.direction[1] == "more overconfident"
    assert gaps.frame()["direction"].tolist() == gaps.direction.tolist()
    apart = gaps.group[gaps.direction != "not distinguishable"]
    assert list(gaps.words()) == apart.tolist()
    assert gaps.words("*{}*")[gaps.group[1]].startswith("*more overconfident* than all other rows")


def test_a_group_that_is_less_underconfident_is_not_called_overconfident():
    """Both sides are right more often than they say, and less often: the words follow the group itself."""
    group, other = np.repeat([0, 1], 2_000), np.tile(np.arange(100), 40)
    for right in (70, 90), (10, 40):
        happened = other < np.where(group == 0, *right)
        words = slice_gaps(happened, np.full(4_000, 0.5), group.astype(str)).direction.tolist()
        wanted = ["less underconfident", "more underconfident"]
        assert words == (wanted if right[0] > 50 else ["more overconfident", "less overconfident"])


def test_a_choice_among_groups_does_not_narrow_the_intervals():
    every, item = slice_gaps(Y, TOP, GROUP), slice_gaps(Y, TOP, GROUP, only=["south"])
    assert item.group.tolist() == ["south"]
    assert item.bias_upper[0] == every.bias_upper[1]


@pytest.mark.parametrize(
    ("groups", "only", "words"),
    [
        (np.repeat("one", N), None, "one group only"),
        (GROUP, ["east"], "has no group 'east'"),
        (GROUP[1:], None, "one value per row"),
    ],
)
def test_what_cannot_be_compared_is_refused(groups, only, words):
    with pytest.raises(InputError, match=words):
        slice_gaps(Y, TOP, groups, only=only)


@pytest.mark.parametrize("weights", [None, WEIGHT])
def test_maps_hold_the_cells_of_each_group(weights):
    cut, each = cut_column(GROUP), np.ones(N) if weights is None else weights
    by_bin = slice_heat(Y, TOP, cut, n_bins=5, sample_weight=weights)
    by_class = slice_class_heat(Y, TOP, cut, groups=[2, 0], classes=[1, 0], sample_weight=weights)
    assert by_class.label.tolist() == [2, 0]
    bins, classes = (each.frame().set_index(["label", "bin"]) for each in (by_bin, by_class))
    for group in by_bin.label:
        for bin_ in range(5):
            mask = (cut.code == group) & (np.minimum((TOP.confidence * 5).astype(int), 4) == bin_)
            assert ((group, bin_) in bins.index) == mask.any()
            if mask.any():
                cell = bins.loc[group, bin_]
                assert cell["count"] == mask.sum()
                assert cell["accuracy"] == pytest.approx(np.average(RIGHT[mask], weights=each[mask]))
                assert cell["accuracy_lower"] <= cell["accuracy"]
    for group in (2, 0):
        for column, label in enumerate([1, 0]):
            mask = (cut.code == group) & (TOP.label == label)
            assert classes["count"][group, column] == mask.sum()
            says = np.average(TOP.confidence[mask], weights=each[mask])
            assert classes["mean_confidence"][group, column] == pytest.approx(says)


def test_weights_that_predictions_came_with_are_used():
    rows = TopLabelPrediction(TOP.label, TOP.confidence, Y, sample_weight=WEIGHT)
    given = calib.slices(Y, TOP, GROUP, sample_weight=WEIGHT, n_resamples=20, random_state=0)
    own = calib.slices(Y, rows, GROUP, n_resamples=20, random_state=0)
    np.testing.assert_array_equal(own.error, given.error)
    np.testing.assert_array_equal(
        slice_gaps(Y, rows, GROUP).bias, slice_gaps(Y, TOP, GROUP, sample_weight=WEIGHT).bias
    )


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("year", ("2024", "2025")),
        ("quarter", ("2024-Q1", "2024-Q4", "2025-Q1")),
        ("month", ("2024-02", "2024-12", "2025-01")),
        ("week", ("2024-W05", "2025-W01", "2025-W03")),
        ("day", ("2024-02-01", "2024-12-31", "2025-01-16")),
        ("weekday", ("2 Tue", "4 Thu")),
        ("hour", ("00:00", "13:00")),
    ],
)
def test_dates_are_cut_by_part(part, expected):
    days = ["2024-02-01T13:20", "2024-12-31", "2025-01-16"]
    assert cut_column(days, at=part).groups == expected
    assert cut_column(np.array(days, dtype="datetime64[m]"), at=part).groups == expected


def test_cuts_are_read():
    assert parse_cuts(["a=b=3,4"], ["a=b"]) == {"a=b": (3.0, 4.0)}
    for text in ("age=x", "size=3", "age"):
        with pytest.raises(InputError):
            parse_cuts([text], ["age"])
