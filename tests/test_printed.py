"""What README and pages print is true: Python and commands run as printed, links and pictures are there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests import ROOT
from tests.printed import (
    APART,
    FENCE,
    RUN,
    Block,
    blocks,
    commands,
    compare_page,
    look_at_page,
    rewritten,
    run_command,
    run_notebook,
    run_page,
)

DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
#: Run elsewhere, section by section where their packages are installed: tests/test_production.py.
ELSEWHERE = ("production.md",)
WITH_BLOCKS = [path for path in PAGES if blocks(path.read_text(encoding="utf-8"))]
PRINTED = [path for path in WITH_BLOCKS if path.name not in ELSEWHERE]


def name(path: Path) -> str:
    """Return how a page is called in the results."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PRINTED, ids=name)
def test_what_a_page_prints_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(path, tmp_path, without=APART.get(path.name, ()))


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.ipynb")), ids=name)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_notebook(path) > 5


def test_what_pages_name_is_there():
    for path in WITH_BLOCKS:
        look_at_page(path)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_no_command_stands_where_it_is_not_run(path):
    text = path.read_text(encoding="utf-8")
    prose = FENCE.sub("", text)
    assert re.findall(r"^ {4}(?:python -m |calib |make |pip |>>> ).*", prose, re.MULTILINE) == []
    for _, language, block in FENCE.findall(text):
        if language not in RUN:
            assert not re.search(r"^(\$ )?(python|calib|make|pip) ", block, re.MULTILINE), block


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_pictures_and_links_are_there(path):
    text = path.read_text(encoding="utf-8")
    targets = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    targets += re.findall(r"^```\{(?:image|figure|include)\} +(\S+)", text, re.MULTILINE)
    missing = [link for link in targets if not (path.parent / link.partition("#")[0]).exists()]
    assert missing == []
    for link in targets:
        file, _, anchor = link.partition("#")
        if anchor:
            target = path if not file else path.parent / file
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def anchors(text: str) -> set[str]:
    """Return the addresses of the headings of a page."""
    found = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", item.lower()).strip()) for item in found}


def test_every_page_is_reached_from_the_first_one():
    def listed(path):
        for _, language, entries in FENCE.findall(path.read_text(encoding="utf-8")):
            for entry in re.findall(r"^[\w./-]+$", entries, re.MULTILINE) if language == "toctree" else ():
                found = [path.parent / f"{entry}{end}" for end in (".md", ".ipynb")]
                (file,) = [item.resolve() for item in found if item.is_file()]
                yield file
                yield from listed(file) if file.suffix == ".md" else ()

    first = ROOT / "docs" / "index.md"
    reached = [first, *listed(first)]
    assert len(reached) == len(set(reached)), "a page stands in the navigation twice"
    assert {*DOCS, *(ROOT / "docs").rglob("*.ipynb")} == set(reached)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file of predictions, a.csv, in the current folder."""
    monkeypatch.chdir(tmp_path)
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    frame = pd.DataFrame(proba, columns=["cat", "dog", "hen"])
    frame.assign(label=np.tile(["cat", "dog", "hen"], 20)).to_csv("a.csv", index=False)


@pytest.mark.parametrize(
    "command",
    [
        "calib check missing.csv",
        "calib check missing.csv > out.txt",
        "calib chekc a.csv | head",
        "make coffee",
        'pip install "calib-diagnostics[coffee]"',
        "rm -r /",
    ],
)
def test_commands_that_lie_are_found(command, table, tmp_path):
    with pytest.raises((AssertionError, SystemExit)):
        run_command(command, tmp_path, "page")


def test_commands_run_with_what_follows_them(table, tmp_path):
    block = Block("console", "$ calib check \\\n    a.csv\nfine\n\n$ calib check a.csv\nmore\n", 1)
    item, other = commands(block)
    assert (item.text, item.output, item.line) == ("calib check a.csv", "fine\n\n", 3)
    assert (other.text, other.output, other.line) == ("calib check a.csv", "more\n", 6)
    printed = run_command(item.text, tmp_path, "page")
    assert printed.startswith("evaluation: 60 rows")
    assert run_command("calib check a.csv | cat", tmp_path, "page") == printed
    assert run_command("calib check a.csv > out.txt", tmp_path, "page") == ""
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == printed
    assert run_command("make test", tmp_path, "page") is None


def test_pages_that_lie_are_found_and_written_again(table, tmp_path):
    page = tmp_path / "page.md"
    lines = [">>> 1 + 1", "3", ">>> for i in range(2):", "...     print(i)", "1", ">>> print()"]
    text = "\n".join(["```python", *lines, "```", "", "```console", "$ calib check a.csv", "fine", "```", ""])
    page.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match="The page shows"):
        run_page(page, tmp_path)
    done, differences = compare_page(page, tmp_path)
    assert (done, [item.line for item in differences]) == (4, [3, 6, 12])
    page.write_text(rewritten(text, differences), encoding="utf-8")
    assert run_page(page, tmp_path) == 4
    assert page.read_text(encoding="utf-8").startswith(
        "\n".join(["```python", lines[0], "2", *lines[2:4], "0", "1", lines[5], "```", ""])
    )
