"""Memory, speed and placement as pure functions: no I/O, no clock."""
