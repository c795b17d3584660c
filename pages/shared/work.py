"""Long computations of a page: elsewhere, with the place in the queue, progress, and a button to cancel."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np
import streamlit as st

from pages.shared.isolation.computing import LONG, Job
from pages.shared.kept import TooLong, is_ahead, tell

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
#: Bytes at the start of each array by which a job is told from others.
LOOKED_AT = 1 << 20


def compute(
    words: str,
    function: Callable[Parameters, Result],
    *arguments: Parameters.args,
    **options: Parameters.kwargs,
) -> Result:
    """Call a function of the library: here if that is soon done, else in a worker, and show `words`.

    Leaving the page or pressing Cancel ends the job; after Cancel, the page stops here and offers it again.
    """
    job = Job(function, arguments, options)
    if job.is_short:
        return job.do_here()
    tell(0.0, words)
    if is_ahead():
        if job.seconds > LONG:
            raise TooLong
        return job.do_elsewhere(lambda share, step: tell(share, _said(words, step)))
    number = _number(job)
    if st.session_state.get("cancelled") == number:
        st.info(f"Cancelled: {words}.")
        st.button("Compute it", key=f"again-{number}", on_click=_cancel, args=(None,))
        st.stop()
    place = st.empty()
    with place.container():
        bar = st.progress(0.0, words)
        st.button("Cancel", key=f"cancel-{number}", on_click=_cancel, args=(number,), icon=":material/close:")

    shown = (0.0, words)

    def show(share: float, step: str) -> None:
        nonlocal shown
        if (now := (share, _said(words, step))) == shown:
            st.session_state.get("cancelled")  # here, too, Streamlit ends a run that nobody waits for
            return
        shown = now
        bar.progress(*now)
        tell(*now)

    try:
        return job.do_elsewhere(show)
    finally:
        place.empty()


def _said(words: str, step: str) -> str:
    return f"{words}: {step}" if step else words


def asked() -> None:
    """Compute also what was cancelled: the user has pressed the button for it again."""
    st.session_state.pop("cancelled", None)


def _cancel(number: int | None) -> None:
    st.session_state["cancelled"] = number


def _number(job: Job) -> int:
    """Return a number that this job has in every run of the page."""
    head, arrays = job.message
    number = zlib.crc32(repr(head).encode())
    for array in arrays:
        first = array[: LOOKED_AT // max(array[:1].nbytes, 1) + 1]
        number = zlib.crc32(np.ascontiguousarray(first), number)
    return number
