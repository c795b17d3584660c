"""Files that calib wrote, damaged: a result, or one sentence, in memory of ten times the file and 64 MB."""

from __future__ import annotations

import gzip
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import calib
from calib import CalibratedModel, InputError, Monitor, Project, scale
from calib.files.saved.document import write_document
from tests import ROOT
from tests.files.readers.test_hostile import mutated
from tests.fuzz.cases import exchange, sentence
from tests.written import bytes_of

STATUS = Path("/proc/self/status")
#: Memory that a file of any size may take.
MOST_BYTES = 64 << 20
#: Readers of the formats, of the bytes of a file.
READERS: dict[str, Callable[[bytes], Any]] = {
    "calibrator": lambda data: calib.load(io.BytesIO(data)),
    "monitor": lambda data: calib.load(io.BytesIO(data)),
    "project": Project.load,
    "model": lambda data: calib.load_model(io.BytesIO(data)),
    "summary": scale.load,
}
FORMATS = tuple(READERS)


@cache
def originals() -> dict[str, list[bytes]]:
    """Return valid files of each format."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 90)
    labels = np.array([rng.choice(3, p=row) for row in proba])
    site = labels % 2
    model = CalibratedModel(LogisticRegression(), random_state=0).fit(proba, labels)
    monitor = Monitor(by="site").compare_with(labels, proba, groups=site)
    for week in range(3):
        monitor.update(labels, np.roll(proba, week, axis=0), np.full(90, week), groups=site)
    sums = scale.Sums(class_wise=True).update(labels, proba)
    folder = ROOT / "tests/files/saved"
    return {
        "calibrator": [path.read_bytes() for path in sorted(folder.glob("calibrators-v1/*.json"))][1:],
        "monitor": [bytes_of(lambda file: calib.save(monitor, file))],
        "project": [path.read_bytes() for path in sorted(folder.glob("projects-v1/*.calib"))],
        "model": [bytes_of(lambda file: calib.save_model(model, file))],
        "summary": [bytes_of(lambda file: scale.save(sums.summary(), file))],
    }


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with injured bytes, or with an injured member, or other values and a sound checksum."""
    if rng.random() < 0.2:
        return mutated(data, rng)
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = str(rng.choice(list(members)))
        members[name] = damaged(members[name], rng)
        return archived(members)
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(damaged(gzip.decompress(data), rng), mtime=0)
    try:
        content = json.loads(data)
    except ValueError:
        return mutated(data, rng)
    has_checksum = isinstance(content, dict) and content.pop("checksum", None) is not None
    exchange(content, rng, depth=7)
    try:
        return write_document(content) if has_checksum else json.dumps(content).encode()
    except ValueError:  # NaN, of which there is no checksum
        return json.dumps(content).encode()


def archived(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


#: JSON of which a few bytes take much memory once they are read.
JUNK = {
    "lists": b"[" + b"[]," * 999 + b"[]]",
    "objects": b"[" + b'{"":0},' * 999 + b'{"":0}]',
    "texts": b"[" + b'"\xc3\xa9",' * 999 + b'""]',
    "long": b'"' + b"x" * 4_000 + b'"',
    "wide": b'"' + b"\\ud83d\\ude00" * 400 + b'"',
    "numbers": b"[" + b"1.5," * 999 + b"0]",
    "deep": b"[" * 400 + b"]" * 400,
}


def filled(data: bytes, junk: bytes, n_bytes: int, *, compressed: bool = True) -> bytes:
    """Return a file whose document holds about `n_bytes` of junk under one more key."""
    options = {"compressed": compressed}
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = next(name for name in members if name in ("project.json", "model.json"))
        method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
        return archived({**members, name: filled(members[name], junk, n_bytes, **options)}, method)
    if data[:2] == b"\x1f\x8b":
        level = 6 if compressed else 0
        return gzip.compress(filled(gzip.decompress(data), junk, n_bytes, **options), level, mtime=0)
    start = data.index(b"{") + 1
    start = data.index(b",", start) + 1  # behind the format, by which a file is known
    return data[:start] + b'"junk": [' + junk + (b"," + junk) * (n_bytes // len(junk)) + b"]," + data[start:]


def make(seed: int) -> tuple[str, bytes]:
    """Return the format and the content of a file; the formats take turns."""
    name, rng = FORMATS[seed % len(FORMATS)], np.random.default_rng(seed)
    files = originals()[name]
    return name, damaged(files[int(rng.integers(0, len(files)))], rng)


def use(name: str, data: bytes) -> None:
    """Read a file; anything but a result or one short sentence, or too much memory, raises."""
    before = begin_of_peak()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            READERS[name](data)
        except InputError as error:
            sentence(str(error))
    used = peak() - before
    assert used <= 10 * len(data) + MOST_BYTES, f"{used >> 20} MiB for a file of {len(data):,} bytes"


def begin_of_peak() -> int:
    """Let Linux measure the peak of memory from now on, and return what is held; 0 on other systems."""
    if not STATUS.exists():
        return 0
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak()


def peak() -> int:
    """Return the most bytes of memory held since `begin_of_peak`; 0 on other systems."""
    if not STATUS.exists():
        return 0
    (line,) = (line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])
