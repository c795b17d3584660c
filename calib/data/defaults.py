"""Default values of arguments, which every signature reads."""

from __future__ import annotations

#: Equal-width bins of each binary problem, as in the paper's tables.
N_BINS = 15
#: Seed of everything random.
RANDOM_STATE = 0
#: Coverage of intervals and bands.
LEVEL = 0.95
#: Redraws of the outcomes for a noise floor.
N_RESAMPLES = 1000
#: False discovery rate of several verdicts.
FDR = 0.05
