"""The report of labelled predictions: its numbers in a notebook, its page in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd
from sklearn.base import BaseEstimator

from calib.answers.metric_tables import metric_frame
from calib.base.exceptions import InputError
from calib.base.outputs import check_output, write_whole
from calib.base.results import Result
from calib.calibrators.catalogue import name_of
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.predictions import Announcement, Scores, Values
from calib.diagrams.reliability_diagrams import reliability_diagram
from calib.evidence.rows import ReducedRows, Rows, Source, as_evidence
from calib.report.html import paragraph, text
from calib.report.sections import ReportInput, report_html

if TYPE_CHECKING:
    from calib.base.results import MatplotlibFigure, PlotlyFigure


class CalibrationReport(Result):
    """The result of `calib.report`; in a notebook it shows the conclusion and the table of numbers.

    Attributes
    ----------
    about : ReportInput
        What the report is about.
    """

    def __init__(self, about: ReportInput) -> None:
        self.about = about

    @cached_property
    def sentence(self) -> str:
        """How the confidence is off, in which range and classes, and which calibrators saw these rows."""
        return " ".join([*self.about.verdict, *self.about.used_to_fit])

    def frame(self) -> pd.DataFrame:
        """Return the numbers of every method, one row each."""
        return metric_frame([replace(entry, intervals={}) for entry in self.about.board.entries])

    def plot(self, **options: Any) -> PlotlyFigure | MatplotlibFigure:
        """Return the reliability diagram of the base model; options: `calib.diagrams.draw_reliability`."""
        return reliability_diagram(self.about.evidence, n_bins=self.about.n_bins).plot(**options)

    @cached_property
    def html(self) -> str:
        """The whole report: one page of about 5 MB that needs no network."""
        return report_html(self.about)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page; a reader of the file sees the old page or the new page, never a part."""
        check_output(file, ())
        write_whole(file, self.html.encode())

    def __repr__(self) -> str:
        names = ", ".join(self.about.methods)
        return f"<CalibrationReport of {names}: {self.sentence}>"

    def _repr_html_(self) -> str:
        return paragraph(text(self.sentence)) + super()._repr_html_()


def report(
    y_true: Source,
    scores: Scores | None = None,
    *,
    calibrators: BaseEstimator | Mapping[str, BaseEstimator] | None = None,
    calibration: Announcement | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    title: str = "Predictions",
    simulated: bool = False,
    n_bins: int = N_BINS,
    n_resamples: int = N_RESAMPLES,
    random_state: int = RANDOM_STATE,
) -> CalibrationReport:
    """Report how far predictions can be trusted, before and after calibrators.

    Parameters
    ----------
    y_true : (n,) array_like, or labelled predictions of any kind, or a summary
        Labels as for `calib.ece`; predictions and summaries hold them, and `scores` is left out.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        As for `calib.ece`.
    calibrators : fitted calibrator, or mapping of str to fitted calibrator, optional
        What to compare with the base model. The report says which were fitted on these rows.
    calibration : predictions of the same kind, optional
        Rows that the calibrators were fitted on.
    sample_weight, cluster
        As for `calib.ece`.
    title, simulated : str, bool
        Heading of the page, and whether it says at the top that the data are simulated.
    n_bins, n_resamples, random_state
        Equal-width bins B, redraws of the noise floors, and their seed.

    Returns
    -------
    CalibrationReport
        ``.frame()``, ``.plot()``, ``.save("report.html")``; in a notebook the conclusion and the numbers.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> example = load_example("digits")
    >>> made = report(example.evaluation, calibration=example.calibration)
    >>> made.frame()[["Method", "TL-ECE"]].round(3).to_dict("records")
    [{'Method': 'Base model', 'TL-ECE': 0.112}]
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if isinstance(evidence, ReducedRows):
        raise InputError("a report needs labelled predictions; BinaryProblems hold only scores and outcomes")
    rows = evidence.predictions if isinstance(evidence, Rows) else evidence
    if calibrators is None:
        calibrators = {}
    elif not isinstance(calibrators, Mapping):
        calibrators = {name_of(calibrators): calibrators}
    return CalibrationReport(
        ReportInput(
            rows,
            calibrators,
            calibration,
            title=title,
            simulated=simulated,
            n_bins=n_bins,
            n_resamples=n_resamples,
            random_state=random_state,
        )
    )
