"""Files as people name, write and lay them out are read unaided, and their numbers are those of a loop."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from calib import ece, examine, read
from tests.oracles import uniform_bin

N = 240
_random = np.random.default_rng(11)
P = _random.uniform(0.05, 0.999, N).round(4)
RIGHT = _random.random(N) < P**1.4
WEIGHT = _random.integers(1, 6, N).astype(float)
NAMES = np.array(["alpha", "beta", "gamma", "delta"])
CODE = _random.integers(0, 4, N)
TRUE = np.where(RIGHT, CODE, (CODE + _random.integers(1, 4, N)) % 4)
SAID, TRUTH = NAMES[CODE], NAMES[TRUE]
FULL = _random.dirichlet(np.full(4, 0.6), N).round(6)
FULL[:, 3] += 1.0 - FULL.sum(axis=1)
LABEL = np.array([_random.choice(4, p=p / p.sum()) for p in FULL.clip(0)])
ORDER = np.argsort(-FULL, axis=1, kind="stable")
TOP, TOP_SCORES = ORDER[:, :2], np.take_along_axis(FULL, ORDER[:, :2], axis=1)
SEVERAL = _random.random((N, 4)).round(4)
EACH = (_random.random((N, 4)) < SEVERAL**1.2).astype(int)
ANSWERED = np.arange(N) % 7 != 0


def literal(score, outcome, groups=None, weights=None):
    """ECE in 15 bins by a loop over rows; of (group, bin) cells where there are groups."""
    cells, weights = {}, np.ones(len(score)) if weights is None else weights
    for row, value in enumerate(score):
        key = (None if groups is None else groups[row], uniform_bin(float(value), 15))
        cells[key] = cells.get(key, 0.0) + weights[row] * (float(outcome[row]) - float(value))
    return sum(abs(gap) for gap in cells.values()) / sum(weights)


def words(yes, no):
    return np.where(RIGHT, yes, no)


def commas(values):
    return [str(value).replace(".", ",") for value in values]


def csv(columns, sep=",", **options):
    return pd.DataFrame(columns).to_csv(index=False, sep=sep, **options).encode()


def lines(rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def arrays(**named):
    file = io.BytesIO()
    np.savez(file, **named)
    return file.getvalue()


def table(how, columns):
    file = io.BytesIO()
    getattr(pd.DataFrame(columns), f"to_{how}")(file)
    return file.getvalue()


def triple(predicted, confidence, label):
    return {predicted: SAID, confidence: P, label: TRUTH}


PERCENT = (100 * P).round(2)
WHOLE = (100 * P).round().astype(int)
DECIDED = np.where(P > 0.4, "spam", "ham")
LONG = {
    "sample_id": np.repeat(np.arange(N), 4),
    "class_name": np.tile(NAMES, N),
    "score": FULL.ravel(),
    "true_class": np.repeat(NAMES[LABEL], 4),
}
RANKED = list(zip(NAMES[TOP].tolist(), TOP_SCORES.tolist(), NAMES[LABEL].tolist(), strict=True))
EXCEL = "\ufeffsep=;\r\n" + pd.DataFrame(
    {"confidence": commas(P), "correct": words("WAHR", "FALSCH")}
).to_csv(index=False, sep=";", lineterminator="\r\n")

#: Of each kind, the number that a loop gives, and files that hold these rows.
CONFIDENCES = {
    "ja and nein": csv({"Konfidenz": commas(P), "richtig": words("ja", "nein")}, ";"),
    "oui and non": csv({"confidence": P, "correct": words("oui", "non")}, "\t"),
    "verdadero": csv({"confianza": P, "correcto": words("verdadero", "falso")}, "|"),
    "excel": EXCEL.encode(),
    "utf-16": pd.DataFrame({"Confidence": P, "Correct": words("TRUE", "FALSE")})
    .to_csv(index=False, sep="\t")
    .encode("utf-16"),
    "percent signs": csv({"confidence": [f"{p:.2f}%" for p in PERCENT], "correct": words("Y", "N")}),
    "objects": lines(
        {"id": row, "result": {"confidence": p, "correct": ok}, "meta": {"topic": f"t{row % 3}"}}
        for row, (p, ok) in enumerate(zip(P.tolist(), RIGHT.tolist(), strict=True))
    ),
    "free answers": lines(
        {"problem": f"p {row}", "model_answer": f"a {row}", "self_reported_confidence": p, "grade": grade}
        for row, (p, grade) in enumerate(zip(P.tolist(), words("CORRECT", "INCORRECT").tolist(), strict=True))
    ),
    "feather": table("feather", {"conf": P, "correct": RIGHT}),
    "npz": arrays(confidences=P, correctness=RIGHT),
    "log-probabilities": lines(
        {"answer_logprob": log, "correct": ok}
        for log, ok in zip(np.log(P).tolist(), RIGHT.tolist(), strict=True)
    ),
}
TRIPLES = {
    "spaces": csv(triple("Predicted Label", "Predicted Probability", "Actual Label")),
    "class_true": csv(triple("class_pred", "max_prob", "class_true")),
    "camel": csv(triple("predictedClass", "predictedProbability", "trueClass")),
    "german": csv({"Vorhersage": SAID, "Konfidenz": commas(P), "Wahrheit": TRUTH}, ";"),
    "unknown name of the label": csv(triple("predicted", "confidence", "species")),
    "answer key": csv(
        {"question": [f"q, {n}" for n in range(N)], **triple("response", "conf", "answer_key")}
    ),
    "objects": lines(
        {"pred": {"label": said, "score": p}, "gold": true}
        for said, p, true in zip(SAID.tolist(), P.tolist(), TRUTH.tolist(), strict=True)
    ),
    "settings": csv(
        {"qid": np.arange(N) // 4, "temperature": np.tile([0, 0.3, 0.7, 1], N // 4)}
        | triple("predicted", "confidence", "label")
    ),
    "categories": table(
        "parquet", {"prediction": pd.Categorical(SAID), "p": P, "truth": pd.Categorical(TRUTH)}
    ),
    "npz": arrays(**triple("predicted", "confidence", "label")),
}
BINARY = {
    "is_fraud": (csv({"prob_fraud": P, "is_fraud": RIGHT.astype(int)}), "fraud"),
    "P(Y=1)": (csv({"P(Y=1)": P, "Y": RIGHT.astype(int)}), "1"),
    "decided": (csv({"y_true": words("spam", "ham"), "y_pred": DECIDED, "y_prob": P}), "spam"),
    "defaulted": (
        csv({"customer": np.arange(N) + 1000, "probability": P, "defaulted": words("Yes", "No")}),
        "Yes",
    ),
    "ausfall": (csv({"pd_prozent": commas(PERCENT), "ausfall": words("ja", "nein")}, ";"), "ja"),
    "patients": (
        csv({"risk_score": P, "disease": words("positive", "negative"), "sex": list("mf") * (N // 2)}),
        "positive",
    ),
    "1 and 2": (csv({"score": P, "label": np.where(RIGHT, 2, 1)}), "2"),
    "-1 and 1": (csv({"score": P, "label": np.where(RIGHT, 1, -1)}), "1"),
}
RANKS = {
    "objects": lines(
        {"top2": [{"class": c, "prob": s} for c, s in zip(names, scores, strict=True)], "truth": true}
        for names, scores, true in RANKED
    ),
    "pairs": lines(
        {"predictions": list(zip(names, scores, strict=True)), "label": true}
        for names, scores, true in RANKED
    ),
    "lists of Python in CSV": csv(
        {
            "labels": [str(n) for n, _, _ in RANKED],
            "scores": [str(s) for _, s, _ in RANKED],
            "true": NAMES[LABEL],
        }
    ),
    "lists of JSON in CSV": csv(
        {"labels": [json.dumps(n) for n, _, _ in RANKED], "scores": TOP_SCORES.tolist(), "true": NAMES[LABEL]}
    ),
    "pred_1": csv(
        {f"pred_{k + 1}": NAMES[TOP[:, k]] for k in (0, 1)}
        | {f"prob_{k + 1}": TOP_SCORES[:, k] for k in (0, 1)}
        | {"target": NAMES[LABEL]}
    ),
}
VECTORS = {
    "long": csv(LONG | {"score": commas(FULL.ravel())}, ";"),
    "_prob": csv({f"{name}_prob": FULL[:, j] for j, name in enumerate(NAMES)} | {"class": NAMES[LABEL]}),
    "lists of NumPy in CSV": csv({"probs": [str(row) for row in FULL], "label": LABEL}),
    "log-probabilities by class": lines(
        {
            "question": "?",
            "top_logprobs": dict(zip("ABCD", np.log(row).tolist(), strict=True)),
            "answer": "ABCD"[y],
        }
        for row, y in zip(FULL.clip(1e-9), LABEL, strict=True)
    ),
    "choices": lines(
        {"question": "?", "choices": NAMES.tolist(), "probs": row.tolist(), "answer_index": y}
        for row, y in zip(FULL, LABEL.tolist(), strict=True)
    ),
    "one-hot": arrays(probs=FULL, targets=np.eye(4, dtype=int)[LABEL]),
    "(n, 1)": arrays(y_prob=FULL, y_true=LABEL[:, None]),
}
MULTILABEL = {
    "_score and _true": csv(
        {f"{name}_score": SEVERAL[:, j] for j, name in enumerate(NAMES)}
        | {f"{name}_true": EACH[:, j] for j, name in enumerate(NAMES)}
    ),
    "tags": lines(
        {"scores": dict(zip(NAMES.tolist(), row.tolist(), strict=True)), "tags": NAMES[each == 1].tolist()}
        for row, each in zip(SEVERAL, EACH, strict=True)
    ),
}
FILES = [
    *(("confidence", "confidence", name, file, literal(P, RIGHT)) for name, file in CONFIDENCES.items()),
    *(("top-label", "top-label", name, file, literal(P, RIGHT, CODE)) for name, file in TRIPLES.items()),
    *(("binary", "top-label", name, file, literal(P, RIGHT)) for name, (file, _) in BINARY.items()),
    *(
        (kind, "top-label", name, file, literal(FULL.max(axis=1), TOP[:, 0] == LABEL, TOP[:, 0]))
        for kind, files in (("top-k", RANKS), ("vectors", VECTORS))
        for name, file in files.items()
    ),
    *(
        (
            "multilabel",
            "class-wise",
            name,
            file,
            np.mean([literal(SEVERAL[:, j], EACH[:, j]) for j in range(4)]),
        )
        for name, file in MULTILABEL.items()
    ),
]


@pytest.mark.parametrize(
    ("kind", "notion", "file", "expected"),
    [(kind, notion, file, expected) for kind, notion, _, file, expected in FILES],
    ids=[f"{kind}: {name}" for kind, _, name, _, _ in FILES],
)
def test_a_file_is_read_unaided(kind, notion, file, expected):
    rows, report = read(file), examine(file)
    assert (rows.kind, rows.n_samples) == (kind, N)
    assert ece(rows.labels, rows, notion=notion) == pytest.approx(expected, abs=1e-6)
    assert report.ok
    assert "rows_together" not in report.codes
    assert ("clusters_kept" in report.codes) == (b"qid" in file)  # rows are independent; ids repeat in one


@pytest.mark.parametrize("name", BINARY)
def test_the_class_that_a_score_is_of(name):
    file, positive = BINARY[name]
    assert read(file).positive == positive


def test_whole_percentages_and_weights_of_rows():
    columns = {"confidence_pct": WHOLE, "is_correct": words("T", "F"), "survey_weight": WEIGHT}
    rows = read(csv(columns | {"day": pd.date_range("2024-01-01", periods=N).strftime("%d.%m.%Y")}))
    assert (rows.kind, list(rows.metadata)) == ("confidence", ["day"])
    expected = literal(WHOLE / 100, RIGHT, weights=WEIGHT)
    assert ece(rows.labels, rows, notion="confidence") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("predicted", [False, True])
def test_a_grade_of_no_attempt_is_no_answer(predicted):
    grade = np.where(ANSWERED, words("CORRECT", "INCORRECT"), "NOT_ATTEMPTED")
    file = csv({"confidence": P, "grade": grade} | ({"predicted": SAID} if predicted else {}))
    rows = read(file)
    assert (rows.n_samples, rows.coverage) == (ANSWERED.sum(), pytest.approx(ANSWERED.mean()))
    expected = literal(P[ANSWERED], RIGHT[ANSWERED], CODE[ANSWERED] if predicted else None)
    notion = "top-label" if predicted else "confidence"
    assert ece(rows.labels, rows, notion=notion) == pytest.approx(expected, abs=1e-9)
    assert "'NOT_ATTEMPTED'" in examine(file)["abstentions"].message


def test_what_looks_alike_is_not_taken_for_it():
    high = np.maximum(P, 1 - P)
    rows = read(csv({"y_true": words("spam", "ham"), "y_pred": DECIDED, "y_prob": high}))
    right = words("spam", "ham") == DECIDED
    assert rows.kind == "top-label"
    assert ece(rows.labels, rows) == pytest.approx(literal(high, right, DECIDED), abs=1e-9)
    either = {"model_answer": np.where(DECIDED == "spam", "yes", "no"), "confidence": high}
    rows = read(csv(either | {"correct_answer": words("yes", "no")}))
    assert (rows.kind, rows.class_names) == ("top-label", ("no", "yes"))
    assert ece(rows.labels, rows) == pytest.approx(literal(high, right, DECIDED), abs=1e-9)
    beside = {"bleu_score": FULL[:, 0], "rouge_score": FULL[:, 1]}
    assert read(csv({"confidence": P, "correct": RIGHT} | beside)).kind == "confidence"
    second = {"predicted": SAID, "confidence": P, "second_choice": NAMES[(CODE + 1) % 4]}
    assert read(csv(second)).labels is None
    text = csv({"probs": ["[0.2 ... 0.8]"] * N, "confidence": P, "correct": RIGHT})
    assert read(text).metadata["probs"][0] == "[0.2 ... 0.8]"
