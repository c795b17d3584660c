"""The shape of the code: who may import whom, and nothing that only works on one machine."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Modules of calib, each of which may import only those on lines before its own.
LAYERS = (
    ("parallel",),
    ("predictions",),
    ("tables", "arrow_messages", "delimited", "readers", "roles", "drafts", "formats", "doctor"),
    ("binning",),
    ("reductions",),
    ("likelihood",),
    ("histogram", "binary"),
    ("multiclass",),
    ("scaling",),
    ("canonical",),
    ("metrics",),
    ("noise", "bootstrap", "debiased", "decomposition"),
    ("guarantees",),
    ("validity",),
    ("summary",),
    ("diagrams", "simplex"),
    ("leaderboard",),
    ("classes", "imbalance"),
    ("figures",),
    ("persistence",),
    ("methods",),
    ("scorer", "onnx"),
    ("model",),
    ("gate", "report"),
    ("lessons",),
    ("datasets",),
    ("commands",),
    ("__main__",),
)
ORDER = [module for layer in LAYERS for module in layer]
MODULES = sorted(path.stem for path in (ROOT / "calib").glob("*.py") if path.stem != "__init__")
PAGES = sorted((ROOT / "pages").rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Every module named by an import statement of a file, wherever in the file it stands."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def place(module: str) -> int:
    """Position of a module in `ORDER`; `figures_simplex` stands with `figures`."""
    family = module if module in ORDER else module.split("_")[0]
    assert family in ORDER, f"calib/{module}.py has no place in LAYERS: add it where it belongs"
    return ORDER.index(family)


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_only_what_stands_before_it(module):
    names = imported(ROOT / "calib" / f"{module}.py")
    inner = {name.split(".")[1] for name in names if name.startswith("calib.")} & set(MODULES)
    wrong = [name for name in inner if place(name) > place(module)]
    assert not wrong, f"calib/{module}.py imports {wrong}, which stand after it"


def test_no_two_modules_import_each_other():
    edges = {
        module: {
            name.split(".")[1]
            for name in imported(ROOT / "calib" / f"{module}.py")
            if name.startswith("calib.")
        }
        & set(MODULES)
        for module in MODULES
    }

    def walk(module, trail):
        assert module not in trail, " -> ".join([*trail, module])
        for target in edges[module]:
            walk(target, [*trail, module])

    for module in MODULES:
        walk(module, [])


@pytest.mark.parametrize("module", [*MODULES, "__init__"])
def test_library_knows_neither_streamlit_nor_plotly(module):
    packages = {name.split(".")[0] for name in imported(ROOT / "calib" / f"{module}.py")}
    assert "streamlit" not in packages
    assert "plotly" not in packages or module.startswith("figures")


@pytest.mark.parametrize("module", [*MODULES, "__init__"])
def test_module_is_of_a_readable_length(module):
    assert len((ROOT / "calib" / f"{module}.py").read_text(encoding="utf-8").splitlines()) <= 350


def test_pages_are_thin():
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in PAGES}
    shared = {name for name in lengths if name.startswith("_")}
    assert not {name: size for name, size in lengths.items() if size > (350 if name in shared else 140)}


def test_pages_stand_in_section_folders():
    """Streamlit runs pages/*.py on its own, without app.py; only helpers it must not show may stand there."""
    assert not [path for path in (ROOT / "pages").glob("*.py") if not path.name.startswith("_")]


def test_requirements_pin_every_package_exactly():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.]+", line)] == []


def test_no_tracked_file_names_a_place_on_one_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    place = re.compile(
        r"(?<![\w.])/(?:" + "|".join(["work", "farm", "root", "tmp", r"home/\w+", r"Users/\w+"]) + ")/"
    )
    found = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (data := path.read_bytes())[:4096]:
            found += [f"{name}: {hit[0]}" for hit in place.finditer(data.decode("utf-8", "replace"))]
    assert not found
