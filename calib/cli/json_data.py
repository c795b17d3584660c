"""Dataclasses as JSON: what commands print with --json, and its JSON Schema (draft 2020-12)."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

Data = TypeVar("Data")

#: Types in JSON Schema by type in Python; numpy's are the elements of arrays.
TYPES: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((str, np.object_), ("string",)),
    **dict.fromkeys((bool, np.bool_), ("boolean",)),
    **dict.fromkeys((int, np.int64), ("integer",)),
    **dict.fromkeys((float, np.float64), ("number", "null")),  # null: not finite
    NoneType: ("null",),
}


def rows_of(kind: type[Data], table: pd.DataFrame) -> list[Data]:
    """Return the rows of a table as dataclasses that have its columns as fields."""
    return [kind(**{str(name): cell for name, cell in row.items()}) for row in table.to_dict("records")]


def as_json(value: Any) -> Any:
    """Return a value in JSON types; a number that is not finite is null.

    A dataclass is an object, without fields that are None by default and now, and with the `parts` of fields
    in place of these; a dataclass of arrays is a list of their rows.
    """
    if is_dataclass(value):
        return as_json(_shown(value))
    if isinstance(value, Mapping):
        return {str(name): as_json(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(entry) for entry in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Any) -> dict[str, Any] | list[Any]:
    shown: dict[str, Any] = {}
    for each in fields(value):
        held = getattr(value, each.name)
        if "parts" in each.metadata:
            read = held.get if isinstance(held, Mapping) else partial(getattr, held)
            shown |= {name: read(name) for name in each.metadata["parts"]}
        elif each.default is not None or held is not None:
            shown[each.name] = held
    columns = {name: held for name, held in shown.items() if isinstance(held, np.ndarray)}
    return pd.DataFrame(columns).to_dict("records") if columns else shown


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type in the form that `as_json` gives its values."""
    origin, arguments = get_origin(kind), get_args(kind)
    choices = arguments if origin in (Union, UnionType) else (kind,)
    if all(choice in TYPES for choice in choices):
        names = list(dict.fromkeys(name for choice in choices for name in TYPES[choice]))
        return {"type": names if len(names) > 1 else names[0]}
    if len(choices) > 1:
        return {"anyOf": [schema_of(choice) for choice in choices]}
    if is_dataclass(origin or kind):
        return _schema_of_fields(origin or kind, arguments)
    if origin is Literal:
        return {"enum": list(arguments)}
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    return {"type": "array", "items": schema_of(arguments[0])}


def _schema_of_fields(kind: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
    found, shown, optional = _fields(kind), {}, set()
    for each in fields(kind):
        hint, text = found[each.name]
        if each.default is None:
            optional.add(each.name)
            known = tuple(choice for choice in get_args(hint) if choice is not NoneType)
            shown[each.name] = Union[known], text  # noqa: UP007
        elif "parts" in each.metadata:
            shown |= _parts_of(hint, each.metadata["parts"])
        else:  # fields of a generic class all have its arguments
            shown[each.name] = hint[arguments] if arguments else hint, text
    cells = {
        name: (get_args(get_args(hint)[1])[0], text)
        for name, (hint, text) in shown.items()
        if get_origin(hint) is np.ndarray
    }
    properties = {
        name: ({"description": text} if text else {}) | schema_of(hint)
        for name, (hint, text) in (cells or shown).items()
    }
    whole = {"type": "object", "properties": properties, "additionalProperties": False}
    whole["required"] = [name for name in properties if name not in optional]
    return {"type": "array", "items": whole} if cells else whole


def _parts_of(hint: Any, names: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    """Return the types and comments of attributes of a class, the first of several, or of keys."""
    arguments = get_args(hint)
    if get_origin(hint) is Mapping:
        return {name: (arguments[1], text) for name, text in names.items()}
    owner = arguments[0] if arguments else hint
    found = _fields(owner)
    for name in names.keys() - found:
        member = inspect.getattr_static(owner, name)
        getter = member.func if isinstance(member, cached_property) else member.fget
        found[name] = get_type_hints(getter)["return"], (inspect.getdoc(getter) or "").split("\n\n")[0]
    return {name: found[name] for name in names}


def _fields(kind: type) -> dict[str, tuple[Any, str]]:
    """Return the type and the `#:` comment of each field of a dataclass.

    A comment stands on the line of its field, or above it and the fields that follow at once.
    """
    types: dict[str, Any] = {}
    comments: dict[str, str] = {}
    for owner in filter(is_dataclass, reversed(kind.__mro__)):
        types |= inspect.get_annotations(owner, eval_str=True)
        above, is_open = "", False
        for line in inspect.getsource(owner).splitlines():
            code, _, comment = (part.strip() for part in line.partition("#:"))
            if comment and not code:
                above, is_open = f"{above} {comment}" if is_open else comment, True
                continue
            is_open, above = False, "" if comment or not code else above
            if named := re.match(r"    (\w+): ", line):
                comments[named[1]] = re.sub(r"^\([^)]*\): ", "", comment or above)
    return {name: (type_, comments[name]) for name, type_ in types.items()}
