"""What the README shows is true: its Python runs, its commands exist, its pictures are there."""

from __future__ import annotations

import doctest
import re

import pytest

from calib.cli.parser import main
from tests import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_in_readme_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_commands_in_readme_exist(capsys):
    commands = set(re.findall(r"^ {4}python -m calib (\w+)", README, re.MULTILINE))
    assert commands
    for command in commands:
        with pytest.raises(SystemExit, match="^0$"):
            main([command, "--help"])
    assert capsys.readouterr().out.count("usage:") == len(commands)


def test_files_in_readme_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert pictures
    targets = re.findall(r"^make (\w+)|^ {4}make (\w+)", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all((ROOT / picture).is_file() for picture in pictures)
    assert all(f"\n{a or b}:" in makefile for a, b in targets)
