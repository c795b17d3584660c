"""Files to tables and predictions, and back: formats, limits, roles of columns."""

from calib.formats.drafts import divide, label_column, read_draft, read_pair, read_predictions, with_labels
from calib.formats.reading import read_table
from calib.formats.writing import FORMULA, PLAIN_NUMBER, neutral, write_csv
