"""The recommendation for the data on screen, which every page states, marks and opens on."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd
import streamlit as st
from sklearn.base import clone

from calib import InputError
from calib.answers import Recommendation
from calib.answers.advice import NONE, SCORES, Confirmation
from calib.base.interval_words import with_interval
from calib.calibrators.catalogue import full_name, name_of
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.isolation.process import JobEnded
from pages.shared.needs import missing_for
from pages.shared.panels.take_away import offer_file
from pages.shared.session import dataset, fit, fitted
from pages.shared.work import offer_again, when_there

#: The verdict of the evaluation rows on a calibrator.
HELPS = {"better": "helps", "worse": "does not help", "no clear change": "may not help"}


def open_on(key: str, value: object, options: Collection[object] | None = None) -> None:
    """Open a control on a value, until the recommendation is ready or the user chooses another value."""
    if options is not None and st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    if key not in st.session_state:
        st.session_state[key] = value
        if is_awaited():
            st.session_state["opened"] = {**st.session_state["opened"], key: value}


def is_awaited() -> bool:
    return "opened" in st.session_state


def recommended() -> tuple[Recommendation, str] | None:
    """Return the recommendation, and the name of its calibrator among the methods ("" for none).

    Until it is ready, its progress is shown here; then the page runs again. If these data allow no
    recommendation, it says why.
    """
    opened = st.session_state.pop("opened", {})
    data = dataset().checked
    if data.calibration is None or missing_for("Repair") is not None:
        return None
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
        if name not in fitted():
            fit(name, clone(found.calibrator), len(found.tried), asked=False)
    except JobEnded as error:
        offer_again(error, results.advice, data)
        return None
    except InputError as error:
        st.caption(f"No calibrator is recommended: {ui.escaped(error)}.")
        return None
    return found, name


def show_recommendation() -> None:
    """State the recommendation; if it helps, its action is the primary button."""
    with st.container(border=True, gap="small"):
        if (missing := missing_for("Repair")) is not None:
            st.caption(ui.escaped(missing))
            return
        if dataset().checked.calibration is None:
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
            if name:
                offer_file(fitted()[name], "primary")
            st.page_link("pages/views/repair.py", label="Why?" if name else "Repair", icon=ui.ARROW)


def effect_words(name: str, effect: Confirmation) -> str:
    """Say, as Markdown, whether a calibrator that was not recommended helps on the evaluation rows."""
    words = effect.words()
    return f"**{ui.literal(name)} {HELPS[effect.verdict]}.** {words[0].upper()}{words[1:]}."


def recommendation_words(found: Recommendation, name: str) -> str:
    """Say, as Markdown, what is recommended, and what it changes."""
    shown = ui.literal(name) if "(" in name else f"{full_name(found.calibrator)} ({ui.literal(name)})"
    head = f"{shown} helps." if name else f"{found.without}."
    return f"**{head}** {ui.escaped(found.effect[0].upper() + found.effect[1:])}"


def show_candidates(found: Recommendation, names: Mapping[str, str], in_full: Mapping[str, str]) -> None:
    """List what was tried; a ticked row shows the effect of its calibrator.

    `names` are the names of the methods by their names in the catalogue, `in_full` say what each is.
    """
    table = found.table
    methods = [names.get(name, name) for name in table["method"]]
    shown = pd.DataFrame(
        {"Calibrator": ["Scores as they are" if name == NONE else in_full[name] for name in methods]}
    )
    for score, title in SCORES.items():
        title = title[:1].upper() + title[1:]
        shown[title] = table[score].map("{:.4f}".format)
        change = (table[f"{score}_{end}"] for end in ("improvement", "lower", "upper"))
        shown[f"{title} improves by"] = [with_interval(*ends, sign="+") for ends in zip(*change, strict=True)]
    shown["Fitted numbers"] = table["numbers"]

    def pick(row: int) -> None:
        if methods[row] != NONE:
            st.session_state["chosen"] = methods[row]

    ui.table_to_tick(shown, "candidates", pick, most=11)
    ui.download(table, "recommendation")
    st.caption(
        f"{ui.escaped(found.chosen)} Each interval holds on its own. Tick a row to see its effect.".lstrip()
    )
    for head, without in (("Stopped after the first fold", found.ruled_out), ("Left out", found.left_out)):
        reasons: dict[str, list[str]] = {}
        for name, reason in without.items():
            reasons.setdefault(reason.partition(";")[0], []).append(names.get(name, name))
        for reason, listed in reasons.items():
            st.caption(f"{head}: {ui.escaped(', '.join(listed))}, because {ui.escaped(reason)}.")
