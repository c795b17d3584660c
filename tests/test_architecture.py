"""The shape of the code: who may import whom, and nothing that only works on one machine."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path
from pkgutil import resolve_name

import pytest

import calib
from docs.packages import called_imports, imported
from tests import ROOT
from tests.public import FACES, public_objects

LIBRARY = ROOT / "calib"

#: Modules and packages of calib from the ground up. Each may import those before its own, never those after.
LAYERS = (
    ("base",),
    ("data",),
    ("evidence",),
    ("stats",),
    ("calibrators",),
    ("answers",),
    ("files", "testing"),
    ("export", "datasets"),
    ("diagrams",),
    ("scale",),
    ("report",),
    ("lessons",),
    ("cli",),
    ("__main__",),
)
ORDER = [name for layer in LAYERS for name in layer]
MODULES = sorted(LIBRARY.rglob("*.py"))
NAMES = [path.relative_to(ROOT).as_posix() for path in MODULES]
PAGES = sorted((ROOT / "pages").rglob("*.py"))


def dotted(path: Path) -> str:
    """Module name of a file of calib: `calib.stats` for `calib/stats/__init__.py`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def component(name: str) -> str:
    """Module or package of `LAYERS` that a dotted name such as `calib.stats.floors` belongs to."""
    top = name.split(".")[1]
    assert top in ORDER, f"{name} has no place in LAYERS: add it where it belongs"
    return top


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_module_imports_only_what_stands_before_it(path):
    if path == LIBRARY / "__init__.py":
        return  # the face of the library imports everything
    names = imported(path)
    assert "calib" not in names, "inside, import from the module that defines a name, not from calib itself"
    own = component(dotted(path))
    targets = {component(name) for name in names if name.startswith("calib.")}
    wrong = [name for name in targets if ORDER.index(name) > ORDER.index(own)]
    assert not wrong, f"{path.name} imports {wrong}, which stand after {own}"


def test_import_loads_nothing_heavy():
    """In one process, where each import may load more than those before it."""
    code = "import sys"
    for module, heavy in (
        ("calib", {"numpy", "pandas", "scipy", "sklearn"}),
        ("calib.cli.parser, calib.cli.light", {"scipy", "sklearn"}),
        ("calib.stats.measures", {"scipy", "sklearn"}),  # what `calib gate --help` lists
        ("pages.shared.isolation.worker", {"scipy", "sklearn"}),
        ("calib.diagrams.plots, calib.diagrams.simplex_maps", {"plotly"}),
    ):
        code += f"\nimport {module}\nprint({module!r}, {heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall(r"{.*}", done.stdout) == [], done.stdout
    assert done.stdout.count("set()") == 5


def test_every_name_of_the_library_is_found():
    names = set(calib.__all__)
    assert {"ece", "HistogramBinning", "read_predictions", "__version__"} <= names == set(dir(calib))
    assert all(hasattr(face, name) for face in FACES for name in {*face.__all__, *dir(face)})
    assert names - {"__version__"} == names & set(re.findall(r"\w+", calib.__doc__)), (
        "in the map of `help(calib)`"
    )
    assert len(names) <= 120


def test_types_that_functions_return_are_public():
    """A user can annotate what every public function of calib returns."""
    named = {id(each) for each in public_objects().values()}
    functions = {name: each for name in calib.__all__ if inspect.isfunction(each := getattr(calib, name))}
    assert len(functions) > 50
    for name, function in functions.items():
        returned = [typing.get_type_hints(function)["return"]]
        while returned:
            hint = returned.pop()
            assert hint is not typing.Any, name
            returned += typing.get_args(hint)
            if inspect.isclass(hint) and hint.__module__.startswith("calib."):
                assert id(hint) in named, f"{name} returns {hint}"


def test_no_public_name_of_the_last_version_is_gone():
    """docs/release.md promises a FutureWarning for two versions before a name goes."""
    listed = (ROOT / "tests/names_of_0_2.txt").read_text(encoding="utf-8").split()
    assert set(listed) <= set(dir(calib))
    with pytest.raises(AttributeError, match="eec"):
        calib.eec  # noqa: B018


@pytest.mark.parametrize(
    ("name", "now"),
    [
        *(
            (name, f"calib.{package}.{name}")
            for package, moved in calib._MOVED.items()
            for name in moved.split()
        ),
        ("NoiseFloor", "calib.stats.NoiseFloor"),
        ("DecisionRule", "calib.answers.DecisionRule"),
        ("Examination", "calib.files.findings.Examination"),
    ],
)
def test_a_name_that_has_moved_gives_its_object_with_a_warning(name, now):
    with pytest.warns(FutureWarning, match=re.escape(now)):
        assert getattr(calib, name) is resolve_name(now)
    assert name not in dir(calib)


def package_edges() -> dict[str, set[str]]:
    """Packages of library and app, each with those it imports; a module at the top counts as a package."""
    paths = {dotted(path): path for path in (*MODULES, *PAGES, ROOT / "app.py", ROOT / "serve.py")}
    of = {
        name: dotted(path.parent) if len(path.relative_to(ROOT).parts) > 1 else name
        for name, path in paths.items()
    }
    edges: dict[str, set[str]] = {}
    for name, path in paths.items():
        if path.name != "__init__.py":
            targets = {of[target] for target in imported(path) & set(paths)}
            edges.setdefault(of[name], set()).update(targets - {of[name]})
    return {name: targets & set(edges) for name, targets in edges.items()}


@pytest.mark.parametrize("of", ["modules", "packages"])
def test_no_two_of_a_kind_import_each_other(of):
    modules = {dotted(path): path for path in MODULES}
    edges = {name: imported(path) & set(modules) - {name} for name, path in modules.items()}
    edges = edges if of == "modules" else package_edges()
    done: set[str] = set()

    def walk(module, trail):
        assert module not in trail, " -> ".join([*trail, module])
        if module not in done:
            for target in edges[module]:
                walk(target, [*trail, module])
            done.add(module)

    for module in edges:
        walk(module, [])


def test_calls_that_import_are_read_as_imports(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "import importlib\nimport_module('a.b')\ndef f(x):\n  importlib.import_module('c')\n"
        "  __import__('d')\n  importlib.import_module(x)\n  importlib.import_module(f'e.{x}')\n"
    )
    assert imported(file) == {"importlib", "a.b", "c", "d"}
    assert called_imports(file).count(None) == 2


def test_names_of_modules_are_computed_in_few_places():
    """What a computed name leads to, no test of imports can read: these modules import what stands below."""
    computed = {name for path, name in zip(MODULES, NAMES, strict=True) if None in called_imports(path)}
    assert computed == {"calib/__init__.py", "calib/cli/parser.py"}


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_library_knows_neither_streamlit_nor_plotly(path):
    packages = {name.split(".")[0] for name in imported(path)}
    assert "streamlit" not in packages
    types = LIBRARY / "base" / "results.py"  # the return type of `plot`
    assert "plotly" not in packages or path in (types, LIBRARY / "diagrams" / "style.py")


def test_no_package_hides_a_module_behind_a_function():
    """`from package import name` must not depend on which of the two was imported last."""
    clashes, own = [], {"datasets", "report"}
    for face in [*LIBRARY.rglob("__init__.py"), *LIBRARY.rglob("__init__.pyi")]:
        modules = {path.name.removesuffix(".py") for path in face.parent.iterdir()}
        names = {
            alias.name
            for node in ast.walk(ast.parse(face.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or not node.level)
            for alias in node.names
        }
        clashes += [f"{face.parent.name}.{name}" for name in names & modules - own]
    assert not clashes


def test_each_class_has_a_name_of_its_own():
    modules: dict[str, list[str]] = {}
    for path in (*MODULES, *PAGES):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    twice = {name: found for name, found in modules.items() if len(found) > 1}
    assert twice.keys() <= {"Layout", "Rows"}, twice


@pytest.mark.parametrize("path", PAGES, ids=[path.relative_to(ROOT).as_posix() for path in PAGES])
def test_pages_share_only_through_their_shared_package(path):
    others = [name for name in imported(path) if name.startswith("pages.")]
    assert not [name for name in others if not name.startswith("pages.shared")]


@pytest.mark.parametrize("path", [*MODULES, *PAGES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_imports_a_private_name(path):
    leaves = {name.split(".")[-1] for name in imported(path) if name.startswith(("calib", "pages"))}
    assert not [name for name in leaves if name.startswith("_") and not name.startswith("__")]


def test_pages_stand_in_a_folder():
    """Streamlit runs pages/*.py on its own, without app.py; only helpers it must not show may stand there."""
    assert not [path for path in (ROOT / "pages").glob("*.py") if not path.name.startswith("_")]


def test_requirements_pin_every_package_exactly():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.]+", line)] == []
    hashed = (ROOT / "requirements-hashed.txt").read_text(encoding="utf-8")
    with_hashes = re.findall(r"^(\S+==\S+) \\\n    --hash=sha256:[0-9a-f]{64}", hashed, re.MULTILINE)
    assert with_hashes == [line.lower().replace("_", "-") for line in pins], "run `make hashes`"
