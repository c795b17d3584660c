"""Functions that methods of lower packages call and upper packages hold: the face of the library names them.

A module imports none that stands above it. What `result.plot()` and `Predictions.read` need from above, they
find here; `calib/__init__.py` runs before any module of calib and fills the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Functions by the method that calls them.
DELEGATES: dict[str, Callable[..., Any]] = {}
