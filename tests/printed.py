"""What a page prints, in order: blocks of Python and commands, each run as a reader would run it.

A page is Markdown. A block of Python with prompts is a doctest, one without is executed; both share the names
of the page. In a block of `sh` every line is a command; in a block of `console` commands follow a "$", and
their output is compared, "..." standing for anything. In a block of `yaml`, commands of calib are run, too.
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
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from calib.cli.parser import main
from tests import ROOT

FENCE = re.compile(r"^( *)```+ *\{?([\w-]*)\}?[^\n]*\n(.*?)^\1```+ *$", re.MULTILINE | re.DOTALL)
RUN = ("python", "sh", "console", "yaml")
CHECKER, COMPARED = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: What only a shell understands.
SHELL = re.compile(r"[|<>;&$`]")
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


def commands(block: Block) -> list[tuple[str, str | None]]:
    """Return the commands of a block, each with the output that it must print, None where none is shown."""
    text = re.sub(r"\\\n *", "", block.text)
    if block.language == "console":
        parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
        assert not parts[0].strip(), f"line {block.line}: a block of console begins with '$ '"
        return [(one.partition("\n")[0], one.partition("\n")[2]) for one in parts[1:]]
    lines = [line.strip() for line in text.splitlines()]
    if block.language == "yaml":
        lines = [line.removeprefix("- ").removeprefix("run: ") for line in lines]
        lines = [line for line in lines if of_calib(line.split()) is not None]
    return [(line, None) for line in lines if line and not line.startswith("#")]


def of_calib(words: list[str]) -> list[str] | None:
    """Return the arguments of a command of calib, None if it is another command."""
    for start in (["calib"], ["python", "-m", "calib"]):
        if words[: len(start)] == start:
            return words[len(start) :]
    return None


def run_page(
    path: Path,
    folder: Path,
    *,
    shell: bool = False,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> int:
    """Run the blocks of a page in the current folder; return how many examples and commands were run.

    Commands that need a shell are run where `shell`, and otherwise only looked at. `only` names sections to
    run, "" what stands before the first; `without` names sections to leave out.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    done = 0
    every = blocks(path.read_text(encoding="utf-8"))
    assert {*(only or ()), *without} <= {block.section for block in every}, f"{path.name} has other sections"
    for block in every:
        where = f"{path.name}, line {block.line}"
        if block.section in without or (only is not None and block.section not in only):
            continue
        if block.language != "python":
            done += sum(run_command(*one, folder, where, shell=shell) for one in commands(block))
        elif ">>>" in block.text:
            parser, runner = (
                doctest.DocTestParser(),
                doctest.DocTestRunner(optionflags=COMPARED, verbose=False),
            )
            examples = parser.get_doctest(block.text, names, where, str(path), block.line - 1)
            said = io.StringIO()
            result = runner.run(examples, out=said.write, clear_globs=False)
            names = examples.globs
            assert result.failed == 0, said.getvalue()
            done += result.attempted
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, where, "exec"), names)
            done += 1
    return done


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
            for command, _ in commands(block):
                look_at_command(command, where)


def run_command(command: str, output: str | None, folder: Path, where: str, *, shell: bool) -> int:
    """Run a command, or look at one that would install, build or serve; return 1 if it was run."""
    command, _, comment = command.partition("  #")
    expected = int(match[1]) if (match := re.search(r"exits with (\d)", comment)) else 0
    where = f"{where}: {command}"
    look_at_command(command, where)
    needs_shell = SHELL.search(command) is not None
    arguments = of_calib(shlex.split(command))
    if arguments is None or arguments[0] == "app" or (needs_shell and not shell):
        return 0
    if needs_shell:
        program = f'calib() {{ {shlex.quote(sys.executable)} -m calib "$@"; }}\nset -o pipefail\n{command}\n'
        ran = subprocess.run(
            ["bash", "-c", program],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        code, said = ran.returncode, ran.stdout
    else:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = main(arguments)
        said = printed.getvalue()
    assert code == expected, f"{where}: exit code {code}"
    if output is not None:
        assert CHECKER.check_output(output, said, COMPARED), f"{where} prints\n{said}"
    return 1


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
            assert all(re.search(rf"^[\w ]*\b{one}\b.*:", MAKEFILE, re.MULTILINE) for one in named), where
        case ["pip", "install", *packages] | [_, "-m", "pip", "install", *packages]:
            for extra in re.findall(r"[\w-]+", " ".join(one.partition("[")[2] for one in packages)):
                assert re.search(rf"^{extra} = \[", PROJECT, re.MULTILINE), f"{where}: no extra {extra}"
        case ["python", "-m", module, *_]:
            assert find_spec(module), where
        case ["python", script, *_]:
            assert (ROOT / script).is_file(), where
        case ["docker", "compose", *_]:
            assert (ROOT / "compose.yaml").is_file(), where
        case _:
            raise AssertionError(f"{where}: no test knows this command")
