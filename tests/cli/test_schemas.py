"""What commands print with --json, against the JSON Schema of each."""

from __future__ import annotations

import json

import jsonschema
import numpy as np

from calib import Project, read
from calib.cli.parser import main, parser
from calib.cli.schemas import SHAPES, schema
from tests.answers.test_baseline import frame

#: Calls, one after the other, in a folder with what those before them wrote.
CALLS = """\
fit rows.csv --points-per-bin 200 -o hb.json
fit rows.csv --split 1 --method temperature -o cal.json
fit folder --method temperature -o far.json
metrics folds.csv --calibrator cal.json --resamples 20
metrics p.csv --resamples 20
recommend rows.csv
apply cal.json rows.csv --label-shift em --calibration rows.csv -o out.csv
apply far.json folder -o written
check damaged.csv
gate rows.csv --max tl_ece=0.1 --min accuracy=0.2 --by site
gate rows.csv --baseline rows.csv
decide rows.csv --accuracy 0.3
decide rows.csv --accuracy 0.9999
decide rows.csv --by class --cost 20
decide rows.csv --costs costs.csv
slices rows.csv --by site --by rare --resamples 20
slices p.csv --by site --resamples 20
watch state.json rows.csv --by site
watch quiet.json p.csv --notion confidence
report rows.csv -o report.html --resamples 20
tables rows.csv folds.csv --methods TS --resamples 20
tables rows.csv folds.csv --methods TS --resamples 20 --sweep
summarize folder --by site -o run.calib.json.gz
merge run.calib.json.gz -o sum.calib.json.gz
metrics run.calib.json.gz
slices run.calib.json.gz --by site
sql --dialect duckdb
open my.calib
gate missing.csv --max tl_ece=0.1
"""


def write_files(folder):
    rows = frame(300, sharpen=2.0)
    rows["site"] = np.where(np.arange(300) % 3, "north", "south")
    rows["rare"] = np.where(np.arange(300) == 7, "once", "often")
    rows.to_csv("rows.csv", index=False)
    rows.assign(fold=np.arange(300) % 2).to_csv("folds.csv", index=False)
    rows.assign(a=rows["a"] * 100).to_csv("damaged.csv", index=False)
    (folder / "folder").mkdir()
    rows.to_parquet("folder/rows.parquet")
    happened = np.random.default_rng(0).random(300) < rows["a"]
    rows[["site"]].assign(score=rows["a"], label=happened.astype(int)).to_csv("p.csv", index=False)
    (folder / "costs.csv").write_text("class,act,wait\na,0,1\nb,2,0\nc,3,1\n", encoding="utf-8")
    Project("mine", read("rows.csv")).save("my.calib")


def test_every_command_prints_what_its_schema_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    seen = set()
    for line in CALLS.splitlines():
        name, *words = line.split()
        assert main([name, *words, "--json"]) in ((2,) if "missing.csv" in words else (0, 1)), line
        jsonschema.Draft202012Validator(schema(name)).validate(json.loads(capsys.readouterr().out))
        seen.add(name)
    assert seen == set(SHAPES)


def test_every_command_that_prints_json_has_a_schema(capsys):
    (commands,) = [item.choices for item in parser()._actions if isinstance(item.choices, dict)]
    assert set(SHAPES) == {name for name, of in commands.items() if "--json" in of._option_string_actions}
    for name in SHAPES:
        assert main(["schema", name]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed == schema(name)
        jsonschema.Draft202012Validator.check_schema(printed)
