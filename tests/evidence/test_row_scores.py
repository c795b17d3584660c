"""Scores of single rows, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from calib import BinaryPrediction, InputError, TopLabelPrediction, accuracy, brier_score, log_loss
from calib.data.predictions import MultilabelPrediction, labelled
from calib.evidence.row_scores import row_values
from calib.evidence.rows import as_evidence

LOG = -np.log(np.array([0.5, 0.25]))


def test_scores_of_whole_vectors():
    proba, y = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), np.array([0, 1])
    assert row_values(labelled(y, proba), "accuracy").tolist() == [1.0, 0.0]
    # (1/2)^2 + 2 (1/4)^2, and (1/4)^2 + (3/4)^2 + (1/2)^2
    assert row_values(labelled(y, proba), "brier").tolist() == [0.375, 0.875]
    np.testing.assert_allclose(row_values(labelled(y, proba), "log_loss"), LOG)


@pytest.mark.parametrize(
    ("scores", "y"),
    [
        (BinaryPrediction(np.array([0.5, 0.75])), [1, 0]),
        (TopLabelPrediction(np.array([1, 2]), np.array([0.5, 0.75])), [1, 0]),
    ],
)
def test_scores_of_one_event(scores, y):
    assert row_values(labelled(y, scores), "brier").tolist() == [0.25, 0.5625]
    np.testing.assert_allclose(row_values(labelled(y, scores), "log_loss"), LOG)


def test_an_event_is_predicted_by_more_than_one_half():
    scores = BinaryPrediction(np.array([0.5, 0.75, 0.25]))
    assert row_values(labelled([0, 1, 1], scores), "accuracy").tolist() == [1.0, 1.0, 0.0]


def test_scores_of_several_true_classes_are_means_over_classes():
    rows = MultilabelPrediction(np.array([[0.5, 0.75], [0.0, 1.0]]), np.array([[True, False], [False, True]]))
    assert row_values(rows, "brier").tolist() == [(0.25 + 0.5625) / 2, 0.0]
    np.testing.assert_allclose(row_values(rows, "log_loss"), [LOG.mean(), 0.0])
    assert brier_score(rows.labels, rows) == pytest.approx(0.203125)
    assert as_evidence(rows).unseen_error("brier") == 0.0
    with pytest.raises(InputError, match="several classes"):
        accuracy(rows.labels, rows)


def test_means_are_weighted():
    proba, y = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), np.array([0, 1])
    assert brier_score(y, proba, sample_weight=[3, 1]) == pytest.approx((3 * 0.375 + 0.875) / 4)
    assert log_loss(y, proba, sample_weight=[3, 1]) == pytest.approx((3 * LOG[0] + LOG[1]) / 4)


def test_one_more_wrong_row_by_hand():
    """Four rows at 0.75 of two classes: a right row has the Brier score 2 (1/4)^2, a wrong one 2 (3/4)^2.

    If all are right, one more wrong row changes the mean by (1.125 - 0.125) / 4 and the accuracy by -1/4. The
    rows of a cluster are wrong together, so that two clusters change it by twice that.
    """
    proba, cluster = np.tile([0.75, 0.25], (4, 1)), np.array([0, 0, 1, 1])
    y = np.zeros(4, int)
    assert as_evidence(y, proba).unseen_error("brier") == pytest.approx(0.25)
    assert as_evidence(y, proba).unseen_error("accuracy") == pytest.approx(-0.25)
    assert as_evidence(y, proba, None, cluster).unseen_error("brier") == pytest.approx(0.5)
    # With one wrong row the accuracy shows what errors cost. Clusters add 1/2 and -1/2 to the errors, so that
    # their variance is 1/2 against 3/4 of four independent rows: less than no dependence.
    y = np.array([0, 0, 0, 1])
    assert as_evidence(y, proba).unseen_error("accuracy") == 0.0
    change = (1.125 - (3 * 0.125 + 1.125) / 4) / 4
    assert as_evidence(y, proba, None, cluster).unseen_error("brier") == pytest.approx(change)
