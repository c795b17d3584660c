"""Project files: everything a session holds, in one file that is data and never code.

A project is a zip archive of `project.json`, of arrays as NPY and of calibrator files. Sizes and headers are
checked before data are read.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.outputs import write_whole
from calib.base.version import __version__
from calib.data.kinds import KINDS
from calib.data.predictions import Announcement
from calib.files.readers.archives import open_archive, refuse_damage
from calib.files.readers.json import check_objects
from calib.files.readers.numpy import read_array
from calib.files.readers.roles import Roles
from calib.files.readers.source import Limits, Source, open_source
from calib.files.readers.tables import Table, check_distinct, packed_table
from calib.files.saved.document import MAX_BYTES, aligned, dumps, loads

__all__ = ["Project"]

FORMAT = "calib-project"
VERSION = 1
MANIFEST = "project.json"
MANIFEST_KEYS = {
    *("format", "version", "calib_version", "date", "name", "description", "simulated", "split", "roles"),
    *("fixes", "notes", "settings", "truth", "evaluation", "calibration", "calibrators", "upload"),
    *("model", "models"),
}
#: Characters of the longest notes and of the longest other text, most settings, calibrators and models.
LONGEST_NOTES = 100_000
LONGEST_TEXT = 10_000
MOST_ENTRIES = 1_000
#: Files of an upload: predictions, labels, calibration predictions, calibration labels.
FILES = 4

#: Settings of a page, by the names of its controls in an address.
Settings = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, eq=False)
class Upload:
    """The files that the rows of a project were read from, and the fixes that were accepted in them."""

    #: Content of the files: predictions, labels, calibration predictions, calibration labels
    tables: tuple[Table | None, ...]
    #: By part, "evaluation" or "calibration", the codes of the fixes in the order they were accepted
    accepted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FurtherModel:
    """Another model on the rows of a project, with its calibrators."""

    #: As the fields of `Project`
    evaluation: Any
    calibration: Any = None
    calibrators: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Project:
    """Predictions with the decisions about them: roles, fixes, calibrators, settings, notes.

    Examples
    --------
    >>> import io
    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions([[0.7, 0.3], [0.2, 0.8]], labels=[0, 1])
    >>> file = io.BytesIO()
    >>> Project("two rows", rows, notes="to be continued").save(file)
    >>> again = Project.load(file.getvalue())
    >>> again.notes, again.evaluation.fingerprint == rows.fingerprint
    ('to be continued', True)
    """

    name: str  #: Name of the data, such as their file's
    evaluation: Any  #: predictions of any kind: Rows that every number is computed from
    calibration: Any = None  #: predictions of the same kind, or None: Rows that calibrators are fitted on
    description: str = ""  #: Where the rows come from, and how they were divided
    simulated: bool = False  #: Whether they were drawn from a simulated population
    truth: np.ndarray | None = None  #: (n,) float64 or None: Known P(Y = c(x) | x) of the evaluation rows
    #: Share of the rows that calib drew for calibration, with seed 0; None if it drew none
    split: float | None = None
    roles: Roles | None = None  #: The role of each column of the file
    fixes: tuple[str, ...] = ()  #: Fixes that were accepted, one line each
    #: mapping of str to fitted calibrator: Calibrators by the name they are shown under
    calibrators: Mapping[str, Any] = field(default_factory=dict)
    #: By name of a calibrator, the number of candidates among which the calibration rows chose it, if several
    choices: Mapping[str, int] = field(default_factory=dict)
    model: str = ""  #: Name of the model whose rows these are; empty if it is alone
    #: mapping of str to FurtherModel: Further models on the same rows
    models: Mapping[str, FurtherModel] = field(default_factory=dict)
    #: mapping of str to mapping of str to str: By the page, the parameters of its address
    settings: Settings = field(default_factory=dict)
    notes: str = ""  #: What the user wrote
    upload: Upload | None = None  #: The files the rows were read from, so that roles and fixes can be changed

    def __post_init__(self) -> None:
        parts = [
            (name, rows)
            for name, model in self.models.items()
            for rows in (model.evaluation, model.calibration)
        ]
        for what, rows in (("calibration", self.calibration), *parts):
            if rows is None:
                continue
            if rows.kind != self.evaluation.kind or rows.class_names != self.evaluation.class_names:
                raise InputError(
                    f"the rows of {what!r} differ from the evaluation rows in kind or classes; a project is "
                    "about one problem"
                )
        n_samples = self.evaluation.n_samples
        for what, n in (
            *((name, model.evaluation.n_samples) for name, model in self.models.items()),
            ("truth", n_samples if self.truth is None else len(self.truth)),
        ):
            if n != n_samples:
                raise InputError(f"{what!r} has {n:,} rows, and there are {n_samples:,} evaluation rows")
        if self.evaluation.labels is None:
            raise InputError("the evaluation rows of a project need true labels")
        for calibrators in (self.calibrators, *(further.calibrators for further in self.models.values())):
            for calibrator in calibrators.values():
                aligned(self.evaluation, calibrator)

    def save(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the project to a file, by custom named ``.calib``, that `load` reads back to the last bit.

        Metadata keep numbers, times without a zone, texts and missing values; other values become text.

        Raises
        ------
        OSError
            If a path cannot be written; an earlier file is unchanged.
        """
        write_whole(file, self._bytes())

    @classmethod
    def load(
        cls, source: str | os.PathLike[str] | bytes | BinaryIO, *, limits: Limits | None = None
    ) -> Project:
        """Read a project file (path, bytes or binary file object) within `limits`; nothing in it is executed.

        Raises
        ------
        InputError
            If it is no project file, is damaged, or exceeds a limit; the message says what and where.
        """
        limits = (limits or Limits()).begun()
        opened = open_source(source, limits)
        if not is_project(opened.head(4), lambda: opened.open()):
            raise InputError(
                f"{opened.name!r} is not a project file: it is no archive with a {MANIFEST!r}; give the file "
                "that calib wrote when the project was saved"
            )
        with opened.open() as file, open_archive(file, "project file") as archive:
            return _Reading(archive, opened, limits).project()

    def frame(self) -> pd.DataFrame:
        """Return the content of the project, one row for each part, in columns "what" and "holds"."""
        rows = self.evaluation
        lines = [
            ("data", self.name),
            ("kind", rows.kind),
            ("evaluation rows", f"{rows.n_samples:,}"),
            ("calibration rows", "none" if self.calibration is None else f"{self.calibration.n_samples:,}"),
        ]
        if rows.class_names and rows.kind != "confidence":
            lines.append(("classes", f"{len(rows.class_names):,}"))
        lines += [("fixed", line) for line in self.fixes]
        lines += [("calibrator", name) for name in self.calibrators]
        if self.model:
            lines.append(("model", self.model))
        for name, model in self.models.items():
            lines.append(("further model", name))
            lines += [(f"calibrator of {name}", calibrator) for calibrator in model.calibrators]
        lines += [(f"settings of {page}", _in_words(values)) for page, values in self.settings.items()]
        if self.notes:
            lines.append(("notes", self.notes))
        return pd.DataFrame(lines, columns=["what", "holds"])

    def _bytes(self) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            writing = _Writing(archive)
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "calib_version": __version__,
                "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "name": self.name,
                "description": self.description,
                "simulated": self.simulated,
                "split": self.split,
                "roles": None if self.roles is None else asdict(self.roles),
                "fixes": list(self.fixes),
                "notes": self.notes,
                "settings": {page: dict(values) for page, values in self.settings.items()},
                "truth": writing.array(self.truth),
                "evaluation": writing.rows(self.evaluation),
                "calibration": None if self.calibration is None else writing.rows(self.calibration),
                "calibrators": writing.calibrators(self, self),
                "model": self.model,
                "models": [
                    {
                        "name": name,
                        "evaluation": writing.rows(model.evaluation),
                        "calibration": None if model.calibration is None else writing.rows(model.calibration),
                        "calibrators": writing.calibrators(model, self),
                    }
                    for name, model in self.models.items()
                ],
            }
            if self.upload is not None:
                manifest["upload"] = {
                    "tables": [writing.table(table) for table in self.upload.tables],
                    "accepted": {part: list(codes) for part, codes in self.upload.accepted.items()},
                }
            _check_texts(manifest)
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1, allow_nan=False))
        return buffer.getvalue()


def is_project(head: bytes, opened: Callable[[], BinaryIO]) -> bool:
    """Return whether a file with these first bytes, which `opened` opens, is a project file."""
    if not head.startswith(b"PK"):
        return False
    with opened() as file:
        try:
            with refuse_damage("project file"), zipfile.ZipFile(file) as archive:
                return MANIFEST in archive.namelist()
        except InputError:
            return False


def _in_words(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


class _Writing:
    """Arrays and calibrators to be written into an archive, each with its own name."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.names: Iterator[int] = count()
        self.written: dict[int, tuple[Any, str]] = {}

    def array(self, array: np.ndarray | None) -> str | None:
        if array is None:
            return None
        if id(array) not in self.written:
            name = f"arrays/{next(self.names)}.npy"
            with self.archive.open(name, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            self.written[id(array)] = array, name
        return self.written[id(array)][1]

    def rows(self, rows: Announcement) -> dict[str, Any]:
        values: dict[str, Any] = {}
        arrays: dict[str, str | None] = {}
        for name, value in rows.__getstate__().items():
            if isinstance(value, np.ndarray):
                arrays[name] = self.array(value)
            elif name != "metadata":
                values[name] = list(value) if isinstance(value, tuple) else value
        table = rows.metadata
        columns = None if table is None else [self._column(name, table[name]) for name in table.columns]
        return {"kind": rows.kind, "values": values, "arrays": arrays, "metadata": columns}

    def _column(self, name: Any, values: pd.Series) -> dict[str, Any]:
        """Describe a column: numbers and times as an array, others as codes of their distinct values."""
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biufmM":
            times = values.dtype.kind in "mM"
            array = values.to_numpy().view(np.int64) if times else values.to_numpy()
            return {"name": str(name), "dtype": values.dtype.str, "array": self.array(array)}
        words: dict[Any, int] = {}
        codes = np.fromiter(
            (words.setdefault(_word(value), len(words)) for value in values.tolist()), np.int64, len(values)
        )
        dtype = "str" if isinstance(values.dtype, pd.StringDtype) else "object"
        return {"name": str(name), "dtype": dtype, "words": list(words), "array": self.array(codes)}

    def table(self, table: Table | None) -> dict[str, Any] | None:
        if table is None:
            return None
        columns = [
            {"name": name}
            if name in table.packed_names
            else self._column(name, pd.Series(values, dtype=object if values.dtype == object else None))
            for name, values in table.columns.items()
        ]
        return {
            "format": table.format,
            "columns": columns,
            "matrices": {name: self.array(matrix) for name, matrix in table.matrices.items()},
            "packed": self.array(table.packed),
            "packed_names": list(table.packed_names),
            "ignored": list(table.ignored),
        }

    def calibrators(self, model: Project | FurtherModel, project: Project) -> list[dict[str, Any]]:
        described = []
        for name, calibrator in model.calibrators.items():
            file = f"calibrators/{next(self.names)}.json"
            self.archive.writestr(file, dumps(calibrator, fitted_on=model.calibration, log=project.fixes))
            described.append({"name": name, "choices": int(model.choices.get(name, 1)), "file": file})
        return described


class _Reading:
    """A project file that is being read; all content is checked before use."""

    def __init__(self, archive: zipfile.ZipFile, source: Source, limits: Limits) -> None:
        self.archive, self.source, self.limits = archive, source, limits
        infos = archive.infolist()
        self.members = {info.filename: info for info in infos}
        if len(self.members) < len(infos):
            raise InputError("the project file holds two members of one name; save it again")
        if len(infos) > 10 * limits.members:
            raise InputError(f"the project file holds {len(infos):,} members, over {10 * limits.members:,}")
        limits.check_expanded(sum(info.file_size for info in infos), source.size)
        self.arrays: dict[str, np.ndarray] = {}
        self.cells = 0

    def content(self, name: Any, most: int) -> bytes:
        info = self.members.get(name) if isinstance(name, str) else None
        if info is None:
            raise InputError(f"the project file lacks the member {str(name)[:60]!r}; save it again")
        if info.file_size > most:
            raise InputError(
                f"the project file: {name} has more than {most:,} bytes; it is too large to load"
            )
        with refuse_damage("project file"):
            return self.archive.read(info)

    def project(self) -> Project:
        text = self.content(MANIFEST, self.limits.json_bytes)
        check_objects(text, self.limits)
        try:
            manifest = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(f"the project file: {MANIFEST} is not JSON; save it again") from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise InputError(f'the project file: {MANIFEST} has no "format": "{FORMAT}"')
        if manifest.get("version") != VERSION:
            raise InputError(
                f"the project file has version {str(manifest.get('version'))[:20]}; this calib reads "
                f"version {VERSION}"
            )
        _closed(manifest, MANIFEST_KEYS, MANIFEST)
        _check_texts(manifest)
        truth = manifest.get("truth")
        models = _entries(manifest, "models", {"name", "evaluation", "calibration", "calibrators"})
        return Project(
            name=manifest["name"],
            description=manifest["description"],
            simulated=manifest.get("simulated") is True,
            truth=None if truth is None else self.array(truth),
            split=_share(manifest.get("split")),
            roles=_roles(manifest.get("roles")),
            fixes=tuple(manifest["fixes"]),
            model=manifest["model"],
            models={described["name"]: FurtherModel(**self.model(described)) for described in models},
            settings=manifest["settings"],
            notes=manifest["notes"],
            upload=self.upload(manifest.get("upload")),
            **self.model(manifest),
        )

    def model(self, data: dict[str, Any]) -> dict[str, Any]:
        calibration = data.get("calibration")
        calibrators = _entries(data, "calibrators", {"name", "choices", "file"})
        return {
            "evaluation": self.rows(data.get("evaluation")),
            "calibration": None if calibration is None else self.rows(calibration),
            "calibrators": {
                calibrator["name"]: loads(self.content(calibrator.get("file"), MAX_BYTES))
                for calibrator in calibrators
            },
            "choices": {
                calibrator["name"]: calibrator["choices"]
                for calibrator in calibrators
                if type(calibrator.get("choices")) is int and calibrator["choices"] > 1
            },
        }

    def upload(self, data: Any) -> Upload | None:
        if data is None:
            return None
        given = data if isinstance(data, dict) else {}
        _closed(given, {"tables", "accepted"}, "an upload")
        tables, accepted = given.get("tables"), given.get("accepted")
        if not isinstance(tables, list) or len(tables) != FILES:
            raise InputError(
                f"the project file: an upload has {FILES} tables, null for a file that is missing"
            )
        if not isinstance(accepted, dict) or not set(accepted) <= {"evaluation", "calibration"}:
            raise InputError("the project file: accepted fixes must be lists by part of the rows")
        found: dict[str, tuple[str, ...]] = {}
        for part, codes in accepted.items():
            if len(_listed(codes, "accepted")) > MOST_ENTRIES or not all(isinstance(c, str) for c in codes):
                raise InputError("the project file: accepted fixes must be codes of findings")
            found[part] = tuple(codes)
        return Upload(tuple(None if table is None else self.table(table) for table in tables), found)

    def table(self, data: Any) -> Table:
        keys = {"format", "columns", "matrices", "packed", "packed_names", "ignored"}
        if not isinstance(data, dict) or set(data) != keys:
            raise InputError(f"the project file: a table has the keys {', '.join(sorted(keys))}")
        columns, matrices, names = data["columns"], data["matrices"], data["packed_names"]
        texts = (data["format"], *_listed(names, "packed_names"), *_listed(data["ignored"], "ignored"))
        if not all(isinstance(text, str) for text in texts) or not isinstance(matrices, dict):
            raise InputError("the project file: the names of a table must be texts")
        if not all(isinstance(entry, dict) for entry in _listed(columns, "columns")):
            raise InputError("the project file: the columns of a table must be objects")
        self.limits.check_columns(len(columns))
        check_distinct([str(described.get("name")) for described in columns])
        packed = None if data["packed"] is None else self.array(data["packed"])
        given: dict[str, Any] = {}
        side_by_side = set(names)
        for column in columns:
            name = column.get("name")
            if name in side_by_side:
                _closed(column, {"name"}, "a column of floats side by side")
                given[name] = None
                continue
            values = self.column(column)
            if values.dtype == object and not all(isinstance(value, str) for value in set(values.tolist())):
                raise InputError(f"the project file: column {str(name)[:60]!r} must hold texts or numbers")
            given[name] = values
        if packed is not None and (
            packed.ndim != 2 or packed.dtype.kind != "f" or packed.shape[1] != len(names)
        ):
            raise InputError("the project file: packed columns must be one matrix of floats, a column each")
        if set(names) - set(given) or len(set(names)) < len(names) or bool(names) != (packed is not None):
            raise InputError("the project file: packed_names must name columns of the table, once each")
        arrays = {name: self.array(at) for name, at in matrices.items()}
        if not all(matrix.ndim == 2 and matrix.dtype.kind in "fiub" for matrix in arrays.values()):
            raise InputError("the project file: the matrices of a table must hold rows of numbers")
        if packed is None:
            table = Table(data["format"], given, arrays)
        else:
            table = packed_table(packed, names, given, format=data["format"], matrices=arrays)
        sizes = {len(values) for values in (*table.columns.values(), *table.matrices.values())}
        if table.tabular and len(sizes) > 1:
            raise InputError("the project file: the columns of a table have different numbers of rows")
        return replace(table, ignored=tuple(data["ignored"]))

    def array(self, name: Any) -> np.ndarray:
        info = self.members.get(name) if isinstance(name, str) else None
        if info is None:
            raise InputError(f"the project file lacks the array {str(name)[:60]!r}; save it again")
        if name not in self.arrays:
            with refuse_damage("project file"), self.archive.open(info) as member:
                array = read_array(member, info.file_size, self.limits, f"array {name!r}")  # type: ignore[arg-type]
            array.flags.writeable = False
            self.arrays[name] = array
        return self.arrays[name]

    def rows(self, data: Any) -> Any:
        kind = data.get("kind") if isinstance(data, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise InputError(
                f"the project file holds rows of kind {str(kind)[:40]!r}; expected one of {', '.join(KINDS)}"
            )
        _closed(data, {"kind", "values", "arrays", "metadata"}, "predictions")
        values, arrays = data.get("values"), data.get("arrays")
        made_of: Any = KINDS[kind].type
        known = {field_.name for field_ in fields(made_of)} - {"metadata"}
        if not isinstance(values, dict) or not isinstance(arrays, dict) or {*values, *arrays} - known:
            raise InputError(f"the project file: rows of kind {kind!r} have the fields {', '.join(known)}")
        coverage = values.get("coverage", 1.0)
        if type(coverage) not in (int, float) or not 0.0 < coverage <= 1.0:
            raise InputError(f"the project file: coverage must be in (0, 1]; got {str(coverage)[:40]}")
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        given |= {name: self.array(at) for name, at in arrays.items()}
        try:
            return made_of(**given, metadata=self.metadata(data.get("metadata")))
        except TypeError:  # a field is missing, or holds what no constructor expects
            raise InputError(
                f"the project file: rows of kind {kind!r} are incomplete; save it again"
            ) from None

    def metadata(self, columns: Any) -> pd.DataFrame | None:
        if columns is None:
            return None
        if not isinstance(columns, list) or not all(isinstance(entry, dict) for entry in columns):
            raise InputError("the project file: metadata must be a list of columns")
        self.limits.check_columns(len(columns))
        table: dict[str, Any] = {}
        for column in columns:
            values = self.column(column)
            as_text = column.get("dtype") == "str" and "words" in column
            table[column["name"]] = pd.Series(values, dtype="str" if as_text else values.dtype)
        return pd.DataFrame(table)

    def column(self, column: dict[str, Any]) -> np.ndarray:
        """Return the values of a column: numbers, times, or an object array of the words of its codes."""
        _closed(column, {"name", "dtype", "words", "array"}, "a column")
        name, dtype, array = column.get("name"), column.get("dtype"), self.array(column.get("array"))
        self.cells += array.size
        self.limits.check_expanded(8 * self.cells, self.limits.expanded_bytes)
        if not isinstance(name, str) or array.ndim != 1:
            raise InputError("the project file: a column of metadata has no name, or is no column")
        if "words" not in column:
            return _numbers(array, dtype, name)
        words = column["words"]
        if not isinstance(words, list) or array.dtype != np.int64 or len(array) == 0:
            raise InputError(f"the project file: column {name[:60]!r} must hold whole codes of its words")
        if array.min() < 0 or array.max() >= len(words):
            raise InputError(f"the project file: column {name[:60]!r} has a code without a word")
        values = np.empty(len(words), dtype=object)
        values[:] = [_value(word) for word in words]
        return values[array]


def _listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"the project file: {what} must be a list; got {str(value)[:40]}")
    return value


def _word(value: Any) -> str:
    """Return a value of a column as JSON: texts, numbers and missing values as they are, else as text."""
    if value is pd.NA or value is pd.NaT:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps([str(value)])
    plain = value is None or type(value) in (bool, int, float, str)
    return json.dumps(value if plain else str(value))


def _value(word: Any) -> Any:
    try:
        value = json.loads(word)
        value = float(value[0]) if isinstance(value, list) else value
    except (TypeError, ValueError, IndexError, RecursionError):
        raise InputError(f"the project file: metadata holds {str(word)[:40]!r}, which is no value") from None
    if isinstance(value, dict):
        raise InputError(f"the project file: metadata holds {str(word)[:40]!r}, which is no value")
    return value


def _numbers(array: np.ndarray, dtype: Any, name: str) -> np.ndarray:
    """Return a column of numbers, or of times that were stored as whole numbers."""
    if isinstance(dtype, str) and dtype[1:3] in ("M8", "m8") and array.dtype == np.int64:
        try:
            return array.view(np.dtype(dtype))
        except (TypeError, ValueError):
            raise InputError(f"the project file: column {name[:60]!r} has times of an unknown unit") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"the project file: column {name[:60]!r} must hold numbers")
    return array


def _closed(data: Mapping[str, Any], known: set[str], what: str) -> None:
    if unknown := data.keys() - known:
        raise InputError(
            f"the project file: {what} has the key {min(unknown)[:40]!r}, which no calib writes; it may have "
            f"{', '.join(sorted(known))}"
        )


def _entries(manifest: dict[str, Any], key: str, known: set[str]) -> list[dict[str, Any]]:
    entries = manifest.get(key)
    if not isinstance(entries, list) or len(entries) > MOST_ENTRIES:
        raise InputError(f"the project file: {key} must be a list of at most {MOST_ENTRIES:,} entries")
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    if not all(isinstance(name, str) and 0 < len(name) <= LONGEST_TEXT for name in names):
        raise InputError(f"the project file: every one of {key} needs a name")
    if len(set(names)) < len(names):
        raise InputError(f"the project file: two of {key} have one name")
    for entry in entries:
        _closed(entry, known, f"one of {key}")
    return entries


def _share(value: Any) -> float | None:
    if value is None or (type(value) is float and 0.0 < value < 1.0):
        return value
    raise InputError(f"the project file: split must be null or a share; got {str(value)[:40]}")


def _roles(data: Any) -> Roles | None:
    if data is None:
        return None
    names = {field_.name for field_ in fields(Roles)}
    if not isinstance(data, dict) or not set(data) <= names or "probabilities" not in data:
        raise InputError("the project file: roles must name columns by role, and nothing else")
    texts = [
        text
        for value in data.values()
        for text in (value if isinstance(value, list) else [value])
        if text is not None
    ]
    if not all(isinstance(text, str) for text in texts):
        raise InputError("the project file: roles must hold names of columns")
    given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in data.items()}
    return Roles(**given)


def _check_texts(manifest: dict[str, Any]) -> None:
    """Refuse values that are no texts, and texts that are too long."""
    texts = {"name": LONGEST_TEXT, "description": LONGEST_TEXT, "model": LONGEST_TEXT, "notes": LONGEST_NOTES}
    for key, longest in texts.items():
        text = manifest.get(key)
        if not isinstance(text, str) or len(text) > longest:
            raise InputError(f"a project's {key} must be a text of at most {longest:,} characters")
    fixes, settings = manifest.get("fixes"), manifest.get("settings")
    if not isinstance(fixes, list) or len(fixes) > MOST_ENTRIES:
        raise InputError(f"a project's fixes must be at most {MOST_ENTRIES:,} lines")
    if not isinstance(settings, dict) or not all(isinstance(setting, dict) for setting in settings.values()):
        raise InputError("a project's settings must be parameters by page")
    page_texts = [text for page, values in settings.items() for text in (page, *values, *values.values())]
    if len(page_texts) > MOST_ENTRIES:
        raise InputError(f"a project's settings must be at most {MOST_ENTRIES:,} texts")
    if not all(isinstance(text, str) and len(text) <= LONGEST_TEXT for text in (*fixes, *page_texts)):
        raise InputError(
            f"a project's fixes and settings must be texts of at most {LONGEST_TEXT:,} characters"
        )
