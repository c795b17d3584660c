"""Built-in examples: two patients, real digits and simulated populations whose truth is known."""

from calib.datasets.covtype_real import Stopped, covtype
from calib.datasets.covtype_shape import covtype_simulated
from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.datasets.examples import digits, load_example, two_patients
from calib.datasets.simulated import many_classes, perfect, resnet_shaped
from calib.datasets.three_class_problem import three_classes
