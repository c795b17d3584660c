"""Figures of computed diagrams; the only package that imports plotly."""

from calib.diagrams.figures.bin_sweep import ece_curves, points_per_bin
from calib.diagrams.figures.classes import class_reliability, class_shares, confused, heat
from calib.diagrams.figures.decisions import decision_curve, risk_coverage
from calib.diagrams.figures.decompositions import score_parts
from calib.diagrams.figures.drawn_results import FIGURES, drawn
from calib.diagrams.figures.imbalance import bin_plan, class_errors, class_panels
from calib.diagrams.figures.noise import floors
from calib.diagrams.figures.reliability_diagram import reliability, zoom
from calib.diagrams.figures.simplex import recalibration
from calib.diagrams.figures.slices import slice_gaps, slice_panels
from calib.diagrams.figures.style import (
    BARS,
    FONT,
    MAX_NAMED,
    METHOD_COLOURS,
    OKABE_ITO,
    TEMPLATE,
    escape,
    template,
    unit_axes,
)
from calib.diagrams.figures.validity_curves import DOTTED, canonical_validity, validity
