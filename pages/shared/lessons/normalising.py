"""Normalising keeps the order of a row's entries; it costs the guarantee (Algorithms 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st

from calib.answers.calibrated import calibrated_scores
from calib.answers.theorems import guarantee
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.data.predictions import Predictions
from calib.diagrams.style import OKABE_ITO, Figure, bar, figure, named_rows
from calib.stats.errors import accuracy, ece
from pages.shared.kept import kept
from pages.shared.lessons import interaction as step
from pages.shared.session import from_example
from pages.shared.widgets import chart


@dataclass(frozen=True, eq=False)
class NormalisationComparison:
    """Class-wise histogram binning with and without normalised rows, on evaluation rows."""

    methods: Mapping[str, Predictions]  #: The base model, CW-HB (Algorithm 3) and N-HB (Algorithm 4)
    n_bins: int  #: Bins per class
    #: (c,) int64 array: rows in which the largest entry of CW-HB is not the base model's predicted class:
    #: rows with a right base model come first, and among these the rows whose CW-HB scores are farthest from
    #: a sum of 1
    changed: np.ndarray
    expected_ece: float  #: Theorem 2's bound on the expected CW-ECE of CW-HB; N-HB has none

    @property
    def n_moved(self) -> int:
        """Rows whose largest entry normalising moves: division by the sum keeps the order, so none."""
        return int((self.methods["CW-HB"].label != self.methods["N-HB"].label).sum())

    def frame(self) -> pd.DataFrame:
        """Return the accuracy of the largest entry, CW-ECE and the range of row sums, for three methods."""
        sums = {name: rows.proba.sum(axis=1, dtype=np.float64) for name, rows in self.methods.items()}
        return pd.DataFrame(
            {
                "method": name,
                "smallest_sum": sums[name].min(),
                "largest_sum": sums[name].max(),
                "cw_ece": ece(rows, notion="class-wise", n_bins=self.n_bins),
                "accuracy": accuracy(rows),
            }
            for name, rows in self.methods.items()
        )


def compare_normalisation(
    calibration: Predictions, evaluation: Predictions, n_bins: int = 15
) -> NormalisationComparison:
    methods = {"Base model": evaluation}
    for name, normalize in (("CW-HB", False), ("N-HB", True)):
        binning = HistogramBinning(n_bins=n_bins)
        calibrator = MulticlassToBinary(binning, notion="class-wise", normalize=normalize)
        fitted = calibrator.fit(calibration.proba, calibration.labels)
        methods[name] = cast(Predictions, calibrated_scores(fitted, evaluation))
    changed = np.flatnonzero(methods["CW-HB"].label != evaluation.label)
    base_right = evaluation.label[changed] == evaluation.truth[changed]
    excess = np.abs(methods["CW-HB"].proba[changed].sum(axis=1) - 1.0)
    n_samples = calibration.n_samples
    promise = guarantee(points_per_bin=n_samples // n_bins, n_samples=n_samples)
    order = np.lexsort((-excess, ~base_right))
    return NormalisationComparison(methods, n_bins, changed[order], promise.expected_ece)


def one_row(series: Sequence[tuple[str, np.ndarray]], class_names: Sequence[str], true_label: int) -> Figure:
    """Draw the scores of one row by several methods: a group of bars per class, sums in the legend."""
    data = []
    looks = (("grey", ""), ("green", "/"), ("purple", "x"))
    for (name, scores), (colour, shape) in zip(series, looks, strict=True):
        data += bar(
            x=scores,
            y=np.arange(len(scores)),
            orientation="h",
            name=f"{name}, sum {scores.sum():.2f}",
            marker={"color": OKABE_ITO[colour], "pattern": {"shape": shape, "solidity": 0.25}},
            text=["max" if code == scores.argmax() else "" for code in range(len(scores))],
            textposition="outside",
            textfont={"size": step.TEXT},
            constraintext="none",
            cliponaxis=False,
            hovertemplate=f"{name}: %{{x:.3f}}",
        )
    names = [f"{name} \u2713" if code == true_label else name for code, name in enumerate(class_names)]
    return figure(
        data,
        height=step.LESSON_HEIGHT,
        font={"size": step.TEXT},
        bargap=0.25,
        xaxis={"title": "Score", "rangemode": "tozero"},
        **named_rows(names, autorange="reversed"),
    )


EXAMPLES = {"simulated ResNet": "resnet", "handwritten digits (real)": "digits"}
#: Equal-width bins narrow enough to show gaps that cancel inside wider ones.
FINE_BINS = 15


def show() -> None:
    guessed = step.guess(
        "guess_normalising",
        "Class-wise binning (CW-HB) calibrates each class on its own: rows no longer sum to 1. N-HB divides "
        "them by their sum. **What does that do to the error?**",
        ("lowers it", "raises it", "no promise either way"),
    )
    drawn, side = st.columns([3, 1], gap="medium")
    with side:
        title = st.selectbox("Predictions", list(EXAMPLES), key="trap", bind="query-params")
        n_bins = st.slider("Bins per class B", 2, 40, 15, key="per_class", bind="query-params")
    comparison = _comparison(EXAMPLES[title], n_bins)
    table = comparison.frame().set_index("method")
    base, class_wise, normalised = (table.loc[method] for method in comparison.methods)
    if not len(comparison.changed):
        st.info("With these bins, every row's largest entry belongs to the base model's predicted class.")
        return
    most = min(len(comparison.changed), 50)
    with side:
        number = int(
            st.slider("A row whose label changes", 1, max(most, 2), 1, key="row", bind="query-params")
        )
    row = int(comparison.changed[min(number, most) - 1])
    unseen = comparison.methods["Base model"]
    names, scores = unseen.class_names, {name: rows.proba[row] for name, rows in comparison.methods.items()}
    with drawn:
        chart(
            one_row(list(scores.items()), names, int(unseen.truth[row])),
            "normalising",
            table=lambda: pd.DataFrame(scores, index=pd.Index(names, name="class")).reset_index(),
            alt="Scores of one row by class: base model, CW-HB and N-HB",
        )
    if guessed is None:
        return
    wide = _wide_bins(comparison) if normalised.cw_ece <= class_wise.cw_ece else ""
    st.markdown(
        f"No promise: Theorem 2 bounds the expected CW-ECE of CW-HB by **{comparison.expected_ece:.3f}**; "
        f"N-HB has no known bound. Here: **{class_wise.cw_ece:.4f}** and **{normalised.cw_ece:.4f}**.{wide} "
        f"Dividing changes the highest class in {comparison.n_moved:,} rows, CW-HB itself in "
        f"{len(comparison.changed):,}."
    )
    st.caption(
        f"CW-HB is assessed at each of its values, the others in {n_bins} equal-width bins (Remark 1). Keep "
        f"the base model's label: its accuracy is {base.accuracy:.4f}, the other methods' "
        f"{class_wise.accuracy:.4f}."
    )
    step.own_data("pages/views/repair.py", "Candidates", repair_tab="Candidates")


def _wide_bins(comparison: NormalisationComparison) -> str:
    """Say what `FINE_BINS` equal-width bins show if the estimate did not rise."""
    class_wise, normalised = (
        ece(comparison.methods[name], notion="class-wise", n_bins=FINE_BINS, strategy="uniform")
        for name in ("CW-HB", "N-HB")
    )
    return (
        f" Here the estimate does not rise: gaps of opposite sign cancel inside {comparison.n_bins} "
        f"equal-width bins. With {FINE_BINS} such bins for both it goes from {class_wise:.4f} to "
        f"{normalised:.4f}."
    )


@kept()
def _comparison(name: str, n_bins: int) -> NormalisationComparison:
    example = from_example(name)
    with st.spinner("Binning each class ..."):
        return compare_normalisation(example.calibration, example.evaluation, n_bins)
