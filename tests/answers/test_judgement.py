"""Judges: rates and intervals by hand, what labelled rows were chosen by, what may pass and what to label."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.metrics import cohen_kappa_score

from calib import InputError, TopLabelPrediction, decide, judge
from calib.answers.gate import gate_of_judge
from calib.evidence import judged_rows
from tests.figures import accepted

VERDICT = np.array(["pass"] * 800 + ["fail"] * 200, dtype=object)


def labels(passes: int, of_passes: int, fails: int, of_fails: int) -> np.ndarray:
    """Label the first rows of each verdict; `passes` and `fails` of them agree."""
    human = np.full(1000, None, dtype=object)
    human[:of_passes] = ["pass"] * passes + ["fail"] * (of_passes - passes)
    human[800 : 800 + of_fails] = ["fail"] * fails + ["pass"] * (of_fails - fails)
    return human


def test_rate_and_interval_by_hand():
    table = judge(VERDICT, labels(38, 40, 6, 10)).frame().set_index("verdict")
    passes = table.loc["pass"]
    cells = np.array([38 / 40, 4 / 10])
    share = np.array([0.8, 0.2])
    rate = share @ cells
    assert passes.rate == pytest.approx(rate)
    assert (passes.judge_rate, passes.labelled_rate, passes.n_labels) == (0.8, 42 / 50, 40)
    low = beta.ppf(0.025, [38.5, 4.5], [2.5, 6.5])
    high = beta.ppf(0.975, [38.5, 4.5], [2.5, 6.5])
    sampling = 1.959964**2 * (share @ (cells - rate) ** 2) / 1000
    assert passes.lower == pytest.approx(rate - np.sqrt(share**2 @ (cells - low) ** 2 + sampling), abs=1e-6)
    assert passes.upper == pytest.approx(rate + np.sqrt(share**2 @ (cells - high) ** 2 + sampling), abs=1e-6)
    assert table.agreement.tolist() == pytest.approx([38 / 40, 6 / 10])
    assert table.agreement_lower["pass"] == pytest.approx(low[0])
    assert table.rate.sum() == pytest.approx(1.0)


def test_a_judge_labelled_in_all_rows_has_the_kappa_of_scikit_learn():
    random = np.random.default_rng(0)
    verdict, human = random.choice(["a", "b", "c"], (2, 500), p=[0.6, 0.3, 0.1])
    human[:300] = verdict[:300]
    found = judge(verdict, human)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(verdict, human))
    assert found.agreement.value == pytest.approx(np.mean(verdict == human))
    either = np.array([(np.mean(verdict == name) + np.mean(human == name)) / 2 for name in "abc"])
    chance = (either * (1 - either)).sum() / 2  # Gwet (2008)
    assert found.ac1.value == pytest.approx((found.agreement.value - chance) / (1 - chance))
    for number in (found.kappa, found.ac1, found.agreement):
        assert number.lower < number.value < number.upper


def test_a_verdict_that_nobody_labelled_can_be_anything():
    human = labels(38, 40, 0, 0)
    passes = judge(VERDICT, human).frame().iloc[0]
    certain = judge(VERDICT[:800], human[:800]).frame().iloc[0]
    assert passes.lower == pytest.approx(0.8 * certain.lower, abs=0.01)
    assert passes.upper == pytest.approx(0.8 * certain.upper + 0.2, abs=0.01)


def test_without_labels_there_is_a_plan_and_no_rate():
    found = judge(VERDICT, np.full(1000, None))
    assert np.isnan(found.frame().rate).all()
    assert (found.frame().lower.tolist(), found.frame().upper.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert len(found.next_rows(50).rows) == 50
    assert found.rows_needed(0.1) > 200
    assert found.passing().rule is None


def test_rows_chosen_by_something_unknown_have_no_corrected_rate():
    found = judge(VERDICT, labels(38, 40, 6, 10), chosen_by="otherwise")
    assert found.frame().rate.isna().all()
    assert found.passing().share == 0.0
    assert found.cells.agreement.tolist() == pytest.approx([0.95, 0.6])
    assert (found.cells.lower.tolist(), found.cells.upper.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    unlabelled = judge(VERDICT, [None] * len(VERDICT))
    plan, same = found.next_rows(100), unlabelled.next_rows(100)
    assert (plan.width, plan.n_next.tolist()) == (same.width, same.n_next.tolist())
    assert plan.width_after == pytest.approx(same.width_after)
    assert found.rows_needed(0.1) == unlabelled.rows_needed(0.1)


def test_labels_of_one_cluster_tell_nothing_about_others():
    found = judge(VERDICT, labels(38, 40, 6, 10), cluster=np.zeros(len(VERDICT)))
    assert (found.agreement.lower, found.agreement.upper) == (0.0, 1.0)


def test_words_are_compared_without_case_and_numbers_without_decimals():
    human = labels(38, 40, 6, 10)
    loud = np.array([None if value is None else f" {value.upper()} " for value in human], dtype=object)
    assert judge(VERDICT, loud).frame().equals(judge(VERDICT, human).frame())
    ones = judge(
        (VERDICT == "pass").astype(int), [np.nan if v is None else float(v == "pass") for v in human]
    )
    assert ones.frame().rate.tolist() == judge(VERDICT, human).frame().rate.tolist()[::-1]
    assert ones.main == "1"


def test_several_labels_of_a_row_are_votes():
    human = labels(38, 40, 6, 10)
    both = np.stack([human, human], axis=1)
    assert judge(VERDICT, both).frame().equals(judge(VERDICT, human).frame())
    both[0, 1] = "fail"
    assert judge(VERDICT, both).frame().agreement[0] == pytest.approx(37.5 / 40)


def test_weights_are_relative_to_a_cell():
    human, weight = labels(38, 40, 6, 10), np.full(1000, np.nan)
    weight[:40], weight[800:810] = 5.0, 0.1
    found = judge(VERDICT, human, weight=weight)
    assert found.chosen_by == "weight"
    assert found.frame().rate.tolist() == pytest.approx(judge(VERDICT, human).frame().rate.tolist())
    weight[:40:2] = 50.0
    assert judge(VERDICT, human, weight=weight).frame().lower[0] < found.frame().lower[0]


def test_labels_of_equal_rows_of_a_cluster_count_once():
    random = np.random.default_rng(1)
    verdict = random.choice(["pass", "fail"], 300)
    human = np.where(random.random(300) < 0.8, verdict, "fail").astype(object)
    human[100:] = None
    single = judge(verdict, human).frame().iloc[0]
    copies = [np.repeat(each, 10) for each in (verdict, human, np.arange(300))]
    pooled = judge(*copies[:2], cluster=copies[2]).frame().iloc[0]
    naive = judge(*copies[:2]).frame().iloc[0]
    assert pooled.upper - pooled.lower == pytest.approx(single.upper - single.lower, rel=0.1)
    assert naive.upper - naive.lower < 0.5 * (single.upper - single.lower)


def population(n: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw verdicts, truths, confidences and rows to label at random."""
    random = np.random.default_rng(seed)
    truth = np.where(random.random(n) < 0.7, "pass", "fail").astype(object)
    confidence = random.uniform(0.5, 1.0, n)
    other = np.where(truth == "pass", "fail", "pass")
    return np.where(random.random(n) < confidence, truth, other), truth, confidence, random.permutation(n)[:m]


def given(truth: np.ndarray, rows: np.ndarray) -> np.ndarray:
    human = np.full(len(truth), None, dtype=object)
    human[rows] = truth[rows]
    return human


def test_further_labels_divide_cells_and_move_none():
    verdict, truth, confidence, rows = population(3000, 1000)
    few = judge(verdict, given(truth, rows[:200]), confidence)
    many = judge(verdict, given(truth, rows), confidence)
    assert len(many.cells.share) > len(few.cells.share) > 2
    assert len(np.unique(many.rows.cell)) == len(np.unique(many.rows.cell * 1000 + few.rows.cell))
    least = judged_rows.LABELS_PER_CELL
    assert (many.cells.n_labels >= least).all()


def test_what_labelled_rows_were_chosen_by_is_found():
    verdict, truth, confidence, rows = population(3000, 300)
    assert judge(verdict, given(truth, rows), confidence).chosen_by == "random"
    by_verdict = np.concatenate(
        [np.flatnonzero(verdict == "fail")[:200], np.flatnonzero(verdict == "pass")[:100]]
    )
    assert judge(verdict, given(truth, by_verdict), confidence, chosen_by="random").chosen_by == "verdict"
    doubtful = np.flatnonzero(confidence < 0.6)
    found = judge(verdict, given(truth, doubtful), confidence)
    assert found.chosen_by == "confidence"
    rate = found.frame().iloc[0]
    assert rate.upper - rate.lower > 0.6, "four fifths of the rows are not labelled"
    assert found.passing(0.5).rule is None


def test_a_plan_names_rows_of_its_cells():
    verdict, truth, confidence, rows = population(3000, 200)
    found = judge(verdict, given(truth, rows), confidence)
    plan = found.next_rows(100)
    assert (len(plan.rows), plan.n_next.sum()) == (100, 100)
    assert not found.rows.labelled[plan.rows].any()
    assert np.bincount(found.rows.cell[plan.rows], minlength=len(plan.cell)).tolist() == plan.n_next.tolist()
    assert plan.width_after < plan.width
    needed = found.rows_needed(0.06)
    assert found.next_rows(needed).width_after <= 0.06 < found.next_rows(needed - 5).width_after
    more = judge(verdict, given(truth, np.append(rows, found.next_rows(needed).rows)), confidence).frame()
    assert more.upper[0] - more.lower[0] == pytest.approx(0.06, abs=0.015)
    assert len(found.next_rows(10**6).rows) == 2800
    assert found.rows_needed(0.001) is None


def test_what_may_pass_is_what_decide_promises():
    verdict, truth, confidence, rows = population(4000, 2000)
    passing = judge(verdict, given(truth, rows), confidence).passing(0.85)
    names = ("fail", "pass")
    labelled = TopLabelPrediction(
        (verdict[rows] == "pass").astype(int), confidence[rows], (truth[rows] == "pass").astype(int), names
    )
    rule = decide(labelled, accuracy=0.85, by="class", promise="each")
    assert [passing.thresholds[name] for name in names] == rule.thresholds.tolist()
    least = np.where(verdict == "pass", rule.thresholds[1], rule.thresholds[0])
    assert passing.accepted.tolist() == (confidence >= least).tolist()
    assert passing.share == passing.accepted.mean() > 0.2


def test_labels_that_are_too_few_for_a_promise_say_how_many_it_takes():
    _, _, _, rows = population(4000, 2000)
    verdict, truth = np.full(4000, "pass"), np.where(np.arange(4000) % 20 == 0, "fail", "pass")
    few = judge(verdict, given(truth, rows[:60]))
    labelled = few.rows.labelled_rows().with_cluster(np.arange(60))
    needed = decide(labelled, accuracy=0.9, by="class", promise="each").needed
    assert 60 < needed < 600
    assert f"at least {needed:,} labels" in few.passing(0.9).sentence
    assert judge(verdict, given(truth, rows[:600])).passing(0.9).share == 1.0
    assert "It takes" not in judge(verdict[:100], given(truth, rows)[:100]).passing(0.97).sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["pass", None], ["pass", None]), "1 of 2 rows"),
        ((["pass", "fail"], ["good", "bad"]), "share no class"),
        ((["pass", "fail"], ["pass"]), "label per row"),
        ((["pass", "fail"], ["pass", None], [0.5]), "one number per row"),
        ((["pass", "fail"], ["pass", None], [0.5, 80.0]), "divide percentages by 100"),
    ],
)
def test_arguments_that_cannot_be_judged(arguments, message):
    with pytest.raises(InputError, match=message):
        judge(*arguments)


@pytest.mark.parametrize(("cut", "message"), [("4", "cut must be a number.*'4'"), (4, "are words")])
def test_a_cut_is_a_number_that_divides_numbers(cut, message):
    with pytest.raises(InputError, match=message):
        judge(["A", "B", "tie"], ["A", None, "tie"], cut=cut)


def test_labels_of_a_model_are_refused():
    with pytest.raises(InputError, match="gpt-4o"):
        judge(["pass", "fail"], ["pass", None], labelled_by=["gpt-4o", None])
    assert judge(["pass", "fail"], ["pass", None], labelled_by=["Mary", "gpt-4o"]).n_labelled == 1
    with pytest.raises(InputError, match="weight must be above 0"):
        judge(["pass", "fail"], ["pass", None], weight=[0, 1])


def test_figure_draws_the_cells():
    verdict, truth, confidence, rows = population(3000, 300)
    found = judge(verdict, given(truth, rows), confidence)
    dots, ticks = accepted(found.plot()).data
    assert list(dots.x) == pytest.approx(found.cells.agreement.tolist())
    assert list(ticks.x) == pytest.approx(found.cells.confidence.tolist())
    assert len(accepted(judge(verdict, given(truth, rows)).plot()).data) == 1
    assert found.plot(backend="matplotlib").axes


def test_a_gate_limits_the_true_rate_of_the_judge():
    """Kept, broken and undecided by the interval; an undecided check says how many labels decide."""
    random = np.random.default_rng(0)
    truth = np.where(random.random(2_000) < 0.8, "pass", "fail")
    verdict = np.where(random.random(2_000) < 0.1, np.where(truth == "pass", "fail", "pass"), truth)
    human = np.where(np.arange(2_000) < 200, truth, None)
    found = judge(verdict, human)
    at = found.rates.verdict.tolist().index("pass")
    low, high = found.rates.lower[at], found.rates.upper[at]
    for limit, answer in ((low - 0.01, "kept"), (high + 0.01, "broken"), (low + 0.005, "undecided")):
        result = gate_of_judge(found, most={}, least={"pass_rate": limit})
        assert result.answer == answer
        assert result.passed == (answer != "broken")
        strict = gate_of_judge(found, most={}, least={"pass_rate": limit}, strict=True)
        assert strict.passed == (answer == "kept")
    assert (result.checks[0].lower, result.checks[0].upper) == (low, high)
    side = found.rates.rate[at] - low  # longer than half of the interval, which keeps its shape
    needed = found.rows_needed((high - low) * (side - 0.005) / side)
    assert f"{needed:,} more labels" in result.sentence
    with pytest.raises(InputError, match="pass_rate alone"):
        gate_of_judge(found, most={"ece": 0.1}, least={})


@pytest.mark.parametrize(
    ("classes", "passing"),
    [
        (("fail", "pass"), "pass"),
        (("unsure", "fail", "Pass"), "Pass"),
        (("0", "1"), "1"),
        (("I", "C", "P"), "C"),
        (("1", "2", "3"), None),
        (("A", "B", "C"), None),
        (("fail",), None),
    ],
)
def test_the_pass_rate_is_about_the_class_that_means_pass(classes, passing):
    verdict = np.repeat(classes, np.arange(len(classes), 0, -1) * 50)  # the first is the most frequent
    found = judge(verdict, verdict)
    assert found.main == (passing or classes[0])
    if passing is None:
        with pytest.raises(InputError, match="one class that means pass"):
            gate_of_judge(found, most={}, least={"pass_rate": 0.5})
    else:
        (check,) = gate_of_judge(found, most={}, least={"pass_rate": 0.5}).checks
        assert check.value == pytest.approx(np.mean(verdict == passing))


def test_repeated_verdicts_give_the_most_frequent_one_and_its_share():
    verdicts = [
        ["pass", "pass", "fail"],
        ["fail", "fail", "fail"],
        ["fail", None, ""],
        ["pass", "pass", "pass"],
    ]
    found = judge(verdicts, ["pass", "fail", None, "pass"])
    assert [found.rows.names[code] for code in found.rows.verdict] == ["pass", "fail", "fail", "pass"]
    np.testing.assert_allclose(found.rows.confidence, [2 / 3, 1, 1, 1])
    with pytest.raises(InputError, match="leave out confidence"):
        judge(verdicts, ["pass"] * 4, [0.5] * 4)
    with pytest.raises(InputError, match="1 of 2 rows have none, the first is row 1"):
        judge([["pass", "pass"], [None, ""]], ["pass", "pass"])


def test_scores_are_cut_and_words_beside_them_are_not():
    scores, people = [5, 4, 3, 1], ["4", "", 2.0, 5]
    assert judge(scores, people, cut=4).rates.judge_rate.tolist() == [0.5, 0.5]
    found = judge(scores, ["pass", None, "fail", "pass"], cut=4)
    assert found.rows.right.tolist() == [1.0, 1.0, 0.0]
    assert found.rows.right.tolist() == judge(scores, people, cut=4).rows.right.tolist()


def test_classes_that_are_numbers_are_in_their_order():
    found = judge([5, 10, 4.0, 5] * 30, ["5", 10, 4, None] * 30)
    assert found.rates.verdict.tolist() == ["4", "5", "10"]
    assert found.rates.n_labels.tolist() == [30, 30, 30]
    assert found.frame().agreement.tolist() == [1.0, 1.0, 1.0]


def test_verdicts_may_be_pairs_with_ties():
    found = judge(["A", "B", "tie", "A"] * 30, ["A", "B", "B", None] * 30)
    assert found.rates.verdict.tolist() == ["A", "B", "tie"]
    assert found.frame().set_index("verdict").agreement["tie"] == 0.0


def test_labels_of_one_half_only_divide_a_cell():
    """40 labels above the middle of the confidence and none below: labelled at random in 1 of 2^40 draws."""
    confidence = np.linspace(0.5, 1.0, 400)
    for labelled, n_cells in ((np.arange(200, 400, 5), 2), (np.arange(0, 400, 10), 1)):
        human = np.full(400, "", dtype=object)
        human[labelled] = "pass"
        assert len(judge(np.full(400, "pass"), human, confidence).cells.n_rows) == n_cells


def test_kappa_of_many_classes_is_not_drawn_towards_0():
    """Of 8 classes and 40 labels; with 1/8 for each class, 3 of 8 intervals contained the truth."""
    random, held = np.random.default_rng(0), 0
    for _ in range(60):
        truth = random.integers(0, 8, 1000)
        verdict = np.where(random.random(1000) < 0.8, truth, random.integers(0, 8, 1000))
        kappa = judge(verdict, np.where(np.arange(1000) < 40, truth.astype(float), np.nan)).kappa
        held += kappa.lower <= 0.8 <= kappa.upper
    assert held >= 54


def test_kappa_without_a_wrong_label_has_an_interval_that_holds_it():
    """Of 8 classes with 5 labels each; half a wrong label for each verdict made the upper end 0.95."""
    verdict = np.tile(np.arange(8), 125)
    found = judge(verdict, np.where(np.arange(1000) < 40, verdict.astype(float), np.nan))
    for number in (found.kappa, found.ac1):
        assert number.value == pytest.approx(1.0)
        assert (number.lower, number.upper) == pytest.approx((0.85, 1.0), abs=0.06)


def test_one_class_has_an_agreement_and_no_kappa():
    found = judge(["pass"] * 200, ["pass"] * 50 + [None] * 150)
    assert found.agreement.lower > 0.9
    assert np.isnan([found.kappa.value, found.ac1.value]).all()


@pytest.mark.parametrize("limit", [0.5, 0.6, 0.9])
def test_a_rate_of_1_in_few_labels_is_not_decided_without_more(limit):
    """The interval of 2 of 2 labels can be narrower than twice the distance of its rate from a limit."""
    found = judge(["pass"] * 300 + ["fail"] * 20, ["pass"] * 2 + [None] * 298 + ["fail"] * 2 + [None] * 18)
    (check,) = gate_of_judge(found, most={}, least={"pass_rate": found.rates.rate[0] * limit}).checks
    assert (check.answer, check.rows_needed > 0) == ("undecided", True)
