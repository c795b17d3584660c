"""The report: everything a reviewer needs in one HTML file, made when it is asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import streamlit as st

from calib.doctor import examine
from calib.report import ReportInput, report_html
from pages.shared.session import dataset, methods
from pages.shared.widgets import offer


def offer_report(n_bins: int) -> None:
    """Offer one self-contained HTML page about the data on screen and the fitted calibrators."""
    st.subheader("Report", anchor=False)
    st.markdown(
        "One HTML file with interactive figures that opens without a network: data and what was found in "
        "them, verdicts, diagrams, classes, methods, guarantees, versions and settings."
    )
    if not st.toggle("Make a report", key="make-report"):
        return
    data, known = dataset(), methods()
    calibrators = {name: one.calibrator for name, one in known.items() if one.calibrator is not None}
    settings = {"Made with": "the app", "Source": data.description}
    about = ReportInput(
        data.evaluation,
        calibrators,
        data.calibration,
        title=data.name,
        simulated=data.simulated,
        log=data.log,
        settings=settings,
        n_bins=n_bins,
    )
    held = data.calibration.fingerprint if data.calibration is not None else ""
    made_of = [f"{name}={one.key}" for name, one in known.items()]
    page = _page(repr((data.name, data.description, data.log, held, n_bins, made_of)), about)
    file = re.sub(r"[^A-Za-z0-9]+", "-", data.name).strip("-").lower()[:60] or "report"
    offer(f"Report (HTML, {len(page) / 1e6:.1f} MB)", page, f"{file}-report.html", "text/html", "secondary")


@st.cache_resource(max_entries=8, scope="session", show_spinner="Writing the report ...")
def _page(key: str, _about: ReportInput) -> bytes:
    examinations: dict[str, Any] = {"evaluation": examine(_about.evaluation, calibration=_about.calibration)}
    return report_html(replace(_about, examinations=examinations)).encode()
