"""Groups against the rest, and calibration by a group, driven by Streamlit's own test runner."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib import calibration_by_centre, read, slices
from calib.diagrams import draw_centres
from tests.app.running import open_page, press, turn_to, words


def upload(frame: pd.DataFrame):
    app = open_page("pages/views/data.py")
    content = frame.to_csv(index=False).encode()
    app.file_uploader(key="up").upload("rows.csv", content, "text/csv").run()
    assert not app.exception
    return app, content


def rows_of(n_groups: int) -> pd.DataFrame:
    random, n = np.random.default_rng(n_groups), max(3_000, 10 * n_groups)
    confidence, group = random.uniform(0.5, 1.0, n), random.integers(0, n_groups, n)
    right = random.random(n) < np.where(group == 0, 0.5 * confidence, confidence)
    predicted = random.choice(["cat", "dog"], n)
    return pd.DataFrame(
        {
            "predicted": predicted,
            "confidence": confidence,
            "label": np.where(right, predicted, "emu"),
            "region": np.char.add("region ", group.astype(str)),
            "age": random.integers(18, 90, n),
            "day": (np.datetime64("2025-01-01") + random.integers(0, 90, n)).astype(str),
            "name": [f"person {at}" for at in range(n)],
        }
    )


@pytest.mark.parametrize("n_groups", [3, *(pytest.param(n, marks=pytest.mark.thorough) for n in (50, 2_000))])
def test_groups_are_ranked_searched_and_compared(n_groups):
    app, content = upload(rows_of(n_groups))
    app.switch_page("pages/views/groups.py").run()
    app.session_state["all-groups"] = True
    app.run()
    table, loaded = app.dataframe[0].value, read(content)
    expected = slices(loaded.labels, loaded, loaded.metadata[["region", "age", "day"]], random_state=0)
    assert len(table) == len(expected)
    ours = table.set_index(["column", "group"])["error"]
    theirs = expected.frame().set_index(["column", "group"])["error"]
    pd.testing.assert_series_equal(ours.sort_index(), theirs.sort_index())
    assert "person" not in table["column"].tolist()
    if n_groups < 1_000:
        assert table["group"][0] == "region 0"
        assert "`` region 0 `` is **more overconfident** than all other rows" in words(app)
    app.text_input(key="cut-age").set_value("30, 60")
    app.session_state["all-groups"] = True
    app.run()
    assert {"below 30", "30 to 60", "60 and more"} <= set(app.dataframe[0].value["group"])
    app.text_input(key="cut-age").set_value("old").run()
    assert "cut 'age' at numbers" in app.error[0].value.replace("\\", "")
    app.text_input(key="cut-age").set_value("30, 60").run()
    app.session_state["slice-group"] = "age", "below 30"
    app.run()
    assert not app.exception
    assert any("below 30" in item.value for item in app.subheader)


def test_one_event_has_observed_and_expected_instead_of_accuracy():
    random = np.random.default_rng(0)
    p = random.random(600)
    frame = pd.DataFrame({"p(sick)": p, "label": np.where(random.random(600) < p, "sick", "well")})
    app, _ = upload(frame.assign(site=random.choice(["a", "b"], 600)))
    turn_to(app, "groups")
    app.session_state["all-groups"] = True
    app.run()
    table = app.dataframe[0].value
    np.testing.assert_allclose(table["ratio"], table["accuracy"] / table["confidence"])
    assert "ratio" in app.dataframe[0].proto.column_order
    assert "accuracy" not in words(app)


def test_centres_of_a_risk_and_a_new_centre():
    random = np.random.default_rng(0)
    p, site = random.uniform(0.05, 0.6, 1_200), random.choice(list("abcdef"), 1_200)
    frame = pd.DataFrame({"p(sick)": p, "label": np.where(random.random(1_200) < p, "sick", "well")})
    app, content = upload(frame.assign(hospital=site))
    turn_to(app, "groups", "Centres")
    found = calibration_by_centre(read(content), centre=site)
    assert found.across[0].words in words(app).replace("\\", "")
    assert app.dataframe[0].value["Centre"].tolist() == list("abcdef")
    app.segmented_control(key="centre-number").set_value("slope").run()
    assert not app.exception
    figure = draw_centres(found, "slope")
    dots = figure["data"][0]
    assert len(dots["x"]) == 8
    assert dots["x"][-2] == pytest.approx(found.across[2].mean)
    assert dots["x"][-1] - dots["error_x"]["arrayminus"][-1] == pytest.approx(found.across[2].new_lower)


def test_a_column_leads_to_calibration_by_its_groups():
    app = open_page("pages/views/groups.py", example="digits")
    app.session_state["slice-group"] = "site (simulated)", "east"
    app.run()
    press(app, "Calibrate by `` site (simulated) ``")
    assert not app.error
    found = app.session_state["methods"].values()
    fitted = next(item for item in found if item.name.endswith("by class and group: site (simulated)"))
    assert fitted.calibrator.groups_ == ("east", "north", "south", "west")
    turn_to(app, "repair", "Apply")
    assert app.selectbox(key="chosen").value == fitted.name
    app.toggle(key="make-scorer").set_value(True).run()
    assert "largest difference from calib is 0.0e+00" in words(app).replace("\\", "")
    app.switch_page("pages/views/overview.py").run()
    app.toggle(key="make-report").set_value(True).run()
    assert not app.exception


def test_examples_have_simulated_columns_and_vectors_need_some():
    app = open_page("pages/views/groups.py", example="two-patients")
    assert all("(simulated)" in name for name in app.multiselect(key="slice-columns").options)
    random = np.random.default_rng(0)
    proba = random.dirichlet([1.0, 1.0], 200)
    app, _ = upload(
        pd.DataFrame(proba, columns=["p(a)", "p(b)"]).assign(label=random.choice(["a", "b"], 200))
    )
    app.switch_page("pages/views/groups.py").run()
    assert "No column has groups" in words(app)
