"""Former path of `calib.export.scorer` and `calib.export.verify_scorer`."""

from calib.export import scorer, verify_scorer

__all__ = ["scorer", "verify_scorer"]
