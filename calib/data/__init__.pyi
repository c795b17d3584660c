# fmt: off
from .notions import PerClass as PerClass
from .predictions import (
    BasePrediction as BasePrediction, BinaryPrediction as BinaryPrediction,
    ConfidencePrediction as ConfidencePrediction,
    MultilabelPrediction as MultilabelPrediction, Predictions as Predictions,
    TopKPrediction as TopKPrediction, TopLabelPrediction as TopLabelPrediction,
)
