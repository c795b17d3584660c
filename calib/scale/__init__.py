"""Beyond one machine's memory: summaries of any number of rows, whose sums add up over parts.

Modules are imported when one of their names is first asked for: a worker that only sums needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calib.scale.applying import apply as apply
    from calib.scale.files import load as load
    from calib.scale.files import save as save
    from calib.scale.fitting import fit as fit
    from calib.scale.scan import summarize as summarize
    from calib.scale.spark import summarize_spark as summarize_spark
    from calib.scale.summary import Summary as Summary
    from calib.scale.warehouse import sql as sql
    from calib.scale.warehouse import summary_of_counts as summary_of_counts

#: Module of each name.
_NAMES = {
    "Summary": "summary",
    "apply": "applying",
    "fit": "fitting",
    "load": "files",
    "save": "files",
    "sql": "warehouse",
    "summarize": "scan",
    "summarize_spark": "spark",
    "summary_of_counts": "warehouse",
}
__all__ = list(_NAMES)


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module 'calib.scale' has no attribute {name!r}")
    return getattr(import_module(f"calib.scale.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
