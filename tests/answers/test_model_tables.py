"""Tables of several models: every number against literal loops, marks against the paired intervals."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import calib
from calib import InputError, Predictions, compare_models, sweep_models
from calib.data.several_models import on_common_rows
from tests import oracles

N, L, B = 600, 4, 6
NAMES = ("ant", "bee", "cow", "dog")
#: Exponents of the true probabilities, divided by their sum: two models are miscalibrated, "good" is not.
POWERS = {"sure": 2.0, "unsure": 0.4, "good": 1.0}


class Square:
    """A calibrator that learns nothing: squares of the scores, divided by their sum."""

    def fit(self, proba, y):
        return self

    def predict_proba(self, proba):
        squared = np.asarray(proba) ** 2
        return squared / squared.sum(axis=1, keepdims=True)


class Failing:
    def fit(self, proba, y):
        raise InputError("no such luck")


def models(n: int = N, seed: int = 0) -> dict[str, Predictions]:
    random = np.random.default_rng(seed)
    chance = 0.03 + (1.0 - 0.03 * L) * random.dirichlet(np.full(L, 0.5), n)
    labels = np.array([random.choice(L, p=row) for row in chance])
    powers = {name: chance**power for name, power in POWERS.items()}
    return {
        name: Predictions(scores / scores.sum(axis=1, keepdims=True), labels, NAMES)
        for name, scores in powers.items()
    }


@pytest.fixture(scope="module")
def pairs():
    fitting, unseen = models(seed=1), models(seed=2)
    return {name: (fitting[name], unseen[name]) for name in POWERS}


@pytest.fixture(scope="module")
def table(pairs):
    methods = {"square": Square(), "broken": Failing()}
    methods["TL-HB"] = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=B))
    return compare_models(pairs, methods, n_bins=B, n_resamples=50)


def cells(table) -> dict:
    return {(row.model, row.method, row.measure): row for row in table.frame().itertuples()}


def literal(y, proba) -> dict[str, float]:
    """Every number of whole vectors, row by row."""
    n = len(y)
    top = [max(range(L), key=lambda code, row=row: row[code]) for row in proba]
    right = [int(predicted == label) for predicted, label in zip(top, y, strict=True)]
    confidence = [float(row[code]) for row, code in zip(proba, top, strict=True)]
    numbers = {
        "accuracy": sum(right) / n,
        "brier": sum(
            (row[c] - (c == label)) ** 2 for row, label in zip(proba, y, strict=True) for c in range(L)
        )
        / n,
        "log_loss": sum(-math.log(row[label]) for row, label in zip(proba, y, strict=True)) / n,
        "top_brier": sum((p - hit) ** 2 for p, hit in zip(confidence, right, strict=True)) / n,
        "top_log_loss": sum(-math.log(p if hit else 1 - p) for p, hit in zip(confidence, right, strict=True))
        / n,
    }
    notions = {"conf_ece": "confidence", "tl_ece": "top-label", "cw_ece": "class-wise"}
    numbers |= {key: oracles.ece(y, proba, notion, B, "uniform", 1) for key, notion in notions.items()}
    for aggregate in ("cell", "bin"):
        numbers[f"tl_mce_{aggregate}"] = oracles.mce(y, proba, "top-label", B, "uniform", aggregate)
    return numbers


@pytest.mark.parametrize("model", POWERS)
def test_every_number_is_that_of_literal_loops(pairs, table, model):
    _, unseen = pairs[model]
    found = cells(table)
    for method, proba in (("Base", unseen.proba), ("square", Square().predict_proba(unseen.proba))):
        for key, value in literal(unseen.labels, proba).items():
            assert found[model, method, key].value == pytest.approx(value, rel=1e-12), (method, key)


@pytest.mark.parametrize("model", POWERS)
def test_histogram_binning_is_assessed_at_each_value(pairs, table, model):
    """Uniform-mass bins of each predicted class by literal loops; a cell is a (predicted class, bin)."""
    fitting, unseen = pairs[model]
    gaps: dict[tuple[int, int], float] = {}
    counts: dict[tuple[int, int], int] = {}
    for label in range(L):
        fitted = [row for row in range(N) if fitting.label[row] == label]
        scores = [float(fitting.confidence[row]) for row in fitted]
        groups = oracles.equal_mass_groups(scores, B)
        edges = [(below[-1] + above[0]) / 2 for below, above in zip(groups, groups[1:], strict=False)]
        for b, group in enumerate(groups):
            hits = [fitting.labels[row] == label for row in fitted if fitting.confidence[row] in group]
            rows = [
                row
                for row in range(N)
                if unseen.label[row] == label and sum(edge <= unseen.confidence[row] for edge in edges) == b
            ]
            if rows:
                right = sum(unseen.labels[row] == label for row in rows) / len(rows)
                gaps[label, b] = abs(right - sum(hits) / len(hits))
                counts[label, b] = len(rows)
    found = cells(table)
    expected = sum(counts[key] * gap for key, gap in gaps.items()) / N
    assert found[model, "TL-HB", "tl_ece"].value == pytest.approx(expected, abs=1e-12)
    assert found[model, "TL-HB", "tl_mce_cell"].value == pytest.approx(max(gaps.values()), abs=1e-12)
    assert np.isnan(found[model, "TL-HB", "cw_ece"].value)  # a confidence alone has no class-wise error
    assert any("TL-HB" in note and "Remark 1" in note for note in table.notes())


def test_floors_and_differences_are_those_of_the_library(pairs, table):
    found = cells(table)
    for model, (_, unseen) in pairs.items():
        square = Square().predict_proba(unseen.proba)
        for key, notion in (("tl_ece", "top-label"), ("cw_ece", "class-wise")):
            cell = found[model, "square", key]
            floor = calib.noise_floor(
                unseen.labels, square, notion=notion, n_bins=B, n_resamples=50, random_state=0
            )
            change = calib.paired_difference(unseen.labels, square, unseen, notion=notion, n_bins=B)
            assert (cell.floor, cell.p_value) == (pytest.approx(floor.mean), floor.p_value)
            assert (cell.lower, cell.upper) == pytest.approx((change.lower, change.upper))
            direction = {"lower": "better", "higher": "worse", "not distinguishable": ""}
            assert cell.mark == direction[change.verdict]
        change = calib.paired_interval(unseen.labels, unseen, square, metric="brier")
        cell = found[model, "square", "brier"]
        assert (cell.difference, cell.lower) == (
            pytest.approx(change.difference),
            pytest.approx(change.lower),
        )


def test_marks_of_a_number_hold_together_and_never_follow_the_lowest_number(pairs, table):
    """Three models x three methods: intervals of 1 - 0.05 / 9 each (Bonferroni)."""
    frame = table.frame()
    for row in frame.query("method == 'TL-HB' and measure == 'tl_ece' or mark != ''").itertuples():
        if row.mark:
            assert row.lower > 0.0 or row.upper < 0.0
            assert (row.mark == "better") == ((row.difference < 0.0) != (row.measure == "accuracy"))
        else:  # the base's equal-width bins understate its error
            assert row.upper > 0.0
    for name, (_, unseen) in pairs.items():
        options = {"metric": "brier", "level": 1.0 - 0.05 / 9}
        change = calib.paired_interval(unseen.labels, unseen, Square().predict_proba(unseen.proba), **options)
        expected = "better" if change.upper < 0.0 else "worse" if change.lower > 0.0 else ""
        assert cells(table)[name, "square", "brier"].mark == expected
    assert any("9 comparisons" in note for note in table.notes())
    found = cells(table)
    # Squares suit the unsure model, whose exponent 0.4 is doubled to 0.8, and harm both others.
    for measure in ("tl_ece", "brier", "log_loss"):
        assert found["unsure", "square", measure].mark == "better"
        assert found["sure", "square", measure].mark == "worse"
        assert found["good", "square", measure].mark == "worse"
    assert all(row.mark == "" and np.isnan(row.lower) for row in frame.itertuples() if "mce" in row.measure)


def test_failure_is_said_in_its_cells_and_notes(table):
    broken = table.frame().query("method == 'broken'")
    assert broken["value"].isna().all()
    assert set(broken["failure"]) == {"no such luck"}
    assert sum("no such luck" in note for note in table.notes()) == len(POWERS)


def test_ranking_compares_all_models_by_the_paired_interval(pairs, table):
    assert {entry.name for entry in table.ranked} == {
        f"{model}, {method}" for model in POWERS for method in table.methods
    }
    gain = table.improvements["good, Base"]["brier"]
    unseen = {name: pair[1] for name, pair in pairs.items()}
    change = calib.paired_interval(unseen["sure"].labels, unseen["sure"], unseen["good"], metric="brier")
    assert (gain.value, gain.lower) == pytest.approx((-change.difference, -change.upper))
    assert gain.upper == pytest.approx(-change.lower, abs=1e-4)  # each model has other wrong rows
    assert gain.lower > 0.0  # the good model's probabilities are those that the labels were drawn from
    ends = f"{-change.difference:.4f} below sure (95 % interval of this comparison alone "
    assert f"Lowest Brier score: good, {ends}{-change.upper:+.4f} to {gain.upper:+.4f})" in table.words()


def test_a_sentence_compares_the_lowest_score_with_the_next(pairs):
    """The first model has the highest score; the difference is the one from the second in the ranking."""
    unseen = {name: (None, pairs[name][1]) for name in ("unsure", "sure", "good")}
    table = compare_models(unseen, {}, n_bins=B, n_resamples=50)
    scores = {name: calib.brier_score(rows.labels, rows) for name, (_, rows) in unseen.items()}
    unsure, sure, good = scores.values()
    assert good < sure < unsure
    assert f"{sure - good:.4f}" in table.words()
    assert f"{unsure - good:.4f}" not in table.words()


def test_layout_is_that_of_the_papers_tables(table):
    wide = table.wide()
    assert list(wide.columns[:5]) == ["Metric", "Model", "Base", "Base, floor", "square"]
    assert list(wide["Model"][:3]) == list(POWERS)
    assert list(wide["Metric"][:9:3]) == ["TL-ECE", "TL-MCE (bin)", "CW-ECE"]
    found = cells(table)
    latex = table.latex().splitlines()
    assert latex[0] == r"\begin{tabular}{c|c|c|c|c|c}"
    cell = found["unsure", "square", "tl_ece"]
    base = found["unsure", "Base", "tl_ece"]
    row = latex[3].split(" & ")
    assert row[1:4] == [
        "unsure",
        f"{base.value:.3f} ({base.floor:.3f})",
        rf"\textbf{{{cell.value:.3f}}} ({cell.floor:.3f})",
    ]
    assert latex[2].startswith(r"\multirow{3}{*}{TL-ECE}")
    assert latex[4].endswith(r"\hline")
    assert f"| **{cell.value:.3f}** ({cell.floor:.3f}) |" in table.markdown()
    hundred = found["sure", "Base", "cw_ece"]
    text = table.texts().query("Metric == 'CW-ECE x 100'").iloc[0]["Base"]
    assert text == f"{100 * hundred.value:.2f} ({100 * hundred.floor:.2f})"


def test_hostile_names_stay_text(pairs):
    table = compare_models({"a_%|\n": pairs["good"]}, [], n_resamples=5)
    assert r"a\_\% |" not in table.markdown()
    assert r"a\_%\| " in table.markdown()
    assert r"a\_\%|" in table.latex()


def test_figure_holds_the_numbers(table):
    drawn = table.plot(measure="tl_ece").data
    dots = {trace.name: trace.y for trace in drawn if trace.type == "scatter"}
    values = table.frame().query("measure == 'tl_ece'")
    for model in POWERS:
        expected = values[values["model"] == model]["value"].to_numpy()
        np.testing.assert_array_equal(np.array(dots[model], dtype=float), expected)
    with pytest.raises(InputError, match="measure"):
        table.plot(measure="mce")


def test_labelled_predictions_are_split_once_for_all_models():
    rows = models()
    table = compare_models(rows, [], calibration=0.3, n_resamples=5, random_state=4)
    _, unseen = rows["sure"].split(0.3, 4)
    assert (table.n_calibration, table.n_evaluation) == (N - len(unseen), len(unseen))
    for name in POWERS:
        chosen = [row for row in range(N) if (rows["sure"].proba[row] == unseen.proba).all(axis=1).any()]
        expected = calib.brier_score(rows[name].take(chosen).labels, rows[name].take(chosen))
        assert cells(table)[name, "Base", "brier"].value == pytest.approx(expected)


def test_classes_are_matched_by_name():
    rows = models()
    turned = [2, 0, 3, 1]
    moved = Predictions(
        rows["sure"].proba[:, turned],
        np.argsort(turned)[rows["sure"].labels],
        [NAMES[code] for code in turned],
    )
    found = on_common_rows({"a": rows["good"], "b": moved})
    np.testing.assert_array_equal(found["b"].proba, rows["sure"].proba)
    with pytest.raises(InputError, match="classes"):
        on_common_rows({"a": rows["good"], "b": Predictions(moved.proba, moved.labels, ("x", "y", "z", "w"))})


def read_with_ids(rows: Predictions, ids, order) -> Predictions:
    frame = pd.DataFrame(rows.proba, columns=list(NAMES))
    frame = frame.assign(label=np.array(NAMES)[rows.labels], id=ids).iloc[order]
    return calib.read(frame)


def test_rows_are_matched_by_id():
    rows, ids = models(), [f"row {number}" for number in range(N)]
    order = np.random.default_rng(0).permutation(N)
    found = on_common_rows(
        {
            "a": read_with_ids(rows["good"], ids, np.arange(N)),
            "b": read_with_ids(rows["sure"], ids, order),
        }
    )
    np.testing.assert_array_equal(found["b"].labels, rows["sure"].labels)
    np.testing.assert_allclose(found["b"].proba, rows["sure"].proba)
    other = [*ids[1:], "another"]
    with pytest.raises(InputError, match="1 ids are only in the first"):
        on_common_rows(
            {
                "a": read_with_ids(rows["good"], ids, np.arange(N)),
                "b": read_with_ids(rows["sure"], other, np.arange(N)),
            }
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.take(slice(1, None)), "600 and 599 rows"),
        (lambda rows: rows.take(np.roll(np.arange(N), 1)), "same order"),
        (lambda rows: Predictions(rows.proba, rows.labels, NAMES, sample_weight=np.arange(N)), "weights"),
        (lambda rows: Predictions(rows.proba, class_names=NAMES), "labels"),
        (lambda rows: calib.TopLabelPrediction(rows.label, rows.confidence, rows.labels), "kinds"),
        (lambda rows: (rows, rows), "pair"),
    ],
)
def test_models_on_other_rows_are_refused(change, words):
    rows = models()
    with pytest.raises(InputError, match=words):
        compare_models({"a": rows["good"], "b": change(rows["sure"])}, [])


def test_names_of_methods(pairs):
    item = {"good": pairs["good"]}
    table = compare_models(item, ["Base", "CW-HB", "temperature"], n_bins=B, n_resamples=5)
    assert table.methods == ("Base", "CW-HB", "TS")
    with pytest.raises(InputError, match="'nonsense'"):
        compare_models(item, ["nonsense"])
    with pytest.raises(InputError, match="at least one; got"):
        compare_models({})


@pytest.mark.parametrize("weighted", [False, True])
def test_other_kinds_and_weights(weighted):
    """Top labels have no class-wise errors; weights are those of every number."""
    rows = models()["unsure"]
    weights = np.where(np.arange(N) % 3 == 0, 4.0, 1.0) if weighted else None
    top = calib.TopLabelPrediction(rows.label, rows.confidence, rows.labels, sample_weight=weights)
    table = compare_models({"top": (top, top)}, n_bins=B, n_resamples=5)
    assert "cw_ece" not in table.measures
    assert "TL-HB" in table.methods
    expected = calib.ece(rows.labels, top, n_bins=B, sample_weight=weights)
    assert cells(table)["top", "Base", "tl_ece"].value == pytest.approx(expected)
    accuracy = np.average(rows.label == rows.labels, weights=weights)
    assert cells(table)["top", "Base", "accuracy"].value == pytest.approx(accuracy)


def test_rows_that_belong_together():
    """20 copies of 30 rows: scores and ECEs take intervals over the clusters."""
    rows, of = models()["unsure"], np.repeat(np.arange(30), 20)
    together = Predictions(rows.proba[of], rows.labels[of], NAMES, cluster=of)
    table = compare_models({"unsure": (together, together)}, {"square": Square()}, n_bins=B, n_resamples=5)
    cell = cells(table)["unsure", "square", "brier"]
    squared = Square().predict_proba(together.proba)
    change = calib.paired_interval(together.labels, together, squared, metric="brier", cluster=of)
    assert (cell.lower, cell.upper) == pytest.approx((change.lower, change.upper))
    cell = cells(table)["unsure", "square", "tl_ece"]
    change = calib.paired_difference(together.labels, squared, together, n_bins=B, cluster=of)
    assert (cell.lower, cell.upper) == pytest.approx((change.lower, change.upper))
    floor = calib.noise_floor(together.labels, squared, n_bins=B, n_resamples=5, random_state=0, cluster=of)
    assert cells(table)["unsure", "square", "tl_ece"].floor == pytest.approx(floor.mean)


def test_reference_row_of_the_paper(shared_data):
    """ResNet-50 on CIFAR-10 with focal loss: Tables 4 and 5, in the paper's digits."""
    pair = calib.read_pair(shared_data / "cifar10_resnet50.npz")
    methods = ["TS (conf-ECE grid)", "VS", "DS", "N-HB", "TL-HB", "CW-HB"]
    table = compare_models({"ResNet-50": pair}, methods, n_resamples=20)
    texts = table.texts().set_index("Metric")

    def row(metric: str) -> list[str]:
        return [text.split(" ")[0].rstrip("*!") for text in texts.loc[metric].iloc[1:]]

    assert row("TL-ECE")[:6] == ["0.022", "0.023", "0.018", "0.019", "0.023", "0.019"]
    assert row("TL-MCE (bin)")[:6] == ["0.298", "0.443", "0.368", "0.472", "0.325", "0.082"]
    assert row("CW-ECE x 100")[:5] == ["0.42", "0.42", "0.35", "0.37", "0.52"]
    assert row("CW-ECE x 100")[6] == "0.35"


def test_a_model_without_calibration_rows_is_compared_as_it_is(pairs):
    """Whichever place it has; its calibrators say that nothing could be fitted."""
    given = {"bare": (None, pairs["good"][1]), "good": pairs["good"]}
    for models in (given, dict(reversed(given.items()))):
        found = compare_models(models, ["TS"], n_bins=B, n_resamples=5)
        numbers = found.frame().set_index(["model", "method", "measure"])["value"].sort_index()
        np.testing.assert_array_equal(numbers["bare", "Base"], numbers["good", "Base"])
        assert numbers["bare", "TS"].isna().all()
        assert numbers["good", "TS"].notna().any()
        assert found.n_calibration == pairs["good"][0].n_samples
        swept = sweep_models(models, ["TS"], n_bins=[5], n_resamples=5).table
        assert set(swept[swept["failure"].notna()]["model"]) == {"bare"}


@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_a_marked_number_differs_from_the_base_in_its_digits(table, decimals):
    marked = 0
    for _, row in table.texts(decimals).iterrows():
        base, *others = [cell.split(" ")[0] for cell in row.drop(["Metric", "Model"])]
        telling = [cell[:-1] for cell in others if cell[-1] in "*!"]
        assert base not in telling
        marked += len(telling)
    assert marked
