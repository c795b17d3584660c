"""Tables as they are written, to the last bit: pandas before 3 rounds the numbers of a CSV unless told."""

from functools import partial

import pandas as pd

OLD = int(pd.__version__.split(".")[0]) < 3
read_csv = partial(pd.read_csv, float_precision="round_trip") if OLD else pd.read_csv
