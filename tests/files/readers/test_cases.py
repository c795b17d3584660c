"""Layouts of real tools with made-up values: read right, or refused with what has to be said.

The expected numbers come from the cells of each file, by a loop that knows its columns.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from calib import InputError, accuracy, ece, read, read_models
from calib.cli.parser import main
from calib.files.findings import check
from calib.files.readers.raw_predictions import RemedyError
from calib.files.readers.roles import ChoiceError, Given
from tests.oracles import uniform_bin

CASES = Path(__file__).parent / "cases"


def cells(name):
    """The cells of a file, a list of dicts."""
    if name.endswith("jsonl"):
        return [json.loads(line) for line in (CASES / name).read_text().splitlines()]
    with (CASES / name).open(newline="") as file:
        return list(csv.DictReader(file))


def literal(score, right, groups):
    """Accuracy, and ECE in 15 bins of (group, bin) cells, by a loop over rows."""
    sums = {}
    for value, hit, group in zip(score, right, groups, strict=True):
        key = (group, uniform_bin(min(max(value, 0.0), 1.0), 15))
        sums[key] = sums.get(key, 0.0) + hit - min(max(value, 0.0), 1.0)
    return sum(abs(gap) for gap in sums.values()) / len(score)


def of_event(name, score, label, positive, model=None):
    """(kind, accuracy, ECE) of P(Y = positive)."""
    rows = [row for row in cells(name) if model is None or row["model"] == model]
    values = [float(row[score]) for row in rows]
    event = [row[label] == positive for row in rows]
    right = [(value > 0.5) == hit for value, hit in zip(values, event, strict=True)]
    return "binary", np.mean(right), literal(values, event, [None] * len(rows))


def of_class(name, score, predicted, label, same=lambda word: word):
    """(kind, accuracy, ECE) of a predicted class and its confidence."""
    rows = cells(name)
    right = [same(row[predicted]) == row[label] for row in rows]
    groups = [row[predicted] for row in rows]
    return "top-label", np.mean(right), literal([float(row[score]) for row in rows], right, groups)


def of_scores(name, columns, label, vector=None):
    """(kind, accuracy, ECE) of a score for every class; `columns` gives the column of each class."""
    rows, words = cells(name), list(columns)
    scores = (
        [[float(row[column]) for column in columns.values()] for row in rows] if vector is None else vector
    )
    scores = [[value / sum(row) for value in row] for row in scores]
    top = [max(range(len(row)), key=row.__getitem__) for row in scores]
    right = [
        words[at] == (label(row) if callable(label) else row[label])
        for at, row in zip(top, rows, strict=True)
    ]
    return "vectors", np.mean(right), literal([max(row) for row in scores], right, top)


def printed(name):
    """The vectors in a column of text, by the numbers between brackets."""
    texts = [row["probs"] for row in cells(name)]
    return [[float(n) for n in text[text.index("[") + 1 : text.index("]")].split(",")] for text in texts]


VERTEX = [row["prediction"]["scores"] for row in cells("14a_nested_vertex.jsonl")]
READ = {
    "01a_label_hidden_nannyml.csv": of_event("01a_label_hidden_nannyml.csv", "y_pred_proba", "repaid", "1"),
    "01b_label_hidden_caret.csv": of_scores(
        "01b_label_hidden_caret.csv", {"Class1": "Class1", "Class2": "Class2"}, "obs"
    ),
    "01e_label_hidden_period.csv": of_event("01e_label_hidden_period.csv", "y_pred_proba", "repaid", "1"),
    "02a_rare_all_predicted_0.csv": of_event("02a_rare_all_predicted_0.csv", "y_prob", "y_true", "1"),
    "03a_positive_named_in_column.csv": of_event(
        "03a_positive_named_in_column.csv", "abnormal_probability", "label", "abnormal"
    ),
    "03b_positive_tidymodels.csv": of_event("03b_positive_tidymodels.csv", ".pred_good", "Class", "good"),
    "05b_features_pycaret.csv": of_class(
        "05b_features_pycaret.csv", "prediction_score", "prediction_label", "Purchase"
    ),
    "07a_above_one_fasttext.csv": of_class("07a_above_one_fasttext.csv", "confidence", "pred", "true"),
    "07b_below_zero.csv": of_event("07b_below_zero.csv", "y_prob", "y_true", "1"),
    "08a_minus_one_class.csv": of_scores("08a_minus_one_class.csv", {"-1": "prob_-1", "1": "prob_1"}, "y"),
    "10a_prefix_tidymodels.csv": of_scores(
        "10a_prefix_tidymodels.csv", {"poor": ".pred_poor", "good": ".pred_good"}, "Class"
    ),
    "10b_prefix_nannyml.csv": of_scores(
        "10b_prefix_nannyml.csv", {"basic": "y_pred_proba_basic", "gold": "y_pred_proba_gold"}, "y_true"
    ),
    "13a_tensor_text.csv": of_scores(
        "13a_tensor_text.csv", {"0": "", "1": ""}, "label", printed("13a_tensor_text.csv")
    ),
    "13b_array_text.csv": of_scores(
        "13b_array_text.csv", {"0": "", "1": ""}, "label", printed("13b_array_text.csv")
    ),
    "14a_nested_vertex.jsonl": of_scores(
        "14a_nested_vertex.jsonl", {"a": "", "b": ""}, lambda row: row["instance"]["species"], VERTEX
    ),
    "18_single_class.csv": of_scores("18_single_class.csv", {"0": "p_0", "1": "p_1"}, "label"),
}
#: Refused files: what the refusal names, and for each of some answers the numbers that it gives.
ASKED = {
    "04a_before_after.csv": (
        {"score=y_prob", "score=y_prob_calibrated"},
        [
            ({"score": item}, of_event("04a_before_after.csv", item, "y_true", "1"))
            for item in ("y_prob", "y_prob_calibrated")
        ],
    ),
    "04c_models.csv": (
        {"score=lr_proba", "score=rf_proba"},
        [
            ({"score": item}, of_event("04c_models.csv", item, "y_true", "1"))
            for item in ("lr_proba", "rf_proba")
        ],
    ),
    "04e_models_long.csv": (
        {"model=lr", "model=rf"},
        [
            ({"model": item}, of_event("04e_models_long.csv", "y_prob", "y_true", "1", item))
            for item in ("lr", "rf")
        ],
    ),
}
#: Refused files that a fix makes usable.
FIXED = {
    "06a_disjoint_classes.csv": (
        "label_names_unmatched",
        of_class(
            "06a_disjoint_classes.csv", "probability", "predicted_label", "actual_class",
            {"GON+": "1", "GON-": "0"}.get,
        ),
    ),
    "06b_disjoint_case.csv": (
        "label_names_unmatched", of_class("06b_disjoint_case.csv", "confidence", "pred", "true", str.lower),
    ),
    "09a_scores_and_fold.csv": ("sigmoid_scores", None),
    "09b_scores_and_age.csv": ("sigmoid_scores", None),
    "17_sums_off_2e-3.csv": (
        "rounding", of_scores("17_sums_off_2e-3.csv", {"0": "p_0", "1": "p_1", "2": "p_2"}, "y"),
    ),
}  # fmt: skip
#: Refused files, and what the refusal names.
REFUSED = {
    "05a_features_and_hard_class.csv": ("'predicted_label'", "decisions", "'age'"),
    "12a_hard_only.csv": ("'y_pred'", "decisions"),
    "12c_hard_only_and_number.csv": ("'pred_label'", "decisions", "'length'"),
    "15a_stray_cell_binary.csv": ("'y_prob'", "'<0.05'", "row 13"),
    "15b_stray_cell_two_columns.csv": ("'p_a'", "'<0.08'", "row 0"),
    "16_lfs_pointer.npy": ("Git LFS", "git lfs pull"),
}


def numbers(rows):
    """(kind, accuracy, ECE) as calib gives them."""
    return rows.kind, accuracy(rows.labels, rows), ece(rows.labels, rows)


def agree(found, expected):
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1:], expected[1:], atol=1e-6)


def test_every_case_has_an_expectation():
    several = {"11a_multilabel.csv"}
    named = [*READ, *ASKED, *FIXED, *REFUSED, *several]
    assert sorted(named) == sorted(path.name for path in CASES.iterdir())


@pytest.mark.parametrize("name", READ)
def test_read_right(name):
    agree(numbers(read(CASES / name)), READ[name])


@pytest.mark.parametrize("name", ASKED)
def test_asked_what_columns_are(name, capsys):
    choices, answers = ASKED[name]
    with pytest.raises(ChoiceError) as caught:
        read(CASES / name)
    assert {" ".join(choice.options) for choice in caught.value.choices} == choices
    assert main(["metrics", str(CASES / name), "--resamples", "0"]) == 2
    said = capsys.readouterr().err
    for choice in choices:
        option, _, value = choice.partition("=")
        assert f"--{option} {value}" in said
    assert main(["check", str(CASES / name), "--json"]) == 1
    for given, expected in answers:
        agree(numbers(read(CASES / name, **given)), expected)
        words = [f"--{option}={value}" for option, value in given.items()]
        capsys.readouterr()
        assert main(["metrics", str(CASES / name), "--resamples", "0", "--json", *words]) == 0
        (method,) = json.loads(capsys.readouterr().out)["methods"]
        assert method["accuracy"] == pytest.approx(expected[1])


@pytest.mark.parametrize("name", ["04a_before_after.csv", "04c_models.csv", "04e_models_long.csv"])
def test_every_model_of_a_file_is_read(name):
    models = read_models(CASES / name)
    answers = ASKED[name][1]
    assert list(models) == [value for given, _ in answers for value in given.values()]
    for rows, (_, expected) in zip(models.values(), answers, strict=True):
        agree(numbers(rows), expected)


def test_files_of_one_model_each_are_named_like_the_file():
    names = ["01a_label_hidden_nannyml.csv", "07b_below_zero.csv"]
    models = read_models([CASES / name for name in names])
    assert list(models) == [name.removesuffix(".csv") for name in names]
    assert list(read_models(CASES / names[0])) == ["model"]
    with pytest.raises(InputError):
        read_models(CASES / "05a_features_and_hard_class.csv")


LABELS = ["b", "b", "a", "a"] * 5


@pytest.mark.parametrize(
    "column",
    [
        pa.array(LABELS, pa.string_view()),
        pa.array([label.encode() for label in LABELS]),
        pa.array([label.encode() for label in LABELS], pa.binary(1)),
        pc.run_end_encode(pa.array(LABELS)),
        pa.array(LABELS).dictionary_encode(),
    ],
    ids=["view", "bytes", "bytes of one size", "runs", "dictionary"],
)
def test_columns_of_types_that_hold_text_are_read(column):
    rows = read(feather(column))
    assert (rows.class_names, rows.labels.tolist()) == (("a", "b"), [int(item == "b") for item in LABELS])


def test_a_label_of_another_type_is_named():
    places = pa.array(range(20), pa.int32())
    union = pa.UnionArray.from_dense(pa.array([0] * 20, pa.int8()), places, [pa.array(LABELS)])
    with pytest.raises(InputError, match="'label'"):
        read(feather(union))


def feather(label):
    table = pa.table({"p(b)": [0.9, 0.8, 0.3, 0.2] * 5, "label": label})
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name):
    code, expected = FIXED[name]
    with pytest.raises(RemedyError) as caught:
        read(CASES / name)
    assert (caught.value.argument, caught.value.value) == ("fix", code)
    rows = check(CASES / name, fix=[code])["evaluation"].rows()
    assert rows.n_samples == len(cells(name))
    if expected is not None:
        agree(numbers(rows), expected)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_what_is_wrong(name):
    with pytest.raises(InputError) as caught:
        read(CASES / name)
    for part in REFUSED[name]:
        assert part in str(caught.value)


def test_scores_beside_their_truths_are_multilabel():
    rows = read(CASES / "11a_multilabel.csv")
    written = cells("11a_multilabel.csv")
    assert (rows.kind, rows.class_names) == ("multilabel", ("toxic", "obscene"))
    for at, name in enumerate(rows.class_names):
        assert rows.labels[:, at].tolist() == [int(row[name]) for row in written]
        assert rows.scores[:, at].tolist() == [float(row[f"{name}_pred"]) for row in written]


def test_groups_of_scores_stay_without_the_numbers_beside_them():
    for name, columns in (("09a", "p_0 p_1 p_2"), ("09b", "pred_0 pred_1 pred_2")):
        (path,) = CASES.glob(f"{name}*")
        assert check(path)["evaluation"].raw.roles.probabilities == tuple(columns.split())


def test_one_class_is_not_said_to_be_shuffled():
    assert "labels_shuffled" not in check(CASES / "18_single_class.csv")["evaluation"].codes


def test_every_column_is_accounted_for():
    for path in CASES.glob("*.csv"):
        try:
            roles = check(path, given=Given())["evaluation"].raw.roles
        except InputError:
            continue
        assert {name for name, _ in roles.table()} >= set(cells(path.name)[0]) - {"probs"}
