"""Hostile visitors at the door of the app: what they are refused, and what others wait for meanwhile.

    python -m benchmarks.load.door [uploads] [stalled] [project] [slow] [last] [handles] [login]

All by default, each with a server of its own on 127.0.0.1. Prints what was seen; exits with 1 if something
was let in, or others had to wait. Files have at most 300 MB; the longest wait is for sessions to end.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import resource
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import requests
from websockets.exceptions import InvalidStatus

from benchmarks.load.memory import visit
from benchmarks.load.visitor import Visitor, as_npz, resident, served
from benchmarks.timing import simulated

CSV = b"cat,dog,label\n" + b"0.75,0.25,cat\n0.25,0.75,dog\n" * 100
#: Limits of the server, in MB.
LIMITS = {"CALIB_SESSION_MB": "100", "CALIB_SERVER_MB": "250"}
#: Megabytes that a server may hold more than before, and seconds that others may wait.
MORE, WAIT = 100.0, 5.0
#: Seconds after which an upload that brings nothing is ended, and after which sessions that left are gone.
STALLED, GONE = 30.0, 60.0

faults: list[str] = []


def expect(right: bool, words: str) -> None:
    """Print what was seen, and note it if it is wrong."""
    print(("   " if right else "!! ") + words, flush=True)
    if not right:
        faults.append(words)


def waited(url: str) -> float:
    """Seconds in which another visitor uploads a small file and puts it to use."""
    begin = time.perf_counter()
    visitor = Visitor(url, "data")
    visitor.use("small.csv", CSV)
    visitor.close()
    if not any("small.csv" in text for text in visitor.texts("markdown")):
        raise AssertionError("the file is not in use")
    return time.perf_counter() - begin


def put(visitor: Visitor, content: bytes, address: str = "") -> int:
    """Return the status of an upload, to an address that was asked for; 0 if the connection was cut."""
    try:
        return visitor.put(address or visitor.address().upload_url, content).status_code
    except requests.ConnectionError:
        return 0


def uploads() -> None:
    """Upload files that are too large, and that no field asked for, beside the file of another visitor."""
    with served(**LIMITS) as (url, pid):
        hostile, elsewhere = Visitor(url, "data"), Visitor(url, "glossary")
        time.sleep(8)  # the server loads what its pages need
        before = resident(pid)
        for _ in range(4):
            status = put(hostile, bytes(300_000_000))
            expect(status in (413, 0), f"300 MB where 100 are allowed: {status or 'cut'}")
        own = hostile.address().upload_url
        expect(put(hostile, bytes(90_000_000), own) == 204, "90 MB come in")
        expect(put(hostile, bytes(20_000_000)) == 413, "20 MB more do not")
        made_up = own.rsplit("/", 1)[0] + "/00000000-0000-0000-0000-000000000000"
        expect(put(hostile, CSV, made_up) == 403, "a file that nobody asked for: refused")
        expect(put(hostile, CSV, own) == 403, "an address that was used: refused")
        expect(put(elsewhere, CSV) == 403, "a page without fields: refused")
        expect(resident(pid) - before < 90 + MORE, f"the server holds {resident(pid) - before:.0f} MB more")
        others = [Visitor(url, "data") for _ in range(2)]
        for other in others:
            put(other, bytes(90_000_000))
        seconds = waited(url)
        expect(seconds < WAIT, f"beside 270 MB of hostile uploads, 3 kB are in use after {seconds:.1f} s")


def stalled() -> None:
    """Stop uploads in the middle: the server ends them, and keeps nothing of them."""
    with served(CALIB_SESSION_MB="1000", CALIB_SERVER_MB="2500") as (url, pid):
        visitor = Visitor(url, "data")
        headers = {
            "Cookie": visitor.cookies,
            "X-Xsrftoken": visitor.token,
            "Content-Type": "multipart/form-data; boundary=x",
            "Content-Length": "150000000",
        }
        begun = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + bytes(50_000_000)
        lines = [http.client.HTTPConnection(urlsplit(url).netloc, timeout=2 * STALLED) for _ in range(6)]
        for line in lines:
            line.request("PUT", visitor.address().upload_url, begun, headers)
        expect(temporary(pid) > 0, f"{temporary(pid)} temporary files of stalled uploads")
        begin = time.monotonic()
        visitor.close()
        statuses = [line.getresponse().status for line in lines]
        seconds = time.monotonic() - begin
        expect(statuses == [408] * 6 and seconds < STALLED + 5, f"answers after {seconds:.0f} s: {statuses}")
        time.sleep(11)  # the server looks for what is left every 10 s
        expect(temporary(pid) == 0, f"{temporary(pid)} temporary files left")


def temporary(pid: int) -> int:
    """How many files without a name a process has open (Linux)."""
    names = [os.readlink(handle) for handle in Path(f"/proc/{pid}/fd").iterdir() if handle.is_symlink()]
    return sum(name.endswith(" (deleted)") and "/memfd:" not in name for name in names)


def project() -> None:
    """Open a project file of 60 kB with 20 million objects under a key that no calib writes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("project.json", '{"format": "calib-project", "x": [' + "{}," * 20_000_000 + "{}]}")
    with served() as (url, pid), ThreadPoolExecutor(1) as pool:
        visitors = [Visitor(url, "data") for _ in range(3)]
        time.sleep(8)
        before, slowest = resident(pid), 0.0
        opened = [pool.submit(visitor.use, "one.calib", file.getvalue()) for visitor in visitors]
        while not opened[-1].done():
            begin = time.perf_counter()
            requests.get(f"{url}/_stcore/health", timeout=60).raise_for_status()
            slowest = max(slowest, time.perf_counter() - begin)
            time.sleep(0.02)
        more = resident(pid) - before
        expect(more < MORE, f"three projects of {len(file.getvalue()) / 1e3:.0f} kB: {more:.0f} MB more")
        expect(slowest < 1.0, f"others waited {slowest:.2f} s at most")
        shown = " ".join(visitors[0].texts("alert"))
        expect("Not opened" in shown, f"the page says: {shown[:100]}")


def slow() -> None:
    """Read files that once took quadratic time beside the small file of another visitor."""
    twice = "".join(f'"{i}":0,' for i in range(20_000))
    files = {
        "names.json": ("[{" + twice + '"19999":1}]').encode(),
        "blanks.csv": b'cat,dog,label\n0.5,0.5,"a' + b" " * 200_000 + b'b\nc"\n',
        "ranked.json": json.dumps(
            [{"scores": {f"k{i}": 1.0}, "label": f"k{i}"} for i in range(20_000)]
        ).encode(),
    }
    with served() as (url, _):
        waited(url)  # the reader starts
        hostile = [Visitor(url, "data") for _ in files]
        begin = time.perf_counter()
        with ThreadPoolExecutor(len(files)) as pool:
            for visitor, (name, content) in zip(hostile, files.items(), strict=True):
                pool.submit(visitor.use, name, content)
            seconds = waited(url)
        expect(seconds < WAIT, f"beside {', '.join(files)}, 3 kB are in use after {seconds:.1f} s")
        seconds = time.perf_counter() - begin
        expect(seconds < 4 * WAIT, f"all are answered after {seconds:.1f} s")


def last() -> None:
    """Let three sessions of 286 MB leave: what the server holds a minute later, and their downloads."""
    with served() as (url, pid):
        time.sleep(8)
        before = resident(pid)
        visitors, addresses = [], []
        for number in range(3):
            file = as_npz(*simulated(71_500, 1_000, seed=number))
            visitor = visit(url, file, ("overview", "reliability"))
            visitor.open("Save")
            visitor.press("Figure (HTML)")
            addresses += [button.url for button, _ in visitor.named("download_button") if button.url]
            visitors.append(visitor)
        held = resident(pid)
        for visitor in visitors:
            visitor.close()
        time.sleep(GONE)
        now = resident(pid)
        expect(
            now < before + MORE,
            f"{before:.0f} MB at the start, {held:.0f} held, {now:.0f} {GONE:.0f} s after the last left",
        )
        statuses = {requests.get(url + address, timeout=60).status_code for address in addresses}
        time.sleep(GONE)
        print(f"   {resident(pid):.0f} MB another {GONE:.0f} s later", flush=True)
        expect(statuses == {404}, f"{len(addresses)} downloads of sessions that left: {statuses}")


def handles() -> None:
    """Let many visitors come to a server that may open 64 files: a sentence, and those inside go on."""
    with served() as (url, pid):
        inside = Visitor(url, "glossary")
        time.sleep(8)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))
        lines = [requests.Session() for _ in range(80)]  # each keeps its connection
        answers = [line.get(f"{url}/_stcore/health", timeout=60) for line in lines]
        statuses = sorted({answer.status_code for answer in answers})
        expect(set(statuses) <= {200, 503}, f"80 connections: {statuses}")
        expect(statuses == [200] or "Try again" in answers[-1].text, f"the last: {answers[-1].text}")
        try:
            others = [Visitor(url, "glossary") for _ in range(80)]
            expect(False, f"{len(others)} visitors, and no refusal")
        except InvalidStatus as error:
            words = error.response.body.decode()
            expect(error.response.status_code == 503, f"a visitor too many: 503, {words}")
        inside.look_at("glossary")
        expect(True, "a visitor who came before goes on")


def login() -> None:
    """Ask for what is a user's own without being logged in."""
    with tempfile.TemporaryDirectory() as folder:
        secrets = Path(folder) / "secrets.toml"
        secrets.write_text(
            '[auth]\nredirect_uri = "http://127.0.0.1/oauth2callback"\ncookie_secret = "secret"\n'
            'client_id = "x"\nclient_secret = "x"\n'
            'server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"\n'
        )
        with served(f"--secrets.files={secrets}") as (url, _):
            visitor = Visitor(url, "data")
            expect(bool(visitor.named("button", "Log in")), "the page asks for a login")
            statuses = [put(visitor, CSV)]
            for path in ("_stcore/metrics", "media/x.html", "_stcore/health"):
                statuses.append(requests.get(f"{url}/{path}", timeout=60).status_code)
            expect(statuses == [403, 403, 403, 200], f"upload, metrics, media, health: {statuses}")


DRIVERS = {item.__name__: item for item in (uploads, stalled, project, slow, last, handles, login)}


def main() -> int:
    for name in sys.argv[1:] or DRIVERS:
        print(f"{name}: {DRIVERS[name].__doc__}", flush=True)
        DRIVERS[name]()
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
