"""Verifying what is on the disk again, naming every part that is wrong, and mending it."""
