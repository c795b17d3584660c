"""The notions of calibration, the binary problems of each (Table 1 of the paper), and their bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from calib.base.exceptions import InputError
from calib.data.validation import check_count

Notion = Literal["confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"]
#: The notions of Table 1.
NOTIONS: tuple[Notion, ...] = get_args(Notion)
#: Notions that need only the predicted class and its score.
TOP_NOTIONS: tuple[Notion, ...] = ("confidence", "top-label")
#: Notions about the K highest classes of a row.
TOP_K_NOTIONS: tuple[Notion, ...] = ("top-k-confidence", "top-k-label")
#: Notions whose problems pool the rows of all predicted classes.
POOLED_NOTIONS: tuple[Notion, ...] = ("confidence", "top-k-confidence")


@dataclass(frozen=True)
class PerClass:
    """Bins for scores that were binned class by class: one bin per distinct score of such a class.

    Notions that pool the classes use equal-width bins: with a bin per score, conf-ECE would equal TL-ECE.
    """

    others: tuple[int, ...] = ()  #: Classes whose scores were not binned: they get bins by `other_strategy`
    #: Bins of these classes, and of pooled classes
    other_strategy: Literal["uniform", "quantile"] = "uniform"

    def __str__(self) -> str:
        return "mixed" if self.others else "discrete"

    def of_class(self, label: int) -> Literal["uniform", "quantile", "discrete"]:
        """Return the bins of one class; -1 stands for classes that are pooled."""
        return self.other_strategy if label < 0 or label in self.others else "discrete"


Strategy = Literal["uniform", "quantile", "discrete"] | PerClass


@dataclass(frozen=True)
class NotionShape:
    """How many binary problems a notion consists of, and which claim and class each is about.

    A notion makes one or more claims about every row; each claim is one problem, or one per predicted class.
    Problems are numbered claim by claim and, within a claim, class by class.
    """

    notion: Notion  #: One of `NOTIONS`
    n_classes: int  #: Classes L
    n_ranks: int = 1  #: K of the top-K notions, 1 for the others
    #: Groups of rows that "top-label" conditions on besides the classes, or instead of them; 0 for none
    n_groups: int = 0
    by_class: bool = True  #: Whether it conditions on the class: False only with groups

    @classmethod
    def of(cls, notion: str, n_classes: int, top_k: int | None = None) -> NotionShape:
        """Return the shape of a notion for L classes; `top_k` is K, by default min(L, 5)."""
        if notion not in NOTIONS:
            raise InputError(f"notion must be one of {', '.join(NOTIONS)}; got {notion!r}")
        if notion not in TOP_K_NOTIONS:
            if top_k is not None:
                raise InputError(
                    f'top_k belongs to the top-K notions; got top_k={top_k!r} with notion "{notion}"'
                )
            return cls(notion, n_classes)
        n_ranks = min(n_classes, 5) if top_k is None else check_count(top_k, "top_k")
        if n_ranks > n_classes:
            raise InputError(f"top_k must be at most the number of classes, {n_classes}; got {top_k}")
        return cls(notion, n_classes, n_ranks)

    @property
    def n_claims(self) -> int:
        """Claims about each row: 1 (confidence, top-label), L (class-wise) or K (top-K)."""
        return self.n_classes if self.notion == "class-wise" else self.n_ranks

    @property
    def problems_per_claim(self) -> int:
        """Problems of each claim: one per predicted class (and group), or one for all."""
        cells = self.n_classes if self.notion in ("top-label", "top-k-label") and self.by_class else 1
        return cells * max(self.n_groups, 1)

    @property
    def n_problems(self) -> int:
        return self.n_claims * self.problems_per_claim

    def claims_of(self, problem: Any) -> np.ndarray:
        """Claim (0-based) each problem belongs to; problems of one claim share its rows."""
        return np.asarray(problem) // self.problems_per_claim

    def labels_of(self, problem: Any) -> np.ndarray:
        """Class code each problem is about, -1 if it pools all classes."""
        if self.notion in POOLED_NOTIONS or not self.by_class:
            return np.full(np.shape(problem), -1)
        return np.asarray(problem) % self.n_classes

    def groups_of(self, problem: Any) -> np.ndarray:
        """Group each problem is about, -1 if there are no groups."""
        if not self.n_groups:
            return np.full(np.shape(problem), -1)
        return np.asarray(problem) // (self.n_classes if self.by_class else 1)

    def problems_of(self, label: Any, rank: Any = 0, group: Any = None) -> np.ndarray:
        """Problem of the score of class `label`, the class at the 0-based `rank` of its row, in a `group`."""
        label, rank = np.asarray(label), np.asarray(rank)
        if self.n_groups:
            return np.asarray(group) * self.n_classes + label if self.by_class else np.asarray(group)
        if self.notion in POOLED_NOTIONS:
            label = 0 * label
        return rank * self.problems_per_claim + label if rank.any() else label
