"""What a report is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calib.doctor.examination import Report as Examination
from calib.predictions import Predictions


@dataclass(frozen=True, eq=False)
class ReportInput:
    """What a report is about.

    Attributes
    ----------
    evaluation : Predictions
        Labelled rows everything is assessed on.
    calibrators : mapping of str to fitted calibrator
        By the name to show; none of them may have been fitted on the evaluation rows.
    calibration : Predictions or None
        Rows the calibrators were fitted on, where they are known.
    title : str
        Heading, for example the file's name.
    simulated : bool
        Whether the data are simulated; the report then says so on top.
    examinations : mapping of str to `calib.doctor.Report`
        What the doctor found in each part, and what was fixed.
    log : sequence of str
        Fixes that were applied before `examinations`, one line each.
    settings : mapping of str to str
        How to repeat it: the command, the split, the seed.
    n_bins, n_resamples, random_state
        Equal-width bins B, redraws of the noise floors, and their seed.
    """

    evaluation: Predictions
    calibrators: Mapping[str, Any] = field(default_factory=dict)
    calibration: Predictions | None = None
    title: str = "Predictions"
    simulated: bool = False
    examinations: Mapping[str, Examination] = field(default_factory=dict)
    log: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    n_bins: int = 15
    n_resamples: int = 1000
    random_state: int = 0

    def examined(self, examinations: Mapping[str, Examination]) -> ReportInput:
        """Return the same with what the doctor found."""
        return replace(self, examinations=examinations)
