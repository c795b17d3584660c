"""The Judge page: its numbers are the library's, for its example and for a file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib import diagrams, judge
from calib.datasets import judged_answers
from tests.app.running import open_page, open_tab, words

PAGE = "pages/views/judge.py"


@pytest.fixture(scope="module")
def answers():
    return judged_answers()


def test_numbers_of_the_example_are_the_librarys(answers):
    app = open_page(PAGE)
    found = judge(answers["verdict"], answers["human"], answers["confidence"])
    assert "Simulated" in words(app)
    picture = json.loads(app.get("bidi_component")[0].proto.json)["picture"]
    assert (picture["rows"], picture["classes"]) == (150, ["pass", "fail"])
    open_tab(app, "judge_tab", "Numbers")
    assert f"kappa {found.kappa.value:.2f}" in words(app)
    shown, rates = app.dataframe[0].value, found.frame()
    for name, head in (("rate", "Truly, %"), ("agreement", "People agree, %")):
        assert shown[head].str.split(" ").str[0].tolist() == [f"{100 * rate:.1f}" for rate in rates[name]]
    open_tab(app, "judge_tab", "Label these next")
    assert app.dataframe[0].value["n_next"].sum() == 50
    app.number_input(key="judge-next").set_value(80).run()
    assert app.dataframe[0].value["n_next"].tolist() == found.next_rows(80).n_next.tolist()
    open_tab(app, "judge_tab", "What may pass")
    assert f"{found.passing(0.85).share:.0%} pass" in app.get("progress")[0].proto.text


def test_a_file_is_judged_by_the_columns_that_are_chosen(answers):
    app = open_page(PAGE)
    table = answers.rename(columns={"human": "anna"})
    content = table.to_csv(index=False).encode()
    app.file_uploader(key="judge-file").upload("answers.csv", content, "text/csv").run()
    assert "verdict 'verdict', people 'anna', confidence 'confidence'" in words(app)
    open_tab(app, "judge_tab", "Numbers")
    found = judge(answers["verdict"], answers["human"], answers["confidence"])
    truly = app.dataframe[0].value["Truly, %"].str.split(" ").str[0]
    assert truly.tolist() == [f"{100 * rate:.1f}" for rate in found.frame()["rate"]]
    app.selectbox(key="judge-chosen").set_value("otherwise").run()
    assert app.dataframe[0].value["Truly, %"].tolist() == ["\u2013"] * 2
    app.multiselect[0].set_value(["id"]).run()
    assert "share no class" in app.error[0].value
    app.multiselect[1].set_value([]).run()
    assert "Choose the column" in words(app)


def test_a_file_without_labels_has_a_plan_and_no_kappa(answers):
    app = open_page(PAGE)
    content = answers.assign(human="").to_csv(index=False).encode()
    app.file_uploader(key="judge-file").upload("answers.csv", content, "text/csv").run()
    app.multiselect[0].set_value(["verdict"]).run()
    app.multiselect[1].set_value(["human"]).run()
    assert ".." not in app.header[0].value
    open_tab(app, "judge_tab", "Numbers")
    assert "kappa" not in words(app)
    open_tab(app, "judge_tab", "Label these next")
    assert app.dataframe[0].value["n_next"].sum() == 50


def test_few_numbers_stand_at_a_wide_axis_which_a_phone_would_turn():
    random = np.random.default_rng(0)
    confidence = random.random(400)
    right = random.random(400) < confidence
    human = random.permuted(np.repeat(["yes", "no"], 200))
    verdict = np.where(right, human, np.where(human == "yes", "no", "yes"))
    axis = diagrams.draw_judgement(judge(verdict, human, confidence))["layout"]["xaxis"]
    assert (axis["range"][1] - axis["range"][0]) / axis["dtick"] < 4
