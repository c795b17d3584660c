"""What each kind of predictions has, and what each number, calibrator, page and export needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calib.base.exceptions import InputError
from calib.data.notions import NOTIONS, Notion
from calib.data.predictions import (
    Announcement,
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
    type: type[Announcement]  #: Its class; the name is that class's `kind`
    title: str  #: Its name in headings and messages
    columns: str  #: Columns of a file that holds it, as an example
    has: frozenset[str]  #: Keys of `INGREDIENTS` that it offers
    notion: Notion  #: The notion that is looked at first

    @property
    def name(self) -> str:
        return self.type.kind

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
    "scores": "a score for every class, one column per class",
    "vector": "a probability for every class, one column per class, rows that sum to 1",
    "one score": "one score for each row and no predicted class",
    "every label": "a score for every class and, for each, whether it is true",
    "ranks": "the highest classes of each row with their scores, such as the lists labels and scores",
}

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            Predictions,
            "a probability for every class",
            "p(cat), p(dog), label",
            frozenset({"confidence", "class", "scores", "vector", "ranks"}),
            "top-label",
        ),
        Kind(
            TopLabelPrediction,
            "the predicted class and its confidence",
            "predicted, confidence, label",
            frozenset({"confidence", "class"}),
            "top-label",
        ),
        Kind(
            ConfidencePrediction,
            "a confidence, and whether it was right",
            "confidence, correct",
            frozenset({"confidence", "one score"}),
            "confidence",
        ),
        Kind(
            BinaryPrediction,
            "the probability of one of two classes",
            "p(yes), label",
            frozenset({"event", "one score"}),
            "class-wise",
        ),
        Kind(
            TopKPrediction,
            "the highest classes with their scores",
            "labels, scores, true",
            frozenset({"confidence", "class", "ranks"}),
            "top-label",
        ),
        Kind(
            MultilabelPrediction,
            "a score for every class, several of which can be true",
            "p(cat), p(dog), true cat, true dog",
            frozenset({"scores", "every label"}),
            "class-wise",
        ),
    )
}

#: Notions of calibration, and what each needs.
_NOTIONS = {
    "confidence": "confidence",
    "top-label": "class",
    "class-wise": "scores",
    "top-k-confidence": "ranks",
    "top-k-label": "ranks",
}
#: What needs which ingredients; `calib.stats.measures` has the measures'.
NEEDS: dict[str, tuple[str, ...]] = {
    **{f"notion:{notion}": (_NOTIONS[notion],) for notion in NOTIONS},
    "calibrator:one score": ("one score", "confidence"),
    "calibrator:whole vector": ("vector",),
    "tests without bins": ("confidence", "event"),
    **{
        f"page:{page}": ("confidence", "event")
        for page in ("Reliability", "Slices", "Over time", "Noise", "Validity")
    },
    "page:Classes": ("class",),
    "page:Imbalance": ("class",),
    "page:Simplex": ("vector",),
    "page:Decide": ("confidence", "event"),
    "page:Compare": ("confidence", "event"),
    "page:Calibrate": ("confidence", "event"),
    "export:onnx": ("vector", "one score"),
    "export:scorer": ("vector", "one score"),
}
EVERYWHERE = "everywhere"


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
    >>> print(lacks("confidence", "page:Classes"))
    Classes needs the predicted class of each row and the true one, such as the columns predicted and label;
    these predictions are a confidence, and whether it was right.
    """
    section, _, name = what.rpartition(":")
    subject = f'the notion "{name}"' if section == "notion" else name
    return lacks_any(kind, NEEDS.get(what, ()), subject)


def lacks_any(kind: Kind | str, needed: tuple[str, ...], subject: str) -> str | None:
    """Return None if a kind has one of the needed ingredients, else a sentence on what `subject` needs."""
    known = KINDS[kind] if isinstance(kind, str) else kind
    if not needed or known.has & set(needed):
        return None
    wanted = ", or ".join(INGREDIENTS[ingredient] for ingredient in needed)
    return f"{subject} needs {wanted}; these predictions are {known.title}."


#: What cannot use weights, and why, by the title of a page or the name of a number.
COUNTS_ROWS = {
    "A rule of acceptance": "its guarantee is about how many rows are right",
    "Over time": "a bet on weighted rows has no bound",
    "Imbalance": "it compares bins by how many rows they hold",
    "The plan of bins": "it counts the rows of each class and bin",
    "Simplex": "its cells and their bounds are about how many rows they hold",
    "The kernel test of whole vectors": "its pairs of rows are unweighted",
    "The band of the true curve": "its bounds are for unweighted rows",
    "The correction for label shift": "it counts the rows of each class",
}
#: How to use weighted rows all the same.
COUNT_ALIKE = "count every row once to use it (Data page, or --unweighted)"

#: What needs single rows, which a summary does not hold, and what to do instead; by page or name.
READS_ROWS = {
    "Calibrate": "fit on the files with calib fit",
    "Compare": "upload a sample of the rows",
    "Decide": "upload a sample of the rows",
    "Over time": "use calib watch on the files",
    "Imbalance": "upload a sample of the rows",
    "Simplex": "upload a sample of the rows",
    "The AUC": "upload a sample of the rows",
    "The list of rows": "upload a sample of them",
    "What a class is confused with": "upload a sample of the rows",
    "A project": "keep the summary file itself",
    "A diagram or a band without bins": "upload a sample of the rows",
    "A test or an estimate without bins": "upload a sample of the rows",
    "Pairs of columns": "upload a sample of the rows",
    "The map of group and predicted class": "upload a sample of the rows",
    "Calibration by group": "fit on the files with calib.scale.fit(..., groups=...)",
}


def needs_rows(what: str) -> str:
    """Say that something in `READS_ROWS` needs rows and not a summary, and what to do instead."""
    return f"{what} needs the rows, and a summary holds only sums: {READS_ROWS[what]}."


def needs_equal_rows(what: str) -> str:
    """Say that something in `COUNTS_ROWS` cannot use weights, why, and what to do."""
    return f"{what} cannot use weights: {COUNTS_ROWS[what]}; {COUNT_ALIKE}."


def without_weights(kind: Kind) -> str:
    """Say which of the tests without bins cannot use weights of predictions of a kind; "" if all can."""
    return needs_equal_rows("The kernel test of whole vectors") if kind.name == "vectors" else ""


def check_equal_rows(rows: Any, what: str) -> None:
    """Raise `InputError` if predictions have weights, which something in `COUNTS_ROWS` cannot use."""
    if getattr(rows, "sample_weight", None) is not None:
        raise InputError(needs_equal_rows(what))


def notions_of(kind: Kind | str) -> list[Notion]:
    return [notion for notion in NOTIONS if lacks(kind, f"notion:{notion}") is None]
