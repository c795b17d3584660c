"""The number of values that a Parquet file states, read from its footer without pyarrow.

pyarrow ends the whole process if the description of a column is damaged. The footer is a Thrift structure in
the compact protocol (parquet.thrift, FileMetaData).
"""

from __future__ import annotations

from typing import Any

from calib.base.exceptions import InputError

MAGIC = b"PAR1"
#: Types of the compact protocol.
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
#: Fields on the way, of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
ROW_GROUPS, COLUMNS, META_DATA, NUM_VALUES = 4, 1, 3, 5


def stated_values(data: bytes) -> int:
    """Return the number of values in all row groups and columns; each member of a list counts."""
    size = int.from_bytes(data[-8:-4], "little")
    if not data.endswith(MAGIC) or size + 8 > len(data):
        raise InputError("the Parquet file is cut short: its end is missing; copy it again")
    try:
        footer = _Footer(memoryview(data)[-8 - size : -8]).struct()
        chunks = [chunk for group in footer[ROW_GROUPS] for chunk in group[COLUMNS]]
        values = [chunk[META_DATA][NUM_VALUES] for chunk in chunks]
    except (IndexError, KeyError, TypeError):
        values = [-1]
    if any(value < 0 for value in values):
        raise InputError("the footer of the Parquet file is damaged; write the file again")
    return sum(values)


class _Footer:
    """Reader of structures in the compact protocol: fields by number; texts are left out."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

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
            fields[number] = head & 15 == TRUE if head & 15 in (TRUE, FALSE) else self.value(head & 15)
        return fields

    def value(self, kind: int) -> Any:
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(size)]
        if kind == MAP:
            size = self.varint()
            kinds = self.byte() if size else 0
            return [(self.value(kinds >> 4), self.value(kinds & 15)) for _ in range(size)]
        if kind in (TRUE, FALSE, BYTE):
            return self.byte()
        if kind in (DOUBLE, BINARY):
            size = 8 if kind == DOUBLE else self.varint()
            self.at += size
            return None
        return self.integer()
