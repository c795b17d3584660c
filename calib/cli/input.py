"""Common parts of the commands: their outcome, and reading the rows and calibrators that options name."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from calib.base.exceptions import InputError
from calib.base.outputs import check_output
from calib.cli.streams import INPUTS, PIPE, is_piped, progress_line
from calib.data.predictions import BasePrediction, ConfidencePrediction, in_common_classes, rows_that_count
from calib.files.checked import usable, usable_pair
from calib.files.findings.examination import Examination, check
from calib.files.readers.answers import accepted_answers, lists_as_text
from calib.files.readers.long_format import classes_counted
from calib.files.readers.raw_predictions import decided_but_for_labels, divide, read_raw
from calib.files.readers.reading import read_table
from calib.files.readers.roles import ChoiceError, Given, Roles, given_columns, kept, models_in
from calib.files.readers.source import Limits, open_source
from calib.files.readers.tables import Table, some_names

#: Options that name a file to write.
OUTPUTS = ("output", "junit", "markdown")
#: Options that every reader of columns takes, by the fields of `Given`.
GIVEN = [each.name for each in fields(Given) if each.name != "abstentions"]


def chosen(options: Namespace, names: str) -> dict[str, Any]:
    """Return options for a function whose arguments have the same names."""
    return {name: getattr(options, name) for name in names.split()}


def changed(options: Namespace, **others: Any) -> Namespace:
    return Namespace(**(vars(options) | others))


def calibrator_options(options: Namespace) -> tuple[dict[str, Any], str | None]:
    """Return the options of `make_calibrator`, and the column of the groups, if --by names groups."""
    names = "notion points_per_bin n_bins ties top_k normalize fallback l2 off_diagonal random_state"
    given = chosen(options, names) | {"complete": "rescale" if options.complete else None}
    if options.by in (None, "class"):
        return given, None
    column = options.by.removeprefix("class,")
    return given | {"by": ("class", "group") if column != options.by else "group"}, column


Data = TypeVar("Data", covariant=True)


@dataclass(frozen=True)
class Output(Generic[Data]):
    """What a command prints. Its type of data gives the schema of its --json."""

    text: str  #: The result for people
    data: Data  #: The result for programs: a dataclass, or None if the command has no --json
    code: int = 0  #: Exit code: 0, or 1 if the command is a check that failed


@dataclass(frozen=True)
class FitData:
    calibrator: str  #: File written
    method: str  #: Name of the method
    n_calibration: int  #: Rows it was fitted on
    #: Classes with too few rows, and what they use instead
    not_calibrated: Sequence[Mapping[str, str | int]]
    #: Bound for conf-ECE, TL-ECE or CW-ECE over the classes with enough rows, with probability 90 %, and the
    #: largest share of predictions of other classes; null without a bound
    error_bound: float | None
    uncovered_bound: float | None


@dataclass(frozen=True)
class Failure:
    kind: str  #: "usage", "input", "stopped" or "internal"
    message: str  #: One sentence
    exit_code: int  #: 2 or more


@dataclass(frozen=True)
class FailureData:
    error: Failure


@dataclass(frozen=True)
class EachModelData(Generic[Data]):
    models: Mapping[str, Data]  #: What is printed for each model of the file


def run_command(command: Callable[[Namespace], Output[Any]], options: Namespace) -> Output[Any]:
    """Run a command once, or for each model of its file, with the worst exit code."""
    try:
        return command(options)
    except ChoiceError as error:
        models = models_in(error.choices)
        if not models or not getattr(options, "each_model", False):
            raise
    outputs = {}
    for name, option in models.items():
        given = {key: getattr(options, key, None) for key in OUTPUTS}
        files = {key: _output_of(name, file) for key, file in given.items() if file}
        outputs[name] = command(changed(options, **files, **{option: name}))
    return Output(
        "\n\n".join(f"{name}\n{'=' * len(name)}\n{output.text}" for name, output in outputs.items()),
        EachModelData({name: output.data for name, output in outputs.items()}),
        max(output.code for output in outputs.values()),
    )


def _output_of(model: str, output: str) -> str:
    if is_piped(output):
        raise InputError("--each-model writes a file for each model; name a file, not -")
    path, safe = Path(output), re.sub(r"[^\w.-]+", "_", model)
    return str(path.with_name(f"{path.stem}-{safe}{path.suffix}"))


def fix_codes(options: Namespace) -> list[str]:
    return [code for code in options.fix.split(",") if code]


@dataclass(frozen=True, eq=False)
class FileRows:
    """Rows of a file that the options select."""

    calibration: BasePrediction | None  #: None if the file names no calibration rows
    evaluation: BasePrediction  #: The rows to use
    #: Findings about the calibration and evaluation rows; empty if the file was not examined
    examinations: Mapping[str, Examination]
    roles: Roles | None  #: What the columns of the file were read as

    @property
    def log(self) -> tuple[str, ...]:
        """One line per fix that was applied, for exports to carry."""
        return tuple(
            f"{part} rows: {line}"
            for part, examination in self.examinations.items()
            for line in examination.log
        )

    def divided(self, options: Namespace) -> tuple[BasePrediction, BasePrediction | None, str]:
        """Return the rows to fit on, all others (None if there are none), and where the first come from."""
        if self.calibration is not None:
            return self.calibration, self.evaluation, "calibration rows named by the file"
        if options.split == 1.0:
            return self.evaluation, None, "all rows of the file"
        fitting, others = self.evaluation.split(options.split, options.random_state)
        return (
            fitting,
            others,
            f"a stratified {options.split:.0%} of the file's rows, seed {options.random_state}",
        )


def is_of_many(paths: Any) -> bool:
    if not isinstance(paths, str):
        return False
    return os.path.isdir(paths) or (not os.path.exists(paths) and any(mark in paths for mark in "*?["))


def check_files(options: Namespace) -> None:
    """Check before the work starts that all outputs can be written and are not also inputs."""
    if options.command == "apply" and is_of_many(options.file):
        return  # the output is a folder, and its files are checked one by one
    given = [getattr(options, name, None) for name in ("files", *INPUTS)]
    inputs = [file for each in given for file in (each if isinstance(each, list) else [each])]
    for output in (getattr(options, name, None) for name in OUTPUTS):
        if output and output != PIPE:
            check_output(output, [file for file in inputs if file and file != PIPE])


def read_rows(options: Namespace, *, labelled: bool = True, examined: bool = False) -> FileRows:
    """Read the file, examine it if requested or if there are fixes, and return its rows."""
    refuse_summary(options)
    if options.independent and options.cluster:
        raise InputError("--independent says that rows do not belong together; leave out --cluster, or it")
    with progress_line() as progress:
        limits = Limits(seconds=options.time_limit).begun()
        asked: dict[str, Any] = {"format": options.format, "limits": limits, "progress": progress}
        if options.sample:
            return _sampled(read_table(options.file, **asked, unwrap=lists_as_text), options)
        file = read_table(options.file, **asked)
    labels = read_table(options.labels, limits=limits) if options.labels else None
    calibration = None
    given, examinations = given_of(options), {}
    if options.fix or examined:
        wanted: dict[str, Any] = {"fix": fix_codes(options), "split": options.part}
        examinations = check(file, labels=labels, given=given, limits=limits, **wanted)
    if options.fix:
        name = options.part or ("evaluation" if "evaluation" in examinations else "calibration")
        rows = examinations[name].rows(options.scores)
        if "calibration" in examinations and not options.part and name == "evaluation":
            calibration = examinations["calibration"].rows(options.scores)
        roles = examinations[name].raw.roles
    elif labelled and not labels and not options.part:
        parts = divide(file, given=given)
        roles = next(iter(parts.values())).roles
        calibration, rows = usable_pair(parts, options.scores)
    else:
        raw = read_raw(file, labels=labels, split=options.part, given=given)
        raw = raw if labelled else decided_but_for_labels(raw)
        rows, roles = usable(raw, options.scores), raw.roles
    rows = rows if labelled else rows.without_votes()
    if calibration is not None:
        calibration, rows = in_common_classes(calibration, rows)
        calibration = _counted(calibration, options)
    rows = _counted(rows, options) if labelled else rows
    if labelled and rows.labels is None:
        further = () if rows.metadata is None else tuple(map(str, rows.metadata))
        votes = [name for name in further if classes_counted([name])]
        hint = f"; votes are read if they are named: --votes {' --votes '.join(votes)}" if votes else ""
        raise InputError(
            f"the file has no true labels; give them in a column 'label' or with --labels FILE{hint}"
        )
    return FileRows(calibration, rows, examinations, roles)


def _sampled(file: Table, options: Namespace) -> FileRows:
    """Return repeated answers to questions, with the share that agrees as confidence."""
    named = {*GIVEN} - {"label", "cluster", "only", "scores"}
    unused = [name for name in (*sorted(named), "labels", "part", "fix") if getattr(options, name)]
    if unused or not options.label:
        raise InputError(
            "--sample takes --label, the column of accepted answers, and --cluster, the column of questions "
            f"if each answer has a line; {f'leave out --{unused[0]}' if unused else 'add --label'}"
        )
    given = Given(votes=tuple(options.sample), cluster=options.cluster, only=tuple(options.only))
    given = given.resolved(file)
    file = kept(file, given.only)
    if options.label not in file.columns:
        raise InputError(f"there is no column {options.label[:60]!r}; there are: {some_names(file.columns)}")
    accepted = [accepted_answers(cell) for cell in file.columns[options.label].tolist()]
    names = [name for name in given.votes if name not in (options.label, given.cluster)]
    answers = np.stack([np.asarray(file.columns[name], dtype=object) for name in names], axis=1)
    question = None if given.cluster is None else file.columns[given.cluster]
    rows = ConfidencePrediction.from_samples(answers, accepted, question, metadata=file.frame())
    return FileRows(None, _counted(rows, options), {}, None)


def _counted(rows: BasePrediction, options: Namespace) -> BasePrediction:
    rows = rows.unweighted() if options.unweighted else rows_that_count(rows)
    return rows.independent() if options.independent else rows


def columns(options: Namespace) -> dict[str, Any]:
    if options.sample:
        raise InputError("--sample needs one file of answers, and a command that assesses rows")
    return chosen(options, " ".join(GIVEN))


def given_of(options: Namespace) -> Given:
    """Return what the options say about the columns of a file that is read as a whole."""
    return given_columns(columns(options) | {"abstentions": options.abstention or None})


def numbers_by_name(texts: Sequence[str], what: str) -> dict[str, float]:
    """Read numbers written as "name=number".

    >>> numbers_by_name(["tl_ece=0.03"], "a limit as metric=number")
    {'tl_ece': 0.03}
    """
    numbers: dict[str, float] = {}
    for text in texts:
        name, _, number = map(str.strip, text.rpartition("="))
        try:
            value = float(number)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"write {what}; got {text!r}")
        if name in numbers:
            raise InputError(f"{name} is given twice, {numbers[name]:g} and {value:g}; give one")
        numbers[name] = value
    return numbers


def refuse_summary(options: Namespace) -> None:
    """Raise `InputError` if the file of a command that needs rows is a summary."""
    if is_summary(options.file):
        raise InputError(
            f"{options.command} needs the rows, and {str(options.file)!r} is a summary, which holds sums of "
            "them; metrics, gate, slices and report read summaries"
        )


def is_summary(file: Any) -> bool:
    """Return whether a file is a summary, by its first bytes, which are gzip's."""
    limits = Limits()
    source = open_source(file, limits)
    if source.head(2) != b"\x1f\x8b":
        return False
    from calib.scale.files import is_summary as holds_summary  # scikit-learn, which reading does without

    return holds_summary(source, limits)
