"""What the Learn page computes, one module a lesson, and its exercises."""

from calib.lessons.six_points import POINTS, ROUNDING, SIX_POINTS, binary_tables, rows_off, used_cells
from calib.lessons.two_patients import POPULATION, TwoPatients, two_patients_population, worst_accuracies
