"""What plotly thinks of a figure: pages and reports hand plotly.js properties that nothing checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.style import Figure

NUMBERS = ("x", "y", "z", "array", "arrayminus")


def accepted(figure: Figure | go.Figure) -> go.Figure:
    """Return plotly's figure, numbers in arrays, if it accepts every property."""
    return go.Figure(_in_arrays(figure) if isinstance(figure, dict) else figure)


def _in_arrays(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_arrays(part) for part in value]
    if not isinstance(value, dict):
        return value
    lists = {name: value[name] for name in NUMBERS if isinstance(value.get(name), list)}
    numbers = {name: np.array(part, dtype=float) for name, part in lists.items() if _holds_numbers(part)}
    return {name: numbers[name] if name in numbers else _in_arrays(part) for name, part in value.items()}


def _holds_numbers(value: Any) -> bool:
    if not isinstance(value, list):
        return value is None or isinstance(value, (int, float))
    return all(map(_holds_numbers, value))
