"""The catalogue of calibrators: names, options, and the methods of a comparison."""

from __future__ import annotations

import pytest

from calib import (
    CanonicalBinning,
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    PlattScaling,
    TemperatureScaling,
)
from calib.calibrators.catalogue import (
    BINARY,
    METHODS,
    PAPER,
    REPORTED,
    VECTOR,
    make_calibrator,
    method_of,
    name_of,
    named_methods,
    short_name,
)


def test_names_of_calibrators():
    assert name_of(make_calibrator()) == "TL-HB, k = 50"
    assert (
        name_of(make_calibrator("histogram", n_bins=15, notion="class-wise", normalize=True))
        == "N-HB, B = 15"
    )
    assert name_of(make_calibrator("beta", notion="confidence", fallback="pooled")) == "Conf-beta, pooled"
    assert name_of(make_calibrator("platt", complete="rescale")) == "TL-Platt, completed"
    assert name_of(make_calibrator("dirichlet")) == "DS"
    assert name_of(make_calibrator("dirichlet", l2=0.5, off_diagonal="cv")) == "DS (ODIR by CV), l2 = 0.5"
    assert name_of(make_calibrator("structured-matrix")) == "SMS"
    assert name_of(make_calibrator("grid")) == "Grid"
    with pytest.raises(InputError, match="method must be one of"):
        make_calibrator("magic")


def test_other_peoples_calibrators_are_named_by_their_class():
    class Homemade(HistogramBinning):
        pass

    assert name_of(MulticlassToBinary(Homemade(n_bins=3))) == "TL-Homemade, B = 3"
    assert method_of(Homemade()) is None


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_made_and_found_again(method):
    calibrator = make_calibrator(method)
    if isinstance(calibrator, (MulticlassToBinary, CanonicalBinning)):
        calibrator = calibrator.binary if method in BINARY else calibrator.scheme
    assert method_of(calibrator) == method


def test_options_go_where_they_belong():
    calibrator = make_calibrator("histogram", notion="top-k-label", top_k=2, ties="randomize", random_state=3)
    assert (calibrator.notion, calibrator.top_k, calibrator.binary.ties, calibrator.binary.random_state) == (
        "top-k-label",
        2,
        "randomize",
        3,
    )
    assert make_calibrator("projection", n_bins=5, random_state=3).scheme.get_params() == {
        "n_bins": 5,
        "directions": "rotating",
        "random_state": 3,
    }
    assert (
        make_calibrator("temperature", normalize=False, notion=None, random_state=0).objective == "log_loss"
    )
    for method, option in (
        ("platt", {"n_bins": 5}),
        ("temperature", {"notion": "top-label"}),
        ("grid", {"normalize": True}),
        ("histogram", {"depth": 2}),
        ("histogram", {"binary": PlattScaling()}),
    ):
        with pytest.raises(InputError, match=f"^{next(iter(option))} does not belong to method '{method}'"):
            make_calibrator(method, **option)


def test_methods_of_a_comparison():
    """Four reductions times every binary calibrator, every scaling, and variants of scalings."""
    methods = named_methods(10)
    assert tuple(methods)[: len(PAPER)] == PAPER
    assert len(methods) == 4 * len(BINARY) + len(VECTOR) + 5
    assert [name for name in methods if "CV" in name] == [
        "VS (ridge by CV)",
        "DS (ridge by CV)",
        "DS (ODIR by CV)",
    ]
    assert set(REPORTED) <= set(methods)
    assert all(short_name(calibrator) == name for name, calibrator in methods.items())
    assert methods["CW-HB"].binary.n_bins == 10
    assert named_methods(None, 30)["CW-HB"].binary.get_params()["points_per_bin"] == 30
    assert named_methods(None, 30)["CW-HB"].binary.n_bins is None
    assert methods["N-isotonic"].normalize
    assert repr(methods["TS-TvA"]) == repr(TemperatureScaling(objective="top_versus_all"))
    assert repr(methods["TS (conf-ECE grid)"]) == repr(TemperatureScaling(objective="conf_ece"))
