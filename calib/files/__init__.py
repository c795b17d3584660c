"""Files: reading and its findings, calibrator files and projects."""
