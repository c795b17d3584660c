"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

The definitions are those of Gupta & Ramdas, "Top-label calibration and multiclass-to-binary
reductions" (ICLR 2022). Nothing here imports Streamlit.

What a package puts into its `__all__` is a name of calib too. A package is imported when one of its names
is first asked for, because some of them import scikit-learn, which takes a second.
"""

from calib.interrupts import *  # first of all

# isort: split

from importlib import import_module
from typing import TYPE_CHECKING

from calib.delegates import DELEGATES
from calib.version import __version__ as __version__

if TYPE_CHECKING:
    from calib import datasets as datasets
    from calib import export as export
    from calib import figures as figures
    from calib import scale as scale
    from calib.announcements import *
    from calib.assessment import *
    from calib.binning import *
    from calib.calibrators import *
    from calib.decisions import *
    from calib.diagrams import *
    from calib.doctor import *
    from calib.exceptions import *
    from calib.formats import *
    from calib.guarantees import *
    from calib.metrics import *
    from calib.noise import *
    from calib.persistence import *
    from calib.predictions import *
    from calib.project import *
    from calib.reductions import *
    from calib.report import report as report
    from calib.slicing import *

#: Where a name is looked for, in this order: what is imported fastest comes first.
PACKAGES = (
    *(
        "exceptions",
        "binning",
        "announcements",
        "predictions",
        "reductions",
        "metrics",
        "noise",
        "guarantees",
        "formats",
    ),
    *(
        "doctor",
        "calibrators",
        "persistence",
        "project",
        "diagrams",
        "assessment",
        "decisions",
        "slicing",
        "datasets",
    ),
)

#: Packages whose names are not names of calib too: `calib.figures.reliability`; `calib.report` is called.
APART = ("export", "figures", "report", "scale")


DELEGATES["plot"] = lambda result, **options: import_module("calib.figures").drawn(result, **options)
DELEGATES["read"] = lambda source, **options: import_module("calib.formats").read_predictions(
    source, **options
)


def __getattr__(name: str) -> object:
    if name == "__all__":
        return _names()
    if name in APART:
        return import_module(f"calib.{name}")
    if not name.startswith("__"):
        for package in PACKAGES:
            if name == package or name in _face(package):
                module = import_module(f"calib.{package}")
                return globals().setdefault(name, module if name == package else getattr(module, name))
    raise AttributeError(f"module 'calib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *APART, *_names()})


def _names() -> list[str]:
    return sorted({"__version__", *(name for package in PACKAGES for name in _face(package))})


def _face(package: str) -> list[str]:
    return getattr(import_module(f"calib.{package}"), "__all__", [])
