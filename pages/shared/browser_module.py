"""Modules of the library that run in the browser, mounted in a page as components."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from calib import __version__

LOG = logging.getLogger("calib.app")


def mounter(files: Path, name: str, html: str) -> Any:
    """Return the function that mounts `files/name.js` with `name.css`; None if this Streamlit cannot."""
    try:
        return _component(files, name, html)
    except (ImportError, AttributeError, TypeError, st.errors.StreamlitAPIException):
        LOG.exception("%s.js cannot be mounted", name)
        return None


def _component(files: Path, name: str, html: str) -> Any:
    """Register the component's files with Streamlit, whose policy allows files of a package only.

    The call is not public: Streamlit finds the asset folders of installed packages, and calib is served
    without being installed.
    """
    manager = get_bidi_component_manager()
    if manager.get(f"calib.{name}") is None:
        config = ComponentConfig(name, files.name)
        manager.register_from_manifest(ComponentManifest("calib", __version__, [config]), files.parent)
    return component(f"calib.{name}", html=html, css=f"{name}.css", js=f"{name}.js")
