"""Files that could be read in two ways are refused, and the refusal names the cell."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import InputError, Predictions, check, examine, read_pair, read_predictions
from calib.files.readers import read_raw
from tests.written import bytes_of

NAMES = np.array(["cat", "dog", "cow"])
PROBA = np.random.default_rng(0).dirichlet(np.ones(3), 40)
CODES = (PROBA.argmax(axis=1) + (np.arange(40) % 5 == 0)) % 3
FRAME = pd.DataFrame(PROBA, columns=NAMES).assign(label=NAMES[CODES])
#: The first whole number that a float64 cannot tell from its neighbour, and that neighbour.
BIG, NEXT = 2**53, 2**53 + 1


def csv(frame):
    return frame.to_csv(index=False).encode()


def refused(match, read, *args, **options):
    with pytest.raises(InputError, match=match):
        read(*args, **options)


SCORES = FRAME.drop(columns="label").assign(id=[f"im{row}" for row in range(40)])
LABELS = pd.DataFrame({"id": SCORES["id"], "label": FRAME["label"]}).sample(frac=1, random_state=1)


@pytest.mark.parametrize(
    ("row", "other", "message"),
    [
        (3, "im99", "no label for id 'im21', row 21 of the predictions"),
        (3, "im26", "id 'im26' occurs twice in the file of labels, in rows 3 and 9"),
    ],
)
def test_one_wrong_or_repeated_id_does_not_fall_back_to_the_order_of_rows(row, other, message):
    wrong = LABELS.copy()
    wrong.iloc[row, 0] = other
    refused(message, read_predictions, csv(SCORES), labels=csv(wrong))
    refused(message, check, csv(SCORES), labels=csv(wrong))


def test_ids_are_compared_as_they_are_written():
    scores = SCORES.assign(id=np.arange(40.0))
    labels = bytes_of(LABELS.assign(id=LABELS["id"].str[2:]).to_parquet)
    got = read_predictions(bytes_of(scores.to_parquet), labels=labels)
    np.testing.assert_array_equal(NAMES[got.labels], FRAME["label"])


@pytest.mark.parametrize("repeats", [1, 30])
@pytest.mark.parametrize(
    "write", [csv, lambda f: bytes_of(f.to_parquet), lambda f: f.to_json(orient="records").encode()]
)
def test_score_column_with_one_dash(write, repeats):
    frame = pd.concat([FRAME] * repeats, ignore_index=True).astype({"dog": str})
    frame.loc[17, "dog"] = "-"
    refused("column 'dog' .* '-' in row 17", read_predictions, write(frame))


def test_columns_of_text_stay_what_they_are():
    got = read_predictions(csv(FRAME.assign(note="see row 3", address="10.0.0.1", day="2024-01-01")))
    assert got.class_names == ("cat", "dog", "cow")
    codes = bytes_of(FRAME.assign(site=["001", "002"] * 20).to_parquet)
    assert read_predictions(codes).n_classes == 3


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (["train"] * 20 + ["prod"] * 20, "'prod' in row 20 .20 such rows."),
        (["prod"] * 40, "'prod' in row 0"),
        (["test"] * 39 + ["prod"], "'prod' in row 39 .1 such row."),
        (["test"] * 39 + [""], "is empty in row 39"),
        (["train"] * 40, "marks all rows as training rows"),
        ([0] * 20 + [1] * 20, "'0' in row 0"),
        ([np.nan] * 20 + [7] * 20, "is empty in row 0"),
    ],
)
def test_rows_that_belong_to_no_part(split, message):
    for read in (read_predictions, read_pair, check):
        refused(message, read, csv(FRAME.assign(split=split)))


def test_rows_of_one_split_value_can_be_read():
    data = csv(FRAME.assign(split=["train"] * 10 + ["prod"] * 30))
    assert read_predictions(data, split="prod").n_samples == 30


def test_two_label_columns_that_differ():
    turned = FRAME["label"].map({"cat": "dog", "dog": "cow", "cow": "cat"})
    refused("'y_true' and 'label' can both", read_predictions, csv(FRAME.assign(y_true=turned)))
    both = LABELS.assign(target=LABELS["label"].to_numpy()[::-1])
    refused("'label' and 'target' can both", read_predictions, csv(SCORES), labels=csv(both))


def test_two_label_columns_that_say_the_same():
    coded = FRAME.assign(y_true=CODES)
    np.testing.assert_array_equal(read_predictions(csv(coded)).labels, CODES)


@pytest.mark.parametrize(
    "data",
    [
        b'a,b,y\n0.3,-1.5,1\n"1,234",0.5,0\n',
        b"a;b;y\n0.5;2,5;0\n1,234;1,555;1\n",
        b'a,b,y\n"0,3","-1,5",1\n"1.234","0,5",0\n',
    ],
)
def test_comma_between_thousands_is_not_a_decimal_comma(data):
    refused(r"'1[,.]234' in row 1, which is thousands", read_raw, data)


def test_decimal_commas_are_read():
    assert read_raw(b"a;b;y\n0,25;2,345;0\n1,234;1,5;1\n").proba.tolist() == [[0.25, 2.345], [1.234, 1.5]]


def test_columns_that_are_the_same_number():
    data = b"1,01,label\n0.3,0.7,01\n0.4,0.6,1\n"
    refused("same number", read_predictions, data)
    text = pd.DataFrame({"1": [0.3, 0.4], "01": [0.7, 0.6], "label": ["01", "1"]})
    assert read_predictions(bytes_of(text.to_parquet)).labels.tolist() == [1, 0]


@pytest.mark.parametrize("missing", [False, True])
def test_labels_beyond_the_integers_of_a_float(missing):
    labels = pd.array([NEXT, BIG, None if missing else NEXT], dtype="Int64")
    frame = pd.DataFrame({str(BIG): [0.3, 0.4, 0.2], str(NEXT): [0.7, 0.6, 0.8], "label": labels})
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    last = -1 if missing else 1
    for data in (
        csv(frame),
        bytes_of(frame.to_parquet),
        bytes_of(frame.to_feather),
        json.dumps(rows).encode(),
    ):
        assert read_raw(data).codes.tolist() == [1, 0, last]
    assert examine(frame).raw.codes.tolist() == [1, 0, last]


def test_json_name_that_is_there_twice():
    refused(
        "'b' occurs twice in one JSON object, with 0.7, 0.6", read_raw, b'[{"a":0.3,"b":0.7,"b":0.6,"y":0}]'
    )
    refused("'a' occurs twice", read_raw, b'{"a":[0.3],"a":[0.4],"b":[0.7]}')


def test_half_characters_are_refused_in_words():
    half = "half of a character"
    refused(half, read_predictions, b'[{"a\\ud800":0.3,"b":0.7,"label":"b"}]')
    refused(half, read_predictions, b'[{"a":0.3,"b":0.7,"label":"b\\ud800"}]')
    refused(half, Predictions, [[0.3, 0.7]], class_names=["a\ud800", "b"])
    names = np.array(["a\ud800", "b"])
    refused(half, read_predictions, bytes_of(np.savez, proba=[[0.3, 0.7]], class_names=names))


def test_messages_stay_short():
    long = "x" * 999
    frame = pd.DataFrame({f"{long}{k}": [0.5] for k in range(2)})
    with pytest.raises(InputError) as caught:
        Predictions(frame, labels=["y" * 10_000], class_names=[*frame.columns])
    assert len(str(caught.value)) <= 1_000
    refused("1,000,000 characters", read_raw, f"{'x' * 1_000_000},b\n0.5,0.5\n".encode())


def test_file_name_that_is_no_utf8(tmp_path):
    path = tmp_path / b"caf\xe9.csv".decode("utf-8", "surrogateescape")
    path.write_bytes(b"a,b\n")
    with pytest.raises(InputError, match="caf") as caught:
        read_predictions(path)
    assert str(caught.value).isascii()
