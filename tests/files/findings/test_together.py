"""Rows that do not stand alone: what files without a telling word show of it, and what is done about it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib import conclude, examine, read
from calib.data.times import BLOCKS, blocks_of
from calib.evidence.clusters import Dependence
from calib.evidence.rows import as_evidence

GROUPS, EACH = 25, 40
PLACE = np.repeat(np.arange(GROUPS), EACH)


def file(correlation: float = 0.4, **columns: object) -> pd.DataFrame:
    """1,000 rows of a perfect model; the rows of a group of 40 come true together."""
    random = np.random.default_rng(0)
    confidence = random.uniform(0.5, 1.0, len(PLACE)).round(6)
    correct = Dependence(PLACE, correlation).uniform(random) < confidence
    return pd.DataFrame({"confidence": confidence, "correct": correct.astype(int), **columns})


CODES = np.array([f"K-{17 * group % 100}" for group in PLACE])
DAYS = pd.date_range("2024-03-01", periods=GROUPS).strftime("%Y-%m-%d").to_numpy()[PLACE]
HOURS = np.array(
    [
        f"{day}T{row // 2 + 2:02}:{row % 2 * 30:02}"
        for day, row in zip(DAYS, np.tile(np.arange(40), GROUPS), strict=True)
    ]
)


@pytest.mark.parametrize(
    ("name", "values", "column"),
    [
        ("donor", CODES, "donor"),
        ("batch_no", PLACE * 7, "batch_no"),
        ("recorded", HOURS, "recorded=day"),
        ("seconds_time", np.arange(1000.0), "seconds_time=20"),
    ],
)
def test_a_column_whose_rows_are_alike_is_asked_about(name, values, column):
    table = file(**{name: values})
    found = examine(table)["rows_together"]
    assert (found.severity, found.columns) == ("warning", (column,))
    assert read(table).n_clusters is None
    n_clusters = 20 if column == "seconds_time=20" else GROUPS
    assert examine(table).fix("rows_together").rows().n_clusters == n_clusters
    assert read(table, cluster=column).n_clusters == n_clusters


def test_cells_without_a_value_are_left_out_and_counted():
    """Alone, each blank cell would be a further value, and a column of 25 values would have 225."""
    table = file(donor=np.where(np.arange(1000) % 5 == 0, "", CODES))
    suspected = conclude(read(table)).suspected
    assert (suspected.column, suspected.n_blank) == ("donor", 200)
    assert suspected.worth.n_clusters == GROUPS + 200
    assert examine(table)["rows_together"].columns == ("donor",)


@pytest.mark.parametrize("drift", ["step", "slope"])
def test_a_change_in_time_does_not_make_blocks_of_time_alike(drift):
    random = np.random.default_rng(5)
    day, confidence = np.sort(random.integers(0, 120, 4000)), random.uniform(0.3, 0.99, 4000)
    gap = 0.14 * (day >= 60) if drift == "step" else 0.2 * day / 120
    correct = random.random(4000) < confidence - gap
    dates = (np.datetime64("2026-01-01") + day).astype(str)
    table = pd.DataFrame({"confidence": confidence, "correct": correct.astype(int), "scored_at": dates})
    assert "rows_together" not in examine(table).codes


def test_clusters_of_a_name_can_be_undone():
    """A column of ids that repeat is used because of its name; the fix and `independent` undo it."""
    table = file(0.0, image_id=CODES)
    found = examine(table)["clusters_kept"]
    assert (found.severity, found.columns) == ("note", ("image_id",))
    assert as_evidence(read(table)).n_clusters == GROUPS
    undone = examine(table).fix("clusters_kept")
    assert "clusters_kept" not in undone.codes
    for rows in (undone.rows(), read(table).independent()):
        assert as_evidence(rows).n_clusters is conclude(rows).suspected is None


@pytest.mark.parametrize(
    "name", ["patient", "subject", "user", "question", "document", "session_id", "doc_no"]
)
def test_columns_that_name_what_rows_are_about_are_clusters(name):
    assert read(file(0.0, **{name: CODES})).n_clusters == GROUPS
    single = [f"{name} {row}" for row in range(1000)]
    assert read(file(0.0, **{name: single})).n_clusters is None


def test_a_number_by_which_scores_are_off_is_no_cluster():
    """Right less often with age: ages explain what rows of equal age share."""
    random = np.random.default_rng(4)
    age, confidence = random.integers(20, 80, 4000), random.uniform(0.6, 0.9, 4000)
    correct = random.random(4000) < confidence + (50 - age) / 300
    table = pd.DataFrame({"confidence": confidence, "correct": correct.astype(int)})
    assert "rows_together" not in examine(table.assign(age=age)).codes
    assert "rows_together" in examine(table.assign(age=[f"about {years}" for years in age])).codes


def test_questions_that_share_a_score_are_found_without_a_column():
    """Scores that recur as often each, and whose rows are right together; copies would all agree."""
    random = np.random.default_rng(0)
    confidence = random.uniform(0.5, 1.0, GROUPS).round(6)[PLACE]
    correct = Dependence(PLACE, 0.6).uniform(random) < confidence
    table = pd.DataFrame({"confidence": confidence, "correct": correct.astype(int)})
    assert examine(table)["rows_together"].columns == ()
    assert examine(table).fix("rows_together").rows().n_clusters == GROUPS
    assert read(table).n_clusters is as_evidence(correct, confidence).n_clusters is None
    suspected = conclude(correct, confidence).suspected
    assert (suspected.column, suspected.worth.n_clusters) == ("", GROUPS)
    assert "rows_together" not in examine(table.assign(confidence=random.choice(confidence, 1000))).codes


@pytest.mark.parametrize(
    "columns",
    [
        {"note": [f"text {row}" for row in range(1000)]},  # all different
        {"sex": np.tile(["m", "f"], 500)},
        {"fraction": np.repeat(np.random.default_rng(1).random(25), 40)},
        {"donor": CODES, "patient_id": CODES},  # named already
    ],
)
def test_other_columns_are_not_proposed(columns):
    assert "rows_together" not in examine(file(**columns)).codes


def test_a_column_that_the_class_decides_is_not_proposed():
    """36 classes of 12 kinds, and a model that is wrong about one kind: a fact about classes, not rows."""
    random = np.random.default_rng(2)
    predicted = random.integers(0, 36, 3000)
    true = np.where(
        random.random(3000) < np.where(predicted % 12 == 4, 0.2, 0.8), predicted, (predicted + 1) % 36
    )
    table = pd.DataFrame(
        {"predicted": predicted, "confidence": 0.8, "label": true, "kind": [f"s{p % 12}" for p in predicted]}
    )
    assert "rows_together" not in examine(table).codes


def test_copies_without_an_id_count_as_clusters():
    table = pd.concat([file(0.0)] * 4)
    found = examine(table)["rows_copied"]
    assert (found.severity, found.fix) == ("warning", None)
    assert len(found.rows) == pytest.approx(3000, abs=2)  # two different rows of 1,000 may agree by chance
    assert as_evidence(read(table)).n_clusters == pytest.approx(1000, abs=2)
    few = examine(pd.concat([file(0.0), file(0.0).nsmallest(24, "confidence")]))
    assert few["rows_copied"].severity == "note"
    assert len(few["rows_copied"].rows) == pytest.approx(24, abs=2)
    assert few.rows().cluster is None


def test_copies_whose_scores_changed_are_suspected():
    """300 rows of 3 classes, five times each with other digits from the fourth decimal on."""
    random = np.random.default_rng(1)
    proba = random.dirichlet([1.0, 1.0, 1.0], 300)
    labels = (random.random((300, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    changed = np.abs(proba.repeat(5, axis=0) + random.uniform(-2e-4, 2e-4, (1500, 3)))
    changed /= changed.sum(axis=1, keepdims=True)
    report = examine(changed, labels.repeat(5))
    assert "rows_copied" not in report.codes
    assert report.fix("rows_together").predictions().n_clusters == pytest.approx(300, abs=10)
    others = random.dirichlet([1.0, 1.0, 1.0], 1500)
    drawn = (random.random((1500, 1)) > others.cumsum(axis=1)).sum(axis=1)
    assert not {"rows_copied", "rows_together"} & set(examine(others, drawn).codes)


def test_blocks_are_those_of_the_calendar():
    times = ["2024-12-29 23:00", "2024-12-30 00:30", "2025-01-01 00:59", ""]
    assert {block: blocks_of(times, block).tolist() for block in BLOCKS} == {
        "month": ["2024-12", "2024-12", "2025-01", ""],
        "week": ["2024-W52", "2025-W01", "2025-W01", ""],
        "day": ["2024-12-29", "2024-12-30", "2025-01-01", ""],
        "hour": ["2024-12-29T23", "2024-12-30T00", "2025-01-01T00", ""],
    }


@pytest.mark.parametrize("asked", ["day", "recorded=day"])
def test_a_block_of_time_is_named_as_cluster(asked):
    assert read(file(recorded=HOURS), cluster=asked).n_clusters == GROUPS


@pytest.mark.parametrize("above", [0.0, 0.8])
def test_rows_without_labels_are_compared_with_the_others(above):
    table = file().rename(columns={"correct": "label", "confidence": "score"})
    drop = np.random.default_rng(3).random(1000) < 0.5
    labelled = (table["score"] > above) & ~drop
    table["label"] = table["label"].where(labelled)
    found = examine(table)["labels_missing"]
    assert len(found.rows) == (~labelled).sum()
    lowest = table["score"][labelled].min()
    assert (f"{(table['score'] < lowest).sum():,} of them lie below {lowest:.4g}" in found.message) == (
        above > 0
    )
    after = examine(table).effect("labels_missing")
    assert after.lowest == (pytest.approx(table["score"].min()), pytest.approx(lowest))
    assert after.accuracy[0] == after.accuracy[1]
