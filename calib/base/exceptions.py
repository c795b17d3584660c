"""Errors and warnings of calib."""

__all__ = ["CalibratorFileError", "InputError", "LongFitWarning", "TooManyParametersWarning"]


#: Characters of the longest message; names in a file can be of any length.
LONGEST = 1_000


def shortened(message: str) -> str:
    """Return a message of at most `LONGEST` characters, its middle left out if it is longer.

    Control characters, which come from users' files, are escaped: a terminal would obey them.
    """
    if len(message) > LONGEST:
        message = f"{message[: LONGEST // 2]} [...] {message[-LONGEST // 3 :]}"
    message = message.encode("utf-8", "replace").decode("utf-8")
    return message if message.isprintable() else printable(message)


def printable(text: str) -> str:
    """Return text whose control characters, but for line breaks, are escaped as in Python."""
    return "".join(c if c == "\n" or c.isprintable() else ascii(c)[1:-1] for c in text)


class InputError(ValueError):
    """Input that cannot be used as it is; the message says what was received and what to do."""

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(str(message)))


def not_installed(package: str, extra: str) -> InputError:
    """Return the error that a package of one of calib's extras is missing, and how to install it.

    >>> print(not_installed("onnxruntime", "onnx"))
    onnxruntime is not installed; run: pip install "calib-diagnostics[onnx]"
    """
    return InputError(f'{package} is not installed; run: pip install "calib-diagnostics[{extra}]"')


class CalibratorFileError(InputError):
    """A calibrator file that cannot be trusted; the message says what is wrong and where in the file."""


class LongFitWarning(UserWarning):
    """A fit is about to start that takes minutes or hours."""


class TooManyParametersWarning(UserWarning):
    """A fit is about to start that has more parameters than calibration rows."""
