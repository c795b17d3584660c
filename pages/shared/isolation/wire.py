"""Messages between the app and its workers: JSON, bytes of files, and Arrow arrays; never a pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa

from calib.files.readers.source import Limits
from calib.files.readers.tables import Table, frozen, packed_table

#: Bytes of the longest JSON part of a message: names, and the distinct texts of columns.
MAX_JSON = Limits().json_bytes
#: Types that Arrow does not share with NumPy, and the types in which they are sent.
CARRIERS = {"bool": "uint8"}


class MessageTooLarge(Exception):
    """A message has more bytes than its receiver accepts."""


class Counted:
    """A pipe from which a message of at most `left` bytes is read."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.left = file, math.inf

    def read(self, n_bytes: int) -> bytes:
        """Read `n_bytes`; memory is allocated only if they are allowed."""
        if n_bytes > self.left:
            raise MessageTooLarge
        self.left -= n_bytes
        return self.file.read(n_bytes)


class Channel:
    """One end of a pair of pipes."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self.incoming, self.outgoing = Counted(incoming), outgoing
        self.source, self.sink = pa.PythonFile(self.incoming, mode="r"), pa.PythonFile(outgoing, mode="w")

    def send(
        self, head: dict[str, Any], blobs: Sequence[Any] = (), arrays: Sequence[np.ndarray] = ()
    ) -> None:
        """Send a head in JSON types, the bytes of files, and arrays of numbers."""
        sizes = [memoryview(blob).nbytes for blob in blobs]
        kinds = [(array.dtype.name, array.shape) for array in arrays]
        text = json.dumps({**head, "blobs": sizes, "arrays": kinds}).encode()
        self.outgoing.write(len(text).to_bytes(8, "little") + text)
        for blob in blobs:
            self.outgoing.write(blob)
        for array, (kind, _) in zip(arrays, kinds, strict=True):
            numbers = np.ascontiguousarray(array).reshape(-1).astype(CARRIERS.get(kind, kind), copy=False)
            # Not as a tensor, which would be copied while all threads wait.
            batch = pa.record_batch([pa.array(numbers)], [""])
            with pa.ipc.new_stream(self.sink, batch.schema) as stream:
                stream.write_batch(batch)
        self.outgoing.flush()

    def receive(self, max_bytes: float = math.inf) -> tuple[dict[str, Any], list[bytes], list[np.ndarray]]:
        """Wait for a message."""
        self.incoming.left = max_bytes
        size = int.from_bytes(self._read(8), "little")
        if size > MAX_JSON:
            raise MessageTooLarge
        try:
            head = json.loads(self._read(size))
            blobs = [self._read(n_bytes) for n_bytes in head.pop("blobs")]
            arrays = [self._numbers(kind).reshape(shape) for kind, shape in head.pop("arrays")]
        except (ValueError, TypeError, LookupError, pa.ArrowException, OSError) as error:
            raise EOFError from error
        return head, blobs, arrays

    def _numbers(self, kind: str) -> np.ndarray:
        with pa.ipc.open_stream(self.source) as stream:
            (batch,) = stream
        batch.validate()
        numbers: np.ndarray = batch.column(0).to_numpy()
        if numbers.dtype.name != CARRIERS.get(kind, kind):
            raise TypeError(f"numbers of type {numbers.dtype} instead of {kind}")
        return numbers.astype(kind, copy=False)

    def _read(self, n_bytes: int) -> bytes:
        data = self.incoming.read(n_bytes)
        if len(data) < n_bytes:
            raise EOFError
        return data


def pack_table(table: Table, arrays: list[np.ndarray]) -> dict[str, Any]:
    """Describe a table in JSON types; its numbers are added to `arrays`, texts as codes of their words."""

    def stored(array: np.ndarray) -> int:
        arrays.append(array)
        return len(arrays) - 1

    columns: list[dict[str, Any]] = []
    for name, values in table.columns.items():
        if name in table.packed_names:
            columns.append({"name": name})
        elif values.dtype == object:
            words: dict[str, int] = {}
            codes = np.fromiter((words.setdefault(v, len(words)) for v in values.tolist()), np.int64)
            columns.append({"name": name, "words": list(words), "at": stored(codes)})
        else:
            columns.append({"name": name, "at": stored(values)})
    return {
        "format": table.format,
        "columns": columns,
        "matrices": {name: stored(matrix) for name, matrix in table.matrices.items()},
        "packed": None if table.packed is None else stored(table.packed),
        "packed_names": list(table.packed_names),
        "ignored": list(table.ignored),
    }


def unpack_table(data: dict[str, Any], arrays: Sequence[np.ndarray]) -> Table:
    """Make the table that `pack_table` described; its arrays are read-only."""
    columns: dict[str, np.ndarray | None] = {}
    for column in data["columns"]:
        values = arrays[column["at"]] if "at" in column else None
        if values is not None and "words" in column:
            values = np.array(column["words"], dtype=object)[values]
        columns[column["name"]] = values
    matrices = {name: arrays[at] for name, at in data["matrices"].items()}
    if data["packed"] is None:
        packed, names = None, ()
        table = Table(data["format"], {n: v for n, v in columns.items() if v is not None}, matrices)
    else:
        packed, names = arrays[data["packed"]], tuple(data["packed_names"])
        table = packed_table(packed, names, columns, format=data["format"], matrices=matrices)
    ignored = tuple(data["ignored"])
    for array in (*table.columns.values(), *table.matrices.values()):
        frozen(array)
    return Table(table.format, table.columns, table.matrices, packed, names, ignored)
