"""What a table could hold: a generator proposes the readings of one layout, and `checks` judge them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from os.path import commonprefix

import numpy as np

from calib.files.readers.answers import NEGATIVE, POSITIVE, positive_of
from calib.files.readers.columns import FIRST, MOST_MODELS, Columns, Frame, classes_in_name, is_flag, is_whole
from calib.files.readers.conventions import KNOWN, LABELS, SCALES, is_called, normalised, scale_of, words_of
from calib.files.readers.roles import Roles
from calib.files.readers.tables import as_float, words_in

#: Words in names of columns that hold classes which are neither predicted nor true.
OTHER_WORDS = words_of("second third runner alternative alt next other previous old")
#: Names of columns of ranks in the form of `normalised`: label_1, top1_label, prob_3.
RANK = re.compile(r"(?P<head>[a-z_]*?)_?(?P<rank>\d{1,3})_?(?P<tail>[a-z_]*)")
#: Fewest rows before texts that mostly differ count as free answers.
LEAST_TEXTS = 10
#: Most columns of classes that are tried with a score, after those that are named.
MOST_CLASSES = 12


def is_free_text(values: np.ndarray) -> bool:
    """Whether most of the first rows have a value of their own: free answers, not classes."""
    first = values[:FIRST]
    return len(first) >= LEAST_TEXTS and 2 * len(words_in(first)[1]) > len(first)


def is_another(columns: Columns, name: str) -> bool:
    """Whether a column holds a second choice, by its name."""
    return bool(OTHER_WORDS & {*columns.word[name].split("_")})


def label_columns(columns: Columns) -> list[str]:
    """Return the columns that could hold the true class, those with such a name first."""
    if (given := columns.given.label) is not None:
        return [given] if given in columns.word else []
    taken = {*columns.predicted, *columns.correct, *columns.given.score}
    free = [name for name in columns.classes if name not in taken and not is_another(columns, name)]
    named = [name for name in columns.labels if name in free]
    others = [name for name in free if name not in named and len(columns.words(name)) > 1]
    others = [name for name in others if not is_free_text(columns[name])]
    return [*named, *others]


def score_columns(columns: Columns) -> list[str]:
    """Return the columns that could hold one score for each row."""
    if given := columns.given.score:
        return [name for name in given if len(given) == 1 and name in columns.word]
    unit = [name for name in columns.unit if columns.ends(name)[1] >= 0.05]  # lower are prices of answers
    found = [n for n in columns.scores if n in unit or columns.is_called_score(n) or columns.is_percent(n)]
    found = [name for name in found if not is_another(columns, name)] or found
    found = [name for name in found if len({*columns.ends(name)}) > 1] or found
    found = [name for name in found if name.startswith("p(")] or found
    distinct = {hash(columns[n].tobytes()): n for n in reversed(found) if len(found) <= MOST_MODELS}
    return sorted(distinct.values(), key=found.index)


def of_ranks(columns: Columns) -> Iterator[Roles]:
    """Propose the highest classes and their scores: label_1, score_1, label_2, ..."""
    families: dict[str, dict[int, str]] = {}
    for name, word in columns.word.items():
        if (match := RANK.fullmatch(word)) is not None:
            base = "_".join(filter(None, (match["head"], match["tail"])))
            families.setdefault(base.removeprefix("top").strip("_"), {})[int(match["rank"])] = name
    called = [base for base in families if is_called(base, "confidence", "score", *SCALES)]
    scored = [base for base in called if {*families[base].values()} <= {*columns.numeric}]
    listed = [base for base in families if not base or is_called(base, "list", "predicted")]
    for base, other in product(sorted(scored, key=lambda base: base != "calibrated"), listed):
        scores, classes = families[base], families[other]
        if base == other or classes.keys() != scores.keys() or columns.fractions & {*classes.values()}:
            continue
        if len(scores) < (1 if base == "calibrated" else 2):
            continue
        label = tuple(name for name in columns.labels if name not in classes.values())[:1]
        ranked, rank_scores = (tuple(each[rank] for rank in sorted(scores)) for each in (classes, scores))
        yield Roles(rank_scores, label=label, kind="top-k", predicted=ranked[0], ranked=ranked)
        return


def of_matrices(columns: Columns) -> Iterator[Roles]:
    """Propose a matrix of scores beside labels."""
    given = columns.given
    matrices = {name: matrix for name, matrix in columns.table.matrices.items() if matrix.shape[1]}
    rest = [name for name in matrices if name != given.label and not is_called(name, *LABELS)]
    alone = len(matrices) == 1 and not columns.unit
    rest = [name for name in rest if alone or not is_flag(matrices[name])]
    named = [n for n in rest if is_called(n, *SCALES) or columns.sum_to_one((n,), 0.95) or len(rest) == 1]
    for name in [name for name in given.score if name in matrices] or named:
        codes = tuple(map(str, range(matrices[name].shape[1])))
        yield from _with_labels(columns, Frame((name,), codes, f"{name}[", "]"))


def of_named_columns(columns: Columns) -> Iterator[Roles]:
    """Propose columns whose names differ only in the class."""
    given, names = columns.given.score, columns.given.score or columns.scores
    if len(names) < 2 or any(name in columns.table.matrices for name in given):
        return
    frames = columns.frames_of(names, label_columns(columns) if columns.has_header else ())
    found = [f for f, label in frames if label not in f.columns and _are_scores(columns, f)]
    found += columns.frames(names)
    grouped = columns.grouped  # of three scores that sum to 1, two are not all
    found = [f for f in found if not {*f.columns} < {*grouped.get(f.columns[0], ())}]
    if given:
        found = [frame for frame in found if frame.columns == given] or [Frame(given, given)]
    paired = {*columns.truths} if len(columns.truths) > 1 and not given else set()
    for frame in [frame for frame in dict.fromkeys(found) if not paired & {*frame.columns}]:
        yield from _with_labels(columns, frame)


def of_pairs(columns: Columns) -> Iterator[Roles]:
    """Propose scores with a column each that says whether its event happened: prob1 and prob1_outcome."""
    scores = tuple(columns.truths)
    if len(scores) > 1 and not columns.given.label:
        names = tuple((columns.event_of(name) or ("", name, ""))[1] for name in scores)
        yield from _with_labels(columns, Frame(scores, names if len({*names}) == len(names) else scores))


def of_flags(columns: Columns) -> Iterator[Roles]:
    """Propose scores beside a list of 0 and 1 that says of each class, in their order, whether it is true."""
    names = columns.given.score or tuple(columns.unit)
    for matrix in columns.table.matrices.values() if len(names) > 1 else ():
        if matrix.shape[1] == len(names) and is_flag(matrix):
            yield from _with_labels(columns, Frame(names, names))


def of_sums(columns: Columns) -> Iterator[Roles]:
    """Propose neighbouring columns whose rows sum to 1 or to 100, whatever their names."""
    for group in columns.groups:
        yield from _with_labels(columns, Frame(group, tuple(name.strip() for name in group)))


def of_plain_scores(columns: Columns) -> Iterator[Roles]:
    """Propose all columns of numbers, if each is highest in the rows of its class."""
    scores = [n for n in columns.scores if not is_whole(columns[n]) and not columns.is_called_score(n)]
    if columns.groups or not 1 < len(scores) == len(columns.scores):
        return
    for name in label_columns(columns):
        if len(columns.words(name)) == len(scores) and columns.goes_with(scores, name):
            yield Roles(tuple(scores), tuple(n.strip() for n in scores), (name,))


def _are_scores(columns: Columns, frame: Frame) -> bool:
    features = frame.word and frame.is_run and columns.event_of(frame.columns[0]) is None  # x_0, x_1
    if scale_of(frame.columns[0]) == "logits" or columns.sum_to_one(frame.columns):
        return True
    return not (features or all(is_whole(columns[name]) for name in frame.columns))


def _with_labels(columns: Columns, frame: Frame) -> Iterator[Roles]:
    matrix = frame.columns[0] in columns.table.matrices
    scale = scale_of(frame.columns[0]) if frame.word else "unknown"
    names = columns.listed if matrix else frame.names
    truths = tuple(columns.truths.get(name, "") for name in frame.columns)
    found: list[tuple[str, ...]] = [truths] if all(truths) and not columns.given.label else []
    rest = [name for name in columns.table.matrices if name not in frame.columns]
    found += [(name,) for name in rest if _are_flags(columns, name, frame)]
    pool = [name for name in label_columns(columns) if name not in frame.columns]
    pool += [name for name in columns.correct if len(columns.words(name) & {*frame.names}) > 1]
    fits = [name for name in pool if name in columns.labels or _fits(columns, name, frame)]
    shared = [name for name in fits if columns.are_mostly(name, frame.names)]
    fits = [name for name in fits if name in shared] or fits
    fits = [name for name in fits if columns.word[name] != normalised(frame.word)][:MOST_CLASSES]
    found += [(name,) for name in fits] if not found else []
    for label in found if {*columns.labels} & {*pool} or columns.given.label else [*found, ()]:
        kind = "multilabel" if columns.are_several(label) else "vectors"
        named = names if len(label) != 1 or matrix else classes_like(columns, label[0], frame.names)
        yield Roles(frame.columns, named, label, kind=kind, scale=scale)


def _are_flags(columns: Columns, name: str, frame: Frame) -> bool:
    given, matrix = columns.given.label, columns.table.matrices[name]
    named = is_called(name, *LABELS) if given is None else name == given
    return named or (matrix.shape[1] == len(frame.names) and is_flag(matrix))


def _fits(columns: Columns, name: str, frame: Frame) -> bool:
    words, n_classes = columns.words(name), max(len(frame.names), 2)
    if len(columns[name]) != len(columns.rows(frame.columns)) or len(words) < 2:
        return False
    if columns.are_mostly(name, frame.names) or classes_like(columns, name, frame.names) != frame.names:
        return True
    if columns.sum_to_one(frame.columns) and len(words) <= 2 * n_classes:
        return True
    text = columns[name].dtype == object
    return len(words) <= n_classes if text else all(0.0 <= as_float(word) <= n_classes for word in words)


def classes_like(columns: Columns, label: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the classes of a label in the order of names that begin or end like them: H of home, p_h."""
    words = columns.words(label) if label in columns.word else frozenset()
    if not 2 <= len(words) <= len(names) or words <= {*names}:
        return names
    parts = columns.word[label].split("_")
    ends = [normalised(name).rpartition("_")[2] for name in names]
    if words == {"0", "1"} and len({*ends} & {*parts}) == 1:  # home_win beside p_home, p_away
        return tuple("1" if end in parts else "0" for end in ends)
    before, lowered = commonprefix(names), {word: word.lower() for word in words}
    stems = [name.removeprefix(before) for name in names]
    for said in (names, ends, stems):  # p_h beside p_over; prob1 beside probtie
        found: list[str] = []
        others = len(names) - len(words)
        for name in said:
            lower = name.lower()
            pair = [word for word, of in lowered.items() if _begins(of, lower)] or [name]
            others -= pair[0] not in words
            if len(pair) != 1 or others < 0:
                break
            found += pair
        if len({*found}) == len(names) and words <= {*found}:
            return tuple(found)
    return names


def _begins(word: str, name: str) -> bool:
    if word.isdigit() and name.isdigit():
        return False
    return name.startswith(word) or (word.startswith(name) and not word[len(name) : len(name) + 1].isalnum())


def of_events(columns: Columns) -> Iterator[Roles]:
    """Propose P(Y = 1) and a label of two values, or of three of which one means neither."""
    pool = label_columns(columns)
    third = {name: other_values(columns, name) for name in pool}
    two = [n for n in pool if n in columns.labels or len(columns.words(n)) == 2 or third[n]][:MOST_CLASSES]
    for score in score_columns(columns):
        paired = columns.truths.get(score)
        labels = [paired] if paired and not columns.given.label else [name for name in two if name != score]
        base = Roles((score,), columns.listed, kind="binary", scale=scale_of_score(columns, score))
        for label in labels:
            dropped = third.get(label, ())
            words = sorted(columns.words(label) - {*dropped})
            for positive in positives(columns, score, label, words):
                rest = columns.given.positive in words and len(words) > 2
                names = (f"not {positive}", str(positive)) if rest else columns.listed
                yield replace(base, class_names=names, label=(label,), positive=positive, drop_label=dropped)
        if not labels or not (columns.labels or columns.given.label or paired):
            yield replace(base, positive=_event_in_name(columns, score, None, ()))


def other_values(columns: Columns, label: str) -> tuple[str, ...]:
    """Return the values beside two that mean yes and no, such as CANCEL and PENDING."""
    words = columns.words(label)
    others = {word for word in words if word.lower() not in POSITIVE | NEGATIVE} - {columns.given.positive}
    is_number = label in columns.numeric
    if len(words) > (3 if is_number else MOST_CLASSES) or (is_number and label not in columns.labels):
        return ()  # a count: goals
    return tuple(sorted(others)) if len(words - others) == 2 and positive_of(words) else ()


def scale_of_score(columns: Columns, score: str) -> str:
    """Return the scale of a score by its name; percent only if the values agree."""
    if columns.is_percent(score):
        return "percent"
    scale = scale_of(score)
    return "unknown" if scale == "probabilities" else scale


def positives(columns: Columns, score: str, label: str, words: Sequence[str]) -> list[str | None]:
    """Return the classes that a score may be the probability of; None if it is the usual one."""
    if columns.given.positive is not None:
        return [columns.given.positive]
    if (named := _event_in_name(columns, score, label, words)) is not None:
        return [named]
    usual, said = positive_of(words), predicted_of(columns, score)
    if len(columns.words(*said)) == 2 == len(columns.words(label)):
        for sides in filter(None, (columns.sides(name, score) for name in said)):
            if len(sides) == 2 and sides[-1] in words:
                return [sides[-1] if sides[-1] != usual else None]
    return [None] if usual or len(words) != 2 else [*words]


def _event_in_name(columns: Columns, score: str, label: str | None, words: Sequence[str]) -> str | None:
    """Return the class in the name of a score: yes in p(yes); fraud in fraud_score beside is_fraud."""
    if columns.called(score, *KNOWN, "score") or not columns.has_header:
        return None
    before, name, _ = columns.event_of(score) or ("", "", "")
    inside = classes_in_name(score, words) if len(words) == 2 else []
    for word in inside if len(inside) == 1 else ():
        if not word.isdigit() or re.fullmatch(rf"(?:class|label|y)?[_ =]*{re.escape(word)}", name):
            return word  # but m1_prob is the score of a model
    if label is None:
        named = normalised(before) == "p"
    else:
        parts = columns.word[label].split("_")
        named = {*words} <= {"0", "1"} and len(parts) > 1 and name.lower() in parts
    return name if named or "(" in before else None


def predicted_of(columns: Columns, score: str) -> list[str]:
    """Return the columns of predicted classes that belong to a score: lr_pred to lr_proba, or else all."""
    found: list[str] = []
    stem = normalised((columns.event_of(score) or ("", "", ""))[1])
    for name in columns.classes if stem and not columns.given.predicted else ():
        parts = columns.word[name].split("_")
        rest = "_".join(part for part in parts if part not in stem.split("_"))
        named = {*stem.split("_")} <= {*parts} and (
            is_called(rest, "predicted") or rest in ("label", "class")
        )
        found += [name] if named and name != columns.given.label else []
    return found or [name for name in columns.predicted if name != score]


def of_predicted(columns: Columns) -> Iterator[Roles]:
    """Propose the predicted class of each row, its confidence, and the true class or whether it is right."""
    pool = label_columns(columns) if columns.given.label or not columns.given.correct else []
    pool = [name for name in pool if name in columns.labels] or pool
    parts = () if columns.given.score else {n for n in columns.grouped if not columns.called(n, "confidence")}
    for score in [name for name in score_columns(columns) if name not in parts]:
        base = Roles((score,), kind="top-label", scale=scale_of_score(columns, score))
        named = predicted_of(columns, score)
        for label in [name for name in pool if name != score][:MOST_CLASSES]:
            answers = named or _answers(columns, score, label)
            for predicted in [name for name in answers if name != label][:MOST_CLASSES]:
                free = is_free_text(columns[predicted])
                graded = [name for name in columns.correct if name not in (predicted, label)]
                kind, correct = ("confidence", None) if free else ("top-label", next(iter(graded), None))
                yield replace(base, kind=kind, predicted=predicted, label=(label,), correct=correct)
        answers = [name for name in named if not is_free_text(columns[name])]
        unlabelled: list[str | None] = [] if columns.labels else [None]
        for predicted, correct in product(answers, columns.correct or unlabelled):
            yield replace(base, predicted=predicted, correct=correct)


def _answers(columns: Columns, score: str, label: str) -> list[str]:
    """Return columns that share the values of a label, or whose name suits a predicted class."""
    free = [n for n in columns.classes if n not in (label, score) and not is_another(columns, n)]
    words = columns.words(label)
    answered = [n for n in free if columns.called(n, "answered")]
    kind = columns[label].dtype == object
    found = [n for n in answered if is_free_text(columns[n]) and kind == (columns[n].dtype == object)]
    few = [n for n in free if kind or len(columns.words(n)) <= 2 * max(len(words), 1)]
    shared = [name for name in few if len(columns.words(name) & words) >= min(2, len(words) or 1)]
    return [*dict.fromkeys((*found, *[n for n in answered if n in shared], *shared))]


def of_outcomes(columns: Columns) -> Iterator[Roles]:
    """Propose a confidence, and whether the prediction is right, or wrong."""
    for score, correct in product(score_columns(columns), columns.correct):
        if correct != score:
            yield Roles((score,), kind="confidence", correct=correct, scale=scale_of_score(columns, score))


#: In the order in which readings win if they pass equally many tests.
GENERATORS: tuple[Callable[[Columns], Iterator[Roles]], ...] = (
    of_ranks,
    of_matrices,
    of_pairs,
    of_flags,
    of_named_columns,
    of_sums,
    of_plain_scores,
    of_predicted,
    of_outcomes,
    of_events,
)
