"""Reach of the reliability diagram."""

from __future__ import annotations

import numpy as np
import pytest

from calib import diagrams, reliability_diagram
from tests.figures import accepted


def test_the_axis_reaches_down_to_marks_below_zero():
    # All say 0.3. Three rows predicted 0 are wrong (gap 0.3), one predicted 1 is right (gap 0.7): pooled 0.25
    # is less than 0.3, so the plus is at 0.3 - (0.75 x 0.3 + 0.25 x 0.7) = -0.1.
    first, second = [0.3, 0.25, 0.25, 0.2], [0.25, 0.3, 0.25, 0.2]
    diagram = reliability_diagram([2, 2, 2, 1], np.array([first, first, first, second]), n_bins=10)
    assert diagram.top_label.tolist() == pytest.approx([-0.1])
    assert accepted(diagrams.draw_reliability(diagram)).layout.yaxis.range == pytest.approx((-0.12, 1.04))
