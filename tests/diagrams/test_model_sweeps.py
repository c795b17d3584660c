"""Errors of several models against the number of bins: each by its own function, and the small multiples."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calib
from calib import HistogramBinning, InputError, MulticlassToBinary, compare_models, sweep_models
from calib.answers.calibrated import calibrated_scores
from calib.diagrams import draw_model_comparison
from tests.answers.test_model_tables import Failing, models

COUNTS = [5, 8]


@pytest.fixture(scope="module")
def pairs():
    fitting, unseen = models(seed=1), models(seed=2)
    return {name: (fitting[name], unseen[name]) for name in ("sure", "good")}


@pytest.fixture(scope="module")
def swept(pairs):
    methods = {"CW-HB": MulticlassToBinary(HistogramBinning(n_bins=15), notion="class-wise")}
    methods["TL-HB"] = MulticlassToBinary(HistogramBinning(n_bins=15))
    return sweep_models(pairs, methods | {"broken": Failing()}, n_bins=COUNTS, n_resamples=50)


@pytest.mark.parametrize("count", COUNTS)
def test_base_and_refitted_binning_are_assessed_for_each_number_of_bins(pairs, swept, count):
    for model, (fitting, unseen) in pairs.items():
        rows = swept.frame().query(f"model == {model!r} and n_bins == @count")
        value = {(row.method, row.measure): row.value for row in rows.itertuples()}
        y = unseen.labels
        for key, notion in (("conf_ece", "confidence"), ("tl_ece", "top-label"), ("cw_ece", "class-wise")):
            assert value["Base", key] == pytest.approx(calib.ece(y, unseen, notion=notion, n_bins=count))
        assert value["Base", "tl_mce_bin"] == pytest.approx(
            calib.mce(y, unseen, n_bins=count, aggregate="bin")
        )
        for method, notion, key in (("CW-HB", "class-wise", "cw_ece"), ("TL-HB", "top-label", "tl_ece")):
            binned = MulticlassToBinary(HistogramBinning(n_bins=count), notion=notion)
            scores = calibrated_scores(binned.fit(fitting.proba, fitting.labels), unseen)
            error = calib.ece(y, scores, notion=notion, strategy=binned.strategy_for(unseen))
            assert value[method, key] == pytest.approx(error)
        assert ("TL-HB", "cw_ece") not in value
        floor = calib.noise_floor(y, unseen, n_bins=count, n_resamples=50, random_state=0)
        (row,) = rows.query("method == 'Base' and measure == 'tl_ece'").itertuples()
        assert (row.floor, row.floor_upper) == pytest.approx((floor.mean, floor.quantile(0.95)))
    assert set(swept.frame().query("method == 'broken'")["failure"]) == {"no such luck"}


@pytest.mark.parametrize("measure", ["tl_ece", "brier"])
def test_the_figure_of_models_can_be_saved_as_a_page(pairs, measure):
    compared = compare_models(pairs, [], n_resamples=20)
    drawn = draw_model_comparison(compared, measure)
    assert json.loads(json.dumps(drawn)) == drawn
    values = compared.frame().query("measure == @measure")["value"]
    marks = [trace["y"] for trace in drawn["data"] if trace["type"] == "scatter"]
    assert sum(marks, []) == pytest.approx(values.tolist())


def test_panels_share_their_axes_and_show_the_numbers(swept):
    drawn = swept.plot()
    lines = [trace for trace in drawn.data if trace.fill is None and trace.name == "Base"]
    assert len(lines) == len(swept.models) * len(swept.measures)
    first = swept.frame().query("model == 'sure' and method == 'Base' and measure == 'conf_ece'")
    np.testing.assert_array_equal(lines[0].y, first["value"])
    assert drawn.layout.yaxis.range == drawn.layout.yaxis2.range
    with pytest.raises(InputError, match="n_bins"):
        sweep_models({"a": models()["good"]}, n_bins=[])
