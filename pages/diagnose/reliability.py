"""Reliability: confidence against top-label reliability, and a zoom into one bin."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib import InputError, diagrams
from calib.data.kinds import lacks, needs_equal_rows
from calib.data.notions import Notion
from calib.diagrams import FEW_ROWS, BinZoom, ReliabilityDiagram
from calib.evidence.reductions import top_label
from calib.stats import NoiseFloor, verdict
from calib.stats.decompositions import corp_curve
from calib.stats.measures import MEASURES, ece_of
from pages.shared.address import keep_in_address
from pages.shared.panels.model_difference import show_difference
from pages.shared.panels.rows import rows_panel
from pages.shared.parts import part
from pages.shared.results import band as band_of
from pages.shared.results import bounds_of, floor, problems, reliability, rows_of
from pages.shared.session import BASE, Method, dataset, methods
from pages.shared.widgets import (
    beside,
    bins_and_model,
    chart,
    download,
    escaped,
    heading,
    literal,
    need_kind,
    say_rows_needed,
    shortfall,
)


def pick_bin() -> None:
    """Store the bin that was clicked, because a figure loses its selection when it changes."""
    points = st.session_state["reliability"].selection.points
    if points and "customdata" in points[0]:
        st.session_state["bin-rows-open"] = True
        st.session_state["bin"] = int(points[0]["customdata"][0])


def pick_class() -> None:
    """Store the class that was clicked inside the bin."""
    points = st.session_state["bin-zoom"].selection.points
    if points and "customdata" in points[0]:
        st.session_state["bin-rows-open"] = True
        st.session_state["bin-class"] = int(points[0]["customdata"][-1])


@part
def show() -> None:
    """Show the page below its heading."""
    data = dataset()
    left, right = st.columns([3, 1])
    with left:
        n_bins, method = bins_and_model()
    others = [name for name in methods() if name != method.name]
    other = None
    if others and lacks(data.kind, "notion:top-label") is None:
        wanted = right.selectbox(
            "Another model in the diagram",
            [None, *others],
            key="beside",
            format_func=lambda name: "none" if name is None else name,
        )
        other = None if wanted is None else methods()[wanted]
    with st.container(horizontal=True):
        show_band = st.toggle("Where a perfect model would fall", key="band", bind="query-params")
        show_curve = data.sums is None and st.toggle("Without bins (CORP)", key="corp", bind="query-params")
        show_bounds = (
            data.sums is None
            and not method.weighted
            and st.toggle("Where the true curve runs", key="bounds", bind="query-params")
        )
        show_truth = data.truth is not None and method.name == BASE
        if show_truth:
            show_truth = st.toggle("True accuracy (simulated)", key="truth", bind="query-params")

    if not say_rows_needed("A diagram or a band without bins") and method.weighted:
        st.caption(escaped(needs_equal_rows("The band of the true curve")))
    diagram = reliability(method, n_bins)
    truth = diagram.means(top_label(method.scores)[1], data.truth) if show_truth else None
    curve = corp_curve(problems(method, "confidence")).steps() if show_curve else None
    bounds = bounds_of(method) if show_bounds else None
    band = None
    if show_band:
        perfect = band_of(method, n_bins)
        band = (perfect.lower, perfect.upper)

    event = data.evaluation.positive if data.kind.name == "binary" else None
    said = st.container()  # filled last: the figures need no redraws
    options: dict[str, Any] = {"truth": truth, "band": band, "curve": curve, "bounds": bounds, "event": event}
    if other is not None:
        options["other"] = (other.name, reliability(other, n_bins))
    show_bins(method, n_bins, diagram, options, other, said)


@part
def show_bins(
    method: Method,
    n_bins: int,
    diagram: ReliabilityDiagram,
    options: dict[str, Any],
    other: Method | None,
    said: DeltaGenerator,
) -> None:
    """Show the diagram and beside it the bin that was chosen there; then assess both, first in `said`."""
    farthest = int(diagram.bin[np.argmax(diagram.delta * (diagram.count >= FEW_ROWS))])
    keep_in_address("bin", diagram.bin.tolist(), farthest)
    main, side = beside("bin", (3, 2) if diagram.one_event else (1, 1))
    with main:
        chart(
            diagrams.draw_reliability(diagram, chosen=st.session_state["bin"], **options),
            "reliability",
            table=diagram.frame(),
            alt="Reliability diagram: accuracy against confidence, pooled and per predicted class",
            on_select=pick_bin,
        )
        if diagram.one_event:
            st.caption(shortfall(dataset().kind, "notion:top-label"))
    with side:
        edges = {b: f"{b / n_bins:.3g} to {(b + 1) / n_bins:.3g}" for b in diagram.bin.tolist()}
        # The browser keeps the words of another model, so they hold no counts.
        chosen = st.selectbox(
            "Confidence bin", list(edges), key="bin", format_func=lambda b: edges.get(b, "")
        )
        if diagram.one_event:
            of_bin = rows_of(method, method.notions[0], n_bins, bin_=chosen)
            rows_panel(method, of_bin, f"Scores of {edges[chosen]}", "bin-rows")
        else:
            show_zoom(method, n_bins, diagram.zoom(chosen), edges[chosen])
    with main:
        show_assessment(method, n_bins, diagram, options, said)
        if other is not None:
            show_difference(method, other, n_bins)


def show_zoom(method: Method, n_bins: int, zoom: BinZoom, edges: str) -> None:
    """Show the predicted classes of a bin, and the rows of one or of all."""
    names = dataset().evaluation.class_names
    st.markdown(zoom.words([literal(name) for name in names], strong="**{}**"))
    of_bin = [None, *zoom.label.tolist()]
    if st.session_state.get("bin-class") not in of_bin:
        st.session_state["bin-class"] = None
    chart(
        diagrams.draw_zoom(zoom, names, chosen=st.session_state.get("bin-class")),
        "bin-zoom",
        table=zoom.frame(names),
        on_select=pick_class,
        alt="Mean confidence and accuracy of every predicted class in the chosen bin, with rows per class",
    )
    code = st.selectbox(
        "Rows of",
        of_bin,
        key="bin-class",
        placeholder="all classes of the bin",
        format_func=lambda one: "all classes of the bin" if one is None else f"predicted {names[one]}",
    )
    notion: Notion = "confidence" if code is None else "top-label"
    what = f"All classes at {edges}" if code is None else f"Predicted {literal(names[code])} at {edges}"
    rows_panel(method, rows_of(method, notion, n_bins, code, zoom.bin), what, "bin-rows")
    if len(zoom.label) > diagrams.MAX_NAMED:
        st.caption(
            f"The figure shows the {diagrams.MAX_NAMED} of {len(zoom.label):,} classes with the clearest "
            "evidence; the CSV has all."
        )
    st.caption(
        "Classes with the clearest evidence come first. Whiskers are 95 % Wilson intervals. Markers of fewer "
        "than 20 rows are lighter. A diamond estimates the accuracy of a class from its own rows and, "
        "the more the fewer these are, from those of all classes in the bin"
        + (
            ". Here the classes show no difference beyond chance, so that all diamonds lie at the accuracy "
            "of all classes."
            if zoom.alike
            else f", which count as {zoom.strength:,.0f} rows."
        )
    )


def show_assessment(
    method: Method, n_bins: int, diagram: ReliabilityDiagram, options: dict[str, Any], said: DeltaGenerator
) -> None:
    """Say how large the errors are, what the band holds, and whether the errors are above noise."""
    with said:
        # As the method is assessed, which for histogram binning is not in the bins drawn.
        errors = {
            key: floor(method, key, n_bins)
            for key in ("conf_ece", "tl_ece", "ece")
            if key in ece_of(dataset().kind)
        }
        st.markdown(error_words(errors, diagram, options["event"]))
    bounds = options["bounds"]
    if bounds is not None:
        above = st.number_input("Within what is it calibrated above", 0.0, 1.0, 0.5, 0.05, key="above")
        try:
            st.markdown(bounds.words(above, "**{}**"))
        except InputError as error:
            st.info(f"Nothing to say: {escaped(error)}.")
        st.caption(
            "The band holds at all scores at once (Dimitriadis et al. 2023), and so does the statement for "
            "every choice, made before or after looking."
            + ("" if diagram.one_event else " It is about all predicted classes pooled.")
        )
        download(bounds.frame(), "calibration-band", label="Band (CSV)", key="band-csv")
    st.markdown("\n".join("- " + verdict(noise, MEASURES[key].title) for key, noise in errors.items()))
    if method.strategy == "discrete":
        st.caption("Both errors assess this calibrator at each distinct score, not in the bins drawn.")
    elif method.strategy != "uniform":
        st.caption(
            "TL-ECE assesses the binned classes of this calibrator at each distinct score, not in the bins "
            "drawn."
        )


def error_words(errors: dict[str, NoiseFloor], diagram: ReliabilityDiagram, event: str | None) -> str:
    """Return a sentence on the errors, as Markdown."""
    observed = {key: f"**{noise.observed:.4f}**" for key, noise in errors.items()}
    if event is not None:
        return (
            f"The score is the probability of {literal(event)}, from 0 to 1; the mean gap between it and how "
            f"often it comes true is {next(iter(observed.values()))}."
        )
    if diagram.one_event:
        return (
            "The mean gap between the confidence and how often it is right is "
            f"{next(iter(observed.values()))} (conf-ECE)."
        )
    return (
        f"Pooled over classes, the error is {observed['conf_ece']} (conf-ECE); per predicted class it is "
        f"{observed['tl_ece']} (TL-ECE). Click a bin to see its classes."
    )


heading(
    "Reliability",
    "How often is the model right at each confidence: for all classes pooled (star) and for each predicted "
    "class separately (plus)?",
)
need_kind("Reliability")
show()
