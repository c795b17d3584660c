"""Clusters of a file in every command and in the report: the library's numbers, and others without them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib
from calib.answers.calibrated import calibrated_scores, fit_on
from calib.answers.gate import gate
from calib.answers.metric_tables import metric_intervals
from calib.cli.json_data import as_json
from calib.cli.parser import main
from calib.evidence.rows import as_evidence
from calib.report import ReportInput
from calib.stats.binless import calibration_tests

NAMES = ("a", "b", "c")
N_CLUSTERS, SIZE = 40, 12
RANDOM = np.random.default_rng(3)
CODE = np.repeat(np.arange(N_CLUSTERS), SIZE)
PROBA = RANDOM.dirichlet(np.ones(3), len(CODE))
#: Labels of a perfect model; rows of a cluster come true together.
LABELS = (PROBA.cumsum(axis=1)[:, :-1] < RANDOM.random(N_CLUSTERS)[CODE][:, None]).sum(axis=1)
FURTHER = pd.DataFrame({"site": np.where(CODE % 2, "north", "south"), "day": np.arange(len(CODE)) // 60})
PATIENT = np.array([f"P{code:03d}" for code in CODE])
ROWS = calib.Predictions(PROBA, LABELS, NAMES, cluster=PATIENT, metadata=FURTHER)

DRAWS: dict[str, Any] = {"n_resamples": 20}
LIMITS = {"tl_ece": 0.1, "brier": 0.5}
DAYS = FURTHER["day"].to_numpy()


def scores_of(rows):
    """What `metrics` says of one method."""
    numbers = calib.metrics(rows)
    floors = [calib.noise_floor(rows, notion=notion, **DRAWS) for notion in ("confidence", "top-label")]
    tests = [test.p_value for test in calibration_tests(rows)]
    if as_evidence(rows).n_clusters is not None:  # redrawn, and without the test of independent rows
        names = ("kuiper", "ks", "spiegelhalter")
        tests = [calib.calibration_test(rows, test=name, **DRAWS).p_value for name in names]
    return [
        metric_intervals(as_evidence(rows), numbers),
        [[floor.observed, floor.mean, floor.p_value] for floor in floors],
        [*tests, as_json(calib.calibration_slope(rows))],
    ]


def printed_scores(method):
    floors = [method["noise"][notion] for notion in ("confidence", "top-label")]
    tests = [test["p_value"] for test in method["without_bins"].values() if "statistic" in test]
    return [
        method["intervals"],
        [[floor["observed"], floor["perfect_mean"], floor["p_value"]] for floor in floors],
        [*tests, method["without_bins"]["slope"]],
    ]


def fitted_scores(rows):
    after = calibrated_scores(fit_on(calib.TemperatureScaling(), rows), rows)
    change = calib.paired_interval(rows, after, metric="brier")
    return [
        metric_intervals(as_evidence(after), calib.metrics(after)),
        [-change.difference, -change.upper, -change.lower],
    ]


def slices_of(rows):
    groups = {"groups": FURTHER["site"]}
    return as_json(calib.slices(rows, **groups, **DRAWS))


def effect_of(rows):
    rule = calib.decide(rows, accuracy=0.4)
    return [rule.thresholds.tolist(), rule.effect.lower, rule.effect.upper]


#: By command: its words after the file, what it prints with --json, and the same from labelled predictions.
COMMANDS = {
    "metrics": (
        ["--resamples", 20],
        lambda data: printed_scores(data["methods"][-1]),
        scores_of,
    ),
    "gate": (
        [*(f"--max={key}={limit}" for key, limit in LIMITS.items()), "--resamples", 20],
        lambda data: data["checks"],
        lambda rows: as_json(gate(rows, most=LIMITS, **DRAWS).checks),
    ),
    "slices": (
        ["--by", "site", "--resamples", 20],
        lambda data: data["groups"],
        slices_of,
    ),
    "decide": (
        ["--accuracy", 0.4],
        lambda data: [list(data["thresholds"].values()), data["lower"], data["upper"]],
        effect_of,
    ),
    "recommend": (
        ["--split", 1],
        lambda data: data["candidates"],
        lambda rows: calib.recommend(rows).table.to_dict("records"),
    ),
    "fit": (
        ["--evaluate", "FILE", "--method", "temperature", "-o", "OUT"],
        lambda data: [
            data["methods"][1]["intervals"],
            [*data["methods"][1]["improvement"]["brier"].values()],
        ],
        fitted_scores,
    ),
    "watch": (
        ["--time", "day"],
        lambda data: data["units"],
        lambda rows: as_json(calib.Monitor().update(rows, time=DAYS).units()),
    ),
    "tables": (
        ["--methods", "TS", "--resamples", 20],
        lambda data: [{**number, "model": ""} for number in data["numbers"]],
        lambda rows: calib.compare_models({"": rows}, ["TS"], **DRAWS).frame().to_dict("records"),
    ),
    "report": (
        ["--resamples", 20, "-o", "OUT"],
        lambda page: sections_of(page),
        lambda rows: sections_of(calib.report(rows, **DRAWS).html),
    ),
}
CALIBRATED = ("metrics", "gate", "slices", "decide")


def sections_of(page):
    """The numbers of a report, section by section."""
    keys = ("verdicts", "data", "reliability", "classes", "methods")
    found = [re.search(rf'<section id="{key}">.*?</section>', page, re.DOTALL) for key in keys]
    return {key: re.sub(r"<script>.*?</script>", "", each[0]) for key, each in zip(keys, found, strict=True)}


def flat(value):
    """Every number and text inside JSON."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [each for part in value for each in flat(part)]
    return [np.nan if value is None else value]


def check_same(found, expected):
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, (int, float)):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)
        elif not re.search(r"\d", other):
            assert one == other


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with the column of clusters and without, and a calibrator that changes nothing."""
    folder = tmp_path_factory.mktemp("clusters")
    frame = pd.DataFrame(PROBA, columns=list(NAMES)).assign(label=np.array(NAMES)[LABELS])
    frame = pd.concat([frame, FURTHER], axis=1)
    frame.to_csv(folder / "without.csv", index=False)
    frame.assign(patient=PATIENT).to_csv(folder / "rows.csv", index=False)
    unchanged = calib.TemperatureScaling().fit(PROBA, LABELS)
    unchanged.temperature_ = 1.0
    calib.save(unchanged, folder / "unchanged.json", class_names=NAMES)
    return folder


@pytest.fixture
def printed(folder, tmp_path, capsys):
    def run(command, name="rows.csv", *further):
        words, numbers, _ = COMMANDS[command]
        file, out = folder / name, tmp_path / "out"
        words = [{"FILE": file, "OUT": out}.get(word, word) for word in words]
        state = [tmp_path / f"{name}.json"] if command == "watch" else []
        assert main([str(word) for word in (command, *state, file, *words, *further, "--json")]) in (0, 1)
        data = json.loads(capsys.readouterr().out)
        return numbers(out.read_text(encoding="utf-8") if command == "report" else data)

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_has_the_numbers_of_labelled_predictions(command, printed):
    check_same(printed(command), COMMANDS[command][2](ROWS))


@pytest.mark.parametrize("command", CALIBRATED)
def test_a_calibrator_that_changes_nothing_changes_no_number(command, printed, folder):
    check_same(printed(command, "rows.csv", "--calibrator", folder / "unchanged.json"), printed(command))


@pytest.mark.parametrize("command", COMMANDS)
def test_without_clusters_numbers_are_others(command, printed):
    without = printed(command, "without.csv")
    assert flat(without) != flat(printed(command))
    check_same(without, COMMANDS[command][2](ROWS.with_cluster(None)))


def test_a_report_carries_clusters_through_a_calibrator(folder):
    about = ReportInput(ROWS, {"TS": calib.load(folder / "unchanged.json")}, n_resamples=20)
    base, after = (
        metric_intervals(evidence, entry.metrics)
        for evidence, entry in zip(about.methods.values(), about.board.entries, strict=True)
    )
    check_same(after, base)
    assert {evidence.n_clusters for evidence in about.methods.values()} == {N_CLUSTERS}
