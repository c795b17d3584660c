"""Step 1: two patients hear the same confidence; one notion calls it calibrated, the other does not."""

from __future__ import annotations

import streamlit as st

from pages.shared.lessons.figures import patients
from pages.shared.lessons.two_patients import TwoPatients, two_patients_population, worst_accuracies
from pages.shared.widgets import chart

PAPER = {"share": 0.5, "told_a": 0.6, "told_b": 0.6, "right_a": 0.2, "right_b": 1.0}
LABELS = {
    "share": "P(X = a): share of patients a",
    "told_a": "Patients a are told disease 1 with confidence",
    "right_a": "and it is right with probability",
    "told_b": "Patients b are told disease 2 with confidence",
    "right_b": "and it is right with probability",
}


def put(**values: float) -> None:
    """Move sliders."""
    st.session_state.update(values)


def worst() -> None:
    """Move the accuracies to where TL-ECE is largest while conf-ECE stays 0."""
    told = (st.session_state["told_a"], st.session_state["told_b"])
    right_a, right_b = worst_accuracies(st.session_state["share"], told)
    put(right_a=right_a, right_b=right_b)


def knob(name: str, help_: str | None = None) -> float:
    """Show one slider; its name is also its name in the address."""
    step = 0.001 if name.startswith("right") else 0.01
    start = PAPER[name]
    return st.slider(LABELS[name], 0.0, 1.0, start, step, key=name, bind="query-params", help=help_)


def show() -> None:
    """Show the step."""
    st.markdown(
        "A confidence of 0.6 should mean: right 60 % of the time. **But among whom?** Patients a are told "
        "disease 1, patients b disease 2. Judge what they hear over all patients together, then over those "
        "who were told the same disease."
    )
    left, middle, right = st.columns(3)
    with left:
        share = knob("share")
        st.button("Find the worst case", on_click=worst, type="primary", width="stretch")
        st.button("The paper's numbers", on_click=put, kwargs=PAPER, width="stretch")
    with middle:
        told_a, right_a = knob("told_a"), knob("right_a")
    with right:
        told_b, right_b = knob("told_b"), knob("right_b")
    population = two_patients_population(share, (told_a, told_b), (right_a, right_b))
    sides = (
        ("confidence", "All patients together: conf-ECE", population.conf_ece),
        ("top-label", "Told the same disease: TL-ECE", population.tl_ece),
    )
    rows = (st.columns(2, gap="large"), st.columns(2, gap="large"))
    for words, picture, (notion, title, error) in zip(*rows, sides, strict=True):
        with words:
            st.metric(title, f"{error:.3f}")
            for sentence in hears(population, notion):
                st.markdown(sentence)
        with picture:
            diagram(population, notion)
    st.caption(worst_words(population))


def diagram(population: TwoPatients, notion: str) -> None:
    """Draw one of the two diagrams."""
    groups = population.groups(notion)
    words = "all patients pooled" if notion == "confidence" else "patients a and b apart"
    chart(
        patients(groups, ("a", "b")),
        f"patients-{notion}",
        table=groups.frame(),
        alt=f"Confidence told against how often it was right, {words}",
    )


def hears(population: TwoPatients, notion: str) -> list[str]:
    """Say what a patient may conclude under a notion, a sentence for each group it compares."""
    groups = population.groups(notion)
    sentences = []
    for problem, told, right in zip(groups.problem, groups.mean_score, groups.mean_outcome, strict=True):
        if notion == "confidence":
            sentences.append(
                f"Each patient hears: of all patients told *some* disease with confidence {told:.2f}, "
                f"**{100 * right:.4g} %** had the disease they were told, whichever it was."
            )
        else:
            sentences.append(
                f"Patient {'ab'[problem]} hears: of all patients told **disease {problem + 1}** with "
                f"confidence {told:.2f}, like you, **{100 * right:.4g} %** had disease {problem + 1}."
            )
    return sentences


def worst_words(population: TwoPatients) -> str:
    """Explain what the worst case is for these shares and confidences."""
    if population.confidence[0] != population.confidence[1]:
        return (
            "The confidences differ, so nobody is pooled and both errors agree: conf-ECE = 0 would need both "
            "gaps to be 0. Give both patients the same confidence and the gaps can cancel."
        )
    accuracy = worst_accuracies(population.share, population.confidence)
    most = two_patients_population(population.share, population.confidence, accuracy).tl_ece
    told = population.confidence[0]
    return (
        "The worst case keeps conf-ECE at 0 and pushes the two gaps apart until one accuracy reaches 0 or 1. "
        f"For P(X = a) = {population.share:.2f} and confidence {told:.2f} the largest TL-ECE is {most:.3f}; "
        f"with the best choice of P(X = a) it is 2 \u00d7 {told:.2f} \u00d7 {1 - told:.2f} = "
        f"{2 * told * (1 - told):.3f}. Example 1 of the paper."
    )
