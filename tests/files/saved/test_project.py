"""Project files: everything comes back bit for bit, and what is no project is refused in a sentence."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    MultilabelPrediction,
    Predictions,
    Project,
    TemperatureScaling,
    TopKPrediction,
    TopLabelPrediction,
)
from calib.files.readers.roles import Roles
from calib.files.readers.source import Limits
from calib.files.readers.tables import Table, table_from_columns
from calib.files.saved import dumps
from calib.files.saved.project import MANIFEST, FurtherModel, Upload

RNG = np.random.default_rng(0)
NAMES = ("cat", "dög", "=1+1")
TABLE = pd.DataFrame(
    {
        "id": np.arange(40),
        "weight": RNG.random(40, dtype=np.float32),
        "night": np.arange(40) % 2 == 0,
        "when": np.datetime64("2026-01-31", "s") + np.arange(40).astype("m8[s]"),
        "text": pd.Series(["a", None, "\ud800", "a"] * 10, dtype=object),
        "word": pd.Series(["x", "y", None, "z"] * 10, dtype="str"),
        "mixed": pd.Series([1, 1.0, True, np.nan, float("inf")] * 8, dtype=object),
    }
)


def vectors(n: int, dtype: str = "float64", **further) -> Predictions:
    proba = RNG.dirichlet(np.ones(3), size=n).astype(dtype)
    return Predictions(proba, RNG.integers(0, 3, n), NAMES, **further)


def through_a_file(project: Project) -> Project:
    file = io.BytesIO()
    project.save(file)
    return Project.load(file.getvalue())


def assert_same_rows(a, b) -> None:
    assert type(a) is type(b)
    assert a.fingerprint == b.fingerprint
    assert (a.class_names, a.coverage) == (b.class_names, b.coverage)
    assert {name: array.dtype for name, array in a._arrays().items()} == {
        name: array.dtype for name, array in b._arrays().items()
    }
    assert (a.metadata is None) == (b.metadata is None)
    if a.metadata is not None:
        pd.testing.assert_frame_equal(a.metadata, b.metadata, check_exact=True)
        kinds = [[type(item) for item in row] for row in a.metadata.to_numpy().tolist()]
        assert kinds == [[type(item) for item in row] for row in b.metadata.to_numpy().tolist()]


def test_everything_comes_back_bit_for_bit(tmp_path):
    evaluation = vectors(40, metadata=TABLE, sample_weight=RNG.random(40), coverage=0.9)
    calibration = vectors(300, "float32")
    calibrators = {
        "TL-HB": MulticlassToBinary(HistogramBinning(points_per_bin=20)),
        "TS": TemperatureScaling(),
    }
    for calibrator in calibrators.values():
        calibrator.fit(calibration.proba, calibration.labels)
    project = Project(
        "my file.csv",
        evaluation,
        calibration,
        description="Uploaded: 50 % of the rows",
        truth=RNG.random(40),
        split=0.5,
        roles=Roles(("p(cat)", "p(dog)", "p(hen)"), NAMES, label=("y",), id="id", abstentions=("IDK",)),
        fixes=("evaluation rows: percent: row sums 100 -> 1",),
        calibrators=calibrators,
        choices={"TS": 9},
        model="one",
        models={"other": FurtherModel(vectors(40, "float32"), calibration, calibrators, {"TS": 3})},
        settings={"reliability": {"bins": "20", "band": "true"}},
        notes="First look.\nThe *cats* are off.",
    )
    path = tmp_path / "my.calib"
    project.save(path)
    again = Project.load(path)
    for name in (
        "name",
        "description",
        "simulated",
        "split",
        "roles",
        "fixes",
        "choices",
        "settings",
        "notes",
        "model",
    ):
        assert getattr(again, name) == getattr(project, name), name
    assert again.truth.tobytes() == project.truth.tobytes()
    for before, after in (
        (project.evaluation, again.evaluation),
        (project.calibration, again.calibration),
        (project.models["other"].evaluation, again.models["other"].evaluation),
        (project.models["other"].calibration, again.models["other"].calibration),
    ):
        assert_same_rows(before, after)
    assert list(again.calibrators) == list(again.models["other"].calibrators) == ["TL-HB", "TS"]
    assert again.models["other"].choices == {"TS": 3}
    before = calibrators["TL-HB"].predict_top(evaluation.proba)
    after = again.calibrators["TL-HB"].predict_top(again.evaluation.proba)
    assert before.confidence.tobytes() == after.confidence.tobytes()
    assert (
        calibrators["TS"].predict_proba(evaluation.proba).tobytes()
        == again.calibrators["TS"].predict_proba(again.evaluation.proba).tobytes()
    )
    assert again.calibrators["TS"].fitted_on_.log == project.fixes
    pd.testing.assert_frame_equal(again.frame(), project.frame())


@pytest.mark.parametrize(
    "rows",
    [
        TopLabelPrediction([0, 2], np.float32([0.5, 1 / 3]), [1, 2], NAMES),
        TopLabelPrediction([0, 2], [0.5, 1 / 3], [1, 2]),
        ConfidencePrediction([0.9, 0.1], [True, False], sample_weight=[1.0, 2.0]),
        BinaryPrediction([0.9, 0.1], [1, 0], ("no", "yes"), coverage=0.5),
        TopKPrediction([[0, 2], [1, 0]], np.float32([[0.5, 0.2], [0.6, 1 / 3]]), [1, 1], NAMES),
        MultilabelPrediction([[0.9, 0.8, 0.1]], [[1, 1, 0]], NAMES),
    ],
    ids=lambda rows: rows.kind,
)
def test_every_kind_comes_back(rows):
    assert_same_rows(rows, through_a_file(Project("rows", rows)).evaluation)


def changed(project: Project, change, members=()) -> bytes:
    """The file of a project after a change of its description, with further members."""
    file, out = io.BytesIO(), io.BytesIO()
    project.save(file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name == MANIFEST:
                manifest = json.loads(old.read(name))
                change(manifest)
                new.writestr(name, json.dumps(manifest))
            else:
                new.writestr(name, old.read(name))
        for name, content in members:
            new.writestr(name, content)
    return out.getvalue()


def pickled() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return file.getvalue()


SMALL = Project(
    "rows", vectors(40, metadata=TABLE[["text"]]), roles=Roles(("a", "b", "c")), truth=np.ones(40)
)
FILE = table_from_columns(
    {
        "a": RNG.random(3),
        "b": RNG.random(3),
        "y": np.array(["cat", "", "dog"], dtype=object),
        "n": np.arange(3),
    },
    format="csv",
)
UPLOADED = Project(
    "rows", SMALL.evaluation, upload=Upload((FILE, None, None, None), {"evaluation": ("percent",)})
)


def test_uploaded_files_come_back():
    arrays = Table("npz", {"y": np.arange(4)}, {"test": np.float32([[1.5, 2.0], [3.0, 4.0]])})
    for table in (FILE, arrays):
        again = through_a_file(replace(UPLOADED, upload=Upload((table, None, None, table)))).upload
        assert again.tables[1:3] == (None, None)
        for found in (again.tables[0], again.tables[3]):
            assert (found.format, found.packed_names) == (table.format, table.packed_names)
            assert list(found.columns) == list(table.columns)
            for name, values in table.columns.items():
                assert found.columns[name].tolist() == values.tolist()
                assert found.columns[name].dtype == values.dtype
            for name, matrix in table.matrices.items():
                assert found.matrices[name].tobytes() == matrix.tobytes()
    assert through_a_file(UPLOADED).upload.accepted == {"evaluation": ("percent",)}


def of_table(**changes):
    """A change of the first table of an upload."""
    return lambda m: m["upload"]["tables"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: m.update(upload=[]), "an upload has 4 tables"),
        (lambda m: m["upload"].update(tables=[None]), "an upload has 4 tables"),
        (lambda m: m["upload"].update(accepted=[]), "by part"),
        (lambda m: m["upload"].update(accepted={"x": []}), "by part"),
        (lambda m: m["upload"].update(accepted={"evaluation": [1]}), "codes of findings"),
        (lambda m: m["upload"]["tables"].__setitem__(0, {}), "a table has the keys"),
        (of_table(format=1), "must be texts"),
        (of_table(columns=[1]), "must be objects"),
        (of_table(packed_names="ab"), "must be a list"),
        (of_table(packed_names=["a"]), "lacks the array"),
        (of_table(packed_names=["a", "b", "z"]), "a column each"),
        (of_table(packed_names=["a", "a", "b"]), "a column each"),
        (of_table(packed=None), "once each"),
        (lambda m: m["upload"]["tables"][0]["columns"][2].update(name="a"), "more than once"),
        (lambda m: m["upload"]["tables"][0]["columns"][2].update(words=["1"] * 3), "texts or numbers"),
        (of_table(matrices={"m": "arrays/0.npy"}), "different numbers of rows"),
        (of_table(matrices={"m": "../x"}), "lacks the array"),
    ],
)
def test_other_uploads_are_refused_in_a_sentence(change, sentence):
    with pytest.raises(InputError, match=sentence):
        Project.load(changed(UPLOADED, change))


@pytest.mark.parametrize(
    "place",
    [
        lambda m: m,
        lambda m: m["evaluation"],
        lambda m: m["evaluation"]["metadata"][0],
        lambda m: m["models"][0],
        lambda m: m["calibrators"][0],
        lambda m: m["upload"],
        lambda m: m["upload"]["tables"][0],
        lambda m: m["upload"]["tables"][0]["columns"][0],
        lambda m: m["upload"]["tables"][0]["columns"][2],
    ],
)
def test_unknown_keys_are_refused(place):
    """They would be read, and could be as large as a limit allows, for nothing."""
    scaling = TemperatureScaling().fit(SMALL.evaluation.proba, SMALL.evaluation.labels)
    project = replace(UPLOADED, calibrators={"TS": scaling}, models={"other": FurtherModel(vectors(40))})
    assert Project.load(changed(project, lambda m: None)).models
    with pytest.raises(InputError, match="'more'|has the keys"):
        Project.load(changed(project, lambda m: place(m).update(more=[{}] * 10)))


def test_a_project_of_countless_objects_is_refused_before_they_are_made():
    content = changed(SMALL, lambda m: m.update(more=[{}] * 40_000))
    with pytest.raises(InputError, match="expanded_bytes"):
        Project.load(content, limits=Limits(expanded_bytes=1 << 20))


@pytest.mark.parametrize(
    ("change", "members", "sentence"),
    [
        (lambda m: m.update(version=2), (), "version 2"),
        (lambda m: m.update(format="other"), (), 'no "format"'),
        (lambda m: m.update(name=3), (), "name must be a text"),
        (lambda m: m.update(notes="x" * 100_001), (), "at most 100,000 characters"),
        (lambda m: m.update(fixes=[1]), (), "must be texts"),
        (lambda m: m.update(settings={"a": {"b": 1}}), (), "must be texts"),
        (lambda m: m.update(split=2.0), (), "split must be"),
        (lambda m: m.update(roles={"probabilities": [1]}), (), "names of columns"),
        (lambda m: m.update(roles={"other": 1}), (), "roles must name"),
        (lambda m: m.update(calibrators={}), (), "must be a list"),
        (lambda m: m.update(calibrators=[{}]), (), "needs a name"),
        (lambda m: m.update(calibrators=[{"name": "a"}, {"name": "a"}]), (), "have one name"),
        (lambda m: m.update(calibrators=[{"name": "a", "file": "x.json"}]), (), "lacks the member 'x.json'"),
        (lambda m: m.update(calibrators=[{"name": "a", "file": MANIFEST}]), (), "not a calibrator file"),
        (lambda m: m["evaluation"].update(kind="os.system"), (), "kind 'os.system'"),
        (lambda m: m["evaluation"]["values"].update(other=1), (), "have the fields"),
        (lambda m: m["evaluation"]["values"].update(coverage=7), (), "coverage"),
        (lambda m: m["evaluation"]["arrays"].pop("proba"), (), "incomplete"),
        (lambda m: m["evaluation"]["arrays"].pop("labels"), (), "need true labels"),
        (lambda m: m["evaluation"]["arrays"].update(proba="../x"), (), "lacks the array"),
        (lambda m: m["evaluation"]["arrays"].update(proba="p.npy"), [("p.npy", pickled())], "never read"),
        (lambda m: m["evaluation"]["metadata"][0].update(words=["1"]), (), "code without a word"),
        (lambda m: m["evaluation"]["metadata"][0].update(words=["{}"] * 3), (), "no value"),
        (
            lambda m: m.update(models=[{"name": "a", "evaluation": None, "calibrators": []}]),
            (),
            "rows of kind",
        ),
    ],
)
def test_other_content_is_refused_in_a_sentence(change, members, sentence):
    with pytest.raises(InputError, match=sentence):
        Project.load(changed(SMALL, change, members))


def test_foreign_damaged_and_large_files_are_refused():
    file = io.BytesIO()
    SMALL.save(file)
    data = file.getvalue()
    with pytest.raises(InputError, match="not a project file"):
        Project.load(b"a,b\n1,2\n")
    with pytest.raises(InputError, match="project"):
        Project.load(data[: len(data) // 2])
    broken = bytearray(data)
    at = data.index(b"NUMPY") if b"NUMPY" in data else 60
    broken[at : at + 8] = b"\xff" * 8
    with pytest.raises(InputError, match=r"damaged|project file"):
        Project.load(bytes(broken))
    with pytest.raises(InputError, match="limit expanded_bytes"):
        Project.load(data, limits=Limits(expanded_bytes=1_000))
    other = MulticlassToBinary().fit(RNG.dirichlet(np.ones(4), size=60), RNG.integers(0, 4, 60))
    with pytest.raises(InputError, match="4 classes"):
        Project("rows", SMALL.evaluation, calibrators={"other": other})
    members = [("c.json", dumps(other))]
    entry = {"name": "other", "choices": 1, "file": "c.json"}
    with pytest.raises(InputError, match="4 classes"):
        Project.load(changed(SMALL, lambda m: m.update(calibrators=[entry]), members))
