"""Step 2: which predicted class of a well-calibrated looking model would you trust? (Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from calib.diagrams import FEW_ROWS, BinZoom, draw_zoom, reliability_diagram
from calib.diagrams.style import with_layout
from pages.shared.lesson_steps.interaction import draggable, guess, handle, listen, nearest, own_data, picture
from pages.shared.lessons.figures import LESSON_HEIGHT, TEXT, one_bin
from pages.shared.session import from_example
from pages.shared.widgets import literal

N_BINS = 10


def show() -> None:
    """Show the step."""
    rows = from_example("resnet").evaluation
    names = rows.class_names
    diagram = reliability_diagram(rows.labels, rows, n_bins=N_BINS)
    bins = [int(b) + 1 for b in diagram.bin]
    listen({"look": nearest(bins, lambda bin_: (bin_ - 0.5) / N_BINS)})
    bin_ = int(st.session_state.get("look") or st.query_params.get("look") or 6)
    inside = diagram.zoom((bin_ if bin_ in bins else 6) - 1)
    codes = sorted(inside.label.tolist())
    listed = [names[code] for code in codes]
    chosen = guess(
        "trust",
        f"In the framed bin the model says **{inside.mean_confidence:.2f}** and is right "
        f"**{inside.accuracy:.2f}** of the time. **Which predicted class would you trust most?**",
        listed,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        look = st.segmented_control(
            "Bin",
            bins,
            default=6,
            required=True,
            key="look",
            bind="query-params",
            label_visibility="collapsed",
        )
        st.badge("Simulated, in the shape of a ResNet on CIFAR-10", color="orange")
    drawn, side = st.columns(2, gap="medium")
    with drawn:
        centre = handle("look", (look - 0.5) / N_BINS, inside.accuracy, "x")
        picture(
            draggable(one_bin(diagram, look - 1, names, split=chosen is not None), [centre]),
            "real-model",
            table=diagram.frame() if chosen else None,
            alt="Confidence reliability diagram of the simulated network, one bin framed",
        )
    with side:
        if chosen is None:
            return
        axis = {"dtick": 0.5, "range": [-0.02, 1.04]}
        picture(
            with_layout(draw_zoom(inside, names), font={"size": TEXT}, xaxis=axis, height=LESSON_HEIGHT),
            "real-model-zoom",
            table=inside.frame(names),
            alt="Mean confidence and accuracy of every predicted class in the framed bin",
        )
    st.markdown(answer(inside, names, codes[listed.index(chosen)]))
    own_data("pages/views/reliability.py", "Reliability")


def answer(inside: BinZoom, names: Sequence[str], chosen: int) -> str:
    """Say how often the chosen class is right, and the classes that are so most and least often."""
    enough = np.flatnonzero(inside.class_count >= FEW_ROWS)
    ranked = (enough if len(enough) else np.arange(len(inside.label))).tolist()
    ranked.sort(key=lambda position: inside.class_accuracy[position])
    position = int(np.flatnonzero(inside.label == chosen)[0])

    def words(position: int) -> str:
        name = literal(names[inside.label[position]])
        return f"{name} **{inside.class_accuracy[position]:.2f}** (n = {inside.class_count[position]:,})"

    return (
        f"{words(position)} of the time. Most often right is {words(ranked[-1])}, least often "
        f"{words(ranked[0])}: the average hides both. Drag the frame."
    )
