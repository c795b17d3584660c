"""Strangers' files and long computations in other processes, and what sessions and processes may take."""
