"""Groups of rows, cut from further columns: which of them are miscalibrated beyond noise."""

from calib.slicing.cuts import Cut, cut_column
from calib.slicing.table import SliceTable, slices

__all__ = ["Cut", "SliceTable", "cut_column", "slices"]
