"""Files to tables and predictions, and back: formats, limits, roles of columns."""

from calib.files.readers.raw_predictions import (
    divide,
    label_column,
    read,
    read_models,
    read_pair,
    read_predictions,
    read_raw,
    with_labels,
)
from calib.files.readers.reading import read_table
from calib.files.readers.writing import FORMULA, PLAIN_NUMBER, neutral, write_csv

__all__ = ["read", "read_models", "read_pair", "read_predictions"]
