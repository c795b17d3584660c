"""Figures of computed diagrams; the only package that imports plotly."""

from calib.figures.bin_sweep import ece_curves, points_per_bin
from calib.figures.classes import class_reliability, class_shares, confused, heat
from calib.figures.decisions import decision_curve, risk_coverage
from calib.figures.decompositions import score_parts
from calib.figures.drawn_results import FIGURES, drawn
from calib.figures.imbalance import bin_plan, class_errors, class_panels
from calib.figures.noise import floors
from calib.figures.reliability_diagram import reliability, zoom
from calib.figures.simplex import recalibration
from calib.figures.slices import slice_gaps, slice_panels
from calib.figures.style import (
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
from calib.figures.validity_curves import DOTTED, canonical_validity, validity
