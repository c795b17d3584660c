"""Validity: the share of rows announced within epsilon of the truth, and what the theorem promises."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from calib import InputError
from calib.diagrams.validity import ValidityCurve
from calib.figures import noise as figures
from calib.figures.noise import Promise
from calib.guarantees.card import GuaranteeCard
from pages.shared.session import Method, dataset, methods
from pages.shared.validity_studies import card, cells_for, notions, own_notion, validity
from pages.shared.widgets import chart, download, heading, literal, plain


def promised(found: GuaranteeCard | None, notion: str, label: int | None) -> list[Promise]:
    """Epsilons of the theorem, of one class or of the worst; none where they do not bind."""
    if found is None or not found.applies or found.notion != notion:
        return []
    one = label is not None and notion != "confidence"
    first = float(found.marginal[label]) if one else found.worst_marginal
    second = float(found.conditional[label]) if one else found.worst_conditional
    made = [
        Promise(f"\u03b5\u2081 = {first:.3f}", first, 1.0 - found.alpha),
        Promise(f"\u03b5\u2082 = {second:.3f}", second, 1.0),
    ]
    return [promise for promise in made if math.isfinite(promise.epsilon) and promise.epsilon < 1.0]


def worst_cell(method: Method, curve: ValidityCurve) -> str:
    """Say which cell is off most."""
    code = int(curve.label[-1])
    about = "All classes pooled" if code < 0 else f"Class {literal(names[code])}"
    return (
        f"{literal(method.name)}: worst cell off by **{curve.worst:.3f}** ({about}: says "
        f"{curve.mean_score[-1]:.3f}, happened {curve.mean_outcome[-1]:.3f}, n = {curve.count[-1]:,})"
    )


heading(
    "Validity",
    "For how many rows is the announced probability within \u03b5 of the true one, and what is promised?",
)
data, known = dataset(), methods()
names = data.evaluation.class_names
left, middle, right = st.columns([2, 2, 2])
chosen = known[left.selectbox("Model", list(known), index=len(known) - 1, key="validity-model")]
choices = notions(chosen)
notion = middle.segmented_control(
    "Judged by", choices, default=own_notion(chosen), required=True, key=f"validity-notion-{chosen.name}"
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

cells = cells_for(chosen, notion, of_class)
try:
    curves = validity(chosen, notion, cells, n_bins)
except InputError as error:
    st.info(f"Nothing to show: {plain(error)}.")
    st.stop()
found = card(chosen, alpha)
promises = promised(found, notion, of_class)
what = "cells" if conditional else "rows"
epsilon = promises[0].epsilon if promises else 0.05
said = []
for name, curve in curves.items():
    share = curve.cells_at(epsilon) if conditional else curve.at(epsilon)
    said.append(f"**{share:.1%}** for {literal(name)}")
st.markdown(
    f"Share of {what} announced within {epsilon:.3f} of the observed frequency: {', '.join(said)}."
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
st.caption(
    "Dotted: what the same cells would show if every announcement were exactly true, because observed "
    "frequencies are noisy too. A curve on or above its dotted line shows no more than noise. "
    + (
        "The base model is judged in the calibrator's own cells (Appendix F of the paper)."
        if cells.own
        else f"Cells: {n_bins} equal-width bins."
    )
    + (
        f" Left out: {cells.left_out:,} classes with too few calibration rows for a bin; nothing is "
        "promised about them."
        if cells.left_out
        else ""
    )
)
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
