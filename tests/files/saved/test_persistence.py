"""Calibrator files: bit for bit back, and nothing but CalibratorFileError from a bad one."""

from __future__ import annotations

import copy
import io
import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import calib
from calib import (
    CalibratorFileError,
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    Predictions,
    load,
    save,
)
from calib.answers import guarantee_card
from calib.calibrators import catalogue
from calib.data.notions import NOTIONS
from calib.export.replay import largest_difference, outputs
from calib.files.saved import MAX_BYTES, MAX_VALUES, aligned, checksum, dumps, loads, schema
from calib.files.saved.types import TYPES
from tests.populations import rows
from tests.sample_calibrators import (
    ALONE,
    BINARY,
    CONTINUOUS,
    MULTICLASS,
    OF_SCORES,
    fitted,
    fitted_binary,
    is_smooth,
)


def answers(calibrator, proba: np.ndarray) -> list[np.ndarray]:
    """Every output of a calibrator for these rows."""
    arrays = [calibrator.predict(proba)]
    if hasattr(calibrator, "predict_top"):
        top = calibrator.predict_top(proba)
        arrays += [top.label, top.confidence]
    if hasattr(calibrator, "predict_top_k"):
        arrays += list(calibrator.predict_top_k(proba))
    if hasattr(calibrator, "predict_proba"):
        arrays.append(calibrator.predict_proba(proba))
    return arrays


def assert_same_bits(first, second, proba):
    for left, right in zip(answers(first, proba), answers(second, proba), strict=True):
        assert left.dtype == right.dtype
        assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("name", MULTICLASS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loaded_calibrator_predicts_the_same_bits(name, dtype):
    calibrator = fitted(name)
    loaded = loads(dumps(calibrator))
    assert type(loaded) is type(calibrator)
    assert repr(loaded) == repr(calibrator)
    assert_same_bits(calibrator, loaded, np.concatenate([rows(2)[0], np.eye(4)]).astype(dtype))
    if hasattr(calibrator, "fallbacks_"):
        assert loaded.fallbacks_ == calibrator.fallbacks_
        assert loaded.n_points_.tolist() == calibrator.n_points_.tolist()


@pytest.mark.parametrize("name", MULTICLASS)
def test_saving_what_was_loaded_gives_the_same_bytes(name):
    data = dumps(fitted(name), class_names=["a", "b", "c", "d"])
    assert dumps(loads(data)) == data


@pytest.mark.parametrize("name", ALONE)
def test_binary_calibrators_stand_alone(name):
    calibrator, scores = fitted_binary(name), np.random.default_rng(0).random(300)
    loaded = loads(dumps(calibrator))
    assert loaded.class_names_ is None
    assert loaded.predict(scores).tobytes() == calibrator.predict(scores).tobytes()


@given(
    scores=st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40),
    points=st.integers(1, 10),
    ties=st.sampled_from(["group", "randomize"]),
)
def test_any_histogram_binning_survives(scores, points, ties):
    outcomes = np.arange(len(scores)) % 3 == 0
    hb = HistogramBinning(points_per_bin=points, ties=ties, random_state=0).fit(scores, outcomes)
    loaded = loads(dumps(hb))
    for name in ("edges_", "values_", "counts_"):
        assert getattr(loaded, name).tobytes() == getattr(hb, name).tobytes()


@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    binary=st.sampled_from([BINARY[name] for name in CONTINUOUS]),
)
def test_any_smooth_calibrator_survives(scores, binary):
    calibrator = copy.deepcopy(binary).fit(scores, np.arange(len(scores)) % 3 == 0)
    grid = np.linspace(0, 1, 101)
    assert loads(dumps(calibrator)).predict(grid).tobytes() == calibrator.predict(grid).tobytes()


@given(noise=st.integers(0, 10_000), n_classes=st.integers(2, 30), n=st.integers(5, 200))
def test_any_reduction_survives(noise, n_classes, n):
    random = np.random.default_rng(noise)
    proba = random.dirichlet(np.full(n_classes, 0.3), n).astype(random.choice([np.float32, np.float64]))
    notion = str(random.choice(NOTIONS))
    calibrator = MulticlassToBinary(
        HistogramBinning(points_per_bin=int(random.integers(1, 20))),
        notion=notion,
        fallback=str(random.choice(["identity", "pooled"])),
        min_points=int(random.integers(1, 9)) if noise % 2 else None,
    ).fit(proba, random.integers(0, n_classes, n))
    loaded = loads(dumps(calibrator))
    assert loaded.fallbacks_ == calibrator.fallbacks_
    assert_same_bits(calibrator, loaded, random.dirichlet(np.full(n_classes, 0.3), 50))


def test_columns_follow_the_calibrators_class_names():
    proba, y = rows(1)
    names = ("a", "b", "c", "d")
    calibrator = loads(dumps(MulticlassToBinary().fit(proba, y), class_names=names))
    order = [2, 0, 3, 1]
    shuffled = Predictions(proba[:, order], np.argsort(order)[y], [names[code] for code in order])
    restored = aligned(shuffled, calibrator)
    assert restored.class_names == names
    assert np.array_equal(restored.proba, proba)
    assert np.array_equal(restored.labels, y)
    unnamed = Predictions(proba)
    assert aligned(unnamed, calibrator) is unnamed
    with pytest.raises(InputError, match="class 'x' is none of the expected classes"):
        aligned(Predictions(proba, class_names=["a", "b", "c", "x"]), calibrator)
    with pytest.raises(InputError, match="4 classes, the predictions have 3"):
        aligned(Predictions(np.full((1, 3), 1 / 3)), calibrator)


def test_origin_and_names_are_carried(tmp_path):
    proba, y = rows(1)
    data = Predictions(proba, y, ["cat", "<b>", "ß\n", '"'])
    save(MulticlassToBinary().fit(proba, y), tmp_path / "cal.json", fitted_on=data)
    loaded = load(str(tmp_path / "cal.json"))
    assert loaded.class_names_ == ("cat", "<b>", "ß\n", '"')
    assert loaded.fitted_on_.n_samples == 300
    assert loaded.fitted_on_.fingerprint == data.fingerprint
    assert loaded.fitted_on_.calib_version == calib.__version__
    assert loads(dumps(fitted("pooled"))).class_names_ == ("0", "1", "2", "3")


def test_file_objects_and_paths_hold_the_same(tmp_path):
    calibrator, stream = fitted("pooled"), io.BytesIO()
    save(loads(dumps(calibrator)), stream)
    (tmp_path / "cal.json").write_bytes(stream.getvalue())
    stream.seek(0)
    assert_same_bits(load(stream), load(tmp_path / "cal.json"), rows(3)[0])
    with (
        (tmp_path / "cal.json").open(encoding="utf-8") as text,
        pytest.raises(CalibratorFileError, match="binary mode"),
    ):
        load(text)


def test_generators_become_null():
    noisy = HistogramBinning(ties="randomize", random_state=np.random.default_rng(0)).fit([0.1, 0.2], [0, 1])
    assert loads(dumps(noisy)).random_state is None


def test_numpy_parameters_are_plain_numbers_in_the_file():
    hb = HistogramBinning(n_bins=np.int64(2), delta=np.float32(0.5), random_state=np.int8(1))
    assert loads(dumps(hb.fit([0.1, 0.9], [0, 1]))).get_params() == hb.get_params()


def test_what_cannot_be_saved_is_refused(tmp_path):
    calibrator = fitted("pooled")
    with pytest.raises(NotFittedError):
        dumps(MulticlassToBinary())
    with pytest.raises(CalibratorFileError, match="dict cannot be stored"):
        dumps({})

    class Homemade(HistogramBinning):
        pass

    with pytest.raises(CalibratorFileError, match="Homemade cannot be stored"):
        dumps(Homemade().fit([0.5], [1]))
    with pytest.raises(CalibratorFileError, match="must be one of"):
        dumps(MulticlassToBinary(Homemade()).fit(*rows(1)))
    with pytest.raises(InputError, match="got 2 for 4"):
        dumps(calibrator, class_names=["a", "b"])
    with pytest.raises(CalibratorFileError, match="distinct"):
        dumps(calibrator, class_names=["a", "b", "a", "c"])
    with pytest.raises(CalibratorFileError, match=r"classes\[0\]"):
        dumps(calibrator, class_names=["\ud800", "b", "a", "c"])
    with pytest.raises(InputError, match="fitted_on has 3"):
        dumps(calibrator, fitted_on=Predictions(np.full((2, 3), 1 / 3)))
    with pytest.raises(CalibratorFileError, match=r"fitted_on\.n must be 300"):
        save(calibrator, tmp_path / "x.json", fitted_on=Predictions(rows(1)[0][:5]))
    assert not (tmp_path / "x.json").exists()


# --- the schema -----------------------------------------------------------------------------------


def test_shipped_schema_is_that_of_the_code():
    shipped = Path(calib.__file__).parent / "files" / "saved" / "calibrator.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == schema(), (
        "write json.dumps(schema(), indent=1) to calib/files/saved/calibrator.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.fixture(scope="module")
def validator():
    """`jsonschema.validate` checks the schema itself at every call: that takes a second."""
    return jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("name", MULTICLASS)
def test_files_keep_to_the_schema(name, validator):
    validator.validate(json.loads(dumps(fitted(name))))


def test_schema_is_closed(validator):
    document = json.loads(dumps(fitted("pooled")))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(document | {"more": 1})


# --- tampering ------------------------------------------------------------------------------------

WRONG = [
    None,
    True,
    "x",
    "",
    -1,
    0,
    3,
    10**30,
    -0.5,
    0.5,
    1e308,
    [],
    {},
    [[]],
    [0.5],
    [None] * 3,
    {"type": 1},
]


def paths(value, path=()):
    """Path of every value in a document."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for index in range(min(len(value), 2)):
            yield from paths(value[index], (*path, index))


def changed(document, path, change):
    """A deep copy where `change(parent, key)` was applied at `path`."""
    copied = copy.deepcopy(document)
    parent = copied
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return copied


def signed(document) -> bytes:
    """The bytes of a document whose checksum is right, as a clever attacker would write it."""
    body = {key: value for key, value in document.items() if key != "checksum"}
    return json.dumps(body | {"checksum": checksum(body)}).encode()


TAMPERED = [
    "pooled",
    "pooled top-k",
    "normalized",
    *catalogue.SCHEMES,
    *(method.short for method in catalogue.VECTOR.values()),
    *(f"top-label/{name}" for name in CONTINUOUS),
]


@pytest.mark.parametrize("name", TAMPERED)
def test_every_change_without_a_new_checksum_is_found(name):
    document = json.loads(dumps(fitted(name)))
    for path in [path for path in paths(document) if path]:
        original = document
        for key in path:
            original = original[key]
        for wrong in WRONG[::4]:
            if type(wrong) is type(original) and wrong == original:
                continue
            tampered = changed(document, path, lambda parent, key, w=wrong: parent.__setitem__(key, w))
            with pytest.raises(CalibratorFileError):
                loads(json.dumps(tampered).encode())


@pytest.mark.parametrize("name", TAMPERED)
def test_every_missing_and_every_extra_key_is_found(name):
    document = json.loads(dumps(fitted(name)))
    for path in [path for path in paths(document) if path]:
        shorter = changed(document, path, lambda parent, key: parent.__delitem__(key))
        if path[-1] == "left_out_":  # as in earlier files
            loads(signed(shorter))
            continue
        with pytest.raises(CalibratorFileError):
            loads(json.dumps(shorter).encode() if path == ("checksum",) else signed(shorter))
    for path in paths(document):
        where = document
        for key in path:
            where = where[key]
        if isinstance(where, dict):
            with pytest.raises(CalibratorFileError, match="unknown key 'more'|checksum"):
                loads(signed(changed(document, (*path, "more"), lambda parent, key: parent.update({key: 1}))))


@pytest.mark.parametrize("name", TAMPERED)
def test_wrong_values_with_a_right_checksum_never_do_harm(name):
    """Refused in one way, or (where the value happens to be allowed) a calibrator that predicts."""
    document = json.loads(dumps(fitted(name)))
    proba = rows(4, 20)[0]
    refused = loaded = 0
    for path in [path for path in paths(document) if path and path != ("checksum",)]:
        for wrong in WRONG:
            tampered = changed(document, path, lambda parent, key, w=wrong: parent.__setitem__(key, w))
            try:
                calibrator = loads(signed(tampered))
            except CalibratorFileError:
                refused += 1
                continue
            loaded += 1
            for array in answers(calibrator, proba):
                assert np.isfinite(array).all()
    assert refused > 10 * loaded


def tampered_state(name, **values) -> bytes:
    document = json.loads(dumps(fitted(name)))
    document["state"].update(values)
    return signed(document)


def test_messages_say_what_and_where():
    document = json.loads(dumps(fitted("pooled")))

    def refuse(change, match):
        broken = copy.deepcopy(document)
        change(broken)
        with pytest.raises(CalibratorFileError, match=match):
            loads(signed(broken))

    def first(broken):
        return broken["state"]["calibrators_"][0]

    refuse(
        lambda d: first(d)["values_"].append(0.5),
        r"state\.calibrators_\[0\]\.values_ has 3 entries",
    )
    refuse(
        lambda d: first(d)["values_"].__setitem__(0, 1.5), r"calibrators_\[0\]\.values_ must be numbers from"
    )
    refuse(lambda d: first(d)["counts_"].__setitem__(0, 1), r"counts_ must be counts that sum to \d+; got")
    refuse(
        lambda d: d["params"].update(binary={"type": "os.system", "params": {}}), "params.binary.type must be"
    )
    refuse(lambda d: d.update(type="Pipeline"), "type must be one of HistogramBinning, .*; got 'Pipeline'")
    refuse(lambda d: d.update(version=2), "version must be 1 for this calib; got 2")
    refuse(lambda d: d.update(format="x"), "this is not a calibrator file")
    refuse(lambda d: d["state"].update(n_classes_=5), r"state\.n_points_ has 4 entries")
    refuse(lambda d: d["classes"].append("e"), "classes must be a list of 4 names; got a list of 5")
    refuse(
        lambda d: d["state"]["calibrators_"].__setitem__(0, None), r"must be an object \(it has \d+ points"
    )
    refuse(lambda d: d["fitted_on"].update(date="yesterday"), "fitted_on.date must be a UTC time")


def test_edges_must_be_monotone():
    edges = fitted("confidence/bins").calibrators_[0].edges_.tolist()
    state = json.loads(dumps(fitted("confidence/bins")))["state"]["calibrators_"]
    state[0]["edges_"] = edges[::-1]
    with pytest.raises(CalibratorFileError, match=r"edges_ must be non-decreasing; entries 0 and 1 are not"):
        loads(tampered_state("confidence/bins", calibrators_=state))
    state[0]["edges_"] = [edges[0], edges[0], edges[2]]
    with pytest.raises(CalibratorFileError, match="edges_ must be increasing"):
        loads(tampered_state("confidence/bins", calibrators_=state))
    assert all(a < b for a, b in pairwise(edges))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_not_finite_numbers_are_refused(word):
    data = dumps(fitted("grid")).decode()
    at = data.index("0.0")
    with pytest.raises(CalibratorFileError, match="not a finite number"):
        loads((data[:at] + word + data[at + 3 :]).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"12",
        b"\xff\xfe{}",
        b"\x80\x04K\x01.",
        b"PK\x03\x04",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        b'{"format": "calib-calibrator", "version": 1}',
        b'{"format": "calib-calibrator", "version": 1, "version": 1}',
        b'{"format": "calib-calibrator", "version": true}',
        b'{"format": "calib-calibrator", "version": ' + b"9" * 5_000 + b"}",
    ],
)
def test_other_bytes_are_refused(data):
    with pytest.raises(CalibratorFileError):
        loads(data)


def test_truncated_files_are_refused():
    data = dumps(fitted("grid"))
    for stop in range(0, len(data) - 2, 97):
        with pytest.raises(CalibratorFileError):
            loads(data[:stop])


def test_large_files_are_refused_before_they_are_parsed(monkeypatch):
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(CalibratorFileError, match="bytes; it is too large"):
        loads(b" " * (MAX_BYTES + 1))
    with pytest.raises(CalibratorFileError, match="values; it is too large"):
        loads(b"[" + b"0," * (MAX_VALUES + 1))
    with pytest.raises(CalibratorFileError, match="bytes of memory; it is too large"):
        loads(b"[" * 1_000_001)


def test_every_type_of_the_table_is_tested():
    tested = [*MULTICLASS.values(), *OF_SCORES.values()]
    assert {type(calibrator).__name__ for calibrator in tested if calibrator is not None} == set(TYPES)
    listed = {method.make.__name__ for method in (catalogue.BINARY | catalogue.VECTOR).values()}
    others = {"MulticlassToBinary", "CanonicalBinning", "CorrectedCalibrator", "CorrectedScores"}
    assert listed | others == set(TYPES)


# --- old files ------------------------------------------------------------------------------------

OLD = Path(__file__).parent / "calibrators-v1"
OLD_ANSWERS = json.loads((OLD / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", OLD_ANSWERS["answers"])
def test_files_of_version_1_are_read_for_ever(name):
    proba = np.array(OLD_ANSWERS["proba"])
    calibrator = load(OLD / f"{name}.json")
    actual = outputs(calibrator, proba[:, 0] if name.startswith("binary") else proba)
    expected = {key: np.array(values) for key, values in OLD_ANSWERS["answers"][name].items()}
    # Bins give the same bits everywhere; exp, log and interpolation may round differently on another machine.
    rounded = is_smooth(calibrator) or name.endswith("isotonic")
    assert largest_difference(actual, expected) <= (1e-12 if rounded else 0.0)
    if not name.startswith("binary"):
        assert calibrator.class_names_ == ("cat", "dog", 'Zürich "<b>"')
        assert calibrator.fitted_on_.n_samples == 90


@pytest.mark.parametrize("name", OLD_ANSWERS["answers"])
def test_files_of_version_1_are_still_written_the_same(name):
    data = (OLD / f"{name}.json").read_bytes()
    assert dumps(loads(data)) == data


def test_a_file_of_every_type_is_kept():
    types = {json.loads(file.read_bytes()).get("type") for file in OLD.glob("*.json")}
    assert types - {None} == set(TYPES), (
        "save a fitted calibrator of each new type in calibrators-v1, and in answers.json what "
        "calib.export.replay.outputs gives for the rows there"
    )


def test_file_tells_of_accepted_fixes_and_only_of_those(tmp_path):
    calibrator = HistogramBinning(n_bins=2).fit([0.1, 0.4, 0.6, 0.9], [0, 1, 1, 1])
    plain, logged = (
        json.loads(dumps(calibrator)),
        json.loads(dumps(calibrator, log=["percent: divided by 100"])),
    )
    assert "log" not in plain["fitted_on"]
    assert logged["fitted_on"]["log"] == ["percent: divided by 100"]
    assert loads(json.dumps(logged).encode()).fitted_on_.log == ("percent: divided by 100",)
    again = json.loads(dumps(loads(json.dumps(logged).encode())))
    assert again["fitted_on"]["log"] == ["percent: divided by 100"]
    for wrong in ([], "text", [1], ["x" * 2_000], [None] * 3, ["x"] * 101):
        logged["fitted_on"]["log"] = wrong
        logged["checksum"] = checksum({key: value for key, value in logged.items() if key != "checksum"})
        with pytest.raises(CalibratorFileError, match=r"fitted_on\.log"):
            loads(json.dumps(logged).encode())


def test_files_keep_among_how_many_it_was_chosen():
    calibrator = fitted("pooled")
    plain, chosen = json.loads(dumps(calibrator)), json.loads(dumps(calibrator, choices=10))
    assert "choices" not in plain["fitted_on"]
    assert chosen["fitted_on"]["choices"] == 10
    loaded = loads(json.dumps(chosen).encode())
    assert loaded.fitted_on_.choices == 10
    assert guarantee_card(loaded).words() == guarantee_card(calibrator, choices=10).words()
    assert guarantee_card(loaded).words() != guarantee_card(calibrator).words()
    again = json.loads(dumps(loaded, fitted_on=Predictions(np.full((300, 4), 0.25))))
    assert again["fitted_on"]["choices"] == 10
    for wrong in (1, 0, True, 2.0, "10", None):
        chosen["fitted_on"]["choices"] = wrong
        chosen["checksum"] = checksum({key: value for key, value in chosen.items() if key != "checksum"})
        with pytest.raises(CalibratorFileError, match=r"fitted_on\.choices"):
            loads(json.dumps(chosen).encode())
    with pytest.raises(InputError, match="choices"):
        dumps(calibrator, choices=0)
