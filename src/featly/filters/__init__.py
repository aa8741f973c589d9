"""Methods that score every column once, from the data alone."""
