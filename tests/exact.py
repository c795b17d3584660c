"""Tables as they are written, to the last bit: pandas before 3 rounds the numbers of a CSV differently."""

from functools import partial

import pandas as pd

read_csv = partial(pd.read_csv, float_precision="round_trip")
