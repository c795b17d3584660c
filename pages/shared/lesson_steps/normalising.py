"""Step 7: normalising keeps the order of a row's entries; it costs the guarantee (Algorithms 3 and 4)."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import ece
from pages.shared.address import presenting
from pages.shared.kept import kept
from pages.shared.lesson_steps.interaction import guess, own_data, picture
from pages.shared.lessons.figures import one_row
from pages.shared.lessons.normalising import NormalisationComparison, compare_normalisation
from pages.shared.session import from_example

EXAMPLES = {"simulated ResNet": "resnet", "handwritten digits (real)": "digits"}
#: Equal-width bins narrow enough to show gaps that cancel inside wider ones.
FINE_BINS = 15


def show() -> None:
    """Show the step."""
    guessed = guess(
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
    base, class_wise, normalised = (table.loc[method] for method in ("Base model", "CW-HB", "N-HB"))
    if not len(comparison.changed):
        st.info("With these bins, every row's largest entry belongs to the base model's predicted class.")
        return
    most = min(len(comparison.changed), 50)
    with side:
        number = int(
            st.slider("A row whose label changes", 1, max(most, 2), 1, key="row", bind="query-params")
        )
    row = int(comparison.changed[min(number, most) - 1])
    names = from_example(EXAMPLES[title]).evaluation.class_names
    scores = {
        "Base model": comparison.base[row],
        "CW-HB": comparison.class_wise[row],
        "N-HB": comparison.normalised[row],
    }
    with drawn:
        picture(
            one_row(list(scores.items()), names, int(comparison.labels[row])),
            "normalising",
            table=pd.DataFrame(scores, index=pd.Index(names, name="class")).reset_index(),
            alt="Scores of one row by class: base model, CW-HB and N-HB",
        )
    if guessed is None:
        return
    wide = _wide_bins(comparison) if normalised.cw_ece <= class_wise.cw_ece else ""
    st.markdown(
        f"No promise: Theorem 2 bounds the expected CW-ECE of CW-HB by **{comparison.expected_ece:.3f}**; of "
        f"N-HB no bound is known. Here it goes from **{class_wise.cw_ece:.4f}** to "
        f"**{normalised.cw_ece:.4f}**.{wide} Dividing moves the largest entry of {comparison.n_moved:,} "
        f"rows; "
        f"class-wise calibration itself moves {len(comparison.changed):,}."
    )
    if presenting():
        return
    with st.expander("All numbers"):
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
            f"CW-HB is assessed at each of its values, the others in {n_bins} equal-width bins (Remark 1). "
            f"Use the numbers of CW-HB class by class, and keep the base model's label: its accuracy is "
            f"{base.accuracy:.4f}."
        )
    own_data("pages/views/compare.py", "Compare")


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
