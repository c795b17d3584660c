# fmt: off
from .predictions import (
    BinaryPrediction as BinaryPrediction, ConfidencePrediction as ConfidencePrediction,
    MultilabelPrediction as MultilabelPrediction, Predictions as Predictions,
    TopKPrediction as TopKPrediction, TopLabelPrediction as TopLabelPrediction,
)
