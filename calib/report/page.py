"""Reports: one self-contained HTML page that a reviewer can read, keep, and repeat."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from calib.exceptions import InputError
from calib.figures.html import plotly_script
from calib.report.html import bullets, page, paragraph, section, table, text
from calib.report.input import ReportInput
from calib.report.sections import (
    classes_section,
    comparison_section,
    data_section,
    guarantee_section,
    reliability_section,
    verdict_section,
)
from calib.version import __version__

__all__ = ["ReportInput", "report_html"]

#: Libraries whose versions a report states.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "plotly")


def report_html(about: ReportInput) -> str:
    """Return a report as one HTML page of about 5 MB: interactive figures, no network, no server.

    Its size does not depend on the number of rows: only tables of classes and bins go in, of at most
    `calib.report.sections.MOST_CLASSES` classes.

    Raises
    ------
    InputError
        If the evaluation rows have no labels, or a calibrator was fitted on other classes.
    """
    if about.evaluation.labels is None:
        raise InputError("a report needs true labels; these predictions have none")
    named = {
        "data": ("Data", data_section(about.evaluation, about.calibration)),
        "input": ("Input checks", _examined(about)),
        "verdicts": ("Verdicts", verdict_section(about)),
        "reliability": ("Reliability", reliability_section(about)),
        "classes": ("Classes", classes_section(about)),
        "methods": ("Methods", comparison_section(about)),
        "guarantee": ("Guarantee", guarantee_section(about)),
        "repeat": ("Repeat it", _settings(about)),
    }
    links = "".join(f'<a href="#{key}">{title}</a>' for key, (title, parts) in named.items() if parts)
    top = [f"<h1>{text(about.title)}</h1>"]
    if about.simulated:
        top.append(paragraph('<span class="simulated">Simulated data</span>'))
    top.append(paragraph("Calibration report, after Gupta &amp; Ramdas (ICLR 2022)", "faint"))
    body = "\n".join(
        [*top, f"<nav>{links}</nav>"]
        + [section(key, title, *parts) for key, (title, parts) in named.items() if parts]
    )
    return page(f"Calibration of {about.title}", body, plotly_script())


def _examined(about: ReportInput) -> list[str]:
    parts: list[str] = []
    if about.log:
        parts += [paragraph("Fixes that were applied:"), bullets(text(line) for line in about.log)]
    for name, found in about.examinations.items():
        parts.append(f"<h3>{text(name.capitalize())} rows</h3>")
        if found.log:
            parts += [paragraph("Fixes that were applied:"), bullets(text(line) for line in found.log)]
        if found.findings:
            frame = found.frame()[["severity", "code", "message"]]
            parts.append(table(frame.rename(columns=str.capitalize)))
        else:
            parts.append(paragraph("Nothing was found."))
    return parts


def _settings(about: ReportInput) -> list[str]:
    rows = about.evaluation
    stated: list[tuple[str, object]] = [
        *about.settings.items(),
        ("Evaluation rows", f"{rows.n_samples:,}, fingerprint {rows.fingerprint}"),
    ]
    if about.calibration is not None:
        held = about.calibration
        stated.append(("Calibration rows", f"{held.n_samples:,}, fingerprint {held.fingerprint}"))
    stated += [(name, repr(calibrator).replace("\n", " ")) for name, calibrator in about.calibrators.items()]
    stated += [
        ("Equal-width bins", about.n_bins),
        ("Noise floors", f"{about.n_resamples:,} redraws, seed {about.random_state}"),
        ("Written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("calib", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in LIBRARIES),
    ]
    listed: Sequence[str] = [f"<b>{text(name)}</b>: {text(value)}" for name, value in stated]
    return [
        bullets(listed),
        paragraph("A fingerprint is the BLAKE2b digest of all probabilities, labels and names.", "faint"),
    ]
