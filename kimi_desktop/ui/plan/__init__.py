"""The plan page: what a load will take."""
