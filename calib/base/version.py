"""Version of calib, written here only."""

__all__ = ["__version__"]
__version__ = "0.3.0"
