"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

The definitions are those of Gupta & Ramdas, "Top-label calibration and multiclass-to-binary
reductions" (ICLR 2022). Nothing here imports Streamlit.

What a package puts into its `__all__` is a name of calib too.
"""

from calib.interrupts import *  # first of all

# isort: split

from calib import datasets as datasets
from calib.assessment import *
from calib.binning import *
from calib.calibrators import *
from calib.diagrams import *
from calib.doctor import *
from calib.exceptions import *
from calib.formats import *
from calib.guarantees import *
from calib.metrics import *
from calib.noise import *
from calib.persistence import *
from calib.predictions import *
from calib.reductions import *
from calib.version import *
