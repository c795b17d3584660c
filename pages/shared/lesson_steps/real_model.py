"""Step 4: which predicted class of a well-calibrated looking model would you trust? (Figure 1)."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib.diagrams import FEW_ROWS, draw_zoom, reliability_diagram
from calib.diagrams.style import with_layout
from pages.shared.lessons.figures import TEXT, question
from pages.shared.session import from_example
from pages.shared.widgets import ARROW, chart, literal

N_BINS = 10


def show() -> None:
    """Show the step."""
    rows = from_example("resnet").evaluation
    names = rows.class_names
    diagram = reliability_diagram(rows.labels, rows, n_bins=N_BINS)
    bins = [int(b) + 1 for b in diagram.bin]
    st.badge("Simulated, in the shape of a ResNet on CIFAR-10", color="orange")
    bin_ = st.segmented_control(
        "Look into bin", bins, default=6, required=True, key="look", bind="query-params"
    )
    inside = diagram.zoom(bin_ - 1)
    st.markdown(
        f"In the framed bin the model says **{inside.mean_confidence:.2f}** and is right "
        f"**{inside.accuracy:.2f}** of the time, all classes together. "
        "**Which predicted class would you trust most there?**"
    )
    codes = sorted(inside.label.tolist())
    listed = [names[code] for code in codes]
    chosen = st.pills("Your answer", listed, key="trust", bind="query-params")
    left, right = st.columns(2, gap="large") if chosen else (st.container(), None)
    with left:
        chart(
            question(diagram, bin_ - 1, names, answered=bool(chosen)),
            "real-model",
            table=diagram.frame() if chosen else None,
            alt="Confidence reliability diagram of the simulated network, one bin framed",
        )
    if right is None:
        st.caption("Answer to see each class on its own.")
        return
    enough = np.flatnonzero(inside.class_count >= FEW_ROWS)
    ranked = (enough if len(enough) else np.arange(len(inside.label))).tolist()
    ranked.sort(key=lambda position: inside.class_accuracy[position])
    position = int(np.flatnonzero(inside.label == codes[listed.index(chosen)])[0])

    def accuracy_words(position: int) -> str:
        name, accuracy = literal(names[inside.label[position]]), inside.class_accuracy[position]
        return f"{name}, right **{accuracy:.2f}** of the time (n = {inside.class_count[position]:,})"

    with right:
        st.markdown(
            f"You chose {accuracy_words(position)}. Most often right is {accuracy_words(ranked[-1])}, least "
            f"often {accuracy_words(ranked[0])}. All are predicted with confidence about "
            f"{inside.mean_confidence:.2f}: each dot shows what the average hides."
        )
        axis = {"dtick": 0.5, "range": [-0.02, 1.04]}
        chart(
            with_layout(draw_zoom(inside, names), font={"size": TEXT}, xaxis=axis),
            "real-model-zoom",
            table=inside.frame(names),
            alt="Mean confidence and accuracy of every predicted class in the framed bin",
        )
    st.page_link("pages/diagnose/reliability.py", label="The same for your data: Reliability", icon=ARROW)
