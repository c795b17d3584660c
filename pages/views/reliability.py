"""Reliability: confidence against accuracy in the living picture, the classes, and what was chosen there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from calib import (
    InputError,
    calibration_band,
    class_diagram,
    class_table,
    corp_curve,
    diagrams,
    reliability_diagram,
)
from calib.data.defaults import N_BINS
from calib.data.kinds import lacks
from calib.diagrams import ClassTable, ReliabilityDiagram, confusions
from calib.diagrams.class_tables import CLASS_COLUMNS
from calib.stats.measures import ece_of
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.address import SHARED, keep_in_address
from pages.shared.needs import need_kind, show_rows_needed, weights_refused
from pages.shared.page_parts import part
from pages.shared.panels.picture import show_chosen_rows, show_picture
from pages.shared.panels.risk import show_risk_line, show_smoothed
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.session import ChosenRows, Method, choice_on_screen, dataset, drop_choice, methods
from pages.shared.texts import meanings

#: In the menus of classes and bins: none is chosen.
ALL = -1
#: Errors by their keys, in a sentence.
ERRORS = {
    "conf_ece": "all rows together: conf-ECE",
    "tl_ece": "each predicted class: TL-ECE",
    "ece": "mean gap between the score and how often it comes true:",
}
#: Titles of tabs.
CHOSEN, ROWS = "Class or bin", "Rows"
#: Classes in the figure of one bin, and classes that a sentence on confusions names.
MOST_CLASSES, MOST_CONFUSED = 12, 3
#: Columns that fit beside the class; the file has all.
SHOWN = ["class", "flagged", "gap", "lower", "upper", "accuracy", "predicted", "rows_needed"]
FORMATS = {
    "predicted": "localized",
    "rows_needed": "%.0f",
    "accuracy": "%.3f",
    **dict.fromkeys(("gap", "lower", "upper"), "%+.3f"),
}
COLUMNS = ui.columns_of({name: CLASS_COLUMNS[name] for name in SHOWN}, FORMATS)


def choose(tab: str, **what: Any) -> None:
    """Choose a class or a bin, and open the tab that is about it."""
    st.session_state.update({"reliability_tab": tab, **what})
    drop_choice()


def choose_in_picture(choice: ChosenRows) -> None:
    """Take over the class and the bin that were chosen in the picture."""
    st.session_state["class"] = ALL if choice.label is None else choice.label
    st.session_state["bin"] = ALL if choice.bin is None else choice.bin
    st.session_state["reliability_tab"] = ROWS


@part
def show() -> None:
    """Show the picture of a method, and below it the class or the bin that was chosen."""
    data = dataset()
    answer, living = st.container(), st.container()
    menus = st.container(horizontal=True, key="choice-menus")
    with menus:
        method = ui.method_menu()
    keep_in_address("bins", SHARED["bins"], N_BINS)
    n_bins = int(st.session_state["bins"])
    diagram = results.ask(reliability_diagram, method, n_bins=n_bins)
    by_class = lacks(data.kind, "notion:top-label") is None
    concluded = {"conclusion": results.conclusion(method)} if by_class else {}
    table = results.ask(class_table, method, n_bins=n_bins, **concluded) if by_class else None
    keep_in_address("bin", [ALL, *diagram.pooled.bin.tolist()], ALL)
    if table is not None:
        keep_in_address("class", [ALL, *range(len(table.share))], int(table.order[0]))
    with living:
        show_living(method, n_bins)
    with menus:
        code = None if table is None else class_menu(table)
        bin_ = bin_menu(diagram, n_bins)
    is_risk = data.event is not None and data.has_rows
    tabs: dict[str, Callable[[], None]] = {}
    if table is not None:
        tabs[CHOSEN] = partial(show_chosen, method, table, diagram, n_bins, code, bin_)
        tabs["All classes"] = partial(show_classes, table)
    elif is_risk:
        tabs["Smoothed"] = partial(show_smoothed, method)
    tabs[ROWS] = partial(show_rows, method, n_bins, code, bin_)
    tabs["Without bins"] = partial(show_without_bins, method, diagram)
    ui.show_tabs(tabs, "reliability_tab", in_address=True)
    with answer:
        if is_risk:
            show_risk_line(method)
        else:
            show_errors(method, n_bins, table)
        if table is None and data.event is None:
            st.caption(ui.shortfall(data.kind, "notion:top-label"))
    ui.next_line("Reliability")


def show_living(method: Method, n_bins: int) -> None:
    """Show the picture before and after the method on screen; the chosen bin is marked."""
    fitted = [each for each in methods().values() if each.calibrator is not None]
    bin_ = st.session_state["bin"]
    show_picture(
        "reliability",
        after=method if method.calibrator is not None else next(iter(fitted), None),
        opened_after=method.calibrator is not None,
        marked=None if bin_ == ALL else (bin_ / n_bins, (bin_ + 1) / n_bins),
        in_part=True,
        on_choose=choose_in_picture,
    )


def show_errors(method: Method, n_bins: int, table: ClassTable | None) -> None:
    """Say how large the errors are, as the method is assessed."""
    keys = [key for key in ("conf_ece", "tl_ece", "ece") if key in ece_of(dataset().kind)]
    errors = {key: results.floor(method, key, n_bins) for key in keys}
    found = [f"{ERRORS[key]} **{noise.observed:.4f}**, {noise.verdict}" for key, noise in errors.items()]
    said = f"{found[0][0].upper()}{'; '.join(found)[1:]}."
    if table is not None:
        said = f"{table.words('**{}**')}. {said}"
    if method.evidence.strategy != "uniform":
        what = "Classes with few distinct scores are" if table is not None else "These scores are"
        said += f" {what} assessed at each distinct score, not in the bins drawn."
    st.markdown(said, help=meanings(ece_of(dataset().kind)[key].title for key in keys) or None)


def show_classes(table: ClassTable) -> None:
    names = dataset().evaluation.class_names
    every = table.frame(names)
    ui.table_to_tick(
        every[SHOWN],
        "class-table",
        lambda row: choose(CHOSEN, **{"class": int(every["label"][row]), "bin": ALL}),
        column_config=COLUMNS,
        placeholder="\u2013",
    )
    ui.download(every, "classes")


def bin_menu(diagram: ReliabilityDiagram, n_bins: int) -> int | None:
    edges = {bin_: ui.range_of(bin_, n_bins) for bin_ in diagram.pooled.bin.tolist()}
    bins = [ALL, *edges]
    label = "Score" if dataset().event is not None else "Confidence"
    # The browser keeps the words of another model, so they hold no counts.
    found = st.selectbox(
        label, bins, key="bin", format_func=lambda at: edges.get(at, "any"), on_change=drop_choice
    )
    return None if found == ALL else found


def class_menu(table: ClassTable) -> int | None:
    names = dataset().evaluation.class_names
    codes: list[int] = [ALL, *map(int, table.order)]
    found = st.selectbox(
        "Class",
        codes,
        key="class",
        format_func=lambda code: "all" if code == ALL else names[code],
        on_change=drop_choice,
    )
    return None if found == ALL else found


def show_chosen(
    method: Method,
    table: ClassTable,
    diagram: ReliabilityDiagram,
    n_bins: int,
    code: int | None,
    bin_: int | None,
) -> None:
    names = dataset().evaluation.class_names
    if code is not None:
        show_class(method, table, code, bin_, n_bins)
    elif bin_ is None:
        st.info("Choose a class or a bin in the picture or in the menus.")
    else:
        zoom = diagram.zoom(bin_)
        st.markdown(zoom.words([ui.literal(name) for name in names], strong="**{}**"))
        ui.chart(
            diagrams.draw_zoom(zoom, names, most=MOST_CLASSES),
            "bin-zoom",
            table=lambda: zoom.frame(names),
            on_click=lambda point: choose(CHOSEN, **{"class": int(point["customdata"][-1])}),
            alt="Accuracy minus confidence of every predicted class in the chosen bin",
        )


def show_class(method: Method, table: ClassTable, code: int, bin_: int | None, n_bins: int) -> None:
    """Show one class: a sentence, its diagram, and what it is confused with."""
    names = dataset().evaluation.class_names
    name = ui.literal(names[code])
    if not table.predicted[code]:
        st.markdown(f"{name} is never predicted; it is the true class of {table.true[code]:,} rows.")
        return
    words, figure = st.columns([2, 3])
    diagram = results.ask(class_diagram, method, label=code, notion="top-label", n_bins=n_bins)
    with figure:
        ui.chart(
            diagrams.draw_class(diagram, chosen=bin_, n_bins=n_bins, height=225),
            "class-bins",
            table=diagram.frame,
            alt="Reliability diagram of one class",
            on_click=lambda point: choose(ROWS, bin=round(float(point["customdata"][0]) * n_bins)),
        )
    words.markdown(table.class_words(code, name, strong="**{}**"))
    if not dataset().has_rows:
        return
    pair = confusions(results.about(method, "top-label"), label=code)
    said = []
    for what, others, counts in (
        (f"rows predicted {name} are wrong", pair.truth_when_predicted, pair.count_when_predicted),
        (f"rows of {name} are missed", pair.predicted_when_true, pair.count_when_true),
    ):
        most = zip(others[:MOST_CONFUSED].tolist(), counts[:MOST_CONFUSED].tolist(), strict=True)
        listed = ", ".join(f"{ui.literal(names[other])} {count:,}" for other, count in most)
        said.append(f"**{counts.sum():,}** {what}{listed and f': {listed}'}.")
    words.markdown(" ".join(said))


def show_rows(method: Method, n_bins: int, code: int | None, bin_: int | None) -> None:
    """List the rows of the class and the bin, or of a range that was chosen in the picture."""
    st.session_state.setdefault("reliability-rows-open", True)
    found = choice_on_screen()
    if found is not None and found[0].bin is None and found[0].label is None:
        show_chosen_rows("reliability-rows")
        return
    what = "All rows" if code is None else f"Predicted {ui.literal(dataset().evaluation.class_names[code])}"
    what += "" if bin_ is None else f" at {ui.range_of(bin_, n_bins)}"
    notion: Any = "confidence" if code is None else "top-label"
    rows_panel((method,), results.rows_of(method, notion, n_bins, code, bin_), what, "reliability-rows")


def show_without_bins(method: Method, diagram: ReliabilityDiagram) -> None:
    """Show the isotonic curve of all rows, and for independent rows a band that holds the true curve."""
    data, evidence = dataset(), method.evidence
    if show_rows_needed("A diagram or a band without bins"):
        return
    fitted = results.ask(corp_curve, method, notion="confidence")
    bounds = None
    if evidence.is_weighted:
        st.caption(ui.escaped(weights_refused("The band of the true curve")))
    elif evidence.n_clusters is not None:
        n_clusters = f"{evidence.n_clusters:,}"
        st.caption(f"The band of the true curve is for independent rows; these are {n_clusters} clusters.")
    else:
        bounds = results.ask(calibration_band, method, notion="confidence")
    ui.chart(
        diagrams.draw_reliability(
            diagram, panels=("pooled",), curve=fitted.steps(), bounds=bounds, event=data.event
        ),
        "reliability-curve",
        table=lambda: fitted.frame() if bounds is None else bounds.frame().assign(frequency=fitted.frequency),
        alt="Reliability of all classes together without bins",
    )
    st.caption(fitted.words)
    if bounds is None:
        return
    above = st.number_input("How far off can it be above this score", 0.0, 1.0, 0.5, 0.05, key="above")
    try:
        st.markdown(bounds.words(above, "**{}**"))
    except InputError as error:
        st.info(f"Nothing to say: {ui.escaped(error)}.")
    st.caption(
        "The band holds at all scores at once (Dimitriadis et al. 2023). The statement above holds for every "
        "score, chosen before or after looking."
    )


ui.heading(
    "Reliability",
    "How often is the model right at each confidence, over all classes and for each predicted class?",
)
need_kind("Reliability")
show()
