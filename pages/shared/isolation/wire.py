"""Messages between the app and its workers: JSON, bytes of files, and Arrow arrays; never a pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa

from calib.files.readers.source import Limits

#: Bytes of the longest JSON part of a message: names, and the distinct texts of columns.
MAX_JSON = Limits().json_bytes
#: NumPy's types that Arrow lacks, and the types in which they are sent.
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
