"""Files of a judge and of people: exports of evaluation tools, and which column is which."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import InputError, judge
from calib.files.readers.judged import read_judged

N = 60
TRUTH = np.random.default_rng(0).random(N) < 0.7
SAID = np.where(np.random.default_rng(1).random(N) < 0.8, TRUTH, ~TRUTH)
LABELLED = np.arange(N) % 3 == 0
PASSES = {True: "pass", False: "fail"}


def words(values, known=None):
    known = np.ones(N, bool) if known is None else known
    return [PASSES[bool(value)] if is_known else None for value, is_known in zip(values, known, strict=True)]


def promptfoo():
    def parts(row):
        yield {"pass": bool(SAID[row]), "assertion": {"type": "llm-rubric"}, "reason": "because"}
        yield {"pass": True, "assertion": {"type": "contains"}}
        if LABELLED[row]:
            yield {"pass": bool(TRUTH[row]), "assertion": {"type": "human"}}

    rows = [
        {
            "testIdx": row,
            "vars": {"q": "x"},
            "gradingResult": {"pass": True, "componentResults": [*parts(row)]},
        }
        for row in range(N)
    ]
    return {"evalId": "e", "results": {"version": 3, "prompts": [{"raw": "p"}], "results": rows, "stats": {}}}


def inspect():
    def score(row):
        edits = [{"value": "C" if SAID[row] else "I"}]
        edits += [{"value": "C" if TRUTH[row] else "I", "provenance": {"author": "anna"}}] * bool(
            LABELLED[row]
        )
        return {"value": edits[-1]["value"], "answer": "a", "history": edits if len(edits) > 1 else []}

    samples = [{"id": row, "epoch": 1, "input": "q", "scores": {"qa": score(row)}} for row in range(N)]
    return {"version": 2, "eval": {"task": "t"}, "results": {"scores": [{"name": "qa"}]}, "samples": samples}


def deepeval():
    human = words(TRUTH, LABELLED)
    return {
        "testCases": [
            {
                "name": f"case {row}",
                "additionalMetadata": {"human_label": human[row]},
                "metricsData": [{"name": "Correctness [GEval]", "score": 0.5, "success": bool(SAID[row])}],
            }
            for row in range(N)
        ]
    }


def langfuse():
    shared = {"observationId": None, "name": "helpful", "dataType": "BOOLEAN"}
    return [
        {
            "traceId": f"t{row:02}",
            **shared,
            "value": float(said[row]),
            "stringValue": str(bool(said[row])),
            "source": by,
        }
        for by, said, rows in (("EVAL", SAID, range(N)), ("ANNOTATION", TRUTH, np.flatnonzero(LABELLED)))
        for row in rows
    ]


@pytest.mark.parametrize("export", [promptfoo, inspect, deepeval, langfuse])
def test_exports_hold_what_the_judge_and_people_said(export):
    read = read_judged(json.dumps(export()).encode(), {})
    found = judge(**read.arguments)
    expected = judge(words(SAID), words(TRUTH, LABELLED))
    assert found.n_labelled == LABELLED.sum()
    positive = np.argsort(found.rates.judge_rate)
    np.testing.assert_allclose(found.rates.rate[positive], np.sort(expected.rates.rate))
    assert found.agreement.value == pytest.approx(expected.agreement.value)


@pytest.mark.parametrize("export", [promptfoo, inspect, deepeval, langfuse])
def test_damaged_exports_are_read_or_refused(export):
    text = json.dumps(export())
    random = np.random.default_rng(3)
    for _ in range(60):
        values = ["null", "[]", "{}", '"x"', "3", "[1]"]
        parts = text.split(": ")
        at = int(random.integers(1, len(parts)))
        end = min((place for sign in ",}]" if (place := parts[at].find(sign)) >= 0), default=0)
        if parts[at][:1] in "[{":
            continue
        parts[at] = str(random.choice(values)) + parts[at][end:]
        try:
            read_judged(": ".join(parts).encode(), {})
        except InputError:
            continue
    odd_ones = [
        {"results": 3},
        {"results": {"results": [1, {"gradingResult": "x"}]}},
        {"samples": [{"scores": [1]}]},
        {"testCases": [None, {"metricsData": {"a": 1}}]},
        {"results": [{"gradingResult": {"pass": True}}]},
    ]
    for odd in odd_ones:
        with pytest.raises(InputError):
            read_judged(json.dumps(odd).encode(), {})


def table(**columns):
    return pd.DataFrame({"id": [f"row {k}" for k in range(N)], **columns}).to_csv(index=False).encode()


@pytest.mark.parametrize(
    ("columns", "verdict", "human"),
    [
        ({"judge_label": words(SAID), "human_label": words(TRUTH)}, "judge_label", "human_label"),
        ({"a": words(SAID), "b": words(TRUTH, LABELLED)}, "a", "b"),
        ({"llm_verdict": SAID.astype(int), "expert": words(TRUTH)}, "llm_verdict", "expert"),
        ({"judge_pick": np.where(SAID, "A", "B"), "human_winner": np.where(TRUTH, "model_a", "model_b"),
          "model_a": ["x", "y"] * (N // 2), "model_b": ["y", "x"] * (N // 2)}, "judge_pick", "human_winner"),
    ],
)  # fmt: skip
def test_names_or_a_mostly_empty_column_decide(columns, verdict, human):
    read = read_judged(table(**columns), {})
    assert (read.verdict, read.human) == ((verdict,), (human,))
    found = judge(**read.arguments)
    known = LABELLED if verdict == "a" else np.ones(N, bool)
    expected = judge(words(SAID), words(TRUTH, known))
    assert found.agreement.value == pytest.approx(expected.agreement.value)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": words(SAID), "b": words(TRUTH)},
        {"judge_1": words(SAID), "judge_2": words(~SAID), "human": words(TRUTH)},
        {"verdict": words(SAID)},
    ],
)
def test_columns_that_nothing_tells_apart_are_asked_for(columns):
    with pytest.raises(InputError, match="Add --verdict COLUMN and --human COLUMN; columns with classes: '"):
        read_judged(table(**columns), {})


def test_who_labelled_is_found_and_models_are_refused():
    by = np.where(np.arange(N) % 2, "anna", "gpt-4o")
    read = read_judged(table(judge=words(SAID), human=words(TRUTH), labelled_by=by), {})
    assert read.single["labelled_by"] == "labelled_by"
    with pytest.raises(InputError, match="'gpt-4o', which is a model"):
        judge(**read.arguments)


def test_rows_without_a_verdict_are_left_out_and_counted():
    said = words(SAID, np.arange(N) != 4)
    read = read_judged(table(judge=said, human=words(TRUTH), confidence=np.linspace(0.5, 1, N)), {})
    assert read.n_unanswered == 1
    assert read.rows.tolist() == [row for row in range(N) if row != 4]
    assert read.single["confidence"] == "confidence"
    assert "1 row without a verdict" in read.words


def test_repeated_verdicts_become_columns():
    runs = pd.DataFrame({"item": np.repeat(np.arange(N), 3), "run": np.tile([1, 2, 3], N)})
    runs["judge_score"] = np.where(np.repeat(SAID, 3), 8, 3) + np.tile([-1, 0, 1], N)
    runs.loc[0, "judge_score"] = None
    runs["human_score"] = np.repeat(np.where(LABELLED, np.where(TRUTH, 9, 2), np.nan), 3)
    read = read_judged(runs.to_csv(index=False).encode(), {"sample": "item"})
    assert read.verdict == ("judge_score 1", "judge_score 2", "judge_score 3")
    found = judge(**read.arguments, cut=6)
    assert found.n_rows == N
    assert found.agreement.value == pytest.approx(judge(words(SAID), words(TRUTH, LABELLED)).agreement.value)


def test_other_rows_are_not_read():
    judged = table(judge=words(SAID), human=words(TRUTH), model=["x", "y"] * (N // 2))
    read = read_judged(judged, {"only": ["model=x"], "verdict": ["judge"], "human": ["human"]})
    assert len(read.arguments["verdict"]) == N // 2
