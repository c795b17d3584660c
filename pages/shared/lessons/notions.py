"""Which numbers of a small table each notion of calibration uses (Figure 3 and Appendix A.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from calib.data.notions import TOP_K_NOTIONS, NotionShape
from calib.data.predictions import Predictions
from calib.diagrams.style import Figure, bar, figure, scatter
from calib.evidence.reductions import ranked_classes
from calib.evidence.rows import reduce_to_binary
from pages.shared.lessons import interaction as step
from pages.shared.widgets import chart

POINTS = ("a", "b", "c", "d", "e", "f")
#: Ranks of the top-K notions.
TOP_K = 2

#: Six points a..f over four classes in the spirit of Figure 3 of the paper, which prints its numbers only
#: as a picture: the labels of a, b and f are the paper's, the probabilities are ours.
SIX_POINTS = Predictions(
    [
        [0.15, 0.10, 0.70, 0.05],
        [0.10, 0.20, 0.10, 0.60],
        [0.80, 0.10, 0.05, 0.05],
        [0.25, 0.60, 0.10, 0.05],
        [0.10, 0.15, 0.70, 0.05],
        [0.60, 0.10, 0.20, 0.10],
    ],
    [2, 3, 0, 0, 1, 0],
    ["1", "2", "3", "4"],
)


def used_cells(proba: np.ndarray, notion: str) -> np.ndarray:
    """Return the binary problem that uses each probability: its index + 1, or 0 if none does.

    For "canonical", which is not an M2B notion, every row is one unit: its entries get the number of the
    row's vector among the distinct vectors.
    """
    n_classes = proba.shape[1]
    cells = np.zeros(proba.shape, dtype=np.int64)
    if notion == "canonical":
        _, first, inverse = np.unique(proba, axis=0, return_index=True, return_inverse=True)
        cells[:] = (np.argsort(np.argsort(first)) + 1)[inverse.reshape(-1, 1)]
    elif notion == "class-wise":
        cells[:] = np.arange(1, n_classes + 1)
    else:
        shape = NotionShape.of(notion, n_classes, TOP_K if notion in TOP_K_NOTIONS else None)
        ranked, _ = ranked_classes(proba, shape.n_ranks)
        np.put_along_axis(cells, ranked, shape.problems_of(ranked, np.arange(shape.n_ranks)) + 1, axis=1)
    return cells


def binary_tables(predictions: Predictions, notion: str) -> dict[int, pd.DataFrame]:
    """Return the binary problems of a notion as small tables, by index, as in Figure 3 (b) to (d).

    Each table has a column per point that enters the problem, in the order of `POINTS`, and two rows:
    "score" and "outcome" (0 or 1). Problems without points are left out.
    """
    ranks = TOP_K if notion in TOP_K_NOTIONS else None
    problems = reduce_to_binary(predictions, notion=notion, top_k=ranks)
    tables = {}
    for index in range(problems.n_problems):
        entries = slice(problems.offsets[index], problems.offsets[index + 1])
        if entries.start == entries.stop:
            continue
        rows = problems.rows[entries]
        order = np.argsort(rows)
        tables[index] = pd.DataFrame(
            [problems.scores[entries][order], problems.outcomes[entries][order].astype(float)],
            index=["score", "outcome"],
            columns=[POINTS[row] for row in rows[order]],
        )
    return tables


#: Fills that dark text is readable on, one per class; a cell also carries its problem's name as text.
FILLS = ("#56B4E9", "#E69F00", "#3CC99B", "#DDA0BF")


#: Marks over the fill, one per rank.
PATTERNS = ("", "/", "\\", "x")
PATTERN = {"fillmode": "overlay", "fgcolor": "rgba(20,24,28,0.35)", "size": 7, "solidity": 0.12}


def cell_table(rows: Predictions, cells: np.ndarray, names: Sequence[str]) -> Figure:
    """Draw Figure 3a: the table of predictions, with the numbers that a notion uses filled and named."""
    proba, labels = rows.proba, rows.labels
    n_samples, n_classes = proba.shape
    data = []
    for value in np.unique(cells[cells > 0]).tolist():
        down, across = np.nonzero(cells == value)
        rank, label = divmod(value - 1, n_classes)
        look = {"color": FILLS[label], "line": {"color": step.INK, "width": 1.5}}
        look["pattern"] = {**PATTERN, "shape": PATTERNS[rank % len(PATTERNS)]}
        data += bar(x=across, y=np.full(len(down), 0.9), base=down - 0.45, width=0.94, marker=look)
    for used in (True, False):
        down, across = np.nonzero((cells > 0) == used)
        text = []
        for row, column in zip(down, across, strict=True):
            number = f"{proba[row, column]:.2f}" + (" \u2713" if labels[row] == column else "")
            if used:
                name = names[cells[row, column] - 1]
                number = f"<b>{number}</b><br><span style='font-size:12px'>{name}</span>"
            text.append(number)
        font = {"size": step.TEXT, "color": step.INK} if used else {"size": step.TEXT}
        data += scatter(x=across, y=down, text=text, textfont=font)
    bare = {"showgrid": False, "showline": False, "ticks": "", "fixedrange": True}
    return figure(
        data,
        height=56 * n_samples + 70,
        barmode="overlay",
        font={"size": step.TEXT},
        margin={"t": 50, "b": 12},
        xaxis={
            **bare,
            "tickvals": list(range(n_classes)),
            "ticktext": [f"class {code + 1}" for code in range(n_classes)],
            "side": "top",
            "range": [-0.55, n_classes - 0.45],
        },
        yaxis={
            **bare,
            "tickvals": list(range(n_samples)),
            "ticktext": [f"<b>{point}</b>, Y = {labels[row] + 1}" for row, point in enumerate(POINTS)],
            "range": [n_samples - 0.45, -0.55],
        },
    )


NOTIONS = {
    "confidence": "The largest number of each row and whether its class was right: one problem.",
    "top-label": "The same numbers, split by the predicted class: a problem for each.",
    "class-wise": "All numbers, column by column: a problem per class, each with all six points.",
    "top-k-confidence": "The largest, the second largest, ... of each row: a problem per rank.",
    "top-k-label": "The same numbers, split by rank and by the class there.",
    "canonical": "Whole rows: points count together only if all four numbers agree. Hardly any two do: there "
    "is nothing to average.",
}
CLASSES = ("1", "2", "3", "4")


def show() -> None:
    guessed = step.guess(
        "guess_six",
        "Six points, four classes; \u2713 marks the true class. **How many binary problems does top-label "
        "calibration make of them?**",
        ("1", "4", "6", "24"),
    )
    notion = None
    if guessed is not None:
        notion = st.segmented_control(
            "Notion",
            list(NOTIONS),
            default="top-label",
            required=True,
            key="notion",
            bind="query-params",
            wrap=True,
            label_visibility="collapsed",
        )
    left, right = st.columns(2, gap="medium")
    cells = np.zeros((6, 4), dtype=int) if notion is None else used_cells(SIX_POINTS.proba, notion)
    named = [] if notion is None else [problem_name(notion, index) for index in range(int(cells.max()))]
    with left:
        table = pd.DataFrame(SIX_POINTS.proba, columns=[f"class {name}" for name in CLASSES])
        chart(
            cell_table(SIX_POINTS, cells, named),
            "six-points",
            table=lambda: table.assign(point=POINTS, Y=SIX_POINTS.truth + 1),
            alt=f"Table of six predictions; filled cells are used by {notion or 'no'} calibration",
        )
    if notion is None:
        return
    with right:
        st.markdown(NOTIONS[notion])
        show_problems(notion)
        st.caption(
            "The labels of a, b and f are Figure 3's; the probabilities are ours: the paper prints them as "
            "a picture."
        )


def show_problems(notion: str) -> None:
    if notion == "canonical":
        units = len(np.unique(SIX_POINTS.proba, axis=0))
        st.markdown(f"**{units} different vectors for six points**, and four frequencies to learn for each.")
        return
    tables = binary_tables(SIX_POINTS, notion)
    st.markdown(f"**{len(tables)} binary problem{'s' if len(tables) > 1 else ''}**")
    listed = {
        f"{problem_name(notion, index)}: {outcome(notion, index)}": ", ".join(
            f"{point} {score:.2f} \u2192 {right:.0f}"
            for point, score, right in zip(problem.columns, *problem.to_numpy(np.float64), strict=True)
        )
        for index, problem in tables.items()
    }
    st.table(pd.Series(listed, name="score \u2192 outcome of each point").rename_axis("problem"))


def problem_name(notion: str, index: int) -> str:
    """Return the name of a binary problem (for canonical: of a distinct row)."""
    if notion == "canonical":
        return f"vector {index + 1}"
    if notion == "confidence":
        return "top"
    if notion == "top-k-confidence":
        return f"k = {index + 1}"
    label = f"l = {index % len(CLASSES) + 1}"
    return f"k = {index // len(CLASSES) + 1}, {label}" if notion == "top-k-label" else label


def outcome(notion: str, index: int) -> str:
    """Return the indicator that is the outcome of a binary problem, as Markdown."""
    if notion == "confidence":
        return "1{Y = c(X)}"
    if notion == "top-k-confidence":
        return f"1{{Y = the class at rank {index + 1}}}"
    return f"1{{Y = {index % len(CLASSES) + 1}}}"
