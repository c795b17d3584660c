"""Files of people who hold less than a probability for every class load unaided, as what they announce."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from calib import (
    InputError,
    Predictions,
    TopKPrediction,
    accuracy,
    brier_score,
    ece,
    examine,
    read,
    read_predictions,
    risk,
)
from calib.answers.calibrated import applied_frame, calibrated_scores, fit_on
from calib.calibrators import HistogramBinning, MulticlassToBinary, PlattScaling
from calib.files.findings import check
from calib.files.readers.roles import ChoiceError

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
    assert "labels_missing" not in report.codes
    assert "'IDK'" in report["abstentions"].message
    assert "'E'" in report["class_never_true"].message
    named = read(path, abstentions=["E"])
    assert "IDK" in named.class_names
    assert "E" not in named.class_names


def test_whether_a_class_is_right_suffices():
    rows = read(pd.DataFrame({"predicted": NAMES[CODE], "confidence": CONFIDENCE, "correct": CORRECT}))
    assert ece(rows.labels, rows) == pytest.approx(literal_ece(CONFIDENCE, CORRECT, CODE), abs=1e-9)
    frame = pd.DataFrame(
        {"predicted": CODE, "confidence": CONFIDENCE, "label": TRUE, "correct": CORRECT ^ (np.arange(N) < 3)}
    )
    assert examine(frame)["columns_disagree"].rows.tolist() == [0, 1, 2]
    wrong = frame.drop(columns="correct").assign(wrong=1 - frame["correct"].astype(int))
    assert examine(wrong)["columns_disagree"].rows.tolist() == [0, 1, 2]


def test_a_pipelines_label_is_what_it_predicts():
    rows = read(pd.DataFrame({"label": NAMES[CODE], "score": CONFIDENCE, "true_label": NAMES[TRUE]}))
    assert rows.kind == "top-label"
    assert accuracy(rows.labels, rows) == CORRECT.mean()


def test_percent_and_log_odds_are_findings_with_a_fix():
    frame = pd.DataFrame({"confidence": 100 * CONFIDENCE, "correct": CORRECT})
    report = examine(frame)
    assert report["percent"].severity == "note"
    assert "percentages. Reading divides by 100" in report["percent"].message
    np.testing.assert_allclose(read(frame).confidence, CONFIDENCE)
    few = frame.assign(confidence=np.where(np.arange(N) < 9, 50.0, CONFIDENCE))
    assert (examine(few)["scale_unknown"].severity, examine(few)["scale_unknown"].fix) == ("error", None)
    with pytest.raises(InputError, match="percent"):
        read(few)
    p = CONFIDENCE.clip(0.01, 0.99)
    odds = examine(pd.DataFrame({"score": np.log(p / (1 - p)), "y": CORRECT.astype(int)}))
    np.testing.assert_allclose(odds.fix("logits").rows().score, p, atol=1e-12)
    named = read(pd.DataFrame({"logit": np.log(p / (1 - p)), "y": CORRECT.astype(int)}))
    np.testing.assert_allclose(named.score, p, atol=1e-12)


def test_missing_cells_are_found_not_counted():
    frame = pd.DataFrame({"predicted": NAMES[CODE], "confidence": CONFIDENCE, "label": NAMES[TRUE]})
    frame.loc[0, "confidence"], frame.loc[1, "label"], frame.loc[2, "predicted"] = np.nan, None, None
    report = examine(frame)
    assert report["not_finite"].rows.tolist() == [0]
    assert report["labels_missing"].rows.tolist() == [1]
    assert report["abstentions"].rows.tolist() == [2]
    fixed = report.fix("not_finite", "labels_missing").rows()
    assert fixed.n_samples == N - 3
    assert fixed.coverage == pytest.approx((N - 3) / (N - 2))


def test_labels_of_many_classes_need_the_predicted_class():
    report = examine(pd.DataFrame({"confidence": CONFIDENCE, "label": NAMES[TRUE]}))
    assert report["predicted_missing"].severity == "error"
    with pytest.raises(InputError, match="add that class as a column 'predicted'"):
        report.rows()


def test_weights_and_groups_stay_and_are_said_to_be_used():
    frame = pd.DataFrame(
        {
            "predicted": CODE,
            "confidence": CONFIDENCE,
            "label": TRUE,
            "group": NAMES[CODE],
            "sample_weight": CONFIDENCE,
        }
    )
    rows = read(frame)
    assert rows.sample_weight.tolist() == CONFIDENCE.tolist()
    assert list(rows.metadata) == ["group"]


def test_vectors_stay_vectors_and_keep_their_columns():
    proba = np.random.default_rng(2).dirichlet([1, 1, 1], 50)
    frame = pd.DataFrame({**{f"p({n})": proba[:, i] for i, n in enumerate("abc")}, "label": list("ab") * 25})
    rows = read(frame.assign(predicted="a", confidence=proba.max(axis=1), note="x", sample_weight=2.0))
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


def many(seed=3, n=N):
    """Probabilities of four classes, the places of the highest first, and true classes."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.full(4, 0.7), n)
    truth = np.array([random.choice(4, p=p) for p in proba])
    return proba, np.argsort(-proba, axis=1, kind="stable"), truth


def literal_ranks(proba, order, truth, n_ranks):
    """Top-K-confidence ECE: the mean over ranks of the ECE of each."""
    rows = np.arange(len(proba))
    each = [literal_ece(proba[rows, order[:, k]], order[:, k] == truth) for k in range(n_ranks)]
    return np.mean(each)


def lines(rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def ranked_files():
    """The two highest classes of each row, in every form."""
    proba, order, truth = many()
    top, scores = order[:, :2], np.take_along_axis(proba, order[:, :2], axis=1)
    names, arrays = io.BytesIO(), io.BytesIO()
    np.savez(names, labels=NAMES[top], scores=scores, true=NAMES[truth])
    np.savez(arrays, labels=top, scores=scores, true=truth)
    rows = [(NAMES[t].tolist(), s.tolist(), NAMES[y]) for t, s, y in zip(top, scores, truth, strict=True)]
    frame = pd.DataFrame(rows, columns=["labels", "scores", "true"])
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    long = pd.DataFrame(
        {
            "row": np.repeat(np.arange(N), 2),
            "class": NAMES[top].ravel(),
            "probability": scores.ravel(),
            "label": np.repeat(NAMES[truth], 2),
        }
    )
    objects = [
        {"prediction": [{"label": c, "score": p} for c, p in zip(t, s, strict=True)][::-1], "label": y}
        for t, s, y in rows
    ]
    wide = pd.DataFrame({"top1_label": NAMES[top[:, 0]], "top1_prob": scores[:, 0]})
    wide = wide.assign(top2_label=NAMES[top[:, 1]], top2_prob=scores[:, 1], y_true=NAMES[truth])
    return {
        "json lines": lines({"labels": t, "scores": s, "true": y} for t, s, y in rows),
        "npz of names": names.getvalue(),
        "npz of codes": arrays.getvalue(),
        "parquet of lists": parquet.getvalue(),
        "frame of lists": frame,
        "hugging face": lines(objects),
        "long": long.sample(frac=1, random_state=0).to_csv(index=False).encode(),
        "wide": wide.to_csv(index=False).encode(),
    }


@pytest.mark.parametrize("how", ranked_files())
def test_the_highest_classes_with_their_scores(how):
    proba, order, truth = many()
    rows = read(ranked_files()[how])
    assert (rows.kind, rows.n_ranks, rows.n_classes) == ("top-k", 2, 4)
    expected = literal_ece(proba.max(axis=1), order[:, 0] == truth, order[:, 0])
    assert ece(rows.labels, rows) == pytest.approx(expected, abs=1e-9)
    pooled = ece(rows.labels, rows, notion="top-k-confidence")
    assert pooled == pytest.approx(literal_ranks(proba, order, truth, 2), abs=1e-9)
    assert examine(ranked_files()[how]).ok


def vector_files():
    """A probability for every class, in forms with lists, objects and lines."""
    proba, order, truth = many()
    full = [dict(zip(NAMES.tolist(), p.tolist(), strict=True)) for p in proba]
    objects = [
        [{"label": str(NAMES[j]), "score": float(p[j])} for j in at]
        for p, at in zip(proba, order, strict=True)
    ]
    long = pd.DataFrame({"id": np.repeat(np.arange(N), 4), "class": np.tile(NAMES, N), "p": proba.ravel()})
    parquet = io.BytesIO()
    pd.DataFrame({"probs": full, "label": NAMES[truth]}).to_parquet(parquet)
    logits = np.log(proba + 1e-12) - 7.0
    log = [
        {
            "doc_id": at,
            "doc": {"question": "a\nb", "choices": list("wxyz")},
            "target": str(truth[at]),
            "arguments": {"gen_args_0": {"arg_0": "the prompt", "arg_1": " w"}},
            "filtered_resps": [[str(item), "False"] for item in row],
            "acc": float(row.argmax() == truth[at]),
        }
        for at, row in enumerate(logits)
    ]
    labels = [str(NAMES[y]) for y in truth]
    return {
        "objects": lines({"probs": p, "label": y} for p, y in zip(full, labels, strict=True)),
        "lists": lines({"probs": p.tolist(), "label": y} for p, y in zip(proba, labels, strict=True)),
        "lists of objects": lines(
            {"prediction": p, "label": y} for p, y in zip(objects, labels, strict=True)
        ),
        "parquet of objects": parquet.getvalue(),
        "long": long.assign(label=np.repeat(labels, 4)).to_csv(index=False).encode(),
        "long with 0 and 1": long.assign(label=(long["class"] == np.repeat(labels, 4)).astype(int)),
        "lm-evaluation-harness": lines(log),
    }


@pytest.mark.parametrize("how", vector_files())
def test_vectors_in_lists_objects_and_lines(how):
    proba, order, truth = many()
    rows = read(vector_files()[how])
    assert (rows.kind, rows.n_samples, rows.n_classes) == ("vectors", N, 4)
    expected = literal_ece(proba.max(axis=1), order[:, 0] == truth, order[:, 0])
    assert ece(rows.labels, rows) == pytest.approx(expected, abs=1e-6)
    report = examine(vector_files()[how])
    assert report.ok
    assert ("class_names_assumed" in report.codes) == (how == "lists")
    if how == "lm-evaluation-harness":
        assert rows.metadata["prompt"][0] == "the prompt"
        assert rows.metadata["doc.question"][0] == "a\nb"


def test_a_log_of_other_targets_uses_whether_it_was_right():
    proba, order, truth = many()
    rows = [
        {
            "filtered_resps": [[float(np.log(item + 1e-12)), False] for item in p],
            "target": "?",
            "acc": int(ok),
        }
        for p, ok in zip(proba, order[:, 0] == truth, strict=True)
    ]
    read_rows = read(lines(rows))
    expected = literal_ece(proba.max(axis=1), order[:, 0] == truth, order[:, 0])
    assert (read_rows.kind, ece(read_rows.labels, read_rows)) == (
        "top-label",
        pytest.approx(expected, abs=1e-6),
    )
    with pytest.raises(InputError, match="but holds no confidence"):
        read(lines([{"filtered_resps": ["Paris"], "target": "Paris", "exact_match": 1.0}] * 5))


def several_files():
    """Scores of four classes of which several can be true."""
    random = np.random.default_rng(4)
    scores = random.random((N, 4)).round(4)
    truth = (random.random((N, 4)) < scores**1.2).astype(int)
    arrays = io.BytesIO()
    np.savez(arrays, scores=scores, labels=truth)
    frame = pd.DataFrame({f"p({name})": scores[:, j] for j, name in enumerate(NAMES)})
    sets = [[str(name) for name, item in zip(NAMES, row, strict=True) if item] for row in truth]
    full = [dict(zip(NAMES.tolist(), row.tolist(), strict=True)) for row in scores]
    return (scores, truth), {
        "columns": frame.assign(**{f"true {name}": truth[:, j] for j, name in enumerate(NAMES)}),
        "npz": arrays.getvalue(),
        "sets": lines({"scores": s, "labels": t} for s, t in zip(full, sets, strict=True)),
        "codes": lines(
            {"scores": s.tolist(), "labels": np.flatnonzero(t).tolist()}
            for s, t in zip(scores, truth, strict=True)
        ),
    }


@pytest.mark.parametrize("how", several_files()[1])
def test_scores_of_which_several_can_be_true(how):
    (scores, truth), files = several_files()
    rows = read(files[how])
    assert (rows.kind, rows.n_classes) == ("multilabel", 4)
    expected = np.mean([literal_ece(scores[:, j], truth[:, j]) for j in range(4)])
    assert ece(rows.labels, rows, notion="class-wise") == pytest.approx(expected, abs=1e-9)
    item = rows.of_class(rows.class_names[2])
    assert ece(item.labels, item) == pytest.approx(literal_ece(scores[:, 2], truth[:, 2]), abs=1e-9)
    chosen = read(files[how], positive=rows.class_names[2])
    assert (chosen.kind, chosen.positive) == ("binary", rows.class_names[2])
    assert examine(files[how]).ok
    with pytest.raises(InputError, match="several of which can be true"):
        ece(rows.labels, rows, notion="top-label")


@pytest.mark.parametrize("notion", ["class-wise", "top-k-label", "top-k-confidence"])
def test_what_apply_writes_of_vectors_is_read_back(notion, tmp_path):
    proba, _, truth = many()
    rows = Predictions(proba, truth, tuple(NAMES))
    fitted = fit_on(MulticlassToBinary(PlattScaling(), notion=notion), rows)
    applied_frame(fitted, rows).to_csv(tmp_path / "applied.csv", index=False)
    again = read(tmp_path / "applied.csv")
    if notion == "class-wise":
        expected = fitted.predict_proba(proba)
        assert again.kind == "top-label"
        np.testing.assert_array_equal(again.confidence, expected.max(axis=1))
        assert accuracy(again.labels, again) == (expected.argmax(axis=1) == truth).mean()
    else:
        ranked, scores = fitted.predict_top_k(proba)
        assert again.kind == "top-k"
        np.testing.assert_array_equal(again.scores, scores)
        assert ece(again.labels, again, notion=notion) == pytest.approx(
            ece(truth, TopKPrediction(ranked, scores), notion=notion)
        )


def test_rows_of_one_id_stay_on_one_side_of_a_split():
    calibration, evaluation = read(llm_table()).split(0.5, 0)
    assert not set(calibration.metadata["id"]) & set(evaluation.metadata["id"])
    assert 0.4 < calibration.n_samples / (calibration.n_samples + evaluation.n_samples) < 0.6
    again = calibration.split(0.5, 0)
    assert not set(again[0].metadata["id"]) & set(again[1].metadata["id"])


def test_the_text_column_that_holds_class_names_is_the_label():
    """Whatever it is called, and though another text column stands beside it."""
    text = "setosa,virginica,species,clinic\n0.9,0.1,setosa,A\n0.2,0.8,virginica,B\n0.3,0.7,setosa,A\n"
    rows = read(text.encode())
    assert rows.class_names == ("setosa", "virginica")
    assert rows.labels.tolist() == [0, 1, 0]
    assert rows.metadata["clinic"].tolist() == ["A", "B", "A"]


YEARS = _random.integers(18, 90, N)
SHARE = _random.random(N).round(3)
HAPPENED = (_random.random(N) < SHARE).astype(int)


@pytest.mark.parametrize(
    ("columns", "kind", "classes", "further"),
    [
        ({"age": YEARS, "p_a": 1 - SHARE, "p_b": SHARE}, "vectors", ("a", "b"), ["age"]),
        ({"a": 1 - SHARE, "b": SHARE, "weight_kg": YEARS + 0.5}, "vectors", ("a", "b"), ["weight_kg"]),
        ({"sex": HAPPENED, "a": 1 - SHARE, "b": SHARE}, "vectors", ("a", "b"), ["sex"]),
        ({"risk": SHARE, "age": YEARS}, "binary", ("a", "b"), ["age"]),
    ],
)
def test_numbers_that_are_no_scores_stay_with_the_rows(columns, kind, classes, further):
    frame = pd.DataFrame({**columns, "label": np.where(HAPPENED, "b", "a")})
    rows = read(frame)
    assert (rows.kind, rows.class_names) == (kind, classes)
    assert [name for name in rows.metadata if name != "label"] == further
    assert rows.labels.tolist() == HAPPENED.tolist()


@pytest.mark.parametrize(
    ("score", "label"), [("pd", "default"), ("churn_probability", "churned"), ("risk", "outcome")]
)
def test_one_column_of_fractions_and_one_of_zeros_and_ones(score, label):
    frame = pd.DataFrame({"customer_id": 1000 + np.arange(N), score: SHARE, label: HAPPENED})
    rows = read(frame)
    assert (rows.kind, rows.class_names) == ("binary", ("0", "1"))
    np.testing.assert_array_equal(rows.labels, HAPPENED)


def test_a_score_that_names_its_event_takes_zeros_and_ones():
    rows = read(pd.DataFrame({"p(yes)": SHARE, "label": HAPPENED}))
    assert rows.class_names == ("not yes", "yes")
    np.testing.assert_array_equal(rows.labels, HAPPENED)


def test_a_predicted_class_that_the_scores_contradict_is_named():
    said = np.where(SHARE > 0.5, "a", "b")
    said[:3] = np.where(SHARE[:3] > 0.5, "b", "a")
    frame = pd.DataFrame(
        {"predicted": said, "confidence": SHARE, "p_a": SHARE, "p_b": 1 - SHARE, "label": said}
    )
    finding = examine(frame)["columns_disagree"]
    assert (finding.columns, finding.rows.tolist(), finding.severity) == (
        ("predicted",),
        [0, 1, 2],
        "warning",
    )
    assert "columns_disagree" not in examine(frame.drop(columns="predicted")).codes


@pytest.mark.parametrize("names", [("prob1", "prob1_outcome"), ("probability", "outcome")])
def test_ties_of_a_forecast_are_asked_about_and_count_half(names, tmp_path):
    """The shape of public forecasts of games: a tie is 0.5 in the outcome of both sides."""
    score, label = names
    points = np.where(np.arange(N) % 50 == 0, 0.5, CORRECT.astype(float))
    frame = pd.DataFrame({"date": "2020-01-01", "team1": "A", score: CONFIDENCE, label: points})
    if score == "prob1":
        frame = frame.assign(prob2=1.0 - CONFIDENCE, prob2_outcome=1.0 - points)
    path = written(frame, "csv", tmp_path)
    with pytest.raises(ChoiceError) as asked:
        read(path)
    half, without = (choice.given for choice in asked.value.choices)
    rows = read(path, score=half["score"], votes=half["votes"])
    assert risk(rows).events.observed == pytest.approx(points.sum())
    assert brier_score(rows) == pytest.approx(np.mean((CONFIDENCE - points) ** 2 + points * (1.0 - points)))
    rows = read(path, **without)
    assert rows.n_samples == (points != 0.5).sum()
