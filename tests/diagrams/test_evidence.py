"""Every diagram takes one thing that knows its outcomes, and noise allows for rows that belong together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import calib
from calib import InputError, Predictions, diagrams
from calib.answers.calibrated import calibrated_scores
from calib.answers.cuts import cut_column
from calib.answers.decision_curves import risk_coverage
from calib.diagrams.slice_maps import slice_heat
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Rows


def patients(
    seed: int, n_patients: int, n_rows: int, *, from_top: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores of three classes, outcomes with these chances, and the patient of each row.

    Most rows of a patient have one predicted class. Latent numbers, correlated in the rows of a patient, pick
    the class: the predicted one first, so that rows are right together, or in the order of the codes.
    """
    random, cluster = np.random.default_rng(seed), np.repeat(np.arange(n_patients), n_rows)
    size = random.standard_gamma(1.0 + 4.0 * (np.arange(3) == cluster[:, None] % 3))
    proba = size / size.sum(axis=1, keepdims=True)
    common, own = random.standard_normal(n_patients)[cluster], random.standard_normal(len(cluster))
    chance = ndtr(np.sqrt(0.6) * common + np.sqrt(0.4) * own)
    order = np.argsort(-proba, axis=1) if from_top else np.tile(np.arange(3), (len(cluster), 1))
    reach = np.take_along_axis(proba, order, axis=1).cumsum(axis=1)[:, :2]
    return proba, order[np.arange(len(cluster)), (reach < chance[:, None]).sum(axis=1)], cluster


def with_and_without(proba: np.ndarray, y: np.ndarray, cluster: np.ndarray) -> list[Predictions]:
    return [Predictions(proba, y, cluster=cluster), Predictions(proba, y)]


PROBA, Y, CLUSTER = patients(0, 30, 20)
WEIGHT = np.random.default_rng(1).integers(0, 3, len(Y)).astype(float)
GROUPS = cut_column(CLUSTER % 3, name="site", codes=True)
SHARPER = PROBA**2 / (PROBA**2).sum(axis=1, keepdims=True)
CELLS = PROBA.argmax(axis=1)
TOGETHER, APART = with_and_without(PROBA, Y, CLUSTER)

#: Diagrams of (y_true, scores), by name; the options of each are bound.
DIAGRAMS: dict[str, Callable[..., Any]] = {
    "reliability": calib.reliability_diagram,
    "zoom": partial(calib.bin_zoom, bin=9),
    "class table": partial(calib.class_table, n_resamples=50),
    "top-label diagram of a class": partial(calib.class_diagram, label=0),
    "class-wise diagram of a class": partial(calib.class_diagram, label=0, notion="class-wise"),
    "confusions": partial(diagrams.confusions, label=0),
    "sweep": partial(calib.ece_sweep, n_bins=[5, 10]),
    "validity": partial(calib.validity_curve, n_resamples=20),
    "class-wise validity in other cells": partial(
        calib.validity_curve, notion="class-wise", reference=SHARPER.round(1), n_resamples=20
    ),
    "canonical validity": lambda *args, **options: diagrams.canonical_validity(
        *args, cells=CELLS[WEIGHT > 0] if isinstance(args[0], Rows) else CELLS, **options
    ),
    "groups by bin": partial(slice_heat, column=GROUPS),
    "rows": partial(diagrams.row_table, after={"sharper": SHARPER}),
    "risk and coverage": risk_coverage,
}

#: The numbers of each that show noise, the ends of intervals last.
NOISE: dict[str, tuple[str, ...]] = {
    "reliability": ("perfect_gaps", "accuracy_lower", "accuracy_upper"),
    "zoom": ("accuracy_lower", "accuracy_upper"),
    "class table": ("p_value", "floor", "floor_upper"),
    "top-label diagram of a class": ("frequency_lower", "frequency_upper"),
    "class-wise diagram of a class": ("frequency_lower", "frequency_upper"),
    "validity": ("perfect_share", "perfect_cell_share"),
    "class-wise validity in other cells": ("perfect_share", "perfect_cell_share"),
    "groups by bin": ("accuracy_lower", "accuracy_upper"),
}
#: Numbers that do not depend on clusters.
MEANS = ("delta", "gap", "share", "class_ece", "mean_score", "mean_outcome", "count")
#: Cells of a result, whose means do not depend on clusters either.
CELLS_OF = ("pooled", "cells")


def flat(value: Any) -> list[Any]:
    """Return everything in a result, one after the other."""
    if is_dataclass(value):
        return [part for field in fields(value) for part in flat(getattr(value, field.name))]
    if isinstance(value, pd.DataFrame):
        return [part for column in value for part in flat(value[column].to_numpy())]
    if isinstance(value, Mapping):
        return flat(list(value.values()))
    if isinstance(value, (tuple, list)):
        return [part for each in value for part in flat(each)]
    return value.ravel().tolist() if isinstance(value, np.ndarray) else [value]


def check_equal(found: Any, expected: Any) -> None:
    for one, other in zip(flat(found), flat(expected), strict=True):
        if isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)
        else:
            assert one == other


def numbers_of(result: Any, name: str) -> np.ndarray:
    return np.array(flat(getattr(result, name)), dtype=float)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_arrays_predictions_and_evidence_give_the_same_diagram(name):
    draw = DIAGRAMS[name]
    rows = Predictions(PROBA, Y, sample_weight=WEIGHT, cluster=CLUSTER)
    expected = draw(Y, PROBA, sample_weight=WEIGHT, cluster=CLUSTER)
    check_equal(draw(rows), expected)
    check_equal(draw(Rows(rows)), expected)
    check_equal(draw(Predictions(PROBA, Y), sample_weight=WEIGHT, cluster=CLUSTER), expected)


@pytest.mark.parametrize("name", NOISE)
def test_noise_allows_for_clusters_and_means_do_not_depend_on_them(name):
    files = with_and_without(*patients(0, 30, 20, from_top="class-wise" not in name))
    together, apart = (DIAGRAMS[name](rows) for rows in files)
    for part in NOISE[name]:
        values = [numbers_of(each, part) for each in (together, apart)]
        assert not np.allclose(*values, equal_nan=True), part
    *_, low, high = NOISE[name]
    if high.endswith("upper"):  # a floor is higher, and an interval wider
        width = [np.nansum(numbers_of(each, high) - numbers_of(each, low)) for each in (together, apart)]
        assert width[0] > width[1]
    compared = [(together, apart)]
    for name in CELLS_OF:
        pair = getattr(together, name, None), getattr(apart, name, None)
        compared += [pair] if isinstance(pair[0], BinStatistics) else []
    for (found, expected), part in product(compared, MEANS):
        if hasattr(found, part):
            check_equal(getattr(found, part), getattr(expected, part))


def test_no_class_of_a_perfect_model_is_off_beyond_noise_after_calibration():
    """60 patients with 40 rows each: as independent rows, classes would be named; as patients, none is."""
    proba, y, cluster = patients(7, 60, 40)
    test = Predictions(proba, y, cluster=cluster)
    scaled = calibrated_scores(calib.TemperatureScaling().fit(proba, y), test)
    for rows in (test, scaled):
        assert len(calib.reliability_diagram(rows).clearest) == 0
        assert not calib.class_table(rows, n_resamples=200).flagged.any()
    apart = scaled.with_cluster(None)
    assert len(calib.reliability_diagram(apart).clearest) > 0
    assert calib.class_table(apart, n_resamples=200).flagged.any()


def test_bins_by_class_are_compared_with_noise_of_clusters():
    together, apart = (
        diagrams.class_binning(rows, rows, points_per_bin=30, n_resamples=50) for rows in (TOGETHER, APART)
    )
    check_equal((together.ece, together.base_ece), (apart.ece, apart.base_ece))
    assert (together.base_floor > apart.base_floor).all()
    assert (together.floor > apart.floor).all()


def test_sweeps_of_models_have_floors_of_clusters():
    together, apart = (
        calib.sweep_models({"a": (rows, rows)}, ["TS"], n_bins=[5], n_resamples=50).frame()
        for rows in (TOGETHER, APART)
    )
    check_equal(together["value"].tolist(), apart["value"].tolist())
    base = together["method"] == "Base"
    assert (together["floor"][base] > apart["floor"][base]).all()


def test_bounds_of_independent_rows_are_left_out_for_clusters():
    calibrator = calib.CanonicalBinning(calib.SierpinskiScheme(1)).fit(PROBA, Y)
    together, apart = (diagrams.recalibration_map(calibrator, rows) for rows in (TOGETHER, APART))
    check_equal(together.head, apart.head)
    assert np.isnan(together.bound).all()
    assert (apart.bound > 0.0).all()
    drawn = [
        diagrams.draw_recalibration(each, PROBA, rows=np.arange(5), outlines={})["data"][2]["x"]
        for each in (together, apart)
    ]
    assert not drawn[0]
    assert drawn[1]


def test_views_of_three_classes_keep_what_came_with_the_rows():
    random = np.random.default_rng(2)
    table = pd.DataFrame({"id": np.arange(50)})
    rows = Predictions(
        random.dirichlet(np.ones(4), 50),
        random.integers(4, size=50),
        metadata=table,
        cluster=np.arange(50) // 5,
        columns={"id": "id"},
    )
    merged, few = diagrams.merge_classes(rows, 3, 1), diagrams.renormalise_classes(rows, [0, 1, 2])
    assert merged.cluster.tolist() == rows.cluster.tolist()
    kept = few.metadata["id"].to_numpy()
    assert rows.labels[kept].max() < 3
    assert few.cluster.tolist() == (kept // 5).tolist()
    assert merged.columns == few.columns == {"id": "id"}


@pytest.mark.parametrize(
    "draw",
    [
        lambda rows: diagrams.class_binning(rows, rows, points_per_bin=30),
        lambda rows: diagrams.recalibration_map(
            calib.CanonicalBinning(calib.GridScheme(3)).fit(PROBA, Y), rows
        ),
    ],
)
def test_diagrams_that_count_rows_refuse_weights(draw):
    with pytest.raises(InputError, match="weight"):
        draw(Predictions(PROBA, Y, sample_weight=WEIGHT))


def test_evidence_that_holds_less_is_refused_in_words():
    problems = calib.reduce_to_binary(PROBA.argmax(axis=1), PROBA)
    for draw in (diagrams.row_table, partial(diagrams.confusions, label=0), calib.class_table):
        with pytest.raises(InputError, match="BinaryProblems"):
            draw(problems)
    for draw, match in (
        (calib.bin_zoom, "bin None holds no rows"),
        (calib.class_diagram, "label must be the code of a class, 0 to 2; got None"),
        (partial(diagrams.confusions, label=3), "label must be the code of a class, 0 to 2; got 3"),
        (diagrams.rows_behind, "cells must be a diagram's"),
        (diagrams.canonical_validity, "cells are missing"),
    ):
        with pytest.raises(InputError, match=match):
            draw(APART)
