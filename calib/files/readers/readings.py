"""The best reading of a table: generators propose readings, checks judge them, the user decides in doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.data.kinds import KINDS
from calib.data.times import are_dates
from calib.files.readers.answers import missing_cells, outcomes_of, positive_of
from calib.files.readers.checks import CHECKS, REQUIRED, sentences_of
from calib.files.readers.columns import FIRST, PERCENT_WORDS, Columns, is_within
from calib.files.readers.conventions import JUDGES, KNOWN, LABEL_SUFFIX, PEOPLE, SCALES, WORDS, is_called
from calib.files.readers.generators import GENERATORS, MOST_CLASSES
from calib.files.readers.judged import MOSTLY_EMPTY, verdict_and_label
from calib.files.readers.long_format import MAJORITY, votes_in
from calib.files.readers.models import with_model, with_pairs
from calib.files.readers.roles import Choice, ChoiceError, Given, Roles, kept, models_in, rows_of
from calib.files.readers.tables import Table, any_numbers, some_names, words_in

#: Most readings that a question shows in full, and rows of the file that it shows as each reads them.
SHOWN, ROWS = 3, 3
#: Most rows on which the options of a question are tried.
MOST_ROWS = 5_000
#: Most distinct words of a confidence for which probabilities are proposed.
MOST_WORDS = 20
#: Cells that are numbers, also with a percent sign or thousands separators.
NUMBERLIKE = re.compile(
    r"[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([., ']\d{3})+([.,]\d+)?)([eE][+-]?\d+)?\s*%?", re.ASCII
)
#: Tests of which no reading is offered that fails them together: nothing shows that it holds probabilities.
UNSUPPORTED = (
    *({name} for name, check in CHECKS.items() if check[3]),
    {"told from others", "runs with the label"},
    {"score is a probability", "two values"},
    {"score has a name", "runs with the label"},
    {"score has a name", "goes with right"},
)
#: The open question if readings differ in an option.
ASKED = {
    "score": "which column is the score, or whether each is the score of a model",
    "label": "which column is the true label",
    "predicted": "which column is the predicted class, if any",
    "correct": "which column says whether predictions are right, if any",
    "positive": "which class the score is the probability of, if any",
    "drop_label": "whether rows of a third value may be left out",
}


@dataclass(frozen=True)
class TableReading:
    """Columns with roles, and the sentences of the tests that were passed and failed."""

    roles: Roles
    place: int  #: Place of its generator
    passed: Mapping[str, str]
    failed: Mapping[str, str]

    @property
    def is_possible(self) -> bool:
        return not REQUIRED & self.failed.keys()


@any_numbers
def guess_roles(table: Table, given: Given | None = None) -> Roles:
    """Return the roles of the best reading, with a `doubt` and `choices` if the user must decide."""
    given = (given or Given()).resolved(table)
    table = kept(table, given.only, given.words)
    unread = [name for name in table.ignored if is_called(name, *KNOWN, "score", *SCALES)]
    if unread:
        raise InputError(f"{some_names(unread)} hold neither numbers nor text; write numbers or text")
    columns = Columns(table, given)
    if given.votes:
        return _with_votes(table, given)
    if (tie := _ties(columns)) is not None:
        return tie
    if given.score:
        _refuse_stray_cells(columns, [])
    ranked = readings_of(columns)
    _refuse_stray_cells(columns, [reading.roles for reading in ranked if not reading.failed])
    if not ranked and not given.words and (words := _words_of_confidence(columns)):
        doubt = f"the confidence is in words, and each word needs a probability ({some_names(words)})"
        proposed = guess_roles(table, replace(given, words=words))
        return replace(proposed, doubt=doubt, choices=(Choice((f"words={','.join(words)}",)),))
    possible = [reading for reading in ranked if reading.is_possible]
    if not possible:
        raise InputError(_refusal(columns, ranked))
    best, roles = possible[0], possible[0].roles
    _refuse_fractions(columns, roles)
    rivals = _rivals(columns, possible)
    if best.failed and not _is_for_findings(columns, best) or len(rivals) > 1:
        roles = _in_doubt(columns, rivals, best)
    roles = replace(
        roles, **columns.side, scale=given.scores or roles.scale, words=given.words, only=given.only,
        drop_label=given.drop_label or roles.drop_label,
    )  # fmt: skip
    roles = with_pairs(columns, roles).among([*columns.word, *table.matrices, *table.ignored])
    roles = with_model(columns, roles)
    given.check_used(roles)
    return roles


def readings_of(columns: Columns) -> list[TableReading]:
    """Return all readings of a table that use the columns that the user names, the best first."""
    proposed: dict[Roles, int] = {}
    for place, generate in enumerate(GENERATORS):
        for roles in generate(columns):
            if columns.given.are_in(roles):
                proposed.setdefault(roles, place)
    found = [TableReading(roles, place, *sentences_of(columns, roles)) for roles, place in proposed.items()]
    return sorted(found, key=lambda each: _rank(columns, each))


def _rank(columns: Columns, reading: TableReading) -> tuple[int, ...]:
    roles, failed = reading.roles, reading.failed
    first, label = roles.probabilities[0], roles.label[0] if roles.label else roles.correct
    named = 1 if label in (*columns.labels, *columns.correct) else 2
    named = 0 if label in columns.word and columns.called(label, "true") else named
    score = first not in columns.word or columns.is_called_score(first)
    is_confidence = roles.kind == "confidence" and columns.called(first, "confidence")
    blank = first in columns.numeric and bool(np.isnan(columns[first]).mean() > MOSTLY_EMPTY)
    labelled = label is None, blank, reading.place, not roles.label
    return len(REQUIRED & failed.keys()), len(failed), *labelled, named, 2 - score - is_confidence


def _is_for_findings(columns: Columns, reading: TableReading) -> bool:
    """Whether the only doubt is about labels that an examination explains better."""
    if reading.roles.drop_label or [*reading.failed] != ["two values"]:
        return False
    is_confidence = columns.called(reading.roles.probabilities[0], "confidence")
    return is_confidence or not 2 < len(columns.words(*reading.roles.label)) <= MOST_CLASSES


def _core(roles: Roles) -> tuple[object, ...]:
    return roles.probabilities, roles.label, roles.predicted, roles.correct, roles.positive, roles.drop_label


def _rivals(columns: Columns, possible: Sequence[TableReading]) -> list[TableReading]:
    """Return the readings that are as good as the best; in doubt, the nearest."""
    best = possible[0]
    if best.failed:
        nearest = [each for each in possible if len(each.failed) <= len(best.failed) + 1]
        nearest = [each for each in nearest if each.roles.label or each.roles.correct] or nearest[:1]
    else:
        last = -1 if best.roles.kind == "vectors" else None  # a name does not choose between two models
        rank = _rank(columns, best)[:last]
        nearest = [each for each in possible if _rank(columns, each)[:last] == rank]
        nearest += [each for each in possible if _is_another_model(each, best)]
    distinct: list[TableReading] = []
    for each in [r for near in nearest for r in (*_turned(columns, near), near)]:
        if not any(_are_the_same(columns, each.roles, other.roles) for other in distinct):
            distinct.append(each)
    return distinct


def _is_another_model(reading: TableReading, best: TableReading) -> bool:
    roles, others = reading.roles, best.roles
    alike = roles.kind == others.kind == "vectors" and roles.label == others.label
    alike = alike and len(roles.probabilities) == len(others.probabilities) and not reading.failed
    apart = not {*roles.probabilities} & {*others.probabilities}
    return alike and apart and "label fits classes" in reading.passed


def _turned(columns: Columns, reading: TableReading) -> list[TableReading]:
    """Return the reading as the probability of the other class, if scores run against the labels."""
    roles = reading.roles
    if roles.kind != "binary" or "runs with the label" not in reading.failed or columns.given.positive:
        return []
    if "decisions follow" in reading.passed and roles.label[0] in columns.labels:
        return []  # the decisions say which class it is
    words = columns.words(*roles.label)
    other = replace(roles, positive=min(words - {roles.positive or positive_of(words)}))
    turned = TableReading(other, reading.place, *sentences_of(columns, other))
    return [turned] if len(turned.failed) < len(reading.failed) else []


def _are_the_same(columns: Columns, one: Roles, other: Roles) -> bool:
    """Whether two readings give equal numbers: the same scores, and a label that says the same."""
    if not {*one.probabilities} & {*other.probabilities}:
        return False
    if one.kind == other.kind == "vectors":
        one = replace(one, probabilities=other.probabilities)
    pair = len(one.label) == len(other.label) == 1 and one.positive == other.positive
    if {*one.label} == {*other.label} or (pair and columns.are_equivalent(*one.label, *other.label)):
        one = replace(one, label=other.label)
    return _core(one) == _core(other)


def _in_doubt(columns: Columns, readings: Sequence[TableReading], best: TableReading) -> Roles:
    if columns.table.n_rows > MOST_ROWS and columns.table.tabular:
        few = rows_of(columns.table, np.arange(columns.table.n_rows) < MOST_ROWS)
        columns = Columns(few, columns.given)
    options = [_options(columns, reading.roles) for reading in readings]
    found = {option: list(dict.fromkeys(each.get(option) for each in options)) for option in ASKED}
    open_ = {option: [*filter(None, values)] for option, values in found.items() if len(values) > 1}
    rows = _rows_as_read(columns, [reading.roles for reading in readings[:SHOWN]])
    choices: dict[tuple[str, ...], Choice] = {}
    for at, (reading, each) in enumerate(zip(readings, options, strict=True)):
        if any(tests <= reading.failed.keys() for tests in UNSUPPORTED):
            continue
        of_models = at >= SHOWN and [*open_] == ["score"] and not reading.failed
        score = (f"score={each['score']}",)
        decisive = score if of_models else _decisive(columns, reading.roles, each, [*open_])
        if decisive is not None and decisive not in choices:
            choice = Choice(decisive, KINDS[reading.roles.kind].title)
            if at < SHOWN:
                passed, failed = tuple(reading.passed.values()), tuple(reading.failed.values())
                choice = replace(choice, passed=passed, failed=failed, rows=rows[at])
            choices[decisive] = choice
    desk, sparse = _judgement(columns, best)
    scales = [] if choices else _scales(columns, best)
    if best.failed:
        doubt = next(iter(best.failed.values()))
        if not choices and {"rows sum to 1", "score has a name"} & best.failed.keys():
            doubt = f"nothing shows which columns hold probabilities: {doubt}"
        if columns.given.score and "score is a probability" in best.failed and not scales:
            raise InputError(f"{doubt}; name a column of probabilities")
        if not (choices or desk or scales) or not (
            best.roles.label or best.roles.correct or columns.given.named()
        ):
            raise ChoiceError(doubt, ())
    else:
        first = {"score": open_["score"]} if "score" in open_ else open_  # the others depend on it
        doubt = "; ".join(f"it is unclear {ASKED[o]}: {some_names(values)}" for o, values in first.items())
    shown = list(choices.values()) or scales
    shown = shown if models_in(shown) else shown[: SHOWN - len(desk)]
    return replace(best.roles, doubt=doubt, choices=(*desk, *shown) if sparse else (*shown, *desk))


def _scales(columns: Columns, reading: TableReading) -> list[Choice]:
    """Return the scales of negative scores that the user names, if nothing else is in doubt."""
    (score, *_), given = reading.roles.probabilities, columns.given.score
    if score not in given or [*reading.failed] != ["score is a probability"]:
        return []
    low, high = columns.ends(score)
    found = {"log_probabilities": high <= 0.0, "logits": low < 0.0}
    return [Choice((f"scores={scale}",)) for scale, possible in found.items() if possible]


def _judgement(columns: Columns, reading: TableReading) -> tuple[list[Choice], bool]:
    """Return the command for a judge's verdicts beside people's labels, and whether most labels are empty."""
    truth, score = columns.truth_of(reading.roles), reading.roles.probabilities[0]
    named = {name for name in columns.classes if JUDGES.search(name) or PEOPLE.search(name)}
    texts = {n: columns[n] for n in columns.classes if n in named or columns[n].dtype == object}
    doubted = {"one label", "predicted by its name"} & reading.failed.keys()
    if truth not in texts or score not in columns.word or not doubted:
        return [], False
    pair = verdict_and_label(texts)
    if pair is None or truth not in pair:
        return [], False
    options = (f"verdict={pair[0]}", f"human={pair[1]}", f"confidence={score}")
    choice = Choice(options, "a judge's verdicts, and labels that people gave", command="judge")
    return [choice], bool(missing_cells(texts[pair[1]]).mean() > MOSTLY_EMPTY)


def _options(columns: Columns, roles: Roles) -> dict[str, str]:
    scores = roles.probabilities
    head, tail = (commonprefix([name[::step] for name in scores]) for step in (1, -1))
    head, tail = (re.sub(r"[^\W_]*$", "", around) for around in (head, tail))  # up to a separator
    alone = len(scores) > 1 and "*" not in head + tail and columns.around(head, tail[::-1]) == scores
    found = {
        "score": f"{head}*{tail[::-1]}" if alone else ",".join(scores),
        "label": roles.label[0] if len(roles.label) == 1 else "",
        "predicted": "" if roles.ranked else roles.predicted,
        "correct": "" if roles.label else roles.correct,
    }
    words = columns.words(*roles.label) - {*roles.drop_label} if roles.kind == "binary" else frozenset()
    if 0 < len(words) <= MOST_CLASSES:
        found["positive"] = _positive(columns, roles)
    found["drop_label"] = ",".join(roles.drop_label)
    if len(scores) == 1 and roles.scale == "unknown" and scores[0] in columns.word:
        points = is_within(columns[scores[0]], 10.0) or not is_within(columns[scores[0]], 100.0)
        named = {*columns.word[scores[0]].split("_")} & PERCENT_WORDS or columns.called(scores[0], "score")
        found["scores"] = "percent" if named and not points else ""
    return {option: value for option, value in found.items() if value}


def _positive(columns: Columns, roles: Roles) -> str:
    """Return the class of a score: of several, the class that the score goes with best."""
    words = sorted(columns.words(*roles.label) - {*roles.drop_label})
    if (named := roles.positive or positive_of(words)) or not 2 < len(words) <= MOST_CLASSES:
        return named or max(words, default="1")
    return max(words, key=lambda word: columns.separation(roles.probabilities[0], roles.label[0], word)[1])


def _decisive(
    columns: Columns, roles: Roles, options: dict[str, str], open_: Sequence[str]
) -> tuple[str, ...] | None:
    """Return the fewest options with which a table is read in this way; None if options cannot decide."""
    open_ = [option for option in open_ if option in options]
    plain = [name for name in options if name != "positive"]
    for names in filter(None, (*([option] for option in open_), open_, plain, [*options])):
        wanted: dict[str, Any] = {name: options[name] for name in names}
        wanted |= {name: (wanted[name],) for name in ("score", "drop_label") if name in wanted}
        given = replace(columns.given, **wanted).resolved(columns.table)
        again = [r for r in readings_of(Columns(columns.table, given, columns)) if r.is_possible]
        same = again and _core(again[0].roles)[:4] == _core(roles)[:4]
        if same and not again[0].failed and len(_rivals(columns, again)) == 1:
            return tuple(f"{name}={options[name]}" for name in names)
    return None


# --- rows as readings understand them ---


def _rows_as_read(columns: Columns, readings: Sequence[Roles]) -> list[tuple[str, ...]]:
    """Return complete rows as each reading understands them, first those in which the readings differ."""
    every = [_texts(columns, roles) for roles in readings]
    complete = [row for row, texts in enumerate(zip(*every, strict=False)) if all(texts)]
    rows = sorted(complete, key=lambda row: len({each[row] for each in every}) < len(every))[:ROWS]
    return [tuple(f"{row}: {each[row]}" for row in sorted(rows)) for each in every]


def _texts(columns: Columns, roles: Roles) -> list[str]:
    """Return what a reading says of each of the first rows; "" of an incomplete row."""
    score = columns.rows(roles.probabilities, FIRST).astype(np.float64)
    score /= 100.0 if roles.scale == "percent" else 1.0
    true = _cells(columns, roles.label[0]) if len(roles.label) == 1 else None
    if true is None and roles.correct is not None:
        outcomes = outcomes_of(columns[roles.correct][:FIRST], roles.correct)
        true = ["right" if value == 1.0 else "wrong" if value == 0.0 else "" for value in outcomes]
    names, said, high = roles.class_names or (), ["confidence"] * len(score), score[:, 0]
    if true is not None and not {*true} & {*names} and all(map(str.isdecimal, filter(None, true))):
        names = tuple(map(str, range(score.shape[1])))  # labels count columns
    if roles.kind == "binary":
        said = [f"P({_positive(columns, roles)})"] * len(score)
    elif "vector" in roles.has and len(names) == score.shape[1]:
        said, high = [f"said {names[top]}" for top in score.argmax(axis=1)], score.max(axis=1)
    elif roles.predicted:
        said = [f"said {word}" if word else "confidence" for word in _cells(columns, roles.predicted)]
    finite = np.asarray(np.isfinite(score).all(axis=1))
    texts = [f"{word} {value:.3g}" for word, value in zip(said, high, strict=False)]
    for row, (word, cell) in enumerate(zip(said, true or (), strict=False)):
        graded = word.startswith("said ") and cell not in ("right", "wrong")
        right = (": right" if word == f"said {cell}" else ": wrong") if graded else ""
        texts[row] = f"{texts[row]}, {'true ' * bool(roles.label)}{cell}{right}" if cell else ""
    return [text if complete else "" for text, complete in zip(texts, finite, strict=True)]


def _cells(columns: Columns, name: str) -> list[str]:
    """Return the first cells of a column as texts; "?" for labels in a matrix."""
    if name not in columns.word:
        return ["?"] * FIRST
    codes, words = words_in(columns[name][:FIRST])
    return [words[code][:20] for code in codes]


# --- what is refused, and what is asked before anything is read ---


def _refuse_stray_cells(columns: Columns, read: Sequence[Roles]) -> None:
    """Refuse a column of numbers with a cell of text, unless other columns, called scores, can be `read`."""
    given = columns.given
    known = {*columns.side.values(), *columns.labels, *columns.predicted, *columns.correct}
    firsts = [roles.probabilities for roles in read if roles.probabilities[0] in columns.word]
    is_confidence = any(columns.sum_to_one(names) or columns.is_called_score(names[0]) for names in firsts)
    labelled = bool(columns.labels) or any(roles.label for roles in read)
    for name in given.score or [name for name in columns.word if name not in known]:
        if name not in columns.word or columns[name].dtype != object or are_dates(columns[name]):
            continue
        named, (codes, words) = name in given.score or columns.is_called_score(name), columns.coded(name)
        row, of_numbers = _stray_cell(columns, name, labelled)
        of_numbers = of_numbers and (named or not is_confidence)
        if of_numbers or name in given.score or (not read and named and re.search(r"\d", words[codes[0]])):
            raise InputError(
                f"column {name[:60]!r} needs numbers, but holds {words[codes[row]][:60]!r} in row "
                f"{row}; write a number such as 0.5, leave the cell empty if the score is missing, or "
                "remove the row"
            )


def _stray_cell(columns: Columns, name: str, labelled: bool) -> tuple[int, bool]:
    """Return the row of the first cell that is no number, and whether the column is one of numbers."""
    codes, words = columns.coded(name)
    numbers = [len(word) <= 60 and NUMBERLIKE.fullmatch(word) is not None for word in words]
    like, others = np.array(numbers)[codes], np.array([*map(bool, words)])[codes]
    others &= ~like
    whole = all(word.lstrip("+-").isdigit() for word, number in zip(words, numbers, strict=True) if number)
    of_numbers = like.sum() > others.sum() and (not whole or bool(others.any() and labelled))
    return int((others if others.any() else like).argmax()), of_numbers


def _refuse_fractions(columns: Columns, roles: Roles) -> None:
    """Refuse a column with the name of a true class that holds fractions, if there is no other."""
    points = not is_within(columns.rows(roles.probabilities), 100.0)  # a regression
    labelled = bool(columns.given.label) or (roles.kind != "binary" and bool(roles.label or roles.correct))
    for name in columns.fractions - {*roles.probabilities} if points or not labelled else ():
        means = points or is_within(columns[name]) or not roles.label
        if columns.called(name, "true") and means:
            row = int((columns[name] % 1 > 0).argmax())
            held = f"column {name[:60]!r} has the name of a true class, but holds {columns[name][row]:.6g}"
            raise InputError(
                f"{held} in row {row}; write a class there, or name the column of the true class"
            )


def _refusal(columns: Columns, ranked: Sequence[TableReading]) -> str:
    if ranked:
        return next(sentence for check, sentence in ranked[0].failed.items() if check in REQUIRED)
    if named := columns.given.named():
        return (
            f"no reading of this file uses {named}; name the columns of scores, labels and predicted classes"
        )
    if columns.correct:
        return (
            "the file says whether predictions are right, but holds no confidence; add a column "
            "'confidence', or the log-likelihood of every choice"
        )
    if columns.predicted:
        others = [*columns.table.matrices] or [n for n in columns.scores if n not in columns.predicted]
        others_words = f"; if {some_names(others)} are scores, name them" * bool(others)
        return (
            f"column {columns.predicted[0][:60]!r} holds decisions, and calibration needs their "
            f"probabilities: add their confidence, or the probability of every class{others_words}"
        )
    return (
        "no column of probabilities was found: one numeric column per class is needed, for example "
        f"cat,dog,label; the columns are {some_names((*columns.word, *columns.table.matrices))}"
    )


def _words_of_confidence(columns: Columns) -> tuple[str, ...]:
    for name in columns.word:
        text = columns.called(name, "confidence") and columns[name].dtype == object
        words = sorted(columns.words(name)) if text else []
        if 0 < len(words) <= MOST_WORDS:
            return tuple(f"{word}={WORDS.get(word.lower(), 0.5)}" for word in words)
    return ()


def _ties(columns: Columns) -> Roles | None:
    """Ask about an outcome of 0, 0.5 and 1: a tie is half an event, or no row."""
    given = columns.given
    for name in () if given.drop_label else (n for n in columns.numeric if n in columns.fractions):
        match = LABEL_SUFFIX.fullmatch(name)
        named = given.label is None and (match or columns.called(name, "true", "label"))
        values = columns[name][~np.isnan(columns[name])]
        if not (named or name == given.label) or {*np.unique(values)} != {0.0, 0.5, 1.0}:
            continue
        score = given.score or tuple(n for n in columns.unit if match and n == match[1])
        score = score or tuple(n for n in columns.unit if n != name and columns.is_called_score(n))
        if len(score) == 1:
            roles = guess_roles(columns.table, replace(given, score=score, label=None, votes=(name,)))
            option = f"score={score[0]}"
            half = Choice((option, f"votes={name}"), "0.5 is half an event, such as a tie")
            without = Choice((option, f"label={name}", "drop_label=0.5"), "rows with 0.5 are left out")
            return replace(roles, doubt=f"{name!r} holds 0.5 beside 0 and 1", choices=(half, without))
    return None


def _with_votes(table: Table, given: Given) -> Roles:
    votes = given.votes
    columns = {name: values for name, values in table.columns.items() if name not in votes}
    matrices = {name: values for name, values in table.matrices.items() if name not in votes}
    labelled = replace(table, columns={**columns, MAJORITY: votes_in(table, votes).labels}, matrices=matrices)
    roles = guess_roles(labelled, replace(given, votes=(), label=MAJORITY))
    named = {f"label={MAJORITY}": f"votes={','.join(votes)}"}
    choices = (replace(c, options=tuple(named.get(o, o) for o in c.options)) for c in roles.choices)
    return replace(roles, label=(), votes=votes, choices=tuple(choices))
