"""Overview: how far the model's confidence can be trusted, and where it is most wrong."""

from __future__ import annotations

import streamlit as st

from calib import figures
from calib.assessment.summary import HOW_SURE, how_assessed, interval_frame, interval_texts
from calib.diagrams.reliability import worst_cells_words
from calib.kinds import lacks
from calib.metrics.catalogue import MEASURES, ece_of
from calib.noise import verdict
from pages.shared.panels.report import offer_report
from pages.shared.panels.several_true import show_several_true
from pages.shared.results import cells, floor, interval, intervals, reliability, summary
from pages.shared.session import BASE, MANY_SCORES, dataset, methods
from pages.shared.widgets import bins_slider, chart, download, escaped, heading, literal

heading("Overview", "How far can the model's confidence be trusted, and for which predicted classes?")
n_bins = bins_slider()
data, models = dataset(), methods()
base = models[BASE]
base_summary = summary(base, n_bins)
names = [literal(name) for name in data.evaluation.class_names]

if data.kind.name == "binary":
    positive = data.evaluation.positive
    st.header("P(Y = 1) and how often Y is 1", anchor=False)
    diagram = reliability(base, n_bins)
    st.markdown(
        f"The score is the probability of {literal(positive)}. {diagram.words()} To see the probability of "
        f"{literal(data.evaluation.class_names[0])} instead, switch the positive class on the Data page."
    )
    chart(
        figures.reliability(diagram, event=positive),
        "overview-event",
        table=diagram.frame(),
        alt="Reliability diagram of the binary score: how often Y is 1 against P(Y = 1)",
    )
weighted = "" if base.weights is None else ", weighted"
st.header("The base model", anchor=False)
columns = st.columns(4)
if base_summary.accuracy is not None:
    columns[0].metric(
        MEASURES["accuracy"].title + weighted,
        f"{base_summary.accuracy:.3f}",
        delta="95 %: {:.3f} to {:.3f}".format(*interval(base, "accuracy", n_bins)),
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
        help=f"{MEASURES['accuracy'].about} Below it: its 95 % interval.",
    )
floors = {
    measure: floor(base, key, n_bins)
    for key, measure in ece_of(data.kind).items()
    if getattr(base_summary, key) is not None
}
for column, (measure, noise) in zip(columns[1:], floors.items(), strict=False):
    low, high = interval(base, measure.key, n_bins)
    column.metric(
        measure.title + weighted,
        f"{noise.observed:.4f}",
        delta=f"95 %: {low:.4f} to {high:.4f}",
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
        help=f"{measure.about} Below it: the 95 % interval of the true error. It lies below the measured "
        "one where noise adds much.",
    )
if data.evaluation.n_scores > MANY_SCORES and data.kind.name == "vectors":
    columns[3].toggle(
        "Compute CW-ECE",
        key="class_wise",
        persist_state="session",
        help=f"This sorts {data.evaluation.n_scores:,} scores and takes a while.",
    )
for measure, noise in floors.items():
    st.markdown("- " + verdict(noise, measure.title))
if data.kind.name == "multilabel":
    show_several_true(base, n_bins)

if lacks(data.kind, "notion:top-label") is None:
    st.header("Where the confidence is most wrong", anchor=False)
    worst = worst_cells_words(cells(base, "top-label", n_bins), names, strong="**{}**")
    if not worst:
        st.markdown("No (class, bin) cell has 20 rows or more, so there are too few data to name one.")
    for sentence in worst:
        st.markdown(f"- {sentence}")
    st.caption(
        "The (class, bin) cells that add most to TL-ECE (gap times rows), among cells of 20 rows or more."
    )
elif data.kind.name == "confidence":
    st.markdown(reliability(base, n_bins).words())
    st.caption(escaped(lacks(data.kind, "notion:top-label")))

st.header("Base model and fitted calibrators", anchor=False)
shown = list(models.values())
summaries = [summary(method, n_bins) for method in shown]
ends = [intervals(method, n_bins) for method in shown]
texts = interval_texts(summaries, ends).T.rename_axis("Method").reset_index()
errors = ece_of(data.kind)
error = errors.get("tl_ece") or next(iter(errors.values()))
texts.insert(
    list(texts.columns).index(error.title) + 1,
    f"{error.title} noise floor",
    [f"{floor(method, error.key, n_bins).mean:.4f}" for method in shown],
)
st.dataframe(
    texts, hide_index=True, column_config={"Method": st.column_config.TextColumn(pinned=True, width="medium")}
)
download(interval_frame(summaries, ends), "overview", key="overview-csv")
st.caption(
    f"{HOW_SURE} {how_assessed(n_bins)} {MEASURES['top_brier'].title}: {MEASURES['top_brier'].about} A dash: "
    "the method gives no score per class."
)
st.page_link(
    "pages/diagnose/noise.py",
    label="How certain these numbers are, and what recalibration can repair",
    icon=":material/graphic_eq:",
)
offer_report(n_bins)
