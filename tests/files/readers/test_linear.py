"""Time linear in bytes: four times the file takes about four times as long, read or refused."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib import InputError, IsotonicCalibration, Monitor, Predictions, Project, check, scale
from calib.files.saved import dumps, loads
from calib.files.saved.monitors import monitor_bytes, monitor_of
from tests.written import bytes_of

#: Four times the size is 16 times the time if that is quadratic; shorter times are not compared.
RATIO, SECONDS = 10.0, 0.2


def csv_of(*rows):
    file = io.StringIO()
    csv.writer(file).writerows([["cat", "dog", "label"], *rows])
    return file.getvalue().encode()


def frame(n, width=3):
    scores = np.random.default_rng(0).dirichlet(np.ones(width), n)
    return pd.DataFrame(scores, columns=[f"c{j}" for j in range(width)]).assign(label="c0")


def beside(name, cells, n, **further):
    """Return four rows with n columns of one kind."""
    columns = {name.format(j): np.roll(cells * 2, j % 3) for j in range(n)}
    return (
        pd.DataFrame({**columns, **further, "label" if not further else "row": [0, 1, 0, 1]})
        .to_csv()
        .encode()
    )


def models_of_two_columns(n):
    scores = {f"m{j}_{name}": chance for j in range(n // 2) for name, chance in (("a", 0.25), ("b", 0.75))}
    return pd.DataFrame(scores, index=range(4)).assign(label=[*"abab"]).to_csv().encode()


def answers_of_their_own(n):
    said, true = [f"City {row}" for row in range(n)], [f"city {row + row % 2}" for row in range(n)]
    columns = {"answer": said, "confidence": np.linspace(0.2, 0.9, n), "label": true}
    return pd.DataFrame(columns).to_csv(index=False).encode()


def records(*rows):
    return json.dumps(rows).encode()


def long_lines(n, times=1):
    lines = "".join(f"{i},k{i},{1 / times},1\n" for i in range(n) for _ in range(times))
    return ("sample,class,score,correct\n" + lines).encode()


#: By name, a file that grows with n, and n: most of them were once read in quadratic time.
FILES = {
    "csv": (lambda n: frame(n).to_csv(index=False).encode(), 5_000),
    "csv of many columns": (lambda n: frame(3, n).to_csv(index=False).encode(), 1_000),
    "csv of many models": (lambda n: beside("m{}", [0.25, 0.5], n), 1_000),
    "csv of many models of two columns": (models_of_two_columns, 500),
    "csv of answers of their own": (answers_of_their_own, 2_000),
    "csv of many labels": (lambda n: beside("annotator{}", ["cat", "dog"], n, p_cat=0.25, p_dog=0.75), 500),
    "csv of lists as text, long": (lambda n: frame(3, n).apply(list, axis=1).to_csv().encode(), 1_000),
    "csv of one line": (lambda n: b"a" * n, 2_000_000),
    "csv of blank lines": (lambda n: b"\n" * n + csv_of(["0.1", "0.9", "a"]), 50_000),
    "csv, blanks before a line break": (lambda n: csv_of(["0.1", "0.9", f"a{' ' * n}b\nc"]), 20_000),
    "csv, blanks after a number": (
        lambda n: csv_of(["0.1", "0.9", "x"], ["1,234" + " " * n + "x", "1", "x"]),
        20_000,
    ),
    "csv, blanks at the end": (lambda n: csv_of(["0.1", "0.9", "a"]) + b" " * n, 500_000),
    "csv, long lines": (long_lines, 2_000),
    "csv, lists": (lambda n: csv_of(["0.1", "0.9", "[" + "0.5, " * n + "0.5]"]), 5_000),
    "gzip": (lambda n: gzip.compress(frame(n).to_csv(index=False).encode()), 5_000),
    "gzip, blanks after a table": (
        lambda n: gzip.compress(csv_of(["0.1", "0.9", "a"]) + b" " * n),
        30_000_000,
    ),
    "gzip of many members": (lambda n: gzip.compress(csv_of(["0.1", "0.9", "a"])) * n, 2_000),
    "parquet": (lambda n: bytes_of(frame(n).to_parquet), 20_000),
    "parquet of many columns": (lambda n: bytes_of(frame(3, n).to_parquet), 500),
    "feather": (lambda n: bytes_of(frame(n).to_feather), 20_000),
    "feather of many columns": (lambda n: bytes_of(frame(3, n).to_feather), 500),
    "npy": (lambda n: bytes_of(np.save, frame(n).drop(columns="label").to_numpy()), 100_000),
    "npz": (lambda n: bytes_of(np.savez, **{f"a{j}": np.zeros(3) for j in range(n)}), 200),
    "json": (lambda n: frame(n).to_json(orient="records").encode(), 3_000),
    "json of columns": (lambda n: json.dumps(frame(n).to_dict("list")).encode(), 10_000),
    "json lines": (lambda n: frame(n).to_json(orient="records", lines=True).encode(), 3_000),
    "json, names of an object": (
        lambda n: b"[" + names_of(n) + b"]",
        20_000,
    ),
    "json, a name for each record": (lambda n: records(*({f"k{i}": 0.5} for i in range(n))), 2_000),
    "json, a class for each record": (
        lambda n: records(*({"scores": {f"k{i}": 1.0}, "label": f"k{i}"} for i in range(n))),
        250,
    ),
    "json, a true class for each record": (
        lambda n: records(*({"scores": {"a": 0.5, "b": 0.5}, "labels": [f"k{i}", "a"]} for i in range(n))),
        1_000,
    ),
    "json, one row of many classes": (
        lambda n: records({"scores": [[f"k{i}", 0.5] for i in range(n)] + [["k0", 0.1]], "label": "a"}),
        5_000,
    ),
    "json, one row of many true classes": (
        lambda n: records({"scores": [0.5] * n, "labels": list(range(n))}),
        500,
    ),
    "json, nested": (lambda n: b"[" * n, 50_000),
}


def calibrator_of(n):
    scores = np.linspace(0.0, 1.0, n)
    return dumps(IsotonicCalibration().fit(scores, np.arange(n) % 2))


def project_of(n):
    proba = frame(n).drop(columns="label").to_numpy()
    metadata = pd.DataFrame({"text": [f"t{i}" for i in range(n)]})
    rows = Predictions(proba, np.zeros(n, dtype=int), metadata=metadata)
    return bytes_of(Project("one.csv", rows, None).save)


def summary_of(n):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        frame(3, n).to_parquet(path)
        return bytes_of(partial(scale.save, scale.summarize(path, class_wise=True)))


def state_of(n):
    monitor, random = Monitor(), np.random.default_rng(0)
    proba = random.dirichlet(np.ones(3), 10)
    for week in range(n):
        monitor.update(np.zeros(10, dtype=int), proba, np.full(10, week))
    return monitor_bytes(monitor)


def names_of(n):
    return ("{" + "".join(f'"{i}":0,' for i in range(n)) + f'"{n - 1}":1' + "}").encode()


#: Files that calib wrote: how each is read, a file that grows with n, and n.
OWN = {
    "calibrator": (loads, calibrator_of, 20_000),
    "calibrator, names of an object": (loads, names_of, 40_000),
    "project": (Project.load, project_of, 5_000),
    "summary": (scale.load, summary_of, 100),
    "summary, names of an object": (scale.load, lambda n: gzip.compress(names_of(n)), 40_000),
    "state of a monitor": (monitor_of, state_of, 20),
}


def seconds(content, read=check):
    begin = time.process_time()
    with contextlib.suppress(InputError):
        read(content)
    return time.process_time() - begin


@pytest.mark.parametrize("name", [*FILES, *OWN])
def test_time_is_linear_in_bytes(name):
    read, make, n = OWN.get(name) or (check, *FILES[name])
    small, large = make(n), make(4 * n)
    tried = []
    for _ in range(3):  # another process may slow one try down
        tried.append((seconds(small, read), seconds(large, read)))
        first, last = map(min, zip(*tried, strict=True))
        if last <= RATIO * max(first, SECONDS / RATIO):
            return
    pytest.fail(f"{first:.3f} s, then {last:.3f} s")
