"""A `CalibratedModel` as one file: calibrators as JSON, the classifier through skops, nothing as a pickle."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import CalibratorFileError, InputError, not_installed
from calib.base.outputs import write_whole
from calib.calibrators.calibrated_model import RESPONSES, CalibratedModel, FittedPair
from calib.files.readers.archives import DAMAGED, open_archive
from calib.files.saved.document import MAX_BYTES, dumps, loads

FORMAT, VERSION = "calib-model", 1
#: Largest file of a model, and largest sum of its members.
MAX_MODEL_BYTES = 4 * 2**30
#: Parameters of the model that are kept; the pairs replace the folds.
PARAMETERS = ("calibration", "random_state", "ensemble", "response")


def save_model(model: CalibratedModel, file: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a fitted `CalibratedModel` to one file that `load_model` reads back.

    The file is a zip of model.json, calibrator-0.json, ... as `save` writes them, and classifiers.skops.

    Parameters
    ----------
    model : fitted CalibratedModel
        Its classifier is anything that skops can store.
    file : path or binary file object

    Raises
    ------
    CalibratorFileError
        If a file cannot hold one of the calibrators.
    OSError
        If a path cannot be written; an earlier file is unchanged.
    """
    check_is_fitted(model)
    names = [str(name) for name in model.classes_]
    about = {
        "format": FORMAT,
        "version": VERSION,
        "params": {name: _plain(getattr(model, name)) for name in PARAMETERS},
        "n_calibration": model.n_calibration_,
        "pairs": [{"response": pair.response, "scale": pair.scale} for pair in model.pairs_],
    }
    classifiers = {
        "estimator": model.estimator,
        "fitted": [pair.estimator for pair in model.pairs_],
        "classes": np.asarray(model.classes_),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(about, indent=1))
        for number, pair in enumerate(model.pairs_):
            archive.writestr(f"calibrator-{number}.json", dumps(pair.calibrator, class_names=names))
        archive.writestr("classifiers.skops", _skops().dumps(classifiers))
    write_whole(file, content.getvalue())


def load_model(file: str | os.PathLike[str] | BinaryIO, *, trusted: Sequence[str] = ()) -> CalibratedModel:
    """Read a file written by `save_model`.

    Parameters
    ----------
    file : path or binary file object
    trusted : sequence of str
        Types of the classifier that may be built besides skops's, NumPy's and scikit-learn's. Building a type
        runs its code: trust what you know.

    Returns
    -------
    CalibratedModel
        It predicts what the saved model did. `cv` and `n_jobs` are not kept.

    Raises
    ------
    CalibratorFileError
        If the file, or a calibrator in it, is invalid.
    InputError
        If the classifier has types that are not trusted (the message names them).
    """
    content = Path(file).read_bytes() if isinstance(file, (str, os.PathLike)) else file.read()
    try:
        with open_archive(io.BytesIO(content), "archive") as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_MODEL_BYTES:
                raise CalibratorFileError(
                    "model file: it expands to more than 4 GiB; it is too large to load"
                )
            about = json.loads(_member(archive, "model.json", MAX_BYTES))
            pairs = _pairs_of(about)
            written = _member(archive, "classifiers.skops", MAX_MODEL_BYTES)
            calibrators = [
                loads(_member(archive, f"calibrator-{number}.json", MAX_BYTES))
                for number in range(len(pairs))
            ]
    except CalibratorFileError:
        raise
    except DAMAGED as error:  # also what JSON raises that is none, or too deep
        raise CalibratorFileError(f"this is not a model file: {error}") from None
    skops = _skops()
    unknown = sorted(set(skops.get_untrusted_types(data=written)) - set(trusted))
    if unknown:
        raise InputError(
            f"the classifier in the file has types that are not trusted: {', '.join(unknown)}; if you know "
            f"them, pass trusted={unknown!r}"
        )
    classifiers = skops.loads(written, trusted=list(trusted))
    if not isinstance(classifiers, dict) or set(classifiers) != {"estimator", "fitted", "classes"}:
        raise CalibratorFileError("model file: classifiers.skops does not hold the classifiers of a model")
    if len(classifiers["fitted"]) != len(pairs):
        raise CalibratorFileError("model file: the numbers of classifiers and calibrators differ")
    parameters = {name: about["params"][name] for name in PARAMETERS}
    model = CalibratedModel(classifiers["estimator"], clone(calibrators[0]), **parameters)
    model.classes_ = classifiers["classes"]
    built = []
    for estimator, calibrator, pair in zip(classifiers["fitted"], calibrators, pairs, strict=True):
        fitted_pair = FittedPair(estimator, pair["response"], model.classes_)
        fitted_pair.scale, fitted_pair.calibrator = float(pair["scale"]), calibrator
        built.append(fitted_pair)
    model.set_pairs(built, int(about["n_calibration"]))
    return model


def _pairs_of(about: Any) -> list[dict[str, Any]]:
    known = isinstance(about, dict) and about.get("format") == FORMAT
    if not known or about.get("version") != VERSION:
        raise CalibratorFileError(f'model file: expected "format": "{FORMAT}" and "version": {VERSION}')
    pairs, params = about.get("pairs"), about.get("params")
    sound = (
        isinstance(params, dict)
        and set(params) == set(PARAMETERS)
        and isinstance(about.get("n_calibration"), int)
        and isinstance(pairs, list)
        and 0 < len(pairs) <= 1_000
        and all(
            isinstance(pair, dict)
            and set(pair) == {"response", "scale"}
            and pair["response"] in RESPONSES[1:]
            and isinstance(pair["scale"], float)
            and 1.0 <= pair["scale"] < np.inf
            for pair in pairs
        )
    )
    if not sound:
        raise CalibratorFileError(
            "model file: model.json does not describe a model; it was changed or damaged"
        )
    return pairs


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise CalibratorFileError(f"this is not a model file: it has no {name}") from None
    if info.file_size > most:
        raise CalibratorFileError(f"model file: {name} has more than {most:,} bytes; it is too large to load")
    return archive.read(info)


def _plain(value: Any) -> Any:
    """Return a parameter as a JSON value; a seed that is a generator becomes null."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (bool, int, float, str)) else None


def _skops() -> Any:
    try:  # an extra
        import skops.io
    except ImportError:
        raise not_installed("skops", "skops") from None
    return skops.io
