"""Commands that examine files and write reports: check, gate and report."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any

from calib.assessment.gate import gate as hold_against
from calib.assessment.gate import parse_limits
from calib.assessment.leaderboard import named_methods
from calib.assessment.summary import assessment, calibrated_scores
from calib.binning import Strategy
from calib.calibrators.catalogue import name_of
from calib.cli.input import Outcome, calibrator_for, fix_codes, read_sets, rows_to_assess
from calib.doctor.examination import check as check_file
from calib.doctor.findings import counted
from calib.exceptions import InputError
from calib.persistence.document import aligned, load
from calib.report.page import ReportInput, report_html

#: Methods of `named_methods` that a report compares: one per reduction, and temperature scaling.
_REPORTED = ("TL-HB", "Conf-HB", "CW-HB", "N-HB", "TS")


def check(options: Namespace) -> Outcome:
    """Examine a file and say what is wrong with it; 1 if an error stands in the way of using it."""
    reports = check_file(options.file, labels=options.labels, fix=fix_codes(options), format=options.format)
    lines, data = [], {}
    for part, report in sorted(reports.items()):
        draft = report.draft
        lines.append(
            f"{part}: {counted(draft.n_samples, 'row')}, {counted(draft.n_classes, 'column')} of scores"
        )
        lines += [f"  fixed {line}" for line in report.log]
        for one in report.findings:
            hint = f" [--fix {one.code}]" if one.fix is not None else ""
            lines.append(f"  {one.severity}: {one.code}: {one.message}{hint}")
        if not report.findings:
            lines.append("  nothing to report")
        data[part] = {
            "n_samples": draft.n_samples,
            "n_columns": draft.n_classes,
            "ok": report.ok,
            "fixed": list(report.log),
            "findings": [
                {
                    "code": one.code,
                    "severity": one.severity,
                    "message": one.message,
                    "fixable": one.fix is not None,
                    "n_rows": len(one.rows),
                    "rows": one.rows[:20].tolist(),
                    "columns": list(one.columns[:20]),
                }
                for one in report.findings
            ],
        }
    return Outcome(
        "\n".join(lines),
        {"file": str(options.file), "parts": data},
        0 if all(report.ok for report in reports.values()) else 1,
    )


def gate(options: Namespace) -> Outcome:
    """Hold the evaluation rows against limits; 1 if one is broken."""
    rows = rows_to_assess(options)
    scores: Any = rows
    strategy: Strategy = "uniform"
    if options.calibrator:
        calibrator, rows = calibrator_for(options.calibrator, rows, [])
        scores, strategy = calibrated_scores(calibrator, rows), assessment(calibrator)
    result = hold_against(
        rows.labels,
        scores,
        most=parse_limits(options.max),
        least=parse_limits(options.min),
        above_noise=options.above_noise,
        n_bins=options.bins,
        strategy=strategy,
        n_resamples=options.resamples,
        random_state=options.seed,
    )
    data = {"file": str(options.file), "n_samples": rows.n_samples, **result.data()}
    return Outcome(result.sentence, data, 0 if result.passed else 1)


def report(options: Namespace) -> Outcome:
    """Write one self-contained HTML page about the evaluation rows and calibrators."""
    examinations = check_file(
        options.file, labels=options.labels, fix=fix_codes(options), format=options.format
    )
    calibration, rows = read_sets(options)
    how = "calibration rows named by the file" if calibration is not None else "none"
    if calibration is None and options.split:
        calibration, rows = rows.split(options.split, options.seed)
        how = f"a stratified {options.split:.0%} of the file's rows, seed {options.seed}"
    calibrators: dict[str, Any] = {}
    for file in options.calibrator:
        calibrator = load(file)
        before, rows = rows.class_names, aligned(rows, calibrator)
        if calibrators and rows.class_names != before:
            raise InputError(
                f"{Path(file).name} has its classes in another order than the calibrator before it"
            )
        calibrators[f"{name_of(calibrator)} ({Path(file).name})"] = calibrator
    if calibration is not None:
        calibration = calibration.in_order_of(rows.class_names)
        methods = named_methods(None, options.points_per_bin)
        for name in _REPORTED:
            calibrators[name] = methods[name].fit(calibration.proba, calibration.labels)
    command = f"python -m calib report {shlex.join(options.arguments)}"
    html = report_html(
        ReportInput(
            rows,
            calibrators,
            calibration,
            title=Path(options.file).name,
            examinations=examinations,
            settings={"Command": command, "Calibration": how},
            n_bins=options.bins,
            n_resamples=options.resamples,
            random_state=options.seed,
        )
    )
    Path(options.output).write_text(html, encoding="utf-8")
    size = len(html.encode()) / 1e6
    data = {"output": str(options.output), "bytes": len(html.encode()), "calibrators": list(calibrators)}
    return Outcome(f"wrote {options.output} ({size:.1f} MB), {rows.n_samples:,} rows", data)
