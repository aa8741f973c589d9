"""Methods that make one ranking out of several."""
