"""ONNX graphs, run by onnxruntime."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.special import softmax

from tests.populations import rows
from tests.sample_calibrators import ALONE, MULTICLASS, fitted, fitted_binary, is_smooth

onnx = pytest.importorskip("onnx", reason="the onnx extra is not installed")
pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")

from calib import HistogramBinning, InputError, MulticlassToBinary  # noqa: E402
from calib.export import onnx_behind, to_onnx, verify_onnx  # noqa: E402
from calib.export.onnx import EVERYWHERE  # noqa: E402


@pytest.mark.parametrize("name", MULTICLASS)
def test_graph_gives_the_outputs_of_the_calibrator(name):
    calibrator = fitted(name)
    proba = np.concatenate([rows(5, 3_000)[0], np.eye(4), np.full((1, 4), 0.25)])
    assert verify_onnx(to_onnx(calibrator), calibrator, proba) <= (1e-9 if is_smooth(calibrator) else 1e-15)


@pytest.mark.parametrize("name", ALONE)
def test_binary_calibrators_have_graphs(name):
    calibrator = fitted_binary(name)
    assert verify_onnx(to_onnx(calibrator), calibrator, np.linspace(0, 1, 1001)) < 1e-9


def assert_all_is_used(model: bytes) -> None:
    """Check that nodes read each stored constant: onnxruntime warns of one that none reads at every load."""
    graph = onnx.load_from_string(model).graph
    read = {name for node in graph.node for name in node.input}
    assert {item.name for item in graph.initializer} <= read


@pytest.mark.parametrize("opset", [13, None])
@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("name", MULTICLASS)
def test_every_constant_of_a_graph_is_used(name, logits, opset):
    assert_all_is_used(to_onnx(fitted(name), logits=logits, opset=opset))


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("name", ALONE)
def test_every_constant_of_the_graph_of_a_binary_calibrator_is_used(name, logits):
    assert_all_is_used(to_onnx(fitted_binary(name), logits=logits))


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
    with pytest.raises(InputError, match=r"install \"calib-diagnostics\[onnx\]\""):
        to_onnx(fitted("TS"))


@pytest.mark.parametrize("opset", [13, 17, 18, 21, None])
@pytest.mark.parametrize("name", ["top-label/isotonic", "top-k-label/bins", "TS", "sierpinski"])
def test_every_operator_set_gives_the_same(name, opset):
    calibrator = fitted(name)
    model = to_onnx(calibrator, opset=opset)
    (version,) = [item.version for item in onnx.load_from_string(model).opset_import]
    assert version == (opset or EVERYWHERE)
    assert verify_onnx(model, calibrator, rows(5, 500)[0]) <= (1e-9 if is_smooth(calibrator) else 1e-15)


def test_operator_sets_that_are_not_known_are_refused():
    with pytest.raises(InputError, match="opset must be from 13 to"):
        to_onnx(fitted("TS"), opset=9)
    with pytest.raises(InputError, match="expected an ONNX model or its bytes; got str"):
        to_onnx(fitted("TS"), opset="newest")


def test_prefix_of_a_model_that_stands_behind_another_is_before_every_name():
    model = onnx.load_from_string(to_onnx(fitted("completed"), opset=linear(18, 10)[0]))
    graph = model.graph
    named = [*graph.input, *graph.output, *graph.node, *graph.initializer]
    values = [name for node in graph.node for name in (*node.input, *node.output)]
    assert all(name.startswith("calibrated_") for name in [*values, *(item.name for item in named)])
    assert graph.input[0].name == "calibrated_proba"
    assert verify_onnx(model.SerializeToString(), fitted("completed"), rows(5, 500)[0]) <= 1e-15


@pytest.mark.parametrize("name", ["top-label/bins", "TS", "class-wise/platt"])
def test_logits_go_through_the_softmax_first(name):
    logits = 5 * np.random.default_rng(0).normal(size=(500, 4))
    assert verify_onnx(to_onnx(fitted(name), logits=True), fitted(name), logits) < 1e-9


def test_log_odds_of_one_event():
    calibrator = fitted_binary("platt")
    assert verify_onnx(to_onnx(calibrator, logits=True), calibrator, np.linspace(-30, 30, 301)) < 1e-9


def linear(opset: int, ir_version: int, double: bool = False, names=("logits",)) -> tuple[bytes, np.ndarray]:
    """A model of x @ w as other packages write them: other versions, and names that calib uses, too."""
    weights = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float64 if double else np.float32)
    kind = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
    make = onnx.helper
    nodes = [make.make_node("MatMul", ["proba", "c0"], [names[0]])]
    outputs = [make.make_tensor_value_info(names[0], kind, ["batch", 4])]
    if len(names) > 1:  # a label, as skl2onnx has it
        nodes.append(make.make_node("ArgMax", [names[0]], [names[1]], axis=1, keepdims=0))
        outputs.append(make.make_tensor_value_info(names[1], onnx.TensorProto.INT64, ["batch"]))
    graph = make.make_graph(
        nodes,
        "linear",
        [make.make_tensor_value_info("proba", kind, ["batch", 3])],
        outputs,
        [onnx.numpy_helper.from_array(weights, "c0")],
    )
    versions = [make.make_opsetid("", opset)]
    return make.make_model(graph, opset_imports=versions, ir_version=ir_version).SerializeToString(), weights


@pytest.mark.parametrize(("opset", "ir_version", "double"), [(15, 8, False), (18, 10, False), (21, 10, True)])
def test_behind_a_model_of_other_versions_and_the_same_names(opset, ir_version, double):
    import onnxruntime

    model, weights = linear(opset, ir_version, double, ("logits", "label"))
    calibrator = fitted("TS")
    both = onnx_behind(model, calibrator)
    assert onnx.load_from_string(both).opset_import[0].version == opset
    x = np.random.default_rng(1).normal(size=(50, 3)).astype(weights.dtype)
    session = onnxruntime.InferenceSession(both, providers=["CPUExecutionProvider"])
    assert [item.name for item in session.get_outputs()] == [
        *("label", "calibrated_probabilities", "calibrated_label")
    ]
    found = session.run(["calibrated_probabilities"], {"proba": x})[0]
    expected = calibrator.predict_proba(softmax((x @ weights).astype(np.float64), axis=1))
    assert np.abs(found - expected).max() < 1e-6  # x @ w is summed in another order
    if not double:
        by_hand = onnx.compose.merge_models(
            onnx.load_from_string(model),
            onnx.load_from_string(to_onnx(calibrator, opset=model, logits=True)),
            io_map=[("logits", "calibrated_logits")],
        ).SerializeToString()
        session = onnxruntime.InferenceSession(by_hand, providers=["CPUExecutionProvider"])
        assert np.array_equal(session.run(["calibrated_probabilities"], {"proba": x})[0], found)


def test_the_output_is_named_where_it_is_not_known():
    model, _ = linear(18, 10, names=("scores", "label"))
    assert onnx_behind(model, fitted("TS"))
    with pytest.raises(InputError, match="the output 'label' is no tensor of floats of the model; those are"):
        onnx_behind(model, fitted("TS"), output="label")


def test_behind_a_model_of_scikit_learn():
    """skl2onnx's own defaults: a ZipMap at the end, its newest opset (if this onnxruntime reads it)."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    import onnxruntime
    from sklearn.linear_model import LogisticRegression

    x = np.random.default_rng(0).normal(size=(400, 3)).astype(np.float32)
    y = np.array(["ant", "bee", "cat", "dog"])[(x @ np.ones((3, 4)) + np.arange(4)).argmax(axis=1) % 4]
    y[:100] = np.repeat(["ant", "bee", "cat", "dog"], 25)
    classifier = LogisticRegression().fit(x, y)
    calibrator = fitted("top-label/bins")
    merged = []
    readable = None if int(onnxruntime.__version__.split(".")[1]) > 21 else 21
    for options in ({}, {"zipmap": False}):
        model = skl2onnx.to_onnx(classifier, x[:1], options=options, target_opset=readable)
        merged.append(onnx_behind(model, calibrator))
    graph = onnx.load_from_string(to_onnx(calibrator, opset=model))
    by_hand = onnx.compose.merge_models(model, graph, [("probabilities", "calibrated_proba")])
    for both in (*merged, by_hand.SerializeToString()):
        session = onnxruntime.InferenceSession(both, providers=["CPUExecutionProvider"])
        names = [item.name for item in session.get_outputs()]
        found = dict(zip(names, session.run(None, {session.get_inputs()[0].name: x}), strict=True))
        top = calibrator.predict_top(classifier.predict_proba(x).astype(np.float32))
        assert np.array_equal(found["calibrated_label"], top.label)
        assert np.mean(found["calibrated_confidence"] == top.confidence) > 0.99  # scores differ by rounding
        assert found[names[0]].tolist() == classifier.predict(x).tolist()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_behind_a_model_of_torch(tmp_path):
    """torch.onnx.export's own defaults."""
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript, with which torch writes ONNX, is not installed")
    import onnxruntime

    network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    x = torch.randn(50, 3)
    program = torch.onnx.export(
        network, (x,), output_names=["logits"], dynamic_shapes=({0: torch.export.Dim("rows", min=2)},)
    )
    calibrator = fitted("TS")
    graph = onnx.load_from_string(to_onnx(calibrator, opset=program.model_proto, logits=True))
    by_hand = onnx.compose.merge_models(program.model_proto, graph, [("logits", "calibrated_logits")])
    with torch.no_grad():
        proba = torch.softmax(network(x).double(), dim=1).numpy()
    for both in (onnx_behind(program.model_proto, calibrator), by_hand.SerializeToString()):
        session = onnxruntime.InferenceSession(both, providers=["CPUExecutionProvider"])
        found = session.run(["calibrated_probabilities"], {session.get_inputs()[0].name: x.numpy()})[0]
        assert np.abs(found - calibrator.predict_proba(proba)).max() < 1e-6
