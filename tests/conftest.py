"""What every test may use: reference data, two hypothesis profiles; and when coverage is measured."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage
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

#: Of a test: whether coverage is measured while it runs.
MEASURED = pytest.StashKey[bool]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Measure coverage in the first case of each test and page: in every case it doubles the time."""
    measured = set()
    for item in items:
        case = getattr(item, "callspec", None)
        first = (item.nodeid.split("[")[0], case and case.params.get("page"))
        repeats = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        item.stash[MEASURED] = first not in measured and not repeats
        measured.add(first)
    if (coverage := coverage_of(config)) is not None:
        coverage.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    coverage = coverage_of(item.config) if item.stash[MEASURED] else None
    if coverage is None:
        return (yield)
    coverage.start()
    try:
        return (yield)
    finally:
        coverage.stop()


def coverage_of(config: pytest.Config) -> Coverage | None:
    """Return what measures coverage in this process, None without `--cov`."""
    plugin = config.pluginmanager.getplugin("_cov")
    return plugin and plugin.cov_controller and plugin.cov_controller.cov


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
