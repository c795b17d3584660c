"""Former path of `calib.export.to_onnx` and `calib.export.verify_onnx`."""

from calib.export import to_onnx, verify_onnx

__all__ = ["to_onnx", "verify_onnx"]
