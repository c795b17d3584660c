"""The command line, run in process: numbers, files, exit codes and one-sentence errors."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calib
import calib.cli.commands
import calib.files.findings.examination
import calib.files.readers.reading
from calib import (
    LabelShiftCorrection,
    MulticlassToBinary,
    Predictions,
    TemperatureScaling,
    decide,
    ece,
    load,
    read_predictions,
    save,
)
from calib.answers import choose_actions
from calib.calibrators.catalogue import METHODS, make_calibrator, name_of
from calib.cli.options import metrics as metrics_options
from calib.cli.parser import main
from calib.stats.measures import MEASURES
from tests.exact import read_csv

NAMES = ("cat", "dog", "=cow()")


@pytest.fixture
def table(tmp_path) -> Path:
    """400 labelled rows of three classes as CSV."""
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(3), 400)
    frame = pd.DataFrame(proba, columns=list(NAMES))
    frame["label"] = np.array(NAMES, dtype=object)[random.integers(0, 3, 400)]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


@pytest.fixture
def reference(shared_data) -> str:
    return str(shared_data / "cifar10_resnet50.npz")


def run(capsys, *arguments) -> tuple[int, dict, str]:
    """Exit code, JSON output and stderr of one command."""
    code = main([*map(str, arguments), "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else {}, printed.err


def test_metrics_of_the_reference_file(capsys, reference):
    """The design's reference row, Base."""
    code, data, err = run(capsys, "metrics", reference)
    (base,) = data["methods"]
    assert (code, err) == (0, "")
    assert (data["n_samples"], data["n_classes"]) == (10_000, 10)
    assert (round(base["tl_ece"], 3), round(base["tl_mce_bin"], 3)) == (0.022, 0.298)
    assert (round(base["cw_ece"] * 100, 2), round(base["accuracy"], 3)) == (0.42, 0.95)
    # Noise floors of the design: TL-ECE 0.0120 (95 % quantile 0.0136), conf-ECE 0.0039 (0.0056).
    assert base["noise"]["top-label"]["perfect_mean"] == pytest.approx(0.0120, abs=2e-4)
    assert base["noise"]["top-label"]["perfect_q95"] == pytest.approx(0.0136, abs=2e-4)
    assert base["noise"]["confidence"]["perfect_mean"] == pytest.approx(0.0039, abs=2e-4)
    assert base["noise"]["confidence"]["perfect_q95"] == pytest.approx(0.0056, abs=3e-4)
    found = base["without_bins"]
    assert found["kuiper"]["p_value"] == pytest.approx(0.001)
    assert found["slope"]["slope"] == pytest.approx(0.993, abs=5e-4)
    assert found["slope"]["intercept"] == pytest.approx(-0.453, abs=5e-4)


def test_decide_gives_the_rule_of_the_library(capsys, reference):
    rows = read_predictions(reference, split="evaluation")
    rule = decide(rows.labels, rows, accuracy=0.98, by="class")
    code, data, _ = run(capsys, "decide", reference, "--accuracy", 0.98, "--by", "class")
    assert code == 0
    assert list(data["thresholds"].values()) == [t if np.isfinite(t) else None for t in rule.thresholds]
    assert data["sentence"] == rule.sentence
    assert (data["n_accepted"], data["n_wrong"]) == (rule.effect.n_accepted, rule.effect.n_wrong)
    assert main(["decide", reference, "--cost", "20"]) == 0
    assert "all classes" in capsys.readouterr().out


def test_decide_has_a_threshold_for_each_value_of_a_column(capsys, table):
    site = np.where(np.arange(400) % 3, "north", "south")
    pd.read_csv(table).assign(site=site).to_csv(table, index=False)
    code, data, _ = run(capsys, "decide", table, "--accuracy", 0.2, "--by", "site", "--promise", "each")
    rule = decide(read_predictions(table), accuracy=0.2, by=site, promise="each")
    thresholds = [found if np.isfinite(found) else None for found in rule.thresholds]
    assert (code, data["thresholds"]) == (0, dict(zip(rule.groups, thresholds, strict=True)))
    assert data["guarantee"] == rule.guarantee
    assert main(["decide", str(table), "--accuracy", "0.2", "--by", "sites"]) == 2


def test_decide_takes_a_table_of_costs(capsys, reference, tmp_path):
    rows = read_predictions(reference, split="evaluation")
    names = rows.class_names
    costs = 3.0 * (1.0 - np.eye(len(names)))
    lines = [f"{name},{','.join(map(str, line))}" for name, line in zip(names, costs, strict=True)]
    file = tmp_path / "costs.csv"
    file.write_text("\n".join([f"class,{','.join(names)}", *reversed(lines)]))
    found = choose_actions(rows.labels, rows, costs, actions=names)
    code, data, _ = run(capsys, "decide", reference, "--costs", file)
    assert (code, data["cost"], data["sentence"]) == (0, found.cost, found.sentence)
    assert data["rows"][names[1]][names[1]] == found.count[1, 1]
    file.write_text("class,leave\nanother,1\n")
    assert main(["decide", reference, "--costs", str(file)]) == 2
    assert "must have a line for each class" in capsys.readouterr().err


def test_decide_takes_an_amount_of_each_row_and_hands_out_an_event_rule(capsys, tmp_path):
    random = np.random.default_rng(0)
    p, amount = random.random(900), random.uniform(1.0, 50.0, 900).round(2)
    frame = pd.DataFrame({"p(fraud)": p, "label": np.where(random.random(900) < p, "fraud", "honest")})
    file, rule = tmp_path / "rows.csv", tmp_path / "rule.json"
    frame.assign(amount=amount).to_csv(file, index=False)
    costs = np.full((900, 2, 2), 5.0)
    costs[:, 0, 0], costs[:, 1, 0] = 0.0, amount
    rows = calib.read(file)
    code, data, _ = run(capsys, "decide", file, "--cost-column", "amount", "--action-cost", 5)
    assert (code, data["cost"]) == (0, choose_actions(rows, costs=costs).cost)
    np.testing.assert_allclose(data["thresholds"], [f(5.0 / amount) for f in (np.min, np.median, np.max)])
    code, data, _ = run(capsys, "decide", file, "--precision", 0.7, "-o", rule)
    assert code == 0
    assert run(capsys, "apply", rule, file, "-o", tmp_path / "out.csv")[0] == 0
    assert pd.read_csv(tmp_path / "out.csv")["act"].sum() == (p >= data["threshold"]).sum()
    assert main(["decide", str(file), "--cost-column", "label"]) == 2
    assert main(["decide", str(file), "--accuracy", "0.9", "-o", str(rule)]) == 2


def test_shares_that_the_scores_contradict_are_refused_or_named(capsys, tmp_path):
    """Scores refer to equal shares: the correction brings their mean to the target, other shares do not."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=8_000), random.random(8_000) < 0.05
    score = 1.0 / (1.0 + np.exp(-(2.0 * (x + 2.0 * y) - 2.0)))  # of two normal classes, at equal shares
    file, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    pd.DataFrame({"p(ill)": score, "label": np.where(y, "ill", "well")}).to_csv(file, index=False)

    def answer(training: float, target: float) -> tuple[int, str]:
        shares = [f"--training-shares=ill={training}", f"--target-shares=ill={target}"]
        code, _, err = run(capsys, "apply", file, *shares, "-o", out)
        return code, err

    assert answer(0.5, 0.05) == (0, "")
    assert pd.read_csv(out)["p(ill)"].mean() == pytest.approx(0.05, abs=0.006)
    for training, target in ((0.02, 0.05), (0.5, 0.3)):
        code, err = answer(training, target)
        assert (code, "contradict" in err) == (2, True)
    for wrong in ("0,1", "0,05", "0.9,0.05", "1", "nan", "0.9,0.05,0.05"):
        assert (
            main(["apply", str(file), "--training-shares=0.5", f"--target-shares={wrong}", "-o", str(out)])
            == 2
        )
    by_name = pd.read_csv(out)
    for plain in ("0.05", "0.95,0.05"):
        assert (
            main(["apply", str(file), "--training-shares=0.5", f"--target-shares={plain}", "-o", str(out)])
            == 0
        )
        pd.testing.assert_frame_equal(pd.read_csv(out), by_name)
    assert (
        main(["apply", str(file), "--training-shares=ill=0.35", "--target-shares=ill=0.05", "-o", str(out)])
        == 0
    )
    assert "warning: corrected from 0.35" in capsys.readouterr().out


def test_open_says_what_a_project_holds(capsys, table, tmp_path):
    rows = read_predictions(table)
    fitted = {"TS": TemperatureScaling().fit(rows.proba, rows.labels)}
    project = calib.Project("rows.csv", rows, calibrators=fitted, notes="one\ntwo")
    project.save(tmp_path / "rows.calib")
    code, data, err = run(capsys, "open", tmp_path / "rows.calib")
    assert (code, err) == (0, "")
    assert {"what": "calibrator", "holds": "TS"} in data["holds"]
    assert main(["open", str(tmp_path / "rows.calib")]) == 0
    assert "evaluation rows   400" in capsys.readouterr().out
    code, data, err = run(capsys, "open", table)
    assert code == 2
    assert "project" in err


def test_noise_floor_can_be_left_out(capsys, table):
    _, data, _ = run(capsys, "metrics", table, "--resamples", 0)
    assert data["methods"][0]["noise"] == {}
    assert data["methods"][0]["without_bins"] == {}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], {"tl_ece": 0.019, "tl_mce_bin": 0.082}),
        (["--notion", "class-wise"], {"cw_ece": 0.0035}),
        (
            ["--notion", "class-wise", "--normalize"],
            {"tl_ece": 0.023, "tl_mce_bin": 0.325, "cw_ece": 0.0052, "accuracy": 0.88},
        ),
    ],
)
def test_calibrators_of_the_reference_file(capsys, reference, tmp_path, options, wanted):
    """The design's reference row: TL-HB, CW-HB and N-HB, B = 15."""
    out = tmp_path / "cal.json"
    _, fitted, _ = run(capsys, "fit", reference, "--n-bins", 15, *options, "-o", out)
    assert (fitted["n_calibration"], fitted["n_evaluation"]) == (5_000, 10_000)
    code, data, _ = run(capsys, "metrics", reference, "--calibrator", out)
    assert code == 0
    assert {name: data["methods"][1][name] for name in fitted["methods"][1]} == fitted["methods"][1]
    for name, value in wanted.items():
        digits = len(str(value)) - 2
        assert round(data["methods"][1][name], digits) == value


def test_one_set_is_divided_with_the_seed(capsys, table, tmp_path):
    _, half, _ = run(capsys, "fit", table, "--points-per-bin", 20, "-o", tmp_path / "a.json")
    _, same, _ = run(capsys, "fit", table, "--points-per-bin", 20, "-o", tmp_path / "b.json")
    _, other, _ = run(capsys, "fit", table, "--points-per-bin", 20, "--seed", 1, "-o", tmp_path / "b.json")
    _, whole, _ = run(capsys, "fit", table, "--split", 1, "-o", tmp_path / "c.json")
    assert (half["n_calibration"], half["n_evaluation"]) == (200, 200)
    assert half["methods"] == same["methods"] != other["methods"]
    assert (whole["n_calibration"], whole["methods"]) == (400, [])
    assert load(tmp_path / "c.json").class_names_ == NAMES
    main(["metrics", str(table), "--calibrator", str(tmp_path / "c.json")])
    assert "warning: all 400 rows were used to fit" in capsys.readouterr().out


def test_rows_left_by_fit_can_be_assessed_again(capsys, table, reference, tmp_path):
    cal = tmp_path / "cal.json"
    _, fitted, _ = run(capsys, "fit", table, "--points-per-bin", 20, "--split", 0.4, "--seed", 3, "-o", cal)
    again = ["metrics", table, "--calibrator", cal, "--split", 0.4, "--seed", 3, "--resamples", 0]
    _, data, _ = run(capsys, *again)
    assert data["n_samples"] == 240
    for left, right in zip(data["methods"], fitted["methods"], strict=True):
        assert left["tl_ece"] == right["tl_ece"]
    assert "did not use" in " ".join(metrics_options.__doc__.split())
    code, _, err = run(capsys, "metrics", reference, "--split", 0.5)
    assert (code, "names its calibration rows" in err) == (2, True)
    code, _, err = run(capsys, "gate", table, "--max", "tl_ece=1", "--split", 1)
    assert (code, "leaves no rows" in err) == (2, True)


def test_apply_counts_the_classes_that_change(capsys, table, tmp_path):
    """Class-wise calibration changes predicted classes; scalar notions never do, completed vectors may."""
    for options in (["--notion", "class-wise"], ["--complete"], []):
        run(capsys, "fit", table, "--points-per-bin", 20, *options, "-o", tmp_path / "cal.json")
        _, data, _ = run(capsys, "apply", tmp_path / "cal.json", table, "-o", tmp_path / "out.csv")
        applied = read_csv(tmp_path / "out.csv")
        if options:
            assert data["n_class_changed"] == (applied["announced"] != applied["predicted"]).sum() > 0
        else:
            assert data["n_class_changed"] == 0


def test_fit_and_library_agree(capsys, table, tmp_path):
    run(capsys, "fit", table, "--split", 1, "--points-per-bin", 30, "-o", tmp_path / "cal.json")
    frame = read_csv(table)
    proba, y = frame[list(NAMES)].to_numpy(), frame["label"].map(NAMES.index).to_numpy()
    direct = make_calibrator(points_per_bin=30, random_state=0).fit(proba, y)
    _, data, _ = run(capsys, "metrics", table, "--calibrator", tmp_path / "cal.json")
    assert data["methods"][0]["tl_ece"] == pytest.approx(ece(y, proba), rel=1e-12)
    assert data["methods"][1]["tl_ece"] == ece(y, direct.predict_top(proba), strategy="discrete")


@pytest.mark.parametrize(("points_per_bin", "effect"), [(400, "worse"), (None, "no clear change")])
def test_fit_says_when_its_calibrator_is_worse_than_the_scores(capsys, tmp_path, points_per_bin, effect):
    random = np.random.default_rng(0)
    score = expit(3.0 * random.standard_normal(1600))
    rows = pd.DataFrame({"score": score, "label": (random.random(1600) < score).astype(int)})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    few_bins = ("--points-per-bin", points_per_bin) if points_per_bin else ("--method", "platt")
    _, data, _ = run(capsys, "fit", tmp_path / "rows.csv", *few_bins, "-o", tmp_path / "cal.json")
    assert data["effect"] == effect


@pytest.mark.parametrize("at_scale", [False, True])
def test_fit_says_what_the_calibrator_promises(capsys, table, tmp_path, at_scale):
    options = [*(() if at_scale else ("--split", "1")), "--points-per-bin", "20", "-o", tmp_path / "cal.json"]
    if at_scale:
        (tmp_path / "folder").mkdir()
        read_csv(table).to_parquet(tmp_path / "folder" / "rows.parquet")
        table = tmp_path / "folder"
    code, data, _ = run(capsys, "fit", table, *options)
    card = calib.guarantee_card(load(tmp_path / "cal.json"))
    assert (code, data["error_bound"], data["uncovered_bound"]) == (0, card.error_bound, 0.0)
    assert 0.0 < card.error_bound < 1.0
    assert main(["fit", str(table), *map(str, options)]) == 0
    assert card.error_words() in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fallback", "outcome"),
    [("identity", "left uncalibrated"), ("pooled", "calibrated by the calibrator of all classes")],
)
def test_fit_says_what_became_of_classes_with_too_few_rows(capsys, table, tmp_path, fallback, outcome):
    arguments = ["--split", "1", "--points-per-bin", "300", "--fallback", fallback]
    assert main(["fit", str(table), *arguments, "-o", str(tmp_path / "cal.json")]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "fewer than" in line]
    assert line.startswith(f"{outcome}: fewer than 300 calibration rows for cat (")


def test_a_second_file_can_serve_for_evaluation(capsys, table, tmp_path):
    frame = read_csv(table)
    other = frame[[NAMES[2], NAMES[0], NAMES[1], "label"]].iloc[:100]
    other.to_parquet(tmp_path / "other.parquet")
    code, data, _ = run(
        capsys, "fit", table, "--evaluate", tmp_path / "other.parquet", "-o", tmp_path / "cal.json"
    )
    assert (code, data["n_calibration"], data["n_evaluation"]) == (0, 400, 100)
    proba, y = frame[list(NAMES)].to_numpy()[:100], frame["label"].map(NAMES.index).to_numpy()[:100]
    assert data["methods"][0]["tl_ece"] == pytest.approx(ece(y, proba), rel=1e-12)


def test_labels_from_another_file(capsys, table, tmp_path):
    frame = read_csv(table)
    np.save(tmp_path / "p.npy", frame[list(NAMES)].to_numpy())
    np.save(tmp_path / "y.npy", frame["label"].map(NAMES.index).to_numpy())
    _, item, _ = run(capsys, "metrics", table)
    _, two, _ = run(capsys, "metrics", tmp_path / "p.npy", "--labels", tmp_path / "y.npy")
    assert item["methods"] == two["methods"]
    code, _, err = run(capsys, "metrics", tmp_path / "p.npy")
    assert code == 2
    assert "no true labels" in err


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_applies_and_has_a_name(capsys, table, tmp_path, method):
    out = tmp_path / "cal.json"
    code, data, err = run(capsys, "fit", table, "--method", method, "-o", out)
    assert (code, err) == (0, "")
    assert data["method"] == name_of(load(out))
    assert len(data["methods"]) == 2
    assert run(capsys, "apply", out, table, "-o", tmp_path / "out.csv")[0] == 0
    applied = read_csv(tmp_path / "out.csv")
    assert applied["calibrated"].between(0, 1).all()


@pytest.mark.parametrize(("option", "by"), [("site", "group"), ("class,site", ("class", "group"))])
def test_fit_by_a_column_is_that_of_the_library(capsys, table, tmp_path, option, by):
    frame = read_csv(table)
    frame["site"] = np.where(np.arange(len(frame)) % 3 == 0, "north", "south")
    frame["age"] = np.arange(len(frame)) % 50
    frame.to_csv(tmp_path / "sites.csv", index=False)
    command = ["fit", tmp_path / "sites.csv", "--split", 1, "-o", tmp_path / "cal.json", "--by"]
    assert run(capsys, *command, option)[0] == 0
    rows = calib.read(tmp_path / "sites.csv")
    wanted = MulticlassToBinary(by=by).fit(rows.proba, rows.labels, groups=frame["site"])
    expected = wanted.predict_top(rows.proba, groups=frame["site"]).confidence
    fitted = load(tmp_path / "cal.json")
    np.testing.assert_array_equal(fitted.predict_top(rows.proba, groups=frame["site"]).confidence, expected)
    assert (
        run(capsys, "apply", tmp_path / "cal.json", tmp_path / "sites.csv", "-o", tmp_path / "out.csv")[0]
        == 0
    )
    np.testing.assert_array_equal(read_csv(tmp_path / "out.csv")["calibrated"], expected)
    for wrong in ("nothing", "age"):
        code, _, said = run(capsys, *command, wrong)
        assert code == 2
        assert wrong in said


def test_fit_chooses_a_ridge_and_says_which(capsys, table, tmp_path):
    out = tmp_path / "cal.json"
    code, data, err = run(capsys, "fit", table, "--method", "dirichlet", "--l2", "cv", "-o", out)
    assert (code, err, data["method"]) == (0, "", "DS (ridge by CV)")
    main(["fit", str(table), "--method", "dirichlet", "--off-diagonal", "cv", "-o", str(out)])
    said = capsys.readouterr().out
    assert f": {load(out).ridge_:.3g}\n" in said.partition("chosen by cross-validation")[2]
    assert "nats per row of the optimum (gradient norm" in said
    main(["fit", str(table), "--method", "vector", "--l2", "0.25", "-o", str(out)])
    assert load(out).l2 == 0.25
    with pytest.raises(SystemExit):
        main(["fit", str(table), "--method", "vector", "--l2", "some", "-o", str(out)])
    assert "expected a number or \"cv\"; got 'some'" in capsys.readouterr().err
    code, _, err = run(capsys, "fit", table, "--method", "temperature", "--l2", "cv", "-o", out)
    assert (code, "l2 does not belong to method 'temperature'" in err) == (2, True)


def test_apply_writes_what_the_calibrator_says(capsys, table, tmp_path):
    frame = read_csv(table)
    proba, y = frame[list(NAMES)].to_numpy(), frame["label"].map(NAMES.index).to_numpy()
    calibrator = MulticlassToBinary().fit(proba, y)
    save(calibrator, tmp_path / "cal.json", class_names=NAMES)
    shuffled = frame[[NAMES[1], NAMES[2], NAMES[0]]]  # no labels, columns in another order
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    for name, read in (("out.csv", read_csv), ("out.parquet", pd.read_parquet)):
        code, data, _ = run(
            capsys, "apply", tmp_path / "cal.json", tmp_path / "new.csv", "-o", tmp_path / name
        )
        assert (code, data["n_samples"], data["n_class_changed"]) == (0, 400, 0)
        applied = read(tmp_path / name)
        top = calibrator.predict_top(proba)
        assert np.array_equal(applied["calibrated"], top.confidence)
        names = ["'=cow()" if name.endswith("csv") and n == "=cow()" else n for n in NAMES]
        assert applied["predicted"].tolist() == [names[code] for code in top.label]


def test_bad_input_gives_one_sentence_and_exit_code_2(capsys, table, tmp_path):
    (tmp_path / "text.csv").write_text("hello world\n")
    (tmp_path / "cal.json").write_text('{"format": "calib-calibrator", "version": 1}')
    (tmp_path / "short.npz").write_bytes(b"PK\x03\x04truncated")
    cases = [
        ["metrics", tmp_path / "nothing.csv"],
        ["metrics", tmp_path / "text.csv"],
        ["metrics", tmp_path / "short.npz"],
        ["metrics", tmp_path],
        ["metrics", table, "--bins", 0],
        ["metrics", table, "--time-limit", 0],
        ["check", table, "--time-limit", -1],
        ["metrics", table, "--calibrator", tmp_path / "cal.json"],
        ["metrics", table, "--calibrator", tmp_path / "nothing.json"],
        ["fit", table, "--method", "temperature", "--n-bins", 3, "-o", tmp_path / "x.json"],
        ["fit", table, "--notion", "top-label", "--normalize", "-o", tmp_path / "x.json"],
        ["fit", table, "-o", tmp_path / "missing" / "x.json"],
        ["apply", tmp_path / "cal.json", table, "-o", tmp_path / "out.csv"],
    ]
    for arguments in cases:
        code, data, err = run(capsys, *arguments)
        sentence = err.removeprefix(f"calib {arguments[0]}: ").rstrip("\n")
        assert data == {"error": {"kind": "input", "message": sentence, "exit_code": 2}}, arguments
        assert code == 2
        assert err.startswith(f"calib {arguments[0]}: ")
        assert err.count("\n") == 1
    assert not (tmp_path / "x.json").exists()


def test_errors_of_usage_are_json_too(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["metrics", "x.csv", "--bins", "9" * 5_000, "--json"])
    printed = capsys.readouterr()
    error = json.loads(printed.out)["error"]
    assert (stop.value.code, error["kind"], error["exit_code"]) == (2, "usage", 2)
    assert error["message"].startswith("error: argument --bins: invalid int value: '9999")
    assert len(error["message"]) <= 2_000
    assert error["message"] in printed.err


@pytest.mark.parametrize(
    "option",
    [
        "--seed -1",
        "--seed 4294967296",
        "--resamples -5",
        "--resamples 1000000000000",
        "--bins 0",
        "--bins 100000000000",
        "--bins -3",
    ],
)
def test_absurd_numbers_are_refused_in_a_sentence(capsys, table, option):
    code, data, err = run(capsys, "metrics", table, *option.split())
    assert (code, data["error"]["kind"]) == (2, "input")
    assert f"{option.split()[0]} must be a whole number from " in err
    assert f"got {int(option.split()[1]):,}" in err


def test_decide_uses_the_rows_that_the_same_split_leaves(capsys, table):
    _, whole, _ = run(capsys, "decide", table, "--accuracy", 0.3)
    rows = read_predictions(table)
    for seed in (1, 2):
        _, data, _ = run(capsys, "decide", table, "--accuracy", 0.3, "--split", 0.5, "--seed", seed)
        left = rows.split(0.5, seed)[1]
        outcome = decide(left.labels, left, accuracy=0.3).effect
        assert (data["n_samples"], data["n_wrong"]) == (outcome.n_samples, outcome.n_wrong)
        assert data["n_samples"] < whole["n_samples"]


@pytest.mark.parametrize("option", ["--points-per-bin", "--n-bins", "--top-k"])
def test_absurd_sizes_of_a_calibrator_are_refused(capsys, table, tmp_path, option):
    for size in (0, -1, 10**30):
        code, _, err = run(capsys, "fit", table, option, size, "-o", tmp_path / "cal.json")
        assert (code, f"got {size:,}" in err) == (2, True)
    assert not (tmp_path / "cal.json").exists()


def test_a_limit_is_a_number_given_once(capsys, table):
    code, _, err = run(capsys, "gate", table, "--max", "tl_ece=0.1", "--max", "tl_ece=0.2")
    assert (code, "tl_ece is given twice, 0.1 and 0.2" in err) == (2, True)
    for text in ("tl_ece", "tl_ece=", "tl_ece=low", "=0.1x"):
        code, _, err = run(capsys, "gate", table, "--max", text)
        assert (code, "metric=number" in err) == (2, True)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ZeroDivisionError("x"), 3, "internal error: ZeroDivisionError: x. This is a fault of calib"),
        (ValueError("y" * 9_000), 3, "internal error: ValueError: yyy"),
        (MemoryError("Unable to allocate 9 TiB"), 2, "there is not enough memory for this: Unable to"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_other_errors_have_codes_of_their_own(capsys, monkeypatch, table, error, code, words):
    def fail(options):
        raise error

    monkeypatch.setattr(calib.cli.commands, "metrics", fail)
    found, data, err = run(capsys, "metrics", table)
    assert (found, data["error"]["exit_code"]) == (code, code)
    assert data["error"]["message"].startswith(words)
    assert len(data["error"]["message"]) <= 2_000
    assert ("Traceback" in err) == (code == 3)


def test_file_names_need_not_be_utf_8(capsys, table, tmp_path):
    raw = os.fsdecode(os.fsencode(tmp_path) + b"/r\xff.csv")
    try:
        table.rename(raw)
    except OSError:
        pytest.skip("the file system wants UTF-8")
    page = tmp_path / "report.html"
    code, _, err = run(capsys, "report", raw, "--resamples", 10, "-o", page)
    assert (code, err) == (0, "")
    assert "r\\udcff.csv" in page.read_text(encoding="utf-8")
    assert run(capsys, "check", raw)[1]["file"] == raw


#: An environment whose text is ASCII, which Python does not turn into UTF-8 by itself.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_ascii_locale(tmp_path):
    frame = pd.DataFrame({"d\u00f6g": [0.9, 0.2], "cat": [0.1, 0.8], "label": ["d\u00f6g", "hen"]})
    frame.to_csv(tmp_path / "names.csv", index=False)
    command = f'"{sys.executable}" -m calib'
    script = f'{command} check "{tmp_path}/names.csv"; echo $?'
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=False, env={**os.environ, **ASCII}
    )
    assert done.stderr == ""
    assert "d\\xf6g" in done.stdout
    assert done.stdout.splitlines()[-1] == "1"


@pytest.fixture
def interruptible():
    """Let processes that a test starts take Ctrl-C, also where the tests run in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_packages_are_imported_leaves_no_traceback(table):
    command = [sys.executable, "-X", "importtime", "-m", "calib", "metrics", str(table)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.rstrip().endswith(" numpy"):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == -signal.SIGINT
    assert [line for line in rest.splitlines() if not line.startswith("import time:")] == []


def test_apply_corrects_for_label_shift(capsys, table, tmp_path):
    frame = read_csv(table)
    proba, y = frame[list(NAMES)].to_numpy(), frame["label"].map(NAMES.index).to_numpy()
    calibrator = TemperatureScaling().fit(proba, y)
    save(calibrator, tmp_path / "cal.json", class_names=NAMES)
    new = frame[(y != 0) | (np.arange(len(y)) % 4 == 0)][[NAMES[1], NAMES[2], NAMES[0]]]
    new.to_csv(tmp_path / "new.csv", index=False)
    command = ["apply", tmp_path / "cal.json", tmp_path / "new.csv", "-o", tmp_path / "out.csv"]
    code, data, _ = run(capsys, *command, "--label-shift", "em", "--calibration", table)
    shift = LabelShiftCorrection().fit(calibrator.predict_proba(proba), y)
    shift = shift.adapt(calibrator.predict_proba(new[list(NAMES)].to_numpy()))
    assert code == 0
    # EM ends when no share changes by more than 1e-10: smaller shares are known to no relative accuracy
    shares = [row["estimated share"] for row in data["class_shares"]]
    np.testing.assert_allclose(shares, shift.target, atol=1e-10)
    written = read_csv(tmp_path / "out.csv").filter(like="p(").to_numpy()
    np.testing.assert_allclose(
        written, shift.correct(calibrator.predict_proba(new[list(NAMES)].to_numpy())), rtol=1e-6
    )
    given = [f"{NAMES[0]}=0.1", f"{NAMES[2]}=0.2"]  # the second class has the rest
    shares = [part for name in given for part in ("--target-shares", name)]
    trained = ["--training-shares", f"{NAMES[0]}=0.5", "--training-shares", f"{NAMES[1]}=0.25"]
    code, data, _ = run(capsys, *command, *shares, *trained, "--save", tmp_path / "corrected.json")
    assert code == 0
    assert [row["weight"] for row in data["class_shares"]] == pytest.approx([0.2, 2.8, 0.8])
    written = read_csv(tmp_path / "out.csv").filter(like="p(").to_numpy()
    weighted = calibrator.predict_proba(new[list(NAMES)].to_numpy()) * [0.2, 2.8, 0.8]
    np.testing.assert_allclose(written, weighted / weighted.sum(axis=1, keepdims=True), rtol=1e-6)
    saved = load(tmp_path / "corrected.json").predict_proba(new[list(NAMES)].to_numpy())
    np.testing.assert_allclose(saved, written, rtol=1e-6)
    plain = ["--training-shares=0.5,0.25,0.25", "--target-shares"]
    assert run(capsys, *command, *plain, "0.1,0.7,0.2")[0] == 2  # the file's order is not the calibrator's
    command[2] = table
    code, data, _ = run(capsys, *command, *plain, "0.1,0.7,0.2")
    assert code == 0
    assert [row["weight"] for row in data["class_shares"]] == pytest.approx([0.2, 2.8, 0.8])
    for wrong in ("0.3,0.7", "0.3", "0.1,0.7,0.3", "0,0.7,0.3"):
        assert run(capsys, *command, *plain, wrong)[0] == 2
    for wrong in (shares, [*shares, *trained, "--label-shift", "em"]):
        assert run(capsys, *command, *wrong)[0] == 2
    code, _, err = run(capsys, *command, "--label-shift", "em")
    assert (code, "--training-shares" in err) == (2, True)
    save(MulticlassToBinary().fit(proba, y), tmp_path / "cal.json", class_names=NAMES)
    code, _, err = run(capsys, *command, "--label-shift", "bbse", "--calibration", table)
    assert (code, "a calibrator that gives a probability for every class" in err) == (2, True)


def test_apply_refuses_other_endings_and_other_classes(capsys, table, tmp_path):
    run(capsys, "fit", table, "-o", tmp_path / "cal.json")
    code, _, err = run(capsys, "apply", tmp_path / "cal.json", table, "-o", tmp_path / "out.xlsx")
    assert (code, "must end in .csv or .parquet" in err) == (2, True)
    pd.DataFrame({"cat": [0.2], "dog": [0.3], "hen": [0.5]}).to_csv(tmp_path / "hen.csv", index=False)
    code, _, err = run(
        capsys, "apply", tmp_path / "cal.json", tmp_path / "hen.csv", "-o", tmp_path / "out.csv"
    )
    assert (code, "class 'hen' is none of the expected classes" in err) == (2, True)


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["fit", "x.csv"], ["metrics", "--bins", "many", "x"]]
)
def test_wrong_usage_exits_with_2(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: calib" in capsys.readouterr().err


COMMANDS = ["metrics", "fit", "apply", "check", "gate", "report", "app", "completion"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples_and_exit_codes(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert f"calib {command} " in out
    assert "exit codes:" in out


def test_a_reader_that_stops_early_hears_no_complaint(table):
    script = f'"{sys.executable}" -m calib metrics "{table}" --resamples 0 | true'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


def test_names_cannot_command_the_terminal(capsys, tmp_path):
    """A class name with an escape sequence is printed as text."""
    frame = pd.DataFrame({"\x1b[2Jcat": [0.9, 0.2], "dög": [0.1, 0.8], "label": ["\x1b[2Jcat", "hen"]})
    frame.to_csv(tmp_path / "names.csv", index=False)
    code = main(["check", str(tmp_path / "names.csv")])
    printed = capsys.readouterr()
    assert code == 1
    assert "hen" in printed.out
    assert "\x1b" not in printed.out + printed.err
    main(["metrics", str(tmp_path / "names.csv")])
    assert "\x1b" not in capsys.readouterr().err


def test_predictions_of_one_row_can_be_applied(capsys, table, tmp_path):
    run(capsys, "fit", table, "-o", tmp_path / "cal.json")
    item = Predictions([[0.2, 0.3, 0.5]])
    buffer = io.BytesIO()
    np.save(buffer, item.proba)
    (tmp_path / "one.npy").write_bytes(buffer.getvalue())
    code, data, _ = run(
        capsys, "apply", tmp_path / "cal.json", tmp_path / "one.npy", "-o", tmp_path / "o.csv"
    )
    assert (code, data["n_samples"]) == (0, 1)


@pytest.fixture
def percent(table) -> Path:
    """The rows of `table` in percent."""
    frame = read_csv(table)
    frame[list(NAMES)] *= 100
    frame.to_csv(table.with_name("percent.csv"), index=False)
    return table.with_name("percent.csv")


def test_check_says_what_is_wrong(capsys, percent):
    code, data, _ = run(capsys, "check", percent)
    assert code == 1
    findings = data["parts"]["evaluation"]["findings"]
    (error,) = [finding for finding in findings if finding["severity"] == "error"]
    assert (error["code"], error["fixable"]) == ("percent", True)
    assert main(["check", str(percent)]) == 1
    assert "[--fix percent]" in capsys.readouterr().out


def test_check_with_the_fix_is_content(capsys, percent):
    code, data, _ = run(capsys, "check", percent, "--fix", "percent")
    assert code == 0
    assert data["parts"]["evaluation"]["ok"]
    assert data["parts"]["evaluation"]["fixed"][0].startswith("percent: ")
    code, _, err = run(capsys, "check", percent, "--fix", "logits")
    assert (code, "there is no finding 'logits' to fix" in err) == (2, True)


def test_fixes_serve_every_command(capsys, table, percent, tmp_path):
    assert run(capsys, "metrics", percent)[0] == 2
    _, fixed, _ = run(capsys, "metrics", percent, "--fix", "percent")
    _, sound, _ = run(capsys, "metrics", table)
    assert fixed["methods"][0]["tl_ece"] == pytest.approx(sound["methods"][0]["tl_ece"], abs=1e-12)
    assert run(capsys, "fit", percent, "--fix", "percent", "-o", tmp_path / "cal.json")[0] == 0
    out = tmp_path / "out.csv"
    code, data, _ = run(capsys, "apply", tmp_path / "cal.json", percent, "--fix", "percent", "-o", out)
    assert (code, data["n_samples"]) == (0, 400)


def test_gate_keeps_breaks_and_doubts(capsys, reference):
    """TL-ECE of the reference file is 0.0222, and a perfect model of its size shows 0.012."""
    code, data, _ = run(capsys, "gate", reference, "--max", "tl_ece=0.03")
    assert (code, data["passed"], data["answer"]) == (0, True, "kept")
    code, data, _ = run(capsys, "gate", reference, "--max", "tl_ece=0.02", "--max", "conf_ece=0.5")
    assert (code, data["answer"]) == (0, "undecided")
    assert [check["answer"] for check in data["checks"]] == ["undecided", "kept"]
    assert data["sentence"].startswith("passed, as no limit is broken: TL-ECE at most 0.02 is undecided")
    code, data, _ = run(capsys, "gate", reference, "--max", "tl_ece=0.02", "--strict")
    assert (code, data["passed"]) == (1, False)
    code, data, _ = run(capsys, "gate", reference, "--max", "conf_ece=0")
    assert (code, data["answer"]) == (1, "broken")


def test_gate_of_a_tree_with_four_leaves(capsys, tmp_path):
    """Sums of both classes determine each other: their covariance has half its rank."""
    random = np.random.default_rng(0)
    leaf = np.array([0.03, 0.2, 0.55, 0.9])[random.integers(0, 4, 6_000)]
    labels = (random.random(6_000) < leaf).astype(int)
    pd.DataFrame({"p_0": 1.0 - leaf, "p_1": leaf, "label": labels}).to_csv(tmp_path / "t.csv", index=False)
    code, data, _ = run(capsys, "gate", tmp_path / "t.csv", "--max", "cw_ece=0.05")
    assert (code, data["answer"]) == (0, "kept")


def test_gate_of_a_calibrator(capsys, reference, tmp_path):
    cal = tmp_path / "cal.json"
    run(capsys, "fit", reference, "--n-bins", 15, "-o", cal)
    arguments = ["gate", reference, "--max", "tl_ece=0.02", "--min", "accuracy=0.95", "--calibrator", cal]
    assert run(capsys, *arguments)[0] == 0
    code, _, err = run(capsys, "gate", reference, "--max", "cw_ece=0.1", "--calibrator", cal)
    assert (code, "class-wise" in err) == (2, True)


def test_gate_in_a_shell_script(table):
    """The documented CI step: the exit code decides, the sentence explains."""
    script = f'"{sys.executable}" -m calib gate "{table}" --max tl_ece=0.001 --resamples 100 && echo shipped'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "shipped" not in done.stdout
    assert main(["gate", str(table), "--max", "tl_ece=0.9", "--resamples", "100"]) == 0


def test_report_is_written(capsys, table, percent, tmp_path):
    run(capsys, "fit", table, "--points-per-bin", 20, "-o", tmp_path / "cal.json")
    page = tmp_path / "report.html"
    code, data, _ = run(
        capsys, "report", percent, "--fix", "percent", "--calibrator", tmp_path / "cal.json", "-o", page
    )
    assert (code, data["calibrators"]) == (0, ["TL-HB, k = 20 (cal.json)"])
    content = page.read_text(encoding="utf-8")
    assert data["bytes"] == len(content.encode()) < 10_000_000
    assert "report" in content
    assert "--fix percent --calibrator" in content
    assert "percent: row sums 100" in content
    _, split, _ = run(
        capsys, "report", table, "--split", 0.5, "--points-per-bin", 20, "--resamples", 50, "-o", page
    )
    assert split["calibrators"] == ["TL-HB", "Conf-HB", "CW-HB", "N-HB", "TS"]
    _, bare, _ = run(capsys, "report", table, "--resamples", 50, "-o", page)
    assert bare["calibrators"] == []


def test_options_that_exclude_each_other_are_refused(capsys, table, tmp_path):
    code, _, err = run(
        capsys, "fit", table, "--n-bins", 5, "--points-per-bin", 9, "-o", tmp_path / "cal.json"
    )
    assert code == 2
    assert "--n-bins and --points-per-bin" in err
    assert not (tmp_path / "cal.json").exists()


def test_table_in_place_of_a_calibrator_is_refused_plainly(capsys, table, tmp_path):
    code, _, err = run(capsys, "apply", table, table, "-o", tmp_path / "out.csv")
    assert code == 2
    assert "not a calibrator file: it is not JSON" in err


@pytest.mark.parametrize(("scale", "options"), [(100.0, "--fix percent"), (-7.5, "--fix logits")])
def test_refusals_name_options_of_the_command_line(capsys, table, tmp_path, scale, options):
    frame = read_csv(table)
    frame[list(NAMES)] *= scale
    frame.loc[0, "cat"] += scale < 0
    frame.to_csv(tmp_path / "other.csv", index=False)
    code, _, err = run(capsys, "metrics", tmp_path / "other.csv")
    assert code == 2
    assert options in err
    assert 'scores="' not in err
    assert "calib.examine" not in err


@pytest.mark.parametrize("kind", ["top-label", "confidence", "binary", "top-k", "multilabel"])
def test_every_command_takes_what_is_no_vector(capsys, tmp_path, kind):
    """Check, metrics, fit, apply to its own output, gate, recommend and report, with nothing else said."""
    random = np.random.default_rng(0)
    h = random.uniform(0.3, 1.0, 600).round(3)
    right, code = random.random(600) < h**2, random.integers(0, 2, 600)
    frame = {
        "top-label": {
            "predicted": code,
            "confidence": h,
            "label": np.where(right, code, 2),
            "id": range(600),
        },
        "confidence": {"confidence": h, "correct": right},
        "binary": {"p(yes)": h, "label": np.where(right, "yes", "no")},
        "top-k": {
            **{"label_1": code, "score_1": h, "label_2": 1 - code, "score_2": (1 - h) / 3},
            "true": np.where(right, code, 2),
        },
        "multilabel": {
            **{"p(cat)": h, "p(dog)": h[::-1]},
            **{"true(cat)": right.astype(int), "true(dog)": right[::-1].astype(int)},
        },
    }[kind]
    file, out, applied = tmp_path / "rows.csv", tmp_path / "cal.json", tmp_path / "applied.csv"
    pd.DataFrame(frame).to_csv(file, index=False)
    key = {"binary": "ece", "multilabel": "cw_ece"}.get(kind, "conf_ece")

    def asked(*words):
        code, data, err = run(capsys, *words, "--json")
        assert err == ""
        return code, data

    code_, data = asked("check", file)
    assert (code_, data["parts"]["evaluation"]["kind"]) == (0, kind) if "parts" in data else code_ == 0
    data = asked("metrics", file, "--resamples", 20)[1]
    expected = ece(right, h, notion="confidence")
    assert (data["kind"], data["methods"][0][key]) == (kind, pytest.approx(expected))
    fitted = asked("fit", file, "--method", "isotonic", "-o", out, "--split", 0.5)[1]
    before, after = (item["top_brier"] or item["brier"] for item in fitted["methods"])
    assert after < before
    columns = asked("apply", out, file, "-o", applied)[1]["columns"]
    assert {"binary": "p(yes)", "multilabel": "p(cat)"}.get(kind, "calibrated") in columns
    again = asked("metrics", applied, "--resamples", 0)[1]
    assert again["kind"] == ("top-label" if kind == "top-k" else kind)
    assert again["methods"][0][key] < expected / 2
    assert asked("metrics", file, "--calibrator", out, "--split", 0.5, "--resamples", 0)[0] == 0
    assert asked("gate", file, "--max", f"{key}=0.01", "--resamples", 0)[1]["answer"] == "broken"
    assert asked("recommend", file)[1]["name"] != "none"
    page = tmp_path / "report.html"
    assert asked("report", file, "--split", 0.5, "-o", page, "--resamples", 20)[0] == 0
    assert page.stat().st_size > 100_000
    code_, _, err = run(capsys, "fit", file, "--method", "temperature", "-o", out)
    assert code_ == 2
    assert "every class" in err


def test_evaluation_file_is_read_like_the_other(capsys, percent, tmp_path):
    out = tmp_path / "cal.json"
    code, data, err = run(capsys, "fit", percent, "--fix", "percent", "--evaluate", percent, "-o", out)
    assert (code, err) == (0, "")
    assert load(out).fitted_on_.log[0].startswith("evaluation rows: percent: ")


@pytest.mark.parametrize(
    ("command", "examinations"), [("fit --fix percent", 2), ("report", 1), ("report --fix percent", 2)]
)
def test_file_is_read_once_and_examined_once(
    capsys, monkeypatch, table, percent, tmp_path, command, examinations
):
    """A file is examined as read and, if there are fixes, once more after them."""
    file = percent if "--fix" in command else table
    labels = table.with_name("labels.csv")
    read_csv(file)[["label"]].to_csv(labels, index=False)
    counts = {"open_source": [], "_examine": []}

    def count(module, name):
        inner = getattr(module, name)

        def counted(*arguments, **options):
            counts[name].append(arguments[0])
            return inner(*arguments, **options)

        monkeypatch.setattr(module, name, counted)

    count(calib.files.readers.reading, "open_source")
    count(calib.files.findings.examination, "_examine")
    rest = ["--labels", labels, "-o", tmp_path / "out", *(["--resamples", 20] if "report" in command else [])]
    code, _, err = run(capsys, command.split()[0], file, *command.split()[1:], *rest)
    assert (code, err) == (0, "")
    assert sorted(counts["open_source"]) == sorted([str(file), str(labels)])
    assert len(counts["_examine"]) == examinations


def test_recommend_writes_the_calibrator_it_names(capsys, tmp_path):
    """Scores that are far too sure: some calibrator helps, and the file holds it."""
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(3), 600)
    labels = (random.random((600, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    sure = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    np.savez(tmp_path / "rows.npz", proba=sure, labels=labels)
    out = tmp_path / "cal.json"
    code, data, err = run(capsys, "recommend", tmp_path / "rows.npz", "--split", 1, "-o", out)
    assert (code, err) == (0, "")
    best = calib.recommend(sure, labels)
    assert (data["name"], data["reason"]) == (best.name, best.reason)
    assert data["name"] != "none"
    assert load(out).fitted_on_.choices == len(best.tried)
    assert len(best.tried) == len(data["candidates"]) - 1 + len(data["ruled_out"])
    found, wanted = (calib.calibrated_scores(each, sure) for each in (load(out), best.calibrator))
    np.testing.assert_array_equal(found.proba, wanted.proba)
    assert main(["recommend", str(tmp_path / "rows.npz"), "--split", "1"]) == 0
    assert best.reason in capsys.readouterr().out


def test_every_number_has_its_interval(capsys, table, tmp_path):
    run(capsys, "fit", table, "--method", "temperature", "-o", tmp_path / "ts.json")
    _, data, _ = run(capsys, "metrics", table, "--calibrator", tmp_path / "ts.json", "--resamples", 0)
    rows = calib.read_predictions(table)
    base, scaled = data["methods"]
    interval = calib.error_interval(rows.labels, rows)
    assert base["intervals"]["tl_ece"] == pytest.approx([interval.lower, interval.upper], rel=1e-12)
    applying = {key for key in MEASURES if base.get(key) is not None}
    no_vectors = {"ece", "mce", "auc"}  # and conf-MCE has a limit, but no line in the table
    assert set(base["intervals"]) == applying == set(MEASURES) - no_vectors - {"conf_mce"}
    assert base["improvement"] == {}
    vectors = load(tmp_path / "ts.json").predict_proba(rows)
    change = calib.paired_interval(rows.labels, rows, vectors, metric="brier")
    wanted = {"value": -change.difference, "lower": -change.upper, "upper": -change.lower}
    assert scaled["improvement"]["brier"] == pytest.approx(wanted, abs=1e-9)
    main(["metrics", str(table), "--calibrator", str(tmp_path / "ts.json"), "--resamples", "0"])
    printed = capsys.readouterr().out
    assert f"{base['tl_ece']:.4f} ({interval.lower:.4f} to {interval.upper:.4f})" in printed


def test_a_command_whose_output_is_optional_needs_none(capsys, table):
    code, data, err = run(capsys, "recommend", table)
    assert (code, err) == (0, ""), data


def test_apply_counts_predictions_that_change_sides(tmp_path, capsys):
    """P(Y = 1) has no announced class: the side of 1/2 is the decision."""
    random = np.random.default_rng(0)
    score = random.uniform(0.3, 0.7, 400).round(3)
    file = tmp_path / "p.csv"
    pd.DataFrame({"score": score, "label": (random.random(400) < score - 0.2).astype(int)}).to_csv(
        file, index=False
    )
    cal, out = tmp_path / "c.json", tmp_path / "o.csv"
    assert main(["fit", str(file), "--split", "1", "-o", str(cal)]) == 0
    capsys.readouterr()
    assert main(["apply", str(cal), str(file), "-o", str(out), "--json"]) == 0
    table = pd.read_csv(out)
    changed = int(((table["score"] > 0.5) != (table["p(1)"] > 0.5)).sum())
    assert json.loads(capsys.readouterr().out)["n_class_changed"] == changed > 0


def test_gate_takes_the_names_that_metrics_prints(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("confidence,correct\n" + "0.8,1\n0.8,1\n0.8,0\n" * 100)
    assert main(["gate", str(file), "--max", "conf-ECE=0.5", "--resamples", "0"]) == 0


def test_votes_about_rows_are_no_clusters_of_rows(tmp_path, capsys):
    """60 games of which 20 are ties: 80 votes; nothing says that they are worth other rows."""
    table = pd.DataFrame({"probability": np.linspace(0.2, 0.8, 60), "outcome": np.tile([0.0, 0.5, 1.0], 20)})
    table.to_csv(tmp_path / "games.csv", index=False)
    main(["metrics", str(tmp_path / "games.csv"), "--votes", "outcome"])
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("80 votes, P(Y = 1)")
    assert "80 votes about 60 rows" in first
    assert "worth" not in first
