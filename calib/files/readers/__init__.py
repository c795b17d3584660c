"""Files to tables and raw predictions, and back: formats, limits, roles of columns."""

from calib.files.readers.raw_predictions import divide, read_raw, with_labels
from calib.files.readers.reading import read_table
from calib.files.writing import FORMULA, PLAIN_NUMBER, neutral, write_csv
