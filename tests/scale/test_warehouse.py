"""The query of the warehouse: on DuckDB, the summary of the rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import calib
from calib import InputError, TopLabelPrediction, scale
from calib.cli.parser import main
from calib.evidence.cell_sums import EDGES, finder
from calib.scale.warehouse import COLUMNS, DIALECTS
from tests.populations import population

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: it is in the extra test")

#: A row of the table of steps in a query.
STEP = re.compile(r" +\((\d+), \d+, [\d.e+-]+\),?$")


@pytest.fixture(scope="module")
def frame():
    proba, labels = population(5_000, 4, seed=6)
    proba = proba.astype(np.float32)
    names = np.array(["emu", "cat", "10", "9"], dtype=object)
    return pd.DataFrame(
        {"predicted": names[proba.argmax(axis=1)], "confidence": proba.max(axis=1), "label": names[labels]}
    )


def answered(query, predictions):
    with duckdb.connect() as connection:
        connection.register("predictions", predictions)
        return connection.execute(query).df()


def test_result_is_the_summary_of_the_rows(frame, tmp_path):
    summary = scale.summary_of_counts(answered(scale.sql("duckdb"), frame))
    frame.to_parquet(tmp_path / "rows.parquet")
    expected = scale.summarize(tmp_path)
    assert summary.fingerprint == expected.fingerprint
    assert summary.true.tolist() == expected.true.tolist()
    for name in ("accuracy", "brier", "log_loss"):
        assert summary.mean(name).value == pytest.approx(expected.mean(name).value, abs=1e-12)
    top = TopLabelPrediction(*(frame[name].to_numpy() for name in ("predicted", "confidence", "label")))
    assert summary.ece("top-label", 17) == pytest.approx(calib.ece(top.labels, top, n_bins=17), abs=1e-12)


def test_scores_on_and_beside_every_edge():
    scores = np.concatenate([EDGES, np.nextafter(EDGES, 0), np.nextafter(EDGES, 1), [0.0, 1.0]])
    frame = pd.DataFrame({"predicted": "a", "confidence": scores, "label": "a"})
    result = answered(scale.sql("duckdb"), frame)
    cells = np.searchsorted(EDGES, scores, side="right")
    assert dict(zip(result["cell"], result["n"], strict=True)) == dict(
        zip(*np.unique(cells, return_counts=True), strict=True)
    )


def test_every_dialect_is_one_group_by():
    for dialect in DIALECTS:
        query = scale.sql(dialect, table="shop.rows", predicted="said", confidence="p", label="truth")
        assert query.count("GROUP BY") == 1
        assert "shop.rows" in query
        assert "p.said = p.truth" in query
    with pytest.raises(InputError, match="dialect must be"):
        scale.sql("oracle")


def of_few_steps(query, confidence):
    """The query with only those rows of its table of steps that these confidences need."""
    n_steps = finder(np.dtype(np.float64)).table[0]
    needed = {str(int(step)) for step in np.floor(np.asarray(confidence, dtype=np.float64) * n_steps)}
    lines = query.splitlines()
    rows = [line.rstrip(",") for line in lines if (found := STEP.match(line)) and found[1] in needed]
    assert len(rows) == len(needed)
    others = [line for line in lines if not STEP.match(line)]
    at = next(at for at, line in enumerate(others) if line.endswith(("VALUES", ">>[")))
    return "\n".join([*others[: at + 1], ",\n".join(rows), *others[at + 1 :]])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_query_of_every_dialect_gives_the_same_on_duckdb(frame, dialect):
    """A parser of the dialect reads the query; written for DuckDB, it gives what that of DuckDB gives."""
    sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed: it is in the extra test")
    few = frame.iloc[:40]
    query = of_few_steps(scale.sql(dialect), few["confidence"])
    strict = {"error_level": sqlglot.ErrorLevel.RAISE, "unsupported_level": sqlglot.ErrorLevel.RAISE}
    (translated,) = sqlglot.transpile(query, read=dialect, write="duckdb", **strict)
    mine, expected = (
        scale.summary_of_counts(answered(item, few)) for item in (translated, scale.sql("duckdb"))
    )
    assert mine.n_samples == len(few)
    assert mine.fingerprint == expected.fingerprint
    assert calib.log_loss(mine) == pytest.approx(calib.log_loss(expected), rel=1e-12)


def test_results_that_the_query_cannot_give(frame):
    result = answered(scale.sql("duckdb"), frame)
    with pytest.raises(InputError, match="has no column 'cell'"):
        scale.summary_of_counts(result.drop(columns="cell"))
    with pytest.raises(InputError, match="cells, outcomes or counts"):
        scale.summary_of_counts(result.assign(cell=774))
    assert list(result) == list(COLUMNS)


def test_classes_that_are_numbers():
    rows = pd.DataFrame(
        {"predicted": [1, 2, 2, 1], "confidence": [0.7, 0.6, 0.8, 0.9], "label": [1, 2, 1, 1]}
    )
    summary = scale.summary_of_counts(answered(scale.sql("duckdb"), rows))
    assert summary.class_names == ("1", "2")
    assert summary.true.tolist() == [3, 1]


def test_command(frame, tmp_path, capsys):
    assert main(["sql", "--dialect", "duckdb"]) == 0
    result = answered(capsys.readouterr().out, frame)
    result.to_csv(tmp_path / "counts.csv", index=False)
    out = str(tmp_path / "run.calib.json.gz")
    assert main(["sql", "--dialect", "duckdb", "--result", str(tmp_path / "counts.csv"), "-o", out]) == 0
    assert scale.load(out).n_samples == len(frame)
