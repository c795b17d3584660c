"""Change random places of calib, one at a time, and list the changes that no test notices.

`python -m tests.mutants calib/stats calib/data --count 200`; `calib/stats/bets.py:108` tries each change of a
line. A changed module meets its own tests, its package's, and the examples in its package's docstrings, in a
copy of the tree. A change that survives either changes no result, or lacks a test.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests import ROOT

#: Operators by their names in `ast`: pairs that are exchanged, and pairs whose second replaces the first.
EXCHANGED = (
    "Lt LtE, Gt GtE, Lt GtE, Gt LtE, Eq NotEq, Is IsNot, In NotIn, And Or, Add Sub, Mult Div, BitAnd BitOr"
)
REPLACED = "FloorDiv Mult, Mod Mult, Pow Mult"

#: Fields of the syntax tree that hold types, decorators and messages: they are not changed.
UNCHANGED = ("annotation", "returns", "decorator_list", "exc")

#: Longest time of the tests of a changed module, in times of the tests before, and in seconds in addition.
SLOWER, MORE_SECONDS = 3.0, 20.0


class Place(NamedTuple):
    path: str  #: Module, relative to the tree
    line: int
    number: int  #: Number of the change among the module's


def others(operator: ast.AST) -> list[Any]:
    exchanged, replaced = ([pair.split() for pair in text.split(", ")] for text in (EXCHANGED, REPLACED))
    pairs = [*exchanged, *(pair[::-1] for pair in exchanged), *replaced]
    return [getattr(ast, after)() for before, after in pairs if before == type(operator).__name__]


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield changes of a node: another operator or constant, no `not`, branches exchanged or left out."""
    match node:
        case ast.Compare(left, operators, right):
            for place, operator in enumerate(operators):
                for other in others(operator):
                    yield ast.Compare(left, [*operators[:place], other, *operators[place + 1 :]], right)
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) | ast.BoolOp(op=operator):
            for other in others(operator):
                yield type(node)(**{**dict(ast.iter_fields(node)), "op": other})
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(bool() | int() | float() as value):
            more = 2.0 * value or 1.0 if isinstance(value, float) else value + 1
            yield ast.Constant(not value if isinstance(value, bool) else more)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.If(_, [*_, ast.Return()] as body, orelse):
            yield ast.If(ast.Constant(False), body, orelse)


class Changes(ast.NodeTransformer):
    """Count the changes of a module, or make the change with the number `chosen`."""

    def __init__(self, source: bytes, chosen: int = -1) -> None:
        self.chosen, self.words = chosen, ""
        self.lines: list[int] = []  #: Line of each change
        tree = ast.parse(source)
        fields = (getattr(node, name, None) for node in ast.walk(tree) for name in UNCHANGED)
        parts = (part for field in fields for part in (field if isinstance(field, list) else [field]) if part)
        self.unchanged = {id(node) for part in parts for node in ast.walk(part)}
        self.tree = self.visit(tree)

    def visit(self, node: ast.AST) -> ast.AST:
        if id(node) in self.unchanged or isinstance(node, ast.JoinedStr):
            return node
        for other in changed(node):
            self.lines.append(node.lineno)
            if len(self.lines) - 1 == self.chosen:
                self.words = "  ->  ".join(ast.unparse(item).partition("\n")[0] for item in (node, other))
                return other
        return self.generic_visit(node)


def places_in(tree: Path, name: str) -> Iterator[Place]:
    """Yield the places of a package, of a module, or of a line of it."""
    path, _, line = name.partition(":")
    for file in sorted((tree / path).rglob("*.py")) or [tree / path]:
        for number, at in enumerate(Changes(file.read_bytes()).lines):
            if line in ("", str(at)):
                yield Place(file.relative_to(tree).as_posix(), at, number)


def passes(tree: Path, tests: list[str], seconds: float | None = None) -> bool:
    """Whether the tests of a tree pass in this time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(tree)}
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:  # of an interrupt, too, with the workers that it started
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def main() -> int:
    """Try changes and print those that survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("places", nargs="*", default=["calib/evidence", "calib/stats"], help="in calib")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="no change begins later")
    options = parser.parse_args()
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").replace("/", "").split()
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        tree = Path(folder, "calib")
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", *ignored))
        every = [place for name in options.places for place in places_in(tree, name)]
        chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
        until, tried, survivors, limits = time.time() + 60 * options.minutes, 0, 0, dict[str, float]()
        for place in chosen:
            if time.time() > until:
                break
            module = tree / place.path
            package, of_package = module.parent, Path(tree, "tests", *Path(place.path).parent.parts[1:])
            tests = [of_package / f"test_{module.name}", of_package, package]
            names = [str(item) for item in tests if item.exists()]
            if package.name not in limits:
                start = time.time()
                if not passes(tree, names):
                    sys.exit(f"the tests of {package.name} fail without any change")
                limits[package.name] = SLOWER * (time.time() - start) + MORE_SECONDS
            source = module.read_bytes()
            change = Changes(source, place.number)
            module.write_text(ast.unparse(change.tree), encoding="utf-8")
            survives = passes(tree, names, limits[package.name])
            module.write_bytes(source)
            tried, survivors = tried + 1, survivors + survives
            if survives:
                print(f"{place.path}:{place.line}: {change.words}", flush=True)
    print(f"{survivors} of {tried} changes survived; {len(every):,} are possible")
    return 0


if __name__ == "__main__":
    sys.exit(main())
