"""Step 5: what a perfect model shows by chance, and a game of telling miscalibration from noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib import figures, reliability_diagram
from calib.figures.lessons import TEXT, perfect_curves
from calib.lessons.noise import (
    CLASS_COUNTS,
    ROW_COUNTS,
    STRENGTHS,
    PerfectCurve,
    Riddle,
    perfect_curve,
    redraws,
    riddle,
)
from calib.noise import NoiseFloor, noise_floor, verdict
from calib.noise.floor import ABOVE_NOISE, perfect_words
from pages.shared.widgets import ARROW, chart

N_BINS = 10
MOST_DRAWS = 30
PERFECT, OFF = "Only noise", "Miscalibrated"


def show() -> None:
    """Show the step."""
    st.markdown(
        "This model is **perfect**: labels are drawn from its own probabilities, so its true TL-ECE is 0. "
        "The "
        "estimate is not: it rises with the number of classes and falls with the number of rows."
    )
    left, middle, count, right = st.columns([2, 2, 1, 1], vertical_alignment="bottom")
    classes = left.segmented_control(
        "Classes L", CLASS_COUNTS, default=10, required=True, key="L", bind="query-params"
    )
    n_rows = middle.select_slider("Rows n", ROW_COUNTS, 1_000, key="n", bind="query-params")
    right.button("Redraw", on_click=one_more, args=("draws", MOST_DRAWS), type="primary")
    draws = int(count.number_input("Redraws", 1, MOST_DRAWS, 1, key="draws", bind="query-params"))
    curves = [_curve(count) for count in CLASS_COUNTS]
    values = _redraws(n_rows, classes, draws)
    own = curves[CLASS_COUNTS.index(classes)]
    at = ROW_COUNTS.index(n_rows)
    st.markdown(
        f"Redraw {draws}: TL-ECE **{values[-1]:.3f}**. With {classes} classes and {n_rows:,} rows "
        f"{perfect_words(own.tl_mean[at], own.tl_upper[at], 3)}."
    )
    frames = [curve.frame() for curve in curves]
    chart(
        perfect_curves(frames, classes, n_rows, values),
        "noise-curves",
        table=pd.concat(frames),
        alt="TL-ECE of a perfect model against the number of rows, a line per number of classes",
    )
    st.subheader("Miscalibrated, or only noise?", anchor=False)
    game()
    st.page_link("pages/diagnose/noise.py", label="The same for your data: Noise", icon=ARROW)


def one_more(key: str, most: int) -> None:
    """Count a number in the address up, beginning again after `most`."""
    st.session_state[key] = st.session_state.get(key, 1) % most + 1


def game() -> None:
    """Show one round of the game, and the score."""
    left, right = st.columns([3, 2], gap="large")
    with right:
        level = st.slider("Difficulty", 1, len(STRENGTHS), 2, key="level", bind="query-params")
        number = int(st.number_input("Round", 1, 999, 1, key="round", bind="query-params"))
        found, floor = _riddle(number, level)
        answers = st.session_state.setdefault("noise-answers", {})
        st.markdown(
            "The labels were drawn from the announced probabilities, or from other ones. Which? (1,000 rows, "
            "10 classes, 10 bins)"
        )
        answer = answers.get((level, number))
        with st.container(horizontal=True):
            for words in (OFF, PERFECT):
                st.button(
                    words, on_click=answers.setdefault, args=((level, number), words), disabled=bool(answer)
                )
        if answer:
            reveal(answer, found, floor)
            st.button("Next round", on_click=one_more, args=("round", 999), type="primary")
        if answers:
            score(answers)
    with left:
        diagram = reliability_diagram(found.predictions.labels, found.predictions, n_bins=N_BINS)
        chart(
            figures.reliability(diagram).update_layout(font_size=TEXT),
            "noise-round",
            table=diagram.frame(),
            alt="Reliability diagram of a model that may or may not be miscalibrated",
        )


def reveal(answer: str, found: Riddle, floor: NoiseFloor) -> None:
    """Say whether the answer was right, what the truth is, and what the test says."""
    right = answer == (PERFECT if found.perfect else OFF)
    if found.perfect:
        truth = "the labels were drawn from the announced probabilities."
    else:
        side = "overconfident" if found.factor < 1 else "underconfident"
        truth = f"the model is {side} (its log probabilities are off by a factor {found.factor:.2f})."
    (st.success if right else st.error)(f"{'Right' if right else 'Not so'}: {truth}")
    st.markdown(verdict(floor, "TL-ECE") + ".")


def score(answers: dict[tuple[int, int], str]) -> None:
    """Show how often the user, and calib's test, were right on the rounds answered."""
    mine = test = 0
    for (level, number), answer in answers.items():
        found, floor = _riddle(number, level)
        mine += answer == (PERFECT if found.perfect else OFF)
        test += (floor.verdict != ABOVE_NOISE) == found.perfect
    you, machine = st.columns(2)
    you.metric("You", f"{mine} of {len(answers)}", border=True)
    machine.metric(
        "The noise floor",
        f"{test} of {len(answers)}",
        border=True,
        help="Miscalibrated where p is at most 0.05",
    )


@st.cache_resource(max_entries=8, show_spinner="Redrawing labels ...")
def _curve(n_classes: int) -> PerfectCurve:
    return perfect_curve(n_classes, n_bins=N_BINS)


@st.cache_resource(max_entries=64, show_spinner=False)
def _redraws(n_samples: int, n_classes: int, n_draws: int) -> np.ndarray:
    if n_draws > 1:
        earlier = _redraws(n_samples, n_classes, n_draws - 1)
        return np.append(earlier, redraws(n_samples, n_classes, [n_draws], n_bins=N_BINS))
    return redraws(n_samples, n_classes, [n_draws], n_bins=N_BINS)


@st.cache_resource(max_entries=128, show_spinner=False)
def _riddle(number: int, level: int) -> tuple[Riddle, NoiseFloor]:
    found = riddle(number, level=level)
    rows = found.predictions
    floor = noise_floor(rows.labels, rows, n_bins=N_BINS, n_resamples=500, random_state=0)
    return found, floor
