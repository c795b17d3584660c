"""Exercises of the Learn page; their answers are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from calib.answers.calibrated import calibrated_scores, fit_on
from calib.answers.theorems import guarantee, points_needed, points_sentence
from calib.calibrators.catalogue import named_methods
from calib.data.notions import Notion
from calib.data.predictions import Announcement
from calib.datasets import four_networks
from calib.stats.differences import PairedDifference, paired_difference
from calib.stats.errors import accuracy, ece
from pages.shared.lessons.six_points import POINTS, SIX_POINTS, binary_tables
from pages.shared.lessons.two_patients import two_patients_population, worst_accuracies


@dataclass(frozen=True)
class Exercise:
    """A question, its computed answer, and the step to try it on."""

    question: str  #: Markdown
    answer: Callable[[], str]  #: Computes the answer, Markdown
    #: Address of the step: its name under "step", and settings; or the settings of another page
    view: Mapping[str, str]
    page: str = "learn"  #: The page


@dataclass(frozen=True, eq=False)
class Study:
    """A simulated network on its evaluation rows."""

    scores: Mapping[str, Announcement]  #: By method, "Base" first: its labelled predictions
    fewest_rows: int  #: Calibration rows of the class that is predicted least

    def error(self, method: str, notion: Notion = "top-label") -> float:
        """Return the ECE of a method, as the paper assesses it."""
        return ece(self.scores[method], notion=notion)

    def between(self, first: str, second: str, notion: Notion = "top-label") -> PairedDifference:
        """Compare two methods by their debiased squared errors."""
        return paired_difference(self.scores[first], self.scores[second], notion=notion)

    def against_base(self, method: str) -> PairedDifference:
        """Compare a method with the scores as they are."""
        return self.between(method, "Base")


@cache
def study(network: str, n_classes: int, n_calibration: int, methods: tuple[str, ...]) -> Study:
    """Fit methods on a network of `calib.datasets.four_networks`."""
    fitting, unseen = four_networks(n_classes, n_calibration=n_calibration).models[network]
    scores: dict[str, Announcement] = {"Base": unseen}
    for name in methods:
        scores[name] = calibrated_scores(fit_on(named_methods()[name], fitting), unseen)
    return Study(scores, int(np.bincount(fitting.label, minlength=n_classes).min()))


def _worst_case() -> str:
    right_a, right_b = worst_accuracies(0.4, (0.7, 0.7))
    population = two_patients_population(0.4, (0.7, 0.7), (right_a, right_b))
    return (
        "conf-ECE = 0 needs 0.4 \u00d7 gap(a) + 0.6 \u00d7 gap(b) = 0, and TL-ECE is twice the size of "
        "either term. Raise b: its gap can be at most 0.3, which is 0.6 \u00d7 0.3 = 0.18, and a can fall by "
        "0.4 \u00d7 0.7 = 0.28; so 0.18. Raise a: at most 0.4 \u00d7 0.3 = 0.12. The first is better: a is "
        f"right **{right_a:.2f}** of the time, b **{right_b:.2f}**, and TL-ECE is "
        f"**{population.tl_ece:.2f}** with conf-ECE {population.conf_ece:.2f}."
    )


def _six_points() -> str:
    tables = binary_tables(SIX_POINTS, "top-label")
    first = tables[0]
    points = " and ".join(first.columns)
    score, right = first.loc["score"], first.loc["outcome"]
    conf, top = (
        ece(SIX_POINTS, notion=notion, strategy="discrete") for notion in ("confidence", "top-label")
    )
    pairs = ", ".join(f"({s:.2f}, {int(o)})" for s, o in zip(score, right, strict=True))
    return (
        f"Points {points}, because class 1 has their largest number; the pairs (score, outcome) are {pairs}. "
        f"Confidence calibration pools {len(POINTS)} points into one problem and finds two or more at 0.60 "
        f"and at 0.70; top-label calibration splits them by class. With one bin per distinct score, "
        f"conf-ECE is **{conf:.3f}** and TL-ECE **{top:.3f}**."
    )


def _points_per_bin() -> str:
    k = points_needed(0.05)
    promise = guarantee(points_per_bin=k, n_samples=10 * k)
    return (
        f"{points_sentence(0.05)} The bound \u221a(1 / 2k) holds for every distribution (Theorem 1). With "
        f"probability 90 %, a new row's calibrated score is then within \u03b5\u2081 = "
        f"{promise.marginal:.3f} of the truth. With fewer bins, fewer rows are enough for the same bound, at "
        "the cost of sharpness."
    )


def _bad_class() -> str:
    found = study("one bad class", 10, 5_000, ("TS", "TL-HB"))
    left, repaired = found.against_base("TS"), found.against_base("TL-HB")
    return (
        f"TL-ECE is {found.error('Base'):.3f} as it is, {found.error('TS'):.3f} with temperature scaling and "
        f"{found.error('TL-HB'):.3f} with TL-HB. One temperature serves all classes, and the other nine are "
        f"well calibrated: {left.words('TS', 'Base', 'l2 TL-ECE')} TL-HB has a calibrator for each predicted "
        f"class: {repaired.words('TL-HB', 'Base', 'l2 TL-ECE')}"
    )


def _few_rows() -> str:
    few, more = (study("over-confident", 100, rows, ("TL-HB",)) for rows in (5_000, 10_000))
    return (
        f"With 5,000 calibration rows the rarest predicted class has {few.fewest_rows}, which 15 bins divide "
        f"into bins of 2 or 3: TL-ECE goes from {few.error('Base'):.3f} to {few.error('TL-HB'):.3f}. "
        f"{few.against_base('TL-HB').words('TL-HB', 'Base', 'l2 TL-ECE')} With 10,000 rows it has "
        f"{more.fewest_rows}: {more.error('Base'):.3f} to {more.error('TL-HB'):.3f}. "
        f"{more.against_base('TL-HB').words('TL-HB', 'Base', 'l2 TL-ECE')} Fewer bins need fewer rows."
    )


def _normalised() -> str:
    found = study("one bad class", 10, 5_000, ("N-HB", "CW-HB"))
    change = found.between("N-HB", "CW-HB", "class-wise")
    base, after = (accuracy(found.scores[name]) for name in ("Base", "CW-HB"))
    return (
        "CW-HB gives each class a score that is right on average; N-HB divides a row by its sum, and the "
        f"scores of the ten classes are not right any more. {change.words('N-HB', 'CW-HB', 'l2 CW-ECE')} "
        f"Both choose the class of the largest score, and cost accuracy: {base:.3f} to {after:.3f}."
    )


EXERCISES = (
    Exercise(
        "Both patients are told 0.7, and 40 % of the patients are a. Which true accuracies keep conf-ECE "
        "at 0 and make TL-ECE as large as possible, and how large?",
        _worst_case,
        {"step": "two-patients", "guess_patients": "fewer", "share": "0.4", "told_a": "0.7", "told_b": "0.7"}
        | {"right_a": "0.7", "right_b": "0.7"},
    ),
    Exercise(
        "In the table of six points, which points make the top-label problem of class 1? With one bin per "
        "distinct score, what are conf-ECE and TL-ECE of the table?",
        _six_points,
        {"step": "six-points", "guess_six": "4", "notion": "confidence"},
    ),
    Exercise(
        "How many points per bin suffice for histogram binning with an expected ECE of at most 0.05, and how "
        "many calibration rows is that for 10 bins?",
        _points_per_bin,
        {"step": "binning", "guess_binning": "few", "rows": "5000", "points": "200"},
    ),
    Exercise(
        "The simulated network *one bad class* is wrong about a single class of ten. Does temperature "
        "scaling lower its TL-ECE, and does top-label histogram binning (TL-HB)?",
        _bad_class,
        {"example": "networks", "model": "one bad class"},
        "compare",
    ),
    Exercise(
        "A simulated over-confident network has 100 classes. Does TL-HB with 15 bins a class help with 5,000 "
        "calibration rows, and with 10,000?",
        _few_rows,
        {"example": "networks", "model": "over-confident"},
        "compare",
    ),
    Exercise(
        "Class-wise histogram binning (CW-HB) gives scores that do not sum to 1, and N-HB divides them by "
        "their sum. Which has the lower class-wise error, and what do both cost?",
        _normalised,
        {"example": "networks", "model": "one bad class"},
        "compare",
    ),
)
