"""The leaderboard: the numbers of `metrics`, best marked, and tables that survive hostile names."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.answers.metric_tables import Assessment
from calib.answers.model_tables import RANKING, ModelComparison
from calib.calibrators.catalogue import named_methods
from calib.data.predictions import TopLabelPrediction
from calib.datasets import resnet_shaped
from calib.evidence.rows import as_evidence


class Failing:
    """A calibrator that cannot be fitted."""

    def fit(self, proba, y):
        raise calib.InputError("no such luck")


def compare(calibration, evaluation, methods, progress=None):
    return calib.compare_models({"": (calibration, evaluation)}, methods, n_resamples=1, progress=progress)


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
    assert steps == [(0.0, ": TS"), (0.25, ": TL-HB"), (0.5, ": N-HB"), (0.75, ": broken")]
    return example, leaderboard


def test_entries_hold_the_numbers_of_the_library(board):
    example, leaderboard = board
    y = example.evaluation.labels
    table = leaderboard.ranking().set_index("Method")
    assert [item.method for item in leaderboard.entries] == ["Base", "TS", "TL-HB", "N-HB", "broken"]
    assert table.loc["Base", "TL-ECE"] == pytest.approx(calib.ece(y, example.evaluation), rel=1e-12)
    fitted = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=15)).fit(
        example.calibration, example.calibration.labels
    )
    top = fitted.predict_top(example.evaluation)
    assert table.loc["TL-HB", "TL-ECE"] == calib.ece(y, top, strategy="discrete")
    assert table.loc["TL-HB", "Accuracy"] == table.loc["Base", "Accuracy"]


def test_one_failure_is_a_row_that_says_why(board):
    row = board[1].ranking().set_index("Method").loc["broken"]
    assert row["Failure"] == "no such luck"
    assert np.isnan(row["TL-ECE"])


def test_methods_are_ranked_by_brier_score_with_the_paired_intervals_of_the_library(board):
    example, leaderboard = board
    y, base = example.evaluation.labels, example.evaluation
    table = leaderboard.ranking()
    assert table["Method"].iloc[-1] == "broken"
    assert table["Brier improvement"].iloc[:-1].is_monotonic_decreasing
    fitted = calib.TemperatureScaling().fit(example.calibration, example.calibration.labels)
    scaled = fitted.predict_proba(base)
    row = table.set_index("Method").loc["TS"]
    for metric, head in (("brier", "Brier improvement"), ("log_loss", "Log loss improvement")):
        interval = calib.paired_interval(y, base, scaled, metric=metric)
        ends = (-interval.difference, -interval.upper, -interval.lower)
        np.testing.assert_allclose(
            row[[head, f"{head}, lower", f"{head}, upper"]].astype(float), ends, atol=1e-8
        )
    base_row = table.set_index("Method").loc["Base"]
    assert base_row["Brier"] - row["Brier"] == pytest.approx(row["Brier improvement"])
    assert base_row["Brier improvement"] == 0.0


def test_only_what_may_be_best_is_marked(board):
    leaderboard = board[1]
    table, best = leaderboard.ranking(), leaderboard.best
    assert list(best.columns) == ["Brier improvement", "Log loss improvement"]
    losses = [item.row_values["brier"] for item in leaderboard.ranked if item.row_values]
    expected = calib.best_set(losses)
    assert best["Brier improvement"].tolist()[:-1] == (expected & ~expected.all()).tolist()
    assert not best["Brier improvement"].iloc[-1]
    assert table["Method"].iloc[0] in leaderboard.words()


def board_of(*entries: Assessment, cluster=None) -> ModelComparison:
    """Entries on unweighted rows, independent unless clusters are given."""
    n = max((len(each.row_values["brier"]) for each in entries if each.row_values), default=1)
    scores = TopLabelPrediction(np.zeros(n, int), np.ones(n))
    return ModelComparison(entries, as_evidence(np.zeros(n, int), scores, None, cluster))


def entry(name: str, values: np.ndarray) -> Assessment:
    return Assessment(
        name, row_values={"brier": values, "log_loss": values}, unseen=dict.fromkeys(RANKING, 0.0)
    )


def test_nothing_is_marked_where_nothing_is_distinguishable():
    random = np.random.default_rng(0)
    leaderboard = board_of(entry("a", random.random(40)), entry("b", random.random(40)))
    assert not leaderboard.best.any(axis=None)
    assert leaderboard.words().startswith("No method has a distinguishably lower Brier score")


def test_rows_of_one_cluster_count_once():
    """50 clusters of 10 equal rows: the difference is 4.4 standard errors of 500 rows, 1.4 of 50 clusters."""
    change = np.random.default_rng(0).normal(size=50)
    change = np.repeat(0.2 + (change - change.mean()) / change.std(), 10)
    entries = entry("a", np.zeros(500)), entry("b", change)
    alone, together = board_of(*entries), board_of(*entries, cluster=np.repeat(np.arange(50), 10))
    assert alone.best["Brier improvement"].tolist() == [True, False]
    assert together.best["Brier improvement"].tolist() == [False, False]
    assert together.improvements["b"]["brier"].upper > 0.0 > alone.improvements["b"]["brier"].upper


def test_a_probability_of_zero_for_what_happened_is_never_the_best_log_loss():
    values = np.full(50, 1.0) + 0.1 * np.random.default_rng(0).random(50)
    zero = np.where(np.arange(50) == 0, -np.log(np.finfo(float).eps), 0.01)
    best = board_of(entry("a", values), entry("zero", zero), entry("worse", values + 1.0)).best
    assert best["Log loss improvement"].tolist() == [False, True, False]  # ranked: zero, a, worse


def test_one_value_per_class_does_not_win_on_the_reference_file(shared_data):
    """TL-ECE alone would crown it (0.0099 against 0.0222); its Brier score is distinguishably worse."""
    calibration, evaluation = calib.read_pair(shared_data / "cifar10_resnet50.npz")
    methods = {name: named_methods()[name] for name in ("TS", "VS", "TL-HB")}
    constant = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=1))
    leaderboard = compare(calibration, evaluation, {"constant": constant, **methods})
    table = leaderboard.ranking().set_index("Method")
    assert table["TL-ECE"].idxmin() == "constant"
    assert table["TL-ECE"]["constant"] == pytest.approx(0.0099, abs=1e-4)
    assert leaderboard.ranked[-1].method == "constant"
    assert table["Brier improvement, upper"]["constant"] < 0.0
    assert not leaderboard.best["Brier improvement"].iloc[-1]
    assert leaderboard.ranked[0].method == "VS"


def test_markdown_and_latex_print_the_frame(board):
    leaderboard = board[1]
    first = leaderboard.ranking().iloc[0]
    for value in (f"{first['TL-ECE']:.4f}", f"{first['Brier improvement']:+.4f} ("):
        assert value in leaderboard.markdown(4)
        assert value in leaderboard.latex(4)
    lines = leaderboard.markdown().partition("\n\n")[0].splitlines()
    assert len(lines) == 2 + 2 + len(leaderboard.measures)
    assert r"\textbf{" in leaderboard.latex()


def test_names_from_users_are_escaped_in_tables():
    hostile = r"a|b ![x](http://e.vil) \input{x} $y$ & %"
    leaderboard = board_of(Assessment(hostile, failure="x"))
    markdown, latex = leaderboard.markdown(), leaderboard.latex()
    assert r"a\|b \!\[x\]\(http" in markdown
    assert r"\textbackslash{}input\{x\} \$y\$ \& \%" in latex


def test_words_tell_an_interval_of_one_comparison_from_what_all_of_them_show():
    """Of the best of several, its own interval can leave 0 out where all together show nothing."""
    random = np.random.default_rng(0)
    base = random.normal(size=500) ** 2
    changes = random.normal(size=(6, 500))
    changes -= changes.mean(axis=1, keepdims=True)
    changes += np.array([-0.1, 0.0, 0.0, 0.0, 0.0, 1.0])[:, None]  # the first 2.2 standard errors below
    leaderboard = board_of(entry("Base", base), *(entry(f"m{i}", base + c) for i, c in enumerate(changes)))
    assert leaderboard.improvements["m0"]["brier"].lower > 0.0
    told = leaderboard.words()
    assert "(95 % interval of this comparison alone +" in told
    assert leaderboard.best["Brier improvement"].tolist() == [True] * 6 + [False]
    assert "All comparisons taken together, no method is distinguishably better than" in told
    assert "Base" in told.partition("taken together")[2]
