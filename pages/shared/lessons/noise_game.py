"""Step 3: what a perfect model shows by chance, and a game of telling miscalibration from noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import ndtr

from calib import diagrams, reliability_diagram
from calib.base.exceptions import InputError
from calib.data.predictions import Predictions
from calib.datasets.simulated import draw_labels
from calib.diagrams.style import OKABE_ITO, Figure, figure, scatter, with_layout
from calib.stats.errors import ece
from calib.stats.floors import ABOVE_NOISE, NoiseFloor, noise_floor, perfect_words, verdict
from pages.shared.kept import kept
from pages.shared.lessons import interaction as step

#: Rows and classes for which the floor of a perfect model is drawn.
ROW_COUNTS = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
CLASS_COUNTS = (3, 10, 30, 100)

#: By level of difficulty, 1 to 5: the factor by which the logits of a miscalibrated round are off.
STRENGTHS = (2.0, 1.6, 1.4, 1.25, 1.15)
ROUND_ROWS, ROUND_CLASSES = 1_000, 10


@dataclass(frozen=True, eq=False)
class GameRound:
    """One round of the noise game."""

    predictions: Predictions  #: Rows to look at
    perfect: bool  #: Whether the labels were drawn from `predictions`
    #: Factor on the log probabilities the labels were drawn from: 1 for a perfect round, below 1 for an
    #: overconfident model, above 1 for an underconfident one
    factor: float


def perfect_rows(n_samples: int, n_classes: int) -> Predictions:
    """Return probabilities with labels drawn from them: a perfectly calibrated model.

    The probabilities are the first `n_samples` rows of one population for each `n_classes`.
    """
    proba = model_probabilities(n_samples, n_classes, np.random.default_rng(n_classes)).proba
    return Predictions(proba, draw_labels(proba, np.random.default_rng((n_classes, 0))))


def perfect_curve(n_classes: int, *, n_bins: int = 10, n_resamples: int = 100) -> pd.DataFrame:
    """Return mean and 95 % quantile of a perfect model's TL-ECE, and its mean conf-ECE, for `ROW_COUNTS`."""
    rows = perfect_rows(max(ROW_COUNTS), n_classes)
    floors = {
        (n, notion): noise_floor(
            rows.take(slice(0, n)), notion=notion, n_bins=n_bins, n_resamples=n_resamples
        )
        for n in ROW_COUNTS
        for notion in ("top-label", "confidence")
    }
    top = [floors[n, "top-label"] for n in ROW_COUNTS]
    return pd.DataFrame(
        {
            "n_classes": n_classes,
            "n_samples": ROW_COUNTS,
            "tl_ece_mean": [floor.mean for floor in top],
            "tl_ece_q95": [floor.quantile(0.95) for floor in top],
            "conf_ece_mean": [floors[n, "confidence"].mean for n in ROW_COUNTS],
        }
    )


def redraws(n_samples: int, n_classes: int, draws: Iterable[int], *, n_bins: int = 10) -> np.ndarray:
    """TL-ECE of a perfect model for each numbered redraw of its labels (1 or more), (D,) float64."""
    proba = perfect_rows(n_samples, n_classes).proba
    randoms = (np.random.default_rng((n_classes, draw)) for draw in draws)
    return np.array([ece(draw_labels(proba, random), proba, n_bins=n_bins) for random in randoms])


def game_round(number: int, *, level: int = 2) -> GameRound:
    """Draw a round of the noise game; equal numbers and levels give equal rounds.

    Labels are drawn, with equal chances, from the model's probabilities or after their logarithms were
    multiplied by a factor, which makes the model overconfident or underconfident, again with
    equal chances.
    """
    if not 1 <= level <= len(STRENGTHS):
        raise InputError(f"level must be 1 to {len(STRENGTHS)}; got {level!r}")
    random = np.random.default_rng((number, level))
    perfect, overconfident = bool(random.random() < 0.5), bool(random.random() < 0.5)
    predicted = model_probabilities(ROUND_ROWS, ROUND_CLASSES, random)
    strength = STRENGTHS[level - 1]
    factor = 1.0 if perfect else (1.0 / strength if overconfident else strength)
    truth = Predictions.from_logits(factor * np.log(predicted.proba))
    return GameRound(Predictions(predicted.proba, draw_labels(truth.proba, random)), perfect, factor)


def model_probabilities(n_samples: int, n_classes: int, random: np.random.Generator) -> Predictions:
    """Draw probabilities of a model that is sure of some rows and unsure of others."""
    draws = random.normal(0.0, 1.0, (n_samples, n_classes + 2))
    favoured = np.minimum((ndtr(draws[:, -1]) * n_classes).astype(np.int64), n_classes - 1)
    logits = draws[:, :n_classes]
    logits[np.arange(n_samples), favoured] += 3.5 + 2.0 * draws[:, -2] + 0.3 * np.log(n_classes)
    return Predictions.from_logits(logits)


def perfect_curves(
    curves: Sequence[pd.DataFrame], chosen: int, n_samples: int, draws: np.ndarray, *, answered: bool
) -> Figure:
    """Draw TL-ECE of a perfect model against its rows, a line per number of classes, and single redraws.

    Before the answer, only the axes and the chosen number of rows are drawn.
    """
    data = []
    styles = (("sky", "dot"), ("green", "dash"), ("purple", "dashdot"), ("vermillion", "solid"))
    line = {"color": OKABE_ITO["orange"], "width": 4}
    upright = {"type": "line", "x0": n_samples, "x1": n_samples, "y0": 0, "y1": 1, "yref": "y domain"}
    for curve, (colour, dash) in zip(curves if answered else [], styles, strict=answered):
        classes = int(curve["n_classes"].iloc[0])
        data += scatter(
            x=curve["n_samples"].to_numpy(),
            y=curve["tl_ece_mean"].to_numpy(),
            line={"color": OKABE_ITO[colour], "dash": dash, "width": 5 if classes == chosen else 2.5},
            name=f"L = {classes}",
            hovertemplate=f"{classes} classes, %{{x:,}} rows<br>mean TL-ECE of a perfect model %{{y:.3f}}",
        )
    chosen_curve = next(curve for curve in curves if int(curve["n_classes"].iloc[0]) == chosen)
    if answered:
        data += scatter(
            x=chosen_curve["n_samples"].to_numpy(),
            y=chosen_curve["conf_ece_mean"].to_numpy(),
            line={"color": OKABE_ITO["blue"], "dash": "longdash", "width": 2},
            name=f"conf-ECE, L = {chosen}",
            hovertemplate="mean conf-ECE of a perfect model %{y:.3f}",
        )
    data += scatter(
        x=np.full(len(draws), n_samples),
        y=draws if answered else np.full(len(draws), np.nan),
        marker={
            "symbol": ["circle-open"] * (len(draws) - 1) + ["diamond"],
            "size": [9] * (len(draws) - 1) + [14],
            "color": OKABE_ITO["orange"],
            "line": {"width": 2, "color": OKABE_ITO["orange"]},
        },
        name="your redraws",
        hovertemplate="TL-ECE of one redraw %{y:.4f}",
    )
    counts = chosen_curve["n_samples"].to_numpy()
    ends = [float(np.log10(counts[0] / 1.2)), float(np.log10(counts[-1] * 1.2))]
    most = max(float(curve["tl_ece_mean"].max()) for curve in curves)
    return figure(
        data,
        height=step.LESSON_HEIGHT,
        font={"size": step.TEXT},
        shapes=[{**upright, "line": line}],
        xaxis={"title": "Rows n", "type": "log", "tickvals": counts.tolist(), "range": ends},
        yaxis={"title": "TL-ECE of a perfect model", "range": [0, 1.1 * most]},
    )


N_BINS = 10
MAX_DRAWS = 30
PARTS = ("What it shows", "The game")
PERFECT, OFF = "Only noise", "Miscalibrated"


def show() -> None:
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
    guessed = step.guess(
        "guess_noise",
        "Labels are drawn from this model's own probabilities: its true TL-ECE is 0. "
        "**What will 1,000 rows of 10 classes show?**",
        ("0", "about 0.02", "0.05 or more"),
    )
    step.listen({"n": step.nearest(ROW_COUNTS)})
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
    figure = perfect_curves(curves, classes, n_rows, values, answered=guessed is not None)
    height = figure["layout"]["yaxis"]["range"][1] / 2
    with drawn:
        step.picture(
            step.draggable(figure, [step.handle("n", n_rows, values[-1] if guessed else height, "x")]),
            "noise-curves",
            table=lambda: pd.concat(curves),
            alt="TL-ECE of a perfect model against the number of rows, a line per number of classes",
        )
    if guessed is None:
        return
    shown = curves[CLASS_COUNTS.index(classes)].set_index("n_samples").loc[n_rows]
    perfect = perfect_words(shown["tl_ece_mean"], shown["tl_ece_q95"], 3)
    st.markdown(
        f"These labels show **{values[-1]:.3f}**. With {classes} classes and {n_rows:,} rows "
        f"{perfect}. Read an estimate beside "
        "this noise floor. Drag the diamond."
    )
    step.own_data("pages/views/overview.py", "Overview", overview_tab="How sure is each number?")


def one_more(key: str, most: int) -> None:
    """Increase a number in the address by 1; after `most` comes 1."""
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
        diagram = reliability_diagram(round_.predictions, n_bins=N_BINS)
        step.picture(
            with_layout(diagrams.draw_stars(diagram), font={"size": step.TEXT}, height=step.LESSON_HEIGHT),
            "noise-round",
            table=diagram.frame,
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
    """Show how often the user and calib's test were right in the answered rounds."""
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
        help="Miscalibrated if p is at most 0.05",
    )


@kept()
def _curve(n_classes: int) -> pd.DataFrame:
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
    return round_, noise_floor(round_.predictions, n_bins=N_BINS, n_resamples=500)
