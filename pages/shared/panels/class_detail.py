"""One class on the Classes page: in words, its two reliability diagrams, what it is confused with."""

from __future__ import annotations

import streamlit as st

from calib import figures
from calib.diagrams import ClassTable, class_diagram, confusions
from calib.reductions import top_label
from pages.shared.session import Method, dataset
from pages.shared.widgets import chart, literal


@st.fragment
def class_panel(method: Method, found: ClassTable, n_bins: int) -> None:
    """Show the class chosen here, in the table or in the heat map."""
    names, labels = dataset().evaluation.class_names, dataset().evaluation.labels
    st.subheader("One class", anchor=False)
    if st.session_state.get("class") not in range(len(found.share)):
        st.session_state["class"] = int(found.ranked[0])
    code = st.selectbox("Class", found.ranked.tolist(), key="class", format_func=lambda c: names[c])
    pair = confusions(labels, top_label(method.scores)[0], code, n_classes=len(names))
    if pair.predicted:
        st.markdown(found.class_words(code, literal(names[code]), strong="**{}**"))
    else:
        st.markdown(f"{literal(names[code])} is never announced; it is the true class of {pair.true:,} rows.")
    for column, notion in zip(st.columns(2), ("top-label", "class-wise"), strict=True):
        with column:
            if notion == "top-label" and not pair.predicted:
                st.info("No top-label diagram: the class is never announced.")
            elif notion == "class-wise" and not method.scores_every_class:
                st.info("No class-wise diagram: this calibrator scores only the announced class.")
            else:
                one = class_diagram(labels, method.scores, code, notion=notion, n_bins=n_bins)
                st.markdown(
                    f"**{'Top-label' if notion == 'top-label' else 'Class-wise'}**, ECE {one.ece:.4f}"
                )
                chart(
                    figures.class_reliability(one),
                    f"class-{notion}",
                    table=one.frame(),
                    alt=f"Reliability diagram of one class, {notion}",
                )
    wrong, missed = st.columns(2)
    for column, key, words, others, counts in (
        (wrong, "wrong", "announced, but the truth is", pair.truth_when_predicted, pair.count_when_predicted),
        (missed, "missed", "the truth, but announced is", pair.announced_when_true, pair.count_when_true),
    ):
        with column:
            st.markdown(f"{literal(names[code])} is {words} ... ({counts.sum():,} rows)")
            if len(others):
                chart(
                    figures.confused(others, counts, names),
                    f"class-{key}",
                    table=pair.frame(names),
                    alt=f"Classes confused with the chosen one: {words}",
                )
