"""The allow-list gateway: how others reach the engine."""
