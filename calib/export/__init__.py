"""Calibrators for other programs: a NumPy-only scorer file, ONNX models, and PyTorch modules."""

from calib.export.onnx import onnx_behind, to_onnx, verify_onnx
from calib.export.scorer_file import scorer, verify_scorer
from calib.export.torch_graph import torch_module, verify_torch
