"""The leaderboard: the numbers of `summarize`, best marked, and tables that survive hostile names."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.assessment.leaderboard import Entry, Leaderboard, binned_sweeps, compare
from calib.calibrators.catalogue import named_methods
from calib.datasets import resnet_shaped


class Failing:
    """A calibrator that cannot be fitted."""

    def fit(self, proba, y):
        raise calib.InputError("no such luck")


@pytest.fixture(scope="module")
def board():
    example = resnet_shaped()
    chosen = {name: named_methods()[name] for name in ("TS", "TL-HB", "N-HB")}
    steps = []
    leaderboard = compare(
        example.calibration,
        example.evaluation,
        chosen | {"broken": Failing()},
        progress=lambda share, name: steps.append((share, name)),
    )
    assert [name for _, name in steps] == ["TS", "TL-HB", "N-HB", "broken"]
    return example, leaderboard


def test_entries_hold_the_numbers_of_the_library(board):
    example, leaderboard = board
    y = example.evaluation.labels
    table = leaderboard.frame().set_index("Method")
    assert list(table.index) == ["Base", "TS", "TL-HB", "N-HB", "broken"]
    assert table.loc["Base", "TL-ECE"] == calib.ece(y, example.evaluation)
    fitted = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=15)).fit(
        example.calibration, example.calibration.labels
    )
    top = fitted.predict_top(example.evaluation)
    assert table.loc["TL-HB", "TL-ECE"] == calib.ece(y, top, strategy="discrete")
    assert table.loc["TL-HB", "Accuracy"] == table.loc["Base", "Accuracy"]


def test_one_failure_is_a_row_that_says_why(board):
    row = board[1].frame().set_index("Method").loc["broken"]
    assert row["Failure"] == "no such luck"
    assert np.isnan(row["TL-ECE"])


def test_best_is_lowest_error_and_highest_accuracy(board):
    leaderboard = board[1]
    table, best = leaderboard.frame(), leaderboard.best()
    assert best["TL-ECE"].tolist() == (table["TL-ECE"].round(4) == table["TL-ECE"].round(4).min()).tolist()
    assert best["Accuracy"].tolist() == (table["Accuracy"] == table["Accuracy"].max()).tolist()
    assert not best["Distinct scores"].any()


def test_changes_are_against_the_base(board):
    leaderboard = board[1]
    table, changes = leaderboard.frame(), leaderboard.changes()
    assert changes["TL-ECE"].iloc[0] == 0.0
    assert changes["TL-ECE"].iloc[1] == table["TL-ECE"].iloc[1] - table["TL-ECE"].iloc[0]


def test_markdown_and_latex_print_the_frame(board):
    leaderboard = board[1]
    value = f"{leaderboard.frame()['TL-ECE'].iloc[0]:.4f}"
    assert value in leaderboard.markdown()
    assert value in leaderboard.latex()
    assert leaderboard.markdown().count("\n") == len(leaderboard.entries) + 2
    assert r"\textbf{" in leaderboard.latex()


def test_names_from_users_are_escaped_in_tables():
    hostile = r"a|b ![x](http://e.vil) \input{x} $y$ & %"
    leaderboard = Leaderboard((Entry(hostile, failure="x"),))
    markdown, latex = leaderboard.markdown(), leaderboard.latex()
    assert r"a\|b \!\[x\]\(http" in markdown
    assert r"\textbackslash{}input\{x\} \$y\$ \& \%" in latex


def test_sweep_of_histogram_binning_refits_with_every_number_of_bins(board):
    example = board[0]
    calibration, evaluation = example.calibration, example.evaluation
    calibrator = named_methods()["TL-HB"]
    sweeps = binned_sweeps(calibrator, calibration, evaluation, [5, 15])
    by_hand = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=5)).fit(calibration, calibration.labels)
    top = by_hand.predict_top(evaluation)
    assert sweeps["top-label"].ece[0] == calib.ece(evaluation.labels, top, strategy="discrete")
    assert sweeps["confidence"].n_bins.tolist() == [5, 15]
    assert calibrator.binary.n_bins == 15
    assert not hasattr(calibrator, "calibrators_")
