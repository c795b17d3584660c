"""What commands print with --json, against the JSON Schema of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jsonschema
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from calib import Project, read
from calib.base.results import parts
from calib.cli.json_data import as_json, schema_of
from calib.cli.parser import main, parser
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
decide later.csv --accuracy 0.99999 --calibrator cal.json -o rule.json
gate last.csv --calibrator rule.json --min accepted_accuracy=0.3
decide rows.csv --by class --cost 20
decide rows.csv --costs costs.csv
decide rows.csv --accuracy 0.2 --by site --promise each
decide p.csv --sensitivity 0.5 --precision 0.1
coarsen rows.csv --tree tree.csv --accuracy 0.3
benefit p.csv --from 0.1 --to 0.3 --step 0.1
benefit p.csv --from 0.1 --to 0.1 --against p.csv
gate judged.csv --min pass_rate=0.3 --human human
judge judged.csv --verdict verdict --human human
judge judged.csv --verdict verdict --human human --confidence confidence --plan 5 -o next.csv
slices rows.csv --by site --by rare --resamples 20
slices p.csv --by site --resamples 20
centres p.csv --by site
watch state.json rows.csv --by site
watch quiet.json p.csv --notion confidence
report rows.csv -o report.html --resamples 20
lesson -o lesson.html
lesson --data rows.csv -o lesson.html
tables rows.csv folds.csv --methods TS --resamples 20
tables rows.csv folds.csv --methods TS --resamples 20 --sweep
summarize folder --by site -o run.calib.json.gz
merge run.calib.json.gz -o sum.calib.json.gz
metrics run.calib.json.gz
slices run.calib.json.gz --by site
sql --dialect duckdb
open my.calib
gate missing.csv --max tl_ece=0.1
metrics models.csv --each-model --resamples 20
"""

#: Commands that print JSON.
NAMES = [name for name, each in parser().commands.items() if each.get_default("json") is not None]


def write_files(folder):
    rows = frame(300, sharpen=2.0)
    for seed, name in enumerate(("later", "last"), start=1):
        frame(300, seed=seed, sharpen=2.0).to_csv(f"{name}.csv", index=False)
    rows["site"] = np.where(np.arange(300) % 3, "north", "south")
    rows["rare"] = np.where(np.arange(300) == 7, "once", "often")
    rows.to_csv("rows.csv", index=False)
    rows.assign(fold=np.arange(300) % 2).to_csv("folds.csv", index=False)
    rows.assign(a=rows["a"] * 100).to_csv("damaged.csv", index=False)
    (folder / "folder").mkdir()
    rows.to_parquet("folder/rows.parquet")
    happened = np.random.default_rng(0).random(300) < rows["a"]
    rows[["site"]].assign(score=rows["a"], label=happened.astype(int)).to_csv("p.csv", index=False)
    (folder / "tree.csv").write_text("class,kind\na,1\nb,1\nc,2\n", encoding="utf-8")
    (folder / "costs.csv").write_text("class,act,wait\na,0,1\nb,2,0\nc,3,1\n", encoding="utf-8")
    judged = pd.DataFrame({"verdict": np.where(happened, "pass", "fail"), "confidence": rows["a"]})
    judged["human"] = judged["verdict"].where(np.arange(300) % 3 == 0)
    judged.to_csv("judged.csv", index=False)
    two = {"score_a": np.where(np.arange(300) % 5, happened, ~happened) * 0.6 + 0.2, "score_b": rows["a"]}
    rows[["site"]].assign(**two, label=happened.astype(int)).to_csv("models.csv", index=False)
    Project("mine", read("rows.csv")).save("my.calib")


def schema_printed(name, capsys):
    assert main(["schema", name]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_command_prints_what_its_schema_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    schemas = {name: schema_printed(name, capsys) for name in NAMES}
    seen = set()
    for line in CALLS.splitlines():
        name, *words = line.split()
        assert main([name, *words, "--json"]) in ((2,) if "missing.csv" in words else (0, 1)), line
        jsonschema.Draft202012Validator(schemas[name]).validate(json.loads(capsys.readouterr().out))
        seen.add(name)
    assert seen == set(NAMES)


def objects(schema):
    """All schemas of objects with named properties inside a schema."""
    if isinstance(schema, list):
        return [found for each in schema for found in objects(each)]
    if not isinstance(schema, dict):
        return []
    return [schema] * ("properties" in schema) + objects(list(schema.values()))


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_closed(name, capsys):
    schema = schema_printed(name, capsys)
    jsonschema.Draft202012Validator.check_schema(schema)
    found = objects(schema["anyOf"])
    assert all(each["additionalProperties"] is False for each in found)
    assert all(set(each["required"]) <= set(each["properties"]) for each in found)


@dataclass(frozen=True)
class Counted:
    """A class that holds more than is printed."""

    count: int  #: Rows
    hidden: int = 0

    @property
    def is_large(self) -> bool:
        """Whether there are many.

        More than two.
        """
        return self.count > 2


@dataclass(frozen=True)
class Columns:
    level: float
    #: (n,): Name, and
    #: its size
    name: NDArray[np.object_]
    size: NDArray[np.float64]


@dataclass(frozen=True)
class Base:
    name: str  #: Its name


@dataclass(frozen=True)
class Printed(Base):
    #: Ends of
    #: the interval
    lower: float
    upper: float
    #: Another block
    side: Literal["max", "min"]
    rows: int | None
    counted: Counted = field(metadata=parts("count is_large"))
    numbers: Mapping[str, float | None] = field(metadata={"parts": {"ece": "An error"}})
    each: Mapping[str, Sequence[Base]]  #: By letter
    table: Columns
    note: str | None = None  #: Left out without a note


def test_a_schema_follows_the_dataclass():
    number = {"type": ["number", "null"]}
    named = {"name": {"description": "Its name", "type": "string"}}
    closed = {"type": "object", "additionalProperties": False}
    base = closed | {"properties": named, "required": ["name"]}
    cells = {
        "name": {"description": "Name, and its size", "type": "string"},
        "size": {"description": "Name, and its size", **number},
    }
    assert schema_of(Base) == base
    found = schema_of(Printed)
    assert found == closed | {
        "properties": named
        | {
            "lower": {"description": "Ends of the interval", **number},
            "upper": {"description": "Ends of the interval", **number},
            "side": {"description": "Another block", "enum": ["max", "min"]},
            "rows": {"description": "Another block", "type": ["integer", "null"]},
            "count": {"description": "Rows", "type": "integer"},
            "is_large": {"description": "Whether there are many.", "type": "boolean"},
            "ece": {"description": "An error", **number},
            "each": {
                "description": "By letter",
                "type": "object",
                "additionalProperties": {"type": "array", "items": base},
            },
            "table": {
                "type": "array",
                "items": closed | {"properties": cells, "required": ["name", "size"]},
            },
            "note": {"description": "Left out without a note", "type": "string"},
        },
        "required": [name for name in found["properties"] if name != "note"],
    }


def test_a_dataclass_is_printed_as_its_schema_says():
    table = Columns(0.5, np.array(["a", "b"], dtype=object), np.array([1.0, np.inf]))
    given: dict[str, Any] = {"lower": np.float64(0.5), "upper": np.nan, "side": "max", "rows": None}
    given |= {"counted": Counted(3), "numbers": {"ece": 0.25, "mce": 0.5}, "table": table}
    printed = as_json(Printed("it", **given, each={"x": (Base("y"),)}))
    assert printed == {
        **{"name": "it", "lower": 0.5, "upper": None, "side": "max", "rows": None},
        **{"count": 3, "is_large": True, "ece": 0.25, "each": {"x": [{"name": "y"}]}},
        "table": [{"name": "a", "size": 1.0}, {"name": "b", "size": None}],
    }
    assert type(printed["lower"]) is float
    validator = jsonschema.Draft202012Validator(schema_of(Printed))
    validator.validate(printed)
    validator.validate(as_json(Printed("it", **given, each={}, note="seen")))
    assert not validator.is_valid(printed | {"more": 1})
