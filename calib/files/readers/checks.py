"""Named tests of a reading: what speaks for and against columns having the roles that it gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calib.files.readers.answers import nearly_same, outcomes_of, positive_of, same_classes
from calib.files.readers.columns import (
    BEYOND,
    EXPECTED,
    FEW_ROWS,
    FIRST,
    MANY_EXPECTED,
    Columns,
    are_odds,
    is_flag,
    is_within,
)
from calib.files.readers.conventions import LABELS, SCALES, is_called
from calib.files.readers.generators import is_another, is_free_text, label_columns, predicted_of, third_value
from calib.files.readers.roles import Roles
from calib.files.readers.tables import as_keys, some_names

#: Whether a test is passed, and the sentence about it; None if it does not apply.
Outcome = tuple[bool, str] | None
#: Most other columns that are compared with a label.
MOST_OTHERS = 100


@dataclass(frozen=True)
class NamedTest:
    """A test of readings."""

    name: str
    test: Callable[[Columns, Roles], Outcome]
    unless: tuple[str, ...] = ()  #: Options that decide what is tested
    required: bool = False  #: Whether a reading that fails is impossible, and not only in doubt


@dataclass(frozen=True)
class Verdict:
    """The result of a test of a reading."""

    check: str
    passed: bool
    sentence: str
    required: bool = False


def verdicts_of(columns: Columns, roles: Roles) -> tuple[Verdict, ...]:
    """Try all tests that apply to a reading and that no option decides."""
    found = []
    for check in CHECKS:
        decided = any(getattr(columns.given, option) for option in check.unless)
        outcome = None if decided else check.test(columns, roles)
        if outcome is not None:
            found.append(Verdict(check.name, *outcome, check.required))
    return tuple(found)


def _score(columns: Columns, roles: Roles) -> str | None:
    """Return the column of a reading with one score for each row."""
    return None if roles.has & {"vector", "every label", "ranks"} else roles.probabilities[0]


def has_label(columns: Columns, roles: Roles) -> Outcome:
    if roles.label or roles.correct or columns.given.votes:
        return None
    pool = [name for name in (*label_columns(columns), *columns.correct) if name not in roles.probabilities]
    two = [n for n in pool if n in columns.word and (n in columns.labels or len(columns.words(n)) == 2)]
    if not (two or columns.correct) or ("vector" in roles.has and not columns.labels and not columns.correct):
        return None
    return False, f"no column is read as the true class, although there is {some_names(two or pool)}"


def sums_to_one(columns: Columns, roles: Roles) -> Outcome:
    names = roles.probabilities
    if roles.kind != "vectors":
        return None
    listed = some_names(names)
    if columns.sum_to_one(names):
        return True, f"the rows of {listed} sum to 1"
    if names[0] in columns.table.matrices:
        named = bool(roles.label) or is_called(names[0], *SCALES) or not columns.table.tabular
        return None if named else (False, f"the rows of {listed} do not sum to 1")
    if roles.scale in ("logits", "log_probabilities"):
        return True, f"{listed} are called {roles.scale.replace('_', '-')}"
    if are_odds(columns.rows(names, FIRST)):
        return True, f"the inverses of {listed} sum to between 1 and 1.15, as for decimal odds"
    label = columns.label_of(roles)
    words = columns.words(label) if label else frozenset()
    if len(words) == 2 and is_within(columns.rows(names, FIRST)):
        return False, f"the rows of {listed} do not sum to 1, and {label!r} holds two values"
    frames = [frame for frame in columns.frames(columns.scores) if frame.columns == names]
    named = len(words & {*(roles.class_names or ())}) > 1 and 2 * len(words) >= len(names)
    if named or (frames and frames[0].is_run and len(words) <= len(names) + 1):
        return True, f"{listed} are named or numbered like the classes"
    if label and not frames and columns.goes_with(names, label):
        return True, f"the highest of {listed} goes with {label!r}"
    return False, f"the rows of {listed} do not sum to 1, and their names are no classes"


def are_no_decisions(columns: Columns, roles: Roles) -> Outcome:
    names = [name for name in roles.probabilities if name in columns.word]
    if not names or not all(is_flag(columns[name]) for name in names):
        return None
    if "vector" in roles.has and roles.label and not any(map(columns.is_predicted, names)):
        return None
    return False, (
        f"{some_names(names)} hold only 0 and 1: decisions, but calibration needs their probabilities"
    )


def are_in_no_order(columns: Columns, roles: Roles) -> Outcome:
    label, names = columns.label_of(roles), roles.probabilities
    classes = {*(columns.listed or roles.class_names or ())}
    if roles.kind != "vectors" or (label and columns.words(label) & classes):
        return None
    rows = columns.rows(names, 1000)
    if len(rows) < 10 or rows.shape[1] < 3 or not (rows[:, 1:] <= rows[:, :-1]).all():
        return None
    return False, f"every row of {some_names(names)} is in descending order: ranked classes without names"


def label_fits_classes(columns: Columns, roles: Roles) -> Outcome:
    label, names, size = columns.label_of(roles), roles.class_names or (), len(roles.probabilities)
    if roles.kind != "vectors" or label is None:
        return None
    words = columns.words(label)
    if columns.are_mostly(label, names) or (words and words <= {*names}):
        return True, f"{label!r} holds the classes in the names of the scores"
    few, named = len(columns[label]) < FEW_ROWS, columns.called(label, *LABELS)
    if (few and named) or not words or max(len(words), *map(int, filter(str.isdecimal, words)), 0) > 2 * size:
        return None
    fits = few or (2 * len(words) >= size and columns.agreement(roles.probabilities, label) > BEYOND)
    what = "goes with" if fits else "does not go with"
    fits = fits or (named and bool(names) and names[0].isdigit())
    return fits, f"the highest of {some_names(roles.probabilities)} {what} {label!r}"


def is_not_the_decision(columns: Columns, roles: Roles) -> Outcome:
    label = columns.truth_of(roles)
    if label is None or columns.called(label, "true"):
        return None
    if roles.kind == "top-label" and roles.label and roles.predicted:
        same = (as_keys(columns[label]) == as_keys(columns[roles.predicted])).all()
        values = np.asarray(columns[roles.probabilities[0]], dtype=np.float64)[:FIRST]
        if same and np.nansum((1.0 - values).clip(0.0)) > MANY_EXPECTED:
            return False, f"{label!r} is always {roles.predicted!r}: it may be the model's decision"
        return None
    if roles.kind != "vectors":
        score = columns.threshold_of(label, MANY_EXPECTED if columns.called(label, "label") else EXPECTED)
        return None if score is None else (
            False, f"{label!r} is {score!r} at or above a threshold: a decision, and not the true class"
        )  # fmt: skip
    matrix = roles.probabilities[0] in columns.table.matrices
    if matrix or not is_within(columns.rows(roles.probabilities, FIRST)):
        return None
    high = columns.decided(roles.probabilities, label)
    return None if high is None else (
        False,
        f"{label!r} is always the class with the highest score, even if this score is only {high.min():.4g}: "
        "it may be the model's decision and not the true class",
    )  # fmt: skip


def is_one_label(columns: Columns, roles: Roles) -> Outcome:
    label = columns.truth_of(roles)
    if label is None:
        return None
    used = {label, roles.predicted, *roles.ranked, *roles.probabilities, roles.label and roles.correct}
    true = columns.called(label, "true")
    for other in [name for name in columns.classes if name not in used][:MOST_OTHERS]:
        if columns.is_predicted(other) or is_another(columns, other):
            continue
        named = {label, other} <= {*columns.labels} and columns.word[other] not in ("class", "answer")
        flags = not true or columns.called(other, *LABELS)
        differ = columns.alike(label, other, flags) or (named and not columns.say_the_same(label, other))
        if differ and not _is_decision(columns, roles, other):
            return False, f"{label!r} and {other!r} can both be the true class, and differ"
    return None


def _is_decision(columns: Columns, roles: Roles, other: str) -> bool:
    if "vector" in roles.has:
        return columns.decided(roles.probabilities, other) is not None
    return columns.threshold_of(other) is not None


def is_the_named_label(columns: Columns, roles: Roles) -> Outcome:
    label = columns.label_of(roles)
    if label is None or label in columns.labels:
        return None
    if label in columns.correct:
        return False, f"{label!r} may say whether the prediction is right"
    others = [n for n in columns.labels if n not in (roles.predicted, *roles.ranked, *roles.probabilities)]
    others = [n for n in others if len(columns.words(n)) > 1]
    return (False, f"{others[0]!r} has the name of a label, and {label!r} has not") if others else None


def has_a_name(columns: Columns, roles: Roles) -> Outcome:
    score = _score(columns, roles)
    if score is None:
        return None
    if _is_named(columns, score) or (roles.positive is not None and roles.positive in score):
        return True, f"{score!r} has the name of a score"
    others = [name for name in columns.scores if name != score and not is_flag(columns[name])]
    others = [name for name in others if name in columns.unit or len(columns.words(name)) > 1]
    if others or columns.called(score, "wrong", "correct", "aside"):
        beside = f", as {some_names(others)} could" * bool(others)
        return False, f"{score!r} has no name of a score, and could be a feature{beside}"
    return True, f"{score!r} is the only column of numbers that could be a score"


def stands_alone(columns: Columns, roles: Roles) -> Outcome:
    score = _score(columns, roles)
    if score is None or score not in columns.grouped or columns.called(score, "confidence"):
        return None
    return False, f"{score!r} is one of {some_names(columns.grouped[score])}, whose rows sum to 1"


def is_a_probability(columns: Columns, roles: Roles) -> Outcome:
    score = _score(columns, roles)
    if (
        score is None
        or roles.scale in ("percent", "logits", "log_probabilities")
        or is_within(columns[score])
    ):
        return None
    low, high = columns.ends(score)
    other = low < 0.0 or high <= 10.0 or high > 100.0
    if columns.called(score, "confidence") or (columns.called(score, "score") and other):
        return None  # log-odds or points: see the findings
    return False, f"{score!r} runs from {low:.4g} to {high:.4g}, and is not called a percentage"


def has_two_values(columns: Columns, roles: Roles) -> Outcome:
    if roles.kind != "binary" or not roles.label:
        return None
    label, words = roles.label[0], columns.words(*roles.label)
    if len(words) == 2:
        return True, f"{label!r} holds two values"
    if third := third_value(columns, label):
        return False, f"{label!r} holds {third!r} beside {some_names(sorted(words - {third}))}"
    if columns.given.positive:
        return None
    return False, f"{label!r} holds {len(words)} value{'s' * (len(words) != 1)}: {some_names(sorted(words))}"


def decisions_follow(columns: Columns, roles: Roles) -> Outcome:
    if roles.kind != "binary":
        return None
    score = roles.probabilities[0]
    said = [n for n in predicted_of(columns, score) if n not in roles.label and len(columns.words(n)) > 1]
    if not said:
        return None
    several = any(len(columns.words(name)) > 2 for name in said)
    if not several and any(columns.sides(name, score) is not None for name in said):
        return True, f"{said[0]!r} is {score!r} at or above a threshold"
    return False, f"{said[0]!r} is no threshold on {score!r}, as the decision of P(Y = 1) is"


def runs_with_the_label(columns: Columns, roles: Roles) -> Outcome:
    if roles.kind == "vectors" and len(roles.probabilities) == 2 and len(roles.label) == 1:
        names, label = roles.probabilities, roles.label[0]
        if (
            label not in columns.word
            or columns.agreement(names, label, roles.class_names or ()) > -BEYOND - 1.0
        ):
            return None
        return False, f"the highest of {some_names(names)} names the wrong class of {label!r} in most rows"
    if roles.kind != "binary" or len(roles.label) != 1:
        return None
    (score,), label = roles.probabilities, roles.label[0]
    words = sorted(columns.words(label))
    positive = roles.positive or positive_of([w for w in words if w not in roles.drop_label]) or "1"
    if positive not in words or len(words) < 2:
        return None
    auc, errors = columns.separation(score, label, positive)
    as_event = f"as the probability of {positive!r} its AUC is {auc:.2f}"
    if abs(errors) >= BEYOND:
        how = "goes with" if errors > 0 else "ranks the wrong way round"
        return errors > 0, f"{score!r} {how} {label!r}: {as_event}"
    named, few = _is_named(columns, score), len(columns[label]) < FEW_ROWS
    features = [n for n in columns.unit if n != score and not _is_named(columns, n)]
    if label in columns.labels and (few or (named and not features)):
        low = columns.ends(score)[0]
        rivals = [n for n in columns.classes if n != label and columns.words(n) == {*words}]
        if low < 0.5 or not rivals:
            return None
        return (
            False,
            f"{score!r} is never below {low:.4g}, as the confidence in {some_names(rivals)} would be",
        )
    return False, f"{score!r} does not go with {label!r}: {as_event}"


def _is_named(columns: Columns, score: str) -> bool:
    return columns.is_called_score(score) or columns.is_percent(score)


def goes_with_right(columns: Columns, roles: Roles) -> Outcome:
    score = roles.probabilities[0]
    if roles.kind == "confidence" and roles.correct and not roles.label:
        right, least = outcomes_of(columns[roles.correct], roles.correct), -BEYOND - 1.0
    elif roles.kind == "top-label" and roles.label and roles.predicted and not _is_named(columns, score):
        right, least = (as_keys(columns[roles.label[0]]) == as_keys(columns[roles.predicted])) * 1.0, BEYOND
    else:
        return None
    auc, errors = columns.separates(score, right == 1.0, ~np.isnan(right))
    if errors > least:
        return None
    return False, f"{score!r} is not higher where predictions are right: its AUC is {auc:.2f}"


def is_at_least_chance(columns: Columns, roles: Roles) -> Outcome:
    if roles.kind != "top-label" or roles.predicted is None or roles.scale.startswith("log"):
        return None
    score, label = roles.probabilities[0], [name for name in roles.label if name in columns.word]
    size = len(columns.words(roles.predicted, *label))
    low = columns.ends(score)[0] / (100.0 if roles.scale == "percent" else 1.0)
    if len(columns.words(roles.predicted)) == 2 and low < 0.495 and columns.sides(roles.predicted, score):
        size = 2  # a decision: a threshold on P(Y = 1)
    what = (
        f"the lowest {score!r} is {low:.4g}: a predicted class of {size} has at least {1 / max(size, 1):.4g}"
    )
    if size == 2:
        return low >= 0.495, what
    sure = columns.called(score, "confidence") or columns.is_predicted(roles.predicted)
    return None if sure or size < 2 else (low >= 1.0 / size - 0.005, what)


def is_one_vocabulary(columns: Columns, roles: Roles) -> Outcome:
    if roles.kind != "top-label" or not roles.label or roles.predicted is None:
        return None
    said, true = sorted(columns.words(roles.predicted)), sorted(columns.words(*roles.label))
    if not said or len(true) < 2 and not {*said} & {*true}:
        return None  # too few classes to tell
    if {*said} & {*true} or nearly_same(true, said) or same_classes(true, said):
        return True, f"{roles.predicted!r} and {roles.label[0]!r} hold the same classes"
    return False, (
        f"no predicted class is ever true: the predicted classes are {some_names(said)}, the true classes "
        f"{some_names(true)}"
    )


def is_called_predicted(columns: Columns, roles: Roles) -> Outcome:
    if roles.predicted is None or roles.kind not in ("top-label", "confidence"):
        return None
    name, label = roles.predicted, roles.label
    if len(columns.words(name)) < 2:
        return False, f"{name!r} holds one value, so it predicts nothing"
    plain = columns.word[name] in ("label", "class") and bool(label) and columns.called(label[0], "true")
    free = is_free_text(columns[name])
    answered = columns.called(name, "answered") and (free or columns[name].dtype == object) and not plain
    answered = answered and columns.word[name] not in ("label", "class")
    if (
        columns.is_predicted(name)
        or name in predicted_of(columns, roles.probabilities[0])
        or plain
        or answered
    ):
        return True, f"{name!r} has the name of a predicted class"
    return False, f"{name!r} is not called a prediction"


#: All tests, in the order in which they are told.
CHECKS = (
    NamedTest("has a label", has_label, ("label", "correct")),
    NamedTest("rows sum to 1", sums_to_one, ("score",)),
    NamedTest("no decisions", are_no_decisions, ("score",), required=True),
    NamedTest("no order of ranks", are_in_no_order, ("score",)),
    NamedTest("label fits classes", label_fits_classes, ("score",)),
    NamedTest("label is not the decision", is_not_the_decision, ("label", "correct")),
    NamedTest("one label", is_one_label, ("label", "correct")),
    NamedTest("the named label", is_the_named_label, ("label",)),
    NamedTest("score has a name", has_a_name, ("score",)),
    NamedTest("score stands alone", stands_alone, ("score",)),
    NamedTest("score is a probability", is_a_probability, ("scores",)),
    NamedTest("two values", has_two_values, ("drop_label",)),
    NamedTest("decisions follow", decisions_follow, ("score",)),
    NamedTest("runs with the label", runs_with_the_label, ("positive",)),
    NamedTest("goes with right", goes_with_right),
    NamedTest("at least chance", is_at_least_chance, required=True),
    NamedTest("one vocabulary", is_one_vocabulary),
    NamedTest("predicted by its name", is_called_predicted, ("predicted",)),
)
