"""Files of people who hold less than a vector: dropped on the Data page, then every page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib import ece, read, risk
from calib.data.kinds import KINDS
from tests.app.running import PLACES, open_page, press, turn_to, words, words_of_tabs

_random = np.random.default_rng(0)
H = _random.uniform(0.3, 1.0, 900).round(3)
RIGHT, CODE = _random.random(900) < H**2, _random.integers(0, 2, 900)
FILES = {
    "top-label": {
        "id": np.arange(900) // 3,
        "setting": np.arange(900) % 3,
        "predicted": np.where(np.arange(900) % 10 == 0, "IDK", np.array(["cat", "dog"])[CODE]),
        "confidence": H,
        "label": np.where(RIGHT, np.array(["cat", "dog"])[CODE], "emu"),
        "text": ["a text"] * 900,
    },
    "confidence": {"confidence": H, "correct": RIGHT},
    "top-k": {
        f"{head}_{rank + 1}": values
        for rank in (0, 1)
        for head, values in (
            ("label", np.array(["cat", "dog", "emu"])[(CODE + rank) % 3]),
            ("score", np.where(rank, (1 - H) / 2, H)),
        )
    }
    | {"true": np.where(RIGHT, np.array(["cat", "dog", "emu"])[CODE], "fox")},
    "multilabel": {
        **{"p(cat)": H, "p(dog)": H[::-1]},
        **{"true(cat)": RIGHT.astype(int), "true(dog)": RIGHT[::-1].astype(int)},
    },
    "binary": {"p(yes)": H, "label": np.where(RIGHT, "yes", "no")},
}
#: Vectors are the built-in examples, and those of `test_weights.py`.
assert {*FILES, "vectors"} == set(KINDS)


@pytest.fixture(scope="module", params=FILES)
def uploaded(request):
    """The app with a file of one kind in use, and the file."""
    frame = pd.DataFrame(FILES[request.param])
    app = open_page("pages/views/data.py")
    content = frame.to_csv(index=False).encode()
    app.file_uploader(key="up").upload("rows.csv", content, "text/csv").run()
    assert not app.exception
    assert not app.exception
    assert not app.error
    return request.param, app, content


def test_every_page_works_or_says_what_it_would_need(uploaded):
    kind, app, content = uploaded
    rows = read(content)
    said = {}
    for room, tab in PLACES:
        shown = turn_to(app, room, tab)
        said[tab or room] = "\n".join([words_of_tabs(shown), *(head.value for head in shown.header)])
        assert not app.error, (kind, room, tab)
    assert "Nothing to decide" not in said["decide"]
    without_class = kind in ("confidence", "binary", "multilabel")
    assert ("Imbalance needs the predicted class of each row" in said["imbalance"]) == without_class
    if kind == "multilabel":
        value = ece(rows.labels, rows, notion="class-wise")
        assert f"CW-ECE {value:.3f}" in said["Answer"]
        assert "Reliability needs a confidence" in said["reliability"]
        app.switch_page("pages/views/data.py").run()
        press(app, "Look at this class")
        said = words(turn_to(app, "reliability"))
        assert f"**{risk(rows.labels[:, 0], rows.scores[:, 0]).texts()['O/E']}**" in said
        return
    if kind in ("top-label", "top-k"):
        assert "off (false discovery rate" in said["reliability"]
        assert ("90.0% of the rows answered" in said["Answer"]) == (kind == "top-label")
    else:
        assert ("predicted class of each row" in said["reliability"]) == (kind != "binary")
        number = f"{ece(rows.labels, rows, notion='confidence'):.4f}"
        if kind == "binary":
            number = risk(rows).texts()["O/E"]
        assert f"**{number}**" in said["reliability"]
    order = {"binary": "P(Y = 1)", "confidence": "confidence"}.get(kind, "confidence, one predicted class")
    assert kind == "top-k" or f"in the order of {order}" in said["How sure is each number?"]


def test_the_positive_class_is_named_and_switched(uploaded):
    kind, app, _ = uploaded
    if kind != "binary":
        pytest.skip("there is no positive class")
    app.switch_page("pages/views/data.py").run()
    assert "The score is the probability of `` yes ``" in words(app)
    press(app, "Look at the probability of `` no `` instead")
    assert "The score is the probability of `` no ``" in words(app)
    press(app, "Look at the probability of `` yes `` instead")
