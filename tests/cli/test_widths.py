"""No line of a command is longer than a terminal's."""

from __future__ import annotations

from contextlib import suppress

import pandas as pd

from calib.cli import streams
from calib.cli.parser import main, parser
from tests.cli.test_schemas import CALLS, write_files

#: Further calls, whose rows or messages are long.
FURTHER = """\
check rows.csv --why
metrics folds.csv --calibrator cal.json --all --resamples 20
metrics p.csv --all --resamples 20
metrics doubtful.csv
metrics none.csv
"""


def test_no_line_is_longer_than_a_terminals(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    wide = pd.DataFrame(
        {f"score of a class with the long name {name}": [0.2, 0.3, 0.5] * 20 for name in "abc"}
    )
    wide.assign(first=[0, 1, 2] * 20, second=[2, 1, 0] * 20).to_csv("doubtful.csv", index=False)
    calls = [line.split() for line in (CALLS + FURTHER).splitlines()]
    calls += [[name, "--help"] for name in parser().commands]
    for width in (80, 100):
        monkeypatch.setattr(streams, "terminal_width", lambda stream, width=width: width)
        for words in calls:
            with suppress(SystemExit):  # of --help
                main(words)
            printed = capsys.readouterr()
            lines = (printed.out + printed.err).splitlines()
            assert lines, words
            assert max(map(len, lines)) <= width, (words, max(lines, key=len))
