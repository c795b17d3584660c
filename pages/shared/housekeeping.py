"""Housekeeping: a timer frees the memory of ended sessions and idle workers."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from typing import Any

import pyarrow as pa
import streamlit as st
from streamlit import runtime

from pages.shared.door import forget_ended
from pages.shared.isolation import computing, reader

#: Seconds between two rounds.
INTERVAL = 10.0
#: Seconds after which a worker process with nothing to do is ended.
REST = 60.0


@st.cache_resource(show_spinner=False)
def keep_house() -> threading.Thread | None:
    """Start the timer, once per server; None if no server runs, as in tests of pages."""
    server = runtime.get_instance() if runtime.exists() else None
    if type(server) is not runtime.Runtime:  # a test's stand-in is an instance of it too
        return None
    thread = threading.Thread(target=_rounds, args=(server,), daemon=True, name="housekeeping")
    thread.start()
    return thread


def _rounds(server: Any) -> None:
    loop = server._get_async_objs().eventloop
    searches = 0
    while True:
        time.sleep(INTERVAL)
        if gc.get_stats()[0]["collections"] != searches:  # pages ran: they leave cycles of objects
            gc.collect()
            searches = gc.get_stats()[0]["collections"]
        swept = threading.Event()
        try:
            loop.call_soon_threadsafe(sweep, server._session_mgr._session_storage, server.media_file_mgr)
            loop.call_soon_threadsafe(forget_ended)
            loop.call_soon_threadsafe(swept.set)
        except RuntimeError:  # the server has stopped
            return
        if server._session_mgr.num_active_sessions():
            computing.pool.start()  # or keep one that rests: its imports take seconds
        for pool in (computing.pool, computing.long_pool, reader.pool):
            pool.rest(REST)
        swept.wait(INTERVAL)
        give_back()


def sweep(storage: Any, media: Any = None) -> None:
    """End sessions that have been disconnected for too long; on the thread of the server's loop.

    Streamlit drops them when the next session connects or leaves, and lets the last of them live on if
    something refers to it. It has no public way to do it earlier. `media` holds the files to download.
    """
    ended = [info for _, info in storage._cache.expire()]
    for info in ended:
        _end(info.session, media)
    if ended:
        del ended, info
        gc.collect()  # a session and its state refer to each other


def _end(session: Any, media: Any) -> None:
    """End a session; Streamlit would keep its downloads until another session ends."""
    offered = set() if media is None else {*media._files_by_session_and_coord.get(session.id, {}).values()}
    session.shutdown()
    # The server's loop refers to the last session. Remove its data, which fragments refer to, too.
    session._session_state = type(session.session_state)()
    session._fragment_storage = type(session._fragment_storage)()
    if offered:
        with media._lock:
            for file in offered & media._get_inactive_file_ids():
                media._delete_file(file)


def give_back() -> None:
    """Return freed memory to the system, if the allocators can."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # GNU C library only
        if trim is not None:
            trim(0)
