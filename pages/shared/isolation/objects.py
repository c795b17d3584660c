"""Objects of calib between the app and a worker: JSON types and arrays of numbers, never a pickle.

What can be sent: numbers, texts, bytes, lists, tuples, dicts, arrays, tables, and the dataclasses,
estimators, predictions and evidence of calib, field by field. A type is looked up by its name among calib's.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.data.predictions import BasePrediction, Predictions
from calib.files.readers.tables import frozen

PLAIN = (type(None), bool, int, float, str)
#: Types of calib that may be sent, with their subclasses: all are dataclasses or estimators.
SENT = (Predictions, tuple)
#: Name of the evidence of rows, whose module imports SciPy: a reader of files does without.
ROWS = "calib.evidence.rows:Rows"


class Packer:
    """Describes objects in JSON types and collects their arrays; repeated objects are described once.

    Parameters
    ----------
    texts : bool
        Whether predictions are sent with all further columns, and not only those with a role.
    """

    def __init__(self, *, texts: bool = False) -> None:
        self.texts, self.arrays = texts, list[np.ndarray]()
        self._places: dict[int, int] = {}
        self._described: dict[int, tuple[int, Any]] = {}

    def pack(self, value: Any) -> Any:
        if type(value) in PLAIN:
            return value
        if isinstance(value, np.generic):
            return {"number": self._stored(np.asarray(value).reshape(1))}
        if isinstance(value, np.ndarray):
            return self._packed_array(value)
        if isinstance(value, bytes):
            return {"bytes": self._stored(np.frombuffer(value, np.uint8))}
        if isinstance(value, pd.Timestamp):
            return {"moment": value.isoformat()}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.pack(member) for member in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.pack(key), self.pack(item)] for key, item in value.items()]}
        if isinstance(value, pd.DataFrame):
            columns = [[name, self._packed_column(value[name])] for name in value.columns]
            return {"table": columns, "index": self._packed_array(value.index.to_numpy())}
        if id(value) in self._described:
            return {"again": self._described[id(value)][0]}
        if (name := _name_of(value)) == ROWS:  # a worker searches for no clusters, and sorts nothing again
            clusters = None if value.clusters.independent else value.clusters
            held = [value.predictions, list(value.reduced), clusters, value.suspected]
            return {"rows": self.pack(held)}
        _type_named(name)
        items = list(value) if isinstance(value, tuple) else None
        state = {} if isinstance(value, tuple) else _state(value)
        if isinstance(value, BasePrediction) and not self.texts:
            state = {**state, "metadata": value.columns_with_roles()}
        packed = {"object": name, "items": self.pack(items), "state": self.pack(state)}
        self._described[id(value)] = len(self._described), value
        return packed

    def _stored(self, array: np.ndarray) -> int:
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self._places[id(array)]

    def _packed_column(self, column: pd.Series) -> Any:
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            return self._packed_array(column.to_numpy())
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM":
            return {"times": self._stored(column.to_numpy().view(np.int64)), "dtype": column.dtype.str}
        dtype = "str" if isinstance(column.dtype, pd.StringDtype) else "object"
        return {"column": self._packed_array(column.to_numpy(dtype=object)), "dtype": dtype}

    def _packed_array(self, array: np.ndarray) -> Any:
        if array.dtype.kind in "biuf":
            return {"array": self._stored(array)}
        cells, words = array.ravel().tolist(), dict[Any, int]()
        kinds = list(map(type, cells))  # 1, 1.0 and True are equal
        keys: Any = cells if len(set(kinds)) == 1 else zip(kinds, cells, strict=True)
        codes = np.fromiter((words.setdefault(key, len(words)) for key in keys), np.int64)
        distinct = words if keys is cells else (word for _, word in words)
        return {
            "words": [self.pack(word) for word in distinct],
            "codes": self._stored(codes.reshape(array.shape)),
            "dtype": array.dtype.str,
        }


def unpack(data: Any, arrays: Sequence[np.ndarray]) -> Any:
    """Make the object that `Packer` described; its arrays are read-only."""
    return _unpacked(data, arrays, [])


def _unpacked(data: Any, arrays: Sequence[np.ndarray], made: list[Any]) -> Any:
    if not isinstance(data, dict):
        return data
    if "number" in data:
        return arrays[data["number"]][0]
    if "bytes" in data:
        return arrays[data["bytes"]].tobytes()
    if "moment" in data:
        return pd.Timestamp(data["moment"])
    if "words" in data:
        words = np.empty(len(data["words"]), dtype=np.dtype(data["dtype"]))
        words[:] = [_unpacked(word, arrays, made) for word in data["words"]]
        return frozen(words[arrays[data["codes"]]])
    if "column" in data:
        return pd.Series(_unpacked(data["column"], arrays, made), dtype=data["dtype"])
    if "times" in data:
        return arrays[data["times"]].view(np.dtype(data["dtype"]))
    if "array" in data:
        return frozen(arrays[data["array"]])
    if "list" in data:
        return [_unpacked(member, arrays, made) for member in data["list"]]
    if "tuple" in data:
        return tuple(_unpacked(member, arrays, made) for member in data["tuple"])
    if "dict" in data:
        return {_unpacked(key, arrays, made): _unpacked(value, arrays, made) for key, value in data["dict"]}
    if "table" in data:
        columns = {name: _unpacked(values, arrays, made) for name, values in data["table"]}
        index = _unpacked(data["index"], arrays, made)
        return pd.DataFrame(columns).set_axis(index) if columns else pd.DataFrame(index=index)
    if "rows" in data:
        return _evidence(*_unpacked(data["rows"], arrays, made))
    if "again" in data:
        return made[data["again"]]
    kind, items = _type_named(data["object"]), _unpacked(data["items"], arrays, made)
    if items is None:
        restored = object.__new__(kind)
        vars(restored).update(_unpacked(data["state"], arrays, made))
    else:
        restored = tuple.__new__(kind, items)
    made.append(restored)
    return restored


def _evidence(predictions: BasePrediction, problems: Sequence[Any], clusters: Any, suspected: Any) -> Any:
    from calib.evidence.clusters import Clusters
    from calib.evidence.rows import Rows

    evidence = Rows(predictions, problems=problems)
    evidence.clusters = clusters or Clusters.of(None, evidence.n_samples)
    evidence.suspected = suspected
    return evidence


def n_bytes(value: Any) -> int:
    """Return the memory that an object's arrays, tables and texts take, each counted once."""
    return _counted(value, set())


def n_bytes_used(value: Any) -> int:
    """Return `n_bytes` of the arguments of a function, with nothing but scores and outcomes of rows."""
    return _counted(value, set(), only_used=True)


def _counted(value: Any, seen: set[int], only_used: bool = False) -> int:
    if id(value) in seen:
        return 0
    if only_used and (isinstance(value, BasePrediction) or _name_of(value) == ROWS):
        seen.add(id(value))
        return int((value if isinstance(value, BasePrediction) else value.predictions).n_bytes)
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (bytes, np.ndarray, np.generic)):
        seen.add(id(value))
        return len(value) if isinstance(value, bytes) else int(value.nbytes)
    if isinstance(value, pd.DataFrame):
        return int(value.memory_usage(deep=True).sum())
    if isinstance(value, Mapping):
        return sum(_counted(member, seen, only_used) for pair in value.items() for member in pair)
    if isinstance(value, (list, tuple)):
        return 8 * len(value) + sum(_counted(member, seen, only_used) for member in value)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        seen.add(id(value))
        held = vars(value)
        if _name_of(value) == ROWS and not value.is_weighted:
            held = {**held, "weights": None}  # equal weights take no memory
        return sum(_counted(member, seen, only_used) for member in held.values())
    return 0


def _name_of(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _state(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, or the state of an estimator or predictions."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value.__getstate__() if isinstance(value, Predictions) else vars(value)


def _type_named(name: str) -> Any:
    """Return the type of calib with this name; raise TypeError if no such type is sent."""
    module, _, kind = name.partition(":")
    found = getattr(importlib.import_module(module), kind, None) if module.startswith("calib.") else None
    sent = is_dataclass(found) or hasattr(found, "get_params")
    if isinstance(found, type) and (sent or issubclass(found, SENT)):
        return found
    raise TypeError(f"{name} is not sent to other processes")
