"""Evidence: binary problems, their bins and cells, and the redraws of a perfect model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
