"""Texts of the Learn section: glossary and references, from assets/lessons."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "assets" / "lessons"


def _read(name: str, table: str) -> Any:
    with (FOLDER / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)[table]


#: Terms of the app: name, formula (LaTeX, optional), meaning, section of the paper, group.
GLOSSARY: list[dict[str, Any]] = _read("glossary", "term")
#: Terms that the heading of each page links to, by page title.
PAGE_TERMS: dict[str, list[str]] = _read("glossary", "pages")
#: Works cited: key, citation, what the app uses from it.
REFERENCES: list[dict[str, Any]] = _read("references", "work")


def meanings(names: Iterable[str]) -> str:
    """Return what these terms mean, as Markdown for a hover; names that are no terms are left out."""
    known = {term["name"]: term["meaning"].replace("$", "\\$") for term in GLOSSARY}
    return " ".join(f"**{name}**: {known[name]}" for name in names if name in known)
