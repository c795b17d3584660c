"""The examples of docs/production.md run as printed, each where its packages are installed."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import ROOT

TEXT = (ROOT / "docs/production.md").read_text(encoding="utf-8")
SECTIONS = {
    title: "\n".join(re.findall(r"```python\n(.*?)```", body, re.DOTALL))
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
}
#: Packages that each section needs besides calib's own, and the section whose results it uses.
NEEDS = {
    "Classifier and calibrator in one file": (["skops"], ""),
    "A service": (["skops", "fastapi"], "Classifier and calibrator in one file"),
    "ONNX, behind a classifier of skl2onnx": (["onnx", "onnxruntime", "skl2onnx"], ""),
    "ONNX, behind a network of PyTorch": (
        ["onnx", "onnxruntime", "skl2onnx", "torch", "onnxscript"],
        "ONNX, behind a classifier of skl2onnx",
    ),
    "A PyTorch module": (["torch"], ""),
    "MLflow": (["skops", "mlflow"], "Classifier and calibrator in one file"),
    "Calibrators of other packages": ([], ""),
}
BEFORE = {"A PyTorch module": "import torch\nnetwork = torch.nn.Sequential(torch.nn.Linear(64, 10))\n"}


def test_every_section_is_run():
    assert set(SECTIONS) == set(NEEDS)
    assert all(SECTIONS.values())


@pytest.fixture(scope="module")
def start() -> dict[str, object]:
    first = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, object] = {}
    exec(first[1], names)
    return names


def answered(app, path, content):
    """What a service answers to JSON that is posted to it, asked as a server asks it (ASGI)."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": json.dumps(content).encode()}

    async def send(message):
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    request = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "query_string": b"",
        "headers": headers,
    }
    asked = app({**request, "path": path, "raw_path": path.encode()}, receive, send)
    with ThreadPoolExecutor(1) as thread:  # a browser of other tests may have a loop in this one
        thread.submit(asyncio.run, asked).result()
    assert sent[0]["status"] == 200, sent
    return json.loads(b"".join(item.get("body", b"") for item in sent[1:]))


@pytest.mark.filterwarnings("ignore")  # of other packages, whose examples these are
@pytest.mark.parametrize("title", NEEDS)
def test_example_runs_as_printed(title, start, tmp_path, monkeypatch):
    packages, earlier = NEEDS[title]
    for package in packages:
        pytest.importorskip(package, reason=f"{package}, which the example uses, is not installed")
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    names = vars(module)
    names.update({name: value for name, value in start.items() if not name.startswith("__")})
    for code in (SECTIONS[earlier] if earlier else "", BEFORE.get(title, ""), SECTIONS[title]):
        exec(code, names)
    if title == "A service":
        rows = names["X"][:3].tolist()
        answer = answered(names["app"], "/predict", rows)
        top = names["model"].predict_top(rows)
        assert [row["label"] for row in answer] == top.label.tolist()
        assert [row["confidence"] for row in answer] == pytest.approx(top.confidence, rel=1e-12)
    if title == "A PyTorch module":
        assert names["proba"].sum(dim=1).tolist() == pytest.approx([1.0, 1.0], abs=1e-12)
