"""Draw docs/pictures/packages.svg, the packages of calib and who imports whom: `python -m docs.packages`.

The picture shows the least arrows that say all: if a package imports two others, and one of these imports
the other, only the longer way is drawn. tests/test_docs.py compares the file with the imports of today.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.isotonic import isotonic_regression

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "calib"
PICTURE = ROOT / "docs" / "pictures" / "packages.svg"

BOX = (104, 30)
GAP = 18
ROW = 66
LOOK = """
    .paper { fill: #ffffff } text { font: 14px sans-serif; fill: #1b2026; text-anchor: middle }
    .box { fill: #f0f6fa; stroke: #0072b2 } path { fill: none; stroke: #6b7680; stroke-width: 1.2 }
    .head { fill: #6b7680; stroke: none }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #14181c } text { fill: #e6eaed }
      .box { fill: #1f252b; stroke: #56b4e9 } path { stroke: #9aa5ae } .head { fill: #9aa5ae; stroke: none }
    }
"""


@cache
def imported(path: Path) -> frozenset[str]:
    """Every module that a file imports, by a statement or a call with its name, wherever it stands."""
    names = {name for name in called_imports(path) if name is not None}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names.add(str(node.module))
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


@cache
def called_imports(path: Path) -> tuple[str | None, ...]:
    """Return the module named by each call of `import_module` or `__import__`, None if it is computed."""
    names: list[str | None] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if function in ("import_module", "__import__"):
            name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            names.append(str(name) if name is not None else None)
    return tuple(names)


def imports() -> dict[str, set[str]]:
    """Return packages and modules of calib, each with those it imports; without the face and former paths."""
    edges: dict[str, set[str]] = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY).parts[0].removesuffix(".py")
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if name != "__init__" and not text.startswith("Former path"):
            targets = {target.split(".")[1] for target in imported(path) if target.startswith("calib.")}
            edges.setdefault(name, set()).update(targets - {name})
    return edges


def fewest_arrows(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out every arrow that a longer way says too (transitive reduction)."""

    def reached(name: str) -> set[str]:
        return edges[name].union(*(reached(target) for target in edges[name]))

    return {
        name: targets - set().union(*(reached(target) for target in targets))
        for name, targets in edges.items()
    }


def levels(arrows: dict[str, set[str]]) -> dict[str, int]:
    """Return the row of each, 0 at the bottom: above all it imports; if nothing, below all that import it."""

    def height(name: str) -> int:
        return 1 + max(map(height, arrows[name]), default=-1)

    level = {name: height(name) for name in arrows}
    for name in arrows:
        if not arrows[name]:
            level[name] = min(level[user] for user in arrows if name in arrows[user]) - 1
    return level


def lines(arrows: dict[str, set[str]], level: dict[str, int]) -> list[list[str]]:
    """Return each arrow as the points it passes, one a row: its two boxes, and a place in rows between."""
    return [
        [user, *(f"{user}>{target}@{row}" for row in range(level[user] - 1, level[target], -1)), target]
        for user, targets in sorted(arrows.items())
        for target in sorted(targets)
    ]


def crossings(rows: list[list[str]], links: Iterable[tuple[str, str]]) -> int:
    """Return how many pairs of lines cross."""
    place = {name: (height, number) for height, row in enumerate(rows) for number, name in enumerate(row)}
    ends = [(place[upper], place[lower][1]) for upper, lower in links]
    return sum(
        item[0][0] == other[0][0] and (item[0][1] - other[0][1]) * (item[1] - other[1]) < 0
        for number, item in enumerate(ends)
        for other in ends[:number]
    )


def places(arrows: dict[str, set[str]]) -> dict[str, tuple[float, float]]:
    """Return the middle of every box and of every point of a line: few crossings, short lines."""
    level = levels(arrows)
    ways = lines(arrows, level)
    links = [link for way in ways for link in pairwise(way)]
    rows: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for name, row in level.items():
        rows[row].append(name)
    for way in ways:
        for number, name in enumerate(way[1:-1], start=1):
            rows[level[way[0]] - number].append(name)
    near: dict[str, list[str]] = {}
    for upper, lower in links:
        near.setdefault(upper, []).append(lower)
        near.setdefault(lower, []).append(upper)

    best = rows
    for turn in range(24):
        rows = [list(row) for row in rows]
        for row in rows if turn % 2 else reversed(rows):
            share = {name: (n + 0.5) / len(line) for line in rows for n, name in enumerate(line)}
            middle = {name: np.mean([share[other] for other in near.get(name, [name])]) for name in row}
            row.sort(key=middle.__getitem__)
        best = min(best, rows, key=lambda each: crossings(each, links))

    width = {name: GAP + (BOX[0] if name in level else 0) for row in best for name in row}
    x = {name: 0.0 for name in width}
    for _ in range(60):
        for row in best:
            half = np.array([width[name] / 2 for name in row])
            start = 2 * half.cumsum() - half
            wanted = np.array([np.mean([x[other] for other in near.get(name, [name])]) for name in row])
            x.update(zip(row, (isotonic_regression(wanted - start) + start).tolist(), strict=True))
    left = min(x[name] - width[name] / 2 for name in x)
    return {
        name: (x[name] - left, (len(best) - number) * ROW - ROW / 2)
        for number, row in enumerate(best)
        for name in row
    }


def drawing(edges: dict[str, set[str]]) -> str:
    """Return the picture as SVG."""
    arrows = fewest_arrows(edges)
    place = places(arrows)
    width = max(x for x, _ in place.values()) + (BOX[0] + GAP) / 2
    height = max(y for _, y in place.values()) + ROW / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        "  <title>Packages of calib: an arrow leads from a package to one it imports</title>",
        f"  <style>{LOOK}  </style>",
        '  <marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto">',
        '    <path class="head" d="M0 0 8 4 0 8z"/>',
        "  </marker>",
        '  <rect class="paper" width="100%" height="100%"/>',
    ]
    for way in lines(arrows, levels(arrows)):
        points = [place[name] for name in way]
        (x, y), (end, bottom) = points[0], points[-1]
        course = f"M{x:.0f} {y + BOX[1] / 2:.0f}"
        for (x1, y1), (x2, y2) in pairwise([(x, y + BOX[1] / 2), *points[1:-1], (end, bottom - BOX[1] / 2)]):
            middle = (y1 + y2) / 2
            course += f"C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y2:.0f}"
        ends = f'data-from="{way[0]}" data-to="{way[-1]}"'
        parts.append(f'  <path {ends} d="{course}" marker-end="url(#head)"/>')
    for name in sorted(arrows):
        x, y = place[name]
        parts.append(
            f'  <rect class="box" x="{x - BOX[0] / 2:.0f}" y="{y - BOX[1] / 2:.0f}" width="{BOX[0]}" '
            f'height="{BOX[1]}" rx="4"/>'
        )
        parts.append(f'  <text x="{x:.0f}" y="{y + 5:.0f}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawing(imports()), encoding="utf-8")
