"""Reports: one self-contained HTML page."""

from calib.report.input import ReportInput
from calib.report.page import LIBRARIES, report_html

__all__ = [
    "LIBRARIES",
    "ReportInput",
    "report_html",
]
