"""Calibrators for other programs: a NumPy-only scorer file, and an ONNX graph."""
