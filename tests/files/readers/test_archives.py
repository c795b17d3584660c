"""Damaged NPZ files, projects and summaries are refused in a sentence, wherever the damage is."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pandas as pd
import pytest

from calib import InputError, Predictions, Project, TemperatureScaling, read_predictions, scale
from tests.written import bytes_of

RNG = np.random.default_rng(0)
PROBA, LABELS = RNG.dirichlet(np.ones(3), 60), RNG.integers(0, 3, 60)
ROWS = Predictions(PROBA, LABELS, metadata=pd.DataFrame({"group": ["a", "b"] * 30}))


def summary(folder) -> bytes:
    pd.DataFrame(PROBA, columns=list("abc")).assign(label=np.array(list("abc"))[LABELS]).to_parquet(
        folder / "rows.parquet"
    )
    return bytes_of(lambda file: scale.save(scale.summarize(folder / "rows.parquet"), file))


def project() -> bytes:
    fitted = {"TS": TemperatureScaling().fit(PROBA, LABELS)}
    return bytes_of(Project("rows", ROWS, calibration=ROWS, calibrators=fitted, notes="kept").save)


#: By kind of file: its content, made in a folder, and what reads it and returns a digest of the content.
KINDS: dict[str, tuple[Callable[..., bytes], Callable[..., object]]] = {
    "npz": (
        lambda folder: bytes_of(np.savez, probs=PROBA, labels=LABELS),
        lambda file: read_predictions(file).fingerprint,
    ),
    "npz deflated": (
        lambda folder: bytes_of(np.savez_compressed, probs=PROBA, labels=LABELS),
        lambda file: read_predictions(file).fingerprint,
    ),
    "project": (lambda folder: project(), lambda file: Project.load(file).evaluation.fingerprint),
    "summary": (summary, lambda file: scale.load(file).fingerprint),
}


def damages(data: bytes) -> Iterator[bytes]:
    """Files that were cut short, or have one byte that differs: some of the content, all of the directory."""
    for size in np.linspace(1, len(data) - 1, 60).astype(int):
        yield data[:size]
    directory = max(data.find(b"PK\x01\x02"), 0)
    places = range(directory, len(data)) if directory else range(0, len(data), 1 + len(data) // 500)
    for at in (*places, *RNG.integers(0, len(data), 200)):
        for bits in (0x01, 0xFF):
            yield data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_gives_what_it_held_or_a_sentence(kind, on_disk, tmp_path):
    """In memory a place before the start of the file is a ValueError, on disk an OSError."""
    make, read = KINDS[kind]
    data = make(tmp_path)
    whole, refused = read(data), 0
    step = 4 if on_disk else 1  # the same damage again, met as another error
    for damaged in islice(damages(data), None, None, step):
        if on_disk:
            (tmp_path / "damaged").write_bytes(damaged)
        try:
            assert read(tmp_path / "damaged" if on_disk else damaged) == whole
        except InputError:
            refused += 1
    assert refused > 200 / step


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("kind", ["npz", "project"])
def test_members_are_stored_or_deflated(kind, method, tmp_path):
    """Each other method has errors of its own, more of them with each version of Python."""
    make, read = KINDS[kind]
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(make(tmp_path))) as old, zipfile.ZipFile(packed, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(InputError, match=f"compressed by method {method}"):
        read(packed.getvalue())
