"""Hostile files: always an `Examination` or one `InputError` with a sentence, in bounded memory.

The number of mutated files per format is small; set CALIB_FUZZ to run more (CALIB_FUZZ=2000 takes minutes).
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import InputError, Predictions, check, examine, read_pair, read_predictions
from calib.files.readers import write_csv
from calib.files.readers.numpy import read_array
from calib.files.readers.source import Limits
from tests.written import bytes_of

COUNT = int(os.environ.get("CALIB_FUZZ", "25"))
#: Small bounds, so that a mutated size field that is honoured would be noticed as slowness.
LIMITS = Limits(expanded_bytes=64 << 20, free_bytes=1 << 20)


def originals():
    """One valid file per format, with text, numbers, ids and a split."""
    rng = np.random.default_rng(0)
    proba, labels = rng.dirichlet(np.ones(4), 60), rng.integers(0, 4, 60)
    names = ["cat", "dog", "=cow()", "é"]
    frame = pd.DataFrame(proba, columns=names).assign(
        label=np.array(names)[labels], id=np.arange(60), split=["val", "test"] * 30
    )
    nested = pd.DataFrame({"probs": list(proba), "label": labels})
    return {
        "csv": frame.to_csv(index=False).encode(),
        "csv quoted": frame.to_csv(index=False, sep=";", decimal=",", quoting=1).encode("utf-8-sig"),
        "csv utf-16": frame.to_csv(index=False, sep="\t").encode("utf-16"),
        "csv gzip": gzip.compress(frame.to_csv(index=False).encode(), mtime=0),
        "parquet": bytes_of(frame.to_parquet),
        "parquet plain": bytes_of(frame.to_parquet, compression=None),
        "parquet lists": bytes_of(nested.to_parquet),
        "parquet dictionary": bytes_of(frame.astype({"label": "category"}).to_parquet),
        "feather": bytes_of(frame.to_feather),
        "feather plain": bytes_of(lambda b: pa_feather.write_feather(frame, b, compression="uncompressed")),
        "feather zstd lists": bytes_of(lambda b: pa_feather.write_feather(nested, b, compression="zstd")),
        "npy": bytes_of(np.save, proba),
        "npz": bytes_of(np.savez, test_probs=proba, test_labels=labels, class_names=np.array(names)),
        "npz compressed": bytes_of(np.savez_compressed, val_logits=proba, val_y=labels, test_logits=proba),
        "json": frame.to_json(orient="records").encode(),
        "json lists": json.dumps({"probs": proba.tolist(), "labels": labels.tolist()}).encode(),
    }


FILES = originals()


def mutated(data, rng):
    """Return the file with one to three random injuries."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        kind, at = rng.integers(0, 8), int(rng.integers(0, len(out)))
        size = int(rng.integers(1, 40))
        if kind == 0:
            out[at] = rng.integers(0, 256)
        elif kind == 1:
            out[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 2 and at > 8:
            del out[at:]
        elif kind == 3:
            del out[at : at + size]
        elif kind == 4:
            out[at:at] = rng.bytes(size)
        elif kind == 5:
            out[at:at] = out[at : at + size] * int(rng.integers(1, 50))
        elif kind == 6:  # a size or offset field
            value = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 255, 65535]))
            out[at : at + 8] = struct.pack("<Q", value)[: len(out[at : at + 8])]
        else:
            token = rng.choice([b"nan", b"1e999", b"-", b'"', b"\n", b"\x00", b",,", b"[[", b"\xff\xfe"])
            out[at:at] = bytes(token)
        if not out:
            return bytes(data[:4])
    return bytes(out)


def outcome(data, **options):
    """Read, examine and read as a pair; any exception other than InputError fails the test."""
    for read in (read_predictions, read_pair, check):
        try:
            got = read(data, limits=LIMITS, **options)
        except InputError as error:
            message = str(error)
            assert message.strip()
            assert "\n" not in message, message
            assert len(message) < 2000
            continue
        if read is read_predictions:
            assert isinstance(got, Predictions)
            assert np.isfinite(got.proba).all()


@pytest.mark.parametrize("name", FILES)
def test_originals_are_readable(name):
    assert isinstance(read_predictions(FILES[name]), Predictions)


@pytest.mark.parametrize("name", FILES)
def test_reading_ends_when_its_time_is_over(name):
    with pytest.raises(InputError, match="limit seconds"):
        read_predictions(FILES[name], limits=Limits(seconds=0.0))
    assert isinstance(read_predictions(FILES[name], limits=Limits(seconds=60.0)), Predictions)
    with pytest.raises(InputError, match="must be 0 or more; got nan"):
        read_predictions(FILES[name], limits=Limits(seconds=float("nan")))


def test_examining_ends_when_its_time_is_over():
    with pytest.raises(InputError, match="limit seconds"):
        examine(np.array([[0.5, 0.5]]), [0], limits=Limits(seconds=0.0))


@pytest.mark.parametrize("name", FILES)
def test_mutated_files_give_predictions_or_one_sentence(name):
    for seed in range(COUNT):
        outcome(mutated(FILES[name], np.random.default_rng([len(name), seed])))


@pytest.mark.parametrize("name", FILES)
def test_every_truncation_of_the_first_bytes_and_some_others(name):
    data = FILES[name]
    for size in [*range(1, 12), *range(12, len(data), max(len(data) // COUNT, 1))]:
        outcome(data[:size])


@pytest.mark.parametrize("format", ["csv", "parquet", "feather", "npy", "npz", "json"])
def test_wrong_format_forced_on_other_files(format):
    for data in FILES.values():
        outcome(data, format=format)


@given(st.binary(max_size=200))
def test_any_bytes(data):
    outcome(data)


@given(st.text(alphabet="01.,;\t \n\"'-eEabc%\ufeff\u202e\x00=+@", max_size=120))
def test_any_text(text):
    outcome(text.encode())


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_any_json(value):
    outcome(json.dumps(value).encode())


def test_deep_json_in_every_position():
    for deep in (b"[" * 200_000, b'[{"a":' * 50_000, b'{"a":[' * 50_000, b"[" * 5000 + b"]" * 5000):
        outcome(deep)
        outcome(b'[{"a": ' + deep + b"}]")


def zip_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("_npy", ".npy"), data)
    return buffer.getvalue()


BOUNDED = """
import resource, struct, sys
from calib import InputError, read_predictions
from calib.files.readers.numpy import read_array
from calib.files.readers.source import Limits
limits = Limits(expanded_bytes=1 << 30, free_bytes=16 << 20, rows=4_000_000)
while head := sys.stdin.buffer.read(8):
    data = sys.stdin.buffer.read(struct.unpack("<q", head)[0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        outcome = repr(read_predictions(data, limits=limits))
    except InputError as error:
        outcome = str(error)
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(used, outcome)
"""


def run_bounded(files):
    """Read files in one fresh process; return [(MiB that each added to the peak, what came out), ...]."""
    given = b"".join(struct.pack("<q", len(data)) + data for data in files)
    done = subprocess.run([sys.executable, "-c", BOUNDED], input=given, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]


def bombs():
    """Files that expand 100 times and more, of every compressed format."""
    wide = pa.table({name: pa.array(np.zeros(500_000)) for name in "abcdefgh"})
    word = pa.array(["x" * 1_000_000]).dictionary_encode().dictionary
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), word)
    array = bytes_of(np.save, np.zeros((4_000_000, 2), np.uint8))
    two = pa.array(["x" * 1_000_000, "y" * 1_000_000])
    long = pa.DictionaryArray.from_arrays(pa.array(np.arange(3_000, dtype=np.int32) % 2), two)
    scores = {"a": np.full(3_000, 0.25), "b": np.full(3_000, 0.75)}
    labelled, divided = pa.table({**scores, "label": long}), pa.table({**scores, "split": long})
    lists = pa.table({"probs": pa.array([[0.0] * 1_000] * 30_000)})

    def feather(codec):
        return bytes_of(lambda b: pa_feather.write_feather(wide, b, compression=codec, chunksize=4_000_000))

    return {
        "gzip": gzip.compress(b"0.5,0.5\n" * (2 << 20), compresslevel=9) * 10,
        "npz": zip_of(**{f"a{j}_npy": array for j in range(4)}),
        "feather lz4": feather("lz4"),
        "feather zstd": feather("zstd"),
        "parquet": bytes_of(lambda b: pq.write_table(wide, b)),
        "parquet lists": bytes_of(lambda b: pq.write_table(lists, b)),
        "feather label": bytes_of(lambda b: pa_feather.write_feather(labelled, b, compression="zstd")),
        "parquet label": bytes_of(lambda b: pq.write_table(labelled, b, compression="zstd")),
        "feather split": bytes_of(lambda b: pa_feather.write_feather(divided, b, compression="zstd")),
        "json objects": gzip.compress(b"[" + b"{}," * (8 << 20) + b"{}]"),
        "parquet rows": forged_rows(),
        "parquet text": bytes_of(lambda b: pq.write_table(pa.table({"a": repeated, "b": repeated}), b)),
    }


def forged_rows():
    """Parquet of 2,000 columns with 65,536 zeros each, whose footer states one row."""
    data = bytes_of(lambda b: pq.write_table(pa.table({f"c{j}": np.zeros(65_536) for j in range(2_000)}), b))
    # 65,536 and 1 as zigzag varints of one length; the first is the number of rows of the file.
    at = data.index(b"\x80\x80\x08", len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    return data[:at] + b"\x82\x80\x00" + data[at + 3 :]


def test_bombs_are_refused_early_and_no_reader_aborts_at_exit():
    """Some pyarrow readers abort when the interpreter exits, which would spoil exit codes of scripts."""
    files = bombs()
    assert max(map(len, files.values())) < 3 << 20
    readable = [FILES[name] for name in ("parquet", "feather", "csv", "parquet lists")]
    results = run_bounded([*files.values(), *readable])
    for name, (used, message) in zip(files, results, strict=False):
        assert "(limit " in message, (name, message)
        assert used < 150, (name, used)
    assert all(message.startswith("<Predictions") for _, message in results[len(files) :])


def test_memory_is_taken_for_what_arrives_and_not_for_what_a_header_states():
    header = bytes_of(np.save, np.zeros((1 << 24, 1), np.uint8))[:128]
    tracemalloc.start()
    with pytest.raises(InputError, match="cut short"):
        read_array(io.BytesIO(header), Limits(), "the array")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_members_that_are_no_arrays_or_climb_out():
    for name in ("../x_npy", "a/b_npy", "x.txt", "C:\\x_npy"):
        with pytest.raises(InputError, match="NPZ"):
            read_predictions(zip_of(**{name: b"x"}))


def test_python_in_an_npy_header_is_not_run():
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').system('true'),)}\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(80)
    with pytest.raises(InputError, match="damaged NPY header"):
        read_predictions(data)


def test_bzip2_and_other_compressions_say_what_is_read():
    with pytest.raises(InputError, match="text nor|cannot be read|no column of probabilities"):
        read_predictions(bz2.compress(b"a,b\n0.5,0.5\n" * 100))


NASTY = [
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "![x](http://evil)",
    "$\\frac{1}{0}$",
    "\u202egnp.exe",
    "@SUM(1)",
    "-1+2",
    "a\nb",
    "`code`",
    '"; DROP',
    "0x1F",
    "  ",
]


def test_nasty_class_names_survive_as_text_and_are_neutral_in_csv():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(len(NASTY)), 50)
    data = bytes_of(np.savez, probs=proba, labels=proba.argmax(axis=1), class_names=np.array(NASTY))
    predictions = read_predictions(data)
    assert predictions.class_names == tuple(
        " ".join(name.split()) if "\n" in name else name for name in NASTY
    )
    text = write_csv(pd.DataFrame({"class": list(NASTY), "n": range(len(NASTY))})).decode()
    for cell in pd.read_csv(io.StringIO(text))["class"]:
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "\t"))
        assert "\n" not in cell


@pytest.mark.parametrize("how", ["csv", "parquet", "feather", "json", "json of columns", "frame", "arrays"])
def test_names_are_on_one_line_in_every_format(how):
    names = ["two\nlines", "c\r\nd", "e"]
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    frame = pd.DataFrame(scores, columns=names).assign(label=np.array(names, dtype=object)[np.arange(40) % 3])
    made = {
        "csv": frame.to_csv(index=False).encode(),
        "parquet": bytes_of(frame.to_parquet),
        "feather": bytes_of(frame.to_feather),
        "json": frame.to_json(orient="records").encode(),
        "json of columns": json.dumps(frame.to_dict("list")).encode(),
        "frame": frame,
        "arrays": {name: frame[name].to_numpy() for name in frame},
    }
    rows = read_predictions(made[how])
    assert rows.class_names == ("two lines", "c d", "e")
    assert np.array_equal(rows.labels, np.arange(40) % 3)


def test_names_that_differ_in_their_line_breaks_alone_are_refused():
    with pytest.raises(InputError, match="more than once"):
        read_predictions({"a\nb": np.full(4, 0.5), "a b": np.full(4, 0.5), "label": np.arange(4) % 2})


def test_messages_hold_no_control_characters():
    with pytest.raises(InputError) as told:
        raise InputError("no column \x1b[31m\x07 or \x9b31m")
    assert str(told.value).isprintable()
