"""Predictions of every kind, their notions and kinds, and the checks of arguments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
