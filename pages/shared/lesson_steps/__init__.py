"""One step of the Learn page a module."""
