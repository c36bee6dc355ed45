"""Everything that imports Qt. Reaches the rest only through ``bridge``."""
