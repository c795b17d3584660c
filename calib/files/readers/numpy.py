"""NPY and NPZ to a `Table`: headers are checked before data is read, pickles never are."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.nested import ranked_matrices
from calib.files.readers.source import Limits, Source, open_archive, refuse_damage
from calib.files.readers.tables import Table, as_numbers, check_distinct

#: The last code point of Unicode.
MOST_CODE_POINT = 0x10FFFF
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npy(source: Source, limits: Limits) -> Table:
    """Read the array of an NPY file."""
    with source.open() as file:
        array = read_array(file, limits, "the array")
    return table_of_arrays({"array": array}, "npy")


def read_array(file: Any, limits: Limits, what: str) -> np.ndarray:
    """Read an array in NPY format from a binary file; its header is checked before its data is read."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise InputError(f"{what} has NPY version {version[0]}, for structured arrays; save numbers")
        shape, fortran, dtype = HEADERS[version](file)
    except InputError:
        raise
    except Exception as error:  # the header is a Python literal: its parser raises whatever it likes
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"{what} has a damaged NPY header ({reason}); save it again") from None
    if dtype.hasobject:
        raise InputError(
            f"{what} holds Python objects as a pickle, which can run code and is never read; save numbers or "
            "fixed-width text (array.astype(float), array.astype(str))"
        )
    if dtype.kind not in "fiubUS" or dtype.itemsize == 0:
        raise InputError(f"{what} has dtype {dtype}; numbers or text are needed")
    if len(shape) > 2 or any(size < 0 for size in shape):
        raise InputError(f"{what} has shape {shape}; one or two dimensions are needed")
    limits.check_rows(shape[0] if shape else 1)
    limits.check_columns(shape[1] if len(shape) == 2 else 1)
    count = int(np.prod(shape, dtype=object)) if shape else 1
    needed = count * dtype.itemsize
    limits.check_expanded(needed, limits.expanded_bytes)
    data = bytearray()  # grows by what arrives: a header states any size
    while len(data) < needed and (chunk := file.read(min(needed - len(data), 1 << 24))):
        data += chunk
    if len(data) < needed:
        raise InputError(f"{what} is cut short: it needs {needed:,} bytes and has {len(data):,}")
    values = np.frombuffer(data, dtype=dtype, count=count)
    values = values.reshape(shape[::-1]).T if fortran else values.reshape(shape)
    return values if dtype.isnative else values.astype(dtype.newbyteorder("="))


def read_npz(source: Source, limits: Limits) -> Table:
    """Read the arrays of an NPZ file; member names, sizes and headers are checked before data is read."""
    arrays: dict[str, np.ndarray] = {}
    with source.open() as file, open_archive(file, "NPZ archive") as archive:
        members = archive.infolist()
        _check_members(members, source, limits)
        for done, member in enumerate(members, 1):
            name = member.filename.removesuffix(".npy")
            with refuse_damage("NPZ archive"), archive.open(member) as content:
                arrays[name] = read_array(content, limits, f"array {name!r}")
            limits.step(done / len(members), "reading")
    return table_of_arrays(arrays, "npz")


def _check_members(members: list[zipfile.ZipInfo], source: Source, limits: Limits) -> None:
    names = [member.filename for member in members]
    if any(name.startswith(("xl/", "word/")) for name in names):
        raise InputError(f"{source.name!r} is an Office document; save the sheet as CSV")
    foreign = [name for name in names if not name.endswith(".npy") or "/" in name or "\\" in name]
    if foreign or not names:
        why = f"it holds {foreign[0][:60]!r}" if foreign else "it is empty"
        raise InputError(f"{source.name!r} is a zip archive but not an NPZ file: {why}; save with np.savez")
    if len(names) > limits.members:
        raise InputError(f"the file holds {len(names):,} arrays, over {limits.members:,} (limit members)")
    check_distinct(names)
    limits.check_expanded(sum(member.file_size for member in members), source.size)


def _text_of(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind == "S":
        return np.array([cell.decode("utf-8", "replace") for cell in array.tolist()], dtype=object)
    code_points = array.view(np.uint32).reshape(-1, array.itemsize // 4)
    if len(bad := np.flatnonzero((code_points > MOST_CODE_POINT).any(axis=1))):
        raise InputError(f"array {name!r} holds something other than text in row {bad[0]}; save it again")
    return array.astype(object)


def table_of_arrays(arrays: Mapping[str, np.ndarray], format: str) -> Table:
    """Return a table of arrays, (n,) or (n, m), without ranked classes; matrices of text become columns."""
    made: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if array.ndim != 2 or array.shape[1] == 1:
            array = array.ravel()
        if array.dtype.kind in "US":
            array = _text_of(array.ravel(), name).reshape(array.shape)
        elif array.dtype != object and (array.ndim == 2 or array.dtype.kind == "f"):
            array = np.ascontiguousarray(as_numbers(array))
        made[name] = array
    table = Table.of(format, made)
    columns, matrices = ranked_matrices(dict(table.columns), dict(table.matrices))
    for name in [name for name, matrix in matrices.items() if matrix.dtype == object]:
        matrix = matrices.pop(name)
        columns |= {f"{name}[{j}]": matrix[:, j] for j in range(matrix.shape[1])}
    return Table(format, columns, matrices)
