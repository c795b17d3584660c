"""State of a session, read and written only here: the data on screen and the calibrators fitted on them."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import streamlit as st
from sklearn.base import BaseEstimator, clone

from calib import InputError
from calib.answers.calibrated import calibrated_scores
from calib.answers.metric_tables import BASE
from calib.calibrators.multiclass import groups_in
from calib.data.kinds import Kind, kind_of
from calib.data.notions import Notion
from calib.data.predictions import BasePrediction, assessed_as_stated
from calib.data.several_models import pairs_of_models
from calib.data.validation import group_name
from calib.datasets import EXAMPLE_TITLES, Example, load_example
from calib.datasets.example import simulated_columns
from calib.evidence.rows import Rows
from calib.files.readers.columns import MOST_MODELS
from calib.files.readers.roles import Roles
from calib.files.saved import dumps
from calib.files.saved.project import FurtherModel, Project, Settings, Upload
from calib.scale.summary import Summary
from pages.shared.address import ABOUT_DATA, SHARED
from pages.shared.isolation import computing, limits
from pages.shared.kept import digest, kept
from pages.shared.work import compute

#: Calibration and evaluation rows of a model.
Pair = tuple[BasePrediction | None, BasePrediction | Summary]
#: Pages about calibrators. If a file names no calibration rows, they show the half that calib did not fit on.
OF_CALIBRATORS = frozenset({"Repair", "Validity", "Decide", "Imbalance", "Simplex"})
#: One line per upload, fit and error: sizes and durations, never names or contents.
LOG = logging.getLogger("calib.app")
#: Names under which it keeps further models of an upload.
FURTHER = tuple(f"reading-of-model-{position}" for position in range(1, MOST_MODELS))
#: Value of the parameter `data` in addresses of pages that show uploaded data.
UPLOADED = "uploaded"
DEFAULT_EXAMPLE = "resnet"
#: Names under which a session keeps what it read: data, a further model, predictions to calibrate, own files.
READINGS = ("reading", "apply-reading", "project-read", "summary-read", "calibrator-read")
#: Keys for the screen: the data, calibrators of the model on screen, and of each other model.
ON_SCREEN = ("dataset", "methods", "elsewhere")
#: Names in the session for what the user uploaded or made; settings are in the address.
KEPT = (
    *(*ON_SCREEN, "fits", "previous", "notes", "addresses", "chosen", "opened"),
    *("reading", *FURTHER, "in_use", "project", "split"),
)
#: Fields of a project that hold data on screen under the same names.
SAVED = (
    *("name", "description", "simulated", "calibration", "evaluation"),
    *("truth", "split", "roles", "upload", "model"),
)
#: Above this many scores (rows x classes), class-wise numbers are computed only when asked for.
MANY_SCORES = 5_000_000


@dataclass(frozen=True, eq=False)
class Dataset:
    """The predictions on screen, and where they come from."""

    name: str  #: Title, from the example or the user's file name (user text: show it as text only)
    description: str  #: One sentence on where the numbers come from
    simulated: bool  #: Whether they were drawn from a simulated population
    #: Rows to fit calibrators on; None if the file names none
    calibration: BasePrediction | None
    #: All other labelled rows, or their sums: every number on screen is computed from them
    evaluation: BasePrediction | Summary
    truth: np.ndarray | None = None  #: (n,) array: known P(Y = c(x) | x) of the evaluation rows
    example: str | None = None  #: Key of the built-in example
    log: tuple[str, ...] = ()  #: Fixes to the uploaded file that the user accepted
    #: Share of the rows that calib draws, with seed 0, to fit calibrators on: see `checked`
    split: float | None = None
    roles: Roles | None = None  #: The role of each column of the uploaded file
    upload: Upload | None = None  #: The uploaded files as they were, and the fixes accepted in them
    model: str = ""  #: The model on screen, whose rows `calibration` and `evaluation` are
    #: All models on the same rows, the one on screen included; empty if there is only one
    models: Mapping[str, Pair] = field(default_factory=dict)

    def of_model(self, name: str) -> Dataset:
        """Return the data with another of the models on screen."""
        calibration, evaluation = self.models[name]
        return replace(self, model=name, calibration=calibration, evaluation=evaluation)

    def changed(self, change: Callable[[Any], BasePrediction], **fields: Any) -> Dataset:
        """Return the data with the rows of every model changed in the same way, and other fields."""
        pairs = {self.model: (self.calibration, self.evaluation), **self.models}
        changed = {name: (fit and change(fit), change(unseen)) for name, (fit, unseen) in pairs.items()}
        calibration, evaluation = changed[self.model]
        models = changed if self.models else self.models
        return replace(self, calibration=calibration, evaluation=evaluation, models=models, **fields)

    @cached_property
    def checked(self) -> Dataset:
        """The data to fit and check calibrators: with `split`, the labelled rows in two parts."""
        if self.calibration is not None or self.split is None or not self.has_rows:
            return self
        every = {name: rows for name, (_, rows) in self.models.items()} or {self.model: self.evaluation}
        try:
            pairs = pairs_of_models(every, self.split)
        except InputError:  # all rows belong together: pages say that calibration rows are missing
            return self
        calibration, evaluation = pairs[self.model]
        models = pairs if self.models else self.models
        return replace(self, calibration=calibration, evaluation=evaluation, models=models)

    @property
    def is_divided(self) -> bool:
        """Whether these are the parts of the rows that calib drew."""
        return self.split is not None and self.calibration is not None

    @cached_property
    def evidence(self) -> Rows | Summary:
        """What the evaluation rows, or their sums, tell about the model on screen."""
        return self.evaluation if isinstance(self.evaluation, Summary) else Rows(self.evaluation)

    @property
    def has_rows(self) -> bool:
        """Whether the evaluation rows are here, and not only their sums."""
        return isinstance(self.evidence, Rows)

    @property
    def event(self) -> str | None:
        """Name of the class whose probability is the one score of each row; None for other scores."""
        return self.evaluation.positive if "event" in self.kind.has else None

    @property
    def digest(self) -> str:
        """Key of all rows."""
        return "/".join(digest(rows) for rows in (self.evaluation, self.calibration) if rows is not None)

    @property
    def size(self) -> int:
        pairs = self.models.values() or [(self.calibration, self.evaluation)]
        return sum(rows.n_bytes for pair in pairs for rows in pair if rows is not None)

    @property
    def kind(self) -> Kind:
        return kind_of(self.evaluation)


@dataclass(frozen=True, eq=False)
class Method:
    """The base model or a fitted calibrator, with what is known about its scores of the evaluation rows."""

    name: str  #: Shown in tables and menus; chosen by calib, or the user's file name for an added model
    #: Its predictions with outcomes, weights, clusters and how they are assessed; or their sums
    evidence: Rows | Summary
    key: str  #: Digest of data and settings: results are cached under it
    calibrator: BaseEstimator | None = None  #: The fitted calibrator; None for a base model
    choices: int = 1  #: Calibrators from which the labels of the calibration rows chose it, itself included

    @property
    def rows(self) -> Rows:
        """Its evidence, of rows."""
        assert isinstance(self.evidence, Rows), "pages say first that a summary has no rows"
        return self.evidence

    @property
    def digest(self) -> str:
        """A key that identifies this method and its assessment."""
        return f"{self.key}/{self.evidence.strategy!r}"


@dataclass(frozen=True)
class ChosenRows:
    """The rows of a bin, a class or a range."""

    lower: float
    upper: float
    bin: int | None  #: Number of the equal-width bin; None for another range
    label: int | None  #: Code of the predicted class; None for all classes
    start: int | None  #: First row and end in the order of the confidence; None if the picture has sums
    stop: int | None
    count: int
    method: str  #: Whose confidence it is
    scores: str  #: Digest of the scores that it is about

    @classmethod
    def of(cls, sent: dict[str, Any], method: Method) -> ChosenRows:
        """Return the choice that the browser sent."""
        whole = {name: sent[name] for name in ("bin", "label", "start", "stop", "count")}
        numbers = {name: None if value is None else int(value) for name, value in whole.items()}
        ends = {name: float(sent[name]) for name in ("lower", "upper")}
        return cls(**numbers, **ends, method=method.name, scores=method.digest)

    @property
    def words(self) -> str:
        """What is chosen; it may hold a user's text."""
        what = f"{self.count:,} rows"
        if self.label is not None:
            what += f": said {dataset().evaluation.class_names[self.label]}"
        if (self.lower, self.upper) != (0.0, 1.0):
            what += f" at {100 * self.lower:.3g} to {100 * self.upper:.3g} %"
        return what if self.method == BASE else f"{what} after {self.method}"


def dataset() -> Dataset:
    """Return the data on screen: on pages of `OF_CALIBRATORS` as `Dataset.checked`.

    A fresh session opens the example named in the URL, or the default.
    """
    if "dataset" not in st.session_state:
        st.session_state["lost"] = [name for name in ("data", "fitted") if name in st.query_params]
        name = st.query_params.get("example", DEFAULT_EXAMPLE)
        given = None if "example" in st.query_params else os.environ.get("CALIB_PROJECT")
        if given:
            open_project(Project.load(given))
        else:
            _put(from_example(name if name in EXAMPLE_TITLES else DEFAULT_EXAMPLE))
        if (model := st.query_params.get("model")) in st.session_state["dataset"].models:
            show_model(model)
    data: Dataset = st.session_state["dataset"]
    page = st.session_state.get("page-shown")
    alone = page == "Decide" and not st.session_state["methods"]  # the model decides on all rows
    return data.checked if page in OF_CALIBRATORS and not alone else data


def name_data_in_address() -> None:
    """Put into the address which data are on screen, and whether a calibrator is fitted on them."""
    data = dataset()
    if data.example and data.example != st.query_params.get("example", DEFAULT_EXAMPLE):
        st.query_params["example"] = data.example
    elif data.example is None:
        st.query_params.pop("example", None)
    speaks = {
        "data": UPLOADED if data.example is None else "",
        "fitted": "yes" if st.session_state["fits"] else "",
        "model": data.model if data.model != next(iter(data.models), data.model) else "",
    }
    for name, value in speaks.items():
        if value and st.query_params.get(name) != value:  # whatever is set is sent to the browser
            st.query_params[name] = value
        elif not value:
            st.query_params.pop(name, None)


def lost() -> list[str]:
    """Return what the address names but this session lacks: uploaded "data", "fitted" calibrators."""
    found: list[str] = st.session_state.get("lost", [])
    return found


def use(data: Dataset, found: Sequence[Method] = ()) -> None:
    """Put other data on screen, with calibrators already fitted on them; `undo` brings the previous back."""
    _check_limits(data, found)
    st.session_state["lost"] = []
    LOG.info(
        "data rows=%d calibration_rows=%d classes=%d megabytes=%.1f uploaded=%s",
        data.evaluation.n_samples,
        0 if data.calibration is None else data.calibration.n_samples,
        getattr(data.evaluation, "n_classes", 0),
        data.size / 1e6,
        data.example is None,
    )
    _put(data, found)


def _put(data: Dataset, found: Sequence[Method] = ()) -> None:
    if "dataset" in st.session_state:
        st.session_state["previous"] = tuple(st.session_state[name] for name in ON_SCREEN)
    st.session_state["dataset"], st.session_state["elsewhere"] = data, {}
    st.session_state["fits"] = bool(found)
    st.session_state["methods"] = {method.name: method for method in found}


def show_model(name: str) -> None:
    """Put another of the models on screen, with its fitted calibrators."""
    data: Dataset = st.session_state["dataset"]
    elsewhere = {**st.session_state["elsewhere"], data.model: st.session_state["methods"]}
    st.session_state["methods"] = elsewhere.pop(name, {})
    st.session_state["dataset"], st.session_state["elsewhere"] = data.of_model(name), elsewhere


def scored() -> dict[str, Method]:
    """Return the methods of the model on screen, and every other model before calibration, by name."""
    data, found = dataset(), methods()
    others = {name: base_of(data.of_model(name), name) for name in data.models if name != data.model}
    return {**others, **found} if set(others) & set(found) else {**found, **others}


def as_project() -> Project:
    """Return the data on screen with the session's calibrators, further models, settings and notes."""
    data, elsewhere = st.session_state["dataset"], st.session_state["elsewhere"]
    return Project(
        **{name: getattr(data, name) for name in SAVED},
        fixes=data.log,
        models={
            name: FurtherModel(evaluation, calibration, **_saved(elsewhere.get(name, {})))
            for name, (calibration, evaluation) in data.models.items()
            if name != data.model
        },
        settings=_settings(),
        notes=notes(),
        **_saved(fitted()),
    )


def _saved(held: Mapping[str, Method]) -> dict[str, Any]:
    choices = {name: method.choices for name, method in held.items() if method.choices > 1}
    return {"calibrators": {name: method.calibrator for name, method in held.items()}, "choices": choices}


def _settings() -> Settings:
    """Return the settings of each page; settings that pages share have their current values."""
    shared = {name: str(st.session_state[name]) for name in SHARED if name in st.session_state}
    pages: Settings = st.session_state.get("addresses", {})
    return {
        page: {name: shared.get(name, value) for name, value in settings.items()}
        for page, settings in pages.items()
    }


def open_project(project: Project) -> None:
    """Put the content of a project on screen; `undo` brings back the previous data."""
    data = Dataset(**{name: getattr(project, name) for name in SAVED}, log=project.fixes)
    if project.models:
        models = {name: (model.calibration, model.evaluation) for name, model in project.models.items()}
        shown = {project.model or data.name: (data.calibration, data.evaluation)}
        data = replace(data, model=next(iter(shown)), models=shown | models)
    data = data.changed(assessed_as_stated)  # which files do not say
    found = _found(data, project)
    elsewhere = {
        name: {method.name: method for method in _found(data.of_model(name), model)}
        for name, model in project.models.items()
    }
    use(data, found)
    st.session_state["elsewhere"] = elsewhere
    st.session_state["notes"] = project.notes
    st.session_state["addresses"] = project.settings
    for name, values in SHARED.items():  # a project can say anything: what no control offers is left out
        named = {str(value): value for value in values}
        for settings in project.settings.values():
            if settings.get(name) in named:
                st.session_state[name] = named[settings[name]]


def _found(data: Dataset, source: Project | FurtherModel) -> list[Method]:
    """Return the calibrators that a project holds for the model on screen, applied."""
    data, found = data.checked, list[Method]()
    for name, calibrator in source.calibrators.items():
        # By content: a file may hold other values under the settings that a fit here would have.
        key = f"{data.digest}/{hashlib.sha256(dumps(calibrator)).hexdigest()}"
        groups = groups_in(calibrator, data.evaluation.metadata)  # a worker gets no further columns
        given = None if groups is None else np.asarray(groups, dtype=object)
        scores = compute(f"Applying {name}", calibrated_scores, calibrator, data.evaluation, groups=given)
        evidence = _evidence_of(scores, data)
        found.append(Method(name, evidence, key, calibrator, source.choices.get(name, 1)))
    return found


def notes() -> str:
    text: str = st.session_state.get("notes", "")
    return text


def settings_of(page: str) -> Mapping[str, str]:
    """Return the last settings in the address of a page, by its title."""
    settings: Mapping[str, str] = st.session_state.get("addresses", {}).get(page, {})
    return settings


def remember_address(page: str) -> None:
    """Remember the settings in the address of a page, by its title, for the project file."""
    settings = {name: value for name, value in st.query_params.items() if name not in ABOUT_DATA}
    st.session_state["addresses"] = {**st.session_state.get("addresses", {}), page: settings}


def _check_limits(new: Dataset | Method, found: Sequence[Method] = ()) -> None:
    """Raise InputError if the session, or all sessions, would hold too much with new data."""
    if isinstance(new, Dataset) and new.example is not None:
        return
    stays, advice = list(ON_SCREEN), "load a built-in example first"
    if isinstance(new, Method):  # new data take the place of what could be undone
        stays, advice = [*stays, "previous"], "remove a calibrator first"
    limits.check([new, *found], held(stays), advice)


def held(stays: Sequence[str] = (*ON_SCREEN, "previous")) -> list[Any]:
    """Return the objects of this session with these names, and the uploads."""
    return [st.session_state.get(name) for name in (*stays, *READINGS, *FURTHER)]


def previous() -> Dataset | None:
    """Return the data that `undo` would bring back."""
    return st.session_state["previous"][0] if "previous" in st.session_state else None


def undo() -> None:
    """Swap the data on screen and their fitted calibrators with the previous ones."""
    current = tuple(st.session_state[name] for name in ON_SCREEN)
    for name, held_before in zip(ON_SCREEN, st.session_state["previous"], strict=True):
        st.session_state[name] = held_before
    st.session_state["previous"] = current


def from_example(name: str) -> Dataset:
    example = _example(name)
    rows = example.evaluation.with_metadata(simulated_columns(example.evaluation))
    calibration = example.calibration
    if calibration is not None:
        calibration = calibration.with_metadata(simulated_columns(calibration, seed=1))
    about = (example.title, example.description, example.simulated, calibration, rows)
    models = {
        name: (fitting.with_metadata(calibration.metadata), unseen.with_metadata(rows.metadata))
        for name, (fitting, unseen) in example.models.items()
    }
    data = Dataset(*about, truth=example.truth, example=name, models=models)
    return (data.of_model(next(iter(models))) if models else data).changed(assessed_as_stated)


def fitted() -> dict[str, Method]:
    """Return the calibrators of this session, applied to the rows that check them."""
    dataset()
    found: dict[str, Method] = st.session_state["methods"]
    return found


def methods() -> dict[str, Method]:
    """Return the base model, and what was fitted if the rows on screen are the rows that check it."""
    data = dataset()
    return {BASE: base_of(data), **(fitted() if data is data.checked else {})}


def fit(
    name: str, calibrator: BaseEstimator, choices: int = 1, by: str | None = None, *, asked: bool = True
) -> Method:
    """Fit a calibrator on the calibration rows and store it under `name`; `choices` as in `Method`.

    `by` is the column whose values it conditions on, if it does. `asked` says that the user asked for it, so
    that its loss is reported.

    Raises
    ------
    InputError
        If it cannot be fitted, or its scores would exceed what a session or the server may hold; nothing is
        stored then.
    """
    data = st.session_state["dataset"].checked
    key = f"{data.digest}/{calibrator!r}/{by!r}"
    before = fitted().get(name)
    if before is not None and before.key == key:
        return store(replace(before, choices=max(choices, before.choices)))
    assert data.calibration is not None, "pages ask for calibration rows before they offer to fit"
    groups = tuple(_groups(rows, by) for rows in (data.calibration, data.evaluation))
    begin = time.perf_counter()
    done, scores = _fitted(key, name, calibrator, data.calibration, data.evaluation, groups)
    LOG.info("fit rows=%d seconds=%.2f", data.calibration.n_samples, time.perf_counter() - begin)
    method = Method(name, _evidence_of(scores, data), key, done, choices)
    _check_limits(method)
    if asked:
        _chosen()
    return store(method)


def on_all_rows(method: Method) -> tuple[BaseEstimator, BasePrediction | None]:
    """Return a calibrator to hand out, fitted on all rows if calib drew the rows of its fit, and its rows."""
    data: Dataset = st.session_state["dataset"]
    if not data.checked.is_divided or data.calibration is not None:
        return method.calibrator, data.calibration
    groups = groups_in(method.calibrator, method.rows.predictions.metadata)
    column = None if groups is None else str(groups.name)
    rows, key = data.evaluation, f"{method.key}/{data.digest}"
    assert not isinstance(rows, Summary), "a summary has no rows to divide"
    shown = rows.take(slice(0, 1))  # nobody asks for its scores
    both = _groups(rows, column), _groups(shown, column)
    return _fitted(key, method.name, clone(method.calibrator), rows, shown, both)[0], rows


def _chosen() -> None:
    """Note that the session now holds what the user asked for, so that its loss can be reported."""
    st.session_state["fits"] = True
    st.session_state["lost"] = [name for name in lost() if name != "fitted"]


def _evidence_of(scores: BasePrediction, data: Dataset) -> Rows:
    """Return the evidence of a calibrator's scores; a worker has sent them without most columns."""
    assert isinstance(data.evidence, Rows), "pages that fit calibrators ask for rows"
    found = data.evidence.of_scores(scores.with_metadata(data.evaluation.metadata))
    found.suspected = data.evidence.suspected  # one search for all models
    return found


def _groups(rows: BasePrediction, column: str | None) -> np.ndarray | None:
    if column is None:
        return None
    if rows.metadata is None or column not in rows.metadata:
        raise InputError(f"not all rows have the column {column!r}; choose another column")
    return rows.metadata[column].map(group_name).to_numpy(dtype=object)


def groups_of(method: Method, n_rows: int | None = None) -> np.ndarray | None:
    """Return the group of each row, or of the first, that a method's calibrator conditions on; else None."""
    if not getattr(method.calibrator, "has_groups", False):
        return None
    return np.asarray(groups_in(method.calibrator, method.rows.predictions.metadata), dtype=object)[:n_rows]


def base_of(data: Dataset, name: str = BASE) -> Method:
    """Return the model of some data, which need not be on screen, before calibration."""
    return Method(name, data.evidence, digest(data.evaluation))


def store(method: Method) -> Method:
    """Store a method for every page; it replaces a method of the same name."""
    st.session_state["methods"] = {**st.session_state["methods"], method.name: method}
    return method


def remove(name: str) -> None:
    st.session_state["methods"] = {other: method for other, method in fitted().items() if other != name}


def choice_on_screen() -> tuple[ChosenRows, Method] | None:
    """Return what is chosen, if it is about a method on screen."""
    choice: ChosenRows | None = st.session_state.get("picture-choice")
    method = None if choice is None else methods().get(choice.method)
    if choice is None or method is None or method.digest != choice.scores:
        return None
    return choice, method


def drop_choice() -> None:
    st.session_state.pop("picture-choice", None)


def class_wise() -> bool:
    data = dataset()
    few = not data.has_rows or data.evaluation.n_scores <= MANY_SCORES
    return few or st.session_state.get("class_wise", False)


def notions(method: Method) -> list[Notion]:
    """Return the notions of its errors; for very large data, class-wise only if the user asked for it."""
    evidence = method.evidence
    others: list[Notion] = ["top-label", "confidence", "class-wise"]
    shown = [notion for notion in others if evidence.lacks(f"notion:{notion}") is None]
    asked = [notion for notion in shown if notion != "class-wise" or class_wise()]
    return [evidence.notion, *(notion for notion in asked if notion != evidence.notion)]


@st.cache_resource(max_entries=6, show_spinner="Preparing the example ...")
def _example(name: str) -> Example:
    return load_example(name)


@kept(rows=True)
def _fitted(
    key: str,
    _name: str,
    _calibrator: BaseEstimator,
    _calibration: BasePrediction,
    _evaluation: BasePrediction,
    _groups: tuple[Any, ...],
) -> tuple[BaseEstimator, BasePrediction]:
    return compute(f"Fitting {_name}", computing.fit, _calibrator, _calibration, _evaluation, groups=_groups)
