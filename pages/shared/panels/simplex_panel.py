"""Controls of the Simplex page (three classes, a scheme) and its tables with readable column names.

The CSV files keep the library's short names.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st
from streamlit.column_config import NumberColumn
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.column_types import ColumnConfig

from calib import GridScheme, InputError, ProjectionScheme, SierpinskiScheme
from calib.calibrators.canonical import SimplexScheme
from calib.diagrams import RecalibrationMap
from calib.diagrams.three_class_views import most_mistaken
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import against_loaded

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
    return table, {**formats, heads[5]: NumberColumn(format="%.1f")}
