# fmt: off
from .onnx import onnx_behind as onnx_behind, to_onnx as to_onnx, verify_onnx as verify_onnx
from .scorer_file import scorer as scorer, verify_scorer as verify_scorer
from .torch_graph import torch_module as torch_module, verify_torch as verify_torch
