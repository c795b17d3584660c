"""The built-in examples by name."""

from __future__ import annotations

from collections.abc import Callable

from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.datasets.real import digits
from calib.datasets.simulated import (
    covtype_simulated,
    many_classes,
    perfect,
    resnet_shaped,
    three_classes,
    two_patients,
)
from calib.exceptions import InputError


def load_example(name: str) -> Example:
    """Build the example of that name with its defaults.

    Parameters
    ----------
    name : str
        One of the keys of `EXAMPLE_TITLES`.

    Raises
    ------
    InputError
        If there is no such example.
    """
    builders: dict[str, Callable[[], Example]] = {
        "resnet": resnet_shaped,
        "digits": digits,
        "two-patients": two_patients,
        "three-classes": three_classes,
        "covtype-simulated": covtype_simulated,
        "perfect": perfect,
        "many-classes": many_classes,
    }
    if name not in builders:
        raise InputError(f"there is no example {name!r}; the examples are {', '.join(EXAMPLE_TITLES)}")
    return builders[name]()
