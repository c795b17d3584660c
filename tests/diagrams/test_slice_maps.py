"""Maps of groups, against literal loops."""

import numpy as np
import pytest

from calib import TopLabelPrediction
from calib.answers import cut_column
from calib.diagrams.slice_maps import slice_heat

N = 900
RANDOM = np.random.default_rng(1)
TOP = TopLabelPrediction(RANDOM.integers(0, 3, N), RANDOM.uniform(0.4, 1.0, N))
GROUP = RANDOM.choice(["north", "south", "west"], N, p=[0.5, 0.4, 0.1])
RIGHT = RANDOM.random(N) < np.where(GROUP == "south", 0.6 * TOP.confidence, TOP.confidence)
Y = np.where(RIGHT, TOP.label, (TOP.label + 1) % 3)
WEIGHT = RANDOM.choice([1.0, 4.0], N)


@pytest.mark.parametrize("weights", [None, WEIGHT])
def test_maps_hold_the_cells_of_each_group(weights):
    cut, each = cut_column(GROUP), np.ones(N) if weights is None else weights
    by_bin = slice_heat(Y, TOP, cut, n_bins=5, sample_weight=weights)
    bins = by_bin.frame().set_index(["label", "bin"])
    for group in by_bin.label:
        for bin_ in range(5):
            mask = (cut.code == group) & (np.minimum((TOP.confidence * 5).astype(int), 4) == bin_)
            assert ((group, bin_) in bins.index) == mask.any()
            if mask.any():
                cell = bins.loc[group, bin_]
                assert cell["count"] == mask.sum()
                assert cell["accuracy"] == pytest.approx(np.average(RIGHT[mask], weights=each[mask]))
                assert cell["accuracy_lower"] <= cell["accuracy"]
