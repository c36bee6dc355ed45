"""One engine interface (``interface``), one file for each program behind it."""
