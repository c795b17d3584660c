"""Calibrator files: JSON that anyone can read, nobody can execute, and that is checked before use."""

from calib.base.exceptions import CalibratorFileError
from calib.files.calibrators.document import (
    FORMAT,
    KEYS,
    MAX_BYTES,
    MAX_CONTAINERS,
    MAX_VALUES,
    VERSION,
    aligned,
    checksum,
    dumps,
    load,
    loads,
    save,
    schema,
)
from calib.files.calibrators.model import load_model, save_model

__all__ = ["load", "load_model", "save", "save_model"]
