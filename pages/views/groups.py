"""Groups: which groups of rows are off by more than all other rows, and whether that changed over time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib import InputError, MulticlassToBinary, answers, calibration_by_centre, diagrams, slices
from calib.answers import Cut
from calib.answers.cuts import DATE_PARTS, QUANTILES, parse_cuts
from calib.answers.risks import MIN_CENTRES, TITLES
from calib.answers.slice_tables import SLICE_COLUMNS, SliceTable
from calib.calibrators.catalogue import name_of
from calib.data.defaults import N_BINS
from calib.diagrams.reliability_diagrams import cell_words
from calib.diagrams.slice_maps import slice_heat
from calib.evidence.rows import Rows
from calib.stats.bets import time_words
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.isolation import reader
from pages.shared.needs import need_kind
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.session import BASE, dataset, fit, methods

#: Columns chosen at first, and groups drawn.
FIRST, DRAWN = 6, 10
#: Groups that the first sentence names.
MOST_SAID = 2
SHOWN = ("column", "group", "count", "accuracy", "confidence", "gap", "gap_of_rest", "differs", "rows_needed")
FORMATS = {
    "count": "localized",
    "rows_needed": "%.0f",
    "accuracy": "%.3f",
    "confidence": "%.3f",
    "ratio": "%.2f",
}
FORMATS |= dict.fromkeys(("gap", "gap_of_rest"), "%+.3f")
NO_TIMES = "No column says when a row was scored. Add one with dates, such as scored_at, to your file."
CHANGES = dict.fromkeys(("before", "since", "difference", "lower", "upper"), "%+.3f") | {"p": "%.2g"}


def edges_of(name: str, cut: Cut) -> Any:
    """Ask where a column of numbers or dates is cut; return `at` of `cut_column`."""
    if cut.how == "dates":
        parts = list(DATE_PARTS)
        return st.selectbox(f"{name} by", parts, parts.index("month"), key=f"cut-{name}")
    text = st.text_input(
        f"{name} at",
        key=f"cut-{name}",
        placeholder=", ".join(f"{edge:.6g}" for edge in cut.edges),
        help=f"Numbers, separated by commas, or =8 for 8 groups; empty: {QUANTILES} groups of equal size.",
    )
    try:
        return parse_cuts([f"{name}={text}"], [name])[name] if text.strip() else None
    except InputError as error:
        st.error(ui.escaped(error))
        return None


def chosen_columns() -> results.CutsAt:
    """Ask which columns groups are cut from, and where; return none if there are none."""
    columns = results.further_columns(data.evaluation)
    default = results.cuts(data.evaluation, tuple((name, None) for name in columns))
    offered = [name for name, cut in default.items() if isinstance(cut, Cut) and len(cut.groups) > 1]
    if not offered:
        reason = next((f" ({cut})" for cut in default.values() if isinstance(cut, str)), "")
        st.info(
            f"No column has groups{ui.escaped(reason)}. Add columns to your file, such as a site, an age or "
            "a date; a summary needs `calib summarize --by`."
        )
        ui.link_to_data()
        return ()
    line = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = line.multiselect("Columns", offered, offered[:FIRST], key="slice-columns", width="stretch")
    with line.popover("Cuts"):
        editable = [name for name in chosen if default[name].how != "values"]
        where = {name: edges_of(name, default[name]) for name in editable}
        if not editable:
            st.caption("Columns of numbers or dates can be cut elsewhere; none is chosen.")
    at: results.CutsAt = tuple((name, where.get(name)) for name in chosen)
    for name, cut in results.cuts(data.evaluation, at).items():
        if isinstance(cut, str):
            st.error(f"{ui.literal(name)} is not cut: {ui.escaped(cut)}.")
            return ()
    return at


def show_against_the_rest() -> None:
    """Compare each group with all other rows, and show the group that is clicked."""
    if not (at := chosen_columns()):
        return
    groups = [results.grouped_by(base, (column,)) for column in at]
    table = results.ask(slices, base, groups=groups, **results.grouping(base, n_bins))
    apart = [
        f"{ui.literal(column)} {ui.literal(group)} is {words}"
        for (column, group), words in table.differences("**{}**").items()
    ]
    more = f"; and {len(apart) - MOST_SAID} more" if len(apart) > MOST_SAID else ""
    st.markdown(f"{table.words('**{}**')}." + (f" {'; '.join(apart[:MOST_SAID])}{more}." if apart else ""))
    main, side = st.columns([3, 2], gap="medium")
    with main:
        draw_groups(table)
    with side:
        show_group(table, at)
    if (fold := st.expander("All groups", key="all-groups", on_change="rerun")).open:
        with fold:
            list_groups(table)


def open_group(table: SliceTable, row: int) -> None:
    st.session_state["slice-group"] = table.column[row], str(table.group[row])
    st.session_state["slice-rows-open"] = True


def draw_groups(table: SliceTable) -> None:
    compared = np.flatnonzero(np.isfinite(table.lower[:DRAWN]))
    columns = np.array([str(name).removesuffix(" (simulated)") for name in table.column], dtype=object)
    ui.chart(
        diagrams.draw_slice_gaps(replace(table, column=columns).first(DRAWN)),
        "slice-differences",
        table=table.frame,
        alt="Gap of each group minus the gap of all other rows, with its interval",
        on_click=lambda point: open_group(table, int(compared[point["point_index"]])),
    )
    st.caption("Grey: not distinguishable from all other rows.")


def list_groups(table: SliceTable) -> None:
    whole = table.frame()
    heads = {**SLICE_COLUMNS, "gap_of_rest": ("All others", SLICE_COLUMNS["gap_of_rest"][1])}
    ui.table_to_tick(
        whole,
        "slice-table",
        partial(open_group, table),
        column_order=SHOWN if data.event is None else (*SHOWN, "ratio"),
        column_config=ui.columns_of(heads, FORMATS),
    )
    ui.download(whole, "slices")


def show_group(table: SliceTable, at: results.CutsAt) -> None:
    """Show the reliability diagram and the rows of the chosen group, and calibrate by its column."""
    known = [(name, str(group)) for name, group in zip(table.column, table.group, strict=True)]
    name, group = chosen if (chosen := st.session_state.get("slice-group")) in known else known[0]
    line, column = known.index((name, group)), next((each,) for each in at if each[0] == name)
    cut = results.cut_of(data.evaluation, column)
    st.subheader(f"{ui.escaped(name)}: {ui.escaped(group)}", anchor=False)
    cell = table.confidence[line], table.accuracy[line], table.count[line]
    words = cell_words(*cell, "**{}**", ui.event_of(data))
    st.markdown(f"{words[0].upper()}{words[1:]}.")
    code = cut.groups.index(group)
    heat = results.ask(
        slice_heat, base, column=results.grouped_by(base, column), groups=(code,), n_bins=n_bins
    )
    score = "Confidence" if data.event is None else "Score"
    ui.chart(
        diagrams.draw_slice_panels(heat, cut.groups, score, across=1),
        "slice-one",
        table=lambda: heat.frame(cut.groups),
        alt="Reliability diagram of the chosen group",
    )
    behind = results.rows_of_group(base, column, code)
    rows_panel((base,), behind, f"{ui.literal(name)} {ui.literal(group)}", "slice-rows")
    by_group = data.checked.calibration is not None and not data.kind.scored and cut.how == "values"
    if by_group and st.button(f"Calibrate by {ui.literal(name)}", icon=ui.ARROW):
        calibrator = MulticlassToBinary(by=("class", "group"))
        try:
            st.session_state["chosen"] = fit(f"{name_of(calibrator)}: {name}", calibrator, by=name).name
            st.switch_page("pages/views/repair.py")
        except InputError as error:
            st.error(f"Not fitted: {ui.escaped(error)}")


def show_centres() -> None:
    """Compare the calibration of P(Y = 1) over the values of a column, and say what a new value may bring."""
    columns = tuple((name, None) for name in results.further_columns(data.evaluation))
    found = results.cuts(data.evaluation, columns)
    names = [
        name
        for name, cut in found.items()
        if isinstance(cut, Cut) and cut.how == "values" and len(cut.groups) > 1
    ]
    if not names:
        st.info(
            "No column names centres. Add one to your file, such as the hospital or the study of each row."
        )
        ui.link_to_data()
        return
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    name = left.selectbox("Centre of each row", names, key="centre-column")
    number = right.segmented_control(
        "Number", list(TITLES), format_func=TITLES.get, default="ratio", required=True, key="centre-number"
    )
    table = results.ask(calibration_by_centre, base, centre=results.grouped_by(base, ((name, None),)))
    st.markdown("  \n".join(map(ui.escaped, table.lines)))
    ui.chart(
        diagrams.draw_centres(table, number),
        "centres",
        table=table.frame,
        alt=f"{TITLES[number]} in each centre, over all centres, and in a new centre",
    )
    st.caption(f"95 % intervals; line: calibrated. The range of a new centre takes {MIN_CENTRES} centres.")
    st.dataframe(table.texts(), hide_index=True)
    ui.download(table.frame(), "centres")


def show_over_time() -> None:
    offered, columns = results.time_columns(data.evaluation)
    if not columns:
        st.info(NO_TIMES)
        ui.link_to_data()
        return
    at = columns.index(offered[0]) if offered else None
    name = st.selectbox("Time of each row", columns, at, key="time-column")
    if name is None:
        st.info(f"Choose the column that says when each row was scored. {NO_TIMES}")
        return
    try:
        show_change(results.over_time(base, name))
    except InputError as error:
        st.error(f"{ui.escaped(error)}.")


def show_change(result: answers.OverTime) -> None:
    shown = {"changed": st.warning, "wrong from the start": st.info, "no change": st.success}
    shown[result.verdict](ui.escaped(result.words()))
    ui.chart(
        diagrams.draw_over_time(result),
        "over-time",
        table=lambda: result.blocks,
        alt="Gap of blocks of rows, and before and since the change",
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
    numbers = st.column_config.NumberColumn
    heads: dict[str, Any] = {"name": "Predicted class", "changed": "Changed", "time": "Time"}
    heads |= {"n_before": "Rows before", "n_since": "Rows since"}
    heads |= {name: numbers(name.capitalize(), format=form) for name, form in CHANGES.items()}
    st.dataframe(table, hide_index=True, column_config=heads, column_order=list(heads))
    ui.download(table, "over-time-classes")


ui.heading(
    "Groups", "Which groups of rows are off by more, or by less, than all other rows, and did it change?"
)
need_kind("Groups")
reader.pool.start()
data, base = dataset(), methods()[BASE]
n_bins = int(st.session_state.get("bins", N_BINS))
tabs = {"Against the rest": show_against_the_rest, "Over time": show_over_time}
tabs |= {"Centres": show_centres} if data.event is not None and isinstance(base.evidence, Rows) else {}
ui.show_tabs(tabs, "groups_tab", in_address=True)
ui.next_line("Groups")
