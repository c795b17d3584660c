"""Names and contents of the columns of a table: roles by name, numbers, flags, words, groups of scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calib.data.likeness import MIN_CLUSTERS
from calib.files.readers.answers import no_classes, says_right, yes_or_no
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
)
from calib.files.readers.roles import Given
from calib.files.readers.tables import Table, as_float, as_float_column, by_word, words_in

#: Largest distance of a score from [0, 1] by rounding.
ROUNDING = 1e-3
#: Characters between a class and the rest of a name.
MARKS = tuple("_ .:/()[]{}=-")
#: Most rows used to judge sums and separation, and to count distinct values.
LOOKED_AT, FIRST = 20_000, 2_000
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

    def __init__(self, table: Table, given: Given) -> None:
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
                self.listed = tuple(str(each) for each in values)
                del self.word[name]
        self._words: dict[str, frozenset[str]] = {}
        self._sums: dict[tuple[str, ...], np.ndarray] = {}
        self._find_roles()

    def _find_roles(self) -> None:
        given, word = self.given, self.word
        self.numeric = [name for name in word if self[name].dtype.kind in "fiu"]
        self.fractions = {name for name in self.numeric if not is_whole(self[name])}
        self.side = self._side()
        free = [name for name in word if name not in self.side.values()]
        classes = [name for name in free if name not in self.fractions]
        matches = [match for name in word for match in self.tools[name].values()]
        labels_named = {match["of"] for match in matches if "of" in match.groupdict()}
        predicted = [n for n in classes if self.called(n, "predicted") or self._predicted_by_tool(n)]
        predicted = [n for n in predicted if n not in (given.label, given.correct, *given.score)]
        predicted.sort(key=lambda name: (word[name] != "announced", not self.called(name, "predicted")))
        self.predicted = [given.predicted] if given.predicted else predicted
        graded = [name for name in free if self.says_right(name)]
        if any(self.called(name, "confidence") for name in word):
            graded += [name for name in free if self.called(name, "grade") and is_flag(self[name])]
        self.correct = given.correct or next(iter(graded), None)
        taken = {*self.predicted[:1], self.correct, *given.score}
        tiers = (NAMES["true"] - {"answer"}, {"answer"}, NAMES["label"], {"correct"})
        labels = [name for names in tiers for name in classes if name not in taken and word[name] in names]
        labels += [n for n in classes if n not in taken and ("label" in self.tools[n] or n in labels_named)]
        self.labels = [given.label] if given.label else list(dict.fromkeys(labels))
        used = {*self.predicted, *self.labels, self.correct} - set(given.score)
        self.scores = [
            name for name in self.numeric
            if name in given.score or name in free and name not in used and not self.is_aside(name)
        ]  # fmt: skip

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

    def _predicted_by_tool(self, name: str) -> bool:
        match = self.tools[name].get("predicted")
        return match is not None and match.groupdict().get("of", name) in self.word

    def called(self, name: str, *kinds: str) -> bool:
        """Whether a column has a name of one of the kinds."""
        return any(self.word[name] in NAMES[kind] for kind in kinds)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table.columns[name]

    def words(self, *names: str) -> frozenset[str]:
        """Return the distinct values of columns, without empty cells and words for them."""
        for name in names:
            if name not in self._words:
                words = frozenset(words_in(self[name])[1])
                self._words[name] = words - no_classes(words)
        return frozenset().union(*(self._words[name] for name in names))

    def is_aside(self, name: str) -> bool:
        """Whether a column holds times, parts of the data or row numbers, by its name."""
        return self.called(name, "aside", "index")

    def has_few_words(self, name: str, most: int) -> bool:
        """Whether the first rows of a column of texts or whole numbers have 2 to `most` distinct values."""
        few = name not in self.fractions and len(set(self[name][:FIRST].tolist()))
        return 2 <= few <= most

    def is_flag(self, name: str) -> bool:
        """Whether cells are 0 and 1, true and false, or yes and no."""
        if self[name].dtype == object:
            return is_flag(self[name]) or yes_or_no(self[name])
        return name not in self.fractions and is_flag(self[name])

    def says_right(self, name: str) -> bool:
        """Whether a column says if predictions are right, by its name and its cells."""
        named = self.called(name, "correct") or "correct" in self.tools[name]
        return named and says_right(self[name])

    def is_predicted(self, name: str) -> bool:
        """Whether a column holds predictions, by a word in its name."""
        words = set(self.word[name].split("_"))
        return bool(words & PREDICTED_WORDS) or "predicted" in self.tools[name]

    @cached_property
    def truths(self) -> dict[str, str]:
        """The columns of 0 and 1 that say whether a class is true, by the column of the class's scores."""
        scores: dict[str, list[str]] = {}
        for name in self.scores:
            for of in {name.strip(), (self.event_of(name) or ("", name, ""))[1]}:
                scores.setdefault(of, []).append(name)
        found: dict[str, str] = {}
        for name in self.word:
            if self.is_flag(name) and not self.is_predicted(name):
                match = LABEL_PREFIX.fullmatch(name.strip()) or LABEL_SUFFIX.fullmatch(name.strip())
                of = (match[1] if match else name).strip()
                found |= {other: name for other in scores.get(of, ()) if other != name}
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
        match = self.tools[name].get("score")
        if match is None or not match.groupdict().get("name"):
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
        frames = []
        for (before, after), found in around.items():
            wanted = {f"{before}{inside}{after}" for inside in found}
            named = [name for name in names if name.strip() in wanted]
            frame = re.compile(f"{re.escape(before)}.+{re.escape(after)}", re.DOTALL)
            alike = [name for name in names if frame.fullmatch(name.strip())]
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

    def are_as_long(self, name: str, other: str) -> bool:
        """Whether two columns have equal lengths; arrays of an archive may differ."""
        return len(self[name]) == len(self[other])

    def separation(self, score: str, label: str, positive: str) -> tuple[float, float]:
        """Return the AUC of a score for a class, and by how many standard errors it is above 1/2."""
        codes, words = words_in(self[label])
        filled = np.array([word != "" for word in words])[codes]
        return self.separates(score, np.array([word == positive for word in words])[codes], filled)

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
    def decided(self) -> str:
        """A sentence about the columns of decisions, empty if there are none."""
        if not self.predicted:
            return ""
        return f"column {self.predicted[0][:60]!r} holds decisions, and calibration needs their probabilities"


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
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(sums - 1.0) < 0.02, np.abs(sums - 100.0) < 2.0
        return bool(sums.size) and max(float(np.mean(column)) for column in near) > share


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
