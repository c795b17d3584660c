"""The picture of a figure: theme and format of the saved file."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import streamlit as st

THEMES = {"page": "As the page", "light": "Light", "dark": "Dark"}


@dataclass(frozen=True)
class Picture:
    """How a figure is drawn and saved."""

    dark: bool  #: Whether it is drawn in the dark theme
    format: str  #: What the camera saves: "svg" or "png"
    printed: bool  #: Whether the button prints that, so that the browser saves a PDF


def picture_of(key: str, dark: bool) -> Picture:
    """Return the settings of a figure's picture; `dark` is the theme of the page."""
    theme = st.session_state.get(f"{key}-picture-theme") or "page"
    format_ = (st.session_state.get(f"{key}-picture-format") or "SVG").lower()
    is_dark = dark if theme == "page" else theme == "dark"
    return Picture(is_dark, "svg" if format_ == "pdf" else format_, format_ == "pdf")


def offer_picture(key: str) -> None:
    """Show the fields of a figure's picture in its menu; they keep their values when it is closed."""
    kept: dict[str, Any] = {"persist_state": "session"}
    st.segmented_control(
        "Theme",
        list(THEMES),
        format_func=THEMES.__getitem__,
        default="page",
        required=True,
        key=f"{key}-picture-theme",
        **kept,
    )
    st.segmented_control(
        "Format",
        ["SVG", "PNG", "PDF"],
        default="SVG",
        required=True,
        key=f"{key}-picture-format",
        **kept,
    )
    printed = picture_of(key, dark=False).printed
    does, label = ("data-calib-print", "Print to PDF") if printed else ("", "Save picture")
    name = html.escape(key)
    st.html(f'<button class="calib-save" data-calib-save="{name}" {does}>{label}</button>')
    if printed:
        st.caption("Your browser asks where to print: choose *Save as PDF*. The page has the figure's size.")
