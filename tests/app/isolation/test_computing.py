"""Computations in another process: the same results, in turn, and ended when nobody waits for them."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import calib
from calib import InputError, Predictions
from calib.answers import cut_column
from calib.calibrators.catalogue import named_methods
from calib.evidence.clusters import Clusters
from calib.evidence.rows import Rows
from calib.report import ReportInput
from calib.stats import calibration_tests
from calib.stats.floors import noise_floors
from pages.shared.isolation import computing
from pages.shared.isolation.computing import FUNCTIONS, Computer, Job, fit
from pages.shared.isolation.objects import Packer, n_bytes, unpack
from pages.shared.isolation.process import Pool, session_of_thread

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), 400)
LABELS = (RNG.random((400, 1)) > PROBA.cumsum(axis=1)).sum(axis=1)
ROWS = Predictions(PROBA, LABELS, ["cat", "dog", "cow"])
CALIBRATION, EVALUATION = ROWS.split(0.5)
EVIDENCE = Rows(ROWS)
ERROR = {"tl_ece": {"metric": "ece"}}
HISTOGRAM = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=4))
CONFIDENCE = np.clip(ROWS.confidence - 0.1, 0, 1)
TOPS = [EVIDENCE.tops(), Rows(calib.TopLabelPrediction(ROWS.label, CONFIDENCE, LABELS))]
FITTED = clone(HISTOGRAM).fit(CALIBRATION.proba, CALIBRATION.labels)
EVENT = calib.BinaryPrediction(CONFIDENCE, ROWS.label == LABELS)
SITES = cut_column(RNG.choice(["north", "south"], 400), name="site")
MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
#: Arguments and options of each function.
CALLS = {
    "calibrated_scores": ((FITTED, EVALUATION), {}),
    "calibration_band": ((EVIDENCE,), {}),
    "calibration_by_centre": ((EVENT,), {"centre": SITES}),
    "calibration_slope": ((EVIDENCE,), {}),
    "calibration_tests": ((EVIDENCE,), {"tests": ("kuiper", "spiegelhalter")}),
    "kernel_test": ((LABELS, PROBA, len(LABELS)), {}),
    "canonical_noise_floor": ((EVIDENCE,), {"cells": ROWS.label, "n_resamples": 20, "random_state": 0}),
    "confirm_choice": ((Rows(EVALUATION), Rows(EVALUATION)), {}),
    "choose_actions": ((EVIDENCE,), {"costs": 1.0 - np.eye(3)}),
    "class_binning": ((CALIBRATION, EVALUATION), {"n_bins": 3, "n_resamples": 20}),
    "class_diagram": ((EVIDENCE,), {"label": 1}),
    "class_table": ((EVIDENCE,), {"n_resamples": 20, "random_state": 0}),
    "compare_models": (({"one": (CALIBRATION, EVALUATION)}, []), {"n_resamples": 20}),
    "conclude": ((EVIDENCE,), {}),
    "corp_curve": ((EVIDENCE,), {"notion": "confidence"}),
    "fit": ((HISTOGRAM, CALIBRATION, EVALUATION), {}),
    "measure_interval": ((EVIDENCE, "tl_ece"), {}),
    "noise_floors": ((EVIDENCE, ERROR), {"n_resamples": 50, "random_state": 0}),
    "over_time": (
        (EVIDENCE,),
        {"time": [f"2026-03-{1 + row // 20:02}" for row in range(400)]},
    ),
    "risk": ((EVENT,), {}),
    "problem_floors": ((EVIDENCE,), {"n_resamples": 20, "random_state": 0}),
    "recommend": ((ROWS,), {"methods": {"TL-HB": HISTOGRAM}}),
    "reliability_diagram": ((EVIDENCE,), {}),
    "slices": ((TOPS[1],), {"groups": [SITES], "n_resamples": 20, "random_state": 0}),
    "metrics": ((EVIDENCE,), {}),
    "metric_intervals": ((EVIDENCE, calib.metrics(EVIDENCE)), {}),
    "validity_curve": ((EVIDENCE,), {"n_resamples": 20, "random_state": 0}),
    "write_table": ((pd.DataFrame({"p": RNG.random(1_200), "of": ["cat", "=x", None] * 400}),), {}),
    "write_report": ((ReportInput(EVALUATION, {"TL-HB": FITTED}, CALIBRATION, n_resamples=50),), {}),
}


def contents(value):
    """Everything in an object, as JSON types and arrays."""
    packer = Packer()
    return packer.pack(value), packer.arrays


def same(got, wanted):
    if isinstance(got, str):  # a report names the minute in which it was written
        got, wanted = (MINUTE.sub("", text) for text in (got, wanted))
    (got, got_arrays), (wanted, wanted_arrays) = contents(got), contents(wanted)
    assert got == wanted
    for item, other in zip(got_arrays, wanted_arrays, strict=True):
        assert item.dtype == other.dtype
        np.testing.assert_array_equal(item, other)


def test_every_function_has_its_call():
    assert CALLS.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_results_elsewhere_are_those_here(name):
    arguments, options = CALLS[name]
    job = Job(FUNCTIONS[name][0], arguments, options)
    same(job.do_elsewhere(), job.do_here())


def test_only_listed_functions_are_called():
    with pytest.raises(KeyError):
        Job(os.system, ("true",), {})
    with pytest.raises(InputError, match="fault of calib .KeyError"):
        computing.pool.ask({"job": "compute", "call": Packer().pack(["system", ["true"], {}])})
    with pytest.raises(TypeError, match="not sent"):
        unpack({"object": "subprocess:Popen", "state": {}}, [])
    with pytest.raises(TypeError, match="not sent"):
        Packer().pack(threading.Lock())


@pytest.mark.parametrize("name", list(named_methods()))
def test_calibrators_come_back_as_they_were(name):
    fitted, scores = fit(named_methods()[name], CALIBRATION, EVALUATION)
    description, arrays = contents(fitted)
    returned = unpack(description, arrays)
    same(returned, fitted)
    same(calib.answers.calibrated.calibrated_scores(returned, EVALUATION), scores)


def test_a_refusal_is_that_of_the_function():
    job = Job(noise_floors, (EVIDENCE, {"tl_ece": {"metric": "none"}}), {})
    with pytest.raises(InputError, match='metric must be "ece" or "mce"'):
        job.do_elsewhere()


def test_evidence_is_sent_with_what_it_found_and_without_texts():
    """A worker neither searches for clusters nor sorts again, and reads no names of patients."""
    patient = np.repeat(np.arange(80), 5)
    columns = pd.DataFrame({"patient": patient.astype(str), "row": np.arange(400)})
    rows = Predictions(
        PROBA, LABELS, metadata=columns, columns={"id": "row"}, sample_weight=RNG.random(400) + 0.5
    )
    evidence = Rows(rows.with_strategy("quantile"))
    evidence.clusters = Clusters.of(patient, 400)  # found in a column, which is not sent
    evidence.problems("confidence")
    description, arrays = contents(evidence)
    again = unpack(description, arrays)
    assert again.n_clusters == 80
    assert [problems.notion for problems in again.reduced] == ["confidence"]
    assert list(again.predictions.metadata) == ["row"]
    assert (again.strategy, again.predictions.columns) == ("quantile", {"id": "row"})
    np.testing.assert_array_equal(again.weights, evidence.weights)
    for notion in ("confidence", "class-wise"):
        same(again.cells(notion), evidence.cells(notion))
    alone = unpack(*contents(Rows(ROWS)))
    assert alone.n_clusters is None


def test_size_decides_where():
    assert Job(noise_floors, (EVIDENCE, ERROR), {}).is_short
    wide = Predictions(np.broadcast_to(np.float32(0.001), (50_000, 1_000)), LABELS[:1].repeat(50_000))
    assert Job(calib.metrics, (Rows(wide),), {}).is_short  # it takes as long as to send 200 MB
    rare = Rows(Predictions(np.full((3_000, 100), 0.01), np.zeros(3_000, dtype=int)))
    assert Job(noise_floors, (rare, ERROR), {}).is_short  # sums of cells are drawn
    assert Job(calib.reliability_diagram, (rare,), {}).is_short
    many = np.zeros(10_000)
    large = Predictions(np.full((20_000, 10), 0.1), np.zeros(20_000, dtype=int))
    assert Job(fit, (HISTOGRAM, large, large), {}).is_short
    assert not Job(fit, (calib.DirichletScaling(l2="cv"), large, large), {}).is_short
    assert n_bytes({"a": (many, [many])}) == many.nbytes + 1 + 16 + 8
    assert Job(calib.recommend, (ROWS,), {}).seconds > computing.LONG
    distinct = calib.BinaryPrediction(np.linspace(0, 1, 20_000), np.zeros(20_000, dtype=int))
    assert not Job(calibration_tests, (Rows(distinct),), {}).is_short
    assert Job(calibration_tests, (EVIDENCE,), {}).is_short
    patients = Rows(large.with_cluster(np.arange(20_000) // 20)).tops()
    for function in (calib.reliability_diagram, noise_floors, calib.class_table):
        assert Job(function, (Rows(large).tops(),), {}).is_short
        assert Job(function, (patients,), {}).is_short == (function is calib.reliability_diagram)


@pytest.fixture(scope="module")
def pool():
    """A pool of one worker; a test may leave it without a process."""
    made = Pool(Computer, 1)
    yield made
    made.close()


def wait_for(condition):
    for _ in range(9000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("this did not happen in 180 seconds")


def test_jobs_wait_in_turn_and_end_when_nobody_waits(pool):
    """A job stopped by its session frees the worker at once; one that waits leaves the queue."""
    big = Predictions(RNG.dirichlet(np.ones(10), 20_000), RNG.integers(10, size=20_000))
    endless = {"notion": "class-wise", "n_resamples": 10**6, "random_state": 0}
    head, arrays = Job(noise_floors, (Rows(big), ERROR), endless).message
    told: dict[str, list[str]] = {"first": [], "second": [], "third": []}
    stop = {name: threading.Event() for name in told}

    class Left(BaseException):
        """A session that asks for another page."""

    def ask(name):
        def progress(share, words):
            told[name].append(words)
            if stop[name].is_set():
                raise Left

        try:
            pool.ask(head, (), arrays, progress)
        except Left:
            told[name].append("left")
        except InputError as error:
            told[name].append(str(error))

    threads = {name: threading.Thread(target=ask, args=(name,), daemon=True) for name in told}

    def working(name):
        return any("Waiting" not in words for words in told[name])

    threads["first"].start()
    wait_for(lambda: working("first"))
    threads["second"].start()
    wait_for(lambda: "Waiting: 1 other job first" in told["second"])
    threads["third"].start()
    wait_for(lambda: "Waiting: 2 other jobs first" in told["third"])
    stop["second"].set()
    wait_for(lambda: "left" in told["second"])
    wait_for(lambda: told["third"][-1] == "Waiting: 1 other job first")
    pid = pool.all[0].process.pid
    stop["first"].set()
    wait_for(lambda: working("third"))
    assert pool.all[0].process.pid != pid
    os.kill(pool.all[0].process.pid, signal.SIGKILL)
    for thread in threads.values():
        thread.join(60)
        assert not thread.is_alive()
    assert told["third"][-1].startswith("the computation was not finished: the system ended the process")
    assert "Nothing you had loaded is lost" in told["third"][-1]
    assert not pool.waiting
    assert len(pool.idle) == 1


def test_long_jobs_have_workers_of_their_own(monkeypatch):
    """What takes seconds is not behind what takes minutes, nor behind megabytes of rows."""
    asked, seconds = [], [1.0, computing.LONG + 1.0, 1.0]
    for name in ("pool", "long_pool"):
        stand_in = types.SimpleNamespace(ask=lambda *job, name=name: asked.append(name))
        monkeypatch.setattr(computing, name, stand_in)
    quick = {"noise_floors": (noise_floors, lambda *_, **__: seconds[len(asked)])}
    monkeypatch.setattr(computing, "FUNCTIONS", FUNCTIONS | quick)
    for n_bytes_of_scores in (8, 8, computing.LARGE + 8):
        Job(noise_floors, (np.zeros(n_bytes_of_scores // 8), ERROR), {}).do_elsewhere()
    assert asked == ["pool", "long_pool", "long_pool"]
    assert computing.LongComputer.niceness > Computer.niceness > 0


def test_threads_of_a_session_are_its_own():
    named = []
    threads = [threading.Thread(target=lambda: named.append(session_of_thread())) for _ in range(2)]
    threads[1].streamlit_script_run_ctx = types.SimpleNamespace(session_id="one")
    for thread in threads:
        thread.start()
        thread.join()
    assert named == [threads[0].name, "one"]


def silent(share, words):
    """Take no progress."""


def test_a_long_job_lets_shorter_ones_go_first():
    item, order = Pool(Computer, 1), []
    worker = item._next_worker(silent, 0.0, "")

    def take(seconds):
        taken = item._next_worker(silent, seconds, "")
        order.append(seconds)
        with item.turn:
            item.idle.append(taken)
            item.turn.notify_all()

    threads = [threading.Thread(target=take, args=(seconds,), daemon=True) for seconds in (30.0, 0.0, 5.0)]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_for(lambda number=number: len(item.waiting) == number)
    with item.turn:
        item.idle.append(worker)
        item.turn.notify_all()
    for thread in threads:
        thread.join(60)
    assert order == [0.0, 5.0, 30.0]


def test_a_session_that_used_workers_lets_others_go_first(pool):
    """One session's files do not stand before another's, whoever came first."""
    names, order = ("busy", "other"), []

    def take(name):
        taken = pool._next_worker(silent, 0.0, name)
        order.append(name)
        with pool.turn:
            pool.idle.append(taken)
            pool.turn.notify_all()

    head, arrays = Job(calib.reliability_diagram, (EVIDENCE,), {}).message
    busy = threading.Thread(target=pool.ask, args=(head, (), arrays), name="busy")
    busy.start()
    busy.join(60)
    assert pool.yielding["busy"] > 0
    pool.yielding["busy"] += 30.0
    worker = pool._next_worker(silent, 0.0, "")
    threads = [threading.Thread(target=take, args=(name,), daemon=True) for name in names]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_for(lambda number=number: len(pool.waiting) == number)
    with pool.turn:
        pool.idle.append(worker)
        pool.turn.notify_all()
    for thread in threads:
        thread.join(60)
    assert order == ["other", "busy"]


def test_idle_processes_end(pool):
    pool.start()
    process = pool.all[0].process
    pool.rest(1000)
    assert process.poll() is None
    pool.rest(0)
    assert process.poll() is not None
    assert pool.all[0].process is None
