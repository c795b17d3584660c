# fmt: off
from .binning import (
    BinStatistics as BinStatistics, BinaryProblems as BinaryProblems,
    bin_statistics as bin_statistics,
)
from .rows import reduce_to_binary as reduce_to_binary
