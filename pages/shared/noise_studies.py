"""Cached results of the Noise page, keyed on digests like those of `session`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from calib import TopLabelPrediction
from calib.binning import BinaryProblems, Strategy, bin_statistics
from calib.metrics.catalogue import MEASURES, Measure
from calib.metrics.debiased import debiased_ece, smooth_ece, sweep_ece
from calib.metrics.decompositions import Decomposition, decomposition
from calib.noise import NoiseFloor, noise_floor_of
from calib.noise.bootstrap import Interval, PairedInterval, bootstrap_interval, paired_interval
from calib.notions import Notion
from calib.reductions import top_label
from pages.shared.session import Method, class_wise, dataset, problems
from pages.shared.validity_studies import notions, serves

#: Every calibration error shown, by its title.
ERRORS = {one.title: one for one in MEASURES.values() if one.is_error}
#: Every number with an interval: accuracy, scores of the predicted class, and errors.
NUMBERS = {one.title: one for one in MEASURES.values() if one.notion is not None}
ESTIMATES = (
    "Plug-in, root mean square",
    "Debiased, root mean square (Kumar et al. 2019)",
    "ECE-sweep (Roelofs et al. 2022)",
    "SmoothECE (B\u0142asiok & Nakkiran 2023)",
)


def errors(method: Method) -> dict[str, Measure]:
    """Return every calibration error that a method can be judged by, by its title."""
    return {
        name: one
        for name, one in ERRORS.items()
        if one.notion != "class-wise" or (class_wise() and serves(method, "class-wise"))
    }


def floors(method: Method, n_bins: int) -> dict[str, NoiseFloor]:
    """Return the noise floor of every calibration error of a method, by name."""
    found = {}
    for name, one in errors(method).items():
        reduced = problems(method, str(one.notion))
        options: dict[str, Any] = {"n_bins": n_bins, "strategy": method.strategy}
        options |= {"metric": one.metric, "aggregate": one.aggregate}
        key = ("floor", method.key, one.notion, *options.values())
        found[name] = _kept(key, partial(noise_floor_of, reduced, random_state=0, **options))
    return found


def interval(method: Method, name: str, n_bins: int) -> Interval:
    """Return a reported number of a method with its bootstrap interval."""
    options = {**_options(name, n_bins), "strategy": method.strategy}
    scores = _row_scores(method, options)
    compute = partial(bootstrap_interval, dataset().evaluation.labels, scores, random_state=0, **options)
    return _kept(("interval", method.key, *options.values()), compute)


def difference(a: Method, b: Method, name: str, n_bins: int) -> PairedInterval:
    """Return the difference of a number between two methods on the same rows."""
    options = {**_options(name, n_bins), "strategy": a.strategy, "strategy_b": b.strategy}
    pair = [_row_scores(method, options) for method in (a, b)]
    compute = partial(paired_interval, dataset().evaluation.labels, *pair, random_state=0, **options)
    return _kept(("difference", a.key, b.key, *options.values()), compute)


def resamples() -> int:
    """Return how many resamples fit into about a second: 1,000 up to 30,000 rows, never under 200."""
    return int(np.clip(30_000_000 // dataset().evaluation.n_samples, 200, 1000))


def estimates(method: Method) -> dict[str, dict[str, float]]:
    """Return the estimates that noise or bins move less, by name and notion."""
    found = {
        notion: _kept(
            ("estimates", method.key, notion, method.strategy),
            partial(_estimates, problems(method, notion), method.strategy),
        )
        for notion in notions(method)
        if notion != "class-wise" or class_wise()
    }
    return {name: {notion: values[name] for notion, values in found.items()} for name in ESTIMATES}


def parts(method: Method, notion: Notion, rule: str, n_bins: int) -> Decomposition:
    """Return the Brier score or log loss of a method's events in parts."""
    options = {"rule": rule, "n_bins": n_bins, "strategy": method.strategy}
    key = ("parts", method.key, notion, *options.values())
    return _kept(key, partial(decomposition, None, problems(method, notion), **options))


def _options(name: str, n_bins: int) -> dict[str, Any]:
    return {**NUMBERS[name].options, "n_bins": n_bins, "n_resamples": resamples()}


def _row_scores(method: Method, options: dict[str, Any]) -> Any:
    """Scores for a metric; Brier score and log loss are of the event that the predicted class is right."""
    if options["metric"] in ("ece", "mce") or isinstance(method.scores, TopLabelPrediction):
        return method.scores
    return TopLabelPrediction(*top_label(getattr(method.scores, "proba", method.scores)))


def _estimates(reduced: BinaryProblems, strategy: Strategy) -> dict[str, float]:
    binned: Strategy = "discrete" if strategy == "discrete" else "quantile"
    values = (
        bin_statistics(reduced, n_bins=15, strategy=binned).ece(2),
        debiased_ece(None, reduced, strategy=binned),
        sweep_ece(None, reduced).value,
        smooth_ece(None, reduced).value,
    )
    return dict(zip(ESTIMATES, values, strict=True))


@st.cache_resource(max_entries=512, show_spinner="Computing what noise alone would show ...")
def _kept(key: tuple[Any, ...], _compute: Callable[[], Any]) -> Any:
    return _compute()
