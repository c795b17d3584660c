"""Files: reading, its findings, and what calib itself saves."""
