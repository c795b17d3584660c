"""Findings about a file: what is wrong with it or worth knowing, with fixes to accept."""

from calib.files.findings.codes import Finding
from calib.files.findings.examination import Examination, Report, check, examine

__all__ = ["Examination", "Finding", "Report", "check", "examine"]
