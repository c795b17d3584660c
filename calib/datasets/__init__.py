"""Built-in examples: two patients, real digits and simulated populations whose truth is known."""

from collections.abc import Callable

from calib.base.exceptions import InputError
from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.datasets.real import covtype, digits
from calib.datasets.simulated import (
    covtype_simulated,
    four_networks,
    judged_answers,
    many_classes,
    perfect,
    resnet_shaped,
    three_classes,
    two_patients,
)

__all__ = [
    "EXAMPLE_TITLES",
    "Example",
    "covtype",
    "covtype_simulated",
    "digits",
    "four_networks",
    "judged_answers",
    "load_example",
    "many_classes",
    "perfect",
    "resnet_shaped",
    "three_classes",
    "two_patients",
]


def load_example(name: str) -> Example:
    """Build the example of that name, a key of `EXAMPLE_TITLES`, with its defaults."""
    builders: dict[str, Callable[[], Example]] = {
        "resnet": resnet_shaped,
        "digits": digits,
        "two-patients": two_patients,
        "three-classes": three_classes,
        "covtype-simulated": covtype_simulated,
        "perfect": perfect,
        "networks": four_networks,
        "many-classes": many_classes,
    }
    if name not in builders:
        raise InputError(f"there is no example {name!r}; the examples are {', '.join(EXAMPLE_TITLES)}")
    return builders[name]()
