"""Commands about files of any size: they read batch by batch, and never all rows at once."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calib.answers.guarantee_cards import promise_of
from calib.base.exceptions import InputError, not_installed
from calib.base.interval_words import with_interval
from calib.base.results import parts
from calib.calibrators.catalogue import make_calibrator, name_of
from calib.calibrators.multiclass import fallback_records
from calib.cli.input import FitData, Output, calibrator_options, chosen, columns
from calib.cli.streams import deliver, is_piped, progress_line, show
from calib.files.findings.codes import counted
from calib.files.readers.reading import read_table
from calib.files.saved.document import dumps, load_calibrator
from calib.scale.applying import Applied
from calib.scale.applying import apply as apply_files
from calib.scale.engines import DaskCluster
from calib.scale.files import dumps as summary_bytes
from calib.scale.files import load
from calib.scale.fitting import fit as fit_files
from calib.scale.scan import summarize as summarize_files
from calib.scale.summary import Summary
from calib.scale.warehouse import sql as warehouse_query
from calib.scale.warehouse import summary_of_counts


@dataclass(frozen=True)
class NumberData:
    metric: str  #: Name of the number
    value: float
    interval: Sequence[float] | None  #: 95 % interval, if sums give one


@dataclass(frozen=True)
class SummaryData:
    output: str  #: Summary written
    summary: Summary = field(metadata=parts("kind n_samples n_classes n_abstained n_faulty fingerprint"))
    findings: Sequence[str]
    parts: int  #: Parts of the data that are covered, such as row groups of files
    groups: Mapping[str, int]  #: Number of groups of each summed column
    metrics: Sequence[NumberData]


@dataclass(frozen=True)
class QueryData:
    dialect: str
    query: str


@dataclass(frozen=True)
class AppliedData:
    output: str  #: Folder of the files
    n_samples: int
    done: Applied = field(metadata=parts("files n_resumed"))


def summarize(options: Namespace) -> Output[SummaryData]:
    """Summarize files, and write the summary."""
    workers = _workers(options)
    with progress_line() as progress:
        summary = summarize_files(
            options.files,
            weighted=not options.unweighted,
            class_names=options.class_names.split(",") if options.class_names else None,
            faults="drop" if options.drop else "stop",
            workers=workers,
            progress=progress,
            **chosen(options, "by class_wise part"),
            **columns(options),
        )
    deliver(options.output, summary_bytes(summary))
    return _summary_output(summary, options)


def merge(options: Namespace) -> Output[SummaryData]:
    total = load(options.files[0])
    for file in options.files[1:]:
        total = total.merge(load(file))
    deliver(options.output, summary_bytes(total))
    return _summary_output(total, options)


def sql(options: Namespace) -> Output[QueryData | SummaryData]:
    """Print the query that sums a table in a warehouse, or write the summary of its result."""
    if options.result is None:
        query = warehouse_query(options.dialect, **chosen(options, "table predicted confidence label"))
        return Output(query.rstrip("\n"), QueryData(options.dialect, query))
    if options.output is None:
        raise InputError("--result needs -o OUT, the summary to write")
    table = read_table(options.result)
    summary = summary_of_counts({name: table.columns[name] for name in table.columns}, str(options.result))
    deliver(options.output, summary_bytes(summary))
    return _summary_output(summary, options)


def fit(options: Namespace) -> Output[FitData]:
    """Fit a calibrator to files, and write its file."""
    asked, groups = calibrator_options(options)
    calibrator = make_calibrator(options.method, **asked)
    part = options.part or "calibration"
    if part not in ("calibration", "evaluation"):
        raise InputError(f"for many files, --part must be calibration or evaluation; got {part!r}")
    given = {"groups": groups, "part": part, "workers": _workers(options), **columns(options)}
    with progress_line() as progress:
        fitted = fit_files(options.file, calibrator, progress=progress, **given)
    deliver(options.output, dumps(fitted))
    n_rows = fitted.fitted_on_.n_samples
    promise, bounds = promise_of(fitted)
    lines = [f"{name_of(fitted)} fitted on {n_rows:,} rows", *promise, f"wrote {options.output}"]
    about = str(options.output), name_of(fitted), n_rows, fallback_records(fitted, fitted.class_names_)
    return Output("\n".join(lines), FitData(*about, *bounds))


def apply(options: Namespace) -> Output[AppliedData]:
    """Calibrate files with a calibrator file, and write files."""
    if is_piped(options.output):
        raise InputError("files that are read batch by batch are written to a folder; give -o a folder")
    if any((options.label_shift, options.target_shares, options.training_shares, options.save)):
        raise InputError(
            "class shares are corrected for one file; write the corrected calibrator there with --save, and "
            "apply it to the folder"
        )
    calibrator = load_calibrator(options.calibrator)
    with progress_line() as progress:
        asked = {"progress": progress, **columns(options)}
        done = apply_files(calibrator, options.file, options.output, **asked)
    files = counted(len(done.files), "file")
    resumed = f"; {done.n_resumed:,} of them were finished by an earlier run" if done.n_resumed else ""
    data = AppliedData(str(options.output), done.n_rows, done)
    return Output(f"wrote {done.n_rows:,} rows to {files}{resumed}", data)


def _workers(options: Namespace) -> int | DaskCluster | None:
    """Return the number of threads, or the Dask cluster that --scheduler names or starts."""
    if options.scheduler is None:
        return options.workers
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise not_installed("Dask, for --scheduler,", "dask") from None
    address = options.scheduler
    if address == "local":
        address = LocalCluster(n_workers=options.workers or 2, threads_per_worker=1)
    cluster = DaskCluster(Client(address))
    show(f"Dask shows what it does at {cluster.dashboard}", sys.stderr)
    return cluster


def _summary_output(summary: Summary, options: Namespace) -> Output[SummaryData]:
    findings = [*summary.findings, *summary.remarks]
    classes = f", {summary.n_classes:,} classes" if summary.n_classes else ""
    lines = [f"{summary.n_samples:,} rows{classes}"]
    if summary.n_abstained:
        lines.append(f"{summary.n_abstained:,} rows hold no answer; they are left out")
    if summary.n_faulty:
        lines.append(f"{summary.n_faulty:,} rows cannot be used; they are left out")
    lines += [*(f"  {line}" for line in findings), ""]
    numbers = []
    for name, value, *ends in summary.frame(options.n_bins).itertuples(index=False):
        numbers.append(NumberData(name, value, None if math.isnan(ends[0]) else ends))
        shown = f"{value:.4f}" if math.isnan(ends[0]) else with_interval(value, *ends)
        lines.append(f"{name:<16}{shown}")
    lines += [f"{options.n_bins} equal-width bins; in brackets the 95 % interval", f"wrote {options.output}"]
    groups = {column: len(names) for column, (names, _) in summary.by.items()}
    data = SummaryData(str(options.output), summary, findings, len(summary.parts), groups, numbers)
    return Output("\n".join(lines), data)
