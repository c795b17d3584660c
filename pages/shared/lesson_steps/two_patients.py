"""Step 1: two groups of patients hear the same confidence; only pooled is it calibrated (Example 1)."""

from __future__ import annotations

import streamlit as st

from pages.shared.lesson_steps.interaction import between, draggable, guess, handle, listen, picture
from pages.shared.lessons.figures import crowd, patients
from pages.shared.lessons.two_patients import TwoPatients, two_patients_population, worst_accuracies

PAPER = {"share": 0.5, "told_a": 0.6, "told_b": 0.6, "right_a": 0.2, "right_b": 1.0}
LABELS = {
    "share": "Patients told disease 1",
    "right_a": "Told disease 1 and have it",
    "right_b": "Told disease 2 and have it",
    "told_a": "Confidence told with disease 1",
    "told_b": "Confidence told with disease 2",
}


def put(**values: float) -> None:
    """Move sliders."""
    st.session_state.update(values)


def worst() -> None:
    """Move the accuracies to where TL-ECE is largest while conf-ECE stays 0."""
    values = {name: st.session_state.get(name, PAPER[name]) for name in PAPER}
    right_a, right_b = worst_accuracies(values["share"], (values["told_a"], values["told_b"]))
    put(right_a=right_a, right_b=right_b)


def knob(name: str) -> float:
    """Show one slider; its name is also its name in the address."""
    step = 0.001 if name.startswith("right") else 0.01
    return st.slider(LABELS[name], 0.0, 1.0, PAPER[name], step, key=name, bind="query-params")


def show() -> None:
    """Show the step."""
    guessed = guess(
        "guess_patients",
        "100 patients are told a disease, *60 % sure*, and 60 have it. **Of those told disease 1, how many "
        "have it?**",
        ("about 60 %", "fewer", "more"),
    )
    listen({name: between(0.0, 1.0, 0.01) for name in ("right_a", "right_b")})
    people, diagram, side = st.columns([6, 5, 3], gap="medium")
    with side:
        values = {name: knob(name) for name in ("share", "right_a", "right_b")}
        with st.popover("More", width="stretch"):
            values |= {name: knob(name) for name in ("told_a", "told_b")}
            st.button("Find the worst case", on_click=worst, width="stretch")
            st.button("The paper's numbers", on_click=put, kwargs=PAPER, width="stretch")
    told = (values["told_a"], values["told_b"])
    population = two_patients_population(values["share"], told, (values["right_a"], values["right_b"]))
    groups = {notion: population.groups(notion) for notion in ("confidence", "top-label")}
    split = guessed is not None
    with people:
        picture(
            crowd(population, split=split),
            "crowd",
            alt="A hundred patients: filled if they have the disease they were told",
        )
    with diagram:
        names = ("right_a", "right_b")
        handles = [
            handle(name, x, y, "y") for name, x, y in zip(names, told, population.accuracy, strict=True)
        ]
        picture(
            draggable(patients(*groups.values(), split=split), handles if split else []),
            "patients",
            table=groups["top-label"].frame(),
            alt="Confidence told against how often it was right, all together and by disease",
        )
    if split:
        st.markdown(answer(population))


def answer(population: TwoPatients) -> str:
    """Say what patients told disease 1 should have heard, and both errors."""
    told = population.confidence
    if told[0] != told[1]:
        end = "The confidences differ, so nobody is pooled and both errors agree."
    else:
        end = "No patient can use the first: each is told one disease."
    return (
        f"Told disease 1, {100 * told[0]:.4g} % sure: **{100 * population.accuracy[0]:.4g} %** have it. "
        f"Error of all together (conf-ECE) **{population.conf_ece:.3f}**, by disease (TL-ECE) "
        f"**{population.tl_ece:.3f}**. {end} Drag the dots."
    )
