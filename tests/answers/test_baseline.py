"""Gates against a baseline: on the same rows by id, else on different rows."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from calib import BinaryPrediction, Predictions, read, scale
from calib.answers.gate import gate
from calib.base.exceptions import InputError
from calib.cli.parser import main
from calib.stats.intervals import error_interval


def frame(n=2_000, seed=0, sharpen=1.0):
    """Rows of a calibrated model; `sharpen` is the power that its probabilities are raised to."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(3), n)
    labels = (random.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    proba = proba**sharpen
    columns = dict(zip("abc", (proba / proba.sum(axis=1, keepdims=True)).T, strict=True))
    return pd.DataFrame(
        {"id": [f"r{i}" for i in range(n)], **columns, "label": np.array(list("abc"))[labels]}
    )


def rows(table, tmp_path, name="rows"):
    path = tmp_path / f"{name}.csv"
    table.to_csv(path, index=False)
    return read(path)


def against(now, before, **options):
    return gate(now.labels, now, baseline=before, **options)


def answers(result):
    return {check.metric: check.answer for check in result.checks}


def test_pairs_show_a_change_that_unpaired_rows_do_not(tmp_path):
    """The same rows in another order: accuracy is the same, and only pairs tell that the rest is worse."""
    before, now = frame(), frame(sharpen=1.3).sample(frac=1.0, random_state=0)
    result = against(rows(now, tmp_path), rows(before, tmp_path, "before"))
    assert answers(result) == {"accuracy": "kept", "brier": "broken", "tl_ece": "broken"}
    assert not result.passed
    assert result.checks[0].lower == result.checks[0].upper == 0.0
    assert result.pairing == "compared with the baseline on 2,000 rows paired by id"
    nameless = against(*(rows(item.drop(columns="id"), tmp_path) for item in (now, before)))
    assert answers(nameless)["brier"] == "undecided"
    assert nameless.checks[1].upper - nameless.checks[1].lower > 4 * (
        result.checks[1].upper - result.checks[1].lower
    )


def test_a_model_against_itself_is_kept(tmp_path):
    item = rows(frame(300), tmp_path)
    assert set(answers(against(item, item, strict=True)).values()) == {"kept"}


def test_rows_that_share_half_of_their_ids_are_paired_on_these(tmp_path):
    before, now = frame(300), frame(300, sharpen=3.0)
    shared = against(rows(now[100:], tmp_path), rows(before[:200], tmp_path, "before"))
    assert shared.pairing == "compared with the baseline on 100 rows paired by id"
    fewer = against(rows(now[150:], tmp_path), rows(before[:200], tmp_path, "before"))
    assert "different rows" in fewer.pairing


def test_other_labels_of_the_same_ids_are_refused(tmp_path):
    now = frame(300)
    other = now.assign(label=now["label"].to_numpy()[::-1])
    with pytest.raises(InputError, match="true labels"):
        against(rows(now, tmp_path), rows(other, tmp_path, "before"))


def test_a_baseline_of_another_kind_is_refused_by_both_names():
    vectors = Predictions(np.tile([0.3, 0.7], (30, 1)), np.arange(30) % 2)
    with pytest.raises(InputError, match="a probability for every class and the probability of one of two"):
        against(vectors, BinaryPrediction(vectors.proba[:, 1], vectors.labels))


def test_intervals_on_different_rows_are_made_of_the_two_by_hand(tmp_path):
    """At level 1 - 0.05 / 3, since three numbers are compared: MOVER of scores, Bonferroni of errors."""
    now, before = (rows(frame(400, seed).drop(columns="id"), tmp_path) for seed in (1, 2))
    accuracy, _, error = against(now, before).checks
    ends = [error_interval(item.labels, item, level=1 - 0.05 / 6) for item in (now, before)]
    assert (error.lower, error.upper) == pytest.approx(
        (ends[0].lower - ends[1].upper, ends[0].upper - ends[1].lower)
    )
    right = [int((item.labels == item.label).sum()) for item in (now, before)]
    exact = [binomtest(count, 400).proportion_ci(1 - 0.05 / 3, "exact") for count in right]
    below = np.hypot(right[0] / 400 - exact[0].low, exact[1].high - right[1] / 400)
    assert accuracy.lower == pytest.approx((right[0] - right[1]) / 400 - below)


@pytest.mark.thorough
@pytest.mark.parametrize("paired", [True, False])
def test_models_that_are_no_worse_fail_in_at_most_5_of_100_runs(paired):
    """Equal models whose errors differ by chance alone: a binomial(100, 0.05) is above 12 in 0.15 %."""
    failed = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        chance = random.uniform(0.05, 0.95, 200 if paired else 400)
        y = (random.random(len(chance)) < chance).astype(int)
        noise = random.normal(0.0, 0.05, (2, len(chance)))
        both = [np.clip(chance + each, 0.01, 0.99) for each in noise]
        if not paired:
            both, ys = [both[0][:200], both[1][200:]], [y[:200], y[200:]]
        ids = pd.DataFrame({"id": np.arange(200)})
        now, before = (
            Predictions(
                np.column_stack([1 - h, h]),
                y if paired else ys[place],
                metadata=ids if paired else None,
                columns={"id": "id"},
            )
            for place, h in enumerate(both)
        )
        result = against(now, before)
        assert ("paired" in result.pairing.rsplit(" ", 3)[1]) == paired
        failed += not result.passed
    assert failed <= 12


def test_a_summary_is_a_baseline_for_what_sums_tell(tmp_path):
    frame(2_000, 1).to_parquet(tmp_path / "before.parquet")
    summary = scale.summarize(tmp_path / "before.parquet")
    result = against(rows(frame(2_000, 2, sharpen=3.0), tmp_path), summary)
    assert answers(result)["tl_ece"] == "broken"
    assert set(answers(result)) == {"accuracy", "tl_ece"}


def test_a_baseline_has_no_groups(tmp_path):
    item = rows(frame(30), tmp_path)
    with pytest.raises(InputError, match="groups"):
        against(item, item, groups={"half": np.arange(30) % 2})


def test_command_writes_markdown_and_junit(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    site = np.where(np.arange(2_000) % 2, "<b>|north is broken: *", "so\x01uth")
    frame(sharpen=3.0).assign(site=site).to_parquet("new.csv", index=False)
    frame().to_csv("old.csv", index=False)
    words = ["gate", "new.csv", "--junit", "gate.xml", "--markdown", "gate.md", "--resamples", "0"]
    assert main([*words, "--baseline", "old.csv", "--max", "conf_ece=0.5", "--json"]) == 1
    assert '"baseline"' in capsys.readouterr().out
    text = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert text.startswith("### Calibration gate failed: 2 broken, 2 kept\n")
    suite = ElementTree.parse("gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    assert main([*words, "--max", "conf_ece=0.0001", "--by", "site"]) == 1
    text = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert "\\<b\\>\\|north is broken: \\*" in text
    assert "| measured 0." in text
    assert len(ElementTree.parse("gate.xml").findall("testcase/failure")) == 2
    assert main(["gate", "new.csv", "--max", "conf_ece=0.1", "--markdown", "new.csv"]) == 2
