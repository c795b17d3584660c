"""The first rows of an uploaded file, with the role of each column, before anything is replaced."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib.files.readers.roles import Roles
from pages.shared.session import Dataset
from pages.shared.uploads import Reading
from pages.shared.widgets import literal

ROWS, COLUMNS = 5, 16
#: What a column can be, by the field of `Roles`; each is chosen by one menu.
ONE_EACH = {
    "predicted": "Predicted class",
    "correct": "Right or wrong",
    "id": "Row id",
    "split": "Split",
    "fold": "Fold of a cross-validation",
    "weight": "Weight",
    "group": "Group",
    "cluster": "Rows that belong together",
    "model": "Model",
}


def show_file(reading: Reading, shown: Dataset) -> None:
    """Show the first rows of a file that was read, and what stays on screen until it is used."""
    table, roles = reading.table, reading.roles
    meant = {} if roles is None else taken_for(roles, labels_elsewhere=reading.tables[1] is not None)
    names = sorted(table.columns, key=lambda name: list(meant).index(name) if name in meant else len(meant))
    first = {
        f"{name} ({meant[name]})" if name in meant else name: table.columns[name][:ROWS]
        for name in names[:COLUMNS]
    }
    for name, matrix in table.matrices.items():
        first |= {
            f"{name}[{column}]": matrix[:ROWS, column] for column in range(min(matrix.shape[1], COLUMNS))
        }
    if table.tabular or len({len(values) for values in first.values()}) == 1:
        st.dataframe(pd.DataFrame(dict(list(first.items())[:COLUMNS])), hide_index=True, height="content")
    width = len(table.columns) + sum(matrix.shape[1] for matrix in table.matrices.values())
    earlier = "" if shown.name == reading.name else f" {literal(shown.name)} is on every page."
    st.caption(
        f"The first rows of {literal(reading.name)}: {table.n_rows:,} rows, {width:,} columns.{earlier}"
    )


def taken_for(roles: Roles, *, labels_elsewhere: bool = False) -> dict[str, str]:
    """Return the role of each column that is used, the most important first.

    A file of labels takes the place of a column of labels.
    """
    words = {"class": "class", "label": "true label"} | {
        role: head.lower() for role, head in ONE_EACH.items()
    }
    words |= {"class": "class", "score": "score", "votes": "votes", "index": "row number, left out"}
    unused = ("label", "votes") if labels_elsewhere else ()
    return {name: words[role] for name, role in roles.table() if role in words and role not in unused}


def show_label_column(reading: Reading) -> None:
    """Say which column is read as the true label; the finding label_column says why."""
    roles = reading.roles
    if roles is None or reading.table.matrices:
        return
    if reading.tables[1] is not None:
        st.caption("The true labels come from the file of labels.")
    elif roles.votes:
        return
    elif not roles.label and roles.correct is None:
        st.caption(
            "No column is read as the true label: none has such a name or holds names of the classes, and "
            "no single column holds whole numbers that could be codes."
        )
    elif len(roles.label) == 1:
        st.caption(f"{literal(roles.label[0])} is read as the true label.")
