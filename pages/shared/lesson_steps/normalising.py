"""Step 7: rows that sum to 1 again look better; what was learnt is lost (Algorithms 3 and 4)."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib.figures.lessons import one_row
from calib.lessons.binning import Trap, normalisation_trap
from pages.shared.session import from_example
from pages.shared.widgets import ARROW, chart, literal

EXAMPLES = {"resnet": "simulated ResNet", "digits": "handwritten digits (real)"}


def show() -> None:
    """Show the step."""
    st.markdown(
        "Class-wise histogram binning (CW-HB) calibrates each class on its own, so a row no longer sums to "
        "1. "
        "N-HB divides it by its sum. The row looks better, but its numbers are no longer the frequencies "
        "that "
        "were learnt, and announcing its largest entry costs accuracy."
    )
    left, middle, right = st.columns([2, 2, 3])
    titles = {title: name for name, title in EXAMPLES.items()}
    name = left.selectbox("Predictions", list(titles), key="trap", bind="query-params")
    n_bins = middle.slider("Bins per class B", 2, 40, 15, key="per_class", bind="query-params")
    found = _trap(titles[name], n_bins)
    table = found.frame().set_index("method")
    base, plain, normal = (table.loc[method] for method in ("Base model", "CW-HB", "N-HB"))
    st.markdown(
        f"Row sums of CW-HB run from {plain.smallest_sum:.2f} to {plain.largest_sum:.2f}. Normalising them "
        "takes "
        f"CW-ECE from **{plain.cw_ece:.4f}** to **{normal.cw_ece:.4f}** (base model {base.cw_ece:.4f}). "
        "Taking "
        f"the largest entry as the label takes accuracy from **{base.accuracy:.3f}** to "
        f"**{normal.accuracy:.3f}**; top-label calibration keeps the label and stays at {base.accuracy:.3f}."
    )
    if not len(found.changed):
        st.info("With these bins no row's largest entry moves.")
        return
    which = int(
        right.slider(
            "A row whose label moves",
            1,
            max(min(len(found.changed), 50), 2),
            1,
            key="row",
            bind="query-params",
        )
    )
    row = int(found.changed[min(which, len(found.changed)) - 1])
    names = from_example(titles[name]).evaluation.class_names
    before, after = (names[int(scores[row].argmax())] for scores in (found.base, found.normalized))
    true = names[int(found.labels[row])]
    st.markdown(
        f"Row {row:,}: the base model announces {literal(before)}, N-HB {literal(after)}; true is "
        f"{literal(true)} "
        "(\u2713). The largest bar of each method is marked max."
    )
    series = [
        ("Base model", found.base[row]),
        ("CW-HB", found.class_wise[row]),
        ("N-HB", found.normalized[row]),
    ]
    scores = pd.DataFrame(dict(series), index=pd.Index(names, name="class")).reset_index()
    chart(
        one_row(series, names, int(found.labels[row])),
        "normalising",
        table=scores,
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
        "CW-HB is assessed at each of its values, the others in as many equal-width bins (Remark 1). "
        "Dividing a "
        "row by its sum moves no entry past another, so CW-HB has the same largest entry: use its numbers "
        "class "
        "by class, and keep the base model's label."
    )
    st.page_link("pages/repair/compare.py", label="The same for your data: Compare", icon=ARROW)


@st.cache_resource(max_entries=32, show_spinner="Binning each class ...")
def _trap(name: str, n_bins: int) -> Trap:
    example = from_example(name)
    assert example.calibration is not None, "both examples have calibration rows"
    return normalisation_trap(example.calibration, example.evaluation, n_bins)
