import numpy as np
import pytest
from plotly.colors import hex_to_rgb, sample_colorscale
from scipy.stats import binomtest

from calib import (
    InputError,
    Predictions,
    TopLabelPrediction,
    bin_statistics,
    conclude,
    datasets,
    diagrams,
    ece,
    reduce_to_binary,
)
from calib.answers.conclusion import class_gaps
from calib.diagrams import class_diagram, class_heat, class_table, confusions
from calib.evidence.rows import as_evidence
from tests.figures import accepted


def literal_table(labels, predicted, confidence, n_classes, n_bins):
    """Row by row: predicted, accuracy, mean confidence and TL-ECE of every class."""
    rows = {code: [] for code in range(n_classes)}
    for label, code, score in zip(labels, predicted, confidence, strict=True):
        rows[code].append((label == code, score))
    table = []
    for code in range(n_classes):
        if not rows[code]:
            table.append((0, np.nan, np.nan, np.nan))
            continue
        error = 0.0
        for b in range(n_bins):
            upper = np.inf if b == n_bins - 1 else (b + 1) / n_bins
            cell = [(hit, score) for hit, score in rows[code] if b / n_bins <= score < upper]
            error += abs(sum(hit for hit, _ in cell) - sum(score for _, score in cell))
        n = len(rows[code])
        hits, scores = zip(*rows[code], strict=True)
        table.append((n, sum(hits) / n, sum(scores) / n, error / n))
    return np.array(table)


@pytest.fixture(scope="module")
def uneven():
    """40 classes, of which some are never predicted and some never true."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (600, 40))
    logits[:, 30:] -= 20
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.where(rng.random(600) < 0.5, proba.argmax(axis=1), rng.integers(2, 40, 600))
    return Predictions(proba, labels)


@pytest.fixture(scope="module")
def covtype_rows(shared_data):
    return datasets.covtype(shared_data / "covtype_sample.csv.gz").evaluation


@pytest.mark.parametrize("n_bins", [1, 10, 15])
def test_table_agrees_with_a_literal_one_on_the_real_sample(covtype_rows, n_bins):
    rows = covtype_rows
    table = class_table(rows.labels, rows, n_bins=n_bins, n_resamples=20)
    expected = literal_table(rows.labels, rows.label, rows.confidence, 7, n_bins)
    columns = np.column_stack([table.predicted, table.accuracy, table.confidence, table.class_ece])
    np.testing.assert_allclose(columns, expected, atol=1e-9)


def test_table_with_absent_classes(uneven):
    table = class_table(uneven.labels, uneven, n_resamples=20, random_state=0)
    expected = literal_table(uneven.labels, uneven.label, uneven.confidence, 40, 15)
    columns = np.column_stack([table.predicted, table.accuracy, table.confidence, table.class_ece])
    np.testing.assert_allclose(columns, expected, atol=1e-9)
    assert table.tl_ece == pytest.approx(ece(uneven.labels, uneven), abs=1e-12)
    assert table.share.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(table.true, np.bincount(uneven.labels, minlength=40))
    silent = table.predicted == 0
    assert silent[30:].all()
    assert np.isnan(table.p_value[silent]).all()
    assert not table.flagged[silent].any()
    conclusion = conclude(uneven.labels, uneven, n_resamples=20)
    assert table.order[: (~silent).sum()].tolist() == conclusion.order
    assert np.flatnonzero(table.flagged).tolist() == sorted(conclusion.guilty)
    frame = table.frame(uneven.class_names)
    assert len(frame) == 40
    assert frame["class"].tolist() == [str(code) for code in table.order]


def test_table_takes_top_label_predictions_and_knows_the_true_classes(uneven):
    options = {"n_resamples": 50, "random_state": 3}
    whole = class_table(uneven.labels, uneven, **options)
    top = class_table(uneven.labels, TopLabelPrediction(uneven.label, uneven.confidence), **options)
    np.testing.assert_array_equal(whole.class_ece[: len(top.class_ece)], top.class_ece)
    with pytest.raises(InputError, match="which BinaryProblems do not hold"):
        class_table(reduce_to_binary(uneven.labels, uneven, "top-label"))
    with pytest.raises(InputError, match="fdr must be inside"):
        class_table(uneven.labels, uneven, fdr=5)


def test_flags_hold_the_false_discovery_rate():
    """Of 60 calibrated classes hardly any is flagged; of 12 shifted ones most are."""
    calm = datasets.perfect(12_000, 60, random_state=1).evaluation
    table = class_table(calm.labels, calm, n_resamples=2000, random_state=0)
    assert table.flagged.sum() <= 2
    assert (table.p_value < 0.05).mean() < 0.15

    rng = np.random.default_rng(0)
    labels = calm.labels.copy()
    shifted = calm.label < 12
    labels = np.where(shifted & (rng.random(12_000) < 0.5), 59, labels)
    table = class_table(labels, calm, n_resamples=2000, random_state=0)
    assert table.flagged[:12].all()
    assert table.flagged[12:].sum() <= 3
    assert (table.class_ece[:12] > table.floor_upper[:12]).all()


def test_few_clear_classes_are_found_among_many():
    """Three of 400 classes are off: their p-values must get below 0.05 * 3 / 400, or none is flagged."""
    rng = np.random.default_rng(0)
    predicted = np.repeat(np.arange(400), 60)
    confidence = rng.uniform(0.6, 0.95, len(predicted))
    hit = rng.random(len(predicted)) < np.where(predicted < 3, 0.25, confidence)
    labels = np.where(hit, predicted, (predicted + 1) % 400)
    table = class_table(labels, TopLabelPrediction(predicted, confidence), n_resamples=500, random_state=0)
    assert table.flagged[:3].all()
    assert table.flagged[3:].sum() <= 1
    assert table.p_value[:3].max() < 1 / 501
    assert (table.p_value > 0).all()


def test_heat_places_every_cell(uneven):
    cells = bin_statistics(reduce_to_binary(uneven.labels, uneven, "top-label"), n_bins=10)
    heat = class_heat(cells)
    table = heat.frame().set_index(["label", "bin"])
    assert heat.cells.count.sum() == 600
    assert heat.contribution.sum() == pytest.approx(cells.ece())
    assert (np.diff(heat.contribution) <= 0).all()
    for code in heat.label:
        for b in range(10):
            in_cell = (uneven.label == code) & (np.floor(uneven.confidence * 10) == b)
            assert ((code, b) in table.index) == in_cell.any()
            if in_cell.any():
                assert table["count"][code, b] == in_cell.sum()
                gap = (uneven.labels[in_cell] == code).mean() - uneven.confidence[in_cell].mean()
                assert table["gap"][code, b] == pytest.approx(gap)
    assert len(heat.frame(uneven.class_names)) == len(cells.count)
    few = class_heat(cells, [5, 3, 35])
    assert few.label.tolist() == [5, 3, 35]  # in the order given; 35 is never predicted
    assert set(few.label[few.row]) == {5, 3}
    with pytest.raises(InputError, match="needs equal-width top-label bins"):
        class_heat(bin_statistics(reduce_to_binary(uneven.labels, uneven, "confidence"), n_bins=10))


def test_diagrams_of_one_class(uneven):
    code = 4
    table = class_table(uneven.labels, uneven, n_resamples=10)
    top = class_diagram(uneven.labels, uneven, code)
    assert top.cells.ece() == pytest.approx(table.class_ece[code])
    assert top.cells.count.sum() == (uneven.label == code).sum()
    assert (
        (top.frequency_lower <= top.cells.mean_outcome) & (top.cells.mean_outcome <= top.frequency_upper)
    ).all()
    wise = class_diagram(uneven.labels, uneven, code, notion="class-wise")
    assert wise.cells.count.sum() == 600
    mean = (wise.cells.count * wise.cells.mean_outcome).sum() / 600
    assert mean == pytest.approx((uneven.labels == code).mean())
    # CW-ECE is the mean over classes of these.
    each = [class_diagram(uneven.labels, uneven.proba, c, notion="class-wise").cells.ece() for c in range(40)]
    assert np.mean(each) == pytest.approx(ece(uneven.labels, uneven, notion="class-wise"))
    with pytest.raises(InputError, match="class 35 is never predicted"):
        class_diagram(uneven.labels, uneven, 35)
    with pytest.raises(InputError, match='"class-wise" with a score for every class'):
        class_diagram(uneven.labels, uneven.top, code, notion="class-wise")


def test_confusions_count_both_directions():
    #  predicted 1: true 1, 0, 0, 2; true 1 predicted as 1, 2
    predicted = np.array([1, 1, 1, 1, 2, 0])
    labels = np.array([1, 0, 0, 2, 1, 0])
    pair = confusions(labels, TopLabelPrediction(predicted, np.ones(len(predicted))), 1)
    assert (pair.predicted, pair.true) == (4, 2)
    assert (pair.truth_when_predicted.tolist(), pair.count_when_predicted.tolist()) == ([0, 2], [2, 1])
    assert (pair.predicted_when_true.tolist(), pair.count_when_true.tolist()) == ([2], [1])
    assert pair.frame(("a", "b", "c")).to_numpy().tolist() == [["b", "a", 2], ["b", "c", 1], ["c", "b", 1]]


@pytest.fixture(scope="module")
def rows():
    return datasets.resnet_shaped().evaluation


def test_heat_shows_every_cell_once(rows):
    heat = class_heat(bin_statistics(reduce_to_binary(rows.labels, rows, "top-label"), n_bins=10))
    names = ["<b>%{x}</b>", *rows.class_names[1:]]
    figure = accepted(diagrams.draw_heat(heat, names))
    cells, squares, scale = figure.data
    held, row = heat.cells, heat.row
    share = np.clip((held.gap / heat.limit + 1) / 2, 0, 1)
    stops = figure.layout.coloraxis.colorscale
    scale_of_colours = [[place, f"rgb{hex_to_rgb(colour)}"] for place, colour in stops]
    expected = sample_colorscale(scale_of_colours, share.tolist())
    both = (cells.marker.color, expected)
    channels = np.array([[colour[4:-1].split(",") for colour in colours] for colours in both])
    np.testing.assert_allclose(*channels.astype(float), atol=1)
    np.testing.assert_allclose(np.asarray(cells.base) + cells.y / 2, row)
    count = held.count
    tall = np.asarray(cells.y)[np.argsort(count)]
    assert (np.diff(tall) >= 0).all()
    assert tall[-1] < 1
    beyond = np.asarray(cells.marker.line.width) > 0
    np.testing.assert_array_equal(beyond, heat.beyond_noise)
    test = [
        binomtest(round(n * right), n, says).pvalue
        for n, right, says in zip(count, held.mean_outcome, held.mean_score, strict=True)
    ]
    # Clopper-Pearson intervals exclude a confidence if twice its smaller tail is small enough.
    surely = (np.array(test) < 0.02 / (count >= 20).sum()) & (count >= 20)
    assert surely.any()
    assert beyond[surely].all()
    assert not beyond[np.array(test) > 0.05 / (count >= 20).sum()].any()
    assert figure.layout.coloraxis.cmax == -figure.layout.coloraxis.cmin == heat.limit
    assert scale.marker.coloraxis == "coloraxis"
    assert len(squares.x) == len(count)
    first = squares.customdata[0]
    assert squares.y[0] == heat.label.tolist().index(first[0])
    assert (first[1], first[7]) == pytest.approx((heat.column[0], held.gap[0]))
    airplane = next(custom for custom in squares.customdata if custom[0] == 0)
    assert airplane[2].startswith("&lt;b&gt;")
    assert "%{x}" not in airplane[2]


def test_limit_of_colours_covers_most_cells(rows):
    heat = class_heat(bin_statistics(reduce_to_binary(rows.labels, rows, "top-label"), n_bins=10))
    gaps = np.abs(heat.cells.gap[heat.cells.count >= 20])
    assert (gaps <= heat.limit).mean() >= 0.95
    assert heat.limit == pytest.approx(round(heat.limit, 1))


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_class_diagram_is_drawn_as_computed(rows, notion):
    diagram = class_diagram(rows.labels, rows, 3, notion=notion)
    bars, marks = accepted(diagrams.draw_class(diagram)).data
    assert sum(bars.y) == pytest.approx(1.0)
    np.testing.assert_array_equal(marks.x, diagram.cells.mean_score)
    np.testing.assert_array_equal(marks.y, diagram.cells.mean_outcome)
    np.testing.assert_allclose(marks.y + marks.error_y.array, diagram.frequency_upper)
    paler = [colour.startswith("rgba") for colour in marks.marker.color]
    np.testing.assert_array_equal(paler, diagram.cells.count < 20)


def test_arrows_lead_from_the_gap_before_to_the_gap_after():
    """Two classes: one is repaired, the other is never predicted afterwards."""
    random = np.random.default_rng(0)
    predicted, confidence = random.integers(0, 2, 2_000), np.full(2_000, 0.9)
    labels = np.where(random.random(2_000) < 0.6, predicted, 2)
    before = class_gaps(as_evidence(labels, TopLabelPrediction(predicted, confidence)), 0.05)
    kept = predicted == 0
    after = class_gaps(
        as_evidence(labels[kept], TopLabelPrediction(predicted[kept], 0.6 * np.ones(kept.sum()))), 0.05
    )
    figure = accepted(diagrams.draw_class_changes(before, after, ["cat", "dog", "emu"]))
    _, start, stop = figure.data
    gaps = dict(zip(before.label.tolist(), (100 * before.gap).tolist(), strict=True))
    names = list(figure.layout.yaxis.ticktext)
    assert dict(zip(names, start.x, strict=True)) == pytest.approx({"cat": gaps[0], "dog": gaps[1]})
    assert stop.x[names.index("cat")] == pytest.approx(100 * after.gap[0])
    assert np.isnan(stop.x[names.index("dog")])
    (arrow,) = figure.layout.annotations
    assert (arrow.ax, arrow.x) == pytest.approx((gaps[0], 100 * after.gap[0]))
    colours = diagrams.OKABE_ITO
    assert start.marker.color[names.index("cat")] == colours["vermillion"]
    assert stop.marker.color[names.index("cat")] == colours["grey"]
