"""Tables of the simplex page as they stand on the screen; the CSV files keep the library's short names."""

from __future__ import annotations

import pandas as pd
from streamlit.column_config import NumberColumn

from calib.calibrators.canonical import ProjectionScheme, SimplexScheme
from calib.diagrams.canonical_error import SchemeComparison
from calib.diagrams.simplex import RecalibrationMap

#: Heads of the comparison by the name in its CSV; "before" and "after" recalibration come behind.
ROWS = {
    "bins": "Bins",
    "bins with calibration rows": "Bins with calibration rows",
    "smallest of these": "Calibration rows of the smallest such bin",
    "evaluation rows in empty bins": "Evaluation rows in empty bins",
    "zero probability": "Rows whose true class gets probability 0",
}
MEASURES = {
    "canonical-ECE": "canonical-ECE (L1)",
    "log loss": "Log loss (nats)",
    "Brier": "Brier score",
    "accuracy": "Accuracy",
}


def bins_table(arrows: RecalibrationMap) -> tuple[pd.DataFrame, dict[str, NumberColumn]]:
    """Return the bins under readable heads, and how each column is written."""
    columns = {
        "Bin": arrows.cell,
        "Evaluation rows": arrows.count,
        "Calibration rows": arrows.fitted_count,
        "Arrow length (L1)": arrows.length,
        f"Bound (L1, \u03b1 = {arrows.alpha:g})": arrows.bound,
    }
    formats = dict.fromkeys(columns, NumberColumn(format="%.3f"))
    formats |= dict.fromkeys(list(columns)[:3], NumberColumn(format="localized"))
    if arrows.error_share is not None:
        columns["Share of canonical-ECE (%)"] = 100 * arrows.error_share
        formats["Share of canonical-ECE (%)"] = NumberColumn(format="%.1f")
    for says, matrix in (("says", arrows.tail), ("becomes", arrows.head), ("true", arrows.observed)):
        if matrix is not None:
            named = {
                f"{name}: {says}": column for name, column in zip(arrows.class_names, matrix.T, strict=True)
            }
            columns |= named
            formats |= dict.fromkeys(named, NumberColumn(format="%.3f"))
    return pd.DataFrame(columns), formats


def comparison_table(found: SchemeComparison) -> pd.DataFrame:
    """Return a row per measure and a column of written numbers per scheme, dashes for those left out."""
    measures = MEASURES | {f"V({found.epsilon:g})": f"Share of rows within {found.epsilon:g} (L1)"}
    heads = ROWS | {
        f"{name} {when}": f"{head}, {when}" for name, head in measures.items() for when in ("before", "after")
    }
    table = found.table.astype(object).set_index("scheme").T.reindex(list(heads))
    written = table.map(lambda value: f"{value:.4f}" if isinstance(value, float) else f"{value:,}")
    written = written.assign(**dict.fromkeys(found.left_out, "\u2013"))
    # A column and not the index, which would stay in place and fill a telephone's screen.
    return written.rename(index=heads).rename_axis("Measure").reset_index()


def why_not(scheme: SimplexScheme, n_rows: int, reason: object) -> str:
    """Say why a scheme cannot be fitted on so many calibration rows, in the words of the page."""
    if isinstance(scheme, ProjectionScheme) and n_rows < scheme.n_bins - 1:
        rows = "is 1" if n_rows == 1 else f"are {n_rows:,}"
        needs = f"Projection with {scheme.n_bins:,} bins needs {scheme.n_bins - 1:,} calibration rows"
        return f"{needs}; there {rows}"
    return str(reason).rstrip(".")
