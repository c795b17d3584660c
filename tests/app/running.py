"""Run the app as Streamlit's own test runner does, and read its pages."""

from __future__ import annotations

import json
import time
from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest

from calib.answers.calibrated import calibrated_scores, fit_on
from calib.calibrators.catalogue import for_kind, make_calibrator, name_of
from pages.shared import kept
from pages.shared.session import Method
from tests import PAGE_FILES, ROOT

PAGES = [path.relative_to(ROOT).as_posix() for path in PAGE_FILES]
#: The tabs of rooms; "" is the first tab of a room whose tabs depend on the predictions.
ROOM_TABS = {
    "overview": ("Answer", "How sure is each number?"),
    "reliability": ("", "Rows", "Without bins"),
    "judge": ("How often people agree", "What may pass", "Label these next", "Numbers"),
    "groups": ("Against the rest", "Over time"),
    "repair": ("Before and after", "Numbers", "Candidates", "Apply"),
    "learn": ("Lesson", "More", "Glossary"),
}
#: Every room at each of its tabs.
PLACES = [(path.stem, tab) for path in PAGE_FILES for tab in ROOM_TABS.get(path.stem, ("",))]


class App(AppTest):
    """The app in a browser: a page that awaits a result runs again until it has it."""

    def _run(self, *arguments: Any, **options: Any) -> AppTest:
        return wait_for_results(super()._run(*arguments, **options))


def wait_for_results(app: AppTest) -> AppTest:
    """Run a page again and again, as a browser does, until it awaits no result."""
    while any(button.label == "Cancel" for button in app.button):
        until = time.monotonic() + kept.LOOK
        while kept._turns and time.monotonic() < until:
            time.sleep(0.02)
        AppTest._run(app)
    return app


def open_page(page: str, *, patient: bool = True, **query: str) -> AppTest:
    """Run the app at a page's address; `query` are the parameters of the address.

    If not `patient`, return what stands there before results that the page awaits.
    """
    app = (App if patient else AppTest)(ROOT / "app.py", default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    return app.switch_page(page).run()


def words(app: AppTest) -> str:
    """All prose of a page, which shows no exception."""
    assert not app.exception
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.info, *app.warning])


def press(app: AppTest, label: str) -> None:
    """Press the button that reads `label`."""
    next(button for button in app.button if button.label == label).click().run()


def open_tab(app: AppTest, key: str, title: str) -> None:
    """Open a tab by its title, as a click on it does: what the others show is not computed."""
    app.query_params.pop(key, None)  # a browser would send an address with the new tab
    app.session_state[key] = title
    app.run()


def turn_to(app: AppTest, room: str, tab: str = "") -> AppTest:
    """Open a room at one of its tabs, by default the first."""
    app.switch_page(f"pages/views/{room}.py").run()
    key, tab = f"{room}_tab", tab or ROOM_TABS.get(room, ("",))[0]
    if tab and key in app.session_state and app.session_state[key] != tab:
        open_tab(app, key, tab)
    return app


#: Keys of the tabs of pages.
TABS = ("about-calibrator", "about-methods", "about-simplex", "about-groups")


def words_of_tabs(app: AppTest) -> str:
    """All prose of a page, each of its tabs opened in turn."""
    if "overview_tab" in app.session_state:
        app.session_state["without-bins"] = True
        app.run()
    said = [words(app)]
    for key in TABS:
        for tab in [tab.label for tab in app.tabs if key in app.session_state]:
            open_tab(app, key, tab)
            said.append(words(app))
            assert not app.error, tab
    return "\n".join(said)


def with_binning(app: AppTest) -> str:
    """Put top-label histogram binning with 50 points per bin among the methods; return its name."""
    data = app.session_state["dataset"].checked
    calibrator = fit_on(for_kind(make_calibrator(), data.kind.name), data.calibration)
    evidence = data.evidence.of_scores(calibrated_scores(calibrator, data.evaluation))
    name = name_of(calibrator)
    method = Method(name, evidence, f"{data.digest}/with-binning", calibrator)
    app.session_state["methods"] = {**app.session_state["methods"], name: method}
    app.run()
    return name


def number(app: AppTest, title: str) -> str:
    """Return a number of the method on the Overview page, with four digits."""
    open_tab(app, "overview_tab", ROOM_TABS["overview"][1])
    return f"{app.dataframe[0].value.set_index('Number').loc[title, 'Measured']:.4f}"


def marks_outside(spec: str) -> list[str]:
    """Return the marks and bars of a figure, as JSON, that lie outside the ranges of their axes."""
    figure, found = json.loads(spec), []
    for number, trace in enumerate(figure["data"]):
        if trace["type"] not in ("scatter", "bar") or "markers" not in trace.get("mode", "markers"):
            continue
        for letter in "xy":
            name = trace.get(f"{letter}axis", letter)
            axis = figure["layout"].get(f"{letter}axis{name[1:]}", {})
            values = pd.to_numeric(pd.Series(trace.get(letter, []), dtype=object), errors="coerce").dropna()
            if "range" not in axis or axis.get("type", "linear") != "linear" or values.empty:
                continue
            low, high = sorted(map(float, axis["range"]))
            room = 1e-9 + 1e-6 * (high - low)
            outside = values[(values < low - room) | (values > high + room)]
            if len(outside):
                found.append(f"trace {number}, {letter}: {outside.tolist()[:3]} outside {low} to {high}")
    turned = [name for name, axis in figure["layout"].items() if "axis" in name and axis.get("tickangle")]
    return found + [f"{name} turns its ticks" for name in turned]
