"""Calibrator files: JSON that anyone can read, nobody can execute, and that is checked before use."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import CalibratorFileError, InputError
from calib.base.version import __version__
from calib.calibrators.acceptance import NEVER, AcceptanceRule, ActionRule, LevelRule
from calib.calibrators.calibrator import Calibrator
from calib.calibrators.catalogue import full_name
from calib.calibrators.multiclass import clusters_of_fit
from calib.data.equal_rows import MAX_KEYS, smallest_keys
from calib.data.kinds import lacks
from calib.data.predictions import BinaryPrediction
from calib.data.validation import check_count
from calib.files.saved.fields import (
    FLAG,
    Array,
    Listed,
    Maybe,
    Record,
    Scalar,
    Sizes,
    choice,
    closed,
    closed_schema,
    free_text,
    mismatch,
    real,
    short,
    text,
    whole,
)
from calib.files.saved.types import TYPES, OneOf, binary_state_schema, layout_of

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

#: Longest class name in a file, in characters.
MAX_NAME = 1_000
#: Most fixes a file records.
MAX_FIXES = 100
#: Most levels of a hierarchy of classes.
MAX_LEVELS = 50

_DATE_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def _is_date(date: str) -> bool:
    try:
        return datetime.strptime(date, _DATE_FORMAT).strftime(_DATE_FORMAT) == date
    except ValueError:
        return False


def _matching(pattern: str, expected: str) -> Scalar:
    return text(expected, re.compile(pattern).fullmatch, pattern=f"^{pattern}$")


DATE = text("a UTC time like 2026-01-31T12:00:00Z", _is_date, format="date-time")
VERSION_NUMBER = _matching("[0-9A-Za-z.+!_-]{1,40}", "a version number")
#: A line of text that a user or calib wrote: a name or a fix.
_LINE = free_text(MAX_NAME)


class _Keys:
    """Keys of rows that it was fitted on (`calib.data.equal_rows`), 16 hex digits each."""

    _digits = _matching(f"([0-9a-f]{{16}}){{1,{MAX_KEYS}}}", f"1 to {MAX_KEYS} keys of 16 hex digits")
    schema = _digits.schema

    def encode(self, value: Any) -> str:
        return np.array(value, dtype=">u8").tobytes().hex()

    def decode(self, value: Any, where: str, sizes: Sizes) -> tuple[int, ...]:
        digits = bytes.fromhex(self._digits.decode(value, where, sizes))
        return tuple(np.frombuffer(digits, dtype=">u8").tolist())


ORIGIN = Record(
    {
        "n": Maybe(whole()),
        "fingerprint": Maybe(_matching("[0-9a-f]{32}", "null or 32 hex digits")),
        "date": DATE,
        "calib_version": VERSION_NUMBER,
        "log": Listed(_LINE, 1, MAX_FIXES),
        "choices": whole(2),
        "clusters": whole(),
        "keys": _Keys(),
    },
    {"log": (), "choices": 1, "clusters": None, "keys": ()},
)

NAMES = Maybe(Listed(_LINE, 2, distinct=True))


@dataclass(frozen=True)
class _Thresholds(Array):
    """Thresholds, of which infinity, which accepts nothing, is written as `NEVER`."""

    def encode(self, value: Any) -> Any:
        return super().encode(np.minimum(value, NEVER))

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        thresholds = super().decode(value, where, sizes)
        return np.where(thresholds >= NEVER, np.inf, thresholds)


#: The rules that a calibrator may carry: for accepting predictions, for levels of a hierarchy, or for acting.
RULES: dict[type, Record] = {
    AcceptanceRule: Record(
        {
            "target": choice("accuracy", "reviews", "cost"),
            "value": real(0.0),
            "by": Maybe(choice("class", "group")),
            "alpha": real(0.0, 1.0),
            "of_event": FLAG,
            "thresholds": _Thresholds(("T",), 0.0, NEVER),
            "guarantee": Maybe(_LINE),
            "groups": Listed(_LINE, distinct=True),
            "column": Maybe(_LINE),
        },
        {"groups": (), "column": None},
        AcceptanceRule,
    ),
    LevelRule: Record(
        {
            "levels": Listed(_LINE, 2, MAX_LEVELS, size="H"),
            "tree": Listed(Listed(_LINE, 2), 2, MAX_LEVELS),
            "thresholds": _Thresholds(("H",), 0.0, NEVER),
            "accuracy": real(0.0, 1.0),
            "alpha": real(0.0, 1.0),
            "guarantee": Maybe(_LINE),
        },
        make=LevelRule,
    ),
    ActionRule: Record(
        {"threshold": Maybe(real(0.0, 1.0)), "alpha": real(0.0, 1.0), "guarantee": Maybe(_LINE)},
        make=ActionRule,
    ),
}


@dataclass(frozen=True)
class FittedOn:
    """Where a calibrator came from, as its file says."""

    n_samples: int | None  #: Number of calibration rows; None if they were not given to `save`
    fingerprint: str | None  #: `Predictions.fingerprint` of the calibration rows, 32 hex digits
    date: str  #: When it was first saved, UTC, like "2026-01-31T12:00:00Z"
    calib_version: str  #: Version of calib that saved it
    #: Fixes applied to the calibration rows; if there are none, the file has no log
    log: tuple[str, ...] = ()
    #: Calibrators fitted on these rows from which this one was chosen by their labels, itself included
    choices: int = 1
    #: The smallest hashes of the calibration rows' scores (`calib.data.equal_rows.smallest_keys`)
    keys: tuple[int, ...] = ()
    #: Clusters that the calibration rows belong to; None if they count as independent
    n_clusters: int | None = None


def today() -> str:
    return datetime.now(UTC).strftime(_DATE_FORMAT)


def decode_names(raw: Any, n_classes: int | None) -> tuple[str, ...] | None:
    """Return the checked names; for a binary calibrator (`n_classes` None), None or two names."""
    names: tuple[str, ...] | None = NAMES.decode(raw, "classes", {})
    if n_classes is None and len(names or ()) not in (0, 2):
        raise mismatch("classes", "null, or the two classes of a binary calibrator", raw)
    if n_classes is not None and len(names or ()) != n_classes:
        raise mismatch("classes", f"a list of {n_classes:,} names", raw)
    return names


def decode_origin(raw: Any, n_points: int | None) -> FittedOn:
    """Return the checked origin; `n_points` is the number of rows in the state, if it counts them."""
    origin = ORIGIN.decode(raw, "fitted_on", {})
    if None not in (origin["n"], n_points) and origin["n"] != n_points:
        raise mismatch("fitted_on.n", f"{n_points:,}, the number of rows in state", origin["n"])
    return FittedOn(n_samples=origin.pop("n"), n_clusters=origin.pop("clusters"), **origin)


def encode_names(
    calibrator: BaseEstimator, n_classes: int | None, class_names: Sequence[str] | None, fitted_on: Any
) -> list[str] | None:
    """Return the names to store, or raise `InputError` if there is not one per class."""
    if n_classes is None:
        if isinstance(fitted_on, BinaryPrediction):
            return list(fitted_on.class_names if class_names is None else map(str, class_names))
        former = getattr(calibrator, "class_names_", None)
        return None if former is None else list(former)
    if fitted_on is not None and n_classes != fitted_on.n_classes:
        raise InputError(
            f"the calibrator was fitted on {n_classes} classes, fitted_on has {fitted_on.n_classes}; "
            "pass the rows it was fitted on"
        )
    names = fitted_on.class_names if class_names is None and fitted_on is not None else class_names
    if names is None:
        names = getattr(calibrator, "class_names_", None) or [str(code) for code in range(n_classes)]
    if isinstance(names, str) or len(names) != n_classes:
        raise InputError(f"class_names needs one name per class: got {len(names)} for {n_classes}")
    return [str(name) for name in names]


def encode_origin(
    calibrator: BaseEstimator, fitted_on: Any, log: Sequence[str] = (), choices: int = 1
) -> dict[str, Any]:
    """Return the origin to store: of `fitted_on`, else the origin that the calibrator was loaded with."""
    origin = getattr(calibrator, "fitted_on_", None)
    choices = max(check_count(choices, "choices"), 1 if origin is None else origin.choices)
    if fitted_on is not None or origin is None:
        origin = FittedOn(None, None, today(), __version__)
        if fitted_on is not None:
            keys = tuple(smallest_keys(fitted_on).tolist())
            origin = replace(
                origin, n_samples=fitted_on.n_samples, fingerprint=fitted_on.fingerprint, keys=keys
            )
    lines = tuple(str(line)[:MAX_NAME] for line in (*log, *origin.log))[:MAX_FIXES]
    clusters = clusters_of_fit(calibrator if fitted_on is None else fitted_on)
    known = vars(origin) | {"n": origin.n_samples, "log": lines, "choices": choices, "clusters": clusters}
    return ORIGIN.encode(SimpleNamespace(**known))


def decode_rule(raw: Any, n_classes: int | None) -> AcceptanceRule | LevelRule | ActionRule:
    """Return the checked rule of a calibrator of `n_classes` classes (None: of one score)."""
    known = {"threshold": ActionRule, "levels": LevelRule}
    kind = next((known[key] for key in known if isinstance(raw, dict) and key in raw), AcceptanceRule)
    rule: AcceptanceRule | LevelRule | ActionRule = RULES[kind].decode(raw, "rule", {})
    if isinstance(rule, ActionRule):
        if n_classes not in (None, 2):
            raise mismatch("rule", "thresholds of several classes", raw)
    elif isinstance(rule, LevelRule):
        if len(rule.tree) != len(rule.levels) or {*map(len, rule.tree)} != {n_classes or 0}:
            raise mismatch("rule.tree", f"a list of {n_classes or 0:,} names for each level", raw["tree"])
    else:
        of_class = n_classes or (2 if rule.of_event else 1)
        expected = {None: 1, "class": of_class, "group": len(rule.groups)}[rule.by]
        if len(rule.thresholds) != expected:
            raise mismatch("rule.thresholds", f"a list of {expected:,} numbers", raw["thresholds"])
    return rule


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
        record = next(record for kind, record in RULES.items() if isinstance(rule, kind))
        document["rule"] = record.encode(rule)
    _decoded(document)
    data = write_document(document)
    _check_size(data)
    return data


def loads(data: bytes) -> Calibrator:
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
            "this is not a calibrator file: it is not JSON; give a file of calib.save. For a file of "
            "calib.save_model use calib.load_model"
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
    if "predicted class" in predictions.has:
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
    sizes: dict[str, int] = {}
    own = {key: document[key] for key in ("type", "params", "state")}
    calibrator = OneOf(TYPES, fitted=True).decode(own, "", sizes)
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
