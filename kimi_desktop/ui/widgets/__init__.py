"""The controls of the design, in one place: buttons, chips, bars, sliders, rows."""
