"""Ten files whose truth is known: what each place says about them, as fields."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr, softmax

from calib import Project, conclude, over_time, read, slices
from calib.answers.conclusion import UNKNOWN
from calib.answers.slice_tables import further_groups
from calib.cli.parser import main
from calib.evidence.rows import Rows
from calib.report import ReportInput
from tests.app.running import open_page
from tests.populations import drawn

NAMES = ("cat", "dog", "fox")
Off = Callable[[np.ndarray], np.ndarray]


def classifier(
    n: int, off: Off | None = None, spread: float = 2.0, seed: int = 1, **columns: np.ndarray
) -> pd.DataFrame:
    """Draw a file of three classes; `off` gives by how much the score of each predicted class is too high."""
    random = np.random.default_rng(seed)
    proba = softmax(spread * random.standard_normal((n, 3)), axis=1)
    top = proba.argmax(axis=1)
    away = np.zeros(n) if off is None else off(top)
    others = proba.copy()
    others[np.arange(n), top] = 0.0
    right = random.random(n) < np.clip(proba.max(axis=1) - away, 0.0, 1.0)
    label = np.where(right, top, drawn(others / others.sum(axis=1, keepdims=True), random))
    table = pd.DataFrame({f"p_{name}": proba[:, at].round(6) for at, name in enumerate(NAMES)})
    return table.assign(label=np.array(NAMES)[label], **columns)


def clustered() -> pd.DataFrame:
    """A perfect model of 60 patients with 40 rows each, whose rows are right or wrong together."""
    random, patient = np.random.default_rng(3), np.repeat(np.arange(60), 40)
    proba = softmax(2.0 * random.standard_normal((2_400, 3)), axis=1)
    latent = np.sqrt(0.3) * random.standard_normal(60)[patient] + np.sqrt(0.7) * random.standard_normal(2_400)
    top = proba.argmax(axis=1)
    label = np.where(ndtr(latent) < proba.max(axis=1), top, (top + 1) % 3)
    table = pd.DataFrame({f"p_{name}": proba[:, at].round(6) for at, name in enumerate(NAMES)})
    return table.assign(label=np.array(NAMES)[label], patient=[f"P{code:03}" for code in patient])


def rare_event() -> pd.DataFrame:
    """An event of 1 row in 400, whose probability is stated twice as high."""
    random = np.random.default_rng(1)
    chance = expit(1.2 * random.standard_normal(20_000) - 6.0)
    return pd.DataFrame({"p_fraud": chance.round(6), "fraud": random.random(20_000) < chance / 2}).astype(
        {"fraud": int}
    )


DAY = np.sort(np.random.default_rng(5).integers(0, 120, 6_000))
DATES = (np.datetime64("2026-01-01") + DAY).astype(str)
SITE = np.random.default_rng(6).integers(0, 12, 6_000)
SITES = np.array([f"S{code:02}" for code in SITE])

FILES: dict[str, Callable[[], pd.DataFrame]] = {
    "calibrated": lambda: classifier(3_000),
    "over": lambda: classifier(3_000, lambda top: np.full(3_000, 0.1)),
    "under": lambda: classifier(3_000, lambda top: np.full(3_000, -0.1)),
    "one class": lambda: classifier(4_000, lambda top: 0.15 * (top == 2), seed=2),
    "two classes": lambda: classifier(6_000, lambda top: 0.12 * (top == 2) - 0.12 * (top == 0), 1.2),
    "clustered": clustered,
    "drift": lambda: classifier(6_000, lambda top: 0.14 * (DAY >= 60), scored_at=DATES),
    "one site": lambda: classifier(6_000, lambda top: 0.15 * (SITE == 3), site=SITES),
    "rare event": rare_event,
    "tiny": lambda: classifier(40),
}

#: Direction of the conclusion, classes that are named with their direction, and the verdict over time if rows
#: came in the order of the file.
EXPECTED = {
    "calibrated": (UNKNOWN, {}, "no change"),
    "over": ("overconfident", dict.fromkeys(NAMES, "overconfident"), "wrong from the start"),
    "under": ("underconfident", dict.fromkeys(NAMES, "underconfident"), "wrong from the start"),
    "one class": ("overconfident", {"fox": "overconfident"}, "wrong from the start"),
    "two classes": (
        "no direction",
        {"cat": "underconfident", "fox": "overconfident"},
        "wrong from the start",
    ),
    "clustered": (UNKNOWN, {}, "no change"),
    "drift": ("overconfident", dict.fromkeys(NAMES, "overconfident"), "changed"),
    "one site": (UNKNOWN, {}, "no change"),
    "rare event": ("overconfident", {}, "wrong from the start"),
    "tiny": (UNKNOWN, {}, "no change"),
}

#: Column whose groups differ, and the group that is off most.
GROUPS = {"drift": ("scored_at", {"2026-03", "2026-04"}), "one site": ("site", {"S03"})}


@cache
def rows_of(name: str):
    found = read(FILES[name]())
    return getattr(found, "evaluation", found)


@cache
def conclusion_of(name: str):
    return conclude(rows_of(name))


@pytest.mark.parametrize("name", FILES)
def test_the_conclusion(name):
    found, (direction, guilty, _) = conclusion_of(name), EXPECTED[name]
    assert found.rejected == (direction != UNKNOWN)
    assert found.direction == direction
    assert {NAMES[gap.label]: gap.direction for gap in found.classes} == guilty
    assert found.at_least <= found.largest <= found.at_most
    assert (found.suspected is not None) == (name == "one site")
    if name == "tiny":
        assert found.at_most > 30.0
    if name == "rare event":
        assert found.events.upper < 1.0
        assert found.at_most < 1.0


@pytest.mark.parametrize("name", FILES)
def test_groups_of_further_columns(name):
    found = further_groups(Rows(rows_of(name)))
    assert (found is not None) == (name in GROUPS)
    if found is not None:
        column, groups = GROUPS[name]
        off = np.abs(np.where(found.differs, found.gap, 0.0)).argmax()
        assert (found.column[off], found.group[off] in groups) == (column, True)
        asked = slices(rows_of(name), groups=column, n_resamples=0)
        assert set(asked.group[asked.differs]) == set(found.group[found.differs])


@pytest.mark.parametrize("name", FILES)
def test_over_time(name):
    rows = rows_of(name)
    found = over_time(rows, time=DATES if name == "drift" else np.arange(rows.n_samples))
    assert found.verdict == EXPECTED[name][2]
    assert (found.since is not None) == (name == "drift")
    if name == "drift":
        assert abs((found.since - pd.Timestamp("2026-03-02")).days) <= 3


@pytest.mark.parametrize("name", FILES)
def test_the_command_and_the_report_say_what_the_conclusion_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FILES[name]().to_csv("rows.csv", index=False)
    with redirect_stdout(io.StringIO()) as printed:
        assert main(["metrics", "rows.csv", "--json"]) == 0
    said, found, rows = json.loads(printed.getvalue()), conclusion_of(name), rows_of(name)
    assert said["conclusion"]["words"] == found.words(rows.class_names)
    assert said["conclusion"]["direction"] == EXPECTED[name][0]
    verdict = ReportInput(rows).verdict
    assert verdict[0] == found.words(rows.class_names)
    assert len(verdict) == 1 + (name in GROUPS) + (found.suspected is not None)
    differ = {(each["column"], each["group"]) for each in said.get("groups", []) if each["differs"]}
    assert {column for column, _ in differ} == ({GROUPS[name][0]} if name in GROUPS else set())


@pytest.mark.parametrize("name", FILES)
def test_the_headline_of_overview(name, tmp_path, monkeypatch):
    """Colours of class names apart, the headline of Overview is the first sentence of the conclusion."""
    rows, found = rows_of(name), conclusion_of(name)
    Project("rows", rows).save(tmp_path / "project.zip")
    monkeypatch.setenv("CALIB_PROJECT", str(tmp_path / "project.zip"))
    app = open_page("pages/views/overview.py")
    (headline,) = (re.sub(r":(orange|blue)\[(.*?)\]", r"\2", header.value) for header in app.header)
    assert headline.replace("\\", "") == found.sentences(rows.class_names)[0]
