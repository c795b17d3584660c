"""Findings about a file: what is wrong with it or worth knowing, with fixes to accept."""

from calib.doctor.examination import Examination, Report, check, examine
from calib.doctor.findings import Finding

__all__ = ["Examination", "Finding", "Report", "check", "examine"]
