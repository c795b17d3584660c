"""Files made for tests."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any


def bytes_of(write: Callable[..., Any], *args: Any, **options: Any) -> bytes:
    """Content of the file that `write(file, ...)` makes."""
    buffer = io.BytesIO()
    write(buffer, *args, **options)
    return buffer.getvalue()
