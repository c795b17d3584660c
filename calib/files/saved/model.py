"""A `CalibratedModel` as one file: calibrators as JSON, the classifier through skops, nothing as a pickle."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import CalibratorFileError, InputError, not_installed
from calib.base.outputs import write_whole
from calib.calibrators.calibrated_model import RESPONSES, CalibratedModel, FittedPair
from calib.files.readers.source import Limits, open_archive, open_source
from calib.files.saved.document import dumps, loads, parse
from calib.files.saved.fields import ANY, Listed, Record, choice, naming_file, real, whole
from calib.files.saved.members import Members, packed

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
    members = {"classifiers.skops": _skops().dumps(classifiers)}
    for number, pair in enumerate(model.pairs_):
        members[f"calibrator-{number}.json"] = dumps(pair.calibrator, class_names=names)
    write_whole(file, packed({**members, "model.json": json.dumps(about, indent=1).encode()}))


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
    InputError
        If the file, or what is in it, is damaged; or if the classifier has types that are not trusted (the
        message names them).
    """
    limits = Limits(file_bytes=MAX_MODEL_BYTES, expanded_bytes=MAX_MODEL_BYTES).begun()
    opened = open_source(file, limits)
    with naming_file("model file"), opened.open() as stored, open_archive(stored, "model file") as archive:
        members = Members(archive, opened.size, limits, "model file")
        members.tighten()
        about = _ABOUT.decode(parse(members.read_json("model.json"), FORMAT), "", {})
        pairs = about["pairs"]
        names = [f"calibrator-{number}.json" for number in range(len(pairs))]
        calibrators = [loads(members.read_json(name)) for name in names]
        classifiers = _classifiers(members.read("classifiers.skops"), members, trusted)
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


def _classifiers(data: bytes, members: Members, trusted: Sequence[str]) -> dict[str, Any]:
    with open_archive(io.BytesIO(data), "model file") as archive:
        inner = Members(archive, members.stored, members.limits, "model file")
        inner.tighten()
        inner.read_json("schema.json")
    skops = _skops()
    found: Any = None
    try:
        unknown = sorted(set(skops.get_untrusted_types(data=data)) - set(trusted))
        if not unknown:
            found = skops.loads(data, trusted=list(trusted))
    except Exception as error:  # any that skops or the constructors in a damaged file raise
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise CalibratorFileError(f"model file: its classifiers cannot be built ({reason})") from None
    if unknown:
        raise InputError(
            f"the classifier in the file has types that are not trusted: {', '.join(unknown)}; if you know "
            f"them, pass trusted={unknown!r}"
        )
    is_whole = isinstance(found, dict) and set(found) == {"estimator", "fitted", "classes"}
    if not is_whole or type(found["fitted"]) is not list or np.ndim(found["classes"]) != 1:
        raise CalibratorFileError("model file: classifiers.skops does not hold the classifiers of a model")
    return found


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
