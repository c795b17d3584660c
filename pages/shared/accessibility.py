"""Styles that correct Streamlit's: elements that are hard to read or have no name, and invisible focus."""

from __future__ import annotations

#: The purpose of each file uploader, by its key: Streamlit labels every button "Upload".
UPLOADS = {
    "up": "predictions",
    "up-labels": "labels",
    "up-calibration": "calibration predictions",
    "up-calibration-labels": "calibration labels",
    "calibrator-file": "a calibrator",
    "apply-file": "new predictions",
}
#: The background of the page in both themes, as `.streamlit/config.toml` has it.
BACKGROUND = "light-dark(#FFFFFF, #14181C)"
#: Streamlit writes in white on the primary colour, which is bright in the dark theme: a contrast of 2.3. The
#: browser knows the theme: when a viewer changes it, no page runs again.
ON_PRIMARY = f"""
button[kind=primary]:enabled, button[kind=primary]:enabled p, button[kind=primary]:enabled kbd,
[data-testid=stMultiSelect] [data-tag] {{
    color: {BACKGROUND};
}}
button kbd, button :has(> kbd) {{ opacity: 1 !important; }}"""
#: The button of a figure's menu that presses the camera above the figure: `assets/session.js` does it.
SAVE = """
.calib-save {
    font: inherit; color: inherit; background: none; cursor: pointer;
    border: 1px solid currentColor; border-radius: 0.5rem; padding: 0.25rem 0.75rem;
}"""
#: Streamlit leaves a sixth of a window of 1280 pixels empty, and the top of the first screen. Elements that
#: show nothing take no place. Tables have a download of their own, whose cells no spreadsheet runs.
ROOM = """
[data-testid=stMainBlockContainer] { padding-top: 3.75rem; padding-bottom: 3rem; }
[data-testid=stMainBlockContainer] h1 { font-size: 1.75rem; padding: 0.25rem 0; }
[data-testid=stMainBlockContainer] h2 { font-size: 1.375rem; padding: 0.25rem 0; }
[class*=st-key-][class*=-files] { height: 0; margin-bottom: -1rem; overflow: visible; z-index: 1; }
[class*=st-key-][class*="-save"] {
    height: 0; margin-top: -1rem; transform: translateY(-1.75rem); align-self: end; z-index: 1;
}
@media (min-width: 1100px) {
    [data-testid=stMainBlockContainer] { padding-left: 2.5rem; padding-right: 2.5rem; }
    .st-key-about-data { flex-wrap: nowrap; }
}
@media (max-width: 640px) {
    [data-testid=stMainBlockContainer] { padding-bottom: 1rem; }
    [data-testid=stMainBlockContainer] h1 { padding-bottom: 0.75rem; }
    [data-testid=stMainBlockContainer] h2 { font-size: 1.2rem; padding: 0 0 0.75rem; }
    [data-testid=stMain] [data-testid=stVerticalBlock] { gap: 0.25rem; }
    [class*=st-key-][class*="-save"] { margin-top: -0.25rem; }
    .st-key-choice-menus { flex-wrap: nowrap; }
    .st-key-choice-menus > * { min-width: 0; flex: 1 1 0; }
    .st-key-page-head { flex-wrap: nowrap; }
    .st-key-page-head h1 { font-size: 1.25rem; white-space: nowrap; padding-bottom: 0.25rem; }
    .st-key-page-head [data-testid=stPageLink] p { position: absolute; width: 1px; clip-path: inset(50%); }
    .st-key-page-head [data-testid=stTooltipHoverTarget],
    .st-key-about-data [data-testid=stCaptionContainer] { display: none; }
}
[data-testid=stElementContainer]:has(> .stHtml > [data-calib-tab]),
[data-testid=stBaseButton-elementToolbar][aria-label="Download as CSV"],
.st-key-other-theme { display: none; }"""
#: Elements that the keyboard reaches and that look the same then.
FOCUS = """
a:focus-visible, .calib-save:focus-visible, [data-testid=stMain]:focus-visible,
[data-testid=stBaseButton-elementToolbar]:focus-visible {
    outline: 2px solid currentColor !important; outline-offset: -2px;
}"""


#: Bars of Imbalance go to their new place, unless the viewer wants no motion.
MARKS = """
.st-key-imbalance-errors .point path { transition: d 0.6s ease; }
@media (prefers-reduced-motion: reduce) { .st-key-imbalance-errors .point path { transition: none; } }"""


def style() -> str:
    """Return a style element with the rules; it holds no text of a user."""
    names = "".join(
        f"\n.st-key-{key} [data-testid=stFileUploaderDropzone] button[kind=secondary]::after {{ "
        f'content: "\\a0 {name}"; font-size: 0.875rem; }}'
        for key, name in UPLOADS.items()
    )
    return f"<style>{FOCUS}{names}{ON_PRIMARY}{SAVE}{ROOM}{MARKS}\n</style>"


def greyed(lacking: dict[str, str]) -> str:
    """Return a style element that greys pages in the menu and adds a word for what the data lack."""
    rules = "".join(
        f"\n[data-testid=stSidebarNavLink][href$='/{page}'] {{ opacity: 0.7; }}"
        f"\n[data-testid=stSidebarNavLink][href$='/{page}']::after {{ content: 'no {word}'; "
        "font-size: 0.75rem; font-style: italic; }"
        for page, word in lacking.items()
    )
    return f"<style>{rules}\n</style>"
