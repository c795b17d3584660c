"""Rules of style where Streamlit's own leave something unreadable, unnamed, or focus invisible."""

from __future__ import annotations

#: What each file uploader is for, by its key: Streamlit calls the button of every one "Upload".
UPLOADS = {
    "up": "predictions",
    "up-labels": "labels",
    "up-calibration": "calibration predictions",
    "up-calibration-labels": "calibration labels",
    "calibrator-file": "a calibrator",
    "apply-file": "new predictions",
}
#: Streamlit writes in white on the primary colour, which is bright in the dark theme: a contrast of 2.3. The
#: browser knows the theme: when a viewer changes it, no page runs again.
ON_PRIMARY = """
button[kind=primary]:enabled, button[kind=primary]:enabled p, button[kind=primary]:enabled kbd,
[data-testid=stMultiSelect] [data-tag] {
    color: light-dark(#FFFFFF, #14181C);
}
button kbd, button :has(> kbd) { opacity: 1 !important; }"""
#: The button of a figure's menu that presses the camera above the figure: `assets/session.js` does it.
SAVE = """
.calib-save {
    font: inherit; color: inherit; background: none; cursor: pointer;
    border: 1px solid currentColor; border-radius: 0.5rem; padding: 0.25rem 0.75rem;
}"""
#: Elements that the keyboard reaches and that look the same then.
FOCUS = """
a:focus-visible, .calib-save:focus-visible, [data-testid=stMain]:focus-visible,
[data-testid=stBaseButton-elementToolbar]:focus-visible {
    outline: 2px solid currentColor !important; outline-offset: -2px;
}"""


def style() -> str:
    """Return a style element with the rules; no text of a user is in it."""
    names = "".join(
        f'\n.st-key-{key} [data-testid=stFileUploaderDropzone] button::after {{ content: "{name}"; }}'
        for key, name in UPLOADS.items()
    )
    return f"<style>{FOCUS}{names}{ON_PRIMARY}{SAVE}\n</style>"
