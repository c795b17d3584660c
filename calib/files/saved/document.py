"""Calibrator files: JSON that anyone can read, nobody can execute, and that is checked before use."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import CalibratorFileError, InputError
from calib.calibrators.catalogue import full_name
from calib.data.kinds import lacks
from calib.files.saved.fields import closed, closed_schema, mismatch, short
from calib.files.saved.origin import (
    NAMES,
    ORIGIN,
    RULES,
    decode_names,
    decode_origin,
    decode_rule,
    encode_names,
    encode_origin,
    encode_rule,
)
from calib.files.saved.types import TYPES, binary_state_schema, layout_named, layout_of

FORMAT = "calib-calibrator"
VERSION = 1
KEYS = ("format", "version", "type", "params", "state", "classes", "fitted_on", "checksum")

#: Most bytes of a file: Dirichlet scaling of 2,000 classes has 4 million numbers and 84 MB.
MAX_BYTES = 128 * 2**20
MAX_VALUES = 5_000_000
#: Memory that values of JSON may take beyond ten times the file.
FREE_MEMORY = 48 << 20
#: Bytes of memory for an object, a list, a key and a value of JSON; a text has 48 more for its quotes.
SIGN_BYTES = {b"{": 64, b"[": 88, b":": 250, b",": 32}


def load_calibrator(file: str | os.PathLike[str] | BinaryIO) -> Any:
    """Read a file of a calibrator, and of nothing else that `calib.load` reads."""
    return loads(content_of(file))


def content_of(file: str | os.PathLike[str] | BinaryIO) -> bytes:
    """Return the content of a file, cut off where it is too large to load."""
    if not isinstance(file, (str, os.PathLike)):
        if not hasattr(file, "read"):
            raise InputError(f"pass a path or an open file; got a {type(file).__name__}")
        return file.read(MAX_BYTES + 1)
    with Path(file).open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def dumps(
    calibrator: BaseEstimator,
    *,
    class_names: Sequence[str] | None = None,
    fitted_on: Any = None,
    log: Sequence[str] = (),
    choices: int = 1,
) -> bytes:
    layout = layout_of(calibrator, TYPES)
    check_is_fitted(calibrator)
    n_classes = getattr(calibrator, "n_classes_", None)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **layout.encode(calibrator),
        "classes": encode_names(calibrator, n_classes, class_names, fitted_on),
        "fitted_on": encode_origin(calibrator, fitted_on, log, choices),
    }
    if (rule := getattr(calibrator, "rule_", None)) is not None:
        document["rule"] = encode_rule(rule)
    _decoded(document)
    data = write_document(document)
    _check_size(data)
    return data


def loads(data: bytes) -> Any:
    """Return the calibrator in the bytes of a calibrator file; see `calib.load`."""
    return _decoded(read_document(data, FORMAT, VERSION, KEYS, may_lack=("rule",)))


def write_document(document: dict[str, Any]) -> bytes:
    """Return a document as JSON, with a line for each key; the last key is its checksum."""
    document["checksum"] = checksum(document)
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def read_document(
    data: Any,
    format: str,
    version: int,
    keys: Sequence[str],
    *,
    may_lack: Sequence[str] = (),
    n_values: int = MAX_VALUES,
    stored: int | None = None,
) -> dict[str, Any]:
    """Check the checksum of the bytes of a file, and return the document without it.

    It is JSON without repeated keys or infinite numbers, with at most `n_values` values. Keys in `may_lack`
    may be missing. A compressed file has `stored` bytes.
    """
    if not isinstance(data, (bytes, bytearray)):
        raise CalibratorFileError("a calibrator file is read as bytes; open it in binary mode")
    _check_size(data, n_values, stored)
    document = parse(data, format)
    check_version(document, version)
    closed(document, (*keys, *may_lack), "the file", may_lack)
    stored = document.pop("checksum")
    try:
        damaged = stored != checksum(document)
    except RecursionError:
        raise CalibratorFileError("calibrator file: values are nested too deeply") from None
    if damaged:
        raise CalibratorFileError(
            "calibrator file: the checksum does not match the content; the file was changed or "
            "damaged after it was saved"
        )
    return document


def parse(data: bytes | bytearray, format: str) -> dict[str, Any]:
    """Return the JSON object in the bytes of a file of one format; keys and the version are not checked."""
    try:
        document = json.loads(
            bytes(data).decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_finite,
            parse_float=_finite,
        )
    except CalibratorFileError:
        raise
    except RecursionError:
        raise CalibratorFileError("calibrator file: values are nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise CalibratorFileError(
            "this is not a calibrator file: it is not JSON; give the file that calib saved"
        ) from None
    except ValueError as error:
        raise CalibratorFileError(f"this is not a calibrator file: {short(str(error))}") from None
    if not isinstance(document, dict) or document.get("format") != format:
        raise CalibratorFileError(
            f'this is not a calibrator file: it is not a JSON object with "format": "{format}"'
        )
    return document


def most_memory(stored: int) -> int:
    """Return the bytes of memory that the values of JSON may take, of a file of `stored` bytes."""
    return 10 * stored + FREE_MEMORY


def memory_of_json(data: bytes | bytearray) -> int:
    """Return the most bytes of memory that reading JSON takes: its text twice, and its values."""
    is_plain = data.isascii() and b"\\u" not in data
    quotes = data.count(b'"') - data.count(b'\\"')
    values = sum(size * data.count(sign) for sign, size in SIGN_BYTES.items())
    return (3 if is_plain else 9) * len(data) + 24 * quotes + values


def check_version(document: Mapping[str, Any], *versions: int) -> None:
    if type(document.get("version")) is not int or document["version"] not in versions:
        expected = " or ".join(map(str, versions))
        raise mismatch("version", f"{expected} for this calib", document.get("version"))


def aligned(predictions: Any, calibrator: BaseEstimator) -> Any:
    """Put the columns or codes of predictions in the order of the classes that a calibrator was fitted on.

    Classes are matched by name if both have names; default names "0", "1", ... count as unnamed. P(Y = 1) of
    the other class becomes 1 - p.
    """
    n_classes, names = getattr(calibrator, "n_classes_", None), getattr(calibrator, "class_names_", None)
    if n_classes is None:
        if lacks(predictions.kind, "calibrator:one score") is not None:
            raise InputError(
                f"{full_name(calibrator)} calibrates the scores of one event, not class probabilities"
            )
        return predictions if names is None else predictions.in_order_of(names)
    if "one score" in predictions.has:
        raise InputError(str(lacks(predictions.kind, "notion:top-label")))
    if "announced class" in predictions.has:
        return predictions.in_order_of(names)
    if predictions.n_classes != n_classes:
        raise InputError(
            f"the calibrator was fitted on {n_classes} classes, the predictions have {predictions.n_classes}"
        )
    return predictions if names is None else predictions.in_order_of(names)


def matched_by_position(predictions: Any, calibrator: BaseEstimator) -> bool:
    """Whether columns are matched by position, because predictions or calibrator name no classes."""
    held = getattr(predictions, "class_names", None)
    names = getattr(calibrator, "class_names_", getattr(calibrator, "class_names", None))
    if held is None or names is None:
        return True
    numbers = tuple(str(code) for code in range(len(held)))
    return tuple(names) != tuple(held) and numbers in (tuple(held), tuple(names))


def checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a file's sorted content, which detects damage but is no signature."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of version 1 files, shipped as calibrator.schema.json.

    `load` also checks order, agreement of sizes and counts, finiteness, and the checksum.
    """
    parts = {
        "classes": NAMES.schema,
        "fitted_on": ORIGIN.schema,
        "rule": {"anyOf": [record.schema for record in RULES.values()]},
    }
    shared = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        **{name: {"$ref": f"#/$defs/{name}"} for name in parts},
        "checksum": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "calib calibrator file, version 1",
        "anyOf": [
            closed_schema(shared | layout.schema()["properties"], ("rule",)) for layout in TYPES.values()
        ],
        "$defs": parts | {"binary_state": binary_state_schema()},
    }


def _decoded(document: dict[str, Any]) -> Any:
    layout = layout_named(document["type"], TYPES, "type")
    sizes: dict[str, int] = {}
    params = layout.params.decode(document["params"], "params", sizes)
    calibrator = layout.decode_state(params, document["state"], "state", sizes)
    calibrator.class_names_ = decode_names(document["classes"], sizes.get("L"))
    calibrator.fitted_on_ = decode_origin(document["fitted_on"], sizes.get("n"))
    if "rule" in document:
        calibrator.rule_ = decode_rule(document["rule"], sizes.get("L"))
    return calibrator


def _check_size(data: bytes | bytearray, n_values: int = MAX_VALUES, stored: int | None = None) -> None:
    for size, most, unit in (
        (len(data), n_values // MAX_VALUES * MAX_BYTES, "bytes"),
        (data.count(b","), n_values, "values"),
        (memory_of_json(data), most_memory(stored or len(data)), "bytes of memory"),
    ):
        if size > most:
            raise CalibratorFileError(f"calibrator file: more than {most:,} {unit}; it is too large to load")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise CalibratorFileError("calibrator file: an object has the same key twice")
    return document


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise CalibratorFileError(f"calibrator file: holds {short(text)}, which is not a finite number")
    return value
