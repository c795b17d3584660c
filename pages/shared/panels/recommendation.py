"""The recommendation for the data on screen, which every page states, marks and opens on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import streamlit as st
from sklearn.base import clone

from calib import InputError
from calib.answers import Recommendation
from calib.answers.confirmation import Confirmation
from calib.calibrators.catalogue import name_of
from calib.data.kinds import lacks
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import missing_for
from pages.shared.panels.take_away import offer_file
from pages.shared.session import dataset, fit, methods, store
from pages.shared.work import when_there

HEADS = {
    "method": "Method",
    "brier": "Brier",
    "log_loss": "Log loss",
    "brier_improvement": "Brier improvement",
    "brier_lower": "Brier improvement, lower",
    "brier_upper": "Brier improvement, upper",
    "log_loss_improvement": "Log loss improvement",
    "log_loss_lower": "Log loss improvement, lower",
    "log_loss_upper": "Log loss improvement, upper",
    "numbers": "Fitted numbers",
}
#: The verdict of the evaluation rows on the chosen calibrator.
HELPS = {"better": "helps", "worse": "does not help", "no clear change": "may not help", None: "helps"}
LEAVE = "Leave the scores as they are."


def can_recommend() -> bool:
    """Whether there are rows to choose a calibrator on, of a kind that can be calibrated."""
    return dataset().calibration is not None and missing_for("Repair") is None


def open_on(key: str, value: object, options: Collection[object] | None = None) -> None:
    """Open a control on a value, until the recommendation is ready or the user chooses another value."""
    if options is not None and st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    if key not in st.session_state:
        st.session_state[key] = value
        if is_awaited():
            st.session_state["opened"] = {**st.session_state["opened"], key: value}


def is_awaited() -> bool:
    """Whether the recommendation is not ready yet."""
    return "opened" in st.session_state


def recommended() -> tuple[Recommendation, str] | None:
    """Return the recommendation, and the name of its calibrator among the methods ("" for none).

    Until it is ready, its progress is shown here; then the page runs again. If these data allow no
    recommendation, it says why.
    """
    opened = st.session_state.pop("opened", {})
    if not can_recommend():
        return None
    data = dataset()
    try:
        found = when_there(results.TRYING, results.advice, data)
        if found is None:
            st.session_state["opened"] = opened
            return None
        for key, value in opened.items():
            if st.session_state.get(key) == value:
                del st.session_state[key]
        if found.calibrator is None:
            return found, ""
        name = name_of(found.calibrator)
        if name not in methods():
            fitted = fit(name, clone(found.calibrator), len(found.tried), unasked=True)
            store(replace(fitted, unasked=False))
    except InputError as error:
        st.caption(f"No calibrator is recommended: {ui.escaped(error)}.")
        return None
    return found, name


def show_recommendation() -> None:
    """State the recommendation; if it helps, its action is the primary button."""
    data = dataset()
    with st.container(border=True, gap="small"):
        if (missing := missing_for("Repair")) is not None:
            st.caption(ui.escaped(missing))
            return
        if data.calibration is None:
            st.markdown(
                "To repair it, set calibration rows aside: labelled rows the model was not trained on."
            )
            ui.link_to_data()
            return
        if (recommendation := recommended()) is None:
            if is_awaited():
                st.space(128)  # as much more as it will take: what follows stays where it is
            return
        found, name = recommendation
        st.markdown(recommendation_words(found, name))
        with st.container(horizontal=True, vertical_alignment="center"):
            if found.confirmed == "better":
                offer_file(methods()[name], "primary")
            st.page_link("pages/views/repair.py", label="Why?" if name else "Calibrate", icon=ui.ARROW)


def effect_words(name: str, effect: Confirmation) -> str:
    """Say, as Markdown, whether a calibrator that was not recommended helps on the evaluation rows."""
    words = effect.words()
    return f"**{ui.literal(name)} {HELPS[effect.verdict]}.** {words[0].upper()}{words[1:]}."


def recommendation_words(found: Recommendation, name: str) -> str:
    """Say, as Markdown, what is recommended, and whether the evaluation rows confirm it."""
    head = f"{ui.literal(name)} {HELPS[found.confirmed]}." if name else LEAVE
    return f"**{head}** {ui.escaped(found.words())}"


def plain_words(found: Recommendation, name: str) -> str:
    """Say the same without Markdown."""
    return f"{f'{name} {HELPS[found.confirmed]}.' if name else LEAVE} {found.words()}"


def show_candidates(found: Recommendation) -> None:
    shown = found.table.rename(columns=HEADS)
    digits = dict.fromkeys(("Brier", "Log loss"), "{:.4f}") | {"Fitted numbers": "{:,}"}
    digits |= {head: "{:+.4g}" for head in HEADS.values() if "improvement" in head}
    st.dataframe(
        shown.style.format(digits),
        hide_index=True,
        height="content",
        column_config={"Method": st.column_config.TextColumn(pinned=True)},
    )
    ui.download(found.table, "recommendation")
    whole = lacks(dataset().kind, "calibrator:whole vector") is None
    scored = "whole vectors" if whole else "the one event of each row"
    st.caption(
        f"Scores of {scored} in five folds of the calibration rows; intervals hold for all candidates and "
        "both scores at once. Among those that help and are within one standard error of both best scores, "
        "the one with the fewest fitted numbers is chosen."
    )
    for head, names in (("Ruled out", found.ruled_out), ("Left out", found.left_out)):
        for name, reason in names.items():
            st.caption(f"{head}: {ui.escaped(name)}, because {ui.escaped(reason)}.")
