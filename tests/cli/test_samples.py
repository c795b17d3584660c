"""Repeated answers to questions: the share that agrees is the confidence; accepted answers are right."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import ConfidencePrediction, InputError, ece
from calib.cli.parser import main

ANSWERS = [["Paris", " paris", "Lyon"], ["Rome", "rome", "ROME"], ["4", "", "5"]]
ACCEPTED = [["PARIS", "Paris, France"], ["rome"], ["4"]]


def test_the_share_that_agrees_is_the_confidence_and_questions_are_clusters():
    rows = ConfidencePrediction.from_samples(ANSWERS, ACCEPTED)
    assert rows.confidence.tolist() == [2 / 3, 2 / 3, 1 / 3, 1, 1, 1, 1 / 2, 1 / 2]  # the blank is left out
    assert rows.correct.tolist() == [True, True, False, True, True, True, True, False]
    assert rows.cluster.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert rows.strategy == "discrete"
    # bins 1/3, 1/2, 2/3 and 1: gaps 1/3, 0, 1/3 and 0 with 1, 2, 2 and 3 of 8 rows
    assert ece(rows) == pytest.approx((1 / 3 + 2 / 3) / 8)


def test_a_number_is_the_same_answer_with_and_without_a_decimal_point():
    rows = ConfidencePrediction.from_samples(np.array([[4, 4.0, "4", pd.NA]], dtype=object), [4.0])
    assert (rows.confidence.tolist(), rows.correct.tolist()) == ([1.0] * 3, [True] * 3)


def test_answers_in_lines_are_the_same_rows():
    wide = ConfidencePrediction.from_samples(ANSWERS, ACCEPTED)
    flat = [answer for answers in ANSWERS for answer in answers]
    accepted = [entry for entry in ACCEPTED for _ in range(3)]
    long = ConfidencePrediction.from_samples(flat, accepted, np.repeat(["a", "b", "c"], 3))
    np.testing.assert_array_equal(long.confidence, wide.confidence)
    np.testing.assert_array_equal(long.cluster, wide.cluster)


@pytest.mark.parametrize(
    ("accepted", "message"),
    [
        ([["x"], ["y"], ["z"]], "no answer equals an accepted one"),
        ([["Paris"], [" "], ["4"]], "row 1 has no accepted answer"),
        ([["Paris"]], "in 3 rows; got 1"),
    ],
)
def test_answers_that_cannot_be_graded_are_refused(accepted, message):
    with pytest.raises(InputError, match=message):
        ConfidencePrediction.from_samples(ANSWERS, accepted)


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    questions = [f"q{k}" for k in range(40)]
    answers = random.choice(["yes", "Yes ", "no"], (40, 5))
    wide = pd.DataFrame(answers, columns=[f"answer_{k}" for k in range(5)])
    wide.assign(question=questions, gold='["yes", "yes it is"]').to_csv(tmp_path / "wide.csv", index=False)
    lines = [
        {"question": name, "gold": ["yes", "yes it is"], "answer": answer}
        for name, row in zip(questions, answers.tolist(), strict=True)
        for answer in row
    ]
    (tmp_path / "long.json").write_text(json.dumps(lines), encoding="utf-8")
    return tmp_path, ConfidencePrediction.from_samples(answers, [["yes"]] * 40)


@pytest.mark.parametrize(
    "words",
    [("wide.csv", "--sample", "answer_*"), ("long.json", "--sample", "answer", "--cluster", "question")],
)
def test_commands_read_answers_side_by_side_or_in_lines(files, words, monkeypatch, capsys):
    folder, rows = files
    monkeypatch.chdir(folder)
    assert main(["metrics", *words, "--label", "gold", "--resamples", "20", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["n_samples"] == 200
    assert f"{ece(rows):.10f}" in json.dumps(printed) or str(ece(rows))[:10] in json.dumps(printed)


@pytest.mark.parametrize(
    "further", [["--score", "answer_1"], ["--fix", "percent"], ["--predicted", "answer_1"]]
)
def test_other_options_of_reading_are_refused(files, further, monkeypatch, capsys):
    monkeypatch.chdir(files[0])
    assert main(["metrics", "wide.csv", "--sample", "answer_*", "--label", "gold", *further]) == 2
    assert "leave out --" in capsys.readouterr().err
    assert main(["check", "wide.csv", "--sample", "answer_*"]) == 2
