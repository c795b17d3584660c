"""What pages share: the session, cached results, uploads, widgets, texts, panels and lessons."""
