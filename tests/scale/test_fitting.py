"""Fits to files: those of the rows in memory, to the last bit or to 1e-9."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calib import (
    HistogramBinning,
    InputError,
    IsotonicCalibration,
    MulticlassToBinary,
    TemperatureScaling,
    VectorScaling,
    read,
    scale,
)
from calib.answers.calibrated import fit_on
from calib.scale.fitting import FIRST_CELLS, added_counts, cells_of_cuts, fit_counts
from tests.populations import population

N, L = 4_000, 5


@pytest.fixture(scope="module")
def rows():
    proba, labels = population(N, L, seed=8)
    proba[:, 4] *= 0.2
    return proba / proba.sum(axis=1, keepdims=True), labels


def write(rows, folder, n_parts=1, seed=None, **further):
    proba, labels = rows
    columns = {f"p(c{code})": proba[:, code] for code in range(L)}
    table = pa.table(columns | {"label": [f"c{code}" for code in labels]} | further)
    if seed is not None:
        table = table.take(np.random.default_rng(seed).permutation(N))
    folder.mkdir(exist_ok=True)
    for at, start in enumerate(range(0, N, N // n_parts)):
        pq.write_table(table[start : start + N // n_parts], folder / f"{at:02d}.parquet", row_group_size=150)
    return folder


def assert_same(mine, other):
    assert (mine is None) == (other is None)
    if mine is not None:
        for name in ("edges_", "values_", "counts_"):
            assert np.array_equal(getattr(mine, name), getattr(other, name)), name


@pytest.mark.parametrize("notion", ["top-label", "confidence"])
@pytest.mark.parametrize(("n_parts", "workers"), [(1, 1), (16, 4)])
def test_histogram_binning_is_that_of_the_rows(rows, tmp_path, notion, n_parts, workers):
    binning = HistogramBinning(n_bins=15)
    calibrator = MulticlassToBinary(binning, notion=notion, fallback="pooled", min_points=300)
    folder = write(rows, tmp_path / "d", n_parts, seed=n_parts)
    mine = scale.fit(folder, calibrator, workers=workers)
    theirs = calibrator.fit(*rows)
    for item, other in zip(mine.calibrators_, theirs.calibrators_, strict=True):
        assert_same(item, other)
    assert_same(mine.pooled_[0], theirs.pooled_[0])
    assert mine.fallbacks_ == theirs.fallbacks_
    assert mine.n_points_.tolist() == theirs.n_points_.tolist()
    assert mine.class_names_ == tuple(f"c{code}" for code in range(L))


@pytest.mark.parametrize(("n_parts", "workers"), [(1, 2), (7, 1), (64, 4)])
def test_every_division_order_and_number_of_workers_gives_the_same_fit(rows, tmp_path, n_parts, workers):
    theirs = MulticlassToBinary(HistogramBinning(n_bins=12)).fit(*rows)
    folder = write(rows, tmp_path / "d", n_parts, seed=n_parts)
    mine = scale.fit(folder, MulticlassToBinary(HistogramBinning(n_bins=12)), workers=workers)
    for item, other in zip(mine.calibrators_, theirs.calibrators_, strict=True):
        assert_same(item, other)


@pytest.mark.parametrize("by", ["group", ("class", "group")])
def test_bins_by_group_are_those_of_the_rows(rows, tmp_path, by):
    site = np.random.default_rng(0).choice(["n", "s", "tiny"], N, p=[0.6, 0.39, 0.01])
    calibrator = MulticlassToBinary(HistogramBinning(points_per_bin=60), by=by)
    mine = scale.fit(write(rows, tmp_path / "d", 4, seed=2, site=site), calibrator, groups="site")
    theirs = calibrator.fit(*rows, groups=site)
    assert mine.groups_ == theirs.groups_
    for item, other in zip(mine.everyone_, theirs.everyone_, strict=True):
        assert_same(item, other)
    assert mine.fallbacks_ == theirs.fallbacks_


@pytest.mark.parametrize("seed", range(6))
def test_cuts_lie_in_the_cells_that_are_refined(seed):
    """With ties of all sizes: the fit of whole cells and of scores around cuts is that of all scores."""
    random = np.random.default_rng(seed)
    values = random.beta(*random.choice([0.3, 1.0, 4.0], 2), 400)
    score = random.choice(values, 3_000, p=random.dirichlet(np.full(400, 0.2)))
    happened = random.random(3_000) < score
    points = pd.DataFrame({"key": 0, "score": score, "points": 1, "happened": happened.astype(int)})
    binning = HistogramBinning(n_bins=int(random.integers(2, 40)))
    cells = added_counts([points.assign(score=np.floor(score * FIRST_CELLS))])
    mask = cells_of_cuts(cells, binning.n_bins)
    inside = mask[np.floor(score * FIRST_CELLS).astype(int)]
    coarse = np.where(inside, score, np.floor(score * FIRST_CELLS) / FIRST_CELLS)
    mixed = added_counts([points.assign(score=coarse)])
    assert_same(fit_counts(HistogramBinning(n_bins=binning.n_bins), mixed), binning.fit(score, happened))


def test_classes_and_scores_that_rows_name(rows, tmp_path):
    proba, labels = rows
    names = np.array(["emu", "cat", "9", "10", "fox"], dtype=object)
    columns = {"predicted": names[proba.argmax(axis=1)], "confidence": proba.max(axis=1)}
    columns |= {"label": names[labels]}
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), file, row_group_size=333)
    calibrator = MulticlassToBinary(HistogramBinning(n_bins=7))
    mine, theirs = scale.fit(file, calibrator), fit_on(calibrator, read(file))
    assert mine.class_names_ == read(file).class_names
    for item, other in zip(mine.calibrators_, theirs.calibrators_, strict=True):
        assert_same(item, other)
    pq.write_table(pa.table({"p(yes)": proba[:, 0], "label": labels == 0}), file)
    assert_same(scale.fit(file, HistogramBinning()), HistogramBinning().fit(proba[:, 0], labels == 0))


@pytest.mark.parametrize("n_parts", [1, 10])
def test_temperature_and_vector_scaling_agree_to_1e_9(rows, tmp_path, n_parts):
    folder = write(rows, tmp_path / "d", n_parts, seed=n_parts)
    temperature = scale.fit(folder, TemperatureScaling())
    expected = TemperatureScaling().fit(*rows)
    assert temperature.temperature_ == pytest.approx(expected.temperature_, rel=1e-9)
    assert temperature.floor_ == expected.floor_
    vector, expected = scale.fit(folder, VectorScaling(l2=1e-4)), VectorScaling(l2=1e-4).fit(*rows)
    np.testing.assert_allclose(vector.weights_, expected.weights_, atol=1e-9)
    np.testing.assert_allclose(vector.biases_, expected.biases_, atol=1e-9)


def test_fits_that_sums_do_not_give(rows, tmp_path):
    folder = write(rows, tmp_path / "d")
    with pytest.raises(InputError, match="Isotonic regression cannot be fitted by sums"):
        scale.fit(folder, IsotonicCalibration())
    with pytest.raises(InputError, match="fits at scale are histogram binning"):
        scale.fit(folder, MulticlassToBinary(IsotonicCalibration()))
    with pytest.raises(InputError, match="belongs to a calibrator whose `by` names groups"):
        scale.fit(folder, MulticlassToBinary(), groups="label")
    with pytest.raises(InputError, match="needs a number as l2"):
        scale.fit(folder, VectorScaling(l2="cv"))


def test_a_file_without_a_part_to_fit_on(rows, tmp_path):
    folder = write(rows, tmp_path / "d", split=["test"] * N)
    with pytest.raises(InputError, match="no row can be used"):
        scale.fit(folder, TemperatureScaling())
    with pytest.raises(InputError, match="row"):
        scale.fit(folder)
