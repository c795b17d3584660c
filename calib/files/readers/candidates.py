"""Candidate readings of a table: which columns are scores, classes and labels.

A reading that contradicts the data is ruled out. The reading with the most support wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from os.path import commonprefix

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.files.readers.answers import positive_of, yes_or_no
from calib.files.readers.columns import (
    FIRST,
    Columns,
    Frame,
    classes_in_name,
    is_flag,
    is_whole,
    is_within,
)
from calib.files.readers.conventions import (
    KNOWN,
    LABELS,
    SCALES,
    WORDS,
    is_called,
    normalised,
    scale_of,
    words_of,
)
from calib.files.readers.roles import Given, Roles, check_same_labels, numbered
from calib.files.readers.tables import Table, as_keys, some_names, words_in
from calib.files.readers.votes import MAJORITY, classes_counted, votes_in

#: The support for a reading, and the reading.
Weighed = tuple[int, Roles]
#: Standard errors by which an AUC must exceed 1/2 before scores count as higher for a class.
SEPARATES = 2.0
#: Fewest rows before texts that mostly differ count as free answers.
LEAST_TEXTS = 10
#: Log probability that all predictions are right; a label equal to them all, with less, is the decision.
LOG_CHANCE = -20.0
#: A prediction with a lower score is sometimes wrong.
UNSURE = 0.6
#: Fewest rows for a test that scores separate classes, if only their sums of 1 support them.
FEW_ROWS = 30
#: Words in names of columns that hold classes which are neither predicted nor true.
OTHER_WORDS = words_of("second third runner alternative alt next other previous old")
#: Most models in a file: columns of scores, or values of a column of models.
MOST_MODELS = 50
#: Most distinct words of a confidence for which probabilities are proposed.
MOST_WORDS = 20
#: Last words of names of percentages.
PERCENT = words_of("pct percent percentage prozent pourcent porcentaje")
#: Names of columns of ranks in the form of `normalised`: label_1, top1_label, prob_3.
RANK = re.compile(r"(?P<head>[a-z_]*?)_?(?P<rank>\d{1,3})_?(?P<tail>[a-z_]*)")
#: Weight of each kind of support; readings are ranked by the sum.
SUPPORT = {
    "calib wrote it": 40,
    "ranks": 60,
    "a label column per class": 30,
    "names are the labels": 16,
    "rows sum to 1": 16,
    "named so": 6,
    "only sums of 1": 6,
    "numbered from 0 or 1": 4,
    "a scale in the name": 4,
    "in the name": 3,
    "fractions": 2,
    "fractions of several columns": 2,
}
#: The open question if readings differ in an option.
ASKED = {
    "score": "which column is the score, or whether each is the score of a model",
    "label": "which column is the true label",
    "predicted": "which column is the predicted class, if any",
    "positive": "which class the score is the probability of, if any",
}
#: Support that is sufficient by itself for scores of classes.
SUFFICIENT = {
    "a label column per class",
    "rows sum to 1",
    "only sums of 1",
    "a scale in the name",
}


def guess_roles(table: Table, given: Given | None = None) -> Roles:
    """Return the best supported roles of a table's columns, with a `doubt` if the user must decide."""
    given = (given or Given()).resolved(table)
    table = numbered(table, given.words)
    unread = [name for name in table.ignored if is_called(name, *KNOWN, "score", *SCALES)]
    if unread:
        raise InputError(f"{some_names(unread)} hold neither numbers nor text; write numbers or text")
    columns = Columns(table, given)
    if votes := given.votes or _votes(columns):
        return _roles_with_votes(table, given, votes)
    every = _readings(columns)
    labelled = bool(columns.labels) or any(roles.label for _, roles in every)
    _refuse_stray_cells(columns, labelled, bool(every))
    if not every and not given.words and (words := _words_of_confidence(columns)):
        doubt = f"the confidence is in words, and each word needs a probability ({some_names(words)})"
        proposed = guess_roles(table, replace(given, words=words))
        return replace(proposed, doubt=doubt, choices=(f"words={','.join(words)}",))
    if not every:
        raise InputError(_no_scores(columns))
    possible = [each for each in every if each[1].doubt is None]
    weight, best = (possible or every)[0]
    _refuse_fractions(columns, best)
    check_same_labels(table, _all_labels(columns, best))
    same = set(best.class_names or ())
    rivals = [each for w, each in possible if w == weight or (same and same == set(each.class_names or ()))]
    best = replace(_with_doubt(columns, best, rivals), words=given.words, **columns.side)
    return _with_model(columns, best.among([*columns.word, *table.matrices, *table.ignored]))


def _with_doubt(columns: Columns, best: Roles, rivals: Sequence[Roles]) -> Roles:
    """Add the open question to the best roles if other readings have as much support."""
    if best.doubt:
        asked = "vector" not in best.has and not columns.given.score
        return replace(best, choices=(*best.choices, *((f"score={best.probabilities[0]}",) * asked)))
    options = [_options(columns, roles) for roles in rivals]
    found = {option: list(dict.fromkeys(each[option] for each in options)) for option in ASKED}
    open_ = {option: [*filter(None, values)] for option, values in found.items() if len(values) > 1}
    if not {*open_.get("score", ())}.isdisjoint(columns.word):  # columns of models, not of classes
        open_["score"] = [score for score in open_["score"] if score in columns.word or "," in score]
    open_ = {"score": open_["score"]} if "score" in open_ else open_  # the other questions depend on it
    doubts = [f"it is unclear {ASKED[option]}: {some_names(values)}" for option, values in open_.items()]
    choices = [f"{option}={value}" for option, values in open_.items() for value in values]
    if not doubts and (doubt := _decision(columns, best)):
        doubts, choices = [doubt], [f"label={best.label[0]}"]
    name, given = columns.correct, columns.given
    if not doubts and name is not None and not best.label and not given.correct:
        classes = {*(best.class_names or ()), *(columns.words(best.predicted) if best.predicted else ())}
        if columns[name].dtype == object and columns.words(name) <= classes:
            doubts = [f"{name!r} may be the true class, or say whether the prediction is right"]
            choices = [f"label={name}", *([f"correct={name}"] if best.correct else [])]
    return replace(best, doubt="; ".join(doubts) or None, choices=tuple(choices))


def _options(columns: Columns, roles: Roles) -> dict[str, str | None]:
    scores, positive = roles.probabilities, roles.positive
    head, tail = (commonprefix([name[::step] for name in scores]) for step in (1, -1))
    head, tail = (re.sub(r"[^\W_]*$", "", around) for around in (head, tail))  # up to a separator
    pattern = f"{head}*{tail[::-1]}"
    alone = len(scores) > 1 and Given(score=(pattern,)).resolved(columns.table).score == scores
    if "event" in roles.has and roles.label and positive is None:
        words = columns.words(*roles.label)
        positive = positive_of(words) or max(words, default=None)
    label = roles.label[0] if roles.label else None
    score = pattern if alone else ",".join(scores)
    return {"score": score, "label": label, "predicted": roles.predicted, "positive": positive}


def _decision(columns: Columns, roles: Roles) -> str | None:
    """Say that a label looks like the model's decision: always the class with the highest score."""
    label = roles.label[0] if len(roles.label) == 1 else None
    if label not in columns.word or columns.given.label or not roles.has & {"vector", "event"}:
        return None
    if columns.called(label, "true") or not {*roles.probabilities} <= {*columns.word}:
        return None
    if not is_within(columns.rows(roles.probabilities)):
        return None
    high = _decided(columns, roles.probabilities, label)
    if high is None or not (np.log(high.clip(0.5)).sum() < LOG_CHANCE and high.min() < UNSURE):
        return None
    lowest = f"{high.min():.4g}"
    return (
        f"{label!r} is always the class with the highest score, even if this score is only {lowest}: it may "
        "be the model's decision and not the true class"
    )


def _decided(columns: Columns, scores: Sequence[str], label: str) -> np.ndarray | None:
    """Return the highest score of each row if the label is always its class; else None."""
    rows = columns.rows(scores, FIRST).astype(np.float64)
    rows = np.nan_to_num(np.hstack([1.0 - rows, rows]) if rows.shape[1] == 1 else rows, nan=-np.inf)
    codes, words = words_in(columns[label][:FIRST])
    if rows.size == 0 or len(rows) != len(codes):
        return None
    top = rows.argmax(axis=1)
    one_to_one = len(np.unique(top * len(words) + codes)) == len(words) == len(np.unique(top))
    return rows.max(axis=1) if one_to_one and len(words) > 1 else None


def _refuse_fractions(columns: Columns, roles: Roles) -> None:
    """Refuse a column with the name of a true class that holds fractions, if there is no other."""
    for name in columns.fractions - {*roles.probabilities} if not roles.label and not roles.correct else ():
        if columns.called(name, "true"):
            with np.errstate(invalid="ignore"):  # infinite numbers
                row = int((columns[name] % 1 > 0).argmax())
            held = f"column {name[:60]!r} has the name of a true class, but holds {columns[name][row]:.6g}"
            raise InputError(f"{held} in row {row}; write a class there, or name the true label with label=")


def _readings(columns: Columns) -> list[Weighed]:
    every = [*_ranks(columns), *_vectors(columns)]
    sure = any(roles.doubt is None and weight >= SUPPORT["rows sum to 1"] for weight, roles in every)
    if not sure or "calibrated" in columns.word.values():
        every += _single(columns)
    return sorted(every, key=lambda each: -each[0])


def _all_labels(columns: Columns, roles: Roles) -> list[str]:
    called = {name for name in columns.labels if columns.word[name] not in ("class", "correct", "answer")}
    return [name for name in columns.word if name in called - {roles.predicted, *roles.ranked}]


def _with_model(columns: Columns, roles: Roles) -> Roles:
    given = columns.given
    column_given, _, name = (given.model or "").rpartition("=")
    column = column_given or roles.model or _repeats_rows(columns, roles)
    if given.model is None and column in (None, given.group):
        return replace(roles, model=None)
    words = words_in(columns[column])[1] if column in columns.word else []
    if name in words and given.model is not None:
        return replace(roles, model=column, model_name=name)
    if given.model is not None:
        listed = some_names(words) or "not named"
        raise InputError(f"there is no model {given.model[:60]!r}; the models are {listed}")
    if not 2 <= len(words) <= MOST_MODELS or roles.doubt is not None:
        return roles
    doubt = f"column {column!r} divides the rows into {len(words)} models: {some_names(words)}"
    doubt += f" (pass group={column!r} if they are not models)"
    choices = tuple(f"model={word}" for word in words)
    return replace(roles, model=column, doubt=doubt, choices=choices)


def _repeats_rows(columns: Columns, roles: Roles) -> str | None:
    """Return the column of models, if the rows repeat for each of its values with equal ids or labels."""
    truth = roles.label or (roles.correct,)
    if len(truth) != 1 or truth[0] not in columns.word or not columns.table.tabular:
        return None
    labels = words_in(columns[truth[0]])[0]
    ids = [name for name in columns.word if columns.called(name, "id", "index") or name == roles.id]
    for name in roles.ignored:
        if (
            name not in columns.word
            or columns.is_aside(name)
            or len(set(columns[name][:FIRST])) > MOST_MODELS
        ):
            continue
        codes, words = words_in(columns[name])
        if len(words) < 2 or len(codes) % len(words) or (np.bincount(codes) * len(words) != len(codes)).any():
            continue
        for each in (words_in(columns[id])[0] for id in ids if id != name):
            order = np.lexsort((each, codes))
            again, true = (rows[order].reshape(len(words), -1) for rows in (each, labels))
            alike = (again == again[0]).all() and len(np.unique(again[0])) == again.shape[1]
            if alike and (not roles.label or (true == true[0]).all()):
                return name
        true = labels[np.argsort(codes, kind="stable")].reshape(len(words), -1)
        if true.shape[1] >= LEAST_TEXTS and true[0].min() < true[0].max() and (true == true[0]).all():
            return name
    return None


def _words_of_confidence(columns: Columns) -> tuple[str, ...]:
    for name in columns.word:
        text = columns.called(name, "confidence") and columns[name].dtype == object
        words = sorted(columns.words(name)) if text else []
        if 0 < len(words) <= MOST_WORDS:
            return tuple(f"{word}={WORDS.get(word.lower(), 0.5)}" for word in words)
    return ()


def _no_scores(columns: Columns) -> str:
    if columns.correct is not None:
        return (
            "the file says whether predictions are right, but holds no confidence; add a column "
            "'confidence', or the log-likelihood of every choice"
        )
    if columns.decided:
        others = [name for name in columns.scores if name not in columns.predicted]
        beside = f"; if {some_names(others)} are scores, name them with score=" * bool(others)
        return f"{columns.decided}: add their confidence, or the probability of every class{beside}"
    return (
        "no column of probabilities was found: one numeric column per class is needed, for example "
        f"cat,dog,label; the columns are {some_names(columns.word)}"
    )


# --- the true class ---


def _votes(columns: Columns) -> tuple[str, ...]:
    """Return the columns of votes, by names and cells, if no other column can be the true class."""
    given, tools = columns.given, columns.tools
    if columns.labels or columns.correct or columns.table.matrices:
        return ()
    free = [name for name in columns.word if name not in {*columns.side.values(), *given.score}]
    people = [name for name in free if "annotator" in tools[name] and name not in columns.fractions]
    others = {name: columns.words(*(person for person in people if person != name)) for name in people}
    people = [name for name in people if columns.words(name) & others[name]]
    if len(people) > 1 and not {*people} & {*columns.truths.values()} and not any(_ranks(columns)):
        return tuple(people)
    counted = tuple(name for name in free if "votes" in tools[name] and name in columns.numeric)
    classes = set(classes_counted(counted))
    scores = [name for name in columns.scores if name not in counted]
    named = [classes <= set(frame.names) for frame in columns.frames_of(scores, classes)]
    two = classes == {"0", "1"} or (len(classes) == 2 and positive_of(classes) is not None)
    return counted if any(named) or (two and len(scores) == 1) else ()


def _roles_with_votes(table: Table, given: Given, votes: tuple[str, ...]) -> Roles:
    """Return the roles of a table with votes, found with the majority's label in place of the votes."""
    columns = {name: values for name, values in table.columns.items() if name not in votes}
    matrices = {name: values for name, values in table.matrices.items() if name not in votes}
    labelled = replace(table, columns={**columns, MAJORITY: votes_in(table, votes).labels}, matrices=matrices)
    roles = guess_roles(labelled, replace(given, votes=(), label=MAJORITY))
    return replace(roles, label=(), votes=votes)


def _labels_beside(columns: Columns, frame: Frame) -> list[tuple[str, ...]]:
    """Return equally good candidates for the true class of rows with scores of classes."""
    if {*columns.labels} <= {*columns.truths.values()} and {*frame.columns} <= columns.truths.keys():
        return [tuple(columns.truths[name] for name in frame.columns)]
    labels = _true_classes(columns, frame)
    if (
        len(labels) == 1
        and not columns.given.label
        and labels[0] in columns.word
        and not columns.called(labels[0], "true")
    ):
        label, words = labels[0], columns.words(labels[0])
        others = _sharing(columns, label, columns.word, frame.columns)
        others = [n for n in others if not columns.is_predicted(n) and columns.words(n) == words]
        decided = bool(others) and _decided(columns, frame.columns, label) is not None
        labels = [*others, *labels] if decided else labels
    return [(label,) for label in labels] or [()]


def _true_classes(columns: Columns, frame: Frame) -> list[str]:
    """Return candidates for the true class: by name, by classes in names of scores, or by few values."""
    named = columns.labels or [name for name in columns.table.matrices if is_called(name, *LABELS)]
    if named:
        return named[:1]
    free = [name for name in _free_classes(columns, frame.columns) if not columns.is_predicted(name)]
    free = [name for name in free if len(columns[name]) == len(columns.rows(frame.columns))]
    free = [name for name in free if columns.word[name] != normalised(frame.word)]  # the model's decision
    shared = {name: len(columns.words(name) & {*frame.names}) for name in free}
    if (most := max(shared.values(), default=0)) > 1:
        return [name for name in free if shared[name] == most]
    n_classes = len(frame.names)
    text = [n for n in free if columns[n].dtype == object and stray_cell(columns[n], False) is None]
    few = [name for name in text if columns.has_few_words(name, 2 * n_classes)]
    if len(few) == 1:
        return few
    whole = [name for name in free if name in columns.numeric]
    return [name for name in whole if _are_codes(columns, name, frame)]


def _event_labels(columns: Columns, score: str, predicted: str | None) -> list[str]:
    """Return equally good candidates for the true class of rows with one score."""
    if predicted is not None:
        return _sharing(columns, predicted, columns.word, [score])
    free = [name for name in _free_classes(columns, [score]) if not columns.is_predicted(name)]
    text = [name for name in free if columns[name].dtype == object]
    whole = [name for name in free if columns[name].dtype != object]
    event = columns.event_of(score)
    stem = [name for name in free if event is not None and columns.word[name] == normalised(event[1])]
    two = [n for n in free if len(columns.words(n)) == 2 and columns.are_as_long(n, score)]
    return (
        [name for name in stem if columns.is_flag(name)]
        or [name for name in whole if is_flag(columns[name]) and len(columns.words(name)) > 1]
        or [name for name in text if yes_or_no(columns[name])]
        or [n for n in two if abs(columns.separation(score, n, min(columns.words(n)))[1]) >= SEPARATES]
        or [name for name in whole if is_flag(columns[name])]
    )


def _free_classes(columns: Columns, without: Iterable[str]) -> list[str]:
    taken = {*columns.side.values(), columns.correct, *columns.predicted, *without}
    return [
        name for name in columns.word
        if name not in taken and name not in columns.fractions and not columns.is_aside(name)
    ]  # fmt: skip


def _are_codes(columns: Columns, name: str, frame: Frame) -> bool:
    """Whether whole numbers can be class codes: in range, or few distinct numbers if scores sum to 1."""
    numbers, n_classes = [float(word) for word in columns.words(name)], max(len(frame.names), 2)
    if len(numbers) < 2:
        return False
    coded = min(numbers) >= 0 and max(numbers) <= n_classes + 1
    return coded or (len(numbers) <= 2 * n_classes and columns.sum_to_one(frame.columns))


def _sharing(columns: Columns, known: str, among: Iterable[str], without: Sequence[str]) -> list[str]:
    """Return the other columns whose cells are mostly values of a known column."""
    words, found = columns.words(known), []
    free = {*_free_classes(columns, without), *columns.predicted} - {known, *without}
    for name in among:
        both = columns.is_predicted(name) and columns.is_predicted(known)
        if name not in free or both or OTHER_WORDS & set(columns.word[name].split("_")):
            continue
        codes, others = words_in(columns[name])
        shared = np.array([other in words for other in others])
        enough = shared.sum() >= min(2, len(words)) and shared[codes].mean() > 0.5
        alike = columns[name].dtype == columns[known].dtype == object or len(others) <= max(2, 2 * len(words))
        if enough and alike and (len(words) > 1 or len(others) == 2):
            found.append(name)
    return found


# --- a score for every class ---


def _vectors(columns: Columns) -> Iterator[Weighed]:
    """Propose scores of all classes: a matrix, or columns that are named like classes or that sum to 1."""
    frames: dict[tuple[str, ...], Frame] = {}
    for frame in _frames(columns):
        frames.setdefault(frame.columns, frame)
    for frame in frames.values():
        for label in _labels_beside(columns, frame):
            yield _weighed(columns, frame, label)


def _frames(columns: Columns) -> Iterator[Frame]:
    given, numeric, matrices = columns.given.score, columns.scores, columns.table.matrices
    rest = [name for name in matrices if name != columns.given.label and not is_called(name, *LABELS)]
    named = [n for n in rest if is_called(n, *SCALES) or columns.sum_to_one((n,), 0.95) or len(rest) == 1]
    for name in [n for n in given if n in matrices] or named:
        yield Frame((name,), tuple(map(str, range(matrices[name].shape[1]))), f"{name}[", "]")
    if len(given) > 1:
        words = columns.words(*(columns.labels[:1] or _free_classes(columns, given)))
        found = (*columns.frames_of(given, words), *columns.frames(given), Frame(given, given))
        yield from (frame for frame in found if frame.columns == given)
    if given or len(numeric) < 2:
        return
    truths = columns.truths.values()
    labels = columns.labels[:1] or [
        name for name in _free_classes(columns, truths)
        if not columns.is_predicted(name) and columns.has_few_words(name, max(2 * len(numeric), 2))
    ] or columns.predicted[:1]  # fmt: skip
    for label in labels if columns.has_header else ():
        scores = [name for name in numeric if name != label and name not in truths]
        for frame in columns.frames_of(scores, columns.words(label)):
            if _are_named(columns, frame, label):
                yield frame
    yield from _other_frames(columns)


def _are_named(columns: Columns, frame: Frame, label: str) -> bool:
    """Whether columns of possible scores are named after the classes of a label."""
    if label not in columns.word or len(set(frame.names) & columns.words(label)) < 2:
        return False
    if frame.columns[0] not in columns.word or columns.sum_to_one(frame.columns):
        return True
    features = frame.word and frame.is_run and columns.event_of(frame.columns[0]) is None  # x_0, x_1
    whole = all(is_whole(columns[name]) for name in frame.columns)
    return not (whole or features) or scale_of(frame.columns[0]) == "logits"


def _other_frames(columns: Columns) -> Iterator[Frame]:
    """Return columns named as scores, then columns of numbers that sum to 1, or else all of them."""
    numeric = [name for name in columns.scores if not columns.says_right(name)]
    numeric = [name for name in numeric if name not in columns.truths.values()]
    yield from columns.frames(numeric)
    known = ("predicted", "confidence", "correct", *SCALES)
    bare = [name for name in numeric if not columns.called(name, *known) and not columns.tools[name]]
    if columns.fractions & set(numeric) and not columns.fractions & set(bare):
        return  # whole numbers beside a score
    inside = [name for name in bare if is_within(columns[name])]
    for names in (bare, inside, [name for name in bare if name in columns.fractions]):
        if columns.sum_to_one(names, 0.95):
            yield Frame(tuple(names), tuple(name.strip() for name in names))
            return
    whole = [name for name in bare if name not in columns.fractions]
    if not columns.labels and len(whole) < len(bare) - 1:
        bare = [name for name in bare if name not in whole[:1]]
    if len(bare) > 1:
        yield Frame(tuple(bare), tuple(name.strip() for name in bare))


def _weighed(columns: Columns, frame: Frame, label: tuple[str, ...]) -> Weighed:
    first, kind = frame.columns[0], "vectors"
    scale = scale_of(first) if frame.word else "unknown"
    reasons = ["names are the labels"] if len(label) == 1 and _are_named(columns, frame, label[0]) else []
    if columns.sum_to_one(frame.columns):
        reasons.append("rows sum to 1" if frame.word or reasons else "only sums of 1")
    if first in columns.table.matrices:
        names = columns.listed
    else:
        names = frame.names if columns.table.tabular else None
        reasons += ["in the name"] * bool(frame.word)
        reasons += ["numbered from 0 or 1"] * (bool(frame.word) and frame.is_run)
    if scale in ("logits", "log_probabilities"):
        reasons.append("a scale in the name")
    if columns.are_several(label):
        kind, reasons = "multilabel", [*reasons, "a label column per class"]
    doubt = None if columns.given.score else _against(columns, frame, label, {*reasons})
    roles = Roles(frame.columns, names, label, kind=kind, scale=scale, doubt=doubt)
    return sum(map(SUPPORT.__getitem__, reasons)), roles


def _against(columns: Columns, frame: Frame, label: tuple[str, ...], reasons: set[str]) -> str | None:
    words = columns.words(*label) if len(label) == 1 and label[0] in columns.word else frozenset()
    listed, unnamed = some_names(frame.columns), not words & set(frame.names)
    matrix = frame.columns[0] not in columns.word
    if (
        not matrix
        and frame.word
        and all(columns.is_predicted(name) and is_flag(columns[name]) for name in frame.columns)
    ):
        return f"{listed} hold only 0 and 1: decisions, not probabilities of classes"
    if (matrix or unnamed) and _descend(columns.rows(frame.columns, FIRST)):
        return f"every row of {listed} is in descending order: scores of ranked classes, which are not named"
    if not SUFFICIENT & reasons and not matrix:
        return _against_vectors(columns, frame, words)
    if unnamed and not frame.word and words and not _separates(columns, frame, label[0], words):
        return f"only their sums of 1 suggest that {listed} are scores of the classes in {label[0]!r}"
    return None


def _separates(columns: Columns, frame: Frame, label: str, words: frozenset[str]) -> bool:
    """Whether scores are higher for their class; True if labels are no codes or rows are too few to tell."""
    codes = sorted(int(word) for word in words if word.isascii() and word.isdigit())
    first = codes[0] if len(codes) == len(words) else -1
    if first not in (0, 1) or codes[-1] - first >= len(frame.columns) or len(columns[label]) < FEW_ROWS:
        return True
    found = (columns.separation(frame.columns[code - first], label, str(code)) for code in codes[:5])
    return any(errors >= SEPARATES for _, errors in found)


def _against_vectors(columns: Columns, frame: Frame, words: frozenset[str]) -> str | None:
    """Say why columns without class names and sums of 1 cannot be scores of all classes; else None."""
    listed = some_names(frame.columns)
    within = all(is_within(columns[name]) for name in frame.columns)
    if frame.word:
        if frame.is_run or not words or not within or len(words) > 2:
            return None
        classes = some_names(sorted(words))
        return f"{listed} are not scores of classes: rows do not sum to 1, and the labels are {classes}"
    if flags := [name for name in frame.columns if is_flag(columns[name])]:
        return f"{some_names(flags)} among {listed} hold only 0 and 1, and rows do not sum to 1"
    if columns.predicted or columns.correct or any(map(columns.is_predicted, frame.columns)):
        lead = f"{columns.decided}; " * bool(columns.predicted)
        return f"{lead}neither names, sums nor labels show that {listed} are scores of classes"
    if not within and any(is_whole(columns[name]) for name in frame.columns):
        return f"{listed} have different ranges, and some hold whole numbers: they are not scores of classes"
    if len(words) > len(frame.columns):
        return f"the labels have {len(words)} classes, but there are {len(frame.columns)} columns: {listed}"
    return None


# --- the highest classes ---


def _ranks(columns: Columns) -> Iterator[Weighed]:
    """Propose ranked classes and their scores: columns such as label_1, score_1, label_2, ..."""
    families: dict[str, dict[int, str]] = {}
    for name, word in columns.word.items():
        if (match := RANK.fullmatch(word)) is not None:
            base = "_".join(filter(None, (match["head"], match["tail"])))
            families.setdefault(base.removeprefix("top").strip("_"), {})[int(match["rank"])] = name
    called = [base for base in families if is_called(base, "confidence", "score", *SCALES)]
    scored = [base for base in called if set(families[base].values()) <= set(columns.numeric)]
    listed = [base for base in families if not base or is_called(base, "list", "predicted")]
    listed = [base for base in listed if base not in scored]
    for base, other in product(sorted(scored, key=lambda base: base != "calibrated"), listed):
        scores, classes = families[base], families[other]
        labels = [name for name in columns.labels if name not in classes.values()][:1]
        truths = not labels and all(is_flag(columns[name]) for name in classes.values())
        enough = len(scores) >= (1 if base == "calibrated" else 2)
        if (
            classes.keys() == scores.keys()
            and enough
            and not truths
            and not columns.fractions & {*classes.values()}
        ):
            ranked, rank_scores = (tuple(each[rank] for rank in sorted(scores)) for each in (classes, scores))
            roles = Roles(rank_scores, label=tuple(labels), kind="top-k", predicted=ranked[0], ranked=ranked)
            yield SUPPORT["ranks"], roles
            return


# --- one score for each row ---


def _single(columns: Columns) -> Iterator[Weighed]:
    possible = _one_score(columns)
    for score, support in possible if len(possible) <= MOST_MODELS else ():
        scale = scale_of(score)
        base = Roles(
            (score,), columns.listed, kind="binary", scale="unknown" if "prob" in scale[:4] else scale
        )
        hard = None
        if not columns.given.score and is_flag(columns[score]):
            hard = f"{score!r} holds only 0 and 1: decisions, but calibration needs their probabilities"
        for predicted, label in _classes_beside(columns, score):
            if support == "named so" or not predicted or _scores_decision(columns, score, predicted, label):
                roles = replace(base, predicted=predicted, label=(label,) if label else ())
                for reading in _kinds(columns, roles, support):
                    yield SUPPORT[support], replace(reading, doubt=reading.doubt or hard)


def _scores_decision(columns: Columns, score: str, predicted: str, label: str | None) -> bool:
    """Whether a score belongs to a predicted class: by its name, or because it separates right from wrong."""
    word = (columns.event_of(score) or ("", None, ""))[1]
    if word is not None and (word in columns.words(predicted) or _is_named_like(columns, predicted, word)):
        return True
    if label is None or not columns.are_as_long(predicted, label) or is_free_text(columns[predicted]):
        return True
    if _decided_event(columns, predicted, label, score) is not None:
        return True
    right = as_keys(columns[predicted]) == as_keys(columns[label])
    return columns.separates(score, right)[1] >= SEPARATES


def _one_score(columns: Columns) -> list[tuple[str, str]]:
    numeric, word, given = columns.scores, columns.word, columns.given.score
    if given:
        return [(given[0], "named so")] if len(given) == 1 else []
    parted = [name for name in numeric if name in columns.fractions]
    events = {name: event for name in numeric if (event := columns.event_of(name)) is not None}
    calibrated = [n for n in numeric if word[n] == "calibrated" and "uncalibrated" not in word.values()]
    strong = [n for n in numeric if columns.called(n, "confidence") or "confidence" in columns.tools[n]]
    weak = [
        n for n in numeric if columns.called(n, "score") or ("score" in columns.tools[n] and n not in events)
    ]
    brackets = [name for name, (before, _, _) in events.items() if before.lower() == "p("]
    brackets = brackets if len(brackets) == 1 and not columns.predicted else []
    framed = [name for name in events if not is_flag(columns[name])]
    percent = [n for n in numeric if word[n].split("_")[-1] in PERCENT and is_within(columns[n], 100.0)]
    alone = parted if len(parted) == len(numeric) == 1 else []
    left = [name for name in parted if not columns.says_right(name)]
    left = [name for name in left if is_within(columns[name])] or percent or alone
    tiers = (
        ("calib wrote it", calibrated),
        ("named so", _with_stages(columns, strong) or brackets or _with_stages(columns, weak)),
        ("in the name", [name for name in framed if name in columns.fractions] or framed),
        ("fractions" if len(left) == 1 else "fractions of several columns", left),
    )
    support, names = next((tier for tier in tiers if tier[1]), ("", []))
    two = any(columns.has_few_words(name, 2) for name in _free_classes(columns, ()))
    beside = two or columns.labels or columns.predicted or columns.correct
    return [(name, support) for name in names if beside or support != "fractions of several columns"]


def _with_stages(columns: Columns, names: Sequence[str]) -> list[str]:
    """Return the scores that vary, and fractions with their name and a further word, such as calibrated."""
    called = [
        name for name in names
        if name in columns.fractions or len(columns[name]) < 2 or columns.has_few_words(name, FIRST)
    ]  # fmt: skip
    either = "|".join(re.escape(columns.word[name]) for name in called)
    staged = re.compile(f"(?:{either})_.*|.*_(?:{either})")
    stages = [n for n in columns.scores if n in columns.fractions and staged.fullmatch(columns.word[n])]
    return [*dict.fromkeys((*called, *stages))] if called else []


def _classes_beside(columns: Columns, score: str) -> list[tuple[str | None, str | None]]:
    """Return the pairs of columns (predicted class, true class) that can belong to a score."""
    predicted = _predicted_beside(columns, score)
    labels = [name for name in columns.labels if name != predicted]
    free = [name for name in labels if not _decided_event(columns, name, name, score)]
    label = next(iter(free or labels), None)
    if predicted is None and label is not None and columns.correct is None:
        return [(name, label) for name in _answers_beside(columns, label, score)]
    if label is not None or columns.correct is not None or columns.labels:
        return [(predicted, label or next(iter(columns.labels), None))]
    return [(predicted, name) for name in _event_labels(columns, score, predicted)] or [(predicted, None)]


def _predicted_beside(columns: Columns, score: str) -> str | None:
    """Return the column of the predicted class of a score: with the same stem, else the first by its name."""
    event = columns.event_of(score)
    if event is not None and columns.given.predicted is None:
        for name in columns.word:
            if name not in columns.fractions and _is_named_like(columns, name, event[1]):
                return name
    return next((name for name in columns.predicted if name != score), None)


def _is_named_like(columns: Columns, name: str, stem: str) -> bool:
    """Whether a column is named as the predicted class of a model: lr_pred for lr."""
    word, stem = columns.word[name], columns.word.get(stem, normalised(stem))
    rest = {word.removeprefix(f"{stem}_"), word.removesuffix(f"_{stem}")} - {word}
    return any(is_called(part, "predicted") or part in ("label", "class") for part in rest)


def _answers_beside(columns: Columns, label: str, score: str) -> list[str | None]:
    """Return candidates for the predicted class, if no name says it: columns that share its values."""
    word = columns.word
    plain = [name for name in word if word[name] == "label" and name != label]
    if plain and columns.called(label, "true") and columns.called(score, "score", "confidence"):
        return [plain[0]]
    several = len(columns.words(label)) > 2
    telling = columns.called(score, "confidence") or scale_of(score) == "log_probabilities"
    weak = [name for name in word if columns.called(name, "answered") and name not in (label, score)]
    answers = [name for name in weak if name not in columns.fractions]
    if telling and len(answers) == 1:
        (answer,), alike = answers, columns[answers[0]].dtype.kind == columns[label].dtype.kind
        if alike and (is_free_text(columns[answer]) or columns.words(answer) & columns.words(label)):
            return [answer]
    among = list(word) if several and telling else weak if several or telling else []
    shared = [name for name in _sharing(columns, label, among, [score]) if columns[name].dtype == object]
    if shared:
        return [*shared]
    if several or columns.given.positive or not np.nanmin(columns[score], initial=1.0) >= 0.5:
        return [None]
    return [*_sharing(columns, label, word, [score]), None]  # a score that is never below 1/2


def _kinds(columns: Columns, base: Roles, support: str) -> Iterator[Roles]:
    """Propose the kind of a score: chance of a right answer, confidence in a predicted class, or P(Y = 1)."""
    (score,), predicted, correct = base.probabilities, base.predicted, columns.correct
    event = replace(base, predicted=None)
    graded = replace(event, kind="confidence", correct=correct, label=())
    if predicted is None:
        sure = correct is not None and (not base.label or columns.called(score, "confidence"))
        yield from [graded] if sure else _event_readings(columns, event, support)
        return
    if is_free_text(columns[predicted]) and (correct is not None or base.label):
        yield graded if correct else replace(base, kind="confidence")
        return
    doubt = None
    if support == "fractions":
        lead = f"{columns.decided}; " * bool(columns.predicted)
        doubt = f"{lead}only its range suggests that {score!r} is the confidence in {predicted!r}"
    if base.label and columns.given.predicted is None:
        word = _decided_event(columns, predicted, base.label[0], score)
        if word is not None:
            for reading in _event_readings(columns, replace(event, positive=word or None), support):
                yield replace(reading, doubt=reading.doubt or doubt)
            doubt = (
                f"{score!r} is not the confidence in {predicted!r}: with two classes a confidence is "
                f"at least 1/2, and the lowest score is {float(np.nanmin(columns[score])):.4g}"
            )
    yield replace(base, kind="top-label", correct=correct, doubt=doubt)


def _decided_event(columns: Columns, predicted: str, label: str, score: str) -> str | None:
    """Return the positive class, if the predicted class only says whether a score passes a threshold.

    Then one class is predicted for all high scores and the other for all low scores, some below 1/2: the
    score is P(Y = 1). If only one class is predicted, return "": the positive class is not known yet.
    """
    if len(columns.words(predicted, label)) > 2 or not columns.are_as_long(predicted, score):
        return None
    codes, words = words_in(columns[predicted])
    values = np.asarray(columns[score], dtype=np.float64)
    known = np.isfinite(values) & np.array([word in columns.words(predicted) for word in words])[codes]
    found = pd.Series(values[known]).groupby(codes[known]).agg(["mean", "min", "max", "nunique"])
    found = found.sort_values("mean")
    half = 50.0 if found["max"].max() > 2.0 else 0.5
    if not 0.0 <= found["min"].min() < half - 0.005 * half:
        return None
    if len(found) == 1:
        return ""
    below, above = found.iloc[0], found.iloc[1]
    apart = below["max"] <= above["min"] and found["nunique"].sum() > 2
    return words[found.index[1]] if apart else None


def _event_readings(columns: Columns, base: Roles, support: str) -> Iterator[Roles]:
    """Propose the positive class of a score, and check that the score is higher for it."""
    (score,) = base.probabilities
    words = sorted(columns.words(*base.label))
    chosen = columns.given.positive if columns.given.positive in words else None
    named = chosen or base.positive or _event_by_name(columns, score, base.label, words)
    several = support == "fractions of several columns"
    if named is not None or len(words) != 2 or base.scale == "log_probabilities" or several:
        yield replace(base, positive=named)
        return
    by_convention = positive_of(words)
    for word in [by_convention] if by_convention else words:
        auc, errors = columns.separation(score, base.label[0], word)
        if errors <= -SEPARATES:
            doubt = f"{score!r} ranks the labels the wrong way round: as the probability of {word!r} its "
            both = tuple(f"positive={term}" for term in sorted(words, key=word.__eq__))
            yield replace(base, positive=word, doubt=f"{doubt}AUC is {auc:.2f}", choices=both)
        elif support in ("fractions", "in the name") and errors < SEPARATES:
            doubt = f"neither its name nor its values show that {score!r} is a score of {base.label[0]!r}"
            yield replace(base, doubt=doubt)
        else:
            yield replace(base, positive=None if by_convention else word)


def _event_by_name(columns: Columns, score: str, label: tuple[str, ...], words: Sequence[str]) -> str | None:
    """Return the class in the name of a score: yes in p(yes); fraud in fraud_score beside is_fraud."""
    if columns.called(score, *KNOWN, "score") or not columns.has_header:
        return None
    if len(words) == 2 and len(inside := classes_in_name(score, words)) == 1:
        return inside[0][1]
    if (event := columns.event_of(score)) is None:
        return None
    before, name, _ = event
    if "(" in before or not label:
        return name if "(" in before or normalised(before) == "p" else None
    word = columns.word[label[0]]
    beside = name.lower() in word.split("_") and word != name.lower()
    return name if set(words) <= {"0", "1"} and beside else None


def is_free_text(values: np.ndarray) -> bool:
    """Whether most rows have a value of their own: free answers, not classes."""
    n_rows = len(values)
    return n_rows >= LEAST_TEXTS and 2 * len(words_in(values)[1]) > n_rows


# --- text in columns of numbers ---

#: Cells that are numbers, also with a percent sign or thousands separators.
NUMBERLIKE = re.compile(
    r"[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([., ']\d{3})+([.,]\d+)?)([eE][+-]?\d+)?\s*%?", re.ASCII
)


def _refuse_stray_cells(columns: Columns, labelled: bool, read: bool) -> None:
    """Refuse a column of numbers with a cell of text, and scores as text if no other reading exists."""
    known = {*columns.side.values(), *columns.labels, *columns.predicted, columns.correct}
    alone = not columns.sum_to_one(columns.scores)
    for name in columns.word:
        if columns[name].dtype != object or name in known or columns.called(name, "correct"):
            continue
        stray = stray_cell(columns[name], labelled)
        if stray is not None and (columns.is_called_score(name) or name in columns.given.score or alone):
            row, cell = stray
            raise InputError(
                f"column {name[:60]!r} holds numbers, but {cell[:60]!r} in row {row}; {_instead(cell, name)}"
            )
        if not read and re.search(r"\d", str(columns[name][0])) and columns.is_called_score(name):
            cell = str(columns[name][0])[:60]
            raise InputError(
                f"column {name[:60]!r} holds {cell!r} in row 0; write numbers such as 0.5 or 5e-1"
            )


def _instead(cell: str, name: str) -> str:
    if cell.strip()[:1] in "<>":
        bound = cell.strip()[1:].strip("= ")
        return f"write a number, such as the bound {bound} or half of it, or remove the row"
    if cell.strip().strip('"') == name:
        return "the header is repeated; remove that row"
    if cell.strip().startswith("#") or cell.strip() in ("-", "--", ".", "?"):
        return "leave the cell empty if the score is missing, or remove the row"
    return "correct that cell, or remove the column if it is not the score of a class"


def stray_cell(values: np.ndarray, labelled: bool) -> tuple[int, str] | None:
    """Return the first cell (row, text) of a column of numbers that is no number; None for other columns."""
    codes, words = words_in(values)
    counts = np.bincount(codes, minlength=len(words))
    like = np.array([len(word) <= 60 and NUMBERLIKE.fullmatch(word) is not None for word in words])
    filled = np.array([word != "" for word in words])
    if 2 * counts[like].sum() <= counts[filled].sum():
        return None
    fractions = any(hit and not word.lstrip("+-").isdigit() for word, hit in zip(words, like, strict=True))
    others = filled & ~like
    if not fractions and not (others.any() and labelled):
        return None
    doubtful = others if others.any() else like
    row = int(doubtful[codes].argmax())
    return row, words[codes[row]]


def _descend(matrix: np.ndarray) -> bool:
    """Whether all rows, of three or more scores, are in descending order."""
    rows = matrix[:1000]
    return len(rows) >= LEAST_TEXTS and rows.shape[1] > 2 and bool((rows[:, 1:] <= rows[:, :-1]).all())
