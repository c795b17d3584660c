"""Simplex: bin whole probability vectors and see where recalibration moves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.column_config import NumberColumn
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.column_types import ColumnConfig

from calib import GridScheme, InputError, ProjectionScheme, SierpinskiScheme, diagrams
from calib.calibrators.canonical import SimplexScheme
from calib.diagrams import RecalibrationMap, cell_outlines, recalibration_map
from calib.diagrams.simplex_maps import most_mistaken, sample_rows
from calib.stats.floors import canonical_noise_floor
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import against_loaded
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.panels.take_away import offer_calibrator

#: Median confidence from which the corners are opened, by log ratios in place of the triangle.
IN_CORNER = 0.97
#: Arrows of fewer rows are left out.
MIN_ROWS = 20
#: Failure probability of the bound of a bin.
ALPHA = 0.1
#: Redraws of the noise floors.
REDRAWS = 200

#: Entries of the menu: the scheme; label, smallest, largest and default size. The default is the paper's.
SCHEMES: dict[str, tuple[Callable[..., SimplexScheme], str, int, int, int]] = {
    "Sierpinski": (SierpinskiScheme, "Depth q", 1, 6, 2),
    "Grid": (GridScheme, "Cells per edge K", 1, 20, 5),
    "Projection": (ProjectionScheme, "Bins B", 2, 100, 27),
}


def choose_view(menu: DeltaGenerator, about: DeltaGenerator) -> results.ThreeClasses:
    """Let the user choose predictions and three classes; stop the page if nothing can be shown.

    `menu` is the place of the controls, `about` the place of a sentence about the data.
    """
    data = ui.choose_data("three-classes", "three forest types", against_loaded("Simplex"))
    with about:
        ui.show_dataset(data)
    rows, calibration = data.evaluation, data.calibration
    how, classes = results.MERGE, [0, 1]
    if rows.n_classes > 3:
        how = menu.radio("Show", [results.MERGE, results.RENORMALISE], key="how", bind="query-params")
        n_chosen = 2 if how == results.MERGE else 3
        classes = menu.multiselect(
            f"Choose {n_chosen} classes",
            range(rows.n_classes),
            default=most_mistaken(rows, n_chosen),
            max_selections=n_chosen,
            format_func=lambda code: rows.class_names[code],
            key=f"classes-{n_chosen}-{rows.fingerprint}",
            help="By default, classes that are most often mistaken for each other.",
        )
    try:
        view = results.three_class_view(calibration, rows, how, classes)
    except InputError as error:
        st.info(f"Nothing to show yet: {ui.escaped(error)}.")
        st.stop()
    if view.evaluation.n_samples < rows.n_samples:
        st.caption(
            "Probabilities are conditional on one of the three classes being true. Other rows are left out: "
            f"{view.evaluation.n_samples:,} of {rows.n_samples:,} evaluation rows and "
            f"{view.calibration.n_samples:,} of {calibration.n_samples:,} calibration rows remain."
        )
    return view


def bins_table(arrows: RecalibrationMap) -> tuple[pd.DataFrame, dict[str, ColumnConfig]]:
    """Return the bins with readable column names, and the format of each column."""
    heads = ["Bin", "Evaluation rows", "Calibration rows", "Arrow length (L1)"]
    heads += [f"Bound (L1, \u03b1 = {arrows.alpha:g})", "Share of canonical-ECE (%)"]
    heads += [f"{name}: {stage}" for stage in ("says", "becomes", "true") for name in arrows.class_names]
    table = arrows.frame().set_axis(heads, axis=1)
    table[heads[5]] *= 100
    formats = dict.fromkeys(heads, NumberColumn(format="%.3f"))
    formats |= dict.fromkeys(heads[:3], NumberColumn(format="localized"))
    return table.dropna(axis="columns", how="all"), {**formats, heads[5]: NumberColumn(format="%.1f")}


def list_bin(cell: int) -> None:
    st.session_state["simplex-bin"] = cell
    st.session_state["simplex-rows-open"] = True


about = ui.heading(
    "Simplex",
    "Assess and repair the whole probability vector, not only its largest entry: divide the triangle of all "
    "vectors into bins, and let each bin predict how often each label occurred in it.",
    own_example=True,
)
menu = st.popover("Options", icon=":material/tune:")
view = choose_view(menu, about)
with menu:
    name = st.selectbox("Scheme", SCHEMES, key="scheme", bind="query-params")
    make, label, low, high, default = SCHEMES[name]
    size = st.slider(label, low, high, default, key=f"size{label[-1]}", bind="query-params")
scheme = make(size)
try:
    result = results.apply_scheme(view, scheme)
except InputError as error:
    st.error(f"Not shown: {ui.escaped(str(error).rstrip('.'))}.")
    st.stop()
rows, arrows, calibrator = view.evaluation, result.arrows, result.calibrator
names = [ui.literal(class_name) for class_name in rows.class_names]

enough = np.minimum(arrows.means.count, arrows.fitted_count) >= MIN_ROWS
share = arrows.error_share
worst = int(np.argmax(np.where(enough, share, -1.0)))
if enough.any():
    means, head = arrows.means, arrows.head[worst]
    vectors = zip(names, means.predicted[worst], head, means.observed[worst], strict=True)
    entries = [f"{n} {a:.3f} becomes **{b:.3f}** (true {c:.3f})" for n, a, b, c in vectors]
    st.markdown(
        f"Bin {means.cell[worst]} ({means.count[worst]:,} rows) adds most to the canonical-ECE, "
        f"{share[worst]:.0%}: {', '.join(entries)}."
    )
points, outlines = sample_rows(rows.n_samples), cell_outlines(calibrator.scheme_)
crowded = np.median(rows.proba[points].max(axis=1)) >= IN_CORNER
ui.chart(
    diagrams.draw_recalibration(
        arrows,
        rows.proba,
        rows=points,
        outlines=outlines,
        min_count=MIN_ROWS,
        log_ratios=bool(crowded),
    ),
    "recalibration",
    table=arrows.frame,
    alt="Triangle of predicted vectors, coloured by bin, with an arrow per bin to its recalibrated vector",
    on_click=lambda point: list_bin(int(point["customdata"][0])),
)
regions = "; grey: its 95 % region" if np.isfinite(arrows.bound).any() else ""
left_out = "" if enough.all() else f" Bins of fewer than {MIN_ROWS} rows have no arrow."
meant = f" Arrows: a bin's mean prediction to its recalibrated vector{regions}. Click one to list its rows."
st.caption(f"{len(points):,} of {rows.n_samples:,} rows.{meant * bool(enough.any())}{left_out}")
if (behind := st.session_state.get("simplex-bin")) in arrows.means.cell:
    in_bin = view.at[arrows.means.cell[arrows.means.position] == behind]
    bin_name = f"Bin {behind} of the triangle"
    rows_panel((), in_bin, bin_name, "simplex-rows", rows=view.all_rows)


def show_distances() -> None:
    curves = result.curves
    before, after = (curve.at(results.EPSILON) for curve in curves.values())
    st.markdown(
        f"**{before:.1%}** of the rows are within an L1 distance of {results.EPSILON} before recalibration, "
        f"**{after:.1%}** after it."
    )
    ui.chart(
        diagrams.draw_validity(curves),
        "canonical-validity",
        table=lambda: ui.stacked(curves, "vectors"),
        alt="Share of rows whose bin is within a distance of its label frequencies, before and after",
        height=300,
    )
    options: dict[str, Any] = {"cells": result.cells, "n_resamples": REDRAWS}
    floors = {
        when: results.ask(canonical_noise_floor, evidence, **options)
        for when, evidence in result.evidence.items()
    }
    errors = [f"{when} **{floor.observed:.3f}** ({floor.mean:.3f})" for when, floor in floors.items()]
    st.markdown(f"Canonical-ECE, L1 (a perfect model's): {', '.join(errors)}.")


def show_bins() -> None:
    bounded = recalibration_map(calibrator, rows, alpha=ALPHA)
    bins, formats = bins_table(bounded)
    st.markdown(
        "The bound is for independent rows, and these rows belong together."
        if np.isnan(bounded.bound).all()
        else f"With probability {1 - ALPHA:.0%}, the recalibrated vector of a bin is within its bound (L1, "
        "at most 2) of the true label frequencies.",
        help="This holds for each bin on its own (Bretagnolle-Huber-Carol inequality).",
    )
    cells = arrows.means.cell
    ui.table_to_tick(
        bins, "simplex-bins", lambda row: list_bin(int(cells[row])), most=None, column_config=formats
    )
    ui.download(bounded.frame(), "bins")


ui.show_tabs(
    {
        "Distance from the truth": show_distances,
        "Bins and their guarantee": show_bins,
    },
    "about-simplex",
)
offer_calibrator(calibrator, view.calibration, rows.class_names)
