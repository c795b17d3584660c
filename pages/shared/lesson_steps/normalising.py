"""Step 7: normalising keeps the order of a row's entries; it costs the guarantee (Algorithms 3 and 4)."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import ece
from pages.shared.kept import kept
from pages.shared.lessons.figures import one_row
from pages.shared.lessons.normalising import NormalisationComparison, compare_normalisation
from pages.shared.session import from_example
from pages.shared.widgets import ARROW, chart, literal

EXAMPLES = {"simulated ResNet": "resnet", "handwritten digits (real)": "digits"}
#: Equal-width bins narrow enough to show gaps that cancel inside wider ones.
FINE_BINS = 15


def show() -> None:
    """Show the step."""
    st.markdown(
        "Class-wise histogram binning (CW-HB) calibrates each class on its own, so a row no longer sums to "
        "1. N-HB divides the row by its sum. That keeps the order of its entries, so the largest stays the "
        "largest; but the numbers are no longer the frequencies that were learnt, and Theorem 2 no longer "
        "covers them."
    )
    left, middle, right = st.columns([2, 2, 3])
    title = left.selectbox("Predictions", list(EXAMPLES), key="trap", bind="query-params")
    n_bins = middle.slider("Bins per class B", 2, 40, 15, key="per_class", bind="query-params")
    comparison = _comparison(EXAMPLES[title], n_bins)
    table = comparison.frame().set_index("method")
    base, class_wise, normalised = (table.loc[method] for method in ("Base model", "CW-HB", "N-HB"))
    st.markdown(
        f"**Guarantee.** Whatever the data, the expected CW-ECE of CW-HB is at most "
        f"**{comparison.expected_ece:.3f}** (Theorem 2). For N-HB no bound is known.\n\n"
        f"**Error.** Row sums of CW-HB run from {class_wise.smallest_sum:.2f} to "
        f"{class_wise.largest_sum:.2f}. Normalising takes the estimated CW-ECE from "
        f"**{class_wise.cw_ece:.4f}** to **{normalised.cw_ece:.4f}** (base model {base.cw_ece:.4f})."
        f"{_wide_bins(comparison) if normalised.cw_ece <= class_wise.cw_ece else ''}\n\n"
        f"**Accuracy.** Normalising moves the largest entry of {comparison.n_moved:,} rows. Class-wise "
        f"calibration moves that of {len(comparison.changed):,}: taken as the label, it takes accuracy from "
        f"**{base.accuracy:.4f}** to **{class_wise.accuracy:.4f}** before normalising and "
        f"**{normalised.accuracy:.4f}** after. Top-label calibration keeps the label, and so "
        f"{base.accuracy:.4f}."
    )
    if not len(comparison.changed):
        st.info("With these bins, every row's largest entry belongs to the base model's predicted class.")
        return
    most = min(len(comparison.changed), 50)
    number = int(
        right.slider("A row whose label changes", 1, max(most, 2), 1, key="row", bind="query-params")
    )
    row = int(comparison.changed[min(number, most) - 1])
    names = from_example(EXAMPLES[title]).evaluation.class_names
    scores = {
        "Base model": comparison.base[row],
        "CW-HB": comparison.class_wise[row],
        "N-HB": comparison.normalised[row],
    }
    largest = [literal(names[int(entries.argmax())]) for entries in scores.values()]
    true_class = int(comparison.labels[row])
    st.markdown(
        f"Row {row:,}: the largest entry is {largest[0]} for the base model, {largest[1]} for CW-HB and "
        f"{largest[2]} for N-HB; the true class is {literal(names[true_class])} (\u2713). The largest bar of "
        "each method is marked max."
    )
    chart(
        one_row(list(scores.items()), names, true_class),
        "normalising",
        table=pd.DataFrame(scores, index=pd.Index(names, name="class")).reset_index(),
        alt="Scores of one row by class: base model, CW-HB and N-HB",
    )
    st.dataframe(
        table.rename(
            columns={
                "smallest_sum": "Smallest row sum",
                "largest_sum": "Largest row sum",
                "cw_ece": "CW-ECE",
                "accuracy": "Accuracy of the largest entry",
            }
        ).style.format("{:.4f}")
    )
    st.caption(
        f"CW-HB is assessed at each of its values, the others in {n_bins} equal-width bins (Remark 1). Use "
        "the numbers of CW-HB class by class, and keep the base model's label."
    )
    st.page_link("pages/repair/compare.py", label="The same for your data: Compare", icon=ARROW)


def _wide_bins(comparison: NormalisationComparison) -> str:
    """Say what `FINE_BINS` equal-width bins show where the estimate did not rise."""
    class_wise, normalised = (
        ece(comparison.labels, scores, notion="class-wise", n_bins=FINE_BINS)
        for scores in (comparison.class_wise, comparison.normalised)
    )
    return (
        f" Here the estimate does not rise: gaps of opposite sign cancel inside {comparison.n_bins} "
        f"equal-width bins. With {FINE_BINS} such bins for both it goes from {class_wise:.4f} to "
        f"{normalised:.4f}."
    )


@kept()
def _comparison(name: str, n_bins: int) -> NormalisationComparison:
    example = from_example(name)
    assert example.calibration is not None, "both examples have calibration rows"
    with st.spinner("Binning each class ..."):
        return compare_normalisation(example.calibration, example.evaluation, n_bins)
