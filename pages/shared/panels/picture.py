"""The living picture as a component, the static figure in its place, and the rows chosen in the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from calib import diagrams, reliability_diagram
from calib.data.defaults import N_BINS
from calib.data.kinds import lacks
from calib.diagrams.living_picture import FILES, living_picture, picture_html
from calib.diagrams.reliability_diagrams import PANELS, Panel
from calib.diagrams.style import figure_html, plotly_script
from calib.evidence.reductions import top_label
from calib.evidence.rows import Rows
from calib.report.html import page
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.address import SHARED
from pages.shared.browser_module import LOG, mounter
from pages.shared.kept import kept
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.session import BASE, ChosenRows, Method, choice_on_screen, dataset, methods

#: Shown if the module has not replaced it after some seconds.
LATE = "The picture has not loaded. Press Save and choose Static figure."
HTML = f'<div class="calib-picture"><p class="late">{LATE}</p></div>'
ALT = "Reliability diagram: accuracy against confidence. "


def show_chosen_rows(key: str) -> None:
    if (found := choice_on_screen()) is not None:
        choice, method = found
        rows_panel((method,), chosen_rows(method, choice), ui.escaped(choice.words), key)


@kept(rows=True)
def chosen_rows(method: Method, choice: ChosenRows) -> np.ndarray | None:
    """Return the rows of a choice, ascending; None for a summary."""
    evidence = results.about(method, "confidence")
    if not isinstance(evidence, Rows):
        return None
    problem = evidence.problems("confidence")
    if choice.start is not None:
        rows = problem.rows[choice.start : choice.stop]
    else:
        last = (problem.scores < choice.upper) | (choice.upper >= 1.0)
        rows = problem.rows[(problem.scores >= choice.lower) & last]
    if choice.label is not None:
        rows = rows[top_label(evidence.predictions)[0][rows] == choice.label]
    return np.sort(rows)


def show_picture(
    key: str,
    *,
    after: Method | None = None,
    opened_after: bool = False,
    marked: tuple[float, float] | None = None,
    in_part: bool = False,
    on_choose: Callable[[ChosenRows], None] = lambda choice: None,
) -> None:
    """Show the model on screen, and a method after it, in the living picture; else in the static figure.

    `marked` is a range that the page is about; `in_part` says that a part of the page shows the picture, so
    that a choice runs the whole page.
    """
    if st.session_state.pop("picture-told", False) and in_part:
        st.rerun()
    data, base = dataset(), methods()[BASE]
    n_bins = int(st.session_state.get("bins", N_BINS))
    shown = [base] if after is None or after.name == BASE else [base, after]
    by_class = lacks(data.kind, "notion:top-label") is None
    named = tuple(results.conclusion(base).named) if by_class else ()
    packed = results.ask(
        living_picture,
        *shown,
        named=named,
        class_names=data.evaluation.class_names,
        event=data.event,
        after_name=shown[-1].name if len(shown) > 1 else "",
    )
    static = st.session_state.get(f"{key}-static", False) or f"{key}-failed" in st.session_state
    view = int(opened_after and len(shown) > 1)
    given = {"picture": packed, "bins": n_bins, "view": view, "marked": marked}
    if static or not _mounted(key, given, shown, on_choose):
        show_static(key, shown[-1] if opened_after else base, n_bins)
    look: dict[str, Any] = {"type": "tertiary", "icon": ":material/download:"}
    menu = st.popover("Save", key=f"{key}-save", on_change="rerun", **look)
    if menu.open:
        with menu:
            diagram = results.ask(reliability_diagram, base, n_bins=n_bins)
            ui.download(diagram.frame(), key, label="Data (CSV)")
            ui.offer("Picture (HTML)", lambda: _page(packed, base, n_bins, key), f"{key}.html", "text/html")
            st.toggle("Static figure", key=f"{key}-static", persist_state="session")


def show_rows_picture(key: str, rows: Rows, named: Sequence[int]) -> bool:
    """Show rows that are not the session's in the living picture; return whether it could be mounted."""
    names = rows.class_names
    packed = results.ask(living_picture, rows, named=tuple(named), class_names=names)
    given = {"picture": packed, "bins": N_BINS, "view": 0, "marked": None}
    return f"{key}-failed" not in st.session_state and _mounted(key, given, [], lambda choice: None)


def _mounted(
    key: str, given: dict[str, Any], shown: list[Method], on_choose: Callable[[ChosenRows], None]
) -> bool:
    """Mount the component; return whether Streamlit could.

    Without methods in `shown` the rows are no data of the session, and nothing is chosen.
    """
    picked = f"{key}-picture"

    def choose() -> None:
        sent = st.session_state[picked].chosen
        if sent is not None and shown:
            choice = ChosenRows.of(sent, shown[int(sent["view"])])
            st.session_state["picture-choice"] = choice
            st.session_state["picture-told"] = True
            st.session_state[f"{key}-rows-open"] = True
            on_choose(choice)

    def change_bins() -> None:
        sent = st.session_state[picked].bins
        if sent in SHARED["bins"] and shown:
            st.session_state["bins"] = int(sent)
            st.session_state["picture-told"] = True

    def fail() -> None:
        if (sent := st.session_state[picked].failed) is not None:
            LOG.error("the picture failed: %.200r", sent)
            st.session_state[f"{key}-failed"] = True

    if (mount := mounter(FILES, "picture", HTML)) is None:
        return False
    mount(key=picked, data=given, on_chosen_change=choose, on_bins_change=change_bins, on_failed_change=fail)
    return True


def show_static(key: str, method: Method, n_bins: int) -> None:
    data = dataset()
    by_class = lacks(data.kind, "notion:top-label") is None
    diagram = results.ask(reliability_diagram, method, n_bins=n_bins)
    panels: tuple[Panel, ...] = ("pooled", "classes") if by_class else ("pooled",)
    named = results.conclusion(methods()[BASE]).named if by_class else ()
    for column, panel in zip(st.columns(len(panels)), panels, strict=True):
        with column:
            ui.chart(
                diagrams.draw_reliability(
                    diagram, data.evaluation.class_names, named=named, panels=(panel,), event=data.event
                ),
                f"{key}-{panel}",
                table=diagram.frame,
                alt=ALT + PANELS[panel],
            )


def _page(packed: dict[str, Any], base: Method, n_bins: int, key: str) -> bytes:
    diagram = results.ask(reliability_diagram, base, n_bins=n_bins)
    drawn = diagrams.draw_reliability(diagram, dataset().evaluation.class_names, event=dataset().event)
    still = figure_html(drawn, f"{key}-still", ALT)
    return page(
        "Reliability diagram", picture_html({**packed, "bins": n_bins}, key, still), plotly_script()
    ).encode()
