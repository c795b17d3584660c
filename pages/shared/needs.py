"""What each page needs of the data on screen, and what it says if they do not have it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from calib.data.kinds import lacks_any, needs_equal_rows, needs_rows
from pages.shared.session import Dataset, dataset
from pages.shared.widgets import escaped, link_to_data

SAMPLE = "upload a sample of the rows"


@dataclass(frozen=True)
class Needs:
    """What a page needs."""

    one_of: tuple[str, ...] = ("confidence", "event")  #: Keys of `INGREDIENTS`, one of which is enough
    #: What to do instead with a summary, if the page needs the rows
    without_rows: str = ""
    equal_rows: str = ""  #: Key of `COUNTS_ROWS`, if the page cannot use weights


#: What pages need, by their titles; other pages show any data.
NEEDS = {
    "Reliability": Needs(),
    "Groups": Needs(),
    "Validity": Needs(),
    "Repair": Needs(without_rows="fit on the files with calib fit"),
    "Decide": Needs(without_rows=SAMPLE),
    "Imbalance": Needs(("class",), SAMPLE, "A comparison of bins by class"),
    "Simplex": Needs(("vector",), SAMPLE, "Canonical binning"),
}


def missing_for(page: str) -> str | None:
    """Say in one sentence what the data on screen lack for a page; None if it shows them."""
    data, needs = dataset(), NEEDS[page]
    if (missing := lacks_any(data.kind, needs.one_of, page)) is not None:
        return missing
    if needs.without_rows and not data.has_rows:
        return needs_rows(page, needs.without_rows)
    return weights_refused(needs.equal_rows) if needs.equal_rows and data.evidence.is_weighted else None


def against_loaded(page: str) -> str:
    """Say why a page that fits calibrators cannot show the data on screen; "" if it can."""
    data = dataset()
    if missing := missing_for(page):
        return missing
    if page == "Simplex" and data.evaluation.n_classes < 3:
        return f"{page} needs at least three classes."
    return "" if data.calibration is not None else f"{page} needs calibration rows."


def weights_refused(what: str) -> str:
    """Say that something in `COUNTS_ROWS` cannot use weights, why, and what to do on a page."""
    return needs_equal_rows(what, "(Data page)")


def need_kind(page: str) -> None:
    """Stop the page, with the reason, if it needs more than the predictions have or cannot use weights."""
    if (missing := missing_for(page)) is not None:
        st.info(escaped(missing))
        link_to_data()
        st.stop()


def lacking(data: Dataset, page: str) -> str:
    """Return a word for what data lack for a page, by its title; "" if the page applies."""
    needs = NEEDS.get(page, Needs(()))
    if lacks_any(data.kind, needs.one_of, page) is not None:
        return {("class",): "classes", ("vector",): "vectors"}.get(needs.one_of, "confidence")
    if page == "Simplex" and data.evaluation.n_classes == 2:
        return "third class"
    return "rows" if needs.without_rows and not data.has_rows else ""


def greyed(words: dict[str, str]) -> str:
    """Return a style element that greys pages in the menu and adds a word for what the data lack."""
    rules = "".join(
        f"\n[data-testid=stSidebarNavLink][href$='/{page}'] {{ opacity: 0.7; }}"
        f"\n[data-testid=stSidebarNavLink][href$='/{page}']::after {{ content: 'no {word}'; "
        "font-size: 0.75rem; font-style: italic; }"
        for page, word in words.items()
    )
    return f"<style>{rules}\n</style>"


def show_rows_needed(what: str, instead: str = SAMPLE) -> bool:
    """If a summary is on screen, say that something needs rows and what to do; return whether it is."""
    if not dataset().has_rows:
        st.caption(escaped(needs_rows(what, instead)))
    return not dataset().has_rows
