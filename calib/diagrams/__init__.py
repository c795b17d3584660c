"""Computed diagrams, frozen: reliability, classes, validity, imbalance, simplex. Figures draw them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
