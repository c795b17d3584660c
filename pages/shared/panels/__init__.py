"""Panels: pieces of a page that more than one page shows, or that are a thought of their own."""
