"""Overview: how far the model's confidence can be trusted, and where it is most wrong."""

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

heading("Overview", "How far can the model's confidence be trusted, and for which predicted classes?")
n_bins = bins_slider()
data, models = dataset(), methods()
base = models[BASE]
base_summary = summary(base, n_bins)
names = [literal(name) for name in data.evaluation.class_names]

st.subheader("The base model", anchor=False)
columns = st.columns(4)
columns[0].metric(
    MEASURES["accuracy"].title,
    f"{base_summary.accuracy:.3f}",
    border=True,
    height="stretch",
    help=MEASURES["accuracy"].about,
)
floors = {
    measure: floor(base, measure.key, n_bins)
    for notion, measure in ECES.items()
    if notion != "class-wise" or base_summary.cw_ece is not None
}
for column, (measure, noise) in zip(columns[1:], floors.items(), strict=False):
    column.metric(
        measure.title,
        f"{noise.observed:.4f}",
        delta=f"{noise.mean:.4f} from noise alone",
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
        help=f"{measure.about} Below it, the noise floor: the error of a perfect model with as many rows.",
    )
if data.evaluation.proba.size > MANY_SCORES:
    columns[3].toggle(
        "Compute CW-ECE",
        key="class_wise",
        persist_state="session",
        help=f"This sorts {data.evaluation.proba.size:,} scores and takes a while.",
    )
for measure, noise in floors.items():
    st.markdown("- " + verdict(noise, measure.title))

st.subheader("Where the confidence is most wrong", anchor=False)
worst = worst_cells_words(cells(base, "top-label", n_bins), names, strong="**{}**")
if not worst:
    st.markdown("No (class, bin) cell has 20 rows or more, so there are too few data to name one.")
for sentence in worst:
    st.markdown(f"- {sentence}")
st.caption("The (class, bin) cells that add most to TL-ECE (gap times rows), among cells of 20 rows or more.")

st.subheader("Base model and fitted calibrators", anchor=False)
table = summary_frame([summary(method, n_bins) for method in models.values()])
table.insert(4, "TL-ECE noise floor", [floor(method, "tl_ece", n_bins).mean for method in models.values()])
number = st.column_config.NumberColumn(format="%.4f")
heads = [head for head in table.columns if head not in ("Method", "Bins", "Distinct scores")]
st.dataframe(
    table,
    hide_index=True,
    placeholder="\u2013",
    column_config={head: number for head in heads}
    | {"Method": st.column_config.TextColumn(pinned=True, width="medium")},
)
download(table, "overview", key="overview-csv")
st.caption(
    f"{how_assessed(n_bins)} {MEASURES['top_brier'].title}: {MEASURES['top_brier'].about} A cell is "
    "empty if the method gives no score per class."
)
st.page_link(
    "pages/diagnose/noise.py",
    label="How certain these numbers are, and what recalibration can repair",
    icon=":material/graphic_eq:",
)
offer_report(n_bins)
