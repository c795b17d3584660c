"""Functions of later packages that earlier packages call; `calib/__init__.py` fills the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Functions by the method that calls them.
DELEGATES: dict[str, Callable[..., Any]] = {}
