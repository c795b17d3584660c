"""Files made from a number: valid formats that hold hostile content, and valid files with injuries."""

from __future__ import annotations

import copy
import gzip
import io
import json
import warnings
import zipfile
from typing import Any

import numpy as np
import pandas as pd

from calib import InputError, check, read_pair, read_predictions
from calib.base.exceptions import LONGEST
from calib.files.readers.source import Limits
from tests.files.readers.test_hostile import FILES, mutated
from tests.written import bytes_of

LIMITS = Limits(expanded_bytes=64 << 20, free_bytes=1 << 20)
SCORES = pd.DataFrame(np.full((60, 4), 0.25), columns=["cat", "dog", "=cow()", "é"]).assign(id=np.arange(60))

COLUMNS = [
    "cat",
    "dog",
    "p_cat",
    "prob_dog",
    "0",
    "1",
    "01",
    "label",
    "y_true",
    "class",
    "id",
    "split",
    "set",
    "weight",
    "group",
    "index",
]
COLUMNS += ["", "prediction", "logits", "probs", "class_names", "val_probs", "x" * 1_500]
CELLS = [
    "-",
    "nan",
    "None",
    "1,234",
    "1.234,5",
    "0,5",
    "50%",
    "1e999",
    "-inf",
    "inf",
    "0x1F",
    "٣",
    "1_000",
    "train",
    "test",
    "val",
    "prod",
    "cat",
    "dog",
    "true",
]
CELLS += ["False", "\ufeff", "\u202e", "a\nb", '"', "'", "=1", "", " ", "\x00", "é", "0", "1", "2", "-1"]
CELLS += ["9007199254740993", "99999999999999999999", "1" * 400, "x" * 2_000]
VALUES = [None, True, False, 0, 1, -1, 2**53 + 1, 2**64, 10**400, 0.5, float("nan"), float("inf"), -1e308]
VALUES += [1e-320, "\ud800", "a\udfffb", [], {}, [0.5], [[]], {"a": 1}]


def column(rng: np.random.Generator, n: int) -> object:
    """One column of content that a column rarely has."""
    kind = int(rng.integers(0, 11))
    if kind < 3:
        return rng.random(n)
    if kind == 3:
        return rng.integers(-2, 5, n)
    if kind == 4:  # numbers with gaps
        return pd.array(
            [None if rng.random() < 0.3 else int(k) for k in rng.integers(0, 3, n)], dtype="Int64"
        )
    if kind == 5:
        return np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 3, n).astype(float))
    if kind == 6:
        return pd.array([None] * n, dtype="string")
    if kind == 7:
        return pd.Categorical(rng.choice(CELLS[:30], n))
    if kind == 8:
        return rng.random(n) < 0.5
    if kind == 9:
        return rng.choice([1e308, -1e308, np.inf, np.nan, 0.5, 5e-324], n)
    return [str(cell) for cell in rng.choice(CELLS, n)]


def table(rng: np.random.Generator) -> bytes:
    """A table of random columns in a random format."""
    n = int(rng.choice([1, 2, 3, 12, 40]))
    names = list(dict.fromkeys(rng.choice(COLUMNS, int(rng.integers(1, 7))).tolist()))
    frame = pd.DataFrame({name: column(rng, n) for name in names})
    kind = int(rng.integers(0, 6))
    if kind == 0:
        return bytes_of(frame.to_parquet)
    if kind == 1:
        return bytes_of(frame.to_feather)
    if kind == 2:
        return frame.to_json(orient=rng.choice(["records", "columns", "values"])).encode()
    separator, decimal = [(",", "."), ("\t", "."), (";", ","), (",", ",")][int(rng.integers(0, 4))]
    text = frame.to_csv(index=bool(rng.integers(0, 2)), sep=separator, decimal=decimal)
    data = text.encode(rng.choice(["utf-8", "utf-16", "utf-8-sig"]))
    return gzip.compress(data, mtime=0) if kind == 3 else data


def cells(rng: np.random.Generator) -> bytes:
    """A table as text with some of its cells exchanged."""
    lines = [line.split(",") for line in FILES["csv"].decode().splitlines()]
    for _ in range(rng.integers(1, 4)):
        line = lines[int(rng.integers(0, len(lines)))]
        line[int(rng.integers(0, len(line)))] = json.dumps(str(rng.choice(CELLS)))[1:-1]
    separator = str(rng.choice([",", ";", "\t", "|"]))
    data = "\n".join(separator.join(line) for line in lines).encode("utf-8", "surrogatepass")
    return gzip.compress(data, mtime=0) if rng.random() < 0.3 else data


def arrays(rng: np.random.Generator) -> bytes:
    """NPY or NPZ of sound structure around injured headers and cells."""
    n = int(rng.choice([1, 3, 60]))
    choices = [
        rng.dirichlet(np.ones(4), n),
        rng.integers(-1, 5, n).astype(rng.choice(["i1", "u8", ">i4", "f2", "f8", "?"])),
        np.array(["cat", "dog", "é", ""])[rng.integers(0, 4, n)],
        np.array([b"cat", b"\xff\xfe", b""])[rng.integers(0, 3, n)],
        np.array([0.5, np.nan, np.inf, 1e308])[rng.integers(0, 4, (n, 3))],
        np.zeros((n, 0)),
        np.float64(0.5),
    ]
    words = [
        "proba",
        "logits",
        "labels",
        "val_probs",
        "test_y",
        "class_names",
        "split",
        "ids",
        "train_probs",
        "weight",
    ]
    members = {}
    for name in dict.fromkeys(rng.choice(words, int(rng.integers(1, 5))).tolist()):
        data = bytes_of(np.save, choices[int(rng.integers(0, len(choices)))])
        if rng.random() < 0.5:
            at = int(rng.integers(0, len(data)))
            data = data[:at] + rng.bytes(4) + data[at + 4 :]
        members[f"{name}.npy"] = data
    if rng.random() < 0.3:
        return next(iter(members.values()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def exchange(content: Any, rng: np.random.Generator, depth: int = 3) -> None:
    """Exchange one to three values or names somewhere in the content of a JSON file."""
    for _ in range(rng.integers(1, 4)):
        at, value = content, copy.deepcopy(VALUES[int(rng.integers(0, len(VALUES)))])
        for _ in range(int(rng.integers(0, depth))):
            if not at:
                return
            key = int(rng.integers(0, len(at))) if isinstance(at, list) else str(rng.choice(list(at)))
            if not isinstance(at[key], (list, dict)) or not at[key]:
                break
            at = at[key]
        if isinstance(at, list):
            at[int(rng.integers(0, len(at)))] = value
        elif rng.random() < 0.5:
            at[str(rng.choice(list(at)))] = value
        else:
            at[str(rng.choice([*COLUMNS, "\udc80"]))] = value


def tree(rng: np.random.Generator) -> bytes:
    """JSON with some of its values and names exchanged."""
    content = json.loads(FILES[str(rng.choice(["json", "json lists"]))])
    exchange(content, rng)
    lines = isinstance(content, list) and rng.random() < 0.3
    return "\n".join(map(json.dumps, content)).encode() if lines else json.dumps(content).encode()


def injured(rng: np.random.Generator) -> bytes:
    """A valid file with injured bytes."""
    names = list(FILES)
    return mutated(FILES[names[int(rng.integers(0, len(names)))]], rng)


MAKERS = {"table": table, "cells": cells, "arrays": arrays, "tree": tree, "injured": injured}


def make(seed: int) -> tuple[str, bytes]:
    """Return the kind and the content of a file; the kinds take turns."""
    name = list(MAKERS)[seed % len(MAKERS)]
    return name, MAKERS[name](np.random.default_rng(seed))


def use(data: bytes) -> None:
    """Read a file in every way; anything but a result or one short sentence raises."""
    ways = [
        lambda: read_predictions(data, limits=LIMITS),
        lambda: read_pair(data, limits=LIMITS),
        lambda: look(data),
        lambda: read_predictions(SCORES, labels=data, limits=LIMITS),
    ]
    for way in ways:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                way()
            except InputError as error:
                sentence(str(error))


def look(data: bytes) -> None:
    """Examine a file and accept every fix that is offered."""
    for report in check(data, limits=LIMITS).values():
        for finding in report.findings:
            sentence(finding.message)
        for name in report.raw.names:
            name.encode()
        if report.ok:
            report.predictions()
        for finding in report.findings:
            if finding.fix is not None:
                report.fix(finding.code)


def sentence(message: str) -> None:
    """Check that a message can be shown."""
    assert message.strip()
    assert "\n" not in message
    assert len(message) <= LONGEST
    message.encode()
