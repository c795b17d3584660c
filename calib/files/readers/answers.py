"""What cells of predicted and true classes say: names, codes, abstentions, right or wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calib.files.readers.column_names import words_of
from calib.files.readers.tables import words_in

#: Cells that say whether a prediction is right, in the languages of spreadsheets, and the letters of graders.
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
#: Names that stand for the event where two labels are given and nothing says which is positive.
POSITIVE = RIGHT - words_of("c j v s") | words_of("positive pos positiv positif positivo")
NEGATIVE = WRONG | words_of("negative neg negativ negatif negativo")
#: Predictions that are no answer, where they are never true.
ABSTENTIONS = frozenset(
    ["", "idk", "i don't know", "i dont know", "don't know", "dont know", "do not know", "i do not know"]
    + ["abstain", "abstained", "abstention", "no answer", "no_answer", "unanswered", "refused", "refusal"]
    + ["n/a", "unsure", "not sure", "not_attempted", "not attempted", "cannot answer"]
)
#: Cells that hold no label.
MISSING = ("", "nan", "NaN", "None")
#: True class of rows that are only known to be wrong.
ANOTHER = "(another class)"


def says_right(values: np.ndarray) -> bool:
    """Whether every cell says right, wrong, that there was no answer, or nothing."""
    words = {_short(word) for word in words_in(values)[1]}
    return words <= RIGHT | WRONG | ABSTENTIONS | {"nan"} and bool(words & (RIGHT | WRONG))


def yes_or_no(values: np.ndarray) -> bool:
    """Whether the cells are two words, or 0 and 1, of which one stands for the event and the other not."""
    words = {_short(word) for word in words_in(values)[1]} - {"", "nan"}
    return len(words) == 2 and len(words & POSITIVE) == 1 and len(words & NEGATIVE) == 1


def as_outcomes(values: np.ndarray) -> np.ndarray:
    """Return 1.0 for right, 0.0 for wrong and NaN for a cell that says neither, (n,) float64."""
    codes, words = words_in(values)
    short = map(_short, words)
    numbers = [1.0 if word in RIGHT else 0.0 if word in WRONG else np.nan for word in short]
    return np.array(numbers)[codes]


def right_or_another(predicted: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """Return true classes as far as they are known: the predicted one, `ANOTHER`, or "" for neither."""
    codes, words = words_in(predicted)
    outcome = as_outcomes(correct)
    labels = np.array(words, dtype=object)[codes]
    labels[outcome == 0.0] = ANOTHER
    labels[np.isnan(outcome)] = ""
    return labels


def no_attempt(correct: np.ndarray) -> np.ndarray:
    """Return the mask of rows that a grader calls no answer, neither right nor wrong: NOT_ATTEMPTED."""
    codes, words = words_in(correct)
    return np.array([_short(word) in ABSTENTIONS - {""} for word in words])[codes]


def abstaining(predicted: np.ndarray, labels: np.ndarray | None, named: Sequence[str] | None) -> np.ndarray:
    """Return the mask of rows whose prediction is no answer.

    Parameters
    ----------
    predicted, labels : (n,) array, and array or None
        Cells of the predicted and of the true class.
    named : sequence of str or None
        Values that are no answer; None for `ABSTENTIONS` that are never true.
    """
    codes, words = words_in(predicted)
    if named is None:
        true = set() if labels is None else {word.lower() for word in words_in(labels)[1]} - {""}
        none = [word.lower() in ABSTENTIONS and word.lower() not in true for word in words]
    else:
        wanted = {value.strip().lower() for value in named} | {""}
        none = [word.lower() in wanted for word in words]
    return np.array(none)[codes]


def classes_in(*columns: np.ndarray | None) -> tuple[str, ...]:
    """Return the names of all classes that some cell holds: numbers in their order, else texts in theirs."""
    words = {word for values in columns if values is not None for word in words_in(values)[1]} - set(MISSING)
    last = [ANOTHER] if ANOTHER in words else []
    return (*sorted(words - {ANOTHER}, key=_natural), *last)


def two_classes(labels: np.ndarray | None, positive: str | None) -> tuple[str, str]:
    """Return the names of the negative and the positive class of a binary score.

    Parameters
    ----------
    labels : (n,) array or None
        Cells of the true class.
    positive : str or None
        The class whose probability the score is, where the file or the user says it.
    """
    seen = () if labels is None else classes_in(labels)
    if positive is not None and positive in seen and len(seen) <= 2:
        other = [name for name in seen if name != positive]
        return (other[0] if other else "0" if positive != "0" else "1"), positive
    if len(seen) > 2 or not seen or set(seen) <= {"0", "1"}:
        plain = positive is None or positive == "1"
        return ("0", "1") if plain else ("1", "0") if positive == "0" else (f"not {positive}", str(positive))
    numbers = all(_natural(name)[0] == 0 for name in seen)
    telling = [] if numbers else [name for name in seen if name.lower() in POSITIVE]
    chosen = telling[0] if len(telling) == 1 else seen[-1]
    other = [name for name in seen if name != chosen]
    return (other[0] if other else f"not {chosen}"), chosen


def codes_of(values: np.ndarray, names: Sequence[str], numbered: bool) -> np.ndarray:
    """Return the class code of each cell, int64; -1 where it is missing or names no class.

    Whole numbers that are no names are codes where `numbered`.
    """
    code_of = {name: code for code, name in enumerate(names)}
    positions, words = words_in(values)
    if numbered and not any(word in code_of for word in words):
        code_of = {str(code): code for code in range(len(names))}
    return np.array([code_of.get(word, -1) for word in words], dtype=np.int64)[positions]


def missing_cells(values: np.ndarray) -> np.ndarray:
    """Return the mask of rows without a label."""
    if values.dtype == object:
        return np.asarray(pd.Series(values, dtype=object).isin(MISSING))
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _short(word: str) -> str:
    return word.lower().removesuffix(".0")


def _natural(word: str) -> tuple[int, float, str]:
    if word.isascii() and word.removeprefix("-").isdigit() and len(word) < 16:
        return 0, float(word), word
    return 1, 0.0, word
