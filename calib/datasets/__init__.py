"""Built-in examples: two patients, real digits and simulated populations whose truth is known."""

from calib.datasets.built_in import load_example
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
