"""An option that names a column decides in every command, or the file is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from calib import InputError
from calib.cli.input import changed, read_rows
from calib.cli.parser import main, parser
from tests.cli.test_commands import run
from tests.files.readers.test_options import OPTIONS, TABLES, column_of

#: Arguments that each command requires, beside a file.
REQUIRED = {
    "benefit": ("--from", "0.1", "--to", "0.2"),
    "slices": ("--by", "class"),
    "centres": ("--by", "class"),
}
READING = [
    name
    for name, command in parser().commands.items()
    if {"label", "score", "time_limit"} <= {action.dest for action in command._actions}
]


def tried(folder):
    """Files of the tables, each with some choices of two options and columns, the same ones in every run."""
    for name, columns in TABLES.items():
        file = folder / f"{name}.csv"
        pd.DataFrame(columns).to_csv(file, index=False)
        pairs = [*itertools.product(itertools.combinations(OPTIONS, 2), itertools.permutations(columns, 2))]
        for at in np.random.default_rng(2).permutation(len(pairs))[:5]:
            given = dict(zip(*pairs[at], strict=True))
            yield file, given, [word for option, column in given.items() for word in (f"--{option}", column)]


@pytest.mark.parametrize("command", READING)
def test_every_option_is_used_or_refused_by_every_command(command, tmp_path):
    used = 0
    for file, given, words in tried(tmp_path):
        needed = {action.dest for action in parser().commands[command]._actions if action.required}
        words += [*REQUIRED.get(command, ()), *("-o", "out") * ("output" in needed)]
        first = [str(file)] if {"file", "files"} & needed else ["--data", str(file)]
        options = parser().parse_args([command, *first * (1 + ("state" in needed)), *words])
        try:
            rows = read_rows(changed(options, file=str(file)), labelled=command != "apply")
        except InputError:
            continue
        used += 1
        assert {option: column_of(rows.roles, option) for option in given} == given
    assert used > 2


def test_check_shows_the_columns_that_options_name(capsys, tmp_path):
    used = 0
    for file, given, words in tried(tmp_path):
        code, data, _ = run(capsys, "check", file, *words)
        if code:
            continue
        used += 1
        (part,) = data["parts"].values()
        roles = {(each["role"], each["column"]) for each in part["roles"]}
        assert {column for _, column in roles} >= set(given.values()), (file, given, roles)
    assert used > 2


def test_columns_that_count_votes_are_named_if_there_is_no_label(capsys, tmp_path):
    votes = np.random.default_rng(0).integers(1, 5, (60, 2))
    table = pd.DataFrame(
        {"p": TABLES["one score"]["score"], "votes_no": votes[:, 0], "votes_yes": votes[:, 1]}
    )
    table.to_csv(tmp_path / "votes.csv", index=False)
    assert main(["metrics", str(tmp_path / "votes.csv")]) == 2
    assert "--votes votes_no --votes votes_yes" in capsys.readouterr().err
