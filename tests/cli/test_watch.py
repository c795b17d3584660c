"""`calib watch`: files added to a state, and the exit code of an alarm."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli.parser import main


@pytest.fixture
def files(tmp_path):
    """Eight days of 200 rows of classes a, b, c; from the fifth on right 20 points less often than said."""
    paths = []
    for day in range(8):
        random = np.random.default_rng(day)
        says, label = random.uniform(0.55, 0.95, 200), random.integers(3, size=200)
        right = random.random(200) < says - (0.2 if day >= 4 else 0.0)
        frame = pd.DataFrame(
            {
                "predicted": np.array(["a", "b", "c"])[label],
                "confidence": says,
                "label": np.array(["a", "b", "c"])[np.where(right, label, (label + 1) % 3)],
                "day": f"2026-03-{day + 1:02d}",
                "site": np.where(np.arange(200) % 2, "north", "south"),
            }
        )
        paths.append(tmp_path / f"day{day}.csv")
        frame.to_csv(paths[-1], index=False)
    return paths


def run(capsys, *words):
    code = main(["watch", *map(str, words), "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


def test_files_are_added_until_there_is_an_alarm(files, tmp_path, capsys):
    state = tmp_path / "state.json"
    code, found, _ = run(capsys, state, *files[:4], "--time", "day", "--by", "site")
    assert (code, found["alarm"], found["since"], found["n_rows"]) == (0, False, None, 800)
    code, found, _ = run(capsys, state, *files[4:], "--time", "day")
    assert (code, found["alarm"], found["since"]) == (1, True, "2026-03-05 00:00:00")
    levels = [(unit["level"], unit["name"]) for unit in found["units"]]
    assert levels == [
        ("all", ""),
        *(("class", name) for name in "abc"),
        ("group", "north"),
        ("group", "south"),
    ]
    assert calib.load(state).evidence == found["evidence"]
    assert main(["watch", str(state), str(files[4]), "--time", "day"]) == 2
    assert calib.load(state).n_rows == found["n_rows"] == 1_600


def test_a_start_and_clusters_are_used(files, tmp_path, capsys):
    state = tmp_path / "state.json"
    code, found, _ = run(capsys, state, files[1], "--start", files[0], "--cluster", "site", "--alpha", "0.1")
    assert (code, found["threshold"], found["units"][0]["rows"]) == (0, 20.0, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--alpha", "0.1"], "was begun with alpha 0.05; got 0.1"),
        (["--time", "hour"], "there is no further column 'hour'; there are: 'day', 'site'"),
        (["--time", "day"], "earlier rows have no times, these have times that are dates"),
        (["--start", "STATE"], "--start is for a new STATE"),
        (["--cluster", "week"], "--cluster week is a block of time"),
        (["--cluster", "day"], "--cluster day is a block of time"),
    ],
)
def test_what_does_not_go_with_the_state_is_refused(files, tmp_path, capsys, words, message):
    state = tmp_path / "state.json"
    run(capsys, state, files[0])
    before = state.read_bytes()
    code, found, _ = run(capsys, state, files[1], *words)
    assert code == 2
    assert message in found["error"]["message"]
    assert state.read_bytes() == before
