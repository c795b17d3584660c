"""Files read in another process: the same results, and deaths that are one sentence."""

from __future__ import annotations

import gzip
import json
import os
import signal

import numpy as np
import pandas as pd
import pytest

from calib import InputError, MulticlassToBinary, check
from calib.files.readers.reading import read_table
from calib.files.saved import dumps
from pages.shared.isolation import reader
from pages.shared.isolation.objects import Packer
from pages.shared.isolation.reader import load, read_files
from pages.shared.isolation.wire import Channel, MessageTooLarge
from tests.files.readers.test_hostile import FILES
from tests.written import bytes_of

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), 60)
FRAME = pd.DataFrame(100 * PROBA, columns=["cat", "dog", "cow"]).assign(label=PROBA.argmax(axis=1))
CSV = FRAME.to_csv(index=False).encode()
SLOW = gzip.compress(b"[" + b"{}," * (8 << 20) + b"{}]")
LARGE = CSV + CSV[CSV.index(b"\n") + 1 :] * 3_000
LOST = "Nothing you had loaded is lost"


def read(content, name="file.csv", **options):
    return read_files([(name, content), None, None, None], **options)


@pytest.mark.parametrize("name", FILES)
def test_result_is_that_of_reading_here(name):
    tables, _, reports = read(FILES[name])
    here, table = check(FILES[name]), read_table(FILES[name])
    assert tables[1:] == [None] * 3
    for kind in ("columns", "matrices"):
        got, wanted = getattr(tables[0], kind), getattr(table, kind)
        assert list(got) == list(wanted)
        for column in wanted:
            assert got[column].dtype == wanted[column].dtype
            assert not got[column].flags.writeable
            np.testing.assert_array_equal(got[column], wanted[column])
    assert list(reports) == list(here)
    for part, report in reports.items():
        assert [str(each.message) for each in report.findings] == [e.message for e in here[part].findings]
        for got, wanted in zip(report.findings, here[part].findings, strict=True):
            np.testing.assert_array_equal(got.rows, wanted.rows)
        if report.ok:
            assert report.predictions().fingerprint == here[part].predictions().fingerprint


def test_fix_of_a_finding_that_was_made_elsewhere():
    report, here = read(CSV)[2]["evaluation"], check(CSV)["evaluation"]
    assert report.codes[0] == "percent"
    assert str(report.effect("percent")) == str(here.effect("percent"))
    fixed = report.fix("percent")
    assert fixed.log == here.fix("percent").log
    assert fixed.predictions().fingerprint == here.fix("percent").predictions().fingerprint


def test_tables_that_were_read_before_are_examined_with_new_files():
    tables, roles, _ = read(FRAME.drop(columns="label").to_csv(index=False).encode())
    labels = bytes_of(np.save, FRAME["label"].to_numpy())
    tables, _, reports = read_files([tables[0], ("labels.npy", labels), None, None], roles=roles)
    assert reports["evaluation"].fix("percent").predictions().labels.tolist() == FRAME["label"].tolist()


def test_refusal_names_the_file():
    with pytest.raises(InputError, match=r"'mine.csv' is empty"):
        read(b"", "mine.csv")


def test_a_calibrator_is_read_elsewhere():
    load("calibrator", dumps(MulticlassToBinary().fit(PROBA, PROBA.argmax(axis=1))))
    with pytest.raises(InputError):
        load("calibrator", b'{"format": "x"}')


def ask(own, content, progress=None):
    call = Packer().pack([[("file", 0), None, None, None], None])
    return own.ask({"job": "read", "call": call}, [content], progress=progress)[0][0]


def test_deaths_are_one_sentence_and_another_reader_takes_over(own_reader):
    own = own_reader(seconds=1)
    with pytest.raises(InputError, match=f"took longer than 1 seconds.*{LOST}"):
        ask(own, SLOW)
    own.seconds = 60

    def kill(share, words):
        os.kill(own.process.pid, signal.SIGABRT)

    with pytest.raises(InputError, match=f"a library ended the process .SIGABRT.*{LOST}"):
        ask(own, LARGE, kill)
    ask(own, CSV)
    pid = own.process.pid
    with pytest.raises(InputError, match=f"fault of calib .KeyError; the server's log has it.*{LOST}"):
        own.ask({"job": "none"})
    ask(own, CSV)
    assert own.process.pid == pid, "one process does many jobs"


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is limited on Linux only")
def test_memory_is_limited(own_reader):
    own = own_reader(memory_mib=200)
    wide = bytes_of(np.save, np.full((8_000_000, 4), 0.25))
    with pytest.raises(InputError, match=f"memory|{LOST}"):
        ask(own, wide)
    ask(own, CSV)


def test_what_a_file_holds_is_limited(own_reader, monkeypatch):
    own = own_reader()
    monkeypatch.setenv("CALIB_SESSION_MB", "1")
    with pytest.raises(InputError, match="CALIB_SESSION_MB"):
        ask(own, LARGE)
    ask(own, CSV)


def test_no_memory_is_taken_for_more_than_is_allowed():
    incoming, outgoing = os.pipe()
    with open(incoming, "rb") as ours, open(outgoing, "wb") as theirs:
        head = json.dumps({"blobs": [1 << 50], "arrays": []}).encode()
        theirs.write(len(head).to_bytes(8, "little") + head)
        theirs.flush()
        with pytest.raises(MessageTooLarge):
            Channel(ours, theirs).receive(1 << 20)


def test_stop_in_the_middle_leaves_no_answer_for_the_next_job(own_reader):
    own = own_reader()

    def stop(share, words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(own, LARGE, stop)
    assert ask(own, CSV).format == "csv"


def test_readers_are_started_before_they_are_needed():
    reader.pool.start()
    read(CSV)
    assert read(CSV)[0][0].n_rows == 60
