"""The leaderboard with its downloads, and a comparison of two methods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.column_config import Column

from calib import paired_difference, paired_interval
from calib.answers.metric_tables import how_assessed
from calib.answers.model_tables import HOW_RANKED, RANKING, ModelComparison
from calib.base.interval_words import interval_words
from calib.data.kinds import lacks
from calib.data.notions import TOP_NOTIONS
from calib.stats.floors import ABOVE_NOISE
from calib.stats.measures import MEASURES, Measure, ece_of
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.panels.recommendation import open_on
from pages.shared.panels.rows_panel import highest_rows, rows_panel
from pages.shared.session import BASE, Method, dataset, methods

#: Text of an empty cell of a table.
NONE = "\u2013"
PINNED = st.column_config.TextColumn(pinned=True)
#: How `difference_sentence` compares.
HOW_COMPARED = (
    "Measured errors are not compared, because noise adds a different amount to each. The comparison uses "
    "debiased squared l2 errors, and scores."
)
#: Pixels of an improvement with its interval.
IMPROVEMENT = 195
BEST = "font-weight: bold; background-color: rgba(0,158,115,0.22)"


def with_noise(leaderboard: ModelComparison, compared: Sequence[Method | None], n_bins: int) -> pd.DataFrame:
    """Return the ranked table with the first calibration error's interval and noise floor."""
    table, error = leaderboard.ranking(), first_error()
    shown = table.drop(columns=["Bins", "Failure"])
    for head, texts in leaderboard.improvement_texts().iterrows():
        shown = shown.drop(columns=[f"{head}, lower", f"{head}, upper"])
        shown[head] = texts.to_list()
    floors = [assessed and results.floor(assessed, error.key, n_bins) for assessed in compared]
    limits = [assessed and results.interval(assessed, error.key, n_bins) for assessed in compared]
    shown[f"{error.title}, 95 %"] = [interval_words(ends[0], ends[1]) if ends else NONE for ends in limits]
    shown["Noise floor"] = [noise.mean if noise else None for noise in floors]
    shown["Above noise"] = [noise.verdict == ABOVE_NOISE if noise else None for noise in floors]
    return shown if table["Failure"].isna().all() else shown.assign(Failure=table["Failure"])


def first_error() -> Measure:
    errors = ece_of(dataset().kind)
    return errors.get("tl_ece") or next(iter(errors.values()))


def show_leaderboard(leaderboard: ModelComparison, n_bins: int, proposed: str) -> None:
    """Show the ranked table with the recommended method marked, and TL-ECE with interval and floor."""
    table, marks, fitted = leaderboard.ranking(), leaderboard.best, methods(every=True)
    compared = [fitted[entry.method] if entry.metrics else None for entry in leaderboard.ranked]
    shown = with_noise(leaderboard, compared, n_bins)
    seen = ["Method", "Failure", *RANKING.values(), first_error().title]
    seen += ["Noise floor", "Above noise", "Accuracy"]

    def mark_best(column: pd.Series) -> list[str]:
        return [BEST if is_best else "" for is_best in marks[column.name]]

    def mark_proposed(column: pd.Series) -> list[str]:
        return ["font-weight: bold" if name == proposed else "" for name in column]

    digits = dict.fromkeys(shown.select_dtypes("number").columns, "{:.4f}") | {"Distinct scores": "{:,.0f}"}
    styled = shown.style.format(digits).apply(mark_best, subset=list(RANKING.values()))
    styled = styled.apply(mark_proposed, subset=["Method"])

    def pick_method() -> None:
        row = ui.ticked("leaderboard")
        if row is not None and compared[row] is not None:
            st.session_state["pair-first"] = shown["Method"].iloc[row]
            st.session_state["pair-second"] = BASE
            st.session_state["pair-rows-open"] = True

    st.dataframe(
        styled,
        key="leaderboard",
        hide_index=True,
        placeholder=NONE,
        height="content",
        column_order=ui.in_order(shown.columns, [head for head in seen if head in shown]),
        column_config={"Method": PINNED} | dict.fromkeys(RANKING.values(), Column(width=IMPROVEMENT)),
        on_select=pick_method,
        selection_mode=["single-row", "single-cell"],
    )
    with st.container(horizontal=True):
        ui.download(table, "leaderboard")
        ui.offer("Markdown", leaderboard.markdown(4), "leaderboard.md", "text/markdown")
        ui.offer("LaTeX", leaderboard.latex(4), "leaderboard.tex", "text/x-tex")
    event = lacks(dataset().kind, "calibrator:whole vector") is not None
    st.caption(
        "Click a row to compare its method with the base model below, and to list its rows.",
        help="Methods are ranked by the Brier score of the event: the predicted class is right, or Y is 1. "
        f"{''.join(HOW_RANKED.partition(' An improvement')[1:])} {how_assessed(n_bins)}"
        if event
        else f"{HOW_RANKED} {how_assessed(n_bins)} If a method gives only a confidence, the other classes "
        "share the rest in proportion to the base model's probabilities; log loss counts a probability of 0 "
        "as 2.2e-16 (36 nats). TL-MCE (cell) is the definition, TL-MCE (bin) what the paper's tables print.",
    )


def show_pair(candidates: list[Method], n_bins: int, proposed: str) -> None:
    """Show the difference of two methods, by default of the base model and the recommended method."""
    if len(candidates) < 2:
        return
    names = [method.name for method in candidates]
    left, middle, right = st.columns(3)
    first = candidates[names.index(left.selectbox("Method", names, 0, key="pair-first"))]
    open_on("pair-second", proposed if proposed in names else names[-1], names)
    second = candidates[names.index(middle.selectbox("Compared with", names, key="pair-second"))]
    kind = dataset().kind
    wanted = ["ece", "brier", "log_loss"] if "event" in kind.has else list(MEASURES)
    keys = [
        key
        for key, measure in MEASURES.items()
        if key in wanted
        and MEASURES[key].missing(kind) is None
        and (measure.notion in TOP_NOTIONS or "event" in kind.has)
        and measure.metric not in ("mce", "auc")
    ]
    default_key = next(key for key in ("tl_ece", "conf_ece", "ece") if key in keys)
    key = right.selectbox(
        "By", keys, keys.index(default_key), key="pair-number", format_func=lambda name: MEASURES[name].title
    )
    if first is second:
        st.caption("Choose two different methods.")
        return
    st.markdown(difference_sentence(first, second, key, n_bins))
    st.caption(HOW_COMPARED)
    score = "log_loss" if "log_loss" in key else "brier"
    apart = results.losses(first)[score] - results.losses(second)[score]
    most = highest_rows(np.abs(apart))
    what = (
        f"Largest differences in {MEASURES[score].title} between {ui.literal(first.name)} and "
        f"{ui.literal(second.name)}"
    )
    rows_panel((first, second), most, what, "pair-rows", np.abs(apart), "largest difference first")


def difference_sentence(first: Method, second: Method, key: str, n_bins: int) -> str:
    names = ui.literal(first.name), ui.literal(second.name)
    if MEASURES[key].is_error:
        errors = results.ask(paired_difference, first, second, notion=MEASURES[key].notion, n_bins=n_bins)
        return errors.words(*names, f"l2 {MEASURES[key].title}")
    scores = results.ask(paired_interval, second, first, metric=MEASURES[key].metric)
    return f"{MEASURES[key].title}: {scores.words(*reversed(names))}."
