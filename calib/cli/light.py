"""Commands that fit and assess nothing. They start without scikit-learn, which takes a second to import."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from calib.base.exceptions import InputError, not_installed
from calib.base.results import parts
from calib.cli.input import Output, fix_codes, given_of, read_rows, refuse_summary
from calib.cli.streams import deliver, options_of, question_lines
from calib.data.kinds import KINDS
from calib.files.findings.codes import Finding, counted
from calib.files.findings.examination import Examination
from calib.files.findings.examination import check as check_file
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.source import Limits
from calib.files.readers.tables import some_names

#: Placeholder of a file in the help of an option.
_FILES = ("FILE", "STATE", "CAL.JSON", "OUT", "OUT.HTML", "OUT.JSON", "OUT.MD", "OUT.XML")


@dataclass(frozen=True)
class RoleData:
    column: str
    role: str


@dataclass(frozen=True)
class FindingData:
    finding: Finding = field(metadata=parts("code severity message"))
    fixable: bool  #: Whether --fix takes the code
    n_rows: int  #: Rows concerned
    rows: Sequence[int]  #: The first 20 of them, from 0
    columns: Sequence[str]  #: The first 20 classes or columns concerned


@dataclass(frozen=True)
class PartData:
    raw: RawPredictions = field(metadata=parts("kind n_samples"))
    n_columns: int  #: Columns of scores
    roles: Sequence[RoleData]  #: What the columns of the file are read as
    examination: Examination = field(metadata=parts("ok"))
    fixed: Sequence[str]  #: A line for each fix
    findings: Sequence[FindingData]  #: Errors first


@dataclass(frozen=True)
class CheckData:
    file: str
    parts: Mapping[str, PartData]  #: "evaluation", and "calibration" if the file names such rows


def check(options: Namespace) -> Output[CheckData]:
    """Examine a file and list its problems; exit code 1 if an error prevents its use."""
    refuse_summary(options)
    examinations = check_file(
        options.file, labels=options.labels, fix=fix_codes(options), format=options.format,
        split=options.part, given=given_of(options), limits=Limits(seconds=options.time_limit),
    )  # fmt: skip
    lines, data = [], {}
    for part, examination in sorted(examinations.items()):
        raw = examination.raw
        what = f"{counted(raw.n_classes, 'column')} of scores"
        if "vector" not in raw.has:
            what = KINDS[raw.kind].title
        lines.append(f"{part}: {counted(raw.n_samples, 'row')}, {what}")
        roles = [] if raw.roles is None else raw.roles.table()
        lines += columns_in_words(roles)
        lines += [f"  fixed {line}" for line in examination.log]
        for finding in examination.findings:
            hint = f" [--fix {finding.code}]" if finding.fix is not None else ""
            if finding.code == "columns_ambiguous" and raw.roles is not None:
                hint = f" [{options_of(raw.roles.choices)}]"
            lines.append(f"  {finding.severity}: {finding.code}: {finding.message}{hint}")
            if finding.code == "columns_ambiguous" and raw.roles is not None:
                lines += [f"    {line}" for line in question_lines(raw.roles.choices)]
        if not examination.findings:
            lines.append("  no problems found")
        read_as = [RoleData(*role) for role in roles]
        found = [
            FindingData(
                each, each.fix is not None, len(each.rows), each.rows[:20].tolist(), each.columns[:20]
            )
            for each in examination.findings
        ]
        data[part] = PartData(raw, raw.n_classes, read_as, examination, examination.log, found)
    code = 0 if all(examination.ok for examination in examinations.values()) else 1
    return Output("\n".join(lines), CheckData(str(options.file), data), code)


def columns_in_words(roles: Sequence[tuple[str, str]]) -> list[str]:
    """Return a table of the roles of columns, many columns of a role in one line."""
    by_role: dict[str, list[str]] = {}
    for name, role in roles:
        by_role.setdefault(role, []).append(name)
    return [f"  {role:<10} {some_names(names)}" for role, names in by_role.items()]


@dataclass(frozen=True)
class LessonData:
    output: str
    bytes: int
    rows: int | None  #: Rows of the bin of one's own predictions, if any


def lesson(options: Namespace) -> Output[LessonData]:
    """Write the lesson, or the teacher's notes, as one self-contained HTML page."""
    from calib.lessons.page import lesson as make_lesson  # only here: it imports scikit-learn

    if options.file is None:
        made = make_lesson()
    else:
        title = Path(getattr(options.file, "name", options.file)).name
        made = make_lesson(read_rows(options).evaluation, title=title)
    content = (made.handout() if options.handout else made.page()).encode(errors="backslashreplace")
    rows = None if made.own is None else made.own.count
    own = "" if rows is None else f", with a bin of {rows:,} rows of your predictions"
    wrote = f"{deliver(options.output, content)} ({len(content) / 1e3:.0f} kB){own}"
    return Output(wrote, LessonData(options.output, len(content), rows))


def app(options: Namespace) -> NoReturn:
    words = [] if options.port is None else ["--server.port", str(options.port)]
    words += [] if options.address is None else ["--server.address", options.address]
    words += ["--server.headless", "false", "--server.showEmailPrompt", "false"] if options.browser else []
    serve([*words, *options.streamlit])


def completion(options: Namespace) -> Output[None]:
    if find_spec("shtab") is None:
        raise InputError("shtab, which writes the script, is not installed; run: pip install shtab")
    import shtab  # only here

    for command in options.parser.commands.values():
        for action in command._actions:
            if action.choices is not None:
                action.choices = tuple(action.choices)  # some choices are looked up only now, see `parser`
            if action.metavar in _FILES:
                action.complete = shtab.FILE
    return Output(shtab.complete(options.parser, shell=options.shell).rstrip("\n"), None)


def serve(words: Sequence[str] = (), **environment: str) -> NoReturn:
    """Replace this process by the app's server; an installed package has the app in its own folder."""
    if find_spec("streamlit") is None:
        raise not_installed("Streamlit, which the app runs on,", "app")
    package = Path(__file__).parents[1]
    folder = package / "app" if (package / "app").is_dir() else package.parent
    command = [sys.executable, str(folder / "serve.py"), *words]
    os.execve(sys.executable, command, {**os.environ, **environment})  # noqa: S606
