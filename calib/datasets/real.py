"""Real data: handwritten digits, and COVTYPE as in Appendices B.2, F and G of the paper."""

from __future__ import annotations

import gzip
import hashlib
import os
import warnings
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import sklearn

from calib.base.exceptions import InputError
from calib.base.outputs import write_whole
from calib.data.defaults import RANDOM_STATE
from calib.data.predictions import Predictions
from calib.data.validation import check_choice
from calib.datasets.example import COVER_TYPES, EXAMPLE_TITLES, Example
from calib.files.readers.archives import DAMAGED
from calib.files.readers.source import Progress

#: The three classes of Appendix G: the two frequent ones and the rest.
COVER_TYPES_3 = (*COVER_TYPES[:2], "other")

#: `covtype.data` is 75 MB when unpacked; a compressed file that grows beyond this is refused.
MAX_BYTES = 300_000_000

_WHERE = "https://archive.ics.uci.edu/dataset/31/covertype"

Arrays = dict[str, np.ndarray]


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
    source: str | Path | bytes | IO[bytes] | tuple[np.ndarray, np.ndarray] | None = None,
    *,
    model: str = "forest",
    random_state: int = RANDOM_STATE,
    data_home: str | Path | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> Example:
    """Predict COVTYPE's cover types as the paper does, and cache the predictions on disk.

    30 % of the rows, chosen at random, are for evaluation, and 10 % of the others for calibration; the model
    is fitted on the rest.

    Parameters
    ----------
    source : path, bytes, binary file or pair of arrays, optional
        `covtype.data`, `covtype.data.gz`, a CSV file with the same 55 columns, or what `read_covtype`
        returned. By default scikit-learn's `fetch_covtype` downloads the data once.
    model : {"forest", "logistic"}
        "forest": `RandomForestClassifier` with its defaults on the 7 classes (Appendix B.2). "logistic":
        logistic regression on 3 classes: 1, 2 and other (Appendix G.4).
    random_state : int
        Seed of the splits and of the forest.
    data_home, cache : path, bool
        Folder of downloads and cached predictions; whether to read and write these.
    progress : callable(float, str), optional
        Called with the share of the work that is done, from 0 to 1, and what is being done. An exception that
        it raises ends the work.

    Raises
    ------
    InputError
        If the data can be neither found nor downloaded, or are not COVTYPE.

    Notes
    -----
    Unlike in the paper, features are standardised before the logistic regression, which does not converge
    otherwise.
    """
    check_choice(model, ("forest", "logistic"), "model")
    report = progress or (lambda done, what: None)
    report(0.0, "Reading the data")
    if isinstance(source, tuple):
        features, labels = source
    else:
        features, labels = _fetch(data_home) if source is None else read_covtype(source)
    if len(np.unique(labels)) < 2 or len(labels) < 100:
        raise InputError(
            f"COVTYPE needs at least 100 rows and 2 cover types to fit a model; got {len(labels)} rows and "
            f"{len(np.unique(labels))} cover type(s)"
        )
    from sklearn.datasets import get_data_home

    key = hashlib.blake2b(digest_size=12)
    key.update(repr((features.shape, model, random_state, sklearn.__version__)).encode())
    for array in (features, labels):
        key.update(memoryview(array.tobytes()))
    home = Path(get_data_home(None if data_home is None else str(data_home)))
    file = home / "calib" / f"covtype-{model}-{key.hexdigest()}.npz"
    arrays = _load(file) if cache else None
    if arrays is None:
        arrays = _predict(features, labels, model, random_state, report)
        if cache:
            _store(file, arrays)
    report(1.0, "Done")
    names = COVER_TYPES if model == "forest" else COVER_TYPES_3
    counts = np.bincount(arrays["evaluation_labels"])
    learner = "random forest" if model == "forest" else "logistic regression"
    return Example(
        name="covtype" if model == "forest" else "covtype-3",
        title=f"COVTYPE-{len(names)}, {learner} (real)",
        description=(
            f"A {learner} on {len(labels):,} real rows of COVTYPE with {len(names)} classes; the most "
            f"frequent is {counts.max() / counts[counts > 0].min():,.0f} times as frequent as the rarest."
        ),
        simulated=False,
        calibration=Predictions(arrays["calibration_proba"], arrays["calibration_labels"], names),
        evaluation=Predictions(arrays["evaluation_proba"], arrays["evaluation_labels"], names),
    )


def _fetch(data_home: str | Path | None) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_covtype

    home = None if data_home is None else str(data_home)
    try:
        bunch: Any = fetch_covtype(data_home=home, n_retries=1)
    except OSError as error:
        raise InputError(
            "COVTYPE is not on this machine and could not be downloaded "
            f"({getattr(error, 'reason', None) or error}): connect to the internet once, or pass "
            f"covtype.data, covtype.data.gz or a CSV file of it, from {_WHERE}."
        ) from error
    return np.ascontiguousarray(bunch.data, np.float32), bunch.target.astype(np.int64) - 1


def read_covtype(source: str | Path | bytes | IO[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, 54) float32 features and (n,) labels 0..6 of a local file."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        if not path.is_file():
            raise InputError(f"there is no file {str(source)!r}; download COVTYPE from {_WHERE}")
        raw = path.read_bytes()
    else:
        raw = source if isinstance(source, bytes) else source.read()
    if raw[:2] == b"\x1f\x8b":
        raw = _unpack(raw)
    header = 0 if any(chr(byte).isalpha() for byte in raw.split(b"\n", 1)[0]) else None
    expected = "COVTYPE has 54 numeric columns and then the cover type 1..7"
    try:
        table = pd.read_csv(
            BytesIO(raw), header=header, encoding="ascii", encoding_errors="replace", low_memory=False
        )
        values = table.to_numpy(np.float32)
    except ValueError as error:  # pandas' parser errors are ValueErrors
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"{expected}; this file does not read as such a table ({reason})") from None
    if values.shape[1] != 55:
        raise InputError(
            f"{expected}; this file has {values.shape[1]} columns. Download COVTYPE from {_WHERE}."
        )
    if header == 0 and str(table.columns[-1]).lower() != "cover_type":
        raise InputError(f"{expected}, in a column named Cover_Type; here it is {str(table.columns[-1])!r}")
    features, types = np.ascontiguousarray(values[:, :54]), values[:, 54]
    invalid = ~(np.isfinite(features).all(axis=1) & np.isin(types, np.arange(1, 8)))
    if invalid.any():
        raise InputError(
            f"{expected}; {int(invalid.sum()):,} of {len(invalid):,} rows are not like that, the first is "
            f"data row {int(invalid.argmax())} with cover type {types[invalid.argmax()]:g}"
        )
    return features, types.astype(np.int64) - 1


def _unpack(raw: bytes) -> bytes:
    try:
        unpacked = gzip.GzipFile(fileobj=BytesIO(raw)).read(MAX_BYTES + 1)
    except DAMAGED as error:
        raise InputError(f"the gzip file is damaged or cut short ({error}); download it again") from None
    if len(unpacked) > MAX_BYTES:
        raise InputError(f"the gzip file unpacks to more than {MAX_BYTES // 1_000_000} MB; COVTYPE has 75 MB")
    return unpacked


def _predict(
    features: np.ndarray, labels: np.ndarray, model: str, random_state: int, report: Progress
) -> Arrays:
    from sklearn.model_selection import train_test_split

    n_classes = len(COVER_TYPES)
    if model == "logistic":
        n_classes = len(COVER_TYPES_3)
        labels = np.minimum(labels, n_classes - 1)
    train, evaluation = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=random_state)
    train, calibration = train_test_split(train, test_size=0.1, random_state=random_state)
    if len(np.unique(labels[train])) < 2:
        raise InputError("the training rows hold a single cover type; pass a file with more rows")
    fit = _grow_forest if model == "forest" else _fit_logistic
    fitted = fit(features[train], labels[train], random_state, report)
    arrays: Arrays = {}
    done, total = 0, len(calibration) + len(evaluation)
    for name, rows in (("calibration", calibration), ("evaluation", evaluation)):
        # Columns by class code: a class without training rows has a column of zeros.
        proba = np.zeros((len(rows), n_classes))
        for block in np.array_split(np.arange(len(rows)), max(len(rows) // 20_000, 1)):
            report(0.9 + 0.1 * done / total, f"Predicting the {name} rows")
            done += len(block)
            proba[block[:, None], fitted.classes_] = fitted.predict_proba(features[rows[block]])
        # Threads add the trees' votes in any order; rounding removes the difference.
        arrays[f"{name}_proba"] = np.round(proba, 12)
        arrays[f"{name}_labels"] = labels[rows]
    return arrays


def _grow_forest(features: np.ndarray, labels: np.ndarray, random_state: int, report: Progress) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_jobs=-1, random_state=random_state)
    n_trees, step = forest.n_estimators, 2 * (os.cpu_count() or 1)
    forest.set_params(warm_start=True)
    for trees in [*range(step, n_trees, step), n_trees]:
        forest.set_params(n_estimators=trees).fit(features, labels)
        report(0.9 * trees / n_trees, f"Growing the forest: {trees} of {n_trees} trees")
    return forest


def _fit_logistic(features: np.ndarray, labels: np.ndarray, random_state: int, report: Progress) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    report(0.1, "Fitting the logistic regression")
    return make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky")).fit(features, labels)


def _load(file: Path) -> Arrays | None:
    names = [f"{rows}_{array}" for rows in ("calibration", "evaluation") for array in ("proba", "labels")]
    if not file.is_file():
        return None
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except (*DAMAGED, KeyError) as error:
        warnings.warn(f"cached predictions {file.name} are damaged and computed again: {error}", stacklevel=3)
        return None


def _store(file: Path, arrays: Arrays) -> None:
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, content.getvalue())
    except OSError as error:
        warnings.warn(f"the predictions could not be cached in {file.parent}: {error}", stacklevel=3)
