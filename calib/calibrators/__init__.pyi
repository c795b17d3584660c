# fmt: off
from .binary import (
    BetaCalibration as BetaCalibration, IsotonicCalibration as IsotonicCalibration,
    PlattScaling as PlattScaling,
)
from .calibrated_model import CalibratedModel as CalibratedModel
from .calibrator import Calibrator as Calibrator
from .canonical import (
    CanonicalBinning as CanonicalBinning, GridScheme as GridScheme, ProjectionScheme as ProjectionScheme,
    SierpinskiScheme as SierpinskiScheme,
)
from .ensemble import EnsembleTemperatureScaling as EnsembleTemperatureScaling
from .foreign import ForeignCalibrator as ForeignCalibrator
from .histogram import HistogramBinning as HistogramBinning
from .label_shift import (
    CorrectedCalibrator as CorrectedCalibrator, CorrectedScores as CorrectedScores, LabelShift as LabelShift,
    LabelShiftCorrection as LabelShiftCorrection,
)
from .multiclass import Fallback as Fallback, MulticlassToBinary as MulticlassToBinary
from .scaling import (
    DirichletScaling as DirichletScaling, StructuredMatrixScaling as StructuredMatrixScaling,
    StructuredVectorScaling as StructuredVectorScaling, TemperatureScaling as TemperatureScaling,
    VectorScaling as VectorScaling,
)
from .spline import SplineCalibration as SplineCalibration
from .top_versus_all import TopVersusAllScaling as TopVersusAllScaling
from .venn_abers import VennAbersCalibration as VennAbersCalibration
