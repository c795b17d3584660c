"""Taking a calibrator away: file, scorer and ONNX graph, each replayed before it is offered."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import streamlit as st

from calib import Predictions
from calib.export import scorer, to_onnx, verify_onnx, verify_scorer
from calib.persistence import dumps
from pages.shared.results import DIGESTS
from pages.shared.session import Method, dataset
from pages.shared.widgets import offer

#: Rows of the evaluation set that a scorer is replayed on while the page waits.
REPLAYED_ROWS = 100_000


def show_take_away(method: Method) -> None:
    """Offer the calibrator file at once, scorer and ONNX graph after they were replayed and compared."""
    data = dataset()
    st.subheader("Take it away", anchor=False)
    offer_file(method.calibrator, data.calibration, data.evaluation.class_names)
    st.caption("The Apply page, `python -m calib apply` and `calib.load` read the file.")
    if not st.toggle("Also make a scorer for production", key="make-scorer"):
        return
    code, off = _scorer(method, data.evaluation.proba[:REPLAYED_ROWS])
    _offer("Python scorer (NumPy only)", code.encode(), "scorer.py", "text/x-python", off)
    if find_spec("onnx") is None or find_spec("onnxruntime") is None:
        st.caption('For an ONNX graph, install the extra: `pip install "calib[onnx]"`.')
        return
    graph, off = _graph(method, data.evaluation.proba[:REPLAYED_ROWS])
    _offer("ONNX graph (float32 in)", graph, "calibrator.onnx", "application/octet-stream", off)


def offer_file(calibrator: Any, fitted_on: Predictions | None, names: tuple[str, ...]) -> None:
    """Offer the calibrator file; it carries the fixes accepted in the data the page is about."""
    log = st.session_state["fixes"]
    offer(
        "Calibrator file (JSON)",
        lambda: dumps(calibrator, class_names=names, fitted_on=fitted_on, log=log),
        "calibrator.json",
        "application/json",
        "primary",
    )


def _offer(label: str, content: bytes, file: str, mime: str, off: float) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        offer(label, content, file, mime, "secondary")
        rows = min(REPLAYED_ROWS, dataset().evaluation.n_samples)
        st.caption(f"Replayed on {rows:,} evaluation rows: the largest difference from calib is {off:.1e}.")


@st.cache_resource(max_entries=16, show_spinner="Writing and replaying the scorer ...", hash_funcs=DIGESTS)
def _scorer(method: Method, _proba: np.ndarray) -> tuple[str, float]:
    code = scorer(method.calibrator)
    return code, verify_scorer(code, method.calibrator, _proba)


@st.cache_resource(
    max_entries=16, show_spinner="Writing and replaying the ONNX graph ...", hash_funcs=DIGESTS
)
def _graph(method: Method, _proba: np.ndarray) -> tuple[bytes, float]:
    graph = to_onnx(method.calibrator)
    return graph, verify_onnx(graph, method.calibrator, _proba)
