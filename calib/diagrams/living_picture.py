"""Data of the living picture: a reliability diagram that the browser bins (`living/picture.js`).

The browser gets every row as a confidence, a class, and whether it is right, in the order of confidence.
Confidences are rounded to 1/65,535, but never across an edge j/B: every equal-width binning cuts the rounded
rows where it cuts the rows. Cuts of equal-mass bins are sent. So all counts are exact. A mean is sent if the
rounded rows would show it with another last digit.

Above `MOST_ROWS` rows, and for a summary, it gets sums over the cells of `calib.evidence.cell_sums` instead.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.kinds import KINDS
from calib.data.notions import Notion
from calib.evidence.binning import BinStatistics, assign_bins, uniform_edges
from calib.evidence.cell_sums import EDGES, MOST_BINS, cell_sums
from calib.evidence.reductions import top_label
from calib.evidence.rows import Rows
from calib.evidence.sums import SummedRows
from calib.stats.frequencies import chance_of_gap

#: The browser's module and stylesheet.
FILES = Path(__file__).parent / "living"
#: Most rows that are sent one by one; above, sums are sent, and `MOST_DOTS` random rows to be drawn.
MOST_ROWS, MOST_DOTS = 50_000, 10_000
#: Most weighted rows: their weights do not compress.
MOST_WEIGHTED = 10_000
#: Most classes of their own; of more classes, those named and the `CLEAREST` with the most evidence. Sums of
#: more classes would take more than 250 kB.
MOST_CLASSES, MOST_SUMMED, MOST_WEIGHTED_SUMMED, CLEAREST = 50, 20, 8, 20
#: Steps to which confidences are rounded.
STEPS = 65_535
#: Bins of all numbers of bins before B are B (B - 1) / 2 - 1 interior edges.
NUMBERS_OF_BINS = range(2, MOST_BINS + 1)
#: Rounded texts may differ if a mean is nearer than this to a tie.
NEAR = 1e-9

Evidence = Rows | SummedRows


@dataclass(frozen=True, eq=False)
class _Entries:
    """What the browser adds up: rows, or sums of rows, in the order of their place."""

    place: np.ndarray  #: (m,) float64: confidence, or lower edge of a cell
    group: np.ndarray  #: (m,) int64
    right: np.ndarray  #: (m,) bool
    weight: np.ndarray  #: (m,) float64
    score: np.ndarray  #: (m,) float64: sum of weight times confidence
    columns: dict[str, np.ndarray]  #: What is sent
    #: If entries are rows: (m,) int64, number of the row, and (m,) float, confidence without rounding
    rows: np.ndarray
    exact: np.ndarray


def living_picture(
    before: Evidence,
    after: Evidence | None = None,
    *,
    n_bins: int = N_BINS,
    named: Sequence[int] = (),
    class_names: Sequence[str] | None = None,
    event: str | None = None,
    after_name: str = "",
) -> dict[str, Any]:
    """Return the data of the picture, in JSON types.

    Parameters
    ----------
    before, after : Rows or SummedRows
        The model, and the same rows after calibration.
    n_bins : int
        Equal-width bins that are shown first, at most 50.
    named : sequence of int
        Codes of the classes that are named and coloured.
    class_names : sequence of str, optional
        By default codes.
    event : str, optional
        Name of the class whose probability a binary score is.
    after_name : str
        Name of the calibrator.

    Notes
    -----
    "bytes" holds the arrays that "columns" lists by name, type and length, compressed by zlib and in base64.
    An array is the first byte of each number, then the second byte of each, and so on. Names are plain text.
    """
    by_class = "event" not in KINDS[before.kind].has and not KINDS[before.kind].scored
    views = [before] if after is None else [before, after]
    most_rows = MOST_WEIGHTED if before.is_weighted else MOST_ROWS
    as_rows = all(isinstance(each, Rows) and each.n_samples <= most_rows for each in views)
    if len({each.n_samples for each in views}) > 1:
        sizes = " and ".join(f"{each.n_samples:,}" for each in views)
        raise InputError(f"after must be about the same rows as before; got {sizes} rows")
    most = MOST_CLASSES if as_rows else MOST_WEIGHTED_SUMMED if before.is_weighted else MOST_SUMMED
    group_of, shown = _groups(before, named, most) if by_class else (np.zeros(1, np.int64), [])
    names = list(map(str, class_names or range(len(group_of))))
    packed = _Packed()
    every = []
    for number, evidence in enumerate(views):
        labels = _predicted(evidence) if by_class and isinstance(evidence, Rows) else None
        if as_rows and isinstance(evidence, Rows):
            entries = _rows(evidence, group_of, labels)
        else:
            entries = _sums(evidence, group_of, labels)
        every.append(entries)
        if as_rows and number:
            _refer(entries, every[0])
        fixes = _fixes(evidence, entries, group_of, by_class)
        for name, values in {**entries.columns, **fixes}.items():
            packed.add(f"{number}.{name}", values)
        if as_rows:
            packed.add(f"{number}.mass", _mass_cuts(evidence))
    if not as_rows:
        _add_dots(packed, views, group_of, by_class)
    chosen = {code: at for at, code in enumerate(shown)}
    return {
        "classes": [names[code] for code in shown],
        "codes": shown,
        "others": int(np.sum(group_of == len(shown))) if by_class else 0,
        "named": [chosen[code] for code in map(int, named) if code in chosen],
        "event": event,
        "by_class": by_class,
        "rows": before.n_samples,
        "as_rows": as_rows,
        "weighted": before.is_weighted,
        "effect": [_effect(evidence) for evidence in views],
        "names": ["Before", f"After {after_name}".strip()][: len(views)],
        "own": _own_cuts(every[0], every[1], len(shown)) if as_rows and after is not None else {},
        "bins": min(n_bins, MOST_BINS),
        **packed.sent(),
    }


def picture_html(data: dict[str, Any], key: str, figure: str) -> str:
    """Return the picture as HTML that needs no server; `figure` is the HTML that replaces it in print."""
    given = json.dumps(data).replace("<", "\\u003c")  # inside a script element only "<" could end it
    show = f'mount(document.getElementById("{key}"), {given}, document.getElementById("{key}-figure"));'
    return (
        f"<style>{picture_file('picture.css')}\n@media screen {{ .printed {{ display: none; }} }}\n"
        "@media print { .calib-picture { display: none; } }</style>\n"
        f'<div class="calib-picture" id="{key}"></div>\n<div id="{key}-figure">{figure}</div>\n'
        f'<script type="module">{picture_file("picture.js")}\n{show}</script>'
    )


@cache
def picture_file(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


class _Packed:
    def __init__(self) -> None:
        self.columns: list[tuple[str, str, int]] = []
        self.parts: list[bytes] = []

    def add(self, name: str, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"))
        self.columns.append((name, values.dtype.str[1:], len(values)))
        self.parts.append(values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes())

    def sent(self) -> dict[str, Any]:
        content = base64.b64encode(zlib.compress(b"".join(self.parts), 6)).decode()
        return {"columns": self.columns, "bytes": content}


def _predicted(evidence: Rows) -> np.ndarray:
    return top_label(evidence.predictions)[0]


def _groups(evidence: Evidence, named: Iterable[int], most: int) -> tuple[np.ndarray, list[int]]:
    """Return the group of each class code, and the codes of the groups; the last group holds all others."""
    cells = evidence.cells("top-label", strategy="uniform", effects=False)
    n_classes = cells.n_classes
    shown = list(range(n_classes))
    if n_classes > most:
        chances = chance_of_gap(cells.mean_outcome, cells.effective, cells.mean_score)
        by_evidence = dict.fromkeys(cells.label[np.argsort(chances, kind="stable")].tolist())
        shown = list(dict.fromkeys([*map(int, named), *list(by_evidence)[: min(most, CLEAREST)]]))
    group = np.full(n_classes, len(shown))
    group[shown] = np.arange(len(shown))
    return group, shown


def _rows(evidence: Rows, group_of: np.ndarray, labels: np.ndarray | None) -> _Entries:
    problem = evidence.problems("confidence")
    exact = problem.scores.astype(np.float64)
    steps = np.rint(exact * STEPS)
    # a step across an edge goes back: no two edges are nearer than 26 steps
    steps += np.sign(np.searchsorted(EDGES, exact, "right") - np.searchsorted(EDGES, steps / STEPS, "right"))
    group = np.zeros(len(exact), np.int64) if labels is None else group_of[labels[problem.rows]]
    columns = {
        "step": np.diff(steps.astype(np.uint16), prepend=np.uint16(0)),
        "group": group.astype(np.uint8),
        "right": problem.outcomes.astype(np.uint8),
    }
    weight = np.ones(len(exact))
    if evidence.is_weighted:
        columns["weight"] = problem.weights.astype(np.float32)
        weight = columns["weight"].astype(np.float64)
    sums = weight, weight * steps
    return _Entries(steps / STEPS, group, problem.outcomes, *sums, columns, problem.rows, exact)


def _refer(after: _Entries, before: _Entries) -> None:
    """Send the class and outcome of each row as the difference from before: most rows keep both."""
    place = np.empty(len(before.rows), np.int64)
    place[before.rows] = np.arange(len(place))
    order = place[after.rows]
    after.columns["order"] = order.astype(np.uint16)
    for name in ("group", "right"):
        changed = np.empty(len(order), np.uint8)
        changed[order] = after.columns[name] - before.columns[name][order]
        after.columns[name] = changed


def _sums(evidence: Evidence, group_of: np.ndarray, labels: np.ndarray | None) -> _Entries:
    if isinstance(evidence, SummedRows):
        sums = evidence.top
    else:
        problem = evidence.problems("confidence")
        key = None if labels is None else labels[problem.rows]
        weights = problem.weights if evidence.is_weighted else None
        sums = cell_sums(key, problem.scores, problem.outcomes, weights)
    n_groups = int(group_of.max()) + 1
    place = (sums.cell * n_groups + group_of[sums.key]) * 2 + sums.outcome
    kept, at = np.unique(place, return_inverse=True)

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(at, values, len(kept))

    count = total(sums.count).astype(np.int64)
    cell, group, right = kept // 2 // n_groups, kept // 2 % n_groups, kept % 2 == 1
    weight = total(sums.total("weight")).astype(np.float32).astype(np.float64)
    ends = np.concatenate(([0.0], EDGES, [1.0]))
    lower, width = ends[cell], np.diff(ends)[cell]
    inside = (total(sums.total("score")) / total(sums.total("weight")) - lower) / width
    offset = np.clip(np.rint(inside * STEPS), 0, STEPS)
    columns = {
        "cell": np.diff(cell.astype(np.uint16), prepend=np.uint16(0)),
        "group": group.astype(np.uint8),
        "right": right.astype(np.uint8),
        "count": count.astype(np.uint32),
        "offset": offset.astype(np.uint16),
    }
    if evidence.is_weighted:
        columns["weight"] = weight.astype(np.float32)
    else:
        weight = count.astype(np.float64)
    score, no_rows = weight * (lower + offset / STEPS * width), np.empty(0)
    return _Entries(lower, group, right, weight, score, columns, no_rows, no_rows)


def _mass_cuts(evidence: Evidence) -> np.ndarray:
    """Interior cuts of equal-mass bins for each number of bins; fewer bins end with cuts behind all rows."""
    cuts = []
    for n_bins in NUMBERS_OF_BINS:
        start = _mass(evidence, n_bins).start[1:]
        cuts.append(np.pad(start, (0, n_bins - 1 - len(start)), constant_values=evidence.n_samples))
    flat = np.concatenate(cuts).astype(np.uint32)
    return np.diff(flat, prepend=np.uint32(0))


def _mass(evidence: Evidence, n_bins: int) -> BinStatistics:
    return evidence.cells("confidence", n_bins=n_bins, strategy="quantile", effects=False)


def _fixes(
    evidence: Evidence, entries: _Entries, group_of: np.ndarray, by_class: bool
) -> dict[str, np.ndarray]:
    """Return the means that the browser's sums would show with other digits, by binning, group and bin."""
    n_groups = int(group_of.max()) + 1
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    unit = STEPS if len(entries.rows) else 1.0
    grids = (1000.0, 100.0)
    own_class = np.bincount(group_of, minlength=n_groups)[group_of] == 1

    def compare(mode: int, cells: BinStatistics, bins: np.ndarray, *, pooled: bool) -> None:
        n_bins = cells.n_bins
        chosen = np.ones(len(cells.count), bool) if pooled else own_class[cells.label]
        group = np.full(len(cells.count), -1) if pooled else group_of[cells.label]
        group, bin_ = group[chosen], cells.bin[chosen]
        key = bins if pooled else entries.group * n_bins + bins
        at = bin_ if pooled else group * n_bins + bin_
        size = n_bins * (1 if pooled else n_groups)
        weight, score, right = (
            np.bincount(key, values, size)[at]
            for values in (entries.weight, entries.score, entries.weight * entries.right)
        )
        means = cells.mean_score[chosen], cells.mean_outcome[chosen]
        off = _shown_apart(means[0], score / unit / weight, grids)
        if evidence.is_weighted:
            off |= _shown_apart(means[1], right / weight, grids)
        keys = ((mode * 64 + n_bins) * (n_groups + 1) + group + 1) * 64 + bin_
        found.append((keys[off], means[0][off], means[1][off]))

    for n_bins in NUMBERS_OF_BINS:
        bins = assign_bins(entries.place, uniform_edges(n_bins))
        options: dict[str, Any] = {"n_bins": n_bins, "strategy": "uniform", "effects": False}
        notions: tuple[Notion, ...] = ("confidence", "top-label") if by_class else ("confidence",)
        for notion in notions:
            compare(0, evidence.cells(notion, **options), bins, pooled=notion == "confidence")
        if len(entries.rows):
            cells = _mass(evidence, n_bins)
            compare(1, cells, cells.of_entries, pooled=True)
    keys, scores, rights = map(np.concatenate, zip(*found, strict=True))
    fixes = {"fix": keys.astype(np.uint32), "fix_score": scores}
    return fixes | ({"fix_right": rights} if evidence.is_weighted else {})


def _shown_apart(exact: np.ndarray, near: np.ndarray, grids: Sequence[float]) -> np.ndarray:
    """Whether two means may be shown as different texts, in steps of 1 / `grids`."""
    apart = np.zeros(len(exact), bool)
    for steps in grids:
        first, second = exact * steps, near * steps
        apart |= np.rint(first) != np.rint(second)
        for values in (first, second):
            apart |= np.abs(np.abs(values - np.rint(values)) - 0.5) < NEAR * steps
    return apart


def _effect(evidence: Evidence) -> float:
    """Rows per effective row in bins: of rows that belong together, and of weights that are summed."""
    if evidence.n_clusters is None:
        if evidence.is_weighted and (not isinstance(evidence, Rows) or evidence.n_samples > MOST_WEIGHTED):
            return evidence.n_samples / evidence.effective_samples
        return 1.0
    cells = evidence.cells("confidence", strategy="uniform")
    plain = evidence.cells("confidence", strategy="uniform", effects=False)
    return float(plain.effective.sum() / cells.effective.sum())


def _own_cuts(before: _Entries, after: _Entries, n_groups: int) -> dict[str, list[list[int]]]:
    """Cuts of the bins that a calibrator made, before and after: all rows of a bin get one value.

    By group, and "-1" for all groups; only if at most `MOST_BINS` runs of rows have one value each.
    """
    value = np.empty(len(after.exact))
    value[after.rows] = after.exact
    given = value[before.rows]
    found: dict[str, list[list[int]]] = {}
    if 2 * len(np.unique(value)) > len(value):  # no bins: even a class of few rows has as many values
        return found
    for group in range(-1, n_groups):
        inside = np.ones(len(given), bool) if group < 0 else before.group == group
        values, own = given[inside], before.exact[inside]
        if len(values) < 2:
            continue
        starts = np.flatnonzero(values[1:] != values[:-1]) + 1
        levels = np.unique(values)
        if not 1 <= len(starts) < MOST_BINS or len(levels) < 2:
            continue
        cuts = np.unique(np.searchsorted(before.exact, own[starts]))
        found[str(group)] = [cuts.tolist(), np.searchsorted(after.exact, levels[1:]).tolist()]
    return found


def _add_dots(packed: _Packed, views: Sequence[Evidence], group_of: np.ndarray, by_class: bool) -> None:
    """Add random rows to be drawn, the same in every view; a summary has none."""
    if not all(isinstance(view, Rows) for view in views):
        return
    some = np.random.default_rng(0).choice(views[0].n_samples, MOST_DOTS, replace=False)
    for number, evidence in enumerate(views):
        assert isinstance(evidence, Rows)
        problem = evidence.problems("confidence")
        place = np.empty(problem.n_samples, np.int64)
        place[problem.rows] = np.arange(len(place))
        at = place[some]
        group = group_of[_predicted(evidence)[some]] if by_class else np.zeros(len(some))
        packed.add(f"{number}.dot_step", np.rint(problem.scores[at] * np.float64(STEPS)).astype(np.uint16))
        packed.add(f"{number}.dot_group", group.astype(np.uint8))
        packed.add(f"{number}.dot_right", problem.outcomes[at].astype(np.uint8))
