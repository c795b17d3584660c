"""The address of a page: parameters that no control can use are dropped before a control reads them."""

from __future__ import annotations

import math

import streamlit as st

#: Characters of the longest value: an edited table of the lesson on six points has 200.
LONGEST = 2_000


def drop_unusable() -> None:
    """Drop what no control of any page accepts, and start the run again without it.

    Controls check range and choice themselves; an infinite number or an empty choice would stop the page.
    """
    unusable = [
        name for name in st.query_params if not all(usable(value) for value in st.query_params.get_all(name))
    ]
    if unusable:
        for name in unusable:
            del st.query_params[name]
        st.rerun()


def usable(value: str) -> bool:
    """Return whether a value of the address is text on one line or a finite number."""
    if not value or len(value) > LONGEST or not value.isprintable():
        return False
    try:
        return math.isfinite(float(value))
    except ValueError:
        return True
