"""Gates: limits that are kept, broken or undecided."""

from __future__ import annotations

import re
from types import NoneType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest

from benchmarks.populations import at_error, draw_labels, overconfident, scores
from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    InputError,
    Monitor,
    Predictions,
    TopLabelPrediction,
    calibration_by_centre,
    conclude,
    decide,
    over_time,
)
from calib.answers.gate import ANSWERS, GateResult, gate
from calib.cli.commands import GateData
from calib.cli.json_data import as_json
from calib.stats.measures import MEASURES
from calib.testing import assert_calibrated
from tests.populations import dirichlet


def perfect(n: int) -> Predictions:
    """Rows whose outcomes are drawn with the predicted probabilities."""
    random = np.random.default_rng(1)
    h = random.uniform(0.5, 1.0, n)
    return Predictions(np.column_stack([h, 1 - h]), (random.random(n) >= h).astype(int))


def test_few_rows_of_a_perfect_model_leave_a_tight_limit_undecided():
    rows = perfect(100)
    result = gate(rows.labels, rows, most={"tl_ece": 0.01})
    assert result.checks[0].value > 0.01
    assert (result.answer, result.passed) == ("undecided", True)
    assert not gate(rows.labels, rows, most={"tl_ece": 0.01}, strict=True).passed
    said = "passed, as no limit is broken: TL-ECE at most 0.01 is undecided: measured "
    assert result.sentence.startswith(said)
    assert "a perfect model of this size shows" in result.sentence


def test_an_undecided_limit_says_how_many_more_rows_decide_it():
    rows = perfect(300)
    right = float(np.mean(rows.proba.argmax(axis=1) == rows.labels))
    (check,) = gate(rows.labels, rows, least={"accuracy": right - 0.02}).checks
    assert check.answer == "undecided"
    width = right - check.lower
    assert check.rows_needed == pytest.approx(300 * ((width / 0.02) ** 2 - 1.0), abs=1.0)
    assert f"about {check.rows_needed:,} more rows would decide it" in check.sentence
    (check,) = gate(rows.labels, rows, tolerance=5.0).checks
    assert (check.answer, check.rows_needed > 300) == ("undecided", True)
    group = np.repeat(["a", "b", "c"], 100)
    parts = gate(rows.labels, rows, tolerance=5.0, groups={"site": group}).checks
    assert all("more rows of this group would show a gap of 5 points" in part.sentence for part in parts)
    assert gate(rows.labels, rows, least={"accuracy": 0.01}).checks[0].rows_needed is None


def test_limits_far_away_are_kept_or_broken():
    rows = perfect(4_000)
    assert gate(rows.labels, rows, most={"tl_ece": 0.05}, strict=True).answer == "kept"
    wrong = gate(1 - rows.labels, rows, most={"tl_ece": 0.05})
    assert (wrong.answer, wrong.passed) == ("broken", False)
    assert wrong.checks[0].p_value < 0.01


def test_scores_have_intervals_but_no_floor():
    rows = perfect(100)
    result = gate(rows.labels, rows, most={"brier": 0.0}, least={"accuracy": 0.99})
    assert [check.answer for check in result.checks] == ["broken", "broken"]
    assert result.checks[0].p_value is None
    assert result.sentence.startswith("failed: Brier at most 0 is broken")


def test_accuracy_interval_is_clopper_and_pearson():
    rows = perfect(200)
    check = gate(rows.labels, rows, least={"accuracy": 0.5}).checks[0]
    exact = binomtest(round(check.value * 200), 200).proportion_ci(0.95, "exact")
    assert (check.lower, check.upper) == pytest.approx((exact.low, exact.high), abs=1e-12)


@pytest.mark.parametrize("metric", MEASURES)
def test_every_metric_can_be_limited(metric):
    """The answer turns from broken to undecided to kept as the limit passes the ends of the interval."""
    rows: Any = perfect(200)
    if metric in ("ece", "mce", "auc"):
        rows = BinaryPrediction(rows.proba[:, 1], rows.labels)
    ends = gate(rows.labels, rows, most={metric: 0.5}, n_resamples=20).checks[0]
    assert ends.lower < ends.upper
    below, inside, above = ends.lower - 1e-6, (ends.lower + ends.upper) / 2, ends.upper + 1e-6
    for bound, answers in (("most", ANSWERS), ("least", ANSWERS[::-1])):
        for limit, answer in zip((below, inside, above), answers, strict=True):
            assert gate(rows.labels, rows, **{bound: {metric: limit}}, n_resamples=20).answer == answer


@pytest.mark.parametrize("n_samples", [1_000, 3_000])
def test_a_kept_limit_is_seldom_called_broken(n_samples):
    """A true TL-ECE of 0.0204 under a limit of 0.03: broken in at most 5 % of draws."""
    base = scores(1, n_samples, 10)
    floor = at_error(base, overconfident, 0.0).floor()
    population = at_error(base, overconfident, 0.0204 / floor)
    assert population.error(1) == pytest.approx(0.0204, abs=1e-4)
    generator = np.random.default_rng(0)
    answers = []
    for _ in range(100):
        labels = draw_labels(population.truth, generator)
        answers.append(gate(labels, base, most={"tl_ece": 0.03}, n_resamples=0).answer)
    assert answers.count("broken") <= 5


def test_checks_are_plain_and_repeatable():
    rows = perfect(300)
    first = gate(rows.labels, rows, most={"tl_ece": 0.01, "conf_ece": 0.5})
    assert first == gate(rows.labels, rows, most={"tl_ece": 0.01, "conf_ece": 0.5})
    assert {type(value) for check in first.checks for value in vars(check).values()} <= {str, float, NoneType}


def test_wrong_limits_are_refused():
    rows = perfect(50)
    with pytest.raises(InputError, match="at least one limit"):
        gate(rows.labels, rows)
    with pytest.raises(InputError, match="'f1' is not a metric; the metrics are accuracy, auc"):
        gate(rows.labels, rows, most={"f1": 0.1})
    with pytest.raises(InputError, match=r"needs P\(Y = 1\) of one class"):
        gate(rows.labels, rows, most={"ece": 0.1})
    with pytest.raises(InputError, match="finite"):
        gate(rows.labels, rows, most={"tl_ece": np.nan})
    with pytest.raises(InputError, match=r"at most 1 \(divide percentages by 100\); got 5"):
        gate(rows.labels, rows, most={"tl_ece": 5})
    with pytest.raises(InputError, match="class-wise"):
        gate(rows.labels, TopLabelPrediction(rows.label, rows.confidence), most={"cw_ece": 0.1})


def test_groups_are_checked_each_with_its_share_of_the_error():
    """Five groups whose accuracy is exactly at the limit: some is called broken in at most 5 % of draws."""
    random = np.random.default_rng(0)
    groups = {"site": np.repeat(np.arange(5), 60)}
    top = TopLabelPrediction(np.zeros(300, int), np.full(300, 0.9))
    answers: dict[float, list[str]] = {0.95: [], 0.2: []}
    for _ in range(60):
        y = (random.random(300) > 0.9).astype(int)
        for level, given in answers.items():
            if level > 0.5 or len(given) < 5:  # at a level of 0.2 the check can fail, and does
                result = gate(y, top, least={"accuracy": 0.9}, groups=groups, level=level, n_resamples=0)
                given.append(result.answer)
    assert answers[0.95].count("broken") <= binom.ppf(0.99, 60, 0.05)
    assert "broken" in answers[0.2]


def test_a_group_is_checked_as_its_rows_alone():
    rows, site = perfect(600), np.repeat(["a", "b", "b"], 200)
    limits = {"most": {"tl_ece": 0.1, "conf_mce": 0.2}, "least": {"accuracy": 0.5}}
    result = gate(rows.labels, rows, **limits, groups={"site": site}, n_resamples=30)
    for number, name in enumerate(("a", "b")):
        part = np.flatnonzero(site == name)
        alone = gate(rows.labels[part], rows[part], **limits, level=0.975, n_resamples=30)
        for check, other in zip(result.checks[3 * number :], alone.checks, strict=False):
            assert check.group == f"site = {name}"
            assert (check.metric, check.value, check.lower, check.upper, check.n_samples) == (
                other.metric,
                other.value,
                other.lower,
                other.upper,
                len(part),
            )
    assert result.sentence.endswith("of 6 limits in groups are kept")
    with pytest.raises(InputError, match="per row"):
        gate(rows.labels, rows, **limits, groups={"site": site[:10]})
    with pytest.raises(InputError, match="groups holds no column"):
        gate(rows.labels, rows, **limits, groups={})


def test_assertions_of_limits_and_noise():
    rows = perfect(2_000)
    assert_calibrated(rows.labels, rows)
    assert_calibrated(rows.labels, rows, tl_ece=0.1, accuracy=0.5, strict=True)
    with pytest.raises(AssertionError, match="Accuracy at least 0.99 is broken"):
        assert_calibrated(rows.labels, rows, accuracy=0.99)
    with pytest.raises(AssertionError, match="above noise"):
        assert_calibrated(rows.labels, np.square(rows.proba) / np.square(rows.proba).sum(1)[:, None])
    with pytest.raises(InputError, match="not a metric"):
        assert_calibrated(rows.labels, rows, error=0.1)


#: Answer of each check of `one_of_each`.
ONE_OF_EACH = {"accuracy": "kept", "brier": "broken", "tl_ece": "undecided"}


def one_of_each(on: str, **options: Any) -> GateResult:
    """Return checks of which some are kept, some broken and some undecided."""
    if on == "baseline":  # a power of the vectors keeps the accuracy and worsens the Brier score
        ids = {"metadata": pd.DataFrame({"id": np.arange(400)}), "columns": {"id": "id"}}
        before, now = (dirichlet(400, sharpen=power) for power in (1.0, 1.3))
        before, now = (Predictions(rows.proba, rows.labels, **ids) for rows in (before, now))
        return gate(now.labels, now, baseline=before, **options)
    rows = perfect(300)
    limits = {"most": {"tl_ece": 0.01, "brier": 0.0}, "least": {"accuracy": 0.5}}
    groups = {"site": np.repeat(["a", "b"], 150)} if on == "groups" else None
    return gate(rows.labels, rows.proba, **limits, groups=groups, n_resamples=20, **options)


ON = pytest.mark.parametrize("on", ["rows", "groups", "baseline"])
STRICT = pytest.mark.parametrize("strict", [False, True])


@ON
@STRICT
def test_junit_has_a_test_for_each_check_with_its_state(on, strict):
    """Broken is a failure, kept is nothing, undecided is skipped, or a failure if the gate is strict."""
    result = one_of_each(on, strict=strict)
    states = {"broken": ["failure"], "kept": [], "undecided": ["failure" if strict else "skipped"]}
    suite = ElementTree.fromstring(result.junit().encode())
    found = [(case.get("name"), [state.tag for state in case]) for case in suite.findall("testcase")]
    assert found == [(check.name, states[ONE_OF_EACH[check.metric]]) for check in result.checks]
    assert len({name for name, _ in found}) == len(found)
    n = 2 if on == "groups" else 1  # of each answer
    counts = {name: int(suite.get(name, "")) for name in ("tests", "failures", "errors", "skipped")}
    skipped = 0 if strict else n
    assert counts == {"tests": 3 * n, "failures": 2 * n - skipped, "errors": 0, "skipped": skipped}
    for case, check in zip(suite.findall("testcase"), result.checks, strict=True):
        assert [state.get("message") for state in case] == [f"{check.answer}: {check.outcome}" for _ in case]


@ON
@STRICT
def test_markdown_has_a_line_for_each_check_the_worst_first(on, strict):
    result = one_of_each(on, strict=strict)
    title, *lines = result.markdown().splitlines()
    n = 2 if on == "groups" else 1
    assert "failed" in title
    assert re.findall(r"(\d+) (\w+)", title) == [(str(n), answer) for answer in ANSWERS]
    table = [line[2:-2].split(" | ") for line in lines if line.startswith("| ")]
    answers = {
        "broken": "**broken**",
        "undecided": "**undecided**" if strict else "undecided",
        "kept": "kept",
    }
    worst_first = sorted(result.checks, key=lambda check: ANSWERS.index(ONE_OF_EACH[check.metric]))
    assert [answer for answer, _, _ in table[1:]] == [answers[answer] for answer in ANSWERS for _ in range(n)]
    assert [re.sub(r"\\(.)", r"\1", name) for _, name, _ in table[1:]] == [
        check.name for check in worst_first
    ]
    assert [found for _, _, found in table[1:]] == [check.outcome for check in worst_first]


@ON
@STRICT
def test_json_has_the_fields_of_each_check(on, strict):
    result = one_of_each(on, strict=strict)
    data = as_json(GateData("rows.csv", 300, False, result))
    assert (data["passed"], data["answer"], len(data["checks"])) == (False, "broken", len(result.checks))
    more = {"groups": {"group", "n_samples"}, "baseline": {"baseline"}, "rows": set()}[on]
    for item, check in zip(data["checks"], result.checks, strict=True):
        assert item["answer"] == ONE_OF_EACH[item["metric"]]
        assert item["bound"] == ("min" if item["metric"] == "accuracy" else "max")
        assert {name: value for name, value in item.items() if name not in more} == {
            name: getattr(check, name) for name in item if name not in more
        }
        assert set(item) & {"group", "n_samples", "baseline"} == more
    if on == "groups":
        groups = [(item["group"], item["n_samples"]) for item in data["checks"]]
        assert groups == [("site = a", 150)] * 3 + [("site = b", 150)] * 3


@pytest.mark.parametrize(
    ("most", "answer", "passed", "strictly"),
    [
        ({"brier": 1.0}, "kept", True, True),
        ({"brier": 1.0, "tl_ece": 0.01}, "undecided", True, False),
        ({"brier": 0.0, "tl_ece": 0.01}, "broken", False, False),
    ],
)
def test_a_gate_passes_by_its_worst_answer(most, answer, passed, strictly):
    rows = perfect(300)
    for strict, passes in ((False, passed), (True, strictly)):
        result = gate(rows.labels, rows.proba, most=most, strict=strict, n_resamples=0)
        assert (result.answer, result.passed) == (answer, passes)
        assert any(map(result.fails, result.checks)) is not passes
        suite = ElementTree.fromstring(result.junit().encode())
        assert (suite.get("failures") == "0") is passes
        assert ("passed" in result.markdown().partition("\n")[0]) is passes


def test_an_end_of_the_interval_at_the_limit_keeps_it():
    rows = perfect(200)
    for bound, (near, far) in (("most", ("lower", "upper")), ("least", ("upper", "lower"))):
        check = gate(rows.labels, rows.proba, **{bound: {"accuracy": 0.5}}).checks[0]
        for end, answer in ((near, "undecided"), (far, "kept")):
            limits = {bound: {"accuracy": getattr(check, end)}}
            assert gate(rows.labels, rows.proba, **limits).answer == answer


@pytest.mark.parametrize(("tolerance", "answer"), [(5, "broken"), (20, "undecided"), (40, "kept")])
def test_a_tolerance_is_a_limit_of_the_conclusion(tolerance, answer):
    """100 rows of 0.8 of which 60 are right: off by 20 points, 10.3 to 30.3 by Clopper and Pearson."""
    rows = ConfidencePrediction(np.full(100, 0.8), np.arange(100) < 60)
    (check,) = gate(rows, tolerance=tolerance, n_resamples=20).checks
    assert (check.metric, check.answer, check.limit) == ("gap", answer, tolerance)
    found = conclude(rows, n_resamples=20)
    assert (check.lower, check.upper, check.value) == (found.at_least, found.at_most, pytest.approx(20.0))


def test_a_tolerance_is_checked_in_groups_at_their_level():
    rows = ConfidencePrediction(np.full(200, 0.8), np.arange(200) % 10 < 8)
    checks = gate(rows, tolerance=30, n_resamples=20, groups={"site": np.arange(200) % 2}).checks
    assert [(check.group, check.level) for check in checks] == [("site = 0", 0.975), ("site = 1", 0.975)]
    part = ConfidencePrediction(rows.confidence[::2], rows.labels[::2])
    assert checks[0].upper == conclude(part, level=0.975, n_resamples=20).at_most


def test_several_limits_share_the_level_of_the_gate():
    y, p = np.arange(400) % 2, np.tile([0.3, 0.4, 0.6, 0.7], 100)
    options = {"most": {"ece": 0.2, "brier": 0.4}, "least": {"accuracy": 0.1}, "n_resamples": 0}
    assert [check.level for check in gate(y, p, **options).checks] == pytest.approx([1 - 0.05 / 3] * 3)
    within = gate(y, p, **options, groups={"half": y}).checks
    assert [check.level for check in within] == pytest.approx([1 - 0.05 / 6] * 6)
    against = gate(y, p, **options, baseline=BinaryPrediction(p, y)).checks
    levels = [check.level for check in against if check.baseline is None]
    assert levels == pytest.approx([1 - 0.05 / 4] * 3)
    shares = [1 - check.level for check in against if check.baseline is not None]
    assert sum(shares) == pytest.approx(0.05 / 4)


def test_groups_are_named_columns_or_the_predicted_class():
    """Rows of weight 0 belong to no group."""
    rows = perfect(200).with_weights(np.arange(200) % 4 > 0)
    site = pd.DataFrame({"site": np.arange(200) % 2})
    rows = rows.with_metadata(site)
    options: dict[str, Any] = {"most": {"conf_ece": 0.5}, "n_resamples": 0}
    named = gate(rows, **options, groups="site").checks
    assert named == gate(rows, **options, groups=site).checks
    by_class = gate(rows.with_class_names(["a", "b"]), **options, groups="class").checks
    assert [(check.group, check.n_samples) for check in by_class] == [("class = a", 150)]
    with pytest.raises(InputError, match="no further column 'country'"):
        gate(rows, **options, groups="country")


def test_every_question_takes_a_column_by_its_name():
    random = np.random.default_rng(0)
    p, table = random.random(600), pd.DataFrame({"site": np.arange(600) % 6, "day": np.arange(600) // 60})
    rows = BinaryPrediction(p, (random.random(600) < p).astype(int), metadata=table)
    centre = calibration_by_centre(rows, "site").ratio
    np.testing.assert_array_equal(centre, calibration_by_centre(rows, table["site"]).ratio)
    assert over_time(rows, "day").split == over_time(rows, table["day"]).split
    rule, same = (decide(rows, accuracy=0.8, by=by) for by in ("site", table["site"]))
    assert rule.column == same.column == "site"
    monitor, other = Monitor(by="site", notion="confidence"), Monitor(by="site", notion="confidence")
    monitor.update(rows, "day", groups="site")
    assert monitor.units() == other.update(rows, table["day"], groups=table["site"]).units()
