"""Files of calibrators, projects and monitors: JSON that is checked before use."""

from calib.files.saved.document import MAX_BYTES, MAX_VALUES, aligned, checksum, dumps, loads, schema
from calib.files.saved.model import load_model, save_model
from calib.files.saved.saving import load, save

__all__ = ["load", "load_model", "save", "save_model"]
