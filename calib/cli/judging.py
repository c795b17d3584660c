"""Commands about who answers: a judge compared with people, and levels of a hierarchy of classes."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pandas as pd

from calib.answers.coarsening import Coarsening
from calib.answers.coarsening import coarsen as choose_levels
from calib.answers.judgement import Judgement, Passing
from calib.answers.judgement import judge as judge_rows
from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.results import parts
from calib.cli.assessed import assessed
from calib.cli.input import Output, chosen, refuse_summary
from calib.cli.streams import deliver, progress_line, table_lines
from calib.files.readers.judged import JudgedColumns, read_judged
from calib.files.readers.reading import read_table
from calib.files.readers.source import Limits
from calib.files.saved.document import dumps
from calib.files.writing import write_csv

_table = partial(table_lines, float_format="{:.3f}".format, na_rep="-")


@dataclass(frozen=True)
class JudgeData:
    file: str
    judgement: Judgement = field(
        metadata=parts("sentence n_rows n_labelled chosen_by main alpha rates cells agreement kappa ac1")
    )
    passing: Passing = field(metadata=parts("accuracy share thresholds"))
    promise: str  #: What passes and what is promised
    #: With --plan: rows to label next, from 0, and how many of each cell
    rows: Sequence[int] | None = None
    plan: Mapping[str, int] | None = None
    width_after: float | None = None  #: With --plan: expected width of the interval with these labels


def read_judgement(options: Namespace) -> tuple[Judgement, JudgedColumns]:
    """Read the columns that the options name, or that the file shows; return the comparison, and columns."""
    refuse_summary(options)
    named = chosen(options, "verdict human confidence cluster weight labelled_by sample only")
    with progress_line() as progress:
        limits = Limits(seconds=options.time_limit).begun()
        read = read_judged(options.file, named, format=options.format, limits=limits, progress=progress)
    return judge_rows(**read.arguments, **chosen(options, "alpha chosen_by cut")), read


def judge(options: Namespace) -> Output[JudgeData]:
    """Read the columns that the options name, and compare verdicts and labels."""
    if options.output and not options.plan:
        raise InputError("--output writes rows to label; add --plan with how many")
    found, read = read_judgement(options)
    passing, cells = found.passing(options.accuracy), found.cells.frame().assign(cell=found.cells.names)
    shown = ["cell", "share", "n_labels", "agreement", "lower", "upper"]
    scores = {"agreement": found.agreement, "Cohen's kappa": found.kappa, "Gwet's AC1": found.ac1}
    interval = f"{100 * (1 - found.alpha):.3g} % interval"
    lines = [f"read: {read.words}", found.sentence]
    if len(found.rows.names) > 2 and all(name.isdecimal() for name in found.rows.names):
        lines.append("verdicts are numbers: with --cut X they are pass from X on, and fail below")
    lines += ["", *_table(found.frame()), "", *_table(cells[shown]), ""]
    known = {name: number for name, number in scores.items() if not math.isnan(number.value)}
    lines += [
        f"{name:<14} {with_interval(number.value, number.lower, number.upper, interval, least=3)}"
        for name, number in known.items()
    ]
    lines += ["kappa is low if one class is rare, however often people agree"] * (len(known) > 1)
    lines += [""] * bool(known)
    lines.append(passing.sentence)
    data = JudgeData(str(options.file), found, passing, passing.sentence)
    if options.plan:
        plan = found.next_rows(options.plan, random_state=options.random_state)
        written = "" if options.output else " (-o OUT.CSV writes the rows)"
        lines += ["", f"{plan.sentence} Label these next{written}:", "", *_table(plan.frame())]
        by_cell = dict(zip(plan.cell.tolist(), plan.n_next.tolist(), strict=True))
        rows = read.rows[plan.rows].tolist()
        data = replace(data, rows=rows, plan=by_cell, width_after=plan.width_after)
        if options.output:
            table = pd.DataFrame(read.columns).convert_dtypes().iloc[plan.rows]
            lines += ["", deliver(options.output, write_csv(table))]
    return Output("\n".join(lines), data)


@dataclass(frozen=True)
class CoarsenData:
    file: str
    rule: Coarsening = field(metadata=parts("sentence guarantee accuracy alpha n_samples"))
    #: By level, the finest first: threshold, answers, accuracy
    levels: Sequence[Mapping[str, str | int | float]]


def coarsen(options: Namespace) -> Output[CoarsenData]:
    """Choose how high a summed probability must be for each level of a hierarchy of classes to answer."""
    refuse_summary(options)
    if options.output and not options.calibrator:
        raise InputError("--output writes a calibrator file with the levels in it; add --calibrator CAL.JSON")
    tree = dict(read_table(options.tree).columns) if options.tree else None
    found = assessed(options)
    rule = choose_levels(
        found.evidence, tree=tree, accuracy=options.accuracy, alpha=options.alpha, overlap=found.used
    )
    lines = [*found.notes, rule.sentence, "", *_table(rule.frame())]
    if options.output:
        lines.append(deliver(options.output, dumps(rule.carried_by(found.calibrator))))
    levels = [{str(name): cell for name, cell in row.items()} for row in rule.frame().to_dict("records")]
    return Output("\n".join(lines), CoarsenData(str(options.file), rule, levels))
