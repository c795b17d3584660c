"""One class on the Classes page: a sentence, two reliability diagrams, and its confusions."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from calib import class_diagram, diagrams, noise_floor
from calib.data.notions import Notion
from calib.diagrams import ClassTable, confusions
from calib.evidence.reductions import top_label
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.address import keep_in_address
from pages.shared.needs import say_rows_needed
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.session import Method, dataset


def chosen_cell(n_bins: int) -> tuple[int, int] | None:
    """Return the class and bin that were clicked, if a bin was."""
    code, bin_ = st.session_state.get("class"), st.session_state.get("class-bin")
    return None if code is None or bin_ is None or bin_ >= n_bins else (code, bin_)


def pick_confused(chart_key: str) -> None:
    if custom := ui.clicked(chart_key).get("customdata"):
        st.session_state["class-rows-open"] = True
        st.session_state["class-confused"] = st.session_state["class"], chart_key, int(custom[-1])


def pick_bin(n_bins: int) -> None:
    if custom := ui.clicked("class-top-label").get("customdata"):
        forget_confused()
        st.session_state["class-rows-open"] = True
        st.session_state["class-bin"] = round(float(custom[0]) * n_bins)


def show_class(method: Method, table: ClassTable, n_bins: int) -> None:
    """Show the class chosen in the menu, the table or the map: a sentence, diagrams, confusions, rows."""
    names = dataset().evaluation.class_names
    keep_in_address("class", range(len(table.share)), int(table.order[0]))
    code = st.selectbox("Class", table.order.tolist(), key="class", format_func=lambda c: names[c])
    predicted = bool(table.predicted[code])
    if predicted:
        st.markdown(table.class_words(code, ui.literal(names[code]), strong="**{}**"))
    else:
        st.markdown(
            f"{ui.literal(names[code])} is never predicted; it is the true class of {table.true[code]:,} "
            "rows."
        )
    if predicted:
        at = chosen_cell(n_bins)
        show_diagram(method, code, "top-label", n_bins, at and at[1])
    else:
        st.info("No top-label diagram: the class is never predicted.")
    if dataset().has_rows:
        show_behind(method, n_bins)
    if method.evidence.lacks("notion:class-wise") is None:
        show_diagram(method, code, "class-wise", n_bins, None)
    else:
        whose = "this calibrator scores" if dataset().has_rows else "this summary has sums of"
        st.info(f"No class-wise diagram: {whose} only the predicted class.")
    if not say_rows_needed("What a class is confused with"):
        show_confused(method)


def show_diagram(method: Method, code: int, notion: Notion, n_bins: int, chosen: int | None) -> None:
    diagram = results.ask(class_diagram, method, label=code, notion=notion, n_bins=n_bins)
    floor = ""
    if notion == "class-wise" and dataset().has_rows:  # the other notion's is in the sentence above
        alone = method.rows.of_class(code, "class-wise")
        noise = results.ask(noise_floor, alone, notion="confidence", n_bins=n_bins, strategy="uniform")
        floor = f" (a perfect model: {noise.mean:.4f})"
    st.markdown(f"**{notion.capitalize()}**, ECE {diagram.cells.ece():.4f}{floor}")
    ui.chart(
        diagrams.draw_class(diagram, chosen=chosen, n_bins=n_bins, height=300),
        f"class-{notion}",
        table=diagram.frame,
        alt=f"Reliability diagram of one class, {notion}",
        on_select=partial(pick_bin, n_bins) if notion == "top-label" else "ignore",
    )


def show_behind(method: Method, n_bins: int) -> None:
    names, labels = dataset().evaluation.class_names, method.rows.labels
    code, label = st.session_state["class"], top_label(method.rows.predictions)[0]
    confused = st.session_state.get("class-confused", (None, None, None))
    other = confused[2] if confused[0] == code else None
    if other is not None:
        truth, predicted = (other, code) if confused[1] == "class-wrong" else (code, other)
        which = np.flatnonzero((labels == truth) & (label == predicted))
        st.button("Show all rows of the class again", on_click=forget_confused, icon=":material/close:")
        what = f"Predicted {ui.literal(names[predicted])}, true class {ui.literal(names[truth])}"
        rows_panel((method,), which, what, "class-rows")
        return
    if not (label == code).any():
        return
    bins = [None, *np.unique(results.cells(method, "top-label", n_bins).bin).tolist()]
    if st.session_state.get("class-bin") not in bins:
        st.session_state["class-bin"] = None
    bin_ = st.selectbox(
        "Rows at the confidence",
        bins,
        key="class-bin",
        placeholder="any",
        format_func=lambda chosen_bin: "any" if chosen_bin is None else ui.range_of(chosen_bin, n_bins),
    )
    what = f"Predicted {ui.literal(names[code])}"
    what += "" if bin_ is None else f" at {ui.range_of(bin_, n_bins)}"
    rows_panel((method,), results.rows_of(method, "top-label", n_bins, code, bin_), what, "class-rows")


def show_confused(method: Method) -> None:
    names, code = dataset().evaluation.class_names, st.session_state["class"]
    pair = confusions(results.about(method, "top-label"), label=code)
    confused = st.session_state.get("class-confused", (None, None, None))
    other = confused[2] if confused[0] == code else None
    directions = {
        "class-wrong": ("Wrongly predicted", "Predicted {}, true class", pair.truth_when_predicted),
        "class-missed": ("Missed", "True class {}, predicted", pair.announced_when_true),
    }
    rows = {"class-wrong": pair.count_when_predicted, "class-missed": pair.count_when_true}
    key = st.segmented_control(
        "Confused with",
        list(directions),
        key="confused-by",
        format_func=lambda direction: f"{directions[direction][0]} ({rows[direction].sum():,})",
    )
    if key is None:  # the chart is below the screen, and takes as long to draw as a diagram
        return
    _, title, others = directions[key]
    st.markdown(f"{title.format(ui.literal(names[code]))} ...")
    if not len(others):
        st.caption("No row.")
        return
    ui.chart(
        diagrams.draw_confusions(others, rows[key], names, chosen=other if confused[1] == key else None),
        key,
        table=lambda: pair.frame(names),
        alt=f"Rows by class: {title.format('the chosen class')} another",
        on_select=partial(pick_confused, key),
    )


def forget_confused() -> None:
    """List the rows of the class again."""
    st.session_state.pop("class-confused", None)
