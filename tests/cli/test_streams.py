"""Pipes: `-` for what is read and written, readers that leave, progress, completion."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calib import TemperatureScaling, load, read_predictions, save
from calib.cli.parser import main
from calib.cli.streams import WIDTH, deliver, progress_line


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.dirichlet(np.ones(3), 200), columns=list("abc"))
    frame["label"] = np.array(list("abc"))[random.integers(0, 3, 200)]
    frame["site"] = np.where(np.arange(200) % 4 == 0, "north", "south")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def pipe_in(monkeypatch, content: bytes, terminal: bool = False) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: terminal)
    monkeypatch.setattr(sys, "stdin", stdin)


def test_every_command_reads_what_is_piped_in(capsys, monkeypatch, table, tmp_path):
    """The numbers are those of the file, and `check`, which reads it twice, sees it whole twice."""
    assert main(["metrics", str(table), "--resamples", "0", "--json"]) == 0
    wanted = json.loads(capsys.readouterr().out)
    pipe_in(monkeypatch, table.read_bytes())
    assert main(["metrics", "-", "--resamples", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.pop("file") == "-"
    assert found == {name: value for name, value in wanted.items() if name != "file"}
    for words in (["check", "-", "--format", "csv"], ["report", "-", "-o", str(tmp_path / "page.html")]):
        pipe_in(monkeypatch, table.read_bytes())
        assert main(words) == 0
    assert "<title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_fit_and_apply_write_to_a_pipe(capfdbinary, monkeypatch, table, tmp_path):
    assert main(["fit", str(table), "--method", "temperature", "-o", "-"]) == 0
    content, told = capfdbinary.readouterr()
    assert b"wrote -" in told
    calibrator = load(io.BytesIO(content))
    (tmp_path / "cal.json").write_bytes(content)
    pipe_in(monkeypatch, table.read_bytes())
    assert main(["apply", str(tmp_path / "cal.json"), "-", "-o", "-"]) == 0
    frame = pd.read_csv(io.BytesIO(capfdbinary.readouterr().out))
    expected = calibrator.predict_proba(read_predictions(table).proba)
    assert np.allclose(frame[["p(a)", "p(b)", "p(c)"]], expected)
    assert (
        main(["apply", str(tmp_path / "cal.json"), str(table), "-o", "-", "--output-format", "parquet"]) == 0
    )
    assert len(pd.read_parquet(io.BytesIO(capfdbinary.readouterr().out))) == 200


def test_calibrators_can_be_piped_in(capsys, monkeypatch, table, tmp_path):
    rows = read_predictions(table)
    save(TemperatureScaling().fit(rows.proba, rows.labels), tmp_path / "cal.json")
    pipe_in(monkeypatch, (tmp_path / "cal.json").read_bytes())
    assert main(["metrics", str(table), "--calibrator", "-", "--resamples", "0"]) == 0
    assert "TS" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "terminal", "words", "told"),
    [
        (b"", False, ["metrics", "-"], "which is empty"),
        (b"x", True, ["metrics", "-"], "nothing is piped in; name a file"),
        (b"x", False, ["metrics", "-", "--labels", "-"], "only one input can be -"),
        (b"x", False, ["apply", "-", "-", "-o", "x.csv"], "only one input can be -"),
    ],
)
def test_pipes_that_cannot_be_read_are_refused(capsys, monkeypatch, content, terminal, words, told):
    pipe_in(monkeypatch, content, terminal)
    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_a_reader_that_leaves_hears_no_complaint(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        deliver("-", b"x" * 1_000_000)
        stdout.write("nor later")


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    for terminal in (False, True):
        stderr = io.StringIO()
        stderr.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr(sys, "stderr", stderr)
        with progress_line() as progress:
            assert (progress is not None) == terminal
            if progress is not None:
                progress(0.5, "a\x1b[2J name")
        shown = stderr.getvalue()
        assert ("50% a\\x1b[2J name" in shown) == terminal
        assert "\x1b" not in shown
        assert shown == "" or shown.endswith(f"\r{'':<{WIDTH}}\r")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_knows_commands_options_and_files(capsys, shell):
    pytest.importorskip("shtab", reason="the package that writes completions is not installed")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("metrics", "gate", "points-per-bin", "calib"))
    if shell in ("bash", "fish") and shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_gate_by_class_and_column(capsys, table):
    """A limit per group: accuracies are those of pandas, and every one is about a third."""
    words = ["gate", str(table), "--max", "accuracy=0.9", "--by", "class", "--by", "site", "--json"]
    assert main(words) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    frame = pd.read_csv(table)
    predicted = frame[list("abc")].to_numpy().argmax(axis=1)
    right = np.array(list("abc"))[predicted] == frame["label"]
    assert [check["group"] for check in checks] == [
        *("class = a", "class = b", "class = c", "site = north", "site = south")
    ]
    wanted = [right[predicted == code].mean() for code in range(3)]
    wanted += [right[frame["site"] == site].mean() for site in ("north", "south")]
    assert [check["value"] for check in checks] == pytest.approx(wanted, abs=1e-12)
    assert {round(check["level"], 12) for check in checks} == {0.99}
    assert main([*words, "--min", "accuracy=0.8"]) == 1
    assert (
        "for site = south (n = 150) at least 0.8 is broken" in json.loads(capsys.readouterr().out)["sentence"]
    )
    assert main([*words[:4], "--by", "height"]) == 2
    assert "there is no further column 'height'" in capsys.readouterr().err


def test_a_command_ends_before_python_takes_itself_down():
    """A thread of pyarrow that wants the interpreter after that aborts the process."""
    script = """
import atexit
import sys

from calib.__main__ import end


class Late:
    def __del__(self, write=sys.stderr.write):
        write("taken down")


late = Late()
atexit.register(sys.stdout.write, " registered")
sys.stdout.write("said")
end(3)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "said registered", "")
