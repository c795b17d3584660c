"""The lesson: three chapters, exercises and a hand-out, for the app and as one HTML file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
