"""Files to tables and predictions, and back: formats, limits, roles of columns."""

from calib.formats.predictions import (
    FORMULA,
    PLAIN_NUMBER,
    divide,
    label_column,
    neutral,
    read_draft,
    read_pair,
    read_predictions,
    with_labels,
    write_csv,
)
from calib.formats.reading import read_table

__all__ = [
    "FORMULA",
    "PLAIN_NUMBER",
    "divide",
    "label_column",
    "neutral",
    "read_draft",
    "read_pair",
    "read_predictions",
    "read_table",
    "with_labels",
    "write_csv",
]
