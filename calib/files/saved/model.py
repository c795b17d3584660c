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
from calib.files.saved.fields import ANY, Listed, Record, choice, naming_file, real, whole

FORMAT, VERSION = "calib-model", 1
#: Largest file of a model, and largest sum of its members.
MAX_MODEL_BYTES = 4 * 2**30
#: Parameters of the model that are saved; the fitted pairs replace the folds.
PARAMETERS = ("calibration", "random_state", "ensemble", "response")

_ABOUT = Record(
    {
        "format": choice(FORMAT),
        "version": whole(VERSION, VERSION),
        "params": Record(dict.fromkeys(PARAMETERS, ANY)),
        "n_calibration": whole(0),
        "pairs": Listed(Record({"response": choice(*RESPONSES[1:]), "scale": real(1.0)}), 1, 1_000),
    }
)


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
            with naming_file("model file"):
                about = _ABOUT.decode(json.loads(_member(archive, "model.json", MAX_BYTES)), "", {})
            pairs = about["pairs"]
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
    model = CalibratedModel(classifiers["estimator"], clone(calibrators[0]), **about["params"])
    model.classes_ = classifiers["classes"]
    built = []
    for estimator, calibrator, pair in zip(classifiers["fitted"], calibrators, pairs, strict=True):
        fitted_pair = FittedPair(estimator, pair["response"], model.classes_)
        fitted_pair.scale, fitted_pair.calibrator = float(pair["scale"]), calibrator
        built.append(fitted_pair)
    model.set_pairs(built, about["n_calibration"])
    return model


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
