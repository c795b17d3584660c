"""Over time: whether calibration changed, and since when; or a state of calib watch."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import InputError, answers, diagrams
from calib.diagrams.monitoring import Watched
from calib.stats.arrivals import time_words
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind, send_to_data
from pages.shared.session import dataset, methods
from pages.shared.uploads import read_once

#: Where the rows come from.
ROWS, STATE = "The data on screen", "A state of calib watch"
ADD = "Add a column of dates that says when each row was scored, such as scored_at, to your file"
FORMATS = dict.fromkeys(("before", "since", "difference", "lower", "upper"), "%+.3f") | {"p": "%.2g"}
COLUMNS = {
    "name": "Predicted class",
    "changed": "Changed",
    "time": "Time",
    "n_before": "Rows before",
    "n_since": "Rows since",
    **{name: st.column_config.NumberColumn(name.capitalize(), format=form) for name, form in FORMATS.items()},
}


def result_of_rows() -> answers.OverTime:
    need_kind("Over time")
    models = methods()
    offered, columns = results.time_columns(data.evaluation)
    if not columns:
        send_to_data(f"These rows have no times, so nothing says whether scores changed. {ADD}.")
    chosen = models[left.selectbox("Before or after calibration", list(models), key="time-model")]
    at = columns.index(offered[0]) if offered else None
    name = middle.selectbox("Time of each row", columns, at, key="time-column")
    if name is None:
        st.info(f"Choose the column that says when each row was scored. {ADD} if none does.")
        st.stop()
    try:
        return results.over_time(chosen, name)
    except InputError as error:
        st.error(f"{ui.escaped(error)}.")
        st.stop()


def state() -> Watched:
    file = st.file_uploader("State that calib watch wrote (JSON)", type="json", key="monitor-file")
    if file is None:
        st.info("Upload the file in which calib watch keeps its state. Its results appear here.")
        st.stop()
    try:
        found: Watched = read_once("monitor", file)
    except InputError as error:
        st.error(f"{ui.escaped(error)}.")
        st.stop()
    return found


def show_change(result: answers.OverTime) -> None:
    say = {"changed": st.warning, "wrong from the start": st.info, "no change": st.success}
    say[result.verdict](ui.escaped(result.words()))
    ui.chart(
        diagrams.draw_over_time(result),
        "over-time",
        table=lambda: result.blocks,
        alt="Accuracy minus confidence of blocks of rows, and before and since the change",
    )
    line = " Line: before and since the change." if result.split.changed else ""
    st.caption(f"Marks: blocks of consecutive rows with 95 % intervals.{line}")
    if not result.classes:
        return
    names = data.evaluation.class_names
    st.write(ui.escaped(result.class_words(names)))
    table = pd.DataFrame(result.classes)
    label = table.pop("label")
    table.insert(0, "name", label if names is None else [names[code] for code in label])
    table["time"] = table["time"].map(time_words)
    st.dataframe(table, hide_index=True, column_config=COLUMNS, column_order=list(COLUMNS))
    ui.download(table, "over-time-classes")


def show_state(result: Watched) -> None:
    (st.warning if result.alarm else st.success)(ui.escaped(result.words))
    ui.chart(
        diagrams.draw_watched(result),
        "watched",
        table=result.frame,
        alt="Outcomes minus scores, with their confidence sequence, and the evidence",
    )
    st.caption(
        "Above: all rows so far; in 95 of 100 streams the truth stays within the band at all times. Below: "
        "the evidence, and the threshold of the alarm. A calibrated model reaches it in at most 5 of 100 "
        "streams, however long it runs."
    )
    st.dataframe(result.units, hide_index=True)
    ui.download(result.units, "over-time-units")


data = dataset()
left, middle, right = st.columns([5, 5, 2], vertical_alignment="bottom")
options = right.popover("Options", width="stretch")
source = options.segmented_control("Rows", [ROWS, STATE], default=ROWS, required=True, key="time-source")
if source == ROWS:
    show_change(result_of_rows())
else:
    show_state(state())
ui.next_line("Groups")
