"""What the window may ask for: one protocol for each service behind it.

``Services`` is what ``core.py`` builds; tests give the window scripted ones. Everything here is
called on the Qt thread and must return within its 8 ms: what takes longer returns an Operation,
whose end ``Bridge.watch`` brings back to that thread.
"""
