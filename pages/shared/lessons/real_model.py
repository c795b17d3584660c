"""Step 2: which predicted class of a well-calibrated looking model would you trust? (Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from calib.diagrams import FEW_ROWS, BinZoom, draw_zoom, reliability_diagram
from calib.diagrams.reliability_diagrams import ReliabilityDiagram
from calib.diagrams.style import OKABE_ITO, Figure, bin_span, escape, figure, scatter, unit_axes, with_layout
from pages.shared.address import presenting
from pages.shared.lessons import interaction as step
from pages.shared.panels.picture import show_example
from pages.shared.session import from_example
from pages.shared.widgets import literal


def one_bin(diagram: ReliabilityDiagram, bin_: int, names: Sequence[str], *, split: bool) -> Figure:
    """Draw all classes together, with a bin framed; if `split`, its star is split into its classes.

    Dots that are not split yet lie under the star, so that the browser can move them.
    """
    inside = diagram.zoom(bin_)
    cells, (confidence, accuracy, _) = inside.cells, inside.star
    count = len(cells.label)
    frame = {
        **bin_span(bin_, diagram.pooled.n_bins),
        "line": {"color": OKABE_ITO["orange"], "width": 3, "dash": "solid"},
    }
    data = scatter(
        x=diagram.pooled.mean_score,
        y=diagram.pooled.mean_outcome,
        line={"color": OKABE_ITO["blue"], "width": 2},
        marker={"symbol": "star", "size": 14, "color": OKABE_ITO["blue"]},
        hovertemplate="all classes: confidence %{x:.2f}, accuracy %{y:.2f}",
    )
    data += scatter(
        x=cells.mean_score if split else np.full(count, confidence),
        y=cells.mean_outcome if split else np.full(count, accuracy),
        marker={"size": 13, "color": OKABE_ITO["vermillion"], "line": {"width": 1, "color": step.INK}},
        opacity=1.0 if split else 0.0,
        customdata=([escape(names[code]) for code in cells.label], cells.count),
        hovertemplate="%{customdata[0]}: confidence %{x:.2f}, accuracy %{y:.2f}, %{customdata[1]:,} rows",
    )
    layout = unit_axes(data, "Confidence", "Accuracy", step.LESSON_HEIGHT, marked=[frame])
    layout["yaxis"] |= step.SQUARE
    return figure(data, **layout, font={"size": step.TEXT})


N_BINS = 10


def show() -> None:
    rows = from_example("resnet").evaluation
    names = rows.class_names
    diagram = reliability_diagram(rows, n_bins=N_BINS)
    bins = [int(b) + 1 for b in diagram.pooled.bin]
    step.listen({"look": step.nearest(bins, lambda bin_: (bin_ - 0.5) / N_BINS)})
    bin_ = int(st.session_state.get("look") or st.query_params.get("look") or 6)
    inside = diagram.zoom((bin_ if bin_ in bins else 6) - 1)
    confidence, accuracy, _ = inside.star
    codes = sorted(inside.cells.label.tolist())
    listed = [names[code] for code in codes]
    chosen = step.guess(
        "trust",
        f"In the framed bin the model says **{confidence:.2f}** and is right "
        f"**{accuracy:.2f}** of the time. **Which predicted class would you trust most?**",
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
        centre = step.handle("look", (look - 0.5) / N_BINS, accuracy, "x")
        step.picture(
            step.draggable(one_bin(diagram, look - 1, names, split=chosen is not None), [centre]),
            "real-model",
            table=diagram.frame if chosen else None,
            alt="Confidence reliability diagram of the simulated network, one bin framed",
        )
    with side:
        if chosen is None:
            return
        step.picture(
            with_layout(draw_zoom(inside, names), font={"size": step.TEXT}, height=step.LESSON_HEIGHT),
            "real-model-zoom",
            table=lambda: inside.frame(names),
            alt="Accuracy minus confidence of every predicted class in the framed bin",
        )
    st.markdown(answer(inside, names, codes[listed.index(chosen)]))
    if not presenting():
        show_example("real-model", rows, N_BINS, ((look - 1) / N_BINS, look / N_BINS))
    step.own_data("pages/views/reliability.py", "Reliability")


def answer(inside: BinZoom, names: Sequence[str], chosen: int) -> str:
    """Say how often the chosen class is right, and which classes are right most and least often."""
    cells = inside.cells
    enough = np.flatnonzero(cells.count >= FEW_ROWS)
    ranked = (enough if len(enough) else np.arange(len(cells.label))).tolist()
    ranked.sort(key=lambda position: cells.mean_outcome[position])
    position = int(np.flatnonzero(cells.label == chosen)[0])

    def words(position: int) -> str:
        name = literal(names[cells.label[position]])
        return f"{name} **{cells.mean_outcome[position]:.2f}** (n = {cells.count[position]:,})"

    return (
        f"{words(position)} of the time. Most often right is {words(ranked[-1])}, least often "
        f"{words(ranked[0])}: the average hides both. Drag the frame."
    )
