"""Texts of the Learn section: glossary, references and notes, from assets/lessons."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "assets" / "lessons"


def _read(name: str, part: str) -> list[dict[str, Any]]:
    with (FOLDER / f"{name}.toml").open("rb") as file:
        entries: list[dict[str, Any]] = tomllib.load(file)[part]
    return entries


#: Terms of the app: name, formula (LaTeX, may be missing), meaning, where the paper has it, group.
GLOSSARY = _read("glossary", "term")
#: Works cited: key, citation, what the app takes from it.
REFERENCES = _read("references", "work")
#: What each step of Learn shows, a question to ask, and addresses that open it.
NOTES = _read("notes", "step")
