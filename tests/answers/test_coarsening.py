"""Answers at the finest level that keeps an accuracy: thresholds, hierarchies, and what a file carries."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import (
    CalibratorFileError,
    InputError,
    Predictions,
    TemperatureScaling,
    calibrated_scores,
    coarsen,
    decide,
)
from calib.answers.calibrated import applied_frame
from calib.cli.parser import main
from calib.data.predictions import ConfidencePrediction
from calib.export import scorer
from calib.files.saved import checksum, dumps, loads

NAMES = ("catus", "silvestris", "lupus", "aureus")
TREE = {"species": NAMES, "genus": ("Felis", "Felis", "Canis", "Canis"), "order": ("Carnivora",) * 4}


def drawn(n, seed=0):
    random = np.random.default_rng(seed)
    genus = random.dirichlet([0.3, 0.3], n)
    inside = random.dirichlet([0.7, 0.7], (2, n))
    proba = np.concatenate([genus[:, [k]] * inside[k] for k in range(2)], axis=1)
    y = (proba.cumsum(axis=1) < random.random(n)[:, None]).sum(axis=1).clip(0, 3)
    return Predictions(proba / proba.sum(axis=1, keepdims=True), y, class_names=NAMES)


@pytest.mark.parametrize(("n_rows", "answered"), [(85, 0), (86, 86)])
def test_a_level_answers_from_as_many_right_rows_as_the_exact_bound_needs(n_rows, answered):
    # Two levels and four starts: 0.95 ** n <= 0.1 / 8 from n = 86 on; all rows are right at the genus.
    proba = np.tile([0.55, 0.43, 0.01, 0.01], (n_rows, 1))
    rows = Predictions(proba, np.arange(n_rows) % 2, class_names=NAMES)
    rule = coarsen(rows, tree={name: TREE[name] for name in ("species", "genus")})
    assert rule.n_answered.tolist() == [0, answered]
    assert (rule.guarantee is not None) == bool(answered)


def test_each_level_is_decided_on_the_rows_that_finer_levels_leave():
    rows = drawn(4_000)
    rule = coarsen(rows, tree=TREE, accuracy=0.9)
    left = np.ones(4_000, dtype=bool)
    group = np.arange(4)
    for place, parent in enumerate((group, group // 2, 0 * group)):
        sums = np.stack([rows.proba[:, parent == k].sum(axis=1) for k in range(parent.max() + 1)], axis=1)
        right = parent[rows.labels] == sums.argmax(axis=1)
        score = np.minimum(sums.max(axis=1), 1.0)
        alone = decide(ConfidencePrediction(score[left], right[left]), accuracy=0.9, alpha=0.1 / 3)
        assert rule.thresholds[place] == pytest.approx(alone.thresholds[0], abs=1e-12)
        assert rule.n_answered[place] == alone.effect.n_accepted
        assert rule.n_wrong[place] == alone.effect.n_wrong
        left &= score < alone.thresholds[0]
    assert (rule.n_answered > 0).all()
    found = rule.accept(rows.proba)
    assert np.bincount(found.level, minlength=3).tolist() == rule.n_answered.tolist()
    assert set(found.answer[found.level == 1]) == {"Felis", "Canis"}


def test_tables_in_either_order_and_paths_are_the_same_hierarchy():
    rows = drawn(1_000)
    thresholds = coarsen(rows, tree=TREE).thresholds
    shuffled = pd.DataFrame(TREE)[::-1][["order", "genus", "species"]]
    paths = ["; ".join(names[::-1]) for names in zip(*TREE.values(), strict=True)]
    renamed = Predictions(rows.proba, rows.labels, class_names=paths)
    for rule in (coarsen(rows, tree=shuffled), coarsen(rows, tree=paths), coarsen(renamed)):
        np.testing.assert_array_equal(rule.thresholds, thresholds)
        assert rule.n_groups.tolist() == [4, 2, 1]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (None, "no paths"),
        (["a;b"] * 3, "each of 4 classes; got 3"),
        (["a;b"] * 3 + ["a;b;c"], "has 2, 'a;b;c' has 3"),
        ({**TREE, "species": ("catus",) * 4}, "lacks 'silvestris'"),
        ({"species": NAMES}, "alone"),
        ({"catus": "Felis", "silvestris": "Felis"}, "a column for each level, with as many names"),
        ({**TREE, "genus": TREE["genus"][:2]}, "a column for each level, with as many names"),
        ({"species": NAMES, "order": ("a",) * 4, "genus": TREE["genus"]}, "belongs to several"),
    ],
)
def test_a_tree_that_is_none_is_refused(tree, message):
    with pytest.raises(InputError, match=message):
        coarsen(drawn(200), tree=tree)


def test_equal_names_below_other_names_are_other_groups():
    rows = drawn(500)
    paths = ["Felis;x;1", "Felis;y;2", "Canis;x;3", "Canis;y;4"]
    assert coarsen(rows, tree=paths).n_groups.tolist() == [4, 4, 2]


def test_the_command_writes_levels_that_apply_answers_with(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = drawn(3_000)
    table = pd.DataFrame(rows.proba, columns=NAMES).assign(label=np.array(NAMES)[rows.labels])
    table.to_csv("rows.csv", index=False)
    pd.DataFrame(TREE).to_csv("tree.csv", index=False)
    fitted = TemperatureScaling().fit(drawn(3_000, seed=1))
    (tmp_path / "cal.json").write_bytes(dumps(fitted, class_names=NAMES))
    named = ["--tree", "tree.csv", "--accuracy", "0.9", "--calibrator", "cal.json", "-o", "levels.json"]
    assert main(["coarsen", "rows.csv", *named, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    scores = calibrated_scores(fitted, rows)
    rule = coarsen(scores, tree=TREE, accuracy=0.9)
    assert [level["n_answered"] for level in data["levels"]] == rule.n_answered.tolist()
    assert main(["apply", "levels.json", "rows.csv", "-o", "out.csv"]) == 0
    written = pd.read_csv("out.csv", keep_default_na=False)
    found = rule.accept(scores)
    assert written["answer"].tolist() == ["" if name is None else name for name in found.answer]
    assert written["level"].tolist() == [(*TREE, "")[place] for place in found.level]


def test_rules_in_files_are_applied_to_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, site = drawn(2_000), pd.Series(np.arange(2_000) % 2, name="site")
    fitted = TemperatureScaling().fit(rows)
    scores = calibrated_scores(fitted, rows)
    (tmp_path / "folder").mkdir()
    table = pd.DataFrame(rows.proba, columns=NAMES).assign(site=np.arange(2_000) % 3)
    table.to_parquet("folder/rows.parquet")
    levels, groups = coarsen(scores, tree=TREE, accuracy=0.9), decide(scores, accuracy=0.9, by=site)
    for name, rule in (("levels", levels), ("groups", groups)):
        (tmp_path / f"{name}.json").write_bytes(dumps(rule.carried_by(fitted), class_names=NAMES))
        assert main(["apply", f"{name}.json", "folder", "-o", name]) == 0
    answers = pd.read_parquet("levels")["answer"]
    assert [None if pd.isna(name) else name for name in answers] == levels.accept(scores).answer.tolist()
    assert pd.read_parquet("groups")["accept"].tolist() == groups.accept(scores, table["site"]).tolist()


def test_a_file_keeps_the_levels_and_refuses_others():
    rows = drawn(2_000)
    fitted = TemperatureScaling().fit(rows)
    rule = coarsen(calibrated_scores(fitted, rows), tree=TREE, accuracy=0.99)
    content = dumps(rule.carried_by(fitted))
    loaded = loads(content)
    assert loaded.rule_.tree == tuple(TREE.values())
    np.testing.assert_array_equal(loaded.rule_.thresholds, rule.thresholds)
    assert "answer" in applied_frame(loaded, rows)
    with pytest.raises(InputError, match="groups or levels"):
        scorer(loaded)
    broken = json.loads(content)
    broken["rule"]["tree"][1] = broken["rule"]["tree"][1][:3]
    broken.pop("checksum")
    broken["checksum"] = checksum(broken)
    with pytest.raises(CalibratorFileError, match="tree"):
        loads(json.dumps(broken).encode())
    with pytest.raises(InputError, match="4 classes, the calibrator has 2"):
        rule.carried_by(TemperatureScaling().fit(np.full((100, 2), 0.5), np.arange(100) % 2))


def test_rows_that_may_belong_together_are_promised_with_more_care():
    random = np.random.default_rng(0)
    proba = np.repeat(random.dirichlet([0.3] * 4, 200), 10, axis=0) + 1e-9 * random.random((2_000, 4))
    proba /= proba.sum(axis=1, keepdims=True)
    y = (proba.cumsum(axis=1) < np.repeat(random.random(200), 10)[:, None]).sum(axis=1).clip(0, 3)
    ward = pd.DataFrame({"ward": np.repeat(np.arange(200), 10)})
    rule = coarsen(Predictions(proba, y, class_names=NAMES, metadata=ward), tree=TREE, accuracy=0.8)
    assert rule.dependence == "rows of the same 'ward'"
    assert "may belong together" in rule.sentence
    known = coarsen(Predictions(proba, y, class_names=NAMES, cluster=ward["ward"]), tree=TREE, accuracy=0.8)
    assert known.dependence is None
    assert rule.n_answered[0] == known.n_answered[0]
