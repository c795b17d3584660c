"""What happens where there is no Chromium."""

from __future__ import annotations

import pytest

from tests.browser.chromium import HOW_TO, find, find_or_skip


@pytest.mark.parametrize(("ci", "end"), [("true", pytest.fail), ("", pytest.skip)])
def test_without_chromium_tests_are_skipped_and_in_ci_fail(ci, end, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "chromium"))
    monkeypatch.setenv("CI", ci)
    assert find() is None
    with pytest.raises(end.Exception) as said:
        find_or_skip()
    assert said.value.msg == HOW_TO
