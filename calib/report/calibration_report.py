"""The report of labelled predictions: its numbers in a notebook, its page in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from calib.answers.conclusion import conclude
from calib.answers.metric_tables import metric_frame
from calib.base.exceptions import InputError
from calib.base.outputs import check_output, write_whole
from calib.base.results import Result
from calib.calibrators.catalogue import name_of
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.equal_rows import counted_together
from calib.data.kinds import lacks
from calib.data.predictions import (
    Announcement,
    BinaryPrediction,
    ConfidencePrediction,
    Predictions,
    weights_of,
)
from calib.data.validation import check_labelled, check_order
from calib.diagrams.reliability_diagrams import reliability_diagram
from calib.evidence.reductions import event_scores
from calib.evidence.sums import SummedRows
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
        rows = self.about.evaluation
        if lacks(self.about.kind, "tests without bins") is not None:
            return " ".join([f"{rows.n_samples:,} rows of {self.about.kind.title}.", *self.about.used_to_fit])
        found = conclude(rows.labels, rows, n_bins=self.about.n_bins, sample_weight=self.about.weights)
        return " ".join([found.words(rows.class_names), *self.about.used_to_fit])

    def frame(self) -> pd.DataFrame:
        """Return the numbers of every method, one row each."""
        return metric_frame([numbers for numbers, _ in self.about.methods.values()])

    def plot(self, **options: Any) -> PlotlyFigure | MatplotlibFigure:
        """Return the reliability diagram of the base model; options: `calib.diagrams.draw_reliability`."""
        rows = self.about.evaluation
        return reliability_diagram(rows.labels, rows, n_bins=self.about.n_bins).plot(**options)

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
    y_true: Any,
    scores: Any = None,
    *,
    calibrators: Any = None,
    calibration: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
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
    rows = _labelled(y_true, scores, sample_weight)
    rows = counted_together(rows) if cluster is None else rows.with_cluster(cluster)
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


def _labelled(y_true: Any, scores: Any, sample_weight: Any) -> Any:
    if isinstance(scores if y_true is None else y_true, SummedRows):
        return scores if y_true is None else y_true
    if scores is None:
        if not isinstance(y_true, Announcement):
            raise InputError(
                f"a report needs labels and scores, or labelled predictions; got one {type(y_true).__name__}"
            )
        scores, y_true = y_true, check_labelled(y_true.labels, "a report")
    check_order(y_true, scores)
    weights = weights_of(scores, sample_weight)
    if isinstance(scores, Predictions):
        return Predictions(
            scores.proba, y_true, scores.class_names, **{**scores.carried, "sample_weight": weights}
        )
    if isinstance(scores, Announcement):
        outcome = "correct" if isinstance(scores, ConfidencePrediction) else "labels"
        kind: Any = scores
        return replace(kind, **{outcome: y_true, "sample_weight": weights})
    kind = Predictions if event_scores(scores) is None else BinaryPrediction
    return kind(scores, y_true, sample_weight=weights)
