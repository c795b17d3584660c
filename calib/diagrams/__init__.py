"""Computed diagrams, frozen: reliability, classes, validity, imbalance, simplex. Figures draw them."""

from calib.diagrams.bin_sweep import EceSweep, ece_sweep
from calib.diagrams.classes import (
    CLASS_COLUMNS,
    ClassDiagram,
    ClassHeat,
    ClassTable,
    Confusions,
    class_diagram,
    class_heat,
    class_table,
    confusions,
)
from calib.diagrams.imbalance import BinPlan, ClassBinning, class_binning, plan_bins
from calib.diagrams.reliability import (
    FEW_ROWS,
    BinZoom,
    ReliabilityDiagram,
    bin_zoom,
    cell_words,
    reliability_diagram,
    wilson_interval,
    worst_cells,
    worst_cells_words,
)
from calib.diagrams.rows import row_table, rows_behind
from calib.diagrams.scheme_comparison import SchemeComparison, compare_schemes
from calib.diagrams.simplex import RecalibrationMap, cell_outlines, recalibration_map
from calib.diagrams.three_class_views import merge_classes, renormalise_classes
from calib.diagrams.validity import (
    CanonicalValidity,
    ValidityCells,
    ValidityCurve,
    canonical_validity,
    validity_cells,
    validity_curve,
    validity_words,
)

__all__ = [
    "ValidityCurve", "bin_zoom", "canonical_validity", "cell_outlines", "class_binning", "class_diagram",
    "class_heat", "class_table", "compare_schemes", "confusions", "ece_sweep", "merge_classes",
    "plan_bins", "recalibration_map", "reliability_diagram", "renormalise_classes", "row_table",
    "rows_behind", "validity_curve", "worst_cells",
]  # fmt: skip
