"""What the Learn page computes."""

from calib.lessons.populations import (
    POINTS,
    POPULATION,
    ROUNDING,
    SIX_POINTS,
    TwoPatients,
    binary_tables,
    rows_off,
    two_patients_population,
    used_cells,
    worst_accuracies,
)
