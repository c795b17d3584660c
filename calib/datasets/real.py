"""Real data: handwritten digits, and COVTYPE as in Appendices B.2, F and G of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.defaults import RANDOM_STATE
from calib.data.predictions import Predictions
from calib.data.validation import check_choice
from calib.datasets.example import COVER_TYPES, EXAMPLE_TITLES, Example

#: The three classes of Appendix G: the two frequent ones and the rest.
COVER_TYPES_3 = (*COVER_TYPES[:2], "other")


def digits(*, random_state: int = RANDOM_STATE) -> Example:
    """Compute real out-of-fold probabilities: naive Bayes on scikit-learn's 1,797 handwritten digits.

    Naive Bayes counts correlated pixels as independent evidence, so it is overconfident.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import BernoulliNB

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


def covtype(
    source: str | Path | tuple[np.ndarray, np.ndarray] | None = None,
    *,
    model: str = "forest",
    random_state: int = RANDOM_STATE,
    data_home: str | Path | None = None,
) -> Example:
    """Predict COVTYPE's cover types as the paper does; a forest on all rows takes minutes.

    30 % of the rows, chosen at random, are for evaluation, and 10 % of the others for calibration; the model
    is fitted on the rest.

    Parameters
    ----------
    source : path, or (n, 54) array and (n,) array of int, optional
        `covtype.data` or a CSV file with its 55 columns, also as .gz; or features and cover types 0..6. By
        default scikit-learn's `fetch_covtype` downloads them once, and the predictions are kept beside them.
    model : {"forest", "logistic"}
        "forest": `RandomForestClassifier` with its defaults on the 7 classes (Appendix B.2). "logistic":
        logistic regression on 3 classes: 1, 2 and other (Appendix G.4).
    random_state : int
        Seed of the splits and of the forest.
    data_home : path, optional
        Folder of downloads and kept predictions; by default scikit-learn's.

    Raises
    ------
    InputError
        If the data can be neither found nor downloaded, or have too few rows.

    Notes
    -----
    Unlike in the paper, features are standardised before the logistic regression, which does not converge
    otherwise.
    """
    from sklearn.datasets import fetch_covtype, get_data_home
    from sklearn.utils.validation import check_memory

    check_choice(model, ("forest", "logistic"), "model")
    names, predict = COVER_TYPES if model == "forest" else COVER_TYPES_3, _predict
    if source is None:
        home = None if data_home is None else str(data_home)
        try:
            features, types = fetch_covtype(data_home=home, n_retries=1, return_X_y=True)
        except OSError as error:
            raise InputError(
                "COVTYPE is not on this machine and could not be downloaded "
                f"({getattr(error, 'reason', None) or error}): connect to the internet once, or pass its "
                "file, or features and cover types 0..6"
            ) from error
        source = np.ascontiguousarray(features, np.float32), types.astype(np.int64) - 1
        predict = check_memory(str(Path(get_data_home(home)) / "calib")).cache(_predict)
    elif not isinstance(source, tuple):
        source = _read(source)
    n_rows, n_types = len(source[1]), len(np.unique(source[1]))
    if n_types < 2 or n_rows < 100:
        raise InputError(
            f"COVTYPE needs at least 100 rows and 2 cover types to fit a model; got {n_rows} rows and "
            f"{n_types} cover type(s)"
        )
    (fit_proba, fit_labels), (proba, labels) = predict(*source, model, random_state)
    counts = np.bincount(labels)
    learner = "random forest" if model == "forest" else "logistic regression"
    return Example(
        name="covtype" if model == "forest" else "covtype-3",
        title=f"COVTYPE-{len(names)}, {learner} (real)",
        description=(
            f"A {learner} on {n_rows:,} real rows of COVTYPE with {len(names)} classes; the most "
            f"frequent is {counts.max() / counts[counts > 0].min():,.0f} times as frequent as the rarest."
        ),
        simulated=False,
        calibration=Predictions(fit_proba, fit_labels, names),
        evaluation=Predictions(proba, labels, names),
    )


def _read(file: str | Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        table = pd.read_csv(file, header=None, low_memory=False)
        named = isinstance(table.iat[0, 0], str)
        values: np.ndarray = table.iloc[int(named) :].to_numpy(np.float32)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{str(file)!r} is not read as a table of numbers: {error}") from None
    types = values[:, -1]
    if values.shape[1] != 55 or not (np.isfinite(values).all() and np.isin(types, np.arange(1, 8)).all()):
        raise InputError(
            "COVTYPE has 54 numeric columns and then the cover type 1..7; "
            f"{str(file)!r} has {values.shape[1]} columns and {types.min():g} to {types.max():g} in the last"
        )
    return np.ascontiguousarray(values[:, :54]), types.astype(np.int64) - 1


def _predict(features: np.ndarray, labels: np.ndarray, model: str, random_state: int) -> list[Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier, n_classes = RandomForestClassifier(n_jobs=-1, random_state=random_state), len(COVER_TYPES)
    if model == "logistic":
        classifier = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky"))
        n_classes = len(COVER_TYPES_3)
        labels = np.minimum(labels, n_classes - 1)
    train, evaluation = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=random_state)
    train, calibration = train_test_split(train, test_size=0.1, random_state=random_state)
    if len(np.unique(labels[train])) < 2:
        raise InputError("the training rows hold a single cover type; pass more rows")
    fitted = classifier.fit(features[train], labels[train])
    found = []
    for rows in (calibration, evaluation):
        # Columns by class code: a class without training rows has a column of zeros.
        proba = np.zeros((len(rows), n_classes))
        # Threads add the trees' votes in any order; rounding removes the difference.
        proba[:, fitted.classes_] = np.round(fitted.predict_proba(features[rows]), 12)
        found.append((proba, labels[rows]))
    return found
