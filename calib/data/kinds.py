"""What each kind of predictions has, and what each notion, number, calibrator and export needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calib.base.exceptions import InputError
from calib.data.notions import NOTIONS, Notion
from calib.data.predictions import (
    BasePrediction,
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    TopKPrediction,
    TopLabelPrediction,
)
from calib.data.validation import n_axes


@dataclass(frozen=True)
class Kind:
    type: type[BasePrediction]  #: Its class; the name is that class's `kind`
    title: str  #: Its name in headings and messages
    notion: Notion  #: The notion that is looked at first

    @property
    def name(self) -> str:
        return self.type.kind

    @property
    def has(self) -> frozenset[str]:
        return self.type.has

    @property
    def scored(self) -> str | None:
        """Name of the score if each row has only one: "P(Y = 1)" or "confidence"; else None."""
        if "one score" not in self.has:
            return None
        return "P(Y = 1)" if "event" in self.has else "confidence"


#: Ingredients of predictions, and what a file must hold for each.
INGREDIENTS = {
    "confidence": "a confidence for each row and whether the predicted class is right",
    "event": "P(Y = 1) of one class and labels of two classes, such as the columns p(yes) and label",
    "class": "the predicted class of each row and the true one, such as the columns predicted and label",
    "classes": "classes with names, not only whether each prediction is right",
    "predicted class": "the predicted class of each row in a column of its own, beside its score",
    "scores": "a score for every class, one column per class",
    "vector": "a probability for every class, one column per class, rows that sum to 1",
    "one score": "one score for each row and no predicted class",
    "every label": "a score for every class and, for each, whether it is true",
    "ranks": "the highest classes of each row with their scores, such as the lists labels and scores",
}

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(Predictions, "a probability for every class", "top-label"),
        Kind(TopLabelPrediction, "the predicted class and its confidence", "top-label"),
        Kind(ConfidencePrediction, "a confidence, and whether it was right", "confidence"),
        Kind(BinaryPrediction, "the probability of one of two classes", "class-wise"),
        Kind(TopKPrediction, "the highest classes with their scores", "top-label"),
        Kind(MultilabelPrediction, "a score for every class, several of which can be true", "class-wise"),
    )
}

#: What needs which ingredients; `calib.stats.measures` has the measures'.
NEEDS: dict[str, tuple[str, ...]] = {
    "notion:confidence": ("confidence",),
    "notion:top-label": ("class",),
    "notion:class-wise": ("scores",),
    "notion:top-k-confidence": ("ranks",),
    "notion:top-k-label": ("ranks",),
    "calibrator:one score": ("one score", "confidence"),
    "calibrator:whole vector": ("vector",),
    "tests without bins": ("confidence", "event"),
    "The AUC": ("confidence", "event", "scores"),
    "export:onnx": ("vector", "one score"),
    "export:scorer": ("vector", "one score"),
}


def kind_of(rows: Any) -> Kind:
    """Return the kind of predictions; a matrix counts as vectors, one score per row as binary."""
    name = getattr(rows, "kind", None)
    if name is None:
        name = "binary" if n_axes(rows) == 1 else "vectors"
    return KINDS[name]


def lacks(kind: Kind | str, what: str) -> str | None:
    """Return None if something applies to a kind, else one sentence on what it would need.

    >>> lacks("vectors", "notion:top-label") is None
    True
    >>> print(lacks("confidence", "notion:top-label"))
    top-label calibration needs the predicted class of each row and the true one, such as the columns
    predicted and label; these predictions are a confidence, and whether it was right.
    """
    section, _, name = what.rpartition(":")
    subject = f"{name} calibration" if section == "notion" else name
    return lacks_any(kind, NEEDS[what], subject)


def lacks_any(kind: Kind | str, needed: tuple[str, ...], subject: str) -> str | None:
    """Return None if a kind has one of the needed ingredients, else a sentence on what `subject` needs."""
    known = KINDS[kind] if isinstance(kind, str) else kind
    if not needed or known.has & set(needed):
        return None
    wanted = ", or ".join(INGREDIENTS[ingredient] for ingredient in needed)
    return f"{subject} needs {wanted}; these predictions are {known.title}."


#: What cannot use weights, and why.
COUNTS_ROWS = {
    "A rule of acceptance": "its guarantee is about how many rows are right",
    "A monitor": "a bet on weighted rows has no bound",
    "A comparison of bins by class": "it counts the rows of each bin",
    "Canonical binning": "its cells and their bounds are about how many rows they hold",
    "The kernel test of whole vectors": "its pairs of rows are unweighted",
    "The band of the true curve": "its bounds are for unweighted rows",
    "The correction for label shift": "it counts the rows of each class",
}


def needs_rows(what: str, instead: str = "use a sample of the rows") -> str:
    """Say that something needs single rows, which a summary does not hold, and what to do instead."""
    return f"{what} needs the rows, and a summary holds only sums: {instead}."


def needs_equal_rows(what: str, how: str = "(rows.unweighted(), or --unweighted)") -> str:
    """Say that something in `COUNTS_ROWS` cannot use weights, why, and how to use it all the same."""
    return f"{what} cannot use weights: {COUNTS_ROWS[what]}; count every row once to use it {how}."


def check_equal_rows(rows: Any, what: str) -> None:
    """Raise `InputError` if predictions or evidence have weights; `what` is a key of `COUNTS_ROWS`."""
    if getattr(rows, "is_weighted", getattr(rows, "sample_weight", None) is not None):
        raise InputError(needs_equal_rows(what))


def notions_of(kind: Kind | str) -> list[Notion]:
    return [notion for notion in NOTIONS if lacks(kind, f"notion:{notion}") is None]
