"""Project files: everything comes back bit for bit, and what is no project is refused in a sentence."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calib
from calib import (
    InputError,
    MulticlassToBinary,
    Predictions,
    Project,
    TemperatureScaling,
)
from calib.cli.parser import main
from calib.data.notions import PerClass
from calib.files.readers.roles import Roles
from calib.files.readers.source import Limits
from calib.files.saved import dumps
from calib.files.saved.project import MANIFEST, FurtherModel, Upload, UploadedFile
from tests import ROOT
from tests.files.saved.sample_projects import CSV, LABELS, PROBA, PROJECTS
from tests.fuzz.own import archived
from tests.written import bytes_of

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
    return Project.load(bytes_of(project.save))


def assert_same_rows(a, b) -> None:
    assert type(a) is type(b)
    assert a.fingerprint == b.fingerprint
    assert (a.class_names, a.coverage, a.strategy) == (b.class_names, b.coverage, b.strategy)
    assert dict(a.columns) == dict(b.columns)
    assert {name: array.dtype for name, array in a._arrays().items()} == {
        name: array.dtype for name, array in b._arrays().items()
    }
    assert (a.metadata is None) == (b.metadata is None)
    if a.metadata is not None:
        pd.testing.assert_frame_equal(a.metadata, b.metadata, check_exact=True)
        kinds = [[type(item) for item in row] for row in a.metadata.to_numpy().tolist()]
        assert kinds == [[type(item) for item in row] for row in b.metadata.to_numpy().tolist()]


def assert_same(before: Project, after: Project) -> None:
    for name in ("name", "description", "simulated", "split", "roles", "fixes", "settings", "notes", "model"):
        assert getattr(after, name) == getattr(before, name), name
    assert (after.truth is None) == (before.truth is None)
    if before.truth is not None:
        assert after.truth.tobytes() == before.truth.tobytes()
    assert list(after.models) == list(before.models)
    pairs = [(before, after), *((model, after.models[name]) for name, model in before.models.items())]
    for mine, other in pairs:
        assert_same_rows(mine.evaluation, other.evaluation)
        assert (mine.calibration is None) == (other.calibration is None)
        if mine.calibration is not None:
            assert_same_rows(mine.calibration, other.calibration)
        assert list(mine.calibrators) == list(other.calibrators)
        assert mine.choices == other.choices
        for name, calibrator in mine.calibrators.items():
            again = other.calibrators[name]
            if name == "TS":
                np.testing.assert_allclose(again.predict_proba(PROBA), calibrator.predict_proba(PROBA))
            else:
                expected = calibrator.predict_top(PROBA).confidence
                np.testing.assert_allclose(again.predict_top(PROBA).confidence, expected)
    pd.testing.assert_frame_equal(after.frame(), before.frame())


def test_ids_and_folds_stay_on_one_side_of_a_split():
    lines = (f"p{at // 2},{at % 3},{RNG.random():.4f},{('no', 'yes')[at % 2]}\n" for at in range(200))
    content = "patient,k,p(yes),label\n" + "".join(lines)
    rows = calib.read(content.encode(), id="patient", fold="k")
    again = through_a_file(Project("rows", rows)).evaluation
    assert again.columns == {"id": "patient", "fold": "k"}
    first, second = again.split()
    assert not set(first.metadata["patient"]) & set(second.metadata["patient"])
    np.testing.assert_array_equal(again.split_rows()[0], rows.split_rows()[0])


@pytest.mark.parametrize("name", PROJECTS)
def test_every_kind_comes_back(name):
    assert_same(PROJECTS[name], through_a_file(PROJECTS[name]))


@pytest.mark.parametrize("name", PROJECTS)
def test_version_1_comes_back(name):
    assert_same(PROJECTS[name], Project.load(Path(__file__).parent / "projects-v1" / f"{name}.calib"))


def test_version_1_from_before_rows_knew_their_columns():
    rows = Project.load(Path(__file__).parent / "projects-v1" / "before-columns.calib").evaluation
    assert (rows.columns, rows.strategy, rows.coverage) == ({}, "uniform", 1.0)
    assert rows.metadata["fold"].tolist() == [at % 4 for at in range(24)]
    assert rows.metadata["patient"].tolist() == [f"p{at // 2}" for at in range(24)]


def test_bins_per_class_come_back():
    rows = Predictions(PROBA, LABELS, strategy=PerClass((0, 2), "quantile"))
    assert through_a_file(Project("rows", rows)).evaluation.strategy == rows.strategy


def test_everything_comes_back_bit_for_bit(tmp_path):
    evaluation = vectors(40, metadata=TABLE, sample_weight=RNG.random(40), coverage=0.9)
    project = Project("rows", evaluation, truth=RNG.random(40), fixes=("percent",))
    project.save(tmp_path / "my.calib")
    again = Project.load(tmp_path / "my.calib")
    assert_same(project, again)
    assert not again.evaluation.proba.flags.writeable


def test_calibrators_know_their_rows_and_fixes():
    again = through_a_file(PROJECTS["vectors"])
    for name in ("TL-HB", "TS"):
        for holder in (again, again.models["other"]):
            assert holder.calibrators[name].fitted_on_.log == again.fixes
            assert holder.calibrators[name].fitted_on_.fingerprint == holder.calibration.fingerprint


def test_other_tools_read_the_rows(tmp_path):
    """The members are what any reader of archives and of Parquet expects."""
    with zipfile.ZipFile(io.BytesIO(bytes_of(PROJECTS["vectors"].save))) as archive:
        manifest = json.loads(archive.read(MANIFEST))
        arrays, table = (
            archive.read(manifest["evaluation"][part]["file"]) for part in ("arrays", "metadata")
        )
    arrays, table = (pd.read_parquet(io.BytesIO(content)) for content in (arrays, table))
    np.testing.assert_array_equal(np.stack(arrays["proba"]), PROBA)
    assert arrays["labels"].tolist() == LABELS.tolist()
    assert table["site"].tolist()[:3] == ["a", "b", "c"]


def with_changes(content: bytes, change, members=(), method=zipfile.ZIP_STORED) -> bytes:
    """A project file after a change of its manifest, with further members."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", method) as new:
        for name in old.namelist():
            if name == MANIFEST:
                manifest = json.loads(old.read(name))
                change(manifest)
                new.writestr(name, json.dumps(manifest))
            else:
                new.writestr(name, old.read(name))
        for name, further in members:
            new.writestr(name, further)
    return out.getvalue()


def changed(project: Project, change, members=()) -> bytes:
    return with_changes(bytes_of(project.save), change, members)


SMALL = Project(
    "rows", vectors(40, metadata=TABLE[["text"]]), roles=Roles(("a", "b", "c")), truth=np.ones(40)
)
FILES = (UploadedFile("rows.csv", CSV), None, None, UploadedFile("labels.npy", bytes(range(256)) * 100))
UPLOADED = Project("rows", SMALL.evaluation, upload=Upload(FILES, {"evaluation": ("percent",)}))


def test_uploaded_files_come_back_as_they_were():
    again = through_a_file(UPLOADED).upload
    assert again.files == FILES
    assert again.accepted == {"evaluation": ("percent",)}


@pytest.mark.parametrize("text", ["a", "0.25,0.75,cat\n"])
def test_files_that_shrink_much_can_be_opened_again(text):
    """An archive that expands more than ten times is refused, so such files are stored as they are."""
    files = (UploadedFile("rows.csv", text.encode() * ((40 << 20) // len(text))), None, None, None)
    assert through_a_file(replace(UPLOADED, upload=Upload(files))).upload.files == files


def parquet(**columns) -> bytes:
    return bytes_of(lambda file: pq.write_table(pa.table(columns), file))


def replaced(part: str, **columns):
    """A change of a manifest, and the member that takes the place of columns of the evaluation rows."""
    types = {name: "<f8" if values.dtype.kind == "f" else "<i8" for name, values in columns.items()}
    described = {"file": "other.parquet", "types": types}
    return lambda m: m["evaluation"].update({part: described}), [("other.parquet", parquet(**columns))]


@pytest.mark.parametrize(
    "place",
    [
        lambda m: m,
        lambda m: m["roles"],
        lambda m: m["evaluation"],
        lambda m: m["evaluation"]["metadata"],
        lambda m: m["models"][0],
        lambda m: m["calibrators"][0],
        lambda m: m["upload"],
        lambda m: m["upload"]["files"][0],
    ],
)
def test_unknown_keys_are_refused(place):
    """They would be read, and could be as large as a limit allows, for nothing."""
    scaling = TemperatureScaling().fit(SMALL.evaluation.proba, SMALL.evaluation.labels)
    project = replace(UPLOADED, calibrators={"TS": scaling}, models={"other": FurtherModel(vectors(40))})
    project = replace(project, roles=SMALL.roles)
    assert Project.load(changed(project, lambda m: None)).models
    with pytest.raises(InputError, match="'more'"):
        Project.load(changed(project, lambda m: place(m).update(more=[{}] * 10)))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda m: m.update(version=3), "version must be 1 or 2"),
        (lambda m: m.update(version=True), "version must be 1 or 2"),
        (lambda m: m.update(format="other"), '"format"'),
        (lambda m: m.pop("notes"), "lacks 'notes'"),
        (lambda m: m.update(name=3), "name must be a text"),
        (lambda m: m.update(notes="x" * 100_001), "notes must be a text of at most 100000"),
        (lambda m: m.update(fixes=[1]), r"fixes\[0\] must be a text"),
        (lambda m: m.update(settings={"a": {"b": 1}}), "settings"),
        (lambda m: m.update(settings={"a": [1]}), "settings"),
        (lambda m: m.update(split=2.0), "split must be"),
        (lambda m: m.update(date="yesterday"), "date must be"),
        (lambda m: m.update(roles={"probabilities": [1]}), r"roles.probabilities\[0\]"),
        (lambda m: m["roles"].update(kind="other"), "roles.kind"),
        (lambda m: m.update(calibrators={}), "calibrators must be a list"),
        (lambda m: m.update(calibrators=[{}]), "lacks 'name'"),
        (
            lambda m: m.update(calibrators=[{"name": "a", "choices": 1, "file": "x.json"}]),
            "lacks the member 'x",
        ),
        (
            lambda m: m.update(models=[{"name": "a", "evaluation": None, "calibrators": []}]),
            "lacks 'calibration'",
        ),
        (lambda m: m["evaluation"].update(kind="os.system"), "evaluation.kind"),
        (lambda m: m["evaluation"].update(kind="binary"), "arrays of rows of kind 'binary'"),
        (lambda m: m["evaluation"].update(coverage=7), "evaluation.coverage"),
        (lambda m: m["evaluation"].update(coverage=0), "evaluation.coverage"),
        (lambda m: m["evaluation"].update(strategy="other"), "evaluation.strategy"),
        (lambda m: m["evaluation"].update(columns={"id": 1}), r"evaluation.columns\['id'\]"),
        (lambda m: m["evaluation"].update(class_names=["a", "a", "b"]), "class_names must be distinct"),
        (lambda m: m["evaluation"]["arrays"]["types"].pop("proba"), "types of columns"),
        (lambda m: m["evaluation"]["arrays"]["types"].update(proba="<i8"), "column .proba."),
        (lambda m: m["evaluation"]["arrays"]["types"].update(proba="object"), "column 'proba'"),
        (lambda m: m["evaluation"]["arrays"]["types"].update(proba="O"), "a type of numbers"),
        (lambda m: m["evaluation"]["arrays"].update(file="../x"), "lacks the member"),
        (lambda m: m["evaluation"]["arrays"].update(file=m["truth"]), "Parquet"),
        (lambda m: m["evaluation"].update(metadata=m["evaluation"]["arrays"]), "lacks the member"),
        (lambda m: m["evaluation"]["metadata"]["types"].update(text="<f8"), "column 'text'"),
        (lambda m: m["evaluation"]["metadata"]["types"].update(text="object"), None),
        (lambda m: m.update(upload={"files": [None], "accepted": {}}), "upload.files"),
        (lambda m: m.update(upload={"files": [None] * 4, "accepted": {"x": []}}), "accepted"),
        (lambda m: m.update(upload={"files": [None] * 4, "accepted": {"evaluation": [1]}}), "accepted"),
    ],
)
def test_other_content_is_refused_in_a_sentence(change, place):
    content = changed(SMALL, change)
    if place is None:
        assert Project.load(content).evaluation.metadata["text"][0] == '"a"'
        return
    with pytest.raises(InputError, match=place):
        Project.load(content)


@pytest.mark.parametrize(
    ("part", "columns", "sentence"),
    [
        ("arrays", {"proba": np.ones(40), "labels": np.zeros(40, dtype=int)}, "proba"),
        ("arrays", {"labels": np.zeros(40, dtype=int)}, "arrays of rows"),
        ("arrays", {"proba": np.ones(40), "coverage": np.ones(40)}, "arrays of rows"),
        ("metadata", {"n": np.arange(39)}, "metadata"),
    ],
)
def test_other_rows_are_refused_in_a_sentence(part, columns, sentence):
    change, members = replaced(part, **columns)
    with pytest.raises(InputError, match=sentence):
        Project.load(changed(SMALL, change, members))


def test_rows_without_labels_are_refused():
    change, members = replaced("arrays", proba=np.ones(40))
    members = [
        ("other.parquet", parquet(proba=pa.array(vectors(40).proba.tolist(), pa.list_(pa.float64(), 3))))
    ]
    with pytest.raises(InputError, match="need true labels"):
        Project.load(changed(SMALL, change, members))


@pytest.mark.parametrize("truth", [np.ones((40, 2)), np.ones(39), np.full(40, 2.0), np.array(["a"] * 40)])
def test_another_truth_is_refused(truth):
    for member in (bytes_of(np.save, truth), b"text"):
        with pytest.raises(InputError, match="truth"):
            Project.load(changed(SMALL, lambda m: m.update(truth="t.npy"), [("t.npy", member)]))


def test_mixed_values_are_json():
    project = Project("rows", vectors(40, metadata=TABLE[["mixed"]]))
    words = ["{}", "[]", "nul", "1" * 5_000, '{"a": 1}', "[" * 5_000]
    for word in words:
        member = [("other.parquet", parquet(mixed=[word] * 40))]
        change = lambda m: m["evaluation"]["metadata"].update(file="other.parquet")  # noqa: E731
        with pytest.raises(InputError, match="which is no value"):
            Project.load(changed(project, change, member))


def test_every_text_is_whole(tmp_path, capsys):
    """Half a character cannot be printed: it once ended `calib open` with an error of Python's."""
    for place in ("name", "notes", "description", "model"):
        content = changed(SMALL, lambda m, place=place: m.update({place: "a\ud800"}))
        with pytest.raises(InputError, match=f"{place} must be a text"):
            Project.load(content)
        with pytest.raises(InputError, match=f"{place} must be a text"):
            bytes_of(replace(SMALL, **{place: "a\ud800"}).save)
        (tmp_path / "half.calib").write_bytes(content)
        assert main(["open", str(tmp_path / "half.calib")]) == 2
    for change in (
        lambda m: m.update(settings={"a\ud800": {}}),
        lambda m: m.update(fixes=["a\ud800"]),
        lambda m: m["evaluation"].update(class_names=["a\ud800", "b", "c"]),
    ):
        with pytest.raises(InputError):
            Project.load(changed(SMALL, change))


def test_a_member_is_read_once():
    """Else a small file could name one large member a thousand times."""
    twice = lambda m: m.update(calibration=m["evaluation"])  # noqa: E731
    with pytest.raises(InputError, match="lacks the member"):
        Project.load(changed(SMALL, twice))


@pytest.mark.parametrize("name", ["vectors", "top-label"])
@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["evaluation"].update(values=[]),
        lambda m: m["evaluation"]["values"].update(other=1),
        lambda m: m["evaluation"]["values"].update(coverage=7),
        lambda m: m["evaluation"]["values"].update(labels=[1]),
        lambda m: m["evaluation"]["arrays"].update(labels="../x"),
        lambda m: m["evaluation"]["arrays"].update(labels=MANIFEST),
        lambda m: m["evaluation"]["arrays"].update(other=m["evaluation"]["arrays"]["labels"]),
        lambda m: m["evaluation"]["arrays"].update(sample_weight="text.npy"),
        lambda m: m["evaluation"]["arrays"].update(sample_weight="pickle.npy"),
        lambda m: m["evaluation"]["metadata"][0].update(array="text.npy"),
        lambda m: m["evaluation"]["metadata"][0].update(words=["1"]),
        lambda m: m["evaluation"]["metadata"][0].update(words=["{}"] * 12),
        lambda m: m["evaluation"]["metadata"][0].update(words="abcdefghijkl"),
        lambda m: m["evaluation"]["metadata"][1].update(name="patient"),
        lambda m: m["evaluation"]["metadata"][1].update(dtype="O"),
        lambda m: m["evaluation"]["metadata"].append({"name": "a"}),
        lambda m: m.update(models={}),
        lambda m: m.update(name="a\ud800"),
    ],
)
def test_other_content_of_version_1_is_refused(name, change):
    content = (Path(__file__).parent / "projects-v1" / f"{name}.calib").read_bytes()
    hostile = np.array([{"a": 1}] * 24, dtype=object)
    members = [
        ("text.npy", bytes_of(np.save, np.array(["a"] * 24))),
        ("pickle.npy", bytes_of(np.save, hostile, allow_pickle=True)),
    ]
    with pytest.raises(InputError):
        Project.load(with_changes(content, change, members))


#: Values that a key of a manifest rarely has.
STRANGE = (
    None,
    True,
    -1,
    2**70,
    0.5,
    "",
    "a",
    "\ud800",
    [],
    {},
    [[]],
    [1],
    {"a": 1},
    "<f8",
    "object",
    "<M8[ns]",
)


def places(value, place=()):
    """Every place in a manifest, as keys and positions."""
    yield place
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield from places(member, (*place, key))


@pytest.mark.parametrize("version", [1, 2])
def test_any_manifest_gives_a_project_or_a_sentence(version):
    earlier = Path(__file__).parent / "projects-v1" / "top-label.calib"
    content = earlier.read_bytes() if version == 1 else bytes_of(PROJECTS["vectors"].save)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        every = [place for place in places(json.loads(archive.read(MANIFEST))) if place]
    random, refused = np.random.default_rng(version), 0
    for place in every * 5:

        def change(manifest, place=place):
            for key in place[:-1]:
                manifest = manifest[key]
            manifest[place[-1]] = STRANGE[random.integers(len(STRANGE))]

        try:
            Project.load(with_changes(content, change)).frame().to_string().encode()
        except InputError:
            refused += 1
    assert refused > 3 * len(every)


def test_foreign_damaged_and_large_files_are_refused():
    data = bytes_of(SMALL.save)
    with pytest.raises(InputError, match="not a project file"):
        Project.load(b"a,b\n1,2\n")
    with pytest.raises(InputError, match="not a project file"):
        Project.load(bytes_of(np.savez, proba=PROBA))
    with pytest.raises(InputError, match="project"):
        Project.load(data[: len(data) // 2])
    with pytest.raises(InputError, match="limit expanded_bytes"):
        Project.load(data, limits=Limits(expanded_bytes=1_000))
    other = MulticlassToBinary().fit(RNG.dirichlet(np.ones(4), size=60), RNG.integers(0, 4, 60))
    with pytest.raises(InputError, match="4 classes"):
        Project("rows", SMALL.evaluation, calibrators={"other": other})
    members = [("c.json", dumps(other))]
    entry = {"name": "other", "choices": 1, "file": "c.json"}
    with pytest.raises(InputError, match="4 classes"):
        Project.load(changed(SMALL, lambda m: m.update(calibrators=[entry]), members))
    entries = [entry, {**entry, "file": "d.json"}]
    twice = changed(SMALL, lambda m: m.update(calibrators=entries), [*members, ("d.json", b"{}")])
    with pytest.raises(InputError, match="distinct names"):
        Project.load(twice)


def test_columns_of_one_name_are_refused_when_saved():
    table = pd.DataFrame(np.zeros((40, 2)), columns=["a", "a"])
    with pytest.raises(InputError, match="more than once"):
        bytes_of(Project("rows", vectors(40, metadata=table)).save)


#: Prints by how many MiB the memory of a process grows while it reads each file.
PEAKS = """
import sys
from calib import InputError, Project

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

def read(path):
    try:
        Project.load(path)
        return "read"
    except InputError:
        return "refused"

read(sys.argv[1])
for path in sys.argv[2:]:
    open("/proc/self/clear_refs", "w").write("5")
    before = peak()
    print(read(path), peak() - before)
"""


def repeated_values(piece: str) -> bytes:
    """About 6 MB of JSON under a key that no calib writes."""
    return f'{{"format": "calib-project", "x": [{piece * (6_000_000 // len(piece))}1]}}'.encode()


def junk() -> dict[str, tuple[str, bytes]]:
    """By what it is: a member of a project file that is replaced, and its content."""
    with zipfile.ZipFile(io.BytesIO(bytes_of(PROJECTS["vectors"].save))) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    rows, calibrator = manifest["evaluation"]["arrays"]["file"], manifest["calibrators"][0]["file"]
    fitted = repeated_values("[],").replace(b"project", b"calibrator")
    pairs = ",".join(f'"{at:x}":0' for at in range(600_000))
    return {
        **{
            f"manifest of {piece}": (MANIFEST, repeated_values(piece))
            for piece in ("{},", "[],", '"ab",', "0.5,")
        },
        "manifest of one text": (MANIFEST, repeated_values('"' + "a" * 5_999_990 + '\U0001f600",')),
        "manifest of keys": (MANIFEST, f'{{"format": "calib-project", "x": {{{pairs}}}}}'.encode()),
        "calibrator of lists": (calibrator, fitted),
        "rows of random bytes": (rows, RNG.bytes(6_000_000)),
        "rows of zeros": (rows, bytes(100 << 20)),
        "rows that are equal": (rows, parquet(proba=np.ones(10_000_000), labels=np.zeros(10_000_000))),
        "truth of zeros": (manifest["truth"], bytes(100 << 20)),
    }


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux resets the peak")
def test_junk_takes_at_most_ten_times_its_size_and_64_mib(tmp_path):
    paths, names = [tmp_path / "sound.calib"], []
    content = bytes_of(PROJECTS["vectors"].save)
    paths[0].write_bytes(content)
    for name, (member, hostile) in junk().items():
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            if method == zipfile.ZIP_STORED and len(hostile) > 20 << 20:
                continue
            path = tmp_path / f"{len(paths)}.calib"
            with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w", method) as new:
                for each in old.namelist():
                    new.writestr(each, hostile if each == member else old.read(each))
            paths.append(path)
            names.append((name, method))
    done = subprocess.run(
        [sys.executable, "-c", PEAKS, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    found = [line.split() for line in done.stdout.splitlines()]
    assert [outcome for outcome, _ in found] == ["refused"] * len(names)
    for name, path, (_, mebibytes) in zip(names, paths[1:], found, strict=True):
        assert float(mebibytes) <= 10 * path.stat().st_size / 2**20 + 64, name


@pytest.mark.parametrize(
    ("column", "dtype"), [("age", "|i1"), ("age", "|b1"), ("share", "<f2"), ("age", "<u8")]
)
def test_numbers_that_are_not_of_their_type_are_refused(column, dtype):
    rows = vectors(3).with_metadata(pd.DataFrame({"age": [300, 2, -1], "share": [0.1, 0.2, 0.3]}))
    with zipfile.ZipFile(io.BytesIO(bytes_of(Project("types", rows).save))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members[MANIFEST])
    manifest["evaluation"]["metadata"]["types"][column] = dtype
    with pytest.raises(InputError, match=f"column '{column}' must be numbers of type"):
        Project.load(archived({**members, MANIFEST: json.dumps(manifest).encode()}))
