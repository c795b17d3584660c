"""Long computations in worker processes, so that those who only move a slider do not wait for them.

A function is called here if it will take less than `AT_ONCE` seconds, else in one of a bounded number of
workers that all sessions share. Workers call functions of `FUNCTIONS` only, by name.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from calib.answers import Cut, slice_gaps, slices
from calib.answers.advice import choose_points_per_bin, recommend
from calib.answers.calibrated import calibrated_scores, fit_on, vector_losses
from calib.answers.change import change
from calib.answers.summary import summarize, summary_intervals
from calib.base.parallel import WORKERS
from calib.calibrators.effort import fit_seconds
from calib.data.kinds import kind_of
from calib.data.notions import TOP_NOTIONS
from calib.data.predictions import Announcement
from calib.diagrams.bin_sweep import ece_sweep
from calib.diagrams.classes import class_table
from calib.diagrams.imbalance import class_binning, plan_bins
from calib.diagrams.refits import binned_sweeps, keeps_classes
from calib.diagrams.scheme_comparison import compare_schemes
from calib.diagrams.validity import validity_curve
from calib.evidence.binning import BinaryProblems
from calib.files.findings.examination import examine
from calib.files.readers.source import Progress
from calib.files.readers.writing import write_csv
from calib.stats.bands import calibration_band
from calib.stats.binless import MOST_REDRAWN, calibration_slope, calibration_tests, kernel_test
from calib.stats.bootstrap import paired_interval
from calib.stats.debiased import smooth_ece, sweep_ece
from calib.stats.differences import paired_difference
from calib.stats.floors import canonical_noise_floors, noise_floors, problem_floors
from calib.stats.intervals import measure_interval
from calib.stats.measures import MEASURES
from pages.shared.isolation.objects import Packer, n_bytes, unpack
from pages.shared.isolation.process import LOST, Pool, Worker

if TYPE_CHECKING:
    from calib.report import ReportInput

#: Seconds up to which a function is called here.
AT_ONCE = 0.25
#: Seconds, and bytes of arguments, above which a job has workers of its own, which stand far back.
LONG, LARGE = 3.0, 2_000_000
#: Workers at a time, memory of a job beyond the imports, its processor time: environment variables.
COMPUTERS = int(os.environ.get("CALIB_WORKERS", str(WORKERS)))
MEMORY_MIB = int(os.environ.get("CALIB_WORKER_MEMORY_MIB", "8192"))
SECONDS = int(os.environ.get("CALIB_WORKER_SECONDS", "1800"))


def fit(
    calibrator: Any, calibration: Announcement, evaluation: Announcement, groups: Any = (None, None)
) -> tuple[Any, Any]:
    """Fit a calibrator; return it, with its scores of the evaluation rows; `groups` are those of either."""
    fitted = fit_on(calibrator, calibration, groups=groups[0])
    return fitted, calibrated_scores(fitted, evaluation, groups=groups[1])


def write_report(contents: ReportInput) -> str:
    """Return the page of a report, with what the doctor finds in the evaluation rows."""
    from calib.report import report_html  # and with it plotly, which nothing else here needs

    report = examine(contents.evaluation, calibration=contents.calibration)
    return report_html(replace(contents, examinations={"evaluation": report}))


def write_table(frame: pd.DataFrame) -> np.ndarray:
    """Return the bytes of a table as CSV."""
    return np.frombuffer(write_csv(frame), dtype=np.uint8)


def _seconds_to_fit(
    calibrator: Any, calibration: Announcement, evaluation: Announcement, groups: Any = None
) -> float:
    """Estimate the time of `fit`: reading the rows, and what `calib.calibrators.effort` knows."""
    top_only = getattr(calibrator, "notion", "") in TOP_NOTIONS
    megabytes = (calibration.n_bytes + evaluation.n_bytes) / 1e6
    n_classes = calibration.n_scores // calibration.n_samples
    return (
        fit_seconds(calibrator, calibration.n_samples, n_classes)
        + (0.0004 if top_only else 0.007) * megabytes
    )


def _seconds_to_slice(labels: np.ndarray, scores: Any, cuts: list[Cut], **options: Any) -> float:
    """Estimate the time of `slices`, which grows with rows and groups."""
    return sum(5e-6 * len(cut.code) * (1.0 + len(cut.groups) / 200) for cut in cuts)


def _by_root_of_rows(seconds: float) -> Callable[..., float]:
    """Estimate the time of what redraws or bins: so many seconds for 10,000 rows, twice for 40,000."""

    def estimate(*arguments: Any, **options: Any) -> float:
        rows = max(getattr(one, "n_samples", 0) for one in arguments)
        return seconds * (rows / 10_000) ** 0.5

    return estimate


def _seconds_to_bound(labels: np.ndarray, scores: Any, key: str, **options: Any) -> float:
    """Estimate the time of `measure_interval`: of an error by its entries, else by rows and scores."""
    if MEASURES[key].is_error:
        return 4e-8 * len(scores.scores)
    return 1.5e-7 * len(labels) + 3e-4 * n_bytes(scores) / 1e6


def _seconds_to_summarize(labels: Any, scores: Any, **options: Any) -> float:
    """Estimate the time of `summarize`: of rows, which are sorted, and of scores, which are read.

    Where several classes can be true, the scores of all are sorted.
    """
    megabytes = n_bytes(scores) / 1e6
    if kind_of(scores).name == "multilabel":
        return 0.03 * megabytes
    passes = 2 if options.get("class_wise", True) else 1
    return 1.5e-7 * len(labels) + 7e-4 * passes * megabytes


def _seconds_to_test(labels: Any, scores: Any, **options: Any) -> float:
    """Estimate the time of `calibration_tests`: by the redraws of problems, or the pairs of rows."""
    if isinstance(scores, BinaryProblems):
        distinct = len(scores.tie_starts)
        return 1.5e-5 * distinct if distinct <= MOST_REDRAWN else 5e-8 * scores.n_samples
    return _by_root_of_rows(0.7)(scores)


def _seconds_to_redraw(
    y_true: Any,
    problems: BinaryProblems,
    measures: Any,
    *,
    n_bins: int = 15,
    strategy: Any = "uniform",
    **options: Any,
) -> float:
    """Estimate the time of `noise_floors`: of all entries, and of those that are drawn, in small cells."""
    entries = len(problems.scores)
    cells = len(problems.tie_starts) if strategy == "discrete" else problems.n_problems * n_bins
    return 2e-6 * min(entries, 250 * cells) + 1.5e-8 * entries


def _by_problems(seconds: float, of_entries: float) -> Callable[..., float]:
    """Estimate the time of what takes so many seconds for each binary problem, and for each entry."""

    def estimate(y_true: Any, problems: BinaryProblems, **options: Any) -> float:
        return seconds * problems.n_problems + of_entries * len(problems.scores)

    return estimate


def _seconds_to_refit(
    calibrator: Any, calibration: Any, evaluation: Announcement, *, notions: Any = TOP_NOTIONS, **options: Any
) -> float:
    """Estimate the time of `binned_sweeps`, by the entries of the problems of each notion.

    Where rows keep their classes they are sorted once, and the bins of classes are what takes long.
    """
    n_classes = evaluation.n_scores / evaluation.n_samples
    if keeps_classes(calibrator, calibration, evaluation, notions):
        return 2.2e-7 * (evaluation.n_samples + calibration.n_samples) + 1e-3 * n_classes
    claims = sum(1.0 if notion in TOP_NOTIONS else n_classes for notion in notions)
    return 2e-6 * (evaluation.n_samples + calibration.n_samples) * claims


def _seconds_to_compare(labels: np.ndarray, proba: np.ndarray, n_samples: int, **options: Any) -> float:
    """Estimate the time of `kernel_test`: of the pairs of rows, and of the scores."""
    return 2.5e-5 * len(labels) + 0.002 * n_bytes(proba) / 1e6


def _seconds_to_recommend(rows: Announcement, labels: Any, **options: Any) -> float:
    """Estimate the time of `recommend`: of the whole catalogue minutes, of a few methods seconds."""
    tried = min(options.get("max_rows") or rows.n_samples, rows.n_samples)
    megabytes = rows.n_bytes / 1e6 * tried / rows.n_samples
    if options.get("methods") is None:
        return 10.0 + 10.0 * megabytes
    n_classes = rows.n_scores / rows.n_samples
    return 0.1 + len(options["methods"]) * tried * (1e-6 + 1e-7 * n_classes)


#: What can be computed, and about how many seconds of one processor a megabyte of arguments takes, or a
#: function of the arguments that gives the seconds; measured with 500 x 3 to 500,000 x 10 scores.
FUNCTIONS: dict[str, tuple[Callable[..., Any], float | Callable[..., float]]] = {
    function.__name__: (function, seconds)
    for function, seconds in (
        (binned_sweeps, _seconds_to_refit),
        (calibrated_scores, 0.01),
        (calibration_band, 0.02),
        (calibration_slope, _by_problems(0.0, 2.5e-7)),
        (calibration_tests, _seconds_to_test),
        (canonical_noise_floors, 0.008),
        (change, 0.4),
        (choose_points_per_bin, _by_root_of_rows(0.8)),
        (class_binning, 0.02),
        (class_table, 0.03),
        (compare_schemes, 0.013),
        (ece_sweep, 0.01),
        (fit, _seconds_to_fit),
        (kernel_test, _seconds_to_compare),
        (measure_interval, _seconds_to_bound),
        (noise_floors, _seconds_to_redraw),
        (problem_floors, 0.1),
        (paired_difference, 0.01),
        (paired_interval, 0.4),
        (plan_bins, 0.1),
        (recommend, _seconds_to_recommend),
        (slice_gaps, 0.5),
        (slices, _seconds_to_slice),
        (smooth_ece, _by_problems(1e-4, 1.3e-8)),
        (summarize, _seconds_to_summarize),
        (summary_intervals, 0.3),
        (sweep_ece, _by_problems(6e-5, 1e-8)),
        (validity_curve, 0.005),
        (vector_losses, 0.001),
        (write_report, 5.0),
        (write_table, 0.3),
    )
}


class Computer(Worker):
    """A process that computes."""

    name = "computing process"
    niceness = 5

    def __init__(self, memory_mib: int = MEMORY_MIB, seconds: int = SECONDS) -> None:
        super().__init__(memory_mib, seconds)

    def obituary(self, cause: str) -> str:
        """Say that the computation was not finished."""
        return f"the computation was not finished: {cause}. {LOST} Try a sample of the rows."

    def faulted(self, fault: str) -> str:
        """Say that the computation failed."""
        return f"the computation met a fault of calib {fault}. {LOST}"


class LongComputer(Computer):
    """A process that computes what takes long, and takes the processor where nobody else wants it."""

    niceness = 15


#: The workers that all sessions of a server share. What takes seconds is never behind what takes minutes: the
#: long jobs have a queue of their own, and the system lets the others go first.
pool = Pool(Computer, max(COMPUTERS, 1))
long_pool = Pool(LongComputer, max(COMPUTERS - 1, 1))


class Job:
    """A function of `FUNCTIONS` with its arguments."""

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        self.function, self.arguments, self.options = function, arguments, options
        known, self.rate = FUNCTIONS[function.__name__]
        if known is not function:
            raise KeyError(f"{function.__module__}.{function.__name__} is not in FUNCTIONS")

    @cached_property
    def seconds(self) -> float:
        """Seconds that it will take, about."""
        if callable(self.rate):
            return self.rate(*self.arguments, **self.options)
        return self.rate * n_bytes((self.arguments, self.options)) / 1e6

    @property
    def is_short(self) -> bool:
        """Whether it will take less than `AT_ONCE` seconds."""
        return self.seconds < AT_ONCE

    def do_here(self) -> Any:
        """Call the function."""
        return self.function(*self.arguments, **self.options)

    @cached_property
    def message(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """What is sent to a worker: a description in JSON types, and arrays."""
        packer = Packer()
        packed = packer.pack([self.function.__name__, list(self.arguments), self.options])
        return {"job": "compute", "call": packed}, packer.arrays

    def do_elsewhere(self, progress: Progress | None = None) -> Any:
        """Have a worker call the function; what `progress` raises, on this thread, ends the job.

        Raises
        ------
        InputError
            As the function does, or if the job ended its worker.
        """
        head, arrays = self.message
        is_long = self.seconds > LONG or sum(array.nbytes for array in arrays) > LARGE
        workers = long_pool if is_long else pool
        reply, results = workers.ask(head, (), arrays, progress, self.seconds)
        return unpack(reply["result"], results)


def call(packed: Any, arrays: list[np.ndarray], progress: Progress) -> tuple[Any, list[np.ndarray]]:
    """Call what `Job` packed, in a worker; return the packed result and its arrays."""
    name, arguments, options = unpack(packed, arrays)
    function = FUNCTIONS[name][0]
    if "progress" in inspect.signature(function).parameters:
        options["progress"] = lambda share, step="": progress(share, step)
    packer = Packer()
    return packer.pack(function(*arguments, **options)), packer.arrays
