# fmt: off
from .bin_sweep import (
    EceSweep as EceSweep, ModelSweeps as ModelSweeps, draw_ece_sweeps as draw_ece_sweeps,
    draw_model_sweeps as draw_model_sweeps, draw_points_per_bin as draw_points_per_bin,
    ece_sweep as ece_sweep, sweep_models as sweep_models,
)
from .class_sizes import (
    ClassBinning as ClassBinning, class_binning as class_binning,
    draw_class_errors as draw_class_errors,
)
from .class_tables import (
    CLASS_COLUMNS as CLASS_COLUMNS, ClassDiagram as ClassDiagram, ClassTable as ClassTable,
    Confusions as Confusions, class_diagram as class_diagram, class_table as class_table,
    confusions as confusions, draw_class as draw_class,
    draw_class_changes as draw_class_changes,
)
from .decisions import (
    draw_decision_curves as draw_decision_curves, draw_judgement as draw_judgement,
    draw_levels as draw_levels, draw_risk_coverage as draw_risk_coverage,
)
from .display import ReliabilityDisplay as ReliabilityDisplay
from .monitoring import (
    Watched as Watched, draw_over_time as draw_over_time, draw_watched as draw_watched,
    monitor_diagram as monitor_diagram,
)
from .noise_floors import (
    draw_decompositions as draw_decompositions, draw_floors as draw_floors,
    draw_model_comparison as draw_model_comparison,
)
from .plots import plot as plot
from .reliability_diagrams import (
    BinZoom as BinZoom, ReliabilityDiagram as ReliabilityDiagram, bin_zoom as bin_zoom,
    cell_words as cell_words, draw_reliability as draw_reliability,
    draw_stars as draw_stars, draw_zoom as draw_zoom,
    reliability_diagram as reliability_diagram,
    worst_cells as worst_cells, worst_cells_words as worst_cells_words,
)
from .row_lists import row_table as row_table, rows_behind as rows_behind
from .simplex_maps import (
    RecalibrationMap as RecalibrationMap, cell_outlines as cell_outlines,
    draw_recalibration as draw_recalibration, merge_classes as merge_classes,
    recalibration_map as recalibration_map, renormalise_classes as renormalise_classes,
)
from .slice_maps import (
    ClassHeat as ClassHeat, class_heat as class_heat, draw_heat as draw_heat,
    draw_centres as draw_centres, draw_slice_gaps as draw_slice_gaps, draw_slice_panels as draw_slice_panels,
)
from .smoothed_curves import draw_smoothed as draw_smoothed
from .style import FEW_ROWS as FEW_ROWS, MAX_NAMED as MAX_NAMED, OKABE_ITO as OKABE_ITO
from .validity_plots import (
    DOTTED as DOTTED, ValidityCells as ValidityCells,
    ValidityCurve as ValidityCurve, canonical_validity as canonical_validity,
    draw_validity as draw_validity,
    validity_cells as validity_cells, validity_curve as validity_curve, validity_words as validity_words,
)
