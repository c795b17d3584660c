"""Members of the archive of a project or a model: written together, read one by one within limits."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from calib.base.exceptions import CalibratorFileError
from calib.files.readers.source import Limits, refuse_damage
from calib.files.saved.document import memory_of_json, most_memory
from calib.files.saved.fields import Scalar, Sizes, free_text

#: Expanded size of an archive over its stored size, and the expanded size up to which this is not checked.
EXPANSION, FREE_BYTES = 10, 16 << 20

NAME: Scalar = free_text(10_000)


def tightened(limits: Limits) -> Limits:
    """Return limits of what calib writes, which never expands as much as files of others may."""
    return replace(limits, expansion=EXPANSION, free_bytes=min(FREE_BYTES, limits.free_bytes))


@dataclass
class Members:
    """Members that are added to a new archive, or members of an archive that is read."""

    archive: zipfile.ZipFile | None = None
    stored: int = 0  #: Bytes of the file of the archive
    limits: Limits = field(default_factory=Limits)
    what: str = "project file"  #: Name of the kind of file, in messages
    added: dict[str, bytes] = field(default_factory=dict)
    arrays: int = 0  #: Bytes of the arrays read so far

    def __post_init__(self) -> None:
        infos = [] if self.archive is None else self.archive.infolist()
        self.infos = {info.filename: info for info in infos}
        if len(self.infos) < len(infos):
            raise CalibratorFileError(f"the {self.what} holds two members of one name; save it again")
        self.size = sum(info.file_size for info in infos)
        self.limits.check_expanded(self.size, self.stored)

    def add(self, content: bytes, suffix: str) -> str:
        name = f"{len(self.added)}{suffix}"
        self.added[name] = content
        return name

    @contextmanager
    def opened(self, name: str) -> Iterator[tuple[BinaryIO, int]]:
        """Open a member; also give its size, which reading does not exceed."""
        info = self.infos.get(name)
        if self.archive is None or info is None:
            raise CalibratorFileError(f"the {self.what} lacks the member {name[:60]!r}; save it again")
        with refuse_damage(self.what), self.archive.open(info) as file:
            yield file, info.file_size  # type: ignore[misc]

    def read(self, name: str) -> bytes:
        """Return the content of a member, which cannot be read again: what is read is then within limits."""
        with self.opened(name) as (file, _):
            content = file.read()
        del self.infos[name]
        return content

    def read_json(self, name: str) -> bytes:
        """Return the content of a JSON member, unless its values take much more memory than the file."""
        most = min(most_memory(self.stored), self.limits.expanded_bytes)
        limits = replace(self.limits, expanded_bytes=most)
        with self.opened(name) as (_, size):
            limits.check_expanded(size, most)
        content = self.read(name)
        limits.check_expanded(memory_of_json(content), most)
        return content

    def tighten(self) -> None:
        """Refuse an archive that expands more than `packed` ever does, and rows that are nearly all equal."""
        self.limits = replace(self.limits, free_bytes=min(FREE_BYTES, self.limits.free_bytes))
        tightened(self.limits).check_expanded(self.size, self.stored)

    def count_arrays(self, n_bytes: int) -> None:
        self.arrays += n_bytes
        self.limits.check_expanded(self.arrays, self.stored)


@dataclass(frozen=True)
class Content:
    """Bytes, as a member of their own."""

    members: Members
    suffix: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        return NAME.schema

    def encode(self, value: bytes) -> str:
        return self.members.add(value, self.suffix)

    def decode(self, value: Any, where: str, sizes: Sizes) -> bytes:
        name = NAME.decode(value, where, sizes)
        return self.members.read_json(name) if self.suffix == ".json" else self.members.read(name)


def packed(members: Mapping[str, bytes]) -> bytes:
    """Return an archive of members: deflated, but for Parquet, unless it would expand more than is read."""
    size = sum(map(len, members.values()))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compresslevel=1) as archive:
            for name, content in members.items():
                is_compressed = name.endswith(".parquet")
                archive.writestr(name, content, zipfile.ZIP_STORED if is_compressed else method)
        if size <= max(FREE_BYTES, EXPANSION * buffer.tell()):
            break
    return buffer.getvalue()
