"""Files of people who hold less than a probability for every class load unaided, as what they announce."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import InputError, accuracy, ece, examine, read, read_predictions
from calib.assessment.calibrated import applied_frame, calibrated_scores, fit_on
from calib.calibrators import HistogramBinning, MulticlassToBinary, PlattScaling
from calib.doctor import check

N = 600
_random = np.random.default_rng(0)
CONFIDENCE = _random.uniform(0.3, 1.0, N).round(4)
CORRECT = _random.random(N) < CONFIDENCE**1.3
CODE = _random.integers(0, 4, N)
TRUE = np.where(CORRECT, CODE, (CODE + 1) % 4)
NAMES = np.array(["cat", "dog", "emu", "fox"])
YES = np.where(CORRECT, "yes", "no")


def literal_ece(score, outcome, groups=None, n_bins=15):
    """ECE by a loop over rows; of (group, bin) cells where there are groups."""
    cells = {}
    for i, s in enumerate(score):
        bin_ = max(b for b in range(n_bins) if b == 0 or s >= b / n_bins)
        cells.setdefault((None if groups is None else groups[i], bin_), []).append(i)
    return sum(abs(sum(outcome[i] - score[i] for i in rows)) for rows in cells.values()) / len(score)


def written(frame, how, tmp_path):
    """Write a table as one of the formats."""
    path = tmp_path / f"file.{how}"
    if how == "csv":
        frame.to_csv(path, index=False)
    elif how == "parquet":
        frame.to_parquet(path)
    elif how == "npz":
        columns = {name: frame[name].to_numpy() for name in frame}
        np.savez(path, **{n: c.astype(str) if c.dtype.kind not in "fiub" else c for n, c in columns.items()})
    else:
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    return path


@pytest.mark.parametrize("how", ["csv", "npz", "jsonl", "parquet"])
@pytest.mark.parametrize("cells", ["int", "bool", "text"])
def test_a_confidence_and_whether_it_was_right(how, cells, tmp_path):
    correct = {"int": CORRECT.astype(int), "bool": CORRECT, "text": np.where(CORRECT, "yes", "no")}[cells]
    rows = read(written(pd.DataFrame({"confidence": CONFIDENCE, "correct": correct}), how, tmp_path))
    assert (rows.kind, rows.metadata, rows.coverage) == ("confidence", None, 1.0)
    assert rows.correct.tolist() == CORRECT.tolist()
    value = ece(rows.labels, rows, notion="confidence")
    assert value == pytest.approx(literal_ece(CONFIDENCE, CORRECT), abs=1e-9)


@pytest.mark.parametrize("how", ["csv", "npz", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "columns",
    [("predicted", "confidence", "label"), ("y_pred", "score", "y_true"), ("prediction", "conf", "target")],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_class_with_its_confidence(how, columns, named, tmp_path):
    cells = (NAMES[CODE], CONFIDENCE, NAMES[TRUE]) if named else (CODE, CONFIDENCE, TRUE)
    frame = pd.DataFrame({**dict(zip(columns, cells, strict=True)), "site": np.arange(N) % 3})
    path = written(frame, how, tmp_path)
    rows = read(path)
    assert (rows.kind, rows.n_classes, list(rows.metadata)) == ("top-label", 4, ["site"])
    assert ece(rows.labels, rows) == pytest.approx(literal_ece(CONFIDENCE, CORRECT, CODE), abs=1e-9)
    report = check(path)["evaluation"]
    assert report.ok
    assert "binary_input" not in report.codes
    assert "duplicate_ids" not in report.codes
    with pytest.raises(InputError, match="read it with calib.read"):
        read_predictions(path)


@pytest.mark.parametrize(
    ("columns", "positive"),
    [(("p", "label"), "1"), (("score", "y"), "1"), (("prob_1", "target"), "1"), (("y_pred", "y_true"), "1")],
)
def test_one_probability_and_a_label_of_0_and_1(columns, positive):
    p = CONFIDENCE
    rows = read(pd.DataFrame({columns[0]: p, columns[1]: CORRECT.astype(int), "age": CODE + 20}))
    assert (rows.kind, rows.positive, list(rows.metadata)) == ("binary", positive, ["age"])
    assert ece(rows.labels, rows) == pytest.approx(literal_ece(p, CORRECT), abs=1e-9)
    assert accuracy(rows.labels, rows) == pytest.approx(np.mean((p > 0.5) == CORRECT))


def test_the_positive_class_is_named_by_the_file_and_switched_by_the_user():
    frame = pd.DataFrame({"p(bad)": CONFIDENCE, "label": np.where(CORRECT, "bad", "good")})
    rows = read(frame)
    assert (rows.class_names, rows.labels.tolist()) == (("good", "bad"), CORRECT.astype(int).tolist())
    assert read(frame, positive="good").labels.tolist() == (~CORRECT).astype(int).tolist()
    with pytest.raises(InputError, match="got positive='ugly'"):
        read(frame, positive="ugly")
    assert "binary_input" in examine(frame).codes
    assert examine(frame).fix("binary_input").predictions().class_names == ("good", "bad")


def llm_table():
    """Questions asked at four thresholds: quoted texts of several lines, IDK, letters that are never true."""
    random, rows = np.random.default_rng(1), []
    for question in range(100):
        answer = "ABC"[question % 3]
        for threshold in (0, 50, 75, 90):
            confidence = random.integers(0, 11) / 10
            predicted = "IDK" if 100 * confidence < threshold else random.choice([*"ABCE", answer, answer])
            rows.append(
                {
                    "id": f"q{question}",
                    "threshold": threshold,
                    "question": f'What is "{question}",\nand why?',
                    "choices": "A: x, B: y",
                    "answer": answer,
                    "predicted_answer": predicted,
                    "confidence": confidence,
                }
            )
    return pd.DataFrame(rows)


@pytest.mark.parametrize("how", ["csv", "jsonl", "parquet"])
def test_an_evaluation_of_language_models(how, tmp_path):
    table = llm_table()
    path = written(table, how, tmp_path)
    rows = read(path)
    answered = table[table["predicted_answer"] != "IDK"]
    assert (rows.kind, rows.n_samples) == ("top-label", len(answered))
    assert rows.class_names == ("A", "B", "C", "E")
    assert rows.coverage == pytest.approx(len(answered) / len(table))
    assert list(rows.metadata) == ["id", "threshold", "question", "choices"]
    assert rows.metadata["question"].tolist() == answered["question"].tolist()
    right = (answered["predicted_answer"] == answered["answer"]).to_numpy()
    scores, groups = answered["confidence"].to_numpy(), answered["predicted_answer"].to_numpy()
    assert ece(rows.labels, rows) == pytest.approx(literal_ece(scores, right, groups), abs=1e-9)
    report = check(path)["evaluation"]
    assert report.ok
    assert not {"duplicate_ids", "binary_input", "labels_missing"} & set(report.codes)
    assert "'IDK'" in report["abstentions"].message
    assert "'E'" in report["class_never_true"].message
    named = read(path, abstentions=["E"])
    assert "IDK" in named.class_names
    assert "E" not in named.class_names


def test_ids_that_repeat_at_random_are_still_duplicates():
    table = llm_table().drop(columns=["threshold", "question", "choices"])
    assert "duplicate_ids" in examine(table).codes


def test_whether_a_class_is_right_suffices():
    rows = read(pd.DataFrame({"predicted": NAMES[CODE], "confidence": CONFIDENCE, "correct": CORRECT}))
    assert ece(rows.labels, rows) == pytest.approx(literal_ece(CONFIDENCE, CORRECT, CODE), abs=1e-9)
    frame = pd.DataFrame(
        {"predicted": CODE, "confidence": CONFIDENCE, "label": TRUE, "correct": CORRECT ^ (np.arange(N) < 3)}
    )
    assert examine(frame)["correct_disagrees"].rows.tolist() == [0, 1, 2]


def test_a_pipelines_label_is_what_it_predicts():
    rows = read(pd.DataFrame({"label": NAMES[CODE], "score": CONFIDENCE, "true_label": NAMES[TRUE]}))
    assert rows.kind == "top-label"
    assert accuracy(rows.labels, rows) == CORRECT.mean()


def test_percent_and_log_odds_are_findings_with_a_fix():
    frame = pd.DataFrame({"confidence": 100 * CONFIDENCE, "correct": CORRECT})
    report = examine(frame)
    assert report["percent"].severity == "error"
    np.testing.assert_allclose(report.fix("percent").announced().confidence, CONFIDENCE)
    p = CONFIDENCE.clip(0.01, 0.99)
    odds = examine(pd.DataFrame({"score": np.log(p / (1 - p)), "y": CORRECT.astype(int)}))
    np.testing.assert_allclose(odds.fix("logits").announced().score, p, atol=1e-12)
    named = read(pd.DataFrame({"logit": np.log(p / (1 - p)), "y": CORRECT.astype(int)}))
    np.testing.assert_allclose(named.score, p, atol=1e-12)


def test_missing_cells_are_found_not_counted():
    frame = pd.DataFrame({"predicted": NAMES[CODE], "confidence": CONFIDENCE, "label": NAMES[TRUE]})
    frame.loc[0, "confidence"], frame.loc[1, "label"], frame.loc[2, "predicted"] = np.nan, None, None
    report = examine(frame)
    assert report["not_finite"].rows.tolist() == [0]
    assert report["labels_missing"].rows.tolist() == [1]
    assert report["abstentions"].rows.tolist() == [2]
    fixed = report.fix("not_finite", "labels_missing").announced()
    assert fixed.n_samples == N - 3
    assert fixed.coverage == pytest.approx((N - 3) / (N - 2))


def test_labels_of_many_classes_need_the_predicted_class():
    report = examine(pd.DataFrame({"confidence": CONFIDENCE, "label": NAMES[TRUE]}))
    assert report["predicted_missing"].severity == "error"
    assert "binary_input" not in report.codes
    with pytest.raises(InputError, match="add that class as a column 'predicted'"):
        report.announced()


def test_weights_and_groups_stay_and_are_said_to_be_used():
    frame = pd.DataFrame(
        {
            "predicted": CODE,
            "confidence": CONFIDENCE,
            "label": TRUE,
            "group": NAMES[CODE],
            "weight": CONFIDENCE,
        }
    )
    rows = read(frame)
    assert rows.sample_weight.tolist() == CONFIDENCE.tolist()
    assert list(rows.metadata) == ["group"]
    assert {"weights_used", "group_kept"} <= set(examine(frame).codes)


def test_vectors_stay_vectors_and_keep_their_columns():
    proba = np.random.default_rng(2).dirichlet([1, 1, 1], 50)
    frame = pd.DataFrame({**{f"p({n})": proba[:, i] for i, n in enumerate("abc")}, "label": list("ab") * 25})
    rows = read(frame.assign(predicted="a", confidence=proba.max(axis=1), note="x", weight=2.0))
    assert (rows.kind, rows.class_names) == ("vectors", ("a", "b", "c"))
    assert list(rows.metadata) == ["predicted", "confidence", "note"]
    assert rows.sample_weight.tolist() == [2.0] * 50
    plain = read(frame.rename(columns=lambda name: name.strip("p()")).assign(confidence=proba.max(axis=1)))
    assert (plain.kind, plain.class_names) == ("vectors", ("a", "b", "c"))


@pytest.mark.parametrize(
    ("frame", "calibrator", "score"),
    [
        ({"confidence": CONFIDENCE, "correct": CORRECT}, PlattScaling(), "confidence"),
        (
            {"p(yes)": CONFIDENCE, "label": np.where(CORRECT, "yes", "no")},
            HistogramBinning(n_bins=5),
            "score",
        ),
        (
            {"id": np.arange(N)[::-1], "predicted": CODE, "confidence": CONFIDENCE, "label": TRUE},
            MulticlassToBinary(PlattScaling()),
            "confidence",
        ),
    ],
)
def test_what_apply_writes_is_read_back_as_calibrated(frame, calibrator, score, tmp_path):
    rows = read(pd.DataFrame(frame))
    fitted = fit_on(calibrator, rows)
    applied_frame(fitted, rows).to_csv(tmp_path / "applied.csv", index=False)
    again = read(tmp_path / "applied.csv")
    assert again.kind == rows.kind
    assert again.labels.tolist() == rows.labels.tolist()
    expected = calibrated_scores(fitted, rows)
    np.testing.assert_array_equal(getattr(again, score), getattr(expected, score))
