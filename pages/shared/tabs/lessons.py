"""Learn: what confidence calibration hides, in eight steps of one picture each."""

from __future__ import annotations

import streamlit as st

from pages.shared.accessibility import BACKGROUND
from pages.shared.address import presenting
from pages.shared.lessons import (
    binning_by_hand,
    jensen,
    noise_game,
    normalising,
    real_model,
    six_points,
    teaching,
    two_patients,
)
from pages.shared.widgets import glossary_link, show_dataset

#: By the step's name in the address: its name in the menu, its title and its function.
STEPS = {
    "two-patients": ("Patients", "Right 60 % of the time: among whom?", two_patients.show),
    "real-model": ("One bin", "Ten classes in one bin", real_model.show),
    "noise": ("Noise", "A perfect model, and what it shows", noise_game.show),
    "jensen": ("Never better", "Why it can never be better", jensen.show),
    "binning": ("Binning", "Binning by hand", binning_by_hand.show),
    "six-points": ("Notions", "Five notions of calibration", six_points.show),
    "normalising": ("Normalising", "What normalising costs", normalising.show),
    "teaching": ("Exercises", "Exercises and notes", teaching.show),
}
ORDER = list(STEPS)


#: A presentation shows only the step. Its type grows with the screen, since a projector's picture is read
#: from ten metres. If there is room, the link to the next step is always in sight.
PRESENTATION = f"""<style>
[data-testid=stSidebar], [data-testid=stSidebarCollapsedControl], [data-testid=stExpandSidebarButton],
[data-testid=stHeader], .st-key-lesson-head {{ display: none !important; }}
[data-testid=stMainBlockContainer] {{ padding: 1rem 2rem 4.5rem; max-width: 100%; }}
[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] {{ gap: 0.6rem; }}
html {{ font-size: clamp(112%, 1.15vw, 220%) !important; }}
@media (min-width: 900px) {{
  [class*=st-key-lesson-picture-] [data-testid=stPlotlyChart] {{ height: calc(100vh - 20rem) !important; }}
  .st-key-lesson-picture-patients [data-testid=stPlotlyChart],
  .st-key-lesson-picture-crowd [data-testid=stPlotlyChart] {{ height: calc(100vh - 16rem) !important; }}
  .st-key-lesson-turn {{ position: fixed; inset: auto 0 0 0; width: auto !important; z-index: 10;
    padding: 0.4rem 2rem; background: {BACKGROUND}; }}
}}
</style>"""


def present(on: bool) -> None:
    if on:
        st.query_params["present"] = "yes"
    else:
        st.query_params.pop("present", None)


def go(step: str | None = None) -> None:
    """Put a step into the address; without `step`, the step just chosen in the menu."""
    st.query_params["step"] = step or st.session_state["lesson"]


wanted = st.query_params.get("step", ORDER[0])
step = wanted if wanted in STEPS else ORDER[0]
st.session_state["lesson"] = step
position = ORDER.index(step)
_, title, show = STEPS[step]

if presenting():
    st.html(PRESENTATION)
with st.container(
    key="lesson-head", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
):
    st.segmented_control(
        "Step",
        ORDER,
        required=True,
        format_func=lambda name: f"{ORDER.index(name) + 1} {STEPS[name][0]}",
        key="lesson",
        on_change=go,
        label_visibility="collapsed",
    )
    show_dataset(None)
    st.button(
        "Present",
        icon=":material/present_to_all:",
        on_click=present,
        args=(True,),
        type="tertiary",
        help="Only the step, in larger type. Page Down and Page Up, also on a remote control, turn the "
        "steps; Escape ends it; the browser's F11 fills the screen. The address opens the same state "
        "elsewhere.",
    )
st.title(f"{position + 1}. {title}", anchor=False)
if step != "six-points":
    st.query_params.pop("table", None)
show()
with st.container(key="lesson-turn", horizontal=True, horizontal_alignment="distribute"):
    if position > 0:
        before = ORDER[position - 1]
        label = f"{position}. {STEPS[before][1]}"
        st.button(label, on_click=go, args=(before,), icon=":material/arrow_back:", shortcut="PageUp")
    if not presenting():
        glossary_link("Learn")
    else:
        st.button("End", on_click=present, args=(False,), icon=":material/close:", shortcut="Escape")
    if position + 1 < len(ORDER):
        after = ORDER[position + 1]
        st.button(
            f"{position + 2}. {STEPS[after][1]}",
            on_click=go,
            args=(after,),
            type="primary",
            icon=":material/arrow_forward:",
            icon_position="right",
            shortcut="PageDown",
        )
