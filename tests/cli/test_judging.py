"""`calib judge`: columns that options name, rows to label next, and what cannot be judged."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import judge
from calib.cli.parser import main

N = 600


@pytest.fixture
def answers(tmp_path):
    random = np.random.default_rng(0)
    truth = np.where(random.random(N) < 0.8, "pass", "fail")
    table = pd.DataFrame(
        {
            "id": np.arange(N),
            "verdict": np.where(random.random(N) < 0.9, truth, "pass"),
            "confidence": random.uniform(0.6, 1.0, N),
            "anna": pd.Series(truth).where(np.arange(N) % 4 == 0),
            "ben": pd.Series(truth).where(np.arange(N) % 4 == 1),
            "by": np.where(np.arange(N) % 4 == 0, "gpt-4o", "Ben"),
        }
    )
    table.to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path / "answers.csv", table


def run(capsys, *arguments):
    code = main(["judge", *map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_command_gives_the_numbers_of_the_library(capsys, answers):
    file, table = answers
    named = ("--verdict", "verdict", "--human", "anna", "--human", "ben", "--confidence", "confidence")
    code, data = run(capsys, file, *named, "--accuracy", 0.8)
    found = judge(table["verdict"], table[["anna", "ben"]].to_numpy(dtype=object), table["confidence"])
    assert (code, data["n_labelled"], data["chosen_by"]) == (0, N // 2, "random")
    assert data["sentence"] == found.sentence
    assert [row["rate"] for row in data["rates"]] == pytest.approx(found.frame().rate.tolist())
    assert data["share"] == found.passing(0.8).share
    assert data["kappa"]["lower"] == pytest.approx(found.kappa.lower)


def test_rows_to_label_next_are_written_and_can_be_read_again(capsys, answers, tmp_path):
    file, table = answers
    named, next_file = ("--verdict", "verdict", "--human", "anna"), tmp_path / "next.csv"
    _, data = run(capsys, file, *named, "--plan", 40, "-o", next_file)
    written = pd.read_csv(next_file)
    assert written["id"].tolist() == data["rows"] == table["id"][data["rows"]].tolist()
    assert written["anna"].isna().all()
    assert sum(data["plan"].values()) == 40
    assert written.dtypes["id"] == np.int64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--verdict", "verdicts", "--human", "anna"), "verdicts"),
        (("--verdict", "verdict", "--human", "id"), "share no class"),
        (("--verdict", "verdict", "--human", "anna", "--labelled-by", "by"), "gpt-4o"),
        (("--verdict", "verdict", "--human", "anna", "-o", "out.csv"), "--plan"),
    ],
)
def test_what_cannot_be_judged_is_said(capsys, answers, options, message):
    code, data = run(capsys, answers[0], *options)
    assert code == 2
    assert message in data["error"]["message"]


def test_without_a_label_no_agreement_is_printed(capsys, answers, tmp_path):
    file, table = answers
    table.assign(anna=None).to_csv(tmp_path / "none.csv", index=False)
    assert main(["judge", str(tmp_path / "none.csv"), "--verdict", "verdict", "--human", "anna"]) == 0
    assert "kappa" not in capsys.readouterr().out
