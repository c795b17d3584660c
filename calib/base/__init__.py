"""What every package stands on: errors, results, outputs, interrupts and threads."""
