"""Cached results of the Validity page, keyed on digests like those of `session`."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib.binning import BinaryProblems
from calib.diagrams.validity import ValidityCells, ValidityCurve, validity_cells, validity_curve
from calib.guarantees.card import GuaranteeCard, guarantee_card
from calib.notions import Notion
from pages.shared.session import BASE, Method, class_wise, methods, problems

#: Redraws for the curve of a perfect model: its shares are averages, 200 give them to within 1 %.
REDRAWS = 200


def own_notion(method: Method) -> Notion:
    """Return the scalar notion a method is calibrated in; "top-label" where it is none of them."""
    notion = getattr(method.calibrator, "notion", "top-label")
    return notion if notion in notions(method) else "top-label"


def notions(method: Method) -> list[Notion]:
    """Return the notions a method can be judged by; class-wise on very large data only when asked for."""
    every: list[Notion] = ["top-label", "confidence"]
    return [*every, "class-wise"] if class_wise() and serves(method, "class-wise") else every


def cells_for(method: Method, notion: Notion, label: int | None) -> ValidityCells:
    """Choose the cells: those of the calibrator for every class that it binned."""
    base = methods()[BASE]
    return validity_cells(
        method.calibrator,
        base.scores,
        method.scores,
        notion=notion,
        strategy=method.strategy,
        label=label,
    )


def validity(method: Method, notion: Notion, cells: ValidityCells, n_bins: int) -> dict[str, ValidityCurve]:
    """Return V(epsilon) of the base model and, if it is another, of a method, by name."""
    base = methods()[BASE]
    strategy = "discrete" if cells.own else "uniform"
    own = problems(method, notion)
    curves = {}
    if method.name != BASE:
        cut = (method.key, own) if cells.own else ("", None)
        key = (base.key, cut[0], notion, cells.labels, n_bins, strategy)
        curves[BASE] = _validity(key, problems(base, notion), cut[1])
    key = (method.key, "", notion, cells.labels, n_bins, strategy)
    return {**curves, method.name: _validity(key, own, None)}


def card(method: Method, alpha: float) -> GuaranteeCard | None:
    """Return what a method's calibrator promises, None where it has no binary problems to promise about."""
    return guarantee_card(method.calibrator, alpha) if hasattr(method.calibrator, "fallbacks_") else None


def serves(method: Method, notion: str) -> bool:
    """Whether a method can be judged by a notion: class-wise needs a score for every class."""
    return (
        notion != "class-wise" or not hasattr(method.scores, "confidence") or hasattr(method.scores, "proba")
    )


@st.cache_resource(max_entries=128, show_spinner="Computing validity ...")
def _validity(
    key: tuple[Any, ...], _problems: BinaryProblems, _cells: BinaryProblems | None
) -> ValidityCurve:
    _, _, _, labels, n_bins, strategy = key
    return validity_curve(
        None,
        _problems,
        reference=_cells,
        label=labels,
        n_bins=n_bins,
        strategy=strategy,
        n_resamples=REDRAWS,
        random_state=0,
    )
