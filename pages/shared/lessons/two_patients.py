"""Step 1: two groups of patients hear the same confidence; only pooled is it calibrated (Example 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from calib.base.exceptions import InputError
from calib.data.notions import Notion
from calib.data.predictions import TopLabelPrediction
from calib.diagrams.style import OKABE_ITO, Figure, figure, scatter, unit_axes
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import as_evidence
from calib.stats.errors import ece
from pages.shared.address import presenting
from pages.shared.lessons import interaction as step

#: Rows of the two-patient population: shares and accuracies in hundredths come out exact.
POPULATION = 10_000


@dataclass(frozen=True, eq=False)
class TwoPatients:
    """Example 1 of the paper with free numbers: two kinds of patients, each told one disease."""

    share: float  #: P(X = a); patients b are the others
    #: Confidence announced to patients a and b, and how often each announcement is right
    confidence: tuple[float, float]
    accuracy: tuple[float, float]
    #: Disease and confidence that each row of a population in these proportions is told, and its true class:
    #: 0 and 1 are the diseases patients are told, 2 is any other
    top: TopLabelPrediction

    @property
    def conf_ece(self) -> float:
        """conf-ECE with one bin per distinct confidence."""
        return ece(self.top, notion="confidence")

    @property
    def tl_ece(self) -> float:
        """TL-ECE with one cell per distinct (disease, confidence) pair."""
        return ece(self.top, notion="top-label")

    def groups(self, notion: Notion) -> BinStatistics:
        """Return the groups of patients that a notion compares, "confidence" or "top-label"."""
        return as_evidence(self.top).cells(notion, effects=False)


def two_patients_population(
    share: float = 0.5,
    confidence: tuple[float, float] = (0.6, 0.6),
    accuracy: tuple[float, float] = (0.2, 1.0),
) -> TwoPatients:
    """Build the population of Example 1; the defaults are the paper's numbers.

    Shares and accuracies are rounded to whole rows of `POPULATION`.

    Examples
    --------
    >>> patients = two_patients_population()
    >>> round(patients.conf_ece, 12), round(patients.tl_ece, 12)
    (0.0, 0.4)
    """
    numbers = np.array([share, *confidence, *accuracy])
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise InputError(f"shares, confidences and accuracies lie in [0, 1]; got {numbers.tolist()}")
    n_a = round(share * POPULATION)
    sizes = (n_a, POPULATION - n_a)
    labels = np.full(POPULATION, 2, dtype=np.int64)
    for disease, (start, size) in enumerate(zip((0, n_a), sizes, strict=True)):
        labels[start : start + round(accuracy[disease] * size)] = disease
    diseases = np.repeat([0, 1], sizes)
    told = np.repeat(np.array(confidence, dtype=np.float64), sizes)
    top = TopLabelPrediction(diseases, told, labels, strategy="discrete")
    return TwoPatients(share, confidence, accuracy, top)


def worst_accuracies(share: float, confidence: tuple[float, float]) -> tuple[float, float]:
    """Return the accuracies of a and b that maximise TL-ECE while conf-ECE stays 0.

    With one confidence h for both, conf-ECE = 0 forces the signed gaps to cancel,
    P(a) (acc_a - h) = -P(b) (acc_b - h), so TL-ECE is twice either side: one accuracy rises until it is 1
    or the other is 0, in the better of the two directions. The maximum is
    2 max(min(P(a) (1 - h), P(b) h), min(P(b) (1 - h), P(a) h)); over all P(a) it is 2 h (1 - h), and over
    all h 1/2. With two different confidences nothing can cancel: each accuracy equals its confidence and
    TL-ECE is 0.

    Examples
    --------
    >>> [round(accuracy, 12) for accuracy in worst_accuracies(0.5, (0.6, 0.6))]
    [0.2, 1.0]
    """
    if confidence[0] != confidence[1]:
        return confidence
    level, other = confidence[0], 1.0 - share

    def push(up: float, down: float) -> float:
        return min(up * (1.0 - level), down * level)

    a_up, b_up = push(share, other), push(other, share)
    mass, sign = (a_up, 1.0) if a_up > b_up else (b_up, -1.0)
    accuracy_a = level + sign * mass / share if share > 0 else level
    accuracy_b = level - sign * mass / other if other > 0 else level
    return float(np.clip(accuracy_a, 0, 1)), float(np.clip(accuracy_b, 0, 1))


def patients(pooled: BinStatistics, apart: BinStatistics, *, split: bool) -> Figure:
    """Draw what patients were told against how often it was right: all together and, if `split`, by disease.

    Dots that are not split yet lie where their patients are pooled, so that the browser can move them.
    """
    data = []
    for position in range(len(apart.count)):
        colour, symbol = step.SIDES[int(apart.problem[position])]
        confidence, right = apart.mean_score[position], apart.mean_outcome[position]
        together = pooled.mean_outcome[int(np.abs(pooled.mean_score - confidence).argmin())]
        name = f"told disease {apart.problem[position] + 1}"
        data += scatter(
            x=[confidence, confidence],
            y=[together, right if split else together],
            line={"color": OKABE_ITO[colour], "width": 5},
            opacity=0.5,
        )
        data += scatter(
            x=[confidence],
            y=[right if split else together],
            text=[f"<b>disease {apart.problem[position] + 1}</b>" if split else ""],
            textposition="middle right" if confidence < 0.7 else "middle left",
            textfont={"size": step.TEXT, "color": OKABE_ITO[colour]},
            marker={"symbol": symbol, "size": 20, "color": OKABE_ITO[colour]},
            opacity=1.0 if split else 0.0,
            hovertemplate=f"{name} with confidence %{{x:.2f}}, right %{{y:.3f}}<br>"
            f"{100 * apart.share[position]:.0f} % of all patients",
        )
    data += scatter(
        x=pooled.mean_score,
        y=pooled.mean_outcome,
        text=["all together"] * len(pooled.count) if len(pooled.count) == 1 else None,
        textposition="middle left",
        textfont={"size": step.TEXT},
        marker={"symbol": "star", "size": 18, "color": OKABE_ITO["blue"]},
        hovertemplate="all patients told %{x:.2f}: right %{y:.3f}",
    )
    axes = unit_axes(data, "Confidence told", "How often it was right", step.LESSON_HEIGHT)
    axes["xaxis"]["range"] = [-0.01, 1.1]
    axes["yaxis"] |= step.SQUARE
    return figure(data, **axes, font={"size": step.TEXT})


def crowd(population: TwoPatients, *, split: bool, people: int = 100) -> Figure:
    """Draw patients as dots, filled if they have the announced disease; if `split`, also by disease.

    Shares and accuracies are rounded to whole patients.
    """
    first = round(people * population.share)
    sizes = (first, people - first)
    right = [round(size * accuracy) for size, accuracy in zip(sizes, population.accuracy, strict=True)]
    side = np.repeat([0, 1], sizes)
    number = np.concatenate([np.arange(size) for size in sizes])
    ill = number < np.repeat(right, sizes)
    place = np.empty(people, dtype=np.int64)
    place[np.argsort(~ill, kind="stable")] = np.arange(people)
    below = -(-first // 10) + 2 if first else 0
    x, y = place % 10, place // 10
    apart = (number % 10 + 13, number // 10 + below * side)
    words = [f"<b>{ill.sum()} of {people}</b> were told right"]
    notes = [_note(0, 10.2, words[0]), _note(0, -1.2, "<b>All together</b>")]
    data = _people(x, y, ill, OKABE_ITO["grey"])
    for code in (0, 1):
        mine = side == code
        colour = OKABE_ITO[step.SIDES[code][0]]
        if not mine.any():
            continue
        where = (apart[0][mine], apart[1][mine]) if split else (x[mine], y[mine])
        data += _people(*where, ill[mine], colour, opacity=1.0 if split else 0.0)
        if split:
            title = f"<b>Told disease {code + 1}</b>: {right[code]} of {sizes[code]}"
            notes.append(_note(13, below * code - 1.2, title, colour))
    bare = {"showgrid": False, "showline": False, "zeroline": False, "ticks": "", "showticklabels": False}
    return figure(
        data,
        height=step.LESSON_HEIGHT,
        font={"size": step.TEXT},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        annotations=notes,
        xaxis={**bare, "range": [-0.8, 23.5], "fixedrange": True, "constrain": "domain"},
        yaxis={**bare, "range": [12.5, -2], "fixedrange": True, **step.SQUARE},
    )


def _people(x: np.ndarray, y: np.ndarray, filled: np.ndarray, colour: str, opacity: float = 1.0) -> list[Any]:
    return scatter(
        x=x,
        y=y,
        marker={
            "symbol": np.where(filled, "circle", "circle-open").tolist(),
            "size": 16 if presenting() else 12,
            "color": colour,
            "line": {"width": 1.5, "color": colour},
        },
        opacity=opacity,
    )


def _note(x: float, y: float, words: str, colour: str | None = None) -> dict[str, Any]:
    font = {"size": step.TEXT - 2} if colour is None else {"size": step.TEXT - 2, "color": colour}
    return {"x": x - 0.4, "y": y, "text": words, "showarrow": False, "xanchor": "left", "font": font}


PAPER = {"share": 0.5, "told_a": 0.6, "told_b": 0.6, "right_a": 0.2, "right_b": 1.0}
LABELS = {
    "share": "Patients told disease 1",
    "right_a": "Told disease 1 and have it",
    "right_b": "Told disease 2 and have it",
    "told_a": "Confidence told with disease 1",
    "told_b": "Confidence told with disease 2",
}


def worst() -> None:
    """Move the accuracies to where TL-ECE is largest while conf-ECE stays 0."""
    values = {name: st.session_state.get(name, PAPER[name]) for name in PAPER}
    right_a, right_b = worst_accuracies(values["share"], (values["told_a"], values["told_b"]))
    st.session_state.update(right_a=right_a, right_b=right_b)


def knob(name: str) -> float:
    """Show one slider; its name is also its name in the address."""
    step = 0.001 if name.startswith("right") else 0.01
    return st.slider(LABELS[name], 0.0, 1.0, PAPER[name], step, key=name, bind="query-params")


def show() -> None:
    guessed = step.guess(
        "guess_patients",
        "100 patients are told a disease, *60 % sure*, and 60 have it. **Of those told disease 1, how many "
        "have it?**",
        ("about 60 %", "fewer", "more"),
    )
    step.listen({name: step.between(0.0, 1.0, 0.01) for name in ("right_a", "right_b")})
    people, diagram, side = st.columns([6, 5, 3], gap="medium")
    with side:
        values = {name: knob(name) for name in ("share", "right_a", "right_b")}
        with st.popover("More", width="stretch"):
            values |= {name: knob(name) for name in ("told_a", "told_b")}
            st.button("Find the worst case", on_click=worst, width="stretch")
            st.button("The paper's numbers", on_click=st.session_state.update, args=(PAPER,), width="stretch")
    confidences = (values["told_a"], values["told_b"])
    accuracies = (values["right_a"], values["right_b"])
    population = two_patients_population(values["share"], confidences, accuracies)
    groups = {notion: population.groups(notion) for notion in ("confidence", "top-label")}
    split = guessed is not None
    with people:
        step.picture(
            crowd(population, split=split),
            "crowd",
            alt="A hundred patients: a filled dot has the announced disease",
        )
    with diagram:
        names = ("right_a", "right_b")
        handles = [
            step.handle(name, x, y, "y")
            for name, x, y in zip(names, confidences, population.accuracy, strict=True)
        ]
        step.picture(
            step.draggable(patients(*groups.values(), split=split), handles if split else []),
            "patients",
            table=groups["top-label"].frame,
            alt="Confidence told against how often it was right, all together and by disease",
        )
    if split:
        st.markdown(answer(population))


def answer(population: TwoPatients) -> str:
    h = population.confidence
    if h[0] != h[1]:
        end = "The confidences differ, so nobody is pooled and both errors agree."
    else:
        end = "No patient can use the first: each is told one disease."
    return (
        f"Disease 1, announced as {100 * h[0]:.4g} % sure: **{100 * population.accuracy[0]:.4g} %** have it. "
        f"Error of all together (conf-ECE) **{population.conf_ece:.3f}**, by disease (TL-ECE) "
        f"**{population.tl_ece:.3f}**. {end} Drag the dots."
    )
