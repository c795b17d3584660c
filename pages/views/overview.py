"""Overview: for which predicted classes the confidence is off, what to do, and all numbers with intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib import calibration_slope, reliability_diagram
from calib.answers.conclusion import Conclusion, IfClustered
from calib.answers.metric_tables import how_assessed
from calib.data.defaults import N_BINS
from calib.data.equal_rows import with_clusters_of
from calib.data.kinds import lacks
from calib.data.predictions import score_matrix
from calib.evidence.rows import Rows
from calib.stats import calibration_tests, verdict
from calib.stats.binless import calibration_frame, recalibration_words
from calib.stats.floors import problem_floors
from calib.stats.measures import MEASURES, ece_of
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import show_rows_needed, weights_refused
from pages.shared.panels.picture import show_chosen_rows, show_picture
from pages.shared.panels.recommendation import show_recommendation
from pages.shared.panels.report import offer_report
from pages.shared.panels.risk import show_risk, show_risk_line, show_smoothed
from pages.shared.session import BASE, MANY_SCORES, Method, dataset, methods, use
from pages.shared.texts import meanings

#: Beyond this many rows the intervals are computed only when asked for.
AT_ONCE = 20_000
#: Theme colours of the two directions, as the picture has them.
LESS, MORE = "orange", "blue"


def show_answer() -> None:
    """Show the answer in one sentence, the one action, the picture and the errors."""
    answer, action = st.columns([8, 5])
    with answer:
        if several_true:
            error = ece_of(data.kind)[main_error]
            st.header(verdict(results.floor(base, main_error, n_bins), error.title), anchor=False)
        else:
            show_verdict(results.conclusion(base))
        if data.example is not None and st.button("Use your own predictions", icon=":material/upload_file:"):
            st.switch_page("pages/views/data.py")
    if several_true:
        show_several_true()
    else:
        picture = st.container()
        show_errors()
    ui.next_line("Overview")
    with action:  # after what needs no calibrator: to fit it takes longest
        show_recommendation()
    if not several_true:
        with picture:  # with the calibrator that is recommended
            fitted = [method for method in methods().values() if method.calibrator is not None]
            show_picture("overview", after=next(iter(fitted), None))
            if not by_class:
                st.markdown(results.ask(reliability_diagram, base, n_bins=n_bins).words(ui.event_of(data)))
            show_chosen_rows("overview-rows")
    offer_report(n_bins)


def show_verdict(found: Conclusion) -> None:
    """Say which classes are off, in the colours of their dots; below, what holds for all rows."""
    about = (
        f"{found.combined.words}. Points are percentage points of confidence minus accuracy. Intervals of "
        f"all {found.n_ranges:,} ranges of the confidence hold together with {found.level:.0%}. At "
        "most 5% of the named classes are expected to be named in error."
    )
    if by_class and found.classes:
        names = [ui.escaped(name) for name in data.evaluation.class_names]
        for gap in found.classes:
            hue = LESS if gap.direction == "overconfident" else MORE
            names[gap.label or 0] = f":{hue}[{names[gap.label or 0]}]"
        said = found.class_words(names)
        st.header(f"{said[0].upper()}{said[1:]}.", anchor=False, help=about)
        st.markdown(found.pooled_words())
    else:
        first, *further = found.sentences(list(map(ui.literal, data.evaluation.class_names)))
        st.header(first, anchor=False, help=about)
        st.markdown(" ".join(further))
    show_dependence(found.suspected)
    if data.event is None and not by_class:
        st.caption(ui.shortfall(data.kind, "notion:top-label"))


def show_dependence(suspected: IfClustered | None) -> None:
    """Ask about rows that a test shows to be alike; offer to undo clusters that are used."""
    evidence = data.evidence
    if suspected is None:
        held = isinstance(evidence, Rows) and evidence.is_declared and not evidence.clusters.independent
        if held and evidence.predictions.voted is None:
            st.button("Undo clusters: each row stands alone", on_click=stand_alone, type="tertiary")
        return
    st.markdown(ui.escaped(suspected.words()))
    with st.container(horizontal=True):
        st.button("They belong together", on_click=declare_clusters, args=(suspected.column,))
        st.button("Each row stands alone", on_click=stand_alone)


def declare_clusters(column: str) -> None:
    use(dataset().changed(lambda rows: with_clusters_of(rows, column)))


def stand_alone() -> None:
    use(dataset().changed(lambda rows: rows.independent()))


def show_several_true() -> None:
    """Show the classes of which several can be true: error, noise floor and p-value of each."""
    rows = base.rows.predictions
    each = results.ask(problem_floors, base, notion="class-wise", n_bins=n_bins)
    order = np.lexsort((-each.observed, each.p_value))
    table = pd.DataFrame(
        {
            "Class": np.array(rows.class_names, dtype=object)[each.label],
            "True": rows.labels.mean(axis=0)[each.label],
            "Mean score": score_matrix(rows).mean(axis=0, dtype=np.float64)[each.label],
            "ECE": each.observed,
            "Perfect model": each.mean,
            "Perfect model, 95 %": each.upper,
            "p": each.p_value,
        }
    ).iloc[order]
    st.header("Each class", anchor=False)
    st.dataframe(
        table.style.format(dict.fromkeys(table.columns[1:6], "{:.4f}") | {"p": "{:.3f}"}), hide_index=True
    )
    ui.download(table, "classes-of-several")
    st.caption(
        "Several classes can be true of a row, so each has an error of its own; CW-ECE is their mean. Each "
        "p is about its class alone: among 20 calibrated classes, one has p below 0.05 on average. To see "
        "the reliability diagram of a class, and everything else about it, choose it on the Data page."
    )


def show_errors() -> None:
    if is_risk:
        show_risk_line(base)
        return
    summary = results.metrics(base, n_bins)
    floors = {
        measure.title: results.floor(base, key, n_bins)
        for key, measure in ece_of(data.kind).items()
        if getattr(summary, key) is not None
    }
    times = [
        f"{name} **{noise.observed / noise.mean:.1f}\u00d7**" for name, noise in floors.items() if noise.mean
    ]
    shown = "" if summary.accuracy is None else f" \u00b7 accuracy **{summary.accuracy:.1%}**"
    st.markdown(
        f"Error beside a perfect model of this size: {', '.join(times)}{shown}",
        help=f"1\u00d7 is what noise alone shows on average. {meanings(floors)}",
    )


def show_numbers() -> None:
    left, right = st.columns([2, 1])
    with left:
        bins = ui.bins_slider()
    with right:
        method = ui.method_menu()
    if is_risk:
        show_risk(method)
        show_smoothed(method)
        st.subheader("Accuracy and errors in bins", anchor=False)
    if data.has_rows and data.evaluation.n_scores > MANY_SCORES and "vector" in data.kind.has:
        st.toggle(
            "Compute CW-ECE",
            key="class_wise",
            persist_state="session",
            help=f"This sorts {data.evaluation.n_scores:,} scores and takes a while.",
        )
    large = data.has_rows and data.evaluation.n_samples > AT_ONCE
    certain = numbers_of(
        method, bins, intervals=not large or st.toggle("Compute the intervals", key="resample")
    )
    st.dataframe(
        pd.DataFrame(
            {
                "Number": certain["Number"],
                "Measured": certain["Measured"],
                "95 % interval": span_words(certain["Lower"], certain["Upper"], "{:.4g} to {:.4g}"),
                "Perfect model": span_words(
                    certain["Perfect model"], certain["Perfect model, 95 %"], "{:.4g}, at most {:.4g}"
                ),
                "p": certain["p"].map(p_words, na_action="ignore"),
            }
        ),
        hide_index=True,
        height="content",
        placeholder="\u2013",
        column_config={
            "Number": st.column_config.TextColumn(pinned=True),
            "Measured": st.column_config.NumberColumn(format="%.4g"),
        },
    )
    ui.download(certain, "numbers")
    st.caption(
        "Noise raises a measured calibration error by up to what a perfect model shows (at most: in 95 of "
        f"100 cases), so its interval can lie below it. {how_assessed(bins, data.kind)}"
    )
    if several_true:
        return
    fold = st.expander("Tests without bins", key="without-bins", on_change="rerun")
    if fold.open:
        with fold:
            show_without_bins(method)


def numbers_of(method: Method, bins: int, *, intervals: bool) -> pd.DataFrame:
    """Return a row per number: measured, ends of its interval, and a perfect model's."""
    floors, summary, rows = results.floors(method, bins), results.metrics(method, bins), []
    for key, measure in MEASURES.items():
        floor = floors.get(key)
        value = floor.observed if floor else getattr(summary, key)
        if value is None:
            continue
        ends = results.interval(method, key, bins) if intervals else (None, None)
        perfect = (floor.mean, floor.quantile(0.95)) if floor else (None, None)
        p = floor.p_value if floor and not floor.untold else None
        rows.append((measure.title, value, *ends, *perfect, p))
    heads = ["Number", "Measured", "Lower", "Upper", "Perfect model", "Perfect model, 95 %", "p"]
    return pd.DataFrame(rows, columns=heads)


def span_words(low: pd.Series, high: pd.Series, text: str) -> list[str | None]:
    """Return two numbers of each row as a text; None if there are none."""
    return [
        None if pd.isna(first) else text.format(first, last) for first, last in zip(low, high, strict=True)
    ]


def p_words(p: float) -> str:
    """Return a p-value with three digits, which is never 0."""
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def show_without_bins(method: Method) -> None:
    if show_rows_needed("A test without bins"):
        return
    scored = data.kind.scored
    tests = results.ask(calibration_tests, method)
    line = results.ask(calibration_slope, method, notion="confidence")
    if (compared := results.pairs(method)) is not None:
        tests = [*tests, compared]
    tested = calibration_frame(tests, scored)
    st.markdown(f"{recalibration_words(line, scored)}")
    st.dataframe(
        tested.drop(columns="Redraws").assign(p=tested["p"].map(p_words, na_action="ignore")),
        hide_index=True,
        column_config={"Statistic": st.column_config.NumberColumn(format="%.4g")},
    )
    ui.download(tested, "tests-without-bins")
    if data.evidence.is_weighted and "vector" in data.kind.has:
        st.caption(ui.escaped(weights_refused("The kernel test of whole vectors")))
    st.caption(
        f"Kuiper and Kolmogorov-Smirnov look at sums of outcome minus {scored or 'confidence'} in the order "
        + f"of {scored or 'confidence, one predicted class after the other'}"
        + "; z at the Brier score"
        + ("" if scored else "; SKCE at the whole vector")
        + ". p is by redraws of the outcomes; above 20,000 distinct scores, by the limit for many rows."
    )


ui.heading(
    "Overview",
    "calib shows how far a classifier's confidence can be trusted, for which predicted classes, and which "
    "calibrator repairs it.",
)
data, base = dataset(), methods()[BASE]
n_bins = int(st.session_state.get("bins", N_BINS))
several_true = "every label" in data.kind.has
is_risk = data.event is not None and data.has_rows
by_class = lacks(data.kind, "notion:top-label") is None
main_error = "tl_ece" if "tl_ece" in ece_of(data.kind) else next(iter(ece_of(data.kind)))
ui.show_tabs(
    {"Answer": show_answer, "How sure is each number?": show_numbers}, "overview_tab", in_address=True
)
