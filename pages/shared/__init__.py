"""Common parts of pages: the session, cached results, uploads, widgets, texts, panels and lessons."""
