"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

The definitions are from Gupta & Ramdas, "Top-label calibration and multiclass-to-binary
reductions" (ICLR 2022). Nothing here imports Streamlit.

`__init__.pyi` lists the public names with their packages. A package is imported when one of its names is
first asked for, because some of them import scikit-learn, which takes a second.
"""

from calib.base.interrupts import *  # first of all

# isort: split

from typing import Any

import lazy_loader

from calib.base.delegates import DELEGATES

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _plot(result: Any, **options: Any) -> Any:
    from calib.diagrams.plots import plot

    return plot(result, **options)


def _read(source: Any, **options: Any) -> Any:
    from calib.files.readers import read_predictions

    return read_predictions(source, **options)


def _save_monitor(monitor: Any, file: Any) -> None:
    from calib.files.saved.monitors import save_monitor

    save_monitor(monitor, file)


def _load_monitor(file: Any) -> Any:
    from calib.files.saved.monitors import load_monitor

    return load_monitor(file)


DELEGATES.update(plot=_plot, read=_read, save_monitor=_save_monitor, load_monitor=_load_monitor)
