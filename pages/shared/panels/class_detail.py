"""One class on the Classes page: a sentence, two reliability diagrams, and what it is confused with."""

from __future__ import annotations

import streamlit as st

from calib import figures
from calib.diagrams import ClassTable, class_diagram, confusions
from calib.reductions import top_label
from pages.shared.session import Method, dataset
from pages.shared.widgets import chart, literal


@st.fragment
def class_panel(method: Method, table: ClassTable, n_bins: int) -> None:
    """Show the class chosen in the menu, the table or the heat map."""
    names, labels = dataset().evaluation.class_names, dataset().evaluation.labels
    st.header("One class", anchor=False)
    if st.session_state.get("class") not in range(len(table.share)):
        st.session_state["class"] = int(table.ranked[0])
    code = st.selectbox("Class", table.ranked.tolist(), key="class", format_func=lambda c: names[c])
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
                    figures.class_reliability(diagram),
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
