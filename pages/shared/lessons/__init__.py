"""What the Learn page computes, one module a lesson, and its exercises."""
