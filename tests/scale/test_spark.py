"""Summaries on a Spark session of this machine, where there is a Java runtime."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from calib import scale
from tests import ROOT
from tests.printed import run_page

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("default")]
pytest.importorskip("pyspark", reason="pyspark is in the extra spark, which is not there")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs a Java runtime, which is not there", allow_module_level=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The current folder, which Java takes from where it is started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place := tmp_path_factory.mktemp("spark"))
        yield place


@pytest.fixture(scope="module")
def session(folder):
    from pyspark.sql import SparkSession

    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    os.environ["PYTHONPATH"] = paths
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


def test_partitions_give_the_summary_of_the_rows(session, tmp_path):
    random = np.random.default_rng(0)
    n = 4_000
    rows = pd.DataFrame(
        {
            "predicted": random.choice(["cat", "dog", "emu"], n),
            "confidence": (0.4 + 0.6 * random.random(n)),
            "label": random.choice(["cat", "dog", "emu"], n),
            "site": random.choice(["north", "south"], n),
        }
    )
    rows.to_parquet(tmp_path / "rows.parquet")
    expected = scale.summarize(tmp_path / "rows.parquet", by="site")
    frame = session.read.parquet(str(tmp_path / "rows.parquet")).repartition(7)
    summary = scale.summarize_spark(frame, by="site")
    assert summary.fingerprint == expected.fingerprint
    assert summary.by["site"][0] == ("north", "south")
    assert len(summary.parts) == 7


def test_what_the_page_prints_runs(session, folder):
    sections = ("", "One machine, larger than memory", "Spark")
    assert run_page(ROOT / "docs/scale.md", folder, only=sections) == 5
    found = scale.load(folder / "run.calib.json.gz")
    assert found.fingerprint == scale.summarize(folder / "data", by="site").fingerprint
