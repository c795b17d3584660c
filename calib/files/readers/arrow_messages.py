"""Decompressed sizes of Arrow IPC messages, read from their metadata (flatbuffers, Arrow's Message.fbs).

pyarrow decompresses a record batch when it reads it, and allocates any size that the file states.
"""

from __future__ import annotations

import struct

import pyarrow as pa

from calib.base.exceptions import InputError

DICTIONARY, RECORDS = 2, 3


def expanded_size(message: pa.Message) -> int:
    """Return the decompressed size of the buffers of one message, in bytes."""
    metadata, body = memoryview(message.metadata), memoryview(message.body or b"")
    try:
        root = _u32(metadata, 0)
        kind = _field(metadata, root, 1)
        if kind is None or metadata[kind] not in (DICTIONARY, RECORDS):
            return len(metadata)
        batch = _pointed(metadata, root, 2)
        if metadata[kind] == DICTIONARY:
            batch = _pointed(metadata, batch, 1)
        return _batch_size(metadata, batch, body)
    except (struct.error, IndexError):
        raise InputError("the metadata of the Arrow file is damaged; write the file again") from None


def _batch_size(metadata: memoryview, batch: int, body: memoryview) -> int:
    if _field(metadata, batch, 2) is None:
        return 0
    buffers = _pointed(metadata, batch, 2)
    compressed = _field(metadata, batch, 3) is not None
    total = 0
    for k in range(_u32(metadata, buffers)):
        offset, length = struct.unpack_from("<qq", metadata, buffers + 4 + 16 * k)
        if offset < 0 or length < 0 or offset + length > len(body):
            raise InputError("a buffer of the Arrow file lies outside the file; write the file again")
        expanded = struct.unpack_from("<q", body, offset)[0] if compressed and length >= 8 else -1
        total += max(expanded, length)
    return total


def _u32(data: memoryview, at: int) -> int:
    if at < 0:
        raise IndexError(at)
    return struct.unpack_from("<I", data, at)[0]


def _field(data: memoryview, table: int, index: int) -> int | None:
    """Position of a field in a flatbuffer table; None if the field has its default."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise IndexError(vtable)
    size = struct.unpack_from("<H", data, vtable)[0]
    slot = 4 + 2 * index
    offset = struct.unpack_from("<H", data, vtable + slot)[0] if slot + 2 <= size else 0
    return table + offset if offset else None


def _pointed(data: memoryview, table: int, index: int) -> int:
    at = _field(data, table, index)
    if at is None:
        raise IndexError(index)
    return at + _u32(data, at)
