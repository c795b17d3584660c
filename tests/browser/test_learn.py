"""The lesson in a real browser: as a file without a network, in the app, on a projector and a phone."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

import calib
from calib.datasets import load_example
from tests.browser.accessibility import findings
from tests.browser.screen import keep_picture, settled, whole

LESSON = calib.lesson()
PICTURES = ("crowd", "make", "split", "deals")
#: Marks and names of the picture that reach beyond it.
OUTSIDE = """svg => {
    const all = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("circle, polygon, text, line")]
        .filter((mark) => !mark.closest("[style*='opacity: 0']") && mark.textContent !== " ")
        .map((mark) => [mark.getBoundingClientRect(), mark.outerHTML])
        .filter(([box]) => box.width + box.height > 0)
        .filter(([box]) => box.left < all.left - 1 || box.right > all.right + 1
            || box.top < all.top - 1 || box.bottom > all.bottom + 1)
        .map(([, html]) => html.slice(0, 120));
}"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The lesson and its hand-out as files; the second lesson has predictions of one's own."""
    folder = tmp_path_factory.mktemp("lesson")
    LESSON.save(folder / "lesson.html")
    calib.lesson(load_example("digits").evaluation, title="digits.csv").save(folder / "own.html")
    (folder / "handout.html").write_text(LESSON.handout(), encoding="utf-8")
    return folder


@pytest.fixture
def open_file(browser, files):
    """Open a file at a state, without a network; the test fails if it asks for anything or complains."""
    complaints: list[str] = []
    contexts = []

    def opener(state: str = "", *, name: str = "lesson", width=1280, height=720, scheme="light") -> Page:
        size = {"width": width, "height": height}
        context = browser.new_context(
            offline=True, viewport=size, color_scheme=scheme, reduced_motion="reduce", accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda request: complaints.append(request.url) if ".html" not in request.url else None
        )
        page.goto(f"{(files / f'{name}.html').as_uri()}#{state}")
        return page

    yield opener
    for context in contexts:
        context.close()
    assert [each for each in complaints if not each.startswith(("data:,", "data:text/html"))] == []


def press(page: Page, name: str, *, exact: bool = False) -> None:
    page.locator(".calib-lesson").get_by_role("button", name=name, exact=exact).first.click()


def said(page: Page) -> str:
    return page.locator(".said").inner_text()


def handle(page: Page, name: str) -> Locator:
    return page.locator(".calib-lesson").get_by_role("slider", name=name)


def test_three_chapters_in_a_file_without_a_network(open_file):
    page = open_file()
    assert page.locator(".person.ill").count() == 60
    press(page, "far fewer")
    titles = page.locator("svg .title").all_text_contents()
    assert titles[:2] == ["Told disease 1: 10 of 50 have it", "Told disease 2: 50 of 50 have it"]
    press(page, "Next")
    first, second = (handle(page, f"told disease {group}") for group in (1, 2))
    first.focus()
    for _ in range(10):
        page.keyboard.press("ArrowDown")
    assert "10 points off the line" in page.locator(".counted").inner_text()
    second.focus()
    page.keyboard.press("End")  # 20 and 50 of 50
    page.keyboard.press("ArrowDown")
    assert first.get_attribute("aria-valuetext") == "20 of 50"
    page.wait_for_url("**w=20,49*")
    plot = page.locator(".frame").bounding_box()
    mark = first.locator("circle").bounding_box()
    page.mouse.move(mark["x"] + 5, mark["y"] + 5)
    page.mouse.down()
    page.mouse.move(mark["x"] + 5, plot["y"] + plot["height"] * 0.8, steps=4)
    page.mouse.up()
    second.focus()
    page.keyboard.press("End")
    # 10 and 50 of 50, all told 60 %: off by 20 and 20 of 100 patients.
    counted = page.locator(".counted").inner_text()
    assert "Star: on the line" in counted
    assert "Your best with the star on the line: 40; possible here: 40." in counted
    press(page, "Next")
    press(page, "cat: ")
    assert "You chose cat: right 5 of 10" in said(page)
    assert "airplane: right 6 of 35" in said(page)
    press(page, "Next")
    press(page, "in 2 to 5")
    for _ in range(10):
        press(page, "Deal once")
    assert page.locator(".counted").inner_text().startswith("10 deals: ")
    press(page, "Deal 1,000 times")
    found = re.findall(r"in (\d+)", page.locator(".counted").inner_text())
    chance = LESSON.example.values["by_chance"]
    assert abs(int(found[0]) - 1000 * chance) < 5 * (1000 * chance * (1 - chance)) ** 0.5
    assert found[1] == "0"


def test_the_state_is_a_link_and_holds_votes(open_file):
    page = open_file()
    press(page, "Count votes")
    for count, box in zip((3, 10, 2), page.get_by_role("spinbutton").all(), strict=True):
        box.fill(str(count))
    press(page, "far more")
    expect(page.locator(".votes .truth")).to_contain_text("far fewer")
    assert page.locator(".votes .truth progress").evaluate("bar => bar.value / bar.max") == 1
    state = "s=crowd&g.crowd=2&v.crowd=3,10,2"
    page.wait_for_url(f"**#{state}")
    again = open_file(state)
    assert again.locator("[aria-pressed=true]").all_inner_texts() == ["far more"]
    assert [box.input_value() for box in again.get_by_role("spinbutton").all()] == ["3", "10", "2"]
    odd = open_file("s=none&g.crowd=9&v.crowd=1,2&w=51,-1&d=1001&p=2")
    assert odd.locator("h1").inner_text().startswith("Right 60")
    odd.wait_for_url("**#s=crowd")


def test_your_own_file_is_the_second_step_of_chapter_2(open_file):
    page = open_file("s=own", name="own")
    press(page, "1: 58 predictions")
    assert "Clearest is 8: right 49 of 65" in said(page)
    assert "digits.csv: 765 predictions" in page.locator(".paper").inner_text()


#: For each exercise, wrong answers and the right one: keys for a drag, text to type, or a choice.
EXERCISES = (
    ([{"together": "ArrowUp"}], {"together": ["Home", *["ArrowUp"] * 42]}),
    ([{"disease 1": "End"}], {"disease 1": ["Home", *["ArrowUp"] * 10], "disease 2": "End"}),
    (["0", "37.5", "45", "30", "50"], "36"),
    (["6", "55", "30"], "19.5"),
    (["too sure", "number is right"], "do not tell"),
    (["on the line", "equally many", "Never"], "no class is below"),
)


def answer(page: Page, given) -> str:
    if isinstance(given, dict):
        for name, keys in given.items():
            handle(page, name).focus()
            for key in [keys] if isinstance(keys, str) else keys:
                page.keyboard.press(key)
        press(page, "Check")
    elif page.get_by_role("spinbutton").count():
        page.get_by_role("spinbutton").fill(given)
        press(page, "Check")
    else:
        press(page, given)
    return said(page)


def test_six_exercises_wrongly_and_rightly(open_file):
    page = open_file("s=exercises")
    for wrong, right in EXERCISES:
        reasons = {answer(page, given) for given in wrong}
        assert len(reasons) == len(wrong)
        assert all(reason.startswith("Not yet: ") for reason in reasons)
        assert answer(page, right).startswith("Right: ")
        press(page, "Go on")
    with page.expect_download() as saved:
        press(page, "Save the summary")
    summary = saved.value.path().read_text(encoding="utf-8")
    assert [summary.count(f"right at try {number}<") for number in (2, 3, 4, 6)] == [2, 1, 2, 1]
    assert "<script" not in summary


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 720), (1920, 1080)])
def test_every_mark_is_inside_its_picture(open_file, width, height, scheme):
    states = [f"s={picture}" for picture in (*PICTURES, "exercises")]
    states += ["s=crowd&g.crowd=1", "s=make&w=0,50", "s=split&g.split=0", "s=deals&g.deals=0&d=10"]
    page = open_file(width=width, height=height, scheme=scheme)
    address = page.url.partition("#")[0]
    for state in states:
        for presented in ("", "&p=1"):
            page.goto("about:blank")
            page.goto(f"{address}#{state}{presented}")
            assert page.locator(".stage svg").evaluate(OUTSIDE) == [], state
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            if width > 390:
                place = page.locator(".calib-lesson" if presented else "html")
                assert place.evaluate("box => box.scrollHeight - box.clientHeight") <= 0, (state, presented)
        assert findings(page, None if state == "s=split" else ["color-contrast"]) == [], state


def test_the_handout_is_two_sheets(browser, files):
    page = browser.new_page()
    page.goto((files / "handout.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 2
    page.close()


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), pytest.param(1280, "light", marks=pytest.mark.thorough)]
)
def test_the_lesson_in_the_app(open_page, width, scheme):
    page = open_page("learn", width=width, scheme=scheme)
    press(page, "far fewer")
    press(page, "Next")
    handle(page, "told disease 1").focus()
    page.keyboard.press("ArrowDown")
    keep_picture(page, f"learn-make-{scheme}-{width}")
    with whole(page):
        assert findings(page, ["color-contrast"] if scheme == "dark" else None) == []
    press(page, "Present")
    box = page.locator(".calib-lesson").bounding_box()
    assert (box["x"], box["y"], box["width"]) == (0, 0, width)
    page.keyboard.press("PageDown")
    expect(page.locator(".calib-lesson h1")).to_have_text("The star splits")
    assert not page.locator(".paper").is_visible()
    page.wait_for_url("**s%3Dsplit*p%3D1*")
    page.reload()
    settled(page)
    expect(page.locator(".calib-lesson h1")).to_have_text("The star splits")
    page.keyboard.press("Escape")
    press(page, "airplane: ")
    assert said(page).startswith("airplane, yes: right 6 of 35.")
    page.get_by_role("tab", name="More").click()
    settled(page)
    page.get_by_role("radio", name="Notions").click()
    page.get_by_role("heading", level=1, name="Five notions of calibration").wait_for()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("tab", name="Lesson", exact=True).click()
    settled(page)
    expect(page.locator(".calib-lesson h1")).to_have_text("The star splits")


def test_data_on_screen_are_split_in_the_app(open_page):
    page = open_page("learn?example=digits")
    press(page, "2. The star splits")
    press(page, "Next")
    content = json.dumps(calib.lesson(load_example("digits").evaluation).content()["own"]["dots"])
    press(page, "8: ")
    assert "8, yes: right 49 of 65." in said(page)
    assert '"right": 49' in content


def test_links_from_a_heading(open_page):
    page = open_page("reliability")
    page.get_by_role("link", name="Terms on this page").click()
    page.get_by_role("heading", level=1, name="Glossary").wait_for()
    settled(page)
    assert page.get_by_text("Top-label ECE: mean gap").is_visible()
    assert page.get_by_text("Bretagnolle").count() == 0
