"""Cached estimates beside the plug-in ones: intervals, other estimators, and parts of proper scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
import streamlit as st

from calib.binning import BinaryProblems
from calib.bootstrap import Interval, PairedInterval, bootstrap_interval, paired_interval
from calib.debiased import debiased_ece, smooth_ece, sweep_ece
from calib.decomposition import Decomposition, decomposition
from calib.predictions import TopLabelPrediction
from calib.reductions import top_label
from pages._session import Method, class_wise, dataset, floor, problems, summary

#: Head of a column and what `bootstrap_interval` is asked for.
INTERVALS: dict[str, dict[str, str]] = {
    "Accuracy": {"metric": "accuracy"},
    "conf-ECE": {"metric": "ece", "notion": "confidence"},
    "TL-ECE": {"metric": "ece", "notion": "top-label"},
    "TL-MCE (cell)": {"metric": "mce", "notion": "top-label", "aggregate": "cell"},
    "TL-MCE (bin)": {"metric": "mce", "notion": "top-label", "aggregate": "bin"},
    "CW-ECE": {"metric": "ece", "notion": "class-wise"},
    "Brier, top label": {"metric": "brier"},
    "Log loss, top label": {"metric": "log_loss"},
}


def interval(method: Method, name: str, n_bins: int) -> Interval | None:
    """Return the 95 % bootstrap interval of one of `INTERVALS`; None where the method has no such number."""
    if name == "CW-ECE" and summary(method, n_bins).cw_ece is None:
        return None
    scores = _top(method) if name.endswith("top label") else method.scores
    key = (method.key, name, n_bins, method.strategy)
    return _interval(key, dataset().evaluation.labels, scores)


def interval_table(methods: Iterable[Method], n_bins: int) -> pd.DataFrame:
    """Return one row per method and number: estimate and the ends of its 95 % interval."""
    rows = []
    for method in methods:
        for name in INTERVALS:
            found = interval(method, name, n_bins)
            if found is not None:
                row = {"method": method.name, "metric": name, "estimate": found.estimate}
                rows.append(row | {"lower": found.lower, "upper": found.upper})
    return pd.DataFrame(rows)


def paired(first: Method, second: Method, name: str, n_bins: int) -> PairedInterval:
    """Return the interval of second minus first on the same rows, for one of `INTERVALS`."""
    top = name.endswith("top label")
    pair = (_top(first), _top(second)) if top else (first.scores, second.scores)
    key = (first.key, second.key, name, n_bins, first.strategy, second.strategy)
    return _paired(key, dataset().evaluation.labels, *pair)


def other_estimates(method: Method, n_bins: int) -> pd.DataFrame:
    """Return each error by several estimators: plug-in, noise floor, debiased, sweep and smooth."""
    notions = {"conf-ECE": "confidence", "TL-ECE": "top-label"}
    if class_wise() and summary(method, n_bins).cw_ece is not None:
        notions["CW-ECE"] = "class-wise"
    rows = []
    for name, notion in notions.items():
        noise = floor(method, notion, n_bins)
        debiased, swept, smooth = _estimates((method.key, notion), problems(method, notion))
        row = {"Error": name, "Plug-in": noise.observed, "Noise floor": noise.mean, "p-value": noise.p_value}
        row |= {"ECE-sweep": swept, "SmoothECE": smooth, "Debiased (root mean square)": debiased}
        rows.append(row)
    return pd.DataFrame(rows)


def parts(method: Method, rule: str, n_bins: int) -> Decomposition:
    """Return the top-label Brier score or log loss in parts."""
    return _parts((method.key, rule, n_bins, method.strategy), dataset().evaluation.labels, method.scores)


def _top(method: Method) -> TopLabelPrediction:
    return TopLabelPrediction(*top_label(method.scores))


@st.cache_resource(max_entries=256, show_spinner="Resampling rows for intervals ...")
def _interval(key: tuple[Any, ...], _labels: Any, _scores: Any) -> Interval:
    _, name, n_bins, strategy = key
    return bootstrap_interval(
        _labels, _scores, n_bins=n_bins, strategy=strategy, random_state=0, **INTERVALS[name]
    )


@st.cache_resource(max_entries=256, show_spinner="Resampling rows for the difference ...")
def _paired(key: tuple[Any, ...], _labels: Any, _first: Any, _second: Any) -> PairedInterval:
    *_, name, n_bins, strategy, other = key
    return paired_interval(
        _labels,
        _first,
        _second,
        n_bins=n_bins,
        strategy=strategy,
        strategy_b=other,
        random_state=0,
        **INTERVALS[name],
    )


@st.cache_resource(max_entries=128, show_spinner="Estimating in other ways ...")
def _estimates(key: tuple[str, str], _problems: BinaryProblems) -> tuple[float, float, float]:
    notion: Any = key[1]
    return (
        debiased_ece(None, _problems, notion=notion),
        sweep_ece(None, _problems, notion=notion).value,
        smooth_ece(None, _problems, notion=notion).value,
    )


@st.cache_resource(max_entries=128, show_spinner=False)
def _parts(key: tuple[Any, ...], _labels: Any, _scores: Any) -> Decomposition:
    _, rule, n_bins, strategy = key
    return decomposition(_labels, _scores, rule=rule, n_bins=n_bins, strategy=strategy)
