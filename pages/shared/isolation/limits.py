"""Limits of memory of a session and of all sessions: data, scores, and files in upload fields."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from calib import InputError
from pages.shared.isolation.objects import n_bytes

#: Default limits, as shares of the memory that this server may use. Work takes as much again, and more.
SHARES = {"CALIB_SESSION_MB": 0.2, "CALIB_SERVER_MB": 0.4}
#: Assumed memory if the system does not report it.
ASSUMED_MB = 8_000.0
#: Files that say how much memory a container may use.
CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

#: What sessions hold: uploaded data, the rows read from it, fitted calibrators and added models.
_held: weakref.WeakSet[Any] = weakref.WeakSet()


def limit(variable: str) -> float:
    """Return the megabytes that an environment variable allows, by default a share of the memory."""
    return float(os.environ.get(variable) or SHARES[variable] * memory_mb())


def memory_mb() -> float:
    """Return the megabytes of memory that this process may use: the machine's, or its container's."""
    sizes = []
    for path in map(Path, CONTAINER):
        text = path.read_text(encoding="ascii").strip() if path.is_file() else "max"
        sizes += [int(text)] if text.isdecimal() else []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(sizes) / 1e6 if sizes else ASSUMED_MB


def check(new: Sequence[Any], mine: Sequence[Any], advice: str, files: Sequence[UploadedFile] = ()) -> None:
    """Count `new` together with what this session holds, `mine`, and what all sessions hold.

    Raises
    ------
    InputError
        If that is more than allowed; `new` does not count any longer then, and the `files` are released.
    """
    for added in new:
        _held.add(added)
    size = n_bytes([*new, *mine, *uploads()])
    total = n_bytes([*_held, *uploads_of_all()]) if size / 1e6 > share() else size
    if why := exceeded(size, total):
        for added in new:
            _held.discard(added)
        release(files)
        raise InputError(f"with this, {why}; {advice}, or upload a sample of the rows")


def exceeded(mine: float, all_bytes: float) -> str:
    """Return which limit these bytes of a session, and of all sessions, exceed; "" if none.

    If all hold too much, a session that holds less than its share goes on: others cannot lock it out.
    """
    for variable, whose, size in (
        ("CALIB_SESSION_MB", "what this session holds", mine),
        ("CALIB_SERVER_MB", "what all sessions hold", all_bytes if mine / 1e6 > share() else 0.0),
    ):
        if size / 1e6 > limit(variable):
            return (
                f"{whose} would take {size / 1e6:,.0f} MB of memory, more than the {limit(variable):,.0f} MB "
                f"that this server allows ({variable})"
            )
    return ""


def share() -> float:
    """Return the megabytes of each session if all had equal shares."""
    return limit("CALIB_SERVER_MB") / max(n_sessions(), 1)


def n_sessions() -> int:
    server = runtime.get_instance() if runtime.exists() else None
    return server._session_mgr.num_active_sessions() if type(server) is runtime.Runtime else 1


def uploads() -> list[bytes]:
    """Return the content of the files in this session's upload fields."""
    held = [
        file
        for value in st.session_state.values()
        for file in (value if isinstance(value, list) else [value])
    ]
    return [file.getvalue() for file in held if isinstance(file, UploadedFile)]


def uploads_of_all() -> list[bytes]:
    """Return the content of the files in the upload fields of all sessions."""
    manager: Any = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    if not isinstance(manager, MemoryUploadedFileManager):  # a test's stand-in, of one session
        return uploads()
    return [file.data for files in list(manager.file_storage.values()) for file in list(files.values())]


def release(files: Sequence[UploadedFile]) -> None:
    """Release the memory of uploaded files: their fields are empty when the page runs next."""
    context = get_script_run_ctx()
    manager = None if context is None else context.uploaded_file_mgr
    if isinstance(manager, MemoryUploadedFileManager):
        for file in files:
            manager.remove_file(context.session_id, file.file_id)
