"""The Validity page: its numbers are the library's, and every control changes what it should."""

from __future__ import annotations

import json
import re

import pytest

from calib import MulticlassToBinary, guarantee_card, validity_curve
from calib.datasets import load_example
from tests.app.running import open_page, with_binning, words

PAGE = "pages/views/validity.py"


def traces(app):
    """Names of the traces of the page's figure."""
    return [trace["name"] for trace in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]]


def binned(example: str):
    """The page of an example, about top-label histogram binning with 50 points per bin."""
    app = open_page(PAGE, example=example)
    name = with_binning(app)
    return app.selectbox(key="validity-model").set_value(name).run()


@pytest.fixture(scope="module")
def resnet():
    example = load_example("resnet")
    return example, MulticlassToBinary().fit(example.calibration, example.calibration.labels)


def test_numbers_are_those_of_the_library(resnet):
    example, fitted = resnet
    app = binned("resnet")
    epsilon = guarantee_card(fitted).worst_marginal
    calibrated = fitted.predict_top(example.evaluation)
    labels = example.evaluation.labels
    base = validity_curve(labels, example.evaluation, reference=calibrated)
    after = validity_curve(labels, calibrated, strategy="discrete")
    text = words(app)
    assert f"within {epsilon:.3f}" in text
    assert f"**{100 * base.at(epsilon):.0f}** of 100 rows for `` Base model ``" in text
    assert f"**{100 * after.at(epsilon):.0f}** of 100 rows for `` TL-HB, k = 50 ``" in text
    assert f"off by **{base.worst:.3f}**" in text
    assert len(traces(app)) == 7  # two curves, two perfect models, two epsilons, the mean error


def test_alpha_moves_the_promise(resnet):
    _, fitted = resnet
    app = binned("resnet")
    app.slider(key="alpha").set_value(0.3).run()
    assert f"within {guarantee_card(fitted, 0.3).worst_marginal:.3f}" in words(app)
    assert not app.exception


def test_without_guarantee_nothing_is_promised():
    app = binned("resnet")
    app.selectbox(key="validity-model").set_value("Base model").run()
    assert len(traces(app)) == 2
    assert "No guarantee is drawn" in words(app)
    assert not re.search("promises at least", words(app))


def test_page_says_how_many_fallback_classes_are_left_out():
    app = binned("many-classes")
    assert "Left out: 9" in words(app)
