"""Command line: ``calib COMMAND FILE``; `--help` of each command shows examples."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from textwrap import indent
from typing import Any, NoReturn

from calib.base.exceptions import InputError
from calib.base.version import __version__
from calib.cli.input import Failure, FailureData, check_files, is_of_many, run_command
from calib.cli.json_data import as_json
from calib.cli.options import COMMANDS, WITHOUT_JSON, Adder, names_in_help
from calib.cli.streams import is_piped, options_of, question_lines, read_piped, show, wrapped
from calib.files.readers.raw_predictions import RemedyError
from calib.files.readers.roles import ChoiceError, models_in

#: The option for an argument of the library, to name it in errors that it remedies.
OPTION_OF = {"fix": "--fix", "scores": "--scores", "split": "--part"}

PROGRAM = "calib"

#: Characters of the longest message: class names and values of a file may be long.
LONGEST = 2_000

EXIT_CODES = """\
exit codes:
  0  done
  1  a check failed (check, gate) or an alarm (watch)
  2  the options or a file cannot be used; one sentence on stderr says why
  3  internal error: a fault of calib
130  stopped by Ctrl-C
With --json, an error is also an object on stdout: {"error": {"kind", "message", "exit_code"}}.

In place of a file, - means standard input or output; with -o - the rest is printed on stderr.
"""


class _Usage(SystemExit):
    def __init__(self, program: str, message: str) -> None:
        super().__init__(2)
        self.program, self.message = program, message


class _Parser(argparse.ArgumentParser):
    """A parser whose errors can be reported as JSON, and whose help may be cut off by `| head`."""

    #: The parser of each command.
    commands: Mapping[str, argparse.ArgumentParser]
    #: Shown below the options, before the exit codes: examples, and after an empty line what is to be known.
    text = ""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise _Usage(self.prog, message)

    def format_help(self) -> str:
        examples, _, text = self.text.partition("\n\n")
        if "{" in text:
            text = text.format(**names_in_help(self.prog.split()[-1]))
        parts = [f"examples:\n{indent(examples, '  ')}" if examples else "", text, EXIT_CODES]
        self.epilog = "\n\n".join(filter(None, parts))
        return super().format_help()

    def _print_message(self, message: str, file: Any = None) -> None:
        stream = sys.stderr if file is None else file
        show(wrapped(message.rstrip("\n"), stream), stream)


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    program = " ".join([PROGRAM, *words[:1]])

    def report(kind: str, message: str, code: int) -> int:
        sentence = _one_line(message)
        show(wrapped(f"{program}: {sentence}", sys.stderr), sys.stderr)
        if "--json" in words and kind != "output":
            show(json.dumps(as_json(FailureData(Failure(kind, sentence, code))), indent=1), sys.stdout)
        return code

    try:
        everything = parser()
        options = everything.parse_args(words)
        options.parser = everything
        options.arguments = words[1:]
        check_files(options)
        read_piped(options)
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            spread = getattr(options, "scheduler", None) or getattr(options, "workers", None)
            if options.command in ("fit", "apply") and (spread is not None or is_of_many(options.file)):
                options.module = "files_at_scale"
            module = import_module(f"calib.cli.{options.module}")  # only now, for it takes a second
            output = run_command(getattr(module, options.command), options)
        wants_json = getattr(options, "json", False)
        text = json.dumps(as_json(output.data), indent=1, allow_nan=False) if wants_json else output.text
    except _Usage as error:
        program = error.program
        report("usage", f"error: {error.message}", 2)
        raise
    except RemedyError as error:
        remedy = f"add {OPTION_OF[error.argument]} {error.value}, or see what `check` lists"
        return report("input", f"{error.fact}; {remedy}", 2)
    except ChoiceError as error:
        each = " or --each-model" if models_in(error.choices) and hasattr(options, "each_model") else ""
        code = report("input", f"{error.fact}; add {options_of(error.choices)}{each}", 2)
        show(wrapped("\n".join(question_lines(error.choices)), sys.stderr), sys.stderr)
        return code
    except InputError as error:
        return report("input", str(error), 2)
    except OSError as error:
        has_file = error.filename is not None and error.strerror is not None
        return report("input", f"{error.filename}: {error.strerror}" if has_file else str(error), 2)
    except MemoryError as error:
        return report("input", f"there is not enough memory for this: {error}", 2)
    except KeyboardInterrupt:
        return report("stopped", "stopped", 130)
    except Exception as error:
        traceback.print_exc()
        message = (
            f"internal error: {type(error).__name__}: {error}. This is a fault of calib: please report it"
        )
        return report("internal", f"{message} with the lines above", 3)
    if not text:
        return output.code
    stream = sys.stderr if is_piped(getattr(options, "output", None)) else sys.stdout
    unwritten = show(text if wants_json else wrapped(text, stream), stream)
    return output.code if unwritten is None else report("output", f"not printed: {unwritten.strerror}", 2)


def parser() -> _Parser:
    parser = _Parser(
        prog=PROGRAM,
        description="Calibration of classifiers: metrics, calibrators and checks.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"calib {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module, adders in COMMANDS.items():
        for add_options in adders:
            summary, _, text = (inspect.getdoc(add_options) or "").partition("\n\n")
            command = commands.add_parser(
                add_options.__name__,
                help=summary[:1].lower() + summary[1:-1],
                description=summary,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            command.text = text
            command.set_defaults(module=module)
            if add_options not in WITHOUT_JSON:
                command.add_argument("--json", action="store_true", help="print the result as JSON")
            add_options(Adder(command))
    parser.commands = commands.choices
    return parser


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    show(wrapped(f"warning: {_one_line(message)}", sys.stderr), sys.stderr)


def _one_line(message: object) -> str:
    line = " ".join(str(message).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."
