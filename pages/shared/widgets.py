"""Elements that look the same on every page: heading, figure and table with their downloads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.column_config import Column, NumberColumn
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.column_types import ColumnConfig

from calib.answers.metric_tables import INTERVALS_NOTE, Assessment, metric_frame, metric_texts
from calib.base.results import Result
from calib.data.defaults import N_BINS
from calib.data.kinds import Kind, lacks
from calib.data.predictions import effective_words
from calib.diagrams import style
from calib.files.readers import write_csv
from calib.report.html import page, paragraph, text
from calib.stats.effective import dependence_words
from pages.shared import page_results as results
from pages.shared import session
from pages.shared.address import SHARED, keep_in_address
from pages.shared.isolation.computing import write_table
from pages.shared.texts import PAGE_TERMS
from pages.shared.work import compute

LEARN = "pages/views/learn.py"
#: Cells of the largest table whose file is made before anybody asks for it: 10 to 30 ms.
MADE_AT_ONCE = 20_000
ARROW = ":material/arrow_forward:"
#: What a session can lose, by the word for it in the address.
LOST = {"data": "the data you uploaded", "fitted": "the calibrators you fitted and the models you added"}


def heading(title: str, lead: str, *, own_example: bool = False) -> DeltaGenerator:
    """Show a page's title, with one sentence on the question it answers, and its data, on one line.

    A page with an example of its own shows its data in the place that is returned.
    """
    head = st.container(
        key="page-head", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    )
    with head:
        st.title(title, anchor=False, help=lead, width="content")
        about = st.container(key="page-about")
        if not own_example:
            with about:
                show_dataset(session.dataset())
            choose_model()
            if (found := session.choice_on_screen()) is not None:
                look = {"icon": ":material/close:", "width": "content"}
                st.button(escaped(found[0].words), key="drop-choice", on_click=session.drop_choice, **look)
        terms = {"learn_tab": "Glossary", "terms": PAGE_TERMS[title]}
        st.page_link(LEARN, label="Terms on this page", icon=":material/menu_book:", query_params=terms)
    return about


def choose_model() -> None:
    """Show the menu of the models on these rows, if there are several; a page is about one of them."""
    models = list(session.dataset().models)
    if models:
        st.session_state["model"] = session.dataset().model
        st.selectbox(
            "Model",
            models,
            key="model",
            on_change=lambda: session.show_model(st.session_state["model"]),
            label_visibility="collapsed",
            width=240,
        )


def choose_data(example: str, title: str, against: str) -> session.Dataset:
    """Return the page's own example, or the data on screen if they fit and are wanted; say which in one line.

    `against` says why the data on screen do not fit; "" if they do.
    """
    data = session.dataset()
    key = f"{example}-own-{data.evaluation.fingerprint}"
    own = bool(against) or st.session_state.setdefault(key, data.example == session.DEFAULT_EXAMPLE)

    def switch() -> None:
        st.session_state[key] = not own

    with st.container(horizontal=True, vertical_alignment="center"):
        if own:
            why = f": {escaped(against)}" if against else "."
            st.caption(f"This page shows {title}, an example, not {literal(data.name)}{why}", width="content")
        if not against:
            label = "Show the loaded predictions" if own else f"Show {title}"
            st.button(
                label, on_click=switch, type="tertiary", icon=":material/swap_horiz:", key=f"{example}-switch"
            )
    return session.from_example(example) if own else data


def next_line(page: str) -> None:
    """Link, on one line, to the two steps that follow a page."""
    data, base = session.dataset(), session.methods()[session.BASE]
    steps: dict[str, tuple[str, str, dict[str, str]]] = {
        "Data": ("data", "", {}),
        "Overview": ("overview", "The answer", {}),
        "Reliability": ("reliability", "Where it is off", {}),
        "Repair": ("repair", "Repair and download", {}),
        "Decide": ("decide", "What may pass", {}),
        "Apply": ("repair", "New predictions", {"repair_tab": "Apply"}),
    }
    order = list(steps)
    before = {"Groups": "Reliability", "Validity": "Repair"}.get(page, page)
    following = order[order.index(before) + 1 :]
    several_true = "every label" in data.kind.has
    if "Reliability" in following and (several_true or not results.conclusion(base).rejected):
        following.remove("Reliability")
    if not data.has_rows:
        following = [name for name in following if name in ("Overview", "Reliability")]
    if not following:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="next"):
        st.caption("Next", width="content")
        for name in following[:2]:
            file, label, query = steps[name]
            st.page_link(f"pages/views/{file}.py", label=label, icon=ARROW, query_params=query)


def show_dataset(data: session.Dataset | None) -> None:
    """Show the data of a page: name, rows and classes, and whether they are simulated.

    The page's exports list the fixes accepted in these data; None is for pages with data of their own.
    """
    st.session_state["fixes"] = () if data is None else data.log
    if data is None:
        return
    if missing := session.lost():
        what = " and ".join(LOST[name] for name in missing)
        st.warning(
            f"{what[0].upper()}{what[1:]} are no longer on the server: it was restarted, or your session "
            "ended when the page was reloaded or was disconnected for more than a minute. This page "
            "shows a built-in example. Drop your saved project file, or your files, on the Data page."
        )
        link_to_data()
    evaluation = data.evaluation
    voted = getattr(evaluation, "voted", None) is not None
    rows = f"{evaluation.n_samples:,} {'votes' if voted else 'evaluation rows'}"
    rows += ", " if data.has_rows else " in a summary, "
    if data.event is not None:
        rows += f"P(Y = 1) of class {literal(data.event)}"
    elif data.kind.scored:
        rows += data.kind.title
    elif "every label" in data.kind.has:
        rows += f"{evaluation.n_classes:,} classes of which several can be true"
    else:
        rows += f"{evaluation.n_classes:,} classes"
    if evaluation.coverage < 1.0:
        rows += f", {evaluation.coverage:.1%} of the rows answered"
    if data.calibration is not None:
        rows += f", {data.calibration.n_samples:,} calibration rows"
    if data.evidence.is_weighted and not voted:
        rows += f"; every number is {effective_words(data.evidence.effective_samples, evaluation.n_samples)}"
    if worth := results.ask(dependence_words, evaluation):
        rows += f"; {escaped(worth)}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="about-data"):
        if data.simulated:
            st.badge("Simulated data", color="orange")
        st.caption(f"{literal(data.name)} \u00b7 {rows}")


def event_of(data: session.Dataset) -> str | None:
    """Return, as Markdown, the event whose probability binary scores are; None for scores of other kinds."""
    return None if data.event is None else literal(data.event)


def literal(text: str) -> str:
    """Return a user's text as inline code: Markdown would follow its images and links."""
    return "`` " + str(text).replace("`", "'").replace("\n", " ").replace("\r", " ") + " ``"


def escaped(text: object) -> str:
    """Return text that may quote a user's file as Markdown that shows exactly this text.

    Every character that Markdown or Streamlit could interpret is escaped, and an address becomes code, no
    link. For names alone, use `literal`.
    """
    words = re.split(r"(\S*(?::/|www\.)\S*)", str(text).replace("\n", " "), flags=re.IGNORECASE)
    plain = [re.sub(r"([\\`*_{}\[\]()<>#+.!|~$:-])", r"\\\1", word) for word in words[::2]]
    return "".join(
        part + (literal(address) if address else "")
        for part, address in zip(plain, [*words[1::2], ""], strict=True)
    )


def range_of(bin_: int, n_bins: int) -> str:
    return f"{bin_ / n_bins:.3g} to {(bin_ + 1) / n_bins:.3g}"


def stacked(results: Mapping[str, Result], column: str) -> pd.DataFrame:
    """Stack the tables of several results, with their names in the last column."""
    return pd.concat([result.frame().assign(**{column: name}) for name, result in results.items()])


def shortfall(kind: Kind, what: str) -> str:
    """Return, as Markdown, the sentence on what predictions of a kind lack for something."""
    text = str(lacks(kind, what))
    return escaped(text[0].upper() + text[1:])


def link_to_data() -> None:
    st.page_link("pages/views/data.py", label="Open Data", icon=":material/upload_file:")


class Ready(go.Figure):
    """A figure for Streamlit, which checks each property of a dict: 5 ms for a reliability diagram."""

    def __init__(self, figure: style.Figure) -> None:
        self.__dict__["ready"] = figure

    def to_dict(self) -> style.Figure:
        return dict(self.__dict__["ready"])


def chart(
    figure: style.Figure,
    key: str,
    *,
    table: Callable[[], pd.DataFrame] | None = None,
    alt: str,
    on_click: Callable[[dict[str, Any]], None] | None = None,
    height: int | None = None,
) -> None:
    """Draw a figure with the menu of its files: its data, a page, and a picture.

    `table` makes the data; it is called when the menu is opened. `on_click` gets a mark with customdata that
    is clicked. `height` in pixels replaces the figure's.
    """

    def click() -> None:
        for point in st.session_state[key].selection.points[:1]:
            if on_click is not None and "customdata" in point:
                on_click(dict(point))

    figure = style.in_theme(figure, st.context.theme.type == "dark")
    if height is not None:
        figure = style.with_layout(figure, height=height)
    above = max(figure["layout"]["margin"]["t"], 36)  # room for the menu of its files
    figure = style.with_layout(figure, margin={"t": above})
    shown = style.with_swatches(figure)
    if on_click is not None:  # Streamlit would set this after the first drawing, and draw the figure again
        shown = style.with_layout(shown, clickmode="event+select", dragmode="pan", hovermode="closest")
    file = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")
    look = {"type": "tertiary", "icon": ":material/download:"}
    menu = st.popover("Save", key=f"{key}-files", on_change="rerun", **look)
    format_ = (st.session_state.get(f"{key}-format") or "SVG").lower()
    st.plotly_chart(
        Ready(shown),
        key=key,
        height="content",
        theme=None,
        on_select="ignore" if on_click is None else click,
        selection_mode="points",
        alt=alt,
        config=style.CONFIG | {"toImageButtonOptions": {"format": format_, "filename": file, "scale": 2}},
    )
    if menu.open:  # what is in it is made only then
        with menu:
            if table is not None:
                download(table(), file, label="Data (CSV)")
            log, help_ = st.session_state.get("fixes", ()), "Makes a self-contained page to save."
            made_page = partial(figure_page, figure, file, alt, log)
            offer("Figure (HTML)", made_page, f"{file}.html", "text/html", help_=help_)
            kept_format: dict[str, Any] = {"default": "SVG", "required": True, "persist_state": "session"}
            st.segmented_control("Picture", ["SVG", "PNG"], key=f"{key}-format", **kept_format)
            st.html(f'<button class="calib-save" data-calib-save="{escape(key)}">Save picture</button>')


def figure_page(figure: style.Figure, key: str, alt: str, log: tuple[str, ...]) -> bytes:
    """Return a figure as a self-contained page that lists the fixes accepted in the data."""
    fixes = [paragraph(f"Fixed in the data: {text(line)}") for line in log]
    return page(alt, "\n".join([style.figure_html(figure, key, alt), *fixes]), style.plotly_script()).encode()


def table_to_tick(
    table: pd.DataFrame, key: str, on_tick: Callable[[int], None], *, most: int | None = 8, **look: Any
) -> None:
    """Show a table, at most `most` rows of it without scrolling; `on_tick` gets the row that is ticked."""

    def tick() -> None:
        for row in st.session_state[key].selection.rows:
            on_tick(row)

    height = "auto" if most is None else 35 * min(len(table) + 1, most + 1) + 2
    selecting: dict[str, Any] = {"on_select": tick, "selection_mode": "single-row"}
    st.dataframe(table, key=key, hide_index=True, height=height, **selecting, **look)


def columns_of(heads: Mapping[str, tuple[str, str]], formats: Mapping[str, str]) -> dict[str, ColumnConfig]:
    """Return the table columns with their meanings, by their names in the frame."""
    return {
        name: NumberColumn(head, format=formats[name], help=meaning)
        if name in formats
        else Column(head, help=meaning)
        for name, (head, meaning) in heads.items()
    }


def download(table: pd.DataFrame, file: str, *, label: str = "Table (CSV)") -> None:
    """Offer a table as CSV; cells that a spreadsheet would run as formulas are neutralised.

    Accepted fixes are in the first row of an additional last column.
    """
    logged, log = table, st.session_state.get("fixes", ())
    if log and not table.empty:
        logged = table.assign(input_fixes=["; ".join(log), *[""] * (len(table) - 1)])

    def content() -> bytes:
        if logged.size <= MADE_AT_ONCE:
            return write_csv(logged)
        return compute("Writing the file", write_table, logged).tobytes()

    offer(label, made(content, logged), f"{file}.csv", "text/csv")


def made(make: Callable[[], bytes], table: pd.DataFrame) -> bytes | Callable[[], bytes]:
    """Return the file of a small table; for a large table, the function that makes it."""
    return make() if table.size <= MADE_AT_ONCE else make


def offer(
    label: str,
    data: bytes | str | Callable[[], bytes],
    file: str,
    mime: str,
    kind: Literal["primary", "secondary", "tertiary"] = "tertiary",
    *,
    key: str | None = None,
    help_: str | None = None,
) -> None:
    """Offer a file; `data` is its content, or a function that makes it, called when a button is pressed.

    What the function returns is offered by a second button until the page runs again. Streamlit's own way
    of calling a function at the download loses files when other sessions are at work.
    """
    key = key or file
    if not callable(data):
        look = {"type": kind, "icon": ":material/download:", "help": help_}
        st.download_button(label, data, file, mime, key=key, on_click="ignore", **look)
        return

    @st.fragment
    def on_request() -> None:
        if st.button(label, key=f"{key}-make", type=kind, icon=":material/download:", help=help_):
            content = data()
            offer(f"Save {file} ({len(content) / 1e6:.1f} MB)", content, file, mime, kind, key=key)

    with st.container(width="content"):  # else a fragment takes all the room there is
        on_request()


def before_and_after(methods: Sequence[Assessment]) -> pd.DataFrame:
    """Show a column per method, each number with its interval, and return the numbers for a download."""
    st.dataframe(metric_texts(methods).rename_axis("Number"), placeholder="\u2013", height="content")
    st.caption(INTERVALS_NOTE)
    return metric_frame(methods)


def show_tabs(tabs: Mapping[str, Callable[[], None]], key: str, *, in_address: bool = False) -> None:
    """Show tabs by their titles; the function of a tab is called when the tab is opened.

    With `in_address`, the address says which tab is open.
    """
    bind: Literal["query-params"] | None = "query-params" if in_address else None
    shown = st.tabs(list(tabs), key=key, on_change="rerun", bind=bind)
    for tab, show in zip(shown, tabs.values(), strict=True):
        if tab.open:
            with tab:
                show()


def method_menu() -> session.Method:
    """Show the choice of a method, which pages share, and return it; without a choice, show nothing."""
    found = session.methods()
    keep_in_address("method", list(found), next(iter(found)))
    if len(found) == 1:
        return found[session.BASE]
    return found[st.selectbox("Scores", list(found), key="method")]


def bins_slider(label: str = "Equal-width bins B") -> int:
    """Show the slider of the number of bins, which all pages share, and return its value."""
    values = SHARED["bins"]
    keep_in_address("bins", values, N_BINS)
    return st.slider(label, values[0], values[-1], key="bins", persist_state="session")
