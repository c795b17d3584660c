# fmt: off
from .applying import apply as apply
from .files import load as load, save as save
from .fitting import fit as fit
from .scan import summarize as summarize, summarize_spark as summarize_spark
from .streaming import Sums as Sums
from .summary import Summary as Summary
from .warehouse import sql as sql, summary_of_counts as summary_of_counts
