# fmt: off
from .announcements import (
    BinaryPrediction as BinaryPrediction, ConfidencePrediction as ConfidencePrediction,
    MultilabelPrediction as MultilabelPrediction, TopKPrediction as TopKPrediction,
    TopLabelPrediction as TopLabelPrediction,
)
from .predictions import Predictions as Predictions
