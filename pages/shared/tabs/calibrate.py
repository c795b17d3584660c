"""Calibrate: fit a calibrator on the calibration rows, see its effect, download it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from calib import InputError
from calib.answers.confirmation import confirm_choice
from calib.answers.metric_tables import Assessment, how_assessed
from calib.base.interval_words import interval_words
from calib.calibrators.catalogue import full_name, name_of
from calib.calibrators.multiclass import FALLBACK_WORDS, fallback_records
from calib.calibrators.softmax_fit import fit_words
from calib.data.defaults import N_BINS
from calib.data.notions import TOP_K_NOTIONS
from calib.evidence.reductions import top_label
from calib.stats import verdict
from calib.stats.measures import MEASURES, ece_of
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_calibration, need_kind
from pages.shared.panels.choose_calibrator import choose_calibrator
from pages.shared.panels.guarantee import show_guarantee
from pages.shared.panels.picture import show_chosen_rows, show_picture
from pages.shared.panels.ranks import show_ranks
from pages.shared.panels.recommendation import (
    effect_words,
    is_awaited,
    open_on,
    recommendation_words,
    recommended,
    show_candidates,
)
from pages.shared.panels.take_away import show_take_away
from pages.shared.session import BASE, Method, dataset, described_calibrator, fit, methods, remove, store
from pages.shared.work import asked


def ask_for() -> None:
    """Note that the user asked for the chosen calibrator."""
    store(replace(methods(every=True)[st.session_state["chosen"]], unasked=False))


need_kind("Repair")
need_calibration("Fitting a calibrator")
data, scored = dataset(), dataset().kind.scored


def costs_accuracy() -> str:
    if getattr(calibrator, "notion", None) != "class-wise" or "vector" not in data.kind.has or by is not None:
        return ""
    held_out = results.held_out_accuracy(data, repr(calibrator), calibrator)
    if held_out.upper >= 0.0:
        return ""
    return (
        "This costs accuracy. Fitted on half of the calibration rows, it changes the accuracy on the other "
        f"half from {held_out.estimate_a:.4f} to {held_out.estimate_b:.4f} (change "
        f"{interval_words(held_out.lower, held_out.upper, sign='+')}, 95 %). Top-label calibration "
        "keeps every predicted class."
    )


def show_before_and_after(*after: Method) -> None:
    """Show the base model, and a calibrator after it; and the rows of what was chosen there."""
    show_picture("calibrate", after=next(iter(after), None))
    show_chosen_rows("calibrate-rows")


base = methods()[BASE]
n_bins = int(st.session_state.get("bins", N_BINS))
recommendation = recommended()
proposed = recommendation[1] if recommendation else ""
left, right = st.columns([3, 1], vertical_alignment="bottom")
with right.popover("Fit another", width="stretch", icon=":material/tune:"):
    calibrator, choices, by = choose_calibrator()
    pressed = st.button("Fit")
try:
    wanted = f"{data.digest}/{calibrator!r}"
    if pressed:
        asked()
        st.session_state["warned"] = (wanted, costs_accuracy())
    about, warning = st.session_state.get("warned", (None, ""))
    if about == wanted and warning:
        st.warning(warning)
        pressed = st.button("Fit it all the same")
    if pressed:
        st.session_state.pop("warned", None)
        name = name_of(calibrator) if by is None else f"{name_of(calibrator)}: {by[0]}"
        st.session_state["chosen"] = fit(name, calibrator, choices, by).name
except InputError as error:
    st.error(f"Not fitted: {ui.escaped(error)}")

fitted = {name: method for name, method in methods(every=True).items() if method.calibrator is not None}
if recommendation and not proposed:
    st.markdown(recommendation_words(*recommendation))
if not fitted:
    if not is_awaited():
        st.info("No calibrator is fitted yet. Choose one under *Fit another*.")
    show_before_and_after()
    ui.next_line("Repair")
    st.stop()
open_on("chosen", proposed or max(fitted, key=lambda name: not fitted[name].unasked), fitted)
in_full = {name: f"{name}: {full_name(method.calibrator)}" for name, method in fitted.items()}
chosen = fitted[
    left.selectbox(
        "Calibrator",
        list(fitted),
        key="chosen",
        format_func=lambda name: in_full.get(name, name),
        on_change=ask_for,
    )
]
before, after = results.metrics(base, n_bins), results.metrics(chosen, n_bins)
looked_at = next((key for key in ("tl_ece", "conf_ece", "ece") if key in ece_of(data.kind)), None)
is_recommended = bool(recommendation) and chosen.name == proposed
helps = recommendation and is_recommended and recommendation[0].confirmed == "better"
if recommendation and is_recommended:
    st.markdown(recommendation_words(*recommendation))
else:
    st.markdown(effect_words(chosen.name, results.ask(confirm_choice, base, chosen)))
if before.accuracy is not None and not scored:
    predicted = [top_label(method.rows.predictions)[0] for method in (base, chosen)]
    moved = int(np.count_nonzero(np.not_equal(*predicted)))
    if moved:
        st.markdown(
            f"The predicted class changes in **{moved:,}** of {len(predicted[0]):,} rows; accuracy goes from "
            f"{before.accuracy:.4f} to **{after.accuracy:.4f}**."
        )
show_take_away(chosen, "primary" if helps else "secondary")

show_before_and_after(chosen)
ui.next_line("Repair")


def show_numbers() -> None:
    assessed = [
        Assessment(method.name, numbers, results.intervals(method, n_bins))
        for method, numbers in ((base, before), (chosen, after))
    ]
    ui.download(ui.before_and_after(assessed), "before-after")
    if looked_at is not None:
        title = MEASURES[looked_at].title
        lines = [
            verdict(results.floor(method, looked_at, n_bins), f"{title} {when}")
            for when, method in (("before", base), ("after", chosen))
        ]
        st.markdown("\n".join(f"- {line}" for line in lines))
    if getattr(chosen.calibrator, "notion", None) in TOP_K_NOTIONS:
        show_ranks(results.ranks(base, chosen, n_bins))
    fallbacks = pd.DataFrame(fallback_records(chosen.calibrator, data.evaluation.class_names))
    if len(fallbacks):
        for used, short in fallbacks.groupby("used"):
            st.warning(
                f"{len(short):,} of {len(chosen.calibrator.calibrators_):,} classes have fewer than "
                f"{fallbacks['needed'][0]} calibration rows each and were {FALLBACK_WORDS[used]}."
            )
        heads = {"class": "Class", "group": "Group", "n_points": "Calibration rows", "needed": "Needed"}
        shown = fallbacks.assign(used=fallbacks["used"].map(FALLBACK_WORDS)).drop(columns="rank")
        st.dataframe(shown.rename(columns=heads | {"used": "What became of it"}), hide_index=True)


def show_promise() -> None:
    show_guarantee(described_calibrator(chosen, data), chosen.choices, n_bins)


def show_tried() -> None:
    if recommendation:
        show_candidates(recommendation[0])
    fit_sentences = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in fit_words(chosen.calibrator)]
    st.caption(" ".join([how_assessed(n_bins, data.kind), *fit_sentences]))


ui.show_tabs(
    {"Numbers": show_numbers, "Guarantee": show_promise, "Candidates": show_tried},
    "about-calibrator",
)
if not is_recommended:
    icon = ":material/delete:"
    st.button("Remove this calibrator", on_click=remove, args=(chosen.name,), icon=icon)
