"""What the columns of a table hold: numbers, fractions, flags, few words; groups of columns by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from calib.files.readers.answers import says_right, yes_or_no
from calib.files.readers.conventions import (
    CLASS_NAMES,
    CONFIDENCE_NAMES,
    CONVENTIONS,
    CORRECT_NAMES,
    KNOWN_NAMES,
    PREDICTED_WORDS,
    PREFIX,
    SUFFIX,
    WEAK_SCORE_NAMES,
    normalised,
    role_of,
    scale_of,
)
from calib.files.readers.tables import Table, words_in

#: A score may be this far outside [0, 1] by rounding.
ROUNDING = 1e-3
#: Characters that part a class from the words around it.
MARKS = tuple("_ .:/()[]{}=-")
#: Rows from which sums and separation are judged.
LOOKED_AT = 20_000
#: Places in a name between which a class name is looked for.
MOST_BOUNDARIES = 12
#: Where a class can begin or end in a name: between letters and digits, before capitals, at marks.
BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=\W|_)|(?=\W|_)")


@dataclass(frozen=True)
class Frame:
    """Columns whose names differ in the class alone: prob_cat, prob_dog.

    Attributes
    ----------
    columns, names : tuple of str
        The columns, and the part of their names that is the class.
    word : str
        What stands around it; empty if nothing does.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    word: str = ""

    @property
    def is_run(self) -> bool:
        """Whether the classes are numbered 0..K-1 or 1..K."""
        numbers = sorted(int(name) for name in self.names if name.isascii() and name.isdigit())
        first = numbers[0] if numbers else 2
        return first < 2 and numbers == list(range(first, first + len(self.names)))


class Columns:
    """The columns of a table, each looked at once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.word = {name: normalised(name) for name in table.columns}
        sizes = Counter(len(values) for values in table.columns.values())
        n_rows = sizes.most_common(1)[0][0] if sizes else 0
        self.listed: tuple[str, ...] | None = None
        for name, values in table.columns.items():
            if self.word[name] in CLASS_NAMES and (len(values) != n_rows or not table.tabular):
                self.listed = tuple(str(each) for each in values)
                del self.word[name]
        self._words: dict[str, frozenset[str]] = {}
        self._events: dict[str, tuple[str, str] | None] = {}

    @cached_property
    def numeric(self) -> list[str]:
        """Columns of numbers."""
        return [name for name in self.word if self[name].dtype.kind in "fiu"]

    @cached_property
    def fractions(self) -> list[str]:
        """Columns of numbers that are not all whole."""
        return [name for name in self.numeric if not is_whole(self[name])]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table.columns[name]

    def words(self, name: str) -> frozenset[str]:
        """Return the distinct cells of a column, without empty ones."""
        if name not in self._words:
            self._words[name] = frozenset(words_in(self[name])[1]) - {""}
        return self._words[name]

    def is_class(self, name: str) -> bool:
        """Whether cells are texts or whole numbers."""
        return self[name].dtype == object or name not in self._fractional

    @cached_property
    def _fractional(self) -> frozenset[str]:
        return frozenset(self.fractions)

    def is_flag(self, name: str) -> bool:
        """Whether cells are 0 and 1, true and false, or yes and no."""
        return is_flag(self[name]) or (self[name].dtype == object and yes_or_no(self[name]))

    def is_two_valued(self, name: str) -> bool:
        """Whether cells hold two values."""
        return self.is_class(name) and len(self.words(name)) == 2

    def says_right(self, name: str) -> bool:
        """Whether a column says of predictions whether they are right, by its name and its cells."""
        return self.word[name] in CORRECT_NAMES and says_right(self[name])

    def is_predicted(self, name: str) -> bool:
        """Whether a column holds what was predicted, by a word of its name."""
        words = set(self.word[name].split("_"))
        return bool(words & PREDICTED_WORDS) or role_of(name, "predicted") is not None

    def is_called_score(self, name: str) -> bool:
        """Whether a column of numbers has the name of a score, with a class or model in it or without."""
        return self.word[name] in CONFIDENCE_NAMES | WEAK_SCORE_NAMES or self.event_of(name) is not None

    def event_of(self, name: str) -> tuple[str, str] | None:
        """Return (what kind of score, of what) by the name of a column: prob_fraud is ("prob", "fraud")."""
        if name not in self._events:
            self._events[name] = self._event_of(name)
        return self._events[name]

    def _event_of(self, name: str) -> tuple[str, str] | None:
        if self.word[name] in KNOWN_NAMES | WEAK_SCORE_NAMES:
            return None
        for each in CONVENTIONS:
            match = each.match(name) if each.role == "score" else None
            if match is not None and match["name"]:
                return name[: match.start("name")], match["name"].strip()
        if (match := PREFIX.fullmatch(name.strip())) is not None and (
            match["join"] or match["name"].isdigit()
        ):
            return match["word"].lower() + "(" * ("(" in match["join"]), match["name"].strip().rpartition(
                "="
            )[2]
        if (match := SUFFIX.fullmatch(name.strip())) is not None:
            return "_" + match["word"].lower(), match["name"].strip()
        return None

    def frames(self, names: Iterable[str]) -> list[Frame]:
        """Return the groups of columns of scores by what their names say, the largest first."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in names:
            if (event := self.event_of(name)) is not None:
                groups.setdefault(event[0], []).append((name, event[1]))
        return _distinct(groups)

    def frames_of(self, names: Sequence[str], classes: Collection[str]) -> list[Frame]:
        """Return the groups of columns named like classes, with the same text around, the largest first.

        Classes that no label has are in the group too, if the text around ends in a mark or rows sum to 1.
        """
        around: dict[tuple[str, str], list[str]] = {}
        for name in names:
            for before, inside, after in classes_in_name(name, classes):
                around.setdefault((before, after), []).append(inside)
        frames = []
        for (before, after), found in around.items():
            named = [name for name in names if name.strip() in {f"{before}{one}{after}" for one in found}]
            alike = [name for name in names if _is_around(name.strip(), before, after)]
            if not before + after:
                alike = [name for name in alike if not self.is_called_score(name)]
            marked = before[-1:] in MARKS or after[:1] in MARKS
            chosen = alike if marked or not self.sum_to_one(named, 0.95) and self.sum_to_one(alike) else named
            cut = slice(len(before), -len(after) or None)
            frames.append(Frame(tuple(chosen), tuple(n.strip()[cut].strip() for n in chosen), before + after))
        return sorted((one for one in frames if len(one.columns) > 1), key=lambda one: -len(one.columns))

    def sums(self, names: Sequence[str]) -> np.ndarray | None:
        """Return the sums of the first rows over columns; None if the columns differ in length."""
        if len({len(self[name]) for name in names}) > 1:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.sum([self[name][:LOOKED_AT] for name in names], axis=0, dtype=np.float64))

    def sum_to_one(self, names: Sequence[str], share: float = 0.5, tolerance: float = 0.02) -> bool:
        """Whether most rows of columns sum to 1 or to 100, or exp of them does."""
        if len(names) < 2 or (sums := self.sums(names)) is None:
            return False
        if _near(sums, 1.0, tolerance) > share or _near(sums, 100.0, 2.0) > share:
            return True
        if sums.size and np.nanmax(sums, initial=-np.inf) < 0.0:
            with np.errstate(over="ignore", invalid="ignore"):
                logs = np.sum([np.exp(self[name][:LOOKED_AT]) for name in names], axis=0)
            return _near(logs, 1.0, tolerance) > share
        return False

    def separation(self, score: str, label: str, positive: str) -> tuple[float, float]:
        """Return the AUC of a score for a class, and by how many standard errors it is above 1/2."""
        step = max(1, len(self[score]) // LOOKED_AT)
        codes, words = words_in(self[label])
        values = np.asarray(self[score], dtype=np.float64)[::step]
        known = np.isfinite(values) & np.array([word != "" for word in words])[codes[::step]]
        event = (np.array([word == positive for word in words])[codes[::step]])[known]
        n_event, n_other = int(event.sum()), int((~event).sum())
        if not n_event or not n_other:
            return 0.5, 0.0
        ranks = pd.Series(values[known]).rank().to_numpy()
        auc = (ranks[event].sum() - n_event * (n_event + 1) / 2) / (n_event * n_other)
        return float(auc), float((auc - 0.5) / np.sqrt((n_event + n_other + 1) / (12 * n_event * n_other)))

    def scale_of(self, name: str) -> str:
        """Return the scale that the name of a score says."""
        return scale_of(self.word[name])


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers that are not missing are whole; most other columns show it in the first rows."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN, which is no number either
        return values.dtype.kind in "iu" or (
            values.dtype.kind == "f"
            and all((np.isnan(rows) | (rows == np.floor(rows))).all() for rows in (values[:1000], values))
        )


def is_within(values: np.ndarray, high: float = 1.0) -> bool:
    """Whether all numbers that are not missing lie from 0 to `high`, up to rounding."""
    least, most = -ROUNDING, high + ROUNDING
    with np.errstate(invalid="ignore"):
        return values.dtype.kind in "fiu" and all(
            bool((np.isnan(rows) | ((rows >= least) & (rows <= most))).all())
            for rows in (values[:1000], values)
        )


def is_flag(values: np.ndarray) -> bool:
    """Whether a column holds zeros and ones only, or True and False."""
    if values.dtype == object:
        return {str(v)[:6].lower() for v in values[:100]} <= {"true", "false"}
    with np.errstate(invalid="ignore"):  # a signalling NaN
        flags = (np.isin(rows, (0, 1)).all() for rows in (values[:1000], values))
        return values.dtype.kind in "iuf" and all(flags)


def is_row_number(values: np.ndarray) -> bool:
    """Whether a column counts the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    first = values[0]
    if not (first == 0 or first == 1) or len(values) < 3 or values[-1] != first + len(values) - 1:
        return False
    return bool((values == np.arange(len(values)) + int(first)).all())


def _near(sums: np.ndarray, value: float, tolerance: float) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.mean(np.abs(sums - value) < tolerance)) if sums.size else 0.0


def _distinct(groups: dict[str, list[tuple[str, str]]]) -> list[Frame]:
    """Return groups of two and more columns with distinct classes, the largest first."""
    found = [
        Frame(tuple(name for name, _ in pairs), tuple(of for _, of in pairs), word)
        for word, pairs in groups.items()
        if len(pairs) > 1 and len({of for _, of in pairs}) == len(pairs)
    ]
    return sorted(found, key=lambda frame: -len(frame.columns))


def _is_around(name: str, before: str, after: str) -> bool:
    inside = len(name) > len(before) + len(after)
    return inside and name.startswith(before) and name.endswith(after)


def classes_in_name(name: str, classes: Collection[str]) -> list[tuple[str, str, str]]:
    """Return (text before, class, text after) for the longest class in a name, between boundaries."""
    text = name.strip()
    if text in classes:
        return [("", text, "")]
    places = [0, *(match.start() for match in BOUNDARY.finditer(text)), len(text)]
    places = list(dict.fromkeys([*places[:MOST_BOUNDARIES], *places[-MOST_BOUNDARIES:]]))
    found: dict[str, tuple[str, str]] = {}
    for at, start in enumerate(places):
        for end in places[at + 1 :]:
            part = text[start:end]
            if part in classes and not _inside_number(text, start, end):
                found.setdefault(part, (text[:start], text[end:]))
    longest = max(map(len, found), default=0)
    return [(before, part, after) for part, (before, after) in found.items() if len(part) == longest]


def _inside_number(text: str, start: int, end: int) -> bool:
    """Whether the cut divides a number, or takes its sign away."""
    before, after = text[:start], text[end:]
    digits = text[start : start + 1].isdigit()
    return (digits and (before[-1:].isdigit() or before[-1:] == "." and before[-2:-1].isdigit())) or (
        text[end - 1 : end].isdigit() and after[:1].isdigit()
    )
