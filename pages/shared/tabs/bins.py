"""Reliability: confidence against top-label reliability, and a zoom into one bin."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib import InputError, calibration_band, conclude, corp_curve, diagrams, reliability_diagram
from calib.data.defaults import N_BINS
from calib.data.kinds import lacks
from calib.data.notions import Notion
from calib.diagrams import BinZoom, ReliabilityDiagram
from calib.diagrams.reliability_diagrams import MAX_DOTS, PANELS, Panel
from calib.evidence.reductions import top_label
from calib.stats import NoiseFloor
from calib.stats.bands import consistency_band
from calib.stats.measures import ece_of
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.address import SHARED, keep_in_address
from pages.shared.choice import ChosenRows
from pages.shared.choice import chosen as chosen_in_picture
from pages.shared.needs import need_kind, say_rows_needed, weights_refused
from pages.shared.page_parts import part
from pages.shared.panels.picture import show_chosen_rows, show_picture
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.session import BASE, Method, dataset, methods, scored

#: Classes in the figure of one bin.
MOST_CLASSES = 12


def pick_bin(key: str) -> None:
    if custom := ui.clicked(key).get("customdata"):
        st.session_state["bin-rows-open"] = True
        st.session_state["bin"] = int(custom[0])
        if key == "reliability-classes" and len(custom) > 3:
            st.session_state["bin-class"] = int(custom[1])


def pick_class() -> None:
    if custom := ui.clicked("bin-zoom").get("customdata"):
        st.session_state["bin-rows-open"] = True
        st.session_state["bin-class"] = int(custom[-1])


@part
def show() -> None:
    data = dataset()
    left, *middle, right = st.columns([5, 2, 1] if data.models else [5, 1], vertical_alignment="bottom")
    with left:
        menu, slider = st.columns([1, 2], vertical_alignment="bottom")
    with menu:
        method = ui.method_menu()
    others = {name: other for name, other in scored().items() if name != method.name}
    other = None
    options_menu = right.popover("Options", width="stretch")
    if others and lacks(data.kind, "notion:top-label") is None:
        with next(iter(middle), options_menu):
            other = ui.choose_beside(others)
    with options_menu:
        show_band = st.toggle("Range of a perfect model", key="band", bind="query-params")
        show_curve = data.has_rows and st.toggle("Without bins (CORP)", key="corp", bind="query-params")
        weighted, clusters = method.evidence.is_weighted, method.evidence.n_clusters
        independent = data.has_rows and not weighted and clusters is None
        show_bounds = independent and st.toggle("Band of the true curve", key="bounds", bind="query-params")
        show_truth = data.truth is not None and method.name == BASE
        if show_truth:
            show_truth = st.toggle("True accuracy (simulated)", key="truth", bind="query-params")

    keep_in_address("bins", SHARED["bins"], N_BINS)
    n_bins = int(st.session_state["bins"])
    static = other is not None or show_band or show_curve or show_bounds or bool(show_truth)
    if static:  # the living picture has a slider of its own
        with slider:
            n_bins = ui.bins_slider()
    if not say_rows_needed("A diagram or a band without bins") and weighted:
        st.caption(ui.escaped(weights_refused("The band of the true curve")))
    elif clusters is not None:
        st.caption(f"The band of the true curve is for independent rows; these are {clusters:,} clusters.")
    diagram = results.ask(reliability_diagram, method, n_bins=n_bins)
    truth = diagram.means(top_label(method.rows.predictions)[1], data.truth) if show_truth else None
    fitted = results.ask(corp_curve, method, notion="confidence") if show_curve else None
    curve = None if fitted is None else fitted.steps()
    bounds = results.ask(calibration_band, method, notion="confidence") if show_bounds else None
    band = None
    if show_band:
        perfect = results.ask(
            consistency_band, method, notion="confidence", n_bins=n_bins, strategy="uniform"
        )
        band = (perfect.lower, perfect.upper)

    answer = st.container()  # filled last: the figures need no redraws
    if fitted is not None:
        st.caption(fitted.words)
    options: dict[str, Any] = {"truth": truth, "band": band, "curve": curve, "bounds": bounds}
    options["event"] = data.event
    if other is not None:
        options["other"] = (other.name, results.ask(reliability_diagram, other, n_bins=n_bins))
    show_bins(method, n_bins, diagram, options if static else None, answer)


@part
def show_bins(
    method: Method,
    n_bins: int,
    diagram: ReliabilityDiagram,
    options: dict[str, Any] | None,
    answer: DeltaGenerator,
) -> None:
    """Show the diagram, the bin that was chosen there, and its rows; then assess them, first in `answer`.

    `options` are of the static figure; None shows the living picture.
    """
    keep_in_address("bin", diagram.pooled.bin.tolist(), diagram.clearest_bin)
    if options is not None:
        options = {**options, "chosen": st.session_state["bin"]}
    if diagram.one_event:
        main, side = ui.beside("bin", (3, 2))
    else:
        above, (main, side) = st.container(), st.columns(2)
        with above:
            if options is None:
                show_living(method, n_bins)
            else:
                show_signature(method, n_bins, diagram, options)
    with main:
        if diagram.one_event:
            if options is None:
                show_living(method, n_bins)
            else:
                show_panel(diagram, "pooled", options)
            st.caption(ui.shortfall(dataset().kind, "notion:top-label"))
        edges = {b: ui.range_of(b, n_bins) for b in diagram.pooled.bin.tolist()}
    with side if diagram.one_event else main:
        # The browser keeps the words of another model, so they hold no counts.
        label = "Score bin" if dataset().event is not None else "Confidence bin"
        chosen = st.selectbox(label, list(edges), key="bin", format_func=lambda b: edges.get(b, ""))
        if diagram.one_event and not list_chosen():
            bin_rows = results.rows_of(method, "confidence", n_bins, bin_=chosen)
            rows_panel((method,), bin_rows, f"Scores of {edges[chosen]}", "bin-rows")
        elif not diagram.one_event:
            code = show_zoom(diagram.zoom(chosen))
    if not diagram.one_event:
        with side:
            if not list_chosen():
                show_rows(method, n_bins, chosen, code, edges[chosen])
    with main:
        show_assessment(method, n_bins, diagram, options or {}, answer)


def show_living(method: Method, n_bins: int) -> None:
    """Show the living picture, of the model before and after the method on screen; the bin is marked."""
    bin_ = st.session_state["bin"]
    fitted = [each for each in methods().values() if each.calibrator is not None]
    after = method if method.calibrator is not None else next(iter(fitted), None)
    show_picture(
        "reliability",
        after=after,
        opened_after=method.calibrator is not None,
        marked=(bin_ / n_bins, (bin_ + 1) / n_bins),
        in_part=True,
        on_choose=choose_bin,
    )


def choose_bin(choice: ChosenRows) -> None:
    """Show the bin that was chosen in the picture."""
    if choice.bin is not None:
        st.session_state["bin"], st.session_state["bin-class"] = choice.bin, choice.label


def list_chosen() -> bool:
    """List the rows of a class or a range that is chosen in the picture, which is no bin."""
    found = chosen_in_picture()
    if found is None or found[0].bin is not None:
        return False
    show_chosen_rows("bin-rows")
    return True


def show_signature(method: Method, n_bins: int, diagram: ReliabilityDiagram, options: dict[str, Any]) -> None:
    headline = results.ask(conclude, method, n_bins=n_bins).named
    options = {"class_names": dataset().evaluation.class_names, "named": headline, **options}
    for column, panel in zip(st.columns(2), PANELS, strict=True):
        with column:
            show_panel(diagram, panel, options)
    many = len(diagram.cells.count) > MAX_DOTS
    largest = f" Pale: the {MAX_DOTS} other cells with the most rows." if many else ""
    st.caption(f"In colour: classes miscalibrated beyond noise.{largest} Below: gaps; grey: a perfect model.")


def show_panel(diagram: ReliabilityDiagram, panel: Panel, options: dict[str, Any]) -> None:
    key = "reliability" if panel == "pooled" else "reliability-classes"
    ui.chart(
        diagrams.draw_reliability(diagram, panels=(panel,), **options),
        key,
        table=diagram.frame,
        alt=f"Reliability diagram: accuracy against confidence. {PANELS[panel]}",
        on_select=partial(pick_bin, key),
    )


def show_zoom(zoom: BinZoom) -> int | None:
    names = dataset().evaluation.class_names
    st.markdown(zoom.words([ui.literal(name) for name in names], strong="**{}**"))
    bin_classes = [None, *zoom.cells.label.tolist()]
    if st.session_state.get("bin-class") not in bin_classes:
        st.session_state["bin-class"] = None
    figure = st.container()
    with st.expander("Classes with few rows"):
        shrunk = st.toggle("Shrink towards all classes", key="shrunk", persist_state="session")
        st.caption(
            "A diamond estimates the accuracy of a class from its own rows and from all rows of the bin, "
            + (
                "whose classes show no difference beyond chance."
                if zoom.alike
                else f"which count as {zoom.strength:,.0f} rows."
            )
        )
    with figure:
        ui.chart(
            diagrams.draw_zoom(
                zoom, names, chosen=st.session_state.get("bin-class"), shrunk=shrunk, most=MOST_CLASSES
            ),
            "bin-zoom",
            table=lambda: zoom.frame(names),
            on_select=pick_class,
            alt="Accuracy minus confidence of every predicted class in the chosen bin",
        )
        if len(zoom.cells.label) > MOST_CLASSES:
            st.caption(f"{MOST_CLASSES} of {len(zoom.cells.label):,} classes, by evidence.")
    code: int | None = st.selectbox(
        "Rows of",
        bin_classes,
        key="bin-class",
        placeholder="all classes of the bin",
        format_func=lambda code: "all classes of the bin" if code is None else f"predicted {names[code]}",
    )
    return code


def show_rows(method: Method, n_bins: int, bin_: int, code: int | None, edges: str) -> None:
    notion: Notion = "confidence" if code is None else "top-label"
    name = "" if code is None else ui.literal(dataset().evaluation.class_names[code])
    what = f"All classes at {edges}" if code is None else f"Predicted {name} at {edges}"
    rows_panel((method,), results.rows_of(method, notion, n_bins, code, bin_), what, "bin-rows")


def show_assessment(
    method: Method, n_bins: int, diagram: ReliabilityDiagram, options: dict[str, Any], answer: DeltaGenerator
) -> None:
    """Show the size of the errors, and what the band shows."""
    with answer:
        # As the method is assessed, which for histogram binning is not in the bins drawn.
        errors = {
            key: results.floor(method, key, n_bins)
            for key in ("conf_ece", "tl_ece", "ece")
            if key in ece_of(dataset().kind)
        }
        st.markdown(error_words(errors, diagram, dataset().event))
    bounds = options.get("bounds")
    if bounds is not None:
        above = st.number_input("How far off can it be above this score", 0.0, 1.0, 0.5, 0.05, key="above")
        try:
            st.markdown(bounds.words(above, "**{}**"))
        except InputError as error:
            st.info(f"Nothing to say: {ui.escaped(error)}.")
        st.caption(
            "The band holds at all scores at once (Dimitriadis et al. 2023), and so does the statement for "
            "every choice, made before or after looking."
            + ("" if diagram.one_event else " It is about all predicted classes pooled.")
        )
        ui.download(bounds.frame(), "calibration-band", label="Band (CSV)")
    if method.evidence.strategy == "discrete":
        what = "The error assesses" if diagram.one_event else "Both errors assess"
        st.caption(f"{what} these scores at each distinct value, not in the bins drawn.")
    elif method.evidence.strategy != "uniform":
        st.caption(
            "TL-ECE assesses classes with few distinct scores at each of these, not in the bins drawn."
        )


def error_words(errors: dict[str, NoiseFloor], diagram: ReliabilityDiagram, event: str | None) -> str:
    observed = {key: f"**{noise.observed:.4f}**, {noise.verdict}" for key, noise in errors.items()}
    if event is not None:
        return (
            f"The score is the probability of {ui.literal(event)}, from 0 to 1; the mean gap between it and "
            f"how often it comes true is {next(iter(observed.values()))}."
        )
    if diagram.one_event:
        return (
            "The mean gap between the confidence and how often it is right (conf-ECE) is "
            f"{next(iter(observed.values()))}."
        )
    return (
        f"Classes pooled: conf-ECE {observed['conf_ece']}; each predicted class: TL-ECE "
        f"{observed['tl_ece']}. Click a bin for its classes."
    )


need_kind("Reliability")
show()
ui.next_line("Reliability")
