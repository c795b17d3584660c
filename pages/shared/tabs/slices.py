"""Slices: which groups of rows are off by more, or by less, than all other rows."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import streamlit as st

from calib import InputError, diagrams, slices
from calib.answers import Cut
from calib.answers.cuts import DATE_PARTS, QUANTILES, parse_cuts
from calib.answers.slice_tables import SLICE_COLUMNS
from calib.diagrams.reliability_diagrams import cell_words
from calib.diagrams.slice_maps import slice_class_heat, slice_heat
from calib.diagrams.style import with_layout
from calib.evidence.reductions import top_label
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind, say_rows_needed, send_to_data
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.session import BY, dataset

#: Columns chosen at first, rows of a map, columns of the class map, and differences drawn.
FIRST, MAP_ROWS, MAP_CLASSES, DRAWN = 6, 20, 15, 10
#: Groups that the first sentence names.
MOST_SAID = 2
FORMATS = {"count": "localized", "share": "percent", "accuracy": "%.3f", "confidence": "%.3f", "p": "%.2g"}
FORMATS |= dict.fromkeys(("gap", "gap_of_rest", "difference", "lower", "upper"), "%+.3f")
FORMATS |= dict.fromkeys(("ratio", "smallest", "error", "floor", "floor_upper"), "%.3f")
COLUMNS = ui.columns_of(SLICE_COLUMNS, FORMATS)
#: Columns of the table that are on the screen before one scrolls to the others.
SEEN = ("column", "group", "count", "gap", "gap_of_rest", "difference", "differs", "above_noise")


def open_group(group: str, bin_: int | None = None, predicted: int | None = None) -> None:
    st.session_state["slice-rows-open"] = True
    st.session_state["slice-group"], st.session_state["slice-bin"] = group, bin_
    st.session_state["slice-predicted"] = predicted


def pick_row() -> None:
    row = ui.ticked("slice-table")
    if row is not None:
        st.session_state["slice-column"] = shown["column"].iloc[row]
        open_group(shown["group"].iloc[row])


def pick_mark(figure: str) -> None:
    if custom := ui.clicked(figure).get("customdata"):
        open_group(cut.groups[int(custom[0])], bin_=int(custom[1]))


def pick_class_cell() -> None:
    if custom := ui.clicked("slice-by-class").get("customdata"):
        open_group(cut.groups[int(custom[0])], predicted=int(classes[int(custom[1])]))


def pick_difference() -> None:
    if custom := ui.clicked("slice-differences").get("customdata"):
        st.session_state["slice-column"] = custom[6]
        open_group(custom[7])


def edges_of(name: str, cut: Cut) -> Any:
    """Ask where a column of numbers or dates is cut; return `at` of `cut_column`."""
    if cut.how == "dates":
        parts = list(DATE_PARTS)
        return st.selectbox(f"{name} by", parts, parts.index("month"), key=f"cut-{name}")
    text = st.text_input(
        f"{name} at",
        key=f"cut-{name}",
        placeholder=", ".join(f"{edge:.6g}" for edge in cut.edges),
        help="Numbers to cut at, separated by commas; or a number of groups of equal size, such as =8. Left "
        f"empty: {QUANTILES} groups of equal size.",
    )
    try:
        return parse_cuts([f"{name}={text}"], [name])[name] if text.strip() else None
    except InputError as error:
        st.error(ui.escaped(error))
        return None


need_kind("Groups")
data = dataset()
rows = data.evaluation
columns = results.further_columns(rows)
if not data.has_rows and not columns:
    st.info(
        "This summary has no groups. Make it again with calib summarize --by, such as --by site, for each "
        "column of groups."
    )
    st.stop()
if not columns:
    send_to_data(
        "These rows have no further columns. Add columns to your file, such as a site, an age or a date: "
        "every column that is neither a score nor a label stays with its rows, and is assessed here."
    )
default = results.cuts(rows, tuple((name, None) for name in columns))
offered = [name for name, cut in default.items() if isinstance(cut, Cut) and len(cut.groups) > 1]
reasons = [
    reason if isinstance(reason, str) else f"column {name!r} has one value"
    for name, reason in default.items()
    if name not in offered
]
if not offered:
    send_to_data(f"No column has groups: {ui.escaped(reasons[0])}. Add columns, such as a site or an age.")
left, right = st.columns([5, 1], vertical_alignment="bottom")
with left:
    n_bins, method = ui.bins_and_method()
options = right.popover("Options", width="stretch")
with options:
    chosen = st.multiselect("Columns", offered, offered[:FIRST], key="slice-columns")
    pairs = (
        data.has_rows and len(chosen) > 1 and st.toggle("Pairs of columns", key="pairs", bind="query-params")
    )
    editable = [name for name in chosen if default[name].how != "values"]
    if editable:
        st.caption("Where numbers and dates are cut")
    where: dict[str, Any] = {name: edges_of(name, default[name]) for name in editable}
if not chosen:
    st.info("Choose at least one column, under Options.")
    st.stop()
at: results.CutsAt = tuple((name, where.get(name)) for name in chosen)
for name, cut in results.cuts(rows, at).items():
    if isinstance(cut, str):
        st.error(f"{ui.literal(name)} is not cut: {ui.escaped(cut)}.")
        st.stop()
if reasons:
    st.caption(f"Columns without groups: {'; '.join(map(ui.escaped, reasons[:3]))}.")

grouping = results.grouping(method, n_bins)
groups = [results.grouped_by(method, (column,)) for column in at]
table = results.ask(slices, method, groups=groups, pairs=pairs, **grouping)
apart = [
    f"{ui.literal(column)} {ui.literal(group)} is {words}"
    for (column, group), words in table.differences("**{}**").items()
]
more = f"; and {len(apart) - MOST_SAID} more" if len(apart) > MOST_SAID else ""
st.markdown(f"{table.words('**{}**')}." + (f" {'; '.join(apart[:MOST_SAID])}{more}." if apart else ""))
main, side = ui.beside("slice")
with main:
    ui.chart(
        diagrams.draw_slice_gaps(table.first(DRAWN)),
        "slice-differences",
        table=table.frame,
        alt="Gap of each group minus the gap of all other rows, with its interval",
        on_select=pick_difference,
    )
    signed = "frequency \u2212 score" if data.kind.scored else "accuracy \u2212 confidence"
    st.caption(
        f"Gap: {signed}. Orange-red: lower than in all other rows; blue: higher; grey: not distinguishable. "
        f"Intervals have {100 * table.level:.3g} % coverage each: those of groups that differ exclude 0."
        + (f" The first {DRAWN} of {len(table):,} groups." if len(table) > DRAWN else "")
    )
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    search = left.text_input("Search groups", key="slice-search", placeholder="part of a name")
    only = right.toggle("Only different", key="slice-differs")
    whole = table.frame()
    matches = whole["group"].astype(str).str.contains(search, case=False, regex=False)
    if only:
        matches &= whole["differs"]
    shown = whole[matches].reset_index(drop=True)
    st.dataframe(
        shown,
        key="slice-table",
        hide_index=True,
        height=35 * min(len(shown) + 1, 11) + 2,
        column_order=ui.in_order(COLUMNS, SEEN),
        column_config=COLUMNS,
        on_select=pick_row,
        selection_mode=["single-row", "single-cell"],
    )
    error = "TL-ECE" if table.notion == "top-label" else "ECE" if data.kind.scored else "conf-ECE"
    st.caption(
        f"Above noise: whether the {error} of the group alone, in {n_bins} equal-width bins, exceeds "
        "a perfect model's. A model that is off everywhere is above noise in every group."
    )
    ui.download(whole, "slices")

    st.header("The groups of one column", anchor=False)
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    parts: dict[str, tuple[str, ...]] = {column: (column,) for column in chosen}
    parts |= {", ".join(both): both for both in combinations(chosen, 2)} if pairs else {}
    if st.session_state.get("slice-column") not in parts:
        st.session_state["slice-column"] = next(
            column for column in map(str, table.column) if column in chosen
        )
    name = left.selectbox("Column", list(parts), key="slice-column")
    column_cuts: results.CutsAt = tuple((column, where.get(column)) for column in parts[name])
    cut = results.cut_of(rows, column_cuts)
    place = {group: code for code, group in enumerate(cut.groups)}
    ranked = [place[group] for group in shown["group"][shown["column"] == name]]
    if not ranked:
        st.info("No group of this column matches the search.")
        st.stop()
    visible = tuple(
        ranked[ui.page_of(len(ranked), MAP_ROWS, "slice-page", f", {MAP_ROWS} groups each", right)]
    )
    classes: tuple[int, ...] = ()
    if not data.kind.scored and not say_rows_needed("The map of group and predicted class"):
        predicted = np.bincount(top_label(method.rows.predictions)[0], minlength=len(rows.class_names))
        order = np.argsort(-predicted, kind="stable")[:MAP_CLASSES]
        classes = tuple(order[predicted[order] > 0].tolist())
    column = results.grouped_by(method, column_cuts)
    by_bin = results.ask(slice_heat, method, column=column, groups=visible, n_bins=n_bins)
    by_class = None
    if classes:
        by_class = results.ask(slice_class_heat, method, column=column, groups=visible, classes=classes)
    is_binary = data.event is not None
    group = st.session_state.get("slice-group")
    if group not in table.group[table.column == name]:
        group = cut.groups[ranked[0]]
    bin_ = st.session_state.get("slice-bin")
    bin_ = None if bin_ is None or bin_ >= n_bins else bin_
    opened = None if bin_ is None else (place[group], bin_)
    predicted_as = st.session_state.get("slice-predicted")
    predicted_as = predicted_as if predicted_as in classes else None
    score = "Score" if is_binary else "Confidence"


def show_maps() -> None:
    st.markdown(
        f"Orange-red: {'it happens' if is_binary else 'right'} less often than the score says. Blue: more "
        "often. Taller cells have more rows, outlined ones are beyond noise."
    )
    ui.chart(
        with_layout(
            diagrams.draw_heat(by_bin, cut.groups, rows="Group", chosen=opened),
            xaxis={"title": {"text": score}},
            coloraxis={"colorbar": {"title": {"text": signed}}},
        ),
        "slice-by-bin",
        table=lambda: by_bin.frame(cut.groups),
        alt="Accuracy minus mean score, for every group and bin",
        on_select=partial(pick_mark, "slice-by-bin"),
    )
    if by_class is not None:
        names = [rows.class_names[code] for code in classes]
        ui.chart(
            diagrams.draw_heat(
                by_class,
                cut.groups,
                rows="Group",
                columns=names,
                chosen=None if predicted_as is None else (place[group], classes.index(predicted_as)),
            ),
            "slice-by-class",
            table=lambda: (
                by_class.frame(cut.groups)
                .drop(columns=["lower", "upper"])
                .assign(bin=lambda frame: [names[code] for code in frame["bin"]])
                .rename(columns={"class": "group", "bin": "predicted"})
            ),
            alt="Accuracy minus confidence, for every group and predicted class",
            on_select=pick_class_cell,
        )
        if len(names) < int((predicted > 0).sum()):
            st.caption(f"The {len(names)} classes that are predicted most often.")


with main:
    ui.show_tabs(
        {
            "Bins and classes": show_maps,
        },
        "about-groups",
    )
what = f"{ui.literal(name)} {ui.literal(group)}"
what += "" if bin_ is None else f" at {ui.range_of(bin_, n_bins)}"
if predicted_as is not None:
    what += f", predicted {ui.literal(rows.class_names[predicted_as])}"
behind = results.rows_of_group(method, column_cuts, place[group], n_bins, bin_, predicted_as)
line = int(np.flatnonzero((table.column == name) & (table.group == group))[0])
with side:
    st.subheader(f"{ui.escaped(name)}: {ui.escaped(group)}", anchor=False)
    cell = table.confidence[line], table.accuracy[line], table.count[line]
    cell_text = cell_words(*cell, "**{}**", ui.event_of(data))
    st.markdown(
        f"{cell_text[0].upper()}{cell_text[1:]}; error **{table.error[line]:.4f}** against a noise floor of "
        f"{table.floor[line]:.4f}."
    )
    opened_map = results.ask(slice_heat, method, column=column, groups=(place[group],), n_bins=n_bins)
    ui.chart(
        diagrams.draw_slice_panels(opened_map, cut.groups, score, chosen=opened, across=1),
        "slice-one",
        table=lambda: opened_map.frame(cut.groups),
        alt="Reliability diagram of the chosen group",
        on_select=partial(pick_mark, "slice-one"),
    )
    rows_panel((method,), behind, what, "slice-rows")
    st.caption("A click on a row of the table, a cell or a difference opens it here.")

ui.next_line("Groups")
st.header("What to do about it", anchor=False)
if say_rows_needed("Calibration by group", "fit on the files with calib.scale.fit(..., groups=...)"):
    st.stop()
if name not in chosen:
    st.markdown("Calibration by group takes one column: choose one of the two above.")
elif data.calibration is None or data.kind.scored:
    st.markdown("Calibration by group needs predicted classes and calibration rows.")
else:
    st.markdown(
        "Top-label calibration can condition on the group as well as on the predicted class, with the same "
        "guarantee for every (class, group) that has enough rows."
    )
    if st.button(f"Calibrate by {ui.literal(name)}", type="primary", icon=ui.ARROW):
        st.session_state[BY] = name
        st.session_state[f"{BY}-at"] = where
        st.switch_page("pages/views/repair.py", query_params={"repair_tab": "Calibrate"})
