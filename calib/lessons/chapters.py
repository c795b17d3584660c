"""The lesson's texts and numbers: what `lessons/browser/lesson.js` draws, in the app and in one file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import bdtr
from scipy.stats import binom

from calib.base.exceptions import InputError
from calib.data.kinds import lacks
from calib.diagrams.reliability_diagrams import reliability_diagram
from calib.diagrams.style import FEW_ROWS
from calib.evidence.rows import ReducedRows, Source, as_evidence

#: Chapters, exercises and the teacher's notes; names in braces are numbers of `StarSplit.values`.
TEXTS = Path(__file__).parent / "lesson.toml"
#: Bins of Figure 1, one of which is split.
N_BINS = 10
#: Most classes that are drawn: their names must fit beside each other.
MOST_DOTS = 12
#: Deals of the third chapter.
DEALS = 10


@dataclass(frozen=True)
class ClassDot:
    """The rows of a bin in which a class is predicted."""

    name: str
    count: int
    right: int | None  #: Rows that are right; None for weighted rows
    confidence: float  #: Mean confidence
    accuracy: float
    #: 95 % Wilson interval of the accuracy
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Accuracy minus mean confidence: below 0 if the class is overconfident."""
        return self.accuracy - self.confidence

    def chance_of(self, gap: float) -> float:
        """Return how often a calibrated class with these rows has a gap of that size or more."""
        hits = np.arange(self.count + 1)
        far = np.abs(hits / self.count - self.confidence) >= gap - 1e-12
        return float(binom.pmf(hits[far], self.count, self.confidence).sum())


@dataclass(frozen=True)
class StarSplit:
    """A bin of a reliability diagram: its star, and its predicted classes (Figure 1 of the paper)."""

    title: str  #: What the predictions are
    confidence: float
    accuracy: float
    count: int
    dots: tuple[ClassDot, ...]  #: Classes in the order of their names
    others: int  #: Classes of the bin that are not drawn, because they have fewer rows
    worst: int  #: Index of the overconfident class with the clearest evidence; of any class, if none is

    @property
    def values(self) -> dict[str, Any]:
        """Numbers that texts name: of the star, and of the worst, the best and the smallest class."""
        dots = {
            "worst": self.dots[self.worst],
            "best": max(self.dots, key=lambda dot: dot.lower),
            "least": min(self.dots, key=lambda dot: dot.count),
        }
        found: dict[str, Any] = {"said": self.confidence, "right": self.accuracy, "count": self.count}
        for role, dot in dots.items():
            found |= {f"{role}_{name}": value for name, value in asdict(dot).items()}
            found[f"{role}_of"] = f"{dot.right} of {dot.count}"
        gap = abs(dots["worst"].gap)
        chances = np.array([dot.chance_of(gap) for dot in self.dots])
        by_chance = 1.0 - np.prod(1.0 - chances)
        few, some = bdtr([1, DEALS // 2], DEALS, by_chance)
        return found | {
            "gap_points": 100.0 * gap,
            "by_chance": by_chance,
            "worst_by_chance": float(f"{1.0 / chances[self.worst]:.2g}"),
            "expected": dots["worst"].count * dots["worst"].confidence,
            "likely": int(np.argmax([few, some - few, 1.0 - some])),
        }


def star_split(source: Source, title: str) -> StarSplit:
    """Split the star of the bin whose classes are most off into its predicted classes.

    Of ten bins it is the one with the largest excess of Delta_b over a perfect model's of the same size,
    times the root of its rows, because noise falls with this root.
    """
    evidence = as_evidence(source)
    if isinstance(evidence, ReducedRows):
        raise InputError(
            "the lesson needs labelled predictions; BinaryProblems hold only scores and outcomes"
        )
    if (missing := lacks(evidence.kind, "notion:top-label")) is not None:
        raise InputError(missing)
    diagram = reliability_diagram(evidence, n_bins=N_BINS)
    pooled = diagram.pooled
    excess = (diagram.delta - diagram.perfect_gaps[1]) * np.sqrt(pooled.effective)
    enough = pooled.count >= min(FEW_ROWS, pooled.count.max())
    zoom = diagram.zoom(int(pooled.bin[np.argmax(np.where(enough, excess, -np.inf))]))
    every = []
    for row in zoom.frame(evidence.class_names).to_dict("records"):
        right = None if evidence.is_weighted else round(row["accuracy"] * row["count"])
        numbers = (row[name] for name in ("mean_confidence", "accuracy", "accuracy_lower", "accuracy_upper"))
        every.append(ClassDot(str(row.get("class", row["label"])), row["count"], right, *numbers))
    worst = next((dot for dot in every if dot.gap < 0.0), every[0])  # they come clearest evidence first
    others = sorted((dot for dot in every if dot is not worst), key=lambda dot: -dot.count)
    dots = sorted([worst, *others[: MOST_DOTS - 1]], key=lambda dot: dot.name)
    return StarSplit(title, *zoom.star, tuple(dots), len(every) - len(dots), dots.index(worst))


def lesson_content(example: StarSplit, own: StarSplit | None) -> dict[str, Any]:
    """Return texts and numbers in JSON types, as the browser's module takes them."""
    found: dict[str, Any] = _filled(tomllib.loads(TEXTS.read_text(encoding="utf-8")), example.values)
    for chapter in found["chapters"]:
        chapter["steps"] = [step for step in chapter["steps"] if step["picture"] != "own" or own is not None]
    return found | {"example": asdict(example), "own": None if own is None else asdict(own), "deals": DEALS}


def _filled(text: Any, values: Mapping[str, Any]) -> Any:
    """Return texts with the numbers that they name; a space before a percent sign does not break."""
    if isinstance(text, str):
        return re.sub(r"(?<=\d) ?%", "\u00a0%", text.format_map(values))
    if isinstance(text, Mapping):
        return {name: _filled(each, values) for name, each in text.items()}
    if isinstance(text, Sequence):
        return [_filled(each, values) for each in text]
    return text
