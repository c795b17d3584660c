"""Results print on one screen, show a table in notebooks, and draw themselves."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import is_dataclass

import numpy as np
import pytest

import calib
from calib import InputError, diagrams
from calib.answers import cut_column
from calib.base.results import Drawn, Result
from calib.diagrams.plots import ALONE, OF_METHODS
from calib.stats import NoiseFloor, calibration_tests
from tests.figures import accepted
from tests.public import public_objects

_random = np.random.default_rng(0)
PROBA = _random.dirichlet(np.ones(3), 400)
Y = np.array([_random.choice(3, p=p) for p in PROBA])


def results():
    """One result of each kind that prints numbers of many rows."""
    diagram = calib.reliability_diagram(Y, PROBA)
    rule = calib.decide(Y, PROBA, accuracy=0.5)
    groups = np.array(["a", "b"])[Y % 2]
    return {
        "floor": calib.noise_floor(Y, PROBA, n_resamples=1000, random_state=0),
        "diagram": diagram,
        "zoom": diagram.zoom(int(diagram.pooled.bin[-1])),
        "sweep": calib.ece_sweep(Y, PROBA, n_bins=range(5, 26)),
        "classes": calib.class_table(Y, PROBA, n_resamples=20),
        "interval": calib.error_interval(Y, PROBA),
        "slices": calib.slices(Y, PROBA, groups, n_resamples=20),
        "rule": rule,
        "risk": calib.risk_coverage(Y, PROBA),
        "validity": calib.validity_curve(Y, PROBA),
        "problems": calib.reduce_to_binary(Y, PROBA, "top-label"),
        "rows": calib.Predictions(PROBA, Y),
        "top": calib.TopLabelPrediction(PROBA.argmax(axis=1), PROBA.max(axis=1), Y),
        "advice": calib.recommend(PROBA, Y, methods={"TS": calib.TemperatureScaling()}),
    }


def test_every_result_prints_on_one_screen():
    for name, item in results().items():
        assert len(repr(item)) < 2000, (name, len(repr(item)))
        assert "..., " not in repr(item) or len(repr(item)) < 2000
        page = item._repr_html_() if hasattr(item, "_repr_html_") else ""
        assert len(page) < 20_000, name
    assert "1000" in repr(results()["floor"])
    assert "observed=0." in repr(results()["floor"])


def test_names_are_escaped_in_notebooks():
    groups = np.array(["<b>x</b>", "y"])[Y % 2]
    page = calib.slices(Y, PROBA, groups, n_resamples=20)._repr_html_()
    assert "<b>x" not in page


def test_results_with_a_figure_draw_it():
    found = results()
    drawn = {name: item for name, item in found.items() if isinstance(item, Drawn)}
    assert {"floor", "diagram", "zoom", "sweep", "risk", "validity"} <= drawn.keys()
    for name, item in drawn.items():
        assert len(accepted(item.plot()).data) > 0, name
    diagram = found["diagram"]
    expected = accepted(diagrams.draw_reliability(diagram))
    assert [list(t.y) for t in diagram.plot().data] == [list(t.y) for t in expected.data]
    assert not hasattr(found["interval"], "plot")
    assert set(Drawn.__subclasses__()) == ALONE.keys() | OF_METHODS.keys()


def test_a_sentence_is_asked_for_in_one_way():
    found = results()
    floor, table, advice = found["floor"], found["slices"], found["advice"]
    assert (floor.sentence, table.sentence, advice.sentence) == (floor.words, table.words(), advice.reason)
    assert calib.paired_interval(Y, PROBA, PROBA).sentence
    with pytest.raises(AttributeError, match="RiskCoverage has no 'sentence'; it has "):
        _ = found["risk"].sentence


def test_what_a_result_lacks_is_answered_with_what_it_has():
    with pytest.raises(AttributeError, match=r"SliceTable has no 'table'; it has .*differs.*frame.*plot"):
        _ = results()["slices"].table
    with pytest.raises(InputError, match="no option 'ax', only backend, class_names"):
        results()["diagram"].plot(ax=None)


def test_plotly_waits_for_the_first_figure():
    code = "calib.noise_floor([0, 1], [0.2, 0.9], n_resamples=5)"
    program = f"import sys, calib; {code}; print('plotly' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_results_are_shortened_not_their_arrays():
    assert issubclass(NoiseFloor, Result)
    assert len(results()["floor"].samples) == 1000


#: Public dataclasses that are given to functions, or parts of a result whose table lists them.
NO_RESULTS = {
    *("BinaryPrediction", "ConfidencePrediction", "MultilabelPrediction", "Predictions", "TopKPrediction"),
    *("TopLabelPrediction", "Example", "Check", "Fallback", "Finding", "Gap"),
    *("ReportInput", "ValidityCells", "BasePrediction", "MonitoredGap", "PerClass", "Unit"),
}


def test_every_public_dataclass_is_a_result_with_a_table():
    public = {
        name: each for name, each in public_objects().items() if is_dataclass(each) and isinstance(each, type)
    }
    assert {name for name, each in public.items() if not hasattr(each, "frame")} == NO_RESULTS


def test_tables_of_numbers():
    tests = calibration_tests(Y, PROBA)
    slope = calib.calibration_slope(Y, PROBA).frame()
    assert slope.loc[0, "slope_lower"] < slope.loc[0, "slope"] < slope.loc[0, "slope_upper"]
    assert tests[0].frame().to_dict("records") == [vars(tests[0])]
    problems = calib.reduce_to_binary(Y, PROBA, "top-label")
    table = problems.frame()
    assert table.shape == (400, 4)
    assert (table["outcome"] == (PROBA.argmax(axis=1) == Y)[table["row"]]).all()
    assert np.array_equal(PROBA.max(axis=1)[table["row"]], table["score"])
    assert cut_column(["b", "a", "b"], name="site").frame()["site"].tolist() == ["b", "a", "b"]
    promise = calib.guarantee(points_per_bin=50, n_samples=1000).frame()
    assert promise["points_per_bin"].tolist() == [50]
    assert calib.metrics(Y, PROBA).frame().loc[0, "tl_ece"] == pytest.approx(calib.ece(Y, PROBA))
