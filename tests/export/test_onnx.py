"""ONNX graphs, run by onnxruntime."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.populations import rows
from tests.sample_calibrators import ALONE, MULTICLASS, fitted, fitted_binary, is_smooth

onnx = pytest.importorskip("onnx", reason="the onnx extra is not installed")
pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")

from calib import HistogramBinning, InputError, MulticlassToBinary  # noqa: E402
from calib.export import to_onnx, verify_onnx  # noqa: E402


@pytest.mark.parametrize("name", MULTICLASS)
def test_graph_gives_the_outputs_of_the_calibrator(name):
    calibrator = fitted(name)
    proba = np.concatenate([rows(5, 3_000)[0], np.eye(4), np.full((1, 4), 0.25)])
    assert verify_onnx(to_onnx(calibrator), calibrator, proba) <= (1e-9 if is_smooth(calibrator) else 1e-15)


@pytest.mark.parametrize("name", ALONE)
def test_binary_calibrators_have_graphs(name):
    calibrator = fitted_binary(name)
    assert verify_onnx(to_onnx(calibrator), calibrator, np.linspace(0, 1, 1001)) < 1e-9


def test_scores_on_an_edge_fall_in_the_same_bin():
    scores = np.array([0.1, 0.3, 0.6, 0.9], dtype=np.float32)
    calibrator = HistogramBinning(n_bins=4).fit(scores, [0, 1, 0, 1])
    edges = calibrator.edges_.astype(np.float32)
    around = np.concatenate([edges, np.nextafter(edges, np.float32(0)), np.nextafter(edges, np.float32(1))])
    assert verify_onnx(to_onnx(calibrator), calibrator, around) == 0.0


def test_many_classes():
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.full(300, 0.05), 12_000).astype(np.float32)
    y = random.integers(0, 300, 12_000)
    for notion in ("top-label", "top-k-label"):
        calibrator = MulticlassToBinary(HistogramBinning(points_per_bin=10), notion=notion).fit(proba, y)
        assert verify_onnx(to_onnx(calibrator), calibrator, proba) == 0.0


def test_graph_declares_float32_in_and_no_text_of_the_user():
    model = onnx.load_from_string(to_onnx(fitted("pooled")))
    (source,) = model.graph.input
    assert (source.name, source.type.tensor_type.elem_type) == ("proba", onnx.TensorProto.FLOAT)
    assert [output.name for output in model.graph.output] == ["label", "confidence"]
    assert not model.functions
    assert {node.domain for node in model.graph.node} == {""}


def test_another_calibrator_shows_as_a_difference():
    model = to_onnx(fitted("top-label/bins"))
    assert verify_onnx(model, fitted("top-label/beta"), rows(1)[0]) > 1e-3
    assert verify_onnx(model, fitted("TS"), rows(1)[0]) == np.inf


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"install calib\[onnx\]"):
        to_onnx(fitted("TS"))
