"""Named tests of a reading: what speaks for and against columns having the roles that it gives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from calib.data.kinds import KINDS
from calib.files.readers.answers import (
    codes_of,
    missing_cells,
    natural,
    nearly_same,
    outcomes_of,
    positive_of,
    same_answers,
    same_classes,
    yes_or_no,
)
from calib.files.readers.columns import (
    BEYOND,
    EXPECTED,
    FEW_ROWS,
    FIRST,
    LEAST_ALIKE,
    MANY_EXPECTED,
    PERCENT_WORDS,
    PLAIN,
    SHARE_WORDS,
    Columns,
    are_odds,
    is_flag,
    is_within,
)
from calib.files.readers.conventions import LABELS, PREDICTED_WORDS, SCALES, is_called, normalised
from calib.files.readers.generators import is_another, is_free_text, label_columns, other_values, predicted_of
from calib.files.readers.roles import Roles
from calib.files.readers.tables import as_keys, some_names

#: Whether a test is passed, and the sentence about it; None if it does not apply.
Outcome = tuple[bool, str] | None
#: A score below it that is mostly right is no confidence in the predicted class.
UNLIKELY = 0.25
#: Most other columns that are compared with a label.
MOST_OTHERS = 100


def sentences_of(columns: Columns, roles: Roles) -> tuple[dict[str, str], dict[str, str]]:
    """Try all tests that apply to a reading and that no option decides; return those passed, and failed."""
    passed: dict[str, str] = {}
    failed: dict[str, str] = {}
    for name, (test, kinds, options, _) in CHECKS.items():
        if roles.kind not in kinds or any(getattr(columns.given, option) for option in options):
            continue
        if (outcome := test(columns, roles)) is not None:
            (passed if outcome[0] else failed)[name] = outcome[1]
    return passed, failed


def has_label(columns: Columns, roles: Roles) -> Outcome:
    if roles.label or roles.correct:
        return None
    pool = [n for n in label_columns(columns) if n not in roles.probabilities and len(columns.words(n)) > 1]
    pool = [n for n in pool[:MOST_OTHERS] if n in columns.labels or _could_be_true(columns, roles, n, pool)]
    pool = pool or columns.correct
    missed = f"no column is read as the true class, although there is {some_names(pool)}"
    return (False, missed) if pool else None


def _could_be_true(columns: Columns, roles: Roles, name: str, pool: Sequence[str]) -> bool:
    """Whether scores go with a column that has no name of a label, or another column is like it."""
    words, others = columns.words(name), other_values(columns, name)
    if others and not words & PLAIN:
        return True  # won, lost or pending
    words -= {*others}
    decision = len(words) == 2 and columns.threshold_of(name) is not None
    most = max(len(roles.probabilities), 2) if name in columns.numeric else MOST_OTHERS  # else a count: goals
    if decision or columns.called(name, "class") or len(words) > most:
        return False
    if len(words) == 2 and is_called(columns.word[name].split("_")[0], "true"):
        return True  # actual_A_won
    if "vector" in roles.has and columns.agreement(roles.probabilities, name) > BEYOND:
        return True
    scores = [score for score in roles.probabilities if score in columns.word and len(words) == 2]
    if any(abs(columns.separation(score, name, max(words))[1]) > BEYOND for score in scores):
        return True
    return any(columns.alike(name, other, False) for other in pool if other != name)


def sums_to_one(columns: Columns, roles: Roles) -> Outcome:
    names, listed = roles.probabilities, some_names(roles.probabilities)
    label, rows = columns.label_of(roles), columns.rows(names, FIRST)
    n_complete, least = (~np.isnan(rows).any(axis=1)).sum(), min(LEAST_ALIKE, len(rows) / 2.0)
    if label not in (None, *columns.labels) and n_complete < least:
        return False, f"{n_complete} of {len(rows):,} rows of {listed} are complete"
    if columns.sum_to_one(names):
        return True, f"the rows of {listed} sum to 1"
    if names[0] in columns.table.matrices:
        named = bool(roles.label) or is_called(names[0], *SCALES) or not columns.table.tabular
        return None if named else (False, f"the rows of {listed} do not sum to 1")
    if roles.scale in ("logits", "log_probabilities"):
        return True, f"{listed} are called {roles.scale.replace('_', '-')}"
    if are_odds(rows):
        return True, f"the inverses of {listed} sum to between 1 and 1.15, as for decimal odds"
    words = columns.words(label) if label else frozenset()
    if len(words) == 2 and is_within(rows):
        return False, f"the rows of {listed} do not sum to 1, and {label!r} holds two values"
    frames = [frame for frame in columns.frames(columns.scores) if frame.columns == names]
    named = len(words & {*(roles.class_names or ())}) > 1 and 2 * len(words) >= len(names)
    low, high = np.nanmin(rows), np.nanmax(rows)
    numbers = all(map(str.isdigit, roles.class_names or "a")) and not any(map(columns.is_called_score, names))
    if numbers and low >= 0.0 and 1.0 < high < np.inf:
        return False, f"the rows of {listed} do not sum to 1, and run from {low:.4g} to {high:.4g}"
    if named or (frames and frames[0].is_run and len(words) <= len(names) + 1):
        return True, f"{listed} are named or numbered like the classes"
    if label and not frames and columns.goes_with(names, label):
        return True, f"the highest of {listed} goes with {label!r}"
    return False, f"the rows of {listed} do not sum to 1, and their names are no classes"


def are_no_decisions(columns: Columns, roles: Roles) -> Outcome:
    names = [name for name in roles.probabilities if name in columns.word]
    if not names or not all(is_flag(columns[name]) for name in names):
        return None
    label = columns.label_of(roles)
    certain = label and (columns.goes_with(names, label) or not columns.has_header)
    if certain and "vector" in roles.has and not any(map(columns.is_predicted, names)):
        return None
    return False, (
        f"{some_names(names)} hold only 0 and 1: decisions, but calibration needs their probabilities"
    )


def are_in_no_order(columns: Columns, roles: Roles) -> Outcome:
    label, names = columns.label_of(roles), roles.probabilities
    if label and columns.words(label) & {*(columns.listed or roles.class_names or ())}:
        return None
    rows = columns.rows(names, 1000)
    if len(rows) < 10 or rows.shape[1] < 3 or not (rows[:, 1:] <= rows[:, :-1]).all():
        return None
    return False, f"every row of {some_names(names)} is in descending order: ranked classes without names"


def label_fits_classes(columns: Columns, roles: Roles) -> Outcome:
    label, names, size = columns.label_of(roles), roles.class_names or (), len(roles.probabilities)
    if label is None or (label in columns.labels and columns.given.score):
        return None
    words = columns.words(label)
    if not words & {*names} and (sides := _sides_of_a_match(columns, label)):
        return False, f"{label!r} names {sides[0]!r} or {sides[1]!r}: write 1 for the first, 0 for the other"
    if names in (("0", "1"), ("1", "0")) and names[0] not in roles.probabilities[0]:
        fits = columns.agreement(roles.probabilities, label, names) > BEYOND
        how = "names" if fits else "does not name"
        return fits, f"the highest of {some_names(roles.probabilities)} {how} the class of {label!r}"
    if columns.are_mostly(label, names) or (words and words <= {*names}):
        rows = columns.rows(roles.probabilities, FIRST)[as_keys(columns[label][:FIRST]) != ""]
        expected = dict(zip(names, np.nansum(rows, axis=0), strict=False)) if is_within(rows) else {}
        absent = [name for name in names if expected.get(name, 0.0) > MANY_EXPECTED and name not in words]
        if absent and label not in columns.labels:
            return False, f"{label!r} never holds {absent[0]!r}, although the scores expect it in many rows"
        return True, f"{label!r} holds the classes in the names of the scores"
    text = columns[label].dtype == object and yes_or_no(columns[label])
    if text and names and same_classes(sorted(words), names) is None:
        return False, f"{label!r} says yes or no, but {some_names(roles.probabilities)} are of other classes"
    few, named = len(columns[label]) < FEW_ROWS, columns.called(label, *LABELS)
    many = max(len(words), *map(int, filter(str.isdecimal, words)), 0) > 2 * size
    known = label in columns.labels or roles.probabilities[0] not in columns.word
    if (few and named) or not words or (many and known):
        return None
    fits = not many and 2 * len(words) >= size and columns.agreement(roles.probabilities, label) > BEYOND
    what = "goes with" if fits else "does not go with"
    fits = fits or (named and bool(names) and names[0].isdigit())
    return fits, f"the highest of {some_names(roles.probabilities)} {what} {label!r}"


def is_not_the_decision(columns: Columns, roles: Roles) -> Outcome:
    label, names, decision = columns.truth_of(roles), roles.probabilities, ""
    if label is None or columns.called(label, "true") or label in columns.twins:
        return None
    if roles.kind == "top-label" and roles.label and roles.predicted:
        misses = np.nansum((1.0 - np.asarray(columns[names[0]], dtype=np.float64)[:FIRST]).clip(0.0))
        if misses > MANY_EXPECTED and (as_keys(columns[label]) == as_keys(columns[roles.predicted])).all():
            decision = f"always {roles.predicted!r}: it may be the model's decision"
    elif roles.kind != "vectors":
        score = columns.threshold_of(label, MANY_EXPECTED if columns.called(label, "label") else EXPECTED)
        if score is not None:
            decision = f"{score!r} at or above a threshold: a decision, and not the true class"
    elif names[0] in columns.word:
        groups = [] if label in columns.labels else columns.groups
        others = [] if label in columns.labels else [name for name in columns.classes if name != label]
        doubted = any(columns.alike(label, other, False) for other in others[:MOST_OTHERS])
        highs = (columns.decided(group, label, doubted=doubted) for group in dict.fromkeys((names, *groups)))
        if (high := next((each for each in highs if each is not None), None)) is not None:
            low = f"even if this score is only {high.min():.4g}"
            decision = f"always the class with the highest score, {low}: it may be the model's decision"
            decision += " and not the true class"
    return (False, f"{label!r} is {decision}") if decision else None


def is_one_label(columns: Columns, roles: Roles) -> Outcome:
    label = columns.truth_of(roles)
    if label is None:
        return None
    used = {label, roles.predicted, *roles.ranked, *roles.probabilities, roles.label and roles.correct}
    used |= {*(_sides_of_a_match(columns, label) or ())}
    true = columns.called(label, "true")
    for other in [name for name in columns.classes if name not in used][:MOST_OTHERS]:
        if columns.is_predicted(other) or is_another(columns, other) or _is_agreement(columns, label, other):
            continue
        named = {label, other} <= {*columns.labels} and columns.word[other] not in ("class", "answer")
        flags = not true or columns.called(other, *LABELS)
        differ = columns.alike(label, other, flags) or (named and not columns.are_equivalent(label, other))
        if differ and not _is_decision(columns, roles, other):
            return False, f"{label!r} and {other!r} can both be the true class, and differ"
        unnamed = other in columns.labels and label not in (*columns.labels, *columns.correct)
        if unnamed and _is_decision(columns, roles, other):
            return False, f"{other!r} may be the decision, and {label!r} has no name of a label"
    return None


def _is_agreement(columns: Columns, label: str, other: str) -> bool:
    if other not in columns.correct:
        return False
    right, true = outcomes_of(columns[other], other), as_keys(columns[label])
    return any(((as_keys(columns[name]) == true) == right).all() for name in columns.predicted)


def is_distinct_label(columns: Columns, roles: Roles) -> Outcome:
    label = columns.label_of(roles)
    if label is None or label in columns.labels or label in columns.truths.values():
        return None
    words, vector = columns.words(label), "vector" in roles.has
    written = all(any(word in name for name in roles.probabilities) for word in words)
    names = roles.class_names or ()
    if vector and words & {*names} and (len(words) == len(names) or written):
        return None
    parts = {part for word in (label, *words) for part in normalised(word).split("_")}
    about = parts & {*columns.word.get(roles.probabilities[0], "").split("_")}  # p_fraud, fraud
    if not (vector or about or positive_of(words) or words & columns.words(*columns.predicted)):
        return False, f"{label!r} is called no label, and {some_names(sorted(words))} name no event"
    used = {label, roles.predicted, *roles.probabilities}
    others = [n for n in label_columns(columns) if n not in used and not _is_decision(columns, roles, n)]
    others = [n for n in others if len(columns.words(n)) == len(words) if vector or columns.words(n) == words]
    if len(others) < (1 if vector else 2):
        return None
    return False, f"{label!r} is called no label, and neither are {some_names(others)}"


def is_the_named_label(columns: Columns, roles: Roles) -> Outcome:
    label = columns.label_of(roles)
    if label is None or label in columns.labels:
        return None
    if label in columns.correct:
        return False, f"{label!r} may say whether the prediction is right"
    if roles.kind == "binary" and label in columns.numeric and columns.ends(label)[0] > 1.0:
        return False, f"{label!r} has no name of a label, and may be a count"
    others = [n for n in columns.labels if n not in (roles.predicted, *roles.ranked, *roles.probabilities)]
    others = [n for n in others if len(columns.words(n)) > 1 and not _is_decision(columns, roles, n)]
    if roles.kind == "top-label" and not others and not _agrees_with(columns, label, roles.predicted or ""):
        return False, f"{label!r} has no name of a label, and is {roles.predicted!r} only by chance"
    if roles.kind == "binary" and not others and columns.called(label, "class"):
        return False, f"{label!r} has the name of a class, and may be the predicted one"
    unnamed = roles.kind == "binary" and not others and not (columns.labels or columns.given.score)
    if unnamed and (named := has_a_name(columns, roles)) and not named[0]:
        return False, f"{named[1]}, and {label!r} has no name of a label"
    return (False, f"{others[0]!r} has the name of a label, and {label!r} has not") if others else None


def _is_decision(columns: Columns, roles: Roles, name: str) -> bool:
    vector = "vector" in roles.has
    return (columns.decided(roles.probabilities, name) if vector else columns.threshold_of(name)) is not None


def _agrees_with(columns: Columns, *names: str) -> bool:
    """Whether two columns hold the same class more often than by chance; True if rows are few."""
    known = ~np.any([missing_cells(columns[name][:FIRST]) for name in names], axis=0)
    if known.sum() < FEW_ROWS:
        return True
    cells = [as_keys(columns[name][:FIRST][known]) for name in names]
    words = [sorted(columns.words(name), key=natural) for name in names]
    if len(words[0]) == len(words[1]) == 2:  # perhaps written in two ways
        cells = [codes_of(each, order, False) for each, order in zip(cells, words, strict=True)]
    shares = [pd.Series(each).value_counts(normalize=True) for each in cells]
    same, chance = float((cells[0] == cells[1]).mean()), float((shares[0] * shares[1]).sum())
    return same - chance > BEYOND * np.sqrt(max(chance * (1.0 - chance), 1e-4) / known.sum())


def has_a_name(columns: Columns, roles: Roles) -> Outcome:
    score = roles.probabilities[0]
    named = _is_named(columns, score) and not _is_of_else(columns, roles)
    if named or (roles.positive is not None and roles.positive in score):
        return True, f"{score!r} has the name of a score"
    others = [name for name in columns.scores if name != score and not is_flag(columns[name])]
    others = [name for name in others if name in columns.unit or len(columns.words(name)) > 1]
    if others or columns.called(score, "wrong", "correct", "aside"):
        hint = f", as {some_names(others)} could" * bool(others)
        return False, f"{score!r} has no name of a score, and could be a feature{hint}"
    return True, f"{score!r} is the only column of numbers that could be a score"


def _is_of_else(columns: Columns, roles: Roles) -> bool:
    """Whether "score" ends a name whose other words are in no class and no name of a class: team_score."""
    (score, *_), held = roles.probabilities, [*roles.label, roles.predicted, roles.correct]
    about, _, last = columns.word[score].rpartition("_")
    if last != "score" or columns.called(score, "confidence", "score") or not columns.predicted:
        return False
    names = [columns.word[name] for name in held if name in columns.word]
    words = [normalised(word) for word in columns.words(*[n for n in held if n in columns.word])]
    said = PREDICTED_WORDS | {part for name in (*names, *words) for part in name.split("_")}
    return not said & {*about.split("_")}


def are_no_shares(columns: Columns, roles: Roles) -> Outcome:
    names, label = roles.probabilities, columns.label_of(roles)
    plain = roles.scale == "unknown" and {*names} <= columns.word.keys()
    if not plain or any(map(columns.is_called_score, names)) or (roles.label and label is None):
        return None
    others = columns.scores
    if label or is_within(columns.rows(names, FIRST)):  # shares beside a score with a decision of its own
        said = [n for n in columns.predicted if columns.decided(names, n, True) is None]
        if not said or (label and columns.words(label) & {*(roles.class_names or ())}):
            return None
        others = [n for n in others if columns.is_called_score(n) and n in columns.unit]
        others = [n for n in others if any(len(columns.sides(each, n) or ()) == 2 for each in said)]
    others = [name for name in others if name not in names]
    beside = f"{some_names(names)} have no names of scores, and could be shares, beside {some_names(others)}"
    return (False, beside) if others else None


def stands_alone(columns: Columns, roles: Roles) -> Outcome:
    score = roles.probabilities[0]
    if score not in columns.grouped or columns.called(score, "confidence"):
        return None
    return False, f"{score!r} is one of {some_names(columns.grouped[score])}, whose rows sum to 1"


def is_a_probability(columns: Columns, roles: Roles) -> Outcome:
    score, label = roles.probabilities[0], columns.label_of(roles)
    unnamed = label is not None and label not in columns.labels and roles.kind == "binary"
    said = {*columns.word[score].split("_")} & SHARE_WORDS or columns.called(score, "confidence")
    if roles.scale == "percent" and unnamed and not said:
        return False, f"{score!r} may be points, and no column is called the label"
    if roles.scale in ("percent", "logits", "log_probabilities") or is_within(columns[score]):
        return None
    low, high = columns.ends(score)
    other = low < 0.0 or high <= 10.0 or high > 100.0
    if columns.called(score, "confidence") or (columns.called(score, "score") and other):
        return None  # log-odds or points: see the findings
    return False, f"{score!r} runs from {low:.4g} to {high:.4g}, and is not called a percentage"


def has_two_values(columns: Columns, roles: Roles) -> Outcome:
    if not roles.label:
        return None
    label, words = roles.label[0], columns.words(*roles.label)
    if len(words) == 2:
        return True, f"{label!r} holds two values"
    if others := other_values(columns, label):
        rest = some_names(sorted(words - {*others}))
        return False, f"{label!r} holds {some_names(others)} beside {rest}"
    if columns.given.positive:
        return None
    return False, f"{label!r} holds {len(words)} value{'s' * (len(words) != 1)}: {some_names(sorted(words))}"


def decisions_follow(columns: Columns, roles: Roles) -> Outcome:
    score = roles.probabilities[0]
    said = [n for n in predicted_of(columns, score) if n not in roles.label and len(columns.words(n)) > 1]
    if not said:
        return None
    several = any(len(columns.words(name)) > 2 for name in said)
    if not several and any(columns.sides(name, score) is not None for name in said):
        return True, f"{said[0]!r} is {score!r} at or above a threshold"
    return False, f"{said[0]!r} is no threshold on {score!r}, as the decision of P(Y = 1) is"


def runs_with_the_label(columns: Columns, roles: Roles) -> Outcome:
    names, label = roles.probabilities, columns.label_of(roles)
    if label is None or len(names) > 2:
        return None
    if roles.kind == "vectors":
        wrong = columns.agreement(names, label, roles.class_names or ()) <= -BEYOND - 1.0
        said = f"the highest of {some_names(names)} names the wrong class of {label!r} in most rows"
        return (False, said) if wrong else None
    score, words = names[0], sorted(columns.words(label))
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
        said = f"{score!r} is never below {low:.4g}, as the confidence in {some_names(rivals)} would be"
        return (False, said) if rivals and low >= 0.5 else None
    return False, f"{score!r} does not go with {label!r}: {as_event}"


def _is_named(columns: Columns, score: str) -> bool:
    chance = {*columns.word[score].split("_")} & (PERCENT_WORDS - SHARE_WORDS)  # no down_payment_pct
    return columns.is_called_score(score) or (bool(chance) and columns.is_percent(score))


def goes_with_right(columns: Columns, roles: Roles) -> Outcome:
    score = roles.probabilities[0]
    if roles.kind == "confidence" and roles.correct and not roles.label:
        right, least = outcomes_of(columns[roles.correct], roles.correct), -BEYOND - 1.0
    elif roles.kind == "top-label" and roles.label and roles.predicted and not _is_named(columns, score):
        right, least = (as_keys(columns[roles.label[0]]) == as_keys(columns[roles.predicted])) * 1.0, BEYOND
    else:
        return None
    auc, errors = columns.separates(score, right == 1.0, ~np.isnan(right))
    if errors > least or len(np.unique(right[~np.isnan(right)])) < 2:
        return None
    return False, f"{score!r} is not higher where predictions are right: its AUC is {auc:.2f}"


def is_of_the_prediction(columns: Columns, roles: Roles) -> Outcome:
    score = roles.probabilities[0]
    if columns.called(score, "confidence"):
        return None
    said = [roles.predicted] if roles.predicted else predicted_of(columns, score)
    others = [name for name in columns.unit if name != score][: MOST_OTHERS // max(len(said), 1)]
    owned = [(each, name) for each in said for name in others if len(columns.sides(each, name) or ()) == 2]
    gaps = [np.abs(columns[score] - np.maximum(columns[name], 1.0 - columns[name])) for _, name in owned]
    folded = any(np.nansum(gap) < 0.01 * len(gap) for gap in gaps)  # the score is the larger probability
    if {each for each, _ in owned} == {*said} != set() and not folded and len(columns[score]) >= FEW_ROWS:
        return False, f"{said[0]!r} is {owned[0][1]!r} at or above a threshold, not {score!r}"
    if not roles.correct or roles.label:
        return None
    values, right = columns[score], outcomes_of(columns[roles.correct], roles.correct)
    low = right[np.asarray(values < UNLIKELY) & ~np.isnan(right)]
    beyond = 3.0 * np.sqrt(UNLIKELY * (1.0 - UNLIKELY) / max(len(low), 1))
    if not is_within(values) or not len(low) or (share := float(low.mean())) < max(0.5, UNLIKELY + beyond):
        return None
    return False, (
        f"{score!r} may be the probability of an event: below {UNLIKELY:g}, {roles.correct!r} holds in "
        f"{100 * share:.0f} % of rows, as for predictions that the event does not happen"
    )


def is_at_least_chance(columns: Columns, roles: Roles) -> Outcome:
    score, label = roles.probabilities[0], [name for name in roles.label if name in columns.word]
    low = columns.ends(score)[0] / (100.0 if roles.scale == "percent" else 1.0)
    named = [roles.predicted] if roles.predicted else predicted_of(columns, score)
    decided = [n for n in named if low < 0.495 and len(columns.words(n)) == 2 and columns.sides(n, score)]
    if roles.scale.startswith("log") or not (roles.predicted or decided):
        return None
    said, true = (sorted(columns.words(*names)) for names in (named, label))
    size = 2 if decided else len({*said} if same_classes(true, said) else {*said, *true})
    least = f"a predicted class of {size} has at least {1 / max(size, 1):.4g}"
    if sides := roles.predicted and _sides_of_a_match(columns, roles.predicted, *label):
        size, least = 2, f"a predicted side of {some_names(sides)} has at least 0.5"
    what = f"the lowest {score!r} is {low:.4g}: {least}"
    is_confidence = columns.called(score, "confidence") or columns.is_predicted(named[0])
    is_confidence = is_confidence and not _is_of_else(columns, roles)
    if decided or sides or (size == 2 and (label or not is_confidence)):
        return low >= 0.495, what
    return None if is_confidence or size < 2 else (low >= 1.0 / size - 0.005, what)


def _sides_of_a_match(columns: Columns, *names: str) -> tuple[str, str] | None:
    """Return two columns of which, in each row, one holds the class: its predicted and its true one."""
    said, taken = [as_keys(columns[n][:FIRST]) for n in names], {*names, *columns.predicted, *columns.labels}
    held = [n for n in columns.classes if n not in taken and columns[n].dtype == object]
    held = [n for n in held if not is_another(columns, n) and columns.words(n) & columns.words(names[0])]
    for one, two in combinations(held[:12], 2):
        first, second = (as_keys(columns[name][:FIRST]) for name in (one, two))
        if all((((first == each) != (second == each)) | (each == "")).all() for each in said):
            return one, two
    return None


def is_one_vocabulary(columns: Columns, roles: Roles) -> Outcome:
    if not roles.label or roles.predicted is None:
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


def is_graded(columns: Columns, roles: Roles) -> Outcome:
    own = [roles.predicted] if roles.predicted else predicted_of(columns, roles.probabilities[0])
    if roles.label or not roles.correct or not own:
        return None
    right, agreed = outcomes_of(columns[roles.correct], roles.correct), dict[str, float]()
    for said in dict.fromkeys((*own, *columns.predicted)):
        for true in (name for name in columns.labels if name != said):
            if len(columns.words(true) & columns.words(said)) > 1:
                same = (as_keys(columns[true]) == as_keys(columns[said])) == right
                agreed[said] = max(agreed.get(said, 0.0), float(same.mean()))
    best = max(agreed, key=lambda said: agreed[said], default=own[0])
    if best in own:
        return None
    return False, f"{roles.correct!r} says whether {best!r} is right, and not {own[0]!r}"


def is_sometimes_right(columns: Columns, roles: Roles) -> Outcome:
    label = columns.label_of(roles)
    if label is None or roles.predicted is None:
        return None
    said, true = columns[roles.predicted][:FIRST], columns[label][:FIRST]
    known = ~(missing_cells(said) | missing_cells(true))
    said, true, score = said[known], true[known], columns[roles.probabilities[0]][:FIRST][known]
    words = [sorted(columns.words(name)) for name in (label, roles.predicted)]
    if len(words[0]) < 2 or not words[1] or same_classes(*words):
        return None  # without labels, or written in two ways, which a fix repairs
    same, expected = same_answers(said, true), float(np.nansum(score.clip(0.0, 1.0)))
    right = int(np.nansum(same))
    least = expected / 10.0 if is_free_text(said) else 1.0  # sentences about the answer are rarely equal
    if expected <= MANY_EXPECTED or right >= least:
        return None
    seldom = f"{roles.predicted!r} is {label!r} in {right or 'none'} of {len(said):,} rows"
    return False, f"{seldom}, and in {expected:.0f} by the scores"


def is_called_predicted(columns: Columns, roles: Roles) -> Outcome:
    if (name := roles.predicted) is None:
        return None
    if len(columns.words(name)) < 2:
        return False, f"{name!r} holds one value, so it predicts nothing"
    if columns.word[name] in ("label", "class"):
        answered = bool(roles.label) and columns.called(roles.label[0], "true")
    else:
        text = columns[name].dtype == object or is_free_text(columns[name])
        answered = text and columns.called(name, "answered")
    if answered or columns.is_predicted(name) or name in predicted_of(columns, roles.probabilities[0]):
        return True, f"{name!r} has the name of a predicted class"
    return False, f"{name!r} is not called a prediction"


ONE_SCORE = ("binary", "top-label", "confidence")
#: All tests in the order in which they are told, with the kinds of readings, the options that decide, and
#: whether no reading that fails is offered.
CHECKS: dict[str, tuple[Callable[[Columns, Roles], Outcome], Collection[str], tuple[str, ...], bool]] = {
    "has a label": (has_label, KINDS, ("label", "correct"), False),
    "rows sum to 1": (sums_to_one, ("vectors",), ("score",), True),
    "no decisions": (are_no_decisions, KINDS, ("score",), False),
    "no order of ranks": (are_in_no_order, ("vectors",), ("score",), False),
    "label fits classes": (label_fits_classes, ("vectors",), ("label",), True),
    "label is not the decision": (is_not_the_decision, KINDS, ("label", "correct"), True),
    "one label": (is_one_label, KINDS, ("label", "correct"), False),
    "told from others": (is_distinct_label, ("binary",), ("label",), False),
    "classes by position": (is_distinct_label, ("vectors",), ("label",), True),
    "the named label": (is_the_named_label, KINDS, ("label",), True),
    "score has a name": (has_a_name, ONE_SCORE, ("score",), False),
    "no shares of others": (are_no_shares, ("vectors",), ("score",), False),
    "score stands alone": (stands_alone, ONE_SCORE, ("score",), True),
    "score is a probability": (is_a_probability, ONE_SCORE, ("scores",), False),
    "two values": (has_two_values, ("binary",), ("drop_label",), False),
    "decisions follow": (decisions_follow, ("binary",), ("score",), True),
    "runs with the label": (runs_with_the_label, ("vectors", "binary"), ("positive",), False),
    "goes with right": (goes_with_right, ("top-label", "confidence"), (), False),
    "confidence of the prediction": (is_of_the_prediction, ("top-label", "confidence"), ("correct",), True),
    "at least chance": (is_at_least_chance, ("top-label", "confidence"), (), False),
    "one vocabulary": (is_one_vocabulary, ("top-label",), (), False),
    "graded": (is_graded, ("top-label", "confidence"), ("correct",), True),
    "sometimes right": (is_sometimes_right, ("top-label", "confidence"), ("predicted", "correct"), True),
    "predicted by its name": (is_called_predicted, ("top-label", "confidence"), ("predicted",), False),
}
#: Tests without which a reading is impossible, and not only in doubt.
REQUIRED = frozenset(("no decisions", "at least chance"))
