"""The one `save` and the one `load`: files of calibrators and of monitors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, BinaryIO

from calib.base.exceptions import InputError
from calib.base.outputs import write_whole
from calib.calibrators.calibrator import Calibrator
from calib.files.saved.document import content_of, dumps, loads
from calib.files.saved.monitors import is_monitor, monitor_bytes, monitor_of
from calib.stats.monitor import Monitor


def save(
    item: Any,
    file: str | os.PathLike[str] | BinaryIO,
    *,
    class_names: Sequence[str] | None = None,
    fitted_on: Any = None,
    log: Sequence[str] = (),
    choices: int = 1,
) -> None:
    """Write a fitted calibrator or a monitor to a JSON file that `load` reads back to the last bit.

    Parameters
    ----------
    item : fitted calibrator, or Monitor
        `MulticlassToBinary`, a scaling, `CanonicalBinning` or a binary calibrator; with a rule of
        `calib.decide` or `calib.coarsen` in it if it comes from ``rule.carried_by(calibrator)``. Options are
        for these: the file of a monitor holds its whole state.
    file : path or binary file object
    class_names : sequence of str, optional
        L names in column order. Default: from `fitted_on`, else the calibrator's, else "0", "1", ...
    fitted_on : predictions of any kind, optional
        The calibration rows, recorded by number, fingerprint and hashes of some scores.
    log : sequence of str
        Fixes applied to these rows (`Examination.log`), one line each.
    choices : int
        Calibrators fitted on these rows from which this one was chosen by their labels, itself included;
        `guarantee_card` divides alpha by it.

    Raises
    ------
    CalibratorFileError
        If a file cannot hold a calibrator of this type or size.
    InputError
        If options of a calibrator are given for a monitor.
    OSError
        If a path cannot be written; an earlier file is unchanged.

    Notes
    -----
    A seed that is a generator is written as null.
    """
    if isinstance(item, Monitor):
        asked = {"class_names": class_names, "fitted_on": fitted_on, "log": log or None}
        given = [name for name, value in asked.items() if value is not None] + ["choices"] * (choices != 1)
        if given:
            raise InputError(f"the file of a Monitor takes no options; leave out {', '.join(given)}")
        data = monitor_bytes(item)
    else:
        data = dumps(item, class_names=class_names, fitted_on=fitted_on, log=log, choices=choices)
    write_whole(file, data)


def load(file: str | os.PathLike[str] | BinaryIO) -> Calibrator | Monitor:
    """Read the file of a calibrator or of a monitor, check all of it, and only then build the object.

    Parameters
    ----------
    file : path or binary file object
        A file written by `save`, or the state of ``calib watch``.

    Returns
    -------
    calibrator, or Monitor
        A calibrator predicts bit for bit what the saved calibrator did. It carries `class_names_` (tuple of
        str, or None for a binary calibrator), `fitted_on_` (`FittedOn`), and `rule_` if it was saved with a
        rule. A monitor continues where it was saved.

    Raises
    ------
    CalibratorFileError
        If the file is invalid; the message says what is wrong and where.
    """
    data = content_of(file)
    return monitor_of(data) if is_monitor(data) else loads(data)
