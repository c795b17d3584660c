"""What the living picture's module computes from its data, beside calib's own numbers."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib import HistogramBinning, InputError, MulticlassToBinary, Predictions
from calib.answers.calibrated import calibrated_scores
from calib.data.predictions import BinaryPrediction, ConfidencePrediction
from calib.diagrams.living_picture import FILES, MOST_ROWS, living_picture, picture_file
from calib.evidence.rows import Rows
from calib.scale.summary import Sums
from tests.browser.chromium import launched
from tests.populations import population

SCRIPT = Path(__file__).with_name("picture_texts.mjs")
NODE = shutil.which("node")
IN_NODE = """
import {{ readFileSync }} from "node:fs";
import * as module from "{module}";
import {{ texts }} from "{script}";
process.stdout.write(JSON.stringify(await texts(module, JSON.parse(readFileSync(0, "utf8")))));
"""
IN_CHROMIUM = """async ([module, script, pictures]) => {
    const load = (text) => import("data:text/javascript;charset=utf-8," + encodeURIComponent(text));
    const { texts } = await load(script);
    return texts(await load(module), pictures);
}"""


def shown(*pictures: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the module on data and dragged edges: by node, or if there is none in Chromium."""
    if NODE is None:
        return in_chromium(*pictures)
    program = IN_NODE.format(module=(FILES / "picture.js").as_uri(), script=SCRIPT.as_uri())
    command = [NODE, "--input-type=module", "--eval", program]
    given = json.dumps(list(pictures))
    return json.loads(subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout)


def in_chromium(*pictures: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the module in a page of Chromium."""
    with launched() as browser:
        given = [picture_file("picture.js"), SCRIPT.read_text(encoding="utf-8"), list(pictures)]
        return browser.new_page().evaluate(IN_CHROMIUM, given)


def expected(evidence: Any, mode: str, n_bins: int, groups: dict[int, int] | None) -> list[list[Any]]:
    strategy = {"uniform": "uniform", "mass": "quantile"}[mode]
    notions = ["confidence"] if groups is None or mode == "mass" else ["confidence", "top-label"]
    texts = []
    for notion in notions:
        cells = evidence.cells(notion, n_bins=n_bins, strategy=strategy, effects=False)
        for at in range(len(cells.count)):
            group = -1 if notion == "confidence" else groups.get(int(cells.label[at]))
            if group is not None:
                score, right = float(cells.mean_score[at]), float(cells.mean_outcome[at])
                text = f"{score:.3f}", f"{right:.3f}", f"{100 * right:.0f} %"
                texts.append([group, int(cells.bin[at]), int(cells.count[at]), *text])
    return sorted(texts)


def assert_same(data: dict[str, Any], views: list[Any], result: dict[str, Any]) -> None:
    groups = {code: at for at, code in enumerate(data["codes"])} if data["by_class"] else None
    pooled_only = groups is None
    for number, mode, n_bins, texts in result["shown"]:
        if mode == "mass" and not data["as_rows"]:
            continue
        last = -1 if pooled_only or mode == "mass" else len(data["codes"]) - 1
        own = [each for each in texts if each[0] <= last]
        assert own == expected(views[number], mode, n_bins, groups), (number, mode, n_bins)


def vectors(kind: str, n: int = 600) -> Predictions:
    random = np.random.default_rng(3)
    proba, labels = population(n, 5, seed=2)
    weight = None
    if kind == "edges":  # every confidence is an edge of some binning
        top = np.round(random.integers(10, 50, n) / 50, 10)
        proba = np.column_stack([top, *np.repeat([(1 - top) / 4], 4, axis=0)])
        proba = np.take_along_axis(proba, np.argsort(random.random((n, 5)), axis=1), axis=1)
    if kind == "four decimals":
        proba = np.round(proba, 4)
        proba[:, 0] += 1 - proba.sum(axis=1)
        proba = np.abs(proba)
    if kind == "float32":
        proba = proba.astype(np.float32)
    if kind == "weights":
        weight = random.exponential(size=n)
    return Predictions(proba, labels, sample_weight=weight)


@pytest.mark.parametrize("kind", ["float64", "float32", "edges", "four decimals", "weights"])
def test_every_number_of_bins_of_vectors(kind: str) -> None:
    views = [Rows(vectors(kind))]
    data = living_picture(*views, named=[1])
    assert_same(data, views, shown({"data": data})[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_one_event(weighted: bool) -> None:
    random = np.random.default_rng(5)
    score = np.round(random.random(900), 3)
    weight = random.exponential(size=900) if weighted else None
    happened = (random.random(900) < score).astype(int)
    binary = Rows(BinaryPrediction(score, happened, sample_weight=weight))
    sure = Rows(ConfidencePrediction(score, happened, sample_weight=weight))
    pictures = [living_picture(each) for each in (binary, sure)]
    for data, evidence, result in zip(
        pictures, (binary, sure), shown(*({"data": each} for each in pictures)), strict=True
    ):
        assert not data["by_class"]
        assert_same(data, [evidence], result)


def test_after_a_calibrator_and_its_own_bins() -> None:
    rows = vectors("float64", 900)
    before = Rows(rows)
    calibrator = MulticlassToBinary(HistogramBinning(points_per_bin=60), notion="top-label")
    calibrator.fit(rows.proba, rows.labels)
    after = before.of_scores(calibrated_scores(calibrator, rows))
    data = living_picture(before, after, after_name="TL-HB")
    result = shown({"data": data})[0]
    assert_same(data, [before, after], result)
    values = after.problems("top-label")
    for group, (cuts, cuts_after) in data["own"].items():
        if group != "-1":
            own = values.problem(int(group))[0]
            assert len(cuts_after) == len(np.unique(own)) - 1 == len(cuts)


def test_predicted_classes_that_change() -> None:
    before = Rows(vectors("float64"))
    after = Rows(Predictions(vectors("float64").proba[:, ::-1], vectors("float64").labels))
    data = living_picture(before, after)
    assert_same(data, [before, after], shown({"data": data})[0])


def test_sums_of_many_rows_and_of_a_summary() -> None:
    many = vectors("float32", MOST_ROWS + 500)
    weighted = vectors("weights", MOST_ROWS + 500)
    views = [Rows(many), Sums().update(None, vectors("four decimals")).summary(), Rows(weighted)]
    pictures = [living_picture(each) for each in views]
    for data, evidence, result in zip(
        pictures, views, shown(*({"data": each} for each in pictures)), strict=True
    ):
        assert not data["as_rows"]
        assert_same(data, [evidence], result)


def test_more_classes_than_are_shown() -> None:
    proba, labels = population(3000, 60, seed=1)
    evidence = Rows(Predictions(proba, labels))
    data = living_picture(evidence, named=[7, 50])
    assert data["codes"][:2] == [7, 50]
    assert len(data["codes"]) in (20, 21, 22)
    assert data["others"] == 60 - len(data["codes"])
    result = shown({"data": data})[0]
    assert_same(data, [evidence], result)
    cells = evidence.cells("top-label", n_bins=15, strategy="uniform")
    others = ~np.isin(cells.label, data["codes"])
    texts = next(texts for _, mode, n_bins, texts in result["shown"] if (mode, n_bins) == ("uniform", 15))
    assert sum(each[2] for each in texts if each[0] == len(data["codes"])) == cells.count[others].sum()


def test_chromium_shows_the_same() -> None:
    views = [Rows(vectors("weights"))]
    data = living_picture(*views)
    assert_same(data, views, in_chromium({"data": data})[0])


def test_dragged_edges_cut_the_rows_themselves() -> None:
    evidence = Rows(vectors("float64"))
    edges = [(step + 0.5) / 65_535 for step in (20_000, 33_333, 60_000)]
    counts = shown({"data": living_picture(evidence), "hands": [edges]})[0]["hands"][0][:4]
    score = evidence.problems("confidence").scores
    assert counts == np.bincount(np.searchsorted(edges, score, "right"), minlength=4).tolist()


def test_other_rows_after_are_refused() -> None:
    with pytest.raises(InputError, match="same rows"):
        living_picture(Rows(vectors("float64")), Rows(vectors("float64", 500)))


def test_a_picture_is_small() -> None:
    proba, labels = population(MOST_ROWS, 10, seed=4)
    rows = Predictions(proba, labels)
    softer = Predictions((proba**0.7) / (proba**0.7).sum(axis=1, keepdims=True), labels)
    assert len(json.dumps(living_picture(Rows(rows), Rows(softer)))) < 250_000
