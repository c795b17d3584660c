"""Summaries on a Dask cluster of this machine, one worker of which is killed while it works."""

from __future__ import annotations

import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calib import scale
from calib.scale.engines import DaskCluster
from tests import ROOT
from tests.printed import run_page

distributed = pytest.importorskip("distributed", reason="Dask is in the extra dask, which is not there")

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def test_a_killed_worker_changes_nothing(client, tmp_path):
    random = np.random.default_rng(0)
    n = 200_000
    score = random.random(n)
    columns = {"confidence": score, "correct": random.random(n) < score}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=n // 50)
    expected = scale.summarize(tmp_path)
    pids = list(client.run(os.getpid).values())
    killed = []

    def kill_one(share, words):
        if not killed and share > 0.1:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    summary = scale.summarize(tmp_path, workers=DaskCluster(client), progress=kill_one)
    assert killed
    assert summary.fingerprint == expected.fingerprint
    assert summary.parts == expected.parts


def test_what_the_page_prints_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page(ROOT / "docs/scale.md", tmp_path, only=("", "Dask")) == 2
    assert scale.load("run.calib.json.gz").fingerprint == scale.summarize("data").fingerprint
