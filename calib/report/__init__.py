"""Reports: one self-contained HTML page."""

from calib.report.sections import LIBRARIES, ReportInput, report_html
