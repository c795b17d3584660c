"""Weights of a file's column, in every command and in the library, against literal loops."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import calibration_slope, ece, guarantee_card, load, metrics, read
from calib.cli.parser import main

_random = np.random.default_rng(5)
N = 1_200
CONFIDENCE = _random.beta(4.0, 1.5, N)
WEIGHT = np.where(_random.random(N) < 0.3, 9.0, 1.0)
CORRECT = (_random.random(N) < np.where(WEIGHT > 5, 0.8 * CONFIDENCE, CONFIDENCE)).astype(int)
PREDICTED = _random.choice(["cat", "dog"], N)
FRAMES = {
    "confidence": pd.DataFrame({"confidence": CONFIDENCE, "correct": CORRECT, "sample_weight": WEIGHT}),
    "top-label": pd.DataFrame(
        {
            "predicted": PREDICTED,
            "confidence": CONFIDENCE,
            "label": np.where(CORRECT, PREDICTED, "emu"),
            "sample_weight": WEIGHT,
        }
    ),
}


def weighted_error(weights, bins: int = 15, classes=None) -> float:
    """Sum over cells of |weighted outcome - weighted score|, over all weight: a loop over rows."""
    sums: dict[tuple, list[float]] = {}
    for row in range(N):
        key = (min(int(CONFIDENCE[row] * bins), bins - 1), None if classes is None else classes[row])
        gap = sums.setdefault(key, [0.0])
        gap[0] += weights[row] * (CORRECT[row] - CONFIDENCE[row])
    return sum(abs(gap) for (gap,) in sums.values()) / sum(weights)


@pytest.fixture(params=FRAMES)
def file(request, tmp_path):
    path = tmp_path / "rows.csv"
    FRAMES[request.param].to_csv(path, index=False)
    return path


def run(capsys, *arguments) -> tuple[int, dict, str]:
    """Exit code, JSON output and stderr of one command."""
    code = main([*map(str, arguments), "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


def test_numbers_of_a_file_with_weights_are_weighted(file, capsys):
    rows, weighted = read(file), weighted_error(WEIGHT)
    assert ece(rows.labels, rows, notion="confidence") == pytest.approx(weighted)
    assert metrics(rows.labels, rows).conf_ece == pytest.approx(weighted)
    assert ece(rows.labels, rows.unweighted(), notion="confidence") == pytest.approx(
        weighted_error(np.ones(N))
    )
    _, data, _ = run(capsys, "metrics", file, "--resamples", 20)
    (method,) = data["methods"]
    assert method["weighted"]
    assert method["conf_ece"] == pytest.approx(weighted)
    assert method["noise"]["confidence"]["observed"] == pytest.approx(weighted)
    assert method["accuracy"] == pytest.approx(WEIGHT @ CORRECT / WEIGHT.sum())
    brier = WEIGHT @ (CONFIDENCE - CORRECT) ** 2 / WEIGHT.sum()
    assert method["top_brier"] == pytest.approx(brier)
    if rows.kind == "top-label":
        assert method["tl_ece"] == pytest.approx(weighted_error(WEIGHT, classes=PREDICTED))
    line = calibration_slope(rows.labels, rows)
    assert method["without_bins"]["slope"]["slope_lower"] == pytest.approx(line.slope_lower)

    _, data, _ = run(capsys, "metrics", file, "--resamples", 0, "--unweighted")
    assert data["methods"][0]["conf_ece"] == pytest.approx(weighted_error(np.ones(N)))
    assert not data["methods"][0]["weighted"]


def test_gate_weighs_rows(file, capsys):
    code, data, _ = run(capsys, "gate", file, "--max", "conf_ece=0.5", "--resamples", 20)
    assert (code, data["weighted"]) == (0, True)
    assert data["checks"][0]["value"] == pytest.approx(weighted_error(WEIGHT))


def test_what_counts_rows_says_so(file, capsys):
    code, data, _ = run(capsys, "decide", file, "--accuracy", 0.9)
    assert code == 2
    assert (
        "A rule of acceptance cannot use weights: its guarantee is about how many rows"
        in data["error"]["message"]
    )
    assert main(["metrics", str(file), "--resamples", "20", "--all"]) == 0
    printed = capsys.readouterr().out
    assert "slope " in printed
    assert ("The kernel test of whole vectors cannot use weights" in printed) == (
        read(file).kind == "vectors"
    )
    assert "conf-ECE (weighted) 0." in printed
    assert "weighted, worth " in printed
    assert run(capsys, "decide", file, "--accuracy", 0.9, "--unweighted")[0] == 0


def test_fit_weighs_rows_and_promises_nothing(file, tmp_path, capsys):
    code, data, _ = run(capsys, "fit", file, "-o", tmp_path / "cal.json", "--split", 1)
    assert (code, data["weighted"], data["error_bound"]) == (0, True, None)
    fitted, rows = load(tmp_path / "cal.json"), read(file)
    if rows.kind == "confidence":
        bins = np.searchsorted(fitted.edges_, CONFIDENCE, side="right")
        inside = ~np.isin(CONFIDENCE, fitted.edges_)
        chosen = [inside & (bins == number) for number in range(bins.max() + 1)]
        means = [np.average(CORRECT[rows_in], weights=WEIGHT[rows_in]) for rows_in in chosen]
        np.testing.assert_allclose(fitted.values_, means, atol=1e-9)
    else:
        card = guarantee_card(fitted)
        assert not card.applies
        assert "different weights" in card.words()


def test_rows_of_weight_0_do_not_count(tmp_path, capsys):
    frame = FRAMES["confidence"].copy()
    frame.loc[: N // 2, "sample_weight"] = 0.0
    frame.to_csv(tmp_path / "half.csv", index=False)
    frame[N // 2 + 1 :].to_csv(tmp_path / "rest.csv", index=False)
    numbers = [
        run(capsys, "metrics", tmp_path / name, "--resamples", 0)[1]["methods"][0]
        for name in ("half.csv", "rest.csv")
    ]
    assert numbers[0] == numbers[1]


def test_report_says_that_rows_are_weighted(file, tmp_path, capsys):
    output = tmp_path / "report.html"
    run(capsys, "report", file, "-o", output, "--resamples", 20)
    text = output.read_text(encoding="utf-8")
    assert "Rows are weighted, worth" in text
    assert "conf-ECE (weighted)" in text
    assert "Recalibration of the confidence by a line in log-odds: slope" in text
