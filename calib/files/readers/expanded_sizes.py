"""What Parquet and Arrow files expand to, read without pyarrow.

pyarrow decodes what the pages of a Parquet file hold, also if the footer states less, and it ends the whole
process if the description of a column is damaged. Footer and page headers are Thrift structures in the
compact protocol (parquet.thrift). For Arrow it allocates any size that a message states in its flatbuffer
(Message.fbs).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from calib.base.exceptions import InputError

#: Types of the compact protocol.
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 7, 8, 9, 12
INTEGERS = (4, 5, 6)
#: Fields on the way, of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData: sizes and offsets of pages.
ROW_GROUPS, COLUMNS, META_DATA = 4, 1, 3
CHUNK_VALUES, CHUNK_BYTES, DATA_PAGE, DICTIONARY_PAGE = 5, 7, 9, 11
#: Fields of PageHeader, whose two kinds of data pages state their values, and of these kinds.
EXPANDED_BYTES, PAGE_BYTES, DATA_HEADERS, PAGE_VALUES = 2, 3, (5, 8), 1


def size_of_pages(data: bytes) -> int:
    """Return the bytes of all pages once decompressed, or of all their values as float64 if these are more.

    Each member of a list is a value.
    """
    size = int.from_bytes(data[-8:-4], "little")
    content = memoryview(data)
    try:
        footer = _Thrift(content, len(data) - 8 - size).struct()
        chunks = [chunk[META_DATA] for group in footer[ROW_GROUPS] for chunk in group[COLUMNS]]
        if sum(chunk[CHUNK_BYTES] for chunk in chunks) > len(data):
            raise IndexError(len(data))
        pages = [page for chunk in chunks for page in _pages(content, chunk)]
    except (IndexError, KeyError, TypeError):
        raise InputError(
            "the footer or a page of the Parquet file is damaged; write the file again"
        ) from None
    return max(8 * sum(values for values, _ in pages), sum(n_bytes for _, n_bytes in pages))


def _pages(content: memoryview, chunk: dict[int, Any]) -> Iterator[tuple[int, int]]:
    """Yield the number of values and of decompressed bytes of each page of one column of one row group."""
    at = min(chunk[DATA_PAGE], chunk.get(DICTIONARY_PAGE, chunk[DATA_PAGE]))
    end, read = at + chunk[CHUNK_BYTES], 0
    while at < end and read < chunk[CHUNK_VALUES]:  # pyarrow, too, stops at the number in the footer
        reader = _Thrift(content, at)
        page = reader.struct()
        values = sum(page[kind][PAGE_VALUES] for kind in DATA_HEADERS if kind in page)
        if min(at, values, page[EXPANDED_BYTES], page[PAGE_BYTES]) < 0:
            raise IndexError(at)
        yield values, page[EXPANDED_BYTES]
        at, read = reader.at + page[PAGE_BYTES], read + values


class _Thrift:
    """Reader of structures in the compact protocol: fields by number; texts and truth values are left out."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value, shift = value | (byte & 0x7F) << shift, shift + 7
            if shift > 63:
                raise IndexError(self.at)
        return value | byte << shift

    def integer(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            fields[number] = None if head & 15 in (TRUE, FALSE) else self.value(head & 15)
        return fields

    def value(self, kind: int) -> Any:
        if kind in INTEGERS:
            return self.integer()
        if kind == STRUCT:
            return self.struct()
        if kind == LIST:
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.varint()
            if size > len(self.data):
                raise IndexError(size)
            return [self.value(head & 15) for _ in range(size)]
        if kind in (TRUE, FALSE, BYTE):
            return self.byte()
        if kind not in (DOUBLE, BINARY):  # Parquet has neither sets nor maps
            raise IndexError(kind)
        size = 8 if kind == DOUBLE else self.varint()
        self.at += size
        return None


def size_of_message(message: pa.Message) -> int:
    """Return the decompressed size of the buffers of one message of an Arrow file, in bytes.

    pyarrow has verified the flatbuffer, but not the places of the buffers.
    """
    metadata, body = memoryview(message.metadata), memoryview(message.body or b"")
    if message.type not in ("dictionary", "record batch"):
        return len(metadata)
    try:
        batch = _pointed(metadata, _u32(metadata, 0), 2)
        if message.type == "dictionary":
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
    return struct.unpack_from("<I", data, at)[0]


def _field(data: memoryview, table: int, index: int) -> int | None:
    """Position of a field in a flatbuffer table; None if the field has its default."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    slot = 4 + 2 * index
    offset = struct.unpack_from("<H", data, vtable + slot)[0] if slot + 2 <= size else 0
    return table + offset if offset else None


def _pointed(data: memoryview, table: int, index: int) -> int:
    at = _field(data, table, index)
    if at is None:
        raise IndexError(index)
    return at + _u32(data, at)
