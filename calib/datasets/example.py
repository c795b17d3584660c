"""A built-in example: predictions, their origin and, if simulated, the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd

from calib.data.predictions import Predictions
from calib.data.validation import as_scores

#: Cover types in the order of their codes 1..7.
COVER_TYPES = (
    "1 Spruce/Fir",
    "2 Lodgepole Pine",
    "3 Ponderosa Pine",
    "4 Cottonwood/Willow",
    "5 Aspen",
    "6 Douglas-fir",
    "7 Krummholz",
)

#: Menu titles by example name: known before anything is computed, in the order of a menu.
EXAMPLE_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "resnet": "CIFAR-10-shaped network (simulated)",
        "digits": "Handwritten digits, naive Bayes (real)",
        "two-patients": "Two patients, Example 1 of the paper (constructed)",
        "three-classes": "Three forest types, logistic regression (simulated)",
        "covtype-simulated": "COVTYPE-shaped random forest (simulated)",
        "perfect": "A perfectly calibrated model (simulated)",
        "networks": "Four networks on the same rows (simulated)",
        "many-classes": "Very many classes (simulated)",
    }
)


@dataclass(frozen=True, eq=False)
class Example:
    """Predictions that need no upload."""

    name: str  #: Short key, as used by `load_example` and in links
    title: str  #: Title for a menu; it says whether the example is simulated
    description: str  #: One sentence: where the numbers come from and what they show
    simulated: bool  #: Whether the rows were drawn from a simulated population
    calibration: Predictions  #: Rows to fit calibrators on
    evaluation: Predictions  #: Rows to assess models on
    #: (n,) float64 array: P(Y = c(x) | x) of each evaluation row, if known; the other classes share the rest
    #: in proportion to their scores
    truth: np.ndarray | None = None
    #: All models on these rows; the fields above describe the first. Empty if there is only one
    models: Mapping[str, tuple[Predictions, Predictions]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.truth is not None:
            truth = as_scores(self.truth, ndim=1, what="truth").view()
            truth.flags.writeable = False
            object.__setattr__(self, "truth", truth)


#: Columns that `simulated_columns` makes.
SITE, AGE, DAY = "site (simulated)", "age (simulated)", "day (simulated)"


def simulated_columns(rows: Predictions, seed: int = 0) -> pd.DataFrame:
    """Return a random site, age and day; wrong rows are three times as often from the site "east"."""
    random = np.random.default_rng(seed)
    n_samples = rows.n_samples
    wrong = np.zeros(n_samples, dtype=bool) if rows.labels is None else rows.label != rows.labels
    east = random.random(n_samples) < np.where(wrong, 0.3, 0.1)
    other = np.array(["north", "south", "west"])[random.choice(3, n_samples, p=[0.5, 0.3, 0.2])]
    days = np.datetime64("2025-01-01") + random.integers(0, 365, n_samples)
    return pd.DataFrame(
        {SITE: np.where(east, "east", other), AGE: random.integers(18, 91, n_samples), DAY: days.astype(str)}
    )
