"""Calibrators for other programs: a NumPy-only scorer file, and an ONNX graph."""

from calib.export.onnx import to_onnx, verify_onnx
from calib.export.scorer_file import scorer, verify_scorer
