"""Metadata of a calibrator file: class names, and the rows it was fitted on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.base.version import __version__
from calib.calibrators.acceptance import NEVER, AcceptanceRule, ActionRule, LevelRule
from calib.calibrators.multiclass import clusters_of_fit
from calib.data.equal_rows import MAX_KEYS, smallest_keys
from calib.data.predictions import BinaryPrediction
from calib.data.validation import check_count
from calib.files.saved.fields import (
    FLAG,
    Array,
    Listed,
    Maybe,
    Record,
    Scalar,
    Sizes,
    choice,
    free_text,
    mismatch,
    real,
    text,
    whole,
)

#: Longest class name in a file, in characters.
MAX_NAME = 1_000
#: Most fixes a file records.
MAX_FIXES = 100
#: Most levels of a hierarchy of classes.
MAX_LEVELS = 50

_DATE_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def _is_date(date: str) -> bool:
    try:
        return datetime.strptime(date, _DATE_FORMAT).strftime(_DATE_FORMAT) == date
    except ValueError:
        return False


def _matching(pattern: str, expected: str) -> Scalar:
    return text(expected, re.compile(pattern).fullmatch, pattern=f"^{pattern}$")


DATE = text("a UTC time like 2026-01-31T12:00:00Z", _is_date, format="date-time")
VERSION_NUMBER = _matching("[0-9A-Za-z.+!_-]{1,40}", "a version number")

#: A line of text that a user or calib wrote: a name or a fix.
_LINE = free_text(MAX_NAME)


class _Keys:
    """Keys of rows that it was fitted on (`calib.data.equal_rows`), 16 hex digits each."""

    _digits = _matching(f"([0-9a-f]{{16}}){{1,{MAX_KEYS}}}", f"1 to {MAX_KEYS} keys of 16 hex digits")
    schema = _digits.schema

    def encode(self, value: Any) -> str:
        return np.array(value, dtype=">u8").tobytes().hex()

    def decode(self, value: Any, where: str, sizes: Sizes) -> tuple[int, ...]:
        digits = bytes.fromhex(self._digits.decode(value, where, sizes))
        return tuple(np.frombuffer(digits, dtype=">u8").tolist())


ORIGIN = Record(
    {
        "n": Maybe(whole()),
        "fingerprint": Maybe(_matching("[0-9a-f]{32}", "null or 32 hex digits")),
        "date": DATE,
        "calib_version": VERSION_NUMBER,
        "log": Listed(_LINE, 1, MAX_FIXES),
        "choices": whole(2),
        "clusters": whole(),
        "keys": _Keys(),
    },
    {"log": (), "choices": 1, "clusters": None, "keys": ()},
)

NAMES = Maybe(Listed(_LINE, 2, distinct=True))


@dataclass(frozen=True)
class _Thresholds(Array):
    """Thresholds, of which infinity, which accepts nothing, is written as `NEVER`."""

    def encode(self, value: Any) -> Any:
        return super().encode(np.minimum(value, NEVER))

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        thresholds = super().decode(value, where, sizes)
        return np.where(thresholds >= NEVER, np.inf, thresholds)


#: The rules that a calibrator may carry: for accepting predictions, for levels of a hierarchy, or for acting.
RULES: dict[type, Record] = {
    AcceptanceRule: Record(
        {
            "target": choice("accuracy", "reviews", "cost"),
            "value": real(0.0),
            "by": Maybe(choice("class", "group")),
            "alpha": real(0.0, 1.0),
            "of_event": FLAG,
            "thresholds": _Thresholds(("T",), 0.0, NEVER),
            "guarantee": Maybe(_LINE),
            "groups": Listed(_LINE, distinct=True),
            "column": Maybe(_LINE),
        },
        {"groups": (), "column": None},
        AcceptanceRule,
    ),
    LevelRule: Record(
        {
            "levels": Listed(_LINE, 2, MAX_LEVELS, size="H"),
            "tree": Listed(Listed(_LINE, 2), 2, MAX_LEVELS),
            "thresholds": _Thresholds(("H",), 0.0, NEVER),
            "accuracy": real(0.0, 1.0),
            "alpha": real(0.0, 1.0),
            "guarantee": Maybe(_LINE),
        },
        make=LevelRule,
    ),
    ActionRule: Record(
        {"threshold": Maybe(real(0.0, 1.0)), "alpha": real(0.0, 1.0), "guarantee": Maybe(_LINE)},
        make=ActionRule,
    ),
}


@dataclass(frozen=True)
class FittedOn:
    """Where a calibrator came from, as its file says."""

    n_samples: int | None  #: Number of calibration rows; None if they were not given to `save`
    fingerprint: str | None  #: `Predictions.fingerprint` of the calibration rows, 32 hex digits
    date: str  #: When it was first saved, UTC, like "2026-01-31T12:00:00Z"
    calib_version: str  #: Version of calib that saved it
    #: Fixes applied to the calibration rows; if there are none, the file has no log
    log: tuple[str, ...] = ()
    #: Calibrators fitted on these rows from which this one was chosen by their labels, itself included
    choices: int = 1
    #: The smallest hashes of the calibration rows' scores (`calib.data.equal_rows.smallest_keys`)
    keys: tuple[int, ...] = ()
    #: Clusters that the calibration rows belong to; None if they count as independent
    n_clusters: int | None = None


def today() -> str:
    return datetime.now(UTC).strftime(_DATE_FORMAT)


def decode_names(raw: Any, n_classes: int | None) -> tuple[str, ...] | None:
    """Return the checked names; for a binary calibrator (`n_classes` None), None or two names."""
    names: tuple[str, ...] | None = NAMES.decode(raw, "classes", {})
    if n_classes is None and len(names or ()) not in (0, 2):
        raise mismatch("classes", "null, or the two classes of a binary calibrator", raw)
    if n_classes is not None and len(names or ()) != n_classes:
        raise mismatch("classes", f"a list of {n_classes:,} names", raw)
    return names


def decode_origin(raw: Any, n_points: int | None) -> FittedOn:
    """Return the checked origin; `n_points` is the number of rows in the state, if it counts them."""
    origin = ORIGIN.decode(raw, "fitted_on", {})
    if None not in (origin["n"], n_points) and origin["n"] != n_points:
        raise mismatch("fitted_on.n", f"{n_points:,}, the number of rows in state", origin["n"])
    return FittedOn(n_samples=origin.pop("n"), n_clusters=origin.pop("clusters"), **origin)


def encode_names(
    calibrator: BaseEstimator, n_classes: int | None, class_names: Sequence[str] | None, fitted_on: Any
) -> list[str] | None:
    """Return the names to store, or raise `InputError` if there is not one per class."""
    if n_classes is None:
        if isinstance(fitted_on, BinaryPrediction):
            return list(fitted_on.class_names if class_names is None else map(str, class_names))
        former = getattr(calibrator, "class_names_", None)
        return None if former is None else list(former)
    if fitted_on is not None and n_classes != fitted_on.n_classes:
        raise InputError(
            f"the calibrator was fitted on {n_classes} classes, fitted_on has {fitted_on.n_classes}; "
            "pass the rows it was fitted on"
        )
    names = fitted_on.class_names if class_names is None and fitted_on is not None else class_names
    if names is None:
        names = getattr(calibrator, "class_names_", None) or [str(code) for code in range(n_classes)]
    if isinstance(names, str) or len(names) != n_classes:
        raise InputError(f"class_names needs one name per class: got {len(names)} for {n_classes}")
    return [str(name) for name in names]


def encode_origin(
    calibrator: BaseEstimator, fitted_on: Any, log: Sequence[str] = (), choices: int = 1
) -> dict[str, Any]:
    """Return the origin to store: of `fitted_on`, else the origin that the calibrator was loaded with."""
    origin = getattr(calibrator, "fitted_on_", None)
    choices = max(check_count(choices, "choices"), 1 if origin is None else origin.choices)
    if fitted_on is not None or origin is None:
        origin = FittedOn(None, None, today(), __version__)
        if fitted_on is not None:
            keys = tuple(smallest_keys(fitted_on).tolist())
            origin = replace(
                origin, n_samples=fitted_on.n_samples, fingerprint=fitted_on.fingerprint, keys=keys
            )
    lines = tuple(str(line)[:MAX_NAME] for line in (*log, *origin.log))[:MAX_FIXES]
    clusters = clusters_of_fit(calibrator if fitted_on is None else fitted_on)
    known = vars(origin) | {"n": origin.n_samples, "log": lines, "choices": choices, "clusters": clusters}
    return ORIGIN.encode(SimpleNamespace(**known))


def encode_rule(rule: AcceptanceRule | LevelRule | ActionRule) -> dict[str, Any]:
    return next(record for kind, record in RULES.items() if isinstance(rule, kind)).encode(rule)


def decode_rule(raw: Any, n_classes: int | None) -> AcceptanceRule | LevelRule | ActionRule:
    """Return the checked rule of a calibrator of `n_classes` classes (None: of one score)."""
    known = {"threshold": ActionRule, "levels": LevelRule}
    kind = next((known[key] for key in known if isinstance(raw, dict) and key in raw), AcceptanceRule)
    rule: AcceptanceRule | LevelRule | ActionRule = RULES[kind].decode(raw, "rule", {})
    if isinstance(rule, ActionRule):
        if n_classes not in (None, 2):
            raise mismatch("rule", "thresholds of several classes", raw)
    elif isinstance(rule, LevelRule):
        if len(rule.tree) != len(rule.levels) or {*map(len, rule.tree)} != {n_classes or 0}:
            raise mismatch("rule.tree", f"a list of {n_classes or 0:,} names for each level", raw["tree"])
    else:
        of_class = n_classes or (2 if rule.of_event else 1)
        expected = {None: 1, "class": of_class, "group": len(rule.groups)}[rule.by]
        if len(rule.thresholds) != expected:
            raise mismatch("rule.thresholds", f"a list of {expected:,} numbers", raw["thresholds"])
    return rule
