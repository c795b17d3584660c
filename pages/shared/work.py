"""Long computations of a page in workers, with place in the queue, progress and a cancel button."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.shared.isolation.computing import Job
from pages.shared.isolation.process import JobEnded
from pages.shared.kept import LOOK, begun, forget, in_background, is_kept, leave_if_unawaited, tell

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
#: Bytes at the start of each array by which a job is identified.
LOOKED_AT = 1 << 20


def compute(
    words: str,
    function: Callable[Parameters, Result],
    *arguments: Parameters.args,
    **options: Parameters.kwargs,
) -> Result:
    """Call a function of the library: here if it is short, else in a worker, and show `words`.

    Leaving the page or pressing Cancel ends the job; after Cancel, the page stops here and offers it again.
    For results that the page can do without, use `when_there`.
    """
    job = Job(function, arguments, options)
    if job.is_short:
        return job.do_here()
    tell(0.0, words)
    if in_background():

        def note(share: float, step: str) -> None:
            leave_if_unawaited()
            tell(share, _with_step(words, step))

        return job.do_elsewhere(note)
    number = _number(job)
    if _is_cancelled(number, words):
        st.stop()
    place = st.empty()
    with place.container():
        bar = _show_bar(number, 0.0, words)

    shown = (0.0, words)

    def show(share: float, step: str) -> None:
        nonlocal shown
        if (now := (share, _with_step(words, step))) == shown:
            st.session_state.get("cancelled")  # here, too, Streamlit ends a run that nobody waits for
            return
        shown = now
        bar.progress(*now)
        tell(*now)

    try:
        return job.do_elsewhere(show)
    finally:
        place.empty()


def when_there(words: str, function: Any, *arguments: Any) -> Any:
    """Return the result of a kept function if it is ready; else begin it, and return None.

    The page goes on without it. `words` and the progress are shown here, with a button to cancel, and the
    page runs again when the result is ready. Errors of the function are raised here.
    """
    if is_kept(function, *arguments):
        return function(*arguments)
    number = zlib.crc32(repr(function.key_of(arguments, {})).encode())
    if _is_cancelled(number, words):
        forget(function, *arguments)
        return None
    _follow(number, words, function, *arguments)
    return None


def offer_again(error: JobEnded, function: Any, *arguments: Any) -> None:
    """Say why a computation of `when_there` ended, with a button that begins it again."""
    st.warning(f"{str(error)[0].upper()}{str(error)[1:]}")
    st.button("Try again", key="try-again", on_click=forget, args=(function, *arguments))


@st.fragment(run_every=LOOK)
def _follow(number: int, words: str, function: Any, *arguments: Any) -> None:
    """Show the progress of a result, and run the page again when it is ready."""
    if st.session_state.get("cancelled") == number or (progress := begun(function, *arguments)) is None:
        st.rerun()
    _show_bar(number, progress[0], progress[1] or words)


def _show_bar(number: int, share: float, words: str) -> DeltaGenerator:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bar = st.progress(share, words)
        st.button("Cancel", key=f"cancel-{number}", on_click=_cancel, args=(number,), icon=":material/close:")
    return bar


def _is_cancelled(number: int, words: str) -> bool:
    """Whether the user has cancelled a job; then offer it again."""
    if st.session_state.get("cancelled") != number:
        return False
    st.info(f"Cancelled: {words}.")
    st.button("Compute it", key=f"again-{number}", on_click=_cancel, args=(None,))
    return True


def _with_step(words: str, step: str) -> str:
    return f"{words}: {step}" if step else words


def _cancel(number: int | None) -> None:
    st.session_state["cancelled"] = number


def _number(job: Job) -> int:
    """Return the number of this job, the same in every run of the page."""
    head, arrays = job.message
    number = zlib.crc32(repr(head).encode())
    for array in arrays:
        first = array[: LOOKED_AT // max(array[:1].nbytes, 1) + 1]
        number = zlib.crc32(np.ascontiguousarray(first), number)
    return number
