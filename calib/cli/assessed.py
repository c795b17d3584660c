"""Evidence that commands assess: a file's rows or sums, before and after the calibrator that options name."""

from __future__ import annotations

import shlex
from argparse import Namespace
from dataclasses import dataclass
from functools import cached_property

from sklearn.base import BaseEstimator

from calib.answers.conclusion import IfClustered
from calib.answers.metric_tables import methods_of
from calib.base.exceptions import InputError
from calib.calibrators.catalogue import name_of
from calib.cli.input import FileRows, is_summary, read_rows, refuse_summary
from calib.data.equal_rows import Overlap, overlap
from calib.data.kinds import KINDS
from calib.data.predictions import BasePrediction, BinaryPrediction, TopKPrediction, effective_words
from calib.evidence.rows import Rows
from calib.evidence.sums import SummedRows
from calib.files.readers.source import Limits
from calib.files.saved.document import aligned, load_calibrator
from calib.scale.files import load
from calib.scale.summary import Summary
from calib.stats.effective import dependence_words


@dataclass(frozen=True, eq=False)
class Assessed:
    """The base model and a calibrator on the same rows."""

    base: Rows | SummedRows  #: Evidence of the base model
    calibrator: BaseEstimator | None = None  #: None: the base model is assessed alone
    used: Overlap | None = None  #: Rows that the calibrator was fitted on
    notes: tuple[str, ...] = ()  #: What is assessed, one line each

    @property
    def evidence(self) -> Rows | SummedRows:
        """Evidence of the calibrator, without one the base model's."""
        return list(self.methods.values())[-1]

    @property
    def rows(self) -> Rows:
        """Evidence of rows; commands that use it refuse a summary."""
        assert isinstance(self.evidence, Rows)
        return self.evidence

    @cached_property
    def methods(self) -> dict[str, Rows | SummedRows]:
        """Evidence by the name of the method, the base model first."""
        fitted = {} if self.calibrator is None else {name_of(self.calibrator): self.calibrator}
        return methods_of(self.base, fitted)


def assessed(options: Namespace, *, rows_only: bool = False) -> Assessed:
    """Read what the options name: a summary, which `rows_only` refuses, or rows and perhaps a calibrator."""
    if rows_only:
        refuse_summary(options)
    summary = summary_of(options)
    if summary is not None:
        return Assessed(summary, notes=(size_words(summary),))
    rows, notes = _rows_to_assess(options)
    calibrator = used = None
    if options.calibrator:
        calibrator, rows, used = calibrator_for(options.calibrator, rows, notes)
    base = Rows(rows)
    if base.is_declared and not (options.cluster or rows.voted is not None or base.clusters.independent):
        notes.append("clusters are used because of a column's name; --independent counts each row alone")
    return Assessed(base, calibrator, used, (size_words(base), *notes))


def summary_of(options: Namespace) -> Summary | None:
    """Return the summary if the file is one; None if it holds rows."""
    if not is_summary(options.file):
        return None
    if named := [
        name for name in ("calibrator", "split", "labels", "fix", "part") if getattr(options, name, None)
    ]:
        raise InputError(f"--{named[0]} needs the rows, and a summary holds only sums; pass the rows")
    return load(options.file, limits=Limits(seconds=options.time_limit))


def size_words(evidence: Rows | SummedRows) -> str:
    """Say how many rows there are and what they hold."""
    kind, n_rows = KINDS[evidence.kind], f"{evidence.n_samples:,} rows"
    if isinstance(evidence, SummedRows):
        return f"summary of {n_rows} of {kind.title}"
    rows = evidence.predictions
    n_rows = n_rows if rows.voted is None else f"{evidence.n_samples:,} votes"
    what = "" if "vector" in kind.has else f" of {kind.title}"
    what += f", {rows.n_classes:,} classes" if hasattr(rows, "n_classes") else ""
    if isinstance(rows, BinaryPrediction):
        what = f", P(Y = 1) of class {rows.positive!r} against {rows.class_names[0]!r}"
    elif isinstance(rows, TopKPrediction):
        what += f", {rows.n_ranks} ranks"
    notes = [n_rows + what, *row_notes(evidence)]
    if rows.coverage < 1.0:
        notes.append(
            f"the model answers {rows.coverage:.1%} of the rows of the file; abstentions are left out"
        )
    return "; ".join(notes)


def row_notes(evidence: Rows | SummedRows) -> list[str]:
    """Say how many independent rows of equal weight the rows are worth, if they are worth fewer."""
    notes = []
    voted = isinstance(evidence, Rows) and evidence.predictions.voted is not None
    if evidence.is_weighted and not voted:  # votes about a row share its weight
        notes.append(effective_words(evidence.effective_samples, evidence.n_samples))
    if isinstance(evidence, Rows) and (worth := dependence_words(evidence.predictions)):
        notes.append(worth)
    return notes


def dependence_choice(suspected: IfClustered, see: str) -> str:
    """Return what holds if rows belong together, and the options that decide; `see` as for its words."""
    return suspected.words(f" {cluster_option(suspected.column)} or --independent decides.", see)


def cluster_option(column: str) -> str:
    """Return the option that says that rows of a column belong together; of their scores if it is ""."""
    return f"--cluster {shlex.quote(column)}" if column else "--fix rows_together"


def slices_call(options: Namespace, *columns: str) -> str:
    """Return the command that assesses the groups of columns, with the options that say what is read."""
    given, kept = iter(options.arguments), []
    for word in given:
        if word in ("--calibrator", "--tolerance"):
            next(given)
        elif not word.startswith(("--all", "--json", "--calibrator=", "--tolerance=")):
            kept.append(word)
    return shlex.join(["calib", "slices", *kept, *(word for name in columns for word in ("--by", name))])


def calibrator_for(
    file: str, rows: BasePrediction, notes: list[str]
) -> tuple[BaseEstimator, BasePrediction, Overlap | None]:
    """Load a calibrator, put the rows' columns in its order, and note rows that it was fitted on."""
    calibrator = load_calibrator(file)
    reordered = aligned(rows, calibrator)
    if reordered is not rows and rows.kind != "top-label":
        what = "P(Y = 1) was switched" if "event" in rows.has else "columns were reordered"
        notes.append(f"{what} to match the calibrator's classes")
    if (used := overlap(reordered, calibrator)) is not None:
        notes.append(f"warning: {used.words}; assess the calibrator on other rows")
    return calibrator, reordered, used


def _rows_to_assess(options: Namespace) -> tuple[BasePrediction, list[str]]:
    """Return the evaluation rows, or with `split` rows that `fit` did not use, and notes on them."""
    rows = read_rows(options)
    notes = [] if rows.roles is None else [f"read: {rows.roles.sentence()}"]
    notes += [f"fixed in {line}" for line in rows.log] + [f"measured: {_which_rows(rows, options)}"]
    if not options.split:
        return rows.evaluation, notes
    if rows.calibration is not None:
        raise InputError("leave out --split: the file names its calibration rows itself")
    if options.split == 1.0:
        raise InputError("--split 1 leaves no rows to assess; pass the share that was given to fit")
    return rows.evaluation.split(options.split, options.random_state)[1], notes


def _which_rows(rows: FileRows, options: Namespace) -> str:
    if rows.calibration is not None:
        return f"the file's evaluation rows, without its {rows.calibration.n_samples:,} calibration rows"
    if options.split:
        return f"the rows that --split {options.split:g} leaves of {rows.evaluation.n_samples:,}"
    of = f"the part {options.part!r}" if options.part else "the file"
    return f"all rows of {of}" + ", as the fixes leave them" * bool(rows.log)
