"""Addresses that no page wrote: whatever the parameters say, every page opens.

The number of random addresses is small; set CALIB_FUZZ to try more (CALIB_FUZZ=1500 takes half an hour).
"""

from __future__ import annotations

import os
import random
import re

import pytest

from pages.shared.address import usable
from tests.app.running import PAGES, ROOT, open_page

COUNT = int(os.environ.get("CALIB_FUZZ", "20"))
STEPS = re.findall(
    r'^    "([a-z-]+)": \(', (ROOT / "pages/views/learn.py").read_text(encoding="utf-8"), re.MULTILINE
)
LEARN = "pages/views/learn.py"
VALUES = [
    *["", "inf", "-inf", "nan", "1e400", "-1", "0", "1e9", "9" * 30, "0.5", "abc", "true", "null", "[]"],
    *["\x00", "1,2", ";;;;;", "0.2,0.3,0.1,0.4,9", "a" * 3_000, "\uff15", " 3", "1_000", "-0.0", "1e-320"],
    *["<b>", "![x](http://x)", "\U0001f642", "a\nb", ["1", "2"], ["", "inf"], ["10"] * 50],
]


def parameters() -> list[str]:
    """Every name of a parameter in the sources of the pages."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.py"))
    bound = re.findall(r'key="([A-Za-z_0-9]+)"[^)]*bind="query-params"', sources)
    others = [
        "bins",
        "method",
        "model",
        "bin",
        "class",
        "at",
        "sizeq",
        "sizeK",
        "sizeB",
        "step",
    ]
    return sorted({*bound, *others})


def test_parameters_are_recognised():
    assert {"L", "rows", "bins", "alpha", "notion", "k", "terms"} <= set(parameters())
    assert len(STEPS) == 4


@pytest.mark.parametrize(
    ("page", "query"),
    [
        (LEARN, {"learn_tab": "More", "step": "noise", "guess_noise": "0", "n": "inf"}),
        (LEARN, {"learn_tab": "More", "step": "noise", "guess_noise": "0", "L": ""}),
        (LEARN, {"learn_tab": "More", "step": "notions", "guess_six": "4", "notion": ""}),
        (LEARN, {"learn_tab": "More", "step": "binning", "guess_binning": "few", "points": "-inf"}),
        (LEARN, {"at": "s=none&g.crowd=99&w=1e9,-1&d=5000"}),
        ("pages/views/simplex.py", {"seed": "inf", "scheme": "Projection, random"}),
    ],
)
def test_addresses_that_stopped_a_page(page, query):
    assert not open_page(page, **query, example="two-patients").exception


@pytest.mark.thorough
def test_random_addresses_open_every_page():
    """Each address sets one to all parameters to something; pages are visited in turn."""
    rng, names = random.Random(14), parameters()
    targets = [(page, None) for page in PAGES if page != LEARN] + [(LEARN, step) for step in STEPS]
    for number in range(COUNT):
        page, step = targets[number % len(targets)]
        query = {name: rng.choice(VALUES) for name in rng.sample(names, rng.choice([1, 3, 9, len(names)]))}
        if step is not None:
            query |= {"learn_tab": "More", "step": step}
        query["example"] = rng.choice(["two-patients", "", "none"]) if number % 9 == 0 else "two-patients"
        assert not open_page(page, **query).exception, (page, query)


def test_what_is_usable():
    assert all(usable(value) for value in ("0", "-1.5", "1e300", "abc", "Projection, random", "\u03b1"))
    refused = ["", "inf", "NaN", "-Infinity", "1e400", "a\nb", "\x00", "\ud800", "a" * 2_001]
    assert not any(usable(value) for value in refused)
