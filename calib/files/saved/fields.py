"""Fields of a calibrator file: how a value is written, checked, read and described.

A field writes a value as JSON (`encode`), checks a JSON value and returns it (`decode`), and describes itself
in JSON Schema (`schema`). `decode` raises `CalibratorFileError` and nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from calib.base.exceptions import CalibratorFileError

#: Whole numbers in a file are at most this, so that they fit an int64 array with room to add.
LARGEST = 2**62
#: Half of a character, which no file, page or figure can hold.
SURROGATE = re.compile("[\ud800-\udfff]")
#: Sizes by name as read so far: "L" is the number of classes.
Sizes = dict[str, int]


def short(value: Any) -> str:
    """Describe a JSON value in at most about 60 characters."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value):,}"
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a whole number out of range"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def mismatch(where: str, expected: str, value: Any) -> CalibratorFileError:
    """Return the error that names the place in the file, the expected value and the value found."""
    return CalibratorFileError(f"calibrator file: {where} must be {expected}; got {short(value)}")


@contextmanager
def naming_file(what: str) -> Iterator[None]:
    """Name another kind of file than a calibrator's in the errors of its fields."""
    try:
        yield
    except CalibratorFileError as error:
        raise CalibratorFileError(str(error).replace("calibrator file", what)) from None


class Field(Protocol):
    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the value."""

    def encode(self, value: Any) -> Any:
        """Return the value as JSON types."""

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the checked value, or raise `CalibratorFileError`."""


@dataclass(frozen=True)
class Scalar:
    """A number, a text, or true or false."""

    expected: str  #: What the value must be, in words
    is_sound: Callable[[Any], bool]  #: Whether a JSON value meets that
    schema: dict[str, Any]  #: The same as JSON Schema
    encode: Callable[[Any], Any]  #: Makes the JSON value
    #: Name of the value as a dimension of arrays, such as "L"; its value must agree throughout the file
    size: str | None = None

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        if not self.is_sound(value):
            raise mismatch(where, self.expected, value)
        if self.size is not None and sizes.setdefault(self.size, value) != value:
            raise mismatch(where, f"{sizes[self.size]}, the {self.size} of the rest", value)
        return value


def whole(low: int = 1, high: int = LARGEST, *, size: str | None = None) -> Scalar:
    return Scalar(
        f"a whole number from {low} to {high}",
        lambda value: type(value) is int and low <= value <= high,
        {"type": "integer", "minimum": low, "maximum": high},
        int,
        size,
    )


def real(low: float = -math.inf, high: float = math.inf) -> Scalar:
    def is_sound(value: Any) -> bool:
        finite = (
            math.isfinite(value) if type(value) is float else type(value) is int and abs(value) <= LARGEST
        )
        return finite and low <= value <= high

    return Scalar(
        f"a finite number from {low} to {high}",
        is_sound,
        {"type": "number"} | _bounds(low, high),
        lambda value: value if type(value) is int else float(value),
    )


def choice(*words: str) -> Scalar:
    expected = "one of " + ", ".join(map(repr, words))
    return Scalar(
        expected, lambda value: isinstance(value, str) and value in words, {"enum": list(words)}, str
    )


def either(first: Scalar, second: Scalar) -> Scalar:
    """Return a field that holds a value of either kind."""
    return Scalar(
        f"{first.expected} or {second.expected}",
        lambda value: first.is_sound(value) or second.is_sound(value),
        {"anyOf": [first.schema, second.schema]},
        lambda value: (second if isinstance(value, str) else first).encode(value),
    )


def text(expected: str, is_sound: Callable[[str], Any], **schema: Any) -> Scalar:
    return Scalar(
        expected,
        lambda value: isinstance(value, str) and bool(is_sound(value)),
        {"type": "string"} | schema,
        str,
    )


def free_text(most: int) -> Scalar:
    """Return a field of text that a user or calib wrote, without lone surrogates."""
    return text(
        f"a text of at most {most} characters",
        lambda line: len(line) <= most and not SURROGATE.search(line),
        maxLength=most,
    )


@dataclass(frozen=True)
class Maybe:
    """Null, or another field."""

    field: Field

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "null"}, self.field.schema]}

    def encode(self, value: Any) -> Any:
        return None if value is None else self.field.encode(value)

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        return None if value is None else self.field.decode(value, where, sizes)


FLAG = Scalar("true or false", lambda value: type(value) is bool, {"type": "boolean"}, bool)
#: A value that is checked elsewhere.
ANY = Scalar("anything", lambda value: True, {}, lambda value: value)
#: A seed; generators, whose state says nothing about the fit, are written as null.
SEED = Maybe(
    replace(whole(0), encode=lambda seed: int(seed) if isinstance(seed, (int, np.integer)) else None)
)


@dataclass(frozen=True)
class Array:
    """An array of float64 (or int64, `whole`) with values in [low, high] and named dimensions."""

    #: Names of the dimensions, each a letter for the same number throughout one calibrator: ("b",), ("L-1",),
    #: ("m", "L")
    dims: tuple[str, ...]
    low: float = -math.inf
    high: float = math.inf
    order: str = ""  #: "" (any), "increasing" (strictly) or "non-decreasing"
    whole: bool = False
    least: int = 0  #: Fewest entries

    @property
    def schema(self) -> dict[str, Any]:
        """(Nested) arrays of bounded numbers; order and agreement of sizes are not in the schema."""
        number = {"type": "integer" if self.whole else "number"} | _bounds(self.low, self.high)
        inner = {"type": "array", "items": number}
        return inner if len(self.dims) == 1 else {"type": "array", "items": inner}

    def encode(self, value: Any) -> Any:
        return np.asarray(value, dtype=np.int64 if self.whole else np.float64).tolist()

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        rows = [value] if len(self.dims) == 1 else value
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise mismatch(where, f"a list of {'numbers' if rows is not value else 'rows'}", value)
        if len(value) < self.least:
            raise mismatch(where, f"a list of at least {self.least} numbers", value)
        number_type = int if self.whole else float
        for row in rows:
            wrong = [number for number in row if type(number) is not number_type]
            if wrong:
                numbers = "whole numbers" if self.whole else "numbers with a decimal point"
                raise mismatch(where, f"a list of {numbers}", wrong[0])
            if self.whole and any(abs(number) > LARGEST for number in row):
                raise mismatch(where, f"at most {LARGEST} everywhere", row)
        if len(self.dims) == 2:
            bind(self.dims[0], len(rows), where, sizes)
        for row in rows:
            bind(self.dims[-1], len(row), where, sizes)
        array = np.array(rows, dtype=np.int64 if self.whole else np.float64)
        if not np.isfinite(array).all():
            raise CalibratorFileError(f"calibrator file: {where} holds a number that is not finite")
        outside = array[(array < self.low) | (array > self.high)]
        if len(outside):
            raise mismatch(where, f"numbers from {self.low} to {self.high}", outside[0].item())
        steps = np.diff(array)
        if (self.order == "increasing" and (steps <= 0).any()) or (self.order and (steps < 0).any()):
            at = int(steps.argmin())
            raise CalibratorFileError(
                f"calibrator file: {where} must be {self.order}; entries {at} and {at + 1} are not"
            )
        width = -1 if rows else sizes.get(self.dims[-1], 0)
        return array[0] if len(self.dims) == 1 else array.reshape(len(rows), width)


@dataclass(frozen=True)
class WordOr:
    """One of a few words, or a list or an object that is not empty."""

    word: Scalar
    field: Field
    make: Callable[[Any], Any] = lambda value: value  #: Makes the value of what `field` read

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.word.schema, self.field.schema]}

    def encode(self, value: Any) -> Any:
        return (self.word if isinstance(value, str) else self.field).encode(value)

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        if not value or not isinstance(value, (list, dict)):
            return self.word.decode(value, where, sizes)
        return self.make(self.field.decode(value, where, sizes))


@dataclass(frozen=True)
class Listed:
    """A list of values of one field; they are read as a tuple."""

    field: Field  #: Of each value
    #: Fewest and most values
    least: int = 0
    most: int = LARGEST
    distinct: bool = False  #: Whether no value may occur twice
    size: str | None = None  #: Name of their number as a dimension of arrays

    @property
    def schema(self) -> dict[str, Any]:
        bounds = {"minItems": self.least, "maxItems": self.most, "uniqueItems": self.distinct}
        stated = {key: bound for key, bound in bounds.items() if bound and bound != LARGEST}
        return {"type": "array", "items": self.field.schema} | stated

    def encode(self, value: Any) -> Any:
        return [self.field.encode(entry) for entry in value]

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            most = "" if self.most == LARGEST else f" and at most {self.most:,}"
            raise mismatch(where, f"a list of at least {self.least:,}{most} values", value)
        if self.size is not None:
            bind(self.size, len(value), where, sizes)
        found = tuple(self.field.decode(entry, f"{where}[{at}]", sizes) for at, entry in enumerate(value))
        if self.distinct and len(set(found)) < len(found):
            raise mismatch(where, "a list of distinct values", value)
        return found


@dataclass(frozen=True)
class Named:
    """An object with at most `most` keys, which are names, and values of one field."""

    name: Scalar
    field: Field
    most: int = 1_000

    @property
    def schema(self) -> dict[str, Any]:
        bounds = {"propertyNames": self.name.schema, "maxProperties": self.most}
        return {"type": "object", "additionalProperties": self.field.schema} | bounds

    def encode(self, value: Any) -> Any:
        return {self.name.encode(name): self.field.encode(held) for name, held in value.items()}

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        if not isinstance(value, dict) or len(value) > self.most:
            raise mismatch(where, f"an object of at most {self.most:,} keys", value)
        return {
            self.name.decode(name, f"a key of {where}", sizes): self.field.decode(
                held, f"{where}[{short(name)}]", sizes
            )
            for name, held in value.items()
        }


@dataclass(frozen=True)
class Record:
    """An object with exactly these keys; their values are checked in this order."""

    fields: dict[str, Field]  #: Field of each key
    #: Keys that earlier files lack, each with the value that a missing key means; it is not written
    later: Mapping[str, Any] = field(default_factory=dict)
    make: Callable[..., Any] = dict  #: Makes what is read of the values by key

    @property
    def schema(self) -> dict[str, Any]:
        return closed_schema({name: field.schema for name, field in self.fields.items()}, self.later)

    def encode(self, value: Any) -> dict[str, Any]:
        held = {name: getattr(value, name) for name in self.fields}
        default = {name: (type(value), value) for name, value in self.later.items()}
        return {
            name: field.encode(held[name])
            for name, field in self.fields.items()
            if default.get(name) != (type(held[name]), held[name])
        }

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Check the keys and then their values; the place of a whole file is ""."""
        closed(value, self.fields, where or "the file", self.later)
        found = {
            name: field.decode(value[name], f"{where}.{name}".lstrip("."), sizes)
            if name in value
            else self.later[name]
            for name, field in self.fields.items()
        }
        return self.make(**found)


def _bounds(low: float, high: float) -> dict[str, Any]:
    return {key: bound for key, bound in (("minimum", low), ("maximum", high)) if math.isfinite(bound)}


def bind(name: str, size: int, where: str, sizes: Sizes) -> None:
    letter, less = (name[:-2], 1) if name.endswith("-1") else (name, 0)
    if sizes.setdefault(letter, size + less) != size + less:
        raise CalibratorFileError(
            f"calibrator file: {where} has {size:,} entries, and the rest of the file asks for "
            f"{sizes[letter] - less:,}"
        )


def closed(value: Any, names: Collection[str], where: str, may_lack: Collection[str] = ()) -> dict[str, Any]:
    """Return `value` if it is an object with these keys (`may_lack` some), or raise `CalibratorFileError`."""
    if not isinstance(value, dict):
        raise mismatch(where, "an object", value)
    for name in names:
        if name not in value and name not in may_lack:
            raise CalibratorFileError(f"calibrator file: {where} lacks {name!r}")
    for name in value:
        if name not in names:
            raise CalibratorFileError(f"calibrator file: {where} has an unknown key {short(name)}")
    return value


def closed_schema(properties: dict[str, Any], may_lack: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of an object with exactly these keys, some of which it `may_lack`."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in may_lack],
        "additionalProperties": False,
    }
