"""Over time: since when, and for which classes, scores are off, by evidence that may be looked at daily."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib import InputError, diagrams
from calib.diagrams.monitoring import OverTime
from calib.stats.arrivals import as_times
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind
from pages.shared.session import dataset, methods
from pages.shared.uploads import read_once

#: Where the rows come from, and units drawn at first.
ROWS, STATE = "The data on screen", "A state of calib watch"
SHOWN = 9
IN_ORDER = "(the order of the rows)"


def is_date(name: str) -> bool:
    try:
        return as_times(data.evaluation.metadata[name].to_numpy(), data.evaluation.n_samples, 0)[0] == "date"
    except InputError:
        return False


def result_of_rows() -> OverTime:
    need_kind("Over time")
    models = methods()
    chosen = models[left.selectbox("Before or after calibration", list(models), key="time-model")]
    columns = results.further_columns(data.evaluation)
    dates = [name for name in columns if is_date(name)]
    offered = [IN_ORDER, *columns]
    at = offered.index(dates[0]) if dates else 0
    name = middle.selectbox("Time of each row", offered, at, key="time-column")
    tolerance = options.number_input(
        "Tolerance",
        0.0,
        0.5,
        0.0,
        0.01,
        key="time-tolerance",
        help="The model counts as calibrated if the probability is within this of the score.",
    )
    try:
        return results.watched(chosen, None if name == IN_ORDER else name, tolerance)
    except InputError as error:
        st.error(f"{ui.escaped(error)}.")
        st.stop()


def result_of_state() -> OverTime:
    file = st.file_uploader("State that calib watch wrote (JSON)", type="json", key="monitor-file")
    if file is None:
        st.info("Upload the file in which calib watch keeps its state. Its results appear here.")
        st.stop()
    try:
        found: OverTime = read_once("monitor", file)
    except InputError as error:
        st.error(f"{ui.escaped(error)}.")
        st.stop()
    return found


ui.heading(
    "Over time", "Since when, and for which classes, are scores off? You may look as often as you like."
)
data = dataset()
left, middle, right = st.columns([5, 5, 2], vertical_alignment="bottom")
options = right.popover("Options", width="stretch")
source = options.segmented_control("Rows", [ROWS, STATE], default=ROWS, required=True, key="time-source")
result = result_of_rows() if source == ROWS else result_of_state()
(st.warning if result.alarm else st.success)(ui.escaped(result.words))
ui.chart(
    diagrams.draw_over_time(result),
    "over-time",
    table=lambda: result.curves[0],
    alt="Outcomes minus scores, with their confidence sequence, and the evidence",
)
st.caption(
    "Marks: blocks of consecutive rows. Line and band: all rows so far; in 95 of 100 streams the truth "
    "stays within the band at all times. Below: the worth of bets against calibration, and the threshold "
    "of the alarm. A calibrated model reaches it in at most 5 of 100 streams, however long it runs."
)
units = result.units
ui.next_line("Over time")
several = np.flatnonzero(units["level"] != "all").tolist()
if several:
    st.header("Classes and groups", anchor=False)
    ui.chart(
        diagrams.draw_units_over_time(result, several[:SHOWN]),
        "units-over-time",
        table=result.frame,
        alt="The same for each class or group, those with the clearest evidence first",
    )
    if len(several) > SHOWN:
        in_file = f"the figure's data hold {len(result.curves) - 1:,}"
        st.caption(f"The {SHOWN} of {len(several):,} with the clearest evidence; {in_file}.")
    table = units.iloc[several]
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "level": "Level",
            "name": "Name",
            "rows": "Rows",
            "log_evidence": st.column_config.NumberColumn("Evidence, logarithm", format="%.2f"),
            "named": "Named",
            "gap": st.column_config.NumberColumn("Outcomes minus scores", format="%+.4f"),
            "lower": st.column_config.NumberColumn("Lower", format="%+.4g"),
            "upper": st.column_config.NumberColumn("Upper", format="%+.4g"),
        },
    )
    ui.download(table, "over-time-units")
if source == ROWS and results.further_columns(data.evaluation):
    st.page_link("pages/views/slices.py", label="Errors by period: Slices", icon=":material/segment:")
