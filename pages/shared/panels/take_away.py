"""Taking a calibrator away: file, scorer and ONNX graph, each replayed before it is offered."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import streamlit as st

from calib.export import scorer, to_onnx, verify_onnx, verify_scorer
from calib.persistence import dumps
from pages.shared.session import Method, dataset

#: Rows of the evaluation set that a scorer is replayed on while the page waits.
REPLAYED_ROWS = 100_000


def show_take_away(method: Method) -> None:
    """Offer the calibrator file at once, scorer and ONNX graph after they were replayed and compared."""
    data = dataset()
    names = data.evaluation.class_names
    st.subheader("Take it away", anchor=False)
    st.download_button(
        "Calibrator file (JSON)",
        data=lambda: dumps(method.calibrator, class_names=names, fitted_on=data.calibration, log=data.log),
        file_name="calibrator.json",
        mime="application/json",
        on_click="ignore",
        type="primary",
        icon=":material/download:",
    )
    st.caption("The Apply page, `python -m calib apply` and `calib.load` read the file.")
    if not st.toggle("Also make a scorer for production", key="make-scorer"):
        return
    code, off = _scorer(method.key, method.calibrator, data.evaluation.proba[:REPLAYED_ROWS])
    _offer("Python scorer (NumPy only)", code.encode(), "scorer.py", "text/x-python", off)
    if find_spec("onnx") is None or find_spec("onnxruntime") is None:
        st.caption('For an ONNX graph, install the extra: `pip install "calib[onnx]"`.')
        return
    graph, off = _graph(method.key, method.calibrator, data.evaluation.proba[:REPLAYED_ROWS])
    _offer("ONNX graph (float32 in)", graph, "calibrator.onnx", "application/octet-stream", off)


def _offer(label: str, content: bytes, file: str, mime: str, off: float) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(label, content, file, mime, on_click="ignore", icon=":material/download:")
        rows = min(REPLAYED_ROWS, dataset().evaluation.n_samples)
        st.caption(f"Replayed on {rows:,} evaluation rows: the largest difference from calib is {off:.1e}.")


@st.cache_resource(max_entries=16, show_spinner="Writing and replaying the scorer ...")
def _scorer(key: str, _calibrator: Any, _proba: Any) -> tuple[str, float]:
    code = scorer(_calibrator)
    return code, verify_scorer(code, _calibrator, _proba)


@st.cache_resource(max_entries=16, show_spinner="Writing and replaying the ONNX graph ...")
def _graph(key: str, _calibrator: Any, _proba: Any) -> tuple[bytes, float]:
    graph = to_onnx(_calibrator)
    return graph, verify_onnx(graph, _calibrator, _proba)
