"""Validity: the share of rows announced within epsilon of the truth, and what the theorem promises."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import InputError, figures
from calib.diagrams.reliability import cell_words
from calib.diagrams.validity import ValidityCurve, validity_cells, validity_words
from calib.guarantees.card import guarantee_card
from pages.shared.results import validity
from pages.shared.session import BASE, Method, dataset, methods
from pages.shared.widgets import chart, download, heading, literal, plain


def worst_cell(method: Method, curve: ValidityCurve) -> str:
    """Say which cell is off most."""
    code = int(curve.label[-1])
    about = "All classes pooled" if code < 0 else f"Class {literal(names[code])}"
    return (
        f"{literal(method.name)}: worst cell off by **{curve.worst:.3f}** ({about}: "
        f"{cell_words(curve.mean_score[-1], curve.mean_outcome[-1], curve.count[-1])})"
    )


heading(
    "Validity",
    "For how many rows is the announced probability within \u03b5 of the true one, and what is promised?",
)
data, known = dataset(), methods()
names = data.evaluation.class_names
left, middle, right = st.columns([2, 2, 2])
chosen = known[left.selectbox("Model", list(known), index=len(known) - 1, key="validity-model")]
own = getattr(chosen.calibrator, "notion", "top-label")
notion = middle.segmented_control(
    "Judged by",
    chosen.notions,
    default=own if own in chosen.notions else "top-label",
    required=True,
    key=f"validity-notion-{chosen.name}",
)
alpha = right.slider("Failure probability \u03b1", 0.01, 0.5, 0.1, 0.01, key="alpha", bind="query-params")
everything = "All classes"
of_class = left.selectbox(
    "Class",
    [None, *range(len(names))] if notion != "confidence" else [None],
    format_func=lambda code: everything if code is None else str(names[code]),
    key="validity-class",
)
conditional = middle.toggle("Count cells, not rows", key="cells", bind="query-params")
n_bins = 15

cells = validity_cells(
    chosen.calibrator,
    known[BASE].scores,
    chosen.scores,
    notion=notion,
    strategy=chosen.strategy,
    label=of_class,
)
try:
    curves = validity(chosen, notion, cells, n_bins)
except InputError as error:
    st.info(f"Nothing to show: {plain(error)}.")
    st.stop()
found = guarantee_card(chosen.calibrator, alpha) if hasattr(chosen.calibrator, "fallbacks_") else None
promises = found.promises(of_class) if found is not None and found.notion == notion else []
epsilon = promises[0].epsilon if promises else 0.05
named = {literal(name): curve for name, curve in curves.items()}
st.markdown(
    validity_words(named, epsilon, conditional=conditional, strong="**{}**")
    + (
        f" The theorem promises at least {1 - alpha:.0%} at \u03b5\u2081 for new rows and exact frequencies, "
        "whatever the distribution."
        if promises and not conditional
        else ""
    )
)
table = pd.concat([curve.frame().assign(model=name) for name, curve in curves.items()])
chart(
    figures.validity(curves, conditional=conditional, promises=promises),
    "validity",
    table=table,
    alt="Validity curves of the base model and the calibrator, with the theorem's epsilon",
)
st.caption(f"{figures.DOTTED} {cells.words(n_bins)}")
for name, curve in curves.items():
    st.markdown("- " + worst_cell(known[name], curve))

grid = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
shares = pd.DataFrame(
    [
        {"model": name, "worst cell": curve.worst, "cells": len(curve.gap)}
        | {f"V({at:g})": curve.cells_at(at) if conditional else curve.at(at) for at in grid}
        for name, curve in curves.items()
    ]
)
st.dataframe(
    shares.style.format({f"V({at:g})": "{:.1%}" for at in grid} | {"worst cell": "{:.3f}"}), hide_index=True
)
download(shares, "validity-shares", key="validity-shares-csv")
if found is None or not found.applies:
    reason = found.why_not if found is not None else "the theorems are about histogram binning"
    st.caption(f"No guarantee to draw for {literal(chosen.name)}: {reason}.")
