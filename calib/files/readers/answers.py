"""Cells of predicted and true classes: names, codes, abstentions, right or wrong."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from os.path import commonprefix
from typing import Any

import numpy as np
import pandas as pd

from calib.files.readers.conventions import is_called, words_of
from calib.files.readers.tables import as_keys, by_word, words_in

#: Cells that say whether a prediction is right, in several languages, and the letters of graders.
RIGHT = words_of(
    "true t yes y 1 right correct pass passed success c wahr ja j richtig korrekt vrai oui juste exact v "
    "verdadero sí si s cierto correcto verdadeiro sim correto vero sì giusto waar juist sant rätt sand tosi "
    "kyllä prawda tak да истина верно はい 正 是 对 正确 真 ✓ ✔ ✅"
)
WRONG = words_of(
    "false f no n 0 wrong incorrect fail failed failure i falsch nein inkorrekt faux non inexact falso "
    "incorrecto não nao incorreto sbagliato onwaar nee onjuist falskt nej fel falsk epätosi ei fałsz falsz "
    "nie нет ложь неверно いいえ 误 否 错 错误 假 ✗ ✘ ❌"
)
RIGHT_OR_WRONG = dict.fromkeys(WRONG, 0.0) | dict.fromkeys(RIGHT, 1.0)
#: Words that mean the positive or the negative class of two labels.
POSITIVE = RIGHT - words_of("c j v s") | words_of("positive pos positiv positif positivo win won")
NEGATIVE = WRONG | words_of("negative neg negativ negatif negativo loss lost")
#: Predictions that are no answer, if they are never true.
ABSTENTIONS = frozenset(
    ["", "idk", "i don't know", "i dont know", "don't know", "dont know", "do not know", "i do not know"]
    + ["abstain", "abstained", "abstention", "no answer", "no_answer", "unanswered", "refused", "refusal"]
    + ["n/a", "unsure", "not sure", "not_attempted", "not attempted", "cannot answer"]
)
#: Cells that hold no label.
MISSING = ("", "nan", "NaN", "None", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!")
#: Cells that mean "no class", and words that mean it unless they are predicted.
NO_CLASS = re.compile(
    r"[-\u2013\u2014.?*_/\\]+|\d+:\?|\(?(?:n/a|n\.a\.?|#n/a|not available)\)?", re.IGNORECASE
)
NO_CLASS_WORDS = words_of(
    "na nan none null nil missing unknown blank empty undefined tbd (blank) (missing) (empty)"
)
#: True class of rows whose prediction is wrong, if the file does not name the true class.
ANOTHER = "(another class)"


def holds_grades(values: np.ndarray) -> bool:
    """Whether all cells mean right, wrong or no answer, or are empty."""
    words = {_short(word) for word in words_in(values)[1]}
    return words <= RIGHT | WRONG | ABSTENTIONS | {"nan"} and bool(words & (RIGHT | WRONG))


def yes_or_no(values: np.ndarray) -> bool:
    """Whether a column has exactly two values, of which one means yes and one means no."""
    words = {_short(word) for word in words_in(values)[1]} - {"", "nan"}
    return len(words) == 2 and len(words & POSITIVE) == 1 and len(words & NEGATIVE) == 1


def outcomes_of(values: np.ndarray, name: str = "") -> np.ndarray:
    """Return 1.0 for right, 0.0 for wrong and NaN for other cells, (n,) float64; a name may say "wrong"."""
    outcomes = by_word(values, lambda word: RIGHT_OR_WRONG.get(_short(word), np.nan))
    return 1.0 - outcomes if is_called(name, "wrong") else outcomes


def graded(
    correct: np.ndarray, name: str, predicted: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return labels and predicted classes of rows that a column grades; without classes, labels are outcomes.

    A label is the predicted class if it is right, `ANOTHER` if it is wrong, and "" if that is unknown.
    Predicted classes name the rows that a grader marks as unanswered, such as NOT_ATTEMPTED.
    """
    labels = outcomes = outcomes_of(correct, name)
    if predicted is not None:
        labels = as_keys(predicted)
        labels[outcomes == 0.0] = ANOTHER
        labels[np.isnan(outcomes)] = ""
    none = by_word(correct, lambda word: _short(word) in ABSTENTIONS - {""})
    if none.any():
        predicted = np.where(none, correct, "an answer" if predicted is None else predicted)
    return labels, predicted


def abstaining(predicted: np.ndarray, labels: np.ndarray | None, named: Sequence[str] | None) -> np.ndarray:
    if named is not None:
        wanted = {value.strip().lower() for value in named} | {""}
        return by_word(predicted, lambda word: word.lower() in wanted)
    true = set() if labels is None else set(words_in(labels)[1]) - {""}
    none = no_classes(words_in(predicted)[1], true)
    abstentions = ABSTENTIONS - {word.lower() for word in true}
    return by_word(predicted, lambda word: word in none or word.lower() in abstentions)


def no_classes(words: Iterable[str], known: Collection[str] = ()) -> set[str]:
    """Return the words that mean "no class", such as "-" and "n/a", and the words of empty cells.

    Words such as "none" are classes if they are `known` from another column, "-" is a class beside "+", and
    all words are classes if fewer than two would be left.
    """
    words = set(words) | set(known)
    found = {
        word for word in words
        if NO_CLASS.fullmatch(word) or (word.lower() in NO_CLASS_WORDS and word not in known)
    } - ({"-"} if "+" in words else set())  # fmt: skip
    return found | set(MISSING) if len(words - found - set(MISSING)) > 1 else set(MISSING)


def classes_in(*columns: np.ndarray | None) -> tuple[str, ...]:
    """Return the distinct classes in columns: numbers by size, then texts in alphabetical order."""
    held = (words_in(values.ravel())[1] for values in columns if values is not None)
    words = {word for each in held for word in each} - set(MISSING)
    return tuple(sorted(words, key=lambda word: (word == ANOTHER, natural(word))))


def two_classes(labels: np.ndarray | None, positive: str | None) -> tuple[str, str]:
    seen = () if labels is None else classes_in(labels)
    if positive is not None and positive in seen and len(seen) <= 2:
        other = [name for name in seen if name != positive]
        return (other[0] if other else "0" if positive != "0" else "1"), positive
    if len(seen) > 2 or not seen or set(seen) <= {"0", "1"}:
        plain = positive is None or positive == "1"
        return ("0", "1") if plain else ("1", "0") if positive == "0" else (f"not {positive}", str(positive))
    chosen = positive_of(seen) or seen[-1]
    other = [name for name in seen if name != chosen]
    return (other[0] if other else f"not {chosen}"), chosen


def positive_of(words: Iterable[str]) -> str | None:
    """Return the positive class by convention: the largest number, or the only word for yes; else None."""
    words = sorted(words, key=natural)
    if words and natural(words[-1])[0] == 0:
        return words[-1]
    positive = [word for word in words if word.lower() in POSITIVE]
    return positive[0] if len(positive) == 1 else None


def are_equivalent(first: tuple[np.ndarray, list[str]], second: tuple[np.ndarray, list[str]]) -> bool:
    """Whether two columns, given by `words_in`, divide the rows alike, with equal words or none in common."""
    (codes, words), (others, other_words) = first, second
    if {*words} & {*other_words}:
        place = {word: code for code, word in enumerate(words)}
        return bool((codes == np.array([place.get(word, -1) for word in other_words])[others]).all())
    return len(np.unique(codes * len(other_words) + others)) == len(words) == len(other_words)


def same_answers(given: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return 1.0 if answers are equal up to case, punctuation and number format, else 0.0; NaN if empty."""
    a, b = (by_word(values, _answer, object) for values in (given, true))
    return np.where((a == "") | (b == ""), np.nan, (a == b).astype(np.float64))


def _answer(text: str) -> str:
    """Normalise an answer: lower case, no article, no punctuation, no thousands separators."""
    short = re.sub(r"^(?:the|an?)\s+|[\s.,;:!?\"'()$%]+$|^[\s\"'($]+", "", text.lower())
    number = short.replace(",", "")
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", number, re.ASCII):
        return repr(float(number))
    return re.sub(r"[\W_]+", " ", short).strip() or text.strip()


def accepted_answers(cell: Any) -> list[Any]:
    """Return the answers that a cell accepts: a list that is written as text, or the text itself."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            found = ast.literal_eval(cell)
            return list(found) if isinstance(found, list) else [found]
    return [cell]


def lists_as_text(content: Any) -> Any:
    """Write lists in the records of a JSON file as text."""
    if not (isinstance(content, list) and all(isinstance(row, dict) for row in content)):
        return content
    return [
        {key: json.dumps(cell) if isinstance(cell, list) else cell for key, cell in row.items()}
        for row in content
    ]


def same_classes(labels: Sequence[str], predicted: Sequence[str]) -> dict[str, str] | None:
    """Match labels with predicted classes by the first rule that distinguishes all labels; else None.

    The rules: ignore case, punctuation and the prefix __label__; ignore a prefix that all names share; match
    words for yes and no; match initials.
    """
    heads = {re.sub(r"[^\W_]*$", "", commonprefix(names)) for names in (labels, predicted) if len(names) > 1}
    heads.discard("")
    letters = 1 in (max(map(len, names), default=0) for names in (labels, predicted))

    def without_head(name: str) -> str | None:
        return _bare(name.removeprefix(next(filter(name.startswith, heads), "")))

    def initial(name: str) -> str | None:
        return name[:1].lower() if letters else None

    for simple in (_bare, without_head, _polarity, initial):
        named = {simple(name): name for name in predicted}
        found = {label: named.get(simple(label)) for label in labels}
        if None not in named and None not in found.values() and len(set(found.values())) == len(labels):
            return {label: name for label, name in found.items() if name is not None}
    return None


def nearly_same(labels: Sequence[str], predicted: Sequence[str]) -> dict[str, str]:
    """Match labels with predicted classes that differ only in case, punctuation or the prefix __label__."""
    named = {_bare(name): name for name in predicted if name not in labels}
    words = [label for label in labels if label not in predicted and re.search(r"[^\W\d]", label)]
    pairs = {label: named.get(_bare(label)) for label in words}
    return {label: name for label, name in pairs.items() if name is not None}


def _bare(name: str) -> str | None:
    return re.sub(r"[\W_]+", "", name.lower().removeprefix("__label__")) or None


def _polarity(name: str) -> str | None:
    """Return "yes" or "no" if a name means it or ends in a plus or minus sign; else None."""
    short = _short(name)
    if short in POSITIVE or name.endswith("+"):
        return "yes"
    return "no" if short in NEGATIVE or name.endswith(("-", "\u2212")) else None


def codes_of(values: np.ndarray, names: Sequence[str], numbered: bool) -> np.ndarray:
    """Return the class code of each cell, or -1; if `numbered`, cells may hold the codes themselves."""
    code_of = {name: code for code, name in enumerate(names)}
    if numbered and not any(word in code_of for word in words_in(values)[1]):
        code_of = {str(code): code for code in range(len(names))}
    return by_word(values, lambda word: code_of.get(word, -1), np.int64)


def missing_cells(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.asarray(pd.Series(values, dtype=object).isin(MISSING))
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _short(word: str) -> str:
    return word.lower().removesuffix(".0")


def natural(word: str) -> tuple[int, float, str]:
    if word.isascii() and word.removeprefix("-").isdigit() and len(word) < 16:
        return 0, float(word), word
    return 1, 0.0, word
