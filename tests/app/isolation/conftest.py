"""Workers of a test's own."""

from __future__ import annotations

import pytest

from pages.shared.isolation.reader import Reader


@pytest.fixture
def own_reader():
    """A reader of small limits, ended after the test."""
    readers = []

    def make(**limits):
        readers.append(Reader())
        vars(readers[-1]).update(limits)
        return readers[-1]

    yield make
    for each in readers:
        each.close()
