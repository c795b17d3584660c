"""The server: who may reach it, what it asks outside, what it gives back, and what its limits say."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import tomllib
import weakref

import numpy as np
import pandas as pd
import pytest
from starlette.responses import PlainTextResponse
from streamlit import net_util
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.testing.v1 import AppTest
from streamlit.web.server.app_discovery import discover_asgi_app
from streamlit.web.server.server_util import is_url_from_allowed_origins

import calib
import serve
from app import MOVED
from calib import __version__
from calib.diagrams.class_sizes import class_binning
from pages.shared import housekeeping, kept, page_results
from pages.shared.housekeeping import give_back, sweep
from pages.shared.isolation import limits
from pages.shared.isolation.objects import Packer
from pages.shared.isolation.wire import Channel
from tests.app.running import PLACES, ROOT, open_page, press, turn_to, words


def table(n: int = 400) -> bytes:
    """CSV of labelled rows of two classes."""
    random = np.random.default_rng(0)
    p = random.random(n)
    frame = pd.DataFrame({"a": p, "b": 1 - p, "label": np.where(random.random(n) < p, "a", "b")})
    return frame.to_csv(index=False).encode()


def use_upload(app, n: int = 400):
    app.file_uploader(key="up").upload("secret-name.csv", table(n), "text/csv").run()
    return app


def test_a_foreign_origin_is_refused_without_a_request(monkeypatch):
    def outside(*arguments, **options):
        raise AssertionError("a request to the outside")

    monkeypatch.setattr(net_util, "_make_blocking_http_get", outside)
    monkeypatch.setattr(net_util, "_external_ip", None)
    monkeypatch.setattr(net_util, "_internal_ip", None)
    monkeypatch.setattr(serve.LOG, "handlers", [logging.NullHandler()])
    serve.prepare()
    assert not is_url_from_allowed_origins("http://evil.example")
    assert is_url_from_allowed_origins("http://localhost:8501")


def test_threads_of_the_server_wait_little_for_each_other(monkeypatch):
    monkeypatch.setattr(net_util, "_external_ip", None)
    monkeypatch.setattr(net_util, "_internal_ip", None)
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        serve.prepare()
        assert sys.getswitchinterval() < 0.001
    finally:
        sys.setswitchinterval(before)


def test_streamlit_run_imports_the_protected_app():
    """So that the hosts that start `streamlit run app.py` by themselves serve what serve.py sets up."""
    assert discover_asgi_app(ROOT / "app.py").import_string == "app:app"


def test_the_server_is_local_and_names_its_hosts():
    server = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))["server"]
    assert server["address"] == "localhost"
    assert server["allowedHosts"] == ["localhost", "127.0.0.1", "::1"]
    assert server["enableXsrfProtection"] is True
    assert server["disconnectedSessionTTL"] + housekeeping.INTERVAL < 60


def test_hosts_are_added_by_an_environment_variable(monkeypatch):
    monkeypatch.setenv("CALIB_HOSTS", "calib.example.org, *.example.net")
    assert serve.hosts() == [
        *("--server.allowedHosts", "calib.example.org", "--server.allowedHosts", "*.example.net"),
        *("--server.allowedHosts", "localhost", "--server.allowedHosts", "127.0.0.1"),
    ]
    monkeypatch.delenv("CALIB_HOSTS")
    assert serve.hosts() == []


class Held:
    """What a stored session needs for the storage, and a reference to itself, as sessions have."""

    id = "1"

    def __init__(self, ended: list[str]) -> None:
        self.session, self.ended, self.session_state = self, ended, {"data": self}
        self._fragment_storage = MemoryFragmentStorage()

    def shutdown(self) -> None:
        """Note that the session was ended, and not only dropped."""
        self.ended.append("shut down")

    def __del__(self) -> None:
        self.ended.append(self.id)


@pytest.mark.parametrize(("seconds", "left"), [(0, 0), (60, 1)])
def test_expired_sessions_are_swept_without_a_visitor(seconds, left):
    """Uses the storage of the installed Streamlit: a version that moves what `sweep` needs fails here."""
    ended: list[str] = []
    storage = MemorySessionStorage(ttl_seconds=seconds)
    storage.save(Held(ended))
    sweep(storage)
    give_back()
    assert ended == ([] if left else ["shut down", "1"])
    assert len(storage.list()) == left


def test_a_session_that_something_keeps_holds_nothing_after_its_end():
    storage, held = MemorySessionStorage(ttl_seconds=0), Held([])
    held._fragment_storage.register("fragment", lambda: held)
    storage.save(held)
    sweep(storage)
    assert held._session_state == {}
    assert not held._fragment_storage.contains("fragment")


def test_downloads_end_with_their_session(monkeypatch):
    media = MediaFileManager(MemoryMediaFileStorage("/media"))
    for session in ("1", "2"):
        monkeypatch.setattr("streamlit.runtime.media_file_manager._get_session_id", lambda item=session: item)
        media.add(session.encode(), "text/plain", "coordinates", is_for_static_download=True)
    storage = MemorySessionStorage(ttl_seconds=0)
    held = Held([])
    held.shutdown = lambda: media.clear_session_refs("1")
    storage.save(held)
    sweep(storage, media)
    (left,) = media._file_metadata
    assert {left} == set(media._files_by_session_and_coord["2"].values())


@pytest.mark.parametrize("name", ["rows_of", "three_class_view", "apply_scheme"])
def test_results_with_rows_belong_to_a_session(name):
    assert getattr(page_results, name).rows


@pytest.mark.parametrize("function", [calib.risk_coverage, class_binning])
def test_answers_with_rows_belong_to_a_session(function):
    assert function in page_results.HOLDING_ROWS
    assert page_results._own.rows


def test_results_of_all_sessions_hold_no_rows():
    """Pages are opened with more rows than redraws; then no shared result has as many numbers."""
    app = use_upload(open_page("pages/views/data.py", example="two-patients"), 2_400)
    for room, tab in [place for place in PLACES if place[0] in ("overview", "reliability")]:
        turn_to(app, room, tab)
        assert not app.exception
    rows = app.session_state["dataset"].evaluation
    own = app.session_state["kept"]
    assert own.size > rows.proba.nbytes
    shared = [item for key, item in kept._shared_results.results.items() if rows.fingerprint in str(key)]
    assert len(shared) > 10
    for result, _ in shared:
        if isinstance(result, bytes):
            assert result.count(b"\n") < rows.n_samples
            continue
        arrays = Packer()
        arrays.pack(result)
        assert all(array.size < rows.n_samples for array in arrays.arrays)


def test_results_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(kept, "_all", weakref.WeakSet())  # without the sessions of other tests
    monkeypatch.setattr(kept, "MOST_MB", 2.0)
    first, second = kept.Kept(), kept.Kept()
    first.put("a", np.zeros(100_000))
    second.put("b", np.zeros(100_000))
    first.get("a")
    second.put("c", np.zeros(50_000))
    first.put("d", np.zeros(60_000))  # more than 2 MB together: the session used longest ago gives way
    assert list(second.results) == ["c"]
    assert list(first.results) == ["a", "d"]
    assert (first.size, second.size) == (8 * 160_000, 8 * 50_000)
    with pytest.raises(KeyError):
        second.get("b")


def test_limits_are_said_in_a_sentence(monkeypatch):
    app = open_page("pages/views/data.py", example="two-patients")
    app.file_uploader(key="up").upload("secret-name.csv", table(), "text/csv").run()
    app.button(key="undo-data").click().run()
    for name in ("CALIB_SESSION_MB", "CALIB_SERVER_MB"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "0.001")
            press(app, "Use these files")
            (error,) = app.error
            assert name.replace("_", "\\_") in error.value
            assert app.session_state["dataset"].example == "two-patients"
    press(app, "Use these files")
    assert app.session_state["dataset"].example is None
    held = [app.session_state[name] for name in ("dataset", "methods", "reading", "previous")]
    size = limits.n_bytes(held) / 1e6  # each fit of a curve adds 0.005
    monkeypatch.setenv("CALIB_SESSION_MB", str(size + 0.012))
    app.switch_page("pages/views/repair.py").run()
    for name in ("TS", "ETS", "SVS", "SMS"):
        app.selectbox(key="chosen").select(name).run()
    assert not app.exception
    assert "CALIB\\_SESSION\\_MB" in app.error[0].value


def test_files_in_upload_fields_count_and_are_dropped_where_they_are_too_much(monkeypatch):
    app = open_page("pages/views/data.py", example="two-patients")
    monkeypatch.setenv("CALIB_SESSION_MB", "0.01")  # the file has 14 kB
    app.file_uploader(key="up").upload("secret-name.csv", table(), "text/csv").run()
    (error,) = app.error
    assert "CALIB\\_SESSION\\_MB" in error.value
    assert "reading" not in app.session_state


def test_limits_follow_the_memory_unless_they_are_set(monkeypatch, tmp_path):
    for name in limits.SHARES:
        monkeypatch.delenv(name, raising=False)
    machine = limits.memory_mb()
    assert machine > 500
    (tmp_path / "memory.max").write_text("256000000\n", encoding="ascii")
    monkeypatch.setattr(limits, "CONTAINER", (str(tmp_path / "memory.max"), str(tmp_path / "absent")))
    assert limits.memory_mb() == 256.0
    assert limits.limit("CALIB_SESSION_MB") == pytest.approx(51.2)
    assert limits.limit("CALIB_SERVER_MB") == pytest.approx(102.4)
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    assert limits.memory_mb() >= machine
    monkeypatch.setenv("CALIB_SERVER_MB", "inf")
    assert limits.limit("CALIB_SERVER_MB") == float("inf")


def test_lost_data_are_spoken_of_until_other_data_are_used():
    """After a restart of the server, the browser opens a new session at the address it shows."""
    before = use_upload(open_page("pages/views/data.py", example="two-patients"))
    assert before.query_params["data"] == "uploaded"
    for page in ("pages/views/reliability.py", "pages/views/data.py"):
        app = open_page(page, data="uploaded")
        assert "no longer on the server" in words(app)
        assert "data" not in app.query_params
    use_upload(app)
    assert "no longer on the server" not in words(app)


def test_lost_calibrators_of_an_example_are_spoken_of_too():
    app = open_page("pages/views/repair.py", example="two-patients")
    assert "fitted" not in app.query_params
    app.selectbox(key="chosen").select("ETS").run()
    assert "fitted" in app.query_params
    after = open_page("pages/views/reliability.py", example="two-patients", fitted="yes")
    assert "calibrators you fitted" in words(after)
    assert "project file" in words(after)
    after.switch_page("pages/views/repair.py").run()
    after.selectbox(key="chosen").select("ETS").run()
    after.run()
    assert "no longer on the server" not in words(after)


def test_a_calibrator_that_is_uploaded_leaves_a_line_in_the_log(caplog):
    app = open_page("pages/views/repair.py", repair_tab="Apply", example="two-patients")
    with caplog.at_level(logging.INFO, logger="calib.app"):
        app.file_uploader(key="calibrator-file").upload("secret.json", b"{}", "application/json").run()
    lines = [record.getMessage() for record in caplog.records if record.name == "calib.app"]
    assert any(line.startswith("upload outcome=refused megabytes=0.0 seconds=") for line in lines)
    assert not app.exception


def test_log_has_sizes_and_durations_and_no_names(caplog):
    with caplog.at_level(logging.INFO, logger="calib.app"):
        app = use_upload(open_page("pages/views/data.py", example="two-patients"))
        app.switch_page("pages/views/repair.py").run().selectbox(key="chosen").select("ETS").run()
    lines = [record.getMessage() for record in caplog.records if record.name == "calib.app"]
    assert any(line.startswith("data rows=400 calibration_rows=0 classes=2 megabytes=") for line in lines)
    assert any(line.startswith("fit rows=200 seconds=") for line in lines)
    assert any(line.startswith("upload outcome=read megabytes=0.0 seconds=") for line in lines)
    assert "secret-name" not in "".join(lines)


def test_a_dying_reader_is_one_sentence_in_one_session_and_one_line_of_the_log(caplog, monkeypatch):
    """The pipe to the reader breaks in the middle of a job, and the reader is ended for it."""
    app = open_page("pages/views/data.py", example="two-patients")
    before = app.session_state["dataset"]

    def broken(*arguments):
        raise BrokenPipeError

    with monkeypatch.context() as patch, caplog.at_level(logging.INFO, logger="calib.app"):
        patch.setattr(Channel, "send", broken)
        app.file_uploader(key="up").upload("secret-name.csv", table(), "text/csv").run()
    assert not app.exception
    (error,) = app.error
    assert "the file ended the reader" in error.value
    assert "Nothing you had loaded is lost" in error.value
    assert app.session_state["dataset"] is before
    lines = [record.getMessage() for record in caplog.records if record.name == "calib.app"]
    (upload,) = [line for line in lines if line.startswith("upload ")]
    assert re.fullmatch(r"upload outcome=refused megabytes=0\.0 seconds=\d+\.\d\d", upload)
    assert "secret-name" not in "".join(lines)

    other = open_page("pages/views/data.py", example="two-patients")
    assert use_upload(other).session_state["dataset"].example is None


def test_a_provider_in_the_secrets_makes_a_login_necessary():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.secrets["auth"] = {"client_id": "x"}
    app.run()
    assert [button.label for button in app.button] == ["Log in"]
    assert [title.value for title in app.title] == ["calib"]
    assert "dataset" not in app.session_state


def test_every_page_names_the_version():
    app = open_page("pages/views/learn.py", learn_tab="Glossary")
    assert f"calib {__version__}" in [caption.value for caption in app.caption]


@pytest.mark.parametrize(
    ("asked", "leads"),
    [
        ("/classes?class=3&example=digits", "./reliability?class=3&example=digits"),
        ("/calib/over_time/", "../groups?groups_tab=Over+time"),
        ("/noise", "./?overview_tab=How+sure+is+each+number%3F"),
        ("/overview?bins=20", "./?bins=20"),
        ("/reliability", ""),
    ],
)
def test_former_addresses_lead_to_their_room_with_their_settings(asked, leads):
    sent = []

    async def send(message):
        sent.append(message)

    path, _, query = asked.partition("?")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    asyncio.run(serve.Moved(PlainTextResponse("a page"), "overview", MOVED)(scope, None, send))
    assert dict(sent[0]["headers"]).get(b"location", b"").decode() == leads
