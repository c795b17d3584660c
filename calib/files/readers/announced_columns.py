"""Columns of a file that announces less than a vector: a class and its confidence, one score, or ranks."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from calib.files.readers.answers import says_right, yes_or_no
from calib.files.readers.column_names import (
    CLASS_NAMES,
    CONFIDENCE_NAMES,
    CORRECT_NAMES,
    INDEX_NAMES,
    LIST_NAMES,
    PREDICTED_CLASS_NAMES,
    ROLE_NAMES,
    SCORE_NAMES,
    TRUE_NAMES,
    WEAK_PREDICTED_NAMES,
    WEAK_SCORE_NAMES,
    normalised,
)
from calib.files.readers.score_columns import PREFIX, is_unit, is_whole, scale_of, score_columns, sum_to_one
from calib.files.readers.tables import Table, words_in

#: Columns that are never scores, whatever numbers they hold.
SCORE_WORDS = frozenset().union(*SCORE_NAMES.values())
#: Words in names of columns that hold classes and neither the predicted nor the true one.
OTHER_WORDS = frozenset(
    ["second", "third", "runner", "alternative", "alt", "next", "other", "previous", "old"]
)
#: Rows of either decision from which a threshold is told apart from chance.
LEAST_DECISIONS = 5
#: Rows from which texts that mostly differ are answers of their own.
LEAST_TEXTS = 20
#: Last words of names of percentages.
PERCENT = frozenset(["pct", "percent", "percentage", "prozent", "pourcent", "porcentaje"])
#: Names of columns of ranks in the form of `normalised`: label_1, top1_label, prob_3.
RANK = re.compile(r"(?P<head>[a-z_]*?)_?(?P<rank>\d{1,3})_?(?P<tail>[a-z_]*)")
_NO_SCORES = INDEX_NAMES.union(*ROLE_NAMES.values()) | CORRECT_NAMES


@dataclass(frozen=True)
class Announced:
    """The columns of a file that has one column of scores, or one for each rank.

    Attributes
    ----------
    kind : {"top-label", "confidence", "binary", "top-k"}
        What they make.
    score : str
        Confidence in the predicted class, or P(Y = 1).
    predicted, label, correct : str or None
        Columns of the predicted class, of the true one, and of whether they agree.
    class_names : tuple of str or None
        Names of the classes, where the file lists them.
    positive : str or None
        The class that the name of a binary score names, such as "yes" in p(yes), or that decisions name.
    scale : str
        As in `Roles`.
    ranked, scores : tuple of str
        Columns of the highest classes, best first, and of their scores.
    """

    kind: str
    score: str
    predicted: str | None = None
    label: str | None = None
    correct: str | None = None
    class_names: tuple[str, ...] | None = None
    positive: str | None = None
    scale: str = "unknown"
    ranked: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()


def announced_columns(table: Table) -> Announced | None:
    """Return the columns of a class with its confidence, or of one score; None for vectors."""
    columns = {name: values for name, values in table.columns.items() if normalised(name) not in CLASS_NAMES}
    listed = [values for name, values in table.columns.items() if normalised(name) in CLASS_NAMES]
    word = {name: normalised(name) for name in columns}
    numeric = [name for name, values in columns.items() if values.dtype.kind in "fiu"]
    fractions = [name for name in numeric if not is_whole(columns[name])]
    if (ranks := _ranks(table, word)) is not None:
        return ranks
    predicted = _predicted(table, word, fractions)
    correct = next((n for n in columns if word[n] in CORRECT_NAMES and says_right(columns[n])), None)
    label = _label(table, word, [predicted, correct], fractions)
    taken = [predicted, correct, label]
    score = _score(table, word, numeric, taken)
    if predicted is None and label is not None and correct is None and score is not None:
        predicted, label = _label_is_predicted(word, label, score)
    if predicted is None and label is not None and correct is None:
        several, telling = len(words_in(columns[label])[1]) > 2, word.get(score or "") in CONFIDENCE_NAMES
        named = WEAK_PREDICTED_NAMES if several or telling else frozenset()
        weak = [name for name in word if (several and telling) or word[name] in named]
        predicted = _of_the_same_words(table, label, weak)
    if predicted is not None and label is None and correct is None:
        label = _of_the_same_words(table, predicted, list(word))
    alone = None
    if predicted is None and correct is None and (alone := _alone(table, word, fractions, label)) is not None:
        score, label = alone
    if score is None:
        return None
    if (
        alone is None
        and not _is_class_wise_output(table, word)
        and _is_vectors(table, numeric, {score, *taken}, score)
    ):
        return None
    names = tuple(str(name) for name in listed[0]) if listed else None
    scale = "unknown"
    if "logprob" in word[score].replace("_", ""):
        scale = "log_probabilities"
    if predicted is not None and label is not None:
        event = _decided_event(columns[predicted], columns[label], columns[score])
        if event is not None:
            return Announced("binary", score, label=label, class_names=names, positive=event)
    if predicted is not None and correct is not None and _is_free_text(columns[predicted]):
        return Announced("confidence", score, correct=correct, scale=scale)
    if predicted is not None and (label is not None or correct is not None or _is_class(columns[predicted])):
        return Announced("top-label", score, predicted, label, correct, names, scale=scale)
    if correct is not None:
        return Announced("confidence", score, correct=correct, scale=scale)
    positive = _positive(score)
    scale = "logits" if "logit" in word[score] else scale
    return Announced("binary", score, label=label, class_names=names, positive=positive, scale=scale)


def _ranks(table: Table, word: dict[str, str]) -> Announced | None:
    """Return the columns label_1, score_1, label_2, ...: of classes, and of as many scores; None without."""
    families: dict[str, dict[int, str]] = {}
    for name in word:
        if (match := RANK.fullmatch(word[name])) is not None:
            base = "_".join(filter(None, (match["head"], match["tail"])))
            families.setdefault(base.removeprefix("top").strip("_"), {})[int(match["rank"])] = name
    of_scores = [base for base in families if base in CONFIDENCE_NAMES | WEAK_SCORE_NAMES | SCORE_WORDS]
    kinds = {base: {table.columns[name].dtype.kind for name in families[base].values()} for base in of_scores}
    of_scores = [base for base in of_scores if kinds[base] <= set("fiu")]
    of_scores.sort(key=lambda base: base != "calibrated")
    of_classes = [base for base in families if base in LIST_NAMES | {""} and base not in of_scores]
    for base in of_scores:
        scores = families[base]
        least = 1 if base == "calibrated" else 2
        if len(scores) < least:
            continue
        for other in of_classes:
            classes = families[other]
            cells = [table.columns[name] for name in classes.values()]
            if classes.keys() != scores.keys() or not all(map(_is_class, cells)):
                continue
            ranks = sorted(scores)
            taken = [*scores.values(), *classes.values()]
            label = _label(table, word, taken, ())
            if label is None and all(map(is_flag, cells)):
                continue  # whether each class is true
            chosen = tuple(scores[rank] for rank in ranks)
            return Announced(
                "top-k",
                chosen[0],
                classes[ranks[0]],
                label,
                ranked=tuple(classes[rank] for rank in ranks),
                scores=chosen,
            )
    return None


def is_flag(values: np.ndarray) -> bool:
    """Whether a column of numbers holds zeros and ones only."""
    return values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all())


def _is_class_wise_output(table: Table, word: dict[str, str]) -> bool:
    """Whether class-wise calibration wrote the table, which says the class it announces with its score.

    The scores of all classes are there too, and rows of them do not sum to 1.
    """
    if not {"announced", "calibrated"} <= set(word.values()):
        return False
    names = [name for name, values in table.columns.items() if name[:2] == "p(" and values.dtype.kind == "f"]
    return bool(names) and not sum_to_one(table, names, 1e-6)


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


def _of_the_same_words(table: Table, known: str, among: Collection[str]) -> str | None:
    """Return the only other column of text whose cells are mostly words of a known column; None without."""
    words = set(words_in(table.columns[known])[1]) - {""}
    if table.columns[known].dtype != object or len(words) < 2:
        return None
    found = []
    for name in among:
        values = table.columns[name]
        if name != known and values.dtype == object and not OTHER_WORDS & set(normalised(name).split("_")):
            codes, others = words_in(values)
            shared = np.array([one in words for one in others])
            if shared.sum() >= 2 and shared[codes].mean() > 0.5:
                found.append(name)
    return found[0] if len(found) == 1 else None


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


def _alone(
    table: Table, word: dict[str, str], fractions: Collection[str], label: str | None
) -> tuple[str, str] | None:
    """Return (score, label) where the values leave one choice of each, whatever other columns are called.

    The score is the only column of fractions from 0 to 1, or of percentages by their name; the label has two
    values, and is named as one or is the only column of zeros and ones, or of yes and no.
    """
    free = [name for name in fractions if word[name] not in _NO_SCORES]
    scores = [name for name in free if is_unit(table.columns[name])] or [
        name for name in free if word[name].split("_")[-1] in PERCENT and _is_percent(table.columns[name])
    ]
    if len(scores) != 1:
        return None
    if label is None:
        whole = [name for name in word if name not in scores and word[name] not in _NO_SCORES]
        flags = [name for name in whole if is_flag(table.columns[name])]
        flags = flags or [name for name in whole if yes_or_no(table.columns[name])]
        return (scores[0], flags[0]) if len(flags) == 1 else None
    values = table.columns[label]
    two = is_flag(values) if values.dtype.kind in "iuf" else len(set(words_in(values)[1]) - {""}) == 2
    return (scores[0], label) if two else None


def _is_percent(values: np.ndarray) -> bool:
    """Whether all numbers that are not missing lie from 0 to 100."""
    return bool((np.isnan(values) | ((values >= 0.0) & (values <= 100.0))).all())


def is_score(table: Table, name: str, word: str) -> bool:
    """Whether a column of numbers is called a score and holds fractions."""
    values = table.columns[name]
    named = word in CONFIDENCE_NAMES | WEAK_SCORE_NAMES | SCORE_WORDS
    return named and values.dtype.kind == "f" and not is_whole(values)


def _constant_code(table: Table, name: str) -> bool:
    """Whether a column of whole numbers holds one value only, as a version or a seed does."""
    values = table.columns[name]
    return is_whole(values) and len(np.unique(values[:2000])) == 1 and len(values) > 1


def _positive(name: str) -> str | None:
    match = PREFIX.fullmatch(name.strip())
    if match is None or not (match["join"] or match["name"].isdigit()):
        return None
    known = scale_of(match["word"]) != "unknown" or (match["word"].lower() == "p" and "(" in match["join"])
    return match["name"].rpartition("=")[2].strip() if known else None


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
        by_prefix = by_prefix and not all(map(str.startswith, map(str.strip, chosen), names or ()))
        if (by_prefix and len(chosen) >= 2) or sum_to_one(table, candidates):
            return True
    labels = [name for name in taken if name not in (None, score)]
    others = {name.strip() for name in free if name != score}
    seen = {word for name in labels for word in words_in(table.columns[str(name)][:2000])[1]} - {""}
    if len(others) >= 2 and len(others & seen) >= 2:
        return True
    telling = normalised(score) in CONFIDENCE_NAMES | WEAK_SCORE_NAMES or _positive(score) is not None
    return not telling and len(free) > 1


def _decided_event(predicted: np.ndarray, label: np.ndarray, score: np.ndarray) -> str | None:
    """Return the class whose probability a score is, where another column says if it passes a threshold.

    Of two classes, one is predicted for all high scores and the other for all low ones, some below 1/2: no
    confidence in whichever class was predicted does that, but P(Y = 1) beside the decision made from it does.
    """
    codes, words = words_in(predicted)
    classes = set(words) - {""}
    if len(classes) != 2 or not set(words_in(label)[1]) - {""} <= classes:
        return None
    known = np.isfinite(score)
    sides = [(word, score[known & (codes == words.index(word))]) for word in sorted(classes)]
    if min(len(values) for _, values in sides) < LEAST_DECISIONS:
        return None
    (_, below), (high, above) = sorted(sides, key=lambda side: float(side[1].mean()))
    apart = below.max() <= above.min() and len(np.unique(below)) + len(np.unique(above)) > 2
    half = 50.0 if above.max() > 1.0 + 1e-6 else 0.5
    return high if apart and 0.0 <= below.min() < half else None


def _is_free_text(values: np.ndarray) -> bool:
    """Whether most rows hold a text of their own, which are answers and no classes."""
    n_rows = len(values)
    return values.dtype == object and n_rows >= LEAST_TEXTS and 2 * len(words_in(values)[1]) > n_rows


def _is_class(values: np.ndarray) -> bool:
    return values.dtype == object or is_whole(values)
