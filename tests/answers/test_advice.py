"""Advice from the calibration rows: literal cross-validation, known populations, bounds of the work."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import calib
from benchmarks.populations import draw_labels, overconfident, scores
from calib.answers import advice
from calib.answers.calibrated import fit_on, vector_losses
from calib.calibrators.catalogue import named_methods
from calib.stats.bootstrap import PairedInterval

FEW = {name: named_methods(None)[name] for name in ("TS", "VS", "TL-Platt", "TL-isotonic", "N-Platt")}


def rows_of(size: float, n_samples: int = 1_500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores of three classes that are too sure by this size, and labels."""
    proba = scores(seed, n_samples, 3)
    return proba, draw_labels(overconfident(proba, size), np.random.default_rng(seed))


def test_calibrated_scores_are_left_as_they_are():
    result = calib.recommend(*rows_of(0.0), methods=FEW)
    assert (result.name, result.calibrator) == ("none", None)
    assert result.reason.startswith("Leave the scores as they are: on 1,500 rows")
    assert result.confirmation.verdict != "better"
    assert set(result.table["method"]) == {"none", *FEW}


def test_overconfident_scores_get_the_temperature():
    """True probabilities are p^(1 / 1.6), normalised: temperature scaling with T = 1.6 and nothing else."""
    proba, labels = rows_of(0.6, 4_000)
    result = calib.recommend(proba, labels, methods=FEW)
    assert result.name == "TS"
    assert result.calibrator.temperature_ == pytest.approx(1.6, abs=0.15)
    row = result.table.set_index("method").loc["TS"]
    assert min(row["brier_lower"], row["log_loss_lower"]) > 0.0
    found = result.confirmation
    assert (found.n_samples, found.verdict) == (4_000, "better")
    assert found.words("the choice", "the choice and the fit") in result.reason
    again = calib.recommend(calib.Predictions(proba), labels, methods=FEW, random_state=0)
    assert (again.name, again.reason) == (result.name, result.reason)


@pytest.mark.parametrize(("size", "verdict"), [(0.6, "better"), (0.0, "worse")])
def test_other_rows_confirm_the_choice_or_decide_alone(size, verdict):
    """T = 1.6 repairs rows that are too sure by 0.6 and harms calibrated rows."""
    proba, labels = rows_of(0.6, 4_000)
    others, truth = rows_of(size, 4_000, seed=1)
    result = calib.recommend(proba, labels, methods={"TS": FEW["TS"]}, confirm=(others, truth))
    alone = calib.recommend(proba, labels, methods={"TS": FEW["TS"]})
    pd.testing.assert_frame_equal(result.table, alone.table)
    after = alone.calibrator.predict_proba(others)
    found, inside = result.confirmation, alone.confirmation
    assert (inside.verdict, found.verdict) == ("better", verdict)
    assert result.name == ("TS" if verdict == "better" else "none")
    assert found.n_samples == (8_000 if verdict == "better" else 4_000)
    for metric in ("brier", "log_loss"):
        expected = calib.paired_interval(truth, others, after, metric=metric, level=0.975)
        change, own = getattr(found, metric), getattr(inside, metric)
        if verdict == "worse":
            assert (change.lower, change.upper) == pytest.approx((expected.lower, expected.upper))
            continue
        assert change.difference == pytest.approx((own.difference + expected.difference) / 2)
        below = np.hypot(own.difference - own.lower, expected.difference - expected.lower) / 2
        assert change.difference - change.lower == pytest.approx(below)


def test_the_effect_of_each_fold_is_the_effect_of_the_choice_on_the_other_folds():
    proba, labels = rows_of(0.3, 300)
    found = calib.recommend(proba, labels, methods=FEW).confirmation
    fold = advice.stratified_folds(labels, 5, 0)
    rows = calib.Predictions(proba, labels)
    losses = {name: np.zeros((2, 300)) for name in FEW}
    numbers = {}
    for name, out in ((name, fold == number) for name in FEW for number in range(5)):
        fitted = fit_on(clone(FEW[name]), rows.take(~out))
        numbers[name] = advice.fitted_numbers(fitted)
        scored = calib.calibrated_scores(fitted, rows.take(out))
        losses[name][:, out] = list(vector_losses(scored, rows.take(out)).values())
    crossed = np.zeros(300)
    for out in (fold == number for number in range(5)):
        excess = {name: 0.0 for name in FEW}
        for score in range(2):
            lowest = min(FEW, key=lambda name: losses[name][score, ~out].mean())  # noqa: B023
            for name in FEW:
                away = (losses[name] - losses[lowest])[score, ~out]
                excess[name] += away.mean() / max(away.std(ddof=1), 1e-99) * np.sqrt(len(away)) / 2
        close = [name for name in FEW if excess[name] <= max(1.0, *[min(excess.values())])]
        choice = min(close, key=lambda name: (numbers[name], excess[name]))  # noqa: B023
        crossed[out] = losses[choice][0, out]
    assert found.brier.estimate_b == pytest.approx(crossed.mean())


def test_log_loss_alone_can_decide():
    """4 % of the sure rows are wrong: at 0.9999 each costs 9.2 nats, and hardly more squares than at 0.96."""
    random = np.random.default_rng(0)
    label = random.integers(0, 3, 1_200)
    confidence = np.where(random.random(1_200) < 0.7, 0.9999, 0.6)
    wrong = random.random(1_200) < np.where(confidence > 0.9, 0.04, 0.4)
    proba = np.tile((1.0 - confidence)[:, None] / 2.0, 3)
    proba[np.arange(1_200), label] = confidence
    result = calib.recommend(proba, (label + wrong) % 3, methods=FEW)
    row = result.table.set_index("method").loc[result.name]
    assert result.name != "none"
    assert row["log_loss_lower"] > 0.0 > row["brier_lower"]
    assert "log loss" in result.reason


def test_what_one_score_gains_the_other_must_not_lose():
    """94 % of the predictions at 0.6 are right: 0.999999 has fewer squares, and 13.8 nats for a wrong row."""
    random = np.random.default_rng(0)
    label = random.integers(0, 3, 2_000)
    proba = np.full((2_000, 3), 0.2)
    proba[np.arange(2_000), label] = 0.6

    class Sharp(calib.TemperatureScaling):
        def _proba(self, matrix):
            return np.where(matrix == matrix.max(axis=1, keepdims=True), 0.999999, 5e-7)

    labels = (label + (random.random(2_000) < 0.06)) % 3
    result = calib.recommend(proba, labels, methods={"sharp": Sharp()})
    row = result.table.set_index("method").loc["sharp"]
    assert row["brier_lower"] > 0.0 > row["log_loss_upper"]
    assert result.name == "none"


def test_overconfidence_of_450_rows_is_repaired():
    """The gap of 12 points is beyond doubt, and so is the repair."""
    names = []
    for seed in range(5):
        proba, labels = rows_of(0.8, 900, seed)
        names.append(calib.recommend(proba[:450], labels[:450]).name)
    assert names.count("none") == 0


def test_slow_candidates_that_the_first_fold_rules_out_do_not_change_the_choice(monkeypatch):
    proba, labels = rows_of(0.6, 800)
    quick = calib.recommend(proba, labels)
    monkeypatch.setattr(advice, "RULED_OUT", np.inf)
    whole = calib.recommend(proba, labels)
    assert whole.ruled_out == {}
    assert quick.name == whole.name
    assert set(quick.tried) == set(whole.tried)
    assert "TS" not in quick.ruled_out
    assert quick.ruled_out


def test_scores_are_those_of_rows_left_out_of_the_fit():
    """A calibrator that remembers its rows is judged on rows it has not seen."""
    proba, labels = rows_of(0.3, 200)

    class Remembering(calib.TemperatureScaling):
        def fit(self, proba, y):
            self.seen = {row.tobytes() for row in proba.proba}
            return super().fit(proba, y)

        def _proba(self, matrix):
            assert not any(row.tobytes() in self.seen for row in matrix)
            return super()._proba(matrix)

    seen = calib.recommend(proba, labels, methods={"TS": Remembering()}).table.set_index("method")
    assert seen.loc["none", "brier"] == pytest.approx(calib.brier_score(labels, proba))
    assert seen.loc["none", "log_loss"] == pytest.approx(calib.log_loss(labels, proba))


def test_every_candidate_of_the_catalogue_gives_probabilities_and_is_tried():
    proba, labels = rows_of(0.5, 250)
    result = calib.recommend(proba, labels)
    tried = {"none", *result.tried, *result.left_out}
    unfit = {name for name in named_methods(None) if name.startswith("CW-") or "grid" in name}
    assert tried == {"none", *named_methods(None)} - unfit
    assert np.isfinite(result.table.drop(columns="method")).all(axis=None)
    assert result.table["brier"].is_monotonic_increasing
    assert json.dumps(result.table.to_dict("records"))


def test_work_is_bounded_and_says_what_was_left_out(monkeypatch):
    proba, labels = rows_of(0.5, 60)
    dirichlet = {"DS": calib.DirichletScaling(), "TS": calib.TemperatureScaling()}
    wide = np.random.default_rng(0).dirichlet(np.ones(8), 60)
    result = calib.recommend(wide, np.arange(60) % 8, methods=dirichlet)
    assert result.left_out == {"DS": "it has 72 parameters for 48 rows of a fold"}
    monkeypatch.setattr(advice, "MOST_SCORES", 100)
    result = calib.recommend(proba, labels, methods=FEW)
    assert set(result.left_out) == {"VS", "N-Platt"}
    assert "60 x 3 scores would take too long" in result.left_out["VS"]
    monkeypatch.setattr(advice, "MOST_TRIED", 200)
    assert "60 of the 120 calibration rows" in calib.recommend(*rows_of(0.5, 120), methods=FEW).reason


def test_few_wrong_rows_give_no_recommendation():
    """The model is far too modest; 9 wrong rows do not tell that, and 30 of one cluster neither."""
    random = np.random.default_rng(0)
    label, wrong = random.integers(0, 3, 400), np.zeros(400, dtype=bool)
    wrong[:9] = True
    rest = random.uniform(0.15, 0.25, 400)
    proba = np.tile(rest[:, None], 3)
    proba[np.arange(400), label] = 1.0 - 2.0 * rest
    truth = np.where(wrong, (label + 1) % 3, label)
    few = calib.recommend(proba, truth, methods=FEW)
    assert (few.name, few.calibrator) == ("none", None)
    assert few.reason.startswith("No calibrator can be recommended: 9 of 400 calibration rows are wrong")
    assert few.confirmation is None
    wrong[9:30] = True
    truth = np.where(wrong, (label + 1) % 3, label)
    assert calib.recommend(proba, truth, methods=FEW).name != "none"
    item = calib.recommend(proba, truth, methods=FEW, cluster=np.where(wrong, 0, np.arange(400)))
    assert item.name == "none"


def test_copies_are_one_row():
    """The improvement's standard error is that of the 120 rows, not of 600."""
    proba, labels = rows_of(0.5, 120)
    copied = np.repeat(proba, 5, axis=0), np.repeat(labels, 5)
    alone, five = (calib.recommend(*rows, methods={"TS": FEW["TS"]}) for rows in ((proba, labels), copied))
    widths = [float((item.table["brier_upper"] - item.table["brier_lower"]).max()) for item in (alone, five)]
    assert widths[1] == pytest.approx(widths[0], rel=0.2)  # folds differ


def test_data_that_allow_no_advice_are_refused():
    proba, labels = rows_of(0.5, 40)
    with pytest.raises(calib.InputError, match="at least 50 calibration rows; got 40"):
        calib.recommend(proba, labels)


def test_completed_vectors_change_log_loss_as_the_event_does():
    """The shares of the other classes cancel: base less method is the same for vector and event."""
    proba, labels = rows_of(0.6, 300)
    top = calib.MulticlassToBinary(calib.PlattScaling()).fit(proba, labels).predict_top(proba)
    base = calib.Predictions(proba).top
    before, after = calib.Predictions(proba, labels), top.with_labels(labels)
    vectors = vector_losses(before, before)["log_loss"] - vector_losses(after, before)["log_loss"]
    right = top.label == labels
    event = np.log(np.where(right, top.confidence, 1 - top.confidence))
    event -= np.log(np.where(right, base.confidence, 1 - base.confidence))
    np.testing.assert_allclose(vectors, event, atol=1e-9)


def test_fitted_numbers_count_what_was_learned():
    proba, labels = rows_of(0.6, 300)
    fit = {name: item.fit(proba, labels) for name, item in FEW.items()}
    counts = {name: advice.fitted_numbers(item) for name, item in fit.items()}
    knots = sum(2 * len(item.curve_.knots) for item in fit["TL-isotonic"].calibrators_)
    assert counts == {"TS": 1, "VS": 4, "TL-Platt": 6, "TL-isotonic": knots, "N-Platt": 6}
    assert advice.fitted_numbers(calib.HistogramBinning(n_bins=3).fit(proba[:, 0], labels == 0)) == 5


def literal_brier(proba: np.ndarray, labels: np.ndarray, k: int, random_state: int) -> np.ndarray:
    """Held-out squared errors of confidence binning with k points per bin, two divisions into five folds."""
    order = np.argsort(proba.max(axis=1), kind="stable")
    score, right = proba.max(axis=1)[order], (proba.argmax(axis=1) == labels)[order].astype(float)
    random = np.random.default_rng(random_state)
    random.permutation(1)  # the order of the one problem
    total = np.zeros(len(score))
    for _ in range(2):
        fold = random.permutation(len(score)) % 5
        for number in range(5):
            rest = fold != number
            binning = calib.HistogramBinning(points_per_bin=k).fit(score[rest], right[rest])
            total[~rest] += (binning.predict(score[~rest]) - right[~rest]) ** 2 / 2
    return total


def test_choice_of_k_is_literal_cross_validation():
    proba, labels = rows_of(0.6, 400)
    choice = calib.choose_points_per_bin(proba, labels, notion="confidence", candidates=(10, 40, 100))
    errors = np.array([literal_brier(proba, labels, k, 0) for k in (10, 40, 100)])
    np.testing.assert_allclose(choice.brier, errors.mean(axis=1))
    lowest = errors.mean(axis=1).argmin()
    spread = (errors - errors[lowest]).std(axis=1, ddof=1) / 20
    np.testing.assert_allclose(choice.standard_error, spread)
    within = [k for k, mean, se in zip((10, 40, 100), errors.mean(axis=1), spread, strict=True)
              if mean <= errors.mean(axis=1)[lowest] + se]  # fmt: skip
    assert choice.chosen == max(within)
    assert choice.best == (10, 40, 100)[lowest]
    top = calib.Predictions(proba).top
    assert choice.base_brier == pytest.approx(calib.brier_score(labels, top))
    assert f"k = {choice.best} has the lowest" in choice.words()


@pytest.mark.parametrize("notion", ["top-label", "class-wise", "top-k-label", "top-k-confidence"])
def test_choice_of_k_for_every_notion(notion):
    proba, labels = rows_of(0.6, 300)
    top_k = 2 if notion.startswith("top-k") else None
    choice = calib.choose_points_per_bin(proba, labels, notion=notion, top_k=top_k)
    assert choice.chosen in choice.points_per_bin
    assert choice.best <= choice.chosen
    assert choice.frame()["chosen"].sum() == 1
    assert choice.n_tried == choice.n_problems


def test_choice_of_k_keeps_clusters_together_in_folds():
    """Rows of a cluster have about one confidence, and one outcome: folds that divide it know the outcome."""
    random = np.random.default_rng(0)
    cluster = np.repeat(np.arange(80), 10)
    confidence = random.uniform(0.5, 0.999, 80)[cluster] + 1e-6 * random.random(800)
    proba = np.column_stack([confidence, 1.0 - confidence])
    labels = (random.random(80) > 0.6)[cluster].astype(int)
    options = {"notion": "confidence", "candidates": (5, 10, 20)}
    given = calib.choose_points_per_bin(proba, labels, cluster=cluster, **options)
    carried = calib.choose_points_per_bin(
        calib.Predictions(proba, labels, cluster=cluster), labels, **options
    )
    np.testing.assert_array_equal(given.brier, carried.brier)
    plain = calib.choose_points_per_bin(calib.Predictions(proba, labels), labels, cluster=cluster, **options)
    np.testing.assert_array_equal(given.brier, plain.brier)
    column = calib.Predictions(proba, labels, metadata=pd.DataFrame({"patient": cluster.astype(str)}))
    np.testing.assert_array_equal(given.brier, calib.choose_points_per_bin(column, labels, **options).brier)
    divided = calib.choose_points_per_bin(calib.Predictions(proba, labels).independent(), **options)
    assert divided.brier[0] < 0.25
    assert given.brier[0] > 0.4


def test_k_that_most_rows_cannot_fill_is_not_tried(monkeypatch):
    proba, labels = rows_of(0.6, 300)
    tried = calib.choose_points_per_bin(proba, labels).points_per_bin
    sizes = np.bincount(proba.argmax(axis=1)) * 0.8
    assert all(sizes[sizes >= k].sum() >= 0.9 * sizes.sum() for k in tried)
    assert calib.choose_points_per_bin(proba, labels, candidates=[500]).chosen == 500
    monkeypatch.setattr(advice, "MOST_PAIRS", 250)
    choice = calib.choose_points_per_bin(proba, labels, notion="class-wise")
    assert (choice.n_tried, choice.n_problems) == (1, 3)
    assert "1 of 3 binary problems drawn at random" in choice.words()
    with pytest.raises(calib.InputError, match="at least one number"):
        calib.choose_points_per_bin(proba, labels, candidates=[])


def test_candidates_are_tried_on_a_sample_of_many_rows(monkeypatch):
    """What is chosen is fitted on all rows."""
    proba, labels = rows_of(0.6, 4_000)
    assert calib.recommend(proba, labels, methods={"TS": FEW["TS"]}).chosen.count("the 4,000")
    monkeypatch.setattr(advice, "MOST_ROWS", 1_000)
    result = calib.recommend(proba, labels, methods={"TS": FEW["TS"]})
    assert (result.n_tried, result.n_samples) == (1_000, 4_000)
    assert "1,000 of the 4,000 calibration rows, drawn at random" in result.chosen
    assert "1,000 of the 4,000 calibration rows" in result.reason
    whole = calib.TemperatureScaling().fit(proba, labels)
    assert result.calibrator.temperature_ == whole.temperature_


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_score_whose_interval_holds_zero_is_not_said_to_change(sign):
    unclear = PairedInterval("brier", 0.3, 0.3 + 0.002 * sign, 0.002 * sign, -0.005, 0.005, 0.95)
    clear = PairedInterval("log_loss", 0.7, 0.69, -0.01, -0.02, -0.001, 0.95)
    said = advice.Confirmation(900, unclear, clear, 0.95).words()
    verb = "lower" if sign < 0.0 else "raise"
    assert f"may {verb} the Brier score by 0.0020" in said
    assert "lowers the log loss by 0.0100" in said
