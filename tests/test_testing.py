"""`calib.testing`: assertions that fail in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from calib import InputError, testing
from tests.answers.test_gate import perfect


def test_limits_and_noise():
    rows = perfect(2_000)
    testing.assert_calibrated(rows.labels, rows)
    testing.assert_calibrated(rows.labels, rows, tl_ece=0.1, accuracy=0.5, strict=True)
    with pytest.raises(AssertionError, match="Accuracy at least 0.99 is broken"):
        testing.assert_calibrated(rows.labels, rows, accuracy=0.99)
    with pytest.raises(AssertionError, match="above noise"):
        testing.assert_calibrated(rows.labels, np.square(rows.proba) / np.square(rows.proba).sum(1)[:, None])
    with pytest.raises(InputError, match="not a metric"):
        testing.assert_calibrated(rows.labels, rows, error=0.1)
