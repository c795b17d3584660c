"""The living picture in Firefox, in the app and in a report's file; skipped on a machine without Firefox."""

from __future__ import annotations

import pytest

import calib
from calib import reliability_diagram
from calib.calibrators.catalogue import named_methods
from calib.datasets import load_example
from tests.browser.firefox import Firefox, launched

#: The picture, in a shadow root of the app or in the page of a file.
PICTURE = """[document, ...[...document.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean)]
    .map((root) => root.querySelector(".calib-picture")).find(Boolean)"""
#: Key of WebDriver.
RIGHT = "\ue014"


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with launched(tmp_path_factory.mktemp("profile")) as firefox:
        yield firefox


@pytest.fixture
def firefox(started):
    started.complaints.clear()
    yield started
    assert [each for each in started.complaints if "blocked WebAssembly" not in each] == []  # of Streamlit's


def words(firefox: Firefox) -> str:
    return firefox.evaluate(f"{PICTURE}.querySelector('.words').textContent")


def spot(firefox: Firefox, confidence: float, part: float, low: float = 0.24) -> tuple[float, float]:
    """A point of the left panel, which begins at `low`: at a confidence, and at a part of its height."""
    firefox.evaluate(f"{PICTURE}.scrollIntoView({{block: 'center'}})")
    box = firefox.evaluate(f"{PICTURE}.querySelector('.stage').getBoundingClientRect()")
    width = (box["width"] - 20) / 2
    x = box["x"] + 48 + (confidence - low) / (1.012 - low) * (width - 62)
    return x, box["y"] + part * box["height"]


def try_picture(firefox: Firefox, after: str, low: float = 0.24) -> None:
    """Use the picture of the built-in example by mouse and keys, and compare its numbers with calib's."""
    firefox.wait_for(
        f"{PICTURE}?.querySelector('canvas')?.width > 0 && {PICTURE}.innerText.includes('{after}')"
    )
    pooled = reliability_diagram(load_example("resnet").evaluation).pooled
    firefox.move(*spot(firefox, 0.56, 0.4, low))
    firefox.wait_for(f"{PICTURE}.querySelector('.words').textContent.startsWith('Told 53 to 60 %')")
    at = pooled.bin.tolist().index(8)
    assert f"{100 * pooled.mean_outcome[at]:.0f} % of {pooled.count[at]} are right." in words(firefox)
    firefox.evaluate(f"{PICTURE}.querySelector('.stage').focus()")
    firefox.press(RIGHT)
    assert words(firefox).startswith("Told 60 to 67 %")
    firefox.evaluate(f"{PICTURE}.querySelector('.switch:last-child').click()")
    firefox.wait_for(f"{PICTURE}.querySelector('.switch:last-child').ariaPressed === 'true'")
    firefox.evaluate("new Promise((done) => setTimeout(done, 1000))")  # the dots are on their way
    painted = f"""(() => {{
        const canvas = {PICTURE}.querySelector("canvas");
        const seen = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(seen.buffer)).size;
    }})()"""
    assert firefox.evaluate(painted) > 50  # colours: marks, names and dots


def test_the_picture_in_the_app(firefox, app_url):
    firefox.open(f"{app_url}/overview?example=resnet")
    try_picture(firefox, "After TL-Platt")
    firefox.move(*spot(firefox, 0.5, 0.8), drag_to=spot(firefox, 0.7, 0.8))
    firefox.wait_for("document.querySelector('.st-key-drop-choice')?.innerText.includes('% after TL-Platt')")
    firefox.open(f"{app_url}/reliability?example=resnet", width=390)
    firefox.wait_for(f"{PICTURE}?.querySelector('canvas')?.width > 0")
    assert firefox.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_picture_in_the_file_of_a_report(firefox, tmp_path):
    example = load_example("resnet")
    scaling = named_methods()["TS"].fit(example.calibration)
    smallest = min(
        each.proba.max(axis=1).min() for each in (example.evaluation, scaling.predict(example.evaluation))
    )
    made = calib.report(
        example.evaluation,
        calibrators={"TS": scaling},
        calibration=example.calibration,
        n_resamples=20,
    )
    made.save(tmp_path / "report.html")
    firefox.open((tmp_path / "report.html").as_uri())
    try_picture(firefox, "After TS", int(20 * smallest) / 20 - 0.01)
