"""What a session holds, and the only access to it: data, fitted calibrators and cached results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import streamlit as st

from calib import Predictions, TopLabelPrediction
from calib.assessment.leaderboard import binned_sweeps
from calib.assessment.summary import BASE, Summary, assessment, calibrated_scores, summarize
from calib.binning import BinaryProblems, Strategy, bin_statistics
from calib.calibrators.catalogue import make_calibrator, name_of
from calib.datasets import EXAMPLE_TITLES, Example, load_example
from calib.diagrams import EceSweep, ReliabilityDiagram, ece_sweep, reliability_diagram
from calib.noise import NoiseFloor, noise_floor_of
from calib.reductions import reduce_to_binary

DEFAULT_EXAMPLE = "resnet"
#: Equal-width bins of every page until the user moves one of the sliders; the paper's tables use 15.
DEFAULT_BINS = 15
#: Above this many scores (rows x classes), class-wise numbers are computed only when asked for.
MANY_SCORES = 5_000_000


@dataclass(frozen=True, eq=False)
class Dataset:
    """The predictions on screen: what they are, and where they came from.

    Attributes
    ----------
    name : str
        Title, from the example or the user's file name (user text: show it as text only).
    description : str
        One sentence on where the numbers come from.
    simulated : bool
        Whether they were drawn from a made-up population.
    calibration : Predictions or None
        Rows to fit calibrators on.
    evaluation : Predictions
        Rows every number on screen is computed from.
    truth : (n,) array or None
        Known P(Y = c(x) | x) of the evaluation rows.
    example : str or None
        Key of the built-in example.
    log : tuple of str
        What was changed in the uploaded file, and accepted by the user.
    split : float or None
        Share of the uploaded rows that calib drew, with seed 0, for calibration; None if it drew none.
    """

    name: str
    description: str
    simulated: bool
    calibration: Predictions | None
    evaluation: Predictions
    truth: np.ndarray | None = None
    example: str | None = None
    log: tuple[str, ...] = ()
    split: float | None = None


@dataclass(frozen=True, eq=False)
class Method:
    """The base model or a fitted calibrator, with what it announces for the evaluation rows.

    Attributes
    ----------
    name : str
        Shown in tables and menus; made by calib, or from the user's file name for a further model.
    scores : Predictions, TopLabelPrediction or (n, L) array
        What it announces.
    strategy : str
        How it is assessed: "discrete" for histogram-binned scores, else "uniform".
    key : str
        Digest of data and settings: results are cached under it.
    calibrator : object or None
        The fitted calibrator; None for a base model.
    """

    name: str
    scores: Any
    strategy: Strategy
    key: str
    calibrator: Any = field(default=None)


def dataset() -> Dataset:
    """Return the data on screen; a fresh session opens the example named in the URL, or the default."""
    if "dataset" not in st.session_state:
        wanted = st.query_params.get("example", DEFAULT_EXAMPLE)
        use(from_example(wanted if wanted in EXAMPLE_TITLES else DEFAULT_EXAMPLE))
    data: Dataset = st.session_state["dataset"]
    if data.example and data.example != st.query_params.get("example", DEFAULT_EXAMPLE):
        st.query_params["example"] = data.example
    elif data.example is None:
        st.query_params.pop("example", None)
    return data


def use(data: Dataset) -> None:
    """Put other data on screen; what was there before can be brought back with `undo`."""
    st.session_state.pop("dropped", None)
    if "dataset" in st.session_state:
        st.session_state["previous"] = (st.session_state["dataset"], st.session_state["methods"])
    st.session_state["dataset"] = data
    base = Method(BASE, data.evaluation, "uniform", data.evaluation.fingerprint)
    st.session_state["methods"] = {BASE: base}
    if data.calibration is not None:
        usual = make_calibrator()
        fit(name_of(usual), usual)


def previous() -> Dataset | None:
    """Return the data that `undo` would bring back."""
    return st.session_state["previous"][0] if "previous" in st.session_state else None


def undo() -> None:
    """Swap the data on screen, and its fitted calibrators, with those before."""
    st.session_state.pop("dropped", None)
    now = (st.session_state["dataset"], st.session_state["methods"])
    st.session_state["dataset"], st.session_state["methods"] = st.session_state["previous"]
    st.session_state["previous"] = now


def from_example(name: str) -> Dataset:
    """Return a built-in example as `Dataset`."""
    example = _example(name)
    return Dataset(
        name=example.title,
        description=example.description,
        simulated=example.simulated,
        calibration=example.calibration,
        evaluation=example.evaluation,
        truth=example.truth,
        example=name,
    )


def methods() -> dict[str, Method]:
    """Return the base model and every fitted calibrator by name, base first."""
    dataset()
    return dict(st.session_state["methods"])


def fit(name: str, calibrator: Any) -> Method:
    """Fit a calibrator on the calibration rows and keep it under `name`.

    Raises
    ------
    InputError
        If it cannot be fitted; nothing is kept then.
    """
    data: Dataset = st.session_state["dataset"]
    assert data.calibration is not None, "pages ask for calibration rows before they offer to fit"
    key = f"{data.evaluation.fingerprint}/{data.calibration.fingerprint}/{calibrator!r}"
    held: Method | None = st.session_state["methods"].get(name)
    if held is not None and held.key == key:
        return held
    fitted, scores = _fitted(key, calibrator, data.calibration, data.evaluation)
    return keep(Method(name, scores, assessment(fitted), key, fitted))


def keep(method: Method) -> Method:
    """Keep a method for every page, in place of one of the same name."""
    st.session_state["methods"] = {**st.session_state["methods"], method.name: method}
    return method


def forget(name: str) -> Method | None:
    """Drop a kept method (never the base model) and return it, so that `keep` can bring it back."""
    if name == BASE:
        return None
    kept = dict(st.session_state["methods"])
    dropped = kept.pop(name, None)
    st.session_state["methods"] = kept
    return dropped


def summary(method: Method, n_bins: int = 15) -> Summary:
    """Return every metric of a method on the evaluation rows."""
    key = (method.key, n_bins, method.strategy, class_wise())
    return replace(_summary(key, dataset().evaluation, method.scores), method=method.name)


def class_wise() -> bool:
    """Whether class-wise numbers are shown: always, unless the data are large and nobody asked for them."""
    return dataset().evaluation.proba.size <= MANY_SCORES or st.session_state.get("class_wise", False)


def reliability(method: Method, n_bins: int) -> ReliabilityDiagram:
    """Return the reliability diagram of a method on the evaluation rows."""
    return _reliability(method.key, n_bins, dataset().evaluation, method.scores)


def problems(method: Method, notion: str, **options: Any) -> BinaryProblems:
    """Return the sorted binary problems of a method on the evaluation rows."""
    return _problems(method.key, notion, tuple(options.items()), dataset().evaluation, method.scores)


def floor(method: Method, notion: str, n_bins: int = 15, metric: str = "ece") -> NoiseFloor:
    """Return the noise floor of a method's metric: what a perfect model of this size would show."""
    key = (method.key, notion, n_bins, method.strategy, metric)
    return _floor(key, problems(method, notion))


def sweeps(method: Method) -> dict[str, EceSweep]:
    """Return TL-ECE and conf-ECE for B = 5 to 25; histogram binning by B is refitted with every B."""
    data = dataset()
    by_bins = method.strategy == "discrete" and getattr(method.calibrator.binary, "n_bins", None) is not None
    if by_bins and data.calibration is not None:
        return _refitted(method.key, method.calibrator, data.calibration, data.evaluation)
    kinds = ("top-label", "confidence")
    return {kind: _sweep((method.key, kind, method.strategy), problems(method, kind)) for kind in kinds}


def cells(method: Method, notion: str, n_bins: int = 15) -> Any:
    """Return the (problem, bin) statistics of a method, binned as it is assessed."""
    return bin_statistics(problems(method, notion), n_bins=n_bins, strategy=method.strategy)


# Caches are keyed on digests (arguments with an underscore are not hashed): Streamlit samples large arrays
# when it hashes them, and two different matrices could hit the same entry. What holds rows is cached per
# session and goes with it; what is shared by all sessions holds summaries only.


@st.cache_resource(max_entries=6, show_spinner="Making the example ...")
def _example(name: str) -> Example:
    return load_example(name)


@st.cache_resource(max_entries=16, scope="session", show_spinner="Fitting the calibrator ...")
def _fitted(
    key: str, _calibrator: Any, _calibration: Predictions, _evaluation: Predictions
) -> tuple[Any, TopLabelPrediction | np.ndarray]:
    fitted = _calibrator.fit(_calibration.proba, _calibration.labels)
    return fitted, calibrated_scores(fitted, _evaluation)


@st.cache_resource(max_entries=256, show_spinner="Computing metrics ...")
def _summary(key: tuple[str, int, Strategy, bool], _evaluation: Predictions, _scores: Any) -> Summary:
    _, n_bins, strategy, with_classes = key
    return summarize(_evaluation.labels, _scores, n_bins=n_bins, strategy=strategy, class_wise=with_classes)


@st.cache_resource(max_entries=256, show_spinner=False)
def _reliability(key: str, n_bins: int, _evaluation: Predictions, _scores: Any) -> ReliabilityDiagram:
    return reliability_diagram(_evaluation.labels, _scores, n_bins=n_bins)


@st.cache_resource(max_entries=24, scope="session", show_spinner=False)
def _problems(
    key: str, notion: str, options: tuple[tuple[str, Any], ...], _evaluation: Predictions, _scores: Any
) -> BinaryProblems:
    return reduce_to_binary(_evaluation.labels, _scores, notion, **dict(options))  # type: ignore[arg-type]


@st.cache_resource(max_entries=256, show_spinner="Redrawing outcomes for the noise floor ...")
def _floor(key: tuple[str, str, int, Strategy, str], _problems: BinaryProblems) -> NoiseFloor:
    _, _, n_bins, strategy, metric = key
    return noise_floor_of(_problems, n_bins=n_bins, strategy=strategy, metric=metric, random_state=0)


@st.cache_resource(max_entries=64, show_spinner="Refitting with every number of bins ...")
def _refitted(
    key: str, _calibrator: Any, _calibration: Predictions, _evaluation: Predictions
) -> dict[str, EceSweep]:
    return binned_sweeps(_calibrator, _calibration, _evaluation)


@st.cache_resource(max_entries=128, show_spinner=False)
def _sweep(key: tuple[str, str, Strategy], _problems: BinaryProblems) -> EceSweep:
    return ece_sweep(None, _problems, strategy=key[2])
