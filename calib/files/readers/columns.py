"""Names and contents of the columns of a table: roles by name, numbers, flags, words, groups of scores."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calib.data.likeness import MIN_CLUSTERS
from calib.files.readers.answers import no_classes, outcomes_of, says_right, yes_or_no
from calib.files.readers.conventions import (
    KNOWN,
    LABEL_PREFIX,
    LABEL_SUFFIX,
    NAMES,
    PREDICTED_WORDS,
    PREFIX,
    SIDE_ROLES,
    SUFFIX,
    conventions_of,
    normalised,
    words_of,
)
from calib.files.readers.roles import Given
from calib.files.readers.tables import Table, as_float, as_float_column, as_keys, by_word, one_line, words_in

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
UNSURE = 0.6
#: Correlation of two columns of two values from which both may be the label, and its fewest rows.
PHI, LEAST_ALIKE = 0.5, 10
#: Most cells looked at to find columns that sum to 1.
MOST_CELLS = 4_000_000
#: Words in the names of percentages.
PERCENT_WORDS = words_of(
    "pct percent percentage prozent pourcent porcentaje prob proba probability confidence conf certainty "
    "risk likelihood chance konfidenz confiance"
)
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


def _beginning_with(start: str, texts: Sequence[str]) -> Sequence[str]:
    """Return the sorted texts that begin with some characters."""
    first = bisect_left(texts, start)
    return texts[first : bisect_left(texts, start + chr(sys.maxunicode), first)] if start else texts


class Columns:
    """The columns of a table, each examined once, with the roles that their names suggest."""

    def __init__(self, table: Table, given: Given, like: Columns | None = None) -> None:
        numbers = {n: v for n, v in table.columns.items() if v.dtype == object and _writes_fractions(v)}
        numbers = {name: as_float_column(values, name) for name, values in numbers.items()}
        table = replace(table, columns={**table.columns, **numbers})
        self.table, self.given = table, given
        self.word = {name: normalised(name) for name in table.columns}
        self.has_header = [*table.columns] != [str(at) for at in range(len(table.columns))]
        self.tools = {name: conventions_of(name) for name in table.columns}
        sizes = Counter(len(values) for values in table.columns.values())
        n_rows = sizes.most_common(1)[0][0] if sizes else 0
        self.listed: tuple[str, ...] | None = None
        for name, values in table.columns.items():
            if self.called(name, "classes") and (len(values) != n_rows or not table.tabular):
                self.listed = tuple(one_line(str(each)) for each in values)
                del self.word[name]
        self._words: dict[str, frozenset[str]] = {}
        self._sums: dict[tuple[str, ...], np.ndarray] = {} if like is None else like._sums
        self._coded: dict[str, tuple[np.ndarray, list[str]]] = {} if like is None else like._coded
        #: Misses that a score expects if a column is a threshold on it, and AUCs
        self._missed: dict[tuple[str, str], float] = {} if like is None else like._missed
        self._aucs: dict[tuple[str, ...], tuple[float, float]] = {} if like is None else like._aucs
        self._thresholds: dict[str, tuple[float, str]] = {}
        self._find_roles()

    def _find_roles(self) -> None:
        given, word = self.given, self.word
        self.numeric = [n for n in word if self[n].dtype.kind in "fiu" and not np.isnan(self[n]).all()]
        self.fractions = {name for name in self.numeric if not is_whole(self[name])}
        self.side = self._side()
        named = {given.label, given.predicted, given.correct, *given.score}
        side = {name for name in self.side.values() if name is not None}
        self.free = [n for n in word if n in named or not (n in side or self.is_aside(n))]
        self.classes = [n for n in self.free if n not in self.fractions]
        classes = [name for name in self.classes if name not in named]
        predicted = [n for n in classes if self.is_predicted(n) and not self.called(n, "label", "true")]
        if {"announced", "calibrated"} <= {*word.values()}:  # calib wrote it
            predicted = [name for name in predicted if word[name] == "announced"]
        self.predicted = [given.predicted] if given.predicted else predicted
        graded = [name for name in classes if self.says_right(name)]
        if any(self.called(name, "confidence") for name in word):
            graded += [name for name in classes if self.called(name, "grade") and is_flag(self[name])]
        self.correct = [given.correct] if given.correct else graded
        tiers = (NAMES["true"] - {"answer"}, {"answer"}, NAMES["label"])
        labels = [name for names in tiers for name in classes if word[name] in names]
        labels = [name for name in dict.fromkeys(labels) if name not in (*predicted, *self.correct)]
        self.labels = [given.label] if given.label else labels
        used = {*self.predicted, *self.labels, *self.correct} - {*given.score}
        self.scores = [name for name in self.numeric if name in self.free and name not in used]
        self.unit = [n for n in self.scores if n in self.fractions and is_within(self[n])]
        truths = {*self.truths.values()} - {*given.score}
        self.scores = [name for name in self.scores if name not in truths]

    def _side(self) -> dict[str, Any]:
        given = self.given
        roles: dict[str, Any] = {role: getattr(given, role, None) for role in SIDE_ROLES}
        roles |= {"model": None, "index": None}
        kept = {given.label, given.predicted, given.correct, *given.score, *roles.values()} - {None}
        for position, name in enumerate(self.word):
            if name in kept:
                continue
            number = name in self.numeric
            role = next((role for role in SIDE_ROLES if self.called(name, role)), None)
            if role in ("id", "cluster") or (role is None and self.called(name, "together")):
                role = self._id_or_cluster(name, role)
            if role is not None and (number if role == "weight" else name not in self.fractions):
                if roles[role] is None and not (role == "model" and len(self.words(name)) < 2):
                    roles[role] = name
            elif number and roles["index"] is None and self._is_index(name, position):
                roles["index"] = name
        return roles

    def _id_or_cluster(self, name: str, role: str | None) -> str | None:
        """Return the role of a column named like an id: rows of equal values may belong together."""
        n_values = len(pd.unique(self[name]))
        if n_values == len(self[name]):
            return None if role is None else "id"
        repeats = self.called(name, "together") and n_values >= MIN_CLUSTERS
        return "cluster" if repeats else role

    def _is_index(self, name: str, position: int) -> bool:
        named, values = self.called(name, "index"), self[name]
        if not named and (position > 0 or len(values) < MIN_INDEX_ROWS):
            return False
        return is_row_number(values) or (named and self.word[name] != "row" and is_whole(values))

    def called(self, name: str, *kinds: str) -> bool:
        """Whether a column has a name of one of the kinds."""
        return any(self.word[name] in NAMES[kind] for kind in kinds)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table.columns[name]

    def coded(self, name: str) -> tuple[np.ndarray, list[str]]:
        """Return `words_in` of a column."""
        if name not in self._coded:
            self._coded[name] = words_in(self[name])
        return self._coded[name]

    def words(self, *names: str) -> frozenset[str]:
        """Return the distinct values of columns, without empty cells and words for them."""
        for name in names:
            if name not in self._words:
                short = words_in(self[name][:FIRST]) if name in self.fractions else self.coded(name)
                words = frozenset(short[1])
                self._words[name] = words - no_classes(words) - {*self.given.drop_label}
        return frozenset().union(*(self._words[name] for name in names))

    def are_mostly(self, name: str, classes: Collection[str]) -> bool:
        """Whether a column holds at least two of the classes, and at most as many other words."""
        words = self.words(name)
        shared = len(words & {*classes})
        return shared > 1 and 2 * shared >= len(words)

    def is_aside(self, name: str) -> bool:
        """Whether a column holds times, parts of the data or row numbers, by its name."""
        return self.called(name, "aside", "index")

    def is_flag(self, name: str) -> bool:
        """Whether cells are 0 and 1, true and false, or yes and no."""
        if self[name].dtype == object:
            return is_flag(self[name]) or yes_or_no(self[name])
        return name not in self.fractions and is_flag(self[name])

    def says_right(self, name: str) -> bool:
        """Whether a column says if predictions are right, by its name and its cells."""
        named = self.called(name, "correct", "wrong") or "correct" in self.tools[name]
        return named and says_right(self[name])

    def is_predicted(self, name: str) -> bool:
        """Whether a column holds predictions, by a word in its name."""
        words = set(self.word[name].split("_"))
        return (
            bool(words & PREDICTED_WORDS) or self.called(name, "predicted") or "predicted" in self.tools[name]
        )

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
            named = scores.get((match[1] if match else name).strip(), [])
            named = [other for other in named if other != name]
            if named and self.is_flag(name) and not self.is_predicted(name):
                found |= dict.fromkeys(named, name)
        return found

    def rows(self, names: Sequence[str], first: int | None = None) -> np.ndarray:
        """Return columns side by side, or the matrix of that name, (n, k) array."""
        if names[0] in self.table.matrices:
            return self.table.matrices[names[0]][:first]
        columns = [self[name][:first] for name in names]
        n_rows = min(map(len, columns))  # arrays may have other lengths
        return np.stack([values[:n_rows] for values in columns], axis=1)

    def are_several(self, label: Sequence[str]) -> bool:
        """Whether labels are 0 and 1 for each class, and some rows have no true class or several."""
        if len(label) > 1:
            ones = np.stack([one_hot_values(self[name]) for name in label], axis=1)
        elif label and label[0] in self.table.matrices:
            ones = self.table.matrices[label[0]]
        else:
            return False
        return bool(np.isin(ones, (0, 1)).all() and (ones.sum(axis=1) != 1).any())

    def is_called_score(self, name: str) -> bool:
        """Whether a column is named as a score, with or without a class or model in its name."""
        named = self.called(name, "confidence", "score") or "score" in self.tools[name]
        return named or self.event_of(name) is not None

    def event_of(self, name: str) -> tuple[str, str, str] | None:
        """Split the name of a score into (text before, class, text after): prob_fraud, P(Y=1), dog score."""
        if self.called(name, *KNOWN, "score"):
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
        groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for name in names:
            if (event := self.event_of(name)) is not None:
                groups.setdefault((event[0], event[2]), []).append((name, event[1]))
        found = [
            Frame(tuple(name for name, _ in pairs), tuple(of for _, of in pairs), *around)
            for around, pairs in groups.items()
            if len(pairs) > 1 and len({of for _, of in pairs}) == len(pairs)
        ]
        return sorted(found, key=lambda frame: -len(frame.columns))

    def frames_of(self, names: Sequence[str], classes: Collection[str]) -> list[Frame]:
        """Return the groups of columns named after classes, with equal text around it, the largest first."""
        around: dict[tuple[str, str], list[str]] = {}
        for name in names:
            for before, inside, after in classes_in_name(name, classes):
                around.setdefault((before, after), []).append(inside)
        frames, texts = [], {name: name.strip() for name in names}
        starts, ends = sorted(texts.values()), sorted(text[::-1] for text in texts.values())
        held: dict[str, list[str]] = {}
        for name, text in texts.items():
            held.setdefault(text, []).append(name)

        def columns_of(found: Iterable[str]) -> list[str]:
            return sorted((n for text in {*found} for n in held.get(text, ())), key=place.__getitem__)

        place = {name: at for at, name in enumerate(names)}
        for (before, after), found in around.items():
            named = columns_of(f"{before}{inside}{after}" for inside in found)
            begun, ended = _beginning_with(before, starts), _beginning_with(after[::-1], ends)
            alike = begun if len(begun) <= len(ended) else [text[::-1] for text in ended]
            least = len(before) + len(after)
            alike = columns_of(
                t for t in alike if len(t) > least and t.startswith(before) and t.endswith(after)
            )
            if not before + after:
                alike = [name for name in alike if not self.is_called_score(name)]
            marked = before[-1:] in MARKS or after[:1] in MARKS
            summed = [self.sum_to_one(each, 0.95) for each in (named, alike)]
            whole = alike if summed[1] or (marked and not summed[0]) else named
            cut = slice(len(before), -len(after) or None)
            frames.append(Frame(tuple(whole), tuple(n.strip()[cut].strip() for n in whole), before, after))
        return sorted(
            (frame for frame in frames if len(frame.columns) > 1), key=lambda frame: -len(frame.columns)
        )

    def sum_to_one(self, names: Sequence[str], share: float = 0.5) -> bool:
        """Whether most rows sum to 1 or to 100, or their exponentials do."""
        matrix = self.table.matrices.get(names[0]) if len(names) == 1 else None
        if matrix is None and (len(names) < 2 or len({len(self[name]) for name in names}) > 1):
            return False
        key = tuple(names)
        if key not in self._sums:
            rows = [self[n][:LOOKED_AT] for n in names] if matrix is None else matrix[:LOOKED_AT].T
            self._sums[key] = sums_of(rows)
        return sums_to_one(self._sums[key], share)

    def agreement(self, scores: Sequence[str], label: str, names: Sequence[str] = ()) -> float:
        """Return by how many standard errors the highest score names the class more often than by chance.

        Classes are the `names` of the scores, or else in the order of the label's values.
        """
        rows = self.rows(scores, FIRST).astype(np.float64)
        codes, words = words_in(self[label][: len(rows)])
        classes = [w for w in sorted(words, key=_by_number) if w in self.words(label)]
        classes = [*names] if {*names} >= {*classes} else classes
        places = {word: at for at, word in enumerate(classes)}
        if len(rows) != len(codes) or len(classes) < 2:
            return 0.0
        true = np.array([places.get(word, -1) for word in words])[codes]
        known = np.isfinite(rows).all(axis=1) & (true >= 0)
        top, true = rows[known].argmax(axis=1), true[known]
        if not len(true):
            return 0.0
        size = max(rows.shape[1], len(classes))
        chance = float(np.bincount(top, minlength=size) @ np.bincount(true, minlength=size)) / len(true) ** 2
        spread = np.sqrt(max(chance * (1.0 - chance), 1e-4) / len(true))
        return float(((top == true).mean() - chance) / spread)

    def decided(self, scores: Sequence[str], label: str) -> np.ndarray | None:
        """Return the highest scores if the label is always their class, though some are low; else None."""
        rows = self.rows(scores, FIRST).astype(np.float64)
        rows = np.nan_to_num(np.hstack([1.0 - rows, rows]) if rows.shape[1] == 1 else rows, nan=-np.inf)
        codes, words = words_in(self[label][:FIRST])
        if rows.size == 0 or len(rows) != len(codes):
            return None
        top, high = rows.argmax(axis=1), rows.max(axis=1)
        one_to_one = len(np.unique(top * len(words) + codes)) == len(words) == len(np.unique(top))
        expected = MANY_EXPECTED if self.called(label, "label") else EXPECTED
        sure = high.min() >= UNSURE or -np.log(high.clip(0.5)).sum() < expected
        return high if one_to_one and len(words) > 1 and not sure else None

    def are_odds(self, names: Sequence[str]) -> bool:
        """Whether columns are decimal odds: above 1, and their inverses sum to between 1 and 1.15."""
        if names[0] in self.table.matrices or len({len(self[name]) for name in names}) > 1:
            return False
        return are_odds(self.rows(names, LOOKED_AT))

    def outcomes(self, correct: str) -> np.ndarray:
        """Return 1.0 for right, 0.0 for wrong and NaN for other rows, also of a column that says wrong."""
        return outcomes_of(self[correct], correct)

    def goes_with(self, scores: Sequence[str], label: str) -> bool:
        """Whether the highest score names the class beyond chance; True if rows are too few to tell."""
        few = len(self[label]) < FEW_ROWS and label in self.labels
        return few or self.agreement(scores, label) > BEYOND

    def is_percent(self, name: str) -> bool:
        """Whether a column holds percentages: up to 100, with a name of percentages or of probabilities."""
        named = {*self.word[name].split("_")} & PERCENT_WORDS or "%" in name
        if not named or not is_within(self[name], 100.0) or is_within(self[name], 10.0):
            return False
        return float(np.nanmedian(self[name][:LOOKED_AT])) > 1.0

    def ends(self, name: str) -> tuple[float, float]:
        """Return the lowest and the highest number of a column."""
        values = np.asarray(self[name], dtype=np.float64)
        return float(np.nanmin(values)), float(np.nanmax(values))

    def are_as_long(self, name: str, other: str) -> bool:
        """Whether two columns have equal lengths; arrays of an archive may differ."""
        return len(self[name]) == len(self[other])

    def separation(self, score: str, label: str, positive: str) -> tuple[float, float]:
        """Return the AUC of a score for a class, and by how many standard errors it is above 1/2."""
        key = score, label, positive
        if key not in self._aucs:
            codes, words = self.coded(label)
            filled = np.array([word != "" for word in words])[codes]
            event = np.array([word == positive for word in words])[codes]
            self._aucs[key] = self.separates(score, event, filled)
        return self._aucs[key]

    def separates(self, score: str, event: np.ndarray, filled: Any = True) -> tuple[float, float]:
        """Return `separation` for a mask of events in place of a class."""
        if len(self[score]) != len(event):
            return 0.5, 0.0
        step = max(1, len(self[score]) // LOOKED_AT)
        values = np.asarray(self[score], dtype=np.float64)
        known = (np.isfinite(values) & filled)[::step]
        values, event = values[::step], event[::step][known]
        n_event, n_other = int(event.sum()), int((~event).sum())
        if not n_event or not n_other:
            return 0.5, 0.0
        ranks = pd.Series(values[known]).rank().to_numpy()
        auc = (ranks[event].sum() - n_event * (n_event + 1) / 2) / (n_event * n_other)
        return float(auc), float((auc - 0.5) / np.sqrt((n_event + n_other + 1) / (12 * n_event * n_other)))

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """Neighbouring columns of numbers whose rows sum to 1 or to 100."""
        columns = [name for name in self.scores if is_within(self[name], 100.0)]
        if len(columns) < 2 or len({len(self[name]) for name in columns}) > 1:
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
            ends = [end for end in ends if sums_to_one((sums[end] - sums[start]) / total, 0.95)]
            if ends:
                found.append(tuple(columns[start : ends[0]]))
            start = ends[0] if ends else start + 1
        return found

    @cached_property
    def grouped(self) -> dict[str, tuple[str, ...]]:
        """The group of columns that sum to 1 of each of their names."""
        found = {name: group for group in self.groups for name in group}
        for frame in self.frames(self.scores):
            if self.sum_to_one(frame.columns, 0.95):
                found |= dict.fromkeys(frame.columns, frame.columns)
        return found

    def threshold_of(self, name: str, expected: float = EXPECTED) -> str | None:
        """Return the score that a column of two values is a threshold on, though misses are expected.

        A true class that is separated so well is unlikely: the scores expect more than `expected` misses.
        """
        if name not in self._thresholds:
            scores = [score for score in self.scores if score in self.unit or self.is_called_score(score)]
            scores = [score for score in scores if score != name][:MOST_MODELS]
            self._thresholds[name] = max(
                ((self._misses(name, score), score) for score in scores), default=(0.0, "")
            )
        misses, score = self._thresholds[name]
        return score if misses > expected else None

    def _misses(self, name: str, score: str) -> float:
        """Return how many misses a score expects, if a column is a threshold on it; else 0."""
        if (name, score) in self._missed:
            return self._missed[name, score]
        if len(self.sides(name, score) or ()) != 2:
            return self._missed.setdefault((name, score), 0.0)
        values = np.asarray(self[score], dtype=np.float64)[:FIRST]
        high = 100.0 if np.nanmax(values, initial=0.0) > 1.0 + ROUNDING else 1.0
        chance = (values / high).clip(0.0, 1.0)
        expected = float(np.nansum(np.minimum(chance, 1.0 - chance)))
        return self._missed.setdefault((name, score), expected)

    def sides(self, name: str, score: str) -> list[str] | None:
        """Return the values of a column in the order of a score, if a threshold divides them; else None."""
        if len(self.words(name)) > 2 or not self.are_as_long(name, score):
            return None
        codes, words = self.coded(name)
        codes, values = codes[:LOOKED_AT], np.asarray(self[score][:LOOKED_AT], dtype=np.float64)
        known = np.isfinite(values) & np.array([word in self.words(name) for word in words])[codes]
        found = pd.Series(values[known]).groupby(codes[known]).agg(["mean", "min", "max", "nunique"])
        found = found.sort_values("mean")
        if len(found) == 2:
            below, above = found.iloc[0], found.iloc[1]
            if below["max"] > above["min"] or found["nunique"].sum() <= 2:
                return None
        return [words[code] for code in found.index]

    def alike(self, name: str, other: str) -> bool:
        """Whether two columns that differ could both be the label: of the same words, or flags that agree."""
        first, second = self.words(name), self.words(other)
        if not self.are_as_long(name, other) or min(len(first), len(second)) < 2:
            return False
        (codes, words), (others, other_words) = (words_in(self[each][:FIRST]) for each in (name, other))
        pairs = len(np.unique(codes * len(other_words) + others))
        if pairs == len(words) == len(other_words):  # one names the classes of the other
            return first == second and (as_keys(self[name]) != as_keys(self[other])).any()
        texts = self[name].dtype == self[other].dtype == object and not first & second <= PLAIN
        if texts and len(first & second) > 1 and (first <= second or second <= first):
            return True
        if len(first) != 2 or len(second) != 2:
            return False
        known = np.array([word in first for word in words])[codes]
        known &= np.array([word in second for word in other_words])[others]
        a, b = codes[known] == words.index(max(first)), others[known] == other_words.index(max(second))
        if len(a) < LEAST_ALIKE or not 0 < a.mean() < 1 or not 0 < b.mean() < 1:
            return False
        phi = float(np.corrcoef(a, b)[0, 1])
        return (phi if first == second else abs(phi)) > PHI

    def say_the_same(self, name: str, other: str) -> bool:
        """Whether two columns divide the rows in the same way, with the same words or with none in common."""
        if name not in self.word or other not in self.word or not self.are_as_long(name, other):
            return False
        (codes, words), (others, other_words) = self.coded(name), self.coded(other)
        if {*words} & {*other_words}:
            return bool((as_keys(self[name]) == as_keys(self[other])).all())
        return len(np.unique(codes * len(other_words) + others)) == len(words) == len(other_words)


def _by_number(word: str) -> tuple[int, float, str]:
    return (0, float(word), word) if word.isascii() and word.removeprefix("-").isdigit() else (1, 0.0, word)


def _writes_fractions(values: np.ndarray) -> bool:
    if len(values) and not re.search(r"[.eE]", str(values[0])):
        return False
    numbers = np.array([as_float(word) for word in words_in(values)[1] if word])
    return bool(np.isfinite(numbers).all() and (numbers % 1 > 0).any())


def _all(values: np.ndarray, test: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether all numbers pass a test or are missing; the first rows are tested first, to save time."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN, which is no number either
        return all(bool((np.isnan(rows) | test(rows)).all()) for rows in (values[:1000], values))


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers that are not missing are whole."""
    floats = values.dtype.kind == "f"
    return values.dtype.kind in "iu" or (floats and _all(values, lambda rows: rows == np.floor(rows)))


def is_within(values: np.ndarray, high: float = 1.0) -> bool:
    """Whether all numbers that are not missing lie from 0 to `high`, up to rounding."""
    least, most = -ROUNDING, high + ROUNDING
    return values.dtype.kind in "fiu" and _all(values, lambda rows: (rows >= least) & (rows <= most))


def is_flag(values: np.ndarray) -> bool:
    """Whether a column holds zeros and ones only, or True and False."""
    if values.dtype == object:
        return {str(v)[:6].lower() for v in values[:100]} <= {"true", "false"}
    with np.errstate(invalid="ignore"):  # a signalling NaN
        flags = (((rows == 0) | (rows == 1)).all() for rows in (values[:1000], values))
        return values.dtype.kind in "iuf" and all(flags)


def sums_of(columns: Iterable[np.ndarray]) -> np.ndarray:
    """Return the sums of rows, or of their exponentials if they are log-probabilities, (n,) array."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.array([*columns], dtype=np.float64)
        sums: np.ndarray = rows.sum(axis=0)
        return np.exp(rows).sum(axis=0) if np.nanmax(sums, initial=-np.inf) < 0.0 else sums


def sums_to_one(sums: np.ndarray, share: float) -> bool:
    """Whether a share of the sums, of rows without blank cells, is near 1 or near 100."""
    sums = sums[~np.isnan(sums)]
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(sums - 1.0) < 0.02, np.abs(sums - 100.0) < 2.0
        return bool(sums.size) and max(float(np.mean(column)) for column in near) > share


def are_odds(matrix: np.ndarray) -> bool:
    """Whether rows are decimal odds of all outcomes: above 1, inverses that sum to between 1 and 1.15."""
    if matrix.shape[1] < 2 or not (matrix > 1.0).all():
        return False
    sums = (1.0 / matrix.astype(np.float64)).sum(axis=1)
    return bool(((sums > 0.995) & (sums < 1.15)).mean() >= 0.95)


def is_row_number(values: np.ndarray) -> bool:
    """Whether a column counts the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    first = values[0]
    if not (first == 0 or first == 1) or len(values) < 3 or values[-1] != first + len(values) - 1:
        return False
    return bool((values == np.arange(len(values)) + int(first)).all())


def one_hot_values(values: np.ndarray) -> np.ndarray:
    """Return 0 or 1 for each row of a one-hot column, which may be written True and False."""
    if values.dtype == object:
        return by_word(values, lambda word: word.lower() == "true", np.int64)
    return np.nan_to_num(values).astype(np.int64)


def classes_in_name(name: str, classes: Collection[str]) -> list[tuple[str, str, str]]:
    """Find the longest classes between boundaries of a name: (text before, class, text after) of each."""
    text = name.strip()
    places = [0, *(match.start() for match in BOUNDARY.finditer(text)), len(text)]
    places = list(dict.fromkeys([*places[:MOST_BOUNDARIES], *places[-MOST_BOUNDARIES:]]))
    found: dict[str, tuple[str, str]] = {}
    for at, start in enumerate(places):
        for end in places[at + 1 :]:
            part = text[start:end]
            if part in classes and not (part[:1].isdigit() and re.search(r"\d\.$", text[:start])):
                found.setdefault(part, (text[:start], text[end:]))
    longest = max(map(len, found), default=0)
    return [(before, part, after) for part, (before, after) in found.items() if len(part) == longest]
