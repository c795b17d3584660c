"""Files of calib's own: what another process read comes back, and the app does not read it again."""

from __future__ import annotations

import io
import zipfile

import pandas as pd
import pytest

import calib
from calib import InputError, Project, scale
from calib.files.readers.roles import Roles
from calib.files.saved import document, dumps
from calib.files.saved.project import FurtherModel, Upload, UploadedFile
from calib.scale import files
from calib.scale.files import dumps as summary_bytes
from pages.shared.isolation.reader import load
from tests import sample_calibrators
from tests.app.running import open_page, press
from tests.app.test_pages_upload import upload
from tests.app.test_project_page import saved
from tests.files.saved.test_project import TABLE, vectors

CSV = b"cat,dog,label\n0.25,0.75,dog\n0.5,0.5,cat\n"


def content_of(project):
    file = io.BytesIO()
    project.save(file)
    return file.getvalue()


def members(content):
    """Members of a project file, without the time of saving and the checksums of what holds it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        read = {name: archive.read(name) for name in archive.namelist()}
    for name in (name for name in read if name.endswith(".json")):
        lines = read[name].splitlines()
        read[name] = b"\n".join(x for x in lines if b'"date"' not in x and b'"checksum"' not in x)
    return read


@pytest.mark.parametrize("name", [*sample_calibrators.MULTICLASS, *sample_calibrators.ALONE])
def test_calibrators_come_back_to_the_last_bit(name):
    alone = name in sample_calibrators.ALONE
    content = dumps((sample_calibrators.fitted_binary if alone else sample_calibrators.fitted)(name))
    assert dumps(load("calibrator", content)) == content


@pytest.mark.parametrize("n", [40, 2_000])
def test_projects_come_back_to_the_last_bit(n):
    table = pd.concat([TABLE] * (n // 40), ignore_index=True)
    evaluation = vectors(n, metadata=table)
    project = Project(
        "one.csv",
        evaluation,
        vectors(60, "float32"),
        roles=Roles(("cat", "dog"), label=("label",)),
        calibrators={"TS": calib.TemperatureScaling().fit(evaluation.proba, evaluation.labels)},
        models={"other": FurtherModel(vectors(n, "float32"))},
        settings={"Reliability": {"bins": "20"}},
        upload=Upload((UploadedFile("one.csv", CSV), None, None, None), {"evaluation": ("percent",)}),
    )
    content = content_of(project)
    again = load("project", content)
    assert members(content_of(again)) == members(content_of(Project.load(content)))
    assert not again.evaluation.proba.flags.writeable
    assert again.upload.files == project.upload.files


def test_summaries_come_back_to_the_last_bit(tmp_path, monkeypatch):
    now = files.today()
    monkeypatch.setattr(files, "today", lambda: now)  # a minute may end between the two
    pd.read_csv(io.BytesIO(CSV)).to_parquet(tmp_path / "rows.parquet")
    content = summary_bytes(scale.summarize(tmp_path / "rows.parquet", class_wise=True))
    assert summary_bytes(load("summary", content)) == content


def test_the_app_never_reads_what_another_process_read(monkeypatch):
    content = saved(open_page("pages/views/data.py", example="two-patients"), monkeypatch)
    for module, name in ((Project, "load"), (document, "loads"), (scale, "load")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("read in the app"))
    app = open_page("pages/views/data.py", example="resnet")
    upload(app, "up", "one.calib", content)
    press(app, "Open this project")
    assert not app.exception
    assert app.session_state["dataset"].example is None


def test_a_refused_file_is_refused_again_without_reading_it(monkeypatch):
    app = open_page("pages/views/data.py", example="two-patients")
    upload(app, "up", "one.csv", b"a,b\n")
    refusal = app.error[0].value
    asked = []
    monkeypatch.setattr("pages.shared.uploads.read_files", lambda *_, **__: asked.append(1))
    app.run()
    assert app.error[0].value == refusal
    upload(app, "up", "two.csv", b"a,b\n")
    assert asked


def test_refusals_of_a_loader_are_sentences():
    with pytest.raises(InputError, match="project"):
        load("project", CSV)
