"""Run the tests of files, packaging and documentation as on a stranger's machine.

`make elsewhere` copies the repository, without `.git` and what Git ignores, into an empty folder whose
path has a space. The tests there find no git, no browser and no reference data; the locale is C, and the
time zone not a whole number of hours from UTC. The packages are those of `.venv`. Python is the system's
own, often the oldest at hand (3.11.2 in Debian 12), if it has the same minor version. Root becomes
`nobody`, if `nobody` may read all that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from tests import ROOT

PART = (
    "tests/browser/test_keyboard.py",
    "tests/cli/test_streams.py",
    "tests/cli/test_tables.py",
    "tests/files/readers/test_formats.py",
    "tests/files/saved",
    "tests/report",
    "tests/test_architecture.py",
    "tests/test_docs.py",
    "tests/test_links.py",
    "tests/test_package.py",
    "tests/test_production.py",
)
#: All that the tests find on their path.
PROGRAMS = ("bash", "cat", "head", "sh", "tee", "true")
TESTS = ("-m", "pytest", "-n", "logical", "--dist", "worksteal", "-p", "no:cacheprovider", *PART)
SYSTEMS_OWN = Path("/usr/bin", f"python3.{sys.version_info.minor}")
NOBODY = {"user": "nobody", "group": "nogroup", "extra_groups": ()}


def main() -> int:
    """Run the tests and return pytest's exit code."""
    with tempfile.TemporaryDirectory(prefix="elsewhere ") as name:
        place = Path(name)
        place.chmod(0o755)
        copy = place / "calib"
        ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").replace("/", "").split()
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", *ignored))
        python, environment = make_python(place), make_environment(place)
        who = {}
        if hasattr(os, "geteuid") and os.geteuid() == 0 and can_import(python, environment, NOBODY):
            who = NOBODY
            for path in (place, *place.rglob("*")):
                shutil.chown(path, who["user"], who["group"])
        version = subprocess.run(
            [python, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()
        print(f"In {copy}, {version}, {who.get('user', 'the same user')}:", flush=True)
        return subprocess.run([python, *TESTS], cwd=copy, env=environment, **who).returncode


def make_python(place: Path) -> Path:
    """Make a virtual environment with the packages of this one, but without calib."""
    base = SYSTEMS_OWN if SYSTEMS_OWN.is_file() else Path(sys._base_executable)
    subprocess.run([base, "-m", "venv", "--without-pip", place / "venv"], check=True)
    (packages,) = (place / "venv").glob("lib/python3.*/site-packages")
    # a folder named in such a file is searched, but no such file in it is read: calib is the copy's
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return place / "venv/bin/python"


def make_environment(place: Path) -> dict[str, str]:
    """Return all variables that the tests see."""
    folders = {name: place / name for name in ("programs", "temporary files", "home")}
    for folder in folders.values():
        folder.mkdir()
    for program in PROGRAMS:
        (folders["programs"] / program).symlink_to(shutil.which(program))
    return {
        "PATH": str(folders["programs"]),
        "TMPDIR": str(folders["temporary files"]),
        "HOME": str(folders["home"]),
        "PYTHONPATH": str(place / "calib"),
        "PYTHONPYCACHEPREFIX": str(place / "compiled"),
        "LC_ALL": "C",
        "TZ": "Asia/Kathmandu",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def can_import(python: Path, environment: dict[str, str], who: dict[str, object]) -> bool:
    """Whether a user may start this Python and read its packages."""
    try:
        done = subprocess.run(
            [python, "-B", "-c", "import calib, pytest"],
            env=environment,
            cwd="/",
            capture_output=True,
            **who,
        )
    except (LookupError, PermissionError):
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
