"""How sure the numbers are, what other estimators say, and what recalibration can fix."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages._estimates import interval_table, other_estimates, parts
from pages._parts import download
from pages._session import BASE, Method


def show_certainty(known: dict[str, Method], n_bins: int) -> None:
    """Show intervals, other estimators and parts of proper scores, each when asked for."""
    st.subheader("How sure are these numbers?", anchor=False)
    if st.toggle("95 % bootstrap intervals", key="intervals", bind="query-params"):
        _intervals(known, n_bins)
    if st.toggle("Other estimators of the same errors", key="estimators", bind="query-params"):
        _estimators(known[BASE], n_bins)
    if st.toggle("What recalibration can and cannot fix", key="fixable", bind="query-params"):
        _fixable(known, n_bins)


def _intervals(known: dict[str, Method], n_bins: int) -> None:
    table = interval_table(known.values(), n_bins)
    text = [
        f"{row.estimate:.4f} ({row.lower:.4f} to {row.upper:.4f})" for row in table.itertuples(index=False)
    ]
    wide = table.assign(text=text).pivot(index="method", columns="metric", values="text")
    st.dataframe(wide.loc[list(known), table["metric"].unique()], placeholder="\u2013")
    st.caption(
        "Rows drawn again with replacement, 1,000 times. Plug-in errors are too large on average, and the "
        "intervals make up for it: they can end below the estimate."
    )
    download(table, "intervals", key="intervals-csv")


def _estimators(base: Method, n_bins: int) -> None:
    table = other_estimates(base, n_bins)
    st.dataframe(
        table,
        hide_index=True,
        column_config=dict.fromkeys(table.columns[1:], st.column_config.NumberColumn(format="%.4f")),
    )
    st.caption(
        "ECE-sweep: as many equal-mass bins as keep accuracy rising (Roelofs et al. 2022). SmoothECE: "
        "no bins (B\u0142asiok & Nakkiran 2023). Debiased: root mean square error less its noise, equal-mass "
        "bins (Kumar et al. 2019); it is on another scale than the others, which are mean absolute errors."
    )
    download(table, "estimators", key="estimators-csv")


def _fixable(known: dict[str, Method], n_bins: int) -> None:
    found = [
        (method, parts(method, rule, n_bins)) for rule in ("brier", "log_loss") for method in known.values()
    ]
    table = pd.concat([one.frame().assign(method=method.name) for method, one in found])
    base = found[0][1]
    st.markdown(
        f"Of the base model's Brier score of **{base.score:.4f}** (announced class right or wrong), "
        f"recalibration could remove **{base.calibration:.4f}**; {base.refinement:.4f} would stay, because "
        "rows of one announced class and confidence come out differently."
    )
    heads = ["method", "rule", "score", "calibration", "refinement", "uncertainty", "resolution", "binning"]
    names = {"brier": "Brier, top label", "log_loss": "Log loss, top label"}
    shown = table[heads].assign(rule=table["rule"].map(names)).rename(columns=str.capitalize)
    number = st.column_config.NumberColumn(format="%.4f")
    st.dataframe(shown, hide_index=True, column_config=dict.fromkeys(map(str.capitalize, heads[2:]), number))
    st.caption(
        "Score = calibration + refinement + binning; refinement = uncertainty \u2212 resolution (Murphy "
        "1973). Judged per predicted class; binning is what differing scores inside one bin leave over."
    )
    download(table, "decomposition", key="decomposition-csv")
