"""Models that other programs left on this computer: found, proven, linked into the library."""
