"""Names and contents of the columns of a table: roles by name, numbers, flags, words, groups of scores."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, permutations
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.likeness import MIN_CLUSTERS
from calib.data.times import are_dates
from calib.evidence.binning import area_of
from calib.files.readers.answers import are_equivalent, codes_of, holds_grades, natural, no_classes, yes_or_no
from calib.files.readers.conventions import (
    JUDGES,
    KNOWN,
    LABEL_PREFIX,
    LABEL_SUFFIX,
    NAMES,
    PEOPLE,
    PREDICTED_WORDS,
    PREFIX,
    SIDE_ROLES,
    SUFFIX,
    is_called,
    normalised,
    words_of,
)
from calib.files.readers.roles import Given, Roles
from calib.files.readers.tables import Table, as_float, as_float_column, as_keys, by_word, one_line, words_in

T = TypeVar("T")
#: Largest distance of a score from [0, 1] by rounding.
ROUNDING = 1e-3
#: Characters between a class and the rest of a name.
MARKS = tuple("_ .:/()[]{}=-")
#: Most rows used to judge sums and separation, and to count distinct values.
LOOKED_AT, FIRST = 20_000, 2_000
#: Misses that scores must expect before a column without any is a threshold on them, not the true class.
EXPECTED = 4.0
#: As `EXPECTED`, of a column that is called label.
MANY_EXPECTED = 20.0
#: Standard errors by which an AUC differs from 1/2, and a prediction agrees with a label, beyond chance.
BEYOND = 2.0
#: Fewest rows for a test that scores go with labels.
FEW_ROWS = 30
#: A prediction with a lower score is sometimes wrong.
CERTAIN = 0.6
#: Correlation of two columns of two values from which both may be the label, and its fewest rows.
PHI, LEAST_ALIKE = 0.5, 10
#: Most cells looked at to find columns that sum to 1.
MOST_CELLS = 4_000_000
#: Words in the names of percentages, of which the first say nothing about what is counted.
SHARE_WORDS = words_of("pct percent percentage prozent pourcent porcentaje")
PERCENT_WORDS = SHARE_WORDS | words_of(
    "prob proba probability confidence conf certainty risk likelihood chance konfidenz confiance"
)
#: Words by which the names of a true and a predicted column differ: actual_decision, predicted_decision.
TRUE_WORDS = words_of("actual true gold observed orig original")
TWIN_WORDS = words_of("predicted pred prediction")
#: Words of two values that say nothing about what a column is.
PLAIN = words_of("0 1 yes no y n true false t f")
#: Most columns of scores that are compared one by one.
MOST_MODELS = 50
#: Fewest rows before consecutive numbers count as row numbers.
MIN_INDEX_ROWS = 10
#: Most boundaries at each end of a name between which a class is searched.
MOST_BOUNDARIES = 12
#: Where a class can begin or end in a name: between letters and digits, before capitals, at marks.
BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=\W|_)|(?=\W|_)")


@dataclass(frozen=True)
class Frame:
    """Columns whose names differ only in the class: prob_cat, prob_dog."""

    #: The columns, and the part of their names that is the class
    columns: tuple[str, ...]
    names: tuple[str, ...]
    #: The text before and after the class
    before: str = ""
    after: str = ""

    @property
    def word(self) -> str:
        """The text around the class; may be empty."""
        return self.before + self.after

    @property
    def is_run(self) -> bool:
        """Whether the classes are numbered 0..K-1 or 1..K."""
        numbers = sorted(int(name) for name in self.names if name.isascii() and name.isdigit())
        first = numbers[0] if numbers else 2
        return first < 2 and numbers == list(range(first, first + len(self.names)))


class Columns:
    """The columns of a table, each examined once, with the roles that their names suggest."""

    def __init__(self, table: Table, given: Given, like: Columns | None = None) -> None:
        numbers = {n: as_float_column(v, n) for n, v in table.columns.items() if _writes_fractions(v)}
        self.table = table = replace(table, columns={**table.columns, **numbers})
        self.given = given
        self.word = {name: normalised(name) for name in table.columns}
        self.has_header = [*table.columns] != [str(at) for at in range(len(table.columns))]
        sizes = Counter(map(len, (*table.matrices.values(), *table.columns.values())))
        n_rows = sizes.most_common(1)[0][0] if sizes else 0
        self.listed: tuple[str, ...] | None = None
        for name, values in table.columns.items():
            if is_called(name, "classes") and (len(values) != n_rows or not table.tabular):
                self.listed = tuple(one_line(str(each)) for each in values)
            elif len(values) == n_rows:
                continue
            elif name in given.columns or is_called(name, *KNOWN):
                raise InputError(
                    f"{name[:60]!r} has {len(values):,} entries for {n_rows:,} rows; give one for each row"
                )
            del self.word[name]  # arrays of an archive may be about something else
        #: What was found in columns: distinct cells, sums of rows, AUCs
        self._found: dict[Any, Any] = {} if like is None else like._found
        self._find_roles()

    def _find_roles(self) -> None:
        given, word = self.given, self.word
        numeric = (n for n in word if self[n].dtype.kind in "fiu" and not np.isnan(self[n]).all())
        self.numeric = dict.fromkeys(numeric)
        self.fractions = {name for name in self.numeric if not is_whole(self[name])}
        self.side = self._side()
        named = {given.label, given.predicted, given.correct, *given.score}
        side = {name for name in self.side.values() if name is not None}
        self.free = dict.fromkeys(
            n for n in word if n in named or not (n in side or is_called(n, "aside", "index"))
        )
        self.classes = [n for n in self.free if n not in self.fractions]
        classes = [name for name in self.classes if name not in named]
        predicted = [n for n in classes if self.is_predicted(n) and not is_called(n, "label", "true")]
        self.twins = [n for n in classes if self._is_twin(n, predicted) and len(self.words(n)) > 1]
        predicted = [name for name in predicted if name not in self.twins and not are_dates(self[name])]
        if {"announced", "calibrated"} <= {*word.values()}:  # calib wrote it
            predicted = [name for name in predicted if word[name] == "announced"]
        self.predicted = [given.predicted] if given.predicted else predicted
        graded = [n for n in classes if is_called(n, "correct", "wrong") and holds_grades(self[n])]
        if any(is_called(name, "confidence") for name in word):
            graded += [name for name in classes if is_called(name, "grade") and is_flag(self[name])]
        self.correct = [given.correct] if given.correct else graded
        tiers = (NAMES["true"] - {"answer"}, {"answer"}, NAMES["label"])
        labels = [*self.twins, *(name for names in tiers for name in classes if word[name] in names)]
        labels = [name for name in dict.fromkeys(labels) if name not in (*predicted, *self.correct)]
        self.labels = [given.label] if given.label else labels
        used = {*self.predicted, *self.labels, *self.correct} - {*given.score}
        self.scores = [name for name in self.numeric if name in self.free and name not in used]
        self.unit = dict.fromkeys(n for n in self.scores if n in self.fractions and is_within(self[n]))
        truths = {*self.truths.values()} - {*given.score}
        self.scores = [name for name in self.scores if name not in truths]
        written = [name for name in self.scores if word[name] == "calibrated"]
        if written and "uncalibrated" not in word.values() and not given.score:  # calib wrote it
            self.scores = written

    def _once(self, key: Any, find: Callable[[], T]) -> T:
        if key not in self._found:
            self._found[key] = find()
        found: T = self._found[key]
        return found

    def _side(self) -> dict[str, Any]:
        given = self.given
        roles: dict[str, Any] = {role: getattr(given, role, None) for role in SIDE_ROLES}
        roles |= {"model": None, "index": None}
        kept = {given.label, given.predicted, given.correct, *given.score, *roles.values()}
        for position, name in enumerate(self.word):
            role = None if name in kept else self._side_role(name, position)
            if role is not None and roles[role] is None:
                roles[role] = name
        return roles

    def _side_role(self, name: str, position: int) -> str | None:
        values, is_number = self[name], name in self.numeric
        role = next((role for role in SIDE_ROLES if is_called(name, role)), None)
        together = is_called(name, "together")
        if role in ("id", "cluster") or (role is None and together):
            filled = pd.Series(values, dtype=values.dtype).replace("", np.nan)
            n_values = filled.nunique()
            if 0 < n_values == filled.count():
                role = role and "id"
            elif together and n_values >= MIN_CLUSTERS:
                role = "cluster"
        if role is not None and (is_number if role == "weight" else name not in self.fractions):
            return None if role == "model" and len(self.words(name)) < 2 else role
        named = is_called(name, "index")
        if not is_number or not (named or (position == 0 and len(values) >= MIN_INDEX_ROWS)):
            return None
        counts = named and self.word[name] != "row" and is_whole(values)
        return "index" if counts or is_row_number(values) else None

    called = staticmethod(is_called)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table.columns[name]

    def coded(self, name: str) -> tuple[np.ndarray, list[str]]:
        """Return `words_in` of a column."""
        return self._once(name, lambda: words_in(self[name]))

    def words(self, *names: str) -> frozenset[str]:
        """Return the distinct values of columns, without empty cells and words for them."""
        dropped = self.given.drop_label

        def found(name: str) -> frozenset[str]:
            short = words_in(self[name][:FIRST]) if name in self.fractions else self.coded(name)
            return frozenset(short[1]) - no_classes(short[1]) - {*dropped}

        each = (self._once(("words", name, dropped), partial(found, name)) for name in names)
        return frozenset().union(*each)

    def are_mostly(self, name: str, classes: Collection[str]) -> bool:
        """Whether a column holds at least two of the classes, and at most as many other words."""
        words = self.words(name)
        shared = len(words & {*classes})
        return shared > 1 and 2 * shared >= len(words)

    def is_predicted(self, name: str) -> bool:
        """Whether a column holds predictions, by a word in its name."""
        return is_called(name, "predicted") or bool({*self.word[name].split("_")} & PREDICTED_WORDS)

    def _is_twin(self, name: str, predicted: Iterable[str]) -> bool:
        """Whether a name differs from a predicted column's only in words such as actual for predicted."""
        parts = self.word[name].split("_")
        rest = [part for part in parts if part not in TRUE_WORDS]
        others = ([p for p in self.word[n].split("_") if p not in TWIN_WORDS] for n in predicted if n != name)
        return 0 < len(rest) < len(parts) and any(rest == other[-len(rest) :] for other in others)

    @cached_property
    def truths(self) -> dict[str, str]:
        """The columns of 0 and 1 that say whether a class is true, by the column of the class's scores."""
        scores: dict[str, list[str]] = {}
        for name in (name for name in self.scores if name in self.unit or self.event_of(name)):
            for of in {name.strip(), (self.event_of(name) or ("", name, ""))[1]}:
                scores.setdefault(of, []).append(name)
        found: dict[str, str] = {}
        for name in self.word:
            match = LABEL_PREFIX.fullmatch(name.strip()) or LABEL_SUFFIX.fullmatch(name.strip())
            named = [n for n in scores.get((match[1] if match else name).strip(), []) if n != name]
            flag = is_flag(self[name]) or (self[name].dtype == object and yes_or_no(self[name]))
            if named and flag and not self.is_predicted(name):
                found |= dict.fromkeys(named, name)
        return found

    @cached_property
    def _sorted_names(self) -> list[list[tuple[str, int]]]:
        names = (*self.table.columns, *self.table.matrices)
        return [sorted((name[::step], at) for at, name in enumerate(names)) for step in (1, -1)]

    def around(self, head: str, tail: str) -> tuple[str, ...]:
        """Return the columns and matrices between whose `head` and `tail` stands any text, in their order.

        Each search is binary, and only names with the rarer of the two ends are compared.
        """
        runs = []
        for names, step in zip(self._sorted_names, (1, -1), strict=True):
            first, last = (end[::step] for end in (head, tail)[::step])
            low, high = (bisect_left(names, (first + end,)) for end in ("", chr(sys.maxunicode)))
            runs.append((high - low, names[low:high], step, last))
        _, names, step, last = min(runs)
        found = ((at, name[::step]) for name, at in names if name.endswith(last))
        return tuple(name for _, name in sorted(found) if len(name) >= len(head) + len(tail))

    def label_of(self, roles: Roles) -> str | None:
        """Return the column of the label; None if several columns or a matrix hold it."""
        return next((n for n in roles.label if len(roles.label) == 1 and n in self.word), None)

    def truth_of(self, roles: Roles) -> str | None:
        """Return the column of the label, or else the column that says whether predictions are right."""
        return self.label_of(roles) if roles.label else roles.correct

    def rows(self, names: Sequence[str], first: int | None = None) -> np.ndarray:
        """Return columns side by side, or the matrix of that name, (n, k) array."""
        if names[0] in self.table.matrices:
            return self.table.matrices[names[0]][:first]
        return np.stack([self[name][:first] for name in names], axis=1)

    def are_several(self, label: Sequence[str]) -> bool:
        """Whether labels are 0 and 1 for each class, and some rows have no true class or several."""
        each = len(label) > 1 or {*label} & self.table.matrices.keys()
        return bool(each) and have_several(flags_of(self.table, label))

    def is_called_score(self, name: str) -> bool:
        """Whether a column is named as a score, with or without a class or model in its name."""
        return is_called(name, "confidence", "score") or self.event_of(name) is not None

    def event_of(self, name: str) -> tuple[str, str, str] | None:
        """Split the name of a score into (text before, class, text after): prob_fraud, P(Y=1), dog score."""
        if is_called(name, *KNOWN, "score"):
            return None
        match = PREFIX.fullmatch(name.strip())
        if match is None or not (match["join"] or match["name"].isdigit()):
            match = SUFFIX.fullmatch(name.strip())
        if match is None:
            return None
        start, end = match.span("name")
        start = max(start, name.strip().rfind("=", start, end) + 1)
        text = match.string
        return text[:start], text[start:end].strip(), text[end:]

    def frames(self, names: Iterable[str]) -> list[Frame]:
        """Return the groups of columns of scores by their names, the largest first."""
        groups: dict[tuple[str, str], dict[str, str]] = {}
        for name in names:
            if (event := self.event_of(name)) is not None:
                groups.setdefault((event[0], event[2]), {})[name] = event[1]
        found = [Frame((*group,), (*group.values(),), *around) for around, group in groups.items()]
        distinct = [frame for frame in found if len({*frame.names}) == len(frame.names) > 1]
        return sorted(distinct, key=lambda frame: -len(frame.columns))

    def frames_of(self, names: Sequence[str], labels: Iterable[str]) -> list[tuple[Frame, str]]:
        """Return the groups of columns named after classes of a label, with equal text around the class."""
        around: dict[tuple[str, str], dict[str, str]] = {}
        for name in names:
            for before, inside, after in parts_of_name(name):
                around.setdefault((before, after), {}).setdefault(inside.strip(), name)
        shared = {texts: group for texts, group in around.items() if len(group) > 1}
        found = []
        for label, words in ((label, self.words(label)) for label in labels):
            for (before, after), group in shared.items():
                if sum(word in group for word in words) < 2:
                    continue
                named = {inside: name for inside, name in group.items() if inside in words}
                alike = group
                if not before + after:
                    alike = {n: name for n, name in group.items() if not self.is_called_score(name)}
                marked = before[-1:] in MARKS or after[:1] in MARKS
                columns = [(*each.values(),) for each in (named, alike)]
                summed = [self._once(("sum", n), partial(self.sum_to_one, n, 0.95)) for n in columns]
                whole = alike if summed[1] or (marked and not summed[0]) else named
                found.append((Frame((*whole.values(),), (*whole,), before, after), label))
        return sorted(found, key=lambda each: -len(each[0].columns))

    def sum_to_one(self, names: Sequence[str], share: float = 0.5) -> bool:
        """Whether most rows sum to 1 or to 100, or their exponentials do."""
        if len(names) < 2 and not {*names} & self.table.matrices.keys():
            return False
        columns = np.array([*self.rows(names, LOOKED_AT).T], dtype=np.float64)
        sums = columns.sum(axis=0)
        are_logs = np.nanmax(sums, initial=-np.inf) < 0.0
        return are_one(np.exp(columns).sum(axis=0) if are_logs else sums, share)

    def agreement(self, scores: Sequence[str], label: str, names: Sequence[str] = ()) -> float:
        """Return by how many standard errors the highest score names the class more often than by chance.

        Classes are the `names` of the scores, or else in the order of the label's values.
        """
        rows = self.rows(scores, FIRST).astype(np.float64)
        values = self[label][: len(rows)]
        classes = sorted(self.words(label).intersection(words_in(values)[1]), key=natural)
        classes = [*names] if {*names} >= {*classes} else classes
        true = codes_of(values, classes, False)
        known = np.isfinite(rows).all(axis=1) & (true >= 0)
        if len(classes) < 2 or not known.any():
            return 0.0
        top, true = rows[known].argmax(axis=1), true[known]
        size = max(rows.shape[1], len(classes))
        chance = float(np.bincount(top, minlength=size) @ np.bincount(true, minlength=size)) / len(true) ** 2
        spread = np.sqrt(max(chance * (1.0 - chance), 1e-4) / len(true))
        return float(((top == true).mean() - chance) / spread)

    def decided(
        self, scores: Sequence[str], label: str, certain: bool = False, doubted: bool = False
    ) -> np.ndarray | None:
        """Return the highest scores if they always name a label, and some are low or `certain`; else None."""
        rows = np.nan_to_num(self.rows(scores, FIRST).astype(np.float64), nan=-np.inf)
        if not is_within(rows):
            if label in self.labels or not self.sum_to_one(scores):
                return None
            rows = np.exp(rows) if rows.max() <= 0.0 else rows / 100.0
        codes, words = words_in(self[label][:FIRST])
        top, high = rows.argmax(axis=1), rows.max(axis=1)
        one_to_one = len(np.unique(top * len(words) + codes)) == len(words) == len(np.unique(top))
        expected = MANY_EXPECTED if is_called(label, "label") else EXPECTED / (1 + doubted)
        is_certain = (high.min() >= CERTAIN and not doubted) or -np.log(high.clip(0.5)).sum() < expected
        return high if one_to_one and len(words) > 1 and (certain or not is_certain) else None

    def goes_with(self, scores: Sequence[str], label: str) -> bool:
        """Whether the highest score names the class beyond chance; True if rows are too few to tell."""
        few = len(self[label]) < FEW_ROWS and label in self.labels
        return few or self.agreement(scores, label) > BEYOND

    def is_percent(self, name: str) -> bool:
        """Whether a column holds percentages: up to 100, with a name of percentages or of probabilities."""
        named = {*self.word[name].split("_")} & PERCENT_WORDS or "%" in name
        inside = bool(named) and is_within(self[name], 100.0) and not is_within(self[name], 10.0)
        return inside and float(np.nanmedian(self[name][:LOOKED_AT])) > 1.0

    def ends(self, name: str) -> tuple[float, float]:
        """Return the lowest and the highest number of a column."""
        values = np.asarray(self[name], dtype=np.float64)
        return float(np.nanmin(values)), float(np.nanmax(values))

    def separation(self, score: str, label: str, positive: str) -> tuple[float, float]:
        """Return the AUC of a score for a class, and by how many standard errors it is above 1/2."""
        codes, words = self.coded(label)
        event, filled = np.array([(word == positive, word != "") for word in words])[codes].T
        return self.separates(score, event, filled)

    def separates(self, score: str, event: np.ndarray, filled: Any = True) -> tuple[float, float]:
        """Return `separation` for a mask of events in place of a class."""
        step = max(1, len(self[score]) // LOOKED_AT)
        values = np.asarray(self[score], dtype=np.float64)
        known = (np.isfinite(values) & filled)[::step]
        values, event = values[::step], event[::step][known]
        n_event, n_other = int(event.sum()), int((~event).sum())
        if not n_event or not n_other:
            return 0.5, 0.0
        auc = area_of(values[known], event)
        return auc, float((auc - 0.5) / np.sqrt((n_event + n_other + 1) / (12 * n_event * n_other)))

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """Neighbouring columns of numbers whose rows sum to 1 or to 100."""
        columns = [name for name in self.scores if is_within(self[name], 100.0)]
        if len(columns) < 2:
            return []
        n_rows = max(MIN_INDEX_ROWS, min(FIRST, MOST_CELLS // len(columns)))
        rows = np.stack([self[name][:n_rows].astype(np.float64) for name in columns])
        complete = ~np.isnan(rows).any(axis=0)
        rows = rows[:, complete] if complete.sum() >= MIN_INDEX_ROWS else np.nan_to_num(rows)
        sums = np.vstack([np.zeros(rows.shape[1]), rows.cumsum(axis=0)])
        means, found, start = sums.mean(axis=1), [], 0
        while start < len(columns) - 1:
            total = 1.0 if rows[start].max(initial=0.0) <= 1.0 + ROUNDING else 100.0
            least, most = np.searchsorted(means, means[start] + total * np.array([0.98, 1.02]))
            ends = [end for end in (most - 1, least) if start + 1 < end < len(sums)]
            ends = [end for end in ends if are_one((sums[end] - sums[start]) / total, 0.95)]
            if ends:
                found.append(tuple(columns[start : ends[0]]))
            start = ends[0] if ends else start + 1
        return found

    @cached_property
    def grouped(self) -> dict[str, tuple[str, ...]]:
        """The group of columns that sum to 1, or whose highest is predicted, by each of their names."""
        found = {name: group for group in self.groups for name in group}
        for columns in (frame.columns for frame in self.frames(self.scores)):
            decided = len(columns) > 2 and any(self.decided(columns, n) is not None for n in self.predicted)
            if decided or self.sum_to_one(columns):
                found |= dict.fromkeys(columns, columns)
        return found

    def threshold_of(self, name: str, expected: float = EXPECTED) -> str | None:
        """Return the score that a column of two values is a threshold on, though misses are expected.

        A true class that is separated so well is unlikely: the scores expect more than `expected` misses.
        """
        scores = [n for n in self.scores if n != name and (n in self.unit or self.is_called_score(n))]
        found = [self._once((name, n), partial(self._expected_misses, name, n)) for n in scores[:MOST_MODELS]]
        misses, score = max(zip(found, scores, strict=False), default=(0.0, None))
        return score if misses > expected else None

    def _expected_misses(self, name: str, score: str) -> float:
        """Return how many misses a score expects, if a column is a threshold on it; else 0."""
        if len(self.sides(name, score) or ()) != 2:
            return 0.0
        values = np.asarray(self[score], dtype=np.float64)[:FIRST]
        high = 100.0 if np.nanmax(values, initial=0.0) > 1.0 + ROUNDING else 1.0
        chance = (values / high).clip(0.0, 1.0)
        return float(np.nansum(np.minimum(chance, 1.0 - chance)))

    def sides(self, name: str, score: str) -> list[str] | None:
        """Return the values of a column in the order of a score, if a threshold divides them; else None."""
        return self._once(("sides", name, score, self.given.drop_label), partial(self._sides, name, score))

    def _sides(self, name: str, score: str) -> list[str] | None:
        if len(self.words(name)) > 2:
            return None
        codes, words = self.coded(name)
        codes, values = codes[:LOOKED_AT], np.asarray(self[score][:LOOKED_AT], dtype=np.float64)
        known = np.isfinite(values) & np.array([word in self.words(name) for word in words])[codes]
        found = pd.Series(values[known]).groupby(codes[known]).agg(["mean", "min", "max", "nunique"])
        found = found.sort_values("mean")
        if len(found) == 2:
            below, above = found.iloc[0], found.iloc[1]
            if below["max"] > above["min"] or below["min"] == above["max"]:
                return None
        return [words[code] for code in found.index]

    def alike(self, name: str, other: str, flags: bool) -> bool:
        """Whether two columns that differ could both be the label: the same words, or `flags` that agree."""
        asked = name, other, flags
        return self._once(("alike", *asked, self.given.drop_label), partial(self._alike, *asked))

    def _alike(self, name: str, other: str, flags: bool) -> bool:
        first, second = self.words(name), self.words(other)
        (codes, words), (others, other_words) = (words_in(self[each][:FIRST]) for each in (name, other))
        pairs = len(np.unique(codes * len(other_words) + others))
        if pairs == len(words) == len(other_words):  # one names the classes of the other
            return first == second and (as_keys(self[name]) != as_keys(self[other])).any()
        if first == second and any(
            JUDGES.search(a) and PEOPLE.search(b) for a, b in permutations((name, other))
        ):
            return True
        texts = self[name].dtype == self[other].dtype == object and not first & second <= PLAIN
        if texts and len(first & second) > 1 and (first <= second or second <= first):
            return bool((as_keys(self[name]) == as_keys(self[other])).any())  # else the second best class
        if not flags or len(first) != 2 or len(second) != 2:
            return False
        a, b = (codes_of(self[each][:FIRST], sorted(self.words(each)), False) for each in (name, other))
        a, b = (codes[(a >= 0) & (b >= 0)] == 1 for codes in (a, b))
        if len(a) < LEAST_ALIKE or not 0 < a.mean() < 1 or not 0 < b.mean() < 1:
            return False
        phi = float(np.corrcoef(a, b)[0, 1])
        return (phi if first == second else abs(phi)) > PHI

    def are_equivalent(self, name: str, other: str) -> bool:
        """Whether two columns divide the rows in the same way, with the same words or with none in common."""
        held = name in self.word and other in self.word
        return held and are_equivalent(self.coded(name), self.coded(other))


def _writes_fractions(values: np.ndarray) -> bool:
    if values.dtype != object or (len(values) and not re.search(r"[.eE]", str(values[0]))):
        return False
    numbers = np.array([as_float(word) for word in words_in(values)[1] if word])
    return bool(np.isfinite(numbers).all() and (numbers % 1 > 0).any())


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers that are not missing are whole."""
    if values.dtype.kind != "f":
        return values.dtype.kind in "iu"
    with np.errstate(invalid="ignore"):  # of a signalling NaN, which is no number either
        return bool((np.isnan(values) | (values == np.floor(values))).all())


def is_within(values: np.ndarray, high: float = 1.0) -> bool:
    """Whether all numbers that are not missing lie from 0 to `high`, up to rounding."""
    if values.dtype.kind not in "fiu":
        return False
    with np.errstate(invalid="ignore"):
        low, most = (end.reduce(values, axis=None, initial=0) for end in (np.fmin, np.fmax))
    return bool(low >= -ROUNDING and most <= high + ROUNDING)


def is_flag(values: np.ndarray) -> bool:
    """Whether a column holds zeros and ones only, or True and False."""
    if values.dtype == object:
        return {str(v)[:6].lower() for v in values[:100]} <= {"true", "false"}
    with np.errstate(invalid="ignore"):
        return values.dtype.kind in "iuf" and bool(((values == 0) | (values == 1)).all())


def are_one(sums: np.ndarray, share: float) -> bool:
    """Whether a share of the sums, of rows without blank cells, is near 1 or near 100."""
    sums = sums[~np.isnan(sums)]
    near = [np.abs(sums - total) < 0.02 * total for total in (1.0, 100.0)]
    return bool(sums.size) and max(float(np.mean(rows)) for rows in near) > share


def are_odds(matrix: np.ndarray) -> bool:
    """Whether rows are decimal odds of all outcomes: above 1, inverses that sum to between 1 and 1.15."""
    if matrix.shape[1] < 2 or not (matrix > 1.0).all():
        return False
    sums = (1.0 / matrix.astype(np.float64)).sum(axis=1)
    return bool(((sums > 0.995) & (sums < 1.15)).mean() >= 0.95)


def is_row_number(values: np.ndarray) -> bool:
    """Whether a column counts the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    counted = values[:1] + np.arange(len(values))
    return len(values) > 2 and values[0] in (0, 1) and bool((values == counted).all())


def flags_of(table: Table, names: Sequence[str]) -> np.ndarray:
    """Return 0 and 1 by row and class: a matrix, or one-hot columns, which may be written True and False."""
    if names[0] in table.matrices:
        return table.matrices[names[0]]
    columns = [table.columns[name] for name in names]
    ones = [by_word(v, lambda word: word.lower() == "true") if v.dtype == object else v for v in columns]
    return np.stack([np.nan_to_num(values).astype(np.int64) for values in ones], axis=1)


def have_several(flags: np.ndarray) -> bool:
    """Whether a matrix holds 0 and 1, and some rows have no true class or several."""
    return bool(np.isin(flags, (0, 1)).all() and (flags.sum(axis=1) != 1).any())


def parts_of_name(name: str) -> Iterator[tuple[str, str, str]]:
    """Divide a name at two of its boundaries in all ways: (text before, part, text after)."""
    text = name.strip()
    places = [0, *(match.start() for match in BOUNDARY.finditer(text)), len(text)]
    places = list(dict.fromkeys([*places[:MOST_BOUNDARIES], *places[-MOST_BOUNDARIES:]]))
    for start, end in combinations(places, 2):
        yield text[:start], text[start:end], text[end:]


def classes_in_name(name: str, classes: Collection[str]) -> list[str]:
    """Return the longest classes between boundaries of a name."""
    found = dict.fromkeys(part for _, part, _ in parts_of_name(name) if part in classes)
    return [part for part in found if len(part) == max(map(len, found))]
