"""Long computations in worker processes, so that users who move a slider do not wait for them.

A function is called in this process if it takes less than `AT_ONCE` seconds, else in one of a bounded number
of workers that all sessions share. Workers call functions of `FUNCTIONS` only, by name.
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
from sklearn.base import BaseEstimator

import calib
from calib.answers.advice import confirm_choice
from calib.answers.calibrated import fit_on
from calib.answers.decision_curves import choose_actions
from calib.answers.metric_tables import metric_intervals
from calib.base.parallel import WORKERS
from calib.calibrators.effort import fit_seconds
from calib.data.notions import TOP_NOTIONS
from calib.data.predictions import BasePrediction
from calib.diagrams.class_sizes import class_binning
from calib.evidence.binning import BinaryProblems
from calib.evidence.rows import Rows
from calib.evidence.sums import SummedRows
from calib.files.findings.examination import examine
from calib.files.readers.source import Progress
from calib.files.writing import write_csv
from calib.stats.binless import MOST_REDRAWN, calibration_tests, kernel_test
from calib.stats.floors import canonical_noise_floor, noise_floors, problem_floors
from calib.stats.intervals import measure_interval
from pages.shared.isolation.objects import Packer, n_bytes_used
from pages.shared.isolation.process import LOST, Pool, Worker

if TYPE_CHECKING:
    from calib.report import ReportInput

#: Functions that take at most these seconds are called in this process.
AT_ONCE = 0.25
#: Seconds, and bytes of arguments, above which a job has workers of its own, with low priority.
LONG, LARGE = 3.0, 2_000_000
#: Environment variables: number of workers, memory of a job beyond the imports, its processor time.
COMPUTERS = int(os.environ.get("CALIB_WORKERS", str(WORKERS)))
MEMORY_MIB = int(os.environ.get("CALIB_WORKER_MEMORY_MIB", "8192"))
SECONDS = int(os.environ.get("CALIB_WORKER_SECONDS", "1800"))


def fit(
    calibrator: BaseEstimator,
    calibration: BasePrediction,
    evaluation: BasePrediction,
    groups: Any = (None, None),
) -> tuple[Any, Any]:
    """Fit a calibrator; return it and the evaluation rows with its scores; `groups` are of both sets."""
    fitted = fit_on(calibrator, calibration, groups=groups[0])
    return fitted, calib.calibrated_scores(fitted, evaluation, groups=groups[1])


def write_report(contents: ReportInput) -> str:
    """Return the page of a report, with the findings about the evaluation rows."""
    from calib.report import report_html  # and with it plotly, which nothing else here needs

    if isinstance(contents.evaluation, BasePrediction):
        found = examine(contents.evaluation, calibration=contents.calibration)
        contents = replace(contents, examinations={"evaluation": found})
    return report_html(contents)


def write_table(frame: pd.DataFrame) -> np.ndarray:
    return np.frombuffer(write_csv(frame), dtype=np.uint8)


def _seconds_to_fit(
    calibrator: BaseEstimator, calibration: BasePrediction, evaluation: BasePrediction, groups: Any = None
) -> float:
    """Estimate the seconds of `fit`: reading the rows, and the fit by `calib.calibrators.effort`."""
    megabytes = (calibration.n_bytes + evaluation.n_bytes) / 1e6
    reading = PASSES if getattr(calibrator, "notion", "") in TOP_NOTIONS else 7 * PASSES
    n_classes = calibration.n_scores // calibration.n_samples
    return fit_seconds(calibrator, calibration.n_samples, n_classes) + reading * megabytes


def _seconds_to_redraw(evidence: Rows | SummedRows, *arguments: Any, **options: Any) -> float:
    """Estimate the seconds of tests that redraw outcomes up to a number of distinct scores; 0 for sums."""
    redrawn = 0 if isinstance(evidence, SummedRows) else len(evidence.problems().tie_starts)
    alone = PAIRS * redrawn if redrawn <= MOST_REDRAWN else 0.0
    return alone + DEPENDENT_REDRAWS * _dependent_scores(evidence)


def _seconds_to_recommend(*arguments: Any, **options: Any) -> float:
    """Estimate the seconds of fits to all folds, which depend on the classes more than on the rows."""
    return min(LONG + SEARCHED * n_bytes_used((arguments, options)) / 1e6, MINUTES)


#: Seconds of one processor for each megabyte of arguments, for what goes over rows a few times, what sorts,
#: refits or redraws outcomes, what does so for many candidates, and what fits many calibrators. Measured
#: with 1,000 x 3, 100,000 x 10 and 20,000 x 300 scores: most functions take a third to three times as long.
PASSES, REDRAWS, SEARCHES, SEARCHED = 0.001, 0.04, 0.2, 12.0
#: Seconds for each score of rows that belong together: for their dependence, and for 1,000 redraws.
DEPENDENCE, DEPENDENT_REDRAWS = 3.3e-6, 7.5e-5
#: Seconds of tests for each row, and seconds of what takes long at any size.
PAIRS, MINUTES = 2.5e-5, 30.0
#: What can be computed, and its rate or a function of the arguments that gives the seconds.
FUNCTIONS: dict[str, tuple[Callable[..., Any], float | Callable[..., float]]] = {
    function.__name__: (function, cost)
    for cost, functions in (
        (PASSES, (calib.calibrated_scores, calib.metrics)),
        (PASSES, (calib.class_diagram, calib.corp_curve)),
        (PASSES, (calib.reliability_diagram, choose_actions, measure_interval)),
        (REDRAWS, (calib.calibration_band, calib.calibration_slope, calib.slices, calib.validity_curve)),
        (REDRAWS, (calib.calibration_by_centre, calib.class_table)),
        (REDRAWS, (canonical_noise_floor, class_binning, confirm_choice)),
        (REDRAWS, (metric_intervals, calib.over_time, noise_floors, problem_floors, calib.risk)),
        (SEARCHES, (write_table,)),
        (_seconds_to_fit, (fit,)),
        (_seconds_to_redraw, (calib.conclude, calibration_tests)),
        (lambda labels, proba, *_, **__: PAIRS * len(proba), (kernel_test,)),
        (_seconds_to_recommend, (calib.recommend,)),
        (lambda *_, **__: MINUTES, (calib.compare_models, write_report)),
    )
    for function in functions
}


class Computer(Worker):
    """A process that computes."""

    name, niceness = "computing process", 5
    memory_mib, seconds = MEMORY_MIB, SECONDS
    ended = f"the computation was not finished: {{}}. {LOST} Try a sample of the rows."
    overflowed = f"the computing process gave a result of more than {{:,.0f}} MB. {LOST}"
    faulted = f"the computation failed because of a fault of calib {{}}. {LOST}"


class LongComputer(Computer):
    """A process for long computations, with low priority."""

    niceness = 15


#: The workers that all sessions of a server share. Jobs of seconds never wait for jobs of minutes: long jobs
#: have a queue of their own, and lower priority.
pool, long_pool = Pool(Computer, max(COMPUTERS, 1)), Pool(LongComputer, max(COMPUTERS, 1))


def _dependent_scores(argument: Any) -> int:
    if isinstance(argument, Rows):
        return 0 if argument.clusters.independent else argument.predictions.n_scores
    if isinstance(argument, BinaryProblems):
        return 0 if argument.row_cluster is None else len(argument.scores)
    return argument.n_scores if getattr(argument, "cluster", None) is not None else 0


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
        """Estimated seconds of the job."""
        if callable(self.rate):
            return self.rate(*self.arguments, **self.options)
        dependent = DEPENDENT_REDRAWS if self.rate >= REDRAWS else DEPENDENCE
        n_scores = sum(map(_dependent_scores, (*self.arguments, *self.options.values())))
        return self.rate * n_bytes_used((self.arguments, self.options)) / 1e6 + dependent * n_scores

    @property
    def is_short(self) -> bool:
        """Whether it will take less than `AT_ONCE` seconds."""
        return self.seconds < AT_ONCE

    def do_here(self) -> Any:
        return self.function(*self.arguments, **self.options)

    @cached_property
    def message(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """The message to a worker: a description in JSON types, and arrays."""
        packer = Packer()
        packed = packer.pack([self.function.__name__, list(self.arguments), self.options])
        return {"job": "compute", "call": packed}, packer.arrays

    def do_elsewhere(self, progress: Progress | None = None) -> Any:
        """Call the function in a worker; an error in `progress`, on this thread, ends the job."""
        head, arrays = self.message
        is_long = self.seconds >= LONG or sum(array.nbytes for array in arrays) > LARGE
        workers = long_pool if is_long else pool
        return workers.ask(head, (), arrays, progress, self.seconds)


def carry_out(call: Any, progress: Progress) -> Any:
    name, arguments, options = call
    function = FUNCTIONS[name][0]
    if "progress" in inspect.signature(function).parameters:
        options["progress"] = lambda share, step="": progress(share, step)
    return function(*arguments, **options)
