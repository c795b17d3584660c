"""The examples by name: the paper's two patients, and real digits from inside scikit-learn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB

from calib.datasets.covtype_shape import covtype_simulated
from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.datasets.simulated import many_classes, perfect, resnet_shaped
from calib.datasets.three_class_problem import three_classes
from calib.exceptions import InputError
from calib.predictions import Predictions


def load_example(name: str) -> Example:
    """Build the example of that name with its defaults.

    Parameters
    ----------
    name : str
        One of the keys of `EXAMPLE_TITLES`.

    Raises
    ------
    InputError
        If there is no such example.
    """
    builders: dict[str, Callable[[], Example]] = {
        "resnet": resnet_shaped,
        "digits": digits,
        "two-patients": two_patients,
        "three-classes": three_classes,
        "covtype-simulated": covtype_simulated,
        "perfect": perfect,
        "many-classes": many_classes,
    }
    if name not in builders:
        raise InputError(f"there is no example {name!r}; the examples are {', '.join(EXAMPLE_TITLES)}")
    return builders[name]()


def two_patients() -> Example:
    """Build Example 1 of Gupta & Ramdas (2022), in exact proportions: conf-ECE 0, TL-ECE 0.4.

    Patients a and b are equally frequent. Patient a is predicted disease 1 with confidence 0.6 and has it
    with probability 0.2; patient b is predicted disease 2 with confidence 0.6 and has it for certain. Each
    part holds 500 rows of either patient, and the shares of the outcomes equal their probabilities.
    """
    # Of every ten rows, five are patient a: one has disease 1 (0.2), two have each of the others.
    proba = np.tile([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]], (500, 1))
    labels = np.tile([0, 1, 1, 1, 1, 1, 2, 1, 2, 1], 100)
    rows = Predictions(proba, labels, ("disease 1", "disease 2", "other disease"))
    return Example(
        name="two-patients",
        title=EXAMPLE_TITLES["two-patients"],
        description=(
            "Example 1 of the paper in exact proportions: confidence 0.6 is right 60 % of the time overall, "
            "yet 20 % of the time for one predicted disease and always for the other."
        ),
        simulated=True,
        calibration=rows,
        evaluation=rows,
        truth=np.tile([0.2, 1.0], 500),
    )


def digits(*, random_state: int = 0) -> Example:
    """Compute real out-of-fold probabilities: naive Bayes on scikit-learn's 1,797 handwritten digits.

    Parameters
    ----------
    random_state : int
        Seed of the five stratified folds and of the half-and-half split into calibration and evaluation.

    Notes
    -----
    Naive Bayes counts correlated pixels as independent evidence, so it is overconfident, most of all
    where it predicts 1, 8 or 9.
    """
    images, labels = load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=random_state)
    proba = cross_val_predict(BernoulliNB(), images, labels, cv=folds, method="predict_proba")
    calibration, evaluation = Predictions(proba, labels).split(0.5, random_state=random_state)
    return Example(
        name="digits",
        title=EXAMPLE_TITLES["digits"],
        description=(
            "Bernoulli naive Bayes on the 1,797 handwritten digits of scikit-learn, out-of-fold "
            "probabilities: overconfident, most of all where it predicts 1, 8 or 9."
        ),
        simulated=False,
        calibration=calibration,
        evaluation=evaluation,
    )
