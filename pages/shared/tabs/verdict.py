"""Overview: the direction in which the confidence is off, the predicted classes, and what to do."""

from __future__ import annotations

import streamlit as st

from calib import conclude, reliability_diagram
from calib.answers.metric_tables import HOW_SURE, Assessment, how_assessed, metric_frame, metric_texts
from calib.data.defaults import N_BINS
from calib.data.kinds import lacks
from calib.stats import verdict
from calib.stats.measures import ece_of
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.panels.dependence import show_dependence
from pages.shared.panels.picture import show_chosen_rows, show_picture
from pages.shared.panels.recommendation import show_recommendation
from pages.shared.panels.report import offer_report
from pages.shared.panels.several_true import show_several_true
from pages.shared.session import BASE, MANY_SCORES, dataset, methods, scored


def show_verdict() -> None:
    result = results.ask(conclude, base, n_bins=n_bins)
    st.header(
        result.words([ui.literal(name) for name in data.evaluation.class_names]),
        anchor=False,
        help=f"{result.combined.words}. Points are percentage points of confidence minus accuracy. Intervals "
        f"of all {result.n_ranges:,} ranges of the confidence hold together with {result.level:.0%}; of the "
        "classes named, 5% are named in error at most.",
    )
    show_dependence(result.suspected)
    if data.split is not None:
        st.caption(
            f"These are {data.evaluation.n_samples:,} of the file's rows; {data.split:.0%} are kept to fit "
            "calibrators."
        )


def show_signature() -> None:
    """Show the living picture, and the rows of what was chosen in it."""
    fitted = [method for method in methods().values() if method.calibrator is not None]
    show_picture("overview", after=next(iter(fitted), None))
    if not by_class:
        st.markdown(results.ask(reliability_diagram, base, n_bins=n_bins).words(ui.event_of(data)))
    show_chosen_rows("overview-rows")


def show_strip() -> None:
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
        help="1\u00d7 is what noise alone shows on average. "
        + " ".join(f"{name} {noise.observed:.4f}: {noise.words}." for name, noise in floors.items()),
    )


def show_numbers() -> None:
    if data.has_rows and data.evaluation.n_scores > MANY_SCORES and "vector" in data.kind.has:
        st.toggle(
            "Compute CW-ECE",
            key="class_wise",
            persist_state="session",
            help=f"This sorts {data.evaluation.n_scores:,} scores and takes a while.",
        )
    shown = scored()
    assessed = [
        Assessment(name, results.metrics(method, n_bins), results.intervals(method, n_bins))
        for name, method in shown.items()
    ]
    texts = metric_texts(assessed)
    errors = ece_of(data.kind)
    error = errors.get("tl_ece") or next(iter(errors.values()))
    at = list(texts.index).index(error.title) + 1
    texts.loc[f"{error.title} noise floor"] = [
        f"{results.floor(method, error.key, n_bins).mean:.4f}" for method in shown.values()
    ]
    order = [*texts.index[:at], texts.index[-1], *texts.index[at:-1]]
    dashes = " A dash: the method gives no score per class." if "vector" in data.kind.has else ""
    if not data.has_rows:
        dashes = " A dash: it does not follow from sums."
    st.dataframe(texts.loc[order].rename_axis("Number"), height="content")
    ui.download(metric_frame(assessed), "overview")
    st.caption(f"{HOW_SURE} {how_assessed(n_bins, data.kind)}{dashes}")


data, base = dataset(), methods()[BASE]
n_bins = int(st.session_state.get("bins", N_BINS))
by_class = lacks(data.kind, "notion:top-label") is None
main_error = "tl_ece" if "tl_ece" in ece_of(data.kind) else next(iter(ece_of(data.kind)))
verdict_place, proposed = st.columns([8, 5])
if "every label" in data.kind.has:
    with verdict_place:
        st.header(
            verdict(results.floor(base, main_error, n_bins), ece_of(data.kind)[main_error].title),
            anchor=False,
        )
    show_several_true(base, n_bins)
else:
    with verdict_place:
        show_verdict()
        if data.event is None and not by_class:
            st.caption(ui.shortfall(data.kind, "notion:top-label"))
    picture = st.container()
    show_strip()
ui.next_line("Overview")
fold = st.expander("Numbers", key="numbers", on_change="rerun")
if fold.open:  # else the first visit would wait for their intervals
    with fold:
        show_numbers()
words, icon = "Use your own predictions", ":material/upload_file:"
if data.example is not None and verdict_place.button(words, icon=icon):
    st.switch_page("pages/views/data.py")
with proposed:  # after what needs no calibrator: to fit it takes longest
    show_recommendation()
if "every label" not in data.kind.has:
    with picture:  # with the calibrator that is recommended
        show_signature()
offer_report(n_bins)
