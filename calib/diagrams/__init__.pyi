# fmt: off
from . import figures as figures
from .bin_sweep import EceSweep as EceSweep, ece_sweep as ece_sweep
from .classes import (
    CLASS_COLUMNS as CLASS_COLUMNS, ClassDiagram as ClassDiagram, ClassHeat as ClassHeat,
    ClassTable as ClassTable, Confusions as Confusions, class_diagram as class_diagram,
    class_heat as class_heat, class_table as class_table, confusions as confusions,
)
from .imbalance import (
    BinPlan as BinPlan, ClassBinning as ClassBinning, class_binning as class_binning,
    plan_bins as plan_bins,
)
from .reliability import (
    BinZoom as BinZoom, FEW_ROWS as FEW_ROWS, ReliabilityDiagram as ReliabilityDiagram,
    bin_zoom as bin_zoom, cell_words as cell_words, reliability_diagram as reliability_diagram,
    wilson_interval as wilson_interval, worst_cells as worst_cells, worst_cells_words as worst_cells_words,
)
from .rows import row_table as row_table, rows_behind as rows_behind
from .scheme_comparison import SchemeComparison as SchemeComparison, compare_schemes as compare_schemes
from .simplex import (
    RecalibrationMap as RecalibrationMap, cell_outlines as cell_outlines,
    recalibration_map as recalibration_map,
)
from .three_class_views import merge_classes as merge_classes, renormalise_classes as renormalise_classes
from .validity import (
    CanonicalValidity as CanonicalValidity, ValidityCells as ValidityCells,
    ValidityCurve as ValidityCurve, canonical_validity as canonical_validity,
    validity_cells as validity_cells, validity_curve as validity_curve, validity_words as validity_words,
)
