"""The Over time page: rows with a column of dates, and a state of calib watch."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from calib import over_time
from pages.shared.widgets import escaped
from tests.app.running import open_page, turn_to
from tests.app.test_kept_results import rows_of_patients

PAGE = ("groups", "Over time")


@pytest.fixture(scope="module")
def content() -> bytes:
    """800 rows of eight days in any order; from the fifth day on right 30 points less often than said."""
    random = np.random.default_rng(0)
    day, says, predicted = (
        random.integers(8, size=800),
        random.uniform(0.5, 0.9, 800),
        random.integers(2, size=800),
    )
    right = random.random(800) < says - 0.3 * (day >= 4)
    names = np.array(["cat", "dog"])
    frame = pd.DataFrame(
        {
            "predicted": names[predicted],
            "confidence": says,
            "label": names[np.where(right, predicted, 1 - predicted)],
            "size": random.random(800),
            "day": [f"2026-03-{item + 1:02d}" for item in day],
        }
    )
    return frame.to_csv(index=False).encode()


def test_rows_are_looked_at_in_the_order_of_their_dates(content):
    app = open_page("pages/views/data.py")
    app.file_uploader(key="up").upload("rows.csv", content, "text/csv").run()
    turn_to(app, *PAGE)
    assert not app.exception
    assert app.selectbox(key="time-column").value == "day"
    rows = app.session_state["dataset"].evaluation
    found = over_time(rows, time=rows.metadata["day"].to_numpy())
    assert found.since == pd.Timestamp("2026-03-05")
    assert [shown.value for shown in app.warning] == [escaped(found.words())]
    (table,) = [shown.value for shown in app.dataframe]
    assert sorted(table["name"]) == ["cat", "dog"]
    assert table["changed"].tolist() == [split.changed for split in found.classes]


@pytest.mark.parametrize("numbers", [False, True])
def test_without_times_the_page_says_what_to_add(content, numbers):
    frame = pd.read_csv(io.BytesIO(content)).drop(columns=["day", *([] if numbers else ["size"])])
    app = open_page("pages/views/data.py")
    app.file_uploader(key="up").upload("rows.csv", frame.to_csv(index=False).encode(), "text/csv").run()
    turn_to(app, *PAGE)
    assert not app.exception
    assert [len(app.info), len(app.warning), len(app.success), len(app.dataframe)] == [1, 0, 0, 0]
    assert "Add one with dates" in app.info[0].value
    if numbers:
        app.selectbox(key="time-column").set_value("size").run()
        assert not app.exception
        assert not app.error
        assert len(app.dataframe) == 1


def test_rows_of_a_patient_belong_together():
    """A perfect model, whose rows of a patient are right or wrong together, with a patient a day."""
    rows = rows_of_patients(3, 3, sharpened=1.0)
    frame = pd.DataFrame(rows.proba, columns=[f"p({name})" for name in rows.class_names])
    day = np.datetime64("2026-01-01") + np.unique(rows.cluster, return_inverse=True)[1]
    frame = frame.assign(
        label=np.array(rows.class_names)[rows.labels], patient=rows.cluster, day=day.astype(str)
    )
    app = open_page("pages/views/data.py")
    app.session_state["split"] = 0
    app.file_uploader(key="up").upload("rows.csv", frame.to_csv(index=False).encode(), "text/csv").run()
    assert app.session_state["dataset"].evidence.n_clusters == 60
    turn_to(app, *PAGE)
    assert [len(app.warning), len(app.success)] == [0, 1]
