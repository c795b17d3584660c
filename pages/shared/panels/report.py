"""The report: everything a reviewer needs in one HTML file, written on request."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from calib.report import ReportInput
from pages.shared.isolation.computing import write_report
from pages.shared.kept import kept
from pages.shared.panels.recommendation import is_awaited, recommended
from pages.shared.session import dataset, fitted, groups_of
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
    data, recommendation, found = dataset(), recommended(), fitted()
    contents = ReportInput(
        data.checked.evaluation,
        {name: model.calibrator for name, model in found.items()},
        data.checked.calibration,
        n_bins=n_bins,
        choices={name: model.choices for name, model in found.items()},
        groups={name: groups for name, model in found.items() if (groups := groups_of(model)) is not None},
    )
    if data is not data.checked:  # every labelled row is diagnosed, and a part of them checks calibrators
        contents = ReportInput(data.evaluation, n_bins=n_bins, repair=contents if found else None)
    contents = replace(
        contents,
        title=data.name,
        simulated=data.simulated,
        log=data.log,
        settings={"Made with": "the app", "Source": data.description},
        recommendation="" if recommendation is None else recommendation[0].reason,
        models=data.models,
    )
    keys = [data.digest, *(f"{name}={model.key}/{model.choices}" for name, model in found.items())]
    every = [rows.fingerprint for _, rows in data.models.values()]
    page = _page(repr((data.name, data.description, data.log, n_bins, keys, every)), contents)
    file = re.sub(r"[^A-Za-z0-9]+", "-", data.name).strip("-").lower()[:60] or "report"
    offer(f"Report (HTML, {len(page) / 1e6:.1f} MB)", page, f"{file}-report.html", "text/html", "secondary")


@kept(rows=True)
def _page(key: str, _contents: ReportInput) -> bytes:
    return compute("Writing the report", write_report, _contents).encode()
