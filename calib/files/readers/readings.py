"""The best reading of a table: generators propose readings, checks judge them, the user decides in doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix

import numpy as np

from calib.base.exceptions import InputError
from calib.data.kinds import KINDS
from calib.files.readers.answers import positive_of
from calib.files.readers.checks import Verdict, verdicts_of
from calib.files.readers.columns import Columns, is_within
from calib.files.readers.conventions import KNOWN, LABEL_SUFFIX, SCALES, WORDS, is_called
from calib.files.readers.generators import GENERATORS, MOST_CLASSES
from calib.files.readers.models import with_model, with_pairs
from calib.files.readers.previews import row_texts
from calib.files.readers.roles import Choice, ChoiceError, Given, Roles, numbered, rows_of
from calib.files.readers.stray_cells import refuse_stray_cells
from calib.files.readers.tables import Table, some_names
from calib.files.readers.votes import MAJORITY, votes_in

#: Most readings that a question shows in full.
SHOWN = 3
#: Most rows on which the options of a question are tried.
MOST_ROWS = 5_000
#: Most distinct words of a confidence for which probabilities are proposed.
MOST_WORDS = 20
#: Largest share of rows with a label in a column that only some rows were given.
MOSTLY_EMPTY = 0.5
#: Tests without which no reading is offered: nothing shows that the numbers are probabilities.
UNSUPPORTED = (
    {"rows sum to 1"},
    {"label fits classes"},
    {"the named label"},
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
    """Columns with roles, and the tests of them that were passed and failed."""

    roles: Roles
    verdicts: tuple[Verdict, ...]
    place: int  #: Place of its generator

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if not verdict.passed)

    @property
    def is_possible(self) -> bool:
        return not any(verdict.required for verdict in self.failed)


def guess_roles(table: Table, given: Given | None = None) -> Roles:
    """Return the roles of the best reading, with a `doubt` and `choices` if the user must decide."""
    given = (given or Given()).resolved(table)
    table = numbered(given.kept(table), given.words)
    unread = [name for name in table.ignored if is_called(name, *KNOWN, "score", *SCALES)]
    if unread:
        raise InputError(f"{some_names(unread)} hold neither numbers nor text; write numbers or text")
    columns = Columns(table, given)
    if given.votes:
        return _with_votes(table, given, given.votes)
    if (tie := _ties(columns)) is not None:
        return tie
    if given.score:
        refuse_stray_cells(columns, [])
    ranked = readings_of(columns)
    refuse_stray_cells(columns, [reading.roles for reading in ranked if not reading.failed])
    if not ranked and not given.words and (words := _words_of_confidence(columns)):
        doubt = f"the confidence is in words, and each word needs a probability ({some_names(words)})"
        proposed = guess_roles(table, replace(given, words=words))
        return replace(proposed, doubt=doubt, choices=(Choice((f"words={','.join(words)}",)),))
    possible = [reading for reading in ranked if reading.is_possible]
    if not possible:
        raise InputError(_refusal(columns, ranked))
    best = possible[0]
    _refuse_fractions(columns, best.roles)
    rivals = _rivals(columns, possible)
    roles = best.roles
    if best.failed and not _is_for_findings(columns, best) or len(rivals) > 1:
        roles = _in_doubt(columns, rivals, best)
    side = {role: name for role, name in columns.side.items()}
    roles = replace(roles, scale=given.scores or roles.scale)
    dropped = given.drop_label or roles.drop_label
    roles = replace(roles, words=given.words, only=given.only, drop_label=dropped, **side)
    roles = with_pairs(columns, roles)
    roles = roles.among([*columns.word, *table.matrices, *table.ignored])
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
    found = [TableReading(roles, verdicts_of(columns, roles), place) for roles, place in proposed.items()]
    return sorted(found, key=lambda each: _rank(columns, each))


def _rank(columns: Columns, reading: TableReading) -> tuple[int, ...]:
    """Sort readings: fewest failed tests first, then with a label, then by kind, then by names."""
    roles = reading.roles
    first, label = roles.probabilities[0], roles.label[0] if roles.label else roles.correct
    required = sum(verdict.required for verdict in reading.failed)
    named = 1 if label in (*columns.labels, *columns.correct) else 2
    named = 0 if label in columns.word and columns.called(label, "true") else named
    score = first not in columns.word or columns.is_called_score(first)
    sure = roles.kind == "confidence" and columns.called(first, "confidence")
    return (
        required,
        len(reading.failed),
        label is None,
        reading.place,
        not roles.label,
        named,
        2 - score - sure,
    )


def _is_for_findings(columns: Columns, reading: TableReading) -> bool:
    """Whether the only doubt is about labels that an examination explains better."""
    roles = reading.roles
    if roles.drop_label or [verdict.check for verdict in reading.failed] != ["two values"]:
        return False
    sure = columns.called(roles.probabilities[0], "confidence")
    return sure or not 2 < len(columns.words(*roles.label)) <= MOST_CLASSES


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
    distinct: list[TableReading] = []
    with_score: dict[str, list[TableReading]] = {}  # of other scores, no two are the same
    for each in [r for near in nearest for r in (*_turned(columns, near), near)]:
        lists = [with_score.setdefault(name, []) for name in each.roles.probabilities or ("",)]
        if not any(_are_the_same(columns, each.roles, other.roles) for same in lists for other in same):
            distinct.append(each)
            for same in lists:
                same.append(each)
    return distinct


def _turned(columns: Columns, reading: TableReading) -> list[TableReading]:
    """Return the reading as the probability of the other class, if scores run against the labels."""
    roles, failed = reading.roles, {verdict.check for verdict in reading.failed}
    if roles.kind != "binary" or "runs with the label" not in failed or columns.given.positive:
        return []
    words = columns.words(*roles.label)
    others = sorted(words - {roles.positive or positive_of(words)})
    other = replace(roles, positive=others[0])
    turned = TableReading(other, verdicts_of(columns, other), reading.place)
    return [turned] if len(turned.failed) < len(reading.failed) else []


def _are_the_same(columns: Columns, one: Roles, other: Roles) -> bool:
    """Whether two readings give equal numbers: equal columns, or a label that says the same."""
    if {*one.probabilities} & {*other.probabilities} and one.kind == other.kind == "vectors":
        one = replace(one, probabilities=other.probabilities)
    labels = [*one.label, *other.label] if one.positive == other.positive else []
    if {*one.label} == {*other.label}:
        one = replace(one, label=other.label)
    if len({*labels}) == len(labels) == 2 and columns.say_the_same(*labels):
        one = replace(one, label=other.label)
    return _core(one) == _core(other)


def _in_doubt(columns: Columns, readings: Sequence[TableReading], best: TableReading) -> Roles:
    """Return the roles of the best reading with the question which reading is right."""
    if columns.table.n_rows > MOST_ROWS and columns.table.tabular:
        few = rows_of(columns.table, np.arange(columns.table.n_rows) < MOST_ROWS)
        columns = Columns(few, columns.given)
    options = [_options(columns, reading.roles) for reading in readings]
    found = {option: list(dict.fromkeys(each.get(option) for each in options)) for option in ASKED}
    open_ = {option: [*filter(None, values)] for option, values in found.items() if len(values) > 1}
    texts = row_texts(columns, [reading.roles for reading in readings[:SHOWN]])
    desk, sparse = _judgement(columns, best)
    choices: dict[tuple[str, ...], Choice] = {}
    for at, (reading, each) in enumerate(zip(readings, options, strict=True)):
        failed = {verdict.check for verdict in reading.failed}
        supported = not any(tests <= failed for tests in UNSUPPORTED)
        if at >= SHOWN and [*open_] == ["score"]:
            decisive: tuple[str, ...] | None = (f"score={each['score']}",)
        else:
            decisive = _decisive(columns, reading.roles, each, [*open_]) if supported else None
        if decisive is not None:
            told = reading.verdicts if at < SHOWN else ()
            choices.setdefault(decisive, Choice(
                decisive,
                KINDS[reading.roles.kind].title,
                tuple(verdict.sentence for verdict in told if verdict.passed),
                tuple(verdict.sentence for verdict in told if not verdict.passed),
                texts[at] if at < SHOWN else (),
            ))  # fmt: skip
    if best.failed:
        doubt = best.failed[0].sentence
        if not (choices or desk) or not (best.roles.label or best.roles.correct or columns.given.named()):
            raise ChoiceError(doubt, ())
    else:
        first = {"score": open_["score"]} if "score" in open_ else open_  # the others depend on it
        doubt = "; ".join(f"it is unclear {ASKED[o]}: {some_names(values)}" for o, values in first.items())
    shown = list(choices.values())
    shown = shown if _differ_in_scores(shown) else shown[: SHOWN - len(desk)]
    shown = [*desk, *shown] if sparse else [*shown, *desk]
    return replace(best.roles, doubt=doubt, choices=tuple(shown))


def _judgement(columns: Columns, reading: TableReading) -> tuple[list[Choice], bool]:
    """Return the command for a judge's verdicts beside people's labels, and whether most labels are empty."""
    truth, score = columns.truth_of(reading.roles), reading.roles.probabilities[0]
    texts = [name for name in columns.classes if columns[name].dtype == object and name != truth]
    if truth is None or columns[truth].dtype != object or score not in columns.word:
        return [], False
    for other in texts if "one label" in {verdict.check for verdict in reading.failed} else ():
        if columns.alike(truth, other, True):
            share = {name: float((columns[name] != "").mean()) for name in (truth, other)}
            judged = [name for name in share if {"judge", "verdict"} & {*columns.word[name].split("_")}]
            verdict = max(share, key=lambda name: (round(share[name], 1), name in judged))
            human = other if verdict == truth else truth
            sparse = share[human] < MOSTLY_EMPTY
            options = (f"verdict={verdict}", f"human={human}", f"confidence={score}")
            title = "a judge's verdicts, and labels that people gave"
            return [Choice(options, title, command="judge")] if judged or sparse else [], sparse
    return [], False


def _differ_in_scores(choices: Sequence[Choice]) -> bool:
    return all(len(choice.options) == 1 and choice.options[0].startswith("score=") for choice in choices)


def _options(columns: Columns, roles: Roles) -> dict[str, str]:
    """Return the options that name the columns of a reading."""
    scores, positive = roles.probabilities, roles.positive
    head, tail = (commonprefix([name[::step] for name in scores]) for step in (1, -1))
    head, tail = (re.sub(r"[^\W_]*$", "", around) for around in (head, tail))  # up to a separator
    plain = len(scores) > 1 and "*" not in head + tail
    alone = plain and columns.around(head, tail[::-1]) == scores
    found = {"score": f"{head}*{tail[::-1]}" if alone else ",".join(scores), "label": ",".join(roles.label)}
    found |= {"predicted": "" if roles.ranked else roles.predicted or ""}
    found |= {"correct": "" if roles.label else roles.correct or ""}
    words = columns.words(*roles.label) - {*roles.drop_label} if roles.kind == "binary" else frozenset()
    if 0 < len(words) <= MOST_CLASSES:
        found["positive"] = positive or positive_of(words) or max(words, default="")
    found["drop_label"] = ",".join(roles.drop_label)
    score = scores[0] if len(scores) == 1 and scores[0] in columns.word else ""
    if score and columns.is_called_score(score) and roles.scale == "unknown":
        points = is_within(columns[score], 10.0) or not is_within(columns[score], 100.0)
        found["scores"] = "" if points else "percent"
    return {option: value for option, value in found.items() if value}


def _decisive(
    columns: Columns, roles: Roles, options: dict[str, str], open_: Sequence[str]
) -> tuple[str, ...] | None:
    """Return the fewest options with which a table is read in this way; None if options cannot decide."""
    if len(roles.label) > 1:
        options = {name: value for name, value in options.items() if name != "label"}
    short = [[option] for option in open_ if option in options] + [[o for o in open_ if o in options]]
    plain = [name for name in options if name != "positive"]
    for names in (*short, plain, [*options]):
        if names:
            given = _also_given(columns, {name: options[name] for name in names})
            again = readings_of(Columns(columns.table, given, columns))
            again = [each for each in again if each.is_possible]
            same = again and _core(again[0].roles)[:4] == _core(roles)[:4]
            if same and not again[0].failed and len(_rivals(columns, again)) == 1:
                return tuple(f"{name}={options[name]}" for name in names)
    return None


def _also_given(columns: Columns, options: Mapping[str, str]) -> Given:
    """Return what the user says, with further options."""
    several = {name: (value,) for name, value in options.items() if name in ("score", "drop_label")}
    given: Given = replace(columns.given, **{**options, **several})  # type: ignore[arg-type]
    return given.resolved(columns.table)


def _refuse_fractions(columns: Columns, roles: Roles) -> None:
    """Refuse a column with the name of a true class that holds fractions, if there is no other."""
    for name in columns.fractions - {*roles.probabilities} if not roles.label and not roles.correct else ():
        if columns.called(name, "true"):
            with np.errstate(invalid="ignore"):  # infinite numbers
                row = int((columns[name] % 1 > 0).argmax())
            held = f"column {name[:60]!r} has the name of a true class, but holds {columns[name][row]:.6g}"
            raise InputError(
                f"{held} in row {row}; write a class there, or name the column of the true class"
            )


def _refusal(columns: Columns, ranked: Sequence[TableReading]) -> str:
    """Say why no reading of a table is possible."""
    if ranked:
        return next(verdict.sentence for verdict in ranked[0].failed if verdict.required)
    named = columns.given.named()
    if named:
        return (
            f"no reading of this file uses {named}; name the columns of scores, labels and predicted classes"
        )
    if columns.correct:
        return (
            "the file says whether predictions are right, but holds no confidence; add a column "
            "'confidence', or the log-likelihood of every choice"
        )
    if columns.predicted:
        others = [name for name in columns.scores if name not in columns.predicted]
        beside = f"; if {some_names(others)} are scores, name them" * bool(others)
        return (
            f"column {columns.predicted[0][:60]!r} holds decisions, and calibration needs their "
            f"probabilities: add their confidence, or the probability of every class{beside}"
        )
    return (
        "no column of probabilities was found: one numeric column per class is needed, for example "
        f"cat,dog,label; the columns are {some_names(columns.word)}"
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
        values = columns[name][~np.isnan(columns[name])]
        match = LABEL_SUFFIX.fullmatch(name)
        asked = name == given.label or (
            given.label is None and (match or columns.called(name, "true", "label"))
        )
        if not (asked and set(np.unique(values)) == {0.0, 0.5, 1.0}):
            continue
        score = given.score or tuple(n for n in columns.unit if match and n == match[1])
        score = score or tuple(n for n in columns.unit if n != name and columns.is_called_score(n))
        if len(score) != 1:
            continue
        roles = guess_roles(columns.table, replace(given, score=score, label=None, votes=(name,)))
        half = Choice((f"score={score[0]}", f"votes={name}"), "0.5 is half an event, such as a tie")
        options = f"score={score[0]}", f"label={name}", "drop_label=0.5"
        without = Choice(options, "rows with 0.5 are left out")
        doubt = f"{name!r} holds 0.5 beside 0 and 1"
        return replace(roles, doubt=doubt, choices=(half, without))
    return None


def _with_votes(table: Table, given: Given, votes: tuple[str, ...]) -> Roles:
    """Return the roles of a table with votes, found with the majority's label in place of the votes."""
    columns = {name: values for name, values in table.columns.items() if name not in votes}
    matrices = {name: values for name, values in table.matrices.items() if name not in votes}
    labelled = replace(table, columns={**columns, MAJORITY: votes_in(table, votes).labels}, matrices=matrices)
    roles = guess_roles(labelled, replace(given, votes=(), label=MAJORITY))

    def said(*texts: str) -> tuple[str, ...]:
        named = (text.replace(f"label={MAJORITY}", f"votes={','.join(votes)}") for text in texts)
        return tuple(text.replace(f"{MAJORITY!r}", some_names(votes)) for text in named)

    choices = tuple(
        Choice(
            said(*each.options), each.title, said(*each.passed), said(*each.failed), each.rows, each.command
        )
        for each in roles.choices
    )
    doubt = None if roles.doubt is None else said(roles.doubt)[0]
    return replace(roles, label=(), votes=votes, doubt=doubt, choices=choices)
