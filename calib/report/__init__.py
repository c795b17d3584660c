"""Reports: `calib.report(y, scores)`, and one self-contained HTML page."""

import sys
from types import ModuleType
from typing import Any

from calib.report.calibration_report import LIBRARIES, CalibrationReport, ReportInput, report, report_html

__all__ = ["LIBRARIES", "CalibrationReport", "ReportInput", "report", "report_html"]


class _Callable(ModuleType):
    """A package that can be called: `calib.report` names both it and its main function."""

    def __call__(self, *arguments: Any, **options: Any) -> CalibrationReport:
        return report(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
