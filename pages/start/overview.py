"""Overview: in which direction the confidence is off, for which predicted classes, and what to do."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib import InputError, diagrams
from calib.answers.conclusion import Gap
from calib.answers.metric_tables import HOW_SURE, how_assessed, interval_frame, interval_texts
from calib.calibrators.catalogue import name_of
from calib.data.defaults import N_BINS
from calib.data.kinds import lacks, needs_rows
from calib.data.notions import Notion
from calib.diagrams.heat import class_heat
from calib.diagrams.reliability import PANELS, Panel
from calib.stats import verdict
from calib.stats.measures import MEASURES, ece_of
from pages.shared.kept import ahead
from pages.shared.panels.report import offer_report
from pages.shared.panels.rows import rows_panel
from pages.shared.panels.several_true import show_several_true
from pages.shared.results import (
    cells,
    conclusion,
    floor,
    interval,
    intervals,
    metrics,
    quick_advice,
    reliability,
    rows_of,
)
from pages.shared.session import BASE, MANY_SCORES, base_models, dataset, fit, methods, scored
from pages.shared.widgets import chart, choose_beside, download, escaped, heading, literal, shortfall

#: Classes in the map: those that add most to the error.
MAP_ROWS = 12
RELIABILITY, CLASSES = "pages/diagnose/reliability.py", "pages/diagnose/classes.py"


def pick() -> None:
    """Remember the bin, or the class and the bin, whose mark was clicked in a figure."""
    for key in ("overview-pooled", "overview-classes", "overview-map"):
        state = st.session_state.get(key)
        points = state.selection.points if state is not None else ()
        if points and "customdata" in points[0]:
            first, second = points[0]["customdata"][:2]
            if key == "overview-map":
                first, second = second, first
            of_class = key == "overview-map" or len(points[0]["customdata"]) == 6
            st.session_state["looked-at"] = (int(second) if of_class else None, int(first))


def open_upload() -> None:
    """Let the Data page open where files are uploaded."""
    st.session_state["own-data"] = True


def link_gap(gap: Gap) -> None:
    """Link to the page that shows a gap, opened at it."""
    if gap.label is None:
        words = f"Look at the confidence {gap.range_words()}".rstrip()
        st.page_link(
            RELIABILITY, label=words, icon=":material/show_chart:", query_params={"bin": str(gap.bin)}
        )
        return
    name = literal(data.evaluation.class_names[gap.label])
    target = {"class": str(gap.label)}
    st.page_link(CLASSES, label=f"Predicted {name}", icon=":material/grid_view:", query_params=target)


def show_help() -> None:
    """Say which calibrators would help, and offer to fit the recommended one and take it away."""
    if data.sums is not None:
        st.caption(escaped(needs_rows("Calibrate")))
        return
    if data.calibration is None:
        st.page_link(
            "pages/start/data.py",
            label="To repair it, set calibration rows aside",
            icon=":material/upload_file:",
        )
        return
    try:
        advice = quick_advice(data)
    except InputError as error:
        st.caption(f"What would help cannot be said: {escaped(error)}.")
        return
    sampled = advice.n_tried < advice.n_samples
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{escaped(advice.helps_words())}.**",
            help=f"Tried in five folds of {advice.rows_words()}: "
            f"{', '.join(advice.tried)}. A calibrator helps if its Brier score over all classes is "
            "distinguishably lower, with all of them tried at once, and its log loss is no higher. One "
            "notion alone, such as top-label, can still gain: Calibrate shows what changes on the "
            "evaluation rows."
            + (" With all rows, calibrators of each class can do better than here." if sampled else ""),
        )
        if advice.calibrator is not None and st.button(
            f"Fit and take away {name_of(advice.calibrator)}", icon=":material/download:"
        ):
            method = fit(name_of(advice.calibrator), advice.calibrator, len(advice.tried))
            st.session_state["chosen"] = method.name
            st.switch_page("pages/repair/calibrate.py")
        st.page_link(
            "pages/repair/compare.py", label="Compare all calibrators", icon=":material/leaderboard:"
        )


def show_figures() -> None:
    """Show the reliability diagram, below it the map of classes and bins, and what was clicked."""
    diagram = reliability(base, n_bins)
    models = {name: one for name, one in base_models().items() if name != data.model}
    other = choose_beside(models) if models and by_class else None
    label, bin_ = st.session_state.get("looked-at", (None, None))
    names = data.evaluation.class_names
    options: dict[str, Any] = {
        "named": conclusion(base, n_bins).headline if by_class else (),
        "event": data.evaluation.positive if data.kind.name == "binary" else None,
        "chosen": bin_,
    }
    if other is not None:
        options["other"] = (other.name, reliability(other, n_bins))
    panels: tuple[Panel, ...] = ("pooled", "classes") if by_class else ("pooled",)
    for column, panel in zip(st.columns(len(panels)), panels, strict=True):
        with column:
            chart(
                diagrams.draw_reliability(diagram, names, panels=(panel,), **options),
                f"overview-{panel}",
                table=diagram.frame(),
                alt=f"Reliability diagram: accuracy against confidence. {PANELS[panel]}",
                on_select=pick,
            )
    if not by_class:
        st.markdown(diagram.words())
        return
    by_cell = cells(base, "top-label", n_bins)
    everything = class_heat(by_cell)
    shown = class_heat(by_cell, everything.label[:MAP_ROWS])
    chart(
        diagrams.draw_heat(
            shown, names, chosen=None if label is None else (label, bin_), limit=everything.limit
        ),
        "overview-map",
        table=everything.frame(names),
        alt="Accuracy minus confidence for the predicted classes that add most to the error, by bin",
        on_select=pick,
    )
    if bin_ in diagram.bin:
        st.markdown(diagram.zoom(bin_).words([literal(name) for name in names], strong="**{}**"))
        with st.container(horizontal=True):
            st.page_link(
                RELIABILITY,
                label="Open this bin",
                icon=":material/show_chart:",
                query_params={"bin": str(bin_)},
            )
            if label is not None:
                st.page_link(
                    CLASSES,
                    label=f"Open predicted {literal(names[label])}",
                    icon=":material/grid_view:",
                    query_params={"class": str(label)},
                )
        what = f"{'All classes' if label is None else f'Predicted {literal(names[label])}'} at "
        what += f"{bin_ / n_bins:.3g} to {(bin_ + 1) / n_bins:.3g}"
        notion: Notion = "confidence" if label is None else "top-label"
        rows_panel(base, rows_of(base, notion, n_bins, label, bin_), what, "overview-rows")
    else:
        of = f"the {len(shown.label)} of {len(everything.label):,} predicted classes that add most"
        st.caption(
            "Larger dots have more rows. Below them: the gap of each bin, in grey a perfect model's. Map: "
            "orange-red is right less often than the confidence says, blue more often; "
            f"{of if len(everything.label) > MAP_ROWS else 'all predicted classes'}. Click a mark or a cell "
            "to list its rows."
        )


def show_conclusion() -> DeltaGenerator:
    """Say what is off, with links to what shows it, and two figures; return the place for what would help."""
    with st.container(border=True):
        said = conclusion(base, n_bins)
        errors = ece_of(data.kind)
        key = "tl_ece" if "tl_ece" in errors else next(iter(errors))
        sure = None if said.pooled or said.classes else floor(base, key, n_bins)
        names = [literal(name) for name in data.evaluation.class_names]
        st.header(
            said.words(names, sure),
            anchor=False,
            help="Points are percentage points of confidence minus accuracy. All statements hold together "
            f"with {said.level:.0%}, by exact intervals of the {said.n_ranges:,} ranges of the confidence "
            "that were looked at.",
        )
        with st.container(horizontal=True):
            for found in (*said.pooled, *said.named(), *said.named(other=True)):
                link_gap(found)
        help_place = st.container()
    if data.kind.name == "binary":
        positive, other = data.evaluation.class_names[::-1]
        st.caption(
            f"The score is the probability of {literal(positive)}. To see that of {literal(other)} instead, "
            "switch the positive class on the Data page."
        )
    elif not by_class:
        st.caption(shortfall(data.kind, "notion:top-label"))
    show_figures()
    return help_place


def interval_words(ends: tuple[float, float], digits: int) -> str | None:
    """Return the line below a number; None where sums give no interval."""
    return None if isnan(ends[0]) else f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"


def show_numbers() -> None:
    """Show the numbers of the base model and of every fitted calibrator."""
    base_metrics = metrics(base, n_bins)
    columns = st.columns(4)
    weighted = ", weighted" if base.weighted else ""
    if base_metrics.accuracy is not None:
        columns[0].metric(
            MEASURES["accuracy"].title + weighted,
            f"{base_metrics.accuracy:.3f}",
            delta=interval_words(interval(base, "accuracy", n_bins), 3),
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
            help=f"{MEASURES['accuracy'].about} Below it: its 95 % interval.",
        )
    floors = {
        measure: floor(base, key, n_bins)
        for key, measure in ece_of(data.kind).items()
        if getattr(base_metrics, key) is not None
    }
    for column, (measure, noise) in zip(columns[1:], floors.items(), strict=False):
        column.metric(
            measure.title + weighted,
            f"{noise.observed:.4f}",
            delta=interval_words(interval(base, measure.key, n_bins), 4),
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
            help=f"{measure.about} Below it: the 95 % interval of the true error. It lies below the measured "
            f"one where noise adds much: {noise.words}.",
        )
    if data.sums is None and data.evaluation.n_scores > MANY_SCORES and data.kind.name == "vectors":
        columns[3].toggle(
            "Compute CW-ECE",
            key="class_wise",
            persist_state="session",
            help=f"This sorts {data.evaluation.n_scores:,} scores and takes a while.",
        )
    means = ", ".join(f"{measure.title} {noise.mean:.4f}" for measure, noise in floors.items())
    st.caption(f"Noise floor, what a perfect model of this size shows on average: {means}.")
    shown = scored()
    numbers = [replace(metrics(method, n_bins), method=name) for name, method in shown.items()]
    ends = [intervals(method, n_bins) for method in shown.values()]
    texts = interval_texts(numbers, ends)
    errors = ece_of(data.kind)
    error = errors.get("tl_ece") or next(iter(errors.values()))
    at = list(texts.index).index(error.title) + 1
    texts.loc[f"{error.title} noise floor"] = [
        f"{floor(method, error.key, n_bins).mean:.4f}" for method in shown.values()
    ]
    order = [*texts.index[:at], texts.index[-1], *texts.index[at:-1]]
    dashes = " A dash: the method gives no score per class." if data.kind.name == "vectors" else ""
    if data.sums is not None:
        dashes = " A dash: sums do not tell it."
    st.dataframe(texts.loc[order].rename_axis("Number"), height="content")
    download(interval_frame(numbers, ends), "overview", key="overview-csv")
    st.caption(
        f"{HOW_SURE} {how_assessed(n_bins, data.kind)}"
        + (
            f" {MEASURES['top_brier'].title}: {MEASURES['top_brier'].about}"
            if MEASURES["top_brier"].missing(data.kind) is None
            else ""
        )
        + dashes
    )
    st.page_link(
        "pages/diagnose/noise.py",
        label="How certain these numbers are",
        icon=":material/graphic_eq:",
    )


heading(
    "Overview",
    "calib shows how far a classifier's confidence can be trusted, for which predicted classes, and which "
    "calibrator repairs it.",
)
data, base = dataset(), methods()[BASE]
n_bins = int(st.session_state.get("bins", N_BINS))
by_class = lacks(data.kind, "notion:top-label") is None
if data.kind.name != "multilabel" and data.sums is None and data.calibration is not None:
    ahead((quick_advice, data))  # shown last, and computed elsewhere
with st.container(horizontal=True, vertical_alignment="center"):
    if st.button(
        "Use your own predictions", type="primary", icon=":material/upload_file:", on_click=open_upload
    ):
        st.switch_page("pages/start/data.py")
    st.page_link("pages/start/data.py", label="Try another example", icon=":material/science:")

help_place = None
if data.kind.name == "multilabel":
    ((key, measure),) = ece_of(data.kind).items()
    st.header(verdict(floor(base, key, n_bins), measure.title), anchor=False)
    show_several_true(base, n_bins)
else:
    help_place = show_conclusion()
st.header("Numbers", anchor=False)
show_numbers()
offer_report(n_bins)
if help_place is not None:
    with help_place:  # last, since it takes longest
        show_help()
