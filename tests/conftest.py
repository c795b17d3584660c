"""What every test may use: reference data, and two profiles, fast and thorough."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import ROOT

settings.register_profile(
    "fast",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked thorough, unless the profile is."""
    if settings.get_current_profile_name() != "thorough":
        left = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the reference data (`$CALIB_SHARED/data`, by default beside the project)."""
    named = os.environ.get("CALIB_SHARED")
    folder = Path(named or ROOT.parent / "shared") / "data"
    if not folder.is_dir():
        reason = f"reference data not found in {folder}: set CALIB_SHARED to the folder that holds data/"
        if named or os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
