"""The report: everything a reviewer needs in one HTML file, written on request."""

from __future__ import annotations

import re

import streamlit as st

from calib.report import ReportInput
from pages.shared.isolation.computing import write_report
from pages.shared.kept import kept
from pages.shared.panels.recommendation import is_awaited, recommended
from pages.shared.session import dataset, groups_of, methods
from pages.shared.widgets import offer
from pages.shared.work import compute


def offer_report(n_bins: int) -> None:
    if not st.toggle(
        "Make a report",
        key="make-report",
        help="One HTML file with interactive figures that opens without a network: data, findings, verdicts, "
        "diagrams, classes, methods, guarantees, versions and settings.",
    ):
        return
    if is_awaited():
        st.caption("It is written as soon as the recommendation is ready.")
        return
    data, recommendation = dataset(), recommended()
    models = methods()
    calibrators = {name: model.calibrator for name, model in models.items() if model.calibrator is not None}
    settings = {"Made with": "the app", "Source": data.description}
    contents = ReportInput(
        data.evaluation,
        calibrators,
        data.calibration,
        title=data.name,
        simulated=data.simulated,
        log=data.log,
        settings=settings,
        n_bins=n_bins,
        recommendation="" if recommendation is None else recommendation[0].reason,
        choices={name: model.choices for name, model in models.items()},
        groups={name: groups for name, model in models.items() if (groups := groups_of(model)) is not None},
        models=data.models,
    )
    keys = [data.digest, *(f"{name}={model.key}/{model.choices}" for name, model in models.items())]
    every = [rows.fingerprint for _, rows in data.models.values()]
    page = _page(repr((data.name, data.description, data.log, n_bins, keys, every)), contents)
    file = re.sub(r"[^A-Za-z0-9]+", "-", data.name).strip("-").lower()[:60] or "report"
    offer(f"Report (HTML, {len(page) / 1e6:.1f} MB)", page, f"{file}-report.html", "text/html", "secondary")


@kept(rows=True)
def _page(key: str, _contents: ReportInput) -> bytes:
    return compute("Writing the report", write_report, _contents).encode()
