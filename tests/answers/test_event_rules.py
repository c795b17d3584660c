"""Thresholds on P(Y = 1): promises against literal loops, and their simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

from benchmarks.events import targets
from benchmarks.simulation import means
from calib import (
    BinaryPrediction,
    InputError,
    PlattScaling,
    Predictions,
    TemperatureScaling,
    decide,
    recommend,
)
from calib.answers import choose_actions
from calib.answers.calibrated import applied_frame
from calib.answers.decision_rules import TESTED
from calib.cli.parser import main
from calib.export.description import describe
from calib.files.saved.document import dumps, loads

RANDOM = np.random.default_rng(0)
P = RANDOM.beta(0.6, 5.0, 4_000)
Y = (RANDOM.random(4_000) < P).astype(int)
EVENTS, OTHERS = P[Y == 1], P[Y == 0]


def test_the_threshold_of_a_sensitivity_is_the_highest_that_passes_an_exact_test():
    """At most m misses of n events: P(Bin(n, 1 - 0.8) <= m) <= 0.1, for all thresholds up to this one."""
    rule = decide(Y, P, sensitivity=0.8)
    passes = [binom.cdf((t > EVENTS).sum(), len(EVENTS), 0.2) <= 0.1 for t in TESTED]
    assert rule.threshold == TESTED[min(np.flatnonzero(passes))]
    assert rule.counts.hits == (rule.threshold <= EVENTS).sum()
    np.testing.assert_array_equal(rule.act(P), rule.threshold <= P)
    assert rule.guarantee is not None
    assert f"{rule.threshold:.6f}" in rule.sentence


def test_the_threshold_of_a_false_positive_rate_is_the_lowest_that_passes():
    rule = decide(Y, P, false_positive_rate=0.1)
    passes = [binom.cdf((t <= OTHERS).sum(), len(OTHERS), 0.1) <= 0.1 for t in TESTED]
    assert rule.threshold == TESTED[np.argmin(passes) - 1]
    assert rule.counts.share("false_positive_rate") == (rule.threshold <= OTHERS).mean()


def test_several_targets_share_alpha_and_hold_at_one_threshold():
    rule = decide(Y, P, sensitivity=0.5, precision=0.2, alpha=0.2)
    table = rule.frame().set_index("target")
    assert table["highest"]["sensitivity"] == decide(Y, P, sensitivity=0.5, alpha=0.1).threshold
    assert table["lowest"]["precision"] == decide(Y, P, precision=0.2, alpha=0.1).threshold
    assert rule.threshold == table["highest"]["sensitivity"]
    none = decide(Y, P, sensitivity=0.95, precision=0.6)
    assert (none.threshold, none.guarantee, none.counts) == (None, None, None)
    assert not none.act(P).any()


def test_bare_scores_are_chances_for_every_target():
    """P(Y = 1) = 0.02 is a confident class 0: of 4,000 rows most pass at an accuracy of 0.9, not none."""
    bare, given = (decide(Y, scores, accuracy=0.9) for scores in (P, BinaryPrediction(P)))
    columns = decide(Y, np.column_stack([1.0 - P, P]), accuracy=0.9)
    assert bare.thresholds.tolist() == given.thresholds.tolist() == columns.thresholds.tolist()
    assert bare.coverage > 0.9
    both = Predictions(np.column_stack([1.0 - P, P]), Y)
    assert decide(both, sensitivity=0.8).threshold == decide(Y, P, sensitivity=0.8).threshold


def test_copies_of_rows_promise_no_more_than_the_rows():
    copies = np.repeat(np.arange(600), 5)
    alone = decide(Y[:600], P[:600], sensitivity=0.8)
    told = decide(Y[:600][copies], P[:600][copies], sensitivity=0.8, cluster=copies)
    assert told.threshold <= alone.threshold + 1e-12
    few = decide(Y, P, sensitivity=0.8, cluster=np.arange(4_000) % 6)
    assert few.guarantee is None
    assert few.unpromised is not None


@pytest.mark.parametrize("wrong", [{"sensitivity": 1.0}, {"sensitivity": 0.9, "accuracy": 0.9}, {}])
def test_targets_that_cannot_be_are_refused(wrong):
    with pytest.raises(InputError):
        decide(Y, P, **wrong)
    with pytest.raises(InputError, match="several classes"):
        decide(Y, np.tile([0.2, 0.3, 0.5], (4_000, 1)), precision=0.5)
    with pytest.raises(InputError, match="all outcomes are equal"):
        decide(np.zeros(4_000, int), P, sensitivity=0.9)


def test_promises_are_missed_in_at_most_alpha_of_draws():
    """Binomial(60, 0.1) is above 12 once in 100."""
    found = means(targets("sensitivity and precision", 1_000, 0.1, 1), 60)
    assert found["missed (up to 10 %)"] <= 12 / 60


def test_each_row_can_have_its_own_costs():
    """Check a row if p times its amount is above 5, the cost of checking."""
    amount = RANDOM.gamma(1.0, 100.0, 4_000)
    costs = np.zeros((4_000, 2, 2))
    costs[:, 1, 0], costs[:, :, 1] = amount, 5.0
    found = choose_actions(Y, P, costs, actions=["leave", "check"])
    np.testing.assert_array_equal(found.action, (P * amount > 5.0).astype(int))
    paid = np.where(found.action == 1, 5.0, amount * Y)
    assert found.cost == pytest.approx(paid.mean())
    assert found.saved == pytest.approx(min(5.0, (amount * Y).mean()) - paid.mean())
    same = choose_actions(Y, P, costs[0])
    spread = choose_actions(Y, P, np.broadcast_to(costs[0], costs.shape))
    assert (same.cost, same.lower, same.saved_upper) == (spread.cost, spread.lower, spread.saved_upper)
    with pytest.raises(InputError, match="4,000 rows"):
        choose_actions(Y, P, costs[:3])


def test_an_update_in_the_large_keeps_the_slope_and_meets_the_targets():
    """sum of expit(log-odds + intercept) is the sum of Platt's targets; few rows prefer its one number."""
    moved = expit(logit(P) - 1.2)
    y = (RANDOM.random(4_000) < moved).astype(int)
    fitted = PlattScaling(fixed_slope=True).fit(P, y)
    targets_sum = y.sum() * (y.sum() + 1) / (y.sum() + 2) + (4_000 - y.sum()) / (4_000 - y.sum() + 2)
    assert fitted.slope_ == 1.0
    assert fitted.intercept_ == pytest.approx(-1.2, abs=0.15)
    assert fitted.predict(P).sum() == pytest.approx(targets_sum)
    loaded = loads(dumps(fitted))
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.predict(P), fitted.predict(P))
    advice = recommend(BinaryPrediction(P[:1_500], y[:1_500]))
    assert "Platt (intercept only)" in advice.tried
    assert advice.name == "Platt (intercept only)"


def test_known_shares_correct_scores_without_a_calibrator(tmp_path, capsys):
    """A model of under-sampled rows, 50 % events, is told of 1 %: odds are multiplied by 1 / 99."""
    share = P.mean()
    balanced = P / (P + (1.0 - P) * share / (1.0 - share))
    pd.DataFrame({"p": balanced}).to_csv(tmp_path / "new.csv", index=False)
    shares = ["--training-shares", "1=0.5", "--target-shares", f"1={float(share)}"]
    apply = ["apply", str(tmp_path / "new.csv"), "--score", "p", *shares, "-o", str(tmp_path / "out.csv")]
    assert main(apply) == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["p(1)"], P, atol=1e-6)
    pd.DataFrame({"p": P}).to_csv(tmp_path / "new.csv", index=False)  # scores of the true shares
    assert main(apply) == 2
    assert "contradict" in capsys.readouterr().err
    assert main(["apply", str(tmp_path / "new.csv"), "-o", str(tmp_path / "out.csv")]) == 2


def test_a_file_carries_the_threshold_of_an_event():
    random = np.random.default_rng(0)
    p = random.random(2_000)
    y = (random.random(2_000) < p).astype(int)
    rule = decide(BinaryPrediction(p, y), sensitivity=0.8)
    platt = PlattScaling().fit(p, y)
    for calibrator in (None, platt):
        loaded = loads(dumps(rule.carried_by(calibrator)))
        found = loaded.rule_
        assert (found.threshold, found.alpha, found.guarantee) == (rule.threshold, 0.1, rule.guarantee)
        table = applied_frame(loaded, BinaryPrediction(p))
        scores = p if calibrator is None else platt.predict(p)
        np.testing.assert_array_equal(table["act"], scores >= rule.threshold)
        with pytest.raises(InputError, match="only a calibrator file"):
            describe(loaded)
    with pytest.raises(InputError, match="for 2 classes, the calibrator has 3"):
        rule.carried_by(TemperatureScaling().fit(np.full((9, 3), 1 / 3), np.arange(9) % 3))
