"""Reports: self-contained, escaped, complete, and small whatever the number of rows."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    InputError,
    MulticlassToBinary,
    Predictions,
    TemperatureScaling,
    TopLabelPrediction,
    ece,
    risk,
)
from calib.data.kinds import needs_rows
from calib.datasets import load_example
from calib.diagrams.style import plotly_script
from calib.files.findings import examine
from calib.report import ReportInput, report_html
from calib.scale import Sums

EVIL = ['</script><script>alert("1")</script>', '<img src=x onerror="alert(2)">', "%{x}&amp;'\"", "ok"]


class Outline(HTMLParser):
    """Tags with their attributes, the ids, and the visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def rows(n: int = 600, names=("cat", "dog", "hen", "owl"), seed: int = 0) -> Predictions:
    random = np.random.default_rng(seed)
    return Predictions(random.dirichlet(np.ones(4), n), random.integers(0, 4, n), names)


@pytest.fixture(scope="module")
def full() -> tuple[str, ReportInput]:
    """A report with everything in it, names chosen to break out of the page."""
    evaluation, calibration = rows(names=EVIL), rows(seed=1, names=EVIL)
    calibrators = {
        "TL-HB": MulticlassToBinary().fit(calibration.proba, calibration.labels),
        "<b>TS</b>": TemperatureScaling().fit(calibration.proba, calibration.labels),
    }
    about = ReportInput(
        evaluation,
        calibrators,
        calibration,
        title="<script>file.csv",
        simulated=True,
        examinations={"evaluation": examine(evaluation)},
        log=("percent: <u>fixed</u>",),
        settings={"Command": "calib report '<i>.csv'"},
        n_resamples=100,
    )
    return report_html(about), about


def test_page_is_well_formed_and_fetches_nothing(full):
    outline = Outline(full[0])
    assert outline.open == []
    for tag, attributes in outline.tags:
        assert "src" not in attributes, f"<{tag}> loads something"
        assert not any(name.startswith("on") for name in attributes)
        if tag in ("a", "link"):
            assert attributes["href"].startswith(("#", "data:,"))
    (policy,) = [a["content"] for t, a in outline.tags if t == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'")
    allowed = "html head meta link title style script body h1 h2 h3 p span nav a section div bdi b ul li code"
    allowed += " details summary table thead tbody tr th td"
    assert {tag for tag, _ in outline.tags} <= set(re.findall(r"\w+", allowed))


def test_names_of_users_are_text(full):
    page, about = full
    assert page.count(plotly_script()) == 1
    rest = page.replace(plotly_script(), "")
    for evil in ("<script>alert", "<img", "<b>TS", "<i>.csv", "<script>file", "<u>"):
        assert evil not in rest
    outline = Outline(page)
    for name in about.evaluation.class_names:
        assert name in outline.text
    # Inside figures: JSON in a script, where "<" is written as an escape.
    scripts = re.findall(r"<script>\(f => Plotly\.newPlot\(.*?\)\)\((.*?)\);</script>", page)
    assert len(scripts) == 7
    for script in scripts:
        assert "<" not in script
        assert set(json.loads(script)) >= {"data", "layout"}


def test_every_link_has_its_section(full):
    outline = Outline(full[0])
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"][1:] for tag, attributes in outline.tags if tag == "a"]
    assert " ".join(links) == "verdicts data input reliability classes methods guarantee repeat"
    assert set(links) <= set(ids)


def test_numbers_are_those_of_the_library(full):
    page, about = full
    words = Outline(page).text
    y, calibrator = about.evaluation.labels, about.calibrators["TL-HB"]
    after = ece(y, calibrator.predict_top(about.evaluation.proba), strategy="discrete")
    for value in (ece(y, about.evaluation), ece(y, about.evaluation, notion="confidence"), after):
        assert f"{value:.4f}" in words
    for sentence in (
        "Simulated data",
        "600 evaluation rows of 4 classes, 600 calibration rows",
        "above noise",
        "percent: <u>fixed</u>",
        about.evaluation.fingerprint,
        about.calibration.fingerprint,
        "calib report '<i>.csv'",
        "MulticlassToBinary()",
        "100 redraws, seed 0",
        "whatever the distribution",
        f"numpy: {np.__version__}",
    ):
        assert sentence in words


def test_base_model_alone_makes_a_report():
    outline = Outline(report_html(ReportInput(rows(40), n_resamples=50)))
    assert "40 evaluation rows" in outline.text
    assert "pass --split 0.5 or a file with calibration rows" in outline.text
    assert "guarantee" not in [attributes.get("id") for _, attributes in outline.tags]
    stated = ConfidencePrediction(np.tile([0.5, 0.9], 20), np.arange(40) % 3 > 0, strategy="discrete")
    words = Outline(report_html(ReportInput(stated, n_resamples=50))).text
    assert "one per value" in words
    assert "Every diagram has 15 equal-width bins" in words


def test_bins_are_the_same_everywhere_and_the_named_one_adds_most():
    # Bin 2 of 4 is off by 0.4 in 100 rows, bin 3 by 0.95 in 10 rows only: too few to name.
    score = np.repeat([0.6, 0.95], [100, 10])
    labels = np.repeat([0, 1, 1], [20, 80, 10])
    about = ReportInput(Predictions(np.column_stack([score, 1 - score]), labels), n_bins=4, n_resamples=20)
    words = Outline(report_html(about)).text
    assert "The bin that adds most to TL-ECE is 0.50 to 0.75: confidence 0.600, accuracy 0.200" in words
    assert "(n = 100)" in words
    assert "Single tests of the base model, in 4 equal-width bins" in words
    assert "10 equal-width" not in words


def test_the_picture_names_the_classes_of_the_verdict_and_no_column_is_made_up():
    evaluation = load_example("digits").evaluation.with_cluster(np.arange(899) // 2)
    about = ReportInput(evaluation, n_resamples=20, examinations={"evaluation": examine(evaluation)})
    page = report_html(about)
    picture = json.loads(re.search(r'getElementById\("living"\), ({.*?}), document', page)[1])
    shown = [picture["classes"][place] for place in picture["named"]]
    assert shown == [evaluation.class_names[code] for code in about.conclusion.named] != []
    assert "the clusters say which rows belong together" in page


@pytest.mark.parametrize("example", ["two-patients", "three-classes"])
def test_examples_have_reports(example):
    data = load_example(example)
    about = ReportInput(data.evaluation, title=data.title, simulated=data.simulated, n_resamples=50)
    assert len(report_html(about)) < 10_000_000


@pytest.mark.parametrize("kind", ["vectors", "top-label", "confidence", "binary"])
def test_a_summary_has_the_numbers_of_its_rows(kind):
    of_vectors = rows()
    right = of_vectors.label == of_vectors.labels
    given = {
        "vectors": of_vectors,
        "top-label": TopLabelPrediction(
            of_vectors.label, of_vectors.confidence, of_vectors.labels, of_vectors.class_names
        ),
        "confidence": ConfidencePrediction(of_vectors.confidence, right),
        "binary": BinaryPrediction(of_vectors.proba[:, 0], of_vectors.labels == 0),
    }[kind]
    summary = Sums(class_wise=kind == "vectors").update(None, given).summary()
    words, expected = (Outline(report_html(ReportInput(of, n_resamples=20))).text for of in (summary, given))
    numbers = r"(conf-ECE|TL-ECE|CW-ECE|ECE of P\(Y = 1\)) (0\.\d+), "
    assert re.findall(numbers, words) == re.findall(numbers, expected) != []
    bin_named = r"The bin that adds most.*?n = [\d,]+"
    assert re.findall(bin_named, words) == re.findall(bin_named, expected) != []
    assert needs_rows("A test or an estimate without bins") in words
    with pytest.raises(InputError, match="needs the rows"):
        report_html(ReportInput(summary, {"TS": TemperatureScaling()}))


def test_one_row_and_rows_always_right():
    # One row, right at 0.7: every error is 0.3, and a perfect model is off by 0.3 or 0.7.
    item = Outline(report_html(ReportInput(Predictions([[0.3, 0.7]], [1]), n_resamples=20))).text
    # Four rows, each right with confidence 1: no error, and none for a perfect model either.
    sure = Predictions(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0])
    right = Outline(report_html(ReportInput(sure, n_resamples=20))).text
    for words, n, n_classes, error in ((item, 1, 2, "0.300"), (right, 4, 3, "0.000000")):
        sentence = f"{n} evaluation rows of {n_classes} classes; the predicted class is right in 100.00%"
        assert sentence in words
        assert "Accuracy1.0000" in words
        for name in ("conf-ECE", "TL-ECE", "CW-ECE"):
            assert f"{name} {error}, not distinguishable from noise" in words
            assert f"{name}{float(error):.4f}" in words
        assert "none: no cell holds 20 rows" in words
    assert "None of 1 predicted classes is known to be off" in item
    assert "None of 3 predicted classes is known to be off" in right


def test_size_does_not_grow_with_the_rows():
    small = len(report_html(ReportInput(rows(500), n_resamples=20)))
    large = len(report_html(ReportInput(rows(150_000), n_resamples=20)))
    assert large < small + 250_000  # the living picture holds up to 50,000 rows, else sums


@pytest.mark.thorough
def test_report_of_very_many_classes_can_be_sent():
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.full(1_500, 0.02), 5_000).astype(np.float32)
    many = Predictions(proba, random.integers(0, 1_500, 5_000))
    assert len(report_html(ReportInput(many, n_resamples=20))) < 10_000_000


def test_labels_are_needed():
    with pytest.raises(InputError, match="true labels are needed"):
        report_html(ReportInput(Predictions([[0.5, 0.5]])))


def test_report_of_a_risk_has_its_numbers_its_centres_and_missing_outcomes():
    random = np.random.default_rng(0)
    hospital, p = np.repeat([*"ABCDE"], 200), random.beta(1, 4, 1_000)
    y = (random.random(1_000) < p).astype(float)
    y[::100] = np.nan
    table = pd.DataFrame({"risk": p, "died": y, "hospital": hospital})
    examined = examine(table).fix("labels_missing")
    found = examined.rows()
    found = found.with_cluster(found.metadata["hospital"])
    about = ReportInput(found, examinations={"evaluation": examined}, n_resamples=20)
    outline = Outline(report_html(about))
    assert "Outcomes missing: 10 rows, left out." in outline.text
    for number in risk(found).numbers:
        assert f"{number.title}{number.text}" in outline.text
    assert "Over hospital" in outline.text
    assert {"smoothed", "benefit"} <= {attributes.get("id") for _, attributes in outline.tags}


def test_report_of_one_outcome_has_a_risk_without_slope():
    words = Outline(report_html(ReportInput(BinaryPrediction([0.3], [1]), n_resamples=20))).text
    assert "Slope\u2013" in words
    assert "O/E3.333" in words
