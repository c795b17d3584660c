"""What must work where calib is installed and nothing else of the repository is.

`python tests/installed.py base app` tries the command and library, and what the extra `app` adds.

`make package` runs it in clean environments, `tests/test_package.py` on an unpacked wheel.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("calib")
COMMAND = [str(SCRIPT)] if SCRIPT.is_file() else [sys.executable, "-m", "calib"]
#: Seconds within which the server must answer: a busy machine needs a minute for the first imports.
PATIENCE = 180
#: Opens addresses of this machine, whatever proxies the environment names.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def base(folder: Path) -> None:
    """Read, fit, save and apply, by the command; the library loads what was written."""
    import numpy as np

    import calib

    random = np.random.default_rng(0)
    proba = random.dirichlet([1, 1, 1], 300)
    np.savez(folder / "rows.npz", proba=proba, labels=random.integers(0, 3, 300))

    def run(*words: str) -> str:
        done = subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version") == f"calib {calib.__version__}\n"
    assert "TL-ECE" in run("fit", "rows.npz", "-o", "cal.json")
    assert calib.load(folder / "cal.json").predict_top(proba).confidence.shape == (300,)


def app(folder: Path) -> None:
    """Serve the app and open it: it answers after its first session, and its log says if that failed."""
    log, url = folder / "log", "http://127.0.0.1:{}/here"
    with log.open("wb") as output:
        command = [*COMMAND, "app", "--port", str(port := free_port()), "--", "--server.baseUrlPath=here"]
        server = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    try:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            assert server.poll() is None, log.read_text()
            try:
                DIRECT.open(f"{url.format(port)}/_stcore/health", timeout=60).close()
                break
            except OSError:
                time.sleep(0.1)
        with DIRECT.open(f"{url.format(port)}/data", timeout=60) as answer:
            assert b"<title>" in answer.read()
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
    finally:
        server.terminate()
        server.wait(30)
    # On a busy machine the first session may take longer than Streamlit waits: that is no fault of the app.
    assert "failed" not in log.read_text().replace("first session failed: timeout", ""), log.read_text()
    assert "Traceback" not in log.read_text(), log.read_text()


def onnx(folder: Path) -> None:
    """Export a calibrator as an ONNX graph and run it."""
    from calib import TemperatureScaling
    from calib.datasets import load_example
    from calib.export import to_onnx, verify_onnx

    rows = load_example("resnet").calibration
    calibrator = TemperatureScaling().fit(rows.proba, rows.labels)
    assert verify_onnx(to_onnx(calibrator), calibrator, rows.proba) < 1e-12


def skops(folder: Path) -> None:
    """Save a model and load it again."""
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    from calib import CalibratedModel, load_model, save_model

    X, y = load_iris(return_X_y=True)
    model = CalibratedModel(LogisticRegression(max_iter=500)).fit(X, y)
    save_model(model, folder / "iris.calibmodel")
    assert (load_model(folder / "iris.calibmodel").predict_proba(X) == model.predict_proba(X)).all()


def torch(folder: Path) -> None:
    """Run a calibrator as a PyTorch module."""
    from calib import TemperatureScaling
    from calib.datasets import load_example
    from calib.export import torch_module, verify_torch

    rows = load_example("resnet").calibration
    calibrator = TemperatureScaling().fit(rows.proba, rows.labels)
    assert verify_torch(torch_module(calibrator), calibrator, rows.proba) < 1e-12


def paper(folder: Path) -> None:
    """Draw with the style sheet of matplotlib."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with plt.style.context("calib.diagrams.paper"):
        figure, axes = plt.subplots()
        axes.plot([0, 1], [0, 1])
        figure.savefig(folder / "figure.pdf")
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")


def write_rows(file: Path) -> None:
    """Write a thousand confidences that are calibrated, in four row groups."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    score = random.random(1000)
    table = pa.table({"confidence": score, "correct": random.random(1000) < score})
    pq.write_table(table, file, row_group_size=250)


def dask(folder: Path) -> None:
    """Sum row groups on a Dask cluster of this machine, by the command."""
    from calib import scale

    write_rows(folder / "rows.parquet")
    words = ["summarize", "rows.parquet", "--scheduler", "local", "--workers", "2", "-o", "run.calib.json.gz"]
    done = subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = scale.load(folder / "run.calib.json.gz")
    assert found.fingerprint == scale.summarize(folder / "rows.parquet").fingerprint


def spark(folder: Path) -> None:
    """Sum the partitions of a Spark data frame; needs a Java runtime."""
    from pyspark.sql import SparkSession

    from calib import scale

    write_rows(folder / "rows.parquet")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        summary = scale.summarize_spark(session.read.parquet(str(folder / "rows.parquet")))
    finally:
        session.stop()
    assert summary.fingerprint == scale.summarize(folder / "rows.parquet").fingerprint


def free_port() -> int:
    """Return a port of this machine on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


TRIALS = {item.__name__: item for item in (base, app, onnx, skops, torch, paper, dask, spark)}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as place:
            TRIALS[name](Path(place))
        print(f"{name}: works", flush=True)
