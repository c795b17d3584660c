"""Summaries where commands read rows, and texts where `summarize` reads columns."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from calib.cli.parser import main
from tests.answers.test_baseline import frame


def printed(capsys, *words, code=0):
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def files(tmp_path, monkeypatch, capsys):
    """Rows as Parquet, and their summary."""
    monkeypatch.chdir(tmp_path)
    rows = frame(2_000, sharpen=2.0)
    rows.assign(site=np.where(np.arange(2_000) % 3, "north", "south")).to_parquet("rows.parquet")
    printed(capsys, "summarize", "rows.parquet", "-o", "rows.calib.json.gz", "--by", "site", "--class-wise")


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda rows: rows.to_csv(index=False).encode(), "rows.csv"),
        (lambda rows: gzip.compress(rows.to_csv(index=False, sep="\t").encode()), "rows.tsv.gz"),
        (lambda rows: rows.to_json(orient="records", lines=True, double_precision=15).encode(), "rows.jsonl"),
    ],
)
def test_texts_are_summed_as_columns_are(files, tmp_path, capsys, write, name):
    rows = frame(2_000, sharpen=2.0).round(6)
    rows.to_parquet("rounded.parquet")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).write_bytes(write(rows))
    expected = printed(capsys, "summarize", "rounded.parquet", "-o", "a.calib.json.gz")
    found = printed(capsys, "summarize", "folder", "-o", "b.calib.json.gz")
    assert found["fingerprint"] == expected["fingerprint"]


def test_texts_that_cannot_be_read_are_named(files, tmp_path, capsys):
    (tmp_path / "bad.csv").write_text("a,b,label\n0.5,0.5,a\n" * 1 + "0.5,0.5\n", encoding="utf-8")
    error = printed(capsys, "summarize", "bad.csv", "-o", "x.calib.json.gz", code=2)["error"]
    assert "bad.csv: cannot be read as CSV" in error["message"]


def test_metrics_of_a_summary_are_those_of_its_rows(files, capsys):
    of_rows = printed(capsys, "metrics", "rows.parquet")
    of_sums = printed(capsys, "metrics", "rows.calib.json.gz")
    for key in ("accuracy", "conf_ece", "tl_ece", "cw_ece", "brier", "log_loss"):
        assert of_sums["methods"][0][key] == pytest.approx(of_rows["methods"][0][key])
    assert of_sums["conclusion"]["direction"] == of_rows["conclusion"]["direction"]


def test_gate_slices_and_report_read_a_summary(files, capsys):
    limits = ("--max", "conf_ece=0.01", "--by", "site")
    of_rows, of_sums = (
        printed(capsys, "gate", file, *limits, code=1) for file in ("rows.parquet", "rows.calib.json.gz")
    )
    for row, total in zip(of_rows["checks"], of_sums["checks"], strict=True):
        assert total["group"] == row["group"]
        assert (total["value"], total["lower"]) == pytest.approx((row["value"], row["lower"]))
    found = printed(capsys, "slices", "rows.calib.json.gz", "--by", "site")
    assert {group["group"] for group in found["groups"]} == {"north", "south"}
    assert all(group["lower"] < group["difference"] < group["upper"] for group in found["groups"])
    assert printed(capsys, "report", "rows.calib.json.gz", "-o", "out.html")["bytes"] > 1e6
    kept = printed(capsys, "gate", "rows.calib.json.gz", "--baseline", "rows.calib.json.gz")
    assert [check["metric"] for check in kept["checks"]] == ["accuracy", "tl_ece"]


@pytest.mark.parametrize(
    "words",
    [
        ("check", "rows.calib.json.gz"),
        ("decide", "rows.calib.json.gz", "--accuracy", "0.9"),
        ("gate", "rows.calib.json.gz", "--max", "tl_ece=0.1", "--by", "class"),
        ("report", "rows.calib.json.gz", "--split", "0.5", "-o", "out.html"),
        ("metrics", "rows.calib.json.gz", "--calibrator", "cal.json"),
        ("slices", "rows.calib.json.gz", "--by", "age"),
        ("gate", "rows.calib.json.gz", "--max", "brier=0.1"),
    ],
)
def test_what_needs_the_rows_is_said(files, capsys, words):
    message = printed(capsys, *words, code=2)["error"]["message"]
    assert "summary" in message
    assert "summarize again" not in message or "age" in words
