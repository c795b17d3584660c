"""Which column or array of a file plays which role: one reading that the data support, open to correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.candidates import (
    MOST_MODELS,
    Found,
    Given,
    Reading,
    find_names,
    readings,
    refuse_stray_cells,
)
from calib.files.readers.conventions import (
    CALIBRATION,
    CLASS_NAMES,
    EVALUATION,
    KNOWN_NAMES,
    PREDICTED_NAMES,
    ROLE_NAMES,
    SCORE_NAMES,
    TRAINING,
    normalised,
)
from calib.files.readers.tables import Table, some_names, words_in


class ChoiceError(InputError):
    """Input that can be read in several ways, or in none, until the user says what columns are.

    Attributes
    ----------
    fact : str
        What has to be decided, a sentence without its full stop.
    choices : tuple of str
        The options that decide, such as "label=repaid"; empty if any column can be meant.
    """

    def __init__(self, fact: str, choices: Sequence[str]) -> None:
        given = [f"{option}={value!r}" for option, _, value in (each.partition("=") for each in choices)]
        named = " or ".join(given) or "the columns with score=, label=, predicted= or correct="
        super().__init__(f"{fact}; name {named}")
        self.fact, self.choices = fact, tuple(choices)


@dataclass(frozen=True)
class Roles:
    """The role of each column; to correct a guess, change fields with `dataclasses.replace`.

    Attributes
    ----------
    probabilities : tuple of str
        Score columns in class order, or the name of one matrix.
    class_names : tuple of str or None
        One name per class; None when the file gives none.
    label : tuple of str
        One column of true labels, one-hot columns in class order, or empty.
    id, split, weight, group, cluster, model : str or None
        Columns with these roles; rows of one cluster belong together, such as those of a patient.
    index : str or None
        A column of row numbers, which is not used.
    scale : str
        Scale of the scores by their names: "logits", "log_probabilities", "probabilities" or "unknown".
    ignored : tuple of str
        Columns without a role, which stay with the rows as metadata.
    kind : str
        Kind of the predictions, see `calib.data.kinds`; of all but vectors, `probabilities` is one column.
    predicted, correct : str or None
        Columns of the predicted class, and of whether the prediction is right.
    abstentions : tuple of str or None
        Predictions that are no answer; None where those with the usual names are ("IDK", an empty cell).
    positive : str or None
        The class whose probability a binary score is; None where the labels say it.
    ranked : tuple of str
        Columns of the highest classes, best first, whose scores are `probabilities`.
    model_name : str or None
        The model whose rows count, if `model` names several.
    doubt : str or None
        Why the file can be read in several ways, or in none, as a sentence without its full stop. The
        other fields are then the first proposal.
    choices : tuple of str
        The options that decide, such as "label=repaid".
    """

    probabilities: tuple[str, ...]
    class_names: tuple[str, ...] | None = None
    label: tuple[str, ...] = ()
    id: str | None = None
    split: str | None = None
    weight: str | None = None
    group: str | None = None
    index: str | None = None
    scale: str = "unknown"
    ignored: tuple[str, ...] = ()
    kind: str = "vectors"
    predicted: str | None = None
    correct: str | None = None
    abstentions: tuple[str, ...] | None = None
    positive: str | None = None
    ranked: tuple[str, ...] = ()
    cluster: str | None = None
    model: str | None = None
    model_name: str | None = None
    doubt: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def single(self) -> dict[str, str]:
        """Role of each column that has one alone, by the name of the column."""
        roles = ("predicted", "correct", "id", "split", "weight", "group", "cluster", "model", "index")
        return {getattr(self, role): role for role in roles if getattr(self, role) is not None}

    def table(self) -> list[tuple[str, str]]:
        """Return (column, role) of every column, "not used" for those that stay as metadata."""
        named = [(name, "class") for name in self.ranked if name != self.predicted]
        named += [(name, "score") for name in self.probabilities] + [(name, "label") for name in self.label]
        return [*named, *self.single.items(), *((name, "not used") for name in self.ignored)]


def guess_roles(table: Table, given: Given | None = None) -> Roles:
    """Find the reading of a table that names and values support, or the proposals if there are several.

    Raises
    ------
    InputError
        If no column can be a probability or score, or a cell makes text of a column of numbers.
    """
    given = (given or Given()).of(table)
    unread = [name for name in table.ignored if normalised(name) in KNOWN_NAMES]
    if unread:
        raise InputError(f"neither numbers nor text are in {some_names(unread)}; write them as either")
    if table.matrices:
        return _roles_of_arrays(table, given)
    found = find_names(table, given)
    every = readings(found)
    refuse_stray_cells(found, labelled=bool(found.labels) or any(each.label for each in every))
    possible = [each for each in every if each.against is None]
    if not every:
        raise InputError(_no_scores(found))
    best = (possible or every)[0]
    rivals = [each for each in possible if each.weight == best.weight]
    check_same_labels(table, _all_labels(found, best))
    roles = _with_doubt(_roles_of(found, best), best, rivals)
    return _of_model(table, roles, given)


def _all_labels(found: Found, reading: Reading) -> list[str]:
    """Return the columns that are called the true label, which have to say the same."""
    if found.given.label is not None or not set(reading.label) <= set(found.labels):
        return []
    words = found.columns.word
    called = {name for name in found.labels if words[name] not in ("class", "correct", "answer")}
    others = [name for name in words if name in called]
    return [name for name in others if name not in (reading.predicted, *reading.ranked)]


def _roles_of(found: Found, reading: Reading) -> Roles:
    used = {*reading.scores, *reading.ranked, *reading.label, reading.predicted, reading.correct}
    side: dict[str, Any] = {role: name for role, name in found.roles.items() if name not in used}
    used |= set(side.values())
    table = found.columns.table
    return Roles(
        probabilities=reading.scores,
        class_names=reading.class_names,
        label=reading.label,
        scale=reading.scale,
        ignored=tuple(name for name in found.columns.word if name not in used) + table.ignored,
        kind=reading.kind,
        predicted=reading.predicted,
        correct=reading.correct,
        positive=reading.positive,
        ranked=reading.ranked,
        **side,
    )


def _with_doubt(roles: Roles, best: Reading, rivals: Sequence[Reading]) -> Roles:
    """Return roles with what has to be decided, if the data leave several readings or none."""
    if best.against is not None:
        named = {option for option, _ in best.choices}
        kept = [f"{o}={value}" for o, value in best.choices if o == "positive" or "positive" not in named]
        return replace(roles, doubt=best.against, choices=tuple(kept))
    choices = [
        f"{option}={value}" for each in rivals for option, value in each.choices
        if len({dict(other.choices).get(option) for other in rivals}) > 1
    ]  # fmt: skip
    if len(rivals) < 2 or not choices:
        return roles
    options = list(dict.fromkeys(choice.split("=", 1)[0] for choice in choices))
    asked = {
        "score": "is the score, or each of them that of a model",
        "label": "is the true label",
        "positive": "is the class whose probability the score is",
    }
    what = []
    for option in options:
        values = [
            choice.split("=", 1)[1] for choice in dict.fromkeys(choices) if choice.startswith(option + "=")
        ]
        what.append(f"{some_names(values)}: nothing says which {asked.get(option, 'it is')}")
    return replace(roles, doubt="; ".join(what), choices=tuple(dict.fromkeys(choices)))


def _of_model(table: Table, roles: Roles, given: Given) -> Roles:
    """Return roles with the model whose rows count, or with the question which."""
    if given.model is None and (roles.model is None or given.group == roles.model):
        return replace(roles, model=None) if given.group == roles.model else roles
    column, _, name = (given.model or "").rpartition("=")
    column = column or roles.model or ""
    words = words_in(table.columns[column])[1] if column in table.columns else []
    if name in words:
        return replace(roles, model=column, model_name=name)
    if given.model is not None:
        raise InputError(
            f"there is no model {given.model[:60]!r}; models are {some_names(words) or 'not named'}"
        )
    if not 2 <= len(words) <= MOST_MODELS or roles.doubt is not None:
        return roles
    doubt = f"column {column!r} names {len(words)} models below each other: {some_names(words)}"
    return replace(roles, doubt=doubt, choices=tuple(f"model={word}" for word in words))


def _no_scores(found: Found) -> str:
    """Say what a table lacks that holds no scores."""
    listed = some_names(found.columns.word)
    if found.correct is not None:
        return (
            "the file says whether predictions are right, and holds no confidence in them; add a column "
            "'confidence', or the log-likelihood of every choice"
        )
    if found.predicted:
        others = [name for name in found.numeric if name not in found.predicted]
        beside = (
            f"; nothing says that {some_names(others)} are scores, else name them with score"
            if others
            else ""
        )
        return (
            f"column {found.predicted[0]!r} holds decisions, and calibration needs their probabilities: add "
            f"the confidence in each decision, or the probability of every class{beside}"
        )
    return (
        "no column of probabilities was found: one numeric column per class is needed, for example "
        f"cat,dog,label; the columns are {listed}"
    )


def label_reason(table: Table, roles: Roles) -> str:
    """Say why the one column of the true label was taken for it, as half a sentence."""
    (name,) = roles.label
    if normalised(name) in ROLE_NAMES["label"]:
        return f"it is called {name[:60]!r}"
    values = table.columns[name]
    if values.dtype == object:
        said = set(words_in(values)[1]) - {""}
        if roles.class_names and said <= set(roles.class_names):
            return "its values are names of the classes"
        return "it is the only column of few different words"
    return "it is the only column of whole numbers that could be codes of the classes"


def check_same_labels(table: Table, names: Sequence[str]) -> None:
    """Refuse columns that may all be the true label, unless they say the same."""
    if len(names) < 2:
        return
    first = words_in(table.columns[names[0]])
    for name in names[1:]:
        codes, words = words_in(table.columns[name])
        if set(words) & set(first[1]):  # the same words, so they must be the same in every row
            place = {word: code for code, word in enumerate(first[1])}
            differ = np.flatnonzero(np.array([place.get(word, -1) for word in words])[codes] != first[0])
        else:  # classes by number and by name: both are numbered as they come
            differ = np.flatnonzero(codes != first[0])
        if len(differ):
            row = int(differ[0])
            raise ChoiceError(
                f"columns {names[0][:60]!r} and {name[:60]!r} can both be the true label, and differ: row "
                f"{row} holds {first[1][first[0][row]][:60]!r} and {words[codes[row]][:60]!r}",
                [f"label={names[0]}", f"label={name}"],
            )


def _roles_of_arrays(table: Table, given: Given) -> Roles:
    """Roles of named arrays (NPY, NPZ, list columns): the matrix of scores, then vectors by name."""
    scale, chosen = "unknown", None
    for kind in ("probabilities", "log_probabilities", "logits"):
        for name in table.matrices:
            if chosen is None and normalised(name) in SCORE_NAMES[kind]:
                scale, chosen = kind if normalised(name) != "array" else "unknown", name
    labelled = [name for name in table.matrices if normalised(name) in ROLE_NAMES["label"]]
    if chosen is None:
        rest = [name for name in table.matrices if name not in labelled]
        if len(rest) != 1:
            raise InputError(
                f"which array holds the probabilities? There are {some_names(rest) or 'none'}; call it "
                "'proba' or 'logits', and the true labels 'labels'"
            )
        chosen = rest[0]
        word = normalised(chosen)
        scale = next((kind for kind in ("logits", "log_probabilities") if kind[:-1] in word), scale)
    array_of: dict[str, str] = {}
    for role, words in (ROLE_NAMES | {"names": CLASS_NAMES}).items():
        for name in (*table.columns, *labelled):
            values = table.columns.get(name)
            if role == "weight" and (values is None or values.dtype.kind not in "fiu"):
                continue
            if normalised(name) in words or (role == "id" and normalised(name) in ("index", "indices")):
                array_of.setdefault(role, name)
    free = [
        name
        for name, values in table.columns.items()
        if name not in array_of.values() and len(values) == len(table.matrices[chosen])
    ]
    if "label" not in array_of and len(free) == 1 and normalised(free[0]) not in PREDICTED_NAMES:
        array_of["label"] = free[0]
    names = table.columns.get(array_of.get("names", ""))
    of_labels = table.matrices.get(array_of.get("label", ""))
    several = (
        of_labels is not None
        and of_labels.shape == table.matrices[chosen].shape
        and bool(np.isin(of_labels, (0, 1)).all() and (of_labels.sum(axis=1) != 1).any())
    )
    used = {chosen, *array_of.values()}
    return Roles(
        probabilities=(chosen,),
        class_names=None if names is None else tuple(str(name) for name in names),
        label=(array_of["label"],) if "label" in array_of else (),
        kind="multilabel" if several else "vectors",
        scale=scale,
        ignored=tuple(name for name in (*table.columns, *table.matrices) if name not in used) + table.ignored,
        id=array_of.get("id"),
        split=array_of.get("split"),
        weight=array_of.get("weight"),
        group=array_of.get("group"),
    )


def part_of(value: str) -> str | None:
    """Return the part that a name or a split value names: "calibration", "evaluation", "training" or None."""
    words = set(normalised(value).split("_"))
    parts = {"calibration": CALIBRATION, "evaluation": EVALUATION, "training": TRAINING}
    return next((part for part, names in parts.items() if words & names), None)


def part_tables(table: Table) -> Mapping[str, Table]:
    """Divide named arrays by their names into "calibration" and "evaluation"; empty if undivided.

    `calibration_logits` becomes `logits` of "calibration"; `class_names` belongs to both.
    """
    parts: dict[str, dict[str, np.ndarray]] = {"calibration": {}, "evaluation": {}, "training": {}}
    shared: dict[str, np.ndarray] = {}
    for name, values in (*table.columns.items(), *table.matrices.items()):
        words = [word for word in normalised(name).split("_") if word not in CALIBRATION | EVALUATION]
        if (part := part_of(name)) is not None:
            parts[part]["_".join(words) or name] = values
        elif values.ndim == 1:
            shared[name] = values
    parts.pop("training")
    tables = {}
    for part, arrays in parts.items():
        matrices = {name: values for name, values in arrays.items() if values.ndim == 2}
        if matrices:
            n_rows = len(next(iter(matrices.values())))
            usable = {n: v for n, v in shared.items() if normalised(n) in CLASS_NAMES or len(v) == n_rows}
            columns = {name: values for name, values in (usable | arrays).items() if values.ndim == 1}
            tables[part] = Table(table.format, columns, matrices)
    return tables
