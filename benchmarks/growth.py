"""Measure how time and memory grow with rows and classes, and draw it.

    python -m benchmarks.growth [--json benchmarks/growth.json] [--page]

Each point is measured in a process of its own: the fastest of a few calls, and the most memory that the first
call took beyond what was held before. An exponent is the slope of the logarithm over the upper half of the
sizes: 1 is growth in proportion. Results are kept in the JSON file, from which `docs/growth.md` and its
picture are made; ``--page`` makes them without measuring.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import HERE, alone, fastest, machine, simulated

RESULTS = HERE / "growth.json"
PAGE = HERE.parent / "docs" / "growth.md"
PICTURE = HERE.parent / "docs" / "pictures" / "growth.svg"

#: Sizes (rows, classes) of the two ways to grow.
WAYS = {
    "rows": [(10**k, 10) for k in (4, 5, 6, 7)],
    "classes": [(50_000, n_classes) for n_classes in (2, 10, 100, 1_000)],
}
#: Seconds that the calls of one point may take; at least one is made.
BUDGET = 6.0


#: What is measured, of calib, scores and labels.
WORK: dict[str, Callable[[Any, np.ndarray, np.ndarray], Any]] = {
    "conf-ECE": lambda calib, proba, y: calib.ece(y, proba, notion="confidence"),
    "TL-ECE": lambda calib, proba, y: calib.ece(y, proba, notion="top-label"),
    "class-wise ECE": lambda calib, proba, y: calib.ece(y, proba, notion="class-wise"),
    "noise floor of TL-ECE, 1,000 redraws": lambda calib, proba, y: calib.noise_floor(
        y, proba, random_state=0
    ),
    "top-label histogram binning, fit": lambda calib, proba, y: calib.MulticlassToBinary().fit(proba, y),
    "temperature scaling, fit": lambda calib, proba, y: calib.TemperatureScaling().fit(proba, y),
}


def measure(name: str, rows: int, classes: int) -> dict[str, float]:
    """Return the fastest seconds of the calls, and the bytes that the first one took."""
    import calib

    proba, y = simulated(rows, classes)
    WORK[name](calib, proba[:1_000], y[:1_000])  # imports are no growth
    seconds, _, taken = fastest({name: lambda: WORK[name](calib, proba, y)}, BUDGET)
    return {"seconds": seconds[name], "bytes": taken, "matrix": float(proba.nbytes)}


def exponent(points: list[dict[str, Any]], way: str) -> float:
    """Return the slope of log time over log size, of the upper half of the sizes."""
    upper = points[len(points) // 2 - 1 :]
    size = np.log([point[way] for point in upper])
    return float(np.polyfit(size, np.log([point["seconds"] for point in upper]), 1)[0])


def measured() -> dict[str, Any]:
    """Measure every point in a process of its own."""
    results: dict[str, Any] = {"machine": machine(), "points": []}
    for way, sizes in WAYS.items():
        for name in WORK:
            for rows, classes in sizes:
                point = alone("benchmarks.growth", "--one", name, rows, classes)
                results["points"].append(
                    {"way": way, "work": name, "rows": rows, "classes": classes, **point}
                )
                print(results["points"][-1], flush=True)
    return results


def points_of(results: dict[str, Any], way: str, name: str) -> list[dict[str, Any]]:
    """Return the points of one line of the picture."""
    return [point for point in results["points"] if (point["way"], point["work"]) == (way, name)]


def draw(results: dict[str, Any]) -> None:
    """Draw time against rows and against classes, memory below."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    from calib.diagrams import OKABE_ITO

    figure, panels = plt.subplots(2, 2, figsize=(9, 7), layout="constrained", sharex="col")
    colours = list(OKABE_ITO.values())
    for column, way in enumerate(WAYS):
        for number, name in enumerate(WORK):
            points = points_of(results, way, name)
            sizes = [point[way] for point in points]
            for row, values in enumerate(
                ([point["seconds"] for point in points], [max(point["bytes"], 1e5) / 1e6 for point in points])
            ):
                panel: Axes = panels[row, column]
                panel.loglog(sizes, values, "o-", color=colours[number % len(colours)], ms=4, label=name)
        beside = "10 classes" if way == "rows" else "50,000 rows"
        panels[1, column].set_xlabel(f"{way} ({beside})")
    panels[0, 0].set_ylabel("seconds")
    panels[1, 0].set_ylabel("memory beyond the matrix, MB (at least 0.1)")
    for panel in panels.ravel():
        panel.grid(alpha=0.3)
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )
    figure.savefig(PICTURE, metadata={"Date": None})


def page(results: dict[str, Any]) -> str:
    """Return the documentation page of the results."""
    told = results["machine"]
    lines = [
        "# Growth",
        "",
        "`python -m benchmarks.growth` measures how time and memory grow with rows and with classes",
        "(float32 scores of a softmax, labels drawn from them), each point in a process of its own, and",
        "makes this page.",
        f"{told['date']}, {told['processors']} processors, Python {told['python']}.",
        "",
        "![Seconds and memory against rows and against classes, on logarithmic axes](pictures/growth.svg)",
        "",
        "Exponents are slopes in the upper half of the sizes: 1 is growth in proportion, less is growth",
        "that has not reached it yet. Memory is what a call takes beyond the matrix, at the largest size,",
        "in shares of it; below a few megabytes, it is the allocator's noise.",
        "",
        "| work | exponent of rows | seconds, 10,000,000 x 10 | memory | exponent of classes | seconds, "
        "50,000 x 1,000 | memory |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name in WORK:
        cells = [name]
        for way in WAYS:
            points = points_of(results, way, name)
            last = points[-1]
            cells += [f"{exponent(points, way):.2f}", f"{last['seconds']:.2g}"]
            cells.append(f"{last['bytes'] / last['matrix']:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="make the page alone")
    parser.add_argument("--one", nargs=3, metavar=("WORK", "ROWS", "CLASSES"))
    options = parser.parse_args()
    if options.one:
        name, rows, classes = options.one
        print(json.dumps(measure(name, int(rows), int(classes))))
        return
    if not options.page:
        options.json.write_text(json.dumps(measured(), indent=1) + "\n")
    results = json.loads(options.json.read_text())
    draw(results)
    PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
