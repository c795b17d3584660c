"""A file with a column of weights on every page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib import ece, read
from tests.app.running import PLACES, number, open_page, open_tab, press, turn_to, with_binning, words

COUNT_ROWS = {"decide": "A rule of acceptance", "imbalance": "A comparison of bins by class"}


@pytest.fixture(scope="module")
def weighted():
    """The app with weighted vectors in use, and the rows."""
    random = np.random.default_rng(3)
    proba = random.dirichlet([2.0, 1.0, 1.0], 900)
    label = np.array([random.choice(3, p=row) for row in proba])
    frame = pd.DataFrame(proba, columns=["p(cat)", "p(dog)", "p(emu)"])
    frame["label"] = np.array(["cat", "dog", "emu"])[label]
    frame["sample_weight"] = random.choice([0.0, 1.0, 6.0], 900)
    content = frame.to_csv(index=False).encode()
    app = open_page("pages/views/data.py")
    app.file_uploader(key="up").upload("rows.csv", content, "text/csv").run()
    rows = read(content)
    return app, rows.take(rows.sample_weight > 0)


@pytest.mark.parametrize(("room", "tab"), PLACES)
def test_page_weighs_rows_or_says_why_not(weighted, room, tab):
    app, _ = weighted
    turn_to(app, room, tab)
    said = words(app)
    assert not app.error
    if room in COUNT_ROWS:
        assert f"{COUNT_ROWS[room]} cannot use weights" in said.replace("\\", "")
    elif room not in ("learn", "simplex", "judge"):
        assert "every number is weighted, worth" in said


def test_numbers_are_weighted(weighted):
    app, rows = weighted
    turn_to(app, "reliability")
    assert (
        f"**{ece(rows.labels, rows, notion='confidence', sample_weight=rows.sample_weight):.4f}**"
        in words(app)
    )
    turn_to(app, "overview")
    shown = number(app, "TL-ECE")
    assert shown.startswith(f"{ece(rows.labels, rows):.4f}")
    assert not shown.startswith(f"{ece(rows.labels, rows.unweighted()):.4f}")
    turn_to(app, "repair")
    name = with_binning(app)
    app.selectbox(key="chosen").set_value(name).run()
    open_tab(app, "repair_tab", "Numbers")
    turn_to(app, "validity")
    app.selectbox(key="validity-model").set_value(name).run()
    assert "rows have different weights" in words(app)


def test_rows_can_be_counted_once(weighted):
    app, _ = weighted
    app.switch_page("pages/views/data.py").run()
    press(app, "Count every row once")
    assert "weighted" not in words(app)
    assert not words(app.switch_page("pages/views/decide.py").run()).count("cannot use weights")
