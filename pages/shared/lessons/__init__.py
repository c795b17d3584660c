"""The Learn page: a module per step, with what it computes, draws and shows."""
