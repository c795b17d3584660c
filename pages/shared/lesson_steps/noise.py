"""Step 3: what a perfect model shows by chance, and a game of telling miscalibration from noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib import diagrams, reliability_diagram
from calib.diagrams.style import with_layout
from calib.stats import NoiseFloor, noise_floor, verdict
from calib.stats.floors import ABOVE_NOISE, perfect_words
from pages.shared.kept import kept
from pages.shared.lesson_steps.interaction import draggable, guess, handle, listen, nearest, own_data, picture
from pages.shared.lessons.figures import LESSON_HEIGHT, TEXT, perfect_curves
from pages.shared.lessons.noise import (
    CLASS_COUNTS,
    ROW_COUNTS,
    STRENGTHS,
    GameRound,
    PerfectCurve,
    game_round,
    perfect_curve,
    redraws,
)

N_BINS = 10
MAX_DRAWS = 30
PARTS = ("What it shows", "The game")
PERFECT, OFF = "Only noise", "Miscalibrated"


def show() -> None:
    """Show the step."""
    part = st.segmented_control(
        "Part",
        PARTS,
        default=PARTS[0],
        required=True,
        key="part",
        bind="query-params",
        label_visibility="collapsed",
    )
    if part == PARTS[1]:
        game()
        return
    guessed = guess(
        "guess_noise",
        "Labels are drawn from this model's own probabilities: it is **perfect**, its true TL-ECE is 0. "
        "**What will 1,000 rows of 10 classes show?**",
        ("0", "about 0.02", "0.05 or more"),
    )
    listen({"n": nearest(ROW_COUNTS)})
    drawn, side = st.columns([3, 1], gap="medium")
    with side:
        classes = st.segmented_control(
            "Classes L", CLASS_COUNTS, default=10, required=True, key="L", bind="query-params"
        )
        n_rows = st.select_slider("Rows n", ROW_COUNTS, 1_000, key="n", bind="query-params")
        draws = int(st.number_input("Redraws", 1, MAX_DRAWS, 1, key="draws", bind="query-params"))
        st.button("Redraw the labels", on_click=one_more, args=("draws", MAX_DRAWS), width="stretch")
    curves = [_curve(n_classes) for n_classes in CLASS_COUNTS]
    values = _redraws(n_rows, classes, draws)
    frames = [each.frame() for each in curves]
    figure = perfect_curves(frames, classes, n_rows, values, answered=guessed is not None)
    height = figure["layout"]["yaxis"]["range"][1] / 2
    with drawn:
        picture(
            draggable(figure, [handle("n", n_rows, values[-1] if guessed else height, "x")]),
            "noise-curves",
            table=pd.concat(frames),
            alt="TL-ECE of a perfect model against the number of rows, a line per number of classes",
        )
    if guessed is None:
        return
    curve, position = curves[CLASS_COUNTS.index(classes)], ROW_COUNTS.index(n_rows)
    st.markdown(
        f"These labels show **{values[-1]:.3f}**. With {classes} classes and {n_rows:,} rows "
        f"{perfect_words(curve.tl_mean[position], curve.tl_upper[position], 3)}. An estimate means something "
        "beside this noise floor only. Drag the diamond."
    )
    own_data("pages/views/noise.py", "Noise")


def one_more(key: str, most: int) -> None:
    """Raise a number in the address by 1, from `most` back to 1."""
    st.session_state[key] = st.session_state.get(key, 1) % most + 1


def game() -> None:
    """Show one round of the game, and the score."""
    left, right = st.columns([3, 2], gap="large")
    with right:
        level = st.slider("Difficulty", 1, len(STRENGTHS), 2, key="level", bind="query-params")
        number = int(st.number_input("Round", 1, 999, 1, key="round", bind="query-params"))
        round_, floor = _round(number, level)
        answers = st.session_state.setdefault("noise-answers", {})
        st.markdown("Were the labels drawn from the model's own probabilities? (1,000 rows, 10 classes)")
        answer = answers.get((level, number))
        with st.container(horizontal=True):
            for words in (OFF, PERFECT):
                st.button(
                    words, on_click=answers.setdefault, args=((level, number), words), disabled=bool(answer)
                )
        if answer:
            reveal(answer, round_, floor)
            st.button("Next round", on_click=one_more, args=("round", 999), type="primary")
        if answers:
            score(answers)
    with left:
        diagram = reliability_diagram(round_.predictions.labels, round_.predictions, n_bins=N_BINS)
        picture(
            with_layout(diagrams.draw_stars(diagram), font={"size": TEXT}, height=LESSON_HEIGHT),
            "noise-round",
            table=diagram.frame(),
            alt="Reliability diagram of a model that may or may not be miscalibrated",
        )


def reveal(answer: str, round_: GameRound, floor: NoiseFloor) -> None:
    """Say whether the answer was right, what the truth is, and what the test says."""
    right = answer == (PERFECT if round_.perfect else OFF)
    if round_.perfect:
        truth = "the labels were drawn from the model's probabilities."
    else:
        side = "overconfident" if round_.factor < 1 else "underconfident"
        truth = f"the model is {side} (its log probabilities are off by a factor {round_.factor:.2f})."
    (st.success if right else st.error)(f"{'Right' if right else 'Wrong'}: {truth}")
    st.markdown(verdict(floor, "TL-ECE") + ".")


def score(answers: dict[tuple[int, int], str]) -> None:
    """Show how often the user, and calib's test, were right on the rounds answered."""
    mine = test = 0
    for (level, number), answer in answers.items():
        round_, floor = _round(number, level)
        mine += answer == (PERFECT if round_.perfect else OFF)
        test += (floor.verdict != ABOVE_NOISE) == round_.perfect
    you, machine = st.columns(2)
    you.metric("You", f"{mine} of {len(answers)}", border=True)
    machine.metric(
        "The noise floor",
        f"{test} of {len(answers)}",
        border=True,
        help="Miscalibrated where p is at most 0.05",
    )


@kept()
def _curve(n_classes: int) -> PerfectCurve:
    with st.spinner("Redrawing labels ..."):
        return perfect_curve(n_classes, n_bins=N_BINS)


@kept()
def _redraws(n_samples: int, n_classes: int, n_draws: int) -> np.ndarray:
    if n_draws > 1:
        earlier = _redraws(n_samples, n_classes, n_draws - 1)
        return np.append(earlier, redraws(n_samples, n_classes, [n_draws], n_bins=N_BINS))
    return redraws(n_samples, n_classes, [n_draws], n_bins=N_BINS)


@kept()
def _round(number: int, level: int) -> tuple[GameRound, NoiseFloor]:
    round_ = game_round(number, level=level)
    rows = round_.predictions
    floor = noise_floor(rows.labels, rows, n_bins=N_BINS, n_resamples=500, random_state=0)
    return round_, floor
