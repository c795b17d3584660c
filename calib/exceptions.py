"""What calib raises and warns of."""

__all__ = ["CalibratorFileError", "InputError", "TooManyParametersWarning"]


class InputError(ValueError):
    """Input that cannot be used as it is; the message says what was received and what to do."""


class CalibratorFileError(InputError):
    """A calibrator file that cannot be trusted; the message says what is wrong and where in the file."""


class TooManyParametersWarning(UserWarning):
    """A fit is about to start that has more parameters than calibration rows."""
