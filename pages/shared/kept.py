"""Results kept in memory, up to a number of bytes; the least recently used are dropped first.

Streamlit's own caches count entries, and hash a sample of a large array. Here whatever contains rows goes by
its digest. Results with rows belong to a session and end with it; shared results hold summaries only.
"""

from __future__ import annotations

import inspect
import logging
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from calib.data.matrices import digest_of
from calib.data.predictions import BasePrediction
from calib.evidence.rows import Rows
from pages.shared.isolation.objects import n_bytes
from pages.shared.isolation.process import session_of_thread

Function = TypeVar("Function", bound=Callable[..., Any])

#: Megabytes of results that all sessions together keep; dropped results are computed again when needed.
MOST_MB = float(os.environ.get("CALIB_RESULTS_MB", "1024"))
#: Seconds between two questions for the progress of another thread: by a run, and by a page.
PAUSE, LOOK = 0.2, 2.0
LOG = logging.getLogger("calib.app")


class Kept:
    """Results of one owner, the most recently used at the end."""

    def __init__(self) -> None:
        self.results: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self.size, self.used = 0, 0.0
        with _lock:
            _all.add(self)

    def get(self, key: Any) -> Any:
        """Return a result; raise KeyError if it is not kept."""
        with _lock:
            self.results.move_to_end(key)
            self.used = time.monotonic()
            result, size = self.results[key]
            if isinstance(result, Rows):  # it keeps what it sorts
                self.results[key] = result, n_bytes(result)
                self.size += self.results[key][1] - size
            return result

    def put(self, key: Any, result: Any) -> None:
        """Keep a result, and drop others if all of them take too much memory."""
        size = n_bytes(result)
        with _lock:
            self.drop(key)
            self.results[key] = result, size
            self.size += size
            self.used = time.monotonic()
            while sum(kept.size for kept in _all) > MOST_MB * 1e6:
                oldest = min((kept for kept in _all if kept.results), key=lambda kept: kept.used)
                oldest.drop(next(iter(oldest.results)))

    def drop(self, key: Any) -> None:
        self.size -= self.results.pop(key, (None, 0))[1]


_lock = threading.RLock()
_all: weakref.WeakSet[Kept] = weakref.WeakSet()
_shared_results = Kept()
#: Prefix of the keys of failed computations of a session.
_FAILED = "failed"


class _Turn:
    """A computation: the holder of the lock computes for all who wait, and reports the progress."""

    def __init__(self) -> None:
        self.lock, self.progress = threading.Lock(), (0.0, "")
        #: By session, when its page last looked.
        self.looks: dict[str, float] = {}

    def is_awaited(self) -> bool:
        """Whether a page has looked recently; browsers slow down pages that nobody sees."""
        return max(self.looks.values(), default=0.0) > time.monotonic() - 8 * LOOK


#: Results that are being computed.
_turns: dict[Any, _Turn] = {}


class Left(Exception):
    """No page waits any more for a computation in the background."""


class _Thread(threading.local):
    """The computations of the current thread; in the background, its session's results and who waits."""

    def __init__(self) -> None:
        self.turns: list[_Turn] = []
        self.mine: Kept | None = None
        self.awaited: _Turn | None = None


_thread = _Thread()


def kept(*, rows: bool = False) -> Callable[[Function], Function]:
    """Keep the results of a function by its arguments; arguments whose names begin with _ are ignored.

    `rows` says that results hold rows: then they belong to the session.
    """

    def decorate(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)

        def key_of(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
            named = {**dict(zip(names, arguments, strict=False)), **options}
            return (
                f"{function.__module__}.{function.__qualname__}",
                *((name, digest(value)) for name, value in named.items() if not name.startswith("_")),
            )

        @wraps(function)
        def called(*arguments: Any, **options: Any) -> Any:
            owner, key = _place(called, arguments, options)
            try:
                return owner.get(key)
            except KeyError:
                if (_FAILED, key) in _session_results().results:
                    raise _session_results().get((_FAILED, key)) from None
                return _once(owner, key, lambda: function(*arguments, **options))

        called.rows = rows  # type: ignore[attr-defined]
        called.key_of = key_of  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return decorate


def _place(function: Any, arguments: tuple[Any, ...], options: Mapping[str, Any] = {}) -> tuple[Kept, Any]:
    """Return who owns the result of a kept function, and its key."""
    return _session_results() if function.rows else _shared_results, function.key_of(arguments, options)


def begun(function: Any, *arguments: Any) -> tuple[float, str] | None:
    """Return the progress of the result of a kept function, after starting it if due; None if it is ready.

    The page runs on, and looks again every `LOOK` seconds. A computation is ended if no page looks at it any
    more. An error of the function is raised again at each later call of this session.
    """
    if is_kept(function, *arguments):
        return None
    mine, place, new, session = _session_results(), _place(function, arguments), _Turn(), session_of_thread()
    turn = _turns.setdefault(place, new)
    turn.looks[session] = time.monotonic()
    if turn is new:
        given = (mine, turn, place, function, arguments)
        threading.Thread(target=_await, args=given, daemon=True, name=session).start()
    return turn.progress


def forget(function: Any, *arguments: Any) -> None:
    """Stop waiting for a computation of `begun`, or forget that it failed.

    It ends unless another session waits for it.
    """
    owner, key = _place(function, arguments)
    _session_results().drop((_FAILED, key))
    if (turn := _turns.get((owner, key))) is not None:
        turn.looks.pop(session_of_thread(), None)


def _await(mine: Kept, turn: _Turn, place: Any, function: Any, arguments: tuple[Any, ...]) -> None:
    _thread.mine, _thread.awaited = mine, turn
    try:
        function(*arguments)
    except Left:
        LOG.info("ended, since nobody waits for it function=%s", function.__name__)
    except Exception as error:
        mine.put((_FAILED, place[1]), error)
    finally:
        if _turns.get(place) is turn:
            del _turns[place]


def is_kept(function: Any, *arguments: Any) -> bool:
    """Whether a result, of the session or of all sessions, is ready or has failed."""
    owner, key = _place(function, arguments)
    return key in owner.results or (_FAILED, key) in _session_results().results


def in_background() -> bool:
    """Whether this thread computes in the background and can show nothing."""
    return _thread.mine is not None


def leave_if_unawaited() -> None:
    """Raise `Left` if this thread computes in the background and no page waits for it any more."""
    if _thread.awaited is not None and not _thread.awaited.is_awaited():
        raise Left


def tell(share: float, words: str) -> None:
    """Report the progress of this thread's computation to all who wait for it."""
    for turn in _thread.turns:
        turn.progress = share, words


def _session_results() -> Kept:
    if _thread.mine is not None:
        return _thread.mine
    if "kept" not in st.session_state:
        st.session_state["kept"] = Kept()
    mine: Kept = st.session_state["kept"]
    return mine


def _once(owner: Kept, key: Any, compute: Callable[[], Any]) -> Any:
    """Compute a result, unless another thread computes it: then show its progress."""
    turn = _turns.setdefault((owner, key), _Turn())
    if not turn.lock.acquire(timeout=-1 if in_background() else PAUSE):
        place = st.empty()
        while not turn.lock.acquire(timeout=PAUSE):
            place.progress(*turn.progress)  # here Streamlit ends a run that nobody waits for
        place.empty()
    _thread.turns.append(turn)
    try:
        try:
            return owner.get(key)
        except KeyError:
            result = compute()
            owner.put(key, result)
            return result
    finally:
        _thread.turns.pop()
        _turns.pop((owner, key), None)
        turn.lock.release()


def digest(value: Any) -> Any:
    """Return a small hashable key that identifies an argument."""
    if isinstance(value, (BasePrediction, Rows)):
        rows = value.predictions if isinstance(value, Rows) else value
        return f"{rows.fingerprint}/{rows.strategy!r}"
    if isinstance(value, np.ndarray):
        return digest_of((value.shape, str(value.dtype)), [value])
    if hasattr(value, "digest"):
        return value.digest
    if isinstance(value, Mapping):
        return tuple((name, digest(item)) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(digest, value))
    if is_dataclass(value):
        return type(value).__name__, *(digest(getattr(value, field.name)) for field in fields(value))
    if hasattr(value, "get_params"):
        return repr((type(value).__name__, value.get_params()))
    hash(value)
    return value
