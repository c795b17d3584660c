"""What is published: wheel and source archive, and what works where only the wheel is installed."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from calib.base.version import __version__
from tests import ROOT

pytest.importorskip("hatchling", reason="the package that builds the wheel is not installed")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def build(target: str, source: Path, folder: Path) -> Path:
    """Build "wheel" or "sdist" of a copy of the repository, as `python -m build` does."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = folder.glob({"wheel": "*.whl", "sdist": "*.tar.gz"}[target])
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder with what the wheel holds, and nothing else of the repository."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_conda_recipe_says_what_the_project_says():
    lines = (ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8").splitlines()
    lines = [line.strip().removeprefix("- ") for line in lines]
    run = lines[lines.index("run:") + 1 : lines.index("tests:") - 1]
    needed = [name.replace(">=", " >=") for name in PROJECT["dependencies"]]
    assert run == ["python >=${{ python_min }}", *needed]
    said = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith("#"))
    assert f'version: "{__version__}"' in lines
    assert said["name"] == PROJECT["name"]
    assert said["summary"].strip('"') == PROJECT["description"]
    assert said["license"] == PROJECT["license"]
    assert [f"{name} = {entry}" for name, entry in PROJECT["scripts"].items()] == [
        line for line in lines if line.startswith("calib = ")
    ]


def test_wheel_is_named_versioned_and_described(wheel):
    assert wheel.name == f"calib_diagnostics-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith("/METADATA")]
        facts = email.message_from_bytes(archive.read(metadata))
    assert facts["Name"] == "calib-diagnostics"
    assert facts["License-Expression"] == "BSD-3-Clause"
    assert facts["Description-Content-Type"] == "text/markdown"
    assert set(facts.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert {name.split("/")[0] for name in names} == {"calib", metadata.split("/")[0]}
    assert not [name for name in names if "__pycache__" in name]


def files(folder: str) -> set[str]:
    """Files in a folder of the repository, without what Python compiles."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if path.parent.name != "__pycache__"}


def test_wheel_holds_every_file_of_library_and_app(wheel):
    """`app.py`, pages and assets stand in a folder of the package."""
    app = files("pages") | files("assets") | {"app.py", "serve.py", ".streamlit/config.toml"}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("calib/")}
    assert held == files("calib") | {f"calib/app/{name}" for name in app}


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """The folder that the source archive holds."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder)) as archive:
        archive.extraction_filter = lambda member, path: member  # `filter=` came with 3.11.4
        archive.extractall(folder / "source")
    (source,) = (folder / "source").iterdir()
    return source


def test_source_archive_gives_the_same_wheel(source, wheel, tmp_path):
    assert (source / "tests/test_package.py").is_file()
    assert build("wheel", source, tmp_path).read_bytes() == wheel.read_bytes()


def test_no_published_file_names_a_place_on_one_machine(source):
    place = re.compile(
        r"(?<![\w.])/(?:" + "|".join(["work", "farm", "root", "tmp", r"home/\w+", r"Users/\w+"]) + ")/"
    )
    found, read = [], 0
    for path in source.rglob("*"):
        if path.is_file() and b"\0" not in (data := path.read_bytes())[:4096]:
            read += 1
            found += [f"{path}: {hit[0]}" for hit in place.finditer(data.decode("utf-8", "replace"))]
    assert read > 100
    assert not found


@pytest.mark.parametrize("part", ["base", pytest.param("app", marks=pytest.mark.thorough)])
def test_wheel_works_where_nothing_else_of_the_repository_is(installed, tmp_path, part):
    """As in `tests/installed.py`; `make package` does the same in clean environments, with each extra."""
    if part == "app":
        pytest.importorskip("streamlit", reason="the app extra is not installed")
    command = [sys.executable, str(ROOT / "tests/installed.py"), part]
    place = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(installed)}}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **place)
    assert done.stdout == f"{part}: works\n", done.stderr
