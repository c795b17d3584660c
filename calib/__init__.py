"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

==========  ==========================================================================================
task        names
==========  ==========================================================================================
read        read, read_predictions, read_pair, read_models, check, examine (Report)
hold        Predictions, TopLabelPrediction, TopKPrediction, BinaryPrediction, ConfidencePrediction,
            MultilabelPrediction, reduce_to_binary, BinaryProblems, bin_statistics
measure     metrics, ece, mce, smooth_ece, debiased_l2, accuracy, auc, brier_score, log_loss, sharpness,
            decomposition, corp_curve, loess_curve, fold_errors
event       risk, observed_expected, calibration_in_the_large, decision_curve,
            calibration_by_centre
assess      conclude, noise_floor, verdict, error_interval, bootstrap_interval, calibration_test,
            calibration_slope, calibration_band, effective_sample, slices, over_time, Monitor
draw        reliability_diagram, bin_zoom, class_table, class_diagram, ece_sweep, validity_curve,
            recalibration_map, ReliabilityDisplay
calibrate   recommend, choose_points_per_bin, calibrated_scores, cross_calibrate, CalibratedModel,
            MulticlassToBinary with HistogramBinning, IsotonicCalibration, PlattScaling,
            BetaCalibration, SplineCalibration or VennAbersCalibration; TemperatureScaling,
            EnsembleTemperatureScaling, VectorScaling, DirichletScaling, StructuredVectorScaling,
            StructuredMatrixScaling, TopVersusAllScaling; CanonicalBinning with SierpinskiScheme,
            GridScheme or ProjectionScheme; LabelShiftCorrection, ForeignCalibrator
compare     compare_models, sweep_models, best_set, paired_difference, paired_interval
decide      decide, gate, coarsen, judge, risk_coverage, guarantee, guarantee_card
save        report, lesson, save, load, save_model, load_model, Project
more        datasets, diagrams, export, scale, testing
==========  ==========================================================================================

All are described below; ``help(calib.ece)`` describes one of them. A result has its numbers as attributes and
in ``frame()``, most say them in ``sentence`` and draw them by ``plot()``. Arguments that cannot be used raise
InputError, files CalibratorFileError; the message says what was received and what to do. LongFitWarning and
TooManyParametersWarning precede a fit.

Definitions are from Gupta & Ramdas, "Top-label calibration and multiclass-to-binary reductions" (ICLR 2022).
A package is imported when one of its names is first asked for: scikit-learn takes a second.
"""

from calib.base.interrupts import *  # first of all

# isort: split

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import lazy_loader

from calib.base.results import Drawn

if TYPE_CHECKING:
    from calib.base.results import MatplotlibFigure, PlotlyFigure

_named, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

#: Names that `calib` itself had before 0.2, by the package that has them now; types of results besides.
_MOVED = {
    "stats": "calibration_tests canonical_ece canonical_noise_floor consistency_band problem_floors",
    "answers": "cut_column multinomial_bound points_needed",
    "diagrams": "canonical_validity cell_outlines class_binning class_heat confusions merge_classes "
    "renormalise_classes row_table rows_behind worst_cells",
    "calibrators": "CorrectedCalibrator Fallback LabelShift",
    "scale": "summarize",
    "evidence": "",
    "files.findings": "",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        for package, moved in _MOVED.items():
            asked = name in moved.split() or name[0].isupper()
            if asked and name in (now := import_module(f"calib.{package}")).__all__:
                warnings.warn(f"use calib.{package}.{name}", FutureWarning, stacklevel=2)
                return getattr(now, name)
    return _named(name)


def _plot(result: Drawn, **options: Any) -> "PlotlyFigure | MatplotlibFigure":
    from calib.diagrams.plots import plot

    return plot(result, **options)


Drawn._plotter = _plot
