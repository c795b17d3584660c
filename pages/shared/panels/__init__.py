"""Panels: sections of a page that several pages share or that have a subject of their own."""
