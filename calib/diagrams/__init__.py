"""Computed diagrams, frozen: reliability, classes, validity, imbalance, simplex. Figures draw them."""

from calib.diagrams.canonical_error import (
    canonical_ece,
    canonical_noise_floor,
    canonical_validity,
    compare_schemes,
    multinomial_bound,
)
from calib.diagrams.class_detail import class_diagram, confusions
from calib.diagrams.classes import class_heat, class_table
from calib.diagrams.imbalance import class_binning, plan_bins
from calib.diagrams.reliability import (
    FEW_ROWS,
    BinZoom,
    EceSweep,
    ReliabilityDiagram,
    bin_zoom,
    ece_sweep,
    reliability_diagram,
    wilson_interval,
    worst_cells,
)
from calib.diagrams.simplex import cell_outlines, merge_classes, recalibration_map, renormalise_classes
from calib.diagrams.validity import ValidityCurve, validity_curve

__all__ = [
    "BinZoom",
    "EceSweep",
    "FEW_ROWS",
    "ReliabilityDiagram",
    "ValidityCurve",
    "bin_zoom",
    "canonical_ece",
    "canonical_noise_floor",
    "canonical_validity",
    "cell_outlines",
    "class_binning",
    "class_diagram",
    "class_heat",
    "class_table",
    "compare_schemes",
    "confusions",
    "ece_sweep",
    "merge_classes",
    "multinomial_bound",
    "plan_bins",
    "recalibration_map",
    "reliability_diagram",
    "renormalise_classes",
    "validity_curve",
    "wilson_interval",
    "worst_cells",
]
