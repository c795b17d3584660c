"""One class on the Classes page: a sentence, two reliability diagrams, and what it is confused with."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib import figures
from calib.binning import bin_statistics
from calib.diagrams import ClassTable, class_diagram, confusions
from calib.reductions import top_label
from pages.shared.address import keep_in_address
from pages.shared.panels.rows import rows_panel
from pages.shared.results import problems, rows_of
from pages.shared.session import Method, dataset
from pages.shared.widgets import chart, literal


def chosen_cell(n_bins: int) -> tuple[int, int] | None:
    """Return the class and bin that were clicked, if a bin was."""
    code, bin_ = st.session_state.get("class"), st.session_state.get("class-bin")
    return None if code is None or bin_ is None or bin_ >= n_bins else (code, bin_)


@st.fragment
def class_panel(method: Method, table: ClassTable, n_bins: int) -> None:
    """Show the class chosen in the menu, the table or the heat map."""
    names, labels = dataset().evaluation.class_names, dataset().evaluation.labels
    st.header("One class", anchor=False)
    keep_in_address("class", range(len(table.share)), int(table.ranked[0]))
    code = st.selectbox("Class", table.ranked.tolist(), key="class", format_func=lambda c: names[c])
    at = chosen_cell(n_bins)
    pair = confusions(labels, top_label(method.scores)[0], code, n_classes=len(names))
    if pair.predicted:
        st.markdown(table.class_words(code, literal(names[code]), strong="**{}**"))
    else:
        st.markdown(f"{literal(names[code])} is never predicted; it is the true class of {pair.true:,} rows.")
    for column, notion in zip(st.columns(2), ("top-label", "class-wise"), strict=True):
        with column:
            if notion == "top-label" and not pair.predicted:
                st.info("No top-label diagram: the class is never predicted.")
            elif notion == "class-wise" and not method.scores_every_class:
                st.info("No class-wise diagram: this calibrator scores only the predicted class.")
            else:
                diagram = class_diagram(
                    labels, method.scores, code, notion=notion, n_bins=n_bins, **method.of_rows
                )
                st.markdown(
                    f"**{'Top-label' if notion == 'top-label' else 'Class-wise'}**, ECE {diagram.ece:.4f}"
                )
                chart(
                    figures.class_reliability(diagram, chosen=at and at[1], n_bins=n_bins),
                    f"class-{notion}",
                    table=diagram.frame(),
                    alt=f"Reliability diagram of one class, {notion}",
                )
    wrong, missed = st.columns(2)
    for column, key, title, others, counts in (
        (wrong, "wrong", "Predicted {}, true class", pair.truth_when_predicted, pair.count_when_predicted),
        (missed, "missed", "True class {}, predicted", pair.announced_when_true, pair.count_when_true),
    ):
        with column:
            st.markdown(f"{title.format(literal(names[code]))} ... ({counts.sum():,} rows)")
            if len(others):
                chart(
                    figures.confused(others, counts, names),
                    f"class-{key}",
                    table=pair.frame(names),
                    alt=f"Rows by class: {title.format('the chosen class')} another",
                )
    if not pair.predicted:
        return
    bins = [None, *np.unique(bin_statistics(problems(method, "top-label"), n_bins=n_bins).bin).tolist()]
    if st.session_state.get("class-bin") not in bins:
        st.session_state["class-bin"] = None
    bin_ = st.selectbox(
        "Rows at the confidence",
        bins,
        key="class-bin",
        format_func=lambda one: "any" if one is None else f"{one / n_bins:.3g} to {(one + 1) / n_bins:.3g}",
    )
    if st.session_state.get("class-bin-drawn", bin_) != bin_:
        st.session_state["class-bin-drawn"] = bin_
        st.rerun()  # the map above marks it, too
    st.session_state["class-bin-drawn"] = bin_
    what = f"Predicted {literal(names[code])}"
    what += "" if bin_ is None else f" at {bin_ / n_bins:.3g} to {(bin_ + 1) / n_bins:.3g}"
    rows_panel(method, rows_of(method, "top-label", n_bins, code, bin_), what, "class-rows")
