"""Compare: calibrators and models side by side on the evaluation rows."""

from __future__ import annotations

from time import perf_counter

import pandas as pd
import streamlit as st

from calib import diagrams
from calib.answers.calibrated import unseen_losses
from calib.answers.metric_tables import Assessment
from calib.answers.model_tables import ModelComparison, assess_each
from calib.calibrators.catalogue import PAPER, VECTOR, method_of, methods_of_kind
from calib.calibrators.effort import effort_words
from calib.data.kinds import lacks, notions_of
from calib.data.notions import Notion
from calib.diagrams.bin_sweep import sweep_words
from calib.diagrams.row_lists import cell_order
from calib.stats.measures import ECES
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_calibration, need_kind
from pages.shared.panels.leaderboard_panel import show_leaderboard, show_pair
from pages.shared.panels.model_comparison_panel import show_models, show_sweeps
from pages.shared.panels.recommendation import is_awaited, recommendation_words, recommended
from pages.shared.panels.rows_panel import CELLS_FIRST, list_most
from pages.shared.session import BASE, begin_fits, dataset, fit, methods

#: Above this many calibration probabilities nothing is fitted until the user asks for it.
AT_ONCE = 200_000
CURVES = 6
FIGURE_2 = (BASE, "TS", "TL-HB", "CW-HB")
#: What is compared if there are several models.
MODELS, SWEEPS, CALIBRATORS = "All models", "All, by the number of bins", "Calibrators of this model"
PAIR = "conf-ECE and TL-ECE"
#: Errors drawn against the number of bins: notions and metric of each.
AGAINST_BINS: dict[str, tuple[tuple[Notion, ...], str]] = {
    PAIR: (("top-label", "confidence"), "ece"),
    "TL-MCE": (("top-label",), "mce"),
    "CW-ECE": (("class-wise",), "ece"),
}

need_kind("Compare")
need_calibration("Comparing calibrators")
data = dataset()
small, whole = data.calibration.n_scores <= AT_ONCE, lacks(data.kind, "calibrator:whole vector") is None

names = list(methods_of_kind(data.kind))
usual = [name for name in (PAPER if small else ("TS", "TL-HB")) if name in names]
answer, menu = st.columns([4, 1], vertical_alignment="bottom")
with menu.popover("Options", width="stretch", icon=":material/tune:"):
    selected = st.multiselect("Methods", names, default=usual if whole else names[:4], key="wanted")
    if not whole:
        st.caption(ui.shortfall(data.kind, "calibrator:whole vector"))
    bins_by = st.segmented_control(
        "Histogram binning by",
        ["Bins per problem", "Points per bin"],
        default="Bins per problem",
        required=True,
    )
    n_bins = ui.bins_slider("Bins B, for calibrators and estimates")
    points = st.slider("Points per bin k", 5, 500, 50, 5) if bins_by == "Points per bin" else 50
    available = methods_of_kind(data.kind, n_bins if bins_by == "Bins per problem" else None, points)
    n_rows = data.calibration.n_samples
    n_classes = data.calibration.n_scores // n_rows
    scalings = {name: available[name] for name in selected if method_of(available[name]) in VECTOR}
    for scaling in scalings.values():
        if warning := scaling.overfit_words(n_rows, n_classes):
            st.warning(warning)
    for name in selected:
        if warning := effort_words(available[name], n_rows, n_classes):
            st.warning(f"{ui.literal(name)}: {warning}")
shown = CALIBRATORS
if data.models:
    shown = st.segmented_control(
        "Compare", [MODELS, SWEEPS, CALIBRATORS], default=MODELS, required=True, key="compare-what"
    )
with answer:
    recommendation = recommended() if shown == CALIBRATORS else None
proposed = recommendation[1] if recommendation else ""


def assessed(name: str) -> Assessment:
    known = methods()
    method = known[name] if name in (BASE, proposed) else fit(name, wanted[name], unasked=True)
    losses = results.losses(method)
    unseen = unseen_losses(method.rows, known[BASE].rows, losses)
    return Assessment(name, results.metrics(method, n_bins), row_values=losses, unseen=unseen)


if not small and not st.toggle("Fit and compare now", key="go"):
    st.info(f"{n_rows:,} x {n_classes:,} calibration probabilities: choose the methods, then switch this on.")
    st.stop()
if not selected:
    st.info("Choose at least one method to compare with the base model.")
    st.stop()
wanted = {name: available[name] for name in selected if name != proposed}
if shown != CALIBRATORS:
    show_models(wanted, n_bins) if shown == MODELS else show_sweeps(wanted)
    st.stop()
if small:  # scores of larger data might be more than a session may hold: `fit` says so before the next
    begin_fits(wanted)
place, begin = st.empty(), perf_counter()


def say(share: float, name: str) -> None:
    """Show which method is being fitted, if all fits take more than a second."""
    if share and (perf_counter() - begin) / share > 1.0:
        place.progress(share, f"Fitting {name}")


names = [name for name in (proposed, *wanted) if name]
entries = assess_each(names, assessed, progress=say)
leaderboard = ModelComparison((assessed(BASE), *entries), methods()[BASE].rows)
place.empty()
fitted = methods(every=True)
with answer:
    if recommendation:
        st.markdown(recommendation_words(*recommendation))
    elif not is_awaited():
        st.markdown(leaderboard.words(ui.literal))
show_leaderboard(leaderboard, n_bins, proposed)
ui.next_line("Repair")


def show_two() -> None:
    show_pair([fitted[entry.method] for entry in leaderboard.entries if entry.metrics], n_bins, proposed)


def show_against_bins() -> None:
    against: dict[str, tuple[tuple[Notion, ...], str]] = {
        title if len(having) == len(known) else ECES[having[0]].title: (having, metric)
        for title, (known, metric) in AGAINST_BINS.items()
        if (having := tuple(notion for notion in known if notion in notions_of(data.kind)))
    } or {"ECE of P(Y = 1)": ((data.kind.notion,), "ece")}
    first = next(iter(against))
    error = st.segmented_control("Error", list(against), default=first, required=True, key="against-bins")
    notions, metric = against[error]
    candidates = [
        name
        for name, method in fitted.items()
        if name in (BASE, proposed, *selected)
        and ("class-wise" not in notions or data.kind.scored or not method.rows.lacks("notion:class-wise"))
    ]
    curves = st.multiselect(
        "Methods to draw",
        candidates,
        default=[
            name
            for name in (FIGURE_2 if whole else candidates[:4])
            if name in candidates and (name != "CW-HB" or error == "CW-ECE")
        ],
        max_selections=CURVES,
        key=f"curves-{error}" if error != PAIR else "curves",
    )

    def pick_point() -> None:
        if point := ui.clicked("ece-against-bins"):
            st.session_state["curve-point"] = (*drawn[point["curve_number"]], int(point["x"]))
            st.session_state["curve-rows-open"] = True

    if curves:
        by_method = {name: results.sweeps(fitted[name], data, notions, metric) for name in curves}
        drawn = [(name, notion) for name, pair in by_method.items() for notion in pair]
        if error == PAIR and len(notions) == 2:
            named = {ui.literal(name): pair for name, pair in by_method.items()}
            st.markdown(f"Solid lines are TL-ECE, dashed lines conf-ECE. {sweep_words(named, '**{}**')}")
        rows = [
            sweep.frame().assign(method=name) for name, pair in by_method.items() for sweep in pair.values()
        ]
        ui.chart(
            diagrams.draw_ece_sweeps(
                by_method
                if "class-wise" not in notions or whole
                else {name: {"binary": next(iter(pair.values()))} for name, pair in by_method.items()}
            ),
            "ece-against-bins",
            table=lambda: pd.concat(rows),
            alt=f"{error} against the number of bins, per method",
            on_select=pick_point,
        )
        point = st.session_state.get("curve-point")
        name, notion, count = point if point is not None and point[:2] in drawn else (*drawn[0], n_bins)
        by = results.ask(cell_order, fitted[name], notion=notion, n_bins=count)
        what = ECES[notion].title if error == PAIR else error
        list_most(fitted[name], by, f"{what} in {count} bins", "curve-rows", CELLS_FIRST)


ui.show_tabs(
    {"Two methods": show_two, "Errors against the number of bins": show_against_bins},
    "about-methods",
)
