"""Visitors of a running app without a browser, and what the server does under them."""
