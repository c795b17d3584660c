"""What commands share: their outcome, and the rows and calibrators that options name."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

from calib.doctor.examination import check as check_file
from calib.exceptions import InputError
from calib.formats.drafts import read_pair, read_predictions
from calib.persistence.document import aligned, load
from calib.predictions import Predictions


@dataclass(frozen=True)
class Outcome:
    """What a command found.

    Attributes
    ----------
    text : str
        For people.
    data : dict
        For programs, plain JSON types.
    code : int
        Exit code: 0, or 1 where the command is a check that failed.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    code: int = 0


def fix_codes(options: Namespace) -> list[str]:
    """Return the codes of the fixes to apply."""
    return [code for code in options.fix.split(",") if code]


def read_sets(options: Namespace, *, labelled: bool = True) -> tuple[Predictions | None, Predictions]:
    """Read (calibration, evaluation) rows, fixed as asked; calibration is None where the file names none."""
    calibration: Predictions | None = None
    if options.fix:
        reports = check_file(
            options.file, labels=options.labels, fix=fix_codes(options), format=options.format
        )
        name = options.part or ("evaluation" if "evaluation" in reports else "calibration")
        if name not in reports:
            raise InputError(f"the file has no part {name!r}; it has {', '.join(reports)}")
        rows = reports[name].predictions(options.scores)
        if "calibration" in reports and not options.part and name == "evaluation":
            calibration = reports["calibration"].predictions(options.scores)
    elif options.labels or options.part:
        rows = read_predictions(
            options.file,
            labels=options.labels,
            format=options.format,
            split=options.part,
            scores=options.scores,
        )
    elif labelled:
        calibration, rows = read_pair(options.file, format=options.format, scores=options.scores)
    else:
        rows = read_predictions(options.file, format=options.format, scores=options.scores)
    if labelled and rows.labels is None:
        raise InputError("the file has no true labels; give them in a column 'label' or with --labels FILE")
    return calibration, rows


def fixes_log(options: Namespace) -> tuple[str, ...]:
    """Return one line per fix that `read_sets` applies, for exports to carry."""
    if not options.fix:
        return ()
    reports = check_file(options.file, labels=options.labels, fix=fix_codes(options), format=options.format)
    return tuple(f"{part} rows: {line}" for part, report in reports.items() for line in report.log)


def rows_to_assess(options: Namespace) -> Predictions:
    """Return the evaluation rows, or with `split` those that `fit` with this share and seed did not use."""
    calibration, rows = read_sets(options)
    if not options.split:
        return rows
    if calibration is not None:
        raise InputError("the file names its calibration rows; --split is for files that name none")
    if options.split == 1.0:
        raise InputError("--split 1 leaves no rows to assess; use the share that fit was given")
    return rows.split(options.split, options.seed)[1]


def calibrator_for(file: str, rows: Predictions, notes: list[str]) -> tuple[Any, Predictions]:
    """Load a calibrator file and put the columns of the rows in its order, noting so."""
    calibrator = load(file)
    reordered = aligned(rows, calibrator)
    if reordered is not rows:
        notes.append("columns were put in the calibrator's order of classes")
    return calibrator, reordered
