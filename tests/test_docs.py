"""What docs/ and CONTRIBUTING.md say is true: the picture shows today's imports, what they name exists."""

from __future__ import annotations

import re
from pkgutil import resolve_name
from xml.etree import ElementTree

import pytest

from docs.coverage import PAGE, SECTIONS, page
from docs.packages import PICTURE, fewest_arrows, imports
from tests import ROOT
from tests.printed import blocks

#: What mypy must say about calls whose result a user annotates.
TYPES = """
from typing import assert_type

import calib
from calib.answers import GateResult, Recommendation
from calib.calibrators import Calibrator
from calib.data import BasePrediction

rows = calib.read("rows.csv")
assert_type(rows, BasePrediction)
found: Recommendation = calib.recommend(rows)
assert_type(found.calibrator, Calibrator | None)
assert_type(calib.load("calibrator.json"), Calibrator | calib.Monitor)
checked: GateResult = calib.gate(rows, most={"tl_ece": 0.03})
assert_type(calib.calibrated_scores(found.calibrator, rows), BasePrediction)
figure = calib.reliability_diagram(rows).plot(backend="matplotlib")
figure.savefig("reliability.pdf")
"""
PROSE = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_picture_of_packages_shows_the_imports_of_today():
    drawn = ElementTree.parse(PICTURE).getroot()
    ways = {(way.get("data-from"), way.get("data-to")) for way in drawn.iter() if way.get("data-from")}
    arrows = {(user, target) for user, targets in fewest_arrows(imports()).items() for target in targets}
    assert ways == arrows, "run `python -m docs.packages`"


def test_fewest_arrows_say_the_same():
    edges = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": {"c"}}
    assert fewest_arrows(edges) == {"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": {"c"}}


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_prose_names_what_is_there(path):
    """Files of the repository in backticks exist; names such as `calib.noise_floor` can be imported."""
    text = path.read_text(encoding="utf-8")
    code = re.findall(r"`([^`\n]+)`", text)
    files = [word for word in code if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?|[\w-]+\.(py|md|toml|txt)", word)]
    files = [name for name in files if not name.startswith("../")]
    assert [name for name in files if not (ROOT / name).exists()] == []
    for name in code:
        if re.fullmatch(r"calib(\.\w+)+", name):
            resolve_name(name)


def test_page_of_coverage_holds_the_table_of_every_script():
    """The generated page is that of today's scripts: their titles, commands and headings of tables."""
    text = PAGE.read_text(encoding="utf-8")
    draws = int(re.search(r"python -m docs\.coverage --draws (\d+)", text).group(1))
    tables = re.split(r"\nFrom [^\n]*:\n\n|From `python[^\n]*:\n\n", text)
    assert len(tables) == 1 + len(SECTIONS)
    printed = dict(
        zip((item[0] for item in SECTIONS), (re.split(r"\n## ", item)[0] for item in tables[1:]), strict=True)
    )
    assert page(printed, draws) == text, "run `python -m docs.coverage`"
    assert all(table.count("\n| ") > 5 for table in printed.values())


def test_code_of_docs_is_typed_as_strictly_as_a_user_may(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    files = []
    for path in [ROOT / "README.md", *PROSE]:
        lines = []
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.language != "python":
                continue
            code = block.text
            if ">>>" in code:
                prompts = (line for line in code.split("\n") if line.startswith((">>> ", "... ")))
                code = "\n".join(line[4:] for line in prompts)
            lines.append(code)
        if lines:
            files.append(tmp_path / f"{'_'.join(path.relative_to(ROOT).with_suffix('').parts)}.py")
            files[-1].write_text("\n".join(lines), encoding="utf-8")
    files.append(tmp_path / "calls.py")
    files[-1].write_text(TYPES, encoding="utf-8")
    # Packages that are not installed here have no types, such as the base class of an MLflow model.
    options = ["--strict", "--allow-subclassing-any", "--ignore-missing-imports", "--config-file="]
    options.append("--follow-imports=silent")
    said, problems, _ = mypy.run([*options, f"--cache-dir={tmp_path}", *map(str, files)])
    assert len(files) > 10
    assert "Success" in said, said + problems
