"""Validity: the share of rows whose confidence is within epsilon of the truth, before and after."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib import InputError, diagrams
from calib.answers.guarantee_cards import GuaranteeCard, guarantee_card
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.multiclass import as_multiclass
from calib.data.defaults import N_BINS
from calib.diagrams.reliability_diagrams import cell_words
from calib.diagrams.validity_plots import ValidityCurve, validity_words
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind
from pages.shared.panels.recommendation import open_on, recommended
from pages.shared.session import BASE, dataset, methods, notions

#: Columns of the guarantee card.
HEADS = {
    "class": "Class",
    "n_points": "Rows n",
    "n_bins": "Bins",
    "points_per_bin": "Points per bin k",
    "eps_marginal": "\u03b5\u2081",
    "eps_conditional": "\u03b5\u2082",
    "reach": "Within",
    "expected_ece_bound": "Bound on expected ECE",
    "error_bound": "Bound on ECE",
}


def worst_cell(name: str, curve: ValidityCurve) -> str:
    last = curve.cells.iloc[-1]
    code = int(last["label"])
    scope = "all rows" if data.kind.scored else "all classes pooled"
    if code >= 0 and not data.kind.scored:
        scope = f"class {ui.literal(data.evaluation.class_names[code])}"
    cell = last["mean_score"], last["mean_outcome"], int(last["count"])
    words = cell_words(*cell, event=ui.event_of(data))
    return f"- {ui.literal(name)}: worst cell off by **{curve.worst:.3f}** ({scope}: {words})"


def show_card(card: GuaranteeCard) -> None:
    """Show what a fitted calibrator promises each class, under which assumptions."""
    st.markdown(card.words("**{}**"))
    table = card.frame()
    names = np.asarray(data.evaluation.class_names, dtype=object)
    table.insert(2, "class", np.where(card.label >= 0, names[card.label], "all classes"))
    number = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        table.rename(columns=HEADS).filter(HEADS.values()),
        hide_index=True,
        placeholder="\u2013",
        column_config=dict.fromkeys(list(HEADS.values())[4:], number),
    )
    st.caption(
        "Within: the largest distance from a calibrated value to an end of its bin's Clopper-Pearson "
        "interval. These intervals hold together, as \u03b5\u2082 does, but depend on the outcomes."
    )
    ui.download(table, "guarantee")
    ui.download(card.bins.frame(), "guarantee-bins", label="Every bin (CSV)")
    st.markdown("\n".join(f"- {line}" for line in card.assumptions))


ui.heading(
    "Validity",
    "For how many rows is the predicted probability within \u03b5 of the true one, and what is promised?",
)
need_kind("Validity")
recommendation = recommended()
data, models = dataset(), methods()
left, right = st.columns(2)
open_on("validity-model", recommendation[1] if recommendation and recommendation[1] else BASE, models)
chosen = models[left.selectbox("Calibrator", list(models), key="validity-model")]
notion, card = getattr(chosen.calibrator, "notion", None), None
notion = notion if notion in notions(chosen) else notions(chosen)[0]
described = chosen.calibrator
if isinstance(described, BinaryCalibrator):
    described = as_multiclass(described, data.calibration)
if hasattr(described, "fallbacks_"):
    alpha = right.slider("Failure probability \u03b1", 0.01, 0.5, 0.1, 0.01, key="alpha", bind="query-params")
    card = guarantee_card(described, alpha, choices=chosen.choices)
try:
    cells, curves = results.validity(chosen, notion)
except InputError as error:
    st.info(f"Nothing to show: {ui.escaped(error)}.")
    st.stop()
promised = card is not None and (data.kind.scored or card.notion == notion)
promises = card.promises() if card is not None and promised else []
mean = card.mean_promise() if card is not None and promised else None
epsilon = promises[0].epsilon if promises else 0.05
st.markdown(
    validity_words({ui.literal(name): curve for name, curve in curves.items()}, epsilon, strong="**{}**")
    + (
        f" The theorem promises at least {1 - alpha:.0%} at \u03b5\u2081, for new rows and true frequencies, "
        "whatever the distribution."
        if promises
        else ""
    )
)
if card is not None and card.applies and promised:
    st.markdown(card.error_words("**{}**"))
ui.chart(
    diagrams.draw_validity(curves, promises=promises, mean=mean),
    "validity",
    table=lambda: ui.stacked(curves, "model"),
    alt="Validity curves of the base model and the calibrator, with the theorem's epsilon",
)
st.caption(f"{diagrams.DOTTED} {cells.words(N_BINS)}")
st.markdown("\n".join(worst_cell(name, curve) for name, curve in curves.items()))
if card is None or not card.applies:
    reason = card.why_not if card is not None else "the theorems hold for histogram binning only"
    st.caption(f"No guarantee is drawn for {ui.literal(chosen.name)}: {reason}.")
else:
    with st.expander("What is promised, and what it assumes"):
        show_card(card)
ui.next_line("Validity")
