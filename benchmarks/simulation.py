"""The loop of all simulations: settings whose truth is known, draws, and a Markdown table of what they show.

``python -m benchmarks.<module> --draws N`` prints the tables of a module, ``--table K`` the K-th alone.
Rows are drawn side by side, each in one process: the draws of a row follow from its seed, however many
processes there are.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from typing import Any

import numpy as np

Draws = Iterator[dict[str, Any]]
Cell = Callable[[np.ndarray], str]


def rate(values: np.ndarray) -> str:
    """Return the share of draws in percent, and its Monte Carlo standard error."""
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values) / np.sqrt(len(values)):.1f} %"


def mean(form: str) -> Cell:
    """Return what writes the mean of the draws."""
    return lambda values: format(np.mean(values), form)


@dataclass(frozen=True)
class Table:
    """What is simulated and what is shown of it.

    `draw(*setting)` yields what each draw shows, by name. `heads` name the first values of a setting;
    `columns` give by their heading the name of what is shown, and how. A heading names the nominal level.
    """

    heads: tuple[str, ...]
    settings: Sequence[tuple[Any, ...]]
    draw: Callable[..., Draws]
    columns: dict[str, tuple[str, Cell]]
    #: Multiple of the draws asked for, of a setting.
    times: Callable[..., float] = lambda *setting: 1.0
    #: Name and level of a rate: a row below the level gets five times the draws, the first ones among them.
    doubtful: tuple[str, float] | None = None

    def row(self, place: int, draws: int) -> str:
        """Return the row of a setting."""
        setting = self.settings[place]
        draws, running = max(int(self.times(*setting) * draws), 1), self.draw(*setting)
        found = list(islice(running, draws))
        if self.doubtful and np.mean([one[self.doubtful[0]] for one in found]) < self.doubtful[1]:
            found += islice(running, 4 * draws)
        shown = [*setting[: len(self.heads)], len(found)]
        cells = [
            f"{one:,}" if isinstance(one, int) else f"{one:g}" if isinstance(one, float) else one
            for one in shown
        ]
        for name, cell in self.columns.values():
            cells.append(cell(np.array([one[name] for one in found])) if name in found[0] else "")
        return f"| {' | '.join(cells)} |"


def means(running: Draws, draws: int) -> dict[str, float]:
    """Return the mean of all that some draws show, by name."""
    found = list(islice(running, draws))
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def _row(module: str, table: int, place: int, draws: int) -> str:
    return import_module(module).TABLES[table].row(place, draws)


def main(default: int) -> None:
    """Print the tables of the module that is run; `default` is the number of draws."""
    program = sys.modules["__main__"]
    parser = argparse.ArgumentParser(description=program.__doc__)
    parser.add_argument("--draws", type=int, default=default)
    parser.add_argument("--table", type=int, choices=range(1, len(program.TABLES) + 1))
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for number, table in enumerate(program.TABLES):
            if options.table not in (None, number + 1):
                continue
            heads = [*table.heads, "draws", *table.columns]
            aligned = [
                ":--" if isinstance(one, str) else "--:" for one in table.settings[0][: len(table.heads)]
            ]
            aligned += ["--:"] * (1 + len(table.columns))
            print(f"| {' | '.join(heads)} |\n| {' | '.join(aligned)} |", flush=True)
            rows = [
                pool.submit(_row, program.__spec__.name, number, at, options.draws)
                for at in range(len(table.settings))
            ]
            for row in rows:
                print(row.result(), flush=True)
            print()
