"""Groups of rows, cut from further columns: which of them are miscalibrated beyond noise."""

from calib.slicing.cuts import Cut, cut_column
from calib.slicing.gaps import SliceGaps, slice_gaps
from calib.slicing.maps import slice_class_heat, slice_heat
from calib.slicing.table import SliceTable, slices

__all__ = ["Cut", "SliceGaps", "SliceTable", "cut_column", "slice_gaps", "slices"]
