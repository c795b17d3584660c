"""Runs of a page or of a part of it: errors are shown, and settings and data are remembered.

A control in a part runs that part alone: the server sends less, and the browser draws less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from calib import InputError
from pages.shared.resuming import remember
from pages.shared.session import LOG, name_data_in_address, remember_address
from pages.shared.widgets import escaped

Arguments = ParamSpec("Arguments")


def part(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Make a function a part of its page: controls in it run it again, with the same arguments.

    It draws all that changes with them. A part inside a part runs alone, too.
    """

    @wraps(function)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        with keeping_session():
            function(*arguments, **options)

    return st.fragment(run)


def log_error(error: Exception) -> None:
    """Log an error of a page or a callback; Streamlit shows it."""
    LOG.error("error type=%s", type(error).__name__)


@contextmanager
def keeping_session() -> Iterator[None]:
    """Show an unforeseen error; remember the settings and the content of the session."""
    try:
        yield
    except InputError as error:  # a computation that ended its process, for example
        log_error(error)
        st.error(f"Not shown: {escaped(error)}")
    finally:
        name_data_in_address()
        remember_address(st.session_state["page-shown"])
        remember()
