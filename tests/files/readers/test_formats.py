"""Every format gives the same numbers back; every unreadable file gives one sentence."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import pickle
import time
import weakref
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calib import InputError, read, read_pair, read_predictions
from calib.files.readers import divide, read_raw, read_table, text, with_labels, write_csv
from calib.files.readers.readings import guess_roles
from calib.files.readers.source import Limits
from tests.exact import read_csv
from tests.written import bytes_of

NAMES = ("cat", "dog, small", "Ötter")


@pytest.fixture
def truth():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 40)
    return proba, rng.integers(0, 3, 40)


@pytest.fixture
def frame(truth):
    proba, labels = truth
    return pd.DataFrame(proba, columns=NAMES).assign(label=np.array(NAMES)[labels])


def check(got, truth, names=NAMES):
    proba, labels = truth
    np.testing.assert_array_equal(got.proba, proba)
    np.testing.assert_array_equal(got.labels, labels)
    assert got.class_names == names


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "^"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_with_any_delimiter_and_encoding(frame, truth, separator, encoding):
    text = frame.to_csv(index=False, sep=separator)
    check(read_predictions(text.encode(encoding)), truth)


def test_decimal_comma_between_semicolons_and_in_quotes(frame, truth):
    check(read_predictions(frame.to_csv(index=False, sep=";", decimal=",").encode()), truth)
    check(read_predictions(frame.to_csv(index=False, decimal=",", quoting=1).encode()), truth)


def _relation(table):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: it is in the extra test")
    return duckdb.from_arrow(table)


def _polars(table):
    polars = pytest.importorskip("polars", reason="polars is not installed: it is in the extra test")
    return polars.from_arrow(table)


FRAMES = {
    "Arrow": lambda table: table,
    "batches of Arrow": lambda table: table.to_reader(7),
    "DuckDB": _relation,
    "polars": _polars,
    "polars, lazy": lambda table: _polars(table).lazy(),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_of_other_libraries(frame, truth, make):
    table = pa.Table.from_pandas(frame.assign(day=pd.Timestamp("2026-03-02")), preserve_index=False)
    got = read(make(table))
    check(got, truth)
    assert list(got.metadata) == ["day"]
    with pytest.raises(InputError, match="no rows"):
        read(make(table.slice(0, 0)))


def test_latin_1_names(frame, truth):
    check(read_predictions(frame.to_csv(index=False).encode("latin-1")), truth)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends(frame, truth, line_end):
    check(read_predictions(frame.to_csv(index=False, lineterminator=line_end).encode()), truth)


def test_excel_separator_line(frame, truth):
    check(read_predictions(b"sep=;\n" + frame.to_csv(index=False, sep=";").encode()), truth)


def test_gzip_also_in_several_members(frame, truth):
    text = frame.to_csv(index=False).encode()
    check(read_predictions(gzip.compress(text)), truth)
    check(read_predictions(gzip.compress(text[:500]) + gzip.compress(text[500:])), truth)


def test_text_without_header(truth):
    proba, labels = truth
    text = pd.DataFrame(proba).assign(label=labels).to_csv(index=False, header=False)
    check(read_predictions(text.encode()), truth, ("0", "1", "2"))


def test_savetxt_default(truth):
    data = bytes_of(np.savetxt, truth[0], fmt="%.18e")
    np.testing.assert_array_equal(read_predictions(data).proba, truth[0])


def test_parquet_feather_and_json(frame, truth):
    check(read_predictions(bytes_of(frame.to_parquet)), truth)
    check(read_predictions(bytes_of(frame.to_feather)), truth)
    check(read_predictions(bytes_of(frame.astype({"label": "category"}).to_parquet)), truth)
    check(read_predictions(frame.to_json(orient="records", double_precision=15).encode()), truth_15(truth))
    lines = frame.to_json(orient="records", lines=True, double_precision=15).encode()
    check(read_predictions(lines), truth_15(truth))
    lists = json.dumps({name: values.tolist() for name, values in frame.items()}).encode()
    check(read_predictions(lists), truth)


def truth_15(truth):
    """Pandas writes JSON with 15 decimals."""
    return np.round(truth[0], 15), truth[1]


def test_float32_stays_float32(frame, truth):
    small = frame.astype(dict.fromkeys(NAMES, np.float32))
    got = read_predictions(bytes_of(small.to_parquet))
    assert got.proba.dtype == np.float32
    np.testing.assert_array_equal(got.proba, truth[0].astype(np.float32))


def test_list_column_of_parquet_and_json(truth):
    proba, labels = truth
    nested = pd.DataFrame({"probs": list(proba), "label": labels})
    check(read_predictions(bytes_of(nested.to_parquet)), truth, ("0", "1", "2"))
    records = json.dumps([{"probs": p.tolist(), "label": int(y)} for p, y in zip(*truth, strict=True)])
    check(read_predictions(records.encode()), truth, ("0", "1", "2"))


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_with_label_file(truth, order):
    proba, labels = truth
    scores = bytes_of(np.save, np.asarray(proba, order=order))
    for given in (
        labels,
        bytes_of(np.save, labels),
        io.BytesIO(bytes_of(np.save, np.eye(3)[labels])),
        pd.DataFrame({"label": labels}).to_csv(index=False).encode(),
        "\n".join(map(str, labels)).encode(),
    ):
        check(read_predictions(scores, labels=given), truth, ("0", "1", "2"))


def test_big_endian_and_half_precision(truth):
    big = bytes_of(np.save, truth[0].astype(">f8"))
    np.testing.assert_array_equal(read_predictions(big).proba, truth[0])
    half = read_predictions(bytes_of(np.save, truth[0].astype(np.float16)))
    assert half.proba.dtype == np.float32


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(truth, save):
    data = bytes_of(save, probs=truth[0], y_true=truth[1], class_names=np.array(NAMES))
    check(read_predictions(data), truth)


def test_npz_with_arrays_that_have_no_names(truth):
    check(read_predictions(bytes_of(np.savez, truth[0], truth[1])), truth, ("0", "1", "2"))


def test_labels_are_matched_by_id(frame, truth):
    scores = frame.drop(columns="label").assign(id=[f"im{j}" for j in range(40)])
    shuffled = pd.DataFrame({"id": scores["id"], "label": frame["label"]}).sample(frac=1, random_state=1)
    got = read_predictions(scores.to_csv(index=False).encode(), labels=shuffled.to_csv(index=False).encode())
    check(got, truth)


def test_path_and_open_file(frame, truth, tmp_path):
    path = tmp_path / "p.csv"
    frame.to_csv(path, index=False)
    check(read_predictions(path), truth)
    check(read_predictions(str(path)), truth)
    with path.open("rb") as file:
        file.read(10)
        check(read_predictions(file), truth)


def test_pair_by_array_names(truth):
    proba, labels = truth
    logits = np.log(proba)
    data = bytes_of(
        np.savez, val_logits=logits, val_labels=labels, test_logits=logits[:9], test_labels=labels[:9]
    )
    calibration, evaluation = read_pair(data)
    assert (calibration.n_samples, evaluation.n_samples) == (40, 9)
    np.testing.assert_allclose(calibration.proba, proba, rtol=1e-12)
    assert read_predictions(data).n_samples == 9
    assert read_predictions(data, split="calibration").n_samples == 40


def test_pair_by_split_column(frame, truth):
    marked = frame.assign(split=["train"] * 10 + ["val"] * 10 + ["test"] * 20)
    calibration, evaluation = read_pair(marked.to_csv(index=False).encode())
    np.testing.assert_array_equal(calibration.proba, truth[0][10:20])
    np.testing.assert_array_equal(evaluation.labels, truth[1][20:])
    train = read_predictions(marked.to_csv(index=False).encode(), split="train")
    np.testing.assert_array_equal(train.labels, truth[1][:10])


def test_split_column_without_values(frame, truth):
    check(read_predictions(frame.assign(split=np.nan).to_csv(index=False).encode()), truth)


def test_pair_of_a_file_with_one_part(frame, truth):
    calibration, evaluation = read_pair(frame.to_csv(index=False).encode())
    assert calibration is None
    check(evaluation, truth)


def test_reference_file(shared_data):
    """Softmax of the stored logits; accuracy 0.9502 on the test rows (design, section 5)."""
    calibration, evaluation = read_pair(shared_data / "cifar10_resnet50.npz")
    assert (calibration.n_samples, evaluation.n_samples, evaluation.n_classes) == (5000, 10000, 10)
    assert (evaluation.label == evaluation.labels).mean() == 0.9502
    assert evaluation.class_names[3] == "cat"


def test_roles_are_guessed(frame):
    wide = frame.rename(columns={name: f"prob_{name}" for name in NAMES})
    wide.insert(0, "Unnamed: 0", range(40))
    wide["sample_id"] = [f"im{j}" for j in range(40)]
    wide = wide.assign(sample_weight=0.5, site="north", predicted="cat", split="test")
    roles = guess_roles(read_table(wide.to_csv(index=False).encode()))
    assert roles.probabilities == tuple(f"prob_{name}" for name in NAMES)
    assert roles.class_names == NAMES
    assert (roles.label, roles.id, roles.split) == (("label",), "sample_id", "split")
    assert (roles.weight, roles.group, roles.index) == ("sample_weight", "site", "Unnamed: 0")
    assert roles.ignored == ("predicted",)


def test_label_column_without_a_telling_name(frame, truth):
    check(read_predictions(frame.rename(columns={"label": "animal"}).to_csv(index=False).encode()), truth)


@pytest.mark.parametrize("hard", [False, True])
def test_label_column_without_any_name(truth, hard):
    """Whole numbers beside rows that sum to 1, even if one label is out of range."""
    proba = np.eye(3)[truth[0].argmax(axis=1)] if hard else truth[0]
    labels = np.where(np.arange(40) == 5, 77, truth[1])
    raw = read_raw(pd.DataFrame(np.column_stack([proba, labels])).to_csv(index=False, header=False).encode())
    np.testing.assert_array_equal(raw.proba, proba)
    np.testing.assert_array_equal(raw.labels, labels)


def test_one_hot_labels(truth):
    proba, labels = truth
    frame = pd.DataFrame(proba, columns=NAMES)
    hot = pd.get_dummies(pd.Series(np.array(NAMES)[labels]), prefix="true")
    for dummies in (hot, hot.astype(int)):
        text = pd.concat([frame, dummies], axis=1).to_csv(index=False)
        check(read_predictions(text.encode()), truth)


def test_columns_in_text_order_are_matched_by_name():
    """Columns 0, 1, 10, 11, 2, ...: label 10 is the third column, not the eleventh."""
    names = sorted(str(code) for code in range(12))
    frame = pd.DataFrame(np.eye(12), columns=names).assign(label=[int(name) for name in names])
    got = read_predictions(frame.to_csv(index=False).encode())
    np.testing.assert_array_equal(got.labels, got.label)


def test_logits_need_a_name_or_a_word(truth):
    logits = pd.DataFrame(np.log(truth[0]) + 3, columns=["a", "b", "c"]).assign(label=truth[0].argmax(axis=1))
    data = logits.to_csv(index=False).encode()
    with pytest.raises(InputError, match="these are logits.*fix=..logits"):
        read_predictions(data)
    np.testing.assert_allclose(read_predictions(data, scores="logits").proba, truth[0], rtol=1e-12)
    named = logits.rename(columns=lambda name: name if name == "label" else f"logit_{name}")
    np.testing.assert_allclose(
        read_predictions(named.to_csv(index=False).encode()).proba, truth[0], rtol=1e-12
    )


def test_probabilities_in_an_array_called_logits_are_not_softmaxed_again(truth):
    data = bytes_of(np.savez, logits=truth[0], labels=truth[1])
    np.testing.assert_array_equal(read_predictions(data).proba, truth[0])


def test_progress_ends_at_one(frame):
    steps = []
    read_predictions(frame.to_csv(index=False).encode(), progress=lambda share, what: steps.append(share))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0


def test_chunks_join_without_a_seam(monkeypatch, truth):
    monkeypatch.setattr("calib.files.readers.text.BLOCK", 100)
    text = pd.DataFrame(truth[0], columns=NAMES).assign(label=np.array(NAMES)[truth[1]])
    check(read_predictions(text.to_csv(index=False).encode()), truth)
    check(read_predictions(text.to_csv(index=False, lineterminator="\r\n").encode("utf-16")), truth)


def test_column_that_turns_out_to_be_text(monkeypatch):
    monkeypatch.setattr("calib.files.readers.text.BLOCK", 4096)
    rows = ["0.5,0.5,1"] * 1000 + ["0.5,0.5,b"]
    raw = read_raw(("1,b,label\n" + "\n".join(rows)).encode())
    assert raw.labels[[0, -1]].tolist() == ["1", "b"]


def test_wide_file():
    proba = np.random.default_rng(0).dirichlet(np.full(1000, 0.01), 30)
    frame = pd.DataFrame(proba, columns=[f"class {j}" for j in range(1000)]).assign(label="class 7")
    got = read_predictions(frame.to_csv(index=False).encode())
    assert got.n_classes == 1000
    assert set(got.labels) == {7}


BAD = {
    "empty": (b"", "empty: 0 bytes"),
    "text": (b"Dear all,\nplease find enclosed\n", "no column of probabilities|cannot be read as a table"),
    "binary": (bytes(range(256)) * 10, "neither text nor"),
    "pickle": (pickle.dumps([1, 2]), "pickle"),
    "pickle in npy": (bytes_of(np.save, np.array([{}], dtype=object)), "pickle.*never read"),
    "pickle in npz": (bytes_of(np.savez, proba=np.array([[1, "a"]], dtype=object)), "pickle.*never read"),
    "cut npy": (bytes_of(np.save, np.eye(50))[:-9], "cut short"),
    "cut npz": (bytes_of(np.savez, np.eye(50))[:-9], "damaged or cut short"),
    "cut gzip": (gzip.compress(b"a,b\n0.5,0.5\n" * 99)[:-12], "cut short"),
    "cut parquet": (bytes_of(pd.DataFrame({"a": [1.0], "b": 0.0}).to_parquet)[:-5], "parquet"),
    "gzip in gzip": (gzip.compress(gzip.compress(b"a,b\n")), "gzip inside gzip"),
    "zip": (b"PK\x05\x06" + bytes(18), "empty"),
    "three dimensions": (bytes_of(np.save, np.zeros((2, 2, 2))), "one or two dimensions"),
    "complex": (bytes_of(np.save, np.zeros((2, 2), complex)), "dtype complex128"),
    "deep json": (b"[" * 100_000, "too deeply nested"),
    "broken json": (b'{"a": [1,', "JSON is not valid"),
    "json of other shape": (b'{"a": 1}', "list of records"),
    "ragged": (b"a,b,label\n0.5,0.5,a\n0.5,0.5,a,a\n", "Expected 3 columns, got 4"),
    "header only": (b"a,b,label\n", "no rows"),
    "cut utf-16": ("a,b,label\n0.5,0.5,a\n".encode("utf-16")[:-1], "not valid utf-16-le: truncated"),
    "same name twice": (b"a,a\n0.5,0.5\n", "'a' appears more than once"),
    "one column": (b"p,label\n0.5,0\n", "the probability of one of two classes"),
    "sums": (b"p_0,p_1\n0.5,0.1\n", "fix=..sigmoid_scores"),
    "percent": (b"a,b\n50,50\n90,10\n", "fix=..percent"),
    "not finite": (b"p_0,p_1\nnan,0.5\n0.5,0.5\n", "NaN or infinite"),
    "unknown label": (b"a,b,label\n0.5,0.5,c\n", "not among the classes 'a', 'b': 'c'"),
    "label out of range": (b"a,b,label\n0.5,0.5,2\n", "not among the classes"),
    "label missing": (b"a,b,label\n0.5,0.5,a\n0.5,0.5,\n", "no label .row 1.*fix=..labels_missing"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD.keys())
def test_bad_file_gives_one_sentence(data, message):
    with pytest.raises(InputError, match=message) as caught:
        read_predictions(data)
    assert "\n" not in str(caught.value)


def test_missing_file_and_wrong_arguments(tmp_path, frame):
    with pytest.raises(InputError, match="No such file"):
        read_predictions(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a directory"):
        read_predictions(tmp_path)
    with pytest.raises(InputError, match="source must be a path"):
        read_predictions(42)
    with pytest.raises(InputError, match="binary mode"):
        read_predictions(io.StringIO("a,b\n"))
    with pytest.raises(InputError, match="format must be one of"):
        read_predictions(b"a,b\n0.5,0.5\n", format="xls")
    with pytest.raises(InputError, match="no part 'night'"):
        read_predictions(frame.to_csv(index=False).encode(), split="night")
    with pytest.raises(InputError, match="39 labels for 40 rows"):
        with_labels(divide(read_table(frame.to_csv(index=False).encode()))["evaluation"], [0] * 39)


def small(**changes):
    return Limits(**changes)


@pytest.mark.parametrize(
    ("data", "limits", "name"),
    [
        (b"a,b\n" + b"0.5,0.5\n" * 100, small(file_bytes=100), "file_bytes"),
        (b"a,b\n" + b"0.5,0.5\n" * 100, small(rows=50), "rows"),
        (b"a,b,c\n1,0,0\n", small(columns=2), "columns"),
        (gzip.compress(b"0.5,0.5\n" * 100_000), small(free_bytes=1000), "expansion"),
        (gzip.compress(b"0.5,0.5\n" * 100_000), small(expanded_bytes=10_000), "expanded_bytes"),
        (bytes_of(np.save, np.zeros((100, 2))), small(rows=50), "rows"),
        (bytes_of(np.savez_compressed, np.zeros((9999, 2))), small(free_bytes=1000), "expansion"),
        (bytes_of(np.savez, *[np.zeros(1)] * 5), small(members=4), "members"),
        (bytes_of(pd.DataFrame({"a": np.zeros(999), "b": 1.0}).to_parquet), small(rows=50), "rows"),
        (bytes_of(pd.DataFrame({"a": np.zeros(999), "b": 1.0}).to_feather), small(rows=50), "rows"),
        (b'[{"a": 1, "b": 0}]', small(json_bytes=4), "json_bytes"),
    ],
)
def test_limit_is_named(data, limits, name):
    with pytest.raises(InputError, match=rf"limit {name}\)"):
        read_predictions(data, limits=limits)


def test_huge_shape_in_a_small_header_allocates_nothing():
    header = bytes_of(np.save, np.zeros((1, 2)))
    huge = header.replace(b"(1, 2)", b"(9999999, 9999)").replace(b"         \n", b"\n")
    with pytest.raises(InputError):
        read_predictions(huge)


def test_zip_that_lies_about_its_size():
    data = bytearray(bytes_of(np.savez_compressed, np.zeros((1000, 2))))
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = (200).to_bytes(4, "little")
    with pytest.raises(InputError):
        read_predictions(bytes(data))


def test_zip_of_other_files():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../evil.npy", b"x")
    with pytest.raises(InputError, match="not an NPZ file"):
        read_predictions(buffer.getvalue())


HOSTILE = ["=cmd()", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "cat", "-0.5", "<b>x</b>", "a,b"]


def test_csv_export_neutralises_formulas_and_leaves_numbers():
    numbers = np.array([-0.1, 1 / 3, 1e-300, 0.1 + 0.2, np.nan, 1.0, -2.0, 5e-324, 3.0, 4.0, 7.0])
    frame = pd.DataFrame({"=name": HOSTILE, "value": numbers, "count": np.arange(-5, 6)})
    data = write_csv(frame)
    back = read_csv(io.BytesIO(data), dtype={"'=name": str})
    assert list(back.columns) == ["'=name", "value", "count"]
    np.testing.assert_array_equal(back["value"], numbers)
    np.testing.assert_array_equal(back["count"], frame["count"])
    expected = [n if n in ("cat", "-0.5", "<b>x</b>", "a,b") else "'" + n for n in HOSTILE]
    assert back["'=name"].tolist() == [name.replace("\r", " ") for name in expected]
    assert not data.startswith(codecs.BOM_UTF8)


def test_categories_and_missing_text_survive_the_export():
    frame = pd.DataFrame({"c": pd.Categorical(["=a", "b", None]), "n": [1, 2, 3]})
    assert write_csv(frame) == b"c,n\n'=a,1\nb,2\n,3\n"


def test_quoted_cells_may_hold_line_breaks():
    """RFC 4180, section 2, rule 6; names are shown on one line."""
    for end in ("\n", "\r\n"):
        cell = f'"tabby{end}cat, ""Tom"""'
        rows = [f"{cell},dog,label", f"0.9,0.1,{cell}", "0.2,0.8,dog", f"0.3,0.7,{cell}", ""]
        for data in (end.join(rows).encode(), gzip.compress(end.join(rows).encode())):
            read = read_predictions(data)
            assert read.class_names == ('tabby cat, "Tom"', "dog")
            assert read.labels.tolist() == [0, 1, 0]


def test_line_break_in_a_quoted_cell_far_down_the_file(monkeypatch):
    """Beyond the first lines that are looked at, over the seam of two blocks, in any encoding."""
    monkeypatch.setattr("calib.files.readers.text.HEAD", 2000)
    monkeypatch.setattr("calib.files.readers.text.BLOCK", 500)
    text = "tabby cat,dog,label\n" + "0.1,0.9,dog\n" * 500 + '0.8,0.2,"tabby\ncat"\n' * 100
    for encoding in ("utf-8", "utf-16"):
        assert read_predictions(text.encode(encoding)).labels.tolist() == [1] * 500 + [0] * 100


def test_quote_that_is_never_closed(monkeypatch):
    monkeypatch.setattr("calib.files.readers.text.BLOCK", 500)
    with pytest.raises(InputError, match="a quote is opened and never closed"):
        read_predictions(b"a,b,label\n" + b"0.5,0.5,a\n" * 300 + b'0.5,0.5,"a\n' + b"0.5,0.5,b\n" * 300)


def test_blanks_after_the_last_line_are_no_row(frame, truth):
    text = frame.to_csv(index=False)
    check(read_predictions(f"\n \n{text}   ".encode()), truth)
    labels = frame[["label"]].to_csv(index=False) + " \t"
    check(
        read_predictions(frame.drop(columns="label").to_csv(index=False).encode(), labels=labels.encode()),
        truth,
    )


def test_stray_quotes_do_not_join_lines():
    read = read_predictions(b'5" disk,dog,label\n0.9,0.1,5" disk\n0.2,0.8,dog\n')
    assert (read.class_names, read.labels.tolist()) == (('5" disk', "dog"), [0, 1])


def test_nothing_of_pyarrow_holds_a_text_after_it_is_read(monkeypatch):
    """A thread that lets go of it while Python ends aborts the process."""
    held = weakref.WeakSet()

    class Watched(text.TrimmedText):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            held.add(self)

    monkeypatch.setattr(text, "TrimmedText", Watched)
    monkeypatch.setattr(text, "LONGEST_WAIT", 60.0)
    start = time.monotonic()
    table = read_table(b"a,b,label\n" + b"0.5,0.5,cat\n" * 200_000)
    assert table.n_rows == 200_000
    assert not held
    assert time.monotonic() - start < 60
