"""What is wrong, or worth knowing, about a file: findings in words, each with a fix where there is one."""

from calib.doctor.examination import Examination, Report, check, examine
from calib.doctor.findings import Finding

__all__ = ["Examination", "Finding", "Report", "check", "examine"]
