"""Strangers' files read in another process, under limits of memory, time and files."""
