"""Leaderboard: methods side by side as the paper's Tables 2 to 5 print them, best in bold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from calib.assessment.calibrated import assessment_strategy, calibrated_scores
from calib.assessment.summary import SUMMARY_COLUMNS, Summary, summarize
from calib.diagrams.bin_sweep import EceSweep
from calib.exceptions import InputError
from calib.metrics.errors import ece
from calib.notions import Notion
from calib.predictions import Predictions

#: True if a larger number is better, None if neither is; a smaller one is better for all others.
HIGHER_IS_BETTER: Mapping[str, bool | None] = {"accuracy": True, "n_distinct": None}
METRICS = tuple(name for name in SUMMARY_COLUMNS if name not in ("method", "strategy"))
HEADS = [SUMMARY_COLUMNS[name] for name in METRICS]


@dataclass(frozen=True)
class Entry:
    """One method of a leaderboard.

    Attributes
    ----------
    method : str
        Name of the method.
    summary : Summary or None
        Its metrics; None if it failed.
    seconds : float or None
        Time the fit took; None for a base model.
    failure : str or None
        Why it could not be fitted; None if it could.
    """

    method: str
    summary: Summary | None = None
    seconds: float | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Leaderboard:
    """Methods assessed on the same rows; the first entry is the base model, their reference."""

    entries: tuple[Entry, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per method with the columns of `SUMMARY_COLUMNS`, and why a method failed."""
        rows = []
        for entry in self.entries:
            row = asdict(entry.summary) if entry.summary else {}
            values = {head: row.get(name) for name, head in SUMMARY_COLUMNS.items()}
            rows.append(values | {"Method": entry.method, "Seconds": entry.seconds, "Failure": entry.failure})
        table = pd.DataFrame(rows)
        table[HEADS] = table[HEADS].astype(float)
        return table

    def changes(self) -> pd.DataFrame:
        """Return `frame` with each metric replaced by its difference from the first entry."""
        table = self.frame()
        table[HEADS] -= table[HEADS].iloc[0]
        return table

    def best(self, decimals: int = 4) -> pd.DataFrame:
        """Return which values are best of their column to `decimals` digits: bool, methods x metrics."""
        table = self.frame()
        marks = {}
        for name, head in zip(METRICS, HEADS, strict=True):
            values = table[head].round(decimals)
            higher = HIGHER_IS_BETTER.get(name, False)
            best = values.max() if higher else values.min()
            marks[head] = (values == best) & (higher is not None)
        return pd.DataFrame(marks)

    def markdown(self, decimals: int = 4) -> str:
        """Return the leaderboard as a Markdown table, best in bold."""
        head, body = self._printed(decimals, bold="**{}**", escape=_escape_markdown)
        lines = ["| " + " | ".join(row) + " |" for row in [head, *body]]
        lines.insert(1, "|" + "|".join([":--", *["--:"] * (len(head) - 1)]) + "|")
        return "\n".join(lines) + "\n"

    def latex(self, decimals: int = 4) -> str:
        """Return the leaderboard as a LaTeX tabular, best in bold, as the paper prints it."""
        head, body = self._printed(decimals, bold=r"\textbf{{{}}}", escape=_escape_latex)
        lines = [r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}", r"\hline"]
        lines += [" & ".join(head) + r" \\ \hline"]
        lines += [" & ".join(row) + r" \\" for row in body]
        return "\n".join([*lines, r"\hline", r"\end{tabular}"]) + "\n"

    def _printed(
        self, decimals: int, *, bold: str, escape: Callable[[str], str]
    ) -> tuple[list[str], list[list[str]]]:
        table, best = self.frame(), self.best(decimals)
        body = []
        for position, entry in enumerate(self.entries):
            row = [escape(entry.method)]
            for name, head in zip(METRICS, HEADS, strict=True):
                value = table[head].iloc[position]
                if np.isnan(value):
                    row.append("failed" if entry.failure and head == HEADS[0] else "--")
                    continue
                text = f"{value:.0f}" if name == "n_distinct" else f"{value:.{decimals}f}"
                row.append(bold.format(text) if best[head].iloc[position] else text)
            body.append(row)
        return [escape("Method"), *map(escape, HEADS)], body


def compare(
    calibration: Predictions,
    evaluation: Predictions,
    methods: Mapping[str, Any],
    *,
    n_bins: int = 15,
    base: Iterable[Entry] = (),
    assess: Callable[[str, Any], Entry] | None = None,
    progress: Callable[[float, str], object] | None = None,
) -> Leaderboard:
    """Fit every method on the calibration rows and assess it on the evaluation rows.

    Parameters
    ----------
    calibration, evaluation : Predictions
        Labelled rows.
    methods : mapping of str to unfitted calibrator
        For example from `calib.calibrators.catalogue.named_methods`.
    n_bins : int
        Equal-width bins for methods that are not histogram-binned.
    base : iterable of Entry
        First entries, the base model at the top. Default: the evaluation rows as "Base".
    assess : callable, optional
        Fits a method, given its name and calibrator, and returns its entry; the app passes one that caches.
    progress : callable, optional
        Called with the share done and the name of the method being fitted.

    Notes
    -----
    If a method raises `InputError`, its entry says why, and the other methods are still fitted.
    """

    def fitted(name: str, calibrator: Any) -> Entry:
        started = perf_counter()
        calibrator.fit(calibration.proba, calibration.labels)
        seconds = perf_counter() - started
        scores, strategy = calibrated_scores(calibrator, evaluation), assessment_strategy(calibrator)
        summary = summarize(evaluation.labels, scores, method=name, n_bins=n_bins, strategy=strategy)
        return Entry(name, summary, seconds)

    entries = list(base) or [
        Entry("Base", summarize(evaluation.labels, evaluation, method="Base", n_bins=n_bins))
    ]
    for position, (name, calibrator) in enumerate(methods.items()):
        if progress:
            progress(position / len(methods), name)
        try:
            entries.append((assess or fitted)(name, calibrator))
        except InputError as error:
            entries.append(Entry(name, failure=str(error)))
    return Leaderboard(tuple(entries))


def binned_sweeps(
    calibrator: Any,
    calibration: Predictions,
    evaluation: Predictions,
    n_bins: Iterable[int] = range(5, 26),
) -> dict[Notion, EceSweep]:
    """Return conf-ECE and TL-ECE of a histogram-binning calibrator refitted with every number of bins.

    Figure 2 of the paper varies B for histogram binning in this way: B is the number of bins of the
    calibrator, and its scores are assessed at each of their values. `calibrator` itself is not changed.
    """
    counts = np.array(list(n_bins), dtype=np.int64)
    eces: dict[Notion, list[float]] = {"top-label": [], "confidence": []}
    for count in counts:
        refitted = clone(calibrator).set_params(binary__n_bins=int(count))
        refitted.fit(calibration.proba, calibration.labels)
        scores = calibrated_scores(refitted, evaluation)
        strategy = assessment_strategy(refitted)
        for notion, errors in eces.items():
            errors.append(ece(evaluation.labels, scores, notion=notion, n_bins=int(count), strategy=strategy))
    return {notion: EceSweep(notion, "discrete", counts, np.array(errors)) for notion, errors in eces.items()}


def _escape_markdown(text: str) -> str:
    return "".join("\\" + sign if sign in "\\`*_{}[]<>()#+!|~$" else sign for sign in text.replace("\n", " "))


def _escape_latex(text: str) -> str:
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    signs |= {sign: "\\" + sign for sign in "&%$#_{}"}
    return "".join(signs.get(sign, sign) for sign in text.replace("\n", " "))
