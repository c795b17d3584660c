"""What a page prints, in order: blocks of Python and commands, each run as a reader would run it.

A page is Markdown. A block of Python with prompts is a doctest, one without is executed; both share the names
of the page. In a block of `sh` every line is a command; in a block of `console` commands follow a "$", and
their output is compared, "..." standing for anything. In a block of `yaml`, commands of calib are run, too.
`python -m tests.printed PAGE ...` runs pages and writes what they print today into them.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from calib.cli.parser import main
from tests import ROOT

FENCE = re.compile(r"^( *)```+ *\{?([\w-]*)\}?[^\n]*\n(.*?)^\1```+ *$", re.MULTILINE | re.DOTALL)
RUN = ("python", "sh", "console", "yaml")
CHECKER, COMPARED = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CONTINUED = re.compile(r"\\\n *")
#: What only a shell understands, and what needs none: output into a file.
SHELL, INTO_FILE = re.compile(r"[|<>;&$`]"), re.compile(r"([^|<>;&$`]+) > ([\w.-]+)")
#: Sections that are run elsewhere, for their packages: tests/scale/test_dask.py, test_spark.py.
APART = {"scale.md": ("Dask", "Spark")}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, the line it begins on, its section of rank 2."""

    language: str
    text: str
    line: int
    section: str = ""


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page that are run, without their indentation."""
    found = []
    for match in FENCE.finditer(page):
        indent, language, text = match.groups()
        if language in RUN:
            text = "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
            heads = re.findall(r"^## (.*)", FENCE.sub("", page[: match.start()]), re.MULTILINE)
            line = page.count("\n", 0, match.start()) + 2
            found.append(Block(language, text, line, heads[-1] if heads else ""))
    return found


@dataclass(frozen=True)
class Command:
    """A command of a block; the output that must follow it, None if none is shown, and the line of that."""

    text: str
    output: str | None = None
    line: int = 0


def commands(block: Block) -> list[Command]:
    """Return the commands of a block."""
    if block.language == "console":
        before, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        assert not before.strip(), f"line {block.line}: a block of console begins with '$ '"
        found, line = [], block.line
        for part in parts:
            typed = re.match(r"(?:.*\\\n)*.*\n", part)[0]
            text = CONTINUED.sub("", typed).strip()
            found.append(Command(text, part[len(typed) :], line + typed.count("\n")))
            line += part.count("\n")
        return found
    lines = [line.strip() for line in CONTINUED.sub("", block.text).splitlines()]
    if block.language == "yaml":
        lines = [line.removeprefix("- ").removeprefix("run: ") for line in lines]
        lines = [line for line in lines if of_calib(line.split()) is not None]
    return [Command(line) for line in lines if line and not line.startswith("#")]


def of_calib(words: list[str]) -> list[str] | None:
    """Return the arguments of a command of calib, None if it is another command."""
    for start in (["calib"], ["python", "-m", "calib"]):
        if words[: len(start)] == start:
            return words[len(start) :]
    return None


@dataclass(frozen=True)
class Difference:
    """What a page shows from a line on, and what is printed instead."""

    where: str
    line: int
    shown: str
    printed: str


class Comparison(doctest.DocTestRunner):
    """Runs a doctest and keeps what differs; an error ends it."""

    def __init__(self) -> None:
        super().__init__(optionflags=COMPARED, verbose=False)
        self.differences: list[Difference] = []

    def report_failure(self, out, test, example, got) -> None:
        line = test.lineno + 1 + example.lineno + example.source.count("\n")
        printed = (
            re.sub(r"^$", "<BLANKLINE>", got.removesuffix("\n"), flags=re.MULTILINE) + "\n" if got else ""
        )
        self.differences.append(Difference(f"{test.name}: {example.source}", line, example.want, printed))

    def report_unexpected_exception(self, out, test, example, exc_info) -> None:
        raise exc_info[1]


def run_page(
    path: Path, folder: Path, *, only: Sequence[str] | None = None, without: Sequence[str] = ()
) -> int:
    """Run the blocks of a page in the current folder; return how many examples and commands were run.

    `only` names sections to run, "" what stands before the first; `without` names sections to leave out.
    """
    done, differences = compare_page(path, folder, only=only, without=without)
    assert not differences, (
        "\n".join(
            f"{item.where}\nThe page shows\n{item.shown}Printed is\n{item.printed}" for item in differences
        )
        + f"If this is meant, run `python -m tests.printed {path}`."
    )
    return done


def compare_page(
    path: Path, folder: Path, *, only: Sequence[str] | None = None, without: Sequence[str] = ()
) -> tuple[int, list[Difference]]:
    """Run the blocks as `run_page` does; return also what differs from the page."""
    names: dict[str, object] = {"__name__": "__main__"}
    done, differences = 0, []
    every = blocks(path.read_text(encoding="utf-8"))
    assert {*(only or ()), *without} <= {block.section for block in every}, f"{path.name} has other sections"
    for block in every:
        where = f"{path.name}, line {block.line}"
        if block.section in without or (only is not None and block.section not in only):
            continue
        if block.language != "python":
            for command in commands(block):
                printed = run_command(command.text, folder, where)
                done += printed is not None
                if None not in (printed, command.output) and not CHECKER.check_output(
                    command.output, printed, COMPARED
                ):
                    differences.append(
                        Difference(f"{where}: {command.text}", command.line, command.output, printed)
                    )
        elif ">>>" in block.text:
            test = doctest.DocTestParser().get_doctest(block.text, names, where, str(path), block.line - 1)
            comparison = Comparison()
            done += comparison.run(test, out=lambda text: None, clear_globs=False).attempted
            names = test.globs
            differences += comparison.differences
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, where, "exec"), names)
            done += 1
    return done, differences


def rewritten(page: str, differences: Sequence[Difference]) -> str:
    """Return a page that shows what is printed."""
    lines = page.splitlines(keepends=True)
    for item in sorted(differences, key=lambda item: item.line, reverse=True):
        place = slice(item.line - 1, item.line - 1 + item.shown.count("\n"))
        indent = re.match(" *", lines[item.line - 2])[0]
        lines[place] = [textwrap.indent(item.printed, indent)]
    return "".join(lines)


def run_notebook(path: Path) -> int:
    """Execute the cells of a notebook, show what a cell ends with as a notebook does; return how many."""
    names: dict[str, object] = {"__name__": "__main__"}
    cells = [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    for number, cell in enumerate(cells):
        assert cell["outputs"] == [], f"{path.name} is stored without outputs"
        tree = ast.parse("".join(cell["source"]))
        shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tree, f"{path.name}, code cell {number}", "exec"), names)
            if isinstance(shown, ast.Expr):
                value = eval(compile(ast.Expression(shown.value), path.name, "eval"), names)
                shown_as = "" if hasattr(value, "layout") else getattr(value, "_repr_html_", value.__repr__)()
                assert len(shown_as) < 40_000, (
                    f"{path.name}, code cell {number}: {len(shown_as):,} characters"
                )
    return len(cells)


def look_at_page(path: Path) -> None:
    """Check without running anything: Python compiles, and what the commands name is there."""
    for block in blocks(path.read_text(encoding="utf-8")):
        where = f"{path.name}, line {block.line}"
        if block.language == "python":
            for example in doctest.DocTestParser().get_examples(block.text):
                compile(example.source, where, "single")
            if ">>>" not in block.text:
                compile(block.text, where, "exec")
        else:
            for command in commands(block):
                look_at_command(command.text, where)


def run_command(command: str, folder: Path, where: str) -> str | None:
    """Run a command and return what it prints; what installs, builds or serves is only looked at: None."""
    command, _, comment = command.partition("  #")
    expected = int(match[1]) if (match := re.search(r"exits with (\d)", comment)) else 0
    where = f"{where}: {command}"
    look_at_command(command, where)
    arguments = of_calib(shlex.split(command))
    if arguments is None or arguments[0] == "app":
        return None
    if into := INTO_FILE.fullmatch(command):
        with (folder / into[2]).open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
            code, printed = main(of_calib(shlex.split(into[1]))), ""
    elif SHELL.search(command):
        program = f'calib() {{ {shlex.quote(sys.executable)} -m calib "$@"; }}\nset -o pipefail\n{command}\n'
        ran = subprocess.run(
            ["bash", "-c", program],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        code, printed = ran.returncode, ran.stdout
    else:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = main(arguments)
        printed = said.getvalue()
    assert code == expected, f"{where}: exit code {code}"
    return printed


def has_command(name: str) -> bool:
    """Whether the command line has this command."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main([name, "--help"])
        except SystemExit as end:
            return end.code == 0
    return True


def look_at_command(command: str, where: str) -> None:
    """Check that what a command names is there; a command that no test knows is an error."""
    words = shlex.split(command, comments=True)
    if (arguments := of_calib(words)) is not None:
        assert has_command(arguments[0]), f"{where}: calib has no command {arguments[0]}"
        return
    match words:
        case ["make", *targets]:
            named = [target for target in targets if "=" not in target]
            assert named, where
            assert all(re.search(rf"^[\w ]*\b{item}\b.*:", MAKEFILE, re.MULTILINE) for item in named), where
        case ["pip", "install", *packages] | [_, "-m", "pip", "install", *packages]:
            for extra in re.findall(r"[\w-]+", " ".join(item.partition("[")[2] for item in packages)):
                assert re.search(rf"^{extra} = \[", PROJECT, re.MULTILINE), f"{where}: no extra {extra}"
        case ["python", "-m", module, *_]:
            assert find_spec(module), where
        case ["python", script, *_]:
            assert (ROOT / script).is_file(), where
        case ["docker", "compose", *_]:
            assert (ROOT / "compose.yaml").is_file(), where
        case _:
            raise AssertionError(f"{where}: no test knows this command")


def write_pages(pages: Sequence[str]) -> None:
    """Run each page in a folder of its own, and write into it what it prints."""
    for page in pages:
        path = Path(page).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            _, differences = compare_page(path, Path(folder), without=APART.get(path.name, ()))
        text = path.read_text(encoding="utf-8")
        path.write_text(rewritten(text, differences), encoding="utf-8")
        print(f"{page}: {len(differences)} outputs written again")


if __name__ == "__main__":
    write_pages(sys.argv[1:])
