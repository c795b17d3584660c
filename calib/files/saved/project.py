"""Project files: everything a session holds, in one file that is data and never code.

A project is a zip archive of `project.json`, of rows as Parquet, of uploaded files as they were, and of
calibrator files. Sizes and headers are checked before data are read. Rows in version 1 were arrays as NPY,
and texts in the manifest.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from types import SimpleNamespace
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from calib.base.exceptions import CalibratorFileError, InputError
from calib.base.outputs import write_whole
from calib.base.version import __version__
from calib.data.kinds import KINDS
from calib.data.notions import PerClass
from calib.data.predictions import BasePrediction
from calib.data.validation import as_scores
from calib.files.readers.arrow import read_parquet
from calib.files.readers.numpy import read_array
from calib.files.readers.reading import refuse_unreadable
from calib.files.readers.roles import Choice, Roles
from calib.files.readers.source import Limits, Source, open_archive, open_source
from calib.files.readers.tables import check_distinct, frozen
from calib.files.saved.document import (
    DATE,
    VERSION_NUMBER,
    aligned,
    check_version,
    dumps,
    loads,
    parse,
    today,
)
from calib.files.saved.fields import (
    ANY,
    FLAG,
    SURROGATE,
    Field,
    Listed,
    Maybe,
    Named,
    Record,
    WordOr,
    choice,
    free_text,
    mismatch,
    naming_file,
    real,
    text,
    whole,
)
from calib.files.saved.members import NAME, Content, Members, packed

__all__ = ["Project"]

FORMAT, VERSION = "calib-project", 2
MANIFEST = "project.json"
#: Most calibrators, models, fixes and settings of a page.
MOST_ENTRIES = 1_000
#: Files of an upload: predictions, labels, calibration predictions, calibration labels.
FILES = 4
#: Settings of a page, by the names of its controls in an address.
Settings = Mapping[str, Mapping[str, str]]


class UploadedFile(NamedTuple):
    name: str
    content: bytes


@dataclass(frozen=True, eq=False)
class Upload:
    """The files that the rows of a project were read from, and the fixes that were accepted in them."""

    #: Predictions, labels, calibration predictions, calibration labels
    files: tuple[UploadedFile | None, ...]
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
        own = self.evaluation
        if own.labels is None:
            raise InputError("the evaluation rows of a project need true labels")
        parts = [("calibration", self.calibration)]
        sizes = [] if self.truth is None else [("truth", len(self.truth))]
        for name, model in self.models.items():
            parts += [(name, model.evaluation), (name, model.calibration)]
            sizes.append((name, model.evaluation.n_samples))
        for what, rows in parts:
            if rows is not None and (rows.kind, rows.class_names) != (own.kind, own.class_names):
                raise InputError(
                    f"the rows of {what!r} differ from the evaluation rows in kind or classes; a project is "
                    "about one problem"
                )
        for what, n in sizes:
            if n != own.n_samples:
                raise InputError(f"{what!r} has {n:,} rows, and there are {own.n_samples:,} evaluation rows")
        for calibrators in (self.calibrators, *(model.calibrators for model in self.models.values())):
            for calibrator in calibrators.values():
                aligned(own, calibrator)

    def save(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the project to a file, by custom named ``.calib``, that `load` reads back to the last bit.

        Metadata keep numbers, times without a zone, texts and missing values; other values become text.

        Raises
        ------
        OSError
            If a path cannot be written; an earlier file is unchanged.
        """
        truth = io.BytesIO()
        np.save(truth, np.zeros(0) if self.truth is None else self.truth, allow_pickle=False)
        own = {
            **{"format": FORMAT, "version": VERSION, "calib_version": __version__, "date": today()},
            "truth": None if self.truth is None else truth.getvalue(),
            "models": [_described(model, self, name=name) for name, model in self.models.items()],
        }
        members = Members()
        manifest = _manifest(members).encode(_described(self, self, **own))
        _ABOUT.decode({name: manifest[name] for name in _ABOUT.fields}, "", {})
        # Last in the archive: the app recognises a project by the end of its list.
        members.added[MANIFEST] = json.dumps(manifest, indent=1, allow_nan=False).encode()
        write_whole(file, packed(members.added))

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
        foreign = (
            f"{opened.name!r} is not a project file: it is no archive with a {MANIFEST!r}; give the file "
            "that calib wrote when the project was saved"
        )
        if opened.head(2) != b"PK":
            raise InputError(foreign)
        with opened.open() as file, open_archive(file, "project file") as archive:
            members = Members(archive, opened.size, limits)
            if MANIFEST not in members.infos:
                raise InputError(foreign)
            with naming_file("project file"):
                return cls(**_decoded(members))

    def frame(self) -> pd.DataFrame:
        """Return the content of the project, one row for each part, in columns "what" and "holds"."""
        rows = self.evaluation
        lines = [
            ("data", self.name),
            ("kind", rows.kind),
            ("evaluation rows", f"{rows.n_samples:,}"),
            ("calibration rows", "none" if self.calibration is None else f"{self.calibration.n_samples:,}"),
        ]
        if rows.class_names and "classes" in rows.has:
            lines.append(("classes", f"{len(rows.class_names):,}"))
        lines += [("fixed", line) for line in self.fixes]
        lines += [("calibrator", name) for name in self.calibrators]
        if self.model:
            lines.append(("model", self.model))
        for name, model in self.models.items():
            lines.append(("further model", name))
            lines += [(f"calibrator of {name}", calibrator) for calibrator in model.calibrators]
        for page, values in self.settings.items():
            lines.append((f"settings of {page}", ", ".join(map(" ".join, values.items()))))
        if self.notes:
            lines.append(("notes", self.notes))
        return pd.DataFrame(lines, columns=["what", "holds"])


#: Smallest share above 0.
LEAST = np.nextafter(0.0, 1.0).item()
#: A type of NumPy's, or pandas's types of text; mixed values are texts as JSON.
DTYPE = text(
    "a type of numbers, times or texts",
    re.compile(r"\|[biu]1|<[iu][248]|<f[248]|<[mM]8\[(s|ms|us|ns)\]|(object|str)( as JSON)?").fullmatch,
)
_PER_CLASS = Record(
    {"others": Listed(whole(0)), "other_strategy": choice("uniform", "quantile")}, make=PerClass
)
#: Fields of predictions that are no columns.
VALUES: dict[str, Field] = {
    "class_names": Maybe(Listed(NAME)),
    "coverage": real(LEAST, 1.0),
    "columns": Named(NAME, NAME),
    "strategy": WordOr(choice("uniform", "quantile", "discrete"), _PER_CLASS),
}

#: Arrays that rows may lack are null among their values.
_MISSING = dict.fromkeys(("labels", "correct", "sample_weight", "cluster", "voted"), Maybe(choice()))
_LATER: dict[str, Any] = {"class_names": None, "coverage": 1.0, "columns": {}, "strategy": "uniform"}
#: A column as it is given and read.
Column = np.ndarray | pd.Series


def rows_field(members: Members) -> Record:
    """Return the field of predictions that `described` describes."""
    types = Named(NAME, DTYPE, Limits().columns)

    def read(file: bytes, types: Mapping[str, str]) -> dict[str, Column]:
        with refuse_unreadable("the project file", "parquet"):
            table = read_parquet(Source("the rows", len(file), file), members.limits)
        held = {**table.columns, **table.matrices}
        members.count_arrays(sum(array.nbytes for array in held.values()))
        if held.keys() != types.keys():
            raise mismatch("types of columns", "one for each of the rows' columns", list(types))
        return {name: _column_of(held[name], dtype, name) for name, dtype in types.items()}

    columns = Record({"file": Content(members, ".parquet"), "types": types}, make=read)
    own: dict[str, Field] = {"arrays": columns, "metadata": Maybe(columns)}
    return Record({"kind": choice(*KINDS), **VALUES, **own}, make=predictions_of)


def described(rows: BasePrediction | None) -> SimpleNamespace | None:
    if rows is None:
        return None
    state = {"class_names": None, **rows.__getstate__(), "kind": rows.kind}
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    table = None if rows.metadata is None or rows.metadata.empty else _stored(rows.metadata)
    return SimpleNamespace(**{**state, "arrays": _stored(arrays), "metadata": table})


def _stored(columns: Mapping[str, Column] | pd.DataFrame) -> SimpleNamespace:
    names = [str(name) for name in columns]
    check_distinct(names)
    cells, types = zip(*(_encoded(column) for _, column in columns.items()), strict=True)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(list(cells), names), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    return SimpleNamespace(file=content, types=dict(zip(names, types, strict=True)))


def predictions_of(
    kind: str, arrays: Mapping[str, Column], metadata: Mapping[str, Column] | None, **values: Any
) -> Any:
    made_of: Any = KINDS[kind].type
    own = {field.name: field for field in fields(made_of)}
    needed = {name for name, f in own.items() if f.default is MISSING and f.default_factory is MISSING}
    possible = own.keys() - VALUES.keys() - {"metadata"}
    numeric = {name for name, array in arrays.items() if isinstance(array, np.ndarray)}
    if not needed <= numeric <= possible or len(numeric) < len(arrays):
        expected = f"numbers with some of the names {', '.join(sorted(possible))}"
        raise mismatch(f"the arrays of rows of kind {kind!r}", expected, list(arrays))
    if len(lengths := {len(column) for column in (metadata or {}).values()}) > 1:
        raise mismatch("metadata", "columns of one length", sorted(lengths))
    given = {name: value for name, value in values.items() if name in own}
    return made_of(**given, **arrays, metadata=None if metadata is None else pd.DataFrame(metadata))


def _encoded(values: Column) -> tuple[pa.Array, str]:
    if isinstance(values.dtype, np.dtype) and DTYPE.is_sound(values.dtype.newbyteorder("<").str):
        dtype = values.dtype.newbyteorder("<")
        array = np.ascontiguousarray(values, dtype=dtype)
        stored = array.view({"b": np.uint8, "m": np.int64, "M": np.int64}.get(dtype.kind, dtype))
        cells = pa.array(stored.ravel())
        if array.ndim == 2:
            cells = pa.FixedSizeListArray.from_arrays(cells, array.shape[1])
        return cells, dtype.str
    given, kind = values.tolist(), "str" if isinstance(values.dtype, pd.StringDtype) else "object"
    if not all(type(value) is str for value in given) or any(map(SURROGATE.search, set(given))):
        given, kind = list(map(_word, given)), f"{kind} as JSON"
    return pa.array(given, pa.string()).dictionary_encode(), kind


def _column_of(values: np.ndarray, dtype: str, name: str) -> Column:
    kind, _, as_json = dtype.partition(" as ")
    if kind in ("object", "str"):
        if values.dtype != object:
            raise mismatch(f"column {name[:60]!r}", "texts", str(values.dtype))
        if as_json:
            codes, words = pd.factorize(values, use_na_sentinel=False)
            values = np.empty(len(words), dtype=object)
            values[:] = [value_of(word) for word in words]
            values = values[codes]
        return pd.Series(values, dtype=kind)
    wanted = np.dtype(dtype)
    kinds = "f" if wanted.kind == "f" else "iu" if values.ndim == 1 else "fiu"
    stored = np.dtype(np.int64) if wanted.kind in "mM" else wanted
    with np.errstate(over="ignore", invalid="ignore"):
        array = values.astype(stored, copy=False) if values.dtype.kind in kinds else None
    if array is None or not np.array_equal(array, values, equal_nan=True):
        raise mismatch(f"column {name[:60]!r}", f"numbers of type {dtype}", str(values.dtype))
    return frozen(np.ascontiguousarray(array).view(wanted))


def _word(value: Any) -> str:
    """Return a value of a column as JSON: texts, numbers and missing values as they are, else as text."""
    if value is pd.NA or value is pd.NaT:
        value = np.nan
    return json.dumps(value if value is None or type(value) in (bool, int, float, str) else str(value))


def value_of(word: str) -> Any:
    """Return a value that was written as JSON; version 1 wrote numbers that are not finite as lists."""
    try:
        value = json.loads(word)
        value = float(value[0]) if isinstance(value, list) else value
    except (TypeError, ValueError, IndexError, OverflowError, RecursionError):
        value = {}
    if isinstance(value, dict):
        raise CalibratorFileError(f"the project file: metadata holds {word[:40]!r}, which is no value")
    return value


def earlier_rows_field(members: Members) -> Record:
    """Return the field of predictions in version 1, several of which may name the same arrays."""
    held: dict[str, np.ndarray] = {}

    def array(name: str) -> np.ndarray:
        if name not in held:
            with members.opened(name) as (file, _):
                held[name] = read_array(file, members.limits, f"array {name!r}")
        members.count_arrays(held[name].nbytes)
        held[name].flags.writeable = False
        return held[name]

    def rows(kind: str, values: Any, arrays: Any, metadata: Any) -> Any:
        given = {name: values[name] for name in VALUES}
        columns = [_earlier_column(array(column.pop("array")), **column) for column in metadata or ()]
        check_distinct([name for name, _ in columns])
        found = {name: array(at) for name, at in arrays.items()}
        return predictions_of(kind, found, dict(columns) or None, **given)

    column = Record({"name": NAME, "dtype": DTYPE, "array": NAME, "words": ANY}, {"words": None})
    own: dict[str, Field] = {
        "values": Record({**VALUES, **_MISSING}, {**_LATER, **dict.fromkeys(_MISSING)}),
        "arrays": Named(NAME, NAME),
        "metadata": Maybe(Listed(column, most=members.limits.columns)),
    }
    return Record({"kind": choice(*KINDS), **own}, make=rows)


def _earlier_column(array: np.ndarray, name: str, dtype: str, words: Any) -> tuple[str, Column]:
    """Return a column of numbers, of times as whole numbers, or of codes of words."""
    if array.ndim != 1 or (words is None and array.dtype.kind not in "biuf"):
        raise mismatch(f"column {name[:60]!r}", "one column of numbers", str(array.dtype))
    if words is None:
        is_time = dtype[1] in "mM" and array.dtype == np.int64
        return name, array.view(dtype) if is_time else array
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise mismatch(f"the words of column {name[:60]!r}", "a list of texts", words)
    if array.dtype != np.int64 or not len(array) or array.min() < 0 or array.max() >= len(words):
        raise mismatch(f"column {name[:60]!r}", f"codes of {len(words):,} words", str(array.dtype))
    distinct = np.empty(len(words), dtype=object)
    distinct[:] = [value_of(word) for word in words]
    return name, pd.Series(distinct[array], dtype="str" if dtype == "str" else object)


def _described(model: Project | FurtherModel, project: Project, **own: Any) -> SimpleNamespace:
    calibrators = [
        SimpleNamespace(
            name=name,
            choices=model.choices.get(name, 1),
            file=dumps(calibrator, fitted_on=model.calibration, log=project.fixes),
        )
        for name, calibrator in model.calibrators.items()
    ]
    rows = {"evaluation": described(model.evaluation), "calibration": described(model.calibration)}
    return SimpleNamespace(**{**vars(model), **rows, "calibrators": calibrators, **own})


def _fields_of(record: Any) -> tuple[dict[str, Field], dict[str, Any]]:
    each = fields(record)
    own = {field.name: _OF_ROLE[field.type] for field in each}
    return own, {field.name: field.default for field in each if field.default is not MISSING}


_OF_ROLE: dict[Any, Field] = {
    "str": NAME,
    "str | None": Maybe(NAME),
    "tuple[str, ...]": Listed(NAME),
    "tuple[str, ...] | None": Maybe(Listed(NAME)),
}
_OF_ROLE["tuple[Choice, ...]"] = Listed(Record(*_fields_of(Choice), Choice))
_ROLES_FIELDS, _ROLES_DEFAULTS = _fields_of(Roles)
_ROLES = Record(_ROLES_FIELDS | {"kind": choice(*KINDS)}, _ROLES_DEFAULTS, Roles)
_ABOUT = Record(
    {
        "format": choice(FORMAT),
        "version": whole(1, VERSION),
        "calib_version": VERSION_NUMBER,
        "date": DATE,
        "name": NAME,
        "description": NAME,
        "simulated": FLAG,
        "split": Maybe(real(LEAST, 1.0 - 2.0**-53)),
        "roles": Maybe(_ROLES),
        "fixes": Listed(NAME, most=MOST_ENTRIES),
        "notes": free_text(100_000),
        "settings": Named(NAME, Named(NAME, NAME)),
        "model": NAME,
    }
)


def _manifest(members: Members, version: int = VERSION) -> Record:
    """Return the fields of a manifest, whose arrays and files are these members."""
    rows = earlier_rows_field(members) if version == 1 else rows_field(members)
    calibrator = Record({"name": NAME, "choices": whole(), "file": Content(members, ".json")})
    model: dict[str, Field] = {
        "evaluation": rows,
        "calibration": Maybe(rows),
        "calibrators": Listed(calibrator, most=MOST_ENTRIES),
    }
    file = Record({"name": NAME, "content": Content(members)}, make=UploadedFile)
    accepted = Named(choice("evaluation", "calibration"), Listed(NAME, most=MOST_ENTRIES))
    upload = Record({"files": Listed(Maybe(file), FILES, FILES), "accepted": accepted}, make=Upload)
    return Record(
        {
            **_ABOUT.fields,
            **model,
            "truth": Maybe(Content(members, ".npy")),
            "models": Listed(Record({"name": NAME, **model}), most=MOST_ENTRIES),
            "upload": Maybe(upload),
        },
        {"upload": None},
    )


def _decoded(members: Members) -> dict[str, Any]:
    document = parse(members.read_json(MANIFEST), FORMAT)
    check_version(document, 1, VERSION)
    if document["version"] == 1:
        document["upload"] = None  # version 1 kept what was read, not the files
    else:
        members.tighten()
    found = _manifest(members, document["version"]).decode(document, "", {})
    if (truth := found["truth"]) is not None:
        array = read_array(io.BytesIO(truth), members.limits, "truth")
        found["truth"] = as_scores(array, ndim=1, what="truth")
    models = {name: FurtherModel(**_fitted(model)) for name, model in _by_name(found["models"]).items()}
    held = {field.name: found[field.name] for field in fields(Project) if field.name in found}
    return {**held, **_fitted(held), "models": models}


def _fitted(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return rows and calibrators of a model, and of how many candidates each was chosen, if of several."""
    entries = _by_name(model["calibrators"])
    return {
        "evaluation": model["evaluation"],
        "calibration": model["calibration"],
        "calibrators": {name: loads(entry["file"]) for name, entry in entries.items()},
        "choices": {name: entry["choices"] for name, entry in entries.items() if entry["choices"] > 1},
    }


def _by_name(listed: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {entry["name"]: entry for entry in listed}
    if len(found) < len(listed) or "" in found:
        raise mismatch("models and calibrators", "entries with distinct names", list(found))
    return found
