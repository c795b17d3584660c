"""Noise: how much of each error is miscalibration, how precise each number is, and what can be repaired."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import calibration_slope, conclude, decomposition, diagrams
from calib.diagrams.row_lists import cell_order
from calib.stats import calibration_tests, verdict
from calib.stats.binless import calibration_frame, recalibration_words
from calib.stats.measures import MEASURES
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.kept import ahead
from pages.shared.needs import need_kind, say_rows_needed, weights_refused
from pages.shared.panels.rows_panel import CELLS_FIRST, list_most
from pages.shared.session import BASE, Method, dataset, methods

#: Beyond this many rows the intervals are computed only when asked for.
AT_ONCE = 20_000
SHOWN = 6
RULES = {"Brier score": "brier", "log loss": "log_loss"}


def p_words(p: float) -> str:
    """Return a p-value with three digits, which is never 0."""
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def pick_error() -> None:
    if point := ui.clicked("noise-floors"):
        st.session_state["noise-behind"] = list(floors)[round(point["y"])]
        st.session_state["noise-rows-open"] = True


def list_behind() -> None:
    """List the rows of the cells that add most to the error that was clicked."""
    key = st.session_state.get("noise-behind")
    if key in floors and data.has_rows:
        by = results.ask(cell_order, method, notion=MEASURES[key].notion, n_bins=n_bins)
        list_most(method, by, MEASURES[key].title, "noise-rows", CELLS_FIRST)


def intervals(method: Method) -> pd.DataFrame:
    measures = results.judged(method)
    rows = []
    numbers = results.metrics(method, n_bins)
    for measure in measures:
        floor = floors.get(measure.key)
        value = floor.observed if floor else getattr(numbers, measure.key)
        lower, upper = results.interval(method, measure.key, n_bins)  # NaN if sums give none
        rows.append(
            {
                "Number": measure.title,
                "Measured": value,
                "Lower": lower,
                "Upper": upper,
                "Perfect model": None if floor is None else floor.mean,
                "Perfect model, 95 %": None if floor is None else floor.quantile(0.95),
                "p": None if floor is None or floor.untold else floor.p_value,
            }
        )
    return pd.DataFrame(rows)


need_kind("Noise")
data, models = dataset(), methods()
n_bins, method = ui.bins_and_method()
shown = list(models)[:SHOWN]
floors = results.floors(method, n_bins)
by_error = {MEASURES[key].title: floor for key, floor in floors.items()}
st.markdown(
    "\n".join("- " + verdict(floor, name) for name, floor in by_error.items() if floor.metric == "ece")
)
ui.chart(
    diagrams.draw_floors(by_error),
    "noise-floors",
    table=lambda: ui.stacked(by_error, "name"),
    alt="Observed calibration errors against a perfect model's of the same size",
    on_select=pick_error,
)
list_behind()
ui.next_line("Overview")


def show_intervals() -> None:
    if (
        not data.has_rows
        or data.evaluation.n_samples <= AT_ONCE
        or st.toggle("Compute the intervals now", key="resample")
    ):
        sure = intervals(method)
        numbers = [column for column in sure.columns if column not in ("Number", "p")]
        st.dataframe(
            sure.assign(p=sure["p"].map(p_words, na_action="ignore")),
            hide_index=True,
            height="content",
            placeholder="\u2013",
            column_config={
                "Number": st.column_config.TextColumn(pinned=True),
                "p": st.column_config.TextColumn(alignment="right"),
                **dict.fromkeys(numbers, st.column_config.NumberColumn(format="%.4g")),
            },
        )
        ui.download(sure, "intervals")
        st.caption(
            "Noise raises a measured calibration error by up to what a perfect model shows, so its interval "
            "can lie below it."
        )


def show_parts() -> None:
    rule = st.segmented_control("Score", list(RULES), default="Brier score", required=True, key="rule")
    terms = {
        name: results.ask(
            decomposition, models[name], rule=RULES[rule], notion=models[name].evidence.notion, n_bins=n_bins
        )
        for name in shown
    }
    base = terms[BASE]
    asked, constant = (
        ("is Y 1?", "A constant equal to how often Y is 1")
        if data.event is not None
        else ("is the predicted class right?", "A constant confidence equal to the accuracy")
    )
    st.markdown(
        f"Parts of the base model's {rule} of **{base.score:.4f}** ({asked}): "
        f"**{base.calibration:.4f}** is calibration, noise included; **{base.refinement:.4f}** is "
        f"refinement, which no recalibration of these cells can change, and {base.binning:+.4f} comes from "
        f"scores that differ inside a bin. {constant} would score {base.uncertainty:.4f}."
    )
    ui.chart(
        diagrams.draw_decompositions(terms),
        "score-parts",
        table=lambda: ui.stacked(terms, "model"),
        alt="Calibration and refinement of each model's score",
    )
    if len(models) > SHOWN:
        st.caption(f"The first {SHOWN} of {len(models)} models.")


def show_without_bins() -> None:
    if say_rows_needed("A test without bins"):
        st.stop()
    ahead((results.pairs, method))  # shown last, and computed elsewhere
    scored = data.kind.scored
    tests = results.ask(calibration_tests, method)
    line = results.ask(calibration_slope, method, notion="confidence")
    if (compared := results.pairs(method)) is not None:
        tests = [*tests, compared]
    tested = calibration_frame(tests, scored)
    st.markdown(f"{results.ask(conclude, method, n_bins=n_bins).combined.words}.")
    st.dataframe(
        tested.drop(columns="Redraws").assign(p=tested["p"].map(p_words, na_action="ignore")),
        hide_index=True,
        column_config={"Statistic": st.column_config.NumberColumn(format="%.4g")},
    )
    ui.download(tested, "tests-without-bins")
    st.markdown(recalibration_words(line, scored))
    if data.evidence.is_weighted and "vector" in data.kind.has:
        st.caption(ui.escaped(weights_refused("The kernel test of whole vectors")))
    st.caption(
        f"Kuiper and Kolmogorov-Smirnov look at sums of outcome minus {scored or 'confidence'} in the order "
        + f"of {scored or 'confidence, one predicted class after the other'}"
        + "; z at the Brier score"
        + ("" if scored else "; SKCE at the whole vector")
        + ". Outcomes are redrawn up to 20,000 distinct scores; beyond these, p comes from the limit."
    )


ui.show_tabs(
    {
        "How sure is each number?": show_intervals,
        "What recalibration can repair": show_parts,
        "Without bins": show_without_bins,
    },
    "about-noise",
)
