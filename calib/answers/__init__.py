"""Answers about a model: conclusion, recommendation, gate, decisions, guarantees and slices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
