"""What was chosen in the living picture: kept while the pages change, until it is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.shared.session import BASE, Method, dataset, methods


@dataclass(frozen=True)
class ChosenRows:
    """The rows of a bin, a class or a range."""

    lower: float
    upper: float
    bin: int | None  #: Number of the equal-width bin; None for another range
    label: int | None  #: Code of the predicted class; None for all classes
    start: int | None  #: First row and end in the order of the confidence; None if the picture has sums
    stop: int | None
    count: int
    method: str  #: Whose confidence it is
    scores: str  #: Digest of the scores that it is about

    @classmethod
    def of(cls, sent: dict[str, Any], method: Method) -> ChosenRows:
        """Return the choice that the browser sent."""
        numbers = {
            name: None if sent[name] is None else int(sent[name])
            for name in ("bin", "label", "start", "stop")
        }
        return cls(
            **numbers,
            lower=float(sent["lower"]),
            upper=float(sent["upper"]),
            count=int(sent["count"]),
            method=method.name,
            scores=method.digest,
        )

    @property
    def words(self) -> str:
        """What is chosen; it may hold a user's text."""
        what = f"{self.count:,} rows"
        if self.label is not None:
            what += f": said {dataset().evaluation.class_names[self.label]}"
        if (self.lower, self.upper) != (0.0, 1.0):
            what += f" at {100 * self.lower:.3g} to {100 * self.upper:.3g} %"
        return what if self.method == BASE else f"{what} after {self.method}"


def chosen() -> tuple[ChosenRows, Method] | None:
    """Return what is chosen, if it is about a method on screen."""
    choice: ChosenRows | None = st.session_state.get("picture-choice")
    method = None if choice is None else methods().get(choice.method)
    if choice is None or method is None or method.digest != choice.scores:
        return None
    return choice, method


def drop() -> None:
    st.session_state.pop("picture-choice", None)
