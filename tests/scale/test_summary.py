"""Summaries: equal to what the rows give in memory, for every division into parts, order and engine."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calib
from calib import InputError, TopLabelPrediction, scale
from calib.answers import cut_column
from calib.diagrams.slice_maps import slice_heat
from calib.evidence.binning import assign_bins
from calib.evidence.cell_sums import EDGES, added, cell_sums, finder
from calib.evidence.rows import as_evidence
from calib.scale.batches import decide
from calib.scale.engines import Threads
from calib.scale.files import HEAD, MOST_VALUES, dumps
from calib.scale.scan import Scan
from calib.scale.summary import combined, sums_of
from calib.stats import consistency_band
from calib.stats.intervals import measure_interval
from calib.stats.measures import MEASURES
from tests import ROOT
from tests.populations import population

N, L = 6_000, 7
BINS = (1, 2, 15, 49, 50)


@pytest.fixture(scope="module")
def rows():
    proba, labels = population(N, L, seed=3)
    return proba.astype(np.float32), labels


def vectors(proba, labels, **further):
    columns = {f"p(c{code})": np.ascontiguousarray(proba[:, code]) for code in range(proba.shape[1])}
    return pa.table(columns | {"label": [f"c{code}" for code in labels]} | further)


@pytest.fixture(scope="module")
def table(rows):
    random = np.random.default_rng(0)
    return vectors(*rows, site=random.choice(["north", "south", "west"], N))


@pytest.fixture(scope="module")
def whole(table, tmp_path_factory):
    file = tmp_path_factory.mktemp("whole") / "rows.parquet"
    pq.write_table(table, file, row_group_size=1_000)
    return scale.summarize(file, by="site", class_wise=True)


def divided(table, folder, n_parts, seed=0):
    """Write the rows in another order into files of unequal size, each with a few row groups."""
    random = np.random.default_rng(seed)
    shuffled = table.take(random.permutation(len(table)))
    cuts = np.sort(random.choice(np.arange(1, len(table)), n_parts - 1, replace=False))
    for at, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(table)], strict=True)):
        pq.write_table(shuffled[start:stop], folder / f"{at:02d}.parquet", row_group_size=400)
    return str(folder / "*.parquet")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cell_of_scores_on_and_beside_every_edge(dtype):
    edges = np.append(EDGES, np.arange(4097) / 4096).astype(dtype)
    scores = np.concatenate([edges, np.nextafter(edges, dtype(-1)), np.nextafter(edges, dtype(2)), [0, 1]])
    scores = scores.astype(dtype)[(scores >= 0) & (scores <= 1)]
    assert (finder(scores.dtype)(scores) == assign_bins(scores, EDGES)).all()
    assert len(EDGES) + 2 == 775


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_errors_are_those_of_the_rows(rows, whole, notion):
    proba, labels = rows
    for n_bins in BINS:
        options = {"notion": notion, "n_bins": n_bins}
        assert whole.ece(notion, n_bins) == pytest.approx(calib.ece(labels, proba, **options), abs=1e-12)
        assert calib.mce(whole, notion=notion, n_bins=n_bins) == pytest.approx(
            calib.mce(labels, proba, **options), abs=1e-12
        )
        assert whole.ece(notion, n_bins, norm=2) == pytest.approx(
            calib.ece(labels, proba, norm=2, **options), abs=1e-12
        )
    assert whole.n_samples == N


def test_numbers_of_rows(rows, whole):
    proba, labels = rows
    assert calib.accuracy(whole) == pytest.approx(calib.accuracy(labels, proba), abs=1e-15)
    assert calib.brier_score(whole) == pytest.approx(calib.brier_score(labels, proba), abs=1e-12)
    assert calib.log_loss(whole) == pytest.approx(calib.log_loss(labels, proba), abs=1e-12)


def test_diagrams_intervals_and_tables_are_those_of_the_rows(rows, whole):
    proba, labels = rows
    diagram = calib.reliability_diagram(whole, n_bins=12).frame()
    of_rows = calib.reliability_diagram(labels, proba, n_bins=12).frame()
    np.testing.assert_allclose(diagram.to_numpy(float), of_rows.to_numpy(float), atol=1e-12)
    for notion in ("confidence", "top-label"):
        interval = calib.error_interval(whole, notion=notion, n_bins=20)
        expected = calib.error_interval(labels, proba, notion=notion, n_bins=20)
        assert (interval.lower, interval.upper) == pytest.approx((expected.lower, expected.upper), abs=1e-12)
    validity = calib.validity_curve(whole)
    expected = calib.validity_curve(labels, proba, n_bins=15)
    assert validity.at(0.05) == pytest.approx(expected.at(0.05), abs=1e-12)
    classes = calib.class_table(whole, n_resamples=200, random_state=0)
    expected = calib.class_table(labels, proba, n_resamples=200, random_state=0)
    assert classes.predicted.tolist() == expected.predicted.tolist()
    assert classes.true.tolist() == expected.true.tolist()
    np.testing.assert_allclose(classes.class_ece, expected.class_ece, atol=1e-12)
    np.testing.assert_allclose(classes.floor, expected.floor, rtol=0.1)


def same(mine, theirs, **tolerance):
    """Whether two tables hold the same columns of numbers."""
    assert list(mine) == list(theirs)
    for name in mine:
        if mine[name].dtype.kind in "if":
            np.testing.assert_allclose(mine[name], theirs[name], err_msg=name, **{"atol": 1e-12} | tolerance)


def test_what_pages_show_is_that_of_the_rows(rows, whole, table):
    proba, labels = rows
    metrics, expected = calib.metrics(whole, n_bins=20), calib.metrics(labels, proba, n_bins=20)
    for name, measure in MEASURES.items():
        if measure.missing(whole) is None and getattr(expected, name, None) is not None:
            assert getattr(metrics, name) == pytest.approx(getattr(expected, name), abs=1e-12), name
    same(
        calib.conclude(whole, n_bins=12).frame(),
        calib.conclude(labels, proba, n_bins=12).frame(),
        atol=1e-9,
    )
    for rule in ("brier", "log_loss"):
        theirs = calib.decomposition(labels, proba, rule=rule).frame()
        same(calib.decomposition(whole, rule=rule).frame(), theirs)
    for notion in ("top-label", "class-wise"):
        theirs = calib.class_diagram(labels, proba, 3, notion=notion, n_bins=9)
        mine = calib.class_diagram(whole, label=3, notion=notion, n_bins=9)
        assert mine.cells.ece() == pytest.approx(theirs.cells.ece(), abs=1e-12)
        same(mine.frame(), theirs.frame())
        theirs = calib.validity_curve(labels, proba, notion=notion, label=3, n_resamples=300, random_state=0)
        mine = calib.validity_curve(whole, notion=notion, label=3, n_resamples=300, random_state=1)
        same(mine.frame(), theirs.frame())
        mean_gaps = [np.trapezoid(1.0 - each.perfect_share, each.perfect_epsilon) for each in (mine, theirs)]
        assert mean_gaps[0] == pytest.approx(mean_gaps[1], rel=0.1)
    for key in ("conf_ece", "tl_mce_cell", "accuracy"):
        theirs = measure_interval(as_evidence(labels, proba), key)
        assert measure_interval(whole, key) == pytest.approx(theirs, abs=1e-12)
    with pytest.raises(InputError, match="needs the rows"):
        measure_interval(whole, "cw_ece")
    cut = cut_column(table["site"].to_pandas(), name="site")
    same(slice_heat(whole, column="site", n_bins=8).frame(), slice_heat(labels, proba, cut, n_bins=8).frame())
    options = {"n_bins": 8, "notion": "confidence", "n_resamples": 20}
    theirs = calib.slices(labels, proba, cut, **options).frame()
    mine = calib.slices(whole, groups="site", **options).frame()
    compared = ["group", "gap", "gap_of_rest", "lower", "upper", "p", "differs", "error"]
    same(mine[compared], theirs[compared], atol=1e-6)


def test_band_is_that_of_the_rows(rows, whole):
    proba, labels = rows
    mine = consistency_band(whole, notion="confidence", n_bins=10, random_state=0)
    theirs = consistency_band(calib.reduce_to_binary(labels, proba, "confidence"), n_bins=10, random_state=0)
    for name in ("lower", "upper"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), atol=1e-12)


def test_class_wise_floor_has_the_mean_of_that_of_the_rows_and_no_less_spread(rows, whole):
    proba, labels = rows
    mine = calib.noise_floor(whole, notion="class-wise", random_state=0)
    theirs = calib.noise_floor(labels, proba, notion="class-wise", random_state=1)
    assert mine.observed == pytest.approx(theirs.observed, abs=1e-12)
    assert abs(mine.mean - theirs.mean) < 6 * theirs.samples.std() / np.sqrt(1000)
    assert mine.quantile(0.95) > theirs.quantile(0.95)
    assert np.mean(mine.samples >= theirs.quantile(0.95)) > 0.06  # p of errors above the floor is larger
    with pytest.raises(InputError, match="needs the rows"):
        calib.noise_floor(whole, notion="class-wise", metric="mce")


def test_slices_are_those_of_the_rows(rows, whole, table):
    proba, labels = rows
    options = {"n_resamples": 200, "random_state": 0}
    found = calib.slices(whole, notion="confidence", n_bins=10, **options)
    groups = table["site"].to_pandas()
    expected = calib.slices(labels, proba, groups, notion="confidence", n_bins=10, **options)
    by_group = found.frame().set_index("group").loc[expected.group]
    for name in ("count", "share", "accuracy", "confidence", "error"):
        np.testing.assert_allclose(by_group[name].to_numpy(float), expected[name].astype(float), atol=1e-12)
    np.testing.assert_allclose(by_group["floor"], expected.floor, rtol=0.1)


def test_floor_is_that_of_the_rows(rows, whole):
    """The same mean and quantile as from the rows, within their errors over 1,000 redraws."""
    proba, labels = rows
    for notion in ("confidence", "top-label"):
        mine = calib.noise_floor(whole, notion=notion, random_state=0)
        theirs = calib.noise_floor(labels, proba, notion=notion, random_state=1)
        error = theirs.samples.std() / np.sqrt(1000)
        assert mine.observed == pytest.approx(theirs.observed, abs=1e-12)
        assert abs(mine.mean - theirs.mean) < 6 * error
        assert abs(mine.quantile(0.95) - theirs.quantile(0.95)) < 12 * error


@pytest.mark.parametrize(("n_parts", "workers"), [(1, 1), (5, 2), (64, 4)])
def test_every_division_order_and_number_of_workers_gives_the_same_bits(
    table, whole, tmp_path, n_parts, workers
):
    paths = divided(table, tmp_path, n_parts, seed=n_parts)
    summary = scale.summarize(paths, by="site", class_wise=True, workers=workers)
    assert summary.fingerprint == whole.fingerprint
    for mine, other in ((summary.top, whole.top), (summary.class_wise, whole.class_wise)):
        for name in ("place", "count", "high", "low"):
            assert np.array_equal(getattr(mine, name), getattr(other, name))
    assert summary.by["site"][0] == whole.by["site"][0] == ("north", "south", "west")
    assert summary.losses == whole.losses
    assert summary.ece("top-label", 15) == whole.ece("top-label", 15)


def test_merging_is_adding_and_overlap_is_refused(table, whole, tmp_path):
    files = sorted(map(str, tmp_path.glob(os.path.basename(divided(table, tmp_path, 3)))))
    a, b, c = (scale.summarize(file, by="site", class_wise=True) for file in files)
    assert a.merge(b).merge(c).fingerprint == c.merge(a.merge(b)).fingerprint == whole.fingerprint
    with pytest.raises(InputError, match="overlap.*would count twice"):
        a.merge(b).merge(a)
    with pytest.raises(InputError, match="differ in their class-wise sums do not add up"):
        a.merge(scale.summarize(files[1], by="site"))
    with pytest.raises(InputError, match="named twice"):
        scale.summarize([files[0], files[0]])


def test_more_rows_than_int64_holds_units():
    """2^63 units are 67 million rows of score 1: their sum stays exact, here by adding a sum to itself."""
    total = cell_sums(None, np.full(1000, 1 - 2.0**-24, np.float32), np.ones(1000, bool))
    for _ in range(20):
        total = added([total, total])
    assert total.count.tolist() == [1000 * 2**20]
    assert int(total.high[0, 0] * 2**24) + int(total.low[0, 0] * 2**24) == 1000 * 2**20 * (2**24 - 1)


def test_classes_with_confidence_by_name(rows, tmp_path):
    """Classes are those that rows name, other ones in other files; abstentions are left out."""
    proba, labels = rows
    names = np.array(["emu", "cat", "10", "9", "fox", "dog", "ant"], dtype=object)
    top, confidence = proba.argmax(axis=1), proba.max(axis=1)
    order = np.argsort(top, kind="stable")
    said = names[top]
    said[::50] = "IDK"
    columns = {"predicted": said, "confidence": confidence, "label": names[labels]}
    columns = pa.table({name: values[order] for name, values in columns.items()})
    pq.write_table(columns[: N // 2], tmp_path / "a.parquet")
    pq.write_table(columns[N // 2 :], tmp_path / "b.parquet", row_group_size=500)
    summary = scale.summarize(tmp_path)
    inside = calib.read({name: columns[name].to_numpy() for name in columns.column_names})
    assert summary.class_names == inside.class_names == ("9", "10", "ant", "cat", "dog", "emu", "fox")
    assert summary.coverage == inside.coverage
    for notion in ("confidence", "top-label"):
        expected = calib.ece(inside.labels, inside, notion=notion)
        assert summary.ece(notion) == pytest.approx(expected, abs=1e-12)
    assert calib.log_loss(summary) == pytest.approx(calib.log_loss(inside.labels, inside), abs=1e-12)


def test_one_score_and_whether_it_was_right(tmp_path):
    random = np.random.default_rng(0)
    score = random.random(3000)
    score[:100] = 0.5
    happened = random.random(3000) < score**1.3
    binary = {"p(yes)": score, "label": np.where(happened, "yes", "no")}
    pq.write_table(pa.table(binary), tmp_path / "binary.parquet", row_group_size=700)
    summary = scale.summarize(tmp_path / "binary.parquet")
    assert summary.kind == "binary"
    rows = calib.read(tmp_path / "binary.parquet")
    assert summary.ece(n_bins=20) == pytest.approx(calib.ece(happened, score, n_bins=20), abs=1e-11)
    assert calib.accuracy(summary) == calib.accuracy(rows.labels, rows)
    assert calib.brier_score(summary) == pytest.approx(calib.brier_score(happened, score), abs=1e-12)
    pq.write_table(pa.table({"confidence": score, "correct": happened}), tmp_path / "c.parquet")
    alone = scale.summarize(tmp_path / "c.parquet")
    assert alone.ece() == summary.ece()
    with pytest.raises(InputError, match="needs the predicted class"):
        alone.ece("top-label")


def test_weights_and_logits(rows, tmp_path):
    proba, labels = rows
    random = np.random.default_rng(2)
    weights = random.choice([0.0, 0.5, 1.0, 3.0], N)
    logits = {f"logit_{code}": np.log(proba[:, code].astype(np.float64)) + 0.3 for code in range(L)}
    pq.write_table(pa.table(logits | {"label": labels, "sample_weight": weights}), tmp_path / "a.parquet")
    summary = scale.summarize(tmp_path)
    inside = calib.read(tmp_path / "a.parquet")
    for notion in ("confidence", "top-label"):
        assert summary.ece(notion) == pytest.approx(
            calib.ece(inside.labels, inside, notion=notion), abs=1e-12
        )
        interval = calib.error_interval(summary, notion=notion)
        expected = calib.error_interval(inside.labels, inside, notion=notion)
        assert interval.upper == pytest.approx(expected.upper, abs=1e-10)
    assert calib.accuracy(summary) == pytest.approx(calib.accuracy(inside.labels, inside), abs=1e-12)
    assert summary.n_samples == int((weights > 0).sum())
    of_rows = {"sample_weight": inside.sample_weight}
    expected = measure_interval(as_evidence(inside, **of_rows), "accuracy")
    assert measure_interval(summary, "accuracy") == pytest.approx(expected, abs=1e-12)
    mine = calib.noise_floor(summary, random_state=0)
    theirs = calib.noise_floor(inside.labels, inside, random_state=1)
    assert mine.observed == pytest.approx(theirs.observed, abs=1e-12)
    error = theirs.samples.std() / np.sqrt(1000)
    assert abs(mine.mean - theirs.mean) < 6 * error
    assert abs(mine.quantile(0.95) - theirs.quantile(0.95)) < 12 * error
    assert scale.load(dumps(summary)).ece() == summary.ece()


def test_part_that_a_column_names(rows, tmp_path):
    split = np.where(np.arange(N) % 3 == 0, "val", "test")
    pq.write_table(vectors(*rows, split=split), tmp_path / "a.parquet")
    assert scale.summarize(tmp_path).n_samples == int((split == "test").sum())
    assert scale.summarize(tmp_path, part="calibration").n_samples == int((split == "val").sum())


FAULTS = {
    "not_finite": ("p(c1)", np.nan, "missing or infinite"),
    "negative": ("p(c2)", -0.25, "outside"),
    "rounding": ("p(c0)", 0.9, "not to 1"),
    "label_names_unmatched": ("label", "yak", "'yak' names no class"),
    "labels_missing": ("label", None, "no label"),
}


@pytest.mark.parametrize("code", FAULTS)
def test_faults_name_file_row_group_and_row(rows, tmp_path, code):
    proba, labels = rows[0][:1000].copy(), rows[1][:1000]
    proba[777] = 0.0
    proba[777, 3] = 1.0
    column, value, words = FAULTS[code]
    frame = vectors(proba, labels).to_pandas()
    frame.loc[777, column] = value
    file = tmp_path / "rows.parquet"
    frame.to_parquet(file, row_group_size=300)
    with pytest.raises(InputError, match=f"rows.parquet, row group 2, row 777: .*{words}.*{code}"):
        scale.summarize(file)
    left = scale.summarize(file, faults="drop")
    assert (left.n_samples, left.n_faulty) == (999, 1)
    assert "row group 2, row 777" in left.findings[0]


def test_models_that_follow_the_first_rows_are_not_pooled(rows, tmp_path):
    frame = vectors(rows[0][:1000], rows[1][:1000]).to_pandas()
    frame["model"] = ["a"] * 600 + ["b"] * 400
    file = tmp_path / "rows.parquet"
    frame.to_parquet(file, row_group_size=300)
    with pytest.raises(InputError, match="model='b'"):
        scale.summarize(file)
    assert scale.summarize(file, model="b").n_samples == 400
    assert (
        scale.summarize(file, by="model").n_samples == scale.summarize(file, group="model").n_samples == 1000
    )


def test_doctor_examines_rows_in_the_middle_of_a_file(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("calib.scale.scan.EVERY", 500)
    monkeypatch.setattr("calib.scale.scan.EXAMINED", 200)
    proba, labels = rows[0][:2_000].copy(), rows[1][:2_000]
    proba[900:1_300] = proba[900:1_300] == proba[900:1_300].max(axis=1, keepdims=True)
    file = tmp_path / "rows.parquet"
    pq.write_table(vectors(proba, labels), file, row_group_size=900)
    (line,) = scale.summarize(file).findings
    assert "rows.parquet, row group 1, row 1000, of 200 rows from row 1,000: " in line
    assert line.endswith("(one_hot)")


def test_many_findings_of_one_kind_are_counted(rows, tmp_path):
    proba, labels = rows[0][:1_000].copy(), rows[1][:1_000]
    proba[::40, 0] = np.nan
    file = tmp_path / "rows.parquet"
    pq.write_table(vectors(proba, labels), file, row_group_size=40)
    found = scale.summarize(file, faults="drop").findings
    assert len(found) == 11
    assert "row group 9, row 360: " in found[9]
    assert found[10] == "and 15 more findings of this kind (not_finite)"


def test_doctor_examines_the_first_rows_of_each_file_and_the_classes_of_all(rows, tmp_path):
    proba, labels = rows[0][:2_000], rows[1][:2_000]
    pq.write_table(vectors(proba, labels), tmp_path / "a.parquet", row_group_size=500)
    other = np.roll(labels, 1)  # a file whose labels belong to other rows
    pq.write_table(vectors(proba, other), tmp_path / "b.parquet", row_group_size=500)
    found = scale.summarize(tmp_path).findings
    assert len(found) == 4  # one for each row group
    assert "b.parquet, row group 0, row 0, of the first 500 rows: " in found[0]
    assert found[0].endswith("(labels_shuffled)")
    later = labels.copy()
    later[1_500:] = other[1_500:]  # only the last row group
    pq.write_table(vectors(proba, later), tmp_path / "b.parquet", row_group_size=500)
    (line,) = scale.summarize(tmp_path).findings
    assert "b.parquet, row group 3: accuracy is 0." in line
    assert line.endswith("labels look shuffled against the rows. (labels_shuffled)")
    few = proba.copy()
    few[:, 6] = 0.0
    few /= few.sum(axis=1, keepdims=True)
    file = tmp_path / "few.parquet"
    pq.write_table(vectors(few, np.minimum(labels, 5)), file)
    remarks = scale.summarize(file, class_wise=True).remarks
    assert [line.rsplit("(", 1)[1] for line in remarks] == ["class_never_true)", "class_never_predicted)"]
    assert remarks[0].startswith("1 of 7 classes is never the true label: 'c6'")


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(InputError, match="names no file"):
        scale.summarize(tmp_path / "*.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        scale.summarize(tmp_path)
    pq.write_table(pa.table({"p(a)": [0.5], "p(b)": [0.5], "label": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"p(a)": [0.5], "label": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet has no column 'p\(b\)'"):
        scale.summarize(tmp_path)
    (tmp_path / "a.csv").write_text('label,probs\n0,"[0.7, 0.3]"\n1,"[0.2, 0.8]"\n')
    with pytest.raises(InputError, match="'probs' holds lists as text.*calib.read"):
        scale.summarize(tmp_path / "a.csv")


def test_ids_are_no_groups(tmp_path):
    n = 11_000
    columns = {"confidence": np.full(n, 0.5), "correct": np.ones(n), "who": [f"u{i}" for i in range(n)]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="more than 10,000 groups"):
        scale.summarize(tmp_path, by="who")


def test_a_summary_reads_back_to_the_last_bit(whole, tmp_path):
    scale.save(whole, tmp_path / "run.calib.json.gz")
    again = scale.load(tmp_path / "run.calib.json.gz")
    assert again.fingerprint == whole.fingerprint
    assert (again.parts, again.losses) == (whole.parts, whole.losses)
    assert again.ece("class-wise", 33) == whole.ece("class-wise", 33)
    assert dumps(again)[30:60] == dumps(whole)[30:60]


def changed(whole, change):
    document = json.loads(gzip.decompress(dumps(whole)))
    change(document)
    document.pop("checksum")
    from calib.files.saved.document import write_document

    return gzip.compress(write_document(document))


def more_rows(document):
    document["rows"]["n_samples"] += 1


def strange_place(document):
    document["top"]["place"][-1] = 10**9


def large_sum(document):
    document["top"]["score"][0] = 1e9


def unknown_key(document):
    document["run"] = "rm"


def other_cell(content):
    content["top"]["score"][0] *= 0.5


def large_remainder(content):
    content["top"]["score_low"][0] = 1.0


def more_right(content):
    content["losses"]["accuracy"][0] += 1.0


def worse_loss(content):
    content["losses"]["brier"][0] = 3.0 * content["rows"]["n_samples"]


def no_version(content):
    content["calib_version"] = 3


TAMPERED = {
    other_cell: "scores in \\[0, 1\\] cannot have",
    large_remainder: "scores in \\[0, 1\\] cannot have",
    more_right: "losses that the rows can have",
    worse_loss: "losses that the rows can have",
    no_version: "calib_version",
    more_rows: "counts that sum to",
    strange_place: "places below",
    large_sum: "scores in \\[0, 1\\] cannot have",
    unknown_key: "unknown key",
}


@pytest.mark.parametrize("change", TAMPERED, ids=lambda change: change.__name__)
def test_files_that_were_changed_are_refused(whole, change):
    with pytest.raises(InputError, match=f"summary file.*{TAMPERED[change]}"):
        scale.load(changed(whole, change))


def test_damaged_files_are_refused(whole):
    data = gzip.decompress(dumps(whole))
    assert data.startswith(HEAD)
    assert data.count(b",") < MOST_VALUES
    with pytest.raises(InputError, match="checksum does not match"):
        scale.load(gzip.compress(data.replace(b'"n_faulty": 0', b'"n_faulty": 1')))
    with pytest.raises(InputError, match="not a summary file"):
        scale.load(b"\x80\x04pickle")
    with pytest.raises(InputError, match="cut short"):
        scale.load(dumps(whole)[:-100])


def test_sums_are_the_same_in_any_order_of_batches(table, whole):
    batches = table.to_batches(max_chunksize=700)
    reader = decide(batches[0], by=("site",))
    parts = []
    for batch in batches:
        parts.append(sums_of(reader.read(batch), reader.kind, class_wise=True, by=reader.by))
    assert combined(parts[::-1]).fingerprint == whole.fingerprint


class Failing:
    """A part that cannot be read the first times."""

    def __init__(self, times):
        self.left = times

    def __call__(self, part):
        self.left -= 1
        if self.left >= 0:
            raise OSError("the disk was away")
        return part.row_group


def test_a_failing_part_is_tried_again_and_then_named(table, tmp_path, monkeypatch):
    monkeypatch.setattr("calib.scale.engines.PAUSE", 0.0)
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=3_000)
    parts = Scan.of(tmp_path).parts
    assert list(Threads(1).map(Failing(2), parts)) == [0, 1]
    with pytest.raises(InputError, match="row group 0 failed 3 times: the disk was away"):
        list(Threads(1).map(Failing(9), parts))


def test_a_driver_that_ends_in_the_middle_leaves_no_half_file(table, tmp_path):
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=50)
    output = tmp_path / "run.calib.json.gz"
    command = [sys.executable, "-m", "calib", "summarize", str(tmp_path / "rows.parquet"), "-o", str(output)]
    driver = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    time.sleep(0.4)
    driver.kill()
    driver.wait()
    assert {file.name for file in tmp_path.iterdir()} <= {"rows.parquet", output.name}
    if output.exists():
        assert scale.load(output).n_samples == N


def test_commands(table, whole, tmp_path, capsys):
    from calib.cli.parser import main

    paths = divided(table, tmp_path, 2)
    files = sorted(map(str, tmp_path.glob("*.parquet")))
    out = [str(tmp_path / name) for name in ("a.json.gz", "b.json.gz", "both.json.gz", "all.json.gz")]
    options = ["--by", "site", "--class-wise"]
    assert main(["summarize", files[0], "-o", out[0], *options]) == 0
    assert main(["summarize", files[1], "-o", out[1], *options]) == 0
    assert main(["merge", *out[:2], "-o", out[2]]) == 0
    assert main(["summarize", paths, "-o", out[3], *options, "--json"]) == 0
    text = capsys.readouterr().out
    assert f"{N:,} rows, {L} classes" in text
    assert f'"fingerprint": "{whole.fingerprint}"' in text
    assert scale.load(out[2]).fingerprint == scale.load(out[3]).fingerprint == whole.fingerprint
    assert main(["merge", out[0], out[2], "-o", out[1]]) == 2
    assert "overlap" in capsys.readouterr().err


def test_top_label_matches_the_pair_of_class_and_confidence(rows, whole):
    proba, labels = rows
    pair = TopLabelPrediction(proba.argmax(axis=1), proba.max(axis=1))
    assert whole.ece("top-label", 15) == pytest.approx(calib.ece(labels, pair), abs=1e-12)


@pytest.mark.parametrize(
    "lines",
    [
        ["score,label", *(f"0.{n % 9 + 1},{int(n % 9 + n % 4 > 5)}" for n in range(90))],
        [f"0.{n % 9 + 1},{int(n % 9 + n % 4 > 5)}" for n in range(90)],
        ["score;label", *(f"0,{n % 9 + 1};{int(n % 9 + n % 4 > 5)}" for n in range(90))],
        ["score\tlabel", *(f"0.{n % 9 + 1}\t{int(n % 9 + n % 4 > 5)}" for n in range(90))],
    ],
    ids=["commas", "no header", "decimal commas", "tabs"],
)
def test_texts_are_read_as_by_read(lines, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines))
    rows, summary = calib.read(file), scale.summarize(file)
    assert (summary.n_samples, summary.ece()) == (90, pytest.approx(calib.ece(rows.labels, rows)))


def as_read(proba, labels):
    """Files whose words and numbers only the rules of `calib.read` explain."""
    top, confidence = proba.argmax(axis=1), proba.max(axis=1)
    zeros = {f"p_{code:02d}": proba[:, code] for code in range(L)}
    odds = {f"logprob_c{code}": np.log(proba[:, code] + 1e-9) for code in range(L)}
    words = np.array(["none", "c1", "c2", "c3", "c4", "c5", "null"], dtype=object)
    grades = np.where(top == labels, "CORRECT", "INCORRECT").astype(object)
    grades[::30] = "NOT_ATTEMPTED"
    said = {"predicted": words[top], "confidence": confidence}
    return {
        "numbers with zeros": (zeros | {"label": labels}, {}),
        "log-probabilities": (odds | {"label": [f"c{code}" for code in labels]}, {}),
        "words that can mean no class": (said | {"label": words[labels]}, {}),
        "grades": (said | {"grade": grades}, {"correct": "grade"}),
        "confidence in words": (
            {"confidence": np.where(confidence > 0.6, "high", "low"), "correct": top == labels},
            {"words": {"high": 0.9, "low": 0.4}},
        ),
        "answers of their own": (
            {
                "answer": [f"City {row}" for row in range(len(labels))],
                "confidence": confidence,
                "label": [f"city {row + (top[row] != labels[row])}." for row in range(len(labels))],
            },
            {},
        ),
        "percentages": ({"confidence": 100 * confidence, "correct": top == labels}, {}),
    }


@pytest.mark.parametrize("name", as_read(*population(9, L)))
def test_words_and_numbers_mean_what_they_mean_to_read(rows, tmp_path, name):
    """In every division: rows are sorted, so that each row group has only a few of the words."""
    columns, given = as_read(*rows)[name]
    order = np.argsort(rows[1], kind="stable")
    table = pa.table({column: np.asarray(values)[order] for column, values in columns.items()})
    pq.write_table(table, tmp_path / "whole.parquet")
    pq.write_table(table, tmp_path / "divided.parquet", row_group_size=97)
    inside = calib.read(tmp_path / "whole.parquet", **given)
    found = [scale.summarize(tmp_path / f"{file}.parquet", **given) for file in ("whole", "divided")]
    assert found[0].fingerprint == found[1].fingerprint
    assert (found[0].n_samples, found[0].n_faulty) == (inside.n_samples, 0)
    assert found[0].coverage == pytest.approx(inside.coverage)
    expected = calib.ece(inside.labels, inside, notion="confidence")
    assert found[0].ece("confidence") == pytest.approx(expected, abs=1e-11)


def test_codes_are_the_classes_that_the_user_names(rows, tmp_path):
    proba, labels = rows
    names = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu"]
    columns = {f"p{code}": proba[:, code] for code in range(L)}
    pq.write_table(pa.table(columns | {"label": labels}), tmp_path / "rows.parquet")
    summary = scale.summarize(tmp_path, class_names=names)
    assert summary.class_names == tuple(names)
    assert summary.true.tolist() == np.bincount(labels, minlength=L).tolist()


def test_log_probabilities_that_do_not_sum_to_one_are_left_out(rows, tmp_path):
    proba, labels = rows[0][:500].astype(np.float64), rows[1][:500]
    columns = {f"logprob_c{code}": np.log(proba[:, code]) for code in range(L)}
    columns["logprob_c3"][444] = 0.7
    pq.write_table(pa.table(columns | {"label": labels}), tmp_path / "rows.parquet", row_group_size=100)
    summary = scale.summarize(tmp_path, faults="drop")
    assert (summary.n_samples, summary.n_faulty) == (499, 1)
    assert "row group 4, row 444" in summary.findings[0]


def test_few_wrong_rows_do_not_make_logits_of_probabilities(rows, tmp_path):
    proba, labels = rows[0].copy(), rows[1]
    proba[7, 2] = -0.25
    table = vectors(proba, labels)
    table = table.rename_columns([*(f"logit_c{code}" for code in range(L)), "label"])
    pq.write_table(table, tmp_path / "rows.parquet")
    summary = scale.summarize(tmp_path, faults="drop")
    kept = np.arange(N) != 7
    assert (summary.n_samples, summary.n_faulty) == (N - 1, 1)
    assert calib.brier_score(summary) == pytest.approx(
        calib.brier_score(labels[kept], proba[kept]), abs=1e-12
    )


def test_cells_of_lists_and_other_files_are_named(tmp_path):
    file = tmp_path / "rows.jsonl"
    rows = [{"label": "ab"[n % 2], "scores": {"a": 0.7, "b": 0.3}} for n in range(20)]
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"scores\[a\]"):
        scale.summarize(file)
    with pytest.raises(InputError, match="calib.read"):
        scale.summarize(file.rename(tmp_path / "rows.json"))
