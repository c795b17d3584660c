"""Classes: the predicted classes, those that are off first, and one class in detail."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from calib import class_table, diagrams
from calib.diagrams.class_tables import CLASS_COLUMNS, ClassTable
from calib.diagrams.heat import class_heat
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind
from pages.shared.page_parts import part
from pages.shared.panels.class_detail import chosen_cell, forget_confused, show_class
from pages.shared.session import Method, dataset

HEAT_ROWS = 12
FORMATS = {"predicted": "localized", "true": "localized", "p_value": "%.2g", "share": "percent"}
FORMATS |= {"accuracy": "%.3f", "confidence": "%.3f", "class_ece": "%.4f", "floor": "%.4f"}
FORMATS |= {"smallest": "%.4f", "gap": "%+.3f", "lower": "%+.3f", "upper": "%+.3f"}
COLUMNS = ui.columns_of(
    {name: head for name, head in CLASS_COLUMNS.items() if name != "floor_upper"}, FORMATS
)
#: Columns that are on the screen before one scrolls to the others.
FIRST = ("class", "flagged", "gap", "lower", "upper", "confidence", "accuracy", "predicted", "class_ece")


def pick_row(labels: np.ndarray) -> None:
    if (row := ui.ticked("class-table")) is not None:
        st.session_state["class-rows-open"] = True
        forget_confused()
        st.session_state["class"] = int(labels[row])
        st.session_state["class-bin"] = None


def pick_cell() -> None:
    if custom := ui.clicked("class-heat").get("customdata"):
        st.session_state["class-rows-open"] = True
        forget_confused()
        st.session_state["class"], st.session_state["class-bin"] = map(int, custom[:2])


@part
def show_classes(method: Method, by_class: ClassTable, n_bins: int) -> None:
    names = dataset().evaluation.class_names
    main, side = ui.beside("class")
    with main:
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        search = left.text_input("Search class names", key="class-search", placeholder="part of a name")
        only_off = right.toggle("Only classes that are off", key="only-flagged")
        table = by_class.frame(names)
        matches = table["class"].str.contains(search, case=False, regex=False)
        if only_off:
            matches &= table["flagged"]
        shown = table[matches].reset_index(drop=True)
        st.dataframe(
            shown[list(COLUMNS)],
            key="class-table",
            hide_index=True,
            height=35 * min(len(shown) + 1, 11) + 2,
            column_order=ui.in_order(COLUMNS, FIRST),
            column_config=COLUMNS,
            on_select=partial(pick_row, shown["label"].to_numpy()),
            selection_mode=["single-row", "single-cell"],
            placeholder="\u2013",
        )
        file = st.container()
        if method.evidence.strategy != "uniform":
            st.caption(
                "Few stated values, and classes that a calibrator binned, are assessed with one bin per "
                "distinct score, as in the paper (Remark 1)."
            )

        st.header("Each class by confidence", anchor=False)
        codes = shown["label"][shown["predicted"] > 0].to_numpy()
        page = ui.page_of(len(codes), HEAT_ROWS, "heat-page", f", {HEAT_ROWS} classes each")
        if len(codes):
            by_cell = results.cells(method, "top-label", n_bins)  # equal-width bins for every method
            diagram = class_heat(by_cell, codes[page])
            # The scale is of all classes: a colour keeps its meaning when they are searched.
            limit = class_heat(by_cell).limit
            st.caption("Orange-red: overconfident; blue: underconfident. Outlined: beyond noise.")
            ui.chart(
                diagrams.draw_heat(diagram, names, chosen=chosen_cell(n_bins), limit=limit),
                "class-heat",
                table=lambda: diagram.frame(names),
                alt="Accuracy minus confidence for every predicted class and confidence bin",
                on_select=pick_cell,
            )
        else:
            st.markdown("No predicted class matches the search.")
    with side:
        show_class(method, by_class, n_bins)
    ui.next_line("Reliability")
    with file:  # last: it takes as long to write as two figures
        ui.download(table, "classes", about=(method, n_bins, names))


need_kind("Classes")
n_bins, method = ui.bins_and_method()
by_class = results.ask(class_table, method, n_bins=n_bins)
st.markdown(f"{by_class.words('**{}**')}. The TL-ECE is **{by_class.tl_ece:.4f}**.")
show_classes(method, by_class, n_bins)
