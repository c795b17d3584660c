"""Roles of columns, a user's corrections of them, and parts of a file: calibration and evaluation rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.data.kinds import KINDS
from calib.data.times import BLOCKS, are_dates, column_of_block
from calib.files.readers.conventions import NAMES, SIDE_ROLES, is_called, normalised
from calib.files.readers.tables import Table, by_word, some_names, words_in

#: Parts of a file; training rows are not read.
PARTS = ("calibration", "evaluation", "training")


@dataclass(frozen=True)
class Choice:
    """One reading of a file that can be read in several ways."""

    options: tuple[str, ...]  #: Options that decide for it, such as "label=repaid"
    title: str = ""  #: Kind of the predictions
    passed: tuple[str, ...] = ()  #: What speaks for it, in sentences
    failed: tuple[str, ...] = ()  #: What speaks against it
    rows: tuple[str, ...] = ()  #: Rows of the file as it reads them
    command: str = ""  #: Another command that the options belong to, such as "judge"

    @property
    def given(self) -> dict[str, str]:
        return {option: value for option, _, value in (each.partition("=") for each in self.options)}

    def lines(self, number: int) -> list[str]:
        """Return what is told about the reading, without the options."""
        signs = [f"  + {sentence}" for sentence in self.passed] + [f"  - {s}" for s in self.failed]
        rows = [f"  rows {' | '.join(self.rows)}"] if self.rows else []
        return [f"({number}) {self.title}", *signs, *rows]


class ChoiceError(InputError):
    """Input that can be read in several ways until the user names columns.

    `fact` is the open question, without a full stop; `choices` are the readings with the options for them,
    and empty if nothing shows which columns are scores.
    """

    def __init__(self, fact: str, choices: Sequence[Choice]) -> None:
        each = [", ".join(f"{option}={value!r}" for option, value in c.given.items()) for c in choices]
        named = " or ".join(each) or "the columns with score=, label=, predicted= or correct="
        super().__init__(f"{fact}; name {named}")
        self.fact, self.choices = fact, tuple(choices)


@dataclass(frozen=True, kw_only=True)
class SingleColumns:
    """What a user and a reading say in the same words: columns with one role each, and rows to read."""

    #: Columns of the predicted class, and of whether the prediction is right
    predicted: str | None = None
    correct: str | None = None
    #: Columns with these roles; rows of one cluster belong together, such as a patient's
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    cluster: str | None = None
    fold: str | None = None
    model: str | None = None
    #: The class whose probability a binary score is; None if it follows from the labels
    positive: str | None = None
    #: Columns of votes in place of a label: answers of annotators, or counts or shares for each class
    votes: tuple[str, ...] = ()
    #: The probability that each word of a confidence in words stands for, such as "high=0.9"
    words: tuple[str, ...] = ()
    #: Predictions that are no answer; None if those with the usual names are ("IDK", an empty cell)
    abstentions: tuple[str, ...] | None = None
    #: Labels whose rows are left out, and "COLUMN=VALUE" of the rows that are read: values of one column are
    #: alternatives
    drop_label: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles(SingleColumns):
    """The role of each column; to correct a guess, change fields with `dataclasses.replace`."""

    probabilities: tuple[str, ...]  #: Score columns in class order, or the name of one matrix
    class_names: tuple[str, ...] | None = None  #: One name per class; None when the file gives none
    label: tuple[str, ...] = ()  #: One column of true labels, one-hot columns in class order, or empty
    split: str | None = None
    index: str | None = None  #: A column of row numbers, which is not used
    #: Scale of the scores by their names: "logits", "log_probabilities", "probabilities" or "unknown"
    scale: str = "unknown"
    ignored: tuple[str, ...] = ()  #: Columns without a role, which stay with the rows as metadata
    #: Kind of the predictions, see `calib.data.kinds`; of all but vectors, `probabilities` is one column
    kind: str = "vectors"
    #: Columns of the highest classes, best first, whose scores are `probabilities`
    ranked: tuple[str, ...] = ()
    model_name: str | None = None  #: The model whose rows count, if `model` names several
    #: Why the file can be read in several ways, or in none; the other fields are then the first proposal
    doubt: str | None = None
    choices: tuple[Choice, ...] = ()  #: The readings among which the user decides

    @property
    def has(self) -> frozenset[str]:
        return KINDS[self.kind].has

    @property
    def single(self) -> dict[str, str]:
        """The roles that have one column each, by the name of the column."""
        roles = ("predicted", "correct", *SIDE_ROLES, "index")
        return {getattr(self, role): role for role in roles if getattr(self, role) is not None}

    def table(self) -> list[tuple[str, str]]:
        """Return (column, role) of every column; the role of metadata is "not used"."""
        named = [(name, "class") for name in self.ranked if name != self.predicted]
        named += [(name, "score") for name in self.probabilities] + [(name, "label") for name in self.label]
        named += [(name, "votes") for name in self.votes]
        return [*named, *self.single.items(), *((name, "not used") for name in self.ignored)]

    def sentence(self) -> str:
        """Return the columns that are used and their roles in one line."""
        by_role: dict[str, list[str]] = {}
        for name, role in self.table():
            by_role.setdefault(role, []).append(name)
        by_role |= {"rows only of": [*self.only], "without the label": [*self.drop_label]}
        by_role.pop("not used", None)
        used = [f"{role} {some_names(names)}" for role, names in by_role.items() if names]
        scale = "" if self.scale in ("unknown", "probabilities") else f" (as {self.scale.replace('_', '-')})"
        return "; ".join([used[0] + scale, *used[1:]])

    def among(self, names: Sequence[str]) -> Roles:
        """Return roles in which no column has two roles; columns of `names` without a role are ignored."""
        used = {*self.probabilities, *self.ranked, *self.label, *self.votes, self.predicted, self.correct}
        doubled = {role: None for role in (*SIDE_ROLES, "index") if getattr(self, role) in used}
        roles: Roles = replace(self, **doubled)  # type: ignore[arg-type]
        return replace(roles, ignored=tuple(name for name in names if name not in used | roles.single.keys()))


@dataclass(frozen=True)
class Given(SingleColumns):
    """Columns that a user names; `model` may be the model to read. calib finds the other roles."""

    label: str | None = None
    #: Columns of scores in the order of classes; * stands for any text, a comma divides names
    score: tuple[str, ...] = ()
    scores: str | None = None  #: The scale of the scores, if the user says it

    @property
    def columns(self) -> list[str]:
        """The columns that have one role each, and the columns of scores and votes."""
        one_each = (self.label, self.predicted, self.correct, self.weight, self.id, self.group, self.fold)
        return [*self.score, *self.votes, *filter(None, one_each)]

    def named(self) -> str:
        """Return the options that name columns of scores and classes, for a message."""
        found = {"score": ",".join(self.score), "label": self.label, "predicted": self.predicted}
        found |= {"correct": self.correct, "positive": self.positive}
        return ", ".join(f"{option}={value!r}" for option, value in found.items() if value)

    def are_in(self, roles: Roles) -> bool:
        """Whether roles of scores and classes are those that the user names."""
        wanted: dict[str, Any] = {"predicted": self.predicted, "correct": self.correct}
        wanted["label"] = None if self.label is None else (self.label,)
        wanted["probabilities"] = self.score or None
        wanted["positive"] = None if roles.kind == "multilabel" else self.positive
        return all(value is None or getattr(roles, role) == value for role, value in wanted.items())

    def check_used(self, roles: Roles) -> None:
        """Refuse an option whose column has another role, or none."""
        for role in SIDE_ROLES:
            if role != "model" and (name := getattr(self, role, None)) and getattr(roles, role) != name:
                others = ", ".join(used for column, used in roles.table() if column == name)
                raise InputError(f"{role}={name!r} cannot be used: the column is read as {others}")

    def resolved(self, table: Table) -> Given:
        """Replace patterns in `score` and `votes`, and a block of time in `cluster`, by columns."""
        names = dict.fromkeys((*table.columns, *table.matrices))
        score, votes = (
            tuple(name for pattern in several for name in _named(pattern, names))
            for several in (self.score, self.votes)
        )
        dropped = self.drop_label
        if "," in "".join(dropped):
            known = {word for values in table.columns.values() for word in words_in(values)[1]}
            dropped = tuple(part for v in dropped for part in ([v] if v in known else v.split(",")))
        given = replace(self, score=score, votes=votes, drop_label=dropped)
        if given.label is not None and votes:
            raise InputError("votes stand in for the label; give votes or label, not both")
        if given.cluster in BLOCKS and given.cluster not in names:
            dates = [name for name, values in table.columns.items() if are_dates(values)]
            if len(dates) != 1:
                raise InputError(
                    f"{given.cluster!r} is a block of time, and {some_names(dates) or 'no column'} could be "
                    f"the time of a row; name a column of dates, such as cluster='date={given.cluster}'"
                )
            given = replace(given, cluster=f"{dates[0]}={given.cluster}")
        cluster = None if given.cluster is None else column_of_block(given.cluster, names)
        for name in (*given.columns, *filter(None, [cluster])):
            if name not in names:
                raise InputError(f"there is no column {name[:60]!r}; the columns are {some_names(names)}")
        return given


def kept(table: Table, only: Sequence[str], words: Sequence[str] = ()) -> Table:
    """Return the rows that `only` names, with numbers in place of `words` of confidence."""
    return numbered(rows_of(table, kept_rows(table, only)) if only else table, words)


def kept_rows(table: Table, only: Sequence[str]) -> np.ndarray:
    wanted: dict[str, set[str]] = {}
    for text in only:
        name, _, value = text.partition("=")
        if name not in table.columns:
            raise InputError(f"only needs COLUMN=VALUE; there is no column {name[:60]!r} in {text[:80]!r}")
        wanted.setdefault(name, set()).add(value.strip())
    kept = np.ones(table.n_rows, dtype=bool)
    for name, values in wanted.items():
        kept &= by_word(table.columns[name], values.__contains__, bool)
    if not kept.any():
        raise InputError(f"no row has {' and '.join(only)}; write a value as the file has it")
    return kept


def rows_of(table: Table, rows: np.ndarray) -> Table:
    """Return some rows of a table; columns of other lengths stay as they are."""
    columns, matrices = (
        {name: values[rows] if len(values) == len(rows) else values for name, values in each.items()}
        for each in (table.columns, table.matrices)
    )
    return Table(table.format, columns, matrices, ignored=table.ignored)


def _named(pattern: str, names: Mapping[str, Any]) -> list[str]:
    """Return the columns that match a name, a pattern with *, or names divided by commas."""
    if pattern in names:
        return [pattern]
    if "*" in pattern:
        expression = re.compile(re.escape(pattern).replace(r"\*", ".*"), re.DOTALL)
        if found := [name for name in names if expression.fullmatch(name)]:
            return found
    several = pattern.split(",")
    return several if all(name in names for name in several) else [pattern]


def models_in(choices: Sequence[Choice]) -> dict[str, str]:
    """Return the option, "model" or "score", that reads each model; empty if the choices are about others."""
    pairs = [choice.given for choice in choices]
    found = {name: option for each in pairs for option, name in each.items()}
    alone = all(len(each) == 1 for each in pairs)
    return found if alone and {*found.values()} <= {"model", "score"} else {}


def given_columns(arguments: Mapping[str, Any]) -> Given:
    """Return the columns that a user names, from the arguments of `calib.read`."""
    words, scores = arguments.get("words") or (), arguments.get("scores")
    roles = "score", "votes", "drop_label", "only"
    several: dict[str, Any] = {role: arguments.get(role) or () for role in roles}
    if isinstance(words, Mapping):
        words = [f"{word}={chance}" for word, chance in words.items()]
    several["words"] = words.split(",") if isinstance(words, str) else words
    if (abstentions := arguments.get("abstentions")) is not None:
        several["abstentions"] = abstentions
    several = {role: (names,) if isinstance(names, str) else tuple(names) for role, names in several.items()}
    chances_of(several["words"])
    return Given(**{**arguments, **several, "scores": None if scores == "auto" else scores})


def chances_of(words: Sequence[str]) -> dict[str, float]:
    """Return the probability of each word, in lower case, from texts such as "high=0.9"."""
    try:
        pairs = [each.rpartition("=") for each in words]
        chances = {word.strip().lower(): float(chance) for word, _, chance in pairs}
    except ValueError:
        chances = {"": -1.0}
    if not all(word and 0.0 <= chance <= 1.0 for word, chance in chances.items()):
        raise InputError(
            f"words need a probability each, such as high=0.9,low=0.3; got {','.join(words)[:200]}"
        )
    return chances


def numbered(table: Table, words: Sequence[str]) -> Table:
    """Replace words by their probabilities in columns that hold only such words."""
    if not words:
        return table
    known, columns = {"": np.nan, **chances_of(words)}, dict(table.columns)
    for name, values in columns.items():
        if values.dtype == object and {word.lower() for word in words_in(values)[1]} <= known.keys():
            columns[name] = by_word(values, lambda word: known[word.lower()])
    return replace(table, columns=columns)


def part_of(value: str) -> str | None:
    """Return the part in a name or a split value: "calibration", "evaluation", "training" or None."""
    words = set(normalised(value).split("_"))
    return next((part for part in PARTS if words & NAMES[part]), None)


def part_tables(table: Table) -> Mapping[str, Table]:
    """Divide named arrays by their names into "calibration" and "evaluation"; empty if no name has a part.

    `calibration_logits` becomes `logits` of "calibration"; `class_names` belongs to both.
    """
    parts: dict[str, dict[str, np.ndarray]] = {part: {} for part in PARTS}
    shared: dict[str, np.ndarray] = {}
    in_parts = NAMES["calibration"] | NAMES["evaluation"]
    for name, values in (*table.columns.items(), *table.matrices.items()):
        words = [word for word in normalised(name).split("_") if word not in in_parts]
        if (part := part_of(name)) is not None:
            parts[part]["_".join(words) or name] = values
        elif values.ndim == 1:
            shared[name] = values
    tables = {}
    for part in ("calibration", "evaluation"):
        sizes = [len(values) for values in parts[part].values() if values.ndim == 2]
        if sizes:
            usable = {n: v for n, v in shared.items() if is_called(n, "classes") or len(v) == sizes[0]}
            tables[part] = Table.of(table.format, usable | parts[part])
    return tables
