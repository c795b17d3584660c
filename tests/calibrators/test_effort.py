"""Fits that take minutes are announced before they start, from one table."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calib
from calib import (
    DirichletScaling,
    HistogramBinning,
    MulticlassToBinary,
    StructuredMatrixScaling,
    VectorScaling,
    VennAbersCalibration,
)
from calib.answers.advice import recommend
from calib.base.exceptions import LongFitWarning
from calib.calibrators import effort
from calib.calibrators.catalogue import METHODS, named_methods
from calib.calibrators.effort import EFFORTS, effort_words, fit_seconds


def venn_abers(notion, **options):
    return MulticlassToBinary(VennAbersCalibration(), notion=notion, **options)


def test_long_fits_are_announced_with_advice():
    class_wise = effort_words(venn_abers("class-wise"), 50_000, 1_000)
    assert class_wise.startswith(
        "VennAbersCalibration takes about 2 minutes of processor time for 50,000 rows of 1,000 classes: "
        "IsotonicCalibration"
    )
    assert "hours" in effort_words(DirichletScaling(), 50_000, 1_000)
    assert "StructuredVectorScaling" in effort_words(StructuredMatrixScaling(), 50_000, 1_000)
    assert "minutes" in effort_words(VectorScaling(l2="cv"), 50_000, 1_000)


def test_what_is_quick_is_not():
    """One event per row, one bin search, and vector scaling are seconds at 50,000 x 1,000."""
    quick = [
        venn_abers("top-label"), VectorScaling(), MulticlassToBinary(HistogramBinning(), notion="class-wise")
    ]  # fmt: skip
    assert [effort_words(item, 50_000, 1_000) for item in quick] == [""] * 3


def test_seconds_count_the_problems_of_the_notion():
    three = fit_seconds(venn_abers("top-k-label", top_k=3), 1_000, 10)
    assert three == pytest.approx(3 * fit_seconds(venn_abers("confidence"), 1_000, 10))
    assert fit_seconds(venn_abers("class-wise"), 1_000, 10) == pytest.approx(10 * three / 3)


def test_ranks_are_counted_where_their_number_is_left_out():
    item = fit_seconds(venn_abers("confidence"), 1_000, 10)
    for notion in ("top-k-confidence", "top-k-label"):
        unset = MulticlassToBinary(VennAbersCalibration(), notion=notion)
        assert fit_seconds(unset, 1_000, 10) == pytest.approx(5 * item)
        assert fit_seconds(unset, 1_000, 3) == pytest.approx(3 * item)


def test_the_table_names_calibrators_of_the_catalogue():
    assert set(EFFORTS) <= {method.make.__name__ for method in METHODS.values()}


@pytest.mark.parametrize("calibrator", [VectorScaling(l2=1.0), venn_abers("class-wise")])
def test_a_fit_warns_before_it_starts(monkeypatch, calibrator):
    monkeypatch.setattr(effort, "LONG", 0.0)
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    with pytest.warns(LongFitWarning, match="minutes of processor time for 60 rows of 3 classes"):
        calibrator.fit(proba, np.arange(60) % 3)
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrator.fit(proba, np.arange(60) % 3)


def test_recommendations_leave_long_fits_out():
    """SMS of 1,200 classes would take 104 s a fold; its ridge is made for so many parameters."""
    proba = np.random.default_rng(0).dirichlet(np.ones(1_200), 1_200)
    methods = {name: item for name, item in named_methods(None).items() if name in ("SMS", "TS")}
    found = recommend(proba, np.arange(1_200), methods=methods)
    assert "too long" in found.left_out["SMS"]


def test_the_warning_is_public():
    assert calib.LongFitWarning is LongFitWarning
