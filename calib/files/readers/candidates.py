"""Candidate readings of a table: which columns are scores, classes and labels, each held against the data.

What contradicts the data rules a reading out, support ranks the others. Rules are general; names that tools
write stand in `calib.files.readers.conventions`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.answers import MISSING, POSITIVE, yes_or_no
from calib.files.readers.columns import (
    Columns,
    Frame,
    classes_in_name,
    is_flag,
    is_row_number,
    is_whole,
    is_within,
)
from calib.files.readers.conventions import (
    ASIDE_NAMES,
    CONFIDENCE_NAMES,
    CONVENTIONS,
    CORRECT_NAMES,
    INDEX_NAMES,
    KNOWN_NAMES,
    LABEL_PREFIX,
    LABEL_SUFFIX,
    LIST_NAMES,
    PREDICTED_CLASS_NAMES,
    PREDICTED_NAMES,
    ROLE_NAMES,
    SCORE_NAMES,
    TRUE_NAMES,
    WEAK_PREDICTED_NAMES,
    WEAK_SCORE_NAMES,
    role_of,
    words_of,
)
from calib.files.readers.tables import Table, some_names, words_in

#: A consecutive column this long is a row number; three rows may well be 0, 1, 2 by chance.
MIN_INDEX_ROWS = 10
#: Standard errors of the AUC from which scores say that they are higher for a class.
SEPARATES = 2.0
#: Rows from which texts that mostly differ are answers of their own.
LEAST_TEXTS = 10
#: Words in names of columns that hold classes and neither the predicted nor the true class.
OTHER_WORDS = words_of("second third runner alternative alt next other previous old")
#: Most columns that can be the scores of as many models, and most values of a column of models.
MOST_MODELS = 50
#: Last words of names of percentages.
PERCENT = words_of("pct percent percentage prozent pourcent porcentaje")
#: Names of columns of ranks in the form of `normalised`: label_1, top1_label, prob_3.
RANK = re.compile(r"(?P<head>[a-z_]*?)_?(?P<rank>\d{1,3})_?(?P<tail>[a-z_]*)")
SCORE_WORDS = frozenset().union(*SCORE_NAMES.values())
#: How much each kind of support counts; the sum ranks the readings that nothing contradicts.
SUPPORT = {
    "calib wrote it": 40,
    "ranks": 30,
    "names are the labels": 16,
    "rows sum to 1": 16,
    "most rows sum to 1": 12,
    "each has a column of its truth": 16,
    "called so": 6,
    "numbered from 0 or 1": 4,
    "a scale in the name": 4,
    "in the name": 3,
    "fractions": 2,
    "as many as classes": 1,
}


#: What supports scores of classes by itself.
SUFFICIENT = frozenset(["names are the labels", "rows sum to 1", "most rows sum to 1", "a scale in the name"])


@dataclass(frozen=True)
class Reading:
    """One way to read a table.

    Attributes
    ----------
    kind : str
        Kind of the predictions.
    scores : tuple of str
        Columns of scores.
    class_names, positive, predicted, label, correct, ranked, scale
        As in `calib.files.readers.roles.Roles`.
    support : tuple of str
        Keys of `SUPPORT` that speak for it.
    against : str or None
        What in the data rules it out, as a sentence without its full stop.
    choices : tuple of (str, str)
        Options, such as ("score", "lr_proba"), that choose this reading among others.
    """

    kind: str
    scores: tuple[str, ...]
    class_names: tuple[str, ...] | None = None
    label: tuple[str, ...] = ()
    predicted: str | None = None
    correct: str | None = None
    ranked: tuple[str, ...] = ()
    positive: str | None = None
    scale: str = "unknown"
    support: tuple[str, ...] = ()
    against: str | None = None
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def weight(self) -> int:
        """Sum of what speaks for it."""
        return sum(SUPPORT[each] for each in self.support)


@dataclass(frozen=True)
class Given:
    """What a user says of the columns of a file; everything else is found out.

    Attributes
    ----------
    label, predicted, correct, weight, id, cluster, group : str or None
        Columns.
    score : tuple of str
        Columns of scores, in the order of classes.
    positive : str or None
        The class whose probability a score is.
    model : str or None
        The model to read, if a file holds several.
    """

    label: str | None = None
    score: tuple[str, ...] = ()
    predicted: str | None = None
    weight: str | None = None
    id: str | None = None
    cluster: str | None = None
    group: str | None = None
    model: str | None = None
    positive: str | None = None
    correct: str | None = None

    def column(self, role: str) -> str | None:
        """Return the column that was given a role."""
        return getattr(self, role, None) if role != "model" else None

    def of(self, table: Table) -> Given:
        """Return the same with the columns that patterns of `score` stand for.

        Raises
        ------
        InputError
            If the table has no such column.
        """
        scores = [fnmatch.filter(table.columns, name) or [name] for name in self.score]
        given = replace(self, score=tuple(name for names in scores for name in names))
        given._check(table)
        return given

    def _check(self, table: Table) -> None:
        one_each = (self.label, self.predicted, self.weight, self.id, self.cluster, self.group, self.correct)
        for name in (*self.score, *one_each):
            if name is not None and name not in table.columns and name not in table.matrices:
                listed = some_names((*table.columns, *table.matrices))
                raise InputError(f"there is no column {name[:60]!r}; the columns are {listed}")


def given_columns(said: Mapping[str, Any]) -> Given:
    """Return what a user says of columns, by the names of the arguments of `calib.read`."""
    score = said.get("score") or ()
    return Given(**{**said, "score": (score,) if isinstance(score, str) else tuple(score)})


@dataclass
class Found:
    """Columns that have a role by name, before scores are looked for."""

    columns: Columns
    given: Given
    roles: dict[str, str | None] = field(default_factory=dict)
    predicted: list[str] = field(default_factory=list)
    correct: str | None = None
    labels: list[str] = field(default_factory=list)
    #: Columns that may be scores: numbers without another role.
    numeric: list[str] = field(default_factory=list)

    @property
    def label(self) -> str | None:
        """The column that is called a label, or that the user named."""
        return self.labels[0] if self.labels else None


def find_names(table: Table, given: Given) -> Found:
    """Return what names of columns say, each checked against its values."""
    columns = Columns(table)
    found = Found(columns, given)
    found.roles = _side_roles(columns, given)
    aside = {name for name in found.roles.values() if name is not None}
    free = [name for name in columns.word if name not in aside]
    fractions = set(columns.fractions)
    found.predicted = _predicted(columns, given, [name for name in free if name not in fractions])
    found.correct = given.correct or next((name for name in free if columns.says_right(name)), None)
    taken = {*found.predicted[:1], found.correct, *given.score}
    found.labels = _labels(columns, given, [n for n in free if n not in taken and n not in fractions])
    used = {*found.predicted, *found.labels, found.correct} - set(given.score)
    found.numeric = [
        name for name in columns.numeric
        if name in free and name not in used and not _is_aside(columns, name) or name in given.score
    ]  # fmt: skip
    return found


def _is_aside(columns: Columns, name: str) -> bool:
    return columns.word[name] in ASIDE_NAMES or columns.word[name] in INDEX_NAMES


def _side_roles(columns: Columns, given: Given) -> dict[str, str | None]:
    """Return the columns of ids, splits, weights, groups, clusters, models and row numbers."""
    side = ("id", "split", "weight", "group", "cluster", "model")
    roles: dict[str, str | None] = {role: given.column(role) for role in side} | {"index": None}
    kept = {given.label, given.predicted, given.correct, *given.score, *roles.values()} - {None}
    for position, name in enumerate(columns.word):
        if name in kept:
            continue
        values, word = columns[name], columns.word[name]
        number = values.dtype.kind in "fiu"
        role = next((role for role in side if word in ROLE_NAMES[role]), None)
        if role is not None and (number if role == "weight" else not number or is_whole(values)):
            if roles[role] is None and not (role == "model" and len(columns.words(name)) < 2):
                roles[role] = name
        elif number and roles["index"] is None and _is_index(values, position, word):
            roles["index"] = name
    return roles


def _is_index(values: np.ndarray, position: int, word: str) -> bool:
    if word not in INDEX_NAMES and (position > 0 or len(values) < MIN_INDEX_ROWS):
        return False
    return is_row_number(values) or (word in INDEX_NAMES and word != "row" and is_whole(values))


def _predicted(columns: Columns, given: Given, free: Sequence[str]) -> list[str]:
    """Return the columns of predicted classes by name, what was announced last first."""
    if given.predicted is not None:
        return [given.predicted]
    found = [name for name in free if columns.word[name] in PREDICTED_CLASS_NAMES and columns.is_class(name)]
    found += [
        name for name in free
        if name not in found and columns.is_class(name) and _predicted_by_tool(columns, name)
    ]  # fmt: skip
    found = [name for name in found if name not in (given.label, given.correct, *given.score)]
    return sorted(found, key=lambda name: columns.word[name] != "announced")


def _predicted_by_tool(columns: Columns, name: str) -> bool:
    convention = role_of(name, "predicted")
    match = None if convention is None else convention.match(name)
    if match is None:
        return False
    return "of" not in match.groupdict() or any(match["of"] == other for other in columns.word)


def _labels(columns: Columns, given: Given, free: Sequence[str]) -> list[str]:
    """Return the columns that are called labels; names that say they are true come first."""
    if given.label is not None:
        return [given.label]
    of_tools = {
        match["of"] for name in columns.word for each in CONVENTIONS
        if (match := each.match(name)) is not None and match.groupdict().get("of")
    }  # fmt: skip
    tiers: tuple[set[str] | frozenset[str], ...] = (
        TRUE_NAMES - {"answer"}, frozenset(["answer"]), ROLE_NAMES["label"], {"correct"},
    )  # fmt: skip
    found = [
        name for names in tiers for name in free if columns.word[name] in names and columns.is_class(name)
    ]
    found += [name for name in free if role_of(name, "label") is not None or name in of_tools]
    return list(dict.fromkeys(found))


def readings(found: Found) -> list[Reading]:
    """Return every reading that names or values propose, best supported first."""
    every = [*_ranks(found), *_vectors(found), *_several(found)]
    sure = any(each.against is None and each.weight >= SUPPORT["most rows sum to 1"] for each in every)
    if not sure or "calibrated" in found.columns.word.values():
        every += _single(found)
    return sorted(every, key=lambda reading: -reading.weight)


# --- a score for every class ---


def _vectors(found: Found) -> Iterator[Reading]:
    """Propose scores of all classes: columns named like the labels, named alike, or that sum to 1."""
    columns, numeric = found.columns, found.numeric
    if len(found.given.score) > 1:
        yield from _chosen_vectors(found)
        return
    if len(found.given.score) == 1 or _is_class_wise_output(columns) or len(numeric) < 2:
        return
    seen: set[tuple[str, ...]] = set()
    for label in _possible_labels(found):
        words = columns.words(label) - set(MISSING)
        scores = [name for name in numeric if name != label and not _holds_truth(columns, name)]
        for frame in columns.frames_of(scores, words):
            if len(set(frame.names) & words) > 1 and _scores_of(columns, frame):
                seen.add(frame.columns)
                yield _with_label(found, frame, (label,), ("names are the labels",))
    for frame in _other_frames(found):
        if frame.columns not in seen:
            seen.add(frame.columns)
            yield from _labelled(found, frame)


def _holds_truth(columns: Columns, name: str) -> bool:
    return columns.is_flag(name) and LABEL_PREFIX.fullmatch(name.strip()) is not None


def _scores_of(columns: Columns, frame: Frame) -> bool:
    """Whether the columns of a frame can be scores: fractions, or one-hot decisions."""
    whole = all(is_whole(columns[name]) for name in frame.columns)
    return not whole or columns.sum_to_one(frame.columns) or columns.scale_of(frame.columns[0]) == "logits"


def _chosen_vectors(found: Found) -> Iterator[Reading]:
    columns, scores = found.columns, found.given.score
    words = set().union(*(columns.words(name) for name in found.labels[:1])) - set(MISSING)
    frames = [*columns.frames_of(scores, words), *columns.frames(scores)]
    names = {frame.columns: frame.names for frame in reversed(frames)}.get(scores, scores)
    yield from _labelled(found, Frame(scores, names), chosen=True)


def _possible_labels(found: Found) -> list[str]:
    """Return the columns whose words may be classes: those called so, else any with few words."""
    if found.labels:
        return found.labels[:1]
    columns, n_scores = found.columns, len(found.numeric)
    taken = {*found.roles.values(), *found.predicted, found.correct}
    free = [name for name in columns.word if name not in taken and not _is_aside(columns, name)]
    few = [
        name for name in free
        if columns.is_class(name) and not columns.is_predicted(name)
        and 2 <= len(set(columns[name][:2000].tolist())) <= max(2 * n_scores, 2)
    ]  # fmt: skip
    return few or found.predicted[:1]


def _other_frames(found: Found) -> Iterator[Frame]:
    """Return the columns that are called scores, and numbers that sum to 1 or are as many as the classes."""
    columns = found.columns
    numeric = [name for name in found.numeric if not columns.says_right(name)]
    one_hot = set(_one_hot_columns(columns, numeric))
    numeric = [name for name in numeric if name not in one_hot]
    yield from columns.frames(numeric)
    bare = [name for name in numeric if columns.word[name] not in PREDICTED_NAMES | SCORE_WORDS]
    if set(columns.fractions) & set(numeric) and not set(columns.fractions) & set(bare):
        return  # whole numbers beside a score
    units = [name for name in bare if is_within(columns[name])]
    fractions = [name for name in units if not is_whole(columns[name])]
    for names in (bare, units, fractions, [name for name in bare if not is_whole(columns[name])]):
        if len(names) > 1 and columns.sum_to_one(names, 0.5 if names is bare else 0.95):
            yield Frame(tuple(names), tuple(name.strip() for name in names))
            return
    whole = [name for name in bare if is_whole(columns[name])]
    if found.label is None and len(whole) < len(bare) - 1:
        bare = [name for name in bare if name not in whole[:1]]
    if len(bare) > 1:
        yield Frame(tuple(bare), tuple(name.strip() for name in bare))


def _labelled(found: Found, frame: Frame, chosen: bool = False) -> Iterator[Reading]:
    """Propose a group of scores with the columns that can be its labels."""
    if found.labels:
        yield _with_label(found, frame, tuple(found.labels[:1]), chosen=chosen)
        return
    columns = found.columns
    if one_hot := _one_hot_columns(columns, [n for n in columns.word if n not in frame.columns]):
        yield _with_label(found, frame, _in_class_order(one_hot, frame.names), chosen=chosen)
        return
    labels = _labels_by_values(found, frame)
    for label in labels:
        yield replace(
            _with_label(found, frame, (label,), chosen=chosen),
            choices=(("label", label),) if len(labels) > 1 else (),
        )
    if not labels:
        yield _with_label(found, frame, (), chosen=chosen)


def _with_label(
    found: Found, frame: Frame, label: tuple[str, ...], support: tuple[str, ...] = (), chosen: bool = False
) -> Reading:
    """Return the reading of a group of scores, with what speaks for it and against it."""
    columns = found.columns
    scale = columns.scale_of(frame.columns[0]) if frame.word else "unknown"
    reasons = list(support)
    if columns.sum_to_one(frame.columns):
        reasons.append("rows sum to 1" if columns.sum_to_one(frame.columns, 0.95) else "most rows sum to 1")
    if frame.word:
        reasons.append("in the name")
    if frame.word and scale in ("logits", "log_probabilities"):
        reasons.append("a scale in the name")
    if frame.is_run and frame.word:
        reasons.append("numbered from 0 or 1")
    single = label[0] if len(label) == 1 and label[0] in columns.word else None
    words = columns.words(single) - set(MISSING) if single else frozenset()
    against = None if chosen or reasons[:1] == ["names are the labels"] else None
    if not chosen and not SUFFICIENT & set(reasons):
        against = _against_vectors(found, frame, words)
    names = frame.names if found.columns.table.tabular else None
    return Reading(
        "vectors", frame.columns, names, label, scale=scale, support=tuple(reasons), against=against
    )


def _against_vectors(found: Found, frame: Frame, words: frozenset[str]) -> str | None:
    """Say why columns that no names of classes and no sums support cannot be the scores of all classes."""
    columns, size = found.columns, len(frame.columns)
    listed = some_names(frame.columns)
    if frame.word and (frame.is_run or not words):
        return None
    if frame.word and all(is_within(columns[name]) for name in frame.columns) and len(words) <= 2:
        return (
            f"{listed} are no scores of classes: their rows do not sum to 1, and the labels are "
            f"{some_names(sorted(words))}"
        )
    if frame.word:
        return None
    if found.predicted or found.correct:
        return f"nothing says that {listed} are scores of classes: no name, no sum, no class of the labels"
    ranges = {is_whole(columns[name]) for name in frame.columns}
    if True in ranges and not all(is_within(columns[name]) for name in frame.columns):
        return f"{listed} are numbers of different ranges, whole ones among them, and no scores of classes"
    if words and len(words) > size:
        return f"there are {len(words)} classes in the labels, and {size} columns of numbers: {listed}"
    return None


def _labels_by_values(found: Found, frame: Frame) -> list[str]:
    """Return the columns whose values can be the true classes of scores, equally well; empty if none can."""
    columns = found.columns
    taken = {*found.roles.values(), *frame.columns, *found.predicted, found.correct}
    free = [name for name in columns.word if name not in taken and not _is_aside(columns, name)]
    free = [name for name in free if not columns.is_predicted(name)]
    text = [
        name for name in free if columns[name].dtype == object and stray_cell(columns[name], False) is None
    ]
    of_classes = [name for name in text if columns.words(name) and columns.words(name) <= set(frame.names)]
    if of_classes:
        return of_classes
    few = [n for n in text if 2 <= len(set(columns[n][:2000].tolist())) <= max(2 * len(frame.columns), 2)]
    if len(few) == 1:
        return few
    whole = [name for name in free if columns[name].dtype.kind in "fiu" and is_whole(columns[name])]
    if len(frame.columns) > 2 and all(is_whole(columns[name]) for name in frame.columns):
        whole = [name for name in whole if not is_flag(columns[name])]
    codes = [name for name in whole if _are_codes(columns, name, frame)]
    return codes


def _are_codes(columns: Columns, name: str, frame: Frame) -> bool:
    """Whether whole numbers are codes of the classes, or few numbers beside rows that sum to 1."""
    values = columns[name]
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    size = max(len(frame.columns), 2)
    if not present.size:
        return False
    if present.min() >= 0 and present.max() <= size + 1:
        return True
    return len(np.unique(present)) <= 2 * size and columns.sum_to_one(frame.columns)


def _one_hot_columns(columns: Columns, names: Sequence[str]) -> tuple[str, ...]:
    binary = [name for name in names if is_flag(columns[name])]
    prefixed = [name for name in binary if LABEL_PREFIX.fullmatch(name.strip())]
    others = len([name for name in names if columns[name].dtype.kind == "f"]) - len(binary)
    chosen = prefixed if len(prefixed) >= 2 else binary if len(binary) == others else []
    if len(chosen) < 2:
        return ()
    ones = np.sum([one_hot_values(columns[name]) for name in chosen], axis=0)
    return tuple(chosen) if (ones == 1).all() else ()


def one_hot_values(values: np.ndarray) -> np.ndarray:
    """0 or 1 per row of a one-hot column, also when it is written True and False."""
    if values.dtype == object:
        codes, words = words_in(values)
        return np.array([word.lower() == "true" for word in words]).astype(np.int64)[codes]
    return np.nan_to_num(values).astype(np.int64)


def _in_class_order(label: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    matches = [LABEL_PREFIX.fullmatch(name.strip()) for name in label]
    column_of = {(m[1] if m else name).strip(): name for m, name in zip(matches, label, strict=True)}
    return tuple(column_of[name] for name in names) if set(column_of) == set(names) else label


def _is_class_wise_output(columns: Columns) -> bool:
    """Whether class-wise calibration wrote the table, which says the class it announces with its score."""
    names = [name for name in columns.fractions if name[:2] == "p("]
    announced = {"announced", "calibrated"} <= set(columns.word.values())
    return announced and bool(names) and not columns.sum_to_one(names, tolerance=1e-6)


# --- several classes can be true ---


def _several(found: Found) -> Iterator[Reading]:
    """Propose scores of which each has a column that says whether its class is true."""
    columns = found.columns
    truths = {}
    for name in columns.word:
        if not columns.is_flag(name) or columns.is_predicted(name):
            continue
        match = LABEL_PREFIX.fullmatch(name.strip()) or LABEL_SUFFIX.fullmatch(name.strip())
        truths[match[1].strip() if match else name.strip()] = name
    scores = [name for name in found.numeric if name not in truths.values()]
    for frame in columns.frames(scores):
        if set(frame.names) <= truths.keys():
            label = tuple(truths[name] for name in frame.names)
            ones = np.sum([one_hot_values(columns[name]) for name in label], axis=0)
            if found.label is None and not (ones == 1).all():
                scale = columns.scale_of(frame.columns[0])
                support = ("each has a column of its truth", "in the name")
                yield Reading("multilabel", frame.columns, frame.names, label, scale=scale, support=support)


# --- the highest classes ---


def _ranks(found: Found) -> Iterator[Reading]:
    """Propose the columns label_1, score_1, label_2, ...: classes, and their scores."""
    columns = found.columns
    families: dict[str, dict[int, str]] = {}
    for name, word in columns.word.items():
        if (match := RANK.fullmatch(word)) is not None:
            base = "_".join(filter(None, (match["head"], match["tail"])))
            families.setdefault(base.removeprefix("top").strip("_"), {})[int(match["rank"])] = name
    called = CONFIDENCE_NAMES | WEAK_SCORE_NAMES | SCORE_WORDS
    numeric = set(columns.numeric)
    of_scores = [
        base for base, names in families.items() if base in called and numeric >= set(names.values())
    ]
    for base in sorted(of_scores, key=lambda base: base != "calibrated"):
        scores = families[base]
        for other in [one for one in families if one in LIST_NAMES | {""} and one not in of_scores]:
            reading = _ranked(found, scores, families[other])
            if reading is not None and len(scores) >= (1 if base == "calibrated" else 2):
                yield reading
                return


def _ranked(found: Found, scores: dict[int, str], classes: dict[int, str]) -> Reading | None:
    columns = found.columns
    if classes.keys() != scores.keys() or not all(map(columns.is_class, classes.values())):
        return None
    labels = [name for name in found.labels if name not in classes.values()]
    if not labels and all(is_flag(columns[name]) for name in classes.values()):
        return None  # whether each class is true
    order = sorted(scores)
    return Reading(
        "top-k",
        tuple(scores[rank] for rank in order),
        label=tuple(labels[:1]),
        predicted=classes[order[0]],
        ranked=tuple(classes[rank] for rank in order),
        support=("ranks",),
    )


# --- one score for each row ---


def _single(found: Found) -> Iterator[Reading]:
    """Propose one score for each row: the confidence in the predicted class, or P(Y = 1)."""
    possible = _one_score(found)
    for score, support in possible if len(possible) <= MOST_MODELS else ():
        several = score not in found.given.score
        for reading in _of_score(found, score, support):
            yield replace(reading, choices=(*reading.choices, ("score", score))) if several else reading


def _one_score(found: Found) -> list[tuple[str, str]]:
    """Return the columns that can be the one score, each with what speaks for it."""
    columns, numeric = found.columns, found.numeric
    if found.given.score:
        return [(found.given.score[0], "called so")] if len(found.given.score) == 1 else []
    if calibrated := [name for name in numeric if columns.word[name] == "calibrated"]:
        return [(calibrated[0], "calib wrote it")]
    brackets = [name for name in numeric if (columns.event_of(name) or ("",))[0] == "p("]
    strong = [name for name in numeric if columns.word[name] in CONFIDENCE_NAMES]
    if len(brackets) == 1 and not strong and not found.predicted:
        return [(brackets[0], "called so")]
    for names in (CONFIDENCE_NAMES, WEAK_SCORE_NAMES):
        called = [
            name for name in numeric if columns.word[name] in names and not _is_constant_code(columns, name)
        ]
        if called:
            stems = tuple(f"{columns.word[name]}_" for name in called)
            stages = [n for n in numeric if n not in called and columns.word[n].startswith(stems)]
            stages = [name for name in stages if name in columns.fractions]
            return [(name, "called so") for name in (*called, *stages)]
    framed = [name for name in numeric if columns.event_of(name) is not None and not is_flag(columns[name])]
    fractions = [name for name in framed if name in columns.fractions]
    if fractions or framed:
        return [(name, "in the name") for name in fractions or framed]
    unnamed = _unnamed_scores(found)
    beside = found.labels or found.predicted or found.correct or any(map(columns.is_two_valued, columns.word))
    return [(name, "fractions") for name in unnamed] if len(unnamed) == 1 or beside else []


def _unnamed_scores(found: Found) -> list[str]:
    """Return the columns of fractions from 0 to 1, of percentages by name, or the only fractions."""
    columns = found.columns
    left = [name for name in found.numeric if name in columns.fractions and not columns.says_right(name)]
    units = [name for name in left if is_within(columns[name])]
    percent = [
        name for name in left
        if columns.word[name].split("_")[-1] in PERCENT and is_within(columns[name], 100.0)
    ]  # fmt: skip
    return units or percent or (left if len(left) == len(found.numeric) == 1 else [])


def _is_constant_code(columns: Columns, name: str) -> bool:
    """Whether a column of whole numbers holds one value only, as a version or a seed does."""
    values = columns[name]
    return is_whole(values) and len(np.unique(values[:2000])) == 1 and len(values) > 1


def _of_score(found: Found, score: str, support: str) -> Iterator[Reading]:
    """Propose what one score is of, by the columns of predicted and true classes beside it."""
    columns, correct = found.columns, found.correct
    scale = columns.scale_of(score)
    scale = scale if scale != "probabilities" else "unknown"
    for predicted, label, choices in _classes_beside(found, score):
        base = Reading(
            "binary", (score,), columns.listed, () if label is None else (label,),
            scale=scale, support=(support,), choices=choices,
        )  # fmt: skip
        if predicted is None and correct is not None and label is None:
            yield replace(base, kind="confidence", correct=correct)
        elif predicted is not None and (label or correct or columns.is_class(predicted)):
            yield from _of_predicted(found, base, predicted)
        else:
            yield from _of_event(found, base)


def _of_predicted(found: Found, base: Reading, predicted: str) -> Iterator[Reading]:
    """Propose the confidence in a predicted class, or P(Y = 1) beside the decision made from it."""
    columns, score, correct = found.columns, base.scores[0], found.correct
    label = base.label[0] if base.label else None
    if is_free_text(columns[predicted]) and (correct is not None or label is not None):
        free = replace(base, kind="confidence", correct=correct, label=base.label if correct is None else ())
        yield free if correct is not None else replace(free, predicted=predicted)
        return
    against, event = None, None
    if base.support == ("fractions",):
        against = f"nothing but its range says that {score!r} is the confidence in {predicted!r}"
    if label is not None and not found.given.predicted:
        event = _decided_event(columns, predicted, label, score)
    if event is not None:
        chosen = base if event == "" else replace(base, positive=event)
        yield from (replace(each, against=each.against or against) for each in _of_event(found, chosen))
        low = float(np.nanmin(columns[score]))
        against = (
            f"{score!r} is no confidence in {predicted!r}: one of two classes that is predicted has 1/2 or "
            f"more, and it goes down to {low:.4g}"
        )
    yield replace(base, kind="top-label", predicted=predicted, correct=correct, against=against)


def _decided_event(columns: Columns, predicted: str, label: str, score: str) -> str | None:
    """Return the class whose probability a score is, if another column says whether it passes a threshold.

    Of two classes, one is predicted for all high scores and the other for all low ones, some below 1/2: no
    confidence in whichever class was predicted does that, but P(Y = 1) beside the decision made from it does.
    If one class alone is predicted, some scores below 1/2 say the same; the event is "", to be found out.
    """
    decided, classes = columns.words(predicted), columns.words(predicted) | columns.words(label)
    if not len(decided) or len(classes) > 2 or not columns[score].size:
        return None
    codes, words = words_in(columns[predicted])
    values = np.asarray(columns[score], dtype=np.float64)
    known = np.isfinite(values)
    by_class = [(values[known & (codes == words.index(word))], word) for word in sorted(decided)]
    sides = sorted(((v, word) for v, word in by_class if len(v)), key=lambda each: float(each[0].mean()))
    if not sides:
        return None
    half = 50.0 if max(float(side.max()) for side, _ in sides) > 2.0 else 0.5
    lowest = min(float(side.min()) for side, _ in sides)
    if not 0.0 <= lowest < half - 0.005 * half:
        return None
    if len(sides) == 1:
        return ""
    (below, _), (above, high) = sides
    apart = below.max() <= above.min() and len(np.unique(below)) + len(np.unique(above)) > 2
    return high if apart else None


def _of_event(found: Found, base: Reading) -> Iterator[Reading]:
    """Propose the classes whose probability a score can be, held against how it separates the labels."""
    columns, score, given = found.columns, base.scores[0], found.given
    label = base.label[0] if base.label else None
    words = sorted(columns.words(label) - set(MISSING)) if label is not None else []
    chosen = given.positive if given.positive in words else None
    named = chosen or base.positive or _event_by_name(columns, score, label, words)
    if named is not None or len(words) != 2 or base.scale == "log_probabilities":
        yield replace(base, positive=named)
        return
    by_convention = set(words) <= {"0", "1"} or _positive_word(words) is not None or _are_numbers(words)
    assert label is not None
    for word in [_last(words)] if by_convention else words:
        auc, errors = columns.separation(score, label, word)
        if errors <= -SEPARATES:
            other = next(one for one in words if one != word)
            against = (
                f"{score!r} separates the labels the wrong way round: as the probability of {word!r} its "
                f"AUC is {auc:.2f}"
            )
            choices = (*base.choices, ("positive", other), ("positive", word))
            yield replace(base, positive=word, against=against, choices=choices)
        elif base.support == ("fractions",) and errors < SEPARATES:
            against = f"nothing but its range says that {score!r} is a score of {label!r}"
            yield replace(base, against=against)
        else:
            sure = by_convention or errors >= SEPARATES
            choices = base.choices if sure else (*base.choices, ("positive", word))
            yield replace(base, positive=None if by_convention else word, choices=choices)


def _positive_word(words: Sequence[str]) -> str | None:
    telling = [word for word in words if word.lower() in POSITIVE]
    return telling[0] if len(telling) == 1 else None


def _are_numbers(words: Sequence[str]) -> bool:
    return all(word.removeprefix("-").replace(".", "", 1).isdigit() for word in words)


def _last(words: Sequence[str]) -> str:
    """Return the class that a score is of by convention: 1, yes and the like, or the largest number."""
    return max(words, key=float) if _are_numbers(words) else _positive_word(words) or words[-1]


def _event_by_name(columns: Columns, score: str, label: str | None, words: Sequence[str]) -> str | None:
    """Return the class that the name of a score says: yes in p(yes), fraud beside is_fraud."""
    if columns.word[score] in KNOWN_NAMES | WEAK_SCORE_NAMES:
        return None
    if len(words) == 2 and (inside := classes_in_name(score, words)):
        return inside[0][1]
    if (event := columns.event_of(score)) is None:
        return None
    around, name = event
    if "(" in around or label is None:
        return name if "(" in around or around == "p" else None
    flags = set(words) <= {"0", "1"}
    beside = name.lower() in columns.word[label].split("_") and columns.word[label] != name.lower()
    return name if flags and beside else None


def _classes_beside(
    found: Found, score: str
) -> Iterator[tuple[str | None, str | None, tuple[tuple[str, str], ...]]]:
    """Return (predicted, label, choices) for every way to take the columns beside a score."""
    columns, given = found.columns, found.given
    predicted = _predicted_beside(found, score)
    label = next((name for name in found.labels if name != predicted), None)
    if predicted is None and label is not None and found.correct is None and given.predicted is None:
        predicted, label = _label_is_predicted(found, label, score)
    if label is not None or (predicted is not None and found.correct is not None):
        yield predicted, label, ()
        return
    if predicted is not None:
        shared = _of_the_same_words(found, predicted, columns.word, {score})
        choices = [(("label", name),) if len(shared) > 1 else () for name in shared]
        yield from ((predicted, name, each) for name, each in zip(shared, choices, strict=True))
        if not shared:
            yield predicted, None, ()
        return
    if found.correct is not None:
        yield None, None, ()
        return
    labels = _two_valued_labels(found, score)
    yield from ((None, name, (("label", name),) if len(labels) > 1 else ()) for name in labels)
    if not labels:
        yield None, None, ()


def _predicted_beside(found: Found, score: str) -> str | None:
    """Return the predicted class that belongs to a score: of the same stem, or the only one by its name."""
    columns, event = found.columns, found.columns.event_of(score)
    if event is not None and found.given.predicted is None:
        stem = columns.word.get(event[1], event[1].lower().replace(" ", "_"))
        for name, word in columns.word.items():
            rest = {word.removeprefix(f"{stem}_"), word.removesuffix(f"_{stem}")} - {word}
            if rest & (PREDICTED_CLASS_NAMES | {"label", "class"}) and columns.is_class(name):
                return name
    return next((name for name in found.predicted if name != score), None)


def _label_is_predicted(found: Found, label: str, score: str) -> tuple[str | None, str | None]:
    """Return (predicted, label) where nothing is called predicted: by the words that two columns share."""
    columns = found.columns
    word = columns.word
    plain = [name for name in word if word[name] == "label" and name != label]
    if plain and word[label] in TRUE_NAMES and word[score] in WEAK_SCORE_NAMES | CONFIDENCE_NAMES:
        return plain[0], label
    several, telling = len(columns.words(label)) > 2, word[score] in CONFIDENCE_NAMES
    answers = [name for name in word if word[name] in WEAK_PREDICTED_NAMES and name != label]
    answers = [name for name in answers if columns.is_class(name) and name not in (score, found.correct)]
    kinds = {columns[name].dtype.kind for name in (*answers, label)}
    if telling and len(answers) == len(kinds) == 1:
        (answer,) = answers
        if is_free_text(columns[answer]) or columns.words(answer) & columns.words(label):
            return answer, label
    if several and telling:
        among = list(word)
    else:
        among = [name for name in word if (several or telling) and word[name] in WEAK_PREDICTED_NAMES]
    shared = [
        name for name in _of_the_same_words(found, label, among, {score}) if columns[name].dtype == object
    ]
    return (shared[0] if len(shared) == 1 else None), label


def _of_the_same_words(found: Found, known: str, among: Iterable[str], without: set[str]) -> list[str]:
    """Return the other columns whose cells are mostly words of a known column."""
    columns = found.columns
    words = columns.words(known)
    taken = {known, found.correct, *found.roles.values(), *without}
    few = [
        name for name in among
        if name not in taken and columns.is_class(name) and not _is_aside(columns, name)
        and not OTHER_WORDS & set(columns.word[name].split("_"))
        and (name in found.labels or not columns.is_predicted(name) or columns.is_predicted(known) is False)
    ]  # fmt: skip
    found_names = []
    for name in few:
        codes, others = words_in(columns[name])
        shared = np.array([one in words for one in others])
        enough = shared.sum() >= min(2, len(words)) and shared[codes].mean() > 0.5
        alike = columns[name].dtype == columns[known].dtype == object or len(others) <= max(2, 2 * len(words))
        if enough and alike and (len(words) > 1 or len(others) == 2):
            found_names.append(name)
    return found_names


def _two_valued_labels(found: Found, score: str) -> list[str]:
    """Return the columns that can be the label of P(Y = 1): 0 and 1, yes and no, or two words."""
    columns = found.columns
    taken = {score, *found.roles.values(), *found.predicted}
    free = [n for n in columns.word if n not in taken and not _is_aside(columns, n) and columns.is_class(n)]
    free = [name for name in free if not columns.is_predicted(name)]
    flags = [name for name in free if columns[name].dtype.kind in "iuf" and is_flag(columns[name])]
    flags = flags or [name for name in free if columns[name].dtype == object and yes_or_no(columns[name])]
    if flags:
        return flags
    n_rows = len(columns[score])
    two = [name for name in free if columns.is_two_valued(name) and len(columns[name]) == n_rows]
    return [n for n in two if abs(columns.separation(score, n, min(columns.words(n)))[1]) >= SEPARATES]


def is_free_text(values: np.ndarray) -> bool:
    """Whether most rows hold a value of their own, which are answers and no classes."""
    n_rows = len(values)
    return n_rows >= LEAST_TEXTS and 2 * len(words_in(values)[1]) > n_rows


# --- cells that make text of a column of numbers ---

#: Cells that write a number, also with a percent sign, or with marks between thousands.
NUMBERLIKE = re.compile(
    r"[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([., ']\d{3})+([.,]\d+)?)([eE][+-]?\d+)?\s*%?", re.ASCII
)


def refuse_stray_cells(found: Found, labelled: bool) -> None:
    """Refuse a column of numbers that a cell makes text, whatever else the file holds.

    Raises
    ------
    InputError
        With the cell, its row, and what to write instead.
    """
    columns = found.columns
    known = {*found.roles.values(), *found.labels, *found.predicted, found.correct}
    for name in columns.word:
        if columns[name].dtype != object or name in known or columns.word[name] in CORRECT_NAMES:
            continue
        stray = stray_cell(columns[name], labelled)
        if stray is not None and (
            columns.is_called_score(name) or name in found.given.score or _alone(found)
        ):
            row, cell = stray
            raise InputError(
                f"column {name[:60]!r} holds numbers, but {cell[:60]!r} in row {row}; {_instead(cell, name)}"
            )


def _alone(found: Found) -> bool:
    """Whether there is no other column of numbers, or only columns that are no vectors by themselves."""
    return not found.columns.sum_to_one(found.numeric)


def _instead(cell: str, name: str) -> str:
    """Return what to write in place of a cell that is no number."""
    if cell.strip()[:1] in "<>":
        bound = cell.strip()[1:].strip("= ")
        return f"write a number, such as the bound {bound} or half of it, or remove the row"
    if cell.strip().strip('"') == name:
        return "the header is repeated; remove that row"
    if cell.strip().startswith("#") or cell.strip() in ("-", "--", ".", "?"):
        return "leave the cell empty if the score is missing, or remove the row"
    return "correct that cell, or remove the column if it is not the score of a class"


def stray_cell(values: np.ndarray, labelled: bool) -> tuple[int, str] | None:
    """Return the first cell (row, text) that makes text of a column of numbers; None for other text."""
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
