"""`calib watch`: files added to a state, and the exit code of an alarm."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import calib
from calib.base import outputs
from calib.cli import watching
from calib.cli.parser import main
from tests import ROOT


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
    assert (code, found["alarm"], found["since"]) == (1, True, "2026-03-05")
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


def test_a_batch_that_is_sent_again_is_told_and_not_counted(files, tmp_path, capsys):
    state = tmp_path / "state.json"
    code, found, _ = run(capsys, state, files[0], "--batch", "day 1")
    assert (code, found["n_rows"], found["n_added"]) == (0, 200, 200)
    before = state.read_bytes()
    assert main(["watch", str(state), str(files[0]), "--batch", "day 1"]) == 0
    assert "nothing was added" in capsys.readouterr().out
    assert state.read_bytes() == before
    assert run(capsys, state, files[1], "--batch", "day 2")[1]["n_rows"] == 400
    assert calib.load(state).batches == ("day 1", "day 2")
    assert main(["watch", str(state), *map(str, files[2:4]), "--batch", "day 3"]) == 2


def test_a_state_alone_is_shown_and_stays_as_it_is(files, tmp_path, capsys):
    state = tmp_path / "state.json"
    assert run(capsys, state)[0] == 2
    assert not state.exists()
    _, found, _ = run(capsys, state, *files, "--time", "day", "--by", "site")
    before = state.read_bytes()
    code, shown, _ = run(capsys, state)
    assert (code, shown) == (1, found | {"n_added": 0})
    assert state.read_bytes() == before
    assert run(capsys, state, "--batch", "day 9")[0] == 2


def test_an_alarm_is_acknowledged_once_and_the_reason_is_kept(files, tmp_path, capsys):
    state = tmp_path / "state.json"
    _, found, _ = run(capsys, state, *files)
    assert found["since"].startswith("day4.csv of 20")
    code, again, _ = run(capsys, state, "--acknowledge", "refitted on 5 May")
    assert (code, again["alarm"], again["n_rows"], again["alpha_spent"]) == (0, False, 0, 0.05)
    (count,) = again["ended"]
    assert (count["note"], count["n_rows"], count["since"]) == ("refitted on 5 May", 1_600, found["since"])
    assert run(capsys, state, files[5], "--acknowledge", "refitted on 5 May")[0] == 2
    for file in files[:2]:
        table = pd.read_csv(file)
        table["confidence"] += 0.001
        table.to_csv(file, index=False)
        code, again, _ = run(capsys, state, file, "--acknowledge", "refitted on 5 May")
        assert code == 0
    assert (again["n_rows"], len(again["ended"])) == (400, 1)
    assert run(capsys, state, "--start", files[3])[0] == 2
    assert run(capsys, state, files[6], "--start", files[3])[0] == 2
    assert run(capsys, state, files[1], "--start", files[3], "--acknowledge", "x")[0] == 2
    code, again, _ = run(capsys, tmp_path / "new.json", files[0], "--acknowledge", "calibrator of May")
    assert (code, again["ended"][0]["note"], again["alpha_spent"]) == (0, "calibrator of May", 0.0)


def test_rows_without_times_that_are_sent_again_are_refused(files, tmp_path, capsys):
    state = tmp_path / "state.json"
    run(capsys, state, files[0])
    run(capsys, state, files[1])
    for file in files[:2]:
        assert main(["watch", str(state), str(file)]) == 2
    assert calib.load(state).n_rows == 400


def test_four_processes_at_once_lose_no_rows(files, tmp_path):
    words = [sys.executable, "-m", "calib", "watch", str(tmp_path / "state.json")]
    running = [
        subprocess.Popen([*words, str(file)], cwd=ROOT, stdout=subprocess.DEVNULL) for file in files[:4]
    ]
    assert {process.wait(300) for process in running} <= {0, 1}
    assert calib.load(tmp_path / "state.json").n_rows == 800
    assert sorted(path.name for path in tmp_path.glob("state*")) == ["state.json"]


@pytest.mark.parametrize("begun", [False, True])
def test_without_locks_the_second_writer_says_that_the_state_has_changed(
    files, tmp_path, capsys, monkeypatch, begun
):
    monkeypatch.setattr(outputs, "fcntl", None)
    monkeypatch.setattr(outputs, "msvcrt", None)
    state = tmp_path / "state.json"
    if begun:
        run(capsys, state, files[0])

    def read_while_another_writes(options, file):
        monkeypatch.setattr(watching, "_rows", read)
        assert run(capsys, state, files[1])[0] == 0
        return read(options, file)

    read = watching._rows
    monkeypatch.setattr(watching, "_rows", read_while_another_writes)
    code, found, _ = run(capsys, state, files[2])
    assert (code, "changed" in found["error"]["message"]) == (2, True)
    assert calib.load(state).n_rows == (400 if begun else 200)
    assert run(capsys, state, files[2])[1]["n_added"] == 200


#: A program in which a call of a module ends the process as `kill -9` does, or finds the disk full.
ENDING = """
import errno, os, signal, sys
from calib.base import outputs
from calib.cli import watching
from calib.cli.parser import main
def end(*args, **options):
    if sys.argv[1] == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.kill(os.getpid(), signal.SIGKILL)
places = {"load": (watching, "content_of"), "save": (watching, "save")}
module, name = places.get(sys.argv[2], (os, sys.argv[2]))
if sys.argv[2] == "after":
    replace = os.replace
    os.replace = lambda *args: (replace(*args), end())
else:
    setattr(module, name, end)
sys.exit(main(["watch", *sys.argv[3:], "--batch", "new"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    ("how", "phase", "held"),
    [
        ("kill", "load", 200),
        ("kill", "save", 200),
        ("kill", "fsync", 200),
        ("kill", "replace", 200),
        ("kill", "after", 400),
        ("full", "fsync", 200),
    ],
)
def test_what_ends_in_any_phase_leaves_a_whole_state(files, tmp_path, capsys, how, phase, held):
    state = tmp_path / "state.json"
    run(capsys, state, files[0])
    words = [sys.executable, "-c", ENDING, how, phase, str(state), str(files[1])]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == (2 if how == "full" else -9), done.stderr
    assert calib.load(state).n_rows == held
    assert run(capsys, state, files[1], "--batch", "new")[1]["n_rows"] == 400
    assert sorted(path.name for path in tmp_path.iterdir() if "state" in path.name) == ["state.json"]
