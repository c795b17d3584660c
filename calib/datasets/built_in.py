"""The built-in examples by name."""

from __future__ import annotations

from collections.abc import Callable

import calib.datasets.simulated as simulated
from calib.base.exceptions import InputError
from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.datasets.real import digits


def load_example(name: str) -> Example:
    """Build the example of that name, a key of `EXAMPLE_TITLES`, with its defaults."""
    builders: dict[str, Callable[[], Example]] = {
        "resnet": simulated.resnet_shaped,
        "digits": digits,
        "two-patients": simulated.two_patients,
        "three-classes": simulated.three_classes,
        "covtype-simulated": simulated.covtype_simulated,
        "perfect": simulated.perfect,
        "networks": simulated.four_networks,
        "many-classes": simulated.many_classes,
    }
    if name not in builders:
        raise InputError(f"there is no example {name!r}; the examples are {', '.join(EXAMPLE_TITLES)}")
    return builders[name]()
