"""A summary of rows that are elsewhere: dropped on the Data page, it is looked at there."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from calib import InputError, figures, scale
from calib.diagrams.classes import CLASS_COLUMNS
from calib.isolation.reader import check_summary
from calib.noise import verdict
from calib.scale.summary import Summary
from calib.slicing.table import SLICE_COLUMNS
from pages.shared.session import dataset
from pages.shared.uploads import logged
from pages.shared.widgets import bins_slider, chart, download, escaped, literal

#: How an uploaded summary ends: the first bytes are those of any compressed file.
ENDING = ".calib.json.gz"
#: Classes and groups that tables show; the downloads have all.
SHOWN = 200


def is_summary_file(file: Any) -> bool:
    """Return whether an uploaded file presents itself as a summary."""
    return bytes(file.getbuffer()[:2]) == b"\x1f\x8b" and file.name.endswith(ENDING)


def show_summary(file: Any) -> None:
    """Show what follows from an uploaded summary."""
    try:
        summary = _summary(file)
    except InputError as error:
        st.error(f"Not opened: {escaped(error)}")
        return
    st.subheader("Summary", anchor=False)
    classes = f", {summary.n_classes:,} classes" if summary.n_classes else ""
    st.markdown(f"{summary.n_samples:,} rows{classes}, from {literal(summary.source or 'a file')}.")
    if summary.findings:
        st.warning(f"{summary.sums.n_faulty:,} rows could not be used and were left out when it was made.")
    st.info(
        "A summary holds sums, not rows: errors, diagrams and tables of it are here. What needs rows, on the "
        f"other pages, goes on showing {literal(dataset().name)}."
    )
    n_bins = bins_slider()
    _show_numbers(summary, n_bins, file.file_id)
    diagram = summary.reliability(n_bins)
    chart(
        figures.reliability(diagram),
        "summary-reliability",
        table=diagram.frame(),
        alt=f"Reliability diagram of the summary. {diagram.words()}",
    )
    if summary.kind in ("vectors", "top-label"):
        _show_classes(summary, n_bins, file.file_id)
    if summary.sums.by:
        _show_groups(summary, n_bins, file.file_id)
    validity = summary.validity(n_bins=n_bins)
    chart(
        figures.validity({"the summary": validity}),
        "summary-validity",
        table=validity.frame(),
        alt=f"Validity curve of the summary: {validity.at(0.05):.1%} of the rows are within 0.05.",
    )


def _summary(file: Any) -> Summary:
    """Return the summary in an upload, read elsewhere first, once for each upload."""
    file_id, summary = st.session_state.get("summary", (None, None))
    if file_id != file.file_id:
        with logged(file.size):
            check_summary(file.getbuffer())
        summary = scale.load(file.getvalue())
        st.session_state["summary"] = file.file_id, summary
    return summary


def _once(what: str, n_bins: int, file_id: str, make: Any) -> Any:
    """Return what is made once for each upload and number of bins."""
    key = f"summary-{what}"
    kept = st.session_state.get(key)
    if kept is None or kept[0] != (file_id, n_bins):
        kept = (file_id, n_bins), make()
        st.session_state[key] = kept
    return kept[1]


def _show_numbers(summary: Summary, n_bins: int, file_id: str) -> None:
    table = summary.frame(n_bins)
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "metric": "Number",
            "value": st.column_config.NumberColumn("Value", format="%.4f"),
            "lower": st.column_config.NumberColumn("95 % from", format="%.4f"),
            "upper": st.column_config.NumberColumn("to", format="%.4f"),
        },
    )
    download(table, "summary", key="summary-numbers")
    if summary.weighted:
        st.caption("Rows have weights; their noise floor needs the rows.")
        return
    notion = "top-label" if summary.kind in ("vectors", "top-label") else None
    name = {"vectors": "TL-ECE", "top-label": "TL-ECE", "confidence": "conf-ECE"}.get(summary.kind, "ECE")
    floor = _once("floor", n_bins, file_id, lambda: summary.noise_floor(notion, n_bins, random_state=0))
    st.markdown(f"{verdict(floor, name)}.")


def _show_classes(summary: Summary, n_bins: int, file_id: str) -> None:
    heat = summary.class_heat(n_bins)
    names = [escaped(name) for name in summary.class_names]
    chart(
        figures.heat(summary.class_heat(n_bins, heat.label[:30]), names),
        "summary-heat",
        table=heat.frame(summary.class_names),
        alt="Signed miscalibration of predicted class and bin.",
    )
    if summary.weighted:
        return
    classes = _once("classes", n_bins, file_id, lambda: summary.class_table(n_bins, random_state=0))
    st.markdown(f"{classes.words('**{}**')}.")
    table = classes.frame(summary.class_names).drop(columns="label")
    _table(table, {name: head for name, (head, _) in CLASS_COLUMNS.items()}, "classes")


def _show_groups(summary: Summary, n_bins: int, file_id: str) -> None:
    if summary.weighted:
        return
    groups = _once("groups", n_bins, file_id, lambda: summary.slices(n_bins=n_bins, random_state=0))
    st.markdown(f"{groups.words('**{}**')}.")
    _table(groups.frame(), {name: head for name, (head, _) in SLICE_COLUMNS.items()}, "groups")


def _table(table: pd.DataFrame, heads: dict[str, str], name: str) -> None:
    st.dataframe(table.head(SHOWN).rename(columns=heads), hide_index=True)
    download(table, f"summary-{name}", key=f"summary-{name}-csv")
