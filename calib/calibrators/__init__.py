"""Calibrators: binary, multiclass-to-binary, scalings and binning of the simplex."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
