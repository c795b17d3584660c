"""What every test may use: the reference data when it is there, and two hypothesis profiles."""

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


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the reference data (`$CALIB_SHARED/data`, by default beside the project)."""
    folder = Path(os.environ.get("CALIB_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        reason = f"reference data not found in {folder}: set CALIB_SHARED to the folder that holds data/"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
