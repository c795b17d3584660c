"""A simulated three-class problem for the simplex: a linear model of curved class boundaries."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.predictions import Predictions

FOREST_TYPES = ("spruce/fir", "lodgepole pine", "other")


def three_classes(
    *, n_calibration: int = 40_671, n_evaluation: int = 174_304, random_state: int = 0
) -> Example:
    """Simulate a logistic regression on three forest types by altitude, in the sizes of App. G.4.

    The model's logits are linear in altitude, soil and rain. The true ones are less extreme, favour pine, and
    have "other" come back at the very top, a curve that no linear model sees.

    Parameters
    ----------
    n_calibration, n_evaluation : int
        Rows of the two parts; the defaults are the paper's.
    random_state : int
        Seed.

    Notes
    -----
    `truth` is None: the true vectors do not follow from the probability of the predicted class alone.
    """
    parts = []
    for part, n_rows in enumerate((n_calibration, n_evaluation)):
        rng = np.random.default_rng((random_state, part))
        altitude, soil, rain = rng.standard_normal((3, n_rows))
        said = np.column_stack(
            [1.4 * altitude + 0.9 * soil - 0.3, 0.3 * rain, 1.3 * rain - 1.9 * altitude - 1.4]
        )
        true = 0.8 * said
        true[:, 1] += 0.25
        true[:, 2] += 0.9 * np.square(np.maximum(altitude - 0.4, 0.0))
        edges = softmax(true, axis=1).cumsum(axis=1)[:, :2]
        labels = (rng.random(n_rows)[:, None] >= edges).sum(axis=1)
        parts.append(Predictions(softmax(said, axis=1), labels, FOREST_TYPES))
    return Example(
        name="three-classes",
        title=EXAMPLE_TITLES["three-classes"],
        description=(
            "Simulated in the shape of a logistic regression on three forest types: too extreme, "
            "short of pine, and blind to the other types where it is surest of spruce/fir."
        ),
        simulated=True,
        calibration=parts[0],
        evaluation=parts[1],
    )
