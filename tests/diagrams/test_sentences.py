"""Sentences about diagrams: numbers by hand, names unchanged."""

from __future__ import annotations

import numpy as np

from calib import (
    HistogramBinning,
    MulticlassToBinary,
    TopLabelPrediction,
    bin_statistics,
    ece_sweep,
    reduce_to_binary,
    reliability_diagram,
)
from calib.answers.calibrated import calibrated_scores
from calib.calibrators.multiclass import FALLBACK_WORDS, fallback_records, fallback_words
from calib.diagrams.bin_sweep import sweep_words
from calib.diagrams.class_tables import class_table
from calib.diagrams.reliability_diagrams import worst_cells_words
from calib.diagrams.validity_plots import ValidityCells, validity_cells, validity_curve, validity_words
from calib.stats.floors import ABOVE_NOISE

#: Class 0 is predicted with 0.6 a hundred times and right in 20; with 0.95 ten times and never right.
SCORES = TopLabelPrediction(np.zeros(110, np.int64), np.repeat([0.6, 0.95], [100, 10]))
LABELS = np.repeat([0, 1, 1], [20, 80, 10])
NAMES = ["<cat>", "dog"]


def test_reliability_names_the_bin_that_adds_most():
    diagram = reliability_diagram(LABELS, SCORES, n_bins=4)
    # Bin 2 is off by 0.4 in 100 rows, bin 3 by 0.95 in 10: 40 against 9.5.
    assert diagram.pooled.bin[diagram.adds_most] == 2
    assert diagram.words().startswith(
        "The bin that adds most to TL-ECE is 0.50 to 0.75: confidence 0.600, accuracy"
    )
    words = diagram.zoom(2).words(NAMES, strong="<b>{}</b>")
    assert words == (
        "Predicted <cat> at 0.5 to 0.75: confidence <b>0.600</b>, accuracy <b>0.200</b>, n = 100. All "
        "classes together: confidence 0.600, accuracy 0.200, n = 100."
    )


def test_worst_cells_need_twenty_rows():
    cells = reliability_diagram(LABELS, SCORES, n_bins=4).cells
    assert worst_cells_words(cells, NAMES, strong="**{}**") == [
        "Predicted <cat> at 0.50 to 0.75: confidence **0.600**, accuracy **0.200**, n = 100 (overconfident)"
    ]


def test_classes_that_are_off_are_counted_and_explained():
    table = class_table(LABELS, SCORES, n_bins=4, random_state=0)
    assert table.words("**{}**").startswith("**1 of 1** ")
    assert table.flagged.tolist() == table.above_noise.tolist()
    words = table.class_words(0, "`cat`", strong="**{}**")
    # Mean confidence (60 + 9.5) / 110, accuracy 20 / 110, error (40 + 9.5) / 110.
    for expected in (
        "`cat` is ",
        "for 110 rows: confidence **0.632**, accuracy **0.182**",
        "0.4500",
        ABOVE_NOISE,
    ):
        assert expected in words


def test_sweep_names_the_method_where_most_is_hidden():
    # Example 1 of the paper: pooled the gaps cancel, class by class both are 0.4.
    patients = TopLabelPrediction(np.repeat([0, 1], 5), np.full(10, 0.6))
    y = np.array([0, 2, 2, 2, 2, 1, 1, 1, 1, 1])
    sweeps = {
        name: {notion: ece_sweep(labels, patients, notion=notion) for notion in ("top-label", "confidence")}
        for name, labels in (("hides", y), ("shows", np.full(10, 2)))
    }
    assert sweep_words(sweeps).startswith(
        "For hides, the measured TL-ECE exceeds conf-ECE by 0.4000 to 0.4000, depending on B. Noise adds more"
    )


def test_a_direction_is_said_only_of_gaps_beyond_noise():
    # 40 rows each at 0.5: class 0 right 40 times (chance 2^-40), class 1 right 24 times (p = 0.27).
    top = TopLabelPrediction(np.repeat([0, 1], 40), np.full(80, 0.5))
    y = np.concatenate([np.zeros(40, int), np.repeat([1, 0], [24, 16])])
    cells = bin_statistics(reduce_to_binary(y, top, "top-label"), n_bins=15)
    first, second = worst_cells_words(cells, ["a", "b"])
    assert first.endswith("accuracy 1.000, n = 40 (underconfident)")
    assert "accuracy 0.600, n = 40 (within noise; a gap of 0.2460 would show" in second


def test_validity_is_said_for_each_curve():
    curve = validity_curve(LABELS, SCORES, n_bins=4)
    assert validity_words({"a": curve}, 0.5, strong="**{}**").endswith("in **91** of 100 rows for a.")
    assert "50 of 100 cells for a" in validity_words({"a": curve.by_cells()}, 0.5)


def test_cells_are_the_calibrators_where_both_can_share_them():
    proba = np.column_stack([np.linspace(0.55, 0.95, 90), 1 - np.linspace(0.55, 0.95, 90)])
    proba[60:] = proba[60:, ::-1]  # class 1 is predicted for 30 rows only
    y = np.arange(90) % 2
    cells = {}
    for k in (10, 50):
        fitted = MulticlassToBinary(HistogramBinning(points_per_bin=k)).fit(proba, y)
        after = calibrated_scores(fitted, proba)
        cells[k] = validity_cells(proba, after, notion="top-label")
    assert cells[10] == ValidityCells(calibrators_own=True)
    assert cells[50] == ValidityCells(calibrators_own=True, labels=(0,), left_out=1)
    assert "Left out: 1 " in cells[50].words(15)
    assert "Left out" not in cells[10].words(15)
    assert validity_cells(proba, proba, notion="top-label") == ValidityCells(False)
    assert "15 equal-width" in ValidityCells(False).words(15)


def test_fallbacks_are_listed_by_class():
    proba = np.column_stack([np.linspace(0.55, 0.95, 9), 1 - np.linspace(0.55, 0.95, 9)])
    fitted = {
        notion: MulticlassToBinary(notion=notion).fit(proba, np.arange(9) % 2)
        for notion in ("top-label", "confidence")
    }
    assert [item["class"] for item in fallback_records(fitted["top-label"], ("cat", "dog"))] == ["cat", "dog"]
    (pooled,) = fallback_records(fitted["confidence"], ("cat", "dog"))
    assert pooled == {"class": "all classes", "rank": 1, "n_points": 9, "needed": 50, "used": "identity"}
    assert fallback_words([pooled, pooled | {"class": "cat"}]) == [
        f"{FALLBACK_WORDS['identity']}: fewer than 50 calibration rows for all classes (9 rows), cat (9 rows)"
    ]
    assert fallback_words([pooled] * 12)[0].endswith(" and 2 more")
    assert fallback_records(HistogramBinning(), ("cat", "dog")) == []
