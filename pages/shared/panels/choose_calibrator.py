"""Choosing a calibrator: reduction, binary calibrator, bins and fallback, or a scaling."""

from __future__ import annotations

from typing import Any

import streamlit as st
from sklearn.base import BaseEstimator
from streamlit.delta_generator import DeltaGenerator

from calib import HistogramBinning, MulticlassToBinary, choose_points_per_bin, diagrams
from calib.answers import Cut
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.catalogue import BINARY, REDUCTIONS, VECTOR
from calib.calibrators.effort import effort_words
from calib.calibrators.ridge_choice import CROSS_VALIDATED
from calib.data.kinds import lacks
from calib.data.notions import TOP_K_NOTIONS, Notion
from pages.shared import page_results as results
from pages.shared.session import BY, By, dataset
from pages.shared.widgets import chart, shortfall

PROPOSED, POINTS, BINS = "Proposed k", "Points per bin k", "Number of bins B"

#: With more calibration scores than this, k is proposed only when the user asks for it.
AT_ONCE = 1_000_000
#: Most ranks that are calibrated at once.
MOST_RANKS = 20
FALLBACKS = {"identity": "leave their scores unchanged", "pooled": "use one calibrator for all classes"}
WHOLE = "Whole vector: scaling"
#: Arguments of a scaling with a ridge, by the entries of the menu.
RIDGES: dict[str, dict[str, Any]] = {
    "ridge chosen by cross-validation": {"l2": CROSS_VALIDATED},
    "off-diagonal ridge (ODIR) chosen by cross-validation": {"off_diagonal": CROSS_VALIDATED},
    "none": {},
    "a given ridge": {"l2": 0.1},
}


def choose_binary(column: DeltaGenerator, notion: Notion, top_k: int | None = None) -> BinaryCalibrator:
    """Show the choice of a binary calibrator and of its bins; return it unfitted."""
    makers = {method.title: method.make for method in BINARY.values()}
    make = makers[column.selectbox("Binary calibrator", list(makers))]
    return choose_bins(column, notion, top_k) if make is HistogramBinning else make()


def choose_bins(column: DeltaGenerator, notion: Notion, top_k: int | None = None) -> HistogramBinning:
    """Show the proposed points per bin and a choice by hand; return the unfitted binning."""
    data = dataset()
    small = data.calibration.n_scores <= AT_ONCE
    by = column.segmented_control(
        "Bins by",
        [PROPOSED, POINTS, BINS],
        default=PROPOSED if small else POINTS,
        required=True,
        key="bins-by",
        help="Proposed: by the cross-validated Brier score on the calibration rows.",
    )
    if by == PROPOSED:
        choice = results.ask(choose_points_per_bin, data.calibration, notion=notion, top_k=top_k)
        column.markdown(f"**k = {choice.chosen}** points per bin")
        return HistogramBinning(points_per_bin=choice.chosen)
    if by == POINTS:
        return HistogramBinning(points_per_bin=column.slider("Points per bin k", 5, 500, 50, 5))
    return HistogramBinning(n_bins=column.slider("Bins per problem B", 1, 100, 15))


def show_proposal(binary: BinaryCalibrator, notion: Notion, top_k: int | None = None) -> int:
    """Show why k is proposed, if so, and its effect on the guarantee; return the number of tried k."""
    if st.session_state.get("bins-by") != PROPOSED or not isinstance(binary, HistogramBinning):
        return 1
    choice = results.ask(choose_points_per_bin, dataset().calibration, notion=notion, top_k=top_k)
    st.markdown(choice.words())
    st.caption(
        f"The guarantee below divides \u03b1 among these {len(choice.points_per_bin)} numbers of points, so "
        "that it holds for the one chosen. The evaluation rows are not used."
    )
    others = st.expander("All numbers of points that were tried", key="points-tried", on_change="rerun")
    if others.open:  # else what the fit does would begin below the first screen
        with others:
            chart(
                diagrams.draw_points_per_bin(choice),
                "points-per-bin",
                table=choice.frame,
                alt="Cross-validated Brier score of histogram binning against the number of points per bin",
            )
            st.caption("Bars: one standard error of the difference from the lowest score.")
    return len(choice.points_per_bin)


def choose_group(column: DeltaGenerator) -> By | None:
    """Ask for a column of groups on which the calibrator also conditions; return None without one."""
    rows = dataset().calibration
    if rows.metadata is None:
        return None
    found = results.cuts(rows, tuple((str(name), None) for name in rows.metadata.columns))
    columns = [name for name, cut in found.items() if isinstance(cut, Cut)]
    if st.session_state.get(BY) not in columns:
        st.session_state.pop(BY, None)
    chosen = column.selectbox(
        "Condition also on",
        [None, *columns],
        format_func=lambda name: "nothing else" if name is None else name,
        key=BY,
        help="A (class, group) with too few rows uses the calibrator of its class.",
    )
    if chosen is None:
        return None
    where = st.session_state.get(f"{BY}-at", {})
    return chosen, where.get(chosen)


def choose_calibrator() -> tuple[BaseEstimator, int, By | None]:
    """Show the controls; return the unfitted calibrator, its number of `choices`, and its groups."""
    left, right = st.container(), st.container()
    kind = dataset().kind
    if lacks(kind, "notion:top-label") is not None:
        binary = choose_binary(right, kind.notion)
        left.markdown("One calibrator for the one score of each row.")
        left.caption(shortfall(kind, "notion:top-label"))
        return binary, show_proposal(binary, kind.notion), None
    reductions = {
        reduction.title: reduction
        for reduction in REDUCTIONS
        if lacks(kind, f"notion:{reduction.notion}") is None
    }
    whole = [WHOLE] if lacks(kind, "calibrator:whole vector") is None else []
    title = left.selectbox("Reduction: which notion of calibration", [*reductions, *whole])
    if not whole:
        left.caption(shortfall(kind, "calibrator:whole vector"))
    if title == WHOLE:
        return _choose_scaling(left, right), 1, None
    chosen = reductions[title]
    ranked: dict[str, int] = {}
    if chosen.notion in TOP_K_NOTIONS:
        rows = dataset().evaluation
        most = min(getattr(rows, "n_ranks", rows.n_classes), MOST_RANKS)
        ranked["top_k"] = left.slider("Ranks K", 2, most, min(5, most), key="top-k") if most > 2 else most
    top_k = ranked.get("top_k")
    binary = choose_binary(right, chosen.notion, top_k)
    fallback = left.selectbox(
        "Classes with too few calibration rows", list(FALLBACKS), format_func=FALLBACKS.__getitem__
    )
    by = choose_group(left) if chosen.notion == "top-label" else None
    if chosen.notion == "class-wise":
        st.caption(
            "Class-wise calibration replaces the score of every class and can change which class is "
            "predicted. calib checks that on held-out calibration rows before it fits."
        )
    choices = show_proposal(binary, chosen.notion, top_k)
    options: dict[str, Any] = {"normalize": chosen.normalize, "fallback": fallback} | ranked
    options |= {} if by is None else {"by": ("class", "group")}
    calibrator = MulticlassToBinary(binary, notion=chosen.notion, **options)
    _warn_if_long(calibrator)
    return calibrator, choices, by


def _warn_if_long(calibrator: BaseEstimator) -> None:
    rows = dataset().calibration
    if warning := effort_words(calibrator, rows.n_samples, rows.n_scores // rows.n_samples):
        st.warning(warning)


def _choose_scaling(left: DeltaGenerator, right: DeltaGenerator) -> BaseEstimator:
    methods = {method.title: method for method in VECTOR.values()}
    method = methods[right.selectbox("Scaling", list(methods))]
    options: dict[str, Any] = {}
    if "l2" in method.options:
        offered = [words for words, options in RIDGES.items() if set(options) <= set(method.options)]
        ridge = left.selectbox("Ridge, against fitting noise", offered)
        options = dict(RIDGES[ridge])
        if ridge == "a given ridge":
            options["l2"] = 10.0 ** left.slider("Weight of the ridge, power of 10", -6.0, 2.0, -1.0, 0.5)
    st.caption(method.about)
    calibrator = method.make(**options)
    if warning := calibrator.overfit_words(*dataset().calibration.proba.shape):
        st.warning(warning)
    _warn_if_long(calibrator)
    return calibrator
