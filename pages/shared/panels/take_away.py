"""Downloads of a calibrator: its file, and a scorer and an ONNX graph, which are verified first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import streamlit as st
from sklearn.base import BaseEstimator

from calib.base.exceptions import not_installed
from calib.calibrators.binary import BinaryCalibrator
from calib.data.kinds import lacks
from calib.data.predictions import BasePrediction
from calib.evidence.reductions import event_scores
from calib.export import scorer, to_onnx, verify_onnx, verify_scorer
from calib.files.saved import dumps
from pages.shared import widgets as ui
from pages.shared.kept import kept
from pages.shared.session import Method, dataset, groups_of, on_all_rows

#: Evaluation rows on which a scorer is verified while the page waits.
VERIFIED_ROWS = 100_000


def offer_scorer(method: Method) -> None:
    """Offer, on request, a scorer and an ONNX graph of the calibrator, verified against calib."""
    data = dataset()
    missing = lacks(data.kind, "export:scorer")
    if getattr(getattr(method.calibrator, "rule_", None), "by", None) == "group":
        missing = "Only the calibrator file carries thresholds by a column."
    if missing is not None:
        st.caption(ui.escaped(missing))
    elif st.toggle("Make a scorer for production", key="make-scorer"):
        show_scorer(method)


def show_scorer(method: Method) -> None:
    data = dataset()
    calibrator, _ = handed_out(method)
    event = event_scores(data.evaluation)
    rows = (data.evaluation.proba if event is None else event)[:VERIFIED_ROWS]
    shown = replace(method, calibrator=calibrator)
    code, deviation = _verified(scorer, verify_scorer, shown, rows)
    _offer("Python scorer (NumPy only)", code.encode(), "scorer.py", "text/x-python", deviation)
    if find_spec("onnx") is None or find_spec("onnxruntime") is None:
        st.caption(f"For an ONNX graph: {not_installed('onnx or onnxruntime', 'onnx')}")
        return
    graph, deviation = _verified(to_onnx, verify_onnx, shown, rows)
    _offer("ONNX graph (float32 input)", graph, "calibrator.onnx", "application/octet-stream", deviation)


def handed_out(method: Method) -> tuple[BaseEstimator, BasePrediction | None]:
    """Return the calibrator of a file and the rows of its fit; one with a rule stays as it was checked."""
    if getattr(method.calibrator, "rule_", None) is not None:
        return method.calibrator, dataset().calibration
    return on_all_rows(method)


def offer_file(method: Method, kind: Literal["primary", "secondary"] = "secondary") -> None:
    """Offer a calibrator's file, with the fixes in the data and the number of candidates."""
    offer_calibrator(*handed_out(method), dataset().evaluation.class_names, method.choices, kind)


def offer_calibrator(
    calibrator: BaseEstimator,
    fitted_on: BasePrediction | None,
    names: tuple[str, ...],
    choices: int = 1,
    kind: Literal["primary", "secondary"] = "secondary",
) -> None:
    rule = getattr(calibrator, "rule_", None)
    held = "" if rule is None else repr(sorted(vars(rule).items()))
    key = f"{calibrator!r}/{'' if fitted_on is None else fitted_on.fingerprint}/{held}/{choices}"
    ui.offer(
        "Calibrator file (JSON)",
        _file(key, names, st.session_state["fixes"], calibrator, fitted_on, choices),
        "calibrator.json",
        "application/json",
        kind,
        help_="The tab Apply of Repair, `calib apply` and `calib.load` read this file.",
    )


@kept(rows=True)
def _file(
    key: str,
    names: tuple[str, ...],
    log: tuple[str, ...],
    _calibrator: BaseEstimator,
    _fitted_on: BasePrediction | None,
    choices: int,
) -> bytes:
    named = None if isinstance(_calibrator, BinaryCalibrator) else names
    return dumps(_calibrator, class_names=named, fitted_on=_fitted_on, log=log, choices=choices)


def _offer(label: str, content: bytes, file: str, mime: str, deviation: float) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        ui.offer(label, content, file, mime, "secondary")
        rows = min(VERIFIED_ROWS, dataset().evaluation.n_samples)
        st.caption(
            f"Verified on {rows:,} evaluation rows: the largest difference from calib is {deviation:.1e}."
        )


@kept(rows=True)
def _verified(
    make: Callable[..., Any], verify: Callable[..., float], method: Method, _proba: np.ndarray
) -> tuple[Any, float]:
    made = make(method.calibrator)
    return made, verify(made, method.calibrator, _proba, groups=groups_of(method, len(_proba)))
