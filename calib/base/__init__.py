"""The base of all packages: errors, results, outputs, interrupts and threads."""
