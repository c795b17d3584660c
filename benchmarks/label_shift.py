"""What label-shift correction does when its assumption holds, and when it does not.

``python -m benchmarks.label_shift``: a model of three classes is calibrated on 5,000 rows and predicts
2,000 rows whose classes have other shares. Shown are means of CW-ECE (15 bins, 20,000 rows: a calibrated
model shows about 0.008), log loss, and the error of the estimated shares (total variation), without and
with each correction.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from benchmarks.simulation import Draws, Table, main, mean
from calib import (
    DirichletScaling,
    HistogramBinning,
    LabelShiftCorrection,
    MulticlassToBinary,
    TemperatureScaling,
    ece,
    log_loss,
)

#: Shares of the classes among the calibration rows, and where the rows of each class are in the plane.
SOURCE = np.array([0.7, 0.2, 0.1])
CENTRES = np.array([[0.0, 0.0], [1.8, 0.0], [0.9, 1.6]])

Rows = tuple[np.ndarray, np.ndarray]


def draw(random: np.random.Generator, n: int, shares: np.ndarray, centres: np.ndarray = CENTRES) -> Rows:
    """Return places (n, 2) and classes (n,): normal rows around the centre of each class."""
    y = random.choice(len(shares), n, p=shares)
    return centres[y] + random.normal(size=(n, 2)), y


def posterior(x: np.ndarray, power: float = 1.0) -> np.ndarray:
    """Return P(Y | x) among the calibration rows, (n, 3), raised to a power: above 1 is overconfident."""
    distance = ((x[:, None, :] - CENTRES) ** 2).sum(axis=2)
    logits = power * (np.log(SOURCE) - distance / 2)
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)


def same_mix(random: np.random.Generator, n: int) -> Rows:
    """Change nothing."""
    return draw(random, n, SOURCE)


def label_shift(random: np.random.Generator, n: int) -> Rows:
    """Turn the shares around; rows of a class look as before: the assumption holds."""
    return draw(random, n, SOURCE[::-1])


def covariate_shift(random: np.random.Generator, n: int) -> Rows:
    """Move the rows and keep P(Y | x): no correction is needed, and the assumption fails."""
    x = np.array([1.4, 0.8]) + random.normal(size=(n, 2))
    return x, (posterior(x).cumsum(axis=1) < random.random((n, 1))).sum(axis=1)


def moved_class(random: np.random.Generator, n: int) -> Rows:
    """Turn the shares around, and move the rows of class 2 towards class 1."""
    return draw(random, n, SOURCE[::-1], CENTRES + np.array([[0, 0], [0, 0], [0.6, -1.0]]))


SCENARIOS: dict[str, Callable[[np.random.Generator, int], Rows]] = {
    "same mix": same_mix,
    "label shift": label_shift,
    "covariate shift": covariate_shift,
    "label shift, and a class moved": moved_class,
}
CALIBRATORS: dict[str, Callable[[], Any]] = {
    "none, overconfident": lambda: None,
    "TS": TemperatureScaling,
    "DS": DirichletScaling,
    "N-HB": lambda: MulticlassToBinary(HistogramBinning(), notion="class-wise", normalize=True),
}


def compare(scenario: str, calibrator: str) -> Draws:
    """Yield CW-ECE, log loss and error of the shares, without and with each correction."""
    for seed in count():
        random = np.random.default_rng(seed)
        x, y = draw(random, 5_000, SOURCE)
        made = CALIBRATORS[calibrator]()
        fitted = None if made is None else made.fit(posterior(x, 1.5), y)

        def probabilities(at: np.ndarray, fitted: Any = fitted) -> np.ndarray:
            base = posterior(at, 1.5)
            return base if fitted is None else fitted.predict_proba(base)

        calibration = probabilities(x)
        new = probabilities(SCENARIOS[scenario](random, 2_000)[0])
        x_test, y_test = SCENARIOS[scenario](random, 20_000)
        test, shares = probabilities(x_test), np.bincount(y_test, minlength=3) / len(y_test)
        found = {}
        for name in CORRECTIONS:
            corrected, estimate = test, SOURCE
            if name != "none":
                shift = LabelShiftCorrection(method=name).fit(calibration, y).adapt(new)
                corrected, estimate = shift.correct(test), shift.target
            found[f"CW-ECE, {name}"] = ece(y_test, corrected, notion="class-wise")
            found[f"log loss, {name}"] = log_loss(y_test, corrected)
            found[f"shares off by, {name}"] = 0.5 * float(np.abs(estimate - shares).sum())
        yield found


CORRECTIONS: tuple[Any, ...] = ("none", "em", "bbse")
SHOWN = {"CW-ECE": mean(".4f"), "log loss": mean(".4f"), "shares off by": mean(".3f")}
TABLES = [
    Table(
        ("new rows", "calibrator"),
        [(scenario, calibrator) for scenario in SCENARIOS for calibrator in CALIBRATORS],
        compare,
        {f"{of}, {name}": (f"{of}, {name}", shown) for of, shown in SHOWN.items() for name in CORRECTIONS},
    )
]

if __name__ == "__main__":
    main(10)
