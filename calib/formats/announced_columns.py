"""Columns of a file that announces less than a vector: a class and its confidence, or one score."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from calib.formats.answers import says_right
from calib.formats.column_names import (
    CLASS_NAMES,
    CONFIDENCE_NAMES,
    CORRECT_NAMES,
    INDEX_NAMES,
    PREDICTED_CLASS_NAMES,
    ROLE_NAMES,
    TRUE_NAMES,
    WEAK_SCORE_NAMES,
    normalised,
)
from calib.formats.score_columns import PREFIX, is_whole, scale_of, score_columns, sum_to_one
from calib.formats.tables import Table, words_in

#: Columns that are never scores, whatever numbers they hold.
_NO_SCORES = INDEX_NAMES.union(*ROLE_NAMES.values()) | CORRECT_NAMES


@dataclass(frozen=True)
class Announced:
    """The columns of a file that has one column of scores.

    Attributes
    ----------
    kind : {"top-label", "confidence", "binary"}
        What they make.
    score : str
        Confidence in the predicted class, or P(Y = 1).
    predicted, label, correct : str or None
        Columns of the predicted class, of the true one, and of whether they agree.
    class_names : tuple of str or None
        Names of the classes, where the file lists them.
    positive : str or None
        The class that the name of a binary score names, such as "yes" in p(yes).
    scale : str
        As in `Roles`.
    """

    kind: str
    score: str
    predicted: str | None = None
    label: str | None = None
    correct: str | None = None
    class_names: tuple[str, ...] | None = None
    positive: str | None = None
    scale: str = "unknown"


def announced_columns(table: Table) -> Announced | None:
    """Return the columns of a class with its confidence, or of one score; None for vectors."""
    columns = {name: values for name, values in table.columns.items() if normalised(name) not in CLASS_NAMES}
    listed = [values for name, values in table.columns.items() if normalised(name) in CLASS_NAMES]
    word = {name: normalised(name) for name in columns}
    numeric = [name for name, values in columns.items() if values.dtype.kind in "fiu"]
    fractions = [name for name in numeric if not is_whole(columns[name])]
    predicted = _predicted(table, word, fractions)
    correct = next((n for n in columns if word[n] in CORRECT_NAMES and says_right(columns[n])), None)
    label = _label(table, word, [predicted, correct], fractions)
    taken = [predicted, correct, label]
    score = _score(table, word, numeric, taken)
    if predicted is None and label is not None and correct is None and score is not None:
        predicted, label = _label_is_predicted(word, label, score)
    if score is None or _is_vectors(table, numeric, {score, *taken}, score):
        return None
    names = tuple(str(name) for name in listed[0]) if listed else None
    if predicted is not None and (label is not None or correct is not None or _is_class(columns[predicted])):
        return Announced("top-label", score, predicted, label, correct, names)
    if correct is not None:
        return Announced("confidence", score, correct=correct)
    positive = _positive(score)
    scale = "logits" if "logit" in word[score] else "unknown"
    return Announced("binary", score, label=label, class_names=names, positive=positive, scale=scale)


def _predicted(table: Table, word: dict[str, str], fractions: Collection[str]) -> str | None:
    """Column of predicted classes: text or whole numbers under such a name, what was announced last first."""
    found = [name for name in word if word[name] in PREDICTED_CLASS_NAMES and name not in fractions]
    after = [name for name in found if word[name] == "announced"]
    return next(iter([*after, *found]), None)


def _label(
    table: Table, word: dict[str, str], taken: Collection[str | None], fractions: Collection[str]
) -> str | None:
    """Column of true classes; one that says it is true comes before one that is called label."""
    free = [name for name in word if name not in taken and name not in fractions]
    for names in (TRUE_NAMES - {"answer"}, frozenset(["answer"]), ROLE_NAMES["label"], {"correct"}):
        for name in free:
            if word[name] in names:
                return name
    return None


def _label_is_predicted(word: dict[str, str], label: str, score: str) -> tuple[str | None, str | None]:
    """Return (predicted, label): beside a true label, the "label" of a pipeline is what it predicts."""
    plain = [name for name in word if word[name] == "label" and name != label]
    if plain and word[label] in TRUE_NAMES and word[score] in WEAK_SCORE_NAMES | CONFIDENCE_NAMES:
        return plain[0], label
    return None, label


def _score(
    table: Table, word: dict[str, str], numeric: Collection[str], taken: Collection[str | None]
) -> str | None:
    """Column of the one score: by a telling name, else the only column of numbers that can be one."""
    free = [name for name in numeric if name not in taken]
    calibrated = [name for name in free if word[name] == "calibrated"]
    strong = [name for name in free if word[name] in CONFIDENCE_NAMES]
    weak = [name for name in free if word[name] in WEAK_SCORE_NAMES and not _constant_code(table, name)]
    prefixed = [name for name in free if _positive(name) is not None]
    if len(prefixed) == 1 and not strong and taken[0] is None and taken[1] is None:  # type: ignore[index]
        return prefixed[0]
    for names in (calibrated, strong, weak):
        if names:
            return names[0]
    left = [name for name in free if word[name] not in _NO_SCORES]
    return left[0] if len(left) == 1 and not is_whole(table.columns[left[0]]) else None


def _constant_code(table: Table, name: str) -> bool:
    """Whether a column of whole numbers holds one value only, as a version or a seed does."""
    values = table.columns[name]
    return is_whole(values) and len(np.unique(values[:2000])) == 1 and len(values) > 1


def _positive(name: str) -> str | None:
    match = PREFIX.fullmatch(name.strip())
    if match is None or not (match["join"] or match["name"].isdigit()):
        return None
    known = scale_of(match["word"]) != "unknown" or (match["word"].lower() == "p" and "(" in match["join"])
    return match["name"].strip() if known else None


def _is_vectors(table: Table, numeric: Collection[str], taken: Collection[str | None], score: str) -> bool:
    """Whether the other numbers, with the score or without, are one column per class."""
    free = [
        name
        for name in numeric
        if name not in taken - {score} and normalised(name) not in _NO_SCORES | CONFIDENCE_NAMES  # type: ignore[operator]
    ]
    for candidates in (free, [name for name in free if name != score]):
        if len(candidates) < 2:
            continue
        chosen, names, _ = score_columns(candidates)
        by_prefix = names is not None and list(names) != [name.strip() for name in candidates]
        if (by_prefix and len(chosen) >= 2) or sum_to_one(table, candidates):
            return True
    labels = [name for name in taken if name not in (None, score)]
    others = {name.strip() for name in free if name != score}
    seen = {word for name in labels for word in words_in(table.columns[str(name)][:2000])[1]} - {""}
    if len(others) >= 2 and len(others & seen) >= 2:
        return True
    telling = normalised(score) in CONFIDENCE_NAMES | WEAK_SCORE_NAMES or _positive(score) is not None
    return not telling and len(free) > 1


def _is_class(values: np.ndarray) -> bool:
    return values.dtype == object or is_whole(values)
