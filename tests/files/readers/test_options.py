"""An option that is given decides: it is in the roles of the result, or the file is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from calib import InputError, check, read
from calib.files.readers.reading import table_from
from calib.files.readers.readings import guess_roles
from calib.files.readers.roles import ChoiceError, given_columns

N = 60
_random = np.random.default_rng(8)
P = _random.uniform(0.02, 0.98, N).round(3)
Y = (_random.random(N) < P).astype(int)
D = (P > 0.5).astype(int)
HIGH = np.maximum(P, 1 - P).round(3)
NAMES = np.array(["cat", "dog"], dtype=object)
TABLES = {
    "answer beside correct": {
        "answer": NAMES[D],
        "confidence": HIGH,
        "correct": (D == Y).astype(int),
        "right": (D == Y).astype(int),
        "gold": NAMES[Y],
    },
    "vectors": {"p_cat": 1 - P, "p_dog": P, "label": NAMES[Y], "predicted": NAMES[D], "age": np.arange(N)},
    "models": {
        "y_true": Y,
        "lr_prob": P,
        "rf_prob": (0.2 + 0.6 * P).round(3),
        "lr_pred": D,
        "site": ["a", "b"] * (N // 2),
    },
    "one score": {"id": np.arange(N), "score": P, "y": Y, "flag": Y[::-1], "w": np.ones(N)},
}
OPTIONS = ("score", "label", "predicted", "correct", "weight", "id", "cluster", "group", "fold")


def column_of(roles, option):
    if option == "score":
        return roles.probabilities[0] if len(roles.probabilities) == 1 else None
    return roles.label[0] if option == "label" and roles.label else getattr(roles, option, None)


@pytest.mark.parametrize("name", TABLES)
def test_every_option_is_used_or_refused(name):
    table = table_from(pd.DataFrame(TABLES[name]))
    pairs = list(
        itertools.product(itertools.combinations(OPTIONS, 2), itertools.permutations(TABLES[name], 2))
    )
    used = 0
    for at in np.random.default_rng(1).permutation(len(pairs))[:150]:
        given = dict(zip(*pairs[at], strict=True))
        try:
            roles = guess_roles(table, given_columns(given))
        except InputError:
            continue
        if roles.doubt is None:
            used += 1
            assert {option: column_of(roles, option) for option in given} == given
    assert used > 10


def test_a_column_of_right_and_wrong_that_is_given_is_used_beside_an_answer():
    frame = pd.DataFrame(TABLES["answer beside correct"]).drop(columns=["gold", "right"])
    rows = read(frame.rename(columns={"correct": "marked"}), correct="marked")
    assert (rows.labels is not None, rows.n_samples) == (True, N)
    graded = frame.rename(columns={"correct": "marked"}).assign(marked=0)
    assert read(graded, correct="marked", score="confidence").labels.max() <= 2


def test_choices_of_a_question_work_at_once():
    frame = pd.DataFrame(TABLES["models"])
    with pytest.raises(ChoiceError) as caught:
        read(frame)
    for choice in caught.value.choices:
        assert read(frame, **choice.given).n_samples == N


def test_both_sides_of_an_event_belong_together():
    frame = pd.DataFrame(
        {"p": np.r_[P, 1 - P], "won": np.r_[Y, 1 - Y], "game": np.r_[np.arange(N), np.arange(N)]}
    )
    shuffled = frame.sample(frac=1, random_state=0)
    rows = read(shuffled)
    assert len({*zip(rows.cluster, shuffled["game"], strict=True)}) == len({*rows.cluster}) == N
    alike = shuffled.assign(p=np.r_[P, 0.9 * P[::-1]][shuffled.index], won=np.r_[Y, Y[::-1]][shuffled.index])
    assert read(alike).cluster is None


def test_rows_are_left_out_by_label_and_by_value():
    resolution = np.where(np.arange(N) % 6 == 0, "CANCEL", np.where(Y, "YES", "NO"))
    frame = pd.DataFrame({"p": P, "resolution": resolution, "site": ["a", "b", "c"] * (N // 3)})
    with pytest.raises(InputError) as caught:
        read(frame)
    assert "CANCEL" in str(caught.value)
    rows = read(frame, drop_label="CANCEL")
    assert (rows.n_samples, rows.class_names) == ((resolution != "CANCEL").sum(), ("NO", "YES"))
    some = read(frame, drop_label="CANCEL", only=["site=a", "site=b"])
    assert set(some.metadata["site"]) == {"a", "b"}
    with pytest.raises(InputError, match="no row has"):
        read(frame, only="site=z")


SCORE = np.linspace(0.02, 0.98, 60).round(3)
VERDICT = np.where(np.arange(60) % 2 == 0, "pass", "fail").astype(object)
HUMAN = np.where(np.arange(60) % 5 == 0, "pass", VERDICT).astype(object)


@pytest.mark.parametrize("names", [("verdict", "human"), ("judge", "gold")])
@pytest.mark.parametrize("labelled", [60, 20])
def test_a_verdict_and_a_persons_label_are_never_guessed_between(names, labelled):
    verdict, human = names
    labels = np.where(np.arange(60) < labelled, HUMAN, "")
    with pytest.raises(ChoiceError) as caught:
        read(pd.DataFrame({verdict: VERDICT, "confidence": SCORE, human: labels}))
    assert all(repr(name) in caught.value.fact for name in names)
    commands = [choice.command for choice in caught.value.choices]
    assert commands.count("judge") == 1
    assert len(commands) <= 3
    desk = caught.value.choices[commands.index("judge")]
    assert desk.given == {"verdict": verdict, "human": human, "confidence": "confidence"}
    assert labelled == 60 or commands[0] == "judge"


@pytest.mark.parametrize("name", ["verdict", "judge_verdict"])
@pytest.mark.parametrize("words", [("no", "yes"), ("bad", "good"), (0, 1)])
def test_a_verdict_that_a_person_often_does_not_share_is_no_truth(name, words):
    rows = np.arange(300)
    codes = rows // 2 % 2
    labels = np.array(words, dtype=object)[np.where(rows % 5 < 2, 1 - codes, codes)]
    labels[::3] = None
    columns = {name: np.array(words)[codes], "confidence": 0.6 + rows * 7 % 300 / 1000, "human": labels}
    with pytest.raises(ChoiceError) as caught:
        read(pd.DataFrame({"id": rows, **columns}))
    desk = caught.value.choices[-1]
    assert desk.command == "judge"
    assert desk.given == {"verdict": name, "human": "human", "confidence": "confidence"}


def test_one_of_three_classes_is_read_against_the_rest():
    label = np.array(["for", "against", "neutral"] * 20, dtype=object)
    frame = pd.DataFrame({"text": [f"t{row}" for row in range(60)], "label": label})
    frame = frame.assign(gpt4=SCORE, llama=(0.7 * SCORE + 0.1).round(3))
    with pytest.raises(ChoiceError) as caught:
        read(frame)
    for choice in caught.value.choices:
        rows = read(frame, **choice.given)
        assert rows.labels.tolist() == (label == choice.given["positive"]).astype(int).tolist()
    assert {choice.given["score"] for choice in caught.value.choices} == {"gpt4", "llama"}
    rows = read(frame, score="gpt4", positive="for")
    assert rows.class_names == ("not for", "for")
    with pytest.raises(ChoiceError):
        read(frame, score="gpt4")


def test_further_labels_of_three_classes_are_read_against_the_rest():
    label = np.array(["for", "against", "neutral"] * 20, dtype=object)
    frame, further = pd.DataFrame({"p": SCORE, "label": label}), np.roll(label, 1)
    for labels in (further, pd.DataFrame({"label": further})):
        rows = read(frame, labels=labels, positive="for")
        assert rows.class_names == ("not for", "for")
        assert rows.labels.tolist() == (further == "for").astype(int).tolist()


def test_a_third_value_that_means_neither_is_asked_about_with_a_positive_class():
    label = np.array(["YES", "NO", "CANCEL"] * 20, dtype=object)
    with pytest.raises(ChoiceError, match="CANCEL"):
        read(pd.DataFrame({"p": SCORE, "resolution": label}), positive="YES")


def test_votes_that_are_one_in_each_row_are_no_answers_of_annotators():
    frame = pd.DataFrame({"p": P, "win": Y, "loss": 1 - Y})
    with pytest.raises(InputError, match="name it votes_CLASS"):
        read(frame, votes=["win", "loss"])
    counted = frame.rename(columns={"win": "votes_win", "loss": "votes_loss"})
    assert read(counted, votes=["votes_loss", "votes_win"]).class_names == ("loss", "win")
    assert read(frame.assign(loss=Y), votes=["win", "loss"]).n_samples == 2 * N  # two annotators who agree


def test_a_column_of_two_values_that_the_named_score_divides_is_no_label():
    share = np.where(Y == 1, 0.56, 0.24)
    table = pd.DataFrame({"Age": np.where(Y == 1, 78, 77), "% of donations": share, "county": np.arange(N)})
    assert read(table, score="% of donations").labels is None


def test_a_named_score_outside_0_and_1_is_asked_its_scale():
    logs = pd.DataFrame({"0": [f"LA_{row}.flac" for row in range(N)], "1": np.log(P) - 1e-3, "2": Y})
    with pytest.raises(ChoiceError) as caught:
        read(logs, score="1", label="2")
    assert [choice.given for choice in caught.value.choices] == [
        {"scores": "log_probabilities"},
        {"scores": "logits"},
    ]
    rows = read(logs, score="1", label="2", scores="log_probabilities")
    np.testing.assert_allclose(rows.score, P * np.exp(-1e-3))
    with pytest.raises(InputError) as refused:
        read(logs.assign(age=np.arange(N)), score="age", label="2")
    assert "'age'" in str(refused.value)
    assert not isinstance(refused.value, ChoiceError)


@pytest.mark.parametrize("word", ["", "N/A", "?"])
def test_predictions_whose_labels_are_all_blank_are_never_wrong(word):
    rows = "".join(f"{'ab'[i % 2]},0.{60 + i},{word}\n" for i in range(30))
    assert read(f"predicted,confidence,label\n{rows}".encode()).labels is None


def test_few_labelled_rows_are_enough_to_be_sometimes_right():
    """Of 400 answers 20 are graded by the right one, and 15 of these equal it."""
    answers = [f"the answer of question {i}" for i in range(400)]
    right = [answers[i] if i < 15 else "another answer" if i < 20 else "" for i in range(400)]
    rows = "".join(
        f"{said},0.{70 + i % 20},{true}\n" for i, (said, true) in enumerate(zip(answers, right, strict=True))
    )
    file = f"prediction,confidence,label\n{rows}".encode()
    found = check(file, fix=["labels_missing"])["evaluation"].rows()
    assert (len(found.labels), found.labels.mean()) == (20, 0.75)


def test_distinct_ids_of_which_some_are_blank_are_no_clusters():
    ids = [f"c{row}" for row in range(N - 2)] + ["", ""]
    roles = guess_roles(table_from({"customer_id": ids, "p": P, "y": Y}))
    assert (roles.id, roles.cluster) == ("customer_id", None)
    assert read({"customer_id": ids, "p": P, "y": Y}).n_samples == N
