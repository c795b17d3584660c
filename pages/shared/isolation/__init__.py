"""Strangers' files and long computations in other processes, and the limits of sessions and processes."""
