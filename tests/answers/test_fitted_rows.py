"""Rows that were used to fit: no promise, no passed gate, and words in reports, however it is seen."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    HistogramBinning,
    InputError,
    IsotonicCalibration,
    MulticlassToBinary,
    PlattScaling,
    Predictions,
    decide,
    report,
    save,
)
from calib.answers.calibrated import equals_its_outcomes
from calib.answers.gate import gate
from calib.cli.parser import main
from calib.data.equal_rows import overlap
from calib.evidence.rows import as_evidence


def drawn(seed: int, n_samples: int = 1_000) -> tuple[np.ndarray, np.ndarray]:
    """Confidences of an overconfident model and whether it is right."""
    generator = np.random.default_rng(seed)
    score = generator.uniform(0.5, 1.0, n_samples)
    return score, (generator.random(n_samples) < score**1.5).astype(int)


@pytest.mark.parametrize("binary", [HistogramBinning(), IsotonicCalibration()], ids=["binning", "isotonic"])
@pytest.mark.parametrize("n_samples", [400, 1_000])
def test_a_fit_to_the_same_rows_is_seen_in_the_scores(binary, n_samples):
    score, right = drawn(0, n_samples)
    fitted = binary.fit(score, right).predict(score)
    assert equals_its_outcomes(as_evidence(right, fitted).problems("confidence"))
    assert decide(right, ConfidencePrediction(fitted), accuracy=0.6).guarantee is None
    assert decide(right, ConfidencePrediction(fitted), reviews=0.5).guarantee is None
    with pytest.raises(
        InputError, match="a gate needs rows that were not used to fit: the scores equal the shares"
    ):
        gate(right, fitted, most={"ece": 0.1}, n_resamples=0)
    other, happened = drawn(1, n_samples)
    again = binary.predict(other)
    assert not equals_its_outcomes(as_evidence(happened, again).problems("confidence"))
    assert decide(happened, ConfidencePrediction(again), accuracy=0.6).guarantee is not None
    assert gate(happened, again, most={"ece": 0.1}, n_resamples=0).passed


@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_a_fit_of_classes_to_the_same_rows_is_seen(notion):
    generator = np.random.default_rng(0)
    proba = generator.dirichlet(np.ones(3), 1_000)
    labels = (proba.cumsum(axis=1) < generator.random((1_000, 1))).sum(axis=1)
    top = MulticlassToBinary(notion=notion).fit(proba, labels).predict_top(proba)
    assert decide(labels, top, accuracy=0.4).unpromised is not None
    assert decide(labels, Predictions(proba), accuracy=0.4).unpromised is None


@pytest.mark.parametrize("decimals", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_rounded_scores_of_a_calibrated_model_are_not_suspected(decimals, seed):
    generator = np.random.default_rng(seed)
    score = generator.random(500).round(decimals)
    right = generator.random(500) < score
    assert not equals_its_outcomes(as_evidence(right.astype(int), score).problems("confidence"))


def test_smooth_fits_are_seen_by_their_rows():
    """Platt scaling leaves no trace in the scores, and its rows are known by an overlap."""
    score, right = drawn(2)
    rows = BinaryPrediction(score, right)
    fitted = PlattScaling().fit(score[:600], right[:600]).predict(score)
    found = overlap(rows[300:], rows[:600])
    assert found.n_used == pytest.approx(300, abs=3)
    rule = decide(right[300:], ConfidencePrediction(fitted[300:]), accuracy=0.6, overlap=found)
    assert (rule.guarantee, rule.unpromised) == (None, found.words)
    assert found.words in rule.sentence
    assert (
        rule.thresholds.tolist()
        == decide(right[300:], ConfidencePrediction(fitted[300:]), accuracy=0.6).thresholds.tolist()
    )
    with pytest.raises(InputError, match=r"of 700 rows were used to fit"):
        gate(right[300:], ConfidencePrediction(fitted[300:]), most={"ece": 0.1}, n_resamples=0, overlap=found)
    clean = overlap(rows[600:], rows[:600])
    assert clean is None
    assert (
        decide(right[600:], ConfidencePrediction(fitted[600:]), accuracy=0.6, overlap=clean).guarantee
        is not None
    )


def test_an_error_below_chance_keeps_no_limit():
    """Scores that follow the outcomes of these rows, bin by bin, though no two are equal."""
    generator = np.random.default_rng(3)
    score = np.sort(generator.random(3_000))
    right = np.diff(np.floor(np.cumsum(score)), prepend=0.0).astype(int)  # always as many as expected
    check = gate(right, score, most={"ece": 0.5}).checks[0]
    assert check.answer == "undecided"
    assert check.upper <= check.limit
    drawn_right = (generator.random(3_000) < score).astype(int)
    assert gate(drawn_right, score, most={"ece": 0.5}).checks[0].answer == "kept"


def test_a_report_says_what_was_fitted_on_its_rows():
    score, right = drawn(4)
    rows = BinaryPrediction(score, right)
    calibrator = PlattScaling().fit(score[:600], right[:600])
    words = "of 700 rows were used to fit"
    assert (
        words in report(rows[300:], calibrators=calibrator, calibration=rows[:600], n_resamples=20).sentence
    )
    assert words not in report(rows[300:], calibration=rows[:600], n_resamples=20).sentence
    clean = report(rows[600:], calibrators=calibrator, calibration=rows[:600], n_resamples=20)
    assert clean.about.used_to_fit == []


def test_commands_know_the_rows_of_a_calibrator_file(tmp_path, capsys):
    score, right = drawn(5)
    rows = BinaryPrediction(score.round(6), right)
    table = pd.DataFrame({"p(yes)": rows.score, "label": np.where(right, "yes", "no")})
    table["site"] = np.where(np.arange(len(table)) % 2, "north", "south")
    fitted = BinaryPrediction(rows.score[:600], right[:600], ("no", "yes"))
    save(PlattScaling().fit(fitted.score, fitted.labels), tmp_path / "c.json", fitted_on=fitted)
    for name, chosen in (("part", table[300:]), ("new", table[600:])):
        chosen.to_csv(tmp_path / f"{name}.csv", index=False)

    def run(command, name, *options):
        file, calibrator = str(tmp_path / f"{name}.csv"), str(tmp_path / "c.json")
        given = [calibrator, file] if command == "apply" else [file, "--calibrator", calibrator]
        code = main([command, *given, *options])
        return code, capsys.readouterr()

    promised = {}
    for name in ("part", "new"):
        code, printed = run("decide", name, "--accuracy", "0.6", "--json")
        promised[name] = json.loads(printed.out)["guarantee"]
    assert promised["part"] is None
    assert promised["new"] is not None
    assert [run("gate", name, "--max", "ece=0.2", "--resamples", "50")[0] for name in ("part", "new")] == [
        2,
        0,
    ]
    slices, applied = ("--by", "site", "--resamples", "50"), ("--output", str(tmp_path / "out.csv"))
    for command, *options in (("metrics",), ("slices", *slices), ("apply", *applied)):
        assert "of 700 rows were used to fit" in run(command, "part", *options)[1].out
        assert "rows were used to fit" not in run(command, "new", *options)[1].out


@pytest.mark.parametrize("options", [{"accuracy": 0.6}, {"cost": 2.0}, {"reviews": 0.0}])
def test_no_threshold_is_below_what_was_tested(options):
    """Only rows of high confidence have labels; nothing is known of those below."""
    generator = np.random.default_rng(6)
    score = generator.uniform(0.8, 1.0, 2_000)
    rule = decide((generator.random(2_000) < score).astype(int), ConfidencePrediction(score), **options)
    assert rule.thresholds.tolist() == [score.min()]
    assert rule.coverage == 1.0
    assert not rule.accept(np.array([0.79]))[0]


def test_a_class_that_is_never_predicted_is_left_to_a_person():
    proba = np.tile([[0.9, 0.08, 0.02], [0.05, 0.9, 0.05]], (200, 1))
    rule = decide(np.tile([0, 1], 200), proba, cost=3.0, by="class")
    assert rule.thresholds.tolist() == [0.9, 0.9, np.inf]
