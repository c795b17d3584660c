"""Cached results of the class pages, keyed on digests like those of `session`."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib import Predictions
from calib.binning import BinaryProblems, BinStatistics, Strategy, bin_statistics
from calib.diagrams.classes import ClassTable, class_table
from calib.diagrams.imbalance import BinPlan, ClassBinning, class_binning, plan_bins
from pages.shared.session import Method, dataset, problems


def classes(method: Method, n_bins: int) -> ClassTable:
    """Return the table of classes of a method on the evaluation rows."""
    reduced = problems(method, "top-label")
    return _classes(method.key, n_bins, method.strategy, dataset().evaluation, reduced)


def heat_cells(method: Method, n_bins: int) -> BinStatistics:
    """Return the equal-width (class, bin) cells of a method, whatever bins it is assessed with."""
    return _heat_cells(method.key, n_bins, problems(method, "top-label"))


def binning(**options: int) -> ClassBinning:
    """Return top-label histogram binning by points per bin or by bins, class by class."""
    data = dataset()
    assert data.calibration is not None, "pages ask for calibration rows first"
    return _binning(_pair_key(), tuple(options.items()), data.calibration, data.evaluation)


def plan() -> BinPlan:
    """Return how many classes get how many bins for k = 20, 40, ..., 200."""
    data = dataset()
    assert data.calibration is not None, "pages ask for calibration rows first"
    return _plan(_pair_key(), data.calibration, data.evaluation)


def _pair_key() -> str:
    data = dataset()
    assert data.calibration is not None, "pages ask for calibration rows first"
    return f"{data.evaluation.fingerprint}/{data.calibration.fingerprint}"


@st.cache_resource(max_entries=64, show_spinner=False)
def _heat_cells(key: str, n_bins: int, _problems: BinaryProblems) -> BinStatistics:
    return bin_statistics(_problems, n_bins=n_bins)


@st.cache_resource(max_entries=64, show_spinner="Assessing every class ...")
def _classes(
    key: str, n_bins: int, strategy: Strategy, _evaluation: Predictions, _problems: BinaryProblems
) -> ClassTable:
    return class_table(_evaluation.labels, _problems, n_bins=n_bins, strategy=strategy, random_state=0)


@st.cache_resource(max_entries=32, show_spinner="Calibrating every class ...")
def _binning(
    key: str, options: tuple[tuple[str, Any], ...], _calibration: Predictions, _evaluation: Predictions
) -> ClassBinning:
    return class_binning(_calibration, _evaluation, **dict(options))


@st.cache_resource(max_entries=16, show_spinner="Trying k = 20 to 200 ...")
def _plan(key: str, _calibration: Predictions, _evaluation: Predictions) -> BinPlan:
    return plan_bins(_calibration, _evaluation)
