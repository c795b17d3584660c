"""Files of monitors: what is read back goes on bit for bit, and what is changed is refused."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import calib
from calib import CalibratorFileError, InputError, Monitor
from calib.files.saved.document import load_calibrator, write_document
from calib.files.saved.monitors import monitor_bytes, monitor_of


def rows(seed):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(3), 120)
    return random.integers(3, size=120), proba, {"groups": np.where(random.random(120) < 0.5, "a", "b")}


def watched(weeks=3):
    y, proba, groups = rows(99)
    monitor = Monitor(by="site", tolerance=0.01, alpha=0.1).compare_with(y, proba, **groups)
    for number in range(weeks):
        y, proba, groups = rows(number)
        monitor.update(y, proba, np.full(120, number), **groups)
    return monitor


@pytest.mark.parametrize("weeks", [0, 3])
def test_a_monitor_that_is_read_back_goes_on_bit_for_bit(weeks, tmp_path):
    item = watched(weeks)
    calib.save(item, tmp_path / "state.json")
    other = calib.load(tmp_path / "state.json")
    assert monitor_bytes(other) == monitor_bytes(item)
    y, proba, groups = rows(7)
    for monitor in (item, other):
        monitor.update(y, proba, np.full(120, 7), **groups)
    assert monitor_bytes(other) == monitor_bytes(item)
    assert other.frame().equals(item.frame())


def test_a_file_of_a_year_is_small():
    monitor = Monitor()
    for number in range(52):
        monitor.update(*rows(number)[:2])
    assert len(monitor_bytes(monitor)) < 200_000


CHANGES = [
    (("format",), "calib-calibrator"),
    (("version",), 2),
    (("params", "alpha"), 0),
    (("params", "notion"), "top-k-label"),
    (("params", "tolerance"), -1.0),
    (("params", "by"), 3),
    (("params", "by"), "\ud800"),
    (("state", "n_rows"), 1),
    (("state", "clock"), "moon"),
    (("state", "largest"), "high"),
    (("state", "hashes"), [2, 1]),
    (("blocks", "last"), [1.0]),
    (("levels",), {}),
    (("levels", "all", "names"), ["", ""]),
    (("levels", "all", "begun"), [[255] * 34]),
    (("levels", "all", "weights"), [0.0]),
    (("levels", "all", "n_bets"), [1]),
    (("levels", "all", "cells", 0), [99, 0]),
    (("levels", "all", "mixed"), [[1.0]]),
    (("levels", "class", "weights"), [0.5, 0.5, 0.5]),
    (("start", 0, "level"), "row"),
    (("start", 0, "lower"), [1.0, 1.0, 1.0, 1.0, 1.0]),
    (("start",), {}),
]


def test_a_file_without_the_level_of_all_rows_is_refused():
    document = json.loads(monitor_bytes(watched()))
    del document["checksum"], document["levels"]["all"]
    with pytest.raises(CalibratorFileError, match="levels"):
        monitor_of(write_document(document))


@pytest.mark.parametrize(("place", "value"), CHANGES, ids=[".".join(map(str, item)) for item, _ in CHANGES])
def test_a_file_with_a_wrong_value_is_refused(place, value):
    document = json.loads(monitor_bytes(watched()))
    del document["checksum"]
    inside = document
    for key in place[:-1]:
        inside = inside[key]
    assert inside[place[-1]] != value
    inside[place[-1]] = value
    with pytest.raises(CalibratorFileError, match="monitor file"):
        monitor_of(write_document(document))


def test_bounds_of_one_unit_twice_are_refused():
    document = json.loads(monitor_bytes(watched()))
    document.pop("checksum")
    document["start"].append(document["start"][0] | {"lower": document["start"][0]["upper"]})
    with pytest.raises(CalibratorFileError, match="distinct units"):
        monitor_of(write_document(document))


def test_a_damaged_file_is_refused():
    data = monitor_bytes(watched())
    for damaged in (data[:-20], data.replace(b'"largest": ', b'"largest": 1'), b"", b"[]", b"\xff"):
        with pytest.raises(CalibratorFileError, match="monitor file"):
            monitor_of(damaged)


def test_a_monitor_is_told_by_its_format_wherever_the_key_stands():
    document = json.loads(monitor_bytes(watched()))
    again = calib.load(io.BytesIO(json.dumps(document, sort_keys=True, indent=1).encode()))
    assert monitor_bytes(again) == monitor_bytes(watched())
    y, proba, _ = rows(1)
    names = ['"format": "calib-monitor"', "b", "c"]
    file = io.BytesIO()
    calib.save(calib.TemperatureScaling().fit(proba, y), file, class_names=names)
    file.seek(0)
    assert calib.load(file).class_names_ == tuple(names)


def test_a_monitor_is_neither_saved_with_options_nor_read_as_a_calibrator(tmp_path):
    for option in ({"class_names": ["a"]}, {"fitted_on": 3}, {"log": ["x"]}, {"choices": 2}):
        with pytest.raises(InputError, match=next(iter(option))):
            calib.save(Monitor(), tmp_path / "state.json", **option)
    calib.save(Monitor(), tmp_path / "state.json")
    with pytest.raises(CalibratorFileError, match="not a calibrator file"):
        load_calibrator(tmp_path / "state.json")


def test_a_monitor_that_eight_threads_share_can_be_saved_and_read():
    monitor, saved = Monitor(), []

    def add(number):
        monitor.update(*rows(number)[:2], batch=str(number))
        saved.append(monitor_bytes(monitor))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(24)))
    assert {monitor_of(data).n_rows for data in saved} <= {120 * (k + 1) for k in range(24)}
    again = monitor_of(monitor_bytes(monitor))
    assert (again.n_rows, sorted(map(int, again.batches))) == (24 * 120, list(range(24)))
