"""Check the links of the documentation: `python -m docs.links`, or `make links`.

Links and anchors inside the site are followed first: one that leads nowhere ends the check, as it ends
`make docs`. Then every outside address is asked. Without a network no answer says anything about an address;
the check says so and counts none as broken.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
PAGES, FOUND = ROOT / "docs", ROOT / "build" / "links"
#: What Sphinx reports of an address whose host no connection leads to.
UNREACHED = re.compile(r"resolve|name or service|unreachable|refused|timed out|max retries", re.IGNORECASE)


def outcome(answers: list[dict[str, Any]]) -> tuple[int, str]:
    """Return the exit code and the words for what Sphinx found: a record for each link to an address.

    An address is broken if its host says so, or cannot be reached while others can.
    """
    asked = [item for item in answers if urlsplit(item["uri"]).scheme in ("http", "https")]
    failed = [item for item in asked if item["status"] in ("broken", "timeout")]
    unreached = [item for item in failed if UNREACHED.search(item["info"])]
    hosts = ", ".join(sorted({str(urlsplit(item["uri"]).hostname) for item in asked}))
    inside = "Links and anchors inside the documentation lead somewhere."
    if not asked:
        return 0, f"{inside} There is no outside address."
    if len(unreached) == len(asked):
        return 0, (
            f"{inside} The {len(asked)} outside addresses were NOT checked: none of their hosts can be "
            f"reached from here ({hosts})."
        )
    if failed:
        lines = [
            f"{item['filename']}:{item['lineno']}: {item['uri']}: {item['info'][:200]}" for item in failed
        ]
        return 1, "\n".join([f"{len(failed)} of {len(asked)} outside addresses are broken:", *lines])
    return 0, f"{inside} All {len(asked)} outside addresses answer."


def main() -> int:
    """Ask, say what was found, and return the exit code."""
    from sphinx.cmd.build import build_main

    # Notebooks need not be executed to know where they link to.
    common = ["--quiet", "-D", "nb_execution_mode=off", "-d", str(FOUND / "pages"), str(PAGES), str(FOUND)]
    if code := build_main(["--fail-on-warning", "--keep-going", "-b", "dummy", *common]):
        return code
    build_main(["-b", "linkcheck", *common])
    lines = (FOUND / "output.json").read_text(encoding="utf-8").splitlines()
    code, words = outcome([json.loads(line) for line in lines])
    print(words)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main())
