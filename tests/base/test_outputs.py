"""Files that commands write: old or new, never between; never over an input."""

from __future__ import annotations

import concurrent.futures
import contextlib
import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib import load, save, scale
from calib.base.outputs import MINE, write_whole
from calib.calibrators import TemperatureScaling
from calib.cli.parser import main
from tests import ROOT


@contextlib.contextmanager
def small_disk(size: int) -> Iterator[None]:
    """Let this process write files of at most `size` bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def table(tmp_path) -> Path:
    """2,000 labelled rows of three classes."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.dirichlet(np.ones(3), 2_000), columns=["a", "b", "c"])
    frame.assign(label=np.array(["a", "b", "c"])[random.integers(0, 3, 2_000)]).to_csv(
        tmp_path / "rows.csv", index=False
    )
    return tmp_path / "rows.csv"


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("output", ["cal.json", "out.csv", "out.parquet", "report.html"])
def test_full_disk_leaves_the_former_file_and_says_so(capsys, table, output):
    """A process that may write 500 bytes: every output is longer."""
    cal, target = table.with_name("fitted.json"), table.with_name(output)
    assert main(["fit", str(table), "--points-per-bin", "50", "-o", str(cal)]) == 0
    target.write_bytes(b"former content")
    before = names_in(table.parent)
    command = {
        "cal.json": ["fit", table, "--points-per-bin", 50, "-o", target],
        "report.html": ["report", table, "--resamples", 20, "-o", target],
    }.get(output, ["apply", cal, table, "-o", target])
    capsys.readouterr()
    with small_disk(500):
        assert main([*map(str, command)]) == 2
    assert "File too large; nothing was written, and what was there is unchanged" in capsys.readouterr().err
    assert target.read_bytes() == b"former content"
    assert names_in(table.parent) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_is_written_directly(capsys, table):
    assert main(["fit", str(table), "-o", os.devnull]) == 0
    assert os.path.exists(os.devnull)
    capsys.readouterr()
    assert main(["fit", str(table), "-o", "/dev/full"]) == 2
    assert capsys.readouterr().err.endswith("/dev/full: No space left on device\n")


def test_readers_never_see_half_a_file(tmp_path):
    """400 loads or more while two writers replace the file by two calibrators of different size."""
    random = np.random.default_rng(1)
    proba, labels = random.dirichlet(np.ones(300), 900), random.integers(0, 300, 900)
    small = TemperatureScaling().fit(proba[:, :3] / proba[:, :3].sum(1, keepdims=True), labels % 3)
    file, stop = tmp_path / "cal.json", threading.Event()
    save(small, file)
    large = TemperatureScaling().fit(proba, labels)

    def rewrite():
        while not stop.is_set():
            save(small, file)
            save(large, file)

    writers = [threading.Thread(target=rewrite) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        sizes, until, n_loads = set(), time.monotonic() + 30.0, 0
        while n_loads < 400 or (len(sizes) < 2 and time.monotonic() < until):
            sizes.add(load(file).n_classes_)
            n_loads += 1
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert sizes == {3, 300}
    assert names_in(tmp_path) == {"cal.json"}


def test_two_commands_on_one_output_leave_one_whole_file(tmp_path):
    contents = [bytes([65 + k]) * 300_000 for k in range(2)]

    def write(content: bytes) -> None:
        for _ in range(20):
            write_whole(tmp_path / "cal.json", content)

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (tmp_path / "cal.json").read_bytes() in contents
    assert names_in(tmp_path) == {"cal.json"}


WRITER = """
import sys
from calib.base.outputs import atomic_write
with atomic_write(sys.argv[1]) as stream:
    stream.write(b"half ")
    stream.flush()
    print("begun", flush=True)
    stream.write(sys.stdin.buffer.read())
"""

APPLY = """
import sys
from calib import load, scale
def wait(*progress):
    print("begun", flush=True)
    sys.stdin.read()
scale.apply(load(sys.argv[1]), sys.argv[2], sys.argv[3], progress=wait)
"""


@contextlib.contextmanager
def begun(program: str, *arguments: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until it says that it has begun to write; it is killed when the block ends."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout.readline() == b"begun\n"
            yield writer
        finally:
            writer.kill()


def partial_files(folder: Path) -> set[str]:
    return {name for name in names_in(folder) if name.endswith(".partial")}


needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked on Windows")


@needs_locks
def test_what_a_killed_writer_left_is_removed_by_the_next_write_beside_it(tmp_path):
    with begun(WRITER, tmp_path / "first"):
        assert len(partial_files(tmp_path)) == 1
    assert len(partial_files(tmp_path)) == 1
    write_whole(tmp_path / "second", b"whole")
    assert names_in(tmp_path) == {"second"}


@needs_locks
def test_what_a_live_writer_has_begun_stays(tmp_path):
    foreign = {".calib-0.partial", "notes.partial", f"{MINE}notes"}
    for name in foreign:
        (tmp_path / name).touch()
    with begun(WRITER, tmp_path / "first") as live, begun(WRITER, tmp_path / "second"):
        assert len(partial_files(tmp_path) - foreign) == 2
        write_whole(tmp_path / "third", b"whole")
        assert len(partial_files(tmp_path) - foreign) == 2
        live.communicate(b"and half")
        assert live.returncode == 0
    write_whole(tmp_path / "third", b"again")
    assert names_in(tmp_path) == {"first", "third", *foreign}
    assert (tmp_path / "first").read_bytes() == b"half and half"


@needs_locks
def test_a_run_after_a_killed_apply_leaves_only_the_outputs(capsys, table):
    rows, out, cal = table.with_name("rows"), table.with_name("out"), table.with_name("cal.json")
    rows.mkdir()
    out.mkdir()
    pd.read_csv(table).to_parquet(rows / "a.parquet", row_group_size=500)
    assert main(["fit", str(table), "-o", str(cal)]) == 0
    with begun(APPLY, cal, rows, out):
        pass
    assert names_in(out) == partial_files(out) != set()
    assert main(["apply", str(cal), str(rows), "-o", str(out)]) == 0
    assert names_in(out) == {"a.parquet"}


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_output_to_the_name_of_standard_output_is_piped(table):
    cal = table.with_name("cal.json")
    command = [sys.executable, "-m", "calib", "fit", str(table), "-o", "/dev/stdout"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert b"wrote" in done.stderr
    cal.write_bytes(done.stdout)
    assert load(cal).n_classes_ == 3
    write = f"from calib import load, save; save(load({str(cal)!r}), '/dev/stdout')"
    done = subprocess.run([sys.executable, "-c", write], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == cal.read_bytes()


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_what_is_piped_out_is_the_output_alone(capfdbinary, monkeypatch, table, output):
    if output != "-" and not os.path.exists(output):
        pytest.skip(f"needs {output}")
    monkeypatch.chdir(table.parent)
    pd.read_csv(table).to_parquet("rows.parquet")
    assert main(["summarize", "rows.parquet", "-o", output]) == 0
    assert scale.load(capfdbinary.readouterr().out).n_samples == 2_000
    assert main(["fit", "rows.csv", "-o", "cal.json"]) == 0
    capfdbinary.readouterr()
    assert main(["apply", "cal.json", "rows.csv", "-o", output]) == 0
    assert len(pd.read_csv(io.BytesIO(capfdbinary.readouterr().out))) == 2_000
    assert names_in(table.parent) == {"cal.json", "rows.csv", "rows.parquet"}


def test_many_files_are_not_piped(capsys, table):
    assert main(["apply", "cal.json", str(table.parent), "-o", "-"]) == 2
    assert "give -o a folder" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_gets_a_whole_parquet_file(table):
    """Parquet notes where its parts begin, which a pipe cannot tell."""
    rows, pipe, cal = table.with_name("rows.parquet"), table.with_name("pipe"), table.with_name("cal.json")
    frame = pd.read_csv(table)
    frame.to_parquet(rows)
    save(TemperatureScaling().fit(frame[["a", "b", "c"]].to_numpy(), frame["label"]), cal)
    os.mkfifo(pipe)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        content = pool.submit(pipe.read_bytes)
        scale.apply(load(cal), rows, pipe)
    assert len(pd.read_parquet(io.BytesIO(content.result()))) == 2_000


@pytest.mark.parametrize("way", ["name", "symbolic link", "hard link", "other spelling"])
def test_an_input_is_refused_as_output(capsys, monkeypatch, table, way):
    cal = table.with_name("cal.json")
    assert main(["fit", str(table), "-o", str(cal)]) == 0
    contents = {path: path.read_bytes() for path in (table, cal)}
    monkeypatch.chdir(table.parent)
    capsys.readouterr()
    for source, command in (
        (table, ["fit", table, "-o"]),
        (table, ["report", table, "-o"]),
        (table, ["apply", cal, table, "-o"]),
        (cal, ["apply", cal, table, "-o"]),
        (cal, ["report", table, "--calibrator", cal, "-o"]),
        (cal, ["fit", table, "--evaluate", cal, "-o"]),
        (cal, ["fit", table, "--labels", cal, "-o"]),
    ):
        link = table.with_name(f"link{source.suffix}")
        link.unlink(missing_ok=True)
        output: Path | str = link
        if way == "symbolic link":
            link.symlink_to(source)
        elif way == "hard link":
            link.hardlink_to(source)
        else:
            output = source if way == "name" else os.path.join(".", source.name)
        assert main([*map(str, command), str(output)]) == 2
        assert "the same file as the input" in capsys.readouterr().err
        assert {path: path.read_bytes() for path in (table, cal)} == contents


def test_a_link_stays_and_modes_are_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"former")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    umask = os.umask(0o027)
    try:
        write_whole(tmp_path / "fresh", b"")
    finally:
        os.umask(umask)
    assert (tmp_path / "fresh").stat().st_mode & 0o777 == 0o640


def test_only_one_function_writes_files():
    """In the library, whatever is written goes through `write_whole`, members of an archive with it."""
    writing = re.compile(r"write_bytes|write_text|(?<!archive\.)open\([^)]*[\"'][wxa]b?[\"']")
    found = [
        path.name
        for path in sorted((ROOT / "calib").rglob("*.py"))
        if path.name != "outputs.py" and writing.search(path.read_text(encoding="utf-8"))
    ]
    assert not found
