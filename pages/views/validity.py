"""Validity: the share of rows whose confidence is within epsilon of the truth, and the theorem's promise."""

from __future__ import annotations

import streamlit as st

from calib import InputError, diagrams
from calib.answers.guarantee_cards import guarantee_card
from calib.diagrams.reliability_diagrams import cell_words
from calib.diagrams.validity_plots import ValidityCurve, validity_words
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind
from pages.shared.session import Method, dataset, described_calibrator, methods, notions


def worst_cell(method: Method, curve: ValidityCurve) -> str:
    """Say which cell has the largest gap."""
    last = curve.cells.iloc[-1]
    code = int(last["label"])
    scope = "All classes pooled" if code < 0 else f"Class {ui.literal(names[code])}"
    if data.kind.scored:
        scope = "All rows pooled"
    cell = last["mean_score"], last["mean_outcome"], int(last["count"])
    return (
        f"{ui.literal(method.name)}: worst cell off by **{curve.worst:.3f}** ({scope}: "
        f"{cell_words(*cell, event=ui.event_of(dataset()))})"
    )


ui.heading(
    "Validity",
    "For how many rows is the predicted probability within \u03b5 of the true one, and what is promised?",
)
need_kind("Validity")
data, models = dataset(), methods()
names = data.evaluation.class_names
left, middle, right = st.columns([2, 2, 2])
chosen = models[
    left.selectbox("Before or after calibration", list(models), index=len(models) - 1, key="validity-model")
]
offered = notions(chosen)
fitted_notion, notion = getattr(chosen.calibrator, "notion", offered[0]), offered[0]
if not data.kind.scored:  # else there is nothing to choose
    notion = middle.segmented_control(
        "Notion of calibration",
        offered,
        default=fitted_notion if fitted_notion in offered else notion,
        required=True,
        key=f"validity-notion-{chosen.name}",
    )
shown_class = None
if not data.kind.scored:
    codes: list[int | None] = [None, *range(0 if notion == "confidence" else len(names))]
    shown_class = right.selectbox(
        "Class",
        codes,
        format_func=lambda code: "All classes" if code is None else str(names[code]),
        key="validity-class",
    )
card = None
if hasattr(described := described_calibrator(chosen, data), "fallbacks_"):
    alpha = left.slider("Failure probability \u03b1", 0.01, 0.5, 0.1, 0.01, key="alpha", bind="query-params")
    card = guarantee_card(described, alpha, choices=chosen.choices)
conditional = middle.toggle("Count cells, not rows", key="cells", bind="query-params")
n_bins = 15

try:
    cells, curves = results.validity(chosen, notion, shown_class, n_bins)
except InputError as error:
    st.info(f"Nothing to show: {ui.escaped(error)}.")
    st.stop()
promised = card is not None and (data.kind.scored or card.notion == notion)
promises = card.promises(shown_class) if card is not None and promised else []
mean = card.mean_promise(shown_class) if card is not None and promised and not conditional else None
epsilon = promises[0].epsilon if promises else 0.05
shown = {name: curve.by_cells() if conditional else curve for name, curve in curves.items()}
named = {ui.literal(name): curve for name, curve in shown.items()}
st.markdown(
    validity_words(named, epsilon, strong="**{}**")
    + (
        f" The theorem promises at least {1 - alpha:.0%} at \u03b5\u2081 for new rows and exact frequencies, "
        "whatever the distribution."
        if promises and not conditional
        else ""
    )
)
if card is not None and card.applies and promised and shown_class is None:
    st.markdown(card.error_words("**{}**"))
ui.chart(
    diagrams.draw_validity(shown, promises=promises, mean=mean),
    "validity",
    table=lambda: ui.stacked(curves, "model"),
    alt="Validity curves of the base model and the calibrator, with the theorem's epsilon",
)
st.caption(f"{diagrams.DOTTED} {cells.words(n_bins)}")
for name, curve in curves.items():
    st.markdown("- " + worst_cell(models[name], curve))
if card is None or not card.applies:
    reason = card.why_not if card is not None else "the theorems hold for histogram binning only"
    st.caption(f"No guarantee is drawn for {ui.literal(chosen.name)}: {reason}.")
ui.next_line("Validity")
