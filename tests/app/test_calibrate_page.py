"""Text of the Calibrate page: conclusions from numbers that allow them."""

from __future__ import annotations

import re

from tests.app.running import open_page, press, words


def test_a_proposed_k_is_compared_by_debiased_errors_and_guaranteed_as_a_choice():
    app = open_page("pages/repair/calibrate.py", example="digits")
    press(app, "Fit")
    text = words(app)
    assert "TL-ECE before 0." in text
    assert text.count("a perfect model of this size shows") == 2
    assert re.search(r"The l2 TL-ECE of .*(lower|higher|not distinguishable).*95 % interval", text)
    tried = re.search("divides \u03b1 among these (\\d+) numbers of points", text).group(1)
    assert int(tried) > 1
    assert f"chosen by the same labels among {tried} calibrators" in text
