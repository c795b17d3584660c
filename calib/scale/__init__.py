"""Files of any size: summaries, whose sums add up over parts, in bounded memory.

`summarize` reads files, `summarize_spark` a Spark table, `sql` and `summary_of_counts` a warehouse; `Sums`
adds batches. A `Summary` stands in place of labels and scores, as in ``calib.ece(summary)``. `Summary.merge`
adds another summary, `save` and `load` write and read its file. `fit` and `apply` calibrate files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
