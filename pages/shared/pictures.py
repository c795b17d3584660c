"""The picture of a figure: title, caption, theme and format of the saved file, as shown on the page."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass
from typing import Any

import streamlit as st

from calib.diagrams.style import escape

THEMES = {"page": "As the page", "light": "Light", "dark": "Dark"}
#: Characters of a line of the caption, which plotly does not break.
LINE = 90


@dataclass(frozen=True)
class Picture:
    """How a figure is drawn and saved."""

    #: The user's text above the figure; "" for none
    title: str
    caption: str
    dark: bool  #: Whether it is drawn in the dark theme
    format: str  #: What the camera saves: "svg" or "png"
    printed: bool  #: Whether the button prints that, so that the browser saves a PDF

    @property
    def layout(self) -> dict[str, Any]:
        """Title and caption as properties of a plotly layout; empty without them."""
        if not self.title and not self.caption:
            return {}
        lines = textwrap.wrap(self.caption, LINE)
        caption = "<br>".join(escape(line) for line in lines)
        title = {
            "text": escape(self.title) or " ",
            "subtitle": {"text": caption},
            "x": 0,
            "xref": "paper",
            "y": 0.98,
            "yref": "container",
            "yanchor": "top",
        }
        return {"title": title, "margin": {"t": 96 + 18 * len(lines)}}


def picture_of(key: str, dark: bool) -> Picture:
    """Return the settings of a figure's picture; `dark` is the theme of the page."""
    chosen = {
        name: st.session_state.get(f"{key}-picture-{name}")
        for name in ("title", "caption", "theme", "format")
    }
    theme = chosen["theme"] or "page"
    format_ = (chosen["format"] or "SVG").lower()
    return Picture(
        chosen["title"] or "",
        chosen["caption"] or "",
        dark if theme == "page" else theme == "dark",
        "svg" if format_ == "pdf" else format_,
        format_ == "pdf",
    )


def offer_picture(key: str) -> None:
    """Show the fields of a figure's picture in its menu; they keep their values when it is closed."""
    kept: dict[str, Any] = {"persist_state": "session"}
    st.text_input("Title", key=f"{key}-picture-title", **kept)
    st.text_area("Caption", key=f"{key}-picture-caption", height=80, **kept)
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
