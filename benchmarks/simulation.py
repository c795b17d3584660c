"""The loop of all simulations: populations whose truth is known, draws, and tables of what they show.

``python -m benchmarks.MODULE [TABLE ...] --draws N`` prints tables of a module, by default all. Rows of a
table are drawn side by side, each in one process: the draws of a row follow from its seed, however many
processes there are.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from typing import Any

import numpy as np

Draws = Iterator[dict[str, Any]]
Cells = list[str]


@dataclass
class Table:
    """What is simulated and what is shown of it; decorates what draws a row, and has its name.

    `draw(*setting)` yields what each draw shows, by the heading of its column, which names the nominal level.
    Shown is the share of draws in percent and its Monte Carlo standard error; or by `formats` the mean in
    this format, or what a function makes of all values. None is shown as nothing.
    """

    #: Headings of the first values of a setting.
    heads: tuple[str, ...]
    settings: Sequence[tuple[Any, ...]]
    formats: Mapping[str, str | Callable[[np.ndarray], str]] = field(default_factory=dict)
    #: Name, if it differs from the name of what draws.
    name: str = ""
    #: Multiple of the draws asked for, of a setting.
    times: Callable[..., float] = lambda *setting: 1.0
    #: Heading and level of a rate: a row below the level gets five times the draws.
    doubtful: tuple[str, float] | None = None

    def __call__(self, draw: Callable[..., Draws]) -> Callable[..., Draws]:
        """Take the function that draws a row, and list the table."""
        self.draw = draw
        TABLES[self.name or draw.__name__] = self
        return draw

    def row(self, place: int, draws: int) -> tuple[Cells, Cells]:
        """Return all headings, and the row of a setting."""
        setting = self.settings[place]
        draws, running = max(int(self.times(*setting) * draws), 1), self.draw(*setting)
        found = list(islice(running, draws))
        if self.doubtful and np.mean([each[self.doubtful[0]] for each in found]) < self.doubtful[1]:
            found += islice(running, 4 * draws)
        cells = [_setting(value) for value in (*setting[: len(self.heads)], len(found))]
        cells += [self._shown(head, [each[head] for each in found]) for head in found[0]]
        return [*self.heads, "draws", *found[0]], cells

    def _shown(self, head: str, values: list[Any]) -> str:
        if values[0] is None:
            return ""
        form = self.formats.get(head)
        if callable(form):
            return form(np.array(values))
        if form:
            return format(np.mean(values), form)
        return f"{100 * np.mean(values):.1f} ± {100 * np.std(values) / np.sqrt(len(values)):.1f} %"


#: Tables of the module that is run.
TABLES: dict[str, Table] = {}


def _setting(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else value


def means(running: Draws, draws: int) -> dict[str, float]:
    """Return the mean of all that some draws show, by heading."""
    found = list(islice(running, draws))
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


def sides(lower: float, upper: float, truth: float, of: str = "") -> dict[str, bool]:
    """Return whether an interval holds the truth, or lies above or below."""
    high, low = lower > truth, upper < truth
    return {f"{of}coverage (95 %)": not high and not low, f"{of}too high": high, f"{of}too low": low}


def _row(table: str, place: int, draws: int) -> tuple[Cells, Cells]:
    return TABLES[table].row(place, draws)


def main() -> None:
    """Print the tables of the module that is run."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name in options.tables:
            table = TABLES[name]
            rows = [pool.submit(_row, name, at, options.draws) for at in range(len(table.settings))]
            aligned = [":--" if isinstance(value, str) else "--:" for value in table.settings[0]]
            for number, row in enumerate(rows):
                heads, cells = row.result()
                if number == 0:
                    lines = aligned[: len(table.heads)] + ["--:"] * (len(heads) - len(table.heads))
                    print(f"| {' | '.join(heads)} |\n| {' | '.join(lines)} |")
                print(f"| {' | '.join(cells)} |", flush=True)
            print()
