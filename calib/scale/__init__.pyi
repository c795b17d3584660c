# fmt: off
from .applying import apply as apply
from .files import load as load, save as save
from .fitting import fit as fit
from .scan import summarize as summarize, summarize_spark as summarize_spark
from .summary import Summary as Summary, Sums as Sums
from .warehouse import sql as sql, summary_of_counts as summary_of_counts
