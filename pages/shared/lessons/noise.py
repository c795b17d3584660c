"""The noise lesson: what a perfect model shows, and a game of telling miscalibration from noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr

from calib.base.exceptions import InputError
from calib.data.predictions import Predictions
from calib.data.validation import as_labels
from calib.datasets.simulated import draw_labels
from calib.stats.errors import ece
from calib.stats.floors import noise_floor

#: Rows and classes for which the floor of a perfect model is drawn.
ROW_COUNTS = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
CLASS_COUNTS = (3, 10, 30, 100)

#: By level of difficulty, 1 to 5: the factor by which the logits of a miscalibrated round are off.
STRENGTHS = (2.0, 1.6, 1.4, 1.25, 1.15)
ROUND_ROWS, ROUND_CLASSES = 1_000, 10


@dataclass(frozen=True, eq=False)
class PerfectCurve:
    """TL-ECE and conf-ECE that a perfectly calibrated model shows, by number of rows.

    Attributes
    ----------
    n_classes, n_bins : int
        Classes L and equal-width bins B.
    n_samples : (S,) int64 array
        Rows n.
    tl_mean, tl_upper, conf_mean : (S,) float64 arrays
        Mean and 95 % quantile of TL-ECE, mean of conf-ECE.
    """

    n_classes: int
    n_bins: int
    n_samples: np.ndarray
    tl_mean: np.ndarray
    tl_upper: np.ndarray
    conf_mean: np.ndarray

    def frame(self) -> pd.DataFrame:
        """Return one row per number of rows."""
        return pd.DataFrame(
            {
                "n_classes": self.n_classes,
                "n_samples": self.n_samples,
                "tl_ece_mean": self.tl_mean,
                "tl_ece_q95": self.tl_upper,
                "conf_ece_mean": self.conf_mean,
            }
        )


@dataclass(frozen=True, eq=False)
class GameRound:
    """One round of the noise game.

    Attributes
    ----------
    predictions : Predictions
        Rows to look at.
    perfect : bool
        Whether the labels were drawn from `predictions`.
    factor : float
        Factor on the log probabilities the labels were drawn from: 1 for a perfect round, below 1 for an
        overconfident model, above 1 for an underconfident one.
    """

    predictions: Predictions
    perfect: bool
    factor: float


def perfect_rows(n_samples: int, n_classes: int) -> Predictions:
    """Return probabilities with labels drawn from them: a perfectly calibrated model.

    The probabilities are the first `n_samples` rows of one population for each `n_classes`.
    """
    proba = model_probabilities(n_samples, n_classes, np.random.default_rng(n_classes)).proba
    return Predictions(proba, draw_labels(proba, np.random.default_rng((n_classes, 0))))


def perfect_curve(n_classes: int, *, n_bins: int = 10, n_resamples: int = 100) -> PerfectCurve:
    """Compute the noise floors of a perfect model with `n_classes` classes for each of `ROW_COUNTS`."""
    rows = perfect_rows(max(ROW_COUNTS), n_classes)
    labels = as_labels(rows.labels, rows.n_samples, n_classes)
    floors = {
        (n, notion): noise_floor(
            labels[:n], rows.proba[:n], notion=notion, n_bins=n_bins, n_resamples=n_resamples, random_state=0
        )
        for n in ROW_COUNTS
        for notion in ("top-label", "confidence")
    }
    top = [floors[n, "top-label"] for n in ROW_COUNTS]
    return PerfectCurve(
        n_classes=n_classes,
        n_bins=n_bins,
        n_samples=np.array(ROW_COUNTS),
        tl_mean=np.array([floor.mean for floor in top]),
        tl_upper=np.array([floor.quantile(0.95) for floor in top]),
        conf_mean=np.array([floors[n, "confidence"].mean for n in ROW_COUNTS]),
    )


def redraws(n_samples: int, n_classes: int, draws: Iterable[int], *, n_bins: int = 10) -> np.ndarray:
    """TL-ECE of a perfect model for each redraw of its labels, by number (1 or more), (D,) float64."""
    proba = perfect_rows(n_samples, n_classes).proba
    randoms = (np.random.default_rng((n_classes, draw)) for draw in draws)
    return np.array([ece(draw_labels(proba, random), proba, n_bins=n_bins) for random in randoms])


def game_round(number: int, *, level: int = 2) -> GameRound:
    """Draw a round of the noise game; equal numbers and levels give equal rounds.

    Labels are drawn, with equal chances, from the model's probabilities or after their logarithms were
    multiplied by a factor, which makes the model overconfident or underconfident, again with
    equal chances.

    Parameters
    ----------
    number : int
        Which round, 0 or more.
    level : int
        Difficulty, 1 (easy) to 5 (the factor is closest to 1).

    Raises
    ------
    InputError
        If the level is not one of these.
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
    """Draw probabilities of a model that is sure of some rows and unsure of others, row after row."""
    draws = random.normal(0.0, 1.0, (n_samples, n_classes + 2))
    favoured = np.minimum((ndtr(draws[:, -1]) * n_classes).astype(np.int64), n_classes - 1)
    logits = draws[:, :n_classes]
    logits[np.arange(n_samples), favoured] += 3.5 + 2.0 * draws[:, -2] + 0.3 * np.log(n_classes)
    return Predictions.from_logits(logits)
