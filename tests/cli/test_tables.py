"""`calib tables`: several files, each a model, in one table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli.parser import main
from tests.exact import read_csv

N, NAMES = 300, np.array(["ant", "bee", "cow"])


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(3)
    chance = random.dirichlet(np.ones(3), N)
    labels = np.array([random.choice(3, p=row) for row in chance])
    written = []
    for name, power, order in (("good", 1.0, [0, 1, 2]), ("sure", 4.0, [2, 0, 1])):
        proba = chance**power / (chance**power).sum(axis=1, keepdims=True)
        frame = pd.DataFrame(proba[:, order], columns=NAMES[order]).assign(label=NAMES[labels], id=range(N))
        frame = frame if name == "good" else frame.sample(frac=1.0, random_state=0)
        written.append(tmp_path / f"{name}.csv")
        frame.to_csv(written[-1], index=False)
    return written


def run(capsys, *words, command="tables") -> tuple[int, str, str]:
    code = main([str(word) for word in (command, *words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_json_holds_the_numbers_of_the_library(capsys, files):
    code, out, _ = run(capsys, *files, "--methods", "TS,CW-HB", "--bins", 5, "--resamples", 20, "--json")
    data = json.loads(out)
    rows = {file.stem: calib.read(file) for file in files}
    table = calib.compare_models(rows, ["TS", "CW-HB"], n_bins=5, n_resamples=20)
    assert code == 0
    assert (data["models"], data["methods"]) == (["good", "sure"], ["Base", "TS", "CW-HB"])
    assert (data["n_calibration"], data["n_evaluation"]) == (table.n_calibration, table.n_evaluation)
    found = pd.DataFrame(data["numbers"])
    np.testing.assert_allclose(found["value"].astype(float), table.frame()["value"])
    assert found["mark"].tolist() == table.frame()["mark"].tolist()


@pytest.mark.parametrize("ending", ["csv", "md", "tex"])
def test_output_is_the_layout_by_its_ending(capsys, files, tmp_path, ending):
    out = tmp_path / f"table.{ending}"
    options = ("--methods", "TS", "--resamples", 20, "--seed", 2, "--split", 0.4)
    code, text, _ = run(capsys, *files, *options, "-o", out)
    rows = {file.stem: calib.read(file) for file in files}
    table = calib.compare_models(rows, ["TS"], n_resamples=20, calibration=0.4, random_state=2)
    assert code == 0
    assert table.words() in text
    if ending == "csv":
        assert pd.read_csv(out)["Base"].tolist() == pytest.approx(table.wide()["Base"].tolist())
    else:
        assert out.read_text() == (table.markdown() if ending == "md" else table.latex())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "table.pdf"), ".csv, .md or .tex"),
        (("--methods", "nonsense"), "nonsense"),
    ],
)
def test_options_that_cannot_be_used(capsys, files, words, said):
    code, _, err = run(capsys, *files, "--resamples", 1, *words)
    assert code == 2
    assert said in err


def test_two_files_of_one_name_are_refused(capsys, files):
    code, _, err = run(capsys, files[0], files[0])
    assert code == 2
    assert "'good'" in err


def test_files_that_name_their_calibration_rows(capsys, files):
    for file in files:
        frame = pd.read_csv(file)
        frame.assign(split=np.where(frame["id"] < 100, "calibration", "evaluation")).to_csv(file, index=False)
    code, out, _ = run(capsys, *files, "--methods", "TS", "--resamples", 5, "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["n_calibration"], data["n_evaluation"]) == (100, 200)


def test_every_model_of_one_file(capsys, files, tmp_path):
    both = pd.read_csv(files[0])[["ant", "bee", "cow", "label", "id"]].assign(model="good")
    sure = pd.read_csv(files[1]).sort_values("id")[["ant", "bee", "cow", "label", "id"]].assign(model="sure")
    pd.concat([both, sure]).to_csv(tmp_path / "models.csv", index=False)
    options = ("--methods", "TS", "--resamples", 5, "--json")
    code, one_file, _ = run(capsys, tmp_path / "models.csv", *options)
    assert code == 0
    _, two_files, _ = run(capsys, *files, *options)
    value = [pd.DataFrame(json.loads(out)["numbers"])["value"].astype(float) for out in (one_file, two_files)]
    np.testing.assert_allclose(*value, rtol=1e-12)


def test_a_command_for_each_model_of_one_file(capsys, files, tmp_path):
    parts = [read_csv(file)[[*NAMES, "label", "id"]].assign(model=file.stem) for file in files]
    pd.concat(parts).to_csv(tmp_path / "models.csv", index=False)
    limits = ("--max", "conf_ece=0.1", "--resamples", 20, "--json")
    code, out, _ = run(
        capsys,
        tmp_path / "models.csv",
        *limits,
        "--each-model",
        "--markdown",
        tmp_path / "g.md",
        command="gate",
    )
    found = json.loads(out)["models"]
    assert (code, [found[name]["passed"] for name in ("good", "sure")]) == (1, [True, False])
    for file in files:
        _, out, _ = run(capsys, file, *limits, command="gate")
        assert found[file.stem] | {"file": str(file)} == json.loads(out)
        assert (tmp_path / f"g-{file.stem}.md").exists()


def test_each_model_cannot_be_piped_out(capsys, files, tmp_path):
    parts = [pd.read_csv(file)[[*NAMES, "label", "id"]].assign(model=file.stem) for file in files]
    pd.concat(parts).to_csv(tmp_path / "models.csv", index=False)
    code, _, err = run(capsys, tmp_path / "models.csv", "--each-model", "-o", "-", command="report")
    assert (code, "--each-model" in err) == (2, True)


@pytest.mark.parametrize("ending", ["csv", "html", "pdf"])
def test_sweep(capsys, files, tmp_path, ending):
    out = tmp_path / f"sweep.{ending}"
    code, text, said = run(capsys, *files, "--sweep", "--methods", "TS", "--resamples", 5, "-o", out)
    if ending == "pdf":
        assert code == 2
        assert ".csv or .html" in said
        return
    assert code == 0
    rows = {file.stem: calib.read(file) for file in files}
    if ending == "html":
        assert "plotly" in out.read_text().lower()
        return
    expected = calib.sweep_models(rows, ["TS"], n_resamples=5).frame()
    assert pd.read_csv(out)["value"].tolist() == pytest.approx(expected["value"].tolist())
    assert all(name in text for name in ("good", "sure", "TS", "TL-ECE"))
