"""Engines as child processes: command line, state machine, supervision, HTTP client."""
