"""Overview: how far the model's confidence can be trusted, and where it goes wrong most."""

from __future__ import annotations

import streamlit as st

from calib.assessment.summary import how_assessed, summary_frame
from calib.diagrams.reliability import worst_cells_words
from calib.metrics.catalogue import ECES, MEASURES
from calib.noise import verdict
from pages.shared.panels.report import offer_report
from pages.shared.results import cells, floor, summary
from pages.shared.session import BASE, MANY_SCORES, dataset, methods
from pages.shared.widgets import bins_slider, download, heading, literal

heading("Overview", "How far can the announced confidence be trusted, and for which predicted classes?")
n_bins = bins_slider()
data, known = dataset(), methods()
base = known[BASE]
now = summary(base, n_bins)
names = [literal(name) for name in data.evaluation.class_names]

st.subheader("The base model", anchor=False)
columns = st.columns(4)
columns[0].metric(
    MEASURES["accuracy"].title,
    f"{now.accuracy:.3f}",
    border=True,
    height="stretch",
    help=MEASURES["accuracy"].about,
)
floors = {
    one: floor(base, one.key, n_bins)
    for notion, one in ECES.items()
    if notion != "class-wise" or now.cw_ece is not None
}
for column, (one, noise) in zip(columns[1:], floors.items(), strict=False):
    column.metric(
        one.title,
        f"{noise.observed:.4f}",
        delta=f"{noise.mean:.4f} from noise alone",
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
        help=f"{one.about} The small figure is the noise floor: what a perfect model of this size shows.",
    )
if data.evaluation.proba.size > MANY_SCORES:
    columns[3].toggle(
        "Compute CW-ECE",
        key="class_wise",
        persist_state="session",
        help=f"It needs {data.evaluation.proba.size:,} scores sorted: this takes a while.",
    )
for one, noise in floors.items():
    st.markdown("- " + verdict(noise, one.title))

st.subheader("Where it goes wrong most", anchor=False)
worst = worst_cells_words(cells(base, "top-label", n_bins), names, strong="**{}**")
if not worst:
    st.markdown("No (class, bin) cell holds 20 rows or more: there is too little data to name one.")
for sentence in worst:
    st.markdown(f"- {sentence}")
st.caption("The (class, bin) cells that add most to TL-ECE: gap times rows, among cells of 20 rows or more.")

st.subheader("Base model and fitted calibrators", anchor=False)
table = summary_frame([summary(method, n_bins) for method in known.values()])
table.insert(4, "TL-ECE noise floor", [floor(method, "tl_ece", n_bins).mean for method in known.values()])
shown = st.column_config.NumberColumn(format="%.4f")
heads = [head for head in table.columns if head not in ("Method", "Bins", "Distinct scores")]
st.dataframe(
    table,
    hide_index=True,
    placeholder="\u2013",
    column_config={head: shown for head in heads}
    | {"Method": st.column_config.TextColumn(pinned=True, width="medium")},
)
download(table, "overview", key="overview-csv")
st.caption(
    f"{how_assessed(n_bins)} {MEASURES['top_brier'].title}: {MEASURES['top_brier'].about} Empty cells: the "
    "method gives no score per class."
)
st.page_link(
    "pages/diagnose/noise.py",
    label="How sure these numbers are, and what recalibration can repair",
    icon=":material/graphic_eq:",
)
offer_report(n_bins)
