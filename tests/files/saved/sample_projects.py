"""Projects with one kind of predictions each, which project files of every version must bring back."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    HistogramBinning,
    MulticlassToBinary,
    MultilabelPrediction,
    Predictions,
    Project,
    TemperatureScaling,
    TopKPrediction,
    TopLabelPrediction,
)
from calib.files.readers.roles import Roles
from calib.files.saved.project import FurtherModel

#: Rows of every sample.
N = 24
NAMES = ("cat", "dög", "=1+1")
LABELS = np.arange(N) % 3
#: Probabilities that float64 and float32 hold exactly, and that no two rows share.
TOP = (64 + np.arange(N)) / 128
PROBA = np.stack([TOP, (1.0 - TOP) * 0.75, (1.0 - TOP) * 0.25], axis=1)
#: The file that the rows of "vectors" were uploaded as.
CSV = b"cat,dog,label,n\n0.25,0.75,dog,1\n0.5,0.5,,2\n1.0,0.0,cat,3\n"
TABLE = pd.DataFrame(
    {
        "patient": [f"p{at // 2}" for at in range(N)],
        "fold": np.arange(N) % 4,
        "age": 20.0 + np.arange(N),
        "site": pd.Series(["a", "b", "c"] * (N // 3), dtype=object),
        "night": np.arange(N) % 2 == 0,
        "when": np.datetime64("2026-01-31", "s") + np.arange(N).astype("m8[s]"),
        "mixed": pd.Series([1, 1.0, True, np.nan, None, "x"] * (N // 6), dtype=object),
    }
)
FURTHER = {
    "metadata": TABLE,
    "columns": {"id": "patient", "fold": "fold"},
    "sample_weight": 1.0 + np.arange(N) % 5,
    "cluster": np.arange(N) // 2,
    "coverage": 0.75,
}


def _projects() -> dict[str, Project]:
    vectors = Predictions(PROBA, LABELS, NAMES, **FURTHER)
    calibration = Predictions(PROBA[::-1].astype(np.float32), LABELS, NAMES)
    calibrators = {
        # version 1 cut points_per_bin=4 halfway between rows, as n_bins does
        "TL-HB": MulticlassToBinary(HistogramBinning(n_bins=6)).fit(calibration.proba, calibration.labels),
        "TS": TemperatureScaling().fit(calibration.proba, calibration.labels),
    }
    votes = Predictions(PROBA, None, NAMES).with_votes(np.eye(3)[LABELS] * 2 + 1)
    return {
        "vectors": Project(
            "my file.csv",
            vectors,
            calibration,
            description="Uploaded: 50 % of the rows",
            truth=TOP[::-1],
            split=0.5,
            roles=Roles(("p(cat)", "p(dog)", "p(hen)"), NAMES, ("y",), id="id", abstentions=("IDK",)),
            fixes=("evaluation rows: percent: row sums 100 -> 1",),
            calibrators=calibrators,
            choices={"TS": 9},
            model="one",
            models={"other": FurtherModel(calibration, calibration, calibrators, {"TS": 3})},
            settings={"Reliability": {"bins": "20", "band": "true"}},
            notes="First look.\nThe *cats* are off.",
        ),
        "top-label": Project(
            "rows", TopLabelPrediction(LABELS, np.float32(TOP), LABELS[::-1], NAMES, **FURTHER)
        ),
        "confidence": Project("rows", ConfidencePrediction(TOP, LABELS == 0, **FURTHER)),
        "binary": Project("rows", BinaryPrediction(TOP, LABELS % 2, ("no", "yes"), strategy="discrete")),
        "top-k": Project(
            "rows", TopKPrediction(np.tile([2, 0], (N, 1)), PROBA[:, :2], LABELS, NAMES, **FURTHER)
        ),
        "multilabel": Project("rows", MultilabelPrediction(PROBA, np.eye(3)[LABELS] > 0, NAMES, **FURTHER)),
        "votes": Project("rows", votes, simulated=True),
    }


#: By the kind of their predictions, or what else they are about.
PROJECTS = _projects()
