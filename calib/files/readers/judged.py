"""Files of a judge's verdicts and people's labels: exports of evaluation tools, and which column is which.

Tools nest the grades of a row, or write one line for each grade. Here each row has a column for each grade.
Which column is the verdict and which are people's labels is decided by names, or because a mostly empty
column has the classes of a full one; anything else is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.files.readers.answers import missing_cells, same_classes
from calib.files.readers.columns import is_within
from calib.files.readers.conventions import JUDGES, PEOPLE, normalised
from calib.files.readers.reading import read_table
from calib.files.readers.roles import kept_rows
from calib.files.readers.source import Limits, Progress
from calib.files.readers.tables import by_word, some_names, words_in

#: Words in names of columns of confidences, and of who labelled.
CONFIDENCE = re.compile(r"confidence|certainty|probab", re.I)
LABELLERS = re.compile(
    r"(labell?ed|annotated|graded|reviewed|rated)[ _]?by|annotator|labell?er|grader[ _]?name|author", re.I
)
#: Ends of the names of columns that are made for a grade.
JUDGE, HUMAN = ", judge", ", human"
#: Most values of a column of classes, and characters of the longest; longer cells are texts.
MOST_VALUES, LONGEST = 50, 40
#: Least share of blanks in a column that is labelled in part, and largest share in a column of verdicts.
MOSTLY_EMPTY, MOSTLY_FULL = 0.5, 0.1


@dataclass(frozen=True)
class JudgedColumns:
    """The columns of a file by name, and what some of them hold."""

    columns: Mapping[str, np.ndarray]
    verdict: tuple[str, ...]  #: Several if the judge answered repeatedly
    human: tuple[str, ...]
    rows: np.ndarray  #: (n,) int64: Places of the rows in the file; rows without a verdict are left out
    #: Columns of "confidence", "cluster", "weight" and "labelled_by", by role
    single: Mapping[str, str] = field(default_factory=dict)
    n_unanswered: int = 0  #: Rows of the file without a verdict

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the columns as `calib.judge` takes them: verdicts and labels (n, k) object."""
        several = {
            role: np.stack([np.asarray(self.columns[name], dtype=object) for name in names], axis=1)
            for role, names in (("verdict", self.verdict), ("human", self.human))
        }
        return several | {role: self.columns[name] for role, name in self.single.items()}

    @property
    def words(self) -> str:
        """What was read as what."""
        titles = {"confidence": "confidence", "cluster": "rows together", "labelled_by": "labelled by"}
        read = [f"verdict {some_names(self.verdict)}", f"people {some_names(self.human)}"]
        read += [
            f"{titles[role]} {some_names([self.single[role]])}" for role in titles if role in self.single
        ]
        n_left = self.n_unanswered
        left_out = f"; {n_left:,} row{'s' * (n_left > 1)} without a verdict left out" if n_left else ""
        return ", ".join(read) + left_out


def read_judged(
    source: Any,
    given: Mapping[str, Any],
    *,
    format: str | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> JudgedColumns:
    """Read a file and find its columns; `given` names those that are known, by fields of `JudgedColumns`."""
    table = read_table(source, format=format, limits=limits, progress=progress, unwrap=graded_rows)
    chosen = kept_rows(table, given.get("only") or ())
    columns = _by_source({name: values[chosen] for name, values in table.columns.items()})
    verdict, human = tuple(given.get("verdict") or ()), tuple(given.get("human") or ())
    roles = ("confidence", "cluster", "weight", "labelled_by")
    single = {role: given[role] for role in roles if given.get(role) is not None}
    for name in (*verdict, *human, *single.values(), given.get("sample")):
        if name is not None and name not in columns:
            raise InputError(f"there is no column {name[:60]!r}; there are: {some_names(columns) or 'none'}")
    if len(verdict) == 1 and not human and (pair := verdict[0].removesuffix(JUDGE) + HUMAN) in columns:
        human = (pair,)
    if not (verdict and human):
        pair = verdict_and_label(columns, verdict, human)
        if pair is None:
            listed = [
                f"{name!r} ({', '.join(sorted(words)[:4])}{', ...' * (len(words) > 4)})"
                for name, words in _classes(columns).items()
            ]
            raise InputError(
                "which column holds the judge's verdict, and which the labels of people? Add --verdict "
                f"COLUMN and --human COLUMN; columns with classes: {', '.join(listed[:12]) or 'none'}"
            )
        verdict, human = pair[:1], pair[1:]
    if sample := given.get("sample"):
        columns, verdict = _repeated(columns, sample, verdict[0])
    others = [name for name in columns if name not in (*verdict, *human)]
    labellers = [name for name in others if LABELLERS.search(name) and columns[name].dtype == object]
    confidences = [name for name in others if CONFIDENCE.search(name) and is_within(columns[name])]
    if len(confidences) == 1 and len(verdict) == 1:
        single.setdefault("confidence", confidences[0])
    if len(labellers) == 1:
        single.setdefault("labelled_by", labellers[0])
    answered = ~np.all([missing_cells(columns[name]) for name in verdict], axis=0)
    kept, rows = {name: values[answered] for name, values in columns.items()}, np.flatnonzero(answered)
    n_left = len(answered) - len(rows)
    return _in_same_words(JudgedColumns(kept, verdict, human, rows, single, n_left))


def _repeated(
    columns: Mapping[str, np.ndarray], sample: str, verdict: str
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Put the verdicts of lines with one id side by side; other columns hold their first value."""
    table = pd.DataFrame({name: values for name, values in columns.items()}).astype(object)
    table = table.mask(np.stack([missing_cells(values) for values in columns.values()], axis=1), None)
    place = table.groupby(sample).cumcount()
    answers = table.assign(place=place).pivot(index=sample, columns="place", values=verdict)
    first = table.groupby(sample).first().reset_index()
    found = {str(name): first[name].infer_objects().to_numpy() for name in first if name != verdict}
    repeats = {f"{verdict} {k + 1}": each for k, each in enumerate(answers.to_numpy(dtype=object).T)}
    return {**found, **repeats}, tuple(repeats)


def verdict_and_label(
    columns: Mapping[str, np.ndarray], verdict: Sequence[str] = (), human: Sequence[str] = ()
) -> tuple[str, str] | None:
    """Return the only columns of a judge's verdicts and of people's labels; None if they cannot be told."""
    classes = _classes(columns)
    people = human or [name for name in classes if PEOPLE.search(name) and name not in verdict]
    judges = verdict or [name for name in classes if JUDGES.search(name) and name not in people]
    empty = {name: float(missing_cells(columns[name]).mean()) for name in columns}
    partly = [name for name in human or classes if empty[name] > MOSTLY_EMPTY]
    whole = [name for name in verdict or classes if empty[name] < MOSTLY_FULL]
    for full, part in ((judges, people), (whole, partly)):
        pairs = [(one, other) for one in full for other in part if _alike(classes, one, other)]
        if len(pairs) == 1:
            return pairs[0]
    return None


def _classes(columns: Mapping[str, np.ndarray]) -> dict[str, set[str]]:
    found = {}
    for name, values in columns.items():
        words = _words(values)
        few = 1 < len(words) <= min(MOST_VALUES, max(len(values) // 2, 2))
        few = few and max(map(len, words)) <= LONGEST
        if few and not (CONFIDENCE.search(name) or LABELLERS.search(name)):
            found[name] = words
    return found


def _alike(classes: Mapping[str, set[str]], one: str, other: str) -> bool:
    """Whether two columns hold the same classes, perhaps in other words; a column that is no class is."""
    if one == other or not (one in classes and other in classes):
        return one != other
    first, second = classes[one], classes[other]
    return bool(first & second) or same_classes(sorted(second), sorted(first)) is not None


def _words(*columns: np.ndarray) -> set[str]:
    return {word for values in columns for word in words_in(values)[1]} - {"", "nan"}


def _in_same_words(found: JudgedColumns) -> JudgedColumns:
    """Write labels in the words of the verdicts if they use others for the same two classes: 1 for pass."""
    said, labelled = (_words(*(found.columns[n] for n in names)) for names in (found.verdict, found.human))
    if len(said) != 2 or said & labelled or not (same := same_classes(sorted(labelled), sorted(said))):
        return found
    renamed = {name: by_word(found.columns[name], same.get, object) for name in found.human}
    return replace(found, columns={**found.columns, **renamed})


def graded_rows(content: Any) -> Any:
    """Return a record for each row of an export of promptfoo, Inspect or DeepEval; all else as it is."""
    results = _inside(content, "results")
    cases = _inside(content, "testCases", "test_cases", "testResults", "test_results")
    for rows, grades, record_of in (
        (_inside(results, "results") or results, ("gradingResult",), _of_promptfoo),
        (_inside(content, "samples"), ("scores",), _of_inspect),
        (cases, ("metricsData", "metrics_data"), _of_deepeval),
    ):
        if any(_inside(row, *grades) for row in _objects(rows)):
            return [record_of(row) for row in _objects(rows)]
    return content


def _inside(value: Any, *names: str) -> Any:
    """Return the first entry of an object that is not empty; None if it has none, or is none."""
    found = (value.get(name) for name in names) if isinstance(value, dict) else ()
    return next((entry for entry in found if entry), None)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _of_promptfoo(row: dict[str, Any]) -> dict[str, Any]:
    grading = _inside(row, "gradingResult")
    parts = _objects(_inside(grading, "componentResults"))
    people = [part for part in parts if _inside(part.get("assertion"), "type") == "human"]
    graded = [part.get("pass") for part in parts if part not in people]
    alone = grading.get("pass") if isinstance(grading, dict) and not people else None
    return {
        "id": _cell(row.get("id")),
        "test": _cell(row.get("testIdx")),
        "verdict": _passed(all(graded) if graded else alone),
        "human": _passed(people[-1].get("pass") if people else None),
    }


def _of_inspect(row: dict[str, Any]) -> dict[str, Any]:
    """Return what scorers said, and what people made of it: edits of a score keep its former values."""
    record = {"id": _cell(row.get("id")), "epoch": _cell(row.get("epoch"))}
    scores = _inside(row, "scores")
    for name, score in scores.items() if isinstance(scores, dict) else ():
        history = _objects(_inside(score, "history"))
        values = [edit.get("value") for edit in history or _objects([score])]
        known = [value for value in values if value != "UNCHANGED"] or [None]
        record[f"{name}{JUDGE}"] = _cell(known[0])
        edited = any(_inside(edit, "provenance") for edit in history)
        record[f"{name}{HUMAN}"] = _cell(known[-1]) if edited else None
    return record


def _of_deepeval(row: dict[str, Any]) -> dict[str, Any]:
    further = _inside(row, "additionalMetadata", "additional_metadata")
    record = {"id": _cell(row.get("name"))}
    record |= {name: _cell(value) for name, value in further.items()} if isinstance(further, dict) else {}
    for metric in _objects(_inside(row, "metricsData", "metrics_data")):
        record[f"{metric.get('name')}{JUDGE}"] = _passed(metric.get("success"))
    return record


def _passed(passed: Any) -> str | None:
    return None if passed is None else "pass" if passed else "fail"


def _cell(value: Any) -> Any:
    return None if isinstance(value, (dict, list)) else value


def _by_source(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a column for each score of Langfuse, by judges and by people, with a row for each trace."""
    named = {normalised(name).replace("_", ""): name for name in columns}
    if not {"traceid", "name", "source", "value"} <= named.keys():
        return columns
    table = pd.DataFrame({key: columns[name] for key, name in named.items()}).astype(object)
    by_people = table["source"].astype(str).str.upper() == "ANNOTATION"
    table["name"] = table["name"].astype(str) + np.where(by_people, HUMAN, JUDGE)
    if "stringvalue" in table:
        missing = missing_cells(columns[named["stringvalue"]])
        table["value"] = table["value"].where(missing, table["stringvalue"])
    rows = [name for name in ("traceid", "observationid") if name in table]
    table[rows] = table[rows].fillna("")
    wide = table.pivot_table("value", rows, "name", aggfunc="last", dropna=False)
    wide = wide.dropna(how="all").reset_index()
    return {str(name): wide[name].infer_objects().to_numpy() for name in wide}
