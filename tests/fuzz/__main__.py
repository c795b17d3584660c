"""Fuzz every reader: `python -m tests.fuzz --minutes 60 --seed 0`; prints each seed that failed, and why.

With `--own`, the files are of calib's own formats, and memory is bounded, too.

Files are read in a child process, so that a reader that ends it is found too. The least file that still
fails is put into `FOUND` of tests/fuzz/test_fuzz.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback

from tests.fuzz import own
from tests.fuzz.cases import make, use


def child(seed: int, until: float, is_own: bool) -> None:
    """Read files from `seed` on; a line for each begins, and another says what failed."""
    while time.time() < until:
        print(seed, flush=True)
        kind, data = own.make(seed) if is_own else make(seed)
        try:
            own.use(kind, data) if is_own else use(data)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "/calib/" in f.filename]
            place = frames[-1] if frames else where
            reason = " ".join(str(error).split())[:120]
            name = place.filename.rsplit("/", 1)[-1]
            print(f"! {kind} {type(error).__name__}: {reason} ({name}:{place.lineno})", flush=True)
        seed += 1


def main() -> int:
    """Run until the time is over; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.until:
        child(options.seed, options.until, options.own)
        return 0
    first = seed = options.seed
    until = time.time() + 60 * options.minutes
    faults: dict[str, int] = {}
    while time.time() < until:
        command = [sys.executable, "-m", "tests.fuzz", f"--seed={seed}", f"--until={until}"]
        command += ["--own"] if options.own else []
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as reader:
            assert reader.stdout is not None
            for line in reader.stdout:
                if line.startswith("!"):
                    faults.setdefault(line.strip(), seed)
                else:
                    seed = int(line)
        if reader.returncode:
            faults[f"! the process ended with {reader.returncode}"] = seed
        seed += 1
    for fault, at in faults.items():
        print(f"seed {at}: {fault[2:]}")
    print(f"{seed - first:,} files, {len(faults)} different faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
