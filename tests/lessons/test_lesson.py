"""The lesson: its numbers by plain loops, its texts, its file, and what its module computes."""

from __future__ import annotations

import html
import json
import math
import re

import numpy as np
import pytest

import calib
from calib import InputError, Predictions
from calib.data.predictions import BinaryPrediction
from calib.datasets import load_example
from calib.lessons import BROWSER_FILES
from calib.lessons.chapters import ClassDot, star_split
from tests.browser.chromium import launched

LESSON = calib.lesson()
STEPS = [step for chapter in LESSON.content()["chapters"] for step in chapter["steps"]]


def wilson(rate, n):
    z = 1.959963984540054
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return centre - half, centre + half


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def test_the_star_and_its_classes_by_loops():
    rows = load_example("resnet").evaluation
    split = LESSON.example
    by_class: dict[str, list[tuple[float, bool]]] = {}
    for scores, label in zip(rows.proba.tolist(), rows.truth.tolist(), strict=True):
        top = max(scores)
        if 0.5 <= top < 0.6:  # bin 6 of 10, as in Figure 1
            code = scores.index(top)
            by_class.setdefault(rows.class_names[code], []).append((top, code == label))
    told = [each for rows in by_class.values() for each in rows]
    assert split.count == len(told) == 179
    assert split.confidence == pytest.approx(sum(top for top, _ in told) / 179)
    assert split.accuracy == pytest.approx(sum(right for _, right in told) / 179)
    assert [dot.name for dot in split.dots] == sorted(by_class)
    for dot in split.dots:
        of_class = by_class[dot.name]
        assert (dot.count, dot.right) == (len(of_class), sum(right for _, right in of_class))
        assert dot.confidence == pytest.approx(sum(top for top, _ in of_class) / dot.count)
        assert (dot.lower, dot.upper) == pytest.approx(wilson(dot.accuracy, dot.count))
    worst = split.dots[split.worst]
    assert (worst.name, worst.right, worst.count) == ("airplane", 6, 35)
    assert worst.gap == min(dot.gap for dot in split.dots)


def test_chances_of_the_third_chapter_by_enumeration():
    split = LESSON.example
    gap = -split.dots[split.worst].gap
    none = 1.0
    for dot in split.dots:
        chances = binomial(dot.count, dot.confidence)
        far = sum(p for k, p in enumerate(chances) if abs(k / dot.count - dot.confidence) >= gap - 1e-12)
        assert dot.chance_of(gap) == pytest.approx(far)
        none *= 1.0 - far
    values = split.values
    assert values["by_chance"] == pytest.approx(1.0 - none)
    assert values["worst_by_chance"] == float(f"{1 / split.dots[split.worst].chance_of(gap):.2g}")
    deals = binomial(10, 1.0 - none)
    ranges = [sum(deals[:2]), sum(deals[2:6]), sum(deals[6:])]
    assert values["likely"] == ranges.index(max(ranges))


def test_the_first_chapter_is_example_1_of_the_paper():
    # 0.5 |0.2 - 0.6| + 0.5 |1 - 0.6| = 0.4; pooled 0.5 (0.2 + 1) - 0.6 = 0.
    example = load_example("two-patients").evaluation
    assert calib.ece(example, notion="confidence", strategy="discrete") == pytest.approx(0, abs=1e-12)
    assert calib.ece(example, notion="top-label", strategy="discrete") == pytest.approx(0.4)
    assert "error 0 together, 0.4 by class" in STEPS[0]["words"]


@pytest.mark.parametrize("step", STEPS, ids=[step["picture"] for step in STEPS])
def test_a_step_has_at_most_fifty_words(step):
    assert len(f"{step['ask']} {step['words']}".split()) <= 50


def test_texts_name_their_numbers():
    content = json.dumps(LESSON.content())
    assert not re.search(r"{\w+", content.replace('{"', ""))
    assert "25 of 29" in content
    assert [len(LESSON.content()[name]) for name in ("chapters", "exercises")] == [3, 6]
    assert sum(chapter["minutes"] for chapter in LESSON.content()["chapters"]) == 15


def own_predictions(n_classes=20, n=4_000):
    random = np.random.default_rng(0)
    logits = random.normal(size=(n, n_classes)) * 2.0
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (random.random(n)[:, None] > proba.cumsum(axis=1)).sum(axis=1).clip(max=n_classes - 1)
    labels[logits.argmax(axis=1) == 3] = 0  # predicted 3 is never right
    return Predictions(proba, labels, [f"<b>{code}</b>" for code in range(n_classes)])


def test_your_own_predictions_are_a_second_step():
    made = calib.lesson(own_predictions(), title="</script><b>mine")
    own = made.own
    assert own is not None
    assert own.dots[own.worst].name == "<b>3</b>"
    assert len(own.dots) + own.others == 20
    pictures = [step["picture"] for chapter in made.content()["chapters"] for step in chapter["steps"]]
    assert pictures == ["crowd", "make", "split", "own", "deals"]
    assert "</script><b>" not in made.page()
    assert "<b>3" not in made.handout()


def test_weighted_rows_have_shares_and_no_counts():
    rows = own_predictions()
    own = star_split(rows.with_weights(np.linspace(0.5, 2.0, rows.n_samples)), "weighted")
    assert {dot.right for dot in own.dots} == {None}


def test_without_predicted_classes_there_is_no_split():
    with pytest.raises(InputError, match="predicted class"):
        calib.lesson(BinaryPrediction([0.2, 0.8], [0, 1]))
    with pytest.raises(InputError, match="without labels"):
        calib.lesson(None, [[0.2, 0.8]])


def test_the_file_loads_nothing(tmp_path):
    LESSON.save(tmp_path / "lesson.html")
    page = (tmp_path / "lesson.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"'` ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(?:fetch|import|innerHTML)\s*[(=]", page)
    with pytest.raises(InputError, match="no folder"):
        LESSON.save(tmp_path / "missing" / "lesson.html")


def test_the_handout_has_every_note_and_solution():
    page = LESSON.handout()
    for step in STEPS:
        assert html.escape(step["note"]) in page
    assert page.count("<li>") == len(STEPS) + 6


ASKED = """async ({ dots, worlds, exercises }) => {
    const { deal, judge, judgeWorld, mostOf, worldOf } = window.lesson;
    const columns = Array.from({ length: 2000 }, (_, i) => deal(dots, i + 1));
    return {
        again: JSON.stringify(deal(dots, 7)) === JSON.stringify(columns[6]),
        means: dots.map((_, i) => columns.reduce((sum, gaps) => sum + gaps[i], 0) / columns.length),
        squares: dots.map((_, i) => columns.reduce((sum, gaps) => sum + gaps[i] ** 2, 0) / columns.length),
        worlds: worlds.map((world) => [worldOf(world).star, worldOf(world).error, mostOf(world)]),
        answers: exercises.map((exercise) => exercise.kind === "groups"
            ? [[10, 60], [40, 30], [20, 50], [20, 20]]
                .map((right) => judgeWorld(exercise, { first: 40, right, told: 70 }))
            : Array.from({ length: 101 }, (_, value) => judge(exercise, value))),
    };
}"""


def test_what_the_module_computes():
    source = (BROWSER_FILES / "lesson.js").read_text(encoding="utf-8")
    names = "{ deal, judge, judgeWorld, mostOf, worldOf }"
    worlds = [
        {"first": first, "right": [5, 7], "told": told} for first in (10, 40, 50) for told in (5, 60, 95)
    ]
    content = LESSON.content()
    asked = {"dots": content["example"]["dots"], "worlds": worlds, "exercises": content["exercises"]}
    with launched() as browser:
        page = browser.new_page()
        page.set_content(f"<script type='module'>{source}\nwindow.lesson = {names};</script>")
        page.wait_for_function("window.lesson")
        found = page.evaluate(ASKED, asked)
    assert found["again"]
    for dot, mean, square in zip(LESSON.example.dots, found["means"], found["squares"], strict=True):
        variance = dot.confidence * (1 - dot.confidence) / dot.count
        assert abs(mean) < 5 * math.sqrt(variance / 2000)
        assert square == pytest.approx(variance, rel=0.2)  # its standard error is at most 4 %
    for world, (star, error, most) in zip(worlds, found["worlds"], strict=True):
        first, told = world["first"], world["told"]
        assert star == 12
        assert error == pytest.approx(abs(5 - first * told / 100) + abs(7 - (100 - first) * told / 100))
        tried = [
            abs(a - first * told / 100) + abs(told - a - (100 - first) * told / 100)
            for a in range(first + 1)
            if 0 <= told - a <= 100 - first
        ]
        assert most == pytest.approx(max(tried))
    star, groups, error, expected, few, equal = found["answers"]
    right = [[value for value, (is_right, _) in enumerate(each) if is_right] for each in (star, error)]
    assert right == [[42], [36]]  # 30 + 12; 0.4 * 45 + 0.6 * 30
    assert [is_right for is_right, _ in groups] == [True, False, False, False]
    assert len({reason for _, reason in groups}) == 4
    dot: ClassDot = LESSON.example.dots[LESSON.example.worst]
    near = [value for value in range(101) if abs(value - dot.count * dot.confidence) <= 1]
    assert [value for value, (is_right, _) in enumerate(expected) if is_right] == near
    for exercise, each in zip(content["exercises"], found["answers"], strict=True):
        assert all(reason for _, reason in each[: len(exercise.get("options", each))])
    assert [is_right for is_right, _ in few[:3]] == [False, False, True]
    assert [is_right for is_right, _ in equal[:4]] == [False, True, False, False]
