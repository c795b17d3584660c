"""The rows behind a mark, against literal loops, and how they are described."""

import numpy as np
import pandas as pd
import pytest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    InputError,
    Predictions,
    TopLabelPrediction,
)
from calib.diagrams import row_table, rows_behind
from calib.evidence.rows import Rows
from tests import oracles

RANDOM = np.random.default_rng(0)
PROBA, Y = oracles.random_predictions(RANDOM, 300, 3, digits=1)  # scores on edges of bins
LABEL, TOP = PROBA.argmax(axis=1), PROBA.max(axis=1)


@pytest.mark.parametrize("n_bins", [5, 10, 15])
@pytest.mark.parametrize("label", [None, 1])
def test_rows_are_those_that_the_cell_counts(n_bins, label):
    rows = Rows(Predictions(PROBA, Y))
    cells = rows.cells("confidence" if label is None else "top-label", n_bins=n_bins)
    for bin_ in [None, *range(n_bins)]:
        lower = -1.0 if bin_ is None else bin_ / n_bins
        upper = 2.0 if bin_ in (None, n_bins - 1) else (bin_ + 1) / n_bins
        expected = [
            row for row in range(300) if lower <= TOP[row] < upper and (label is None or LABEL[row] == label)
        ]
        found = rows_behind(rows, cells=cells, label=label, bin=bin_)
        assert found.tolist() == expected
        counted = np.ones(len(cells.count), bool) if bin_ is None else cells.bin == bin_
        counted &= True if label is None else cells.label == label
        assert len(found) == cells.count[counted].sum()


def test_rows_are_described_the_most_wrong_first():
    names, texts = ("cat", "dog", "emu"), [f"text {row}" for row in range(300)]
    rows = Predictions(PROBA, Y, names, metadata=pd.DataFrame({"text": texts, "true": range(300)}))
    after = TopLabelPrediction(LABEL, TOP / 2)
    table = row_table(Y, rows, np.arange(300), after={"after TS": after})
    wrong = np.abs(TOP - (LABEL == Y))[table["row"]]
    assert (np.diff(wrong) <= 0).all()
    for line in table.head(20).to_dict("records"):
        row = line["row"]
        assert line["predicted"] == names[LABEL[row]]
        assert line["true"] == names[Y[row]]
        assert line["confidence"] == TOP[row]
        assert line["after TS"] == TOP[row] / 2
        assert (line["text"], line["true (file)"]) == (f"text {row}", row)
    assert row_table(Y, rows, [3, 1, 2], by=np.arange(300))["row"].tolist() == [3, 2, 1]


def test_rows_keep_their_weights_as_given():
    weights = np.arange(300) * 10.0  # the first counts nothing, and is not numbered
    table = row_table(Predictions(PROBA, Y, sample_weight=weights))
    assert table["weight"].tolist() == weights[1:][table["row"]].tolist()
    assert "weight" not in row_table(Predictions(PROBA, Y))


def test_rows_of_one_event_are_described():
    score, happened = np.array([0.2, 0.9, 0.6]), np.array([1, 1, 0])
    table = row_table(happened, BinaryPrediction(score, happened, ("no", "yes")), [0, 1, 2])
    assert table["p(yes)"].tolist() == [0.2, 0.6, 0.9]
    assert table["true"].tolist() == ["yes", "no", "yes"]
    table = row_table(happened, ConfidencePrediction(score, happened), [1, 2])
    assert table["correct"].tolist() == [False, True]
    with pytest.raises(InputError, match="rows must be 0 to 2; got 1 to 3"):
        row_table(happened, ConfidencePrediction(score, happened), [1, 3])
