"""Compare: calibrators and models side by side on the evaluation rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import figures
from calib.assessment.leaderboard import Entry, compare
from calib.calibrators.catalogue import PAPER, named_methods
from calib.diagrams.bin_sweep import sweep_words
from pages.shared.panels.add_model import offer_model_upload
from pages.shared.panels.leaderboard import show_leaderboard, show_pair
from pages.shared.results import summary, sweeps
from pages.shared.session import BASE, dataset, fit, methods
from pages.shared.widgets import bins_slider, chart, heading, literal, need_calibration

#: Above this many calibration probabilities nothing is fitted until the user asks for it.
AT_ONCE = 200_000
CURVES = 6
FIGURE_2 = (BASE, "TS", "TL-HB")

heading(
    "Compare",
    "Which calibrator and which reduction repair this model best? All are fitted on the calibration rows and "
    "assessed on the evaluation rows.",
)
need_calibration("Comparing calibrators")
data = dataset()
assert data.calibration is not None
small = data.calibration.proba.size <= AT_ONCE

left, right = st.columns([3, 2])
names = list(named_methods())
selected = left.multiselect("Methods", names, default=PAPER if small else ["TS", "TL-HB"], key="wanted")
bins_by = right.segmented_control(
    "Histogram binning by", ["Bins per problem", "Points per bin"], default="Bins per problem", required=True
)
with right:
    n_bins = bins_slider("Bins B, for calibrators and estimates")
points = right.slider("Points per bin k", 5, 500, 50, 5) if bins_by == "Points per bin" else 50
available = named_methods(n_bins if bins_by == "Bins per problem" else None, points)
n_rows, n_classes = data.calibration.proba.shape
if "DS" in selected and available["DS"].n_parameters(n_classes) > n_rows:
    left.warning(
        f"Dirichlet scaling (DS) has {available['DS'].n_parameters(n_classes):,} parameters for {n_rows:,} "
        "calibration rows: it will overfit and take a long time."
    )

offer_model_upload()


if not small and not st.toggle("Fit and compare now", key="go"):
    st.info(f"{n_rows:,} x {n_classes:,} calibration probabilities: choose the methods, then switch this on.")
    st.stop()
if not selected:
    st.info("Choose at least one method to compare with the base model.")
    st.stop()
models = [model for model in methods().values() if model.calibrator is None]
bar = st.progress(0.0)
leaderboard = compare(
    data.calibration,
    data.evaluation,
    {name: available[name] for name in selected},
    base=[Entry(model.name, summary(model, n_bins)) for model in models],
    assess=lambda name, calibrator: Entry(name, summary(fit(name, calibrator), n_bins)),
    progress=lambda share, name: bar.progress(share, f"Fitting {name}"),
)
bar.empty()
table = leaderboard.frame()
base = table.iloc[0]
best = table.loc[table["TL-ECE"].idxmin()]
changed = table[table["Method"].isin(selected) & ((table["Accuracy"] - base["Accuracy"]).abs() > 1e-12)]
st.markdown(
    f"Lowest TL-ECE: **{best['TL-ECE']:.4f}** by {literal(best['Method'])}; "
    f"the base model has {base['TL-ECE']:.4f}. Confidence, top-label and top-K calibration and temperature "
    "scaling cannot change the predicted class; class-wise, normalised (N-), vector and Dirichlet scaling can"
    + (
        f", and here accuracy goes from {base['Accuracy']:.4f} to {changed['Accuracy'].min():.4f} at worst."
        if len(changed)
        else "."
    )
)
show_leaderboard(leaderboard, n_bins)
show_pair([methods()[entry.method] for entry in leaderboard.entries if entry.summary], n_bins)

st.subheader("Conf-ECE and TL-ECE against the number of bins", anchor=False)
candidates = [name for name in methods() if name in (BASE, *selected)]
curves = st.multiselect(
    "Methods to draw",
    candidates,
    default=[name for name in FIGURE_2 if name in candidates],
    max_selections=CURVES,
    key="curves",
)
if curves:
    by_method = {name: sweeps(methods()[name], data) for name in curves}
    named = {literal(name): pair for name, pair in by_method.items()}
    st.markdown(f"Solid lines are TL-ECE, dashed lines conf-ECE. {sweep_words(named, '**{}**')}")
    rows = [sweep.frame().assign(method=name) for name, pair in by_method.items() for sweep in pair.values()]
    chart(
        figures.ece_curves(by_method),
        "ece-against-bins",
        table=pd.concat(rows),
        alt="TL-ECE (solid) and conf-ECE (dashed) against the number of bins, per method",
    )
